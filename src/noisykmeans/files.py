"""Files and frames as datasets of pyarrow: what they are is told by suffixes, types and footers."""

from __future__ import annotations

import glob
import gzip
import re
from csv import reader
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "FORMATS",
    "TableError",
    "as_floats",
    "check_alike",
    "dataset_of",
    "first_line",
    "is_numeric",
    "is_text",
    "listed",
    "scan_options",
]

_FIRST_LINES = 50  # of a text, from which its separators are told
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}


class TableError(ValueError):
    """A table cannot be read, or has not what is asked of it."""


def dataset_of(source: Any) -> Any:
    """Return the rows as a dataset of pyarrow."""
    import pyarrow as pa  # noqa: PLC0415  an extra
    from pyarrow import dataset as ds  # noqa: PLC0415

    if isinstance(source, ds.Dataset):
        return source
    if isinstance(source, pa.Table | pa.RecordBatch):
        return ds.dataset(source)
    if isinstance(source, str | PathLike):
        return _of_files(_files(Path(source)), Path(source))
    if isinstance(source, list | tuple) and all(isinstance(p, str | PathLike) for p in source):
        return _of_files([Path(path) for path in source], None)
    if type(source).__module__.startswith("pandas"):
        return ds.dataset(pa.Table.from_pandas(source, preserve_index=False))
    if hasattr(source, "__arrow_c_stream__"):
        return ds.dataset(pa.table(source))
    raise TableError(
        f"a table must be a path, a list of paths, or a table of pandas, polars or Arrow; got "
        f"{type(source).__name__}"
    )


def _files(path: Path) -> list[Path]:
    """Return the files of a path, a folder or a glob, in the order of their names."""
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = (p for p in path.rglob("*") if not _is_hidden(p.relative_to(path)))
        found = sorted(p for p in inside if p.is_file() and _format(p))
        where = f"the folder {path} has"
    else:
        found = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207  absolute too
        if not glob.has_magic(str(path)):
            raise TableError(f"there is no file {path}")
        where = f"the pattern {path} matches"
    if not found:
        raise TableError(f"{where} no file of {', '.join(FORMATS)}")
    return found


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


def _format(path: Path) -> str | None:
    """Return the format that the name of a file tells."""
    name = path.name.lower()
    return next((FORMATS[end] for end in FORMATS if name.endswith(end)), None)


def _text_format(path: Path, delimiter: str) -> Any:
    """Return how a table in text is read, by its first lines.

    Lines that begin with # come before the header. Where it has semicolons and no commas, these
    part the columns, and commas in numbers are decimal points. Blanks around names go.
    """
    from pyarrow import csv  # noqa: PLC0415  an extra
    from pyarrow import dataset as ds  # noqa: PLC0415

    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace") as file:
        lines = list(islice(file, _FIRST_LINES))
    comments = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    header = lines[comments].rstrip("\r\n") if lines else ""
    point = "."
    if delimiter == "," and ";" in header and "," not in header:
        delimiter = ";"
        cells = [cell for line in lines[comments + 1 :] for cell in line.split(";")]
        point = "," if any(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in cells) else "."
    names = [name.strip() for name in next(reader([header], delimiter=delimiter), [])]
    padded = any(name != name.strip() for name in header.split(delimiter))
    read = csv.ReadOptions(column_names=names if padded else None, skip_rows=comments + int(padded))
    return ds.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(decimal_point=point),
        read_options=read,
    )


def _of_files(paths: list[Path], root: Path | None) -> Any:
    """Return files of one format as a dataset; folders named ``key=value`` add columns."""
    from pyarrow import dataset as ds  # noqa: PLC0415  an extra

    formats = {_format(path) for path in paths}
    if len(formats) > 1 or None in formats:
        odd = next(p for p in paths if _format(p) is None or _format(p) != _format(paths[0]))
        raise TableError(
            f"files must be of one format, told by their suffix ({', '.join(FORMATS)}); got {odd}"
            + (f" beside {paths[0]}" if odd != paths[0] else "")
        )
    kind: Any = formats.pop()
    if kind in ("csv", "tsv"):
        kind = _text_format(paths[0], "\t" if kind == "tsv" else ",")
    base = str(root) if root is not None and root.is_dir() else None
    return ds.dataset(
        [str(path) for path in paths], format=kind, partitioning="hive", partition_base_dir=base
    )


def check_alike(dataset: Any, names: list[str], *, all_numbers: bool = False) -> None:
    """Raise where a file lacks a column that another one has, or holds other values there."""
    fragments = [f for f in dataset.get_fragments() if hasattr(f, "path")]
    if len(fragments) < 2:
        return
    first = fragments[0].physical_schema
    for fragment in fragments:
        schema = fragment.physical_schema
        if all_numbers:  # what the first file lacks would be left out unnoticed
            more = (f.name for f in schema if is_numeric(f.type) and str(f.type) != "null")
            names = list(dict.fromkeys([*names, *more]))
        for name in names:
            if (name in schema.names) != (name in first.names):
                raise TableError(
                    f"files differ: {fragment.path} has {listed(schema.names)}, and "
                    f"{fragments[0].path} {listed(first.names)}"
                )
            if name in schema.names and (
                is_numeric(schema.field(name).type) != is_numeric(first.field(name).type)
            ):
                raise TableError(
                    f"files differ: the column {name!r} is {schema.field(name).type} in "
                    f"{fragment.path}, and {first.field(name).type} in {fragments[0].path}"
                )


def as_floats(dataset: Any, names: list[str]) -> Any:
    """Return the dataset such that whole numbers in one file may be fractions in another."""
    import pyarrow as pa  # noqa: PLC0415  an extra
    from pyarrow import dataset as ds  # noqa: PLC0415

    if not hasattr(dataset, "files"):
        return dataset
    fragments = list(dataset.get_fragments())
    folders = ds.get_partition_keys(fragments[0].partition_expression) if fragments else {}
    schema, kind = dataset.schema, dataset.format
    for name in names:
        if schema.field(name).type != pa.float32() and name not in folders:
            schema = schema.set(schema.get_field_index(name), pa.field(name, pa.float64()))
    # Made anew: what a fragment has inferred of its columns stays with it.
    anew = [
        kind.make_fragment(f.path, dataset.filesystem, f.partition_expression) for f in fragments
    ]
    return ds.FileSystemDataset(anew, schema, kind, dataset.filesystem)


def is_numeric(kind: Any) -> bool:
    """Return whether a type of Arrow is one of numbers."""
    from pyarrow import types  # noqa: PLC0415  an extra

    return any(
        test(kind)
        for test in (
            types.is_integer,
            types.is_floating,
            types.is_boolean,
            types.is_decimal,
            types.is_null,
        )
    )


def is_text(dataset: Any) -> bool:
    """Return whether rows must be read to be counted."""
    from pyarrow import dataset as ds  # noqa: PLC0415  an extra

    return isinstance(getattr(dataset, "format", None), ds.CsvFileFormat)


def scan_options(dataset: Any) -> Any:
    """Return how files are to be read: by default pyarrow holds all columns of a Parquet file."""
    from pyarrow import dataset as ds  # noqa: PLC0415  an extra

    if isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat):
        return ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
    return None


def listed(names: Sequence[str]) -> str:
    """Return names as a message shows them."""
    return ", ".join(map(repr, names)) or "none"


def first_line(error: BaseException) -> str:
    """Return what an error says first: pyarrow's go on."""
    return str(error).partition("\n")[0]
