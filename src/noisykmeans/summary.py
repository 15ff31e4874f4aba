"""All that a fit keeps of observations that came in parts: histograms, and how many they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.groups import Group, Groups, Kind, restricted
from noisykmeans.histogram import Histogram, add_rows
from noisykmeans.profile import Counts, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from noisykmeans.batches import Batch
    from noisykmeans.grid import Grid

    Array = NDArray[np.float64]
    Labels = Callable[[Batch], NDArray[np.intp]]

__all__ = ["Binning", "Summary"]


@dataclass(frozen=True, eq=False)
class Summary:
    """Histograms of a sample, and its size; those of parts add.

    Parameters
    ----------
    groups : Groups
        One histogram for each law of errors.
    counts : Counts
        The size of the sample.
    """

    groups: Groups
    counts: Counts

    def __add__(self, other: object) -> Summary:
        """Return the summary of both samples."""
        if not isinstance(other, Summary):
            return NotImplemented
        return Summary(self.groups + other.groups, self.counts + other.counts)


@dataclass(frozen=True, eq=False)
class Binning:
    """How rows become a `Summary`: a plan that can be sent to other threads and machines.

    Parameters
    ----------
    grid : Grid
        The nodes.
    axes : tuple of int
        The features that have one, in ascending order: the others are constant.
    kinds : tuple of Kind
        The laws of the errors.
    labels : callable or None
        Gives the number of each row's kind; None where there is one.
    """

    grid: Grid
    axes: tuple[int, ...]
    kinds: tuple[Kind, ...]
    labels: Labels | None = None

    def __call__(self, batches: Iterable[Batch]) -> Summary:
        """Bin batches one after the other."""
        grids = [restricted(self.grid, kind.axes) for kind in self.kinds]
        values = [np.zeros(grid.shape) for grid in grids]
        outside, rows = [0.0] * len(grids), [0] * len(grids)
        total = Counts()
        for batch in batches:
            X, weights, kept, counts = counted(batch)
            labels = None
            if self.labels is not None:
                labels = self.labels(batch if kept is None else batch.rows(kept))
            for g, grid in enumerate(grids):
                part: Any = slice(None) if labels is None else np.flatnonzero(labels == g)
                own = None if weights is None else weights[part]
                some = X[part]
                if len(self.axes) < X.shape[1]:
                    some = some[:, self.axes]
                beyond = add_rows(values[g], grid, some, own)
                if beyond > 0 and not np.isfinite(some).all():
                    lost = int(np.count_nonzero(~np.isfinite(some).all(axis=1)))
                    counts += Counts(-lost, missing=lost)
                outside[g] += beyond
                rows[g] += len(some)
            total += counts
        parts = zip(grids, values, outside, rows, self.kinds, strict=True)
        members = tuple(Group(Histogram(g, v, o, n), kind) for g, v, o, n, kind in parts)
        return Summary(Groups(self.grid, members), total)

    @classmethod
    def alike(cls, grid: Grid, axes: Sequence[int], noise: Any) -> Binning:
        """Return the plan for errors of one law."""
        every = tuple(range(grid.dimension))
        return cls(grid, tuple(axes), (Kind(noise, every),))
