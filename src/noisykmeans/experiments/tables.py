"""The table of runs, as Parquet where pyarrow is installed and as CSV elsewhere.

The wall times have a table of their own, row by row beside the table of runs: they are never the
same twice, and all other columns are.
"""

from __future__ import annotations

import csv
import json
from importlib.util import find_spec
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from noisykmeans.experiments.trial import Row

__all__ = ["as_csv", "as_parquet", "run_tables"]

KEY = ("experiment", "u", "replicate", "seed", "method")
COLUMNS = (*KEY, "risk", "distortion", "lambda", "centers")
TIMES = (*KEY, "time")


def run_tables(rows: Sequence[Row]) -> dict[str, bytes]:
    """Return the contents of the files ``runs.*`` and ``times.*``, for rows in any order.

    In CSV ``lambda`` (one number an axis, empty where a method has none) and ``centers`` are JSON.
    """
    rows = sorted(rows, key=lambda row: row.key)
    every = [row._asdict() | {"lambda": row.bandwidth} for row in rows]
    tables = {
        name: [{column: row[column] for column in columns} for row in every]
        for name, columns in (("runs", COLUMNS), ("times", TIMES))
    }
    if find_spec("pyarrow") is None:
        return {f"{name}.csv": as_csv(table) for name, table in tables.items()}
    return {f"{name}.parquet": as_parquet(table) for name, table in tables.items()}


def as_csv(records: Iterable[dict[str, Any]]) -> bytes:
    """Return records as CSV: numbers so that they read back exactly, None empty, lists as JSON."""
    records = list(records)
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({k: json.dumps(v) if isinstance(v, list) else v for k, v in record.items()})
    return text.getvalue().encode()


def as_parquet(records: Sequence[dict[str, Any]]) -> bytes:
    """Return records as a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415  the extra `tables`
    from pyarrow import parquet  # noqa: PLC0415

    number, several = pa.float64(), pa.list_(pa.float64())
    types = {
        "experiment": pa.string(),
        "u": pa.int64(),
        "replicate": pa.int64(),
        "seed": pa.int64(),
        "method": pa.string(),
        "lambda": several,
        "centers": pa.list_(several),
    }
    schema = pa.schema([(name, types.get(name, number)) for name in records[0]])
    file = BytesIO()
    parquet.write_table(pa.Table.from_pylist(list(records), schema=schema), file)
    return file.getvalue()
