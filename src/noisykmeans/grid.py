"""Grids on a dyadic lattice, and the frequencies that belong to them.

Spacings are powers of two and nodes are multiples of them, so that histograms of different
samples share a lattice, add, and coarsen exactly. The Fourier transform runs on a shape that is
padded to twice the grid's: every node and every datum are then less than half a period apart,
and the periodic wrap of the transform never reaches them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import next_fast_len

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MARGIN", "MAX_DIMENSION", "MEMORY_LIMIT", "Grid", "check_dimension"]

MAX_DIMENSION = 3
MARGIN = 0.1  # share of the data's range by which a grid exceeds it at either end
MEMORY_LIMIT = 2**30  # bytes that one Fourier transform may take


@dataclass(frozen=True)
class Grid:
    """Nodes ``lower_v + i_v spacing_v``, ``0 <= i_v < shape_v``, in one to three axes.

    Parameters
    ----------
    lower : tuple of float
        The first node along each axis.
    spacing : tuple of float
        The distance of the nodes along each axis.
    shape : tuple of int
        The number of nodes along each axis, at least 2.

    Examples
    --------
    >>> grid = Grid((0.0, -1.0), (0.5, 0.25), (4, 8))
    >>> grid.upper
    (1.5, 0.75)
    """

    lower: tuple[float, ...]
    spacing: tuple[float, ...]
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not len(self.lower) == len(self.spacing) == len(self.shape):
            raise ValueError(f"lower, spacing and shape must have one entry an axis; got {self}")
        check_dimension(self.dimension)
        if min(self.shape) < 2:
            raise ValueError(f"a grid needs at least 2 nodes on each axis; got shape {self.shape}")
        if not (np.isfinite(self.lower).all() and np.isfinite(self.spacing).all()):
            raise ValueError(f"lower and spacing must be finite; got {self}")
        if min(self.spacing) <= 0:
            raise ValueError(f"spacing must be positive; got {self.spacing}")

    @classmethod
    def covering(cls, X: ArrayLike, spacing: ArrayLike) -> Grid:
        """Return the dyadic grid over the range of ``X`` and a margin on either side.

        Parameters
        ----------
        X : array of shape (n, d)
            Data, or only their bounds.
        spacing : float or one per axis
            Upper limit of the spacing, which becomes the next lower power of two.
        """
        X = np.asarray(X)
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        step = 2.0 ** np.floor(np.log2(np.broadcast_to(np.asarray(spacing), low.shape)))
        first = np.floor((low - MARGIN * (high - low)) / step)
        last = np.maximum(np.ceil((high + MARGIN * (high - low)) / step), first + 1)
        nodes = last - first + 1
        _check_memory(nodes)
        return cls(tuple(map(float, first * step)), tuple(map(float, step)), tuple(map(int, nodes)))

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @cached_property
    def upper(self) -> tuple[float, ...]:
        """The last node along each axis."""
        return tuple(
            a + (n - 1) * s for a, s, n in zip(self.lower, self.spacing, self.shape, strict=True)
        )

    @cached_property
    def cell_volume(self) -> float:
        """The volume that one node stands for."""
        return float(np.prod(self.spacing))

    @property
    def nodes(self) -> tuple[NDArray[Any], ...]:
        """The coordinates of the nodes along each axis."""
        axes = zip(self.lower, self.spacing, self.shape, strict=True)
        return tuple(a + s * np.arange(n) for a, s, n in axes)

    @property
    def points(self) -> NDArray[np.float64]:
        """All nodes as points, of shape (number of nodes, d), the last axis fastest."""
        return np.stack(np.meshgrid(*self.nodes, indexing="ij"), axis=-1).reshape(
            -1, self.dimension
        )

    @cached_property
    def padded_shape(self) -> tuple[int, ...]:
        """The shape of the Fourier transform: at least twice the grid's, and fast."""
        return _padded(self.shape)

    @property
    def frequencies(self) -> tuple[NDArray[Any], ...]:
        """The dual grid: angular frequencies along each axis, the last one from 0 up only."""
        *outer, last = zip(self.padded_shape, self.spacing, strict=True)
        return (
            *(2 * np.pi * np.fft.fftfreq(n, s) for n, s in outer),
            2 * np.pi * np.fft.rfftfreq(*last),
        )


def check_dimension(d: int) -> None:
    """Raise unless a grid may have that many axes."""
    if not 1 <= d <= MAX_DIMENSION:
        raise ValueError(
            f"a grid has 1 to {MAX_DIMENSION} axes; got {d}: "
            f"noise with more features is not supported on a grid"
        )


def _padded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return FFT-friendly lengths of at least ``2 n - 1``."""
    return tuple(int(next_fast_len(2 * n - 1, real=True)) for n in shape)


def _check_memory(nodes: NDArray[np.float64]) -> None:
    """Raise where the Fourier transform on that many nodes would exceed the memory limit."""
    # A complex number on half of the padded nodes; floats, since the product may be astronomic.
    need = 8 * math.prod((2 * nodes).tolist())
    if not need <= MEMORY_LIMIT:
        shape = " x ".join(f"{n:.6g}" for n in nodes)
        raise ValueError(
            f"a grid of {shape} nodes would need {need / 2**30:.3g} GiB for its Fourier transform, "
            f"above the limit of {MEMORY_LIMIT / 2**30:g} GiB: lower resolution or raise bandwidth"
        )
