"""What the centers would be: a sample deconvolved with one bandwidth after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans import seeding
from noisykmeans.deconvolution import KernelDeconvolution
from noisykmeans.deconvolution.band import raised_to_usable
from noisykmeans.quantization import lloyd_from_best
from noisykmeans.selection.candidates import task_limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.selection.base import Task

    Array = NDArray[np.float64]

__all__ = ["Trial", "plan_of"]

_STARTS = 3  # from the observations, and as many from the smoothest estimate


@dataclass(frozen=True, eq=False)
class Trial:
    """A sample whose centers depend on the bandwidth alone: the starts are the same for all.

    Parameters
    ----------
    task : Task
        The sample.
    """

    task: Task

    def centers(self, transfer: NDArray[np.complex128]) -> Array:
        """Return the centers of the projected estimate with that transfer function."""
        density = plan_of(self.task).apply(self.task.spectrum, transfer).projected()
        return lloyd_from_best(density, self.starts, max_iter=100, tol=1e-2).centers

    @cached_property
    def starts(self) -> list[Array]:
        """Centers drawn from the observations, and from the estimate with the largest bandwidth."""
        task = self.task
        _, widest = task_limits(task)
        widest = raised_to_usable(widest, task.noise, task.window)
        smooth = plan_of(task).density(task.spectrum, tuple(widest.tolist())).projected()
        rng = np.random.RandomState(task.seed)
        return [
            seeding.plus_plus(measure, self.n_clusters, rng)
            for measure in (task.measure, smooth)
            for _ in range(_STARTS)
        ]

    @property
    def n_clusters(self) -> int:
        """The number of centers, which the rule needs to know."""
        if self.task.n_clusters is None:
            raise ValueError(
                "this rule judges bandwidths by the centers that they lead to, and a density has "
                "none: use bandwidth='cv', 'rate' or a number"
            )
        return self.task.n_clusters


def plan_of(task: Task) -> KernelDeconvolution:
    """Return the kernel estimator of a task."""
    return KernelDeconvolution(task.groups.grid, task.noise, task.window)
