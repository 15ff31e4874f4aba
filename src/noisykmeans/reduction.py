"""From observations in any dimension to a measure of their clean points that Lloyd can quantise.

Mixtures of bumps are fitted in all dimensions. Up to three axes, the span of their centers gets a
grid, on which a method of `estimation` deconvolves the projected observations. More axes have no
grid: the most likely mixture itself is quantised, by atoms drawn from it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans import seeding
from noisykmeans.deconvolution.clusters import Observed, first_clusters
from noisykmeans.estimation import ByLikelihood, Estimate, grouped
from noisykmeans.grid import MAX_DIMENSION
from noisykmeans.groups import Kind
from noisykmeans.measure import distinct
from noisykmeans.observations import Observations, bounds
from noisykmeans.quantization import lloyd_from_best
from noisykmeans.selection import Task
from noisykmeans.selection.base import count
from noisykmeans.subspace import Subspace, projected_noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.deconvolution.bumps import Bumps
    from noisykmeans.errors import Errors
    from noisykmeans.estimation import Method
    from noisykmeans.measure import Measure
    from noisykmeans.noise import Noise
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["Problem", "Reduction", "reduced", "unreduced"]

_STARTS = 3
_MOST_NUMBERS = 2**19  # in the covariances of all kinds
_MOST_SORTED = 20_000  # observations among which equal ones are merged, as it takes a copy


@dataclass(frozen=True, eq=False)
class Problem:
    """A sample in any dimension, and what is asked of it.

    Parameters
    ----------
    sample : Observations
        Different along each axis.
    noise : Noise
        The law of errors that all share.
    errors : Errors or None
        What differs in their errors; None where nothing does.
    scale : array of shape (d,)
        Their standard deviations.
    window : Window
        That of the kernel estimator.
    n_clusters : int
        How many centers will be sought.
    nodes : int or None
        How many nodes are wanted at least along each axis of a grid.
    seed : int
        Source of randomness.
    """

    sample: Observations
    noise: Noise
    errors: Errors | None
    scale: Array
    window: Window
    n_clusters: int
    nodes: int | None
    seed: int


@dataclass(frozen=True, eq=False)
class Reduction:
    """What is to be quantised, and the density to be shown.

    Parameters
    ----------
    measure : Measure
        Of the clean points, in coordinates of `subspace`.
    subspace : Subspace
        The span of the centers, or all axes.
    rest : float
        The clean points' mean squared distance from it.
    estimate : Estimate
        The density on `axes`, and where Lloyd's iterations on the measure may start.
    axes : Subspace
        The span of the centers, or its three leading axes.
    mixture : Bumps or None
        The law of the clean points in all dimensions, where it was needed to find the span.
    """

    measure: Measure
    subspace: Subspace
    rest: float
    estimate: Estimate
    axes: Subspace
    mixture: Bumps | None = None


def unreduced(estimate: Estimate) -> Reduction:
    """Return the estimate on a grid of all features that vary."""
    space = Subspace.whole(estimate.density.grid.dimension)
    return Reduction(estimate.density, space, 0.0, estimate, space)


def reduced(problem: Problem, method: Method) -> tuple[Reduction, Task]:
    """Find the span of the centers, and deconvolve there; return the task on its axes, too.

    Parameters
    ----------
    problem : Problem
        The sample, and what is asked of it.
    method : Method
        Deconvolves on a grid.
    """
    d, k = problem.sample.X.shape[1], problem.n_clusters
    on_grid = min(k - 1, d) <= MAX_DIMENSION
    if not (on_grid or isinstance(method, ByLikelihood)):
        raise ValueError(
            f"the kernel estimate needs a grid, of at most {MAX_DIMENSION} axes, and the span of "
            f"n_clusters={k} centers has {min(k - 1, d)}: use deconvolution='em', or lower "
            f"n_clusters to {MAX_DIMENSION + 1} at most"
        )
    rng = np.random.RandomState(problem.seed)
    clusters = first_clusters(_observed(problem), k, rng)
    atoms = clusters.atoms(rng)
    found = clusters.likeliest.means
    starts = [found] if len(found) == k else []
    starts += [seeding.plus_plus(atoms, k, rng) for _ in range(_STARTS)]
    centers = lloyd_from_best(atoms, starts).centers
    axes = Subspace.spanned(centers, clusters.mean, clusters.errors, MAX_DIMENSION)
    task = _projected(problem, method, axes, clusters.mean)
    guess = clusters.guess(task.groups.grid, axes.basis)
    if not on_grid:
        # What is shown is where the centers come from.
        shown = Estimate(guess.density, n_steps=0, centers=centers)
        return Reduction(atoms, Subspace.whole(d), 0.0, shown, axes, clusters.likeliest), task
    estimate = method.in_span(axes.dimension).estimate(replace(task, guess=guess))
    if estimate.selection is None or estimate.selection.centers is None:
        estimate = replace(estimate, centers=axes.project(centers))
    across = np.eye(d) - axes.basis.T @ axes.basis
    rest = max(float(np.trace(across @ clusters.likeliest.covariance)), 0.0)
    return Reduction(estimate.density, axes, rest, estimate, axes, clusters.likeliest), task


def _observed(problem: Problem) -> Observed:
    """Return the observations as bumps are fitted to them: equal ones merged, if they are few."""
    sample, noise = problem.sample, problem.noise
    points, weights, labels = sample.X, sample.each_weight, None
    kinds = [Kind(noise, tuple(range(points.shape[1])))]
    if problem.errors is not None:
        labels, kinds = problem.errors.kinds(noise, weights, problem.scale)
        kept = _frequent(labels, weights, points.shape[1])
        if not kept.all():
            points, weights, labels = points[kept], weights[kept], labels[kept]
            used, labels = np.unique(labels, return_inverse=True)
            kinds = [kinds[i] for i in used]
    elif len(points) <= _MOST_SORTED:
        points, weights = distinct(points, weights)
    return Observed(points, weights * (count(weights) / weights.sum()), kinds, labels)


def _frequent(labels: NDArray[np.intp], weights: Array, d: int) -> NDArray[np.bool_]:
    """Return the rows of the most frequent kinds, as many as there is time for; warn of others.

    Only patterns of missing coordinates make so many kinds. The other rows still count on the
    span of the centers.
    """
    masses, most = np.bincount(labels, weights), max(_MOST_NUMBERS // d**2, 64)
    if len(masses) <= most:
        return np.ones(len(labels), dtype=bool)
    frequent = np.zeros(len(masses), dtype=bool)
    frequent[np.argsort(-masses, kind="stable")[:most]] = True
    kept = frequent[labels]
    warnings.warn(
        f"X has {len(masses)} patterns of missing coordinates: the span of the centers is found "
        f"from the {most} most frequent ones, of {np.count_nonzero(kept)} of {len(labels)} rows",
        UserWarning,
        stacklevel=6,
    )
    return np.asarray(kept)


def _projected(problem: Problem, method: Method, axes: Subspace, mean: Array) -> Task:
    """Return the task that is left on a few axes."""
    r, given, errors = axes.dimension, problem.sample, problem.errors
    noise = projected_noise(problem.noise, axes.basis)
    # What was not observed is as good as unknown at the mean, with the error that it gets.
    X = given.X if errors is None else np.where(errors.observed, given.X, mean)
    seen = axes.project(X)
    sample = Observations(seen, given.weights, bounds(seen))
    nodes = None if problem.nodes is None else np.full(r, float(problem.nodes))
    errors = None if errors is None else errors.projected(axes.basis, problem.scale)
    groups, _, labels = grouped(method.in_span(r), sample, noise, errors, nodes)
    window, k = problem.window, problem.n_clusters
    return Task(groups, window, k, problem.seed, sample.X, sample.weights, labels)
