"""From what users hand over to a task, and from its estimate to attributes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from noisykmeans.errors import Errors, heavy, varies
from noisykmeans.estimation import grouped
from noisykmeans.estimators.passes import Gathered
from noisykmeans.estimators.rows import Features, Rows, as_covariances, warn_of_empty
from noisykmeans.groups import Groups
from noisykmeans.histogram import Histogram
from noisykmeans.noise import Gaussian
from noisykmeans.observations import Observations, bounds
from noisykmeans.parameters import as_method, as_noise, as_resolution, as_window, is_count
from noisykmeans.persistence import save
from noisykmeans.profile import Counts
from noisykmeans.selection import Task
from noisykmeans.units import check_plain
from noisykmeans.validation import (
    check_on_grid,
    check_outside,
    check_weights,
    varying_features,
    warn_of_noise,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.density import Density
    from noisykmeans.estimation import Estimate, Method
    from noisykmeans.selection import Selection

    Array = NDArray[np.float64]

__all__ = ["GridEstimator"]


class GridEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """From observations to the density of the clean points: what the estimators share."""

    noise: Any
    deconvolution: Any
    bandwidth: Any
    window: Any
    resolution: Any
    bandwidth_: Any
    n_steps_: int | None
    selection_: Selection | None
    density_: Density | None
    histogram_: Histogram | None

    def _method(self, dimension: int) -> Method:
        """Return the deconvolution that the parameters ask for."""
        return as_method(self.deconvolution, self.bandwidth, self.window, dimension)

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

    def _validated(self, X: ArrayLike, *, reset: bool, missing: bool) -> tuple[Array, Array]:
        """Return all rows and their bounds, in one pass; NaN where values are missing."""
        check_plain(X, "X")
        kinds = [np.float64, np.float32]
        rows = validate_data(self, X, dtype=kinds, reset=reset, ensure_all_finite=False)
        box = bounds(rows)
        if np.isnan(box).any():  # for scikit-learn's own message
            finite: Any = "allow-nan" if missing else True
            validate_data(self, X, dtype=kinds, reset=reset, ensure_all_finite=finite)
        return rows, box

    def _check_sample(
        self, X: ArrayLike, sample_weight: ArrayLike | None, X_err: Any = None, X_cov: Any = None
    ) -> Rows:
        """Return the rows of positive weight, their weights, and what differs in their errors."""
        own = X_err is not None or X_cov is not None
        rows, box = self._validated(X, reset=True, missing=own or self.noise is not None)
        # Wrong without errors too, where they are not needed.
        self._method(rows.shape[1])
        as_resolution(self.resolution, rows.shape[1])
        if varies(self.noise):
            self.noise.check_rows(len(rows))
        errors = None
        if own or heavy(self.noise) or varies(self.noise) or np.isnan(box).any():
            errors = Errors.of(rows, self._covariances(X_err, X_cov, rows), self.noise)
            errors.check_features()
        weights = None if sample_weight is None else check_weights(sample_weight, rows)
        counts = np.ones(len(rows), dtype=bool) if weights is None else weights > 0
        if errors is not None:
            empty = counts & ~errors.observed.any(axis=1)
            if empty.any():
                warn_of_empty(int(empty.sum()), stacklevel=3)
            counts &= ~empty
        points = rows if errors is None else errors.hidden(rows)
        if counts.all():
            return Rows(points, Observations(rows, weights, box), errors)
        kept = None if weights is None else weights[counts]
        sample = Observations(rows[counts], kept, bounds(rows[counts]))
        return Rows(points, sample, errors and errors.rows(counts))

    def _covariances(self, X_err: Any, X_cov: Any, X: Array) -> Array | None:
        return as_covariances(X_err, X_cov, X, getattr(self, "feature_names_in_", None))

    def _without_errors(self, dimension: int, errors: Errors | None) -> bool:
        """Return whether the points are as good as clean: errors of size 0, and no smoothing."""
        if errors is not None and not errors.absent:
            return False
        if self.noise is None:
            return errors is None or self._method(dimension).automatic
        noise = as_noise(self.noise, dimension)
        exact = not noise.covariance_matrix(dimension).any() and not noise.mean(dimension).any()
        return exact and self._method(dimension).automatic

    def _features(self, rows: Rows) -> Features:
        """Return the features that vary, and keep the values of those that do not."""
        sample, errors = rows.sample, rows.errors
        d = sample.X.shape[1]
        noise = Gaussian(0.0) if self.noise is None else as_noise(self.noise, d)
        if errors is not None:
            errors = errors.usable(sample.X, self.noise)
            filled = errors.filled(sample.X)
            sample = Observations(filled, sample.weights, bounds(filled))
        low, high = sample.bounds
        axes = varying_features(sample.X, low, high)
        self._constants = np.where(high > low, np.nan, low)
        noise = noise.marginal(axes.tolist()) if len(axes) < d else noise
        sample = sample.features(axes.tolist())
        if errors is not None:
            errors = errors.restricted(axes)
            known = np.asarray(errors.observed.any(axis=1))
            sample, errors = sample.rows(known), errors.rows(known)
        return Features(sample, errors, noise, axes)

    def _estimate(
        self, features: Features, n_clusters: int | None, rng: np.random.RandomState
    ) -> Estimate:
        """Return the density, and set the attributes that tell of it.

        Constant features need no grid.
        """
        sample, errors, noise, axes = features
        check_on_grid(axes)
        d = len(self._constants)
        method = self._method(d)
        told = noise if self.noise is None else as_noise(self.noise, d)
        told = method.law(told, sample.mass, d) if self.noise is not None else told
        method = method.restricted(told, np.isnan(self._constants))
        resolution = as_resolution(self.resolution, d)
        nodes = None if resolution is None else resolution[axes]
        groups, law, labels = grouped(method, sample, noise, errors, nodes)
        window = as_window(self.window)
        seed = int(rng.randint(2**31 - 1))
        task = Task(groups, window, n_clusters, seed, sample.X, sample.weights, labels)
        scale = task.histogram.scale if errors is None else task.scale
        warn_of_noise(law, scale, task.n, axes)
        return self._deconvolve(method, task)

    def _estimate_from_histogram(
        self, histogram: Any, n_clusters: int | None, rng: np.random.RandomState
    ) -> Estimate:
        """Return the density from a histogram on a grid that somebody else has chosen."""
        groups = self._with_laws(histogram)
        for member in groups.members:
            check_outside(member.histogram, stacklevel=3)
        self._forget()
        self.__dict__.pop("feature_names_in_", None)
        d = groups.grid.dimension
        self.n_features_in_ = d
        counts = Counts(0, groups.mass, groups.mass)
        gathered = Gathered(groups, counts, np.full(d, np.nan), self._method(d))
        return self._estimate_gathered(gathered, n_clusters, rng)

    def _with_laws(self, histogram: Any) -> Groups:
        """Return the histogram with the law of the errors, or histograms that have laws."""
        if isinstance(histogram, Groups):
            if self.noise is not None and {m.kind.noise for m in histogram.members} != {self.noise}:
                raise ValueError(
                    f"the groups have laws of their own, others than noise={self.noise!r}: use "
                    f"noise=None with groups"
                )
            return histogram
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
        d = histogram.grid.dimension
        noise = self._method(d).law(as_noise(self.noise, d), histogram.mass, d)
        return Groups.of(histogram, noise)

    def _estimate_gathered(
        self, gathered: Gathered, n_clusters: int | None, rng: np.random.RandomState
    ) -> Estimate:
        """Return the density from histograms alone, on the features that vary."""
        groups, counts = gathered.groups, gathered.counts
        self._constants = gathered.constants
        seed = int(rng.randint(2**31 - 1))
        window, n, spread = as_window(self.window), counts.effective, gathered.scale
        task = Task(groups, window, n_clusters, seed, equivalent=n, spread=spread)
        if counts.rows and groups.complete:
            axes = np.flatnonzero(np.isnan(gathered.constants))
            one = len(groups.members) == 1
            scale = task.histogram.scale if one else task.scale
            warn_of_noise(groups.noise, scale, task.n, axes)
        return self._deconvolve(gathered.method, task)

    def _forget(self) -> None:
        """Forget an earlier fit."""
        kept = self.get_params(deep=False).keys() | {"n_features_in_", "feature_names_in_"}
        for name in set(vars(self)) - kept:
            if name.endswith("_") or name in {"_constants", "_profile", "_stream"}:
                del self.__dict__[name]

    def _deconvolve(self, method: Method, task: Task) -> Estimate:
        """Set the density and what tells of it."""
        estimate = method.estimate(task)
        self._describe(task, estimate)
        if estimate.selection is not None:
            self.bandwidth_ = np.zeros(len(self._constants))
            self.bandwidth_[np.isnan(self._constants)] = estimate.selection.bandwidth
        return estimate

    def _describe(self, task: Task, estimate: Estimate) -> None:
        """Set the attributes that tell of an estimate."""
        self.histogram_ = task.histogram
        self.density_ = estimate.density
        self.n_steps_ = estimate.n_steps
        compared = estimate.steps is not None and len(estimate.steps.criterion) > 1
        self.selection_ = estimate.steps if compared else estimate.selection
        self.bandwidth_ = None if estimate.selection is None else estimate.selection.bandwidth

    def _check_new(self, X: ArrayLike, *, missing: bool = False) -> Array:
        """Return new points, which may lack coordinates where the fit knew of errors."""
        return self._validated_new(X, missing=missing)[0]

    def _validated_new(self, X: ArrayLike, *, missing: bool) -> tuple[Array, Array]:
        check_is_fitted(self)
        return self._validated(X, reset=False, missing=missing and self.density_ is not None)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, fitted or not; `noisykmeans.load` reads it.

        Labels that Dask has not computed are left out.

        Parameters
        ----------
        path : str or path
            The file, which is replaced where it exists. `persistence.check_savable` tells before
            a long fit whether a model can be saved.
        """
        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.noise is not None
        return tags

    def _drawn(self, n_samples: Any, random_state: Any) -> Array:
        """Draw points from the density, on its axes."""
        if not is_count(n_samples):
            raise ValueError(f"n_samples must be a positive integer; got {n_samples!r}")
        if self.density_ is None:
            raise AttributeError("the fit knew of no errors, and has no density to draw from")
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return self.density_.sample(n_samples, seed)

    def _embedded(self, points: Array) -> Array:
        """Points on the grid's axes, with the constant features added."""
        full = np.repeat(self._constants[None], len(points), axis=0)
        full[:, np.isnan(self._constants)] = points
        return full
