"""From a sample to the density of its clean points, by either deconvolution.

A method knows which grid it needs, and makes of a task (histogram, law of errors) an estimate.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from noisykmeans.deconvolution import (
    EMDeconvolution,
    KernelDeconvolution,
    adequate_spacing,
    first_guess,
)
from noisykmeans.deconvolution.band import check_bandwidth, regular
from noisykmeans.grid import MARGIN, MAX_DIMENSION, Grid
from noisykmeans.groups import Groups, law_of_all
from noisykmeans.histogram import fill
from noisykmeans.observations import standard_deviation
from noisykmeans.selection import Fixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.density import Density
    from noisykmeans.errors import Errors
    from noisykmeans.histogram import Histogram
    from noisykmeans.noise import Noise
    from noisykmeans.observations import Observations
    from noisykmeans.selection import Rule, Selection, StepRule, Task
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = [
    "ByKernel",
    "ByLikelihood",
    "Estimate",
    "Method",
    "Sized",
    "grid_over",
    "grouped",
    "kernel_spacing",
    "warn_of_far_ones",
]

SMALLEST_RESOLUTION = 8
_LOOKED_AT = 100_000  # observations, for quartiles

# Along each axis, by the number of axes: nodes over the data's range, nodes within the mean
# deviation from the mean (outliers widen the range, not the clusters), and the most nodes.
NODES = {1: (256, 32, 2048), 2: (64, 8, 256), 3: (24, 4, 48)}


@dataclass(frozen=True, eq=False)
class Estimate:
    """A density of the clean points, never negative and of mass 1, and how it was made.

    Parameters
    ----------
    density : Density
        The estimate.
    selection : Selection or None
        The bandwidth of the kernel estimate, and what was tried to find it.
    n_steps : int or None
        That of maximum likelihood.
    centers : array of shape (n_clusters, d) or None
        From which Lloyd's iterations may start, where the method has found some.
    steps : Selection or None
        The number of steps of maximum likelihood, and what was tried to find it.
    """

    density: Density
    selection: Selection | None = None
    n_steps: int | None = None
    centers: Array | None = None
    steps: Selection | None = None


class Sized(Protocol):
    """What a method needs to know of a sample before it is binned."""

    @property
    def bounds(self) -> Array:
        """The smallest and the largest value of each feature, of shape (2, d)."""

    @property
    def mass(self) -> float:
        """The number of observations, or the sum of their weights."""

    @property
    def scale(self) -> Array:
        """Their standard deviation along each axis."""


class Method(ABC):
    """A way from the histogram of the observations to the density of the clean points."""

    def histogram(self, sample: Observations, noise: Noise, nodes: Array | None) -> Histogram:
        """Bin observations on a grid that is fine enough.

        Parameters
        ----------
        sample : Observations
            Different along each axis.
        noise : Noise
            The law of the errors.
        nodes : array of shape (d,) or None
            How many nodes are wanted at least along the data and their margins; None leaves it
            to the method.
        """
        grid = grid_over(sample.bounds, noise, self.spacing(sample, noise, nodes))
        return self.settled(fill(grid, sample.X, sample.weights), sample.bounds, nodes)

    @abstractmethod
    def spacing(self, sample: Sized, noise: Noise, nodes: Array | None) -> Array:
        """Return the upper limit of the distance of nodes at which a sample is binned."""

    @abstractmethod
    def growing(self, sample: Sized, noise: Noise, nodes: Array | None) -> Array:
        """Return the `spacing` for a stream of which no more has come; it grows with its width."""

    def settled(self, histogram: Histogram, box: Array, nodes: Array | None) -> Histogram:
        """Return the histogram on as many of its nodes as the estimate needs."""
        del box, nodes
        return histogram

    @abstractmethod
    def estimate(self, task: Task) -> Estimate:
        """Return the density."""

    @property
    def automatic(self) -> bool:
        """Whether the amount of smoothing follows from the data."""
        return True

    def law(self, noise: Noise, n: float, n_axes: int) -> Noise:
        """Return the law of the errors of n observations as the method uses it."""
        del n, n_axes
        return noise

    def restricted(self, noise: Noise, varies: NDArray[np.bool_]) -> Method:
        """Return the method for the features that vary, or raise where it cannot serve them.

        A message names features by their number in X, so that all are given.
        """
        del noise, varies
        return self

    def in_span(self, n_axes: int) -> Method:
        """Return the method for that many axes of the centers' span, or raise where it has none."""
        del n_axes
        return self


