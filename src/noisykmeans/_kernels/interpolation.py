"""Linear interpolation of several tables at once, at points of one to three axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["interpolate"]


@kernel
def interpolate(
    X: NDArray[Any],
    lower: NDArray[Any],
    per_spacing: NDArray[Any],
    shape: NDArray[Any],
    table: NDArray[Any],
    values: NDArray[Any],
) -> None:
    """Fill the values of every channel at every point, 0 beyond the grid.

    The table has the shape (nodes, channels), the last axis of the grid fastest.
    """
    n, d = X.shape
    channels = table.shape[1]
    share = np.empty(d)
    stride = np.empty(d, dtype=np.int64)
    stride[d - 1] = 1
    for v in range(d - 1, 0, -1):
        stride[v - 1] = stride[v] * shape[v]
    for i in range(n):
        first = 0
        inside = True
        for v in range(d):
            u = (X[i, v] - lower[v]) * per_spacing[v]
            if not 0 <= u <= shape[v] - 1:
                inside = False
                break
            node = min(int(u), shape[v] - 2)
            share[v] = u - node
            first += node * stride[v]
        for c in range(channels):
            values[i, c] = 0.0
        if not inside:
            continue
        for corner in range(1 << d):
            weight = 1.0
            node = first
            for v in range(d):
                if corner >> v & 1:
                    weight *= share[v]
                    node += stride[v]
                else:
                    weight *= 1 - share[v]
            if weight > 0:
                for c in range(channels):
                    values[i, c] += weight * table[node, c]
