"""From observations in any dimension to a measure of their clean points that Lloyd can quantise.

Mixtures of bumps are fitted in all dimensions. Up to three axes, the span of their centers gets a
grid, on which a method of `estimation` deconvolves the projected observations. More axes have no
grid: the most likely mixture itself is quantised, by atoms drawn from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans import seeding
from noisykmeans.deconvolution.clusters import first_clusters
from noisykmeans.estimation import ByLikelihood, Estimate
from noisykmeans.grid import MAX_DIMENSION
from noisykmeans.groups import Groups
from noisykmeans.measure import distinct
from noisykmeans.observations import Observations, bounds
from noisykmeans.quantization import lloyd_from_best
from noisykmeans.selection import Task
from noisykmeans.selection.base import count
from noisykmeans.subspace import Subspace, projected_noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.deconvolution.bumps import Bumps
    from noisykmeans.estimation import Method
    from noisykmeans.measure import Measure
    from noisykmeans.noise import Noise
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["Problem", "Reduction", "reduced", "unreduced"]

_STARTS = 3
_MOST_SORTED = 20_000  # observations among which equal ones are merged, as it takes a copy


@dataclass(frozen=True, eq=False)
class Problem:
    """A sample in any dimension, and what is asked of it.

    Parameters
    ----------
    sample : Observations
        Different along each axis.
    noise : Noise
        The law of their errors.
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
    points, weights = problem.sample.X, problem.sample.each_weight
    if len(points) <= _MOST_SORTED:
        points, weights = distinct(points, weights)
    weights = weights * (count(weights) / weights.sum())
    clusters = first_clusters(points, weights, problem.noise, k, rng)
    atoms = clusters.atoms(rng)
    found = clusters.likeliest.means
    starts = [found] if len(found) == k else []
    starts += [seeding.plus_plus(atoms, k, rng) for _ in range(_STARTS)]
    centers = lloyd_from_best(atoms, starts).centers
    axes = Subspace.spanned(centers, clusters.mean, problem.noise, MAX_DIMENSION)
    task = _projected(problem, method, axes)
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


def _projected(problem: Problem, method: Method, axes: Subspace) -> Task:
    """Return the task that is left on a few axes."""
    r = axes.dimension
    noise = projected_noise(problem.noise, axes.basis)
    seen = axes.project(problem.sample.X)
    sample = Observations(seen, problem.sample.weights, bounds(seen))
    nodes = None if problem.nodes is None else np.full(r, float(problem.nodes))
    groups = Groups.of(method.in_span(r).histogram(sample, noise, nodes), noise)
    return Task(groups, problem.window, problem.n_clusters, problem.seed, sample.X, sample.weights)
