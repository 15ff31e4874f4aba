"""The cells of the centers as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from noisykmeans.plots.style import Display, look_of
from noisykmeans.views import View, center_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.density import Density
    from noisykmeans.estimators import NoisyKMeans

    Array = NDArray[np.float64]

__all__ = ["PartitionDisplay"]

PIXELS = 512  # of the picture of the cells, along each axis
LEVELS = 7
MOST_POINTS = 5000  # that are drawn: more would hide the density, and each other
# How many standard deviations hold 95 % of a Gaussian law, on a line and in the plane.
REACH = {1: 1.95996, 2: 2.44775}


@dataclass
class PartitionDisplay(Display):
    """The cells of centers over observations and, where there is one, the density.

    Stars are the centers, with the ellipses (on one axis, the bars) that hold 95 % of their
    errors, where these are known. At most 5000 observations are drawn, at equal distances in
    their order.

    Parameters
    ----------
    centers : array of shape (k, r), r = 1 or 2
        The centers.
    points : array of shape (n, r)
        Observations, coloured by their closest center.
    density : Density or None
        Drawn as contours; as a curve on one axis.
    feature_names : tuple of str
        The labels of the axes.
    errors : array of shape (k, r, r) or None
        Covariance matrices of the centers' errors.
    labels : array of shape (n,) or None
        The clusters of the observations, where more axes decide them than are drawn; the cells
        overlap then, and are not drawn.
    """

    centers: Array
    points: Array
    density: Density | None = None
    feature_names: tuple[str, ...] = ("feature 0", "feature 1")
    errors: Array | None = None
    labels: NDArray[np.int32] | None = None

    @classmethod
    def from_estimator(
        cls,
        model: NoisyKMeans,
        X: ArrayLike,
        *,
        features: Sequence[int | str] | None = None,
        density: Density | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the partition of a fitted model.

        Parameters
        ----------
        model : NoisyKMeans
            Fitted. With `n_bootstrap` the errors of its centers are drawn.
        X : array of shape (n, d)
            Observations.
        features : sequence of one or two int or str, or None
            The features to draw over, by number or name. None takes all of one or two; of more,
            the axes along which the centers differ most.
        density : Density or None
            Contours to draw, the model's own density if None.
        ax : matplotlib Axes or None
            Where to draw.
        """
        points, d = np.asarray(X, dtype=np.float64), model.n_features_in_
        if points.ndim != 2 or points.shape[1] != d:
            raise ValueError(
                f"X must have the shape (n, {d}), as the model was fitted on; got {points.shape}"
            )
        view = View.of(model, features)
        centers = model.cluster_centers_
        known = center_errors(model)
        some = np.arange(0, len(points), max(-(-len(points) // MOST_POINTS), 1))
        return cls(
            view.project(centers),
            view.project(points[some]),
            view.density(model) if density is None else density,
            view.names,
            None if known is None else view.covariances(known),
            None if view.separates(centers) else model.predict(X)[some],
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        low, high = self._box()
        if self.centers.shape[1] == 1:
            self._draw_line(ax, low[0], high[0])
        else:
            self._draw_plane(ax, low, high)

    def _box(self) -> tuple[Array, Array]:
        """Return the bounds of all that is drawn, and a margin."""
        every = np.concatenate([self.points, self.centers])
        if self.errors is not None:
            reach = self._reach(self.errors)
            every = np.concatenate([every, self.centers - reach, self.centers + reach])
        low, high = np.nanmin(every, axis=0), np.nanmax(every, axis=0)
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        return low - margin, high + margin

    def _reach(self, errors: Array) -> Array:
        """Return how far the centers' errors reach along each axis, of shape (k, r)."""
        variances = np.diagonal(errors, axis1=1, axis2=2)
        return np.asarray(REACH[self.centers.shape[1]] * np.sqrt(variances))

    def _members(self) -> list[Array]:
        """Return the observations of each cluster."""
        labels = self.labels
        if labels is None:
            labels = np.full(len(self.points), -1)
            seen = ~np.isnan(self.points).any(axis=1)
            if seen.any():
                labels[seen] = pairwise_distances_argmin(self.points[seen], self.centers)
        return [self.points[labels == j] for j in range(len(self.centers))]

    def _draw_plane(self, ax: Any, low: Array, high: Array) -> None:
        """Draw over two axes."""
        if self.labels is None:
            self._tint(ax, low, high)
        if self.density is not None and self.density.grid.dimension == 2:
            x, y = self.density.grid.nodes
            f = self.density.values
            levels = f.max() * np.linspace(0, 1, LEVELS + 2)[1:-1]
            ax.contour(x, y, f.T, levels=levels, colors="0.35", linewidths=0.8)
        for j, members in enumerate(self._members()):
            ax.scatter(*members.T, s=14, alpha=0.7, linewidths=0, **look_of(j))
        if self.errors is not None:
            self._draw_ellipses(ax, self.errors)
        ax.scatter(*self.centers.T, s=170, marker="*", color="black", edgecolors="white", zorder=3)
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))

    def _tint(self, ax: Any, low: Array, high: Array) -> None:
        """Tint the cells, and draw their borders."""
        x, y = (np.linspace(a, b, PIXELS) for a, b in zip(low, high, strict=True))
        pixels = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        cells = pairwise_distances_argmin(pixels, self.centers).reshape(PIXELS, PIXELS)
        colours = [look_of(j)["color"] for j in range(len(self.centers))]
        edges = np.arange(len(self.centers) + 1) - 0.5
        ax.contourf(x, y, cells, levels=edges, colors=colours, alpha=0.12)
        if len(self.centers) > 1:
            ax.contour(x, y, cells, levels=edges[1:-1], colors="black", linewidths=1.0)

    def _draw_ellipses(self, ax: Any, errors: Array) -> None:
        """Draw the regions that hold 95 % of the errors of each center."""
        angles = np.linspace(0, 2 * np.pi, 73)
        circle = REACH[2] * np.stack([np.cos(angles), np.sin(angles)])
        for center, covariance in zip(self.centers, errors, strict=True):
            variances, axes = np.linalg.eigh(covariance)
            ring = center[:, None] + axes @ (np.sqrt(np.maximum(variances, 0))[:, None] * circle)
            ax.plot(*ring, color="white", linewidth=3.2, zorder=2.8)
            ax.plot(*ring, color="black", linewidth=1.4, zorder=2.9)

    def _draw_line(self, ax: Any, low: float, high: float) -> None:
        """Draw over one axis: cells as stripes, observations as ticks below the density."""
        order = np.argsort(self.centers[:, 0])
        borders = (self.centers[order[1:], 0] + self.centers[order[:-1], 0]) / 2
        edges = [low, *borders, high]
        if self.labels is None:
            for j, left, right in zip(order, edges[:-1], edges[1:], strict=True):
                ax.axvspan(left, right, color=look_of(j)["color"], alpha=0.12, linewidth=0)
            for border in borders:
                ax.axvline(border, color="black", linewidth=1.0)
        top = 1.0
        if self.density is not None and self.density.grid.dimension == 1:
            (x,) = self.density.grid.nodes
            ax.plot(x, self.density.values, color="0.25")
            top = float(self.density.values.max())
        for j, members in enumerate(self._members()):
            below = np.full(len(members), -0.06 * top)
            ax.scatter(members[:, 0], below, s=20, alpha=0.5, linewidths=0, **look_of(j))
        centers, height = self.centers[:, 0], np.full(len(self.centers), 0.05 * top)
        if self.errors is not None:
            reach = self._reach(self.errors)[:, 0]
            ax.errorbar(centers, height, xerr=reach, fmt="none", color="black", capsize=4)
        ax.scatter(centers, height, s=170, marker="*", color="black", edgecolors="white", zorder=3)
        ax.set(xlabel=self.feature_names[0], ylabel="density", xlim=(low, high))
        if self.density is None:
            ax.set(ylabel="", yticks=[], ylim=(-0.2, 1))
