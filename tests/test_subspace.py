import itertools
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from noisykmeans import DeconvolvedDensity, NoisyKMeans, noise
from noisykmeans import reduction as reduction_module
from noisykmeans.deconvolution import bumps as bumps_module
from noisykmeans.deconvolution.bumps import Family, Sample, State
from noisykmeans.deconvolution.clusters import Observed, first_clusters
from noisykmeans.deconvolution.principal import principal_axes, principal_starts
from noisykmeans.errors import Errors, rows_alike
from noisykmeans.groups import Kind
from noisykmeans.measure import WeightedPoints
from noisykmeans.metrics import clean_distortion, clustering_risk
from noisykmeans.subspace import Subspace, projected_noise

RNG = np.random.default_rng(5)
TURN = np.linalg.qr(RNG.standard_normal((6, 6)))[0]


def data(d=6, k=3, n=600, law=None, seed=0):
    """Clusters at 5 e_j and 0, and errors that are large on the other axes."""
    rng = np.random.default_rng(seed)
    means = np.vstack([5 * np.eye(k - 1, d), np.zeros(d)])
    law = law or noise.Gaussian(np.where(np.arange(d) < k - 1, 0.7, 3.0))
    y = rng.integers(k, size=n)
    X = means[y] + rng.standard_normal((n, d))
    return X, X + law.sample(X.shape, rng), y, means, law


def alike(points, errors, origin=0.0):
    """A sample of equal weights whose errors have one law."""
    n, d = points.shape
    observed = np.ones((1, d), dtype=bool)
    ends = np.array([n])
    return Sample(points, np.full(n, 1 / n), ends, observed, errors[None], np.zeros(d), origin)


def alike_rows(Z, law):
    """Rows whose errors have one law."""
    return Observed(Z, np.ones(len(Z)), [Kind(law, tuple(range(Z.shape[1])))])


def closest_to(centers, means):
    return min(
        np.abs(centers[list(order)] - means).max()
        for order in itertools.permutations(range(len(means)))
    )


