"""The estimators: validation and choice of parts, no numerics."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    DensityMixin,
    TransformerMixin,
)
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KernelDensity
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from noisykmeans.deconvolution import KernelDeconvolution
from noisykmeans.deconvolution.band import check_bandwidth
from noisykmeans.grid import Grid
from noisykmeans.histogram import Histogram, fill
from noisykmeans.measure import distinct, standard_deviation
from noisykmeans.noise import Gaussian
from noisykmeans.parameters import (
    as_bandwidth,
    as_centers,
    as_noise,
    as_resolution,
    as_spacing,
    as_starts,
    as_window,
    is_array,
    is_count,
    is_real,
    usable,
)
from noisykmeans.quantization import lloyd_from_best
from noisykmeans.selection import Rate
from noisykmeans.spectrum import transform
from noisykmeans.validation import all_equal, check_outside, check_weights, varying_features

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.density import Density
    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = ["DeconvolvedDensity", "NoisyKMeans"]


class _GridEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """From observations to the density of the clean points: what both estimators share."""

    noise: Any
    bandwidth: Any
    window: Any
    resolution: Any
    density_: Density | None
    histogram_: Histogram | None

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Leave the estimator as it was, fitted or not, where fitting fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_sample(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """Return the rows of positive weight and their weights."""
        sample: Array = validate_data(self, X, dtype=[np.float64, np.float32])
        d = sample.shape[1]
        # Wrong without errors too, where they are not needed.
        as_window(self.window)
        as_bandwidth(self.bandwidth, d)
        as_resolution(self.resolution, d)
        if sample_weight is None:
            return sample, np.ones(len(sample))
        weights = check_weights(sample_weight, sample)
        counts = weights > 0
        return (sample, weights) if counts.all() else (sample[counts], weights[counts])

    def _estimate(self, X: Array, weights: Array) -> tuple[Density, float]:
        """Set the density from observations. Constant features need no grid."""
        d = X.shape[1]
        noise, window = as_noise(self.noise, d), as_window(self.window)
        chosen = as_bandwidth(self.bandwidth, d)
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        axes = varying_features(X, low, high)
        width = (high - low)[axes]
        if not isinstance(chosen, Rate):
            # On all features, since a message names them by their number in X.
            check_bandwidth(noise, window, np.where(high > low, chosen, np.inf).tolist())
        noise = noise.marginal(axes.tolist()) if len(axes) < d else noise
        sample = X[:, axes] if len(axes) < d else X
        if isinstance(chosen, Rate):
            scale = standard_deviation(sample, weights)
            bandwidth = usable(chosen.bandwidth(weights.sum(), scale, noise), noise, window)
        else:
            bandwidth = chosen[axes]
        resolution = as_resolution(self.resolution, d)
        nodes = None if resolution is None else resolution[axes]
        spacing = as_spacing(nodes, width, noise, window, bandwidth)
        # Errors that are not centred have moved the observations away from the clean points.
        bounds = np.stack([low, high])[:, axes]
        bounds = np.concatenate([bounds, bounds - noise.mean(len(axes))])
        histogram = fill(Grid.covering(bounds, spacing), sample, weights)
        self._constants = np.where(high > low, np.nan, low)
        return self._deconvolve(histogram, noise, bandwidth)

    def _estimate_from_histogram(self, histogram: Any) -> tuple[Density, float]:
        """Set the density from a histogram on a grid that somebody else has chosen."""
        if not isinstance(histogram, Histogram):
            kind = type(histogram).__name__
            raise TypeError(
                f"histogram must be a noisykmeans.Histogram; got {kind}: use fit for observations"
            )
        if self.noise is None:
            raise ValueError(
                "fit_histogram deconvolves, and needs the law of the errors; got noise=None: give "
                "a law of noisykmeans.noise, or fit observations without errors with fit"
            )
        check_outside(histogram, stacklevel=3)
        d = histogram.grid.dimension
        noise, window = as_noise(self.noise, d), as_window(self.window)
        chosen = as_bandwidth(self.bandwidth, d)
        if isinstance(chosen, Rate):
            rule = chosen.bandwidth(histogram.mass, histogram.scale, noise)
            chosen = usable(rule, noise, window)
        coarsest = np.pi * chosen / window.support
        if (histogram.grid.spacing > coarsest).any():
            raise ValueError(
                f"the histogram's spacing {histogram.grid.spacing} is too coarse for bandwidth "
                f"{tuple(chosen.round(6).tolist())}: fill it on a grid of spacing at most "
                f"{tuple(coarsest.round(6).tolist())}, or raise bandwidth"
            )
        for name in ("labels_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._constants = np.full(d, np.nan)
        self.n_features_in_ = d
        return self._deconvolve(histogram, noise, chosen)

    def _deconvolve(
        self, histogram: Histogram, noise: Noise, bandwidth: Array
    ) -> tuple[Density, float]:
        """Set the density, and return it with the mass of the observations."""
        plan = KernelDeconvolution(histogram.grid, noise, as_window(self.window))
        self.histogram_ = histogram
        density = plan.density(transform(histogram), tuple(bandwidth.tolist())).projected()
        self.density_ = density
        self.bandwidth_ = np.zeros(len(self._constants))
        self.bandwidth_[np.isnan(self._constants)] = bandwidth
        return density, histogram.mass

    def _check_new(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _embedded(self, points: Array) -> Array:
        """Points on the grid's axes, with the constant features added."""
        full = np.repeat(self._constants[None], len(points), axis=0)
        full[:, np.isnan(self._constants)] = points
        return full


