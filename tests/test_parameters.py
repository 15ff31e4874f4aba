"""Strings and numbers become parts, and rules meet what the noise leaves usable."""

import numpy as np
import pytest

from noisykmeans import noise, parameters, windows
from noisykmeans.deconvolution.band import check_bandwidth
from noisykmeans.measure import WeightedPoints
from noisykmeans.selection import Rate


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("cubic", windows.Cubic()),
        ("flat-top", windows.FlatTop()),
        ("sinc", windows.Sinc()),
        ("gaussian", windows.Gaussian()),
    ],
)
def test_name_of_a_window_is_the_window(name, window):
    assert parameters.as_window(name) == window
    assert parameters.as_window(window) is window


def test_bandwidth_is_a_rule_or_one_number_per_feature():
    assert parameters.as_bandwidth("rate", 2) == Rate()
    assert parameters.as_bandwidth("auto", 2) == Rate()
    assert parameters.as_bandwidth(Rate(s=3), 2) == Rate(s=3)
    assert parameters.as_bandwidth(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert parameters.as_bandwidth([1, 0.5], 2).tolist() == [1.0, 0.5]


def test_law_is_handed_on_where_it_fits():
    law = noise.Gaussian((1.0, 2.0))
    assert parameters.as_noise(law, 2) is law
    with pytest.raises(ValueError, match="has 2 axes, where 3 are needed"):
        parameters.as_noise(law, 3)


def test_resolution_is_none_or_one_count_per_feature():
    assert parameters.as_resolution("auto", 2) is None
    assert parameters.as_resolution(64, 2).tolist() == [64, 64]
    assert parameters.as_resolution((64, 32), 2).tolist() == [64, 32]


def test_wanted_nodes_lie_along_range_and_margins():
    law, window, width = noise.Gaussian(0.1), windows.Cubic(), np.array([10.0, 5.0])
    nodes = np.array([24.0, 60.0])
    spacing = parameters.as_spacing(nodes, width, law, window, np.ones(2))
    np.testing.assert_allclose(spacing, [12 / 24, 6 / 60])


def test_automatic_spacing_shrinks_with_the_bandwidth_and_has_eight_nodes_at_least():
    law, window, width = noise.Gaussian(0.1), windows.Cubic(), np.array([10.0])

    def spacing(bandwidth):
        return parameters.as_spacing(None, width, law, window, np.array([bandwidth]))[0]

    assert spacing(0.25) < spacing(0.5) < spacing(1.0)
    assert spacing(1e6) == pytest.approx(12 / 8)


@pytest.mark.parametrize(
    "law",
    [
        noise.Uniform(2.0),
        noise.Gaussian((1.0, 2.0)),
        noise.Gaussian.from_covariance([[1.0, 0.9], [0.9, 1.0]]),
    ],
)
def test_rule_s_bandwidth_is_raised_to_what_is_usable_and_no_further(law):
    window = windows.Cubic()
    raised = parameters.usable(np.array([0.05, 0.05]), law, window)
    check_bandwidth(law, window, raised.tolist())
    with pytest.raises(ValueError, match="too small"):
        check_bandwidth(law, window, (raised * 0.95).tolist())
    wide = np.array([30.0, 40.0])
    assert parameters.usable(wide, law, window).tolist() == wide.tolist()


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_counts_are_positive_integers(value):
    assert parameters.is_count(value)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None])
def test_everything_else_is_no_count(value):
    assert not parameters.is_count(value)


def test_given_centers_start_once_and_drawn_ones_several_times():
    measure = WeightedPoints(np.arange(10.0)[:, None])
    rng = np.random.RandomState(0)
    given = np.array([[1.0], [2.0]])
    (only,) = parameters.as_starts(given, 5, measure, 2, rng)
    assert only is given
    assert len(list(parameters.as_starts("random", 5, measure, 2, rng))) == 5
    assert len(list(parameters.as_starts("k-means++", "auto", measure, 2, rng))) == 10
