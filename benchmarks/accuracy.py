"""How good are the centers? Every method on every setting, as a table and a figure.

    python benchmarks/accuracy.py                  # everything; hours, mostly the peers'
    python benchmarks/accuracy.py --methods default --settings "Mod1(9)" --sets 20

Runs are kept in ``--runs``; what is there is not run again. The tables of ``docs/accuracy.md`` are
written anew from all of them: behind a method the number of data sets, and over the data sets of
a setting, the number of failures (more than a fifth of the clean points misplaced), the mean
risk, and the distortion ratio: the mean squared distance of 20,000 fresh clean points to the
centers, over that of k-means on the data set's own clean points. Extreme deconvolution comes from
astroML, which is not a dependency: ``pip install astroML``.
"""

from __future__ import annotations

import csv
import re
import time
from collections import defaultdict
from pathlib import Path

import click
import joblib
import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from methods import METHODS, kmeans_clean
from noisykmeans.metrics import clean_distortion, clustering_risk
from settings import SETTINGS

FIELDS = ["setting", "method", "replicate", "risk", "ratio", "seconds"]
FAILURE = 0.2
DOCS = Path(__file__).parent.parent / "docs"
PEERS = [
    "k-means on Z",
    "Gaussian mixture on Z",
    "extreme deconvolution",
    "moment correction",
    "kernel, oracle",
    "default",
]
RULES = [
    "kernel, oracle",
    "kernel, renoise",
    "kernel, lepski",
    "kernel, cv",
    "kernel, rate",
    "em, renoise",
    "default",
]
EMPTY_PAGE = "\n".join(f"<!-- begin: {n} -->\n<!-- end: {n} -->" for n in ("peers", "rules"))
RUNS = Path(__file__).parent / "results" / "accuracy-runs.csv"


def run(setting: str, method: str, replicate: int) -> dict[str, str]:
    """Run a method on one data set."""
    problem = SETTINGS[setting].problem(replicate)
    start = time.perf_counter()
    centers = METHODS[method](problem)
    seconds = time.perf_counter() - start
    limit = clean_distortion(kmeans_clean(problem), problem.fresh)
    values = (
        clustering_risk(centers, problem.X, problem.y),
        clean_distortion(centers, problem.fresh) / limit,
        seconds,
    )
    return dict(
        zip(FIELDS, [setting, method, str(replicate), *map("{:.6g}".format, values)], strict=True)
    )


def read(path: Path) -> dict[tuple[str, str, int], dict[str, str]]:
    """Read the runs made so far."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["seconds"]]
    return {(row["setting"], row["method"], int(row["replicate"])): row for row in rows}


def summarise(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return failures, mean risk and mean ratio for each setting and method."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["setting"], row["method"]].append(row)
    table = []
    for setting in SETTINGS:
        for method in METHODS:
            group = groups.get((setting, method), [])
            if not group:
                continue
            risk, ratio, seconds = (
                np.array([float(row[name]) for row in group])
                for name in ("risk", "ratio", "seconds")
            )
            table.append(
                {
                    "setting": setting,
                    "method": method,
                    "sets": str(len(group)),
                    "failures": str((risk > FAILURE).sum()),
                    "risk": f"{risk.mean():.4f}",
                    "ratio": f"{ratio.mean():.3f}",
                    "ratio_se": f"{ratio.std() / np.sqrt(len(group)):.3f}",
                    "median_seconds": f"{np.median(seconds):.4f}",
                }
            )
    return table


def markdown(table: list[dict[str, str]], methods: list[str] | tuple[str, ...]) -> str:
    """Return one row a setting, one column a method: ratio, and failures where there are any."""
    cells = {(row["setting"], row["method"]): row for row in table}
    methods = [m for m in methods if any(row["method"] == m for row in table)]
    heads = [f"{m} ({_sets(table, m)})" for m in methods]
    lines = ["| setting | " + " | ".join(heads) + " |", "| --- " * (len(methods) + 1) + "|"]
    for setting in SETTINGS:
        if not any(row["setting"] == setting for row in table):
            continue
        texts = [_text(cells.get((setting, method))) for method in methods]
        lines.append(f"| {setting} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def _sets(table: list[dict[str, str]], method: str) -> str:
    """Return the number of data sets that a method was run on."""
    return "-".join(sorted({row["sets"] for row in table if row["method"] == method}, key=int))


def _text(row: dict[str, str] | None) -> str:
    """Return the ratio, with the share of failures behind it."""
    if row is None:
        return ""
    share = int(row["failures"]) / int(row["sets"])
    return f"{row['ratio']} ({share:.0%})" if share else row["ratio"]


def figure(table: list[dict[str, str]], path: Path) -> None:
    """Draw the distortion ratio of the main methods on every setting."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    shown = {
        "k-means on Z": ("#D55E00", "s"),
        "Gaussian mixture on Z": ("#E69F00", "^"),
        "extreme deconvolution": ("#CC79A7", "D"),
        "moment correction": ("#56B4E9", "v"),
        "default": ("#0072B2", "o"),
    }
    names = [s for s in SETTINGS if any(row["setting"] == s for row in table)]
    canvas = Figure(figsize=(9, 0.27 * len(names) + 1.3), layout="constrained")
    ax = canvas.subplots()
    for method, (colour, marker) in shown.items():
        points = [
            (float(r["ratio"]), names.index(r["setting"])) for r in table if r["method"] == method
        ]
        if points:
            label = "noisy k-means, default" if method == "default" else method
            ax.scatter(
                *np.transpose(points), color=colour, marker=marker, label=label, s=28, zorder=3
            )
    ax.set(
        xscale="log", xlabel="distortion of fresh clean points / that of k-means on clean points"
    )
    ax.set_xticks([1, 1.1, 1.2, 1.5, 2, 3, 5], ["1", "1.1", "1.2", "1.5", "2", "3", "5"])
    ax.xaxis.minorticks_off()
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    ax.axvline(1, color="0.4", linewidth=1)
    canvas.legend(loc="outside upper center", ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, dpi=110)


