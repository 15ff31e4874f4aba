"""Errors of each observation, and coordinates that were not observed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeGuard

import numpy as np

from noisykmeans import _kernels
from noisykmeans.groups import Kind
from noisykmeans.noise import Gaussian, Noise, PerObservation
from noisykmeans.observations import bounds
from noisykmeans.partition import MOST_GROUPS, partition
from noisykmeans.units import check_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.observations import Observations

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Errors", "Rows", "as_covariances", "gaussian", "heavy", "varies", "warn_of_empty"]

_LARGEST = 10.0  # standard deviations of well-measured rows: larger errors leave nothing to know
_FENCE = 5.0  # distances of the quartiles from the middle, where variances are infinite
_TOLERANCE = 1e-8  # of symmetry and of eigenvalues, in the size of the matrix


@dataclass(frozen=True, eq=False)
class Rows:
    """Checked training data.

    Parameters
    ----------
    points : array of shape (m, d)
        All rows, with NaN for what was not observed.
    sample : Observations
        The rows that count, and their weights; bounds are NaN where a value is missing.
    errors : Errors or None
        What differs in their errors; None where nothing does.
    """

    points: Array
    sample: Observations
    errors: Errors | None


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
        sizes = np.sqrt(self.covariances.diagonal(axis1=1, axis2=2))
        for v, (size, seen) in enumerate(zip(sizes.T, self.observed.T, strict=True)):
            half = np.median(size[seen])
            better = X[seen & (size <= half), v]
            # The better half itself stays: of a constant feature nothing else tells anything.
            observed[:, v] &= (size <= half) | (size <= _LARGEST * float(better.std()))
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
        patterns = self.observed @ (1 << np.arange(d))
        if self.labels is not None:
            patterns = patterns + (self.labels << d)
        labels = np.zeros(n, dtype=np.intp)
        kinds: list[Kind] = []
        for pattern in np.unique(patterns)[::-1]:
            axes = tuple(v for v in range(d) if pattern >> v & 1)
            rows = np.flatnonzero(patterns == pattern) if (patterns != pattern).any() else slice(n)
            law = laws[pattern >> d]
            law = law.marginal(axes) if 0 < len(axes) < d else law
            if self.covariances is None or not axes:
                labels[rows] = len(kinds)
                kinds.append(Kind(law, axes))
                continue
            S = self.covariances[rows]
            S = S[:, np.array(axes)[:, None], axes] if len(axes) < d else S
            number = MOST_GROUPS[d] if most is None else most
            number = number if len(axes) == d else number // 4
            own, each = partition(S, weights[rows], scale[list(axes)], number)
            labels[rows] = own + len(kinds)
            kinds.extend(Kind(law + gaussian(matrix), axes) for matrix in each)
        return labels, kinds


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


def as_covariances(X_err: Any, X_cov: Any, X: Array) -> Array | None:
    """Return the covariance of each row's errors, or raise where they are none.

    Infinite variances stay; a value that X does not have needs no error.
    """
    if X_err is not None and X_cov is not None:
        raise ValueError("give X_err or X_cov, not both: X_cov holds the variances of X_err")
    if X_err is not None:
        sizes = _deviations(X_err, X)
        covariances = np.zeros((*X.shape, X.shape[1]))
        with np.errstate(over="ignore"):
            for v, size in enumerate(sizes.T):
                covariances[:, v, v] = size**2
        return covariances
    return None if X_cov is None else _matrices(X_cov, X)


def _numbers(values: Any, name: str) -> Array:
    check_plain(values, name)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers; got {values!r}") from error


def _deviations(X_err: Any, X: Array) -> Array:
    sizes = _numbers(X_err, "X_err")
    n, d = X.shape
    if sizes.shape == (n,):
        sizes = np.repeat(sizes[:, None], d, axis=1)
    if sizes.shape != (n, d):
        raise ValueError(
            f"X_err must have the shape ({n},) or ({n}, {d}), a standard deviation for each row "
            f"or each value of X; got {sizes.shape}"
        )
    sizes = np.where(np.isnan(X), 0.0, sizes)
    bad = ~(sizes >= 0)
    if bad.any():
        row, feature = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"X_err must hold standard deviations, 0 or more; got {sizes[row, feature]} in row "
            f"{row}, feature {feature}: infinity stands for a value that was not observed"
        )
    return sizes


def _matrices(X_cov: Any, X: Array) -> Array:
    S = _numbers(X_cov, "X_cov")
    n, d = X.shape
    if S.shape != (n, d, d):
        raise ValueError(
            f"X_cov must have the shape ({n}, {d}, {d}), a covariance matrix for each row of X; "
            f"got {S.shape}"
        )
    if _proper(S) and np.isfinite(bounds(X)).all():
        return S
    missing = np.isnan(X) | (S.diagonal(axis1=1, axis2=2) == np.inf)
    if missing.any():
        S = np.where(missing[:, :, None] | missing[:, None, :], 0.0, S)
        rows, features = np.nonzero(missing)
        S[rows, features, features] = np.inf
    finite = np.isfinite(S) | (np.eye(d, dtype=bool) & missing[:, :, None])
    if not finite.all():
        row = int(np.argwhere(~finite)[0, 0])
        raise ValueError(
            f"X_cov must be finite, with infinite variances for values that were not observed; "
            f"got {S[row].tolist()} in row {row}"
        )
    return S


def _check_definite(S: Array) -> None:
    """Raise where a matrix is no covariance, and say which."""
    if _proper(S):
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


def _proper(S: Array) -> bool:
    """Return whether all matrices are finite, symmetric and positive semidefinite."""

    def block(rows: slice) -> int:
        return _kernels.covariances.first_improper(S[rows], _TOLERANCE)

    return all(row < 0 for row in _kernels.threads.map_blocks(block, len(S)))


def warn_of_empty(n: int, stacklevel: int) -> None:
    """Warn of rows of which nothing was observed."""
    warnings.warn(
        f"X has {n} row{'s' if n > 1 else ''} of which no coordinate was observed: they are "
        f"ignored, and have the label -1",
        UserWarning,
        stacklevel=stacklevel + 1,
    )
