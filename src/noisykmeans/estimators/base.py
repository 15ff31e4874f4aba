"""From what users hand over to a task, and from its estimate to attributes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from noisykmeans.grid import Grid
from noisykmeans.histogram import Histogram, fill
from noisykmeans.parameters import as_method, as_noise, as_resolution, as_window
from noisykmeans.selection import Task
from noisykmeans.validation import (
    check_on_grid,
    check_outside,
    check_weights,
    varying_features,
    warn_of_noise,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    def _check_sample(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """Return the rows of positive weight and their weights."""
        sample: Array = validate_data(self, X, dtype=[np.float64, np.float32])
        # Wrong without errors too, where they are not needed.
        self._method(sample.shape[1])
        as_resolution(self.resolution, sample.shape[1])
        if sample_weight is None:
            return sample, np.ones(len(sample))
        weights = check_weights(sample_weight, sample)
        counts = weights > 0
        return (sample, weights) if counts.all() else (sample[counts], weights[counts])

    def _without_errors(self, dimension: int) -> bool:
        """Return whether the points are as good as clean: errors of size 0, and no smoothing."""
        if self.noise is None:
            return True
        noise = as_noise(self.noise, dimension)
        exact = not noise.covariance_matrix(dimension).any() and not noise.mean(dimension).any()
        return exact and self._method(dimension).automatic

    def _estimate(
        self, X: Array, weights: Array, n_clusters: int | None, rng: np.random.RandomState
    ) -> Estimate:
        """Return the density, and set the attributes that tell of it.

        Constant features need no grid.
        """
        d = X.shape[1]
        noise, method = as_noise(self.noise, d), self._method(d)
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        axes = varying_features(X, low, high)
        check_on_grid(axes)
        method = method.restricted(noise, high > low)
        noise = noise.marginal(axes.tolist()) if len(axes) < d else noise
        sample = X[:, axes] if len(axes) < d else X
        resolution = as_resolution(self.resolution, d)
        nodes = None if resolution is None else resolution[axes]
        spacing = method.spacing(sample, weights, noise, nodes)
        # Errors that are not centred have moved the observations away from the clean points.
        bounds = np.stack([low, high])[:, axes]
        bounds = np.concatenate([bounds, bounds - noise.mean(len(axes))])
        histogram = fill(Grid.covering(bounds, spacing), sample, weights)
        self._constants = np.where(high > low, np.nan, low)
        window = as_window(self.window)
        seed = int(rng.randint(2**31 - 1))
        task = Task(histogram, noise, window, n_clusters, seed, sample, weights)
        warn_of_noise(noise, task.scale, task.n, axes)
        return self._deconvolve(method, task)

    def _estimate_from_histogram(
        self, histogram: Any, n_clusters: int | None, rng: np.random.RandomState
    ) -> Estimate:
        """Return the density from a histogram on a grid that somebody else has chosen."""
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
        noise, method = as_noise(self.noise, d), self._method(d)
        for name in ("labels_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._constants = np.full(d, np.nan)
        self.n_features_in_ = d
        seed = int(rng.randint(2**31 - 1))
        task = Task(histogram, noise, as_window(self.window), n_clusters, seed)
        return self._deconvolve(method, task)

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
        self.selection_ = estimate.selection
        self.bandwidth_ = None if estimate.selection is None else estimate.selection.bandwidth

    def _check_new(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _embedded(self, points: Array) -> Array:
        """Points on the grid's axes, with the constant features added."""
        full = np.repeat(self._constants[None], len(points), axis=0)
        full[:, np.isnan(self._constants)] = points
        return full
