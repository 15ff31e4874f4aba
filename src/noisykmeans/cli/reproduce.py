"""The verb that runs the paper's experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from noisykmeans.cli.output import need_matplotlib

__all__ = ["reproduce"]

COUNT = click.IntRange(1)


@click.command("reproduce")
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
def reproduce(  # noqa: PLR0913  the options of a command
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
    need_matplotlib("the figures need")
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
