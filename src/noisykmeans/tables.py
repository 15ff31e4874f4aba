"""Tables on disk or in memory, read in batches: Parquet, CSV, Arrow, pandas and polars.

Only the columns that are needed are read, through pyarrow. Parquet tells the number of rows and
the bounds of each column in the footers of its files, so that one pass over the data is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.batches import Batch, Source
from noisykmeans.files import (
    TableError,
    as_floats,
    check_alike,
    dataset_of,
    first_line,
    is_numeric,
    is_text,
    listed,
    scan_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Table", "TableError", "open_table"]

BATCH = 2**17  # rows
_LARGEST_GROUP = 2**22  # rows of a row group that one thread may hold
_PIECE = 2**16  # rows of a row group that are copied and binned at a time
_AHEAD = 2  # batches that are read before they are asked for


@dataclass(frozen=True, eq=False)
class Table(Source):
    """A table, which of its columns are wanted, and what they are.

    It is read when it is iterated: `batches` gives arrays, `to_batch` all rows at once. What is
    known without reading are `bounds` and `n_rows`.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The rows.
    columns : tuple of str
        The columns of the features.
    errors : tuple of str
        The columns of their standard deviations, one for each feature or one for all; or none.
    weights : str or None
        The column of the weights.
    drop_missing : bool
        Leave out rows where one of these columns has no value, and count them.

    Examples
    --------
    >>> import pyarrow
    >>> table = open_table(pyarrow.table({"x": [1.0, 2.0], "name": ["a", "b"], "e_x": [0.1, 0.2]}))
    >>> table.available
    ('x', 'name', 'e_x')
    >>> table.select(["x"], errors=["e_x"]).to_batch().X_err.tolist()
    [[0.1], [0.2]]
    """

    dataset: Any = field(repr=False)
    columns: tuple[str, ...]
    errors: tuple[str, ...] = ()
    weights: str | None = None
    drop_missing: bool = False

    def __post_init__(self) -> None:
        for name in self._wanted:
            if name not in self.available:
                raise TableError(f"there is no column {name!r}; there are {listed(self.available)}")
            if name not in self.numeric:
                kind = self.dataset.schema.field(name).type
                raise TableError(
                    f"the column {name!r} holds {kind}, no numbers; columns of numbers are "
                    f"{listed(self.numeric)}"
                )
        if len(self.errors) not in (0, 1, len(self.columns)):
            raise TableError(
                f"errors must name one column for each of {self.columns}, or one for all; got "
                f"{self.errors}"
            )
        if not self.columns:
            raise TableError(f"there is no column of numbers; there are {listed(self.available)}")

    @property
    def available(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.dataset.schema.names)

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return tuple(f.name for f in self.dataset.schema if is_numeric(f.type))

    @property
    def has_errors(self) -> bool:
        """Whether rows have errors of their own."""
        return bool(self.errors)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.columns

    @property
    def _wanted(self) -> list[str]:
        weights = [] if self.weights is None else [self.weights]
        return [*self.columns, *self.errors, *weights]

    def select(
        self,
        columns: Sequence[str] | None = None,
        *,
        errors: Sequence[str] = (),
        weights: str | None = None,
        drop_missing: bool = False,
    ) -> Table:
        """Return the same table with other columns: all of numbers that are left, if None."""
        used = {*errors, weights}
        free = tuple(name for name in self.numeric if name not in used)
        chosen = free if columns is None else tuple(columns)
        table = Table(self.dataset, chosen, tuple(errors), weights, drop_missing)
        check_alike(table.dataset, table._wanted, all_numbers=columns is None)
        return replace(table, dataset=as_floats(table.dataset, table._wanted))

    @cached_property
    def n_rows(self) -> int | None:
        """The number of rows, None where they must be read to be counted."""
        return None if is_text(self.dataset) else int(self.dataset.count_rows())

    @cached_property
    def n_bytes(self) -> int | None:
        """What is read of files, compressed; None in memory."""
        fragments = list(self.dataset.get_fragments())
        if not fragments or not hasattr(fragments[0], "path"):
            return None
        if not hasattr(fragments[0], "row_groups"):
            return sum(Path(fragment.path).stat().st_size for fragment in fragments)
        chunks = (chunk for f in fragments for chunk in _chunks(f.metadata, self._wanted))
        return sum(chunk.total_compressed_size for chunk in chunks)

    @cached_property
    def bounds(self) -> Array | None:
        """The bounds of each feature from the footers of Parquet files, None where none tell."""
        if self.drop_missing:  # the bounds of the rows that are left are others
            return None
        low, high = np.full(len(self.columns), np.inf), np.full(len(self.columns), -np.inf)
        for fragment in self.dataset.get_fragments():
            if not hasattr(fragment, "row_groups"):
                return None
            metadata = fragment.metadata
            for j, name in enumerate(self.columns):
                chunks = [c for c in _chunks(metadata, [name]) if c.num_values]
                known = [c.statistics for c in chunks if c.statistics and c.statistics.has_min_max]
                # Half precision has its bounds as bytes.
                if len(known) < len(chunks) or any(isinstance(s.min, bytes) for s in known):
                    return None
                low[j] = min([low[j], *(float(s.min) for s in known)])
                high[j] = max([high[j], *(float(s.max) for s in known)])
        return np.array([low, high]) if np.isfinite([low, high]).all() else None

    def batches(self, size: int = BATCH) -> Iterator[Batch]:
        """Give the rows in their order, at most that many at a time."""
        return map(self.read, self._records(size))

    def parts(self) -> Iterator[Any]:
        """Give row groups of Parquet, to be read by whoever takes them; else record batches."""
        return self._records(BATCH) if self._row_groups is None else iter(self._row_groups)

    @property
    def run(self) -> int:
        """The number of parts whose sums are kept together: about a million rows."""
        groups = self._row_groups
        if groups is None:
            return super().run
        return max(super().run * BATCH * len(groups) // max(self.n_rows or 1, 1), 1)

    @cached_property
    def _row_groups(self) -> list[Any] | None:
        """The row groups of Parquet files, None of other tables and where one is large."""
        groups: list[Any] = []
        for fragment in self.dataset.get_fragments():
            if not hasattr(fragment, "row_groups"):
                return None
            for group in fragment.row_groups:
                if group.num_rows > _LARGEST_GROUP:
                    return None
                groups.append(fragment.subset(row_group_ids=[group.id]))
        return groups

    def _records(self, size: int) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415  an extra

        try:
            yield from self.dataset.to_batches(
                columns=self._wanted,
                batch_size=size,
                batch_readahead=_AHEAD,
                fragment_readahead=1,
                fragment_scan_options=scan_options(self.dataset),
            )
        except (pa.ArrowException, OSError) as error:
            raise _ends_early(error) from error

    def read(self, part: Any) -> Batch:
        """Return the columns of a part as arrays; what is missing is NaN."""
        if hasattr(part, "row_groups"):
            part = self._table_of(part)
        X = _matrix([part.column(name) for name in self.columns])
        errors = _matrix([part.column(name) for name in self.errors]) if self.errors else None
        weights = None if self.weights is None else _matrix([part.column(self.weights)])[:, 0]
        if errors is not None and errors.shape[1] == 1:
            errors = np.repeat(errors, X.shape[1], axis=1)
        batch = Batch(X, weights, errors)
        return batch.complete() if self.drop_missing else batch

    def pieces(self, part: Any) -> Iterator[Batch]:
        """Give the rows of a row group as they fit into the processor's cache."""
        rows = self._table_of(part).to_batches(_PIECE) if hasattr(part, "row_groups") else [part]
        return map(self.read, rows)

    def _table_of(self, fragment: Any) -> Any:
        """Read a row group, in this thread alone."""
        import pyarrow as pa  # noqa: PLC0415  an extra

        try:
            return fragment.to_table(
                schema=self.dataset.schema,
                columns=self._wanted,
                use_threads=False,
                fragment_scan_options=scan_options(self.dataset),
            )
        except (pa.ArrowException, OSError) as error:
            raise _ends_early(error) from error

    def to_batch(self) -> Batch:
        """Return all rows at once."""
        each = list(self.batches())
        if not each:
            return Batch(np.empty((0, len(self.columns))))

        def joined(arrays: list[Any]) -> Any:
            return None if arrays[0] is None else np.concatenate(arrays)

        return Batch(
            joined([b.X for b in each]),
            joined([b.sample_weight for b in each]),
            joined([b.X_err for b in each]),
            dropped=sum(b.dropped for b in each),
        )


