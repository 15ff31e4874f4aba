import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from sklearn.metrics import pairwise_distances_argmin

from noisykmeans import DeconvolvedDensity, NoisyKMeans, noise
from noisykmeans.cluster_count import ClusterCount
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.plots import (
    PALETTE,
    ClusterCountDisplay,
    DensityDisplay,
    PartitionDisplay,
    SelectionDisplay,
)
from noisykmeans.plots.style import MAP, look_of

mpl.use("Agg")

X = np.random.default_rng(0).normal(size=(60, 2)) * [3, 1]


def values(density):
    return np.asarray(vars(density)["values"])


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
def test_observations_of_other_features_are_refused(model, wrong):
    with pytest.raises(ValueError, match=r"X must have the shape \(n, 2\), as the model"):
        PartitionDisplay.from_estimator(model, wrong)


def in_five_dimensions(k):
    rng = np.random.default_rng(0)
    means = np.eye(5)[:k] * 8
    return np.concatenate([rng.normal(mean, 1, size=(80, 5)) for mean in means])


def test_one_feature_is_drawn_with_stripes_and_bars(ax):
    centers = np.array([[4.0], [0.0]])
    errors = np.array([[[0.04]], [[0.01]]])
    PartitionDisplay(centers, X[:, :1], None, ("length",), errors).plot(ax=ax)
    spans = sorted(tuple(patch.get_extents().get_points()[:, 0]) for patch in ax.patches)
    border = ax.transData.inverted().transform([spans[0][1], 0])[0]
    assert border == pytest.approx(2.0)
    (bars,) = ax.containers
    (lines,) = bars.lines[2]
    for segment, center, size in zip(lines.get_segments(), [4, 0], [0.2, 0.1], strict=True):
        np.testing.assert_allclose(segment[:, 0], center + 1.95996 * size * np.array([-1, 1]))
    assert ax.get_xlabel() == "length"


def test_ellipses_hold_ninety_five_percent_of_the_errors(ax):
    rng = np.random.default_rng(0)
    S = np.array([[2.0, 1.2], [1.2, 1.0]])
    PartitionDisplay(np.array([[1.0, -2.0]]), X, errors=S[None]).plot(ax=ax)
    ring = ax.lines[-1].get_xydata()
    errors = rng.multivariate_normal([1.0, -2.0], S, size=20_000)
    inside = mpl.path.Path(ring).contains_points(errors)
    assert inside.mean() == pytest.approx(0.95, abs=0.006)


def test_standard_errors_of_the_centers_are_drawn(ax):
    model = NoisyKMeans(2, noise=noise.Gaussian(0.3), bandwidth=0.7, random_state=0).fit(X)
    model.center_std_errors_ = np.array([[0.3, 0.1], [0.2, 0.4]])
    display = PartitionDisplay.from_estimator(model, X, ax=ax)
    np.testing.assert_allclose(display.errors[1], [[0.04, 0], [0, 0.16]])
    assert len(ax.lines) == 4


def test_two_of_more_features_show_labels_and_no_cells(ax):
    X5 = in_five_dimensions(3)
    model = NoisyKMeans(3, noise=noise.Gaussian(0.5), random_state=0).fit(X5)
    display = PartitionDisplay.from_estimator(model, X5, features=[0, 1], ax=ax)
    np.testing.assert_array_equal(display.labels, model.labels_)
    assert display.density is None
    assert not [c for c in ax.collections if not hasattr(c, "get_sizes")]


def test_plane_of_three_centers_shows_their_cells(ax):
    X5 = in_five_dimensions(3)
    model = NoisyKMeans(3, noise=noise.Gaussian(0.5), random_state=0).fit(X5)
    display = PartitionDisplay.from_estimator(model, X5, ax=ax)
    assert display.labels is None
    np.testing.assert_array_equal(
        pairwise_distances_argmin(display.points, display.centers), model.labels_
    )
    assert ax.get_xlabel() == "component 0"
    assert display.density is not None


