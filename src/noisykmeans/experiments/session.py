"""A reproduction at the command line: its errors, its end by hand, and what it prints."""

from __future__ import annotations

import signal
import sys
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

import click
import joblib

from noisykmeans.experiments.experiment import FAILURE
from noisykmeans.experiments.folder import Folder
from noisykmeans.experiments.methods import METHODS
from noisykmeans.experiments.reproduction import OUTPUTS, Reproduction, reproduce
from noisykmeans.experiments.settings import EXPERIMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from noisykmeans.experiments.settings import Scope, Settings

__all__ = ["run"]

INTERRUPTED = 128 + signal.SIGINT  # the exit code that shells use


def run(  # noqa: PLR0913  the command's flags
    out: Path,
    scope: Scope,
    settings: Settings,
    *,
    workers: int | None,
    resume: bool,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Reproduce into a folder, and tell what came of it or what went wrong.

    Parameters
    ----------
    out : Path
        The folder.
    scope, settings : Scope, Settings
        Which runs, and how.
    workers : int or None
        The number of processes, one for each core if None.
    resume, overwrite, quiet : bool
        The flags of the command.
    """
    try:
        folder = Folder(out, settings, resume=resume, overwrite=overwrite)
    except (ValueError, OSError) as error:
        raise click.BadParameter(_told(error, out), param_hint="'--out'") from error
    with folder:
        if overwrite:
            folder.keep_only((), OUTPUTS)
        try:
            with _termination_as_interrupt():
                result = reproduce(
                    folder, scope, settings, workers=workers or joblib.cpu_count(), quiet=quiet
                )
        except KeyboardInterrupt:
            click.echo(f"Stopped. {_kept(folder, scope)}", err=True)
            sys.exit(INTERRUPTED)
        except BrokenProcessPool as error:
            raise click.ClickException(
                f"a worker process has died, perhaps for want of memory. {_kept(folder, scope)}"
            ) from error
        except OSError as error:
            raise click.ClickException(
                f"cannot write to {out}: {error.strerror or error}. {_kept(folder, scope)}"
            ) from error
    if not quiet:
        _print(result, out)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Stop on SIGTERM, which batch systems send, as on an interrupt from the keyboard."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _told(error: Exception, out: Path) -> str:
    """Return the message of an error, in the command's words."""
    if isinstance(error, OSError) and error.strerror:
        return f"cannot write to {out}: {error.strerror}"
    return str(error)


def _kept(folder: Folder, scope: Scope) -> str:
    done = sum(one in folder.finished for one in scope)
    return f"{done} of {len(scope)} runs are kept: the same command with --resume goes on."


def _print(result: Reproduction, out: Path) -> None:
    """Print the failures, what a fit costs, and where everything is."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    for name, rows in groupby(result.summaries, key=lambda summary: summary.experiment):
        same = list(rows)
        title = f"{EXPERIMENTS[name].title}: failures in {same[0].runs} runs (risk > {FAILURE:g})"
        table = Table("u", title=title, title_justify="left")
        for method in METHODS:
            table.add_column(method, justify="right")
        for u, row in groupby(same, key=lambda summary: summary.u):
            table.add_row(str(u), *(str(summary.failures) for summary in row))
        Console().print(table)
    verdicts = [summary.verdict for summary in result.summaries if summary.verdict]
    if verdicts:
        agree = verdicts.count("agree")
        click.echo(f"The paper's words on failures: {agree} of {len(verdicts)} agree.")
    noisy, plain = 1000 * result.cost.noisy, 1000 * result.cost.plain
    click.echo(
        f"One fit took {noisy:.2f} ms with noisy k-means, {plain:.2f} ms with KMeans.\n"
        f"Tables and figures: {out} ({result.seconds:.0f} s)"
    )
