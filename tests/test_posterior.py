"""What an observation tells of its own clean point."""

import time

import numpy as np
import pytest
from scipy import stats
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from noisykmeans import NoisyKMeans, _kernels
from noisykmeans.datasets import make_mod1, make_mod2
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.groups import Kind
from noisykmeans.noise import Gaussian, Independent, Laplace, PerObservation, Uniform
from noisykmeans.posterior import Posterior

LINE = Grid((-6.0,), (0.125,), (137,))
PLANE = Grid((-6.0, -6.0), (0.25, 0.25), (70, 50))
MEANS = {1: np.array([[0.0], [4.0]]), 2: np.array([[0.0, 0.0], [5.0, 0.0]])}


def bumps(grid, shares=(0.4, 0.6)):
    """Two normal clusters of variance 1 on a grid."""
    d = grid.dimension
    squares = ((grid.points[:, None, :] - MEANS[d]) ** 2).sum(-1)
    values = (np.exp(-squares / 2) @ shares).reshape(grid.shape)
    return Density(grid, values / (values.sum() * grid.cell_volume))


def observations(d, law, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = MEANS[d][(rng.random(n) < 0.6).astype(int)] + rng.standard_normal((n, d))
    return X, X + law.sample((n, d), rng)


def gaussian_answers(Z, S, shares=(0.4, 0.6)):
    """The posterior of normal clusters under normal errors, in closed form."""
    means = MEANS[Z.shape[1]]
    T = np.eye(len(S)) + S
    joint = [p * stats.multivariate_normal.pdf(Z, m, T) for p, m in zip(shares, means, strict=True)]
    share = np.stack(joint, 1).reshape(len(Z), 2)
    density = share.sum(1)
    share = share / density[:, None]
    gain = np.linalg.inv(T)
    each = np.stack([m + (Z - m) @ gain for m in means], 1)
    width = np.sqrt(max((np.eye(len(S)) - gain)[0, 0], 1e-30))
    beyond = stats.norm.cdf((each[..., 0] - means[:, 0].mean()) / width)
    return (share * beyond).sum(1), (share[..., None] * each).sum(1), np.log(density)


def only(law, d):
    return [Kind(law, tuple(range(d)))]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_interpolation_is_that_of_hat_functions(d):
    rng = np.random.default_rng(0)
    grid = Grid((-1.0, 0.5, 2.0)[:d], (0.5, 0.25, 1.0)[:d], (5, 4, 3)[:d])
    table = rng.standard_normal((*grid.shape, 2))
    X = rng.uniform(np.array(grid.lower) - 0.2, np.array(grid.upper) + 0.2, (50, d))
    X[:2] = grid.lower, grid.upper
    values = np.full((50, 2), np.nan)
    _kernels.interpolation.interpolate(
        X,
        np.array(grid.lower),
        1 / np.array(grid.spacing),
        np.array(grid.shape),
        table.reshape(-1, 2),
        values,
    )
    np.testing.assert_allclose(values, reference.interpolate(X, grid, table), atol=1e-12)
    assert (values == 0).all(axis=1).any()


# Beside the errors of binning, the cells of the closed form are cut at a straight line.
@pytest.mark.parametrize("scale", [3.0, 1.0, 0.3, 0.05])
def test_line_has_the_posterior_in_closed_form(scale):
    law = Gaussian(scale)
    _, Z = observations(1, law)
    posterior = Posterior(bumps(LINE), MEANS[1])
    share, mean, log_density = gaussian_answers(Z, np.array([[scale**2]]))
    actual = posterior.memberships(Z, None, only(law, 1))
    np.testing.assert_allclose(actual.sum(1), 1, atol=1e-12)
    np.testing.assert_allclose(actual[:, 1], share, atol=0.004)
    error = posterior.means(Z, None, only(law, 1)) - mean
    assert np.sqrt((error**2).mean()) < 0.005 * max(scale, 0.6)
    likely = log_density > log_density.max() - 8
    logs = posterior.log_density(Z, None, only(law, 1))
    np.testing.assert_allclose(logs[likely], log_density[likely], atol=0.1)


@pytest.mark.parametrize(
    "law",
    [
        Gaussian(2.2),
        Gaussian((0.3, 1.0)),
        Gaussian.from_covariance([[4.0, 1.8], [1.8, 1.0]]),
        Gaussian.from_covariance([[4.0, 2.0], [2.0, 1.0]]),
    ],
    ids=["round", "long", "turned", "on a line"],
)
def test_plane_has_the_posterior_in_closed_form(law):
    _, Z = observations(2, law)
    posterior = Posterior(bumps(PLANE), MEANS[2])
    share, mean, _ = gaussian_answers(Z, law.covariance_matrix(2))
    np.testing.assert_allclose(
        posterior.memberships(Z, None, only(law, 2))[:, 1], share, atol=0.015
    )
    error = posterior.means(Z, None, only(law, 2)) - mean
    assert np.sqrt((error**2).mean()) < 0.008 * np.sqrt(law.covariance_matrix(2).max())


@pytest.mark.parametrize(
    ("law", "density"),
    [
        (Laplace(1.5), lambda e: np.exp(-np.abs(e).sum(-1) / 1.5)),
        (Uniform(2.0), lambda e: (np.abs(e) <= 2).all(-1) + 1e-12),
        (
            Independent([Gaussian(1.0), Laplace(1.0)]),
            lambda e: np.exp(-(e[..., 0] ** 2) / 2 - np.abs(e[..., 1])),
        ),
    ],
)
def test_any_law_has_the_posterior_of_a_sum_over_nodes(law, density):
    _, Z = observations(2, law, n=400)
    plane = bumps(PLANE)
    posterior = Posterior(plane, MEANS[2])
    share, mean = reference.posterior(Z, plane, MEANS[2], density)
    actual = posterior.memberships(Z, None, only(law, 2))
    assert np.sqrt(((actual - share) ** 2).mean()) < 0.02
    assert np.sqrt(((posterior.means(Z, None, only(law, 2)) - mean) ** 2).mean()) < 0.1


def test_axis_without_error_keeps_its_coordinate():
    law = Gaussian((0.0, 3.0))
    _, Z = observations(2, law)
    posterior = Posterior(bumps(PLANE), MEANS[2])
    means = posterior.means(Z, None, only(law, 2))
    np.testing.assert_array_equal(means[:, 0], Z[:, 0])
    assert means[:, 1].std() < Z[:, 1].std() / 2
    # The first coordinate is known, and it alone decides.
    clear = np.abs(Z[:, 0] - 2.5) > 0.1
    sure = posterior.memberships(Z, None, only(law, 2))[clear, 1]
    np.testing.assert_allclose(sure, Z[clear, 0] > 2.5, atol=1e-3)


def test_missing_coordinate_is_summed_over():
    plane = bumps(PLANE)
    posterior = Posterior(plane, MEANS[2])
    law = Gaussian(1.5)
    Z = np.array([[np.nan, 1.0], [1.0, np.nan], [np.nan, np.nan], [1.0, 2.0]])
    kinds = [Kind(law, (1,)), Kind(law, (0,)), Kind(law, ()), Kind(law, (0, 1))]
    share = posterior.memberships(Z, np.arange(4), kinds)
    means = posterior.means(Z, np.arange(4), kinds)
    np.testing.assert_allclose(share[0], plane.cell_moments(MEANS[2])[0], atol=2e-3)
    np.testing.assert_allclose(share[2], plane.cell_moments(MEANS[2])[0], atol=1e-12)
    np.testing.assert_allclose(means[2], plane.mean)
    np.testing.assert_allclose(means[0], [plane.mean[0], 1.0 / 3.25], atol=0.01)
    useless = Gaussian((1.5, 1e3))
    wide = posterior.memberships(np.array([[1.0, 0.0]]), None, only(useless, 2))
    np.testing.assert_allclose(share[1], wide[0], atol=5e-3)


def test_coordinate_known_for_sure_does_not_settle_one_that_is_missing():
    grid = Grid((-3.0, -3.0), (0.25, 0.25), (25, 25))
    values = np.exp(-(grid.points**2).sum(1) / 2).reshape(grid.shape)
    density = Density(grid, values / (values.sum() * grid.cell_volume))
    posterior = Posterior(density, np.array([[0.0, -1.0], [0.0, 1.0]]))
    share = posterior.memberships(
        np.array([[0.5, np.nan]]), np.zeros(1, int), [Kind(Gaussian(0.0), (0,))]
    )
    np.testing.assert_allclose(share, 0.5, atol=1e-6)


def test_far_and_hopeless_observations_have_finite_answers():
    posterior = Posterior(bumps(PLANE), MEANS[2])
    Z = np.array([[1e9, 0.0], [-1e300, 1e300], [-50.0, 0.0], [2.5, 1e5]])
    for law in (Gaussian(0.01), Gaussian(1.0), Gaussian((0.0, 1.0)), Laplace(0.5)):
        share = posterior.memberships(Z, None, only(law, 2))
        np.testing.assert_allclose(share.sum(1), 1, atol=1e-12)
        np.testing.assert_allclose(share[[0, 2], [1, 0]], 1, atol=1e-3)
        means = posterior.means(Z, None, only(law, 2))
        assert np.isfinite(means).all()
        assert (posterior.log_density(Z, None, only(law, 2))[:2] == -np.inf).all()


def test_void_between_clusters_is_given_to_the_closest():
    grid = Grid((0.0,), (0.25,), (81,))
    values = np.zeros(81)
    values[[0, 80]] = 2.0  # at 0 and 20
    posterior = Posterior(Density(grid, values), np.array([[0.0], [20.0]]))
    share = posterior.memberships(np.array([[9.0], [11.0]]), None, only(Gaussian(0.1), 1))
    np.testing.assert_allclose(share, [[1, 0], [0, 1]], atol=1e-4)


def test_errors_far_wider_than_the_clean_points_leave_what_was_known_before():
    posterior = Posterior(bumps(PLANE), MEANS[2])
    Z = np.array([[700.0, -300.0]])
    share = posterior.memberships(Z, None, only(Gaussian(1e4), 2))
    np.testing.assert_allclose(share, [[0.4, 0.6]], atol=0.01)
    np.testing.assert_allclose(
        posterior.means(Z, None, only(Gaussian(1e4), 2)), posterior.density.mean[None], atol=0.02
    )


# -- of the estimator ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    _, Z, _ = make_mod2(5, 600, random_state=0)
    return NoisyKMeans(3, noise=Gaussian(5**0.5), random_state=0).fit(Z)


def test_answers_without_errors_are_those_of_k_means():
    X, _, _ = make_mod2(5, 200, random_state=0)
    plain = NoisyKMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(plain.predict_proba(X), np.eye(3)[plain.labels_])
    np.testing.assert_array_equal(plain.denoise(X), X)


def test_errors_of_rows_that_are_equal_are_one_law(model):
    _, Z, _ = make_mod2(5, 200, random_state=1)
    by_row = NoisyKMeans(3, random_state=0)
    _, train, _ = make_mod2(5, 600, random_state=0)
    by_row.fit(train, X_err=np.full(600, 5**0.5))
    given = {"X_err": np.full(200, 5**0.5)}
    np.testing.assert_allclose(by_row.predict_proba(Z, **given), model.predict_proba(Z), atol=1e-6)
    np.testing.assert_allclose(by_row.denoise(Z, **given), model.denoise(Z), atol=1e-6)
    given = {"X_cov": np.tile(5 * np.eye(2), (200, 1, 1))}
    np.testing.assert_allclose(by_row.denoise(Z, **given), model.denoise(Z), atol=1e-6)
    np.testing.assert_allclose(by_row.score_samples(Z, **given), model.score_samples(Z), atol=1e-6)


def test_rows_of_no_error_are_their_own_clean_points():
    silent = NoisyKMeans(3, random_state=0)
    _, Z, _ = make_mod2(5, 300, random_state=0)
    sizes = np.full(300, 5**0.5)
    silent.fit(Z, X_err=sizes)
    sizes[:100] = 0
    np.testing.assert_array_equal(silent.denoise(Z, X_err=sizes)[:100], Z[:100])
    share = silent.predict_proba(Z, X_err=sizes)
    np.testing.assert_array_equal(share[:100], np.eye(3)[silent.predict(Z[:100])])
    assert ((share[100:] > 0.01) & (share[100:] < 0.99)).any()


def test_grouping_of_errors_is_close_to_each_error_on_its_own():
    rng = np.random.default_rng(0)
    sizes = rng.uniform(0.5, 3.0, (400, 2))
    X, _, _ = make_mod2(5, 400, random_state=0)
    Z = X + sizes * rng.standard_normal(X.shape)
    grouped = NoisyKMeans(3, random_state=0).fit(Z, X_err=sizes)
    share, means = grouped.predict_proba(Z, X_err=sizes), grouped.denoise(Z, X_err=sizes)
    rows = np.arange(0, 400, 8)
    for i in rows:
        one = {"X_err": sizes[i : i + 1]}
        np.testing.assert_allclose(
            grouped.predict_proba(Z[i : i + 1], **one), share[i : i + 1], atol=0.1
        )
    alone = np.concatenate([grouped.denoise(Z[i : i + 1], X_err=sizes[i : i + 1]) for i in rows])
    assert np.sqrt(((alone - means[rows]) ** 2).mean()) < 0.05 * sizes.mean()


def test_holes_are_filled_in_and_constant_features_kept():
    _, Z, _ = make_mod2(5, 300, random_state=0)
    Z = np.insert(Z, 1, 7.0, axis=1)
    model = NoisyKMeans(3, noise=Gaussian(5**0.5), random_state=0).fit(Z)
    new = np.array([[5.0, 7.0, np.nan], [np.nan, 7.0, np.nan], [5.0, np.nan, 5.0]])
    clean = model.denoise(new)
    assert np.isfinite(clean).all()
    np.testing.assert_array_equal(clean[:, 1], 7.0)
    np.testing.assert_allclose(model.predict_proba(new).sum(1), 1)
    assert model.sample(5, 0)[:, 1].tolist() == [7.0] * 5
    infinite = np.array([[0.0, 0.0, np.inf]])
    filled = np.array([[5.0, 7.0, 3.0]])
    np.testing.assert_allclose(model.denoise(filled, X_err=infinite), clean[:1])


def test_observations_are_less_dense_than_clean_points_and_far_ones_not_at_all(model):
    logs = model.score_samples([[0.0, 0.0], [8.0, 8.0], [1e9, 0.0]])
    assert logs[0] > logs[1] > logs[2] == -np.inf
    grid = np.stack(np.meshgrid(*[np.arange(-15, 30, 0.5)] * 2), -1).reshape(-1, 2)
    assert np.exp(model.score_samples(grid)).sum() * 0.25 == pytest.approx(1, abs=0.01)


def test_sample_has_the_spread_of_clean_points(model):
    drawn = model.sample(4000, random_state=0)
    X, Z, _ = make_mod2(5, 4000, random_state=9)
    assert drawn.shape == (4000, 2)
    np.testing.assert_array_equal(drawn, model.sample(4000, random_state=0))
    within = [
        ((A - model.cluster_centers_[model.predict(A)]) ** 2).sum(1).mean() for A in (drawn, X, Z)
    ]
    assert within[0] == pytest.approx(within[1], rel=0.25)
    assert within[2] > 2 * within[0]


def test_single_precision_and_lists_are_taken(model):
    _, Z, _ = make_mod2(5, 50, random_state=1)
    np.testing.assert_allclose(
        model.predict_proba(Z.astype(np.float32)), model.predict_proba(Z), atol=1e-4
    )
    np.testing.assert_allclose(model.denoise(Z.tolist()), model.denoise(Z))


def test_law_of_each_observation_serves_the_rows_that_it_was_made_for():
    _, Z, _ = make_mod1(9, 200, random_state=0)
    law = PerObservation([Gaussian((0.0, 3.0)), Gaussian((0.0, 1.0))], [0, 1] * 100)
    model = NoisyKMeans(2, noise=law, random_state=0).fit(Z)
    assert model.predict_proba(Z).shape == (200, 2)
    with pytest.raises(ValueError, match="noise has laws for 200 observations"):
        model.denoise(Z[:10])


def test_errors_reach_the_answers_through_a_pipeline():
    rng = np.random.default_rng(0)
    X, _, _ = make_mod2(5, 300, random_state=0)
    sizes = rng.uniform(0.5, 3.0, X.shape)
    Z = X + sizes * rng.standard_normal(X.shape)
    with config_context(enable_metadata_routing=True):
        last = NoisyKMeans(3, random_state=0)
        last.set_fit_request(X_err=True).set_predict_proba_request(X_err=True)
        pipe = make_pipeline(StandardScaler(with_mean=False), last, transform_input=["X_err"])
        # `transform_input` is for fit alone.
        unit = StandardScaler(with_mean=False).fit(Z).scale_
        share = pipe.fit(Z, X_err=sizes).predict_proba(Z, X_err=sizes / unit)
    alone = NoisyKMeans(3, random_state=0).fit(Z / unit, X_err=sizes / unit)
    np.testing.assert_allclose(share, alone.predict_proba(Z / unit, X_err=sizes / unit))


def triangle(n, rng):
    """Three normal clusters of variance 1, 4 apart: errors of 2 leave few cells certain."""
    means = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.5]])
    return means[rng.integers(3, size=n)] + rng.standard_normal((n, 2))