@dataclass(frozen=True)
class ByKernel(Method):
    """The paper's estimator, its bandwidth chosen by a rule, projected on densities.

    Parameters
    ----------
    rule : Rule
        Chooses the bandwidth.
    window : Window
        The Fourier transform of the kernel.
    """

    rule: Rule
    window: Window

    def spacing(self, sample: Sized, noise: Noise, nodes: Array | None) -> Array:
        """Keep the error of binning below a thousandth, for the smallest bandwidth in question."""
        if isinstance(self.rule, Fixed):  # which needs no pass over the data
            finest = np.array(self.rule.values)
        else:
            finest = self.rule.finest(sample.mass, sample.scale, noise, self.window)
        return kernel_spacing(nodes, _width(sample.bounds), noise, self.window, finest)

    def growing(self, sample: Sized, noise: Noise, nodes: Array | None) -> Array:
        """Resolve what maximum likelihood would, or the given bandwidth."""
        width = _width(sample.bounds)
        if nodes is not None:
            return _extent(width) / nodes
        fine = width / NODES[len(width)][2]
        if not isinstance(self.rule, Fixed):
            return fine
        return np.minimum(adequate_spacing(noise, self.window, self.rule.values), fine)

    def estimate(self, task: Task) -> Estimate:
        """Deconvolve with the bandwidth that the rule chooses."""
        grid = task.groups.grid
        selection = self.rule.choose(task)
        bandwidth = selection.bandwidth
        coarsest = np.pi * bandwidth / self.window.support
        if (grid.spacing > coarsest).any():
            raise ValueError(
                f"the histogram's spacing {grid.spacing} is too coarse for bandwidth "
                f"{tuple(bandwidth.round(6).tolist())}: fill it on a grid of spacing at most "
                f"{tuple(coarsest.round(6).tolist())}, or raise bandwidth"
            )
        plan = KernelDeconvolution(grid, task.noise, self.window)
        density = plan.density(task.spectrum, tuple(bandwidth.tolist()))
        return Estimate(density.projected(), selection, centers=selection.centers)

    @property
    def automatic(self) -> bool:
        """Whether the bandwidth follows from the data."""
        return not isinstance(self.rule, Fixed)

    def law(self, noise: Noise, n: float, n_axes: int) -> Noise:
        """Return the law with a ridge where its c.f. has zeros."""
        return regular(noise, n, n_axes)

    def restricted(self, noise: Noise, varies: NDArray[np.bool_]) -> Method:
        """Check a given bandwidth, and keep it for the features that vary."""
        if not isinstance(self.rule, Fixed):
            return self
        given = np.array(self.rule.values)
        check_bandwidth(noise, self.window, np.where(varies, given, np.inf).tolist())
        return replace(self, rule=Fixed(tuple(given[varies].tolist())))

    def in_span(self, n_axes: int) -> Method:
        """Keep a given bandwidth where it is the same along every axis."""
        if not isinstance(self.rule, Fixed):
            return self
        if len(set(self.rule.values)) > 1:
            raise ValueError(
                f"bandwidth must be one number where more than {MAX_DIMENSION} features vary, as "
                f"the density is that on the span of the centers; got {self.rule.values}"
            )
        return replace(self, rule=Fixed(self.rule.values[:1] * n_axes))


