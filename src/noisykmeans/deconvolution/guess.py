"""A first guess of the law of the clean points: mixtures of bumps, as far as the data tell.

k-means is the best mixture of as many round and equal bumps as there are clusters. Sizes and
shapes that the data cannot tell only add to the error of the centers, those that they can tell
take from it. So several families are fitted, and mixed by what the data say of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from noisykmeans.deconvolution.bumps import Family, Sample
from noisykmeans.density import Density

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noisykmeans.deconvolution.bumps import Bumps
    from noisykmeans.groups import Groups

    Array = NDArray[np.float64]

__all__ = ["DETAIL", "FAMILIES", "Guess", "first_guess"]

_MOST_NODES = 4096  # a bump is wider than a node: beyond, every second node will do
_STARTS = 4
DETAIL = 0.25  # of a bump's standard deviations: finer structure is chance

# From the most frugal on: each starts from what the ones before it have found, too.
FAMILIES = (
    Family(round=True, equal=True),
    Family(round=False, equal=True),
    Family(round=True, equal=False),
    Family(round=False, equal=False),
)


@dataclass(frozen=True, eq=False)
class Guess:
    """Where deconvolution begins, and where its centers may.

    Parameters
    ----------
    density : Density
        On the grid of the observations.
    centers : array of shape (n_clusters, d)
        The means of the most likely bumps, as many as there are clusters.
    detail : tuple of float
        A quarter of these bumps' standard deviations along each axis: finer structure is chance.
    """

    density: Density
    centers: Array
    detail: tuple[float, ...]


def first_guess(groups: Groups, n_clusters: int, n: float, rng: np.random.RandomState) -> Guess:
    """Mix the fits of every family, each with the weight ``exp(-BIC / 2)``.

    ``BIC = p log n - 2 log likelihood``, p the number of free parameters. One fit has a bump less
    than there are clusters: under large errors two close clusters look like one.

    Parameters
    ----------
    groups : Groups
        The observations, with the laws of their errors, of which only mean and covariance count.
    n_clusters : int
        The number of centers wanted.
    n : float
        The number of observations, or of equal weights that carry as much.
    rng : numpy.random.RandomState
        Source of randomness of the fits' starts.
    """
    grid, coarse = groups.grid, groups
    while coarse.n_filled > _MOST_NODES:
        coarse = coarse.coarser()
    sample = Sample.of(coarse)
    n_clusters = min(n_clusters, len(sample.points))
    many = list(_fits(sample, _families(sample, n_clusters), n_clusters, n, rng))
    few: list[tuple[Bumps, float]] = []
    if n_clusters > 1:
        families = _families(sample, n_clusters - 1)
        few = list(_fits(sample, families[-1:], n_clusters - 1, n, rng))
    weights = softmax([evidence for _, evidence in many + few])
    values = np.zeros(grid.shape)
    for (bumps, _), weight in zip(many + few, weights, strict=True):
        if weight > 1e-12:
            values += weight * bumps.density(grid).values
    likeliest, _ = max(many, key=lambda fit: fit[1])
    detail = DETAIL * np.sqrt(np.diag(likeliest.covariance))
    return Guess(Density(grid, values), likeliest.means, tuple(detail.tolist()))


def _families(sample: Sample, n_bumps: int) -> list[Family]:
    """Return the families that differ: one axis has one shape, one bump has one size."""
    axes = len(sample.mean)
    return [f for f in FAMILIES if (f.round or axes > 1) and (f.equal or n_bumps > 1)]


def _fits(
    sample: Sample,
    families: list[Family],
    n_bumps: int,
    n: float,
    rng: np.random.RandomState,
) -> Iterator[tuple[Bumps, float]]:
    """Fit each family, and give ``-BIC / 2`` with it."""
    axes = len(sample.mean)
    states = [sample.start(n_bumps, rng) for _ in range(_STARTS if n_bumps > 1 else 1)]
    for family in families:
        state = sample.best(family, states)
        states = [*states, state]
        penalty = family.n_parameters(n_bumps, axes) * np.log(max(n, 1.0)) / 2
        yield sample.bumps(family, state), n * state.log_likelihood - penalty
