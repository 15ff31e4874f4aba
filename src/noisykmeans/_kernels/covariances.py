"""Many small covariance matrices: whether they are some, and their logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["first_improper", "logs_of_two"]


@kernel
def first_improper(S: NDArray[Any], tolerance: float) -> int:
    """Return the first matrix that is not finite, symmetric and positive semidefinite, or -1.

    Asymmetry and negative eigenvalues up to the tolerance, in the largest entry, are rounding.
    """
    n, d = S.shape[0], S.shape[1]
    L = np.empty((d, d))
    for i in range(n):
        size = 0.0
        trace = 0.0  # NaN for NaN and infinity
        for v in range(d):
            for w in range(d):
                size = max(size, abs(S[i, v, w]))
                trace += S[i, v, w] - S[i, v, w]
        slack = tolerance * size if size > 0 else 1.0
        proper = trace == 0.0
        for v in range(d):
            for w in range(v + 1):
                proper &= abs(S[i, v, w] - S[i, w, v]) <= tolerance * size
                # Cholesky's factor of the matrix with a little more on its diagonal.
                rest = S[i, v, w]
                for u in range(w):
                    rest -= L[v, u] * L[w, u]
                if v == w:
                    proper &= rest + slack > 0
                    L[v, v] = np.sqrt(max(rest + slack, 1e-300))
                else:
                    L[v, w] = rest / L[w, w]
        if not proper:
            return i
    return -1


@kernel
def logs_of_two(S: NDArray[Any], scale: NDArray[Any], floor: float, logs: NDArray[Any]) -> None:
    """Fill the logarithms of matrices of two axes: entries (0, 0), (1, 0), (1, 1).

    Before, axes are divided by their scale, and the floor is added to variances. In closed form
    the logarithm is ``a I + b S``.
    """
    for i in range(S.shape[0]):
        first = S[i, 0, 0] / (scale[0] * scale[0]) + floor
        cross = S[i, 1, 0] / (scale[0] * scale[1])
        second = S[i, 1, 1] / (scale[1] * scale[1]) + floor
        middle = 0.5 * (first + second)
        half = np.sqrt((0.5 * (first - second)) ** 2 + cross * cross)
        low, high = np.log(max(middle - half, floor)), np.log(middle + half)
        slope = 1 / middle if half < 1e-9 * middle else (high - low) / (2 * half)
        shift = 0.5 * (low + high) - slope * middle
        logs[i, 0] = slope * first + shift
        logs[i, 1] = slope * cross
        logs[i, 2] = slope * second + shift
