import numpy as np
import pytest
from scipy import integrate, optimize

from contracts import check_window
from noisykmeans import windows
from strategies import WINDOWS


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_every_window_keeps_the_contract(window):
    check_window(window)


@pytest.mark.parametrize(
    ("window", "u", "value"),
    [
        (windows.Cubic(), 0.5, 0.75**3),
        (windows.FlatTop(), 0.5, 1.0),
        (windows.FlatTop(), 0.75, 0.5),
        (windows.FlatTop(0.0), 0.5, 0.5),
        (windows.FlatTop(0.8), 0.85, 1 - 10 / 64 + 15 / 256 - 6 / 1024),
        (windows.Sinc(), 1.0, 1.0),
        (windows.Gaussian(), 2.0, np.exp(-2)),
    ],
)
def test_values_by_hand(window, u, value):
    assert window(u) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("flat", [0.0, 0.3, 0.5, 0.9])
def test_unit_of_a_flat_top_solves_its_equation(flat):
    window = windows.FlatTop(flat)
    root = optimize.brentq(lambda u: window(u) - np.exp(-0.5), flat, 1, xtol=1e-15)
    assert window.unit == pytest.approx(root, rel=1e-10)


def test_step_of_a_flat_top_is_twice_differentiable_at_both_ends():
    window, h = windows.FlatTop(0.5), 1e-3
    for end in (0.5, 1.0):
        left, middle, right = window([end - h, end, end + h])
        # The third derivative, 60 / (1 - flat)^3 = 480, jumps there.
        assert abs(left - 2 * middle + right) <= 480 * h**3 / 6 * 1.1
    assert window(0.5 + h) < 1


def test_cubic_window_adds_six_squared_bandwidths_to_the_variance():
    # -d^2/du^2 (1 - u^2)^3 at 0, by a difference.
    h = 1e-3
    assert (1 - windows.Cubic()(h)) * 2 / h**2 == pytest.approx(6, rel=1e-5)
    assert windows.FlatTop()(h) == 1


def test_sinc_window_is_the_transform_of_sine_over_x():
    x = 1.7
    kernel = integrate.quad(lambda u: windows.Sinc()(u) * np.cos(u * x), 0, 1)[0] / np.pi
    assert kernel == pytest.approx(np.sin(x) / (np.pi * x), rel=1e-12)


def test_gaussian_window_is_cut_where_it_is_a_hundred_millionth():
    window = windows.Gaussian()
    assert window(window.support) == pytest.approx(1e-8, rel=1e-6)


@pytest.mark.parametrize("flat", [-0.1, 1.0, 2.0, np.nan])
def test_flat_part_must_leave_room_for_the_step(flat):
    with pytest.raises(ValueError, match=r"flat must lie in \[0, 1\); got"):
        windows.FlatTop(flat)


def test_windows_are_values():
    assert windows.FlatTop(0.5) == windows.FlatTop()
    assert windows.FlatTop(0.5) != windows.FlatTop(0.6)
    assert len({windows.Cubic(), windows.Cubic(), windows.Sinc()}) == 2
    with pytest.raises(AttributeError, match="cannot assign"):
        windows.FlatTop().flat = 0.1


def test_window_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        windows.Window()
