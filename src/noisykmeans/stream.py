"""A sample that comes batch by batch, on a lattice that grows with it.

No bounds are needed in advance. Where a batch lies beyond the lattice, the lattice grows; where
the range has become wide for its spacing, every second node goes; both exactly. So memory stays
what it was, however much comes. The order of the batches changes only how finely single shares
were rounded: to 2^-24 of the spacing that the lattice had when they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.grid import Grid
from noisykmeans.histogram import Histogram, fill
from noisykmeans.lattice import extended, placed
from noisykmeans.summary import Binning

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noisykmeans.batches import Batch
    from noisykmeans.noise import Noise
    from noisykmeans.profile import Profile

    Array = NDArray[np.float64]
    Spacing = Callable[[Profile, tuple[int, ...]], Array]

__all__ = ["Stream"]


@dataclass(frozen=True, eq=False)
class Stream:
    """What is kept of the batches so far.

    Parameters
    ----------
    profile : Profile
        Their size, bounds and spread.
    axes : tuple of int
        The features that have varied so far.
    histogram : Histogram or None
        Of these features; None where none has.
    """

    profile: Profile
    axes: tuple[int, ...] = ()
    histogram: Histogram | None = None

    def added(self, batch: Batch, own: Profile, spacing: Spacing, noise: Noise) -> Stream:
        """Return the stream with one more batch.

        Parameters
        ----------
        batch : Batch
            The rows.
        own : Profile
            What is known of them.
        spacing : callable
            Gives the upper limits of the spacing for a profile and the axes that vary in it.
        noise : Noise
            The law of the errors.
        """
        profile = self.profile + own
        axes = tuple(np.flatnonzero(profile.bounds[1] > profile.bounds[0]).tolist())
        if not axes:
            return Stream(profile)
        step = 2.0 ** np.floor(np.log2(spacing(profile, axes)))
        if self.histogram is not None:
            old = dict(zip(self.axes, self.histogram.grid.spacing, strict=True))
            step = np.maximum(step, [old.get(axis, 0.0) for axis in axes])
        grid = _over(profile.bounds[:, list(axes)], step)
        new = Binning.alike(grid, axes, noise)([batch]).groups.histogram
        earlier = self._on(grid, axes)
        return Stream(profile, axes, new if earlier is None else earlier + new)

    def _on(self, grid: Grid, axes: tuple[int, ...]) -> Histogram | None:
        """Return the histogram of the rows so far on the grid of all features that vary now."""
        point, counts = self.profile.bounds[0], self.profile.counts
        if not counts.rows:
            return None
        if self.histogram is None:
            first = fill(grid, point[None, list(axes)], [counts.mass])
            return Histogram(grid, first.values, first.outside, counts.rows)
        histogram = self.histogram
        for place, axis in enumerate(axes):
            if axis not in self.axes:
                histogram = extended(histogram, place, float(point[axis]), grid.spacing[place])
        return placed(histogram, grid)


def _over(box: Array, step: Array) -> Grid:
    """Return the nodes around a box."""
    first = np.floor(box[0] / step)
    last = np.maximum(np.ceil(box[1] / step), first + 1)
    shape = tuple((last - first + 1).astype(int).tolist())
    return Grid(tuple((first * step).tolist()), tuple(step.tolist()), shape)
