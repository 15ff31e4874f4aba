"""What an observation tells of its clean point above three features."""

import numpy as np
import pytest
from scipy import stats

import reference
from noisykmeans import NoisyKMeans, _kernels
from noisykmeans.deconvolution.bumps import Bumps
from noisykmeans.groups import Kind
from noisykmeans.mixture_posterior import MixturePosterior
from noisykmeans.noise import Gaussian

RNG = np.random.default_rng(3)
D, K = 5, 3
MEANS = np.vstack([4 * np.eye(K - 1, D), np.zeros(D)])
ROOT = RNG.standard_normal((D, D)) / 3
BUMPS = Bumps(np.array([0.2, 0.3, 0.5]), MEANS, ROOT @ ROOT.T + 0.3 * np.eye(D), 0.0)
ERRORS = np.diag([1.0, 2.0, 0.5, 4.0, 1.0])


def clusters(n, d=6, k=3, scale=3.0, seed=0):
    rng = np.random.default_rng(seed)
    means = np.vstack([5 * np.eye(k - 1, d), np.zeros(d)])
    law = Gaussian(np.where(np.arange(d) < k - 1, 1.5, scale))
    X = means[rng.integers(k, size=n)] + rng.standard_normal((n, d))
    return X, X + law.sample(X.shape, rng), means, law


def test_shares_of_cells_are_those_of_all_draws():
    common, leads, draws = (RNG.standard_normal(shape) for shape in ((7, 4), (3, 4), (16, 4)))
    shares = RNG.dirichlet(np.ones(3), size=7)
    cells = np.zeros((7, 4))
    _kernels.mixture.cell_shares(shares, common, leads, draws, cells)
    expected = reference.cell_shares(shares, common, leads, draws)
    np.testing.assert_allclose(cells, expected, atol=1e-5)
    np.testing.assert_allclose(cells.sum(1), 1, atol=1e-12)


@pytest.mark.parametrize("axes", [(0, 1, 2, 3, 4), (0, 3), (2,), ()])
def test_answers_are_those_of_many_simulated_pairs(axes):
    # Weighted by the density of the errors, simulated clean points have the posterior law.
    rng = np.random.default_rng(0)
    n, C = 400_000, BUMPS.covariance
    bump = rng.choice(3, size=n, p=BUMPS.shares)
    X = MEANS[bump] + rng.multivariate_normal(np.zeros(D), C, size=n)
    z = np.array([[2.0, 1.5, 0.3, -1.0, 0.5]])
    S = ERRORS[np.ix_(axes, axes)]
    law = Gaussian.from_covariance(S) if axes else Gaussian(1.0)
    weights = np.ones(n)
    if axes:
        weights = stats.multivariate_normal.pdf(z[0, axes] - X[:, axes], np.zeros(len(axes)), S)
    posterior = MixturePosterior(BUMPS, MEANS)
    kinds = [Kind(law, axes)]
    share = np.bincount(reference.closest(X, MEANS), weights, K) / weights.sum()
    np.testing.assert_allclose(posterior.memberships(z, None, kinds)[0], share, atol=0.02)
    mean = weights @ X / weights.sum()
    np.testing.assert_allclose(posterior.means(z, None, kinds)[0], mean, atol=0.05)
    assert posterior.log_density(z, None, kinds)[0] == pytest.approx(
        np.log(weights.mean()), abs=0.05
    )


def test_axis_without_error_keeps_its_coordinate():
    posterior = MixturePosterior(BUMPS, MEANS)
    Z = RNG.standard_normal((20, D))
    kinds = [Kind(Gaussian((0.0, 1.0, 0.0, 1.0, 1.0)), tuple(range(D)))]
    means = posterior.means(Z, None, kinds)
    np.testing.assert_array_equal(means[:, [0, 2]], Z[:, [0, 2]])
    sure = [Kind(Gaussian(0.0), tuple(range(D)))]
    np.testing.assert_array_equal(posterior.means(Z, None, sure), Z)
    cells = np.eye(K)[reference.closest(Z, MEANS)]
    assert (np.abs(posterior.memberships(Z, None, sure) - cells).max(axis=1) < 1e-3).mean() > 0.9


