"""Errors of each observation, and coordinates that were not observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeGuard

import numpy as np

from noisykmeans import _kernels
from noisykmeans.grid import MAX_DIMENSION
from noisykmeans.groups import Kind
from noisykmeans.noise import Gaussian, Noise, PerObservation
from noisykmeans.partition import most_groups, partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Errors", "gaussian", "heavy", "proper", "rows_alike", "varies"]

_LARGEST = 10.0  # standard deviations of well-measured rows: larger errors leave nothing to know
_LOOKED_AT = 2**17  # rows, for medians
_FENCE = 5.0  # distances of the quartiles from the middle, where variances are infinite
_BITS = 40  # axes whose patterns are whole numbers, with room for labels
_TOLERANCE = 1e-8  # of symmetry and of eigenvalues, in the size of the matrix


@dataclass(frozen=True, eq=False)
class Errors:
    """What is known of the errors of each row, beside the law that all share.

    Parameters
    ----------
    covariances : array of shape (n, d, d) or None
        Of the Gaussian errors of each row; None means that there are none.
    observed : array of shape (n, d)
        Which coordinates were observed.
    labels : array of shape (n,) or None
        The number of each row's law where the shared law is `noise.PerObservation`.
    """

    covariances: Array | None
    observed: Mask
    labels: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, X: Array, covariances: Array | None, noise: Noise | None = None) -> Errors:
        """Take NaN in X and infinite variances for coordinates that were not observed."""
        observed = ~np.isnan(X)
        if covariances is not None:
            variances = covariances.diagonal(axis1=1, axis2=2)
            observed &= np.isfinite(variances)
            hidden = ~(observed[:, :, None] & observed[:, None, :])
            if hidden.any():
                covariances = np.where(hidden, 0.0, covariances)
            _check_definite(covariances)
        return cls(covariances, observed, noise.labels if varies(noise) else None)

    def check_features(self) -> None:
        """Raise where a feature was never observed."""
        for feature in np.flatnonzero(~self.observed.any(axis=0)):
            raise ValueError(
                f"X has no observed value in feature {feature}: all are NaN or have an infinite "
                f"error; leave that feature out"
            )

    @property
    def absent(self) -> bool:
        """Whether all is observed without any error."""
        none = self.covariances is None or not self.covariances.any()
        return bool(none and self.observed.all())

    def rows(self, kept: Mask) -> Errors:
        """Return the errors of some rows."""
        if kept.all():
            return self
        covariances = None if self.covariances is None else self.covariances[kept]
        labels = None if self.labels is None else self.labels[kept]
        return Errors(covariances, self.observed[kept], labels)

    def restricted(self, axes: NDArray[np.intp]) -> Errors:
        """Return the errors along some of the axes."""
        if len(axes) == self.observed.shape[1]:
            return self
        covariances = self.covariances
        if covariances is not None:
            covariances = covariances[:, axes[:, None], axes]
        return Errors(covariances, self.observed[:, axes], self.labels)

    def usable(self, X: Array, noise: Noise | None) -> Self:
        """Return the errors with coordinates struck out that are measured too badly to count.

        Their error is more than ten times the standard deviation of the better half of the
        rows, which tell at least a hundred times as much. A few such rows would stretch the grid.
        So would those far out where the law of the errors has an infinite variance.
        """
        observed = self.observed.copy()
        if noise is not None:
            for axis in np.flatnonzero(np.isinf(np.diag(noise.covariance_matrix(X.shape[1])))):
                x = X[:, axis]
                low, high = np.quantile(x[observed[:, axis]], [0.25, 0.75])
                observed[:, axis] &= np.abs(x - (low + high) / 2) <= _FENCE * (high - low)
        if self.covariances is None:
            return type(self)(None, observed, self.labels)
        step = max(len(X) // _LOOKED_AT, 1)
        for v in range(X.shape[1]):
            variances = self.covariances[:, v, v]
            some, seen = variances[::step], self.observed[::step, v]
            if not seen.any():
                some, seen, step = variances, self.observed[:, v], 1
            half = np.median(some[seen])
            better = X[::step, v][seen & (some <= half)]
            # The better half itself stays: of a constant feature nothing else tells anything.
            largest = max(float(half), (_LARGEST * float(better.std())) ** 2)
            if variances.max() > largest:
                observed[:, v] &= variances <= largest
        return type(self)(self.covariances, observed, self.labels)

    def filled(self, X: Array) -> Array:
        """Return X with values of other rows for those not observed.

        Only sizes are read off them (ranges, standard deviations), and these stay as they are.
        """
        if self.observed.all():
            return X
        X = np.array(X)
        for x, seen in zip(X.T, self.observed.T, strict=True):
            x[~seen] = np.resize(x[seen], np.count_nonzero(~seen))
        return X

    def hidden(self, X: Array) -> Array:
        """Return X with NaN for what was not observed."""
        return X if self.observed.all() else np.where(self.observed, X, np.nan)

    def kinds(
        self, noise: Noise, weights: Array, scale: Array, most: int | None = None
    ) -> tuple[NDArray[np.intp], list[Kind]]:
        """Return the number of each row's kind of errors, and the kinds.

        Parameters
        ----------
        noise : Noise
            The law that all rows share; their own errors add to it.
        weights : array of shape (n,)
            Weights of the rows.
        scale : array of shape (d,)
            Standard deviations of the observations.
        most : int or None
            The largest number of kinds of complete rows; that of a fit if None.
        """
        n, d = self.observed.shape
        laws = noise.laws if isinstance(noise, PerObservation) else (noise,)
        labels = np.zeros(n, dtype=np.intp)
        kinds: list[Kind] = []
        for rows in rows_alike(self.observed, self.labels):
            axes = tuple(np.flatnonzero(self.observed[rows][0]).tolist())
            law = laws[0 if self.labels is None else int(self.labels[rows][0])]
            law = law.marginal(axes) if 0 < len(axes) < d else law
            if self.covariances is None or not axes:
                labels[rows] = len(kinds)
                kinds.append(Kind(law, axes))
                continue
            S = self.covariances[rows]
            S = S[:, np.array(axes)[:, None], axes] if len(axes) < d else S
            number = self._most(len(S), axes, most)
            own, each = partition(S, weights[rows], scale[list(axes)], number)
            labels[rows] = own + len(kinds)
            kinds.extend(Kind(law + gaussian(matrix), axes) for matrix in each)
        return labels, kinds

    def _most(self, n: int, axes: tuple[int, ...], most: int | None) -> int:
        """Return the number of groups that n rows may have, of which these axes were observed."""
        d = self.observed.shape[1]
        most = most_groups(d) if most is None else most
        if d > MAX_DIMENSION:
            return max(most * n // len(self.observed), 1)
        return most if len(axes) == d else most // 4

    def projected(self, basis: Array, scale: Array) -> Errors:
        """Return the errors of ``basis X``.

        A coordinate that was not observed counts as one with an error of ten times its standard
        deviation: as good as nothing is known of it.

        Parameters
        ----------
        basis : array of shape (r, d)
            Rows of a projection.
        scale : array of shape (d,)
            Standard deviations of the observations.
        """
        n, r = len(self.observed), len(basis)
        S = np.zeros((n, r, r))

        def block(rows: slice) -> None:
            if self.covariances is not None:
                S[rows] = basis @ self.covariances[rows] @ basis.T
            hidden = np.where(self.observed[rows], 0.0, (_LARGEST * scale) ** 2)
            if hidden.any():
                S[rows] += (hidden @ _squares(basis)).reshape(-1, r, r)

        for _ in _kernels.threads.map_blocks(block, n):
            pass
        return Errors(S, np.ones((n, r), dtype=bool), self.labels)


def _squares(basis: Array) -> Array:
    """Return the products of each column's entries, of shape (d, r r)."""
    columns = basis.T
    return (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)


