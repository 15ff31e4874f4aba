"""The verb that gives rows of another table their labels."""

from __future__ import annotations

from pathlib import Path

import click

from noisykmeans.cli.output import WrongUse, check_place, plain_errors, told_warnings

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
@click.option("--out", type=FILE, help="The labels, .csv or .parquet.  [default: printed]")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_machine", is_flag=True, help="Print the labels as JSON.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def predict(  # noqa: PLR0913  the options of a command
    *,
    model: Path,
    table: Path,
    columns: str | None,
    out: Path | None,
    force: bool,
    as_machine: bool,
    debug: bool,
) -> None:
    """Give the rows of a table their labels.

    Each row of TABLE has the label of its closest center in MODEL, a file of fit --out. A row
    without any value has the label -1.

    \b
    Example:
      noisykmeans predict model.npz more.csv --out labels.csv
    """
    with plain_errors(debug=debug):
        check_place(out, "--out", (".csv", ".parquet"), force=force)
        from noisykmeans.cli.columns import choose, names_of  # noqa: PLC0415
        from noisykmeans.cli.models import loaded, without_names  # noqa: PLC0415
        from noisykmeans.cli.rows import Rows, opened, write_columns  # noqa: PLC0415

        fitted = loaded(model)
        opened_table = opened(table)
        names = names_of(columns) if columns else getattr(fitted, "feature_names_in_", None)
        if names is not None and len(names) != fitted.n_features_in_:
            raise WrongUse(
                f"--columns: the model has {fitted.n_features_in_} features; got {len(names)}"
            )
        chosen = choose(opened_table.numeric, None if names is None else list(names), "none")
        rows = Rows.read(opened_table, chosen)
        with told_warnings():
            labels = without_names(fitted).predict(rows.X)
        if out is not None:
            write_columns({"label": labels}, out)
            click.echo(f"Labels: {out}", err=as_machine)
        if as_machine:
            import json  # noqa: PLC0415

            click.echo(json.dumps({"labels": labels.tolist()}))
        elif out is None:
            click.echo("\n".join(map(str, ["label", *labels.tolist()])))
