"""Noisy k-means as the paper tunes it: by the distortion of fresh clean points."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noisykmeans.density import Density

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noisykmeans.experiments.separable import SeparableDeconvolution
    from noisykmeans.spectrum import Spectrum

    Array = NDArray[np.float64]

__all__ = ["Tuned", "distortions", "tune"]

MAX_ITER, TOL = 300, 1e-4  # those of NoisyKMeans

REPAIR: dict[str, Callable[[Density], Density]] = {
    "raw": lambda density: density,
    "clipped": Density.clipped,
    "projected": Density.projected,
}


class Tuned(NamedTuple):
    """The centers that were best on fresh clean points, and their bandwidths."""

    centers: Array
    bandwidth: tuple[float, float]


def tune(
    plan: SeparableDeconvolution, spectrum: Spectrum, start: Array, clean: Array, repair: str
) -> Tuned:
    """Run Lloyd's iterations from one start on the estimate at each pair of bandwidths.

    ``lambda_hat = argmin over lambda of sum_t min_j |X_t - c_j(lambda)|^2``, X_t fresh clean
    points; the first one of equals.

    Parameters
    ----------
    plan : SeparableDeconvolution
        The candidates.
    spectrum : Spectrum
        The observations.
    start : array of shape (k, 2)
        Where Lloyd begins.
    clean : array of shape (m, 2)
        Fresh clean points, which a user would not have.
    repair : str
        What Lloyd runs on, see `Settings`.
    """
    pairs, found = [], []
    for pair, density in plan.densities(spectrum):
        centers, _ = REPAIR[repair](density).descend(start, MAX_ITER, TOL)
        pairs.append(pair)
        found.append(centers)
    best = int(distortions(np.array(found), clean).argmin())
    return Tuned(found[best], pairs[best])


def distortions(centers: Array, X: Array) -> Array:
    """Return ``mean_i min_j |X_i - c_j|^2`` for each of several sets of centers.

    Parameters
    ----------
    centers : array of shape (m, k, 2)
        The sets.
    X : array of shape (n, 2)
        Clean points.

    Examples
    --------
    >>> distortions(np.array([[[0.0, 0.0]], [[1.0, 0.0]]]), np.array([[1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    # |x|^2 is the same for all centers and waits outside the minimum.
    least = np.array([((c**2).sum(axis=1) - 2 * X @ c.T).min(axis=1).mean() for c in centers])
    return np.asarray((X**2).sum(axis=1).mean() + least)
