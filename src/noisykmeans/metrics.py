"""How good are centers? Answers that need the clean points, for experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import pairwise_distances_argmin

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["clean_distortion", "clustering_risk"]


def clustering_risk(centers: ArrayLike, X: ArrayLike, y: ArrayLike) -> float:
    """Return the share of points whose closest center is not their cluster's.

    ``min over matchings m of mean_i 1[m(closest center of X_i) != y_i]``.

    Parameters
    ----------
    centers : array of shape (k, d)
        Centers, in any order.
    X : array of shape (n, d)
        Clean points.
    y : array of shape (n,)
        Their clusters, integers from 0.

    Examples
    --------
    >>> clustering_risk([[5.0], [0.0]], [[0.1], [0.2], [4.0], [2.0]], [0, 0, 1, 1])
    0.25
    """
    y = np.asarray(y)
    closest = pairwise_distances_argmin(X, centers)
    table = np.zeros((np.asarray(centers).shape[0], int(y.max()) + 1))
    np.add.at(table, (closest, y), 1)
    matched = table[linear_sum_assignment(table, maximize=True)].sum()
    return float(1 - matched / len(y))


def clean_distortion(centers: ArrayLike, X: ArrayLike) -> float:
    """Return ``mean_i min_j |X_i - c_j|^2``, on clean points.

    Parameters
    ----------
    centers : array of shape (k, d)
        Centers.
    X : array of shape (n, d)
        Clean points.

    Examples
    --------
    >>> clean_distortion([[0.0], [5.0]], [[1.0], [5.0]])
    0.5
    """
    X, closest = np.asarray(X, dtype=np.float64), np.inf
    for center in np.asarray(centers, dtype=np.float64):
        closest = np.minimum(closest, ((X - center) ** 2).sum(axis=1))
    return float(np.mean(closest))
