"""The expectation step of a mixture of Gaussian bumps of one covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bump_moments"]


@kernel
def bump_moments(
    points: NDArray[Any],
    weights: NDArray[Any],
    means: NDArray[Any],
    log_shares: NDArray[Any],
    masses: NDArray[Any],
    moments: NDArray[Any],
) -> float:
    """Fill mass and first moment of each bump's responsibilities; return the log-likelihood.

    Points and means are whitened: the bumps have the identity as covariance. The constant of
    the Gaussian density is left out.
    """
    n, d = points.shape
    k = means.shape[0]
    masses[:] = 0.0
    moments[:] = 0.0
    total = 0.0
    logs = np.empty(k)
    for i in range(n):
        largest = -np.inf
        for j in range(k):
            square = 0.0
            for v in range(d):
                square += (points[i, v] - means[j, v]) ** 2
            logs[j] = log_shares[j] - 0.5 * square
            largest = max(largest, logs[j])
        scale = 0.0
        for j in range(k):
            logs[j] = np.exp(logs[j] - largest)
            scale += logs[j]
        total += weights[i] * (largest + np.log(scale))
        for j in range(k):
            share = weights[i] * logs[j] / scale
            masses[j] += share
            for v in range(d):
                moments[j, v] += share * points[i, v]
    return total
