"""Maximum likelihood: what errors do to mass on a grid, the steps, and the first guess."""

import itertools

import numpy as np
import pytest
from scipy import stats

import reference
from noisykmeans import _kernels
from noisykmeans.deconvolution import Blur, EMDeconvolution, first_guess
from noisykmeans.deconvolution.bumps import Family, Sample
from noisykmeans.deconvolution.covariance import clean_covariance, round_variance
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.groups import Groups
from noisykmeans.histogram import Histogram, fill
from noisykmeans.noise import Gaussian, Independent, Laplace, Uniform
from strategies import EXPONENTIAL, LAWS

ROUND_EQUAL = Family(round=True, equal=True)
FREE = Family(round=False, equal=False)


def small_grid(d):
    return Grid((-2.0,) * d, (0.5,) * d, (9, 11, 8)[:d])


def point_mass(grid):
    values = np.zeros(grid.shape)
    values[tuple(n // 2 for n in grid.shape)] = 1.0
    return values


def normal_sample(d, n=400, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal((n, d)) + 4 * rng.integers(2, size=(n, 1))


def histogram_of(X, spacing=0.25):
    return fill(Grid.covering(X, spacing), X)


# -- blur --------------------------------------------------------------------------------------


# Errors on a line across the axes are widened by half a spacing: see below.
@pytest.mark.parametrize(
    "name", [n for n in LAWS if n not in {"gaussian singular", "projected up"}]
)
def test_blur_is_what_drawn_errors_do(name):
    d, law = LAWS[name]
    d = min(d, 2) if law.dimension is None else d
    grid, n = small_grid(d), 200_000
    values = point_mass(grid)
    center = grid.points[values.ravel().argmax()]
    drawn = fill(grid, center + law.sample((n, d), 0)).values / n
    # A histogram leaves out what lies beyond its outermost nodes.
    inside = tuple(slice(1, -1) for _ in range(d))
    np.testing.assert_allclose(Blur(grid, law).forward(values)[inside], drawn[inside], atol=5e-3)


def test_blur_by_hand():
    # E max(0, 1 - |U - j|) for U uniform on [-1, 1]: a triangle met by a rectangle.
    grid = Grid((0.0,), (1.0,), (5,))
    out = Blur(grid, Uniform(1.0)).forward(np.array([0.0, 0.0, 1.0, 0.0, 0.0]))
    np.testing.assert_allclose(out, [0, 0.25, 0.5, 0.25, 0], atol=2e-4)


def test_blur_of_a_gaussian_is_its_integral_over_hats():
    h, scale = 0.5, 0.7
    grid = Grid((-4.0,), (h,), (17,))
    law = stats.norm(scale=scale)
    hats = [
        law.expect(lambda x, c=c: max(0, 1 - abs(x - c) / h), lb=c - h, ub=c + h)
        for c in grid.nodes[0]
    ]
    out = Blur(grid, Gaussian(scale)).forward(point_mass(grid))
    np.testing.assert_allclose(out, hats, atol=1e-7)


@pytest.mark.parametrize("law", [Gaussian(0.0), Gaussian((0.0, 0.0))])
def test_errors_of_no_size_blur_nothing(law):
    grid = small_grid(2)
    values = np.random.default_rng(0).random(grid.shape)
    np.testing.assert_allclose(Blur(grid, law).forward(values), values, atol=1e-12)


def test_skew_errors_move_mass_to_their_own_side():
    grid = Grid((-3.0,), (0.25,), (41,))
    out = Blur(grid, EXPONENTIAL).forward(np.eye(41)[12])
    # Half of a centred exponential lies below log 2 - 1 < 0, its long tail above.
    assert out[:11].sum() == pytest.approx(stats.expon.cdf(1 - 0.375), abs=0.02)
    assert grid.nodes[0] @ out == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("law", [Gaussian(0.9), Laplace(0.5), EXPONENTIAL])
@pytest.mark.parametrize("d", [1, 2])
def test_backward_is_the_adjoint(law, d):
    rng, grid = np.random.default_rng(1), small_grid(d)
    blur = Blur(grid, law)
    f, v = rng.random(grid.shape), rng.random(grid.shape)
    assert (blur.forward(f) * v).sum() == pytest.approx((f * blur.backward(v)).sum())


def test_independent_axes_blur_as_the_law_of_both():
    law = Independent([Gaussian(0.6), Gaussian(1.1)])
    joint = Gaussian.from_covariance([[0.36, 1e-12], [1e-12, 1.21]])
    assert law.independent
    assert not joint.independent
    grid = small_grid(2)
    values = point_mass(grid)
    np.testing.assert_allclose(
        Blur(grid, law).forward(values), Blur(grid, joint).forward(values), atol=1e-9
    )


@pytest.mark.parametrize("correlation", [0.9, 0.99, 1.0])
def test_errors_on_a_line_across_the_axes_keep_their_spread(correlation):
    S = np.array([[1.0, correlation], [correlation, 1.0]])
    grid = Grid((-10.0, -10.0), (0.25, 0.25), (81, 81))
    out = Blur(grid, Gaussian.from_covariance(S)).forward(point_mass(grid))
    assert out.sum() == pytest.approx(1, abs=1e-4)
    points, u = grid.points, out.ravel()
    found = (points * u[:, None]).T @ points
    # Binning adds h^2 / 6, and errors without width across their line get h^2 / 4 more.
    extra = 0.0625 / 6 + (0.0625 / 4 if correlation == 1 else 0)
    np.testing.assert_allclose(found, S + extra * np.eye(2), atol=0.02)


@pytest.mark.parametrize("law", [Gaussian(1e9), Gaussian.from_covariance(9e4 * np.eye(2) + 1)])
def test_errors_far_wider_than_the_grid_take_no_more_memory(law):
    grid = small_grid(2)
    out = Blur(grid, law).forward(point_mass(grid))
    assert out.max() <= 1.05 * out.min() + 1e-12


@pytest.mark.parametrize("law", [Uniform(20.0), Gaussian(20.0), Laplace(10.0)])
def test_errors_wider_than_the_grid_do_not_come_round(law):
    # What leaves the grid is lost: the share that stays is that of drawn errors.
    grid = Grid((0.0,), (0.5,), (21,))
    out = Blur(grid, law).forward(point_mass(grid))
    errors = law.sample((100_000, 1), 0)
    assert out.sum() == pytest.approx(np.mean(np.abs(errors) <= 5), abs=0.02)
    assert out.min() >= -1e-12


# -- steps -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "law", [Gaussian(1.0), Laplace(0.6), Uniform(1.5), EXPONENTIAL, Gaussian(0.0)]
)
@pytest.mark.parametrize("d", [1, 2])
def test_likelihood_never_falls_and_densities_stay_densities(law, d):
    X = normal_sample(d) + law.sample((400, d), 1)
    histogram = histogram_of(X, 0.5)
    plan = EMDeconvolution(Groups.of(histogram, law))
    flat = Density(histogram.grid, np.ones(histogram.grid.shape))
    path = list(itertools.islice(plan.steps(flat), 1, 12))
    likelihoods = [plan.log_likelihood(density) for density in path]
    # Steps are normalised on the grid; what the blur moves beyond it costs a little at its border.
    assert (np.diff(likelihoods) > -1e-6).all()
    for density in path:
        assert density.mass == pytest.approx(1)
        assert density.values.min() >= 0


def test_step_is_the_formula():
    grid, law = small_grid(1), Gaussian(0.8)
    histogram = Histogram(grid, np.arange(9.0))
    f = np.array([1.0, 2, 3, 4, 5, 4, 3, 2, 1])
    K = np.stack([Blur(grid, law).forward(row) for row in np.eye(9)], axis=1)
    h = histogram.values / histogram.mass
    expected = f * (K.T @ (h / (K @ f)))
    start = Density(grid, f)
    _, after = itertools.islice(EMDeconvolution(Groups.of(histogram, law)).steps(start), 2)
    np.testing.assert_allclose(after.values, expected / expected.sum() / 0.5)


def test_start_comes_first_and_its_zeros_stay():
    grid = small_grid(1)
    values = np.array([0.0, 0, 1, 1, 1, 1, 1, 0, 0])
    histogram = Histogram(grid, np.ones(9))
    steps = EMDeconvolution(Groups.of(histogram, Gaussian(0.5))).steps(Density(grid, values))
    first, second = itertools.islice(steps, 2)
    np.testing.assert_allclose(first.values, values / values.sum() / 0.5)
    assert (second.values[values == 0] == 0).all()


def test_without_errors_one_step_is_the_histogram():
    grid = small_grid(1)
    histogram = Histogram(grid, np.arange(1.0, 10.0))
    steps = EMDeconvolution(Groups.of(histogram, Gaussian(0.0))).steps(Density(grid, np.ones(9)))
    _, after = itertools.islice(steps, 2)
    np.testing.assert_allclose(after.values * 0.5, histogram.values / histogram.mass)


def test_many_steps_find_two_points_under_uniform_errors_whose_transform_vanishes():
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 3.0], size=(4000, 1))
    histogram = histogram_of(X + Uniform(1.0).sample(X.shape, rng), 0.25)
    flat = Density(histogram.grid, np.ones(histogram.grid.shape))
    plan = EMDeconvolution(Groups.of(histogram, Uniform(1.0)))
    density = next(itertools.islice(plan.steps(flat), 300, None))
    near = [np.abs(density.grid.nodes[0] - c) < 0.3 for c in (0.0, 3.0)]
    assert sum(density.values[at].sum() * 0.25 for at in near) > 0.9


