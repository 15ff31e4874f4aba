"""The fits that the speed benchmark compares: from a sample to centers, a density or a sum."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.mixture import GaussianMixture

from noisykmeans import NoisyKMeans
from noisykmeans.deconvolution import KernelDeconvolution
from noisykmeans.grid import Grid
from noisykmeans.histogram import fill
from noisykmeans.noise import Laplace
from noisykmeans.spectrum import transform
from noisykmeans.windows import Cubic

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]

LAW = Laplace(0.4)
BANDWIDTH = {1: 0.5, 2: 0.5, 3: 1.0}


@dataclass(frozen=True)
class Contender:
    """A way to spend time on a sample.

    Parameters
    ----------
    run : callable
        Called with the sample and the number of clusters.
    largest : int
        The largest number of observations times clusters for which a run takes less than a
        minute, about.
    needs : str
        A module that must be there.
    """

    run: Callable[[Array, int], Any]
    largest: int = 10**9
    needs: str = "noisykmeans"

    @property
    def there(self) -> bool:
        """Whether its software is installed."""
        return find_spec(self.needs) is not None


def sample(n: int, d: int, k: int, seed: int = 0) -> Array:
    """Draw k round clusters on a line of cubes, with Laplace errors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    centers = np.stack(np.unravel_index(np.arange(k), (8,) * d), axis=1) * 4.0
    X += centers[rng.integers(0, k, n)]
    X += rng.laplace(scale=0.4, size=(n, d))
    return X


def given(X: Array, k: int) -> Any:
    """Noisy k-means with a bandwidth, labels included."""
    bandwidth = BANDWIDTH[X.shape[1]]
    return NoisyKMeans(k, noise=LAW, bandwidth=bandwidth, random_state=0).fit(X)


def default(X: Array, k: int) -> Any:
    """Noisy k-means as it comes."""
    return NoisyKMeans(k, noise=LAW, random_state=0).fit(X)


def kmeans(X: Array, k: int) -> Any:
    """k-means of the observations, one start."""
    return KMeans(k, n_init=1, random_state=0).fit(X)


def mini_batch(X: Array, k: int) -> Any:
    """k-means by small batches, one start."""
    return MiniBatchKMeans(k, n_init=1, random_state=0).fit(X)


def gaussian_mixture(X: Array, k: int) -> Any:
    """Fit a mixture of Gaussians, which ignores the errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of slow convergence, which is the peer's affair
        return GaussianMixture(k, random_state=0).fit(X)


def extreme_deconvolution(X: Array, k: int) -> Any:
    """Fit a mixture of Gaussians to the clean points, to the peer's default convergence."""
    from astroML.density_estimation import XDGMM  # noqa: PLC0415  a peer, not a dependency

    errors = np.repeat(LAW.covariance_matrix(X.shape[1])[None], len(X), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return XDGMM(k, random_state=0).fit(X, errors)


FITS = {
    "X.sum()": Contender(lambda X, _: X.sum()),
    "noisy k-means, bandwidth given": Contender(given),
    "noisy k-means, default": Contender(default),
    "KMeans": Contender(kmeans),
    "MiniBatchKMeans": Contender(mini_batch),
    "GaussianMixture": Contender(gaussian_mixture, largest=3 * 10**5),
    "XDGMM": Contender(extreme_deconvolution, largest=3 * 10**3, needs="astroML"),
}


def square(X: Array, nodes: int) -> Grid:
    """Return a grid of so many nodes a side that covers the sample."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.05 * (high - low)
    spacing = (high - low + 2 * margin) / (nodes - 1)
    return Grid(tuple((low - margin).tolist()), tuple(spacing.tolist()), (nodes,) * X.shape[1])


def deconvolved(X: Array, grid: Grid) -> Array:
    """Bin, transform, divide by the law of the errors, transform back."""
    plan = KernelDeconvolution(grid, LAW, Cubic())
    return plan.density(transform(fill(grid, X)), (0.5,) * grid.dimension).values


def smoothed(X: Array, grid: Grid) -> Array:
    """Bin and smooth with a Gaussian, without any errors, by KDEpy."""
    from KDEpy import FFTKDE  # noqa: PLC0415  a peer, not a dependency

    # It has one bandwidth, and wants its points strictly within the grid.
    return FFTKDE(kernel="gaussian", bw=0.5).fit(X).evaluate(grid.points)
