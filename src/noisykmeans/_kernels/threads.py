"""Threads, which stand outside the kernels."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import joblib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["BLOCK", "map_blocks", "map_each", "mapper", "n_threads"]

BLOCK = 2**18  # rows: large against the cost of a call, small against any large sample

_WORTH = 2**17  # values to be worked on that are worth starting threads

S = TypeVar("S")
T = TypeVar("T")


def n_threads() -> int:
    """Return how many threads to start: one a core, or ``OMP_NUM_THREADS`` if that is less.

    Workers of a cluster have a core each, say so there, and do not get in each other's way.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = joblib.cpu_count()
    return min(cores, int(limit)) if limit.isdecimal() and int(limit) > 0 else cores


def map_blocks(function: Callable[[slice], T], n: int, smallest: int = 0) -> Iterator[T]:
    """Apply a function to fixed blocks of n rows, and give the results in their order.

    A block has ``BLOCK`` rows, or ``smallest`` if that is more.
    """
    size = max(BLOCK, smallest)
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    threads = min(len(blocks), n_threads()) if len(blocks) > 1 else 1
    if threads == 1:
        yield from map(function, blocks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, blocks)


def map_each(function: Callable[[S], T], items: Sequence[S], size: int) -> Iterator[T]:
    """Apply a function to each item, and give the results in their order.

    Threads are started where the items, each of that many values, are worth it together.
    """
    with mapper(len(items), size) as mapped:
        yield from mapped(function, items)


@contextmanager
def mapper(n_items: int, size: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a `map` in threads that stay, for as many items of that many values, if worth it."""
    if n_items > 1 and n_items * size >= _WORTH and n_threads() > 1:
        with ThreadPoolExecutor(min(n_items, n_threads())) as pool:
            yield pool.map
    else:
        yield map