def test_far_observations_have_finite_answers():
    posterior = MixturePosterior(BUMPS, MEANS)
    Z = np.array([[1e9] * D, [-1e150, *[0.0] * (D - 1)]])
    kinds = [Kind(Gaussian(1.0), tuple(range(D)))]
    share = posterior.memberships(Z, None, kinds)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    assert np.isfinite(posterior.means(Z, None, kinds)).all()


def test_points_drawn_on_axes_have_the_law_of_the_mixture():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((D, 2)))[0].T
    bump = rng.choice(3, size=100_000, p=BUMPS.shares)
    X = MEANS[bump] + rng.multivariate_normal(np.zeros(D), BUMPS.covariance, size=100_000)
    drawn = MixturePosterior(BUMPS, MEANS).drawn_given(basis, X @ basis.T, rng)
    np.testing.assert_allclose(drawn @ basis.T, X @ basis.T, atol=1e-9)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=0.12)


@pytest.mark.parametrize(("d", "k"), [(6, 3), (8, 6)], ids=["on the span", "by atoms"])
def test_answers_above_three_features_are_calibrated_and_denoise(d, k):
    X, Z, means, law = clusters(4000, d, k)
    model = NoisyKMeans(k, noise=law, random_state=0).fit(Z)
    share, hit = model.predict_proba(Z), np.eye(k)[model.predict(X)]
    np.testing.assert_allclose(share.sum(axis=1), 1)
    for low in np.arange(10) / 10:
        bin_ = (share >= low) & (share < low + 0.1 + (low > 0.85))
        size = bin_.sum()
        assert abs(hit[bin_].mean() - share[bin_].mean()) < 0.03 + 2 / np.sqrt(size)
    clean = model.denoise(Z)
    each = stats.multivariate_normal.pdf
    weights = np.stack([each(Z, m, np.eye(d) + law.covariance_matrix(d)) for m in means], 1)
    weights /= weights.sum(1, keepdims=True)
    gain = 1 / (1 + np.diag(law.covariance_matrix(d)))
    bayes = (weights[..., None] * np.stack([m + gain * (Z - m) for m in means], 1)).sum(1)
    assert ((clean - X) ** 2).sum() < 1.05 * ((bayes - X) ** 2).sum() < 0.5 * ((Z - X) ** 2).sum()
    drawn = model.sample(4000, random_state=0)
    assert drawn.shape == X.shape
    np.testing.assert_allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.15)
    assert (model.score_samples(Z[:10]) > model.score_samples(Z[:10] + 30)).all()


def test_missing_coordinates_are_filled_in_above_three_features():
    X, Z, _, law = clusters(2000)
    model = NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    holes = Z[:200].copy()
    holes[::2, 0] = np.nan
    holes[1::4, 3:] = np.nan
    holes[0] = np.nan
    clean = model.denoise(holes)
    assert np.isfinite(clean).all()
    np.testing.assert_allclose(clean[0], X.mean(axis=0), atol=0.3)
    np.testing.assert_allclose(model.predict_proba(holes).sum(axis=1), 1)


def test_errors_of_new_rows_add_to_the_law_above_three_features():
    _, Z, _, law = clusters(2000)
    model = NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    wide = NoisyKMeans(3, noise=law + Gaussian(2.0), random_state=0)
    told = model.predict_proba(Z[:50], X_err=np.full(50, 2.0))
    assert (told.max(axis=1) < model.predict_proba(Z[:50]).max(axis=1) + 1e-3).mean() > 0.9
    kinds = [Kind(wide.noise, tuple(range(6)))]
    posterior = MixturePosterior(model.mixture_, model.cluster_centers_)
    np.testing.assert_allclose(told, posterior.memberships(Z[:50], None, kinds), atol=1e-9)
