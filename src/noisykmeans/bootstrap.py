"""How sure centers are: the same estimate from samples that might as well have been drawn.

In a sample of independent observations, the mass at each node of a histogram is a Poisson variable,
nearly. So a Poisson draw at each node makes another sample, at a cost that does not grow with the
number of observations. Where there is no histogram, each observation is repeated a Poisson number
of times. Every copy is estimated as the sample was, with the amount of smoothing found there, and
Lloyd's iterations begin at the sample's centers: so each center stays itself, and what is found is
how far it moves, not whether there may be other local minima.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.estimation import ByKernel, ByLikelihood
from noisykmeans.groups import Groups
from noisykmeans.histogram import Histogram
from noisykmeans.measure import WeightedPoints
from noisykmeans.quantization import lloyd
from noisykmeans.reduction import reduced
from noisykmeans.selection import Fixed, FixedSteps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noisykmeans.estimation import Estimate, Method
    from noisykmeans.observations import Observations
    from noisykmeans.reduction import Problem
    from noisykmeans.selection import Task

    Array = NDArray[np.float64]

__all__ = ["Sureness", "Walk", "bootstrap", "from_histogram", "from_points", "from_problem"]


@dataclass(frozen=True)
class Walk:
    """How Lloyd's iterations go.

    Parameters
    ----------
    max_iter : int
        Largest number of moves.
    tol : float
        As in `quantization.lloyd`.
    """

    max_iter: int
    tol: float


@dataclass(frozen=True, eq=False)
class Sureness:
    """How much centers vary from sample to sample.

    Parameters
    ----------
    covariances : array of shape (k, d, d)
        The covariance of each center.

    Examples
    --------
    >>> Sureness(np.array([[[4.0]], [[0.25]]])).std_errors.tolist()
    [[2.0], [0.5]]
    """

    covariances: Array

    @property
    def std_errors(self) -> Array:
        """The standard error of each coordinate, of shape (k, d)."""
        return np.sqrt(self.covariances.diagonal(axis1=1, axis2=2))


def bootstrap(
    once: Callable[[np.random.Generator], Array], n_bootstrap: int, seed: int
) -> Sureness:
    """Repeat an estimate, each time with randomness of its own.

    Parameters
    ----------
    once : callable
        ``once(rng)`` draws another sample and returns its centers, of shape (k, d).
    n_bootstrap : int
        How often.
    seed : int
        Source of randomness.
    """
    sources = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_bootstrap)]
    # One after the other: the many short steps of a copy gain nothing by threads.
    centers = np.array([once(rng) for rng in sources])
    moved = centers - centers.mean(axis=0)
    return Sureness(np.einsum("bji,bjl->jil", moved, moved) / (n_bootstrap - 1))


def from_histogram(
    method: Method, task: Task, estimate: Estimate, centers: Array, walk: Walk
) -> Callable[[np.random.Generator], Array]:
    """Return how centers are found from another histogram.

    Parameters
    ----------
    method, task, estimate
        How the density was estimated, of what, and what came of it.
    centers : array of shape (k, d)
        The centers, on the grid's axes.
    walk : Walk
        How Lloyd's iterations go.
    """
    method, scale = _settled(method, estimate), task.effective_n / task.n

    def once(rng: np.random.Generator) -> Array:
        members = tuple(
            replace(m, histogram=_redrawn(m.histogram, scale, rng)) for m in task.groups.members
        )
        seed = int(rng.integers(2**31))
        groups = Groups(task.groups.grid, members)
        copy = replace(task, groups=groups, seed=seed, points=None, weights=None, labels=None)
        return lloyd(method.estimate(copy).density, centers, walk.max_iter, walk.tol).centers

    return once


def from_problem(
    method: Method, problem: Problem, estimate: Estimate, centers: Array, walk: Walk
) -> Callable[[np.random.Generator], Array]:
    """Return how centers are found from another sample where more than three features vary.

    Parameters
    ----------
    method, problem, estimate
        How the density was estimated, of what, and what came of it.
    centers : array of shape (k, d)
        The centers, over the features that vary.
    walk : Walk
        How Lloyd's iterations go.
    """
    method = _settled(method, estimate)

    def once(rng: np.random.Generator) -> Array:
        counts, errors = _counts(problem.sample, rng), problem.errors
        kept, seed = counts > 0, int(rng.integers(2**31))
        sample = replace(problem.sample, weights=counts).rows(kept)
        errors = None if errors is None else errors.rows(kept)
        copy = replace(problem, sample=sample, errors=errors, seed=seed)
        reduction, _ = reduced(copy, method)
        space = reduction.subspace
        start = space.project(centers)
        return space.lift(lloyd(reduction.measure, start, walk.max_iter, walk.tol).centers)

    return once


def from_points(
    sample: Observations, centers: Array, walk: Walk
) -> Callable[[np.random.Generator], Array]:
    """Return how centers are found from another sample without errors.

    Parameters
    ----------
    sample : Observations
        The points.
    centers : array of shape (k, d)
        The centers.
    walk : Walk
        How Lloyd's iterations go.
    """

    def once(rng: np.random.Generator) -> Array:
        points = WeightedPoints(sample.X, _counts(sample, rng))
        return lloyd(points, centers, walk.max_iter, walk.tol).centers

    return once


def _settled(method: Method, estimate: Estimate) -> Method:
    """Return the method with the amount of smoothing that it has found."""
    if isinstance(method, ByLikelihood) and estimate.n_steps:
        return replace(method, rule=FixedSteps(estimate.n_steps))
    if isinstance(method, ByKernel) and estimate.selection is not None:
        return replace(method, rule=Fixed(tuple(estimate.selection.bandwidth.tolist())))
    return method


def _redrawn(histogram: Histogram, scale: float, rng: np.random.Generator) -> Histogram:
    """Return another histogram, of ``mass * scale`` observations of equal weight."""
    return Histogram(histogram.grid, rng.poisson(histogram.values * scale) / scale)


def _counts(sample: Observations, rng: np.random.Generator) -> Array:
    """Return the weights of the rows, each a Poisson number of times."""
    weights = sample.each_weight
    if (weights == np.round(weights)).all():
        return rng.poisson(weights).astype(np.float64)
    return np.asarray(weights * rng.poisson(1.0, len(weights)))
