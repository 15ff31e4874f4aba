import itertools

import numpy as np
import pytest
from scipy import stats

import reference
from noisykmeans import NoisyKMeans, noise, windows
from noisykmeans.deconvolution import (
    KernelDeconvolution,
    Ridged,
    adequate_spacing,
    smallest_bandwidth,
)
from noisykmeans.deconvolution.band import check_bandwidth, regular
from noisykmeans.estimation import kernel_spacing
from noisykmeans.grid import Grid
from noisykmeans.histogram import fill
from noisykmeans.noise import Gaussian, Independent, Laplace, Projected, Uniform
from noisykmeans.spectrum import transform
from strategies import EXPONENTIAL, LAWS, SHORT_EXPONENTIAL, WINDOWS

CASES = [
    pytest.param(d, law, window, id=f"{name}-{window!r}")
    for (name, (d, law)), window in itertools.product(LAWS.items(), WINDOWS)
]
# Direct sums on the wide band of a Gaussian window take seconds on two axes and more.
SHORT_CASES = [c for c in CASES if c.values[0] + isinstance(c.values[2], windows.Gaussian) < 3]
TOUCHING = Uniform(1.0) + Uniform(1.0)
SLANTED = Projected(Laplace(0.5) + Uniform(1.0), [[1.0, 0.5], [0.0, 1.0]])


def bandwidth_in_use(law, window, d):
    """A bandwidth of usual size, or a larger one that the law allows with some air."""
    factors = (0.7, 1.4, 3.0) if isinstance(window, windows.Gaussian) else (0.7, 0.7, 2.0)
    bandwidth = np.full(d, factors[d - 1] * window.unit)
    while True:
        try:
            check_bandwidth(law, window, tuple(bandwidth / 1.2))
        except ValueError:
            bandwidth = bandwidth * 1.2
        else:
            return bandwidth


