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

    from noisykmeans.groups import Group, Groups

    Array = NDArray[np.float64]

__all__ = ["EMDeconvolution"]


@dataclass(frozen=True, eq=False)
class EMDeconvolution:
    """Richardson and Lucy's steps on a grid, for observations in groups.

    With histograms h and blurs k by group a step is ``f <- f * sum_g k_g^T (h_g / (k_g f))``,
    the histograms together of mass 1. Where axes are missing, f is summed over them first.

    Parameters
    ----------
    groups : Groups
        The observations, and the laws of their errors, whatever they are.
    detail : tuple of float
        The standard deviations of the small bumps along each axis; none are 0.

    Examples
    --------
    >>> from itertools import islice
    >>> from noisykmeans.grid import Grid
    >>> from noisykmeans.groups import Groups
    >>> from noisykmeans.histogram import fill
    >>> from noisykmeans.noise import Uniform
    >>> grid = Grid((-2.0,), (0.5,), (9,))
    >>> histogram = fill(grid, [[-1.0], [0.0], [1.0]])
    >>> flat = Density(grid, np.full(9, 2 / 9))
    >>> plan = EMDeconvolution(Groups.of(histogram, Uniform(1.0)))
    >>> likelihoods = [plan.log_likelihood(density) for density in islice(plan.steps(flat), 9)]
    >>> bool((np.diff(likelihoods) > 0).all())
    True
    """

    groups: Groups
    detail: tuple[float, ...] = ()

    def steps(self, start: Density) -> Iterator[Density]:
        """Give the start, then what each further step makes of it, without end.

        Parameters
        ----------
        start : Density
            Where to begin, before the small bumps widen it; nodes of density 0 keep it there.
        """
        if start.grid != self.groups.grid:
            raise ValueError(f"the start is on {start.grid}, the observations {self.groups.grid}")
        g = np.maximum(start.values, 0)
        g = g / g.sum()
        while True:
            yield self._smooth(g)
            g = g * np.maximum(self._factor(g), 0)
            g /= g.sum()

    def log_likelihood(self, density: Density) -> float:
        """Return ``sum h log(k f)``, the mean log-probability of an observation's node."""
        values, total = density.values * self.groups.grid.cell_volume, 0.0
        for observed, member in zip(self._observed, self.groups.members, strict=True):
            blur = Blur(member.histogram.grid, member.kind.noise)
            g = blur.forward(values.sum(axis=self._missing(member)))
            filled = observed > 0
            total += float(observed[filled] @ np.log(np.maximum(g[filled], 1e-300)))
        return total

    def _factor(self, g: Array) -> Array:
        """Return ``sum_g k_g^T (h_g / (k_g g))``.

        Groups of all axes share the first and the last transform: two are left for each.
        """
        total, series, sums = np.zeros_like(g), None, None
        for observed, blur, member in zip(
            self._observed, self._blurs, self.groups.members, strict=True
        ):
            missing = self._missing(member)
            if missing:
                ratio = _ratio(observed, blur.forward(g.sum(axis=missing)))
                total += np.expand_dims(blur.backward(ratio), missing)
                continue
            series = blur.series(g) if series is None else series
            back = blur.series(_ratio(observed, blur.inverse(series * blur.transfer)))
            back *= blur.adjoint
            sums = back if sums is None else sums + back
        return total if sums is None else total + self._widening.inverse(sums)

    def _missing(self, member: Group) -> tuple[int, ...]:
        return tuple(v for v in range(self.groups.grid.dimension) if v not in member.kind.axes)

    @cached_property
    def _observed(self) -> list[Array]:
        mass = self.groups.mass
        return [member.histogram.values / mass for member in self.groups.members]

    def _smooth(self, g: Array) -> Density:
        f = np.maximum(self._widening.forward(g), 0) if self.detail else g
        return Density(self.groups.grid, f / (f.sum() * self.groups.grid.cell_volume))

    @cached_property
    def _bump(self) -> Gaussian:
        return Gaussian(self.detail or 0.0)

    @cached_property
    def _widening(self) -> Blur:
        return Blur(self.groups.grid, self._bump)

    @cached_property
    def _blurs(self) -> list[Blur]:
        return [
            Blur(
                member.histogram.grid,
                member.kind.noise + self._bump.marginal(member.kind.axes)
                if self.detail
                else member.kind.noise,
            )
            for member in self.groups.members
        ]


def _ratio(observed: Array, expected: Array) -> Array:
    filled = (observed > 0) & (expected > 0)
    return np.divide(observed, expected, out=np.zeros_like(expected), where=filled)
