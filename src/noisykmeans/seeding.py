"""Where to begin: centers drawn from a measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noisykmeans import _kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.measure import Measure

__all__ = ["plus_plus", "random"]


def plus_plus(measure: Measure, n_clusters: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Draw centers by greedy k-means++: far from each other, in proportion to D^2.

    Of ``2 + log k`` points drawn in proportion to their mass times their squared distance from
    the centers before, the one that leaves the smallest distortion is the next center.

    Parameters
    ----------
    measure : Measure
        Where from.
    n_clusters : int
        How many.
    rng : numpy.random.RandomState
        Source of randomness.

    Returns
    -------
    array of shape (n_clusters, d)
    """
    points, weights = measure.support()
    _check_support(int(np.count_nonzero(weights)), n_clusters)
    # Shares, since a density's masses are tiny, and their products with D^2 may underflow.
    uniform = rng.random_sample((n_clusters, 2 + int(np.log(n_clusters))))
    chosen = np.empty(n_clusters, dtype=np.intp)
    shares = weights / weights.sum()
    _kernels.spreading.spread(np.ascontiguousarray(points.T), shares, uniform, chosen)
    return np.asarray(points[chosen])


def random(measure: Measure, n_clusters: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Draw different support points in proportion to their mass, of shape (n_clusters, d)."""
    points, weights = measure.support()
    _check_support(int(np.count_nonzero(weights)), n_clusters)
    chosen = rng.choice(len(points), n_clusters, replace=False, p=weights / weights.sum())
    return np.asarray(points[chosen])


def _check_support(n_points: int, n_clusters: int) -> None:
    """Raise where a measure has fewer points than centers are wanted."""
    if n_points < n_clusters:
        raise ValueError(
            f"the measure has {n_points} points of positive mass, fewer than "
            f"n_clusters={n_clusters}: lower n_clusters or raise resolution"
        )
