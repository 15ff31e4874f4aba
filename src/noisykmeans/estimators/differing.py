"""Errors that differ from row to row, in a source that is read in parts.

What `partition` does with all covariances at once needs only sums over cells of a lattice of their
logarithms. One pass gathers them, the next one knows the group of every row.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.batches import Around, Batch
from noisykmeans.cells import Cells, groups_of
from noisykmeans.errors import Errors, gaussian
from noisykmeans.estimators.rows import as_covariances
from noisykmeans.groups import Kind
from noisykmeans.partition import CELL, MOST_GROUPS, WIDER
from noisykmeans.profile import Profile, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from noisykmeans.batches import Source
    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = [
    "Grouping",
    "Labelling",
    "Measured",
    "Sizes",
    "WellMeasured",
    "covariances",
    "measured",
]

_PER_OCTAVE = 8  # bins of sizes
_OCTAVES = 120  # on either side of 1
_LARGEST = 10.0  # standard deviations of well-measured rows, as in `Errors.usable`


@dataclass(frozen=True, eq=False)
class Sizes:
    """How large the errors are, and how far rows with errors of that size are spread.

    Parameters
    ----------
    count, mean, scatter : array of shape (d, m)
        Of the observations along each axis whose errors have a size in one of m bins.
    """

    count: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, batch: Batch) -> Sizes:
        """Look at the errors of a batch."""
        X, S = batch.X, covariances(batch)
        n_bins = 2 * _OCTAVES * _PER_OCTAVE
        parts = []
        for x, variance in zip(X.T, S.diagonal(axis1=1, axis2=2).T, strict=True):
            with np.errstate(divide="ignore"):
                place = np.floor(_PER_OCTAVE * np.log2(np.sqrt(variance)))
            bins = np.clip(place + n_bins // 2, 0, n_bins - 1).astype(np.intp)
            count = np.bincount(bins, minlength=n_bins).astype(np.float64)
            mean = np.bincount(bins, x, n_bins) / np.maximum(count, 1)
            scatter = np.bincount(bins, (x - mean[bins]) ** 2, n_bins)
            parts.append((count, mean, scatter))
        return cls(*(np.array(part) for part in zip(*parts, strict=True)))

    def __add__(self, other: Sizes) -> Sizes:
        """Return what is known of both samples."""
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        step = other.mean - self.mean
        scatter = self.scatter + other.scatter + step**2 * self.count * share
        return Sizes(count, self.mean + share * step, scatter)

    def largest_usable(self) -> Array:
        """Return the size along each axis above which an error leaves nothing to know.

        It is ten times the standard deviation of the better half of the rows, and no less than
        the errors of that half.
        """
        limits = []
        for count, mean, scatter in zip(self.count, self.mean, self.scatter, strict=True):
            half = int(np.searchsorted(np.cumsum(count), count.sum() / 2))
            n, m, s = (a[: half + 1] for a in (count, mean, scatter))
            middle = n @ m / n.sum()
            spread = np.sqrt((s.sum() + n @ (m - middle) ** 2) / n.sum())
            edge = 2.0 ** ((half + 1) / _PER_OCTAVE - _OCTAVES)
            limits.append(max(edge, _LARGEST * spread))
        return np.array(limits)

    def exceeds(self, limits: Array) -> bool:
        """Return whether some error may be larger than that."""
        edges = 2.0 ** (np.arange(1, self.count.shape[1] + 1) / _PER_OCTAVE - _OCTAVES)
        return bool(((self.count > 0) & (edges > limits[:, None])).any())


@dataclass(frozen=True, eq=False)
class Measured:
    """A profile, and the sizes of the errors.

    Parameters
    ----------
    profile : Profile
        Of the rows.
    sizes : Sizes or None
        Of their errors; None where there are no rows.
    """

    profile: Profile
    sizes: Sizes | None

    def __add__(self, other: Measured) -> Measured:
        """Return what is known of both samples."""
        parts = [sizes for sizes in (self.sizes, other.sizes) if sizes is not None]
        sizes = None if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return Measured(self.profile + other.profile, sizes)


def measured(batches: Iterable[Batch]) -> Measured | None:
    """Return the profile of batches, and the sizes of their errors."""
    total: Measured | None = None
    for batch in batches:
        own = Profile.of(batch)
        usable = own.counts.rows and not own.counts.missing
        one = Measured(own, Sizes.of(_weighty(batch)) if usable else None)
        total = one if total is None else total + one
    return total


def covariances(batch: Batch) -> Array:
    """Return the covariance of each row's errors, checked."""
    if batch.X_err is None and batch.X_cov is None:
        raise ValueError("some batches have errors of each row, and some have none: give X_err")
    X = np.asarray(batch.X, dtype=np.float64)
    S: Any = as_covariances(batch.X_err, batch.X_cov, X)
    if not np.isfinite(S).all():
        raise ValueError(
            "rows in parts must have finite errors: leave out rows of infinite error, which tell "
            "nothing, or give all rows at once as one array"
        )
    Errors.of(X, S)
    return np.asarray(S)


