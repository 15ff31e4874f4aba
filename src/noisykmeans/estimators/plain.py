"""A fitted model as scikit-learn's own k-means, for servers and converters that know no other."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

__all__ = ["plain_kmeans"]


def plain_kmeans(model: Any) -> KMeans:
    """Return a `KMeans` that predicts what a fitted `NoisyKMeans` predicts.

    Parameters
    ----------
    model : NoisyKMeans
        Fitted.
    """
    centers = np.ascontiguousarray(model.cluster_centers_, dtype=np.float64)
    plain = KMeans(len(centers), init=centers, n_init=1, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where centers are equal
        plain.fit(centers)  # the least that makes it a fitted model
    plain.cluster_centers_ = centers.copy()
    for name in ("inertia_", "n_iter_", "labels_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(plain, name, getattr(model, name))
        elif name == "labels_":
            del plain.labels_
    return plain
