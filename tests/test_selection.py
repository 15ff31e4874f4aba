from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from noisykmeans import NoisyKMeans, noise, selection, windows
from noisykmeans.deconvolution import KernelDeconvolution
from noisykmeans.deconvolution.band import check_bandwidth
from noisykmeans.grid import Grid
from noisykmeans.groups import Groups
from noisykmeans.histogram import Histogram, fill
from noisykmeans.metrics import clean_distortion
from noisykmeans.selection import Task
from noisykmeans.selection.candidates import coarsened, limits, search
from noisykmeans.selection.trial import Trial, plan_of
from noisykmeans.spectrum import transform
from strategies import EXPONENTIAL


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


# -- what rules share --------------------------------------------------------------------------


CUBIC = windows.Cubic()


def task_of(law, n=150, d=2, spacing=0.125):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X[:, 0] += 5 * (np.arange(n) % 2)
    Z = X + law.sample(X.shape, rng)
    histogram = fill(Grid.covering(Z, spacing), Z)
    return X, Task(Groups.of(histogram, law), CUBIC, 2, points=Z)


def every_rule(d=2):
    clean = np.random.default_rng(9).standard_normal((200, d))
    clean[:, 0] += 5 * (np.arange(200) % 2)
    return [
        selection.CrossValidation(),
        selection.Lepski(resamples=2),
        selection.Oracle(clean, per_axis=4),
        selection.Rate(),
        selection.Renoise(copies=3),
        selection.Fixed((0.8,) * d),
    ]


@pytest.mark.parametrize("i", range(len(every_rule())))
@pytest.mark.parametrize("d", [1, 2])
def test_every_rule_keeps_the_contract(i, d):
    rule = every_rule(d)[i]
    law = noise.Gaussian(0.7)
    _, task = task_of(law, d=d)
    chosen = rule.choose(task)
    assert chosen.bandwidth.shape == (d,)
    assert chosen.candidates.shape == (len(chosen.criterion), d)
    assert np.isfinite(chosen.criterion).all()
    assert (chosen.bandwidth == chosen.candidates[chosen.criterion.argmin()]).all()
    check_bandwidth(law, CUBIC, chosen.bandwidth.tolist())
    finest = rule.finest(task.effective_n, task.scale, law, CUBIC)
    check_bandwidth(law, CUBIC, finest.tolist())
    again = rule.choose(task)
    np.testing.assert_array_equal(again.bandwidth, chosen.bandwidth)
    np.testing.assert_array_equal(again.criterion, chosen.criterion)


@pytest.mark.parametrize("i", range(len(every_rule())))
def test_every_rule_follows_the_unit_of_the_data(i):
    rule, law = every_rule()[i], noise.Gaussian((0.3, 1.1))
    if isinstance(rule, selection.Fixed | selection.Oracle):
        pytest.skip("has lengths of its own")
    _, task = task_of(law)
    grid = task.histogram.grid
    larger = Grid(*(tuple(4 * v for v in part) for part in (grid.lower, grid.spacing)), grid.shape)
    scaled = Task(
        Groups.of(Histogram(larger, task.histogram.values), noise.Gaussian((1.2, 4.4))),
        CUBIC,
        2,
        points=4 * task.points,
    )
    chosen = rule.choose(scaled).bandwidth
    np.testing.assert_allclose(chosen, 4 * rule.choose(task).bandwidth, rtol=1e-6)


@pytest.mark.parametrize(
    "law", [noise.Gaussian((0.0, 2.0)), noise.Laplace(1.0), noise.Uniform((0.5, 4.0))]
)
def test_limits_are_usable_ordered_and_wider_for_larger_errors(law):
    low, high = limits(200, np.array([2.0, 3.0]), law, CUBIC)
    assert (low < high).all()
    check_bandwidth(law, CUBIC, high.tolist())
    for axis in range(2):
        alone = np.full(2, np.inf)
        alone[axis] = low[axis]
        check_bandwidth(law, CUBIC, alone.tolist())


def test_limit_along_an_axis_is_where_the_errors_leave_chance_alone():
    # |phi(t)| = exp(-t^2 s^2 / 2) = n^(-1/2) at t = sqrt(log n) / s; blurred by 1 / t.
    s, n = 3.0, 1000
    low, _ = limits(n, np.array([4.0]), noise.Gaussian(s), CUBIC)
    assert low[0] == pytest.approx(CUBIC.unit * s / np.sqrt(np.log(n)), rel=0.02)