def observations(law, d, n=200, seed=0):
    """Two clusters; on three axes one, which keeps the direct sums short."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if d < 3:
        X += 3 * rng.integers(2, size=(n, 1))
    return X + law.sample((n, d), rng)


def default_grid(Z, law, window, bandwidth):
    """The grid of the estimators with resolution "auto"."""
    spacing = kernel_spacing(None, np.ptp(Z, axis=0), law, window, bandwidth)
    bounds = np.stack([Z.min(axis=0), Z.max(axis=0)])
    return Grid.covering(np.concatenate([bounds, bounds - law.mean(Z.shape[1])]), spacing)


def inner_nodes(grid, n=200):
    """Nodes that keep the margin from the grid's border, with repetitions."""
    rng = np.random.default_rng(0)
    return np.stack(
        [rng.choice(x[len(x) // 10 : -(len(x) // 10)], size=n) for x in grid.nodes], axis=1
    )


def refined(grid, step):
    spacing = tuple(s / step for s in grid.spacing)
    return Grid(grid.lower, spacing, tuple((n - 1) * step + 1 for n in grid.shape))


def estimate(grid, Z, law, window, bandwidth):
    plan = KernelDeconvolution(grid, law, window)
    return plan.density(transform(fill(grid, Z)), tuple(bandwidth))


def relative_errors(grid, Z, law, window, bandwidth, steps):  # noqa: PLR0917  one case
    """Sup norm at the nodes of the grid of the errors on the grid and its refinements."""
    exact = reference.deconvolved_density(grid.nodes, Z, law, window, bandwidth)
    errors = []
    for step in steps:
        density = estimate(refined(grid, step), Z, law, window, bandwidth)
        values = density.values[(slice(None, None, step),) * grid.dimension]
        errors.append(np.abs(values - exact).max() / np.abs(exact).max())
    return np.array(errors)


# The formula, point by point


@pytest.mark.parametrize(("d", "law", "window"), CASES)
def test_estimate_at_the_default_resolution_is_the_formula_to_a_thousandth(d, law, window):
    Z, bandwidth = observations(law, d), bandwidth_in_use(law, window, d)
    grid = default_grid(Z, law, window, bandwidth)
    (error,) = relative_errors(grid, Z, law, window, bandwidth, [1])
    assert error <= 1e-3


@pytest.mark.parametrize(("d", "law", "window"), SHORT_CASES)
def test_worst_error_falls_fourfold_for_each_doubling_of_the_resolution(d, law, window):
    # Binning leaves 1 / prod sinc^2 - 1 of a datum at a node, and less of one elsewhere. That falls
    # by 4 and more; the sup norm gives a little of it back where a kernel that falls slowly is cut.
    bandwidth = bandwidth_in_use(law, window, d)
    grid = default_grid(observations(law, d), law, window, bandwidth)
    Z = inner_nodes(grid)
    steps = [1, 2, 4] if d == 1 else [1, 2]
    errors = relative_errors(grid, Z, law, window, bandwidth, steps)
    assert (errors[:-1] / errors[1:]).min() >= 3.9


@pytest.mark.parametrize("law", [Gaussian(0.5), Independent([Laplace(0.3)] * 3)])
def test_worst_error_falls_fourfold_on_three_axes(law):
    window, bandwidth = windows.Cubic(), np.full(3, 1.0)
    grid = Grid((-3.0,) * 3, (0.25,) * 3, (25,) * 3)
    Z = inner_nodes(grid)
    errors = relative_errors(grid, Z, law, window, bandwidth, [1, 2])
    assert (errors[:-1] / errors[1:]).min() >= 3.9


@pytest.mark.parametrize("law", [Gaussian(0.7), Laplace(0.9), EXPONENTIAL])
def test_typical_error_falls_fourfold_for_each_doubling_of_the_resolution(law):
    # Aliases take the empirical c.f. beyond the band, which is chance: single ratios scatter
    # between 1 and 20, and the mean square over many samples falls by 16.
    window, bandwidth = windows.Cubic(), np.array([0.4])
    squares = np.zeros(3)
    for seed in range(80):
        Z = observations(law, 1, seed=seed)
        grid = default_grid(Z, law, window, bandwidth)
        squares += relative_errors(grid, Z, law, window, bandwidth, [1, 2, 4]) ** 2
    ratios = np.sqrt(squares[:-1] / squares[1:])
    # 80 samples leave some 8 % to chance.
    assert ratios == pytest.approx([4, 4], rel=0.2)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_data_far_from_the_origin_give_the_same_estimate_there(d):
    law, window = SHORT_EXPONENTIAL, windows.FlatTop()
    bandwidth = np.full(d, (0.9, 0.9, 2.0)[d - 1])
    Z = observations(law, d).round(3)
    shift = 2.0**20
    near, far = (
        default_grid(Z, law, window, bandwidth),
        default_grid(Z + shift, law, window, bandwidth),
    )
    assert far.shape == near.shape
    f, g = (
        estimate(near, Z, law, window, bandwidth),
        estimate(far, Z + shift, law, window, bandwidth),
    )
    np.testing.assert_allclose(g.values, f.values, atol=1e-8 * f.values.max())


# Signs


def test_skew_errors_are_taken_off_on_their_own_side():
    # All clean points at 0, errors exponential from -1 to the right: their density is a spike
    # at -1 with a long right tail; deconvolution puts the mass back at 0, symmetric.
    Z = EXPONENTIAL.sample(50_000, 0)
    window, bandwidth = windows.Cubic(), np.array([0.3])
    density = estimate(
        default_grid(Z, EXPONENTIAL, window, bandwidth), Z, EXPONENTIAL, window, bandwidth
    )
    at = density([[-1.0], [-0.3], [0.0], [0.3], [1.0]])
    assert at.argmax() == 2
    assert abs(at[1] - at[3]) < 0.02 * at[2]
    assert abs(at[0] - at[4]) < 0.02 * at[2]
    wrong = estimate(density.grid, Z, EXPONENTIAL.project([[-1.0]]), window, bandwidth)
    assert wrong([[0.0]])[0] < 0.8 * at[2]


def test_mirrored_data_and_law_give_the_mirrored_estimate():
    law, window, bandwidth = EXPONENTIAL, windows.Cubic(), np.array([0.5])
    grid = Grid((-8.0,), (0.125,), (129,))
    Z = np.clip(observations(law, 1), -8, 8)
    f = estimate(grid, Z, law, window, bandwidth).values
    mirrored = estimate(grid, -Z, law.project([[-1.0]]), window, bandwidth).values
    np.testing.assert_allclose(mirrored[::-1], f, atol=1e-8)


# Limits


@pytest.mark.parametrize("d", [1, 2, 3])
def test_noise_to_zero_gives_the_kernel_density(d):
    window, bandwidth = windows.Gaussian(), np.full(d, 0.8)
    Z = observations(Gaussian(0.0), d, n=30)
    grid = default_grid(Z, Gaussian(0.0), window, bandwidth)
    density = estimate(grid, Z, Gaussian(0.0), window, bandwidth)
    X = grid.points[::17]
    direct = np.mean([stats.norm.pdf(X, z, bandwidth).prod(axis=1) for z in Z], axis=0)
    values = density.values.ravel()[::17]
    np.testing.assert_allclose(values, direct, atol=1e-3 * direct.max())
    small = estimate(grid, Z, Gaussian(1e-7), window, bandwidth)
    np.testing.assert_allclose(small.values, density.values, atol=1e-11)
    assert not np.allclose(
        estimate(grid, Z, Gaussian(0.1), window, bandwidth).values, density.values, atol=1e-4
    )


@pytest.mark.parametrize("d", [1, 2])
def test_blurred_gaussian_mixture_comes_back_from_gaussian_errors(d):
    # The histogram holds the exact law of Z = X + eps: N(+-2, 0.8^2 + 0.6^2).
    grid = Grid((-8.0,) * d, (0.125,) * d, (129,) * d)
    points, s = grid.points, 0.8

    def mixture(sd):
        return sum(stats.norm.pdf(points, m, sd).prod(axis=1) for m in (-2, 2)) / 2

    Z = fill(grid, points, mixture(np.hypot(s, 0.6)))
    # Nodes carry the law without binning: what transform takes off for it is put back.
    t = grid.frequencies
    sinc = np.prod(
        np.meshgrid(*[np.sinc(x * 0.125 / 2 / np.pi) ** 2 for x in t], indexing="ij"), axis=0
    )
    spectrum = transform(Z)
    exact = type(spectrum)(grid, spectrum.coefficients * sinc)
    plan = KernelDeconvolution(grid, Gaussian(0.6), windows.FlatTop(0.8))
    density = plan.density(exact, (0.12,) * d)
    np.testing.assert_allclose(density.values.ravel(), mixture(s), atol=1e-6)


def test_scaling_the_data_scales_the_estimate():
    law, window = Laplace(0.5), windows.Cubic()
    Z = observations(law, 1)
    f = estimate(Grid((-16.0,), (0.25,), (129,)), Z, law, window, (1.0,))
    g = estimate(Grid((-64.0,), (1.0,), (129,)), 4 * Z, Laplace(2.0), window, (4.0,))
    np.testing.assert_allclose(4 * g.values, f.values, atol=1e-12)


def test_an_axis_without_error_has_its_own_bandwidth():
    law, window = Gaussian((0.0, 0.7)), windows.Cubic()
    Z = observations(law, 2)
    grid = default_grid(Z, law, window, np.array([0.3, 0.9]))
    f = estimate(grid, Z, law, window, (0.3, 0.9))
    exact = reference.deconvolved_density(grid.nodes, Z, law, window, np.array([0.3, 0.9]))
    assert np.abs(f.values - exact).max() <= 1e-3 * exact.max()
    assert not np.allclose(estimate(grid, Z, law, window, (0.9, 0.9)).values, f.values, atol=1e-3)


# The periodic wrap


@pytest.mark.parametrize("d", [1, 2, 3])
def test_mass_near_one_edge_does_not_show_up_at_the_other(d):
    grid = Grid((0.0,) * d, (0.25,) * d, (33,) * d)
    corner = np.zeros((1, d))
    window, bandwidth = windows.Cubic(), np.full(d, 0.5)
    f = estimate(grid, corner, Laplace(0.2), window, bandwidth).values
    # The kernel falls off as x^-4 and is not periodic: 8 away from 0 it is below 1 % of its peak.
    assert f.ravel()[0] == f.max()
    for axis in range(d):
        assert np.abs(np.take(f, -1, axis=axis)).max() < 0.01 * f.max()


def test_kernel_on_the_padded_shape_is_the_formula_at_every_difference():
    grid, bandwidth = Grid((0.0,), (0.25,), (20,)), np.array([0.6])
    law, window = EXPONENTIAL, windows.FlatTop()
    (n,) = grid.padded_shape
    assert n >= 2 * 20 - 1
    differences = 0.25 * np.arange(-19, 20)
    exact = reference.deconvolved_density([differences], np.zeros((1, 1)), law, window, bandwidth)
    kernel = KernelDeconvolution(grid, law, window).kernel(bandwidth)
    np.testing.assert_allclose(kernel[np.arange(-19, 20)], exact, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("edge", [-1, 1])
def test_estimate_at_the_edge_of_the_data_is_the_formula(edge):
    grid, bandwidth = Grid((-4.0,), (1 / 32,), (257,)), np.array([0.5])
    Z = np.full((3, 1), 4.0 * edge)
    errors = relative_errors(grid, Z, EXPONENTIAL, windows.Cubic(), bandwidth, [1])
    assert errors[0] < 1e-3


def test_integral_is_one_up_to_what_lies_beyond():
    grid = Grid((-16.0,), (0.125,), (257,))
    for law in (Laplace(0.5), EXPONENTIAL):
        density = estimate(grid, np.zeros((1, 1)), law, windows.Cubic(), (0.5,))
        assert density.mass == pytest.approx(1, abs=1e-3)


# The band


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_smallest_bandwidth_stands_at_the_largest_gain(window):
    # exp(t^2 / 2) = 1e12 at t = sqrt(2 log 1e12).
    smallest = smallest_bandwidth(Gaussian(2.0), window, 1e-3, 0, 1)
    expected = 2 * window.support / np.sqrt(2 * np.log(1e12))
    assert smallest == pytest.approx(expected, rel=0.005)
    assert smallest >= expected
    assert smallest_bandwidth(Gaussian(2.0), window, 1.01 * smallest, 0, 1) == 1.01 * smallest


@pytest.mark.parametrize("law", [Uniform(1.0), TOUCHING], ids=["crossed", "touched"])
def test_smallest_bandwidth_stands_before_the_first_zero(law):
    # sin(t) / t is 0 at pi; its square only touches 0 there.
    smallest = smallest_bandwidth(law, windows.Sinc(), 0.01, 0, 1)
    assert 1 / np.pi <= smallest < 1.01 / np.pi
    assert smallest_bandwidth(law, windows.Sinc(), 0.33, 0, 1) == 0.33


def test_low_dip_of_the_characteristic_function_is_no_zero():
    law = Gaussian(0.1) + Laplace(0.3)
    assert smallest_bandwidth(law, windows.Sinc(), 0.05, 0, 1) == 0.05
    rippled = Independent([Uniform(1.0)]).project([[0.1]])
    assert smallest_bandwidth(rippled, windows.Sinc(), 0.04, 0, 1) == 0.04


@pytest.mark.parametrize(
    ("law", "bandwidth", "message"),
    [
        (Gaussian(1.0), (0.1,), r"bandwidth 0\.1 on axis 0 is too small: 1/phi_eta overflows"),
        (Gaussian(1.0), (1e-3,), r"bandwidth 0\.001 on axis 0 is too small"),
        (Gaussian((0.0, 1.0)), (0.1, 0.1), r"bandwidth 0\.1 on axis 1 is too small"),
        (Uniform(2.0), (0.5,), r"smallest usable bandwidth on this axis is 0\.63"),
        (TOUCHING, (0.2,), r"bandwidth 0\.2 on axis 0 .* Uniform\(1\.0\) \+ Uniform\(1\.0\)"),
        (Gaussian(1.0), (0.15, 0.15), r"\(0\.15, 0\.15\) is too small on all axes together"),
        (SLANTED, (0.39, 0.39), r"\(0\.39, 0\.39\) is too small on all axes together"),
        (Gaussian(1.0), (0.2, 0.2, 0.2), r"is too small on all axes together"),
    ],
)
def test_bandwidth_that_reaches_destroyed_frequencies_is_refused(law, bandwidth, message):
    window = windows.Sinc()
    plan = KernelDeconvolution(
        Grid((0.0,) * len(bandwidth), (0.5,) * len(bandwidth), (4,) * len(bandwidth)), law, window
    )
    for use in (lambda: plan.kernel(bandwidth), lambda: adequate_spacing(law, window, bandwidth)):
        with pytest.raises(ValueError, match=message):
            use()


@pytest.mark.parametrize(
    ("law", "bandwidth"),
    [
        (Gaussian(1.0), (1e-3,)),
        (TOUCHING, (0.2,)),
        (Gaussian((0.0, 1.0)), (0.5, 0.1)),
        (Gaussian(1.0), (0.15, 0.15)),
        (SLANTED, (0.39, 0.39)),
        (Gaussian(1.0), (0.2, 0.2, 0.2)),
    ],
)
def test_bandwidth_that_a_refusal_names_is_accepted(law, bandwidth):
    window = windows.Sinc()
    with pytest.raises(ValueError, match="smallest usable") as refused:
        check_bandwidth(law, window, bandwidth)
    named = eval(str(refused.value).rsplit(" is ", 1)[1].split(";")[0])
    if not isinstance(named, tuple):
        axis = int(str(refused.value).split("on axis ")[1].split()[0])
        named = tuple(named if v == axis else b for v, b in enumerate(bandwidth))
    check_bandwidth(law, window, named)
    assert np.max(np.array(named) / bandwidth) > 1


def test_zero_away_from_the_axes_is_found():
    # The uniform part vanishes on |t_0 / 2 + t_1| = pi, which both axes reach only beyond 1 / 0.39.
    for axis in (0, 1):
        assert smallest_bandwidth(SLANTED, windows.Sinc(), 0.39, axis, 2) == 0.39
    check_bandwidth(SLANTED, windows.Sinc(), (0.49, 0.49))  # (1 + 1 / 2) / 0.49 < pi
    with pytest.raises(ValueError, match="together"):
        check_bandwidth(SLANTED, windows.Sinc(), (0.47, 0.47))


def test_adequate_spacing_scales_with_the_unit():
    law = Gaussian.from_covariance([[1.0, 0.6], [0.6, 0.5]])
    spacing = adequate_spacing(law, windows.Cubic(), (0.7, 0.9))
    scaled = Gaussian.from_covariance([[4.0, 2.4], [2.4, 2.0]])
    twice = adequate_spacing(scaled, windows.Cubic(), (1.4, 1.8))
    np.testing.assert_allclose(twice, 2 * spacing, rtol=1e-9)


def test_adequate_spacing_without_error_has_the_window_s_mean_square_frequency():
    # int t^2 (1 - t^2)^3 / int (1 - t^2)^3 = (16 / 315) / (16 / 35) = 1 / 9.
    spacing = adequate_spacing(Gaussian(0.0), windows.Cubic(), (0.5, 2.0))
    expected = 2 * np.pi * 3 * np.array([0.5, 2.0]) * np.sqrt(5e-4 / np.sqrt(2))
    np.testing.assert_allclose(spacing, expected, rtol=1e-3)


def test_errors_along_a_diagonal_need_a_finer_grid_than_their_axes_tell():
    S = np.array([[1.0, 1.0], [1.0, 1.0]])
    window, bandwidth = windows.Sinc(), (0.6, 0.6)
    along = adequate_spacing(Gaussian.from_covariance(S), window, bandwidth)
    apart = adequate_spacing(Gaussian(1.0), window, bandwidth)
    assert (along < 0.97 * apart).all()


def test_adequate_spacing_needs_a_grid_s_dimension():
    with pytest.raises(ValueError, match="a grid has 1 to 3 axes; got 4: noise with more features"):
        adequate_spacing(Gaussian(1.0), windows.Cubic(), (1.0,) * 4)


# What is refused


def test_plan_and_spectrum_are_of_one_grid():
    grid, other = Grid((0.0,), (1.0,), (8,)), Grid((1.0,), (1.0,), (8,))
    plan = KernelDeconvolution(grid, Laplace(0.1), windows.Cubic())
    with pytest.raises(ValueError, match=r"the spectrum is on Grid\(lower=\(1\.0,.*, the plan on"):
        plan.density(transform(fill(other, [[4.0]])), (2.0,))


def test_bandwidth_has_an_entry_for_each_axis():
    plan = KernelDeconvolution(Grid((0.0,), (1.0,), (8,)), Laplace(0.1), windows.Cubic())
    with pytest.raises(ValueError, match=r"bandwidth must have 1 entries; got \(1\.0, 2\.0\)"):
        plan.kernel((1.0, 2.0))


def test_plan_is_reused_for_many_spectra():
    grid = Grid((-8.0,), (0.25,), (65,))
    plan = KernelDeconvolution(grid, EXPONENTIAL, windows.Cubic())
    transfer = plan.transfer((0.6,))
    for seed in range(3):
        spectrum = transform(fill(grid, np.clip(observations(EXPONENTIAL, 1, seed=seed), -8, 8)))
        once, again = plan.apply(spectrum, transfer), plan.density(spectrum, (0.6,))
        np.testing.assert_array_equal(once.values, again.values)


@pytest.mark.parametrize("bandwidth", [1e-9, 1e-4, 1e-2])
def test_smallest_bandwidth_does_not_depend_on_the_one_that_was_asked_for(bandwidth):
    law, window = Gaussian(3.0), windows.Cubic()
    found = smallest_bandwidth(law, window, bandwidth, 0, 1)
    assert found == pytest.approx(smallest_bandwidth(law, window, 0.1, 0, 1), rel=0.01)


# -- laws whose c.f. has zeros -----------------------------------------------------------------


@pytest.mark.parametrize(
    "law", [noise.Uniform(2.0), noise.Uniform((1.0, 2.0)) + noise.Laplace(0.1)]
)
def test_ridge_is_the_formula_of_hall_and_meister(law):
    d = law.dimension or 1
    t = np.random.default_rng(0).uniform(-6, 6, (500, d))
    phi = law.characteristic_function(t)
    ridged = Ridged(law, 0.1)
    inverse = np.conj(phi) / np.maximum(np.abs(phi), 0.1) ** 2
    np.testing.assert_allclose(1 / ridged.characteristic_function(t), inverse, rtol=1e-6)
    np.testing.assert_array_equal(ridged.covariance, law.covariance)
    np.testing.assert_array_equal(ridged.mean(d), law.mean(d))
    np.testing.assert_array_equal(ridged.sample((5, d), 0), law.sample((5, d), 0))
    assert (ridged + ridged).law == law + law


@pytest.mark.parametrize(
    ("law", "zeros"),
    [
        (noise.Uniform(2.0), True),
        (noise.Uniform(2.0) + noise.Gaussian(0.2), True),
        (noise.Uniform(0.2) + noise.Gaussian(2.0), False),
        (noise.Gaussian(2.0), False),
        (noise.Laplace(2.0), False),
        (noise.Gaussian(0.0), False),
    ],
)
def test_ridge_is_for_laws_that_come_back_after_a_zero(law, zeros):
    assert isinstance(regular(law, 1000, 1), Ridged) == zeros
    # In a small sample nothing can be told from 0.
    assert regular(law, 4, 1) is law


def test_estimate_with_a_ridge_is_the_formula():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=200) + rng.uniform(-3, 3, 200)
    law, grid = Ridged(noise.Uniform(3.0), 0.07), Grid((-8.0,), (0.0625,), (257,))
    plan = KernelDeconvolution(grid, law, windows.Cubic())
    got = plan.density(transform(fill(grid, Z[:, None])), (0.4,)).values
    t = np.linspace(-2.5, 2.5, 20_001)
    phi = np.sinc(3 * t / np.pi)
    weight = (1 - (0.4 * t) ** 2) ** 3 * phi / np.maximum(np.abs(phi), 0.07) ** 2
    waves = np.exp(1j * np.outer(t, Z)).mean(axis=1) * weight
    x = grid.nodes[0][::16]
    expected = (np.exp(-1j * np.outer(x, t)) @ waves).real * (t[1] - t[0]) / (2 * np.pi)
    np.testing.assert_allclose(got[::16], expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("by_histogram", [False, True])
def test_uniform_errors_take_a_small_bandwidth(by_histogram):
    rng = np.random.default_rng(0)
    X = np.array([[0, 0], [9, 0]])[rng.integers(2, size=400)] + rng.normal(size=(400, 2))
    Z = X + rng.uniform(-5, 5, (400, 2)) * (0, 1)
    model = NoisyKMeans(2, noise=noise.Uniform((0, 5.0)), bandwidth=(0.5, 1.0), random_state=0)
    if by_histogram:
        model.fit_histogram(fill(Grid.covering(Z, 0.1), Z))
    else:
        model.fit(Z)
    assert np.sort(model.cluster_centers_[:, 0]) == pytest.approx([0, 9], abs=0.3)
    assert np.abs(model.cluster_centers_[:, 1]).max() < 1