def test_subspace_holds_the_centers_and_makes_errors_uncorrelated():
    centers = RNG.standard_normal((3, 6)) + 7
    law = noise.Gaussian(np.arange(1.0, 7)).project(TURN)
    plane = Subspace.spanned(centers, centers.mean(axis=0), law.covariance, 3)
    assert plane.dimension == 2
    np.testing.assert_allclose(plane.basis @ plane.basis.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(plane.lift(plane.project(centers)), centers, atol=1e-12)
    np.testing.assert_allclose(plane.project(plane.origin[None]), 0, atol=1e-12)
    S = plane.basis @ law.covariance @ plane.basis.T
    assert S[0, 1] == pytest.approx(0, abs=1e-12)


def test_leading_axes_are_those_along_which_centers_differ_most():
    centers = np.diag([9.0, 8.0, 7.0, 0.1, 0.1, 0.1])
    basis = Subspace.spanned(centers, np.zeros(6), np.eye(6), 3).basis
    assert np.square(basis[:, :3]).sum() == pytest.approx(3, abs=1e-3)


def test_equal_centers_leave_one_axis():
    assert Subspace.spanned(np.ones((4, 6)), np.ones(6), np.eye(6), 3).dimension == 1


@pytest.mark.parametrize(
    "law",
    [
        noise.Gaussian(0.5),
        noise.Gaussian(np.arange(6.0)).project(TURN),
        noise.Laplace(np.arange(6.0)),
        noise.Laplace(1.0) + noise.Uniform(2.0),
        noise.Custom(
            lambda t: np.exp(-np.square(t).sum(axis=-1)),
            lambda size, rng: rng.standard_normal(size) * np.sqrt(2),
            dimension=6,
        ),
    ],
)
def test_projected_law_has_the_characteristic_function_of_the_projected_errors(law):
    basis = TURN[:2]
    t = RNG.standard_normal((20, 2))
    np.testing.assert_allclose(
        projected_noise(law, basis).characteristic_function(t),
        law.characteristic_function(t @ basis),
        atol=1e-12,
    )


def test_uncorrelated_gaussian_errors_become_independent():
    law = noise.Gaussian(np.arange(1.0, 7)).project(TURN)
    basis = Subspace.spanned(RNG.standard_normal((4, 6)), np.zeros(6), law.covariance, 3).basis
    assert projected_noise(law, basis).independent


def test_principal_axes_find_the_clusters_under_large_errors():
    _, Z, _, _, law = data(d=6, k=3, n=5000)
    sample = alike(Z - Z.mean(axis=0), law.covariance)
    axes = principal_axes(sample, 2)
    assert np.square(axes[2:]).sum() < 0.02 * np.square(axes).sum()
    plain = np.linalg.eigh(sample.covariance)[1][:, -2:]
    assert np.square(plain[:2]).sum() < 1.9
    (start,) = principal_starts(sample, 3, 1, np.random.RandomState(0))
    assert np.sort(start.masses).round(1).tolist() == [[0.3, 0.3, 0.3]]


@pytest.mark.parametrize("family", [Family(r, e) for r in (True, False) for e in (True, False)])
def test_points_are_taken_off_their_origin_block_by_block(family):
    u = RNG.standard_normal((20_000, 3))
    u -= u.mean(axis=0)
    masses, means = np.array([[0.5, 0.5]]), np.array([[1.0, 0, 0], [-1, 0, 0]])
    start = State(masses, masses[..., None] * means, means, np.eye(3), -np.inf)
    here = alike(u, 0.1 * np.eye(3)).polished(family, start)
    there = alike(u + 100, 0.1 * np.eye(3), np.full(3, 100.0)).polished(family, start)
    np.testing.assert_allclose(here.means, there.means, atol=1e-9)
    assert here.log_likelihood == pytest.approx(there.log_likelihood, abs=1e-9)


@pytest.mark.parametrize("n", [1500, 20_000])  # all rows at once, and some before all
def test_clusters_are_found_in_all_dimensions(n):
    _, Z, _, means, law = data(d=8, k=4, n=n)
    clusters = first_clusters(alike_rows(Z, law), 4, np.random.RandomState(0))
    assert closest_to(clusters.likeliest.means, means) < 25 / np.sqrt(n)
    assert clusters.weights.sum() == pytest.approx(1)


def test_atoms_keep_the_means_of_bumps():
    _, Z, _, _, law = data()
    clusters = first_clusters(alike_rows(Z, law), 3, np.random.RandomState(0))
    atoms = clusters.atoms(np.random.RandomState(0))
    assert atoms.mass == pytest.approx(1)
    means = atoms.X.reshape(3, -1, 6).mean(axis=1)
    np.testing.assert_allclose(means, clusters.likeliest.means, atol=1e-12)


def test_closest_center_far_from_the_origin():
    X = RNG.standard_normal((9000, 4))
    centers = RNG.standard_normal((5, 4))
    near = WeightedPoints(X).cell_moments(centers)[0]
    np.testing.assert_allclose(WeightedPoints(X + 1e6).cell_moments(centers + 1e6)[0], near)


@pytest.mark.parametrize(("d", "k"), [(6, 2), (6, 3), (6, 4), (6, 6), (4, 7)])
@pytest.mark.parametrize("laplace", [False, True])
def test_clusters_are_found_where_k_means_fails(d, k, laplace):
    k_means = min(k, d)
    size = np.where(np.arange(d) < k_means - 1, 0.7, 3.0)
    law = noise.Laplace(size / np.sqrt(2)) if laplace else noise.Gaussian(size)
    X, Z, _, _, _ = data(d, k_means, 1500, law)
    model = NoisyKMeans(k, noise=law, random_state=0).fit(Z)
    limit = clean_distortion(KMeans(k, n_init=5, random_state=0).fit(X).cluster_centers_, X)
    assert clean_distortion(model.cluster_centers_, X) < 1.1 * limit
    assert model.inertia_ == pytest.approx(limit * len(X), rel=0.2)
    np.testing.assert_array_equal(model.labels_, model.predict(Z))


def test_rotated_data_have_rotated_centers():
    _, Z, _, means, law = data()
    plain = NoisyKMeans(3, noise=law, random_state=0).fit(Z).cluster_centers_
    turned = NoisyKMeans(3, noise=law.project(TURN), random_state=0).fit(Z @ TURN.T)
    assert closest_to(turned.cluster_centers_ @ TURN, plain) < 0.1
    assert closest_to(plain, means) < 0.6


def test_components_are_the_axes_of_the_density():
    X, Z, _, _, law = data(n=3000)
    Z = np.insert(Z, 2, 4.0, axis=1)
    law = noise.Gaussian(np.insert(np.sqrt(np.diag(law.covariance)), 2, 0))
    model = NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    B = model.components_
    np.testing.assert_allclose(B @ B.T, np.eye(2), atol=1e-12)
    assert (B[:, 2] == 0).all()
    assert (model.cluster_centers_[:, 2] == 4).all()
    clean = np.insert(X, 2, 4.0, axis=1) @ B.T
    np.testing.assert_allclose(model.density_.mean, clean.mean(axis=0), atol=0.1)
    assert model.density_.spread == pytest.approx(clean.var(axis=0).sum(), rel=0.05)


def test_components_of_a_plain_grid_are_its_features():
    _, Z, _, _, _ = data(d=6)
    Z = Z[:, :3] * [1, 0, 1]
    model = NoisyKMeans(2, noise=noise.Gaussian(0.5), random_state=0).fit(Z)
    np.testing.assert_array_equal(model.components_, np.eye(3)[[0, 2]])
    assert NoisyKMeans(2).fit(Z).components_ is None


def test_errors_may_vanish_on_some_axes():
    X, _, y, means, _ = data(n=1500)
    law = noise.Gaussian((0, 0, 0, 0, 4.0, 4.0))
    Z = X + law.sample(X.shape, 1)
    model = NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    assert clustering_risk(model.cluster_centers_, X, y) < 0.02
    assert closest_to(model.cluster_centers_, means) < 0.5


def test_errors_need_not_be_centred():
    X, Z, y, _, law = data(n=1500)
    shifted = noise.Custom(
        lambda t: law.characteristic_function(t) * np.exp(2j * t.sum(axis=-1)),
        lambda size, rng: law.sample(size, rng) + 2,
        dimension=6,
    )
    model = NoisyKMeans(3, noise=shifted, random_state=0).fit(Z + 2)
    assert clustering_risk(model.cluster_centers_, X, y) < 0.02


FEW = np.repeat(np.vstack([np.zeros(5), 5 * np.eye(5)[:2]]), 4, axis=0) @ np.ones((5, 5)) + 1
FEW[:4] += np.arange(5)


@pytest.mark.parametrize("k", [1, 2])
def test_few_different_rows_are_enough(k):
    model = NoisyKMeans(k, noise=noise.Gaussian(0.1), random_state=0).fit(FEW)
    limit = KMeans(k, n_init=3, random_state=0).fit(FEW)
    assert closest_to(model.cluster_centers_, limit.cluster_centers_) < 0.3


def test_more_clusters_than_different_points_are_told_once():
    model = NoisyKMeans(6, noise=noise.Gaussian(0.1), random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found") as told:
        model.fit(FEW)
    assert len(told) == 1
    assert np.isfinite(model.cluster_centers_).all()


def test_weights_are_repetitions():
    _, Z, _, _, law = data(n=60)
    weights = RNG.integers(0, 4, 60)
    once = NoisyKMeans(3, noise=law, random_state=0).fit(Z, sample_weight=weights)
    often = NoisyKMeans(3, noise=law, random_state=0).fit(np.repeat(Z, weights, axis=0))
    np.testing.assert_allclose(once.cluster_centers_, often.cluster_centers_, atol=1e-5)


@pytest.mark.parametrize("law", [noise.Gaussian(0.5), noise.Laplace(0.3)])
def test_kernel_estimate_works_on_the_span(law):
    X, Z, y, _, law = data(law=law)
    model = NoisyKMeans(3, noise=law, bandwidth=0.8, random_state=0).fit(Z)
    assert model.bandwidth_.tolist() == [0.8, 0.8]
    assert clustering_risk(model.cluster_centers_, X, y) < 0.02


def test_init_sees_points_with_all_features():
    _, Z, _, means, law = data()
    seen = []

    def init(points, n_clusters, random_state):
        del random_state
        seen.append(points.shape[1])
        return means[:n_clusters]

    called = NoisyKMeans(3, noise=law, init=init, n_init=1, random_state=0).fit(Z)
    given = NoisyKMeans(3, noise=law, init=means, random_state=0).fit(Z)
    assert seen == [6]
    np.testing.assert_array_equal(called.cluster_centers_, given.cluster_centers_)


def of_any_dimension():
    return noise.Custom(
        lambda t: np.exp(-np.square(t).sum(axis=-1)), lambda size, rng: rng.normal(size=size)
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"noise": of_any_dimension()}, r"has no dimension.*6 features.*with dimension=6"),
        ({"noise": of_any_dimension() + noise.Laplace(1.0)}, "has no dimension"),
        ({"bandwidth": (1, 1, 1, 1, 1, 2.0)}, "bandwidth must be one number where more than 3"),
        (
            {"deconvolution": "kernel", "n_clusters": 6},
            "needs a grid, of at most 3 axes, and the span of n_clusters=6 centers has 5",
        ),
        ({"noise": noise.Gaussian((1, 2))}, "has 2 axes, where 6 are needed"),
    ],
)
def test_what_the_span_does_not_allow_is_refused(params, message):
    _, Z, _, _, law = data()
    model = NoisyKMeans(**{"n_clusters": 3, "noise": law} | params)
    with pytest.raises(ValueError, match=message):
        model.fit(Z)
    assert not hasattr(model, "cluster_centers_")