def test_density_of_small_bumps_is_as_smooth_as_they_are():
    # One error-free observation at a node: without the sieve a spike, with it one bump.
    grid = Grid((-4.0,), (0.125,), (65,))
    histogram = fill(grid, [[0.0]])
    flat = Density(grid, np.ones(65))
    plan = EMDeconvolution(Groups.of(histogram, Gaussian(0.0)), (0.5,))
    density = next(itertools.islice(plan.steps(flat), 500, None))
    expected = stats.norm(scale=0.5).pdf(grid.nodes[0])
    np.testing.assert_allclose(density.values, expected, atol=0.08)


def test_likelihood_never_falls_with_small_bumps():
    law, X = Gaussian((0.0, 1.0)), normal_sample(2)
    histogram = histogram_of(X + law.sample(X.shape, 1))
    plan = EMDeconvolution(Groups.of(histogram, law), (0.3, 0.3))
    flat = Density(histogram.grid, np.ones(histogram.grid.shape))
    path = itertools.islice(plan.steps(flat), 1, 12)
    likelihoods = [plan.log_likelihood(density) for density in path]
    assert (np.diff(likelihoods) > -1e-6).all()


def test_start_and_histogram_are_of_one_grid():
    histogram = Histogram(small_grid(1), np.ones(9))
    plan = EMDeconvolution(Groups.of(histogram, Gaussian(1.0)))
    other = Grid((0.0,), (1.0,), (9,))
    with pytest.raises(ValueError, match=r"the start is on Grid.* the observations Grid"):
        next(plan.steps(Density(other, np.ones(9))))


