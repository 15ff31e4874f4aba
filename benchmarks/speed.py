"""How fast is a fit? Every method at every size, as a table and a figure.

    python benchmarks/speed.py                     # everything; about a quarter of an hour
    python benchmarks/speed.py --largest 1000000   # without the largest samples

Times are minima over repetitions. The methods take turns on the same sample, in one process, so
that ratios compare what ran side by side; their spread is that of the ratios of single turns. Peak
memory is what a fit adds to the data, each in a process of its own, at two sizes. A method is
left out from the size on at which it takes more than a minute. Above 10^7 rows the sample comes in
chunks whose histograms are added. The table grows as sizes are done. Extreme deconvolution comes
from astroML, and ``FFTKDE`` from KDEpy, which are not dependencies: ``pip install astroML KDEpy``.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from contenders import BANDWIDTH, FITS, LAW, deconvolved, sample, smoothed, square
from noisykmeans import NoisyKMeans
from noisykmeans.grid import Grid
from noisykmeans.histogram import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCS = Path(__file__).parent.parent / "docs"
CHUNK = 10**7
TURNS = 20
SHAPES = [(2, 3), (1, 3), (3, 3), (2, 2), (2, 10), (2, 50)]  # axes, clusters
MEASURED = (10**5, 10**7)  # sizes whose memory is measured
SUM, OURS = "X.sum()", "noisy k-means, bandwidth given"
FFT_OURS, FFT_PEER = "density step", "FFTKDE"

Row = dict[str, str]


def turns(runs: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """Let every run take its turn, until it has had twenty or its time is over."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(TURNS):
        for name, run in runs.items():
            if not times[name] or sum(times[name]) < seconds:
                start = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - start)
    return times


def compared(n: int, d: int, k: int, times: dict[str, list[float]], unit: str) -> Iterator[Row]:
    """Give a row for each method, with its time over that of the unit."""
    for name, own in times.items():
        both = min(len(own), len(times[unit]))  # turns that they took together
        single = np.array(own[:both]) / np.array(times[unit][:both])
        yield {
            "n": str(n),
            "d": str(d),
            "k": str(k),
            "method": name,
            "seconds": f"{min(own):.3g}",
            "unit": unit,
            "ratio": f"{min(own) / min(times[unit]):.3g}",
            "lowest": f"{single.min():.3g}",
            "highest": f"{single.max():.3g}",
            "turns": str(len(own)),
            "extra_mb": "",
        }


def fits(n: int, d: int, k: int, seconds: float) -> list[Row]:
    """Compare the fits on one sample."""
    X = sample(n, d, k)
    there = {name: fit for name, fit in FITS.items() if fit.there and n * k <= fit.largest}
    for fit in there.values():  # compiles, and loads what is loaded once
        fit.run(X[: max(1000, 10 * k)], k)
    runs = {name: partial(fit.run, X, k) for name, fit in there.items()}
    rows = list(compared(n, d, k, turns(runs, seconds), SUM))
    for row in rows:
        if row["method"] != SUM and (d, k) == SHAPES[0] and n in MEASURED:
            row["extra_mb"] = peak(row["method"], n, d, k)
    return rows


