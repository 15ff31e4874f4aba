"""k-means for data with measurement errors.

Observations are ``Z = X + eps``: clean points plus errors of known law. k-means on Z splits along
the noise where the errors are large. Noisy k-means (Brunet and Loustau, 2013) estimates the
density of X from Z by deconvolution, and runs Lloyd's iterations on that density:

    observations -> Histogram -> Spectrum -> Deconvolution -> Density -> Lloyd -> centers

`NoisyKMeans` is the estimator, `noise` has the laws of errors; the modules bear the names of the
stages and can be read in that order. Names load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisykmeans import (
        datasets,
        experiments,
        interchange,
        metrics,
        noise,
        persistence,
        plots,
        report,
        selection,
        tables,
        views,
        windows,
    )
    from noisykmeans.cluster_count import select_n_clusters
    from noisykmeans.density import Density
    from noisykmeans.estimators import DeconvolvedDensity, NoisyKMeans
    from noisykmeans.grid import Grid
    from noisykmeans.histogram import Histogram
    from noisykmeans.persistence import load

__version__ = "0.1.0"

__all__ = [
    "DeconvolvedDensity",
    "Density",
    "Grid",
    "Histogram",
    "NoisyKMeans",
    "datasets",
    "experiments",
    "interchange",
    "load",
    "metrics",
    "noise",
    "persistence",
    "plots",
    "report",
    "select_n_clusters",
    "selection",
    "tables",
    "views",
    "windows",
]

_HOME = {
    "DeconvolvedDensity": "estimators",
    "Density": "density",
    "Grid": "grid",
    "Histogram": "histogram",
    "NoisyKMeans": "estimators",
    "load": "persistence",
    "select_n_clusters": "cluster_count",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOME.get(name, name)}")
    value = getattr(module, name) if name in _HOME else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