# -- bumps -------------------------------------------------------------------------------------


def held(rows, widths, means, log_shares):
    """What the kernel adds up, unwhitened, and the log-likelihood without its constant."""
    roots = np.linalg.cholesky(widths)
    whiten = np.ascontiguousarray(np.linalg.inv(roots).transpose(0, 2, 1))
    seen = _kernels.mixture.Seen(whiten, means @ whiten, log_shares)
    masses, moments = np.zeros(seen.means.shape[:2]), np.zeros(seen.means.shape)
    total = _kernels.mixture.bump_moments(rows, seen, masses, moments)
    return masses, moments @ roots.transpose(0, 2, 1), total


@pytest.mark.parametrize("d", [1, 2, 3, 9])
def test_moments_of_bumps_are_those_of_the_slow_twin(d):
    rng = np.random.default_rng(d)
    points, weights, origin = rng.standard_normal((50, d)), rng.random(50), rng.random(d)
    means, log_shares = rng.standard_normal((4, d)), np.log(rng.dirichlet(np.ones(4)))
    A, parts = rng.standard_normal((3, d, d)), rng.integers(3, size=50)
    widths = A @ A.transpose(0, 2, 1) + np.eye(d)
    rows = _kernels.mixture.Rows(points + origin, weights, parts, origin)
    got = held(rows, widths, means, log_shares)
    expected = reference.bump_moments(rows, widths, means, log_shares)
    for one, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, wanted)


