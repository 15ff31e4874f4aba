"""The report's tables, in HTML that needs no script."""

from __future__ import annotations

import platform
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import __version__
from noisykmeans.distributed import is_collection
from noisykmeans.views import axes_of, feature_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.estimators import NoisyKMeans

    Array = NDArray[np.float64]

__all__ = [
    "clusters",
    "facts",
    "findings",
    "known_labels",
    "readable",
    "settings",
    "shares",
    "versions",
]

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
_LONGEST = 300  # characters of a setting


def clusters(model: NoisyKMeans) -> str:
    """Return the table of the centers, with their standard errors where these are known."""
    names = feature_names(model)
    clean, counts = shares(model), _counts(model)
    errors = getattr(model, "center_std_errors_", None)
    head = ["cluster"]
    head += ["share of clean points"] if clean is not None else []
    head += ["observations"] if counts is not None else []
    for name in names:
        head += [name, f"± {name}"] if errors is not None else [name]
    lines = []
    shown = readable(model.cluster_centers_)
    for j, center in enumerate(model.cluster_centers_):
        mark = f'<canvas class="mark" data-cluster="{j}" aria-hidden="true"></canvas>'
        cells = [f'<th scope="row" data-value="{j}">{mark}{j}</th>']
        if clean is not None:
            cells.append(f'<td data-value="{clean[j]:.6g}">{clean[j]:.1%}</td>')
        if counts is not None:
            cells.append(f'<td data-value="{counts[j]}">{counts[j]:,}</td>')
        for v, value in enumerate(center):
            cells.append(_number(value, shown[j][v]))
            if errors is not None:
                cells.append(_number(errors[j][v], f"{errors[j][v]:.2g}"))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    titles = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    return (
        f'<table id="clusters"><thead><tr>{titles}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def facts(rows: Mapping[str, Any] | Iterable[tuple[str, Any]], name: str) -> str:
    """Return a table of names and what is to be said of each."""
    pairs = rows.items() if hasattr(rows, "items") else rows
    lines = "".join(
        f'<tr><th scope="row">{escape(str(key))}</th><td>{escape(str(value))}</td></tr>'
        for key, value in pairs
    )
    return f'<table class="facts" id="{name}"><tbody>{lines}</tbody></table>'


def shares(model: NoisyKMeans) -> Array | None:
    """Return the share of the clean points in each cell, None where the density cannot tell."""
    if model.density_ is None:
        return None
    _, basis = axes_of(model)
    apart = model.cluster_centers_ - model.cluster_centers_.mean(axis=0)
    if not np.allclose(apart, apart @ basis.T @ basis, atol=1e-9 * np.abs(apart).max(initial=1)):
        return None
    masses, _ = model.density_.cell_moments(model.cluster_centers_ @ basis.T)
    return np.asarray(masses / masses.sum())


def readable(values: ArrayLike) -> list[list[str]]:
    """Return numbers as text, with the digits in which those of a column differ.

    Examples
    --------
    >>> readable([[0.123456, 1e6 + 1.25], [10.0, 1e6 + 3.0]])
    [['0.1235', '1000001.25'], ['10', '1000003']]
    """
    array = np.atleast_2d(np.asarray(values, dtype=np.float64))
    size, spread = np.abs(array).max(axis=0), np.ptp(array, axis=0)
    offset = np.where(spread > 0, size / np.where(spread > 0, spread, 1.0), 1.0)
    digits = np.clip(4 + np.ceil(np.log10(np.maximum(offset, 1.0)) - 0.5), 4, 14).astype(int)
    return [[f"{v:.{p}g}" for v, p in zip(row, digits.tolist(), strict=True)] for row in array]


def settings(model: NoisyKMeans) -> str:
    """Return the table of the parameters."""
    rows = [(name, repr(value)) for name, value in model.get_params(deep=False).items()]
    return facts([(name, _shortened(value)) for name, value in rows], "settings")


def findings(model: NoisyKMeans) -> dict[str, str]:
    """Return what the fit has found beside the centers."""
    found = {"Clusters": str(len(model.cluster_centers_))}
    labels = known_labels(model)
    if labels is not None:
        found["Observations"] = f"{len(labels):,}"
        missing = int((labels == -1).sum())
        if missing:
            found["Without any coordinate"] = f"{missing:,}"
    found["Features"] = ", ".join(feature_names(model))
    found["Sum of squared distances (inertia_)"] = f"{model.inertia_:.6g}"
    found["Iterations"] = str(model.n_iter_)
    if model.n_steps_ == 0:
        found["Smoothing"] = "maximum likelihood, a mixture of Gaussian bumps"
    elif model.n_steps_ is not None:
        found["Smoothing"] = f"maximum likelihood, {model.n_steps_} steps"
    elif model.density_ is not None:
        each = ", ".join(f"{value:.4g}" for value in np.ravel(model.bandwidth_))
        found["Smoothing"] = f"kernel estimate, bandwidth {each}"
    else:
        found["Smoothing"] = "none: without errors the fit is k-means on the points"
    return found


def known_labels(model: NoisyKMeans) -> NDArray[np.int32] | None:
    """Return the labels of the fit, None where there are none or Dask has not computed them."""
    labels = getattr(model, "labels_", None)
    return None if is_collection(labels) else labels


def versions() -> dict[str, str]:
    """Return what the fit was made with."""
    libraries = {name: version(name) for name in _LIBRARIES}
    system = f"{platform.system()} {platform.machine()}"
    return {
        "noisykmeans": __version__,
        "Python": platform.python_version(),
        **libraries,
        "System": system,
    }


def _counts(model: NoisyKMeans) -> NDArray[np.intp] | None:
    """Return the number of observations with each label."""
    labels = known_labels(model)
    if labels is None:
        return None
    return np.bincount(labels[labels >= 0], minlength=len(model.cluster_centers_))


def _number(value: float, shown: str) -> str:
    return f'<td data-value="{value:.12g}">{shown}</td>'.replace(">-", ">\N{MINUS SIGN}")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
