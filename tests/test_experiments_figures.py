"""The figures of a reproduction: what is in them, and in which colours."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from noisykmeans.experiments import EXPERIMENTS, Settings, figures, panels
from noisykmeans.experiments.methods import METHODS, PAPER
from noisykmeans.experiments.summary import summarise
from noisykmeans.experiments.trial import Row

mpl.use("Agg")

N_RUNS = 6
SETTINGS = Settings()


def made_up(experiment, us):
    rng = np.random.default_rng(0)
    k = EXPERIMENTS[experiment].n_clusters
    return [
        Row(experiment, u, i, i, name, float(rng.random() / 2), 1.0, None, [[1.0, u]] * k, 0.1)
        for u in us
        for i in range(N_RUNS)
        for name in METHODS
    ]


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def rows():
    return made_up("mod1", (6, 7, 9))


def test_figures_are_those_of_the_experiments_that_were_run(rows):
    other = made_up("mod2", (4,))
    drawn = figures.draw([*rows, *other], summarise([*rows, *other]), SETTINGS)
    assert tuple(drawn) == figures.NAMES
    without_9 = made_up("mod1", (1,))
    drawn = figures.draw(without_9, summarise(without_9), SETTINGS)
    assert set(drawn) == {"mod1-settings", "mod1-results"}


def test_results_have_four_panels_and_one_legend_of_all_methods(rows):
    figure = figures.results(EXPERIMENTS["mod1"], rows, summarise(rows))
    assert [ax.get_title(loc="left")[0] for ax in figure.axes] == list("ABCD")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(METHODS)


def colours_by_label(ax):
    handles, labels = ax.get_legend_handles_labels()
    lines = [getattr(handle, "lines", [handle])[0] for handle in handles]
    return {label: to_hex(line.get_color()) for label, line in zip(labels, lines, strict=True)}


def test_a_method_has_the_same_colour_everywhere(rows):
    expected = {name: to_hex(method.colour) for name, method in METHODS.items()}
    assert len(set(expected.values())) == len(expected)
    _, right = figures.centers(EXPERIMENTS["mod1"], rows, SETTINGS).axes
    _, b, c, d = figures.results(EXPERIMENTS["mod1"], rows, summarise(rows)).axes
    for ax, names in ((b, METHODS), (c, PAPER), (d, METHODS), (right, PAPER)):
        found = colours_by_label(ax)
        assert {name: found[name] for name in names} == {name: expected[name] for name in names}


def test_boxes_of_both_methods_stand_side_by_side_at_each_u(ax, rows):
    panels.boxplots(ax, rows)
    assert len(ax.patches) == 2 * 3
    colours = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert colours == [to_hex(METHODS[name].colour) for name in PAPER for _ in range(3)]


def test_failures_are_shares_of_the_runs(ax, rows):
    panels.failures(ax, EXPERIMENTS["mod1"], summarise(rows))
    (line,) = [line for line in ax.lines if line.get_label() == "k-means"]
    expected = [
        100 * np.mean([row.risk > 0.2 for row in rows if (row.u, row.method) == (u, "k-means")])
        for u in (6, 7, 9)
    ]
    np.testing.assert_allclose(line.get_ydata(), expected)
    assert line.get_xdata().tolist() == [6, 7, 9]


def test_each_run_shows_the_close_up_or_says_that_there_is_none(ax, rows):
    panels.each_run(ax, EXPERIMENTS["mod1"], rows)
    assert {len(line.get_xdata()) for line in ax.lines if line.get_label() in PAPER} == {N_RUNS}
    assert not ax.texts
    empty = Figure().subplots()
    panels.each_run(empty, EXPERIMENTS["mod1"], made_up("mod1", (2,)))
    assert [text.get_text() for text in empty.texts] == ["u = 7 was not run"]


def test_a_single_run_has_a_mean_and_no_interval(ax):
    alone = [row for row in made_up("mod1", (3,)) if row.replicate == 0]
    panels.mean_risks(ax, summarise(alone))
    means = [line.get_ydata()[0] for line in ax.lines if len(line.get_ydata()) == 1]
    assert {row.risk for row in alone} <= set(means)


def test_clusters_are_told_apart_by_markers_and_greys(ax):
    points = np.random.default_rng(0).normal(size=(30, 2))
    panels.draw_points(ax, points, np.arange(30) % 3)
    assert len({line.get_marker() for line in ax.lines}) == 3
    for line in ax.lines:
        red, green, blue = mpl.colors.to_rgb(line.get_color())
        assert red == green == blue
