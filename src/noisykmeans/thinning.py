"""A fair sample of rows that come in batches, the same however they come.

Where no histogram can hold the rows, some of them must do. Every row has a number that follows from
its content alone, as good as random; those with the smallest numbers are kept. So samples of parts
add up to that of the whole, whatever the order and the sizes of the parts, and equal rows are one
row of their weights together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.profile import Counts, counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from noisykmeans.batches import Batch

    Array = NDArray[np.float64]

__all__ = ["Thinned", "thinned"]

MOST_ROWS = 2**16  # centers of as many rows have errors far below those of the rows
_FIRST, _FACTOR, _SHIFT = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 29


@dataclass(frozen=True, eq=False)
class Thinned:
    """The rows with the smallest numbers, in the order of these.

    Parameters
    ----------
    keys : array of shape (m,)
        The numbers of the rows.
    rows : array of shape (m, d)
        The rows.
    weights : array of shape (m,)
        Their weights.
    errors : array or None
        The standard deviations, or covariance matrices, of their errors.
    counts : Counts
        The size of the whole.

    Examples
    --------
    >>> from noisykmeans.batches import Batch
    >>> one, other = Thinned.of(Batch(np.zeros((3, 2)))), Thinned.of(Batch(np.ones((2, 2))))
    >>> sorted((one + other).weights.tolist())
    [2.0, 3.0]
    """

    keys: NDArray[np.uint64]
    rows: Array
    weights: Array
    errors: Array | None
    counts: Counts

    @classmethod
    def of(cls, batch: Batch) -> Thinned:
        """Return the sample of a batch."""
        finite = np.isfinite(batch.X).all(axis=1)
        missing = len(finite) - int(np.count_nonzero(finite))
        batch = batch.rows(finite, batch.dropped) if missing else batch
        X, weights, kept, counts = counted(batch)
        X = np.asarray(X, dtype=np.float64) + 0.0  # no negative zeros
        errors = batch.X_cov if batch.X_err is None else batch.X_err
        if errors is not None:
            errors = np.asarray(errors, dtype=np.float64)
            errors = errors if kept is None else errors[kept]
        weights = np.ones(len(X)) if weights is None else weights
        counts = replace(counts, missing=missing)
        return cls(_keys(X, errors), X, weights, errors, counts).few()

    def __add__(self, other: Thinned) -> Thinned:
        """Return the sample of both parts."""
        errors = None
        if self.errors is not None and other.errors is not None:
            errors = np.concatenate([self.errors, other.errors])
        return Thinned(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.weights, other.weights]),
            errors,
            self.counts + other.counts,
        ).few()

    def few(self) -> Thinned:
        """Join equal rows, and keep as many as there is room for."""
        keys, first, which = np.unique(self.keys, return_index=True, return_inverse=True)
        weights = np.bincount(which.ravel(), self.weights, len(keys)).astype(np.float64)
        first = first[:MOST_ROWS]
        errors = None if self.errors is None else self.errors[first]
        return replace(
            self,
            keys=keys[:MOST_ROWS],
            rows=self.rows[first],
            weights=weights[:MOST_ROWS],
            errors=errors,
        )

    @property
    def given(self) -> dict[str, Any]:
        """What `fit` takes: rows, their weights, and errors."""
        named = {}
        if self.errors is not None:
            named = {"X_cov" if self.errors.ndim == 3 else "X_err": self.errors}
        return {"X": self.rows, "sample_weight": self.weights, **named}


def thinned(batches: Iterable[Batch]) -> Thinned | None:
    """Return the sample of batches together."""
    total: Thinned | None = None
    for batch in batches:
        own = Thinned.of(batch)
        total = own if total is None else total + own
    return total


def _keys(X: Array, errors: Array | None) -> NDArray[np.uint64]:
    """Return the numbers of rows, by mixing the bits of their values one after the other."""
    parts = [X] if errors is None else [X, errors.reshape(len(X), -1)]
    keys = np.full(len(X), _FIRST, dtype=np.uint64)
    for part in parts:
        for column in np.ascontiguousarray(part.T):
            keys ^= column.view(np.uint64)
            for _ in range(2):
                keys *= np.uint64(_FACTOR)
                keys ^= keys >> np.uint64(_SHIFT)
    return keys
