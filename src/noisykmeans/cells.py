"""Covariances of errors that come in parts: sums over cells, and the groups these make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans

from noisykmeans.partition import CELL, MOST_CELLS, MOST_GROUPS, keys_of, log_covariances
from noisykmeans.partition import different as different_ones

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["CellGroups", "Cells", "groups_of"]


@dataclass(frozen=True, eq=False)
class Cells:
    """What `partition` must know of covariances that come in parts; that of parts adds.

    Parameters
    ----------
    most : int
        The largest number of groups.
    different : dict or None
        Mass and covariance by `partition.keys_of`, of up to ``most`` different covariances; None
        where there are more.
    cells : dict or None
        Mass, mass times logarithms and mass times covariances by cell of the lattice; None where
        there are too many cells.
    """

    most: int
    different: dict[float, tuple[float, Array]] | None = field(default_factory=dict)
    cells: dict[tuple[int, ...], tuple[float, Array, Array]] | None = field(default_factory=dict)

    @classmethod
    def of(cls, covariances: Array, weights: Array, scale: Array, cell: float = CELL) -> Cells:
        """Look at the covariances of some observations."""
        most = MOST_GROUPS[covariances.shape[1]]
        labels, first = different_ones(covariances, most)
        different = None
        if len(first) <= most:
            masses = np.bincount(labels, weights)
            keys = keys_of(covariances[first]).tolist()
            rows = zip(masses.tolist(), covariances[first], strict=True)
            different = dict(zip(keys, rows, strict=True))
        logs = log_covariances(covariances, scale)
        used, labels = np.unique(_places(logs, cell), axis=0, return_inverse=True)
        if len(used) > MOST_CELLS:
            return cls(most, different, None)
        labels = labels.ravel()
        masses = np.bincount(labels, weights)
        sums = _sums(labels, weights, logs)
        squares = _sums(labels, weights, covariances.reshape(len(logs), -1))
        matrices = squares.reshape(-1, *covariances.shape[1:])
        each = zip(masses.tolist(), sums, matrices, strict=True)
        return cls(most, different, dict(zip(map(tuple, used.tolist()), each, strict=True)))

    def __add__(self, other: Cells) -> Cells:
        """Return what is known of both samples."""
        different: dict[float, tuple[float, Array]] | None = None
        if self.different is not None and other.different is not None:
            different = dict(self.different)
            for key, (mass, matrix) in other.different.items():
                different[key] = (different.get(key, (0.0, matrix))[0] + mass, matrix)
            different = different if len(different) <= self.most else None
        if self.cells is None or other.cells is None:
            return Cells(self.most, different, None)
        cells = dict(self.cells)
        for place, (mass, logs, matrix) in other.cells.items():
            if place in cells:
                m, u, S = cells[place]
                cells[place] = (m + mass, u + logs, S + matrix)
            else:
                cells[place] = (mass, logs, matrix)
        return Cells(self.most, different, cells if len(cells) <= MOST_CELLS else None)


@dataclass(frozen=True, eq=False)
class CellGroups:
    """The group of every cell, or of every different covariance.

    Parameters
    ----------
    numbers : dict
        The number of the group, by key or by cell.
    by_key : bool
        Whether by key.
    covariances : array of shape (m, d, d)
        Of each group.
    masses : array of shape (m,)
        Of each group.
    """

    numbers: dict[object, int]
    by_key: bool
    covariances: Array
    masses: Array

    def labels(self, covariances: Array, scale: Array, cell: float) -> NDArray[np.intp]:
        """Return the number of the group of each covariance."""
        if self.by_key:
            used, labels = np.unique(keys_of(covariances), return_inverse=True)
            names: list[object] = list(used.tolist())
        else:
            logs = log_covariances(covariances, scale)
            places, labels = np.unique(_places(logs, cell), axis=0, return_inverse=True)
            names = [tuple(place) for place in places.tolist()]
        return np.array([self.numbers[name] for name in names], dtype=np.intp)[labels.ravel()]


def groups_of(cells: Cells) -> CellGroups:
    """Return the groups that `partition` would make of all covariances together."""
    if cells.different is not None:
        keys = sorted(cells.different)
        masses = np.array([cells.different[key][0] for key in keys])
        matrices = np.array([cells.different[key][1] for key in keys])
        return CellGroups({key: i for i, key in enumerate(keys)}, True, matrices, masses)  # noqa: FBT003
    by_place = cells.cells or {}
    places = sorted(by_place)
    mass = np.array([by_place[place][0] for place in places])
    logs = np.array([by_place[place][1] for place in places]) / mass[:, None]
    sums = np.array([by_place[place][2] for place in places])
    labels = np.arange(len(places))
    totals = np.bincount(labels, mass).astype(np.float64)
    if len(totals) > cells.most:
        middles = _sums(labels, mass, logs) / totals[:, None]
        joined = KMeans(cells.most, n_init=1, random_state=0).fit(middles, sample_weight=totals)
        _, joined_labels = np.unique(joined.labels_, return_inverse=True)
        labels = joined_labels[labels]
    totals = np.bincount(labels, mass).astype(np.float64)
    matrices = _sums(labels, np.ones(len(places)), sums.reshape(len(places), -1))
    matrices = matrices.reshape(-1, *sums.shape[1:]) / totals[:, None, None]
    numbers: dict[object, int] = dict(zip(places, labels.tolist(), strict=True))
    return CellGroups(numbers, False, matrices, totals)  # noqa: FBT003


def _sums(labels: NDArray[np.intp], weights: Array, columns: Array) -> Array:
    """Return the sum of weights times columns over the rows of each label."""
    return np.stack([np.bincount(labels, weights * x) for x in columns.T], axis=1)


def _places(logs: Array, cell: float) -> NDArray[np.int64]:
    return np.floor(logs / cell).astype(np.int64)
