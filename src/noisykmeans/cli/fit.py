"""The verb that finds the centers of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisykmeans.cli.output import (
    check_place,
    plain_errors,
    print_table,
    say,
    told_warnings,
    written,
)

if TYPE_CHECKING:
    from noisykmeans.cli.columns import Columns
    from noisykmeans.cli.passes import Passes
    from noisykmeans.cli.rows import Rows
    from noisykmeans.estimators import NoisyKMeans
    from noisykmeans.tables import Table

__all__ = ["fit"]

FILE = click.Path(path_type=Path)
LARGEST_SEED = 2**32 - 1  # of scikit-learn


@dataclass(frozen=True)
class _Places:
    """Where results go."""

    out: Path | None
    labels: Path | None
    report: Path | None
    force: bool

    def check(self) -> None:
        """Raise where one cannot be written, before any work is done."""
        check_place(self.out, "--out", (".npz",), force=self.force)
        check_place(self.labels, "--labels", (".csv", ".parquet"), force=self.force)
        check_place(self.report, "--report", (".html", ".htm"), force=self.force)

    def named(self) -> dict[str, str]:
        """Return the files by what they are."""
        all_of_them = {"model": self.out, "labels": self.labels, "report": self.report}
        return {name: str(path) for name, path in all_of_them.items() if path is not None}


@click.command("fit")
@click.argument("table", type=FILE)
@click.option(
    "--clusters",
    "-k",
    required=True,
    metavar="K|A-B",
    help="The number of centers, or a range such as 2-6, whose numbers are compared.",
)
@click.option(
    "--columns", metavar="A,B,...", help="The features.  [default: all columns of numbers]"
)
@click.option(
    "--errors",
    default="auto",
    show_default=True,
    metavar="auto|none|A,B,...",
    help="The columns of standard errors. auto finds x_error, x_err, e_x and sigma_x for a column "
    "x, and says so; names go with the columns in their order, or one is for all.",
)
@click.option(
    "--noise",
    metavar="LAW:NUMBERS",
    help="The law of errors that all rows share, one number or one for each column: "
    "gaussian:0,2.6, laplace:0.5, uniform:0.5, cauchy:0.1, student:4,0.5; sums with +. It adds "
    "to the errors of columns.",
)
@click.option("--weights", metavar="COLUMN", help="The column of weights.")
@click.option("--drop-missing", is_flag=True, help="Leave out rows without a value.")
@click.option(
    "--method",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "em", "kernel"]),
    help="The deconvolution: maximum likelihood or the paper's estimator.",
)
@click.option(
    "--bootstrap",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="From how many resampled fits the standard errors of the centers are found; 50 tell "
    "enough. 0 leaves them out.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, LARGEST_SEED))
@click.option("--out", type=FILE, help="The model, .npz, for predict and show.")
@click.option("--labels", type=FILE, help="The label of each row, .csv or .parquet.")
@click.option("--report", type=FILE, help="A page with pictures and tables, .html.")
@click.option(
    "--in-memory", is_flag=True, help="Read a large table at once, too, and not in batches."
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--json", "as_machine", is_flag=True, help="Print JSON, and all else as errors.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def fit(  # noqa: PLR0913  the options of a command
    *,
    table: Path,
    columns: str | None,
    errors: str,
    weights: str | None,
    out: Path | None,
    labels: Path | None,
    report: Path | None,
    force: bool,
    as_machine: bool,
    debug: bool,
    **options: Any,
) -> None:
    """Find the centers of a table.

    TABLE is a file of CSV, Parquet or Arrow, or a folder of such files. It may have columns with
    the standard error of each value, or all rows share one law of errors, --noise. Without either
    it is k-means. Rows without a value are used for what they have, where there are errors.

    A table of more than 8 million numbers is read in batches, with the same centers. Then rows
    must be complete and errors known; numbers of clusters are compared on a fair sample.

    \b
    Example, for stars.csv with the columns x, y, x_err and y_err:
      noisykmeans fit stars.csv --clusters 3 --report stars.html
    """
    places = _Places(out, labels, report, force)
    with plain_errors(debug=debug):
        places.check()
        from noisykmeans.cli.rows import opened  # noqa: PLC0415

        reading = {name: options.pop(name) for name in ("drop_missing", "in_memory")}
        model, numbers = _model(**options)
        opened_table = opened(table)
        chosen = _chosen(opened_table, columns, errors, weights)
        say(f"Columns: {', '.join(chosen.features)}", json=as_machine)
        say(f"Errors: {chosen.described()}", json=as_machine)
        exact = chosen.without_errors
        if columns is None and exact:
            rest = ",".join(name for name in chosen.features if name not in exact)
            say(
                f"Taken as features without error: {', '.join(exact)}. If they are none: "
                f"--columns {rest}",
                json=as_machine,
            )
        rows = _read(opened_table, chosen, weights, model, quiet=as_machine, **reading)
        if out is not None:
            from noisykmeans.persistence import check_savable  # noqa: PLC0415

            check_savable(model)
        with told_warnings() as told:
            if len(numbers) > 1:
                from noisykmeans.cli.counts import compare  # noqa: PLC0415

                say(compare(model, rows.some(), numbers), json=as_machine)
            rows.fit(model, chosen)
        result = _Result(model, chosen, rows, told)
        result.write(places, table)
        if as_machine:
            result.print_json(places)
        else:
            result.print_table(places)


def _model(
    *, clusters: str, noise: str | None, method: str, bootstrap: int, seed: int
) -> tuple[NoisyKMeans, list[int]]:
    """Return the model that is asked for, and the numbers of clusters to be compared."""
    from noisykmeans.cli.counts import parse_numbers  # noqa: PLC0415
    from noisykmeans.cli.laws import parse_law  # noqa: PLC0415

    numbers = parse_numbers(clusters)
    law = None if noise is None else parse_law(noise)
    from noisykmeans.estimators import NoisyKMeans  # noqa: PLC0415

    options: dict[str, Any] = {
        "deconvolution": method,
        "n_bootstrap": bootstrap,
        "random_state": seed,
    }
    return NoisyKMeans(numbers[0], noise=law, **options), numbers


def _chosen(table: Table, columns: str | None, errors: str, weights: str | None) -> Columns:
    """Return the features and their columns of errors."""
    from noisykmeans.cli.columns import check_known, choose, names_of  # noqa: PLC0415

    if weights is not None:
        check_known("--weights", [weights], table.numeric)
    numeric = [name for name in table.numeric if name != weights]
    words = [name for name in table.available if name not in table.numeric]
    return choose(numeric, names_of(columns) if columns else None, errors, words)


def _read(  # noqa: PLR0913  the options of a command
    table: Table,
    columns: Columns,
    weights: str | None,
    model: NoisyKMeans,
    *,
    drop_missing: bool,
    in_memory: bool,
    quiet: bool,
) -> Rows | Passes:
    """Return the rows as the fit takes them: all at once, or in batches where they are many."""
    from noisykmeans.cli.passes import Passes, is_large  # noqa: PLC0415
    from noisykmeans.cli.rows import Rows  # noqa: PLC0415

    if not in_memory and is_large(table, columns, weights):
        passes = Passes.over(table, columns, weights, drop=drop_missing, quiet=quiet)
        passes.check(model)
        return passes
    rows = Rows.read(table, columns, weights, drop=drop_missing)
    rows.check(columns, with_errors=model.noise is not None or rows.X_err is not None)
    return rows


@dataclass(frozen=True, eq=False)
class _Result:
    """A fit, and what is told of it."""

    model: NoisyKMeans
    columns: Columns
    rows: Rows | Passes
    warnings: list[str]

    def write(self, places: _Places, table: Path) -> None:
        """Write the files that are wanted."""
        if places.out is not None:
            with written(places.out):
                self.model.save(places.out)
        if places.labels is not None:
            from noisykmeans.cli.sheets import write_columns  # noqa: PLC0415

            labels = self.rows.labels(self.model)
            write_columns(({"label": each} for each in labels), places.labels)
        if places.report is not None:
            from noisykmeans.report import write  # noqa: PLC0415

            facts = {"File": str(table), "Columns of errors": self.columns.described()}
            if not hasattr(self.model, "labels_"):
                facts["Observations"] = f"{self.rows.n_kept:,}"
            if self.warnings:
                facts["Warnings"] = "; ".join(self.warnings)
            title = f"{table.name}: {_counted(len(self.model.cluster_centers_), 'cluster')}"
            with written(places.report):
                write(
                    self.model,
                    places.report,
                    self.rows.drawn(),
                    title=title,
                    facts=facts,
                    overwrite=places.force,
                )

    def print_table(self, places: _Places) -> None:
        """Print the centers, and where the files are."""
        from noisykmeans.cli.summary import as_rows  # noqa: PLC0415

        lost = self.rows.n_lost
        title = _counted(len(self.model.cluster_centers_), "cluster")
        title += f", {_counted(self.rows.n_kept, 'row')}"
        title += f" ({lost:,} left out)" if lost else ""
        print_table(title, *as_rows(self.model))
        for name, path in places.named().items():
            click.echo(f"{name.capitalize()}: {path}")

    def print_json(self, places: _Places) -> None:
        """Print all that is known, for programs."""
        import json  # noqa: PLC0415

        from noisykmeans.cli.summary import as_json  # noqa: PLC0415

        columns = self.columns
        errors = dict(zip(columns.features, columns.errors, strict=True))
        more = {
            "rows": self.rows.n_kept,
            "left_out": self.rows.n_lost,
            "columns": list(columns.features),
            "errors": errors if columns.has_errors else None,
            "files": places.named(),
            "warnings": self.warnings,
        }
        click.echo(json.dumps({**as_json(self.model), **more}))


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
