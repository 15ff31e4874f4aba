"""The verb that gives rows of another table their labels."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisykmeans.cli.output import WrongUse, check_place, plain_errors, told_warnings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from noisykmeans.batches import Batch
    from noisykmeans.cli.columns import Columns
    from noisykmeans.cli.passes import Passes
    from noisykmeans.cli.rows import Rows
    from noisykmeans.estimators import NoisyKMeans
    from noisykmeans.tables import Table

    Sheet = dict[str, NDArray[Any]]

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
@click.option(
    "--in-memory", is_flag=True, help="Read a large table at once, too, and not in batches."
)
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
    in_memory: bool,
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
        from noisykmeans.cli.passes import is_large  # noqa: PLC0415
        from noisykmeans.cli.rows import opened  # noqa: PLC0415

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
        ask = _Asked(without_names(fitted), chosen, proba, denoise)
        if not in_memory and is_large(opened_table, chosen):
            ask.answer_in_batches(opened_table, out, as_machine=as_machine)
        else:
            ask.answer_at_once(opened_table, out, as_machine=as_machine)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is to be told of rows."""

    model: NoisyKMeans
    columns: Columns
    proba: bool
    denoise: bool

    def of(self, rows: Rows | Batch) -> Sheet:
        """Return the columns that are asked for."""
        found = {"label": self.model.predict(rows.X)}
        if self.proba:
            each = self.model.predict_proba(rows.X, X_err=rows.X_err)
            found |= {f"p{j}": share for j, share in enumerate(each.T)}
        if self.denoise:
            points = self.model.denoise(rows.X, X_err=rows.X_err)
            names = self.columns.features
            found |= {f"{name}_true": x for name, x in zip(names, points.T, strict=True)}
        return found

    def answer_at_once(self, table: Table, out: Path | None, *, as_machine: bool) -> None:
        """Write or print the columns of all rows."""
        from noisykmeans.cli.rows import Rows  # noqa: PLC0415

        rows = Rows.read(table, self.columns)
        with told_warnings():
            found = self.of(rows)
        if not as_machine:
            _hand_over([found], out)
            return
        if out is not None:
            _write([found], out, as_machine=True)
        _print_json(found)

    def answer_in_batches(self, table: Table, out: Path | None, *, as_machine: bool) -> None:
        """Write or print the columns of some rows after the others."""
        from noisykmeans.cli.passes import Passes  # noqa: PLC0415

        passes = Passes.over(table, self.columns, all_rows=True, quiet=out is None)
        if as_machine:
            raise WrongUse(
                f"--json prints all labels at once, and {passes.why}: give --out labels.csv or "
                f".parquet without --json, or --in-memory"
            )
        with told_warnings():
            _hand_over(self._each(passes), out)

    def _each(self, passes: Passes) -> Iterator[Sheet]:
        with passes.shown("labels") as source:
            yield from map(self.of, source)


def _hand_over(sheets: Iterable[Sheet], out: Path | None) -> None:
    """Write columns to a file, or print them."""
    if out is not None:
        _write(sheets, out)
        return
    from noisykmeans.cli.sheets import as_lines  # noqa: PLC0415

    for lines in as_lines(sheets):
        click.echo(lines)


def _write(sheets: Iterable[Sheet], out: Path, *, as_machine: bool = False) -> None:
    from noisykmeans.cli.sheets import write_columns  # noqa: PLC0415

    write_columns(sheets, out)
    click.echo(f"Labels: {out}", err=as_machine)


def _print_json(found: Sheet) -> None:
    """Print columns for programs."""
    import json  # noqa: PLC0415

    named = {
        "labels" if name == "label" else name: [None if isnan(x) else x for x in values.tolist()]
        for name, values in found.items()
    }
    click.echo(json.dumps(named))
