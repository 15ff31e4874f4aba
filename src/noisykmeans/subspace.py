"""The span of the centers, which is all that their cells depend on, whatever the dimension.

``|x - c_i|^2 - |x - c_j|^2`` depends on x only through its projection on the span of the centers'
differences, of dimension k - 1 at most. So a grid on that span is enough: the errors of the
projected observations are the projected errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans import _kernels
from noisykmeans.noise import Custom, Gaussian, PerObservation, Sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = ["Subspace", "projected_noise"]

_SMALLEST = 1e-6  # spread of centers along an axis, of the largest one, that counts as none


@dataclass(frozen=True, eq=False)
class Subspace:
    """An affine subspace with orthonormal coordinates: ``u = basis x``, ``x = origin + basis^T u``.

    Parameters
    ----------
    origin : array of shape (d,)
        Its point of coordinates 0, at right angles to the basis.
    basis : array of shape (r, d)
        Orthonormal rows.

    Examples
    --------
    >>> plane = Subspace(np.array([0.0, 0.0, 7.0]), np.eye(3)[:2])
    >>> plane.project([[1.0, 2.0, 3.0]]).tolist()
    [[1.0, 2.0]]
    >>> plane.lift([[1.0, 2.0]]).tolist()
    [[1.0, 2.0, 7.0]]
    """

    origin: Array
    basis: Array

    @classmethod
    def spanned(cls, centers: Array, mean: Array, errors: Array, n_axes: int) -> Subspace:
        """Return the span of centers, or its leading axes, such that errors are uncorrelated.

        Parameters
        ----------
        centers : array of shape (k, d)
            Points of the span.
        mean : array of shape (d,)
            A point that it passes through: the mean of the clean points.
        errors : array of shape (d, d)
            The covariance of the errors.
        n_axes : int
            The largest number of axes.
        """
        spread = centers - centers.mean(axis=0)
        _, sizes, axes = np.linalg.svd(spread, full_matrices=True)
        rank = int(np.count_nonzero(sizes > _SMALLEST * max(sizes[0], 1e-300)))
        basis = axes[: max(min(rank, n_axes), 1)]
        _, turn = np.linalg.eigh(basis @ errors @ basis.T)
        basis = turn.T @ basis
        # Along a direction its sign is free: the largest entry is positive.
        largest = np.take_along_axis(basis, np.abs(basis).argmax(axis=1)[:, None], axis=1)
        basis = basis * np.sign(largest)
        return cls(mean - (basis @ mean) @ basis, basis)

    @classmethod
    def whole(cls, dimension: int) -> Subspace:
        """Return the space itself."""
        return cls(np.zeros(dimension), np.eye(dimension))

    @property
    def dimension(self) -> int:
        """The number of axes."""
        return len(self.basis)

    def project(self, X: Array) -> Array:
        """Return the coordinates of points of shape (n, d), of shape (n, r)."""
        X = np.asarray(X)

        def block(rows: slice) -> Array:
            return np.asarray(X[rows] @ self.basis.T)

        return np.concatenate(list(_kernels.threads.map_blocks(block, len(X))))

    def lift(self, points: Array) -> Array:
        """Return points of the subspace, of shape (n, d), by their coordinates."""
        return np.asarray(self.origin + np.asarray(points) @ self.basis)


def projected_noise(noise: Noise, basis: Array) -> Noise:
    """Return the law of the errors' coordinates, or raise where it is unknown.

    Parameters
    ----------
    noise : Noise
        The law of the errors.
    basis : array of shape (r, d)
        Of a `Subspace`.
    """
    if isinstance(noise, PerObservation):
        return PerObservation([projected_noise(law, basis) for law in noise.laws], noise.labels)
    for term in noise.laws if isinstance(noise, Sum) else (noise,):
        if isinstance(term, Custom) and term.dimension is None:
            raise ValueError(
                f"noise {term!r} has no dimension, so it is not known how its errors on "
                f"{basis.shape[1]} features depend on each other, and it cannot be projected: "
                f"give its functions for all features, with dimension={basis.shape[1]}, or "
                f"noisykmeans.noise.Independent of one law for each"
            )
    law = noise.project(basis)
    if not isinstance(law, Gaussian):
        return law
    S = law.covariance
    rest = S - np.diag(np.diag(S))
    uncorrelated = np.abs(rest).max() <= 1e-12 * max(np.diag(S).max(), 1e-300)
    return Gaussian(np.sqrt(np.diag(S))) if uncorrelated else law
