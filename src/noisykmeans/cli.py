"""The command line: thin verbs. What they need loads inside them, so that help answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from noisykmeans import __version__

if TYPE_CHECKING:
    from noisykmeans.demo import Demo

__all__ = ["main"]

PICTURE = "noisykmeans-demo.png"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noisykmeans")
def main() -> None:
    """k-means for data with measurement errors.

    Example:  noisykmeans demo --seed 1
    """


@main.command("demo")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
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
    if path.suffix not in {".png", ".svg", ".pdf"}:
        raise click.BadParameter(f"{path} must end in .png, .svg or .pdf", param_hint="--out")
    if out is not None and out.exists() and not force:
        raise click.BadParameter(f"{out} exists: give --force to replace it", param_hint="--out")
    if not path.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}", param_hint="--out")
    try:
        import matplotlib as mpl  # noqa: PLC0415  an extra

        del mpl
    except ImportError as error:
        raise click.ClickException(
            "the picture needs matplotlib: pip install 'noisykmeans[plot]'"
        ) from error
    from noisykmeans.demo import Demo  # noqa: PLC0415

    result = Demo.run(seed)
    _print_table(result)
    try:
        result.figure().savefig(path, dpi=150)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
    click.echo(f"picture: {path}")


def _print_table(result: Demo) -> None:
    """Print the demo's table."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=f"Mod1(9), 100 points, seed {result.seed}")
    table.add_column("method")
    table.add_column("centers", no_wrap=True)
    table.add_column("clustering risk", justify="right")
    table.add_column("distortion", justify="right")
    for row in result.rows():
        centers = "  ".join(f"({x:.2f}, {y:.2f})" for x, y in row.centers)
        table.add_row(row.method, centers, f"{row.risk:.3f}", f"{row.distortion:.2f}")
    Console().print(table)
    click.echo(
        "Risk and distortion are those of the clean points, which neither method has seen.\n"
        "True centers: (0, 0) and (5, 0)."
    )
