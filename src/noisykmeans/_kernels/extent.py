"""Bounds of features, whether all of their values are finite, and their spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_squares", "extend"]


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


@kernel
def add_squares(
    X: NDArray[Any],
    weights: NDArray[Any],
    origin: NDArray[Any],
    unit: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    """Add the sums of w, w u and w u^2 for each feature, ``u = (x - origin) / unit``."""
    for i in range(X.shape[0]):
        w = weights[i]
        for v in range(X.shape[1]):
            u = (X[i, v] - origin[v]) / unit[v]
            sums[v, 0] += w
            sums[v, 1] += w * u
            sums[v, 2] += w * u * u