def test_line_of_two_centers_is_one_axis(ax):
    X5 = in_five_dimensions(2)
    model = NoisyKMeans(2, noise=noise.Gaussian(0.5), random_state=0).fit(X5)
    display = PartitionDisplay.from_estimator(model, X5, ax=ax)
    assert display.centers.shape == (2, 1)
    assert display.density.grid.dimension == 1


def test_many_observations_are_thinned(ax):
    many = np.random.default_rng(0).normal(size=(12_000, 2))
    model = NoisyKMeans(2, random_state=0).fit(many)
    display = PartitionDisplay.from_estimator(model, many, ax=ax)
    np.testing.assert_array_equal(display.points, many[::3])


def test_missing_coordinates_are_left_out(ax):
    gaps = X.copy()
    gaps[3, 1] = np.nan
    model = NoisyKMeans(2, noise=noise.Gaussian(0.3), random_state=0).fit(gaps)
    PartitionDisplay.from_estimator(model, gaps, ax=ax)
    drawn = [c.get_offsets() for c in ax.collections if len(c.get_offsets()) > 2]
    assert sum(map(len, drawn)) == len(X) - 1


@pytest.mark.parametrize("features", [[0, 0], [0, 1, 2], []])
def test_one_or_two_features_are_drawn(model, features):
    with pytest.raises(ValueError, match="features must be one or two different features"):
        PartitionDisplay.from_estimator(model, X, features=features)


def test_unknown_feature_is_refused(model):
    with pytest.raises(ValueError, match="features must be among 'feature 0', 'feature 1'"):
        DensityDisplay.from_estimator(model, features=["length"])


def test_density_of_one_feature_integrates_the_other_out(ax, model):
    density = DensityDisplay.from_estimator(model, features=[1], ax=ax).density
    grid, f = model.density_.grid, values(model.density_)
    np.testing.assert_allclose(values(density), f.sum(axis=0) * grid.spacing[0])
    assert density.mass == pytest.approx(1)
    (curve,) = ax.lines
    np.testing.assert_array_equal(curve.get_xdata(), grid.nodes[1])


def test_density_of_two_features_keeps_their_order(ax, model):
    display = DensityDisplay.from_estimator(model, features=[1, 0], ax=ax)
    np.testing.assert_array_equal(values(display.density), values(model.density_).T)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 1", "feature 0")


def test_density_estimator_is_drawn(ax):
    cube = np.random.default_rng(0).normal(size=(200, 3))
    model = DeconvolvedDensity(noise.Gaussian(0.2), bandwidth=1.0).fit(cube)
    display = DensityDisplay.from_estimator(model, features=[0, 2], ax=ax)
    width = model.density_.grid.spacing[1]
    np.testing.assert_allclose(values(display.density), values(model.density_).sum(axis=1) * width)


def test_density_over_what_varies_is_drawn_by_itself(ax):
    flat = np.c_[np.ones(60), X[:, 0]]
    model = NoisyKMeans(2, noise=noise.Gaussian(0.3), random_state=0).fit(flat)
    DensityDisplay.from_estimator(model, ax=ax)
    assert ax.get_xlabel() == "feature 1"


def test_density_that_is_not_known_is_refused(model):
    plain = NoisyKMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="there is no density to draw: without errors"):
        DensityDisplay.from_estimator(plain)
    X5 = in_five_dimensions(3)
    model = NoisyKMeans(3, noise=noise.Gaussian(0.5), random_state=0).fit(X5)
    with pytest.raises(ValueError, match=r"the density is not known over features \[0\]"):
        DensityDisplay.from_estimator(model, features=[0])
    cube = Density(Grid((0.0,) * 3, (1.0,) * 3, (2,) * 3), np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="a density is drawn over one or two axes; got 3"):
        DensityDisplay(cube)


@pytest.mark.parametrize("d", [1, 2])
def test_choice_is_marked_among_the_candidates(ax, d):
    model = NoisyKMeans(2, noise=noise.Gaussian(0.8), deconvolution="kernel", random_state=0)
    display = SelectionDisplay.from_estimator(model.fit(X[:, :d]), ax=ax)
    (star,) = [line for line in ax.lines if line.get_marker() == "*"]
    expected = [*model.bandwidth_, display.criterion.min()][:2]
    np.testing.assert_allclose(star.get_xydata()[0], expected)
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == ("criterion", "bandwidth along feature 1")[d - 1]