def open_table(
    source: Any,
    columns: Sequence[str] | None = None,
    *,
    errors: Sequence[str] = (),
    weights: str | None = None,
    drop_missing: bool = False,
) -> Table:
    """Open a table; nothing but names, types and footers is read.

    Parameters
    ----------
    source : path, glob, list of paths, pandas, polars or Arrow table, or pyarrow dataset
        A file, a folder of files, or a partitioned dataset; Parquet (`.parquet`, `.pq`), CSV
        (`.csv`, `.tsv`, also `.gz`) and Arrow (`.arrow`, `.feather`, `.ipc`). Tables in memory
        are not copied where their columns are numbers without missing values.
    columns : sequence of str or None
        The features; None takes all columns of numbers that are not errors or weights.
    errors : sequence of str
        The columns of standard deviations, one for each feature or one for all; or none.
    weights : str or None
        The column of weights.
    drop_missing : bool
        Leave out rows where one of these columns has no value, and count them.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  an extra
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'noisykmeans[tables]'") from error
    try:
        dataset = dataset_of(source)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{source} cannot be read: {first_line(error)}") from error
    if not dataset.schema.names:
        raise TableError(f"{_named(source)} has no columns")
    numbers = tuple(f.name for f in dataset.schema if is_numeric(f.type))
    table = Table(dataset, numbers or tuple(dataset.schema.names))
    try:
        chosen = table.select(columns, errors=errors, weights=weights, drop_missing=drop_missing)
        empty = chosen.n_rows == 0
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{_named(source)} cannot be read: {first_line(error)}") from error
    if empty:
        raise TableError(f"{_named(source)} has no rows")
    return chosen


def _chunks(metadata: Any, names: list[str]) -> Iterator[Any]:
    """Give the column chunks of a Parquet file."""
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            if group.column(j).path_in_schema in names:
                yield group.column(j)


def _ends_early(error: BaseException) -> TableError:
    line = first_line(error)
    hint = "; if that is the number of an object, name the features as columns" * ("range" in line)
    return TableError(f"the table cannot be read to its end: {line}{hint}")


def _matrix(columns: list[Any]) -> NDArray[Any]:
    """Return columns of numbers side by side, NaN where a value is missing."""
    pieces = [[_numbers(chunk) for chunk in _pieces(column)] for column in columns]
    single = all(piece.dtype == np.float32 for column in pieces for piece in column)
    matrix = np.empty((len(columns[0]), len(columns)), np.float32 if single else np.float64)
    for j, column in enumerate(pieces):
        start = 0
        for piece in column:
            matrix[start : start + len(piece), j] = piece
            start += len(piece)
    return matrix


def _pieces(column: Any) -> list[Any]:
    return column.chunks if hasattr(column, "chunks") else [column]


def _numbers(column: Any) -> NDArray[Any]:
    """Return a column as an array, without a copy where it is complete."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _named(source: Any) -> str:
    return str(source) if isinstance(source, str | PathLike) else f"the {type(source).__name__}"