def with_a_gap(Z):
    Z = Z.copy()
    Z[3, 1] = np.nan
    return Z


def errors_that_differ(kind, n=1800, d=6):
    """Observations as in `data` whose errors differ, what `fit` is told of them, and the means."""
    X, _, _, means, _ = data(d, 3, n)
    rng = np.random.default_rng(7)
    sizes = np.where(np.arange(d) < 2, 0.7, 3.0) * rng.uniform(0.3, 1.5, (n, d))
    laws = [
        noise.Gaussian(np.where(np.arange(d) < 2, 0.7, 3.0)),
        noise.Laplace(np.where(np.arange(d) < 2, 0.4, 2.5)),
    ]
    if kind == "X_err":
        return X + sizes * rng.standard_normal((n, d)), None, {"X_err": sizes}, means
    if kind == "X_cov":
        A = sizes[:, :, None] * TURN  # correlated errors
        Z = X + np.einsum("nij,nj->ni", A, rng.standard_normal((n, d)))
        return Z, None, {"X_cov": A @ A.transpose(0, 2, 1)}, means
    if kind == "both":
        Z = X + sizes * rng.standard_normal((n, d)) + laws[1].sample((n, d), rng)
        return Z, laws[1], {"X_err": sizes}, means
    if kind == "gaps":
        Z = X + laws[0].sample((n, d), rng)
        return np.where(rng.random((n, d)) < 0.15, np.nan, Z), laws[0], {}, means
    if kind == "heavy":
        law = noise.Student(1.9, np.where(np.arange(d) < 2, 0.2, 1.0))
        return X + law.sample((n, d), rng), law, {}, means
    labels = rng.integers(2, size=n)
    errors = np.where(labels[:, None], laws[1].sample((n, d), rng), laws[0].sample((n, d), rng))
    return X + errors, noise.PerObservation(laws, labels), {}, means


