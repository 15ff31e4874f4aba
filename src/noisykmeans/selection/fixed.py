"""No choice: the bandwidth, or the number of steps, that the user has given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.selection.base import Rule, Selection, StepRule, check_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.selection.base import Task
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["Fixed", "FixedSteps"]


@dataclass(frozen=True)
class Fixed(Rule):
    """The bandwidth as given.

    Parameters
    ----------
    values : tuple of float
        One for each axis.

    Examples
    --------
    >>> Fixed((0.5, 2.0)).finest(100.0, None, None, None).tolist()
    [0.5, 2.0]
    """

    values: tuple[float, ...]

    def finest(self, n: float, scale: Array, noise: Noise, window: Window) -> Array:
        """Return the bandwidth."""
        del n, scale, noise, window
        return np.array(self.values)

    def choose(self, task: Task) -> Selection:
        """Return the bandwidth."""
        del task
        return Selection(np.array(self.values), np.array([self.values]), np.zeros(1))


@dataclass(frozen=True)
class FixedSteps(StepRule):
    """The number of steps as given.

    Parameters
    ----------
    n_steps : int
        The number.
    """

    n_steps: int

    def __post_init__(self) -> None:
        check_count(self.n_steps, "n_steps")

    def choose_steps(self, task: Task) -> int:
        """Return the number."""
        del task
        return self.n_steps
