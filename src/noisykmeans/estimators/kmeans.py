"""k-means for observations with measurement errors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from noisykmeans.bootstrap import from_points, from_problem
from noisykmeans.distributed import is_collection
from noisykmeans.estimators.answers import Answers
from noisykmeans.estimators.closeness import Closeness
from noisykmeans.estimators.exports import Exports
from noisykmeans.estimators.plain import plain_kmeans
from noisykmeans.estimators.streaming import Streaming
from noisykmeans.grid import MAX_DIMENSION
from noisykmeans.measure import distinct
from noisykmeans.observations import standard_deviation
from noisykmeans.parameters import (
    as_centers,
    as_resolution,
    as_starts,
    as_window,
    is_array,
    is_count,
    is_real,
)
from noisykmeans.quantization import lloyd_from_best
from noisykmeans.reduction import Problem, reduced, unreduced
from noisykmeans.validation import all_equal, warn_of_equal_centers, warn_of_noise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.estimators.rows import Features
    from noisykmeans.groups import Groups
    from noisykmeans.histogram import Histogram
    from noisykmeans.noise import Noise
    from noisykmeans.observations import Observations
    from noisykmeans.reduction import Reduction
    from noisykmeans.subspace import Subspace

    Array = NDArray[np.float64]

__all__ = ["NoisyKMeans"]


class NoisyKMeans(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    Exports,
    Streaming,
    Answers,
    Closeness,
):
    """k-means for observations ``Z = X + eps`` with measurement errors ``eps`` of known law.

    The centers minimise the distortion ``W(c) = E min_j |X - c_j|^2`` of the *clean* points X,
    which nobody has seen: the density of X is estimated by deconvolution of the observations,
    and Lloyd's iterations run on that density (Brunet and Loustau, 2013). How much it is
    smoothed follows from the observations. Without errors (``noise=None``, or a law of size 0)
    this is `sklearn.cluster.KMeans`; equal rows are merged first, so that an integer weight is
    the same as so many repetitions.

    The number of features is free. A density needs a grid, and a grid has three axes at most; but
    cells depend only on the projection on the span of the centers. Where more than three features
    vary, mixtures of Gaussian bumps are fitted to the observations in all dimensions; up to four
    clusters, the density is estimated on the span of the bumps' centers (`components_`) and
    quantised there; the centers of more clusters are those of the likeliest mixture. Errors of
    each observation and missing coordinates go with any number of features.

    Parameters
    ----------
    n_clusters : int
        Number of centers.
    noise : law of `noisykmeans.noise` or None
        The law of the errors that all observations share; None means that there are none. `fit`
        takes errors of each observation.
    deconvolution : {"auto", "em", "kernel"}
        "em" is maximum likelihood: a first guess of Gaussian bumps, made to fit the observations
        by a few steps that keep the density positive. "kernel" is the paper's estimator. "auto"
        is "em", but "kernel" where a bandwidth is asked for.
    bandwidth : "auto", str, object of `noisykmeans.selection`, float or one per feature
        The smoothing. For the kernel estimator: a bandwidth in the unit of the data, or a rule
        that chooses it, "renoise" ("auto" is the same), "lepski", "cv" or "rate". For maximum
        likelihood: a number of steps, or "rate" ("auto" is the same), a power of the sample size,
        or "renoise".
    window : {"cubic", "flat-top", "sinc", "gaussian"} or object of `noisykmeans.windows`
        The Fourier transform of the kernel estimator's kernel.
    resolution : "auto", int or one per feature
        The smallest number of nodes along each axis of the grid. "auto" resolves the clusters
        or, for the kernel estimator, keeps the error of binning below a thousandth of the
        density's height.
    init : {"k-means++", "random"}, array of shape (n_clusters, d), or callable
        Where Lloyd's iterations begin. A callable is called as
        ``init(points, n_clusters, random_state)``, with the nodes where the density is positive.
    n_init : "auto" or int
        Number of starts, of which the one with the smallest distortion is kept. "auto" means 10
        with errors (they are cheap there), and what `KMeans` does without; 1 for an array. The
        means of the first guess of maximum likelihood are one more start for "k-means++".
    max_iter : int
        Largest number of iterations of each start.
    tol : float
        With errors: the centers rest when no coordinate moves by more than this share of the
        grid's spacing. Without: as in `KMeans`.
    n_bootstrap : int
        From how many other samples, drawn by a Poisson bootstrap, the standard errors of the
        centers are found; 0 leaves them out. 100 are enough for an interval.
    random_state : int, RandomState or None
        Source of randomness of the starts, and of rules that draw.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, d)
        The centers.
    center_std_errors_ : array of shape (n_clusters, d) or None
        With `n_bootstrap`: the standard errors of the centers.
    center_covariances_ : array of shape (n_clusters, d, d) or None
        With `n_bootstrap`: the covariance matrix of each center.
    labels_ : array of shape (n,)
        The closest center of each observation; -1 where no coordinate was observed.
    inertia_ : float
        The sum of weights times the estimated distortion of the clean points.
    n_iter_ : int
        Number of iterations of the best start.
    bandwidth_ : array of shape (d,) or None
        The bandwidth of the kernel estimator, 0 for features without variation or where there
        are no errors; None for maximum likelihood. Where more than three features vary, one for
        each of `components_`.
    n_steps_ : int or None
        The number of steps of maximum likelihood.
    selection_ : selection.Selection or None
        The bandwidths, or numbers of steps, that were tried, and what they scored.
    density_ : Density or None
        The estimated density of the clean points: of ``X @ components_.T``.
    components_ : array of shape (r, d) or None
        The axes of `density_`, orthonormal. Up to three features that vary they are these
        features; beyond, they span the centers, or are the three leading axes of their span.
    mixture_ : deconvolution.bumps.Bumps or None
        Where more than three features vary, the likeliest mixture of Gaussian bumps, over these
        features.
    histogram_ : Histogram or None
        All that was kept of the data.
    n_dropped_ : int
        The number of rows that `fit_batches` has left out.

    Examples
    --------
    >>> from noisykmeans import NoisyKMeans, noise
    >>> from noisykmeans.datasets import make_mod1
    >>> X, Z, y = make_mod1(9, 100, random_state=0)
    >>> model = NoisyKMeans(2, noise=noise.Gaussian((0, 3)), random_state=0).fit(Z)
    >>> sorted((model.cluster_centers_[:, 0] > 2.5).tolist())
    [False, True]
    """

    def __init__(  # noqa: PLR0913  scikit-learn's convention: one keyword for each choice
        self,
        n_clusters: int = 8,
        *,
        noise: Noise | None = None,
        deconvolution: str = "auto",
        bandwidth: Any = "auto",
        window: Any = "cubic",
        resolution: Any = "auto",
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        n_bootstrap: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.noise = noise
        self.deconvolution = deconvolution
        self.bandwidth = bandwidth
        self.window = window
        self.resolution = resolution
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_bootstrap = n_bootstrap
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: None = None,
        *,
        sample_weight: ArrayLike | None = None,
        X_err: ArrayLike | None = None,
        X_cov: ArrayLike | None = None,
    ) -> Self:
        """Find the centers.

        Rows with different errors, and rows with missing coordinates, each count for what they
        tell. Errors of each row are Gaussian, and add to those of `noise`.

        A dask array or data frame is never held as a whole: histograms of its blocks are added
        where they are, and `labels_` is a dask array that is not computed.

        Parameters
        ----------
        X : array of shape (n, d), or dask collection
            Observations. With `noise`, `X_err` or `X_cov` given, NaN stands for coordinates that
            were not observed. A row without any is ignored, with a warning.
        y : ignored
        sample_weight : array of shape (n,) or None
            Weights; an integer weight is the same as repeating the row.
        X_err : array of shape (n,) or (n, d), or None
            Standard deviations of the errors of each row, or each value. Infinity stands for a
            value that was not observed.
        X_cov : array of shape (n, d, d) or None
            Covariance matrices of the errors of each row, instead of `X_err`.
        """
        del y
        if is_collection(X):
            return self._fit_collection(X, sample_weight, X_err, X_cov)
        with self._unchanged_on_error():
            for name in ("_stream", "_profile"):
                self.__dict__.pop(name, None)
            rows = self._check_sample(X, sample_weight, X_err, X_cov)
            n, d = rows.sample.X.shape
            self._check_lloyd(d)
            if n < self.n_clusters:
                raise ValueError(
                    f"n_samples={n} should be >= n_clusters={self.n_clusters}: lower n_clusters"
                )
            if self._without_errors(d, rows.errors):
                self._fit_points(rows.sample)
            else:
                rng = check_random_state(self.random_state)
                features = self._features(rows)
                if len(features.axes) > MAX_DIMENSION:
                    reduction = self._reduce(features, rng)
                else:
                    reduction = unreduced(self._estimate(features, self.n_clusters, rng))
                self._quantise(reduction, rows.sample.mass, rng)
                warn_of_equal_centers(self.cluster_centers_, rows.sample.X)
                self._keep_profile(rows)
            self._set_std_errors()
            self.labels_ = self._closest(rows.points, gaps=rows.errors is not None)
        return self

    def fit_histogram(self, histogram: Histogram | Groups) -> Self:
        """Find the centers from a histogram of the observations; there are no labels then.

        Parameters
        ----------
        histogram : Histogram or Groups
            On a grid that covers the data. Up to a twentieth of the mass may lie outside. Groups
            have the laws of their errors, and need no `noise`.
        """
        with self._unchanged_on_error():
            self._check_lloyd(None)
            rng = check_random_state(self.random_state)
            estimate = self._estimate_from_histogram(histogram, self.n_clusters, rng)
            self._quantise(unreduced(estimate), histogram.mass, rng)
            self._set_std_errors()
        return self

    def _check_lloyd(self, dimension: int | None) -> None:
        """Raise where a parameter of the starts or the iterations is none."""
        for name in ("n_clusters", "n_init", "max_iter"):
            value = getattr(self, name)
            automatic = name == "n_init" and isinstance(value, str) and value == "auto"
            if not (automatic or is_count(value)):
                or_auto = "'auto' or " if name == "n_init" else ""
                raise ValueError(f"{name} must be {or_auto}a positive integer; got {value!r}")
        self._check_n_bootstrap()
        if not (is_real(self.tol) and 0 <= self.tol < np.inf):
            raise ValueError(f"tol must be a finite number, not negative; got {self.tol!r}")
        if is_array(self.init) and dimension is not None:
            as_centers(self.init, self.n_clusters, dimension, "init")

    def _fit_points(self, sample: Observations) -> None:
        """Without errors the measure is the sample itself: plain k-means."""
        X, weights = sample.X, sample.each_weight
        low, high = sample.bounds
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
        self.density_ = self.histogram_ = self.n_steps_ = self.selection_ = None
        self.components_ = self.mixture_ = None
        self._again = partial(from_points, sample)

    def _reduce(self, features: Features, rng: np.random.RandomState) -> Reduction:
        """Return the measure of the clean points, and set the attributes that tell of it."""
        sample, errors, noise, axes = features
        d = len(self._constants)
        nodes = as_resolution(self.resolution, d)
        scale = standard_deviation(sample.X, sample.each_weight)
        problem = Problem(
            sample,
            noise,
            errors,
            scale,
            as_window(self.window),
            self.n_clusters,
            None if nodes is None else int(nodes.max()),
            int(rng.randint(2**31 - 1)),
        )
        warn_of_noise(noise, scale, sample.mass, axes)
        method = self._method(d)
        reduction, task = reduced(problem, method)
        self._describe(task, reduction.estimate)
        self._again = partial(from_problem, method, problem, reduction.estimate)
        return reduction

    def _quantise(self, reduction: Reduction, mass: float, rng: np.random.RandomState) -> None:
        d, varying = self.n_features_in_, np.isnan(self._constants)
        init, space = self.init, reduction.subspace
        if is_array(init):
            init = as_centers(init, self.n_clusters, d, "init")[:, varying]
            init = space.project(init)
        elif callable(init):
            init = partial(self._on_axes, space)
        estimate, measure = reduction.estimate, reduction.measure
        starts: Iterable[Array] = as_starts(init, self.n_init, measure, self.n_clusters, rng)
        if isinstance(init, str) and init == "k-means++" and estimate.centers is not None:
            judged = estimate.selection is not None and estimate.selection.centers is not None
            starts = [estimate.centers] if judged else [*starts, estimate.centers]
        best = lloyd_from_best(measure, starts, self.max_iter, self.tol)
        self.cluster_centers_ = self._embedded(space.lift(best.centers))
        self.inertia_ = (best.distortion + reduction.rest) * mass
        self.n_iter_ = best.n_iter
        components = np.zeros((reduction.axes.dimension, d))
        components[:, varying] = reduction.axes.basis
        self.components_ = components
        self.mixture_ = reduction.mixture

    def _on_axes(
        self,
        space: Subspace,
        points: Array,
        n_clusters: int,
        random_state: np.random.RandomState,
    ) -> Array:
        """Call the function init with points that have all features, and return to the axes."""
        points = self._embedded(space.lift(points))
        start = self.init(points, n_clusters, random_state=random_state)
        d = self.n_features_in_
        start = as_centers(start, n_clusters, d, "the centers that init returns")
        return space.project(start[:, np.isnan(self._constants)])

    def to_sklearn(self) -> KMeans:
        """Return a plain `sklearn.cluster.KMeans` with the same centers and predictions."""
        check_is_fitted(self)
        return plain_kmeans(self)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
