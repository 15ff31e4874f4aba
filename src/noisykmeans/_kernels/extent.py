"""Bounds of features, and whether all of their values are finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["extend"]


@kernel
def extend(rows: NDArray[Any], low: NDArray[Any], high: NDArray[Any], trace: NDArray[Any]) -> None:
    """Extend the bounds of each column; its trace becomes NaN at a value that is not finite.

    There is no order among columns, so that the inner loop runs on many at a time: rows of a few
    features come joined to long ones.
    """
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = rows[i, j]
            low[j] = value if value < low[j] else low[j]  # noqa: FURB136  min minds NaN, and time
            high[j] = value if value > high[j] else high[j]  # noqa: FURB136  the same
            trace[j] += value - value  # 0, but NaN for NaN and infinity
