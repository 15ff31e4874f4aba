"""What Lloyd's iterations need to know of a measure, and the measure of plain points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Measure", "WeightedPoints", "distinct", "smallest_mass"]


_ROWS = 2**12  # at a time, to stay in the cache


class Measure(ABC):
    """A finite measure ``mu`` on R^d, seen through the cells of centers.

    ``V_j`` is the set of points closer to center j than to any other. Signed measures are
    allowed; their cells may have a mass <= 0.
    """

    @property
    @abstractmethod
    def mass(self) -> float:
        """``mu(R^d)``."""

    @property
    @abstractmethod
    def mean(self) -> Array:
        """``integral x dmu / mass``, of shape (d,)."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """``integral |x - mean|^2 dmu``."""

    @property
    @abstractmethod
    def scale(self) -> Array:
        """The length along each axis in which movements of centers are judged, of shape (d,)."""

    @abstractmethod
    def support(self) -> tuple[Array, Array]:
        """Points of shape (m, d) and their masses of shape (m,) from which starts are drawn."""

    @abstractmethod
    def cell_moments(self, centers: ArrayLike) -> tuple[Array, Array]:
        """Masses ``mu(V_j)`` of shape (k,), first moments ``int_(V_j) x dmu`` of shape (k, d)."""

    def descend(self, centers: ArrayLike, max_iter: int, tol: float) -> tuple[Array, int]:
        """Move each center to the mean of its cell until all rest (Lloyd; Newton in the paper).

        A center whose cell has no mass stays.

        Parameters
        ----------
        centers : array of shape (k, d)
            Where to begin.
        max_iter : int
            Largest number of moves.
        tol : float
            The centers rest when no coordinate moves by more than ``tol * scale``.

        Returns
        -------
        centers : array of shape (k, d)
        n_iter : int
            The number of moves made.
        """
        centers = np.array(centers, dtype=np.float64)
        for iteration in range(max_iter):
            masses, moments = self.cell_moments(centers)
            filled = masses > smallest_mass(self.mass)
            moved = centers.copy()
            moved[filled] = moments[filled] / masses[filled, None]
            rest = np.abs(moved - centers).max(initial=0) <= tol * self.scale.min()
            centers = moved
            if rest:
                return centers, iteration + 1
        return centers, max_iter


class WeightedPoints(Measure):
    """Point masses: the measure of data without errors, on which Lloyd is k-means.

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    weights : array of shape (n,) or None
        Their masses, 1 / n each if None.

    Examples
    --------
    >>> measure = WeightedPoints([[0.0], [1.0], [5.0]])
    >>> measure.descend([[0.0], [1.0]], 10, 0.0)[0].tolist()
    [[0.5], [5.0]]
    """

    def __init__(self, X: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.X = np.asarray(X, dtype=np.float64)
        n = len(self.X)
        self.weights = np.full(n, 1 / n) if weights is None else np.asarray(weights, np.float64)

    @property
    def mass(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    @property
    def mean(self) -> Array:
        """The weighted mean of the points."""
        return np.asarray(self.weights @ self.X / self.mass)

    @property
    def spread(self) -> float:
        """The weighted sum of squared distances from the mean."""
        return float(self.weights @ ((self.X - self.mean) ** 2).sum(axis=1))

    @property
    def scale(self) -> Array:
        """The standard deviation over all axes, the same for each."""
        d = self.X.shape[1]
        return np.full(d, np.sqrt(self.spread / self.mass / d))

    def support(self) -> tuple[Array, Array]:
        """Return the points and their weights."""
        return self.X, self.weights

    def cell_moments(self, centers: ArrayLike) -> tuple[Array, Array]:
        """Masses and first moments of the points closest to each center."""
        centers = np.asarray(centers, dtype=np.float64)
        members = np.zeros((len(centers), len(self.X)))
        closest = _closest(self.X, centers)
        members[closest, np.arange(len(self.X))] = self.weights
        return members.sum(axis=1), members @ self.X


def _closest(X: Array, centers: Array) -> NDArray[np.intp]:
    """Return the closest center of each point: that of the smallest ``|c|^2 - 2 <x, c>``."""
    middle = centers[0]  # far from the origin the difference would cancel
    c = centers - middle
    squares = np.square(c).sum(axis=1)
    closest = np.empty(len(X), dtype=np.intp)
    for start in range(0, len(X), _ROWS):
        rows = slice(start, start + _ROWS)
        closest[rows] = (squares - 2 * (X[rows] - middle) @ c.T).argmin(axis=1)
    return closest


def smallest_mass(total: float) -> float:
    """Return the mass up to which a cell counts as empty: rounding, not data."""
    return 1e-12 * abs(total)


def distinct(X: Array, weights: Array) -> tuple[Array, Array]:
    """Merge equal points, so that a weight is the same as so many repetitions of the point.

    Points that are all different and of weight 1 come back as they are. Otherwise they are
    sorted: what is drawn from them later does not depend on how repetitions were arranged.

    Examples
    --------
    >>> X, weights = distinct(np.array([[2.0], [1.0], [2.0]]), np.ones(3))
    >>> X.tolist(), weights.tolist()
    ([[1.0], [2.0]], [1.0, 2.0])
    """
    first = np.sort(X[:, 0])
    if (weights == 1).all() and (first[1:] > first[:-1]).all():
        return X, weights
    points, which = np.unique(X, axis=0, return_inverse=True)
    if len(points) == len(X) and (weights == 1).all():
        return X, weights
    return points, np.bincount(which.ravel(), weights).astype(np.float64)