@pytest.mark.filterwarnings("ignore:X has .* rows? of which no coordinate")
@pytest.mark.parametrize("kind", ["X_err", "X_cov", "both", "gaps", "heavy", "two laws"])
def test_errors_that_differ_are_told_apart_in_any_dimension(kind):
    Z, law, own, means = errors_that_differ(kind)
    model = NoisyKMeans(3, noise=law, random_state=0).fit(Z, **own)
    assert closest_to(model.cluster_centers_, means) < 0.6
    plain = KMeans(3, n_init=10, random_state=0).fit(np.nan_to_num(Z))
    assert closest_to(plain.cluster_centers_, means) > 1.5
    np.testing.assert_array_equal(model.predict(Z), model.labels_)


def test_errors_that_differ_serve_more_centers_than_a_grid_has_axes():
    X, _, _, means, law = data(d=7, k=6, n=3000)
    sizes = np.sqrt(law.covariance.diagonal()) * np.ones((3000, 1))
    sizes[::2] *= 0.5
    Z = X + sizes * np.random.default_rng(0).standard_normal(X.shape)
    model = NoisyKMeans(6, random_state=0).fit(Z, X_err=sizes)
    assert closest_to(model.cluster_centers_, means) < 0.5


def test_equal_errors_of_rows_are_one_law_in_any_dimension():
    _, Z, _, _, law = data()
    one = NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    each = NoisyKMeans(3, random_state=0).fit(Z, X_cov=np.tile(law.covariance, (600, 1, 1)))
    np.testing.assert_allclose(each.cluster_centers_, one.cluster_centers_, atol=1e-6)


