"""The paper's tuning, which needs clean points that nobody has: for experiments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.deconvolution.band import raised_to_usable
from noisykmeans.metrics import clean_distortion
from noisykmeans.selection.base import Rule, check_count
from noisykmeans.selection.candidates import (
    Candidates,
    as_candidates,
    coarsened,
    finest,
    search,
    task_limits,
)
from noisykmeans.selection.trial import Trial, plan_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.selection.base import Selection, Task
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["Oracle"]


@dataclass(frozen=True, eq=False)
class Oracle(Rule):
    """The bandwidth whose centers are best for clean points: ``argmin sum_t min_j |X_t - c_j|^2``.

    It is the paper's choice, and a limit for rules that see the observations only. The centers
    that were judged are where the final iterations begin.

    Parameters
    ----------
    X_clean : array of shape (m, d)
        Clean points, with all features that vary in the observations.
    candidates : array of shape (m,) or (m, d), or None
        The bandwidths to choose from; None makes a grid between sensible limits.
    per_axis : int
        The number of bandwidths of that grid along each axis.

    Examples
    --------
    >>> Oracle([[0.0], [1.0]], candidates=[0.5, 1.0]).candidates
    ((0.5,), (1.0,))
    """

    X_clean: Array
    candidates: Candidates = None
    per_axis: int = 20

    def __post_init__(self) -> None:
        X = np.asarray(self.X_clean, dtype=np.float64)
        if X.ndim != 2 or not len(X):
            raise ValueError(f"X_clean must be points of shape (m, d); got shape {X.shape}")
        if not np.isfinite(X).all():
            raise ValueError("X_clean must be finite; it has NaN or infinite entries")
        check_count(self.per_axis, "per_axis")
        if self.per_axis < 2:
            raise ValueError(f"per_axis must be at least 2; got {self.per_axis!r}")
        object.__setattr__(self, "X_clean", X)
        object.__setattr__(self, "candidates", as_candidates(self.candidates))

    def finest(self, n: float, scale: Array, noise: Noise, window: Window) -> Array:
        """Return the smallest candidate along each axis."""
        return finest(self.candidates, n, scale, noise, window)

    def choose(self, task: Task) -> Selection:
        """Return the candidate whose centers are best for the clean points."""
        task = coarsened(task, self.candidates)
        if self.X_clean.shape[1] != task.dimension:
            raise ValueError(
                f"X_clean has {self.X_clean.shape[1]} features, {task.dimension} vary in the "
                f"observations: give clean points with these"
            )
        trial, plan = Trial(task), plan_of(task)

        def criterion(bandwidth: Array) -> float:
            return clean_distortion(trial.centers(plan.transfer(bandwidth.tolist())), self.X_clean)

        selection = search(task, self.candidates or self._grid(task), criterion)
        centers = trial.centers(plan.transfer(selection.bandwidth.tolist()))
        return replace(selection, centers=centers)

    def _grid(self, task: Task) -> Candidates:
        low, high = task_limits(task)
        axes = np.geomspace(low, high, self.per_axis).T
        rows = (raised_to_usable(np.array(row), task.noise, task.window) for row in product(*axes))
        return as_candidates(list(rows))
