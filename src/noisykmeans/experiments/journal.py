"""Finished runs on disk, a checksummed line each: from here an interrupted work goes on."""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from pathlib import Path
    from types import TracebackType

__all__ = ["Journal"]


class Journal:
    """An append-only file of records: ``checksum JSON`` on each line, synced to the disk.

    A line counts if its checksum is right. A half-written last line is cut off before anything is
    appended, so that it can neither count nor spoil the next one.

    Parameters
    ----------
    path : Path
        The file, made if there is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Journal(Path(folder, "journal")) as journal:
    ...         journal.append({"u": 7})
    ...     list(Journal.read(Path(folder, "journal")))
    [{'u': 7}]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("ab", buffering=0)
        _lock(self._file, path)
        self._file.truncate(_whole(path))

    @staticmethod
    def read(path: Path) -> Iterator[Any]:
        """Give the records whose checksums are right, in the order in which they were written."""
        for line in path.read_bytes().splitlines(keepends=True):
            checksum, _, text = line.partition(b" ")
            if text.endswith(b"\n") and checksum == _checksum(text[:-1]):
                yield json.loads(text)

    def append(self, record: Any) -> None:
        """Write a record, and wait until it is on the disk."""
        text = json.dumps(record, allow_nan=False, separators=(",", ":")).encode()
        line = _checksum(text) + b" " + text + b"\n"
        while line:  # a disk that fills up takes a part first, and refuses the rest
            line = line[self._file.write(line) :]
        os.fsync(self._file.fileno())

    def clear(self) -> None:
        """Forget all records."""
        self._file.truncate(0)

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lock(file: FileIO, path: Path) -> None:
    """Raise where another process writes to the file; the lock ends with the process."""
    try:
        import fcntl  # noqa: PLC0415  only where there is one: not on Windows
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise ValueError(
            f"another process is writing to {path.parent}: wait for its end, or choose another "
            f"folder"
        ) from error


def _whole(path: Path) -> int:
    """Return the length of the file up to the end of its last whole line."""
    return path.read_bytes().rfind(b"\n") + 1


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
