"""Linear binning of points on a grid of one, two or three axes.

The share that a point gives to a node is a multiple of 2^-24, and the shares of a point are 1 in
all. So with integer weights every sum is exact below a mass of 2^29 at a node: it depends neither
on the order of the points nor on how they are cut into parts. A point's place is kept to 2^-25 of
a spacing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bin_1d", "bin_2d", "bin_3d"]

ROUNDER = 1.5 * 2.0 ** (52 - 24)  # near which doubles are multiples of 2^-24


@kernel
def rounded(share: float) -> float:
    """Return the closest multiple of 2^-24, for shares from 0 to 1."""
    return (share + ROUNDER) - ROUNDER


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
        r = rounded(u - i)
        values[i] += w * (1 - r)
        values[i + 1] += w * r
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
        upper = rounded(u - i)
        low = 1 - upper
        upper_right, low_right = rounded(upper * (v - j)), rounded(low * (v - j))
        values[i, j] += w * (low - low_right)
        values[i, j + 1] += w * low_right
        values[i + 1, j] += w * (upper - upper_right)
        values[i + 1, j + 1] += w * upper_right
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
        upper = rounded(u - i)
        for a in range(2):
            whole = upper if a else 1 - upper
            right = rounded(whole * (v - j))
            for b in range(2):
                half = right if b else whole - right
                behind = rounded(half * (z - k))
                values[i + a, j + b, k] += w * (half - behind)
                values[i + a, j + b, k + 1] += w * behind
    return outside
