"""Models on disk, as the verbs want them."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from noisykmeans.cli.output import WrongUse

if TYPE_CHECKING:
    from pathlib import Path

    from noisykmeans.estimators import NoisyKMeans

__all__ = ["loaded", "without_names"]


def loaded(path: Path) -> NoisyKMeans:
    """Return the fitted model of a file, or tell that it holds none."""
    if not path.exists():
        raise WrongUse(f"there is no file {path}")
    from noisykmeans.estimators import NoisyKMeans  # noqa: PLC0415  help does not need it
    from noisykmeans.persistence import load  # noqa: PLC0415

    model = load(path)
    if not isinstance(model, NoisyKMeans) or not hasattr(model, "cluster_centers_"):
        raise WrongUse(f"{path} holds {type(model).__name__}, no fitted NoisyKMeans")
    return model


def without_names(model: NoisyKMeans) -> NoisyKMeans:
    """Return the model without names of features, for columns that were chosen by name already."""
    nameless = copy(model)
    nameless.__dict__.pop("feature_names_in_", None)
    return nameless
