"""The density of the clean points, as an estimator of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.neighbors import KernelDensity
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from noisykmeans.estimation import ByKernel
from noisykmeans.estimators.base import GridEstimator
from noisykmeans.noise import Gaussian
from noisykmeans.observations import standard_deviation
from noisykmeans.parameters import as_rule, as_window, is_count
from noisykmeans.selection import Fixed, Rate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.observations import Observations

    Array = NDArray[np.float64]

__all__ = ["DeconvolvedDensity"]


class DeconvolvedDensity(DensityMixin, GridEstimator):  # type: ignore[misc]
    """The density of the clean points X, from observations ``Z = X + eps``.

    The deconvolution kernel estimate, projected on the set of densities. Without errors
    (``noise=None``) it is the kernel density estimate of the sample, with a Gaussian kernel, in
    any dimension.

    Parameters
    ----------
    noise : law of `noisykmeans.noise` or None
        The law of the errors; None means that there are none.
    bandwidth : "auto", "cv", "rate", object of `noisykmeans.selection`, float or one per feature
        The smoothing, in the unit of the data, or a rule that chooses it. "auto" is "rate".
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
    components_ : array of shape (r, d) or None
        The axes of `density_`: those features that vary.
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

    def fit(
        self,
        X: ArrayLike,
        y: None = None,
        *,
        sample_weight: ArrayLike | None = None,
        X_err: ArrayLike | None = None,
        X_cov: ArrayLike | None = None,
    ) -> Self:
        """Estimate the density.

        With errors that differ it is the estimate of Delaigle and Meister (2008).

        Parameters
        ----------
        X : array of shape (n, d)
            Observations. With `noise`, `X_err` or `X_cov` given, NaN stands for coordinates that
            were not observed; some rows must be complete.
        y : ignored
        sample_weight : array of shape (n,) or None
            Weights; an integer weight is the same as repeating the row.
        X_err : array of shape (n,) or (n, d), or None
            Standard deviations of the Gaussian errors of each row, or each value; they add to
            those of `noise`.
        X_cov : array of shape (n, d, d) or None
            Covariance matrices of the errors of each row, instead of `X_err`.
        """
        del y
        with self._unchanged_on_error():
            rows = self._check_sample(X, sample_weight, X_err, X_cov)
            if self.noise is None and (rows.errors is None or rows.errors.absent):
                self._fit_points(rows.sample)
            else:
                self._estimate(self._features(rows), None, np.random.RandomState(0))
                self.components_ = np.eye(len(self._constants))[np.isnan(self._constants)]
        return self

    components_: Array | None
    _sample: tuple[Array, Array]

    def _method(self, dimension: int) -> ByKernel:
        automatic = isinstance(self.bandwidth, str) and self.bandwidth == "auto"
        rule = as_rule("rate" if automatic else self.bandwidth, dimension)
        return ByKernel(rule, as_window(self.window))

    def _fit_points(self, sample: Observations) -> None:
        X, weights = sample.X, sample.each_weight
        rule = self._method(X.shape[1]).rule
        if isinstance(rule, Fixed):
            chosen = np.array(rule.values)
        else:
            scale = standard_deviation(X, weights)
            no_errors = Gaussian(0.0)
            if not isinstance(rule, Rate):
                raise ValueError(  # noqa: TRY004  the rule is one, but not for clean points
                    f"bandwidth={self.bandwidth!r} needs errors to deconvolve; got noise=None: use "
                    f"'rate' or a number"
                )
            chosen = rule.bandwidth(weights.sum(), np.where(scale > 0, scale, 1.0), no_errors)
        self.bandwidth_ = chosen
        # KernelDensity has one bandwidth: axes are measured in units of their own.
        self._sample = (X / chosen, weights)
        self.density_ = self.histogram_ = self.n_steps_ = self.selection_ = None
        self.components_ = None

    @property
    def _points(self) -> Any:
        """The kernel density estimate of points without errors."""
        X, weights = self._sample
        return KernelDensity(bandwidth=1.0).fit(X, sample_weight=weights)

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
        if self.density_ is not None or not is_count(n_samples):
            return self._embedded(self._drawn(n_samples, random_state))
        rng = check_random_state(random_state)
        return np.asarray(self._points.sample(n_samples, rng) * self.bandwidth_)
