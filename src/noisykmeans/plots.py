"""Pictures, as Display objects in scikit-learn's manner: values first, then ``plot``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.density import Density
    from noisykmeans.estimators import NoisyKMeans

    Array = NDArray[np.float64]

__all__ = ["PALETTE", "PartitionDisplay"]

# Okabe and Ito's colours, distinct for the colour-blind; markers say the same again, for print.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PIXELS = 512  # of the picture of the cells, along each axis
LEVELS = 7


@dataclass
class PartitionDisplay:
    """The cells of centers over observations and, where there is one, the density.

    Parameters
    ----------
    centers : array of shape (k, 2)
        The centers.
    points : array of shape (n, 2)
        Observations, coloured by their closest center.
    density : Density or None
        Drawn as contours.
    feature_names : (str, str)
        The labels of the axes.
    """

    centers: Array
    points: Array
    density: Density | None = None
    feature_names: tuple[str, str] = ("feature 0", "feature 1")

    @classmethod
    def from_estimator(
        cls,
        model: NoisyKMeans,
        X: ArrayLike,
        *,
        density: Density | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the partition of a fitted model.

        Parameters
        ----------
        model : NoisyKMeans
            Fitted, on two features.
        X : array of shape (n, 2)
            Observations.
        density : Density or None
            Contours to draw, the model's own density if None.
        ax : matplotlib Axes or None
            Where to draw.
        """
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"a partition is drawn for two features; X has shape {points.shape}")
        names = tuple(getattr(model, "feature_names_in_", ("feature 0", "feature 1")))
        density = model.density_ if density is None else density
        return cls(model.cluster_centers_, points, density, names).plot(ax=ax)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw on an Axes, a new one if None; it is ``ax_`` afterwards, its figure ``figure_``.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw.
        title : str or None
            A title for the Axes.
        """
        if ax is None:
            from matplotlib import pyplot as plt  # noqa: PLC0415  the extra `plot`

            _, ax = plt.subplots(layout="constrained")
        self._cells(ax)
        if self.density is not None and self.density.grid.dimension == 2:
            x, y = self.density.grid.nodes
            f = self.density.values
            levels = f.max() * np.linspace(0, 1, LEVELS + 2)[1:-1]
            ax.contour(x, y, f.T, levels=levels, colors="0.35", linewidths=0.8)
        closest = pairwise_distances_argmin(self.points, self.centers)
        for j in range(len(self.centers)):
            ax.scatter(
                *self.points[closest == j].T,
                s=14,
                color=PALETTE[j % len(PALETTE)],
                marker=MARKERS[j % len(MARKERS)],
                alpha=0.7,
                linewidths=0,
            )
        ax.scatter(*self.centers.T, s=170, marker="*", color="black", edgecolors="white", zorder=3)
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1], title=title)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _cells(self, ax: Any) -> None:
        """Tint the cells, and draw their borders."""
        every = np.concatenate([self.points, self.centers])
        low, high = every.min(axis=0), every.max(axis=0)
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        low, high = low - margin, high + margin
        x, y = (np.linspace(a, b, PIXELS) for a, b in zip(low, high, strict=True))
        pixels = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        cells = pairwise_distances_argmin(pixels, self.centers).reshape(PIXELS, PIXELS)
        colours = [PALETTE[j % len(PALETTE)] for j in range(len(self.centers))]
        edges = np.arange(len(self.centers) + 1) - 0.5
        ax.contourf(x, y, cells, levels=edges, colors=colours, alpha=0.12)
        if len(self.centers) > 1:
            ax.contour(x, y, cells, levels=edges[1:-1], colors="black", linewidths=1.0)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
