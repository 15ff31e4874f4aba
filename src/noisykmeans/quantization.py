"""Centers for a measure: Lloyd's iterations from one start or several, and the distortion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.measure import smallest_mass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.measure import Measure

    Array = NDArray[np.float64]

__all__ = ["Clustering", "distortion", "lloyd", "lloyd_from_best"]

_TIE = 1e-7  # of the distortion, within which two results are the same


@dataclass(frozen=True, eq=False)
class Clustering:
    """Centers at rest.

    Parameters
    ----------
    centers : array of shape (k, d)
        The centers.
    masses : array of shape (k,)
        The masses of their cells.
    distortion : float
        ``W(c)``, see `distortion`.
    n_iter : int
        The number of moves it took.
    """

    centers: Array
    masses: Array
    distortion: float
    n_iter: int


def distortion(measure: Measure, centers: ArrayLike) -> float:
    """Return ``W(c) = integral min_j |x - c_j|^2 dmu``.

    With the masses ``m_j`` and first moments ``S_j`` of the cells, and coordinates centred at
    the mean: ``W(c) = spread - 2 sum <c_j, S_j> + sum |c_j|^2 m_j``.

    Examples
    --------
    >>> from noisykmeans.measure import WeightedPoints
    >>> distortion(WeightedPoints([[0.0], [1.0], [5.0]]), [[0.5], [5.0]])
    0.16666666666666607
    """
    masses, moments = measure.cell_moments(centers)
    return _distortion(measure, np.asarray(centers, dtype=np.float64), masses, moments)


def _distortion(measure: Measure, centers: Array, masses: Array, moments: Array) -> float:
    # Centred first: far from the origin the three terms would cancel.
    c = centers - measure.mean
    S = moments - masses[:, None] * measure.mean
    return float(measure.spread - 2 * (c * S).sum() + (c**2).sum(axis=1) @ masses)


def lloyd(measure: Measure, start: ArrayLike, max_iter: int = 300, tol: float = 1e-4) -> Clustering:
    """Move centers to the means of their cells until they rest.

    A center whose cell is empty when the others rest is moved to the support point that
    contributes most to the distortion, and the iterations go on, as in scikit-learn's k-means.

    Parameters
    ----------
    measure : Measure
        What to quantise.
    start : array of shape (k, d)
        Where to begin.
    max_iter : int
        Largest number of moves.
    tol : float
        The centers rest when no coordinate moves by more than ``tol * measure.scale``.
    """
    centers, n_iter = measure.descend(start, max_iter, tol)
    masses, moments = measure.cell_moments(centers)
    for _ in range(len(centers)):
        empty = np.flatnonzero(masses <= smallest_mass(measure.mass))
        if not len(empty) or n_iter >= max_iter:
            break
        centers, more = measure.descend(_relocated(measure, centers, empty), max_iter - n_iter, tol)
        n_iter += more
        masses, moments = measure.cell_moments(centers)
    return Clustering(centers, masses, _distortion(measure, centers, masses, moments), n_iter)


def _relocated(measure: Measure, centers: Array, empty: NDArray[np.intp]) -> Array:
    """Put centers of empty cells where the distortion is largest, one after the other."""
    centers = centers.copy()
    points, weights = measure.support()
    for j in empty:
        others = np.delete(centers, j, axis=0)
        squared = ((points[:, None, :] - others) ** 2).sum(axis=-1).min(axis=1)
        centers[j] = points[(weights * squared).argmax()]
    return centers


def lloyd_from_best(
    measure: Measure, starts: Iterable[ArrayLike], max_iter: int = 300, tol: float = 1e-4
) -> Clustering:
    """Run `lloyd` from several starts, and return the result of the smallest distortion.

    Of results that differ by less than the iterations' own tolerance it is the first: which one
    is ahead then, and so the order of the centers, would be rounding.
    """
    runs = [lloyd(measure, start, max_iter, tol) for start in starts]
    least = min(run.distortion for run in runs)
    return next(run for run in runs if run.distortion <= least + _TIE * abs(least))