def test_far_points_have_moments_too():
    far, means = np.array([[1e3], [-1e3]]), np.array([[0.0], [1.0]])
    rows = _kernels.mixture.Rows(far, np.ones(2), np.zeros(2, dtype=np.intp), np.zeros(1))
    masses, moments, _ = held(rows, np.ones((1, 1, 1)), means, np.log([0.5, 0.5]))
    assert masses.tolist() == [[1.0, 1.0]]
    assert moments.ravel().tolist() == [-1000.0, 1000.0]


def log_likelihood(within, observed):
    """Of Gaussian points with a covariance, under a law with another: constants left out."""
    return -np.linalg.slogdet(observed)[1] - np.trace(np.linalg.solve(observed, within))


@pytest.mark.parametrize("seed", range(5))
def test_clean_covariance_is_the_maximum_of_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, 3, 3))
    within, errors = A @ A.T, 0.5 * B @ B.T
    best = clean_covariance(within, errors)
    assert np.linalg.eigvalsh(best)[0] >= -1e-9
    value = log_likelihood(within, best + errors)
    for _ in range(200):
        D = 0.1 * rng.standard_normal((3, 3))
        other = (np.eye(3) + D) @ best @ (np.eye(3) + D).T + 0.01 * rng.random() * D @ D.T
        assert log_likelihood(within, other + errors) <= value + 1e-9


def test_clean_covariance_is_the_difference_where_that_is_positive():
    within, errors = np.array([[4.0, 1.0], [1.0, 3.0]]), np.diag([0.0, 2.0])
    np.testing.assert_allclose(clean_covariance(within, errors), within - errors, atol=1e-7)
    assert np.abs(clean_covariance(errors, 9 * np.eye(2))).max() == 0


@pytest.mark.parametrize(
    ("within", "errors"), [((2.0, 11.0), (0.0, 9.0)), ((1.2, 7.0), (0.5, 5.0)), ((0.3,), (0.1,))]
)
def test_round_variance_is_the_maximum_of_the_likelihood(within, errors):
    def value(c):
        return log_likelihood(np.diag(within), np.diag(errors) + c * np.eye(len(within)))

    best = round_variance(within, errors)
    assert value(best) >= max(map(value, np.linspace(0.001, 15, 2000))) - 1e-9


def test_round_variance_on_one_axis_is_the_difference():
    rng = np.random.default_rng(0)
    for w, s in rng.uniform(0, 5, (20_000, 2)):
        assert round_variance([w], [s]) == pytest.approx(max(w - s, 0), rel=1e-6, abs=1e-8)
        assert round_variance([w, w], [s, s]) == pytest.approx(max(w - s, 0), rel=1e-6, abs=1e-8)


def test_round_variance_is_zero_where_errors_explain_everything():
    assert round_variance((1.0, 2.0), (3.0, 4.0)) == 0
    assert round_variance((1e-30, 0.0), (0.0, 0.0)) == pytest.approx(0, abs=1e-29)


@pytest.mark.parametrize("family", [Family(r, e) for r in (True, False) for e in (True, False)])
def test_bumps_find_a_mixture_under_gaussian_errors(family):
    law, n = Gaussian((0.5, 2.0)), 20_000
    X = normal_sample(2, n, scale=0.8)
    histogram = histogram_of(X + law.sample((n, 2), 1))
    sample, rng = Sample.of(Groups.of(histogram, law)), np.random.RandomState(0)
    bumps = sample.bumps(family, sample.best(family, [sample.start(2, rng) for _ in range(3)]))
    order = bumps.means[:, 0].argsort()
    np.testing.assert_allclose(bumps.means[order], [[0, 0], [4, 4]], atol=0.1)
    np.testing.assert_allclose(bumps.shares[order], [0.5, 0.5], atol=0.02)
    np.testing.assert_allclose(bumps.covariance, 0.64 * np.eye(2), atol=0.08)


