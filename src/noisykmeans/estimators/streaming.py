"""Fits of rows that come in batches: larger than memory, or one batch after the other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from noisykmeans.batches import Batch, Complete, Iterated, Source
from noisykmeans.distributed import Blocks
from noisykmeans.errors import heavy, varies
from noisykmeans.estimators.base import GridEstimator
from noisykmeans.estimators.passes import (
    Demand,
    ManyAxesError,
    checked,
    gathered,
    settled,
    varying_axes,
)
from noisykmeans.grid import MAX_DIMENSION
from noisykmeans.noise import Gaussian
from noisykmeans.parameters import as_noise, as_resolution
from noisykmeans.profile import Counts, Profile, counted
from noisykmeans.reduction import unreduced
from noisykmeans.stream import Stream
from noisykmeans.thinning import Thinned, thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.estimators.passes import Gathered
    from noisykmeans.estimators.rows import Rows

    Array = NDArray[np.float64]

__all__ = ["Streaming"]

# What a stream makes only when it is asked for.
_PENDING = {
    "_constants",
    "bandwidth_",
    "center_covariances_",
    "center_std_errors_",
    "cluster_centers_",
    "components_",
    "density_",
    "histogram_",
    "inertia_",
    "mixture_",
    "n_dropped_",
    "n_iter_",
    "n_steps_",
    "selection_",
}

_NO_LAW = (
    "without errors this is k-means of the rows themselves, which no histogram holds; got "
    "noise=None: give a law of noisykmeans.noise, fit all rows at once as one array, or use "
    "sklearn.cluster.MiniBatchKMeans"
)


def _has_law(model: Any) -> bool:
    """Return whether a model can go by histograms, and so has `partial_fit`."""
    return model.noise is not None


class Streaming(GridEstimator):
    """What `NoisyKMeans` does with rows that come in batches."""

    n_clusters: int
    random_state: Any
    n_dropped_: int
    _stream: Stream | Thinned | None
    fit: Any
    _profile: Profile | None = None
    _check_lloyd: Any
    _quantise: Any
    _closest: Any
    _set_std_errors: Any
    predict: Any
    labels_: Any

    def fit_batches(
        self,
        batches: Source | Iterable[Any] | Callable[[], Iterable[Any]],
        *,
        bounds: ArrayLike | None = None,
        drop_missing: bool = False,
    ) -> Self:
        """Find the centers of rows that come in batches; there are no labels then.

        What can be read twice is read twice: for bounds, unless they are known, and for
        histograms. The result is that of `fit` with all rows at once, whatever the order and the
        sizes of the batches. A generator is read once, on a lattice that grows, as in
        `partial_fit`.

        Parameters
        ----------
        batches : table of `noisykmeans.tables`, iterable of batches, or function that returns one
            A batch is an array of shape (n, d), or a `noisykmeans.batches.Batch`.
        bounds : array of shape (2, d) or None
            The smallest and the largest value of each feature, where you know them: one pass is
            enough then. Up to a twentieth of the rows may lie outside.
        drop_missing : bool
            Leave out rows with missing values; `n_dropped_` counts them.
        """
        with self._unchanged_on_error():
            self._forget()
            self.__dict__.pop("feature_names_in_", None)
            source = batches if isinstance(batches, Source) else Iterated(batches)
            names, box = source.names, None if bounds is None else _as_bounds(bounds)
            once = source.once and box is None
            source = Complete(source) if drop_missing else source
            if once:
                self._stream = None
                for batch in source:
                    self._stream = self._added(batch)
                self._conclude(self._stream)
                del self._stream
            else:
                try:
                    self._finish(gathered(source, self._demand_of(source), box))
                except ManyAxesError:
                    self._conclude(source.reduce(thinned))
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
        return self

    @available_if(_has_law)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(
        self,
        X: ArrayLike,
        y: None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to those of earlier calls; nothing need be known of them in advance.

        Rows are binned on a lattice that grows and coarsens with them, exactly, so that memory
        stays what it is. Centers are computed when they are asked for.

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
            stream = self._begun()
            kinds = [np.float64, np.float32]
            first = stream is None
            rows = validate_data(self, X, dtype=kinds, reset=first, ensure_all_finite=False)
            self._forget()
            self._stream = stream
            self._stream = self._added(Batch.of(Batch(rows, sample_weight)))
        return self

    def _fit_collection(self, X: Any, sample_weight: Any, X_err: Any, X_cov: Any) -> Self:
        """Fit a collection of Dask, and answer its labels when they are asked for."""
        source = Blocks(X, sample_weight, X_err, X_cov)
        with self._unchanged_on_error():
            self.fit_batches(source)
            self.labels_ = self.predict(X)
        return self

    def predict_batches(self, batches: Source | Iterable[Any]) -> Iterator[NDArray[np.int32]]:
        """Give the labels of one batch after the other, in a second pass over the data.

        Parameters
        ----------
        batches : table of `noisykmeans.tables`, or iterable of batches
            Rows with missing values get the closest center by the others, -1 where none is left.
        """
        check_is_fitted(self)
        source = batches if isinstance(batches, Source) else Iterated(batches)
        names, own = source.names, self.__dict__.get("feature_names_in_")
        if names is not None and own is not None and names != tuple(own):
            raise ValueError(
                f"the table has the features {list(names)}, and the model was fitted to "
                f"{list(own)}: open it with these columns, in this order"
            )
        for batch in source:
            if batch.X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"a batch has {batch.X.shape[1]} features, and the model was fitted to "
                    f"{self.n_features_in_}"
                )
            yield self._closest(batch.X, gaps=True)

    def _demand(self, d: int, *, own: bool = False) -> Demand:
        """Return what the parameters ask of a sample of d features, with errors of their own."""
        if self.noise is None and not own:
            raise ValueError(_NO_LAW)
        if heavy(self.noise) or varies(self.noise):
            raise ValueError(
                f"noise={self.noise!r} needs all rows at once, as it has an infinite variance or "
                f"laws by row: give one array to fit, or errors of each row as X_err"
            )
        self._check_lloyd(d)
        noise = Gaussian(0.0) if self.noise is None else as_noise(self.noise, d)
        return Demand(self._method(d), noise, as_resolution(self.resolution, d))

    def _begun(self) -> Stream | Thinned | None:
        """Return the stream so far, or what a fit to all rows has kept of them; None at first."""
        if "_stream" in vars(self) or "cluster_centers_" not in vars(self):
            return self.__dict__.get("_stream")
        if self._profile is None:
            raise ValueError(
                "partial_fit goes on with what partial_fit or a fit to rows with errors of one law "
                "began, and this model was fitted otherwise: begin with sklearn.base.clone(model)"
            )
        axes = tuple(np.flatnonzero(np.isnan(self._constants)).tolist())
        return Stream(self._profile, axes, self.histogram_)

    def _keep_profile(self, rows: Rows) -> None:
        """Keep what `partial_fit` must know of the rows of a fit, to go on with its histogram."""
        histogram, sample = self.histogram_, rows.sample
        self._profile = None
        if histogram is None or rows.errors is not None or self._many_vary:
            return
        counts = counted(Batch(sample.X, sample.weights))[3]
        varying = np.isnan(self._constants)
        mean, scatter = self._constants.copy(), np.zeros(len(varying))
        mean[varying], scatter[varying] = histogram.mean, counts.mass * histogram.scale**2
        self._profile = Profile(counts, sample.bounds, mean, scatter)

    @property
    def _many_vary(self) -> bool:
        return int(np.isnan(self._constants).sum()) > MAX_DIMENSION

    def _added(self, batch: Batch) -> Stream | Thinned:
        """Return the stream with one more batch, or a sample where many features vary."""
        demand = self._demand(batch.X.shape[1])
        own = Profile.of(batch)
        checked(own, Counts(max(own.counts.rows, 1), missing=own.counts.missing))
        stream = self._stream
        low, high = own.bounds
        if isinstance(stream, Thinned):
            return stream + Thinned.of(batch)
        if stream is None and np.count_nonzero(high > low) > MAX_DIMENSION:
            return Thinned.of(batch)
        if stream is None:
            stream = Stream(Profile.nothing(batch.X.shape[1]))

        def spacing(profile: Profile, axes: tuple[int, ...]) -> Array:
            low, high = profile.bounds
            varying_axes(low, high, profile.counts.rows)
            asked = demand.on(profile.bounds, np.array(axes), profile.mass)
            some = profile.features(np.array(axes))
            return asked.method.growing(some, asked.noise, asked.nodes)

        return stream.added(batch, own, spacing, demand.noise)

    def _demand_of(self, source: Source) -> Callable[[int], Demand]:
        return partial(self._demand, own=source.has_errors)

    def _conclude(self, whole: Stream | Thinned | None) -> None:
        """Set the centers, and all that tells of them, from all that was kept of the rows."""
        if isinstance(whole, Thinned):
            self._fit_sample(checked(whole, whole.counts))
            return
        stream = checked(whole, whole.profile.counts if whole else Counts())
        self._finish(settled(stream, self._demand(stream.profile.bounds.shape[1])))

    def _fit_sample(self, sample: Thinned) -> None:
        """Fit a fair sample of the rows, where no histogram can hold them."""
        kept = {n: vars(self)[n] for n in ("_stream", "feature_names_in_") if n in vars(self)}
        self.fit(**sample.given)
        self.__dict__.update(kept)
        del self.labels_
        self.inertia_ *= sample.counts.mass / sample.weights.sum()  # of all rows
        self.n_dropped_ = sample.counts.dropped

    def _finish(self, sample: Gathered) -> None:
        """Set the centers, and all that tells of them, from histograms."""
        self.n_features_in_ = len(sample.constants)
        if 0 < sample.counts.rows < self.n_clusters:
            raise ValueError(
                f"n_samples={sample.counts.rows} should be >= n_clusters={self.n_clusters}: lower "
                f"n_clusters"
            )
        rng = check_random_state(self.random_state)
        estimate = self._estimate_gathered(sample, self.n_clusters, rng)
        self._quantise(unreduced(estimate), sample.groups.mass, rng)
        self._set_std_errors()
        self.n_dropped_ = sample.counts.dropped

    def __getattr__(self, name: str) -> Any:
        """Compute what a stream has not computed yet."""
        if name in _PENDING and self.__dict__.get("_stream") is not None:
            with self._unchanged_on_error():
                self._conclude(self._stream)
            return self.__dict__[name]
        reason = f": {_NO_LAW}" if name == "partial_fit" else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{reason}")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are centers, or rows to find them from."""
        return "cluster_centers_" in vars(self) or self.__dict__.get("_stream") is not None


def _as_bounds(bounds: ArrayLike) -> Array:
    """Return given bounds, or raise where they are none."""
    box = np.asarray(bounds, dtype=np.float64)
    if box.ndim != 2 or len(box) != 2 or not np.isfinite(box).all() or (box[0] > box[1]).any():
        raise ValueError(
            f"bounds must be finite, of shape (2, n_features), the smallest values and the largest "
            f"ones; got {bounds!r}"
        )
    return box
