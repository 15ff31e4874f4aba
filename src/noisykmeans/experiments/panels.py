"""The panels of the figures, each on axes that are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.experiments.experiment import FAILURE, US
from noisykmeans.experiments.methods import METHODS, PAPER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noisykmeans.experiments.experiment import Experiment
    from noisykmeans.experiments.summary import Summary
    from noisykmeans.experiments.trial import Row

__all__ = ["boxplots", "draw_legend", "draw_points", "each_run", "failures", "mean_risks"]

CLUSTERS = (("o", "0.15"), ("^", "0.45"), ("s", "0.65"))
APART = 0.2  # of the methods' boxes at one u


def draw_points(ax: Any, points: NDArray[np.float64], clusters: NDArray[np.intp]) -> None:
    """Draw points, with a marker and a grey for each true cluster."""
    for j, (marker, grey) in zip(np.unique(clusters), CLUSTERS, strict=False):
        ax.plot(*points[clusters == j].T, marker, color=grey, ms=3.5, mew=0, alpha=0.8)


def draw_legend(figure: Any, ax: Any) -> None:
    """Draw one legend for a figure below it, of what is in the given axes."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


def boxplots(ax: Any, rows: Sequence[Row]) -> None:
    """Draw panel A: boxplots of the risk by u, of the paper's two methods."""
    us = sorted({row.u for row in rows})
    for side, name in zip((-1, 1), PAPER, strict=True):
        method = METHODS[name]
        risks = [[row.risk for row in rows if (row.u, row.method) == (u, name)] for u in us]
        ax.boxplot(
            risks,
            positions=np.array(us) + side * APART,
            widths=1.6 * APART,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": method.colour, "alpha": 0.6, "linewidth": 0.8},
            medianprops={"color": "black", "linewidth": 1.2},
            whiskerprops={"color": method.colour},
            capprops={"color": method.colour},
            flierprops={
                "marker": method.marker,
                "markersize": 2.5,
                "markerfacecolor": method.colour,
                "markeredgewidth": 0,
            },
        )
    ax.axhline(FAILURE, color="0.6", lw=0.8, ls="--")
    _by_u(ax, "A  risk", "risk")


def failures(ax: Any, experiment: Experiment, summaries: Sequence[Summary]) -> None:
    """Draw panel B: failures by u, over the ranges that the paper states in words."""
    hatches = dict(zip(PAPER, ("////", "\\\\\\\\"), strict=True))
    for claim in experiment.claims:
        ax.fill_between(
            (claim.first - 0.4, claim.last + 0.4),
            claim.least,
            claim.most,
            facecolor="none",
            edgecolor=METHODS[claim.method].colour,
            hatch=hatches[claim.method],
            alpha=0.35,
            linewidth=0,
        )
    for name, method in METHODS.items():
        same = [s for s in summaries if s.method == name]
        share = [100 * s.failures / s.runs for s in same]
        ax.plot([s.u for s in same], share, method.line, **_look(name))
    _by_u(ax, "B  failures (hatched: the paper's words)", f"% of runs with risk > {FAILURE:g}")


def each_run(ax: Any, experiment: Experiment, rows: Sequence[Row]) -> None:
    """Draw panel C: the risk of each run at one u, of the paper's two methods."""
    u = experiment.closeup
    for name in PAPER:
        same = [row for row in rows if (row.u, row.method) == (u, name)]
        style = _look(name) | {"ms": 3.5, "alpha": 0.75, "ls": "none"}
        ax.plot([row.replicate + 1 for row in same], [row.risk for row in same], **style)
    ax.axhline(FAILURE, color="0.6", lw=0.8, ls="--")
    ax.set_title(f"C  each run of {experiment.title}({u})", loc="left")
    ax.set(xlabel="run", ylabel="risk")
    if u not in {row.u for row in rows}:
        ax.text(0.5, 0.5, f"u = {u} was not run", ha="center", transform=ax.transAxes)


def mean_risks(ax: Any, summaries: Sequence[Summary]) -> None:
    """Draw panel D: the mean risk by u, with its interval."""
    for place, (name, method) in enumerate(METHODS.items()):
        same = [s for s in summaries if s.method == name]
        means = np.array([s.mean for s in same])
        lows = [s.mean if s.low is None else s.low for s in same]
        highs = [s.mean if s.high is None else s.high for s in same]
        ax.errorbar(
            np.array([s.u for s in same]) + 0.1 * (place - 2),
            means,
            yerr=(means - lows, highs - means),
            ls=method.line,
            lw=1.2,
            elinewidth=0.9,
            **_look(name),
        )
    _by_u(ax, "D  mean risk and its 95 % interval", "mean risk")
    ax.set_ylim(bottom=-0.02)


def _look(name: str) -> dict[str, Any]:
    """Return how a method is drawn."""
    method = METHODS[name]
    return {"color": method.colour, "marker": method.marker, "ms": 4, "mew": 0, "label": name}


def _by_u(ax: Any, title: str, label: str) -> None:
    ax.set_title(title, loc="left")
    ax.set(xlabel="u", ylabel=label, xticks=US, xlim=(US[0] - 0.6, US[-1] + 0.6))
