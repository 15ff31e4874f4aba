"""How far the reading of a large source has come, on a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from noisykmeans.batches import Around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from noisykmeans.batches import Batch, Source

__all__ = ["Watched", "watched"]

_MEGA = 1e6


class Watched(Around):
    """A source whose passes are shown: rows, rows and bytes per second, and the time that is left.

    Parameters
    ----------
    source : Source
        What is read.
    progress : rich.progress.Progress
        Where it is shown.
    purpose : str
        What the passes are made for, in a word or two.
    """

    def __init__(self, source: Source, progress: Progress, purpose: str = "") -> None:
        super().__init__(source)
        self._progress = progress
        self._purpose = f"{purpose}, " if purpose else ""
        self._passes: list[TaskID] = []

    @property
    def bounds(self) -> NDArray[Any] | None:
        """The bounds of the source."""
        return self._source.bounds

    @property
    def n_rows(self) -> int | None:
        """The number of rows of the source."""
        return self._source.n_rows

    def parts(self) -> Iterator[Any]:
        """Give the parts of the source, and begin a line for this pass."""
        name = f"{self._purpose}pass {len(self._passes) + 1}"
        self._passes.append(self._progress.add_task(name, total=self.n_rows, speed=""))
        yield from self._source.parts()
        task = self._progress.tasks[self._passes[-1]]
        self._progress.update(task.id, total=task.completed, refresh=True)

    def read(self, part: Any) -> Batch:
        """Return the rows of a part, and count them."""
        return self._counted(self._source.read(part))

    def pieces(self, part: Any) -> Iterator[Batch]:
        """Give the rows of a part as the source does, and count them."""
        return map(self._counted, self._source.pieces(part))

    def _counted(self, batch: Batch) -> Batch:
        now = self._passes[-1]
        self._progress.advance(now, batch.n_rows + batch.dropped)
        self._progress.update(now, speed=self._speed(now))
        return batch

    def _speed(self, now: TaskID) -> str:
        """Return rows and bytes per second, in words."""
        task = next(task for task in self._progress.tasks if task.id == now)
        speed = task.completed / max(task.elapsed or 0.0, 1e-3)
        words = f"{speed / _MEGA:.1f} million rows/s"
        n_bytes, n_rows = getattr(self._source, "n_bytes", None), self.n_rows
        if n_bytes and n_rows:
            words += f", {speed * n_bytes / n_rows / _MEGA:.0f} MB/s"
        return words


@contextmanager
def watched(
    source: Source, console: Console | None = None, *, purpose: str = ""
) -> Iterator[Source]:
    """Show how far the passes over a source have come, where there is a terminal.

    Elsewhere, in a file or a pipe, nothing is written. A cluster of Dask has a dashboard instead.

    Parameters
    ----------
    source : table of `noisykmeans.tables`, or other source
        What is going to be read.
    console : rich.console.Console or None
        Where it is shown; None is the standard error.
    purpose : str
        What the passes are made for, in a word or two.

    Examples
    --------
    >>> import numpy as np
    >>> from noisykmeans import NoisyKMeans, noise
    >>> from noisykmeans.batches import Iterated
    >>> batches = [np.arange(10.0)[:, None] ** i for i in (1, 2)]
    >>> with watched(Iterated(batches)) as source:
    ...     model = NoisyKMeans(2, noise=noise.Gaussian(0.5)).fit_batches(source)
    """
    from rich import progress as bars  # noqa: PLC0415  loaded where it is shown
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True) if console is None else console
    if not console.is_terminal:
        yield source
        return
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TextColumn("{task.completed:,.0f} rows"),
        bars.TextColumn("{task.fields[speed]}"),
        bars.TimeRemainingColumn(compact=True),
    )
    with bars.Progress(*columns, console=console) as progress:
        yield Watched(source, progress, purpose)
