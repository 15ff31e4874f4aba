"""Linear-binned histograms: the only pass over the data, and all that is kept of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import _kernels
from noisykmeans.grid import Grid
from noisykmeans.persistence import save

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Histogram", "add_rows", "fill"]

_PARTS = 16  # at most, of a sample: more than there are threads, mostly


@dataclass(frozen=True, eq=False)
class Histogram:
    """The mass of a sample at the nodes of a grid.

    Each observation shares its weight among the 2^d nodes around it, in proportion to
    ``prod (1 - |z_v - node_v| / spacing_v)``, rounded to a multiple of 2^-24. This keeps the mass
    exactly, and the mean to 2^-24 of a spacing. Where weights are integers, every sum is exact, too
    (below a mass of 2^29 at a node): histograms of parts of a sample add up to that of the whole to
    the last bit, however it is cut.

    Parameters
    ----------
    grid : Grid
        The nodes.
    values : array of the grid's shape
        The mass at each node, in the unit of the weights.
    outside : float
        The mass of the observations beyond the grid: counted, and nowhere else.
    count : int or None
        The number of observations, where it is known.

    Examples
    --------
    >>> from noisykmeans.grid import Grid
    >>> grid = Grid((0.0,), (1.0,), (4,))
    >>> histogram = fill(grid, [[0.5], [2.0], [7.0]])
    >>> histogram.values.tolist(), histogram.outside
    ([0.5, 0.5, 1.0, 0.0], 1.0)
    >>> (histogram + histogram).mass
    4.0
    """

    grid: Grid
    values: NDArray[np.float64]
    outside: float = 0.0
    count: int | None = None

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64, order="C")
        if values.shape != self.grid.shape:
            raise ValueError(
                f"values have the shape {values.shape}, the grid has {self.grid.shape}"
            )
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @cached_property
    def mass(self) -> float:
        """The mass on the grid."""
        return float(self.values.sum())

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean along each axis."""
        axes = zip(self._shares, self.grid.nodes, strict=True)
        return np.array([share @ x for share, x in axes])

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """The standard deviation of the sample along each axis, about.

        The shares of the two nodes around a point add ``spacing^2 / 6`` to the variance on
        average; this is taken off.
        """
        variances = []
        for share, x, spacing in zip(self._shares, self.grid.nodes, self.grid.spacing, strict=True):
            variance = share @ (x - share @ x) ** 2
            variances.append(max(variance - spacing**2 / 6, variance / 6))
        return np.sqrt(variances)

    @property
    def deviation(self) -> NDArray[np.float64]:
        """The mean absolute deviation of the sample from its mean along each axis, about."""
        axes = zip(self._shares, self.grid.nodes, strict=True)
        return np.array([share @ np.abs(x - share @ x) for share, x in axes])

    @property
    def quartiles(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The nodes at which a quarter and three quarters of the mass are reached.

        They are one spacing apart at least, as points between two nodes may lie at both.
        """
        axes = zip(self._shares, self.grid.nodes, strict=True)
        pairs = [x[np.searchsorted(np.cumsum(share), (0.25, 0.75))] for share, x in axes]
        low, high = np.transpose(pairs)
        return low, np.maximum(high, low + self.grid.spacing)

    @cached_property
    def _shares(self) -> list[NDArray[np.float64]]:
        """The share of the mass at each node along each axis."""
        axes, mass = range(self.grid.dimension), self.mass
        return [self.values.sum(axis=tuple(v for v in axes if v != axis)) / mass for axis in axes]

    def __add__(self, other: object) -> Histogram:
        """Return the histogram of both samples."""
        if not isinstance(other, Histogram):
            return NotImplemented
        if other.grid != self.grid:
            raise ValueError(
                f"histograms add on one grid only; got {self.grid} and {other.grid}: "
                f"fill both on the same one"
            )
        known = self.count is not None and other.count is not None
        count = (self.count or 0) + (other.count or 0) if known else None
        outside = self.outside + other.outside
        return Histogram(self.grid, self.values + other.values, outside, count)

    def coarser(self, axes: Iterable[int] | None = None) -> Histogram:
        """Return the histogram of the same sample at every second node, exactly.

        Along all axes, or the given ones. A hat function is the sum of the one at its own node,
        half as wide, and half of its two neighbours'. The nodes that stay are the even multiples
        of the spacing.
        """
        values, lower, spacing = self.values, list(self.grid.lower), list(self.grid.spacing)
        for axis in range(self.grid.dimension) if axes is None else axes:
            odd = round(lower[axis] / spacing[axis]) % 2  # whether the first node goes
            lower[axis] -= odd * spacing[axis]
            spacing[axis] *= 2
            values = _at_every_second(values, axis, odd)
        grid = Grid(tuple(lower), tuple(spacing), values.shape)
        return Histogram(grid, values, self.outside, self.count)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the histogram to a file that `noisykmeans.load` reads.

        It holds sums at the nodes, and no single observation.
        """
        save(self, path)

    def __repr__(self) -> str:
        return f"Histogram({self.grid}, mass={self.mass:g}, outside={self.outside:g})"


def _at_every_second(values: NDArray[np.float64], axis: int, first: int) -> NDArray[np.float64]:
    """Give half of what is at the nodes that go, the first of them, to either neighbour."""
    fine = np.moveaxis(values, axis, 0)
    between = fine[1 - first :: 2]
    coarse = np.zeros((len(between) + 1, *fine.shape[1:]))
    kept = fine[first::2]
    coarse[first : first + len(kept)] = kept
    coarse[:-1] += between / 2
    coarse[1:] += between / 2
    return np.moveaxis(coarse, 0, axis)


def fill(grid: Grid, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Histogram:
    """Bin a sample on a grid.

    The rows are binned in fixed parts, in as many threads as there are cores; the parts are added
    in their order, so that the result does not depend on the number of threads.

    Parameters
    ----------
    grid : Grid
        The nodes.
    X : array of shape (n, d)
        Observations.
    sample_weight : array of shape (n,) or None
        Their weights, 1 each if None.
    """
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2 or X.shape[1] != grid.dimension:
        raise ValueError(f"X must have the shape (n, {grid.dimension}); got {X.shape}")
    weights = np.ones(1) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if sample_weight is not None and weights.shape != (len(X),):
        raise ValueError(f"sample_weight must have the shape ({len(X)},); got {weights.shape}")
    weights = np.broadcast_to(weights, len(X))

    def block(rows: slice) -> tuple[NDArray[np.float64], float]:
        values = np.zeros(grid.shape)
        return values, add_rows(values, grid, X[rows], weights[rows])

    # Few parts, and none with more nodes than rows: each has a histogram of its own.
    smallest = max(-(-len(X) // _PARTS), math.prod(grid.shape))
    parts = _kernels.threads.map_blocks(block, len(X), smallest)
    total, outside = next(parts, (np.zeros(grid.shape), 0.0))
    for values, beyond in parts:
        total += values
        outside += beyond
    return Histogram(grid, total, outside, len(X))


def add_rows(
    values: NDArray[np.float64], grid: Grid, X: NDArray[Any], weights: NDArray[Any] | None
) -> float:
    """Add rows to the mass at the nodes, in place; return the mass of those beyond the grid.

    Parameters
    ----------
    values : array of the grid's shape
        The mass at each node, which grows.
    grid : Grid
        The nodes.
    X : array of shape (n, d)
        Observations, single or double.
    weights : array of shape (n,) or None
        Their weights, 1 each if None.
    """
    weights = np.broadcast_to(np.ones(1) if weights is None else weights, len(X))
    kernel = (_kernels.binning.bin_1d, _kernels.binning.bin_2d, _kernels.binning.bin_3d)[
        grid.dimension - 1
    ]
    return float(kernel(X, weights, np.array(grid.lower), 1 / np.array(grid.spacing), values))
