"""Deconvolution by maximum likelihood: multiplicative steps that never make a density negative.

With f the mass at the nodes, k the blur of the errors and h the histogram of mass 1, a step is
``f <- f * k^T (h / (k f))`` (Richardson and Lucy), the EM algorithm of a
mixture of the blurs of all nodes.
Mass is preserved, the likelihood ``sum h log(k f)`` never falls, and nothing is divided by the
characteristic function of the errors, which may vanish. The maximum itself is a few spikes: the
number of steps is the bandwidth, and where the steps begin is what they are drawn from.

Along an axis with little error those spikes come at once. So the density may be kept a mixture of
small Gaussian bumps (a sieve): f is ``s * g``, s the bumps' law, and the steps are those of g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.deconvolution.blur import Blur
from noisykmeans.density import Density
from noisykmeans.noise import Gaussian

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noisykmeans.grid import Grid
    from noisykmeans.histogram import Histogram
    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = ["EMDeconvolution"]


@dataclass(frozen=True)
class EMDeconvolution:
    """Richardson and Lucy's steps on a grid, for one noise law.

    Parameters
    ----------
    grid : Grid
        The grid of the histograms and densities.
    noise : Noise
        The law of the errors, whatever it is.
    detail : tuple of float
        The standard deviations of the small bumps along each axis; none are 0.

    Examples
    --------
    >>> from itertools import islice
    >>> from noisykmeans.grid import Grid
    >>> from noisykmeans.histogram import fill
    >>> from noisykmeans.noise import Uniform
    >>> grid = Grid((-2.0,), (0.5,), (9,))
    >>> histogram = fill(grid, [[-1.0], [0.0], [1.0]])
    >>> flat = Density(grid, np.full(9, 2 / 9))
    >>> plan = EMDeconvolution(grid, Uniform(1.0))
    >>> steps = islice(plan.steps(histogram, flat), 9)
    >>> likelihoods = [plan.log_likelihood(histogram, density) for density in steps]
    >>> bool((np.diff(likelihoods) > 0).all())
    True
    """

    grid: Grid
    noise: Noise
    detail: tuple[float, ...] = ()

    def steps(self, histogram: Histogram, start: Density) -> Iterator[Density]:
        """Give the start, then what each further step makes of it, without end.

        Parameters
        ----------
        histogram : Histogram
            The observations.
        start : Density
            Where to begin, before the small bumps widen it; nodes of density 0 keep it there.
        """
        observed = self._observed(histogram)
        g = np.maximum(start.values, 0)
        g = g / g.sum()
        while True:
            yield self._smooth(g)
            expected = self._blur.forward(g)
            filled = (observed > 0) & (expected > 0)
            ratio = np.divide(observed, expected, out=np.zeros_like(g), where=filled)
            g = g * np.maximum(self._blur.backward(ratio), 0)
            g /= g.sum()

    def log_likelihood(self, histogram: Histogram, density: Density) -> float:
        """Return ``sum h log(k f)``, the mean log-probability of an observation's node."""
        observed = self._observed(histogram)
        g = Blur(self.grid, self.noise).forward(density.values * self.grid.cell_volume)
        filled = observed > 0
        return float(observed[filled] @ np.log(np.maximum(g[filled], 1e-300)))

    def _observed(self, histogram: Histogram) -> Array:
        if histogram.grid != self.grid:
            raise ValueError(f"the histogram is on {histogram.grid}, the plan on {self.grid}")
        return histogram.values / histogram.mass

    def _smooth(self, g: Array) -> Density:
        f = np.maximum(Blur(self.grid, self._bump).forward(g), 0) if self.detail else g
        return Density(self.grid, f / (f.sum() * self.grid.cell_volume))

    @cached_property
    def _bump(self) -> Gaussian:
        return Gaussian(self.detail or 0.0)

    @cached_property
    def _blur(self) -> Blur:
        return Blur(self.grid, self.noise + self._bump if self.detail else self.noise)
