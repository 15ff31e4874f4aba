"""The covariance of clean points that fits best to one that was observed, errors included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["JITTER", "clean_covariance", "round_variance"]

JITTER = 1e-9  # share of the observations' covariance that keeps a vanishing one invertible


def clean_covariance(within: Array, errors: Array) -> Array:
    """Return the C >= 0 for which ``C + errors`` fits best to the covariance ``within``.

    The maximum of the likelihood: in the axes in which ``within`` is 1, the eigenvalues s of the
    errors become ``max(1 - s, 0)``.
    """
    diagonal = np.diag(within)
    size = np.sqrt(np.maximum(diagonal, max(JITTER**2 * diagonal.max(), 1e-300)))
    unit = np.multiply.outer(size, size)
    values, axes = np.linalg.eigh(within / unit)
    values = np.maximum(values, JITTER * values[-1])
    root, inverse = axes * np.sqrt(values), (axes / np.sqrt(values)).T
    noisy, turn = np.linalg.eigh(inverse @ (errors / unit) @ inverse.T)
    turned = root @ turn
    return np.asarray((turned * np.maximum(1 - noisy, 0)) @ turned.T) * unit


def round_variance(within: ArrayLike, errors: ArrayLike, shares: ArrayLike = 1.0) -> float:
    """Return the c >= 0 for which the variances ``c + errors`` fit best to those ``within``.

    The likelihood falls with ``sum n_v (log(c + s_v) + w_v / (c + s_v))``, n_v the shares, whose
    slope is ``sum n_v (c + s_v - w_v) / (c + s_v)^2``.
    """
    w, s = np.asarray(within, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    share = np.broadcast_to(np.asarray(shares, dtype=np.float64), w.shape)

    def slope(c: float) -> float:
        return float(share @ ((c + s - w) / (c + s) ** 2))

    low = JITTER * float(w[(share > 0) & (w > 0)].min(initial=np.inf))
    high = float((w - s).max())
    if high <= low or slope(low) >= 0:
        return 0.0
    if slope(high) <= 0:  # the root itself, up to rounding
        return high
    return float(brentq(slope, low, high, xtol=low, rtol=1e-9))
