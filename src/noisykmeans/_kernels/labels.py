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
    what all have in common. The inner loops run along points, whose comparisons are independent.
    """
    n, d = X.shape
    x = np.empty((d, BLOCK))
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
                half += 0.5 * centers[j, v] * centers[j, v]
            for i in range(m):
                score[i] = half
            for v in range(d):
                for i in range(m):
                    score[i] -= x[v, i] * centers[j, v]
            for i in range(m):
                closer = j == 0 or score[i] < best[i]
                index[i] = j if closer else index[i]
                best[i] = score[i] if closer else best[i]
        for i in range(m):
            labels[start + i] = index[i]
