"""Principal axes of clean points among errors, and starts that large errors do not mislead.

The observations' covariance is ``T = B + c I + S``: the spread B of the centers, of rank k - 1 at
most, that of round clusters, and that of the errors. Along an axis where S is large k-means sees
nothing else. Divided by the root of ``c I + S`` the noise is the same everywhere, and the leading
axes are those along which the centers differ most in units of it.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans

from noisykmeans.deconvolution.covariance import round_variance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.deconvolution.bumps import Sample, State

    Array = NDArray[np.float64]

__all__ = ["principal_axes", "principal_starts"]

_WITHIN = 0.3  # share of the clean variance that is within clusters, at first
_STEPS = 30
_MOVES = 20
_RIDGE = 1e-9  # share of the observations' covariance that keeps a vanishing one invertible


def principal_axes(sample: Sample, n_axes: int) -> Array:
    """Return the axes along which the clean points vary most, in units of errors and clusters.

    As ``c`` is not known, it is what is left across the axes found so far, in turn.

    Parameters
    ----------
    sample : Sample
        The observations, centred. Of several parts the mean of the errors counts.
    n_axes : int
        How many are wanted, at most d.

    Returns
    -------
    array of shape (d, n_axes)
        Linear maps of points.

    Examples
    --------
    >>> from noisykmeans.deconvolution.bumps import Sample
    >>> covariance, errors = np.diag([5.0, 1.0, 10.0]), np.diag([0.0, 0.0, 9.0])
    >>> points = np.vstack([np.sqrt(3 * covariance), -np.sqrt(3 * covariance)])
    >>> part, seen = np.array([6]), np.ones((1, 3), dtype=bool)
    >>> sample = Sample(points, np.full(6, 1 / 6), part, seen, errors[None], np.zeros(3))
    >>> np.abs(principal_axes(sample, 1)).round(2).ravel().tolist()
    [1.0, 0.0, 0.0]
    """
    S, T = sample.mean_errors, _definite(sample.covariance)
    d = len(S)
    variances, axes = np.linalg.eigh(S)

    def within(rest: Array) -> float:
        return round_variance(((rest @ axes) * axes).sum(axis=0).tolist(), variances.tolist())

    c = _WITHIN * within(T)
    for _ in range(_STEPS):
        values, turn = np.linalg.eigh(c * np.eye(d) + S + _RIDGE * T)
        values = np.maximum(values, _RIDGE * values[-1])
        root, inverse = turn * np.sqrt(values), turn / np.sqrt(values)
        sizes, leading = np.linalg.eigh(inverse.T @ T @ inverse)
        leading = leading[:, d - n_axes :]
        if n_axes == d:
            break
        spread = root @ leading * np.sqrt(np.maximum(sizes[d - n_axes :] - 1, 0))
        before, c = c, within(T - spread @ spread.T)
        if abs(c - before) <= 1e-3 * c:
            break
    return np.asarray(inverse @ leading)


def principal_starts(
    sample: Sample, n_bumps: int, n_starts: int, rng: np.random.RandomState
) -> list[State]:
    """Run k-means on the leading ``n_bumps - 1`` principal axes, and return the clusters' means.

    Parameters
    ----------
    sample : Sample
        The observations, centred.
    n_bumps, n_starts : int
        The number of clusters, and how often to draw them.
    rng : numpy.random.RandomState
        Source of randomness.
    """
    d = len(sample.mean)
    if n_bumps == 1:
        return [sample.held(np.zeros(len(sample.points), dtype=np.intp), 1)]
    seen = sample.points @ principal_axes(sample, min(n_bumps - 1, d))
    starts = []
    for _ in range(n_starts):
        plain = KMeans(n_bumps, n_init=1, max_iter=_MOVES, random_state=rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of equal points: their bumps have no mass
            labels = plain.fit(seen, sample_weight=sample.weights).labels_
        starts.append(sample.held(labels, n_bumps))
    return starts


def _definite(covariance: Array) -> Array:
    """Return a covariance without negative eigenvalues, as pairs of axes may have led to."""
    values, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.maximum(values, 0)) @ axes.T)
