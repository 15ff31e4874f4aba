"""Rows that come in batches, and sources that can be read more than once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from noisykmeans._kernels.threads import n_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Around", "Batch", "Complete", "Iterated", "Source"]

RUN = 8  # parts whose sums are kept together

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows, with their weights and errors as `NoisyKMeans.fit` takes them.

    Parameters
    ----------
    X : array of shape (n, d)
        Observations, single or double.
    sample_weight : array of shape (n,) or None
        Their weights, 1 each if None.
    X_err : array of shape (n,) or (n, d), or None
        Standard deviations of their errors.
    X_cov : array of shape (n, d, d) or None
        Covariance matrices of their errors.
    dropped : int
        The number of rows with missing values that were left out.
    """

    X: Any
    sample_weight: Any = None
    X_err: Any = None
    X_cov: Any = None
    dropped: int = 0

    @classmethod
    def of(cls, item: Any) -> Batch:
        """Return a batch as it is, and anything else as rows; checked for shape and type."""
        batch = item if isinstance(item, Batch) else cls(item)
        X = np.asarray(batch.X)
        if X.dtype not in (np.float32, np.float64):
            try:
                X = X.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"a batch must hold numbers; got {batch.X!r}") from error
        if X.ndim != 2:
            raise ValueError(
                f"a batch must have the shape (n_rows, n_features); got {X.shape}: reshape it"
            )
        weights = batch.sample_weight
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if weights.shape != (len(X),):
                raise ValueError(
                    f"sample_weight must have the shape ({len(X)},); got {weights.shape}"
                )
        return cls(X, weights, batch.X_err, batch.X_cov, batch.dropped)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.X)

    def complete(self) -> Batch:
        """Return the rows without a missing value, and count the others."""
        kept = np.isfinite(self.X).all(axis=1)
        for other in (self.sample_weight, self.X_err, self.X_cov):
            if other is not None:
                kept &= ~np.isnan(np.asarray(other).reshape(len(kept), -1)).any(axis=1)
        lost = int(np.count_nonzero(~kept))
        if not lost:
            return self
        return self.rows(kept, lost)

    def rows(self, kept: Any, dropped: int = 0) -> Batch:
        """Return some of the rows, and count as many more as dropped."""
        parts = (self.X, self.sample_weight, self.X_err, self.X_cov)
        X, weights, sizes, matrices = (None if p is None else np.asarray(p)[kept] for p in parts)
        return Batch(X, weights, sizes, matrices, self.dropped + dropped)


class Source(ABC):
    """Rows in parts, which can be read as often as is needed."""

    @property
    def bounds(self) -> Array | None:
        """The smallest and the largest value of each feature, where they are known unread."""
        return None

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where it is known unread."""
        return None

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features, where they have any."""
        return None

    @property
    def once(self) -> bool:
        """Whether the parts can be read only once."""
        return False

    @property
    def has_errors(self) -> bool:
        """Whether rows have errors of their own."""
        return False

    @property
    def run(self) -> int:
        """The number of parts whose sums are kept together."""
        return RUN

    @abstractmethod
    def parts(self) -> Iterator[Any]:
        """Give the parts in their order: cheap, for one thread."""

    @abstractmethod
    def read(self, part: Any) -> Batch:
        """Return the rows of a part: the work, in several threads."""

    def pieces(self, part: Any) -> Iterator[Batch]:
        """Give the rows of a part, a few at a time where that is faster."""
        yield self.read(part)

    def __iter__(self) -> Iterator[Batch]:
        """Give the batches in their order."""
        return chain.from_iterable(map(self.pieces, self.parts()))

    def reduce(self, function: Callable[[Iterator[Batch]], T | None]) -> T | None:
        """Apply a function to runs of batches, and add the results; None where there are none.

        In as many threads as there are cores, with a few runs in memory at a time; the results
        are added in their order, so that a sum does not depend on the number of threads.

        Parameters
        ----------
        function : callable
            Takes an iterator of batches, and returns a value that adds.
        """
        total: Any = None

        def of_run(run: list[Any]) -> T | None:
            return function(chain.from_iterable(map(self.pieces, run)))

        for result in _in_threads(of_run, self._runs()):
            if result is not None:
                total = result if total is None else total + result
        return total

    def _runs(self) -> Iterator[list[Any]]:
        parts = self.parts()
        while run := list(islice(parts, self.run)):
            yield run


