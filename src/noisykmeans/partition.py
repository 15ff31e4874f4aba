"""Which observations have errors alike: covariances in a few groups.

Deconvolution needs a histogram and two Fourier transforms for each law of errors. A law for each
observation would cost what a pass over the data does at every step; laws that hardly differ can
share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "CELL",
    "MOST_GROUPS",
    "WIDER",
    "CellGroups",
    "Cells",
    "groups_of",
    "log_covariances",
    "partition",
]

MOST_GROUPS = {1: 24, 2: 24, 3: 16}  # by the number of axes
CELL = 0.2  # width of a cell of the lattice, in logarithms of variances
WIDER = 1.5  # cells, where there are too many
_MOST_CELLS = 2000
_FLOOR = 0.05  # standard deviation of errors, in those of the data, below which none matters


def partition(
    covariances: Array, weights: Array, scale: Array, most: int
) -> tuple[NDArray[np.intp], Array]:
    """Return the number of each observation's group, and the covariance of each group.

    Up to ``most`` different covariances are kept as they are. Else their matrix logarithms, which
    know size, shape and direction, are rounded to a lattice, and k-means joins its cells to
    ``most`` groups. A group has the mean covariance of its members, so that its first error is of
    second order in their spread: with 24 groups in the plane, and covariances of all sizes and
    directions, the centers move by less than a fifth of their own standard error.

    Parameters
    ----------
    covariances : array of shape (n, d, d)
        Of the errors of each observation.
    weights : array of shape (n,)
        Weights of the observations.
    scale : array of shape (d,)
        Standard deviations of the observations, the unit of what matters.
    most : int
        The largest number of groups.

    Examples
    --------
    >>> S = np.array([[[1.0]], [[4.0]], [[1.0]]])
    >>> labels, each = partition(S, np.ones(3), np.ones(1), 24)
    >>> labels.tolist(), each.ravel().tolist()
    ([0, 1, 0], [1.0, 4.0])
    """
    labels, first = _different(covariances)
    if len(first) <= most:
        return labels, covariances[first]
    logs = log_covariances(covariances / np.multiply.outer(scale, scale))
    cell = CELL
    labels, n_cells = _cells(logs, cell)
    while n_cells > _MOST_CELLS:
        cell *= WIDER
        labels, n_cells = _cells(logs, cell)
    if n_cells > most:
        mass = np.bincount(labels, weights)
        middles = (
            np.stack([np.bincount(labels, weights * x) for x in logs.T], axis=1) / mass[:, None]
        )
        joined = KMeans(most, n_init=1, random_state=0).fit(middles, sample_weight=mass)
        _, joined_labels = np.unique(joined.labels_, return_inverse=True)
        labels = joined_labels[labels]
    mass = np.bincount(labels, weights)
    d = covariances.shape[1]
    means = np.empty((len(mass), d, d))
    for i in range(d):
        for j in range(i + 1):
            means[:, i, j] = np.bincount(labels, weights * covariances[:, i, j]) / mass
            means[:, j, i] = means[:, i, j]
    return labels, means


def log_covariances(covariances: Array) -> Array:
    """Return the matrix logarithms of covariances in the unit of the data, as vectors.

    Errors that are far smaller than the data are alike. Euclidean distances of the vectors are
    Frobenius distances of the logarithms.

    Parameters
    ----------
    covariances : array of shape (n, d, d)
        Symmetric, without negative eigenvalues.

    Returns
    -------
    array of shape (n, d (d + 1) / 2)
    """
    d = covariances.shape[1]
    S = covariances + _FLOOR**2 * np.eye(d)
    if d == 2:
        logs = _log_of_two(S)
    else:
        values, axes = np.linalg.eigh(S)
        logs = np.einsum("nij,nj,nkj->nik", axes, np.log(np.maximum(values, _FLOOR**2)), axes)
    rows, columns = np.tril_indices(d)
    return logs[:, rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2))


def _log_of_two(S: Array) -> Array:
    """Return the logarithms of matrices of two axes: ``a I + b S``, in closed form."""
    middle = (S[:, 0, 0] + S[:, 1, 1]) / 2
    half = np.hypot((S[:, 0, 0] - S[:, 1, 1]) / 2, S[:, 1, 0])
    low, high = np.log(np.maximum(middle - half, _FLOOR**2)), np.log(middle + half)
    alike = half < 1e-9 * middle
    slope = np.where(alike, 1 / middle, (high - low) / np.where(alike, 1.0, 2 * half))
    logs = S * slope[:, None, None]
    shift = (low + high) / 2 - slope * middle
    logs[:, 0, 0] += shift
    logs[:, 1, 1] += shift
    return logs


def _different(covariances: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the number of each covariance among the different ones, and where these are first.

    Matrices are told apart by one product of their entries with irrational numbers. Many
    different ones are seen in a few rows, and not sorted.
    """
    keys = _keys(covariances)
    few = np.unique(keys[:1000])
    if len(few) > max(MOST_GROUPS.values()):
        return np.arange(len(keys)), np.arange(len(keys))
    _, first, labels = np.unique(keys, return_index=True, return_inverse=True)
    return labels.ravel(), first


def _cells(logs: Array, cell: float) -> tuple[NDArray[np.intp], int]:
    """Return the number of each row's cell on a lattice, and how many are not empty."""
    index = _places(logs, cell)
    index -= index.min(axis=0)
    shape = index.max(axis=0) + 1
    flat = np.ravel_multi_index(tuple(index.T), tuple(shape))
    used, labels = np.unique(flat, return_inverse=True)
    return labels.ravel(), len(used)


@dataclass(frozen=True, eq=False)
class Cells:
    """What `partition` must know of covariances that come in parts; that of parts adds.

    Parameters
    ----------
    most : int
        The largest number of groups.
    different : dict or None
        Mass and covariance by the key of `_keys`, of up to ``most`` different covariances; None
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
        labels, first = _different(covariances)
        different = None
        if len(first) <= most:
            masses = np.bincount(labels, weights)
            keys = _keys(covariances[first]).tolist()
            rows = zip(masses.tolist(), covariances[first], strict=True)
            different = dict(zip(keys, rows, strict=True))
        logs = log_covariances(covariances / np.multiply.outer(scale, scale))
        used, labels = np.unique(_places(logs, cell), axis=0, return_inverse=True)
        if len(used) > _MOST_CELLS:
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
        return Cells(self.most, different, cells if len(cells) <= _MOST_CELLS else None)


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
            used, labels = np.unique(_keys(covariances), return_inverse=True)
            names: list[object] = list(used.tolist())
        else:
            logs = log_covariances(covariances / np.multiply.outer(scale, scale))
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


def _keys(covariances: Array) -> Array:
    """Return one number for each covariance, equal where they are."""
    rows, columns = np.tril_indices(covariances.shape[1])
    primes = np.sqrt(np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])[: len(rows)])
    return np.asarray((covariances[:, rows, columns] * primes).sum(axis=1))
