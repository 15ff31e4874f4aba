import numpy as np
import pytest

from noisykmeans import noise, selection


def test_rate_solves_the_theorem_s_equation_for_laplace_errors():
    # |phi| = 1 / (1 + b^2 t^2): -dlog|phi|/dlog t = 2 b^2 t^2 / (1 + b^2 t^2), times 1 + 1/t^2.
    b, s, n = 0.7, 2.0, 5000
    bandwidth = selection.Rate(s).bandwidth(n, np.ones(1), noise.Laplace(b))[0]
    t = 1 / bandwidth
    beta = 2 * b**2 * (t**2 + 1) / (1 + b**2 * t**2)
    assert bandwidth == pytest.approx(n ** (-1 / (2 * s + 2 * beta)), rel=0.03)


def test_rate_without_errors_is_a_power_of_n():
    bandwidth = selection.Rate(s=2).bandwidth(10_000, np.array([1.0, 5.0]), noise.Gaussian(0.0))
    assert bandwidth == pytest.approx([0.1, 0.5], rel=0.03)


def test_rate_grows_with_the_errors_and_falls_with_n():
    def rate(n, scale):
        return selection.Rate().bandwidth(n, np.ones(2), noise.Gaussian((0.0, scale)))[1]

    assert rate(1000, 0.3) < rate(1000, 1.0) < rate(1000, 3.0)
    assert rate(10**6, 1.0) < rate(10**4, 1.0) < rate(100, 1.0)


def test_rate_scales_with_the_unit():
    law, n, scale = noise.Gaussian((0.5, 2.0)), 300, np.array([1.0, 3.0])
    once = selection.Rate().bandwidth(n, scale, law)
    twice = selection.Rate().bandwidth(n, 2 * scale, noise.Gaussian((1.0, 4.0)))
    assert twice == pytest.approx(2 * once, rel=1e-12)


@pytest.mark.parametrize("law", [noise.Uniform(3.0), noise.Gaussian(50.0), noise.Laplace(1e-9)])
def test_rate_is_positive_and_finite_for_every_law(law):
    for n in (0.5, 1, 10, 10**9):
        bandwidth = selection.Rate().bandwidth(n, np.ones(2), law)
        assert np.isfinite(bandwidth).all()
        assert (bandwidth > 0).all()


@pytest.mark.parametrize("s", [0, -1, np.nan, np.inf])
def test_a_smoothness_that_is_none_is_refused(s):
    with pytest.raises(ValueError, match="s must be a positive number"):
        selection.Rate(s)
