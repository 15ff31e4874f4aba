import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from sklearn.metrics import pairwise_distances_argmin

from noisykmeans import NoisyKMeans, noise
from noisykmeans.plots import PALETTE, PartitionDisplay

mpl.use("Agg")

X = np.random.default_rng(0).normal(size=(60, 2)) * [3, 1]


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def model():
    return NoisyKMeans(2, noise=noise.Gaussian(0.3), bandwidth=0.7, random_state=0).fit(X)


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_points_wear_the_colour_of_their_cell(ax, k):
    centers = np.random.default_rng(k).normal(size=(k, 2))
    PartitionDisplay(centers, X).plot(ax=ax)
    scatters = [c for c in ax.collections if hasattr(c, "get_sizes") and len(c.get_sizes())]
    *cells, stars = scatters
    closest = pairwise_distances_argmin(X, centers)
    assert len(cells) == k
    for j, cell in enumerate(cells):
        np.testing.assert_array_equal(cell.get_offsets(), X[closest == j])
        if (closest == j).any():
            assert tuple(cell.get_facecolor()[0][:3]) == to_rgba(PALETTE[j % len(PALETTE)])[:3]
    np.testing.assert_array_equal(stars.get_offsets(), centers)


def test_everything_lies_within_the_axes(ax):
    centers = np.array([[-20.0, 0.0], [0.0, 30.0]])
    PartitionDisplay(centers, X).plot(ax=ax)
    every = np.concatenate([X, centers])
    for v, (low, high) in enumerate([ax.get_xlim(), ax.get_ylim()]):
        assert low < every[:, v].min()
        assert every[:, v].max() < high


def test_model_brings_centers_density_and_names(ax):
    frame = pd.DataFrame(X, columns=["height", "width"])
    model = NoisyKMeans(2, noise=noise.Gaussian(0.3), bandwidth=0.7, random_state=0).fit(frame)
    display = PartitionDisplay.from_estimator(model, frame, ax=ax)
    assert display.density is model.density_
    np.testing.assert_array_equal(display.centers, model.cluster_centers_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "width")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


def test_density_adds_contours(model):
    with_density, without = Figure().subplots(), Figure().subplots()
    PartitionDisplay(model.cluster_centers_, X, model.density_).plot(ax=with_density)
    PartitionDisplay(model.cluster_centers_, X).plot(ax=without)
    assert len(with_density.collections) == len(without.collections) + 1


def test_density_over_one_feature_is_left_out(ax):
    flat = np.c_[X[:, 0], np.ones(60)]
    model = NoisyKMeans(2, noise=noise.Gaussian(0.3), bandwidth=0.7, random_state=0).fit(flat)
    PartitionDisplay.from_estimator(model, flat, ax=ax)
    assert model.density_.grid.dimension == 1
    assert ax.get_xlabel() == "feature 0"


def test_without_axes_a_figure_is_made(model):
    display = PartitionDisplay.from_estimator(model, X)
    assert display.figure_.axes == [display.ax_]
    plt.close(display.figure_)


@pytest.mark.parametrize("wrong", [X[:, :1], X[:, 0], np.ones((5, 3))])
def test_other_than_two_features_are_refused(model, wrong):
    with pytest.raises(ValueError, match="a partition is drawn for two features; X has shape"):
        PartitionDisplay.from_estimator(model, wrong)