@dataclass(frozen=True)
class ByLikelihood(Method):
    """Maximum likelihood by a few multiplicative steps from a first guess.

    Parameters
    ----------
    rule : StepRule
        Chooses their number.
    """

    rule: StepRule

    def histogram(self, sample: Observations, noise: Noise, nodes: Array | None) -> Histogram:
        """Bin observations on a grid that resolves the clusters."""
        histogram = super().histogram(sample, noise, nodes)
        if nodes is None:
            some = sample.X[:: max(len(sample.X) // _LOOKED_AT, 1)]
            low, high = np.quantile(some, [0.25, 0.75], axis=0)
            warn_of_far_ones(low, high, histogram)
        return histogram

    def spacing(self, sample: Sized, noise: Noise, nodes: Array | None) -> Array:
        """Take the finest nodes in question: `settled` makes them fewer."""
        width = _width(sample.bounds)
        if nodes is None:
            return width / NODES[len(width)][2]
        del noise
        _check_nodes(nodes, np.zeros_like(nodes), "a histogram")
        return _extent(width) / nodes

    def growing(self, sample: Sized, noise: Noise, nodes: Array | None) -> Array:
        """Take the finest nodes in question, as ever."""
        return self.spacing(sample, noise, nodes)

    def settled(self, histogram: Histogram, box: Array, nodes: Array | None) -> Histogram:
        """Resolve the clusters, which are wider than a tenth of the data, more or less.

        The spacing follows from the observations' deviation, and that from the histogram at the
        finest nodes in question, which is then coarsened: one pass over the data.
        """
        if nodes is not None:
            return histogram
        width = _width(box)
        over_range, over_deviation, most = NODES[len(width)]
        fine = np.minimum(_extent(width) / over_range, histogram.deviation / over_deviation)
        wanted = np.maximum(fine, width / most)
        while (coarse := np.flatnonzero(2 * np.array(histogram.grid.spacing) <= wanted)).size:
            histogram = histogram.coarser(coarse.tolist())
        return histogram

    def estimate(self, task: Task) -> Estimate:
        """Guess, and take the steps."""
        if task.n_clusters is None:
            raise ValueError("maximum likelihood starts from a guess of n_clusters bumps; got None")
        rng = np.random.RandomState(task.seed)
        guess = task.guess
        if guess is None:
            guess = first_guess(task.groups, task.n_clusters, task.effective_n, rng)
        tried = self.rule.select_steps(task)
        n_steps = int(tried.bandwidth[0])
        steps = EMDeconvolution(task.groups, guess.detail).steps(guess.density)
        density = next(islice(steps, n_steps, None))
        centers = guess.centers if len(guess.centers) == task.n_clusters else None
        return Estimate(density, n_steps=n_steps, centers=centers, steps=tried)


def grouped(
    method: Method, sample: Observations, noise: Noise, errors: Errors | None, nodes: Array | None
) -> tuple[Groups, Noise, NDArray[np.intp] | None]:
    """Bin observations by their errors; return the law of all, and each one's group, too.

    Parameters
    ----------
    method : Method
        Knows which grid it needs.
    sample : Observations
        Different along each axis.
    noise : Noise
        The law of the errors that all observations share.
    errors : Errors or None
        What differs in their errors; None where nothing does.
    nodes : array of shape (d,) or None
        As for `Method.histogram`.
    """
    if errors is None:
        noise = method.law(noise, sample.mass, sample.X.shape[1])
        return Groups.of(method.histogram(sample, noise, nodes), noise), noise, None
    weights = sample.each_weight
    labels, kinds = errors.kinds(noise, weights, standard_deviation(sample.X, weights))
    masses = np.bincount(labels, sample.weights)
    law = law_of_all(kinds, masses, sample.X.shape[1]) or noise
    histogram = method.histogram(sample, law, nodes)
    if len(kinds) == 1:
        return Groups.of(histogram, law), law, labels
    return Groups.fill(histogram.grid, sample.X, weights, labels, kinds), law, labels


def kernel_spacing(
    nodes: Array | None, width: Array, noise: Noise, window: Window, bandwidth: Array
) -> Array:
    """Return the upper limit of the distance of nodes for the kernel estimate.

    None keeps the error of binning below a thousandth; numbers ask for at least so many nodes
    along the data's range and its margins.
    """
    if nodes is None:
        adequate = adequate_spacing(noise, window, tuple(bandwidth.tolist()))
        return np.minimum(adequate, _extent(width) / SMALLEST_RESOLUTION)
    coarsest = np.pi * bandwidth / window.support  # Nyquist, for the edge of the band
    needed = np.ceil(_extent(width) / coarsest)
    _check_nodes(nodes, needed, f"bandwidth {tuple(bandwidth.round(6).tolist())}")
    return _extent(width) / nodes


def grid_over(box: Array, noise: Noise, spacing: Array) -> Grid:
    """Return the grid that covers observations within a box, and their clean points, too.

    Parameters
    ----------
    box : array of shape (2, d)
        Bounds of the observations.
    noise : Noise
        The law of their errors.
    spacing : array of shape (d,)
        Upper limits of the distance of nodes.
    """
    # Errors that are not centred have moved the observations away from the clean points.
    return Grid.covering(np.concatenate([box, box - noise.mean(len(spacing))]), spacing)


def warn_of_far_ones(low: Array, high: Array, histogram: Histogram) -> None:
    """Warn where a few observations stretch the grid so that it does not resolve the others.

    Parameters
    ----------
    low, high : array of shape (d,)
        Their quartiles.
    histogram : Histogram
        As it is going to be used.
    """
    spacing = np.array(histogram.grid.spacing)
    for axis in np.flatnonzero((high > low) & (spacing > (high - low) / 2)):
        warnings.warn(
            f"the middle half of the observations, from {low[axis]:.4g} to {high[axis]:.4g} along "
            f"axis {axis}, lies within {spacing[axis]:.4g}, the distance of two nodes: a few that "
            f"are far away stretch the grid; leave them out, or raise resolution",
            UserWarning,
            stacklevel=5,
        )


def _width(box: Array) -> Array:
    """Return the range of the data along each axis."""
    return np.asarray(box[1] - box[0])


def _extent(width: Array) -> Array:
    """Return the width of the grid for data of that width."""
    return width * (1 + 2 * MARGIN)


def _check_nodes(nodes: Array, needed: Array, reason: str) -> None:
    """Raise where the wanted number of nodes is too small."""
    needed = np.maximum(needed, SMALLEST_RESOLUTION)
    if (nodes < needed).any():
        each = nodes.astype(int).tolist()
        wanted = each[0] if len(set(each)) == 1 else tuple(each)
        raise ValueError(
            f"resolution {wanted} is too small: {reason} needs at least "
            f"{tuple(needed.astype(int).tolist())} nodes; raise resolution or leave it 'auto'"
        )
