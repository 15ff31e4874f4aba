"""Centers drawn far from each other: greedy k-means++ on weighted points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["spread"]

BLOCK = 64  # points whose masses are summed at once: draws look at sums first, then inside one


@kernel
def narrowed(
    points: NDArray[Any],
    weights: NDArray[Any],
    center: int,
    squares: NDArray[Any],
    nearer: NDArray[Any],
    sums: NDArray[Any],
) -> float:
    """Fill squared distances to the closest center if one is added; return the weighted total.

    Sums of blocks are filled with the mass ``weight * square`` of each.
    """
    d, m = points.shape
    square = np.empty(BLOCK)
    total = 0.0
    for b in range(sums.shape[0]):
        start = b * BLOCK
        n = min(BLOCK, m - start)
        for i in range(BLOCK):
            square[i] = 0.0
        for v in range(d):
            c = points[v, center]
            for i in range(n):
                square[i] += (points[v, start + i] - c) ** 2
        for i in range(n):
            nearest = min(square[i], squares[start + i])
            nearer[start + i] = nearest
            square[i] = weights[start + i] * nearest
        half = BLOCK // 2
        while half > 0:
            for i in range(half):
                square[i] += square[i + half]
            half //= 2
        sums[b] = square[0]
        total += sums[b]
    return total


@kernel
def drawn(weights: NDArray[Any], squares: NDArray[Any], sums: NDArray[Any], target: float) -> int:
    """Return the point at which the cumulated mass exceeds the target."""
    b = 0
    while b < sums.shape[0] - 1 and target >= sums[b]:
        target -= sums[b]
        b += 1
    last = start = b * BLOCK
    for i in range(start, min(start + BLOCK, weights.shape[0])):
        mass = weights[i] * squares[i]
        if mass > 0:
            last = i
            if target < mass:
                break
            target -= mass
    return last


@kernel
def spread(
    points: NDArray[Any], weights: NDArray[Any], uniform: NDArray[Any], chosen: NDArray[Any]
) -> None:
    """Fill the indices of k points; ``uniform`` has the draws from [0, 1) that each may take.

    Of the draws for a center, each in proportion to weight times squared distance from those
    before, that which leaves the smallest total is kept.
    """
    m = points.shape[1]
    n_blocks = (m + BLOCK - 1) // BLOCK
    squares, nearer, kept = np.ones(m), np.empty(m), np.empty(m)
    sums, sums_nearer, sums_kept = np.empty(n_blocks), np.empty(n_blocks), np.empty(n_blocks)
    total = 0.0
    for b in range(n_blocks):
        sums[b] = 0.0
        for i in range(b * BLOCK, min(b * BLOCK + BLOCK, m)):
            sums[b] += weights[i]
        total += sums[b]
    chosen[0] = drawn(weights, squares, sums, uniform[0, 0] * total)
    for i in range(m):
        squares[i] = np.inf
    total = narrowed(points, weights, chosen[0], squares, kept, sums_kept)
    for j in range(1, chosen.shape[0]):
        squares, kept = kept, squares
        sums, sums_kept = sums_kept, sums
        before, total = total, np.inf
        for t in range(uniform.shape[1]):
            i = drawn(weights, squares, sums, uniform[j, t] * before)
            left = narrowed(points, weights, i, squares, nearer, sums_nearer)
            if left < total:
                total, chosen[j] = left, i
                nearer, kept = kept, nearer
                sums_nearer, sums_kept = sums_kept, sums_nearer
