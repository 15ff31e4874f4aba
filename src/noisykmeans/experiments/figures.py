"""The paper's figures, from the tables of a reproduction.

A method has the same colour and marker everywhere; true clusters are grey, with a marker each.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from noisykmeans.experiments.experiment import FAILURE
from noisykmeans.experiments.instability import Instability
from noisykmeans.experiments.methods import METHODS, PAPER
from noisykmeans.experiments.panels import (
    boxplots,
    draw_legend,
    draw_points,
    each_run,
    failures,
    mean_risks,
)
from noisykmeans.experiments.settings import EXPERIMENTS, Run
from noisykmeans.experiments.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noisykmeans.experiments.experiment import Experiment
    from noisykmeans.experiments.settings import Settings
    from noisykmeans.experiments.summary import Summary
    from noisykmeans.experiments.trial import Row

__all__ = ["NAMES", "centers", "draw", "instability", "pictures", "results", "settings_shown"]

NAMES = (
    "lloyd-instability",
    "mod1-9",
    "mod1-settings",
    "mod1-results",
    "mod2-settings",
    "mod2-results",
)
SHOWN = (1, 3, 5, 7)  # the u whose data sets the paper shows
CENTERS_U = 9
WIDTH = 7.4  # inches, the text's width on paper
DPI = 160
# Identifiers do not change, nor are there dates: the same figure is the same file.
STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "lines.linewidth": 1.2,
    "svg.hashsalt": "noisykmeans",
}


def pictures(
    rows: Sequence[Row], summaries: Sequence[Summary], settings: Settings
) -> dict[str, bytes]:
    """Return the files of all figures, as PNG and as SVG; see `draw`."""
    files = {}
    with rc_context(STYLE):
        for name, figure in draw(rows, summaries, settings).items():
            for ending, options in (("png", {"dpi": DPI}), ("svg", {"metadata": {"Date": None}})):
                content = BytesIO()
                figure.savefig(content, format=ending, **options)
                files[f"{name}.{ending}"] = content.getvalue()
    return files


def draw(rows: Sequence[Row], summaries: Sequence[Summary], settings: Settings) -> dict[str, Any]:
    """Return the figures of the experiments in the tables, by name.

    Parameters
    ----------
    rows : sequence of Row
        The runs, sorted.
    summaries : sequence of Summary
        What came of them.
    settings : Settings
        How they were made: single data sets are drawn again.
    """
    figures: dict[str, Any] = {}
    for name in dict.fromkeys(row.experiment for row in rows):
        experiment = EXPERIMENTS[name]
        same = [row for row in rows if row.experiment == name]
        figures[f"{name}-settings"] = settings_shown(experiment, settings)
        figures[f"{name}-results"] = results(
            experiment, same, [s for s in summaries if s.experiment == name]
        )
        if name == "mod1" and any(row.u == CENTERS_U for row in same):
            figures["mod1-9"] = centers(experiment, same, settings)
        if name == "mod2":
            figures["lloyd-instability"] = instability(Instability.run(settings))
    return {name: figures[name] for name in NAMES if name in figures}


def instability(values: Instability) -> Figure:
    """Draw three Gaussians, and the risk of k-means on them from 100 random starts."""
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_points(left, values.points, values.clusters)
    left.set(title="180 points without errors, Mod2(1)", xlabel="x", ylabel="y", aspect="equal")
    method = METHODS["k-means"]
    starts = np.arange(1, len(values.risks) + 1)
    right.axhline(FAILURE, color="0.6", lw=0.8, ls="--")
    right.plot(starts, values.risks, method.marker, color=method.colour, ms=3.5)
    failed = int((values.risks > FAILURE).sum())
    right.set(
        title=f"k-means from {len(starts)} random starts: {failed} fail",
        xlabel="start",
        ylabel="risk",
        ylim=(-0.02, max(0.42, values.risks.max() + 0.03)),
    )
    return figure


def centers(experiment: Experiment, rows: Sequence[Row], settings: Settings) -> Figure:
    """Draw a data set of Mod1(9), and the centers that the paper's methods find in all runs."""
    u = CENTERS_U
    figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    trial = Trial.draw(Run(experiment.name, u, 0), settings)
    draw_points(left, trial.observations, trial.clusters)
    left.set(title=f"{experiment.n_samples} observations of {experiment.title}({u})")
    left.set(xlabel="x", ylabel="y")
    n_runs = 0
    for name in PAPER:
        method = METHODS[name]
        found = np.array([row.centers for row in rows if row.u == u and row.method == name])
        n_runs = len(found)
        right.plot(
            *found.reshape(-1, 2).T,
            method.marker,
            color=method.colour,
            ms=4,
            alpha=0.55,
            mew=0,
            label=name,
        )
    right.plot(*experiment.means(u).T, "+", color="black", ms=13, mew=2, label="true centers")
    right.set(title=f"centers found in {n_runs} runs", xlabel="x")
    draw_legend(figure, right)
    return figure


def settings_shown(experiment: Experiment, settings: Settings) -> Figure:
    """Draw a data set of the experiment for u = 1, 3, 5, 7."""
    figure = Figure(figsize=(WIDTH, 6.4), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, u in zip(axes.flat, SHOWN, strict=True):
        trial = Trial.draw(Run(experiment.name, u, 0), settings)
        draw_points(ax, trial.observations, trial.clusters)
        ax.plot(*experiment.means(u).T, "+", color="black", ms=11, mew=2)
        ax.set_title(f"{experiment.title}({u})")
    for ax in axes[1]:
        ax.set_xlabel("x")
    for ax in axes[:, 0]:
        ax.set_ylabel("y")
    return figure


def results(experiment: Experiment, rows: Sequence[Row], summaries: Sequence[Summary]) -> Figure:
    """Draw the four panels on an experiment: A, B, C and D as in the paper."""
    figure = Figure(figsize=(WIDTH, 7.2), layout="constrained")
    (a, b), (c, d) = figure.subplots(2, 2)
    boxplots(a, rows)
    failures(b, experiment, summaries)
    each_run(c, experiment, rows)
    mean_risks(d, summaries)
    draw_legend(figure, d)
    figure.suptitle(f"{experiment.title}, {summaries[0].runs} runs for each u", fontsize="medium")
    return figure