def test_weights_are_repetitions_where_errors_differ_in_many_features():
    Z, _, own, _ = errors_that_differ("X_err", 300)
    weights = np.random.default_rng(0).integers(0, 3, 300)
    sizes = own["X_err"].round(1) + 0.1  # few groups, and so the same ones
    a = NoisyKMeans(2, random_state=0).fit(Z, X_err=sizes, sample_weight=weights)
    b = NoisyKMeans(2, random_state=0).fit(
        np.repeat(Z, weights, axis=0), X_err=np.repeat(sizes, weights, axis=0)
    )
    assert closest_to(a.cluster_centers_, b.cluster_centers_) < 0.2


@pytest.mark.parametrize("d", [2, 5])
def test_scoring_step_by_step_is_that_at_once(d):
    rng = np.random.default_rng(d)
    A, sides = rng.standard_normal((2, 9, d, d))
    A, sides = A @ A.transpose(0, 2, 1), sides[:2] + sides[:2].transpose(0, 2, 1)
    masses = rng.dirichlet(np.ones(9))
    got = bumps_module._by_conjugate_gradients(masses, A, sides)
    np.testing.assert_allclose(got, bumps_module._at_once(masses, A, sides), atol=1e-4)
    image = np.einsum("g,gij,rjk,gkl->ril", masses, A, got, A)
    np.testing.assert_allclose(image, sides, atol=1e-6)


@pytest.mark.parametrize("power", [1e-6, 1e6])
def test_unit_of_one_feature_does_not_matter_in_many_dimensions(power):
    Z, _, own, means = errors_that_differ("X_err", 600)
    unit = np.array([1, 1, 1, 1, 1, power])
    model = NoisyKMeans(3, random_state=0).fit(Z * unit, X_err=own["X_err"] * unit)
    if power < 1:  # else the feature is what k-means is about
        assert closest_to(model.cluster_centers_ / unit, means) < 1
    cleaner = model.denoise(Z * unit, X_err=own["X_err"] * unit) / unit
    X = data(6, 3, 600)[0]
    assert (np.square(cleaner - X).mean(axis=0) < np.square(Z - X).mean(axis=0)).all()
    assert np.isfinite(model.sample(5, random_state=0)).all()


def test_answers_far_from_the_origin_are_those_near_it():
    Z, _, own, _ = errors_that_differ("X_err", 300)
    near, far = (NoisyKMeans(3, random_state=0).fit(Z + off, **own) for off in (0.0, 1e7))
    got, wanted = far.score_samples(Z + 1e7, **own), near.score_samples(Z, **own)
    np.testing.assert_allclose(got, wanted, atol=1e-3)
    order = [np.abs(near.cluster_centers_ + 1e7 - c).sum(1).argmin() for c in far.cluster_centers_]
    wanted = near.predict_proba(Z, **own)[:, order]
    np.testing.assert_allclose(far.predict_proba(Z + 1e7, **own), wanted, atol=1e-3)
    np.testing.assert_allclose(far.denoise(Z + 1e7, **own) - 1e7, near.denoise(Z, **own), atol=1e-3)


