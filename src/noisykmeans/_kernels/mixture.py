"""Mixtures of Gaussian bumps of one covariance: the expectation step, and shares of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bump_moments", "cell_shares"]

NEGLIGIBLE = 1e-6  # share of a bump in an observation


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


@kernel
def cell_shares(
    shares: NDArray[Any],
    common: NDArray[Any],
    leads: NDArray[Any],
    draws: NDArray[Any],
    cells: NDArray[Any],
) -> None:
    """Add what each bump, cut at the cells, gives to each of them.

    The value of center j at draw s of bump b is ``common[i, j] + leads[b, j] + draws[s, j]``; the
    draw is in the cell of the largest one.
    """
    n, k = common.shape
    each = 1.0 / draws.shape[0]
    value = np.empty(k)
    for i in range(n):
        for b in range(leads.shape[0]):
            if shares[i, b] < NEGLIGIBLE:
                continue
            for j in range(k):
                value[j] = common[i, j] + leads[b, j]
            for s in range(draws.shape[0]):
                cell = 0
                largest = value[0] + draws[s, 0]
                for j in range(1, k):
                    other = value[j] + draws[s, j]
                    if other > largest:
                        largest = other
                        cell = j
                cells[i, cell] += shares[i, b] * each
        total = 0.0
        for j in range(k):
            total += cells[i, j]
        for j in range(k):
            cells[i, j] /= total
