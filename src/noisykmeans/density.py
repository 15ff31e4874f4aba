"""Densities on a grid: the estimate, its repairs, and its cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import map_coordinates

from noisykmeans import _kernels
from noisykmeans.measure import Measure, smallest_mass

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.grid import Grid

    Array = NDArray[np.float64]

__all__ = ["Density"]

PLANES = 128  # about how many planes stand for three axes
MAX_PLANES = 8  # for one node


@dataclass(frozen=True, eq=False)
class Density(Measure):
    """A density, possibly signed, by its values at the nodes of a grid.

    As a measure it is constant within half a spacing of a node along the last two axes, and its
    cells are cut exactly. On the first of three axes a node's mass is shared among equidistant
    planes.

    Parameters
    ----------
    grid : Grid
        The nodes.
    values : array of the grid's shape
        The density at the nodes, in 1 / unit^d.

    Examples
    --------
    >>> from noisykmeans.grid import Grid
    >>> density = Density(Grid((0.0,), (1.0,), (4,)), [0.5, -0.1, 0.5, 0.3])
    >>> density.projected().values.round(3).tolist()
    [0.4, 0.0, 0.4, 0.2]
    >>> masses, moments = density.projected().cell_moments([[0.0], [3.0]])
    >>> masses.round(3).tolist()
    [0.4, 0.6]
    """

    grid: Grid
    values: Array

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64, order="C")
        if values.shape != self.grid.shape:
            raise ValueError(
                f"values have the shape {values.shape}, the grid has {self.grid.shape}"
            )
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def clipped(self) -> Density:
        """Return ``max(f, 0)``, divided by its integral."""
        return self._normalised(np.maximum(self.values, 0))

    def projected(self) -> Density:
        """Return the closest density in L2: ``max(f - xi, 0)``, xi such that the integral is 1.

        Where even ``max(f, 0)`` has less mass than 1 on the grid, the missing mass lies beyond
        it, and the clipped density is returned: the law given the grid's box.
        """
        total = 1 / self.grid.cell_volume
        if np.maximum(self.values, 0).sum() <= total:
            return self.clipped()
        xi = _kernels.projection.threshold(self.values.ravel(), total)
        return self._normalised(np.maximum(self.values - xi, 0))

    def _normalised(self, values: Array) -> Density:
        # The division also takes out what rounding has left in the threshold.
        return Density(self.grid, values / (values.sum() * self.grid.cell_volume))

    @cached_property
    def mass(self) -> float:
        """The integral over the grid."""
        return float(self.values.sum() * self.grid.cell_volume)

    @cached_property
    def mean(self) -> Array:
        """The mean over the grid, of shape (d,)."""
        return np.array([f @ x for f, x in zip(self._marginals, self.grid.nodes, strict=True)]) / (
            self.mass
        )

    @cached_property
    def spread(self) -> float:
        """``integral |x - mean|^2 f(x) dx``, the extent of the voxels included."""
        axes = zip(self._marginals, self.grid.nodes, self.mean, strict=True)
        within = self.scale**2 / 12
        if self.grid.dimension == 3:
            within[0] *= 1 - 1 / self._planes**2
        return float(sum(f @ (x - m) ** 2 for f, x, m in axes) + self.mass * within.sum())

    @property
    def scale(self) -> Array:
        """The spacing of the grid."""
        return np.array(self.grid.spacing)

    @cached_property
    def _marginals(self) -> list[Array]:
        """The mass at each node along each axis."""
        axes = range(self.grid.dimension)
        return [
            self.values.sum(axis=tuple(u for u in axes if u != v)) * self.grid.cell_volume
            for v in axes
        ]

    def support(self) -> tuple[Array, Array]:
        """Return the nodes where the density is positive, and their masses."""
        return self._support

    @cached_property
    def _support(self) -> tuple[Array, Array]:
        positive = self.values.ravel() > 0
        points, masses = self.grid.points[positive], self.values.ravel()[positive]
        masses *= self.grid.cell_volume
        for array in (points, masses):  # many starts are drawn from the same ones
            array.setflags(write=False)
        return points, masses

    def __call__(self, X: ArrayLike) -> Array:
        """Values at points of shape (n, d), linear between nodes, 0 beyond the grid."""
        u = (np.asarray(X, dtype=np.float64) - self.grid.lower) / self.grid.spacing
        return np.asarray(map_coordinates(self.values, u.T, order=1, mode="constant", cval=0.0))

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> Array:
        """Draw points of shape (n, d) from a density without negative values."""
        rng = np.random.default_rng(rng)
        points, masses = self.support()
        chosen = points[rng.choice(len(points), size=n, p=masses / masses.sum())]
        return chosen + rng.uniform(-0.5, 0.5, size=chosen.shape) * self.grid.spacing

    def cell_moments(self, centers: ArrayLike) -> tuple[Array, Array]:
        """Masses and first moments of the cells, cut exactly through the voxels."""
        u = self._to_index(centers)
        masses, moments, _ = self._lloyd(u, (0, 0.0, 0.0))
        moments = moments[:, 3 - self.grid.dimension :]
        masses *= self.grid.cell_volume
        moments *= self.grid.cell_volume
        return masses, masses[:, None] * self._origin + moments * self.grid.spacing

    def descend(self, centers: ArrayLike, max_iter: int, tol: float) -> tuple[Array, int]:
        """Lloyd's iterations, as for every measure, in one compiled loop."""
        u = self._to_index(centers)
        empty = smallest_mass(self.mass) / self.grid.cell_volume
        n_iter = self._lloyd(u, (max_iter, float(tol), empty))[2]
        return self._origin + u[:, 3 - self.grid.dimension :] * self.grid.spacing, n_iter

    def _lloyd(self, u: Array, limits: tuple[int, float, float]) -> tuple[Array, Array, int]:
        """Move centers in place; return masses and moments of cells in the kernels' units."""
        masses, moments = np.empty(len(u)), np.empty((len(u), 3))
        n_iter = _kernels.sweep.lloyd(self._sums, u, limits, masses, moments)
        return masses, moments, n_iter

    @cached_property
    def _sums(self) -> Any:
        """Prefix sums of mass and moment along each row and of whole rows, and the planes."""
        n0, n1, n2 = (1, 1, *self.grid.shape)[-3:]
        prefix, side = np.empty((n0, n1, n2 + 1, 2)), np.empty((n0, n1 + 1, 3))
        _kernels.sweep.prefix_sums(self.values.reshape(n0, n1, n2), prefix, side)
        return _kernels.sweep.Planes(prefix, side, self._levels, self._metric)

    @cached_property
    def _planes(self) -> int:
        """The number of planes that share the mass of a node on the first of three axes."""
        return min(max(math.ceil(PLANES / self.grid.shape[0]), 1), MAX_PLANES)

    @cached_property
    def _levels(self) -> Array:
        """Where the planes stand on the first of three axes, in spacings."""
        if self.grid.dimension < 3:
            return np.zeros(1)
        m = self._planes
        return (np.arange(self.grid.shape[0] * m) + 0.5) / m - 0.5

    @cached_property
    def _metric(self) -> Array:
        """Squared spacings of the two outer axes over that of the last."""
        outer = (1.0, 1.0, *self.grid.spacing[:-1])[-2:]
        return (np.array(outer) / self.grid.spacing[-1]) ** 2

    @cached_property
    def _origin(self) -> Array:
        """The point whose kernel coordinates are 0: a corner of the first voxel.

        The first of three axes counts from a node.
        """
        origin = np.array(self.grid.lower)
        origin[-2:] -= self.scale[-2:] / 2
        return origin

    def _to_index(self, centers: ArrayLike) -> Array:
        """Centers in the kernels' coordinates, of shape (k, 3), missing axes in front at 0."""
        centers = np.asarray(centers, dtype=np.float64)
        u = np.zeros((len(centers), 3))
        u[:, 3 - self.grid.dimension :] = (centers - self._origin) / self.grid.spacing
        return u

    def __repr__(self) -> str:
        return f"Density({self.grid}, mass={self.mass:.6g})"
