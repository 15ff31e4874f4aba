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

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import _kernels, spectrum
from noisykmeans.deconvolution.blur import Blur, padded
from noisykmeans.density import Density
from noisykmeans.noise import Gaussian

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from noisykmeans.groups import Group, Groups

    Array = NDArray[np.float64]

__all__ = ["EMDeconvolution"]


_TOGETHER = 4  # groups that are transformed in one call


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
        with _kernels.threads.mapper(len(self._few), _TOGETHER * g.size) as mapped:
            while True:
                yield self._smooth(g)
                g = g * np.maximum(self._factor(g, mapped), 0)
                g /= g.sum()

    def log_likelihood(self, density: Density) -> float:
        """Return ``sum h log(k f)``, the mean log-probability of an observation's node."""
        values, total = density.values * self.groups.grid.cell_volume, 0.0
        for member in self.groups.members:
            observed = member.histogram.values / self.groups.mass
            blur = Blur(member.histogram.grid, member.kind.noise)
            g = blur.forward(values.sum(axis=self._missing(member)))
            filled = observed > 0
            total += float(observed[filled] @ np.log(np.maximum(g[filled], 1e-300)))
        return total

    @cached_property
    def _few(self) -> list[slice]:
        """The complete groups, a few at a time, and the same ones for any number of threads."""
        return [slice(i, i + _TOGETHER) for i in range(0, len(self._complete), _TOGETHER)]

    def _factor(self, g: Array, mapped: Callable[..., Iterator[Any]]) -> Array:
        """Return ``sum_g k_g^T (h_g / (k_g g))``.

        Groups of all axes share the first and the last transform: two are left for each.
        """
        shape, padded = self.groups.grid.shape, self._padded_shape
        series = spectrum.forward(g, padded)

        def complete(some: slice) -> NDArray[np.complex128]:
            transfers = self._transfers[some]
            expected = spectrum.inverse(series * transfers, padded, shape)
            back = spectrum.forward(_ratio(self._complete[some], expected), padded)
            back *= np.conj(transfers)
            return np.asarray(back.sum(axis=0))

        total = np.zeros_like(g)
        if self._few:
            parts = mapped(complete, self._few)
            total += spectrum.inverse(sum(parts, start=0j * series), padded, shape)
        for member, blur in zip(self.groups.members, self._blurs, strict=True):
            missing = self._missing(member)
            if missing:
                observed = member.histogram.values / self.groups.mass
                ratio = _ratio(observed, blur.forward(g.sum(axis=missing)))
                total += np.expand_dims(blur.backward(ratio), missing)
        return total

    def _missing(self, member: Group) -> tuple[int, ...]:
        return tuple(v for v in range(self.groups.grid.dimension) if v not in member.kind.axes)

    @cached_property
    def _complete(self) -> Array:
        """The histograms of the complete groups, in all of mass 1 together with the others."""
        values = [member.histogram.values for member in self.groups.complete]
        return np.array(values) / self.groups.mass

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
        """The errors of each group, and the small bumps."""

        def blur(member: Group) -> Blur:
            noise, axes = member.kind.noise, member.kind.axes
            both = noise + self._bump.marginal(axes) if self.detail else noise
            blur = Blur(member.histogram.grid, both)
            _ = blur.reach  # computed here, in threads
            return blur

        size = math.prod(self.groups.grid.padded_shape)
        return list(_kernels.threads.map_each(blur, self.groups.members, size))

    @cached_property
    def _padded_shape(self) -> tuple[int, ...]:
        """A shape for Fourier transforms that serves all complete groups."""
        grid = self.groups.grid
        reach = [b.reach for b in self._blurs if b.grid.dimension == grid.dimension]
        return padded(grid, np.max(reach, axis=0).tolist() if reach else grid.shape)

    @cached_property
    def _transfers(self) -> NDArray[np.complex128]:
        """The transfer functions of the complete groups."""
        d = self.groups.grid.dimension
        blurs = [blur for blur in self._blurs if blur.grid.dimension == d]
        return np.array([blur.transfer(self._padded_shape) for blur in blurs])


def _ratio(observed: Array, expected: Array) -> Array:
    filled = (observed > 0) & (expected > 0)
    return np.divide(observed, expected, out=np.zeros_like(expected), where=filled)
