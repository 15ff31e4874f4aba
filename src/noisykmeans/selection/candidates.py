"""The bandwidths that a rule tries: a few along each axis, then more around the best."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.deconvolution import smallest_bandwidth
from noisykmeans.deconvolution.band import on_axis, raised_to_usable
from noisykmeans.selection.base import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.selection.base import Task
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]
    Criterion = Callable[[Array], float]

__all__ = [
    "Candidates",
    "as_candidates",
    "check_usable",
    "coarsened",
    "finest",
    "limits",
    "rows_of",
    "search",
    "task_limits",
]

Candidates = tuple[tuple[float, ...], ...] | None

_PER_AXIS = {1: 9, 2: 5, 3: 3}
_REFINEMENTS = 2
_NODES_PER_WAVE = 2 * np.pi / 5
_FINEST, _COARSEST = 0.1, 1.0  # blur of a kernel, in standard deviations of the observations


def as_candidates(candidates: Sequence[ArrayLike] | None) -> Candidates:
    """Return candidates as tuples of one bandwidth for each axis, checked.

    Parameters
    ----------
    candidates : array of shape (m,) or (m, d), or None
        None leaves them to the rule.
    """
    if candidates is None:
        return None
    array = np.asarray(candidates)
    if array.dtype.kind not in "iuf" or array.ndim not in (1, 2) or not array.size:
        raise ValueError(
            f"candidates must be bandwidths of shape (m,) or (m, n_features); got {candidates!r}"
        )
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"candidates must be positive and finite; got {candidates!r}")
    rows = {tuple(map(float, row)) for row in array.reshape(len(array), -1)}
    if len(rows) < 2:
        raise ValueError(
            f"candidates must hold at least two different bandwidths to choose from; got "
            f"{candidates!r}: give the one as bandwidth itself"
        )
    return tuple(sorted(rows))


def rows_of(given: tuple[tuple[float, ...], ...], d: int) -> Array:
    """Return given candidates as an array of shape (m, d)."""
    width = len(given[0])
    if width not in (1, d):
        raise ValueError(
            f"candidates have {width} entries each, {d} features vary in the observations: give "
            f"one bandwidth for each of them, or one for all"
        )
    return np.array([np.broadcast_to(row, d) for row in given])


def limits(n: float, scale: Array, noise: Noise, window: Window) -> tuple[Array, Array]:
    """Return the smallest and the largest bandwidth along each axis that are worth a trial.

    A kernel of bandwidth b blurs about as much as a Gaussian of scale ``b / window.unit``. The
    largest one blurs by the scale of the data. The smallest keeps frequencies up to that where
    ``|phi_eta(t)| = n^(-1/2)``, beyond which the empirical c.f. is chance alone; and along an
    axis with little error it blurs by a tenth of the scale.
    """
    d = len(scale)
    low = _FINEST * scale
    t = np.geomspace(1e-2, 1 / _FINEST, 500)
    for axis in range(d):
        phi = np.abs(on_axis(noise, t / scale[axis], axis, d))
        lost = phi < 1 / np.sqrt(max(n, 4.0))
        if lost.any():
            low[axis] = max(low[axis], scale[axis] / t[max(int(lost.argmax()) - 1, 0)])
    high = np.maximum(_COARSEST * scale, 2 * low)
    usable = np.array(
        [
            smallest_bandwidth(noise, window, value, axis, d)
            for axis, value in enumerate((low * window.unit).tolist())
        ]
    )
    return usable, np.maximum(high * window.unit, 1.5 * usable)


def task_limits(task: Task) -> tuple[Array, Array]:
    """Return the `limits` of a sample, none below what its grid resolves.

    The shortest wave of the band spans four spacings at least, two more than Nyquist asks for.
    """
    low, high = limits(task.effective_n, task.scale, task.noise, task.window)
    resolved = 2 / np.pi * task.window.support * np.array(task.groups.grid.spacing)
    low = np.maximum(low, resolved)
    return low, np.maximum(high, 1.5 * low)


def finest(given: Candidates, n: float, scale: Array, noise: Noise, window: Window) -> Array:
    """Return the smallest bandwidth along each axis that a search may come to."""
    if given is None:
        return raised_to_usable(limits(n, scale, noise, window)[0], noise, window)
    return rows_of(given, len(scale)).min(axis=0)


def coarsened(task: Task, given: Candidates) -> Task:
    """Return the task on as few nodes as the comparison of candidates needs.

    The grid of the estimate itself keeps the error of binning below a thousandth; a hundredth
    decides no comparison, and is reached with spacings of about a fifth of the shortest wave.
    """
    groups = task.groups
    smallest = finest(given, task.effective_n, task.scale, task.noise, task.window)
    limit = _NODES_PER_WAVE * smallest / task.window.support
    while (2 * np.array(groups.grid.spacing) <= limit).all():
        groups = groups.coarser()
    return replace(task, groups=groups)


def search(task: Task, given: Candidates, criterion: Criterion) -> Selection:
    """Return the candidate of the smallest criterion.

    Without given candidates a coarse grid between the `limits` comes first, then finer ones
    around the best so far.

    Parameters
    ----------
    task : Task
        For which a bandwidth is wanted.
    given : tuple of tuples or None
        The candidates; None leaves them to the search.
    criterion : callable
        What a bandwidth costs.
    """
    d = task.dimension
    if given is not None:
        candidates = rows_of(given, d)
        check_usable(candidates, task)
        return Selection.best(candidates, np.array([criterion(row) for row in candidates]))
    low, high = task_limits(task)
    tried: dict[tuple[float, ...], float] = {}

    def attempt(logs: list[Array]) -> None:
        for row in product(*logs):
            values = raised_to_usable(np.exp(row), task.noise, task.window)
            key = tuple(values.tolist())
            if key not in tried:
                tried[key] = criterion(values)

    m = _PER_AXIS[d]
    attempt([np.linspace(a, b, m) for a, b in zip(np.log(low), np.log(high), strict=True)])
    step = np.log(high / low) / (m - 1)
    for _ in range(_REFINEMENTS):
        step = step / 2
        best = np.log(min(tried, key=lambda key: tried[key]))
        around = [best + step * s for s in (-1, 0, 1)]
        attempt(list(np.clip(np.transpose(around), np.log(low)[:, None], np.log(high)[:, None])))
    return Selection.best(np.array(list(tried)), np.array(list(tried.values())))


def check_usable(candidates: Array, task: Task) -> None:
    """Raise where the noise or the grid forbids a candidate."""
    d = candidates.shape[1]
    coarsest = np.pi / np.array(task.groups.grid.spacing)
    needed = np.maximum(
        [
            smallest_bandwidth(task.noise, task.window, 1e-3 * s, axis, d)
            for axis, s in enumerate(task.scale.tolist())
        ],
        task.window.support / coarsest,
    )
    if (candidates < needed).any():
        bad = candidates[(candidates < needed).any(axis=1)][0]
        raise ValueError(
            f"candidate {tuple(bad.tolist())} is outside the usable range: with {task.noise!r} "
            f"bandwidths must be at least {tuple(float(f'{1.0001 * v:.6g}') for v in needed)}"
        )
