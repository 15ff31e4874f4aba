"""What all verbs share: places to write to, one-line errors, tables for people and machines."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = [
    "WrongUse",
    "check_place",
    "need_matplotlib",
    "plain_errors",
    "print_table",
    "problem",
    "say",
    "told_warnings",
    "written",
]


class WrongUse(click.ClickException):
    """What the user can put right on the command line; in one line."""

    exit_code = 2


def need_matplotlib(what: str) -> None:
    """Raise where matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  an extra
    except ImportError as error:
        raise click.ClickException(f"{what} matplotlib: pip install 'noisykmeans[plot]'") from error
    del mpl


def problem(path: Path, formats: Sequence[str], *, replace: bool) -> str | None:
    """Say why a file cannot be written there, before any work is done."""
    folder = path.absolute().parent
    if path.suffix.lower() not in formats:
        *most, last = formats
        return f"{path} must end in {', '.join(most)} or {last}" if most else f"{path} is no {last}"
    if path.is_dir():
        return f"{path} is a folder"
    if path.exists() and not replace:
        return f"{path} exists: give --force to replace it"
    if not folder.is_dir():
        return f"there is no folder {path.parent}"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return f"no permission to write {path.absolute()}: choose another place with --out"
    return None


def check_place(path: Path | None, option: str, formats: Sequence[str], *, force: bool) -> None:
    """Raise where a file of an option cannot be written."""
    trouble = None if path is None else problem(path, formats, replace=force)
    if trouble:
        raise WrongUse(f"{option}: {trouble}")


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Tell in one line that a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def plain_errors(*, debug: bool) -> Iterator[None]:
    """Tell errors in one line, the traceback before it if that is wanted."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise  # click ends quietly where nobody reads on
    except Exception as error:
        if debug:
            traceback.print_exc()
        text = " ".join(str(error).split()) or type(error).__name__
        raise click.ClickException(text) from error


@contextmanager
def told_warnings() -> Iterator[list[str]]:
    """Collect warnings, each once, and tell them in one line each."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    for warning in caught:
        text = " ".join(str(warning.message).split())
        if issubclass(warning.category, UserWarning) and text not in told:
            told.append(text)
            click.echo(f"Warning: {text}", err=True)


def say(text: str, *, json: bool) -> None:
    """Tell people something; beside JSON it goes to the standard error."""
    click.echo(text, err=json)


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table, as plain text where nobody looks."""
    from rich.console import Console  # noqa: PLC0415  loads in a tenth of a second
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title, title_justify="left")
    for i, name in enumerate(head):
        table.add_column(name, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*map(str, row))
    wide = None if sys.stdout.isatty() else max(80, 24 * len(head))
    Console(width=wide).print(table)
