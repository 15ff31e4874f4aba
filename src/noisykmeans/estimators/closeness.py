"""What a fitted model tells of observations as they are: the closest center, and how far it is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances, nan_euclidean_distances
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from noisykmeans.distributed import Blocks, is_collection, lazy_rows, without_rows
from noisykmeans.errors import rows_alike
from noisykmeans.estimators.base import GridEstimator
from noisykmeans.observations import closest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.batches import Batch

    Array = NDArray[np.float64]

__all__ = ["Closeness"]


class Closeness(TransformerMixin, GridEstimator):  # type: ignore[misc]  # wraps this transform
    """Answers that take the centers alone."""

    cluster_centers_: Array

    @lazy_rows
    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the closest center of each observation, as in the paper.

        Parameters
        ----------
        X : array of shape (n, d)
            Observations. After a fit that knew of errors, NaN stands for coordinates that were
            not observed: the others decide. A row without any has the label -1.
        """
        rows, box = self._validated_new(X, missing=True)
        return self._closest(rows, gaps=bool(np.isnan(box).any()))

    def _closest(self, X: Array, *, gaps: bool) -> NDArray[np.int32]:
        """Return labels; gaps tells that X may lack coordinates."""
        observed = ~np.isnan(X) if gaps else None
        if observed is None or observed.all():
            return closest(X, self.cluster_centers_)
        labels = np.full(len(X), -1, dtype=np.int32)
        for rows in rows_alike(observed):
            axes = observed[rows][0]
            if axes.any():
                labels[rows] = closest(X[rows][:, axes], self.cluster_centers_[:, axes])
        return labels

    @lazy_rows
    def transform(self, X: ArrayLike) -> Array:
        """Return the distances of observations to the centers, of shape (n, n_clusters).

        Those of rows with missing coordinates are
        `sklearn.metrics.pairwise.nan_euclidean_distances`.
        """
        X = self._check_new(X, missing=True)
        distances = nan_euclidean_distances if np.isnan(X).any() else euclidean_distances
        return np.asarray(distances(X, self.cluster_centers_), dtype=X.dtype)

    def score(
        self, X: ArrayLike, y: None = None, *, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the weighted sum of squared distances to the closest center.

        A missing coordinate adds nothing.
        """
        del y
        if is_collection(X):
            return self._score_of_blocks(X, sample_weight)
        X = self._check_new(X, missing=True)
        squares = (X - self.cluster_centers_[self._closest(X, gaps=True)]).astype(np.float64) ** 2
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return -float(weights @ np.nansum(squares, axis=1))

    def _score_of_blocks(self, X: Any, sample_weight: Any) -> float:
        """Return the sum of the scores of the blocks of a collection."""
        check_is_fitted(self)
        return Blocks(X, sample_weight).reduce(partial(_score, without_rows(self))) or 0.0


def _score(model: Any, batches: Iterator[Batch]) -> float:
    return float(sum(model.score(b.X, sample_weight=b.sample_weight) for b in batches if b.n_rows))
