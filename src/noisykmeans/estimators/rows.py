"""Rows as users hand them over, with errors of their own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noisykmeans.errors import proper
from noisykmeans.observations import bounds
from noisykmeans.units import check_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.errors import Errors
    from noisykmeans.noise import Noise
    from noisykmeans.observations import Observations

    Array = NDArray[np.float64]

__all__ = ["Features", "Rows", "as_covariances", "warn_of_empty"]


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


class Features(NamedTuple):
    """The features that vary: the rows, what differs in their errors, what is common, and which."""

    sample: Observations
    errors: Errors | None
    noise: Noise
    axes: NDArray[np.intp]


def as_covariances(
    X_err: Any, X_cov: Any, X: Array, names: NDArray[Any] | None = None
) -> Array | None:
    """Return the covariance of each row's errors, or raise where they are none.

    Infinite variances stay; a value that X does not have needs no error. The names are those of
    the features, if they have some.
    """
    if X_err is not None and X_cov is not None:
        raise ValueError("give X_err or X_cov, not both: X_cov holds the variances of X_err")
    if X_err is not None:
        _check_order(X_err, names)
        sizes = _deviations(X_err, X)
        covariances = np.zeros((*X.shape, X.shape[1]))
        with np.errstate(over="ignore"):
            for v, size in enumerate(sizes.T):
                covariances[:, v, v] = size**2
        return covariances
    return None if X_cov is None else _matrices(X_cov, X)


def _check_order(X_err: Any, names: NDArray[Any] | None) -> None:
    """Raise where errors have the names of the features in another order."""
    columns = getattr(X_err, "columns", None)
    if names is None or columns is None:
        return
    given, wanted = list(columns), list(names)
    if given != wanted and set(given) == set(wanted):
        raise ValueError(
            f"X_err has the columns {given}, and X has {wanted}: errors are taken by their place, "
            f"so bring them into the same order, with X_err[{wanted}]"
        )


def _numbers(values: Any, name: str) -> Array:
    check_plain(values, name)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array, and errors cannot be missing: for values that were not "
            f"observed put NaN in X, or fill {name} with infinity"
        )
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
    if proper(S) and np.isfinite(bounds(X)).all():
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


def warn_of_empty(n: int, stacklevel: int) -> None:
    """Warn of rows of which nothing was observed."""
    warnings.warn(
        f"X has {n} row{'s' if n > 1 else ''} of which no coordinate was observed: they are "
        f"ignored, and have the label -1",
        UserWarning,
        stacklevel=stacklevel + 1,
    )
