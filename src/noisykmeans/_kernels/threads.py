"""Threads, which stand outside the kernels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import joblib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["BLOCK", "map_blocks", "map_each", "mapper"]

BLOCK = 2**18  # rows: large against the cost of a call, small against any large sample

_WORTH = 2**17  # values to be worked on that are worth starting threads

S = TypeVar("S")
T = TypeVar("T")


def map_blocks(function: Callable[[slice], T], n: int, smallest: int = 0) -> Iterator[T]:
    """Apply a function to fixed blocks of n rows, and give the results in their order.

    A block has ``BLOCK`` rows, or ``smallest`` if that is more.
    """
    size = max(BLOCK, smallest)
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    n_threads = min(len(blocks), joblib.cpu_count()) if len(blocks) > 1 else 1
    if n_threads == 1:
        yield from map(function, blocks)
        return
    with ThreadPoolExecutor(n_threads) as pool:
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
    if n_items > 1 and n_items * size >= _WORTH and joblib.cpu_count() > 1:
        with ThreadPoolExecutor(min(n_items, joblib.cpu_count())) as pool:
            yield pool.map
    else:
        yield map
