"""Mixtures of Gaussian bumps: the expectation step, and shares of cells.

Bumps have one covariance in each part of the rows, whose errors have one covariance. Rows are
whitened, and so are the means of the bumps as they are seen there: the bumps then have the
identity as covariance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rows", "Seen", "bump_moments", "cell_shares"]

NEGLIGIBLE = 1e-6  # share of a bump in an observation


class Rows(NamedTuple):
    """Points (n, d), their weights (n,) and parts (n,), and the origin (d,) that they count from.

    Along axes that were not observed in their part, points are at the origin.
    """

    points: NDArray[Any]
    weights: NDArray[Any]
    parts: NDArray[Any]
    origin: NDArray[Any]


class Seen(NamedTuple):
    """Bumps as the parts see them: their whitened means (g, b, d), and their log shares (b,).

    ``whiten`` (g, d, d) has the lower triangular matrices that whiten, transposed.
    """

    whiten: NDArray[Any]
    means: NDArray[Any]
    log_shares: NDArray[Any]


@kernel
def bump_moments(rows: Rows, seen: Seen, masses: NDArray[Any], moments: NDArray[Any]) -> float:
    """Add mass (g, b) and first moment (g, b, d) of responsibilities; return the log-likelihood.

    Moments are those of the whitened rows. The constant of the Gaussian density is left out.
    """
    n, d = rows.points.shape
    k = seen.log_shares.shape[0]
    total = 0.0
    logs, white = np.empty(k), np.empty(d)
    for i in range(n):
        g = rows.parts[i]
        for v in range(d):
            white[v] = 0.0
        for u in range(d):
            x = rows.points[i, u] - rows.origin[u]
            for v in range(u, d):
                white[v] += seen.whiten[g, u, v] * x
        largest = -np.inf
        for j in range(k):
            square = 0.0
            for v in range(d):
                square += (white[v] - seen.means[g, j, v]) ** 2
            logs[j] = seen.log_shares[j] - 0.5 * square
            largest = max(largest, logs[j])
        scale = 0.0
        for j in range(k):
            logs[j] = np.exp(logs[j] - largest)
            scale += logs[j]
        total += rows.weights[i] * (largest + np.log(scale))
        for j in range(k):
            share = rows.weights[i] * logs[j] / scale
            masses[g, j] += share
            for v in range(d):
                moments[g, j, v] += share * white[v]
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
