"""Values that carry more than numbers, units or errors, and are not to lose it unnoticed."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_plain"]

_WITH_UNITS = {"astropy", "pint", "unyt"}


def check_plain(value: Any, name: str) -> None:
    """Raise where turning a value into plain numbers would drop its unit or its errors.

    Parameters
    ----------
    value : anything
        As users hand it over.
    name : str
        What it is called, for the message.

    Examples
    --------
    >>> check_plain([[1.0, 2.0]], "X")
    """
    home = {base.__module__.split(".")[0] for base in type(value).__mro__}
    for library in sorted(home & _WITH_UNITS):
        raise TypeError(
            f"{name} is a {type(value).__name__} of {library}, whose unit plain numbers would "
            f"lose: give numbers in the unit of the features; noisykmeans.interchange converts "
            f"tables and quantities of astropy"
        )
    first = np.ravel(value)[:1] if isinstance(value, np.ndarray) and value.dtype == object else ()
    if any(hasattr(entry, "nominal_value") for entry in first):
        raise TypeError(
            f"{name} holds values with uncertainties, which plain numbers would lose: take "
            f"X, X_cov = noisykmeans.interchange.from_uncertainties({name})"
        )
