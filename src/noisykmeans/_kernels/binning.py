"""Linear binning of points on a grid of one, two or three axes, and labels of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bin_1d", "bin_2d", "bin_3d"]


@kernel
def bin_1d(
    X: NDArray[Any],
    weights: NDArray[Any],
    lower: NDArray[Any],
    per_spacing: NDArray[Any],
    values: NDArray[Any],
) -> float:
    """Add points to ``values``; return the mass of those beyond the grid."""
    outside = 0.0
    last = values.shape[0] - 1
    for n in range(X.shape[0]):
        u = (X[n, 0] - lower[0]) * per_spacing[0]
        w = weights[n]
        if not 0 <= u <= last:
            outside += w
            continue
        i = min(int(u), last - 1)
        r = w * (u - i)
        values[i] += w - r
        values[i + 1] += r
    return outside


@kernel
def bin_2d(
    X: NDArray[Any],
    weights: NDArray[Any],
    lower: NDArray[Any],
    per_spacing: NDArray[Any],
    values: NDArray[Any],
) -> float:
    """Add points to ``values``; return the mass of those beyond the grid."""
    outside = 0.0
    last0, last1 = values.shape[0] - 1, values.shape[1] - 1
    for n in range(X.shape[0]):
        u = (X[n, 0] - lower[0]) * per_spacing[0]
        v = (X[n, 1] - lower[1]) * per_spacing[1]
        w = weights[n]
        if not (0 <= u <= last0 and 0 <= v <= last1):
            outside += w
            continue
        i, j = min(int(u), last0 - 1), min(int(v), last1 - 1)
        b = v - j
        upper = w * (u - i)
        low = w - upper
        values[i, j] += low - low * b
        values[i, j + 1] += low * b
        values[i + 1, j] += upper - upper * b
        values[i + 1, j + 1] += upper * b
    return outside


@kernel
def bin_3d(
    X: NDArray[Any],
    weights: NDArray[Any],
    lower: NDArray[Any],
    per_spacing: NDArray[Any],
    values: NDArray[Any],
) -> float:
    """Add points to ``values``; return the mass of those beyond the grid."""
    outside = 0.0
    last0, last1, last2 = values.shape[0] - 1, values.shape[1] - 1, values.shape[2] - 1
    for n in range(X.shape[0]):
        u = (X[n, 0] - lower[0]) * per_spacing[0]
        v = (X[n, 1] - lower[1]) * per_spacing[1]
        z = (X[n, 2] - lower[2]) * per_spacing[2]
        w = weights[n]
        if not (0 <= u <= last0 and 0 <= v <= last1 and 0 <= z <= last2):
            outside += w
            continue
        i, j, k = min(int(u), last0 - 1), min(int(v), last1 - 1), min(int(z), last2 - 1)
        for a in range(2):
            wa = w * (u - i) if a else w - w * (u - i)
            for b in range(2):
                wb = wa * (v - j) if b else wa - wa * (v - j)
                values[i + a, j + b, k] += wb - wb * (z - k)
                values[i + a, j + b, k + 1] += wb * (z - k)
    return outside
