"""The report's page, put together and written."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from noisykmeans import __version__
from noisykmeans.report import tables
from noisykmeans.report.scene import MOST_POINTS, Drawn, Scene

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from noisykmeans.estimators import NoisyKMeans

__all__ = ["render", "write"]

_KEYS = (
    "Arrow keys read the values, <kbd>Shift</kbd> with them moves the picture, <kbd>+</kbd> and "
    "<kbd>&minus;</kbd> zoom, <kbd>0</kbd> shows all. A mouse drags; its wheel zooms once the "
    "picture has been clicked."
)

_SCRIPT = ("marks", "plot", "field", "partition", "criterion", "page")  # in one scope
_LONGEST_LAW = 120  # characters; longer ones are among the settings


def write(  # noqa: PLR0913  keywords that users write
    model: NoisyKMeans,
    path: str | os.PathLike[str],
    X: ArrayLike | Drawn | None = None,
    *,
    title: str | None = None,
    facts: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the report of a fitted model, and return where.

    Parameters
    ----------
    model : NoisyKMeans
        Fitted.
    path : str or path
        The file.
    X, title, facts
        As for `render`.
    overwrite : bool
        Whether a file that exists is replaced.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists: give overwrite=True to replace it")
    # In memory first: a page is written whole or not at all.
    page = render(model, X, title=title, facts=facts)
    target.write_text(page, encoding="utf-8")
    return target


def render(
    model: NoisyKMeans,
    X: ArrayLike | Drawn | None = None,
    *,
    title: str | None = None,
    facts: Mapping[str, str] | None = None,
) -> str:
    """Return the report of a fitted model as HTML.

    Parameters
    ----------
    model : NoisyKMeans
        Fitted.
    X : array of shape (n, d), Drawn or None
        Observations to draw, 4000 of them at most, or those that were chosen before. Without them
        the histogram that the model has kept is drawn instead.
    title : str or None
        The heading.
    facts : mapping of str to str, or None
        More rows for the table on the data, such as where they come from.
    """
    check_is_fitted(model)
    k = len(model.cluster_centers_)
    title = title or f"Noisy k-means, {k} cluster{'s' if k > 1 else ''}"
    scene = Scene.of(model)
    data = scene.data(X)
    found = tables.findings(model)
    # Nothing that people have named their columns may end the script.
    sent = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Template(_file("page.html")).substitute(
        title=escape(title),
        summary=escape(_summary(model)),
        style=_file("page.css"),
        sections="\n".join(_sections(model, data, {**(facts or {}), **found})),
        version=__version__,
        date=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        data=sent,
        script="\n".join(_file(f"script/{name}.js") for name in _SCRIPT),
    )


def _summary(model: NoisyKMeans) -> str:
    """Return the fit in one sentence."""
    k, labels = len(model.cluster_centers_), tables.known_labels(model)
    rows = "" if labels is None else f" in {len(labels):,} observations"
    centers = "center that is" if k == 1 else f"{k} centers that are"
    if model.density_ is None:
        return f"The {centers} best for the observations themselves{rows}: no errors were given."
    law = "" if model.noise is None else re.sub(r"(\.\d{4})\d+", r"\1", repr(model.noise))
    law = f" Law of the errors: {law}." if 0 < len(law) < _LONGEST_LAW else ""
    return f"The {centers} best for the points without their measurement errors{rows}.{law}"


def _sections(model: NoisyKMeans, data: dict[str, Any], facts: dict[str, str]) -> list[str]:
    """Return the parts of the page."""
    known = getattr(model, "center_std_errors_", None) is not None
    errors = "Columns with ± hold standard errors of the centers." if known else ""
    return [
        _partition(model, data),
        _section(
            "Clusters",
            f'<div class="scroll" tabindex="0" role="group" aria-label="Table of the clusters">'
            f'{tables.clusters(model)}</div><p class="soft small">{errors}</p>',
            copies="clusters",
            wide=True,
        ),
        _criterion(model, data),
        _section("Data and fit", tables.facts(facts, "fit"), copies="fit"),
        _section("Settings", tables.settings(model), copies="settings"),
        _section("Versions", tables.facts(tables.versions(), "versions"), copies="versions"),
    ]


def _partition(model: NoisyKMeans, data: dict[str, Any]) -> str:
    """Return the main picture."""
    layers = ["observations", "density", "cells", "centers"]
    if model.density_ is None:
        layers.remove("density")
    boxes = "".join(
        f'<label><input type="checkbox" data-layer="{name}" checked>{name}</label>'
        for name in layers
    )
    body = (
        f'<div class="tools">{_menus(data)}<fieldset aria-label="What is drawn">{boxes}</fieldset>'
        f"{_zoom()}</div>{_canvas('partition', _described(data))}"
        f'<p class="soft small">{_told(data)} {_KEYS}</p>'
    )
    return _section("Observations, density and cells", body, wide=True)


def _criterion(model: NoisyKMeans, data: dict[str, Any]) -> str:
    """Return the picture of what was compared, or what is to be said where nothing was."""
    if data["criterion"] is None:
        if model.density_ is None:
            text = "Without errors nothing is smoothed."
        elif model.n_steps_ == 0:
            text = "The density is the most likely mixture of Gaussian bumps. Nothing was compared."
        elif model.n_steps_ is not None:
            text = (
                f"The density was made more likely in {model.n_steps_} steps. Nothing was "
                f"compared to find their number: it was given, or follows from the number of "
                f"observations."
            )
        else:
            text = "The bandwidth was given, or follows from a rule that compares nothing."
        return _section("Choice of the smoothing", f"<p>{text}</p>")
    label = "What the rule scored for each candidate; smaller is better"
    body = (
        f'<div class="tools">{_zoom()}</div>{_canvas("criterion", label, low=True)}'
        f'<p class="soft small">Smaller is better; the star is the choice.</p>'
    )
    return _section("Choice of the smoothing", body)


def _menus(data: dict[str, Any]) -> str:
    """Return the menus for the axes, where there is a choice."""
    names = data["axes"]
    if len(names) < 2:
        return ""
    first, second = [*data["shown"], -1][:2]
    menus = []
    for menu, chosen in (("x", first), ("y", second)):
        options = [(i, name) for i, name in enumerate(names)]
        options += [(-1, "density alone")] if menu == "y" else []
        listed = "".join(
            f'<option value="{i}"{" selected" if i == chosen else ""}>{escape(name)}</option>'
            for i, name in options
        )
        menus.append(f'<label>{menu}: <select id="axis-{menu}">{listed}</select></label>')
    return "".join(menus)


def _zoom() -> str:
    return (
        '<span class="zoom"><button type="button" data-zoom="1.5" aria-label="Zoom in">+</button>'
        '<button type="button" data-zoom="0.6667" aria-label="Zoom out">&minus;</button>'
        '<button type="button" data-zoom="0">All</button></span>'
    )


def _canvas(name: str, label: str, *, low: bool = False) -> str:
    return (
        f'<div class="plot{" low" if low else ""}" id="{name}">'
        f'<canvas tabindex="0" role="application" aria-roledescription="picture" '
        f'aria-label="{escape(label)}"></canvas><div class="tip" hidden></div>'
        f'<div aria-live="polite" class="aside"></div></div>'
    )


def _described(data: dict[str, Any]) -> str:
    shown = " and ".join(data["axes"][v] for v in data["shown"])
    return f"Observations, density, cells and centers over {shown}; the table below has the centers"


def _told(data: dict[str, Any]) -> str:
    """Return what is to be known of the picture."""
    points, told = data["points"], []
    if points and len(points["rows"]) > 1 and points["rows"][1] > 1:
        told.append(f"Every {points['rows'][1]}th observation is drawn, {MOST_POINTS} at most.")
    if points is None and data["observed"]:
        told.append("The observations are drawn as their density, in grey.")
    if data["errors"]:
        told.append("Ellipses and bars hold 95 % of the errors of the centers.")
    if len(data["axes"]) > 2:
        told.append(
            "Cells are drawn on axes where they do not overlap; colours and marks tell elsewhere."
        )
    return " ".join(told)


def _section(title: str, body: str, *, copies: str | None = None, wide: bool = False) -> str:
    button = (
        "" if copies is None else f'<button type="button" data-copy="{copies}">Copy table</button>'
    )
    return (
        f'<section{" class=wide" if wide else ""}><div class="head"><h2>{title}</h2>{button}</div>'
        f"{body}</section>"
    )


def _file(name: str) -> str:
    return (files("noisykmeans.report") / name).read_text(encoding="utf-8")
