"""All of it: runs, tables, figures and a record of the circumstances, into one folder."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from noisykmeans import __version__
from noisykmeans.experiments import figures, runner
from noisykmeans.experiments.progress import shown
from noisykmeans.experiments.summary import Summary, as_markdown, as_records, summarise
from noisykmeans.experiments.tables import as_csv, run_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noisykmeans.experiments.folder import Folder
    from noisykmeans.experiments.settings import Run, Scope, Settings
    from noisykmeans.experiments.trial import Row

__all__ = ["OUTPUTS", "Cost", "Reproduction", "reproduce"]

OUTPUTS = ("runs", "times", "summary", "environment", *figures.NAMES)
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "matplotlib", "pyarrow")


@dataclass(frozen=True)
class Cost:
    """The mean time of one fit, in seconds, both measured in the same runs.

    Parameters
    ----------
    noisy : float
        Noisy k-means at one pair of bandwidths: the density from the spectrum, Lloyd from one
        start, and its share of binning and of the choice among the pairs.
    plain : float
        ``KMeans(init=start, n_init=1).fit`` on the same points, from the same start.
    """

    noisy: float
    plain: float

    @classmethod
    def of(cls, rows: Sequence[Row], grid: int) -> Cost:
        """Return the means over all runs."""

        def mean(method: str) -> float:
            times = [row.time for row in rows if row.method == method]
            return sum(times) / len(times)

        return cls(mean("noisy k-means") / grid**2, mean("k-means"))


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What came out, and is in the folder.

    Parameters
    ----------
    summaries : list of Summary
        By experiment, u and method.
    cost : Cost
        Of single fits.
    seconds : float
        Wall time of this call.
    """

    summaries: list[Summary]
    cost: Cost
    seconds: float


def reproduce(
    folder: Folder, scope: Scope, settings: Settings, *, workers: int, quiet: bool = True
) -> Reproduction:
    """Do the runs that are not in the folder yet, then write tables and figures.

    Parameters
    ----------
    folder : Folder
        Where; what it holds already is not done again.
    scope, settings : Scope, Settings
        Which runs, and how.
    workers : int
        The number of processes.
    quiet : bool
        Show no progress.
    """
    begin = time.perf_counter()
    wanted = [run for run in scope if run not in folder.finished]
    _do(folder, wanted, settings, workers, total=len(scope), quiet=quiet)
    rows = sorted((row for run in scope for row in folder.finished[run]), key=lambda row: row.key)
    summaries = summarise(rows)
    cost = Cost.of(rows, settings.grid)
    files = run_tables(rows)
    files["summary.csv"] = as_csv(as_records(summaries))
    files["summary.md"] = as_markdown(summaries).encode()
    files |= figures.pictures(rows, summaries, settings)
    for name, content in files.items():
        folder.write(name, content)
    seconds = time.perf_counter() - begin
    record = _environment(scope, settings) | {
        "workers": workers,
        "wall_seconds": round(seconds, 3),
        "runs_in_this_call": len(wanted),
        "seconds_per_fit": {"noisy k-means": cost.noisy, "sklearn.cluster.KMeans": cost.plain},
    }
    folder.write("environment.json", (json.dumps(record, indent=2) + "\n").encode())
    folder.keep_only([*files, "environment.json"], OUTPUTS)
    return Reproduction(summaries, cost, seconds)


def _do(  # noqa: PLR0913  one thought, cut off for its length
    folder: Folder, wanted: list[Run], settings: Settings, workers: int, *, total: int, quiet: bool
) -> None:
    """Do the wanted runs, and keep each as it finishes."""
    if not wanted:
        return
    with (
        closing(runner.results(wanted, settings, min(workers, len(wanted)))) as results,
        shown(total, total - len(wanted), quiet=quiet) as advance,
    ):
        for run, rows in results:
            folder.add(run, rows)
            advance()


def _environment(scope: Scope, settings: Settings) -> dict[str, Any]:
    """Return the versions, the settings, the command line and the machine."""
    versions = {"python": platform.python_version(), "noisykmeans": __version__}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "versions": versions,
        "seed": settings.seed,
        "settings": settings.as_dict(),
        "experiments": list(scope.experiments),
        "u": list(scope.us),
        "runs": scope.runs,
        "command_line": sys.argv,
        "machine": {
            "platform": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _processor() -> str:
    """Return the processor's name, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123  no file of ours
            names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.processor()