def write(rows: list[dict[str, str]], out: Path) -> None:
    """Write the table as CSV and Markdown, and the figure."""
    table = summarise(rows)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "accuracy.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    figure(table, out / "images" / "accuracy.png")
    page = out / "accuracy.md"
    text = page.read_text() if page.exists() else EMPTY_PAGE
    for name, methods in {"peers": PEERS, "rules": RULES}.items():
        text = re.sub(
            f"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->)",
            lambda m, methods=methods: m[1] + markdown(table, methods) + m[2],
            text,
            flags=re.DOTALL,
        )
    page.write_text(text)


@click.command(help=__doc__)
@click.option("--sets", default=100, show_default=True, help="Data sets for each setting.")
@click.option("--methods", multiple=True, type=click.Choice(list(METHODS)))
@click.option("--settings", multiple=True, type=click.Choice(list(SETTINGS)))
@click.option("--workers", default=joblib.cpu_count(), show_default=True)
@click.option("--runs", default=RUNS, show_default=True, type=click.Path(path_type=Path))
@click.option("--out", default=DOCS, show_default=True, type=click.Path(path_type=Path))
@click.option("--anew", is_flag=True, help="Run the named methods again.")
def main(  # noqa: D103, PLR0913, PLR0917
    sets: int,
    methods: tuple[str, ...],
    settings: tuple[str, ...],
    workers: int,
    runs: Path,
    out: Path,
    anew: bool,  # noqa: FBT001
) -> None:
    done = read(runs)
    wanted = [
        (setting, method, replicate)
        for method in methods or METHODS
        for setting in settings or SETTINGS
        for replicate in range(sets)
    ]
    missing = wanted if anew else [key for key in wanted if key not in done]
    runs.parent.mkdir(parents=True, exist_ok=True)
    jobs = (joblib.delayed(run)(*key) for key in missing)
    parallel = joblib.Parallel(workers, return_as="generator_unordered", inner_max_num_threads=1)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    new = not runs.exists()
    with Progress(*columns, TimeRemainingColumn()) as bar, runs.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        task = bar.add_task("accuracy", total=len(missing))
        for row in parallel(jobs):
            writer.writerow(row)
            file.flush()
            bar.update(task, advance=1, description=f"{row['method']}, {row['setting']}")
    rows = list(read(runs).values())
    if not rows:
        raise click.ClickException("there are no runs: name fewer --settings or --methods")
    write(rows, out)
    shown = [row for row in summarise(rows) if row["setting"] in (settings or SETTINGS)]
    click.echo(markdown(shown, methods or tuple(METHODS)))


if __name__ == "__main__":
    main()
