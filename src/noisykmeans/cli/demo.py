"""The verb that compares both methods on the paper's first example."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noisykmeans.cli.output import need_matplotlib, problem, written

if TYPE_CHECKING:
    from noisykmeans.demo import Demo

__all__ = ["demo"]

PICTURE = "noisykmeans-demo.png"
DPI = 110
FORMATS = (".png", ".svg", ".pdf")
LARGEST_SEED = 2**32 - 1  # of scikit-learn


@click.command("demo")
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
def demo(seed: int, out: Path | None, force: bool) -> None:  # noqa: FBT001  a flag of the command
    """Compare k-means and noisy k-means on the paper's example.

    Draws 100 points in two clusters, adds vertical errors of variance 9, and shows what both
    methods find: the centers, and how well they cluster the clean points.

    Example:  noisykmeans demo --seed 1 --out demo.svg
    """
    path = out or Path(PICTURE)
    trouble = problem(path, FORMATS, replace=force or out is None)
    if trouble:
        raise click.BadParameter(trouble, param_hint="'--out'")
    need_matplotlib("the picture needs")
    from noisykmeans.demo import Demo  # noqa: PLC0415

    result = Demo.run(seed)
    # In memory first: a picture is written whole or not at all.
    picture = BytesIO()
    result.figure().savefig(picture, format=path.suffix[1:].lower(), dpi=DPI)
    _print_table(result)
    with written(path):
        path.write_bytes(picture.getvalue())
    click.echo(f"Picture: {path}")


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
