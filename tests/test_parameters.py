"""Strings and numbers become parts, and rules meet what the noise leaves usable."""

import numpy as np
import pytest

from noisykmeans import noise, parameters, windows
from noisykmeans.deconvolution.band import check_bandwidth, raised_to_usable
from noisykmeans.estimation import ByKernel, ByLikelihood, kernel_spacing
from noisykmeans.measure import WeightedPoints
from noisykmeans.selection import (
    CrossValidation,
    Fixed,
    FixedSteps,
    Lepski,
    Rate,
    Renoise,
    StepRate,
)


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
    assert parameters.as_rule("rate", 2) == Rate()
    assert parameters.as_rule("auto", 2) == parameters.as_rule("renoise", 2) == Renoise()
    assert parameters.as_rule("lepski", 2) == Lepski()
    assert parameters.as_rule("cv", 2) == CrossValidation()
    assert parameters.as_rule(Rate(s=3), 2) == Rate(s=3)
    assert parameters.as_rule(2, 3) == Fixed((2.0, 2.0, 2.0))
    assert parameters.as_rule([1, 0.5], 2) == Fixed((1.0, 0.5))


def test_deconvolution_is_maximum_likelihood_unless_a_bandwidth_is_asked_for():
    def method(deconvolution, bandwidth):
        return parameters.as_method(deconvolution, bandwidth, "sinc", 1)

    assert method("auto", "auto") == method("em", "auto") == ByLikelihood(StepRate())
    assert method("auto", 0.5) == method("kernel", 0.5) == ByKernel(Fixed((0.5,)), windows.Sinc())
    assert method("auto", "cv") == ByKernel(CrossValidation(), windows.Sinc())
    assert method("kernel", "auto") == ByKernel(Renoise(), windows.Sinc())


def test_bandwidth_of_maximum_likelihood_is_a_number_of_steps_or_a_rule_for_it():
    def rule(bandwidth):
        return parameters.as_method("em", bandwidth, "cubic", 2).rule

    assert rule(7) == FixedSteps(7)
    assert rule("rate") == StepRate()
    assert rule("renoise") == Renoise()
    assert rule(Renoise(3)) == Renoise(3)


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
    spacing = kernel_spacing(nodes, width, law, window, np.ones(2))
    np.testing.assert_allclose(spacing, [12 / 24, 6 / 60])


def test_automatic_spacing_shrinks_with_the_bandwidth_and_has_eight_nodes_at_least():
    law, window, width = noise.Gaussian(0.1), windows.Cubic(), np.array([10.0])

    def spacing(bandwidth):
        return kernel_spacing(None, width, law, window, np.array([bandwidth]))[0]

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
    raised = raised_to_usable(np.array([0.05, 0.05]), law, window)
    check_bandwidth(law, window, raised.tolist())
    with pytest.raises(ValueError, match="too small"):
        check_bandwidth(law, window, (raised * 0.95).tolist())
    wide = np.array([30.0, 40.0])
    assert raised_to_usable(wide, law, window).tolist() == wide.tolist()


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


def test_rule_for_steps_is_no_rule_for_a_bandwidth():
    with pytest.raises(ValueError, match="it goes with deconvolution='em'"):
        parameters.as_method("auto", StepRate(), "cubic", 2)
