"""Observations as they come: rows, weights and bounds, and the passes over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import _kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Observations", "bounds", "closest", "standard_deviation"]

_LANES = 512  # values whose bounds are kept at a time: vectors of the processor, in its cache


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows of a sample, their weights, and the box around them.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows, single or double.
    weights : array of shape (n,) or None
        Their weights, 1 each if None.
    bounds : array of shape (2, d)
        The smallest and the largest value of each feature.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0]])
    >>> sample = Observations(X, None, bounds(X))
    >>> sample.mass, sample.features([0]).bounds.tolist()
    (2.0, [[0.0], [1.0]])
    """

    X: Array
    weights: Array | None
    bounds: Array

    @property
    def mass(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.X) if self.weights is None else self.weights.sum())

    @property
    def each_weight(self) -> Array:
        """The weights as an array."""
        return np.ones(len(self.X)) if self.weights is None else self.weights

    @property
    def scale(self) -> Array:
        """The standard deviation along each axis."""
        return standard_deviation(self.X, self.each_weight)

    def features(self, axes: Sequence[int]) -> Observations:
        """Return the observations with the given features only."""
        if len(axes) == self.X.shape[1]:
            return self
        return Observations(self.X[:, axes], self.weights, self.bounds[:, axes])

    def rows(self, kept: NDArray[np.bool_]) -> Observations:
        """Return some of the observations."""
        if kept.all():
            return self
        weights = None if self.weights is None else self.weights[kept]
        return Observations(self.X[kept], weights, bounds(self.X[kept]))


def bounds(X: NDArray[Any]) -> Array:
    """Return the smallest and the largest value of each feature, of shape (2, d).

    Both are NaN for a feature with a value that is not finite. One pass, in as many threads as
    there are cores, without a copy in C or Fortran order.

    Parameters
    ----------
    X : array of shape (n, d)
        Observations, n > 0.
    """
    parts = list(_kernels.threads.map_blocks(lambda rows: _bounds(X[rows]), len(X)))
    low = np.min([low for low, _ in parts], axis=0)
    high = np.max([high for _, high in parts], axis=0)
    return np.array([low, high], dtype=np.float64)


def _bounds(X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the bounds of a block."""
    d = X.shape[1]
    if d > 1 and X.strides[0] < X.strides[1]:  # columns lie together, not rows
        low, high = zip(*(_bounds(X[:, v : v + 1]) for v in range(d)), strict=True)
        return np.concatenate(low), np.concatenate(high)
    together = max(_LANES // d, 1) if X.flags.c_contiguous else 1
    low, high = np.full(d * together, np.inf, X.dtype), np.full(d * together, -np.inf, X.dtype)
    trace = np.zeros(d * together, X.dtype)
    whole = len(X) // together * together
    _kernels.extent.extend(X[:whole].reshape(-1, d * together), low, high, trace)
    _kernels.extent.extend(X[whole:], low[:d], high[:d], trace[:d])
    finite = np.isfinite(trace.reshape(-1, d)).all(axis=0)
    low, high = low.reshape(-1, d).min(axis=0), high.reshape(-1, d).max(axis=0)
    return np.where(finite, low, np.nan), np.where(finite, high, np.nan)


def standard_deviation(X: NDArray[Any], weights: NDArray[Any]) -> Array:
    """Return the weighted standard deviation of finite points along each axis.

    Parameters
    ----------
    X : array of shape (n, d)
        Points, n > 0.
    weights : array of shape (n,)
        Their weights.
    """
    # In units of the range, whose square cannot overflow.
    low, high = bounds(X)
    width = high - low
    unit = np.where(width > 0, width, 1.0)

    def block(rows: slice) -> Array:
        sums = np.zeros((X.shape[1], 3))
        _kernels.extent.add_squares(X[rows], weights[rows], low, unit, sums)
        return sums

    mass, first, second = sum(_kernels.threads.map_blocks(block, len(X)), start=np.zeros(1)).T
    variance = second / mass - (first / mass) ** 2
    return np.asarray(width * np.sqrt(np.maximum(variance, 0)))


def closest(X: NDArray[Any], centers: Array) -> NDArray[np.int32]:
    """Return the index of the closest center of each row, the first one among equals.

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    centers : array of shape (k, d)
        Centers.

    Examples
    --------
    >>> closest(np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [2.0]])).tolist()
    [0, 0, 1]
    """
    labels = np.empty(len(X), dtype=np.int32)
    centers = np.asarray(centers, dtype=np.float64)
    origin = centers.mean(axis=0)  # near which differences lose no digits
    relative = np.ascontiguousarray(centers - origin)

    def block(rows: slice) -> None:
        _kernels.labels.closest(X[rows], origin, relative, labels[rows])

    for _ in _kernels.threads.map_blocks(block, len(X)):
        pass
    return labels
