"""A fitted model as rows of a table, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.report.tables import readable, shares
from noisykmeans.views import feature_names

if TYPE_CHECKING:
    from noisykmeans.estimators import NoisyKMeans

__all__ = ["as_json", "as_rows"]


def as_json(model: NoisyKMeans) -> dict[str, Any]:
    """Return the centers and what tells of them, by names."""
    names = feature_names(model)
    errors = getattr(model, "center_std_errors_", None)
    clean, counts = shares(model), _counts(model)
    clusters = []
    for j, center in enumerate(model.cluster_centers_):
        cluster: dict[str, Any] = {
            "label": j,
            "center": dict(zip(names, center.tolist(), strict=True)),
        }
        if errors is not None:
            cluster["std_errors"] = _named(names, errors[j])
        if clean is not None:
            cluster["share"] = float(clean[j])
        if counts is not None:
            cluster["observations"] = int(counts[j])
        clusters.append(cluster)
    return {
        "clusters": clusters,
        "inertia": float(model.inertia_),
        "iterations": int(model.n_iter_),
        "steps": model.n_steps_,
        "bandwidth": None if model.bandwidth_ is None else np.ravel(model.bandwidth_).tolist(),
        "noise": None if model.noise is None else repr(model.noise),
    }


def as_rows(model: NoisyKMeans) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of the clusters."""
    names, clusters = feature_names(model), as_json(model)["clusters"]
    head = ["cluster"]
    for key, title in (("share", "share"), ("observations", "observations")):
        head += [title] if key in clusters[0] else []
    rows = []
    shown = readable(model.cluster_centers_)
    for cluster, texts in zip(clusters, shown, strict=True):
        row = [str(cluster["label"])]
        row += [f"{cluster['share']:.1%}"] if "share" in cluster else []
        row += [f"{cluster['observations']:,}"] if "observations" in cluster else []
        for name, value in zip(names, texts, strict=True):
            error = cluster.get("std_errors", {}).get(name)
            row.append(value if error is None else f"{value} ± {error:.2g}")
        rows.append(row)
    return [*head, *names], rows


def _named(names: tuple[str, ...], values: Any) -> dict[str, float]:
    return dict(zip(names, np.asarray(values).tolist(), strict=True))


def _counts(model: NoisyKMeans) -> Any:
    labels = getattr(model, "labels_", None)
    if labels is None:
        return None
    labels = np.asarray(labels)
    return np.bincount(labels[labels >= 0], minlength=len(model.cluster_centers_))
