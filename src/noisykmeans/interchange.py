"""Values of other libraries, with their units and errors, as the arrays that `fit` takes.

Nothing is imported before it is used, and nothing is dropped silently: errors are converted to
the units of their features, or refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Measurements", "from_quantities", "from_table", "from_uncertainties"]


@dataclass(frozen=True, eq=False)
class Measurements:
    """Observations and their standard errors as plain numbers, and the units that they are in.

    Parameters
    ----------
    X : array of shape (n, d)
        The observations, NaN where a value is masked.
    X_err : array of shape (n, d) or None
        Their standard errors.
    names : tuple of str
        The features.
    units : tuple of astropy units or None
        The unit of each, None where it has none.
    """

    X: Array
    X_err: Array | None
    names: tuple[str, ...]
    units: tuple[Any, ...]

    def restore(self, values: ArrayLike) -> dict[str, Any]:
        """Return values on the features, such as centers, with their units, by feature.

        Parameters
        ----------
        values : array of shape (k, d)
            In the units of the features.
        """
        columns = np.asarray(values, dtype=np.float64).T
        if len(columns) != len(self.names):
            raise ValueError(
                f"values must have a column for each of {', '.join(self.names)}; got the shape "
                f"{np.shape(values)}"
            )
        each = zip(self.names, columns, self.units, strict=True)
        return {name: column if unit is None else column * unit for name, column, unit in each}


def from_table(table: Any, columns: Sequence[str], errors: Sequence[str] = ()) -> Measurements:
    """Return columns of an astropy `Table` or `QTable`.

    Parameters
    ----------
    table : astropy.table.Table
        Columns may have units, and masked values, which become NaN.
    columns : sequence of str
        The features.
    errors : sequence of str
        The columns of their standard errors, one for each; or none. They are converted to the
        units of the features.

    Examples
    --------
    >>> from astropy import units
    >>> from astropy.table import QTable
    >>> table = QTable({"size": [1.0, 2.0] * units.m, "e_size": [10.0, 20.0] * units.cm})
    >>> stars = from_table(table, ["size"], ["e_size"])
    >>> stars.X_err.tolist()
    [[0.1], [0.2]]
    >>> stars.restore([[1.5]])
    {'size': <Quantity [1.5] m>}
    """
    for name in (*columns, *errors):
        if name not in table.colnames:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(table.colnames)}")
    own = {name: table[name] for name in columns}
    return from_quantities(own, [table[name] for name in errors] or None)


def from_quantities(
    columns: Mapping[str, Any], errors: Sequence[Any] | None = None
) -> Measurements:
    """Return features and errors that are astropy quantities, columns or arrays.

    Parameters
    ----------
    columns : mapping of str to array of shape (n,)
        The features by their names, each with its own unit or none.
    errors : sequence of arrays of shape (n,), or None
        Their standard errors, one for each, converted to the units of the features. A feature
        with a unit needs errors with one, and the other way round.

    Examples
    --------
    >>> from astropy import units
    >>> found = from_quantities({"ra": [1.0, 2.0] * units.deg}, [[36.0, 72.0] * units.arcsec])
    >>> found.X_err.round(6).tolist()
    [[0.01], [0.02]]
    """
    names, values = tuple(columns), list(columns.values())
    units = tuple(_unit(value) for value in values)
    X = np.stack([_numbers(value) for value in values], axis=1)
    if errors is None:
        return Measurements(X, None, names, units)
    if len(errors) != len(names):
        raise ValueError(
            f"errors must be one for each of {', '.join(names)}; got {len(errors)} of them"
        )
    each = zip(names, units, errors, strict=True)
    X_err = np.stack([_converted(error, unit, name) for name, unit, error in each], axis=1)
    return Measurements(X, X_err, names, units)


def from_uncertainties(values: ArrayLike) -> tuple[Array, Array]:
    """Return nominal values and covariances of an array of the package uncertainties.

    Values of one row may be correlated. Correlations between rows have no place in the model,
    and are refused.

    Parameters
    ----------
    values : array of shape (n, d) or (n,)
        Numbers with uncertainties; plain numbers are exact.

    Returns
    -------
    X : array of shape (n, d)
    X_cov : array of shape (n, d, d)

    Examples
    --------
    >>> from uncertainties import ufloat
    >>> x = ufloat(1.0, 0.5)
    >>> X, X_cov = from_uncertainties([[x, x + ufloat(2.0, 0.1)]])
    >>> X.tolist(), X_cov.round(2).tolist()
    ([[1.0, 3.0]], [[[0.25, 0.25], [0.25, 0.26]]])
    """
    rows = np.asarray(values, dtype=object)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2:
        raise ValueError(f"values must have the shape (n, d) or (n,); got {rows.shape}")
    X = np.array([[getattr(z, "nominal_value", z) for z in row] for row in rows], dtype=np.float64)
    seen: dict[Any, int] = {}
    for i, row in enumerate(rows):
        for variable in {v for value in row for v in getattr(value, "derivatives", ())}:
            if seen.setdefault(variable, i) != i:
                raise ValueError(
                    f"the rows {seen[variable]} and {i} have correlated errors, and rows must "
                    f"have errors of their own: give what they share as noise"
                )
    return X, np.array([_covariance(row) for row in rows], dtype=np.float64)


def _covariance(row: Any) -> list[list[float]]:
    """Return ``sum_v dz_i/dv dz_j/dv var(v)``, v the variables that the values are made of."""
    slopes = [getattr(value, "derivatives", {}) for value in row]
    return [[sum(a[v] * b[v] * v.std_dev**2 for v in a if v in b) for b in slopes] for a in slopes]


def _unit(value: Any) -> Any:
    """Return the unit of a quantity or a column, None where there is none."""
    return getattr(value, "unit", None)


def _numbers(value: Any) -> Array:
    """Return plain numbers in the unit of the value, NaN where they are masked."""
    mask = getattr(value, "mask", False)
    plain = value.value if hasattr(value, "value") else value
    plain = getattr(plain, "unmasked", plain)
    numbers = np.array(np.ma.getdata(plain), dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"a column must have the shape (n,); got {numbers.shape}")
    numbers[np.broadcast_to(np.asarray(mask, dtype=bool), numbers.shape)] = np.nan
    return numbers


def _converted(error: Any, unit: Any, name: str) -> Array:
    """Return errors in the unit of their feature."""
    own = _unit(error)
    if unit is None and own is None:
        return _numbers(error)
    if unit is None or own is None:
        bare, other = ("the errors of ", "") if own is None else ("", "the errors of ")
        raise ValueError(
            f"{bare}{name!r} {'have' if own is None else 'has'} no unit, and {other}{name!r} "
            f"{'has' if own is None else 'have'} the unit {unit or own}: give both a unit, or none"
        )
    try:
        factor = own.to(unit)
    except Exception as error_of_units:  # astropy's own, which is not to be imported for this
        raise ValueError(
            f"the errors of {name!r} are in {own}, which is no unit of the same kind as {unit}"
        ) from error_of_units
    return _numbers(error) * factor
