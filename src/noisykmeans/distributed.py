"""Dask's arrays and data frames: sums over blocks, and answers that stay lazy.

What leaves a block is a histogram, never its rows. Histograms are added in a tree, so that no
machine holds more than a few. The user's client is used where there is one, threads else; blocks
that are lost with a worker are read again, by Dask.
"""

from __future__ import annotations

from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from noisykmeans.batches import Batch, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

__all__ = ["Blocks", "as_array", "is_collection", "lazy_rows", "without_rows"]

FAN_IN = 8  # sums that are added at once
_DASK = ("dask", "dask_expr")


def is_collection(X: Any) -> bool:
    """Return whether X is one of Dask's collections; Dask itself is not imported."""
    return type(X).__module__.partition(".")[0] in _DASK


class Blocks(Source):
    """The blocks of a dask array or data frame, and of what belongs to its rows.

    Parameters
    ----------
    X : dask array of shape (n, d), or dask data frame
        Observations. An array is cut along its rows only.
    sample_weight, X_err, X_cov : dask collections or None
        As `NoisyKMeans.fit` takes them, in the blocks of X.
    """

    def __init__(
        self, X: Any, sample_weight: Any = None, X_err: Any = None, X_cov: Any = None
    ) -> None:
        self._names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        self._array = as_array(X)
        given = {"sample_weight": sample_weight, "X_err": X_err, "X_cov": X_cov}
        self._given = {
            name: _in_blocks_of(self._array, value, name)
            for name, value in given.items()
            if value is not None
        }

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where it is known."""
        n = self._array.shape[0]
        return None if np.isnan(n) else int(n)

    @property
    def has_errors(self) -> bool:
        """Whether rows have errors of their own."""
        return "X_err" in self._given or "X_cov" in self._given

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns of a data frame."""
        return self._names

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self._array.shape[1])

    def parts(self) -> Iterator[Any]:
        """Give the blocks, not computed."""
        import dask  # noqa: PLC0415  an extra

        arrays = {"X": self._array, **self._given}
        blocks = [array.to_delayed().ravel() for array in arrays.values()]
        for each in zip(*blocks, strict=True):
            yield dask.delayed(_batch)(tuple(arrays), *each)

    def read(self, part: Any) -> Batch:
        """Compute a block."""
        batch: Batch = part.compute()
        return batch

    def reduce(self, function: Callable[[Iterator[Batch]], T | None]) -> T | None:
        """Apply a function to every block where it is, and add the results in a tree."""
        import dask  # noqa: PLC0415  an extra

        of_block, added = dask.delayed(_of_block), dask.delayed(_added)
        results = [of_block(function, part) for part in self.parts()]
        while len(results) > 1:
            runs = range(0, len(results), FAN_IN)
            results = [added(results[i : i + FAN_IN]) for i in runs]
        total: T | None = results[0].compute() if results else None
        return total


def as_array(X: Any) -> Any:
    """Return a collection as a dask array whose blocks have whole rows."""
    if hasattr(X, "columns"):
        kinds = {str(name): kind for name, kind in X.dtypes.items()}
        numbers = [name for name, kind in kinds.items() if _is_numeric(kind)]
        for name, kind in kinds.items():
            if name not in numbers:
                raise ValueError(
                    f"the column {name!r} holds {kind}, no numbers; columns of numbers are "
                    f"{', '.join(map(repr, numbers)) or 'none'}"
                )
        return X.to_dask_array()
    if X.ndim != 2:
        raise ValueError(f"X must have the shape (n_samples, n_features); got {X.ndim} dimensions")
    if np.isnan(X.shape[1]):
        raise ValueError(
            f"X has an unknown number of features, its chunks are {X.chunks}: call "
            f"X.compute_chunk_sizes() first"
        )
    if len(X.chunks[1]) > 1:
        raise ValueError(
            f"X is chunked along its features, in {X.chunks[1]}, and rows must be whole: use "
            f"X.rechunk({{1: -1}})"
        )
    return X


