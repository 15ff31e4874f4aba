"""The bandwidth of the paper's theorem, a power of the sample size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.noise import Noise

__all__ = ["Rate"]

_STEPS = 400  # on a logarithmic scale from the largest bandwidth down to _SMALLEST
_SMALLEST = 1e-3
_FLOOR = 1e-12  # |phi_eta| below which its slope is rounding error


@dataclass(frozen=True)
class Rate:
    """``lambda = n^(-1 / (2 s + 2 sum beta_v))``, in units of the observations' scale.

    The theorem has ``|phi_eta(t)| ~ prod ((t_v^2 + 1) / 2)^(-beta_v / 2)``. A law whose c.f. falls
    faster than any power has no such beta, so beta is taken at the edge of the band in use,
    ``t_v = 1 / lambda``: the power that falls as steeply there,
    ``beta_v = -(1 + lambda^2) d log|phi_eta| / d log t_v``. It is 2 in the limit for Laplace
    errors, and grows with the band for Gaussian ones; an axis without error has 0.

    Parameters
    ----------
    s : float
        The smoothness of the clean density: it has s - 1 derivatives, the last one Lipschitz.

    Examples
    --------
    >>> from noisykmeans.noise import Laplace
    >>> Rate(s=2).bandwidth(10_000, np.array([2.0]), Laplace(0.5)).round(3).tolist()
    [0.459]
    """

    s: float = 2.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.s) and self.s > 0):
            raise ValueError(f"s must be a positive number; got {self.s!r}")

    def bandwidth(self, n: float, scale: NDArray[np.float64], noise: Noise) -> NDArray[np.float64]:
        """Return one bandwidth for each axis.

        Parameters
        ----------
        n : float
            The number of observations, or the sum of their weights.
        scale : array of shape (d,)
            Their standard deviation along each axis.
        noise : Noise
            The law of the errors.
        """
        d = len(scale)
        step = np.geomspace(1, _SMALLEST, _STEPS)
        frequencies = np.eye(d)[:, None, :] / (step[:, None] * scale)  # (axis, step, d)
        phi = np.maximum(np.abs(noise.characteristic_function(frequencies)), _FLOOR)
        slope = -np.gradient(np.log(phi), -np.log(step), axis=1)
        beta = (np.maximum(slope, 0) * (1 + step**2)).sum(axis=0)
        enough = -np.log(step) * (2 * self.s + 2 * beta) >= np.log(max(n, 1.0))
        chosen = enough.argmax() if enough.any() else -1
        return np.asarray(step[chosen] * scale)
