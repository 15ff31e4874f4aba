"""Histograms on dyadic lattices of different spacing and extent: moved, grown and joined exactly.

Spacings are powers of two and nodes are multiples of them. A hat function is a sum of narrower
ones, so that a histogram on a fine lattice is, exactly, one on every coarser lattice; and it may be
surrounded by as many empty nodes as are wanted. So a stream needs no bounds in advance, and sites
need not agree on a grid before they send their histograms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.grid import MEMORY_LIMIT, Grid
from noisykmeans.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["coarsened", "extended", "joined", "placed", "spanning"]

_ROUNDING = 2.0**24  # places between nodes, as binning has them


def coarsened(histogram: Histogram, spacing: Sequence[float]) -> Histogram:
    """Return the histogram with at least that spacing along each axis."""
    while axes := [v for v, h in enumerate(histogram.grid.spacing) if h < spacing[v]]:
        histogram = histogram.coarser(axes)
    return histogram


def spanning(*grids: Grid) -> Grid:
    """Return the smallest grid of the coarsest spacing that holds several grids.

    Examples
    --------
    >>> spanning(Grid((0.0,), (0.5,), (4,)), Grid((7.0,), (1.0,), (2,)))
    Grid(lower=(0.0,), spacing=(1.0,), shape=(9,))
    """
    if not grids:
        raise ValueError("there are no histograms to join: give one at least")
    dimensions = {grid.dimension for grid in grids}
    if len(dimensions) > 1:
        raise ValueError(f"histograms of {sorted(dimensions)} axes cannot be joined")
    for grid in grids:
        _check_dyadic(grid)
    step = np.max([grid.spacing for grid in grids], axis=0)
    first = np.min([np.floor(np.array(grid.lower) / step) for grid in grids], axis=0)
    last = np.max([np.ceil(np.array(grid.upper) / step) for grid in grids], axis=0)
    shape = np.maximum(last - first + 1, 2)
    if not 8 * shape.prod() <= MEMORY_LIMIT:
        middles = np.array([np.add(grid.lower, grid.upper) / 2 for grid in grids])
        far = np.abs(middles - np.median(middles, axis=0)) / step
        raise ValueError(
            f"the histograms lie too far apart to be joined: {8 * shape.prod() / 2**30:.3g} GiB "
            f"would be needed, above {MEMORY_LIMIT / 2**30:g} GiB; leave out what is far away on "
            f"{grids[int(far.max(axis=1).argmax())]}"
        )
    shape = shape.astype(int)
    return Grid(tuple((first * step).tolist()), tuple(step.tolist()), tuple(shape.tolist()))


def placed(histogram: Histogram, grid: Grid) -> Histogram:
    """Return the histogram on a grid of the same or a coarser lattice that holds all of its mass.

    Nodes are added, and empty ones go.
    """
    histogram = coarsened(histogram, grid.spacing)
    old, shift = histogram.grid, []
    if old.spacing != grid.spacing:
        raise ValueError(
            f"a histogram of spacing {old.spacing} cannot be brought to the finer {grid.spacing}"
        )
    for a, b, h in zip(old.lower, grid.lower, grid.spacing, strict=True):
        shift.append(round((a - b) / h))
    values = np.zeros(grid.shape)
    inside = [
        slice(max(s, 0), min(s + n, m))
        for s, n, m in zip(shift, old.shape, grid.shape, strict=True)
    ]
    source = [slice(part.start - s, part.stop - s) for part, s in zip(inside, shift, strict=True)]
    kept = histogram.values[tuple(source)]
    if np.count_nonzero(kept) < np.count_nonzero(histogram.values):
        raise ValueError(f"the grid {grid} does not hold all of {histogram}")
    values[tuple(inside)] = kept
    return Histogram(grid, values, histogram.outside, histogram.count)


def joined(*histograms: Histogram) -> Histogram:
    """Return the histogram of several samples, whatever the extents of their grids.

    Its spacing is the coarsest of theirs. Mass and mean are kept exactly, to the rounding of
    doubles.

    Examples
    --------
    >>> from noisykmeans.histogram import fill
    >>> near = fill(Grid((0.0,), (0.5,), (4,)), [[0.5]])
    >>> far = fill(Grid((8.0,), (1.0,), (2,)), [[8.25]])
    >>> joined(near, far).values.tolist()
    [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.75, 0.25]
    """
    grid = spanning(*[histogram.grid for histogram in histograms])
    first, *rest = [placed(histogram, grid) for histogram in histograms]
    for histogram in rest:
        first = first + histogram
    return first


def extended(histogram: Histogram, axis: int, value: float, spacing: float) -> Histogram:
    """Return the histogram with one more axis, along which all of its points have one value.

    Parameters
    ----------
    histogram : Histogram
        Of the other axes.
    axis : int
        Where the new axis stands among them.
    value : float
        The value.
    spacing : float
        Of the new axis, a power of two.
    """
    first = np.floor(value / spacing)
    share = np.round((value / spacing - first) * _ROUNDING) / _ROUNDING
    values = np.stack([histogram.values * (1 - share), histogram.values * share], axis=axis)
    old = histogram.grid
    lower, step = list(old.lower), list(old.spacing)
    lower.insert(axis, float(first * spacing))
    step.insert(axis, float(spacing))
    grid = Grid(tuple(lower), tuple(step), values.shape)
    return Histogram(grid, values, histogram.outside, histogram.count)


def _check_dyadic(grid: Grid) -> None:
    """Raise where nodes are no multiples of a power of two."""
    for lower, spacing in zip(grid.lower, grid.spacing, strict=True):
        if np.frexp(spacing)[0] != 0.5 or lower / spacing != round(lower / spacing):
            raise ValueError(
                f"histograms on different grids join where spacings are powers of two and nodes "
                f"multiples of them; got {grid}: use Grid.covering"
            )
