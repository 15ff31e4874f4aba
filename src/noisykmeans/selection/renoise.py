"""Re-noising: the oracle imitated one level up, where what it asks for is observed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.deconvolution import Blur, EMDeconvolution, Ridged, first_guess
from noisykmeans.grid import Grid
from noisykmeans.groups import Groups, restricted
from noisykmeans.histogram import Histogram
from noisykmeans.quantization import distortion, lloyd_from_best
from noisykmeans.selection.base import Rule, Selection, StepRule, check_count
from noisykmeans.selection.candidates import Candidates, as_candidates, coarsened, finest, search
from noisykmeans.selection.trial import Trial, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noisykmeans.groups import Group
    from noisykmeans.noise import Noise
    from noisykmeans.selection.base import Task
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["Renoise"]

_MOST_POINTS = 20_000  # above, copies are made on the histogram
_REACH = 4.0  # standard deviations of the errors by which a copy's grid is wider
_LADDER = (1, 2, 4, 8, 16, 32, 64, 128)  # numbers of steps that are compared


@dataclass(frozen=True)
class Renoise(Rule, StepRule):
    """The candidate that would find the observations' own centers under one more error.

    Errors drawn from their law are added once more, ``Z* = Z + eps*``. Each candidate
    deconvolves Z*, and its centers are judged by the distortion of the observations Z, which take
    the place of clean points: ``argmin median_copies W_Z(c(Z*))``. All candidates meet the same
    copies. Up to 20,000 observations the errors are drawn point by point; above, and where weights
    are no repetitions, on the histogram, with a cost that does not grow with their number.

    Parameters
    ----------
    copies : int
        How often errors are added.
    candidates : array of shape (m,) or (m, d), or None
        The bandwidths to choose from; None searches between sensible limits. For a number of
        steps the candidates are the powers of two up to 128, on one path.

    Examples
    --------
    >>> Renoise(copies=5)
    Renoise(copies=5, candidates=None)
    """

    copies: int = 11
    candidates: Candidates = None

    def __post_init__(self) -> None:
        check_count(self.copies, "copies")
        object.__setattr__(self, "candidates", as_candidates(self.candidates))

    def finest(self, n: float, scale: Array, noise: Noise, window: Window) -> Array:
        """Return the smallest candidate along each axis."""
        return finest(self.candidates, n, scale, noise, window)

    def choose(self, task: Task) -> Selection:
        """Return the bandwidth with the smallest median loss."""
        task = coarsened(task, self.candidates)
        trials = [Trial(copy) for copy in self._noisier(task)]
        plan = plan_of(trials[0].task)

        def criterion(bandwidth: Array) -> float:
            transfer = plan.transfer(bandwidth.tolist())
            losses = [distortion(task.measure, trial.centers(transfer)) for trial in trials]
            return float(np.median(losses))

        return search(task, self.candidates, criterion)

    def choose_steps(self, task: Task) -> int:
        """Return the number of steps with the smallest median loss."""
        return int(self.select_steps(task).bandwidth[0])

    def select_steps(self, task: Task) -> Selection:
        """Return the number, with the losses of all numbers, along one path a copy."""
        losses = [_losses(copy, task) for copy in self._noisier(task)]
        return Selection.best(np.array(_LADDER, dtype=float)[:, None], np.median(losses, axis=0))

    def _noisier(self, task: Task) -> Iterator[Task]:
        """Give the task with one more error at every observation."""
        # Two numbers: a seed alone may be the one that the observations were simulated with.
        grid, rng = _wider(task), np.random.default_rng([task.seed, 1])
        for groups in islice(_noisier(task, grid, rng), self.copies):
            seed = int(rng.integers(2**31))
            yield replace(task, groups=groups, seed=seed, points=None, weights=None, labels=None)


def _noisier(task: Task, grid: Grid, rng: np.random.Generator) -> Iterator[Groups]:
    """Give the observations with one more error, without end."""
    members, counts = task.groups.members, _repetitions(task)
    if task.points is not None and counts is not None:
        each = np.repeat(task.points, counts, axis=0).astype(np.float64)
        labels = np.zeros(len(task.points), dtype=np.intp) if task.labels is None else task.labels
        labels, ones = np.repeat(labels, counts), np.ones(len(each))
        kinds = [member.kind for member in members]
        while True:
            points = each.copy()
            for label, kind in enumerate(kinds):
                rows = np.flatnonzero(labels == label)
                errors = kind.noise.sample((len(rows), len(kind.axes)), rng)
                points[rows[:, None], kind.axes] += errors
            yield Groups.fill(grid, points, ones, labels, kinds)
    expected, scale = [_expected(member, grid) for member in members], task.effective_n / task.n
    while True:
        yield Groups(
            grid,
            tuple(
                replace(m, histogram=Histogram(h.grid, rng.poisson(h.values * scale) / scale))
                for m, h in zip(members, expected, strict=True)
            ),
        )


def _repetitions(task: Task) -> NDArray[np.intp] | None:
    """Return how often every observation counts, None where that is not known or too often."""
    if task.points is None or task.n > _MOST_POINTS:
        return None
    if task.weights is None:
        return np.ones(len(task.points), dtype=np.intp)
    counts = np.round(task.weights)
    return counts.astype(np.intp) if (counts == task.weights).all() else None


def _wider(task: Task) -> Grid:
    """Return a grid of the same lattice that holds the observations with one more error."""
    grid, d = task.groups.grid, task.dimension
    low, high = np.zeros(d), np.zeros(d)
    for member in task.groups.members:
        noise, axes = member.kind.noise, list(member.kind.axes)
        reach = _REACH * np.sqrt(np.diag(noise.width(len(axes))))
        mean = noise.mean(len(axes))
        low[axes] = np.maximum(low[axes], reach - mean)
        high[axes] = np.maximum(high[axes], reach + mean)
    spacing = np.array(grid.spacing)
    before, after = np.ceil(low / spacing), np.ceil(high / spacing)
    lower = np.array(grid.lower) - before * spacing
    shape = (np.array(grid.shape) + before + after).astype(int)
    return Grid(tuple(lower.tolist()), grid.spacing, tuple(shape.tolist()))


def _expected(member: Group, grid: Grid) -> Histogram:
    """Return the mean of the histograms of all copies of a group."""
    wide, narrow = restricted(grid, member.kind.axes), member.histogram.grid
    inside = [
        slice(round((a - b) / s), round((a - b) / s) + n)
        for a, b, s, n in zip(narrow.lower, wide.lower, wide.spacing, narrow.shape, strict=True)
    ]
    values = np.zeros(wide.shape)
    values[tuple(inside)] = member.histogram.values
    noise = member.kind.noise
    law = noise.law if isinstance(noise, Ridged) else noise  # as errors are, not as divided by
    return Histogram(wide, np.maximum(Blur(wide, law).forward(values), 0))


def _losses(copy: Task, task: Task) -> list[float]:
    """Return the distortion of the observations after every number of steps of the ladder."""
    if task.n_clusters is None:
        raise ValueError("maximum likelihood starts from a guess of n_clusters bumps; got None")
    rng = np.random.RandomState(copy.seed)
    guess = first_guess(copy.groups, task.n_clusters, copy.effective_n, rng)
    path = EMDeconvolution(copy.groups, guess.detail).steps(guess.density)
    centers, losses = guess.centers, []
    for step, density in enumerate(islice(path, _LADDER[-1] + 1)):
        if step in _LADDER:
            starts = (guess.centers, centers)
            centers = lloyd_from_best(density, starts, max_iter=100, tol=1e-2).centers
            losses.append(distortion(task.measure, centers))
    return losses
