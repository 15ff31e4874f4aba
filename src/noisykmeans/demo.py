"""The paper's first example in one picture: k-means and noisy k-means on Mod1(9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from noisykmeans.datasets import make_mod1, mod1_noise
from noisykmeans.estimators import NoisyKMeans
from noisykmeans.metrics import clean_distortion, clustering_risk
from noisykmeans.plots import PartitionDisplay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Demo", "Row"]

U = 9
N_CLEAN = 20_000


class Row(NamedTuple):
    """What one method has found."""

    method: str
    centers: Array
    risk: float
    distortion: float


@dataclass(frozen=True, eq=False)
class Demo:
    """k-means and noisy k-means, fitted to the same observations.

    Parameters
    ----------
    seed : int
        Of the data and of both fits.
    clean, observations : array of shape (100, 2)
        The points without and with errors.
    clusters : array of shape (100,)
        The true clusters.
    models : dict
        The fitted models by name.
    """

    seed: int
    clean: Array
    observations: Array
    clusters: NDArray[np.intp]
    models: dict[str, NoisyKMeans]

    @classmethod
    def run(cls, seed: int) -> Self:
        """Draw the data and fit both methods, k-means with the best of ten starts."""
        X, Z, y = make_mod1(U, random_state=seed)
        plain = NoisyKMeans(2, n_init=10, random_state=seed)
        noisy = NoisyKMeans(2, noise=mod1_noise(U), random_state=seed)
        return cls(seed, X, Z, y, {"k-means": plain.fit(Z), "noisy k-means": noisy.fit(Z)})

    def rows(self) -> list[Row]:
        """Return centers, risk and distortion on clean points for each method."""
        fresh, _, _ = make_mod1(U, N_CLEAN, random_state=self.seed + 1)
        rows = []
        for name, model in self.models.items():
            centers = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]
            risk = clustering_risk(centers, self.clean, self.clusters)
            rows.append(Row(name, centers, risk, clean_distortion(centers, fresh)))
        return rows

    def figure(self) -> Any:
        """Return a matplotlib figure: both partitions over the data and the estimated density."""
        from matplotlib.figure import Figure  # noqa: PLC0415  the extra `plot`

        figure = Figure(figsize=(10, 5.2), layout="constrained")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        density = self.models["noisy k-means"].density_
        for ax, row in zip(axes, self.rows(), strict=True):
            PartitionDisplay(row.centers, self.observations, density, ("x", "y")).plot(
                ax=ax, title=f"{row.method}: {row.risk:.0%} of the clean points misplaced"
            )
        axes[1].set_ylabel("")
        figure.suptitle(
            "100 observations with vertical errors of variance 9. Contours: the density of the "
            "clean points, as estimated. Stars: centers.",
            fontsize="medium",
        )
        return figure
