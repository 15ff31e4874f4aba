"""Runs, spread over processes that never outlive the one that asked for them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING

from noisykmeans.experiments.settings import Run, Settings
from noisykmeans.experiments.trial import perform

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from noisykmeans.experiments.trial import Row

__all__ = ["results"]

_FIRST = Run("mod1", 1, 0), Settings(grid=1, bandwidths=(1.0, 1.0))


def results(
    runs: Sequence[Run], settings: Settings, workers: int
) -> Generator[tuple[Run, list[Row]], None, None]:
    """Give each run with its rows, in the order in which they finish.

    Closing the iterator ends the processes.

    Parameters
    ----------
    runs : sequence of Run
        Which.
    settings : Settings
        How.
    workers : int
        The number of processes; 1 stays in this one.
    """
    if workers == 1:
        perform(*_FIRST)
        yield from ((run, perform(run, settings)) for run in runs)
        return
    # Fresh processes: to fork one that has threads is not safe.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)
    try:
        with _interrupts_held():
            futures = {pool.submit(perform, run, settings): run for run in runs}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back SIGINT; processes that begin meanwhile never see one, and this one sees it later.

    An interrupt from the keyboard goes to all processes at once, and workers would complain.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Prepare a worker: no interrupts, an end with its parent, and compiled loops loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Loading compiled loops would otherwise be counted as a part of the first run's time.
    perform(*_FIRST)


def _end_with_parent() -> None:
    """End this process when its parent is gone, however that happened."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