def _weighty(batch: Batch) -> Batch:
    """Return the rows of positive weight."""
    kept = counted(batch)[2]
    return batch if kept is None else batch.rows(kept)


class WellMeasured(Around):
    """A source without rows whose errors leave nothing to know, which would stretch the grid.

    Parameters
    ----------
    source : Source
        The rows.
    limits : array of shape (d,)
        The largest size of an error along each axis.
    """

    def __init__(self, source: Source, limits: Array) -> None:
        super().__init__(source)
        self._limits = limits

    def read(self, part: Any) -> Batch:
        """Return the well-measured rows of a part."""
        return _within(self._source.read(part), self._limits)

    def reduce(self, function: Callable[[Iterator[Batch]], Any]) -> Any:
        """Apply a function to runs of such rows, where the source does it."""
        return self._source.reduce(_OfWellMeasured(function, self._limits))

    def warn(self, n_left: float, n_all: float) -> None:
        """Tell how many rows were left out."""
        warnings.warn(
            f"{n_all - n_left:.0f} of {n_all:.0f} rows have an error more than ten times as large "
            f"as well-measured rows are spread: they are left out",
            UserWarning,
            stacklevel=6,
        )


@dataclass(frozen=True, eq=False)
class _OfWellMeasured:
    function: Callable[[Iterator[Batch]], Any]
    limits: Array

    def __call__(self, batches: Iterator[Batch]) -> Any:
        return self.function(_within(batch, self.limits) for batch in batches)


def _within(batch: Batch, limits: Array) -> Batch:
    sizes = np.sqrt(covariances(batch).diagonal(axis1=1, axis2=2))
    kept = (sizes <= limits).all(axis=1)
    return batch if kept.all() else batch.rows(kept)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which rows have errors alike: gathers cells first, and then knows the group of each row.

    Parameters
    ----------
    axes : tuple of int
        The features that vary.
    scale : array of shape (len(axes),)
        The standard deviations of the observations along them.
    cell : float
        The width of the cells.
    """

    axes: tuple[int, ...]
    scale: Array
    cell: float = CELL

    def gathered(self, source: Source) -> tuple[Grouping, Cells]:
        """Return the cells of all rows, few enough, and the grouping that has made them."""
        cells = source.reduce(self) or Cells(MOST_GROUPS[len(self.axes)])
        if cells.cells is not None or cells.different is not None:
            return self, cells
        return replace(self, cell=WIDER * self.cell).gathered(source)

    def __call__(self, batches: Iterable[Batch]) -> Cells:
        """Gather the cells of batches."""
        total = Cells(MOST_GROUPS[len(self.axes)])
        for batch in map(_weighty, batches):
            _, weights, _, counts = counted(batch)
            if counts.rows:
                ones = np.ones(counts.rows) if weights is None else weights
                total = total + Cells.of(self._along(batch), ones, self.scale, self.cell)
        return total

    def _along(self, batch: Batch) -> Array:
        S, axes = covariances(batch), np.array(self.axes)
        return S if len(axes) == S.shape[1] else S[:, axes[:, None], axes]

    def kinds(self, cells: Cells, noise: Noise) -> tuple[Labelling, tuple[Kind, ...], Array]:
        """Return what labels rows, the kinds of errors, and the mass of each."""
        groups = groups_of(cells)
        every = tuple(range(len(self.axes)))
        kinds = tuple(Kind(noise + gaussian(matrix), every) for matrix in groups.covariances)
        return Labelling(self, groups), kinds, groups.masses


@dataclass(frozen=True, eq=False)
class Labelling:
    """Gives the number of each row's group.

    Parameters
    ----------
    grouping : Grouping
        How covariances are looked at.
    groups : cells.CellGroups
        The group of each cell.
    """

    grouping: Grouping
    groups: Any

    def __call__(self, batch: Batch) -> NDArray[np.intp]:
        """Label the rows of a batch."""
        S = self.grouping._along(batch)  # noqa: SLF001  its own plan
        return np.asarray(self.groups.labels(S, self.grouping.scale, self.grouping.cell))