def lazy_rows(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that takes rows take dask collections, too, and then return a dask array.

    Keyword arguments that are collections are taken block by block, too.

    Parameters
    ----------
    method : callable
        Of a fitted model; returns one number or one row of numbers for each row.
    """

    @wraps(method)
    def of_any(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *args, **kwargs)
        return _mapped(self, method.__name__, X, kwargs)

    return of_any


def _mapped(model: Any, name: str, X: Any, kwargs: dict[str, Any]) -> Any:
    """Return what a model answers, block by block, as a dask array that is not computed."""
    import dask.array as da  # noqa: PLC0415  an extra

    array, centers = as_array(X), model.cluster_centers_
    if array.shape[1] != centers.shape[1]:
        raise ValueError(
            f"X has {array.shape[1]} features, but {type(model).__name__} is expecting "
            f"{centers.shape[1]} features as input"
        )
    rows = {k: _in_blocks_of(array, v, k) for k, v in kwargs.items() if v is not None}
    # What the answer is like is seen on two rows.
    alike = {k: np.ones((2, *v.shape[1:])) for k, v in rows.items()}
    sent = without_rows(model)
    seen = getattr(sent, name)(np.repeat(centers[:1], 2, axis=0), **alike)
    letters = [(v, "ijk"[: v.ndim]) for v in rows.values()]
    pairs = [part for pair in [(array, "ij"), *letters] for part in pair]
    return da.blockwise(
        _answer,
        "i" if seen.ndim == 1 else "il",
        *pairs,
        model=sent,
        method=name,
        keywords=tuple(rows),
        empty=seen[:0],
        new_axes=None if seen.ndim == 1 else {"l": seen.shape[1]},
        dtype=seen.dtype,
        concatenate=True,
        align_arrays=False,
    )


def _answer(
    X: Any, *rows: Any, model: Any, method: str, keywords: tuple[str, ...], empty: Any
) -> Any:
    """Return what a model answers to the rows of a block, which may have none."""
    if not len(X):
        return empty
    return getattr(model, method)(X, **dict(zip(keywords, rows, strict=True)))


def without_rows(model: Any) -> Any:
    """Return a copy of a model that is light to send, and that takes arrays without names."""
    sent = copy(model)
    for name in ("labels_", "feature_names_in_"):
        vars(sent).pop(name, None)
    return sent


def _in_blocks_of(array: Any, given: Any, name: str) -> Any:
    """Return a companion of the rows in blocks as theirs."""
    import dask.array as da  # noqa: PLC0415  an extra

    if not is_collection(given):
        given = np.asarray(given)
        if np.isnan(array.shape[0]) or given.shape[:1] != array.shape[:1]:
            raise ValueError(
                f"{name} must be a dask collection in the blocks of X, or have one entry for each "
                f"of its {array.shape[0]} rows; got shape {given.shape}"
            )
        return da.from_array(given, chunks=(array.chunks[0], *given.shape[1:]))
    companion = given.to_dask_array() if hasattr(given, "to_dask_array") else given
    whole = dict.fromkeys(range(1, companion.ndim), -1)
    if np.isnan(companion.shape[0]) or np.isnan(array.shape[0]):
        if companion.numblocks[0] != array.numblocks[0]:
            raise ValueError(
                f"{name} has {companion.numblocks[0]} blocks and X {array.numblocks[0]}, of "
                f"unknown sizes: call compute_chunk_sizes() on both, or cut them alike"
            )
        return companion.rechunk(whole) if whole else companion
    if companion.shape[0] != array.shape[0]:
        raise ValueError(f"{name} has {companion.shape[0]} rows, and X {array.shape[0]}")
    return companion.rechunk({0: array.chunks[0], **whole})


def _batch(names: tuple[str, ...], *blocks: Any) -> Batch:
    return Batch.of(Batch(**dict(zip(names, blocks, strict=True))))


def _of_block(function: Callable[[Iterator[Batch]], T], batch: Batch) -> T:
    return function(iter([batch]))


def _added(results: list[Any]) -> Any:
    there = [result for result in results if result is not None]
    if not there:
        return None
    total = there[0]
    for result in there[1:]:
        total = total + result
    return total


def _is_numeric(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf"