def in_chunks(n: int, d: int, k: int) -> list[Row]:
    """Time the sum and the fit of a sample that comes in chunks."""
    low, high = np.full(d, -20.0), np.full(d, 50.0)
    spacing = 2.0 ** np.floor(np.log2((high - low) / 512))
    grid = Grid(tuple(low), tuple([spacing[0]] * d), (int((high - low)[0] / spacing[0]) + 1,) * d)
    spent = {SUM: 0.0, OURS: 0.0}
    total = fill(grid, np.empty((0, d)))
    for seed in range(n // CHUNK):
        X = sample(CHUNK, d, k, seed)
        start = time.perf_counter()
        X.sum()
        middle = time.perf_counter()
        total = total + fill(grid, X)
        spent[SUM] += middle - start
        spent[OURS] += time.perf_counter() - middle
    start = time.perf_counter()
    model = NoisyKMeans(k, noise=LAW, bandwidth=BANDWIDTH[d], random_state=0)
    model.fit_histogram(total)
    spent[OURS] += time.perf_counter() - start
    return list(compared(n, d, k, {name: [value] for name, value in spent.items()}, SUM))


def density_step(n: int, nodes: int, seconds: float) -> list[Row]:
    """Compare the density on a grid, ours with deconvolution, the peer's without."""
    X = sample(n, 2, 3)
    grid = square(X, nodes)
    runs: dict[str, Callable[[], Any]] = {FFT_OURS: partial(deconvolved, X, grid)}
    try:
        smoothed(X[:1000], grid)
        runs[FFT_PEER] = partial(smoothed, X, grid)
    except ImportError:
        click.echo("KDEpy is not installed: the density step stands alone", err=True)
    deconvolved(X[:1000], grid)
    return list(compared(n, 2, nodes, turns(runs, seconds), FFT_OURS))


def peak(name: str, n: int, d: int, k: int) -> str:
    """Return the megabytes that a fit adds to the data, in a process of its own."""
    command = [sys.executable, __file__, "--peak", name, str(n), str(d), str(k)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def print_peak(name: str, n: int, d: int, k: int) -> None:
    """Print the megabytes that a fit adds to the data."""
    run = FITS[name].run
    run(sample(max(1000, 10 * k), d, k), k)
    X = sample(n, d, k)
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    before = resident("VmHWM")
    run(X, k)
    print(f"{(resident('VmHWM') - before) / 1024:.1f}")


def resident(field: str) -> int:
    """Return a size of this process in kB, as Linux tells it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(field)))


def markdown(rows: list[Row]) -> str:
    """Return the table, one row a method and size."""
    header = ["n", "d", "k", "method", "seconds", "times", "of", "spread", "extra MB"]
    lines = ["| " + " | ".join(header) + " |", "| --- " * len(header) + "|"]
    for row in rows:
        size = f"10^{round(np.log10(int(row['n'])))}"
        spread = f"{row['lowest']} to {row['highest']}" if int(row["turns"]) > 1 else "one turn"
        cells = [size, row["d"], row["k"], row["method"], row["seconds"], row["ratio"]]
        lines.append("| " + " | ".join([*cells, row["unit"], spread, row["extra_mb"]]) + " |")
    return "\n".join(lines) + "\n"


def figure(rows: list[Row], path: Path) -> None:
    """Draw the time of every method against the size of the sample, two axes, three clusters."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    styles = dict(
        zip(
            FITS,
            [
                ("0.4", "x"),
                ("#0072B2", "o"),
                ("#56B4E9", "v"),
                ("#D55E00", "s"),
                ("#E69F00", "^"),
                ("#009E73", "P"),
                ("#CC79A7", "D"),
            ],
            strict=True,
        )
    )
    canvas = Figure(figsize=(7, 4.6), layout="constrained")
    ax = canvas.subplots()
    for name, (colour, marker) in styles.items():
        own = [r for r in rows if (r["method"], r["d"], r["k"]) == (name, "2", "3")]
        if own:
            points = sorted((int(row["n"]), float(row["seconds"])) for row in own)
            ax.plot(*np.transpose(points), color=colour, marker=marker, label=name)
    ax.set(xscale="log", yscale="log", xlabel="observations", ylabel="seconds")
    ax.grid(alpha=0.3)
    if ax.lines:
        canvas.legend(loc="outside right upper", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, dpi=110)


def write(rows: list[Row], out: Path) -> None:
    """Write the table as CSV and Markdown, and the figure."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "speed.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (out / "speed-table.md").write_text(markdown(rows))
    figure(rows, out / "images" / "speed.png")


def parts(largest: int, seconds: float) -> Iterator[list[Row]]:
    """Give the rows of one size after the other."""
    yield density_step(min(10**6, largest), 512 if largest >= 10**6 else 64, seconds)
    for n in 10 ** np.arange(2, 8):
        if n <= largest:
            yield fits(int(n), *SHAPES[0], seconds)
    if largest >= 10 * CHUNK:
        yield in_chunks(10 * CHUNK, *SHAPES[0])
    for d, k in SHAPES[1:]:
        if largest >= 10**5:
            yield fits(10**5, d, k, seconds)


@click.command(help=__doc__)
@click.option("--largest", default=10**8, show_default=True, help="The largest sample.")
@click.option("--seconds", default=5.0, show_default=True, help="For the turns at one size.")
@click.option("--out", default=DOCS, show_default=True, type=click.Path(path_type=Path))
@click.option("--smoke", is_flag=True, help="Tiny samples, to see that all of it runs.")
@click.option("--peak", "alone", type=(str, int, int, int), hidden=True)
def main(  # noqa: D103
    largest: int,
    seconds: float,
    out: Path,
    smoke: bool,  # noqa: FBT001
    alone: tuple[str, int, int, int] | None,
) -> None:
    if alone is not None:
        print_peak(*alone)
        return
    rows: list[Row] = []
    for part in parts(100 if smoke else largest, 0.0 if smoke else seconds):
        rows += part
        write(rows, out)
        click.echo(markdown(part))


if __name__ == "__main__":
    main()