class NoisyKMeans(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    _GridEstimator,
):
    """k-means for observations ``Z = X + eps`` with measurement errors ``eps`` of known law.

    The centers minimise the distortion ``W(c) = E min_j |X - c_j|^2`` of the *clean* points X,
    which nobody has seen: the density of X is estimated by deconvolution of the observations,
    and Lloyd's iterations run on that density (Brunet and Loustau, 2013). Without errors
    (``noise=None``) this is `sklearn.cluster.KMeans`, in any dimension; equal rows are merged
    first, so that an integer weight is the same as so many repetitions. With errors at most
    three features may vary.

    Parameters
    ----------
    n_clusters : int
        Number of centers.
    noise : law of `noisykmeans.noise` or None
        The law of the errors; None means that there are none.
    bandwidth : "auto", "rate", `selection.Rate`, float or one per feature
        The smoothing of the density, in the unit of the data. Larger values are safer against the
        noise, smaller ones keep more detail. "rate" is the theorem's ``n^(-1/(2s + 2 sum beta))``.
    window : {"cubic", "flat-top", "sinc", "gaussian"} or object of `noisykmeans.windows`
        The Fourier transform of the smoothing kernel.
    resolution : "auto", int or one per feature
        The smallest number of nodes along each axis of the grid. "auto" keeps the error of
        binning below a thousandth of the density's height.
    init : {"k-means++", "random"}, array of shape (n_clusters, d), or callable
        Where Lloyd's iterations begin. A callable is called as
        ``init(points, n_clusters, random_state)``, with the nodes where the density is positive.
    n_init : "auto" or int
        Number of starts, of which the one with the smallest distortion is kept. "auto" means 10
        with errors (they are cheap there), and what `KMeans` does without; 1 for an array.
    max_iter : int
        Largest number of iterations of each start.
    tol : float
        With errors: the centers rest when no coordinate moves by more than this share of the
        grid's spacing. Without: as in `KMeans`.
    random_state : int, RandomState or None
        Source of randomness of the starts.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, d)
        The centers.
    labels_ : array of shape (n,)
        The closest center of each observation.
    inertia_ : float
        The sum of weights times the estimated distortion of the clean points.
    n_iter_ : int
        Number of iterations of the best start.
    bandwidth_ : array of shape (d,)
        The bandwidth in use, 0 for features without variation or where there are no errors.
    density_ : Density or None
        The estimated density of the clean points, over the features that vary.
    histogram_ : Histogram or None
        All that was kept of the data.

    Examples
    --------
    >>> from noisykmeans import NoisyKMeans, noise
    >>> from noisykmeans.datasets import make_mod1
    >>> X, Z, y = make_mod1(9, 100, random_state=0)
    >>> law = noise.Gaussian((0, 3))
    >>> model = NoisyKMeans(2, noise=law, bandwidth=(0.75, 1.2), window="flat-top", random_state=0)
    >>> sorted((model.fit(Z).cluster_centers_[:, 0] > 2.5).tolist())
    [False, True]
    """

    def __init__(  # noqa: PLR0913  scikit-learn's convention: one keyword for each choice
        self,
        n_clusters: int = 8,
        *,
        noise: Noise | None = None,
        bandwidth: Any = "auto",
        window: Any = "cubic",
        resolution: Any = "auto",
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.noise = noise
        self.bandwidth = bandwidth
        self.window = window
        self.resolution = resolution
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: None = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Find the centers.

        Parameters
        ----------
        X : array of shape (n, d)
            Observations.
        y : ignored
        sample_weight : array of shape (n,) or None
            Weights; an integer weight is the same as repeating the row.
        """
        del y
        with self._unchanged_on_error():
            sample, weights = self._check_sample(X, sample_weight)
            self._check_lloyd(sample.shape[1])
            if len(sample) < self.n_clusters:
                raise ValueError(
                    f"n_samples={len(sample)} should be >= n_clusters={self.n_clusters}: "
                    f"lower n_clusters"
                )
            if self.noise is None:
                self._fit_points(sample, weights)
            else:
                self._quantise(*self._estimate(sample, weights))
            self.labels_ = self.predict(X)
        return self

    def fit_histogram(self, histogram: Histogram) -> Self:
        """Find the centers from a histogram of the observations; there are no labels then.

        Parameters
        ----------
        histogram : Histogram
            On a grid that covers the data. Up to a twentieth of the mass may lie outside.
        """
        with self._unchanged_on_error():
            density, mass = self._estimate_from_histogram(histogram)
            self._check_lloyd(histogram.grid.dimension)
            self._quantise(density, mass)
        return self

    def _check_lloyd(self, dimension: int) -> None:
        """Raise where a parameter of the starts or the iterations is none."""
        for name in ("n_clusters", "n_init", "max_iter"):
            value = getattr(self, name)
            automatic = name == "n_init" and isinstance(value, str) and value == "auto"
            if not (automatic or is_count(value)):
                or_auto = "'auto' or " if name == "n_init" else ""
                raise ValueError(f"{name} must be {or_auto}a positive integer; got {value!r}")
        if not (is_real(self.tol) and 0 <= self.tol < np.inf):
            raise ValueError(f"tol must be a finite number, not negative; got {self.tol!r}")
        if is_array(self.init):
            as_centers(self.init, self.n_clusters, dimension, "init")

    def _fit_points(self, X: Array, weights: Array) -> None:
        """Without errors the measure is the sample itself: plain k-means."""
        low, high = X.min(axis=0), X.max(axis=0)
        if self.n_clusters > 1 and (low == high).all():
            raise ValueError(
                f"{all_equal(X, low)}: there are no {self.n_clusters} clusters to find; use "
                f"n_clusters=1"
            )
        points, merged = distinct(X, weights)
        if len(points) >= self.n_clusters:  # or let KMeans warn, as always
            X, weights = points, merged
        names = ("n_clusters", "init", "n_init", "max_iter", "tol", "random_state")
        plain = KMeans(**{name: getattr(self, name) for name in names})
        plain.fit(X, sample_weight=weights)
        self.cluster_centers_ = plain.cluster_centers_
        self.inertia_ = plain.inertia_
        self.n_iter_ = plain.n_iter_
        self.bandwidth_ = np.zeros(X.shape[1])
        self.density_ = self.histogram_ = None

    def _quantise(self, density: Density, mass: float) -> None:
        d, varying = self.n_features_in_, np.isnan(self._constants)
        init = self.init
        if is_array(init):
            init = as_centers(init, self.n_clusters, d, "init")[:, varying]
        elif callable(init):
            init = self._on_grid_axes
        rng = check_random_state(self.random_state)
        starts = as_starts(init, self.n_init, density, self.n_clusters, rng)
        best = lloyd_from_best(density, starts, self.max_iter, self.tol)
        self.cluster_centers_ = self._embedded(best.centers)
        self.inertia_ = best.distortion * mass
        self.n_iter_ = best.n_iter

    def _on_grid_axes(
        self, points: Array, n_clusters: int, random_state: np.random.RandomState
    ) -> Array:
        """Call the function init with points that have all features, and drop the constant ones."""
        start = self.init(self._embedded(points), n_clusters, random_state=random_state)
        d = self.n_features_in_
        start = as_centers(start, n_clusters, d, "the centers that init returns")
        return start[:, np.isnan(self._constants)]

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the closest center of each observation, as in the paper.

        Parameters
        ----------
        X : array of shape (n, d)
            Observations.
        """
        X = self._check_new(X)
        return pairwise_distances_argmin(X, self.cluster_centers_).astype(np.int32)

    def transform(self, X: ArrayLike) -> Array:
        """Return the distances of observations to the centers, of shape (n, n_clusters)."""
        X = self._check_new(X)
        return np.asarray(euclidean_distances(X, self.cluster_centers_), dtype=X.dtype)

    def score(
        self, X: ArrayLike, y: None = None, *, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the weighted sum of squared distances to the closest center."""
        del y
        X = self._check_new(X)
        _, distances = pairwise_distances_argmin_min(X, self.cluster_centers_)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return -float(weights @ distances.astype(np.float64) ** 2)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class DeconvolvedDensity(DensityMixin, _GridEstimator):  # type: ignore[misc]
    """The density of the clean points X, from observations ``Z = X + eps``.

    The deconvolution kernel estimate, projected on the set of densities. Without errors
    (``noise=None``) it is the kernel density estimate of the sample, with a Gaussian kernel, in
    any dimension.

    Parameters
    ----------
    noise : law of `noisykmeans.noise` or None
        The law of the errors; None means that there are none.
    bandwidth : "auto", "rate", `selection.Rate`, float or one per feature
        The smoothing, see `NoisyKMeans`.
    window : {"cubic", "flat-top", "sinc", "gaussian"} or object of `noisykmeans.windows`
        The Fourier transform of the smoothing kernel.
    resolution : "auto", int or one per feature
        The smallest number of nodes along each axis of the grid.

    Attributes
    ----------
    density_ : Density or None
        The estimate on the grid, over the features that vary.
    bandwidth_ : array of shape (d,)
        The bandwidth in use.
    histogram_ : Histogram or None
        All that was kept of the data.

    Examples
    --------
    >>> from noisykmeans import DeconvolvedDensity, noise
    >>> from noisykmeans.datasets import make_mod1
    >>> X, Z, y = make_mod1(9, 1000, random_state=0)
    >>> law = noise.Gaussian((0, 3))
    >>> model = DeconvolvedDensity(law, bandwidth=(0.75, 1.2), window="flat-top").fit(Z)
    >>> at_center, between = model.score_samples([[0.0, 0.0], [2.5, 0.0]])
    >>> bool(at_center > between)
    True
    """

    def __init__(
        self,
        noise: Noise | None = None,
        *,
        bandwidth: Any = "auto",
        window: Any = "cubic",
        resolution: Any = "auto",
    ) -> None:
        self.noise = noise
        self.bandwidth = bandwidth
        self.window = window
        self.resolution = resolution

    def fit(self, X: ArrayLike, y: None = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the density.

        Parameters
        ----------
        X : array of shape (n, d)
            Observations.
        y : ignored
        sample_weight : array of shape (n,) or None
            Weights; an integer weight is the same as repeating the row.
        """
        del y
        with self._unchanged_on_error():
            sample, weights = self._check_sample(X, sample_weight)
            if self.noise is None:
                self._fit_points(sample, weights)
            else:
                self._estimate(sample, weights)
        return self

    _points: Any

    def _fit_points(self, X: Array, weights: Array) -> None:
        chosen = as_bandwidth(self.bandwidth, X.shape[1])
        if isinstance(chosen, Rate):
            scale = standard_deviation(X, weights)
            no_errors = Gaussian(0.0)
            chosen = chosen.bandwidth(weights.sum(), np.where(scale > 0, scale, 1.0), no_errors)
        self.bandwidth_ = chosen
        # KernelDensity has one bandwidth: axes are measured in units of their own.
        self._points = KernelDensity(bandwidth=1.0).fit(X / chosen, sample_weight=weights)
        self.density_ = self.histogram_ = None

    def score_samples(self, X: ArrayLike) -> Array:
        """Return the logarithm of the density of *clean* points, ``-inf`` where it is 0.

        Parameters
        ----------
        X : array of shape (n, d)
            Points. A constant feature does not count.
        """
        X = self._check_new(X)
        if self.density_ is None:
            unit = np.log(self.bandwidth_).sum()
            return np.asarray(self._points.score_samples(X / self.bandwidth_) - unit)
        with np.errstate(divide="ignore"):
            return np.log(self.density_(X[:, np.isnan(self._constants)]))

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Return the sum of `score_samples`: the log-likelihood of clean points."""
        del y
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw points from the estimated law of the clean points, of shape (n_samples, d)."""
        check_is_fitted(self)
        if not is_count(n_samples):
            raise ValueError(f"n_samples must be a positive integer; got {n_samples!r}")
        rng = check_random_state(random_state)
        if self.density_ is None:
            return np.asarray(self._points.sample(n_samples, rng) * self.bandwidth_)
        return self._embedded(self.density_.sample(n_samples, int(rng.randint(2**31 - 1))))
