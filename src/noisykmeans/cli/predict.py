"""The verb that gives rows of another table their labels."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisykmeans.cli.output import WrongUse, check_place, plain_errors, told_warnings

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["predict"]

FILE = click.Path(path_type=Path)


@click.command("predict")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option(
    "--columns",
    metavar="A,B,...",
    help="The features, in the order of the fit.  [default: the columns of the fit, by name]",
)
@click.option(
    "--errors",
    default="auto",
    show_default=True,
    metavar="auto|none|A,B,...",
    help="The columns of standard errors, as for fit; --proba and --denoise take them.",
)
@click.option(
    "--proba", is_flag=True, help="Add p0, p1, ...: how probably the true point is in each cell."
)
@click.option("--denoise", is_flag=True, help="Add x_true for x: the estimate of the true point.")
@click.option("--out", type=FILE, help="The labels, .csv or .parquet.  [default: printed]")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_machine", is_flag=True, help="Print the labels as JSON.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def predict(  # noqa: PLR0913  the options of a command
    *,
    model: Path,
    table: Path,
    columns: str | None,
    errors: str,
    proba: bool,
    denoise: bool,
    out: Path | None,
    force: bool,
    as_machine: bool,
    debug: bool,
) -> None:
    """Give the rows of a table their labels.

    Each row of TABLE has the label of its closest center in MODEL, a file of fit --out. A row
    without any value has the label -1. The true point of a row, without its errors, may well be
    in another cell: --proba tells.

    \b
    Example:
      noisykmeans predict model.npz more.csv --proba --out labels.csv
    """
    with plain_errors(debug=debug):
        check_place(out, "--out", (".csv", ".parquet"), force=force)
        from noisykmeans.cli.columns import choose, names_of  # noqa: PLC0415
        from noisykmeans.cli.models import loaded, without_names  # noqa: PLC0415
        from noisykmeans.cli.rows import Rows, opened  # noqa: PLC0415

        fitted = loaded(model)
        opened_table = opened(table)
        names = names_of(columns) if columns else getattr(fitted, "feature_names_in_", None)
        if names is not None and len(names) != fitted.n_features_in_:
            raise WrongUse(
                f"--columns: the model has {fitted.n_features_in_} features; got {len(names)}"
            )
        wanted = None if names is None else list(names)
        taken = errors if proba or denoise else "none"
        chosen = choose(opened_table.numeric, wanted, taken)
        if taken != "none":
            click.echo(f"Errors: {chosen.described()}", err=True)
        rows = Rows.read(opened_table, chosen)
        nameless = without_names(fitted)
        with told_warnings():
            found = {"label": nameless.predict(rows.X)}
            if proba:
                each = nameless.predict_proba(rows.X, X_err=rows.X_err)
                found |= {f"p{j}": share for j, share in enumerate(each.T)}
            if denoise:
                points = nameless.denoise(rows.X, X_err=rows.X_err)
                found |= {
                    f"{name}_true": x for name, x in zip(chosen.features, points.T, strict=True)
                }
        _hand_over(found, out, as_machine=as_machine)


def _hand_over(found: dict[str, NDArray[Any]], out: Path | None, *, as_machine: bool) -> None:
    """Write columns to a file, or print them."""
    if out is not None:
        from noisykmeans.cli.rows import write_columns  # noqa: PLC0415

        write_columns(found, out)
        click.echo(f"Labels: {out}", err=as_machine)
    if as_machine:
        import json  # noqa: PLC0415

        named = {
            "labels" if name == "label" else name: [
                None if isnan(x) else x for x in values.tolist()
            ]
            for name, values in found.items()
        }
        click.echo(json.dumps(named))
    elif out is None:
        click.echo(",".join(found))
        rows = zip(*(column.tolist() for column in found.values()), strict=True)
        click.echo("\n".join(",".join(map(str, row)) for row in rows))
