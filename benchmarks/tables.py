"""Fits of a table that is larger than one would like to hold: Parquet, and Dask on two workers.

Makes a Parquet file of normal clusters with errors, and compares the fit with what pyarrow needs
to scan the two columns and sum them. Each figure is taken in a process of its own, which gives the
peak of its memory, too; what is compiled is compiled before.

    python benchmarks/tables.py                       # 10^8 rows, 2.1 GB, in the folder for such
    python benchmarks/tables.py --rows 1e7 --dask     # the lines of Dask, too
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, dataset, parquet

from noisykmeans import Grid, NoisyKMeans, noise
from noisykmeans.histogram import add_rows, fill
from noisykmeans.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CHUNK = 2**20
SIZES = (0.8, 1.5)  # of the errors


def make(path: Path, n_rows: int) -> None:
    """Write the table, a row group at a time."""
    rng = np.random.default_rng(0)
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64()), ("id", pa.int64())])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, CHUNK):
            n = min(CHUNK, n_rows - start)
            X = rng.normal(size=(n, 2)) * 0.7 + 4 * rng.integers(0, 3, (n, 1))
            X += rng.normal(size=X.shape) * SIZES
            columns = [X[:, 0], X[:, 1], np.arange(start, start + n)]
            writer.write_table(pa.table(columns, schema=schema))


def model() -> NoisyKMeans:
    """Return what is fitted."""
    return NoisyKMeans(3, noise=noise.Gaussian(SIZES), random_state=0)


def warm(folder: Path) -> None:
    """Compile, and load what is loaded once."""
    small = folder / "small.parquet"
    make(small, 20_000)
    model().fit_batches(open_table(small, ["x", "y"]))


def scan(path: Path, *, buffered: bool = False) -> dict[str, float]:
    """Sum two columns with pyarrow, which by default holds them whole, and then takes longer."""
    options = dataset.ParquetFragmentScanOptions(pre_buffer=buffered)
    begin = time.perf_counter()
    total = 0.0
    rows = dataset.dataset(path)
    for batch in rows.to_batches(columns=["x", "y"], fragment_scan_options=options):
        total += compute.sum(batch.column(0)).as_py() + compute.sum(batch.column(1)).as_py()
    return {"seconds": time.perf_counter() - begin}


def fit(path: Path) -> dict[str, Any]:
    """Fit the table, bandwidth and all."""
    warm(path.parent)
    begin = time.perf_counter()
    fitted = model().fit_batches(open_table(path, ["x", "y"]))
    return {"seconds": time.perf_counter() - begin, "centers": fitted.cluster_centers_.tolist()}


def cluster(path: Path, n_workers: int) -> dict[str, Any]:
    """Fit the same as a data frame of Dask, on as many processes."""
    import dask.dataframe as dd  # noqa: PLC0415  not in the memory of the others
    from distributed import Client, LocalCluster  # noqa: PLC0415  the same

    options = {"threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(n_workers, **options) as workers, Client(workers) as client:
        frame = dd.read_parquet(path, columns=["x", "y"], split_row_groups=2)
        client.run(warm, Path(tempfile.mkdtemp()))
        model().fit(frame.partitions[:2])
        begin = time.perf_counter()
        fitted = model().fit(frame)
        return {"seconds": time.perf_counter() - begin, "centers": fitted.cluster_centers_.tolist()}


def constants(path: Path) -> dict[str, Any]:
    """Take what a plan for more machines is made of, on one core."""
    table = open_table(path, ["x", "y"])
    batch = table.read(next(table.parts()))
    box = [batch.X.min(axis=0), batch.X.max(axis=0)]
    grid = Grid.covering(np.array(box), np.ptp(box, axis=0) / 256)
    values, fitted = np.zeros(grid.shape), model().fit_batches([batch.X])
    part, histogram = next(table.parts()), fill(grid, batch.X)
    return {
        "bytes_per_row": table.n_bytes / table.n_rows,
        "decode_ns_per_row": least(lambda: table.read(part)) / batch.n_rows * 1e9,
        "bin_ns_per_row": least(lambda: add_rows(values, grid, batch.X, None)) / batch.n_rows * 1e9,
        "label_ns_per_row": least(lambda: fitted.predict(batch.X)) / batch.n_rows * 1e9,
        "histogram_MB": grid.shape[0] * grid.shape[1] * 8 / 1e6,
        "add_ms": least(lambda: histogram + histogram) * 1e3,
        "fit_s": least(lambda: model().fit_histogram(fitted.histogram_), 5),
    }


def least(action: Callable[[], Any], times: int = 20) -> float:
    """Return the least time on the processor that an action takes, in seconds."""
    action()
    taken = []
    for _ in range(times):
        begin = time.process_time()
        action()
        taken.append(time.process_time() - begin)
    return min(taken)


def measured(what: str, path: Path, *more: str) -> dict[str, Any]:
    """Take a figure in a process of its own."""
    command = [sys.executable, __file__, "--take", what, "--path", str(path), *more]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  itself
    return json.loads(done.stdout)


def fastest(figures: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of the run that took least."""
    return min(figures, key=lambda figure: figure["seconds"])


def report(path: Path, n_rows: int, *, dask: bool) -> None:
    """Print the table."""
    scan(path)  # so that all find the file where the system keeps what was read
    best = fastest(measured("scan", path) for _ in range(3))["seconds"]
    default = fastest(measured("default scan", path) for _ in range(2))["seconds"]
    mine = fastest(measured("fit", path) for _ in range(3))
    print(f"{n_rows:.0e} rows, {path.stat().st_size / 1e9:.2f} GB")
    print(f"pyarrow scans and sums in {best:.2f} s, with its own defaults in {default:.2f} s")
    print(
        f"the fit takes {mine['seconds']:.2f} s, {mine['seconds'] / best:.2f} times as long, "
        f"{n_rows / mine['seconds'] / 1e6:.0f} million rows a second; peak {mine['peak']:.0f} MB"
    )
    for name, value in measured("constants", path).items():
        print(f"{name} {value:.3g}")
    if not dask:
        return
    ones, twos = (
        min(
            (measured("dask", path, "--workers", str(n)) for _ in range(2)),
            key=lambda f: f["seconds"],
        )
        for n in (1, 2)
    )
    apart = np.abs(np.array(twos["centers"]) - mine["centers"]).max()
    print(
        f"Dask: {ones['seconds']:.1f} s on one worker, {twos['seconds']:.1f} s on two: "
        f"{ones['seconds'] / twos['seconds']:.2f} times faster; centers differ by {apart:.1e}"
    )


def main() -> None:
    """Make the table and print, or take one figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--path", type=Path, help="a table that is there, or is kept")
    parser.add_argument("--take", choices=["scan", "default scan", "fit", "dask", "constants"])
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    if given.take:
        takes = {
            "scan": scan,
            "default scan": partial(scan, buffered=True),
            "fit": fit,
            "constants": constants,
            "dask": partial(cluster, n_workers=given.workers),
        }
        figures = takes[given.take](given.path)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**figures, "peak": peak}))
        return
    n_rows = int(given.rows)
    with tempfile.TemporaryDirectory() as folder:
        path = given.path or Path(folder) / "table.parquet"
        if not path.exists():
            make(path, n_rows)
        report(path, n_rows, dask=given.dask)


if __name__ == "__main__":
    main()
