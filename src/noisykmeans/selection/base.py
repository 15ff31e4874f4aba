"""What every rule that chooses a bandwidth is given, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.density import Density
from noisykmeans.observations import standard_deviation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.deconvolution.guess import Guess
    from noisykmeans.groups import Groups
    from noisykmeans.histogram import Histogram
    from noisykmeans.noise import Noise
    from noisykmeans.spectrum import Spectrum
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["Rule", "Selection", "StepRule", "Task", "check_count", "check_positive", "count"]


@dataclass(frozen=True, eq=False)
class Task:
    """A sample whose clean density is wanted, and what is known of it.

    Parameters
    ----------
    groups : Groups
        The observations, binned, with the laws of their errors.
    window : Window
        The window of the kernel estimator.
    n_clusters : int or None
        How many centers will be sought; None where only the density is wanted.
    seed : int
        Source of randomness: the same task gives the same choice.
    points : array of shape (n, d) or None
        The observations themselves, None where only the histogram is there.
    weights : array of shape (n,) or None
        Their weights, 1 each if None.
    labels : array of shape (n,) or None
        The group of each, 0 if None.
    guess : Guess or None
        Where maximum likelihood begins, if that is known already.
    equivalent : float or None
        The number of equal weights that carry as much, where the weights are not there.
    spread : array of shape (d,) or None
        The standard deviation along each axis, where the observations are not there.

    Examples
    --------
    >>> from noisykmeans import noise, windows
    >>> from noisykmeans.grid import Grid
    >>> from noisykmeans.groups import Groups
    >>> from noisykmeans.histogram import fill
    >>> Z = np.array([[0.0], [1.0], [2.0]])
    >>> groups = Groups.of(fill(Grid.covering(Z, 0.5), Z), noise.Laplace(0.5))
    >>> task = Task(groups, windows.Cubic(), 2, points=Z)
    >>> task.n, task.scale.round(3).tolist()
    (3.0, [0.816])
    """

    groups: Groups
    window: Window
    n_clusters: int | None
    seed: int = 0
    points: Array | None = None
    weights: Array | None = None
    labels: NDArray[np.intp] | None = None
    guess: Guess | None = None
    equivalent: float | None = None
    spread: Array | None = None

    @property
    def histogram(self) -> Histogram:
        """The complete observations, binned."""
        return self.groups.histogram

    @property
    def noise(self) -> Noise:
        """The law of their errors, as the kernel estimate meets it."""
        return self.groups.noise

    @cached_property
    def spectrum(self) -> Spectrum:
        """The transform of the observations, to be divided by the c.f. of `noise`."""
        return self.groups.spectrum()

    @property
    def n(self) -> float:
        """The number of observations, or the sum of their weights."""
        return self.groups.mass

    @property
    def effective_n(self) -> float:
        """The number of observations of equal weight that carry as much: see `count`."""
        if self.weights is None:
            return self.n if self.equivalent is None else self.equivalent
        return count(self.weights)

    @property
    def dimension(self) -> int:
        """The number of axes."""
        return self.groups.grid.dimension

    @cached_property
    def scale(self) -> Array:
        """The standard deviation of the observations along each axis."""
        if self.points is None:
            return self.histogram.scale if self.spread is None else self.spread
        weights = np.ones(len(self.points)) if self.weights is None else self.weights
        return standard_deviation(self.points, weights)

    @cached_property
    def measure(self) -> Density:
        """The histogram of the observations as a density, to judge centers on."""
        histogram, grid = self.histogram, self.groups.grid
        return Density(grid, histogram.values / (histogram.mass * grid.cell_volume))


@dataclass(frozen=True, eq=False)
class Selection:
    """A bandwidth, or a number of steps, and what was tried to find it.

    Parameters
    ----------
    bandwidth : array of shape (d,)
        The choice.
    candidates : array of shape (m, d)
        The bandwidths, or in one column the numbers of steps, that were tried.
    criterion : array of shape (m,)
        What they scored; smaller is better.
    centers : array of shape (k, d) or None
        The centers that the choice stands for, where these were judged and not the bandwidth.
    """

    bandwidth: Array
    candidates: Array
    criterion: Array
    centers: Array | None = None

    @classmethod
    def best(cls, candidates: Array, criterion: Array) -> Selection:
        """Return the candidate of the smallest criterion, the first one among equals."""
        return cls(candidates[criterion.argmin()], candidates, criterion)


class Rule(ABC):
    """A way to choose the bandwidth of the kernel estimator."""

    @abstractmethod
    def finest(self, n: float, scale: Array, noise: Noise, window: Window) -> Array:
        """Return the smallest bandwidth along each axis that `choose` may return.

        The grid is made for it, before there is a histogram.

        Parameters
        ----------
        n : float
            The number of observations, or the sum of their weights.
        scale : array of shape (d,)
            Their standard deviation along each axis.
        noise : Noise
            The law of the errors.
        window : Window
            The window of the kernel estimator.
        """

    @abstractmethod
    def choose(self, task: Task) -> Selection:
        """Return the bandwidth for a sample, with what was tried."""


class StepRule(ABC):
    """A way to choose the number of steps of maximum likelihood."""

    @abstractmethod
    def choose_steps(self, task: Task) -> int:
        """Return the number for a sample."""

    def select_steps(self, task: Task) -> Selection:
        """Return the number, with what was compared: nothing, for most rules."""
        only = np.array([float(self.choose_steps(task))])
        return Selection(only, only[None], np.zeros(1))


def check_positive(value: Any, name: str) -> None:
    """Raise unless a parameter is a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a positive number; got {value!r}")
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number; got {value!r}")


def check_count(value: Any, name: str) -> None:
    """Raise unless a parameter is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a positive integer; got {value!r}")


def count(weights: Array) -> float:
    """Return ``(sum w)^2 / sum w^2``: how many equal weights carry as much.

    Integer weights are repetitions: where all are, this is their sum.
    """
    repetitions = (weights == np.round(weights)).all()
    total = weights.sum()
    return float(total if repetitions else total**2 / (weights**2).sum())
