"""Compiled loops: arrays and scalars in, arrays out.

Submodules load, and numba with them, when they are first used: `import noisykmeans` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from noisykmeans._kernels import (
        binning,
        cells,
        covariances,
        extent,
        interpolation,
        labels,
        mixture,
        projection,
        spreading,
        sweep,
        threads,
    )

__all__ = [
    "binning",
    "cells",
    "covariances",
    "extent",
    "interpolation",
    "labels",
    "mixture",
    "projection",
    "spreading",
    "sweep",
    "threads",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