def test_search_finds_the_minimum_of_a_bowl():
    _, task = task_of(noise.Gaussian(0.2), spacing=0.0625)
    low, high = limits(task.effective_n, task.scale, task.noise, CUBIC)
    target = np.sqrt(low * high) * [1.3, 0.8]

    def bowl(bandwidth):
        return float((np.log(bandwidth / target) ** 2).sum())

    found = search(task, None, bowl)
    step = np.log(high / low) / 4 / 4  # coarse steps, halved twice
    assert (np.abs(np.log(found.bandwidth / target)) <= step * 1.01).all()
    assert len(found.criterion) == len(np.unique(found.candidates, axis=0))


def test_given_candidates_are_the_only_ones():
    _, task = task_of(noise.Gaussian(0.5))
    rule = selection.CrossValidation([[0.7, 0.8], [0.9, 1.5], [0.7, 0.8]])
    chosen = rule.choose(task)
    assert chosen.candidates.tolist() == [[0.7, 0.8], [0.9, 1.5]]
    assert rule.finest(100, np.ones(2), task.noise, CUBIC).tolist() == [0.7, 0.8]


def test_comparison_on_a_coarser_grid_finds_the_same_bandwidth():
    _, task = task_of(noise.Gaussian(1.0), spacing=0.03)
    rule = selection.CrossValidation()
    coarse = coarsened(task, None)
    assert coarse.histogram.values.size < task.histogram.values.size / 10
    assert coarse.histogram.mass == pytest.approx(task.histogram.mass)
    both = [rule.choose(t).bandwidth for t in (task, coarse)]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-9)


BAD_CANDIDATES = {
    "single": ([1.0], "candidates must hold at least two different bandwidths"),
    "twice the same": ([[1.0, 2.0], [1.0, 2.0]], "candidates must hold at least two different"),
    "negative": ([1.0, -1.0], "candidates must be positive and finite"),
    "NaN": ([1.0, np.nan], "candidates must be positive and finite"),
    "words": (["a", "b"], r"candidates must be bandwidths of shape \(m,\)"),
    "deep": (np.ones((2, 2, 2)), r"candidates must be bandwidths of shape \(m,\)"),
    "none": ([], r"candidates must be bandwidths of shape \(m,\)"),
}


@pytest.mark.parametrize(("candidates", "message"), BAD_CANDIDATES.values(), ids=BAD_CANDIDATES)
@pytest.mark.parametrize(
    "rule", [selection.CrossValidation, selection.Lepski, selection.Renoise, selection.Oracle]
)
def test_bad_candidates_are_refused(rule, candidates, message):
    first = {"X_clean": np.ones((3, 2))} if rule is selection.Oracle else {}
    with pytest.raises(ValueError, match=message):
        rule(**first, candidates=candidates)