def rows_alike(observed: Mask, labels: NDArray[np.intp] | None = None) -> Iterator[Any]:
    """Give the rows of which the same axes were observed, and that have one label.

    Rows of which all were observed come first where axes are few enough to count patterns.

    Parameters
    ----------
    observed : array of shape (n, d)
        Which coordinates were observed.
    labels : array of shape (n,) or None
        More that tells rows apart.
    """
    d = observed.shape[1]
    if d < _BITS:
        patterns = observed @ (1 << np.arange(d))
    else:
        patterns = np.unique(observed, axis=0, return_inverse=True)[1].ravel()
    if labels is not None:
        patterns = patterns * (labels.max() + 1) + labels
    if (patterns == patterns[0]).all():
        yield slice(None)
        return
    order = np.argsort(-patterns, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(patterns[order])) + 1)


def varies(noise: Noise | None) -> TypeGuard[PerObservation]:
    """Return whether the law is one for each observation."""
    return isinstance(noise, PerObservation)


def heavy(noise: Any) -> bool:
    """Return whether the law has an infinite variance."""
    return isinstance(noise, Noise) and not np.isfinite(noise.covariance).all()


def gaussian(covariance: Array) -> Gaussian:
    """Return the Gaussian law, of independent axes where the matrix is diagonal."""
    variances = np.diag(covariance)
    if (covariance == np.diag(variances)).all():
        return Gaussian(tuple(np.sqrt(variances).tolist()))
    return Gaussian.from_covariance(covariance)


def _check_definite(S: Array) -> None:
    """Raise where a matrix is no covariance, and say which."""
    if proper(S):
        return
    size = np.abs(S).max(axis=(1, 2))
    skew = np.abs(S - S.transpose(0, 2, 1)).max(axis=(1, 2)) > _TOLERANCE * size
    if skew.any():
        row = int(skew.argmax())
        raise ValueError(f"X_cov must be symmetric; got {S[row].tolist()} in row {row}")
    slack = np.where(size > 0, _TOLERANCE * size, 1.0)
    smallest = np.linalg.eigvalsh(S)[:, 0]
    row = int((smallest / slack).argmin())
    raise ValueError(
        f"X_cov must be positive semidefinite; row {row} has the eigenvalue "
        f"{smallest[row]:.3g}: {S[row].tolist()}"
    )


def proper(S: Array) -> bool:
    """Return whether all matrices are finite, symmetric and positive semidefinite."""

    def block(rows: slice) -> int:
        return _kernels.covariances.first_improper(S[rows], _TOLERANCE)

    return all(row < 0 for row in _kernels.threads.map_blocks(block, len(S)))
