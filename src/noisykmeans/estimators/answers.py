"""What a fitted model tells of observations: their cells, their clean points, their density."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from noisykmeans.bootstrap import Walk, bootstrap, from_histogram
from noisykmeans.distributed import lazy_rows
from noisykmeans.errors import Errors, varies
from noisykmeans.estimators.base import GridEstimator
from noisykmeans.mixture_posterior import MixturePosterior
from noisykmeans.noise import Gaussian
from noisykmeans.observations import closest
from noisykmeans.parameters import as_noise, is_count
from noisykmeans.posterior import Posterior

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.deconvolution.bumps import Bumps
    from noisykmeans.estimation import Estimate, Method
    from noisykmeans.groups import Kind
    from noisykmeans.selection import Task

    Array = NDArray[np.float64]

__all__ = ["Answers"]


def _knows_of_errors(model: Answers) -> bool:
    """Return whether there is a density, as far as is known before the fit."""
    return getattr(model, "density_", True) is not None


class Answers(GridEstimator):
    """Answers that take the density of the clean points and the law of the errors together."""

    n_bootstrap: int
    max_iter: int
    tol: float
    random_state: Any
    center_std_errors_: Array | None
    center_covariances_: Array | None
    cluster_centers_: Array
    components_: Array | None
    mixture_: Bumps | None

    @lazy_rows
    def predict_proba(
        self, X: ArrayLike, *, X_err: ArrayLike | None = None, X_cov: ArrayLike | None = None
    ) -> Array:
        """Return the probability that the *clean* point of each observation lies in each cell.

        ``P(X in V_j | Z = z) = (1_{V_j} f * eta)(z) / (f * eta)(z)``, f the density of the clean
        points and eta that of the errors. `predict` gives the cell of the observation itself,
        which is not always the most probable one. Without errors they agree.

        Parameters
        ----------
        X : array of shape (n, d)
            Observations, with NaN for coordinates that were not observed.
        X_err : array of shape (n,) or (n, d), or None
            Standard deviations of the errors of each row, or each value, as in `fit`.
        X_cov : array of shape (n, d, d) or None
            Covariance matrices of the errors of each row, instead of `X_err`.

        Returns
        -------
        array of shape (n, n_clusters)
            Rows have the sum 1.
        """
        rows = self._check_new(X, missing=True)
        if self._without_law(X_err, X_cov):
            shares = np.zeros((len(rows), len(self.cluster_centers_)))
            shares[np.arange(len(rows)), closest(rows, self.cluster_centers_)] = 1.0
            return shares
        posterior, sample = self._posterior(rows, X_err, X_cov)
        return posterior.memberships(*sample)

    @lazy_rows
    def denoise(
        self, X: ArrayLike, *, X_err: ArrayLike | None = None, X_cov: ArrayLike | None = None
    ) -> Array:
        """Return ``E[X | Z]``, the estimate of each clean point with the least squared error.

        Without errors it is the observation. Coordinates that were not observed are filled in.

        Parameters
        ----------
        X, X_err, X_cov
            As in `predict_proba`.

        Returns
        -------
        array of shape (n, d)
        """
        rows = self._check_new(X, missing=True)
        if self._without_law(X_err, X_cov):
            return rows.copy()
        posterior, sample = self._posterior(rows, X_err, X_cov)
        return self._embedded(posterior.means(*sample))

    @available_if(_knows_of_errors)  # type: ignore[untyped-decorator]
    @lazy_rows
    def score_samples(
        self, X: ArrayLike, *, X_err: ArrayLike | None = None, X_cov: ArrayLike | None = None
    ) -> Array:
        """Return the logarithm of the density of *observations*, ``log (f * eta)(z)``.

        It tells which observations the model did not expect, and compares models on held-out
        data. That of clean points is `DeconvolvedDensity.score_samples`. Only models that were
        fitted with errors have it.

        Parameters
        ----------
        X, X_err, X_cov
            As in `predict_proba`. Where coordinates are missing it is the density of the others.

        Returns
        -------
        array of shape (n,)
            ``-inf`` where the density is not more than rounding, 1e-11 of the largest.
        """
        rows = self._check_new(X, missing=True)
        posterior, sample = self._posterior(rows, X_err, X_cov)
        return posterior.log_density(*sample)

    @available_if(_knows_of_errors)  # type: ignore[untyped-decorator]
    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw clean points from their estimated law, of shape (n_samples, d).

        Any method for clean points can run on them. Only models that were fitted with errors
        have it: without, the observations themselves are such a sample.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, RandomState or None
            Source of randomness.
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        points = self._drawn(n_samples, rng)
        if self.mixture_ is not None and self.components_ is not None:
            # The density is that on the leading axes; the mixture tells of the others.
            varying = np.isnan(self._constants)
            mixture = MixturePosterior(self.mixture_, self.cluster_centers_[:, varying])
            basis, seed = self.components_[:, varying], int(rng.randint(2**31 - 1))
            points = mixture.drawn_given(basis, points, np.random.default_rng(seed))
        return self._embedded(points)

    def _deconvolve(self, method: Method, task: Task) -> Estimate:
        """Set the density and what tells of it, and keep for the end of the fit how it was made."""
        estimate = super()._deconvolve(method, task)
        self._again = partial(from_histogram, method, task, estimate)
        return estimate

    _again: Callable[[Array, Walk], Callable[[np.random.Generator], Array]]

    def _check_n_bootstrap(self) -> None:
        n = self.n_bootstrap
        if not (is_count(n) and n > 1) and not (n == 0 and not isinstance(n, bool)):
            raise ValueError(
                f"n_bootstrap must be 0, for no standard errors, or an integer above 1; got {n!r}: "
                f"100 are enough for an interval"
            )

    def _set_std_errors(self) -> None:
        """Estimate centers from other samples, where that is asked for."""
        again = self.__dict__.pop("_again")
        self.center_std_errors_ = self.center_covariances_ = None
        if not self.n_bootstrap:
            return
        k, d = self.cluster_centers_.shape
        constants = np.full(d, np.nan) if self.density_ is None else self._constants
        varying = np.flatnonzero(np.isnan(constants))
        once = again(self.cluster_centers_[:, varying], Walk(self.max_iter, self.tol))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        sureness = bootstrap(once, self.n_bootstrap, seed)
        self.center_covariances_ = np.zeros((k, d, d))
        self.center_covariances_[:, varying[:, None], varying] = sureness.covariances
        self.center_std_errors_ = np.zeros((k, d))
        self.center_std_errors_[:, varying] = sureness.std_errors

    def _without_law(self, X_err: Any, X_cov: Any) -> bool:
        """Return whether there are no errors, neither in the fit nor now."""
        own = X_err is not None or X_cov is not None
        if self.density_ is None and own:
            raise ValueError(
                "X_err and X_cov need the density of the clean points, and the fit knew of no "
                "errors: fit with noise, X_err or X_cov, too"
            )
        return self.density_ is None

    def _posterior(
        self, X: Array, X_err: Any, X_cov: Any
    ) -> tuple[Posterior | MixturePosterior, tuple[Array, NDArray[np.intp], list[Kind]]]:
        """Return the posterior law, and the observations as it takes them."""
        if self.density_ is None:
            raise AttributeError("the fit knew of no errors")
        if self.noise is None and X_err is None and X_cov is None:
            raise ValueError(
                "the errors of these rows are not known: the fit had X_err or X_cov, and noise is "
                "None; give X_err or X_cov, 0 where there are none"
            )
        varying = np.flatnonzero(np.isnan(self._constants))
        centers = self.cluster_centers_[:, varying]
        posterior: Posterior | MixturePosterior
        if self.mixture_ is None:
            posterior = Posterior(self.density_, centers)
        else:
            posterior = MixturePosterior(self.mixture_, centers)
        noise = Gaussian(0.0) if self.noise is None else as_noise(self.noise, X.shape[1])
        if varies(noise):
            noise.check_rows(len(X))
        errors = Errors.of(X, self._covariances(X_err, X_cov, X), noise).restricted(varying)
        noise = noise.marginal(varying.tolist()) if len(varying) < X.shape[1] else noise
        weights, most = np.ones(len(X)), posterior.most_laws
        labels, kinds = errors.kinds(noise, weights, posterior.scale, most)
        X = X if len(varying) == X.shape[1] else X[:, varying]
        return posterior, (X, labels, kinds)