def test_candidate_beyond_the_usable_range_is_refused_with_the_range():
    _, task = task_of(noise.Gaussian((0.0, 4.0)))
    rule = selection.Renoise(candidates=[[1.0, 0.1], [1.0, 2.0]])
    with pytest.raises(ValueError, match=r"candidate \(1\.0, 0\.1\) is outside the usable range"):
        rule.choose(task)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: selection.Renoise(copies=0), "copies must be a positive integer; got 0"),
        (lambda: selection.Renoise(copies=2.5), "copies must be a positive integer; got 2.5"),
        (lambda: selection.Lepski(constant=0), "constant must be a positive number; got 0"),
        (lambda: selection.Lepski(resamples=0), "resamples must be a positive integer; got 0"),
        (lambda: selection.StepRate(steps=-1), "steps must be a positive number; got -1"),
        (lambda: selection.Lepski(constant="a"), "constant must be a positive number; got 'a'"),
        (lambda: selection.Lepski(resamples=1.5), "resamples must be a positive integer; got 1.5"),
        (lambda: selection.StepRate(most=0), "most must be a positive integer; got 0"),
        (lambda: selection.FixedSteps(-3), "n_steps must be a positive integer; got -3"),
        (lambda: selection.Rate("a"), "s must be a positive number; got 'a'"),
        (lambda: selection.Oracle([1.0, 2.0]), r"X_clean must be points of shape \(m, d\)"),
        (lambda: selection.Oracle([[np.nan]]), "X_clean must be finite; it has NaN"),
        (lambda: selection.Oracle([[1.0]], per_axis=2.5), "per_axis must be a positive integer"),
        (lambda: selection.Oracle([[1.0]], per_axis=1), "per_axis must be at least 2; got 1"),
    ],
)
def test_bad_parameter_of_a_rule_is_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_candidates_have_an_entry_for_each_feature_or_one():
    _, task = task_of(noise.Gaussian(0.5))
    rule = selection.CrossValidation([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    with pytest.raises(ValueError, match="candidates have 3 entries each, 2 features vary"):
        rule.choose(task)


@pytest.mark.parametrize(
    "rule", [selection.CrossValidation(), selection.Renoise(3), selection.Lepski(resamples=2)]
)
@pytest.mark.parametrize("spacing", [0.5, 1.0])
def test_rules_choose_what_a_coarse_grid_resolves(rule, spacing):
    _, task = task_of(noise.Gaussian((0.0, 2.0)), spacing=spacing)
    chosen = rule.choose(replace(task, points=None)).bandwidth
    assert (np.array(task.histogram.grid.spacing) <= np.pi * chosen / CUBIC.support).all()


def test_integer_weights_are_repetitions_for_renoising():
    law = noise.Gaussian((0.2, 1.0))
    _, task = task_of(law, n=60)
    weights = np.arange(60) % 3 + 1.0
    repeated = np.repeat(task.points, weights.astype(int), axis=0)
    groups = Groups.of(fill(task.groups.grid, repeated), law)
    weighted = replace(task, groups=groups, weights=weights)
    rows = replace(task, groups=groups, points=repeated)
    both = [selection.Renoise(3).choose(t).bandwidth for t in (weighted, rows)]
    np.testing.assert_allclose(both[0], both[1])


def test_clean_points_have_the_features_of_the_observations():
    _, task = task_of(noise.Gaussian(0.5))
    with pytest.raises(ValueError, match="X_clean has 3 features, 2 vary in the observations"):
        selection.Oracle(np.ones((5, 3))).choose(task)


# -- each rule ---------------------------------------------------------------------------------


def test_cross_validation_is_the_leave_one_out_formula():
    # Directly: int f^2 - 2/n sum_i f_(-i)(Z_i) with kernels that deconvolve once and twice.
    law, rng = noise.Laplace(0.4), np.random.default_rng(1)
    Z = rng.standard_normal((40, 1)) + law.sample((40, 1), rng)
    task = Task(Groups.of(fill(Grid.covering(Z, 0.01), Z), law), CUBIC, None)
    rule = selection.CrossValidation([0.3, 0.6, 1.0])
    n, differences = len(Z), np.subtract.outer(Z.ravel(), Z.ravel())
    for (b,), got in zip(rule.candidates, rule.choose(task).criterion, strict=True):
        t = np.linspace(-1 / b, 1 / b, 4001)
        w, size = CUBIC(b * t), law.characteristic_function(t[:, None]) ** 2
        waves = np.cos(differences[..., None] * t)
        squared = np.trapezoid(w**2 / size * waves.sum((0, 1)) / n**2, t)
        off = waves.sum((0, 1)) - n
        crossed = np.trapezoid(w / size * off / (n * (n - 1)), t)
        # Candidates are compared on a grid as coarse as a hundredth allows.
        assert got == pytest.approx((squared - 2 * crossed) / (2 * np.pi), rel=1e-2)


def test_cross_validation_comes_close_to_the_best_density_under_small_errors():
    law = noise.Laplace(0.2)
    rng, grid = np.random.default_rng(3), Grid((-6.0,), (0.0625,), (193,))
    X = rng.standard_normal((2000, 1))
    histogram = fill(grid, X + law.sample(X.shape, rng))
    task = Task(Groups.of(histogram, law), CUBIC, None)
    chosen = selection.CrossValidation().choose(task).bandwidth[0]
    plan, truth = KernelDeconvolution(grid, law, CUBIC), stats.norm.pdf(grid.nodes[0])

    def error(bandwidth):
        return ((plan.density(transform(histogram), (bandwidth,)).values - truth) ** 2).sum()

    assert error(chosen) <= 2 * min(error(b) for b in np.geomspace(0.1, 2, 20))


def test_oracle_is_at_least_as_good_as_every_other_rule_for_its_clean_points():
    law = noise.Gaussian((0.0, 2.5))
    X, task = task_of(law)
    oracle = selection.Oracle(X, per_axis=6)
    best = oracle.choose(task).criterion.min()
    trial = Trial(task)
    for b in ((0.5, 1.0), (1.0, 2.0), (2.0, 3.0)):
        centers = trial.centers(plan_of(task).transfer(b))
        assert clean_distortion(centers, X) >= best * 0.98


def test_renoise_prefers_smoothing_where_errors_are_large():
    small, large = noise.Gaussian((0.0, 0.3)), noise.Gaussian((0.0, 3.0))
    chosen = [selection.Renoise(5).choose(task_of(law)[1]).bandwidth for law in (small, large)]
    assert chosen[1][1] > chosen[0][1]


def test_copies_have_the_spread_of_two_errors_pointwise_and_on_the_histogram():
    law = noise.Gaussian((0.5, 2.0))
    _, task = task_of(law, n=4000, spacing=0.25)
    binned = replace(task, points=None)
    wanted = np.sqrt(task.scale**2 + [0.25, 4.0])
    for noisy in (task, binned):
        copies = list(selection.Renoise(4)._noisier(noisy))
        assert len(copies) == 4
        for copy in copies:
            np.testing.assert_allclose(copy.histogram.scale, wanted, rtol=0.05)
            assert copy.histogram.mass == pytest.approx(4000, rel=0.05)
        assert (copies[0].histogram.values != copies[1].histogram.values).any()


def test_copies_with_skew_errors_move_to_the_errors_side():
    law = EXPONENTIAL + noise.Gaussian(0.1)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((3000, 1)) + law.sample((3000, 1), rng)
    task = Task(Groups.of(fill(Grid.covering(Z, 0.125), Z), law), CUBIC, 1, points=Z)
    for noisy in (task, replace(task, points=None)):
        (copy,) = selection.Renoise(1)._noisier(noisy)
        nodes, values = copy.histogram.grid.nodes[0], copy.histogram.values
        mean = values @ nodes / values.sum()
        third = values @ (nodes - mean) ** 3 / values.sum()
        assert mean == pytest.approx(Z.mean(), abs=0.1)
        assert third == pytest.approx(2 * 2, rel=0.5)  # the third moments of two exponentials


@pytest.mark.parametrize("points", [True, False])
def test_steps_by_renoising_are_one_of_the_powers_of_two(points):
    _, task = task_of(noise.Gaussian((0.0, 2.0)))
    chosen = selection.Renoise(3).choose_steps(task if points else replace(task, points=None))
    assert chosen in {1, 2, 4, 8, 16, 32, 64, 128}


def test_fixed_number_of_steps_is_that_number():
    assert selection.FixedSteps(13).choose_steps(None) == 13


def test_number_of_steps_grows_with_the_effective_sample():
    _, task = task_of(noise.Gaussian(1.0))
    weighted = replace(task, weights=np.r_[np.full(75, 1e-6), np.full(75, 0.5)])
    assert selection.StepRate().choose_steps(task) == 7
    assert selection.StepRate().choose_steps(weighted) == 6


def test_lepski_smooths_more_for_a_larger_constant():
    _, task = task_of(noise.Gaussian((0.5, 2.0)))
    chosen = [selection.Lepski(c).choose(task).bandwidth.prod() for c in (1e-3, 2.0, 1e3)]
    assert chosen[0] <= chosen[1] <= chosen[2]
    assert chosen[0] < chosen[2]


@pytest.mark.parametrize("rule", ["renoise", "lepski", "cv", "rate"])
def test_rules_choose_what_slanted_laws_with_zeros_allow(rule):
    turn = [[0.8, -0.6], [0.6, 0.8]]
    law = noise.Uniform((1.0, 3.0)).project(turn)
    rng = np.random.default_rng(0)
    X = np.array([[0, 0], [9, 0]])[rng.integers(2, size=100)] + rng.normal(size=(100, 2))
    rule = selection.Renoise(copies=3) if rule == "renoise" else rule
    model = NoisyKMeans(2, noise=law, deconvolution="kernel", bandwidth=rule, random_state=0)
    model.fit(X + law.sample(X.shape, rng))
    assert np.sort(model.cluster_centers_[:, 0]) == pytest.approx([0, 9], abs=2)
