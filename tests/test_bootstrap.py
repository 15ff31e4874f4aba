"""Standard errors of centers."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from noisykmeans import NoisyKMeans
from noisykmeans.datasets import make_mod1, make_mod2
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.histogram import fill
from noisykmeans.noise import Gaussian, Laplace
from noisykmeans.quantization import lloyd


def mod1(u, n, seed):
    return make_mod1(u, n, random_state=seed)[1]


def mod2(u, n, seed):
    return make_mod2(u, n, random_state=seed)[1]


def means_of_mod2(u):
    a, b = 15 - (u - 1) / 2, 5 + (u - 1) / 2
    return [[0.0, 0.0], [a, b], [b, a]]


def three_sizes(n, seed):
    """Mod1's clusters, with vertical errors of three sizes."""
    rng = np.random.default_rng(seed)
    sizes = np.zeros((n, 2))
    sizes[:, 1] = rng.choice([0.0, 2.0, 6.0], size=n)
    X = make_mod1(1, n, random_state=seed)[0]
    return X + sizes * rng.standard_normal(X.shape), {"X_err": sizes}


def uneven(n, seed):
    """Shares 0.2 and 0.8 on the line, Laplace errors."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 1)) < 0.2, 0.0, 4.0) + rng.standard_normal((n, 1))
    return X + rng.laplace(scale=0.7, size=X.shape), {}


def optimal(means, shares=None):
    """The best centers for normal clusters of variance 1, on a fine grid."""
    means = np.asarray(means, dtype=float)
    shares = np.full(len(means), 1 / len(means)) if shares is None else shares
    low, high = means.min(0) - 6, means.max(0) + 6
    shape = tuple(np.ceil((high - low) / 0.0625).astype(int).tolist())
    grid = Grid(tuple(low.tolist()), (0.0625,) * len(low), shape)
    squares = ((grid.points[:, None, :] - means) ** 2).sum(-1)
    values = (np.exp(-squares / 2) @ shares).reshape(shape)
    return lloyd(Density(grid, values / (values.sum() * grid.cell_volume)), means).centers


def deviation(model, best):
    """Deviations from the optimal centers, in standard errors."""
    pairs = ((best[:, None] - model.cluster_centers_) ** 2).sum(-1)
    _, order = linear_sum_assignment(pairs)
    return (model.cluster_centers_[order] - best) / model.center_std_errors_[order]


SETTINGS = {
    "Mod1(9)": (Gaussian((0, 3)), lambda s: (mod1(9, 1000, s), {}), optimal([[0, 0], [5, 0]])),
    "Mod1(4)": (Gaussian((0, 2)), lambda s: (mod1(4, 1000, s), {}), optimal([[0, 0], [5, 0]])),
    "Mod2(5)": (Gaussian(5**0.5), lambda s: (mod2(5, 1000, s), {}), optimal(means_of_mod2(5))),
    "Mod2(8)": (Gaussian(5**0.5), lambda s: (mod2(8, 1000, s), {}), optimal(means_of_mod2(8))),
    "three sizes of errors": (
        None,
        lambda s: three_sizes(1000, s),
        optimal([[0, 0], [5, 0]]),
    ),
    "Laplace errors, uneven": (
        Laplace(0.7),
        lambda s: uneven(1000, s),
        optimal([[0.0], [4.0]], [0.2, 0.8]),
    ),
}


def coverage(name, seeds, n_bootstrap):
    law, draw, best = SETTINGS[name]
    hits = []
    for seed in seeds:
        Z, errors = draw(7000 + seed)
        model = NoisyKMeans(len(best), noise=law, n_bootstrap=n_bootstrap, random_state=seed)
        hits.append(np.abs(deviation(model.fit(Z, **errors), best)) < 1.96)
    return float(np.mean(hits))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_intervals_cover_the_optimal_centers(name):
    assert 0.90 <= coverage(name, range(200), 50) <= 0.98


@pytest.mark.statistical
def test_intervals_cover_the_optimal_centers_in_a_few_data_sets():
    # Of 6 sets with 4 coordinates each.
    assert coverage("Mod1(9)", range(6), 16) >= 0.75


def test_standard_errors_are_those_of_means_where_clusters_lie_apart():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=800)
    X = np.where(y[:, None] == 1, [40.0, 0.0], [0.0, 0.0]) + rng.standard_normal((800, 2))
    Z = X + 2 * rng.standard_normal(X.shape)
    for law, sample, size in ((Gaussian(2.0), Z, 5.0), (None, X, 1.0)):
        model = NoisyKMeans(2, noise=law, n_bootstrap=80, random_state=0).fit(sample)
        np.testing.assert_allclose(model.center_std_errors_, np.sqrt(size / 400), rtol=0.35)
        variances = model.center_covariances_.diagonal(axis1=1, axis2=2)
        np.testing.assert_allclose(model.center_std_errors_**2, variances)


def test_nothing_is_done_where_nothing_is_asked_for():
    Z = mod1(9, 200, 0)
    plain = NoisyKMeans(2, noise=Gaussian((0, 3)), random_state=0).fit(Z)
    assert plain.center_std_errors_ is None
    assert plain.center_covariances_ is None
    sure = NoisyKMeans(2, noise=Gaussian((0, 3)), n_bootstrap=5, random_state=0).fit(Z)
    np.testing.assert_array_equal(sure.cluster_centers_, plain.cluster_centers_)
    assert "_again" not in vars(plain)
    assert "_again" not in vars(sure)


@pytest.mark.parametrize("params", [{}, {"bandwidth": 1.0}, {"bandwidth": "rate"}])
def test_seed_repeats_standard_errors(params):
    Z = mod1(9, 200, 0)
    model = NoisyKMeans(2, noise=Gaussian((0, 3)), n_bootstrap=5, random_state=0, **params)
    first = model.fit(Z).center_std_errors_
    np.testing.assert_array_equal(model.fit(Z).center_std_errors_, first)
    assert (first > 0).all()


def test_more_observations_have_smaller_standard_errors():
    cheap = {"bandwidth": 1.0, "n_bootstrap": 200, "random_state": 0}
    few, many = (
        NoisyKMeans(2, noise=Gaussian((0, 3)), **cheap).fit(mod1(9, n, 0)).center_std_errors_
        for n in (250, 4000)
    )
    assert 2.5 < few.mean() / many.mean() < 6.5


def test_standard_errors_from_a_histogram_and_of_weights():
    cheap = {"bandwidth": 1.0, "n_bootstrap": 200, "random_state": 0}
    Z = mod1(9, 300, 0)
    model = NoisyKMeans(2, noise=Gaussian((0, 3)), **cheap).fit(Z)
    grid = model.histogram_.grid
    binned = NoisyKMeans(2, noise=Gaussian((0, 3)), **cheap)
    binned.fit_histogram(fill(grid, Z))
    np.testing.assert_allclose(binned.center_std_errors_, model.center_std_errors_, rtol=0.4)
    halves = NoisyKMeans(2, noise=Gaussian((0, 3)), **cheap)
    # Weights that count no repetitions: their unit does not matter.
    halves.fit(Z, sample_weight=np.full(300, 7.5))
    np.testing.assert_allclose(halves.center_std_errors_, model.center_std_errors_, rtol=0.4)


def test_constant_feature_is_sure():
    Z = np.insert(mod1(9, 200, 0), 1, 7.0, axis=1)
    law = Gaussian((0.0, 1.0, 3.0))
    model = NoisyKMeans(2, noise=law, n_bootstrap=10, random_state=0).fit(Z)
    assert (model.center_std_errors_[:, 1] == 0).all()
    assert (model.center_std_errors_[:, [0, 2]] > 0).all()


def test_standard_errors_above_three_features():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((600, 1)) < 0.5, 8.0, 0.0) * np.eye(1, 5) + rng.standard_normal(
        (600, 5)
    )
    Z = X + rng.standard_normal(X.shape)
    model = NoisyKMeans(2, noise=Gaussian(1.0), n_bootstrap=20, random_state=0).fit(Z)
    np.testing.assert_allclose(model.center_std_errors_, np.sqrt(2 / 300), rtol=0.7)
    assert model.center_covariances_.shape == (2, 5, 5)


@pytest.mark.parametrize("n_bootstrap", [-1, 1, 2.5, True, False, "many", None])
@pytest.mark.parametrize("law", [None, Gaussian(1.0)])
def test_bad_number_of_samples_is_refused(law, n_bootstrap):
    model = NoisyKMeans(2, noise=law, n_bootstrap=n_bootstrap)
    with pytest.raises(ValueError, match="n_bootstrap must be 0, for no standard errors, or an"):
        model.fit(mod1(9, 50, 0))