def test_clusters_without_extent_can_be_drawn_from():
    rng = np.random.default_rng(1)
    centers = 6 * np.vstack([np.eye(2, 5), np.zeros(5)])
    Z = centers[rng.integers(3, size=1000)] + rng.standard_normal((1000, 5))
    model = NoisyKMeans(3, noise=noise.Gaussian(1.0), random_state=0).fit(Z)
    assert np.isfinite(model.sample(20, random_state=0)).all()


def test_more_patterns_of_missing_coordinates_than_can_be_told_apart_are_said(monkeypatch):
    monkeypatch.setattr(reduction_module, "_MOST_NUMBERS", 64 * 36)
    Z, law, _, means = errors_that_differ("gaps", 1500, 12)
    Z = np.where(np.isnan(Z).all(axis=1, keepdims=True), 0.0, Z)
    with pytest.warns(UserWarning, match="patterns of missing coordinates: the span"):
        model = NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    assert closest_to(model.cluster_centers_, means) < 2.5


def test_errors_are_projected_with_the_observations():
    rng = np.random.default_rng(0)
    A, basis = rng.standard_normal((5, 6, 6)), TURN[:2]
    S = A @ A.transpose(0, 2, 1)
    seen = np.ones((5, 6), dtype=bool)
    plain = Errors(S, seen).projected(basis, np.ones(6))
    np.testing.assert_allclose(plain.covariances, basis @ S @ basis.T)
    seen[3, 2] = False
    gap = Errors(None, seen).projected(basis, np.full(6, 2.0))
    np.testing.assert_allclose(gap.covariances[3], 400 * np.outer(basis[:, 2], basis[:, 2]))
    assert not gap.covariances[:3].any()


@pytest.mark.parametrize("d", [3, 50, 70])
def test_rows_alike_are_those_of_one_pattern_and_label(d):
    rng = np.random.default_rng(d)
    patterns = rng.random((4, d)) < 0.5
    which, labels = rng.integers(4, size=60), rng.integers(2, size=60)
    groups = list(rows_alike(patterns[which], labels))
    assert sorted(np.concatenate(groups)) == list(range(60))
    assert len(groups) == len(np.unique(np.c_[patterns[which], labels], axis=0))
    for rows in groups:
        assert (patterns[which][rows] == patterns[which][rows[0]]).all()
        assert (labels[rows] == labels[rows[0]]).all()


def test_missing_coordinates_are_served_where_three_of_many_features_vary():
    Z = data()[1]
    Z[3, 1], Z[:, 3:] = np.nan, 1.0
    model = NoisyKMeans(3, noise=noise.Gaussian(0.5), random_state=0).fit(Z)
    assert (model.cluster_centers_[:, 3:] == 1).all()
    np.testing.assert_array_equal(model.components_, np.eye(6)[:3])


def test_density_of_many_features_is_refused():
    _, Z, _, _, law = data()
    with pytest.raises(ValueError, match="X has 6 features that vary, and the density of at most"):
        DeconvolvedDensity(law).fit(Z)


@pytest.fixture(scope="module")
def million():
    _, Z, _, _, law = data(d=10, k=3, n=1_000_000)
    return Z, law


@pytest.mark.timing
def test_a_million_rows_take_at_most_four_times_as_long_as_k_means(million):
    Z, law = million
    NoisyKMeans(3, noise=law, random_state=0).fit(Z[:1000])  # compiles
    start = time.perf_counter()
    NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    middle = time.perf_counter()
    KMeans(3, n_init=10, random_state=0).fit(Z)
    assert middle - start < 4 * (time.perf_counter() - middle)


@pytest.mark.timing
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_million_rows_take_less_memory_than_twice_their_own(million):
    Z, law = million
    NoisyKMeans(3, noise=law, random_state=0).fit(Z[:1000])
    before, most, done = resident(), [0], threading.Event()

    def watch():
        while not done.wait(0.003):
            most[0] = max(most[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    done.set()
    watcher.join()
    assert 0 < most[0] - before < 2 * Z.nbytes


def resident():
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