def test_likelihood_of_bumps_is_that_of_the_blurred_mixture():
    X = normal_sample(2, 300)
    histogram, law = histogram_of(X), Gaussian((0.2, 0.4))
    sample = Sample.of(Groups.of(histogram, law))
    state = sample.best(FREE, [sample.start(2, np.random.RandomState(0))])
    bumps = sample.bumps(FREE, state)
    errors = law.covariance + np.diag(np.square(histogram.grid.spacing)) / 6
    nodes = histogram.grid.points
    observed = sum(
        share * stats.multivariate_normal(mean, bumps.covariance + errors).pdf(nodes)
        for share, mean in zip(bumps.shares, bumps.means, strict=True)
    )
    expected = histogram.values.ravel() @ np.log(observed) / histogram.mass
    assert bumps.log_likelihood - np.log(2 * np.pi) == pytest.approx(expected, abs=1e-4)


def test_steps_of_bumps_raise_the_likelihood():
    sample = Sample.of(Groups.of(histogram_of(normal_sample(2, 200)), Gaussian(0.5)))
    state, seen = sample.start(3, np.random.RandomState(0)), []
    for _ in range(30):
        state = (
            sample.best(ROUND_EQUAL, [state])
            if len(seen) == 29
            else sample._step(ROUND_EQUAL, state)
        )
        seen.append(state.log_likelihood)
    assert (np.diff(seen) > -1e-9).all()


def test_parameters_of_a_family_are_counted():
    assert Family(round=True, equal=True).n_parameters(3, 2) == 3 * 2 + 1
    assert Family(round=False, equal=False).n_parameters(3, 2) == 2 + 3 * 2 + 3


# -- the guess ---------------------------------------------------------------------------------


def guess(X, law, k, seed=0):
    return first_guess(Groups.of(histogram_of(X), law), k, len(X), np.random.RandomState(seed))


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_guess_is_a_density_with_mean_and_as_many_centers(d, k):
    X = normal_sample(d, 300)
    found = first_guess(
        Groups.of(histogram_of(X, 0.5), Gaussian(0.3)), k, 300, np.random.RandomState(0)
    )
    assert found.centers.shape == (k, d)
    assert found.density.mass == pytest.approx(1)
    assert found.density.values.min() >= 0
    np.testing.assert_allclose(found.density.mean, X.mean(axis=0), atol=0.1)


def test_guess_takes_skew_errors_off_the_mean():
    law = EXPONENTIAL + Gaussian(0.1)
    X = normal_sample(1, 2000) + law.sample((2000, 1), 0)
    assert guess(X, law, 2).density.mean == pytest.approx(X.mean(), abs=0.05)


def test_guess_has_unequal_bumps_where_the_data_tell():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2)) + 6 * (rng.random((600, 1)) < 0.1)
    density = guess(X + Gaussian(1.0).sample(X.shape, rng), Gaussian(1.0), 2).density
    masses, _ = density.cell_moments([[0.0, 0.0], [6.0, 6.0]])
    assert masses[1] == pytest.approx(0.1, abs=0.04)


def test_guess_repeats_with_its_seed():
    X = normal_sample(2, 200)
    first, second = guess(X, Gaussian(1.0), 3), guess(X, Gaussian(1.0), 3)
    np.testing.assert_array_equal(first.density.values, second.density.values)
    np.testing.assert_array_equal(first.centers, second.centers)


def test_more_bumps_than_places_are_as_many_as_places():
    X = np.array([[0.0], [1.0]])
    histogram = fill(Grid((-1.0,), (1.0,), (4,)), X)
    found = first_guess(Groups.of(histogram, Gaussian(0.1)), 5, 2, np.random.RandomState(0))
    assert found.centers.shape == (2, 1)
