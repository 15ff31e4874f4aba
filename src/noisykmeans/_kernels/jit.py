"""The one decorator of all kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a serial loop that releases the GIL, cached on disk where that is possible."""
    try:
        compiled: F = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        # numba raises at import where neither the package's folder nor a home can be written.
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled
