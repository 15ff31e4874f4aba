"""The threshold of the projection on densities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["threshold"]


@kernel
def threshold(values: NDArray[Any], total: float) -> float:
    """Return ``xi`` with ``sum max(values - xi, 0) = total``, for flat values and total > 0.

    Michelot's iteration: the mean excess of the values above xi is a better xi; the set above
    it only shrinks, and is right when it rests.
    """
    xi = -1e308
    above = -1
    while True:
        count = 0
        mass = 0.0
        for i in range(values.shape[0]):
            if values[i] > xi:
                count += 1
                mass += values[i]
        if count in (above, 0):
            return xi
        above = count
        xi = (mass - total) / count
