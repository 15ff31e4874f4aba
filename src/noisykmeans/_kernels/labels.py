"""The closest center of each point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["closest"]

BLOCK = 512  # points that are compared with a center at a time, in cache


@kernel
def closest(
    X: NDArray[Any], origin: NDArray[Any], centers: NDArray[Any], labels: NDArray[Any]
) -> None:
    """Fill the index of the closest center, the first among equals.

    Centers count from the origin, and ``|c|^2 / 2 - <x, c>`` is compared: the distance, but for
    what all have in common. The inner loops run along points, whose comparisons are independent;
    features come two at a time, the last one with a feature of zeros where their number is odd.
    """
    n, d = X.shape
    pairs = (d + 1) // 2
    x = np.zeros((2 * pairs, BLOCK))
    c = np.zeros((centers.shape[0], 2 * pairs))
    c[:, :d] = centers
    score, best = np.empty(BLOCK), np.empty(BLOCK)
    index = np.empty(BLOCK, dtype=np.int64)
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        for v in range(d):
            for i in range(m):
                x[v, i] = X[start + i, v] - origin[v]
        for j in range(centers.shape[0]):
            half = 0.0
            for v in range(d):
                half += 0.5 * c[j, v] * c[j, v]
            c0, c1 = c[j, 0], c[j, 1]
            for i in range(m):
                score[i] = half - x[0, i] * c0 - x[1, i] * c1
            for p in range(1, pairs):
                c0, c1 = c[j, 2 * p], c[j, 2 * p + 1]
                for i in range(m):
                    score[i] -= x[2 * p, i] * c0 + x[2 * p + 1, i] * c1
            for i in range(m):
                closer = j == 0 or score[i] < best[i]
                index[i] = j if closer else index[i]
                best[i] = score[i] if closer else best[i]
        for i in range(m):
            labels[start + i] = index[i]
