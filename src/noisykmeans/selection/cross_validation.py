"""Least-squares cross-validation of the density, in the Fourier domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.selection.base import Rule
from noisykmeans.selection.candidates import Candidates, as_candidates, coarsened, finest, search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.selection.base import Selection, Task
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["CrossValidation"]


@dataclass(frozen=True)
class CrossValidation(Rule):
    """The bandwidth whose estimate is closest to the density in L2, as far as can be told.

    With w the window at ``lambda t``, the unknown part of the squared error is estimated without
    bias by leaving each observation out of its own estimate (Stefanski and Carroll, 1990; Hesse,
    1999):
    ``(2 pi)^-d int (w^2 |phi_Z|^2 - 2 w (n |phi_Z|^2 - 1) / (n - 1)) / |phi_eta|^2 dt``.
    It judges the density, not the centers, and is unstable where the noise is large.

    Parameters
    ----------
    candidates : array of shape (m,) or (m, d), or None
        The bandwidths to choose from; None searches between sensible limits.

    Examples
    --------
    >>> CrossValidation([0.5, 1.0])
    CrossValidation(candidates=((0.5,), (1.0,)))
    """

    candidates: Candidates = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", as_candidates(self.candidates))

    def finest(self, n: float, scale: Array, noise: Noise, window: Window) -> Array:
        """Return the smallest candidate along each axis."""
        return finest(self.candidates, n, scale, noise, window)

    def choose(self, task: Task) -> Selection:
        """Return the candidate with the smallest criterion."""
        task = coarsened(task, self.candidates)
        grid, n = task.groups.grid, max(task.effective_n, 2.0)
        power = np.abs(task.spectrum.coefficients) ** 2
        others = (n * power - 1) / (n - 1)
        axes = grid.frequencies
        t = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        size = np.abs(task.noise.characteristic_function(t)) ** 2
        both = np.full(len(axes[-1]), 2.0)  # the frequencies below 0 mirror those above
        both[0] = 1.0
        volume = np.prod(
            [1 / (n * s) for n, s in zip(grid.padded_shape, grid.spacing, strict=True)]
        )

        def criterion(bandwidth: Array) -> float:
            w = task.window(t * bandwidth).prod(axis=-1)
            inside = w > 0
            terms = np.zeros_like(w)
            np.divide(w * (w * power - 2 * others), size, out=terms, where=inside)
            return float((terms * both).sum() * volume)

        return search(task, self.candidates, criterion)
