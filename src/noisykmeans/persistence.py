"""Saving and loading, without pickle: numbers in a `.npz`, their meaning in a JSON header.

A file is a zip archive of plain arrays, which `numpy.load` reads, too. The array `header` holds
JSON, as bytes: the format and its version, what the arrays are, and a digest of them all. Opening
a file runs none of its content, and takes no more memory than a limit that is checked before.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from noisykmeans.encoding import PLAIN, UnsavableError, decode, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UnreadableFileError", "UnsavableError", "check_savable", "load", "save"]

FORMAT = "noisykmeans"
VERSION = 1
LIMIT = 2**32  # bytes of all arrays together, unless more are allowed
_LARGEST_HEADER = 2**26


class UnreadableFileError(ValueError):
    """A file is none of this package's, or damaged, changed, too large or too new."""


def check_savable(value: Any) -> None:
    """Raise `UnsavableError` where a value has a part that no file can hold.

    A model need not be fitted: call this before a long fit whose result is to be saved.

    Parameters
    ----------
    value : estimator, law, Histogram or Groups
        What is going to be saved.

    Examples
    --------
    >>> from noisykmeans import NoisyKMeans, noise
    >>> check_savable(NoisyKMeans(2, noise=noise.Laplace(0.5)))
    """
    encode(value, "", {})


def save(value: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, a law, a histogram or groups to a file, whole or not at all.

    Parameters
    ----------
    value : estimator, law, Histogram or Groups
        What is saved. A `noise.Custom` is made of functions and cannot be: `check_savable` tells
        before a fit.
    path : str or path
        The file, which is replaced where it exists; `.npz` is the usual suffix, and none is added.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from noisykmeans import noise
    >>> with TemporaryDirectory() as folder:
    ...     save(noise.Gaussian((0.0, 2.6)), f"{folder}/law.npz")
    ...     load(f"{folder}/law.npz")
    Gaussian((0.0, 2.6))
    """
    arrays: dict[str, NDArray[Any]] = {}
    content = encode(value, "", arrays)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "content": content,
        "digest": _digest(content, arrays),
    }
    text = json.dumps(header, allow_nan=False).encode()
    target = Path(path)
    # In the same folder, so that it can take the file's place in one step.
    handle, temporary = tempfile.mkstemp(dir=target.absolute().parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            _write(stream, {"header": np.frombuffer(text, np.uint8), **arrays})
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)  # temporary files are private, others are not
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str], *, limit: int = LIMIT) -> Any:
    """Read what `save` has written.

    Parameters
    ----------
    path : str or path
        The file.
    limit : int
        The most bytes that the arrays may take in memory.

    Raises
    ------
    UnreadableFileError
        Where the file is none of this package's, truncated, changed, larger than the limit, or of
        a newer version.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, Path(path), limit)
    except UnreadableFileError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise UnreadableFileError(
            f"{path} is no file of noisykmeans, or damaged ({error}): save the model again"
        ) from error


def _write(stream: IO[bytes], arrays: dict[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.asanyarray(array), allow_pickle=False)


def _read(archive: zipfile.ZipFile, path: Path, limit: int) -> Any:
    """Return the content of an opened file."""
    members = archive.infolist()
    sizes = {member.filename: member.file_size for member in members}
    if "header.npy" not in sizes:
        raise UnreadableFileError(f"{path} is no file of noisykmeans: it has no header")
    total = sum(member.file_size for member in members)
    if total > limit or sizes["header.npy"] > _LARGEST_HEADER:
        raise UnreadableFileError(
            f"{path} holds {total} bytes, more than the limit of {limit}: raise limit if you trust "
            f"where it comes from"
        )
    try:
        header = json.loads(_member(archive, "header").tobytes())
        foreign = not isinstance(header, dict) or header.get("format") != FORMAT
        version = 0 if foreign else int(header["version"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableFileError(
            f"{path} is no file of noisykmeans: its header cannot be read ({error})"
        ) from error
    if foreign:
        raise UnreadableFileError(f"{path} is no file of noisykmeans: its header is another's")
    if version > VERSION:
        raise UnreadableFileError(
            f"{path} is of version {version} of the format, and this noisykmeans reads up to "
            f"{VERSION}: install a newer noisykmeans"
        )
    try:
        names = [name.removesuffix(".npy") for name in sizes if name != "header.npy"]
        arrays = {name: _member(archive, name) for name in names}
        _check_unchanged(header, arrays)
        return decode(header["content"], arrays.__getitem__)
    # Whatever a damaged file makes of the content: nothing else runs here.
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error


def _member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Return one array, after a look at its size."""
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as stream:
        shape, dtype = _described(stream)
        need = math.prod(shape) * dtype.itemsize
        if dtype.kind not in PLAIN or need != info.file_size - stream.tell():
            raise ValueError(f"the array {name!r} is not what its own header says")
    with archive.open(info) as stream:
        return np.asarray(npy.read_array(stream, allow_pickle=False))


def _described(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type that an array claims to have."""
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


def _check_unchanged(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    if header["digest"] != _digest(header["content"], arrays):
        raise ValueError("its content has been changed since it was saved")


def _digest(content: Any, arrays: dict[str, NDArray[Any]]) -> str:
    """Return the fingerprint of a content: a file that somebody has edited is told from ours."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
