"""The folder of a reproduction: its journal, and files that are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from noisykmeans import __version__
from noisykmeans.experiments.journal import Journal
from noisykmeans.experiments.settings import Run
from noisykmeans.experiments.trial import Row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from noisykmeans.experiments.settings import Settings

__all__ = ["JOURNAL", "Folder"]

JOURNAL = "journal.jsonl"
ENDINGS = (".parquet", ".csv", ".md", ".json", ".png", ".svg")  # of what a reproduction writes


class Folder:
    """A folder that holds the runs of one group of settings.

    The runs that are there already are `finished`. They go on to count if told to resume, and are
    deleted if told to overwrite; otherwise a folder that is not empty is refused.

    Parameters
    ----------
    path : Path
        Made if there is none.
    settings : Settings
        What the results depend on, apart from the run.
    resume, overwrite : bool
        What to do with earlier runs.
    """

    def __init__(
        self, path: Path, settings: Settings, *, resume: bool = False, overwrite: bool = False
    ) -> None:
        self.path = path
        self.finished: dict[Run, list[Row]] = {}
        _check_place(path)
        header = {"noisykmeans": __version__, "settings": settings.as_dict()}
        if not overwrite:
            self._check_earlier(header, resume=resume)
        path.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(path / JOURNAL)
        if overwrite:
            self._journal.clear()
        records = list(Journal.read(path / JOURNAL))
        if not records:
            self._journal.append(header)
        for record in records[1:]:
            self.finished[Run(*record["run"])] = [Row(*row) for row in record["rows"]]

    def _check_earlier(self, header: dict[str, Any], *, resume: bool) -> None:
        """Raise where the folder holds what may not be touched or gone on with."""
        if not self.path.exists() or not any(self.path.iterdir()):
            return
        journal = self.path / JOURNAL
        if not journal.exists():
            raise ValueError(
                f"{self.path} is not empty and holds no runs: choose another folder, or overwrite "
                f"(which touches no other files than those it writes)"
            )
        earlier, *runs = list(Journal.read(journal)) or [header]
        if not resume:
            raise ValueError(
                f"{self.path} holds {len(runs)} finished runs: resume to go on with them, "
                f"overwrite to delete them, or choose another folder"
            )
        if earlier != header:
            raise ValueError(
                f"{self.path} holds runs with other settings ({_differences(earlier, header)}): "
                f"resume with the same ones, overwrite to delete them, or choose another folder"
            )

    def add(self, run: Run, rows: Sequence[Row]) -> None:
        """Keep the rows of a run, on disk at once."""
        self._journal.append({"run": run, "rows": rows})
        self.finished[run] = list(rows)

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole, in the place of an older one, or not at all."""
        path, part = self.path / name, self.path / f"{name}.part"
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def keep_only(self, names: Sequence[str], stems: Sequence[str]) -> None:
        """Delete earlier files of those stems, but for those names."""
        for stem in stems:
            for ending in ENDINGS:
                if stem + ending not in names:
                    (self.path / (stem + ending)).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._journal.close()


def _check_place(path: Path) -> None:
    """Raise where no folder can be, before any work is done."""
    place = path.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(f"{place} is a file: choose another folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(f"no permission to write in {place}: choose another folder")


def _differences(earlier: Any, header: dict[str, Any]) -> str:
    """Say which settings differ, and how."""
    with suppress(KeyError, TypeError):
        there = earlier["settings"] | {"noisykmeans": earlier["noisykmeans"]}
        here = header["settings"] | {"noisykmeans": header["noisykmeans"]}
        return ", ".join(
            f"{name} {there.get(name)!r} there, {value!r} here"
            for name, value in here.items()
            if there.get(name) != value
        )
    return "which cannot be read"
