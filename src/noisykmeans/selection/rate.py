"""Powers of the sample size: the bandwidth of the paper's theorem, and a number of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.deconvolution.band import raised_to_usable
from noisykmeans.selection.base import Rule, Selection, StepRule, check_count, check_positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.selection.base import Task
    from noisykmeans.windows import Window

__all__ = ["Rate", "StepRate"]

_STEPS = 400  # on a logarithmic scale from the largest bandwidth down to _SMALLEST
_SMALLEST = 1e-3
_FLOOR = 1e-12  # |phi_eta| below which its slope is rounding error


@dataclass(frozen=True)
class Rate(Rule):
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
        check_positive(self.s, "s")

    def bandwidth(self, n: float, scale: NDArray[np.float64], noise: Noise) -> NDArray[np.float64]:
        """Return one bandwidth for each axis.

        Parameters
        ----------
        n : float
            The number of observations, or of equal weights that carry as much.
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

    def finest(
        self, n: float, scale: NDArray[np.float64], noise: Noise, window: Window
    ) -> NDArray[np.float64]:
        """Return the bandwidth of the theorem, or the next larger one that is usable."""
        return raised_to_usable(self.bandwidth(n, scale, noise), noise, window)

    def choose(self, task: Task) -> Selection:
        """Return the bandwidth of the theorem, or the next larger one that is usable."""
        only = self.finest(task.effective_n, task.scale, task.noise, task.window)
        return Selection(only, only[None], np.zeros(1))


@dataclass(frozen=True)
class StepRate(StepRule):
    """``steps (n / 200)^(1/3)`` steps of maximum likelihood, at most ``most``.

    They begin at a mixture of bumps, which is best where there are few data, and must go on the
    longer, the more the data tell of other shapes. The choice of 8 is that of the accuracy
    benchmark; half or twice as many change its figures by a hundredth.

    Parameters
    ----------
    steps : float
        Their number for 200 observations.
    most : int
        Their largest number.

    Examples
    --------
    >>> [StepRate().number(n) for n in (50, 200, 1600, 10**9)]
    [5, 8, 16, 64]
    """

    steps: float = 8.0
    most: int = 64

    def __post_init__(self) -> None:
        check_positive(self.steps, "steps")
        check_count(self.most, "most")

    def number(self, n: float) -> int:
        """Return the number of steps for n observations."""
        return min(max(round(self.steps * (n / 200) ** (1 / 3)), 1), self.most)

    def choose_steps(self, task: Task) -> int:
        """Return the number of steps for a sample."""
        return self.number(task.effective_n)
