"""Columns on their way to a file, some rows after the others."""

from __future__ import annotations

import csv
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from noisykmeans.cli.output import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Sheet = dict[str, NDArray[Any]]

__all__ = ["as_lines", "write_columns"]


def write_columns(sheets: Iterable[Sheet], path: Path) -> None:
    """Write columns as CSV or Parquet, as the ending tells; whole or not at all.

    Parameters
    ----------
    sheets : iterable of dict
        Columns by name, the first rows first.
    path : path
        The file.
    """
    with written(path):
        try:
            if path.suffix.lower() == ".csv":
                _write_csv(sheets, path)
            else:
                _write_parquet(sheets, path)
        except BaseException:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            raise


def as_lines(sheets: Iterable[Sheet]) -> Iterator[str]:
    """Give lines with commas, some at a time, the names first."""
    for i, sheet in enumerate(sheets):
        if i == 0:
            yield ",".join(sheet)
        lines = [",".join(map(str, row)) for row in _rows(sheet)]
        if lines:
            yield "\n".join(lines)


def _write_csv(sheets: Iterable[Sheet], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        for i, sheet in enumerate(sheets):
            if i == 0:
                writer.writerow(sheet)
            writer.writerows(_rows(sheet))


def _write_parquet(sheets: Iterable[Sheet], path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415  an extra
    from pyarrow import parquet  # noqa: PLC0415

    tables = map(pa.table, sheets)
    first = next(tables)
    with parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _rows(sheet: Sheet) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in sheet.values()), strict=True)
