"""Lepski's comparison of bandwidths, by the gradients of the empirical risk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.deconvolution.band import raised_to_usable
from noisykmeans.histogram import Histogram
from noisykmeans.selection.base import Rule, Selection, check_count, check_positive
from noisykmeans.selection.candidates import (
    Candidates,
    as_candidates,
    check_usable,
    coarsened,
    finest,
    rows_of,
    task_limits,
)
from noisykmeans.selection.trial import Trial, plan_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.density import Density
    from noisykmeans.groups import Groups
    from noisykmeans.noise import Noise
    from noisykmeans.selection.base import Task
    from noisykmeans.spectrum import Spectrum
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["Lepski"]

_PER_AXIS = {1: 8, 2: 4, 3: 2}


@dataclass(frozen=True)
class Lepski(Rule):
    """The largest bandwidth that no smaller one contradicts beyond chance.

    With ``G_b(c)`` the gradient of the deconvolved distortion at centers c, whose entries are the
    cell sums ``2 (m_j c_j - S_j)``, and ``G_(b,e)`` that of the estimate with bandwidth e smoothed
    with the window of bandwidth b as well, the choice minimises
    ``max_e [ sup_c |G_(b,e)(c) - G_e(c)| - M(b, e) ]_+  +  M(b)``
    (Chichignoud and Loustau, "Adaptive noisy clustering", 2013, and "Bandwidth selection in kernel
    empirical risk minimization via the gradient", Annals of Statistics 2015). The majorants of
    what chance does, M(b, e) to the comparison and M(b) to ``G_b``, have an unknown constant there.
    Here they are bootstrap means: the same suprema for the difference between the histogram and
    resampled ones (Poisson weights), times ``constant``. The suprema run over the centers that
    some of the candidates find.

    Parameters
    ----------
    constant : float
        Factor of the majorant; larger values choose larger bandwidths.
    resamples : int
        The number of resampled histograms.
    candidates : array of shape (m,) or (m, d), or None
        The bandwidths to choose from; None makes a small grid between sensible limits.

    Examples
    --------
    >>> Lepski(candidates=[0.5, 1.0]).candidates
    ((0.5,), (1.0,))
    """

    constant: float = 2.0
    resamples: int = 8
    candidates: Candidates = None

    def __post_init__(self) -> None:
        check_positive(self.constant, "constant")
        check_count(self.resamples, "resamples")
        object.__setattr__(self, "candidates", as_candidates(self.candidates))

    def finest(self, n: float, scale: Array, noise: Noise, window: Window) -> Array:
        """Return the smallest candidate along each axis."""
        return finest(self.candidates, n, scale, noise, window)

    def choose(self, task: Task) -> Selection:
        """Return the candidate with the smallest criterion."""
        task = coarsened(task, self.candidates)
        candidates = self._grid(task)
        comparison = _Comparison(task, candidates)
        rng = np.random.default_rng([task.seed, 1])
        seen = comparison.gradients(task.spectrum)
        gaps = seen.smoothed - seen.plain
        pairs, alone = [], []
        for _ in range(self.resamples):
            drawn = comparison.gradients(_resampled(task, rng).spectrum())
            pairs.append(_norms(drawn.smoothed - drawn.plain - gaps))
            alone.append(_norms(drawn.plain - seen.plain))
        excess = _norms(gaps) - self.constant * np.mean(pairs, axis=0)
        chance = self.constant * np.mean(alone, axis=0)
        criterion = np.maximum(excess, 0).max(axis=1) + chance
        return Selection.best(candidates, criterion)

    def _grid(self, task: Task) -> Array:
        d = task.dimension
        if self.candidates is not None:
            rows = rows_of(self.candidates, d)
            check_usable(rows, task)
            return rows
        low, high = task_limits(task)
        axes = np.geomspace(low, high, _PER_AXIS[d]).T
        return np.array(
            [raised_to_usable(np.array(row), task.noise, task.window) for row in product(*axes)]
        )


@dataclass(frozen=True, eq=False)
class _Gradients:
    """Gradients by bandwidth: ``plain[e]`` and ``smoothed[b, e]``, over centers, k and axes."""

    plain: Array
    smoothed: Array


class _Comparison:
    """Gradients of all candidates at the centers that they find."""

    def __init__(self, task: Task, candidates: Array) -> None:
        trial, self._plan = Trial(task), plan_of(task)
        self._transfers = [self._plan.transfer(row.tolist()) for row in candidates]
        grid = task.groups.grid
        t = np.stack(np.meshgrid(*grid.frequencies, indexing="ij"), axis=-1)
        self._windows = [task.window(t * row).prod(axis=-1) for row in candidates]
        picked = np.unique(np.linspace(0, len(candidates) - 1, 3).astype(int))
        self._centers = [trial.centers(self._transfers[i]) for i in picked]

    def gradients(self, spectrum: Spectrum) -> _Gradients:
        """Return the gradients of an estimate from that spectrum."""
        plain = [self._gradient(self._plan.apply(spectrum, e)) for e in self._transfers]
        smoothed = [
            [self._gradient(self._plan.apply(spectrum, e * w)) for e in self._transfers]
            for w in self._windows
        ]
        return _Gradients(np.array(plain), np.array(smoothed))

    def _gradient(self, density: Density) -> Array:
        sums = [(c, *density.cell_moments(c)) for c in self._centers]
        return np.array([2 * (m[:, None] * c - S) for c, m, S in sums])


def _norms(gradients: Array) -> Array:
    """Return the largest length of the gradient over the centers, for each pair."""
    return np.asarray(np.sqrt((gradients**2).sum(axis=(-2, -1))).max(axis=-1))


def _resampled(task: Task, rng: np.random.Generator) -> Groups:
    """Draw histograms of as many observations, node by node."""
    scale = task.effective_n / task.n
    members = []
    for member in task.groups.members:
        counts = rng.poisson(member.histogram.values * scale)
        counts.ravel()[0] += not counts.any()
        histogram = Histogram(member.histogram.grid, counts / scale)
        members.append(replace(member, histogram=histogram))
    return replace(task.groups, members=tuple(members))