def test_numbers_of_steps_are_compared_by_re_noising(ax):
    model = NoisyKMeans(2, noise=noise.Gaussian(0.8), bandwidth="renoise", deconvolution="em")
    display = SelectionDisplay.from_estimator(model.set_params(random_state=0).fit(X), ax=ax)
    assert display.candidates.ravel().tolist() == [1, 2, 4, 8, 16, 32, 64, 128]
    assert display.chosen.tolist() == [model.n_steps_]
    assert model.bandwidth_ is None
    assert ax.get_xlabel() == "number of steps"


def test_three_axes_have_a_curve_each(ax):
    tried = np.array(np.meshgrid([1, 2], [1, 2], [1, 2])).reshape(3, -1).T
    SelectionDisplay(tried, tried @ [1, 10, 100], [1, 1, 2], ("a", "b", "c")).plot(ax=ax)
    curves = [line for line in ax.lines if line.get_marker() != "*"]
    assert [list(curve.get_ydata()) for curve in curves] == [[111, 112], [111, 121], [111, 211]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]


def test_nothing_compared_is_nothing_drawn(model):
    with pytest.raises(ValueError, match=r"nothing was compared .* \(bandwidth_=\[0.7 0.7\]\)"):
        SelectionDisplay.from_estimator(model)
    likely = NoisyKMeans(2, noise=noise.Gaussian(0.3), random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"nothing was compared .* \(n_steps_=5\)"):
        SelectionDisplay.from_estimator(likely)


def test_criterion_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"2 candidates on 1 axes need a criterion of shape"):
        SelectionDisplay([[1], [2]], [1.0], [1])


def test_numbers_of_clusters_have_bars_and_a_star(ax):
    ClusterCountDisplay([1, 2, 3], [0.1, 0.9, 0.5], [0.1, 0.1, 0.2], 2, "gap").plot(ax=ax)
    (bars,) = ax.containers
    np.testing.assert_allclose(bars.lines[2][0].get_segments()[2][:, 1], [0.3, 0.7])
    assert ax.lines[-1].get_xydata().tolist() == [[2, 0.9]]
    assert list(ax.get_xticks()) == [1, 2, 3]
    assert ax.get_ylabel() == "gap"


def test_unstable_numbers_are_hollow(ax):
    tried = ClusterCount(
        np.array([2, 3, 4]),
        np.ones(3),
        np.array([0.2, 0.9, 1.0]),
        np.ones(3),
        np.array([1, 1, 0.5]),
        3,
    )
    ClusterCountDisplay.from_count(tried, ax=ax)
    full, hollow = [line for line in ax.lines if line.get_marker() == "o"]
    assert list(full.get_xdata()) == [2, 3]
    assert (list(hollow.get_xdata()), hollow.get_markerfacecolor()) == ([4], "white")
    assert ax.lines[-1].get_xydata().tolist() == [[3, 0.9]]


def test_covariances_of_the_centers_are_drawn(ax):
    model = NoisyKMeans(2, noise=noise.Gaussian(0.3), n_bootstrap=5, random_state=0).fit(X)
    display = PartitionDisplay.from_estimator(model, X, ax=ax)
    np.testing.assert_allclose(display.errors, model.center_covariances_)


def test_values_that_do_not_belong_to_the_numbers_are_refused():
    with pytest.raises(ValueError, match=r"values must have the shape \(2,\)"):
        ClusterCountDisplay([1, 2], [0.1])
    with pytest.raises(ValueError, match=r"chosen must be among n_clusters=\[1, 2\]; got 4"):
        ClusterCountDisplay([1, 2], [0.1, 0.2], chosen=4)


def test_looks_differ_for_forty_nine_clusters():
    looks = {tuple(look_of(j).values()) for j in range(49)}
    assert len(looks) == 49


def test_shades_grow_darker_in_grey():
    rgb = mpl.colormaps[MAP](np.linspace(0, 1, 50))[:, :3]
    grey = rgb @ [0.299, 0.587, 0.114]
    assert (np.diff(grey) < 0).all()
