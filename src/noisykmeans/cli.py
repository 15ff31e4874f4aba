"""The command line: thin verbs. What they need loads inside them, so that help answers at once."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisykmeans import __version__

if TYPE_CHECKING:
    from noisykmeans.demo import Demo

__all__ = ["main"]

PICTURE = "noisykmeans-demo.png"
DPI = 110
FORMATS = (".png", ".svg", ".pdf")
LARGEST_SEED = 2**32 - 1  # of scikit-learn
COUNT = click.IntRange(1)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noisykmeans")
def main() -> None:
    """k-means for data with measurement errors.

    Example:  noisykmeans demo --seed 1
    """


@main.command("demo")
@click.option(
    "--seed",
    default=2,
    show_default=True,
    type=click.IntRange(0, LARGEST_SEED - 1),
    help="Of the data and of both fits.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The picture: .png, .svg or .pdf.  [default: {PICTURE}, written anew each time]",
)
@click.option("--force", is_flag=True, help="Replace the file of --out if it exists.")
def _demo(seed: int, out: Path | None, force: bool) -> None:  # noqa: FBT001  a flag of the command
    """Compare k-means and noisy k-means on the paper's example.

    Draws 100 points in two clusters, adds vertical errors of variance 9, and shows what both
    methods find: the centers, and how well they cluster the clean points.

    Example:  noisykmeans demo --seed 1 --out demo.svg
    """
    path = out or Path(PICTURE)
    problem = _problem(path, replace=force or out is None)
    if problem:
        raise click.BadParameter(problem, param_hint="'--out'")
    _need_matplotlib("the picture needs")
    from noisykmeans.demo import Demo  # noqa: PLC0415

    result = Demo.run(seed)
    # In memory first: a picture is written whole or not at all.
    picture = BytesIO()
    result.figure().savefig(picture, format=path.suffix[1:].lower(), dpi=DPI)
    _print_table(result)
    try:
        path.write_bytes(picture.getvalue())
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
    click.echo(f"Picture: {path}")


@main.command("reproduce")
@click.argument("experiment", type=click.Choice(["mod1", "mod2", "all"]))
@click.option(
    "--out",
    default="reproduction",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for tables and figures.",
)
@click.option("--runs", default=100, show_default=True, type=COUNT, help="Data sets for each u.")
@click.option("--u", "us", multiple=True, type=click.IntRange(1, 10), help="Only this u; repeat.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of everything.")
@click.option("--workers", type=COUNT, help="Processes.  [default: one for each core]")
@click.option("--resume", is_flag=True, help="Go on with the runs in the folder.")
@click.option("--overwrite", is_flag=True, help="Delete the runs in the folder.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
@click.option("--grid", default=20, show_default=True, type=COUNT, help="Bandwidths on each axis.")
@click.option(
    "--bandwidths",
    metavar="LOW HIGH",
    nargs=2,
    default=(0.5, 3.0),
    show_default=True,
    type=float,
    help="The smallest and the largest of the bandwidths.",
)
@click.option(
    "--window",
    default="cubic",
    show_default=True,
    type=click.Choice(["cubic", "flat-top", "sinc", "gaussian"]),
    help="The Fourier transform of the kernel.",
)
@click.option("--nodes", default=96, show_default=True, type=int, help="Nodes on each axis.")
@click.option(
    "--starts",
    default="box",
    show_default=True,
    type=click.Choice(["box", "points"]),
    help="Random centers: uniform in the box of the data, or k points of the data.",
)
@click.option(
    "--repair",
    default="raw",
    show_default=True,
    type=click.Choice(["raw", "clipped", "projected"]),
    help="Run Lloyd on the signed estimate, as in the paper, or on a density.",
)
def _reproduce(  # noqa: PLR0913  the options of a command
    *,
    experiment: str,
    out: Path,
    runs: int,
    us: tuple[int, ...],
    workers: int | None,
    resume: bool,
    overwrite: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run the paper's experiments as printed, and draw its figures.

    EXPERIMENT is mod1, mod2 or all. Each run is kept as soon as it is finished: a
    reproduction that was stopped goes on with --resume, and more --runs are added to
    those that are there.

    Example:  noisykmeans reproduce all --runs 5 --grid 4
    """
    if resume and overwrite:
        raise click.UsageError("--resume keeps the runs that --overwrite deletes: give one of them")
    _need_matplotlib("the figures need")
    from noisykmeans.experiments.session import run  # noqa: PLC0415
    from noisykmeans.experiments.settings import EXPERIMENTS, Scope, Settings  # noqa: PLC0415

    names = tuple(EXPERIMENTS) if experiment == "all" else (experiment,)
    try:
        settings = Settings(**options)
        scope = Scope(names, runs, us or Scope().us)
        settings.check(scope)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    run(out, scope, settings, workers=workers, resume=resume, overwrite=overwrite, quiet=quiet)


def _need_matplotlib(what: str) -> None:
    """Raise where matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  an extra
    except ImportError as error:
        raise click.ClickException(f"{what} matplotlib: pip install 'noisykmeans[plot]'") from error
    del mpl


def _problem(path: Path, *, replace: bool) -> str | None:
    """Say why a picture cannot be written there, before any work is done."""
    folder = path.absolute().parent
    if path.suffix.lower() not in FORMATS:
        return f"{path} must end in .png, .svg or .pdf"
    if path.is_dir():
        return f"{path} is a folder"
    if path.exists() and not replace:
        return f"{path} exists: give --force to replace it"
    if not folder.is_dir():
        return f"there is no folder {path.parent}"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return f"no permission to write {path.absolute()}: choose another place with --out"
    return None


def _print_table(result: Demo) -> None:
    """Print the demo's table."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=f"Mod1(9), 100 points, seed {result.seed}")
    table.add_column("method")
    table.add_column("centers", no_wrap=True)
    table.add_column("risk", justify="right")
    table.add_column("distortion", justify="right")
    for row in result.rows():
        centers = "  ".join(f"({x:.2f}, {y:.2f})" for x, y in row.centers)
        table.add_row(row.method, centers, f"{row.risk:.3f}", f"{row.distortion:.2f}")
    Console().print(table)
    click.echo(
        "True centers: (0, 0) and (5, 0). The clean points, which neither method has\n"
        "seen, judge both: risk is the share put into the wrong cluster, distortion\n"
        "the mean squared distance to the closest center. Other samples: --seed 3, ..."
    )