def worst_tenth(model, X, Z, **errors):
    """The largest difference of predicted and observed shares, over tenths of probability."""
    share = model.fit(Z, **errors).predict_proba(Z, **errors)
    hit = np.eye(share.shape[1])[model.predict(X)].ravel()
    tenth = np.minimum((share * 10).astype(int), 9).ravel()
    counts = np.bincount(tenth, minlength=10)
    assert counts.min() > 1000
    off = np.bincount(tenth, hit, 10) - np.bincount(tenth, share.ravel(), 10)
    return np.abs(off / counts).max()


@pytest.mark.statistical
def test_probabilities_are_calibrated():
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        X = triangle(20_000, rng)
        law = Gaussian(2.0)
        model = NoisyKMeans(3, noise=law, random_state=seed)
        assert worst_tenth(model, X, X + law.sample(X.shape, rng)) <= 0.03


@pytest.mark.statistical
def test_probabilities_are_calibrated_with_errors_of_rows_and_on_the_line():
    rng = np.random.default_rng(2)
    X = triangle(20_000, rng)
    sizes = rng.uniform(0.5, 4.0, X.shape)
    Z = X + sizes * rng.standard_normal(X.shape)
    assert worst_tenth(NoisyKMeans(3, random_state=0), X, Z, X_err=sizes) <= 0.03
    law = Laplace(1.5)
    Z = X[:, :1] + law.sample((20_000, 1), rng)
    assert worst_tenth(NoisyKMeans(2, noise=law, random_state=0), X[:, :1], Z) <= 0.03


