"""How far a reproduction is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["shown"]

STEP, PATIENCE = 0.1, 30.0  # a plain line after this share of the runs, or so many seconds


@contextmanager
def shown(total: int, earlier: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Give a function to call after each run, and show on stderr how far the work is.

    Parameters
    ----------
    total : int
        The number of runs.
    earlier : int
        How many of them were finished before.
    quiet : bool
        Show nothing.
    """
    if quiet or earlier == total:
        yield lambda: None
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(total, earlier).advance
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("runs", total=total, completed=earlier)
        yield lambda: bar.advance(task)


class _Rate(ProgressColumn):
    """The present rate."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f} runs/s")


class _Lines:
    """Plain lines, some now and then."""

    def __init__(self, total: int, earlier: int) -> None:
        self.total, self.earlier, self.done = total, earlier, earlier
        self.begin = self.last_time = time.monotonic()
        self.last_done = earlier
        kept = f", {earlier} of them finished earlier" if earlier else ""
        click.echo(f"{total} runs{kept}", err=True)

    def advance(self) -> None:
        """Count a run, and write a line if it is time for one."""
        self.done += 1
        now = time.monotonic()
        enough = self.done - self.last_done >= STEP * self.total
        if enough or now - self.last_time >= PATIENCE or self.done == self.total:
            rate = (self.done - self.earlier) / (now - self.begin)
            left = (self.total - self.done) / rate
            click.echo(
                f"{self.done} of {self.total} runs ({self.done / self.total:.0%}), "
                f"{rate:.1f} runs/s, {left:.0f} s left",
                err=True,
            )
            self.last_done, self.last_time = self.done, now
