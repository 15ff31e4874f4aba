"""The paper's introduction: Lloyd's iterations depend on where they begin.

Two panels: the points of three spherical Gaussians, and the risk of 100 runs of k-means on these
same points, each from random centers of its own. The text points to its experiments for the three
Gaussians and gives no u; the clean points of Mod2(1), 180 of them, are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from noisykmeans.experiments.mod2 import MOD2
from noisykmeans.experiments.trial import random_centers
from noisykmeans.metrics import clustering_risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.experiments.settings import Settings

    Array = NDArray[np.float64]

__all__ = ["Instability"]

U, N_STARTS = 1, 100
INDEX = 3  # its place in the seeds, after those of the experiments


@dataclass(frozen=True, eq=False)
class Instability:
    """Points without errors, and the risks of k-means from many random starts.

    Parameters
    ----------
    points : array of shape (180, 2)
        The clean points.
    clusters : array of shape (180,)
        Their true clusters.
    risks : array of shape (100,)
        One for each start.
    """

    points: Array
    clusters: NDArray[np.intp]
    risks: Array

    @classmethod
    def run(cls, settings: Settings) -> Self:
        """Draw the points, and run k-means from each start."""
        rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(INDEX,)))
        X, _, y = MOD2.draw(U, MOD2.n_samples, rng)
        risks = []
        with threadpool_limits(1):
            for _ in range(N_STARTS):
                start = random_centers(X, MOD2.n_clusters, settings.starts, rng)
                model = KMeans(MOD2.n_clusters, init=start, n_init=1).fit(X)
                risks.append(clustering_risk(model.cluster_centers_, X, y))
        return cls(X, y, np.array(risks))