def bayes_of_mod2(u, Z, variances):
    """E[X | Z] for the one who knows the law of X."""
    a, b = 15 - (u - 1) / 2, 5 + (u - 1) / 2
    means = np.array([[0.0, 0.0], [a, b], [b, a]])
    total = 1 + np.broadcast_to(variances, Z.shape)
    logs = np.stack([-((Z - m) ** 2 / total).sum(1) / 2 for m in means], 1)
    share = np.exp(logs - logs.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    each = np.stack([m + (Z - m) / total for m in means], 1)
    return (share[..., None] * each).sum(1)


@pytest.mark.statistical
@pytest.mark.parametrize("own", [False, True], ids=["one law", "errors of rows"])
def test_denoised_points_are_nearly_those_of_bayes(own):
    rng = np.random.default_rng(0)
    X, Z, _ = make_mod2(5, 20_000, random_state=0)
    errors, variances = {}, 5.0
    model = NoisyKMeans(3, noise=None if own else Gaussian(5**0.5), random_state=0)
    if own:
        errors = {"X_err": rng.uniform(0.5, 3.5, X.shape)}
        variances = errors["X_err"] ** 2
        Z = X + errors["X_err"] * rng.standard_normal(X.shape)
    clean = model.fit(Z, **errors).denoise(Z, **errors)
    raw, ours, best = (
        ((A - X) ** 2).sum(1).mean() for A in (Z, clean, bayes_of_mod2(5, Z, variances))
    )
    assert ours <= 0.7 * raw
    assert ours <= 1.05 * best


@pytest.mark.timing
def test_a_million_answers_take_half_a_second():
    _, Z, _ = make_mod2(5, 1_000_000, random_state=0)
    model = NoisyKMeans(3, noise=Gaussian(5**0.5), random_state=0).fit(Z[:10_000])
    for method in (model.predict_proba, model.denoise):
        method(Z[:1000])
        start = time.perf_counter()
        method(Z)
        assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize("method", ["predict_proba", "denoise", "score_samples"])
def test_errors_that_are_not_told_are_asked_for(method):
    _, Z, _ = make_mod2(5, 100, random_state=0)
    model = NoisyKMeans(3, random_state=0).fit(Z, X_err=np.full(100, 2.0))
    with pytest.raises(ValueError, match="give X_err or X_cov, 0 where there are none"):
        getattr(model, method)(Z)


@pytest.mark.parametrize("method", ["predict_proba", "denoise"])
def test_errors_need_a_fit_that_knew_of_errors(method):
    X, _, _ = make_mod2(5, 100, random_state=0)
    model = NoisyKMeans(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="the fit knew of no errors: fit with noise, X_err or"):
        getattr(model, method)(X, X_err=np.ones(100))
    assert not hasattr(model, "sample")
    assert not hasattr(model, "score_samples")


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ({"X_err": np.ones(3), "X_cov": np.ones((3, 2, 2))}, "give X_err or X_cov, not both"),
        ({"X_err": np.ones(4)}, r"X_err must have the shape \(3,\) or \(3, 2\)"),
        ({"X_err": [1.0, -1.0, 1.0]}, "X_err must hold standard deviations"),
        ({"X_cov": np.tile([[1.0, 2.0], [2.0, 1.0]], (3, 1, 1))}, "positive semidefinite; row 0"),
    ],
)
def test_bad_errors_of_new_rows_are_refused(model, errors, message):
    for method in (model.predict_proba, model.denoise, model.score_samples):
        with pytest.raises(ValueError, match=message):
            method(np.zeros((3, 2)), **errors)


@pytest.mark.parametrize("n_samples", [0, -1, 1.5, "many"])
def test_sample_of_no_size_is_refused(model, n_samples):
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        model.sample(n_samples)