def _in_threads(function: Callable[[Any], T], items: Iterator[Any]) -> Iterator[T]:
    """Apply a function to items, and give the results in their order, a few items at a time."""
    threads = n_threads()
    pending: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


class Around(Source):
    """A source made of another one; what it does not say itself is what the other one says.

    Bounds and the number of rows are not told: rows may have been left out.

    Parameters
    ----------
    source : Source
        The rows.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features, where they have any."""
        return self._source.names

    @property
    def once(self) -> bool:
        """Whether the source can be read only once."""
        return self._source.once

    @property
    def has_errors(self) -> bool:
        """Whether rows have errors of their own."""
        return self._source.has_errors

    @property
    def run(self) -> int:
        """The number of parts whose sums are kept together."""
        return self._source.run

    def parts(self) -> Iterator[Any]:
        """Give the parts of the source."""
        return self._source.parts()


class Complete(Around):
    """A source without the rows that have a missing value: they are counted.

    Parameters
    ----------
    source : Source
        The rows.
    """

    def read(self, part: Any) -> Batch:
        """Return the complete rows of a part."""
        return self._source.read(part).complete()

    def reduce(self, function: Callable[[Iterator[Batch]], T | None]) -> T | None:
        """Apply a function to runs of complete rows, where the source does it."""
        return self._source.reduce(partial(_of_complete, function))


def _of_complete(function: Callable[[Iterator[Batch]], T], batches: Iterator[Batch]) -> T:
    return function(batch.complete() for batch in batches)


class Iterated(Source):
    """Batches of an iterable: a list, a generator, or what a function of no argument returns.

    A generator can be read once only, a function or a list as often as is needed.

    Parameters
    ----------
    batches : iterable or callable
        Of arrays, or of `Batch`.

    Examples
    --------
    >>> source = Iterated(lambda: (np.full((2, 1), i) for i in range(3)))
    >>> [float(batch.X.sum()) for batch in source], source.once
    ([0.0, 2.0, 4.0], False)
    """

    def __init__(self, batches: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        self._batches = batches

    @property
    def once(self) -> bool:
        """Whether the batches can be read only once."""
        batches = self._batches
        return not callable(batches) and iter(batches) is batches

    @property
    def has_errors(self) -> bool:
        """Whether the first batch has errors of its rows, where it can be looked at."""
        if self.once:
            return False
        first = next(iter(self), None)
        return first is not None and (first.X_err is not None or first.X_cov is not None)

    def parts(self) -> Iterator[Any]:
        """Give what the iterable does."""
        return iter(self._batches() if callable(self._batches) else self._batches)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The columns of the first batch, if it has any and can be looked at."""
        return None if self.once else _columns(next(self.parts(), None))

    def read(self, part: Any) -> Batch:
        """Return the rows as a batch, or raise where columns have other names or places."""
        columns = _columns(part)
        if columns is not None:
            first = self.__dict__.setdefault("_first", columns)
            if columns != first:
                raise ValueError(
                    f"batches have different columns: {list(first)} and {list(columns)}: give "
                    f"them the same ones, in the same order"
                )
        return Batch.of(part)


def _columns(part: Any) -> tuple[str, ...] | None:
    """Return the names of the features of a batch, None where not all are text."""
    columns = getattr(part.X if isinstance(part, Batch) else part, "columns", None)
    names = () if columns is None else tuple(columns)
    return names if names and all(isinstance(name, str) for name in names) else None
