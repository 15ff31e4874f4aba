"""The verb that tells what is in a model's file."""

from __future__ import annotations

from pathlib import Path

import click

from noisykmeans.cli.output import check_place, plain_errors, print_table, written

__all__ = ["show"]

FILE = click.Path(path_type=Path)


@click.command("show")
@click.argument("model", type=FILE)
@click.option("--report", type=FILE, help="A page with pictures and tables, .html.")
@click.option("--force", is_flag=True, help="Replace a page that exists.")
@click.option("--json", "as_machine", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def show(*, model: Path, report: Path | None, force: bool, as_machine: bool, debug: bool) -> None:
    """Tell what is in a model's file.

    The centers, how they were found, and the settings of MODEL, a file of fit --out.

    \b
    Example:
      noisykmeans show model.npz
    """
    with plain_errors(debug=debug):
        check_place(report, "--report", (".html", ".htm"), force=force)
        from noisykmeans.cli.models import loaded  # noqa: PLC0415
        from noisykmeans.cli.summary import as_json, as_rows  # noqa: PLC0415
        from noisykmeans.report.tables import findings  # noqa: PLC0415

        fitted = loaded(model)
        if report is not None:
            with written(report):
                fitted.report(report, title=model.name, overwrite=force)
        if as_machine:
            import json  # noqa: PLC0415

            settings = {k: repr(v) for k, v in fitted.get_params(deep=False).items()}
            click.echo(json.dumps({**as_json(fitted), "settings": settings}))
            return
        print_table(model.name, *as_rows(fitted))
        for name, value in findings(fitted).items():
            click.echo(f"{name}: {value}")
        click.echo(f"Settings: {' '.join(repr(fitted).split())}")
        if report is not None:
            click.echo(f"Report: {report}")
