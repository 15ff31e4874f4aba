"""Errors that differ from row to row, and coordinates that are missing."""

import itertools
import time
import warnings

import numpy as np
import pytest
from scipy import linalg
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noisykmeans import DeconvolvedDensity, NoisyKMeans, _kernels
from noisykmeans import partition as partition_module
from noisykmeans.datasets import make_mod1, make_mod2
from noisykmeans.deconvolution import Blur, EMDeconvolution
from noisykmeans.deconvolution.bumps import Family, Sample
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.groups import Groups, Kind, Pooled
from noisykmeans.noise import Gaussian, Laplace
from noisykmeans.partition import log_covariances, partition
from noisykmeans.selection import Renoise


def rotated(n, rng, ratio=3.0):
    """Covariances of errors of one size and any direction."""
    angle = rng.uniform(0, np.pi, n)
    turn = np.moveaxis(
        np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]), 2, 0
    )
    sizes = np.stack([rng.uniform(1, ratio, n), 1 / rng.uniform(1, ratio, n)], axis=1)
    return turn @ (sizes[:, :, None] ** 2 * np.eye(2)) @ turn.transpose(0, 2, 1)


def noisy_sample(n, seed=0, ratio=3.0):
    rng = np.random.default_rng(seed)
    S = rotated(n, rng, ratio)
    X = make_mod2(5, n, random_state=seed)[0]
    return X + np.einsum("nij,nj->ni", np.linalg.cholesky(S), rng.standard_normal((n, 2))), S


def sorted_centers(model):
    return model.cluster_centers_[np.lexsort(model.cluster_centers_.T)]


def fit(Z, k=3, **errors):
    return NoisyKMeans(k, random_state=0).fit(Z, **errors)


# -- errors of each row ------------------------------------------------------------------------


def test_equal_deviations_are_one_law():
    _, Z, _ = make_mod1(9, 300, random_state=0)
    told = NoisyKMeans(2, noise=Gaussian((0, 3)), random_state=0).fit(Z)
    by_row = fit(Z, 2, X_err=np.tile([0.0, 3.0], (300, 1)))
    np.testing.assert_allclose(by_row.cluster_centers_, told.cluster_centers_, atol=1e-9)


def test_equal_covariances_are_one_law():
    S = np.array([[5.0, 1.0], [1.0, 4.0]])
    _, Z, _ = make_mod2(3, 200, random_state=0)
    told = NoisyKMeans(3, noise=Gaussian.from_covariance(S), random_state=0).fit(Z)
    by_row = fit(Z, X_cov=np.tile(S, (200, 1, 1)))
    np.testing.assert_allclose(by_row.cluster_centers_, told.cluster_centers_, atol=1e-9)


@pytest.mark.parametrize("shape", [(200,), (200, 2)])
def test_deviations_are_the_roots_of_variances(shape):
    _, Z, _ = make_mod2(3, 200, random_state=0)
    sizes = np.random.default_rng(1).choice([0.5, 2.0], shape)
    each = np.broadcast_to(sizes.reshape(200, -1), (200, 2))
    by_size, by_matrix = fit(Z, X_err=sizes), fit(Z, X_cov=each[:, :, None] ** 2 * np.eye(2))
    np.testing.assert_array_equal(by_size.cluster_centers_, by_matrix.cluster_centers_)


def test_errors_of_rows_add_to_the_law():
    _, Z, _ = make_mod1(9, 200, random_state=0)
    whole = NoisyKMeans(2, noise=Gaussian((0, 3)), random_state=0).fit(Z)
    half = np.tile([0.0, np.sqrt(4.5)], (200, 1))
    both = NoisyKMeans(2, noise=Gaussian((0, np.sqrt(4.5))), random_state=0).fit(Z, X_err=half)
    np.testing.assert_allclose(sorted_centers(both), sorted_centers(whole), atol=1e-6)


def test_errors_of_size_zero_are_k_means():
    _, Z, _ = make_mod1(2, 60, random_state=0)
    exact, plain = fit(Z, 2, X_err=np.zeros(60)), fit(Z, 2)
    np.testing.assert_array_equal(exact.cluster_centers_, plain.cluster_centers_)


def test_groups_move_centers_by_less_than_a_fifth_of_chance(monkeypatch):
    # Against a group for each observation. Coordinates of centers vary by 0.25 or more: 60 points
    # of a cluster, each with variances of 1 and at least 3.
    Z, S = noisy_sample(180, ratio=5.0)
    grouped = sorted_centers(fit(Z, X_cov=S))
    monkeypatch.setattr(partition_module, "MOST_GROUPS", {2: 1000})
    each = sorted_centers(fit(Z, X_cov=S))
    assert 0 < np.sqrt(np.mean((grouped - each) ** 2)) < 0.05


def test_rows_of_small_errors_count_for_more():
    # Told the size of every error, the centers come closer than told their mean alone.
    losses = {"each": 0.0, "mean": 0.0}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, _, _ = make_mod1(1, 200, random_state=seed)
        sizes = rng.choice([0.0, 2.0, 6.0], 200)
        Z = X + np.outer(sizes, [0, 1]) * rng.standard_normal((200, 2))
        law = Gaussian((0, np.sqrt(40 / 3)))
        each = fit(Z, 2, X_err=np.outer(sizes, [0, 1]))
        mean = NoisyKMeans(2, noise=law, random_state=0).fit(Z)
        for name, model in (("each", each), ("mean", mean)):
            losses[name] += np.abs(sorted_centers(model) - [[0, 0], [5, 0]])[:, 1].sum()
    assert losses["each"] < 0.6 * losses["mean"]


@pytest.mark.parametrize("bandwidth", [1.5, "rate", "cv", "lepski", Renoise(copies=2)])
def test_every_rule_of_the_kernel_estimate_takes_errors_of_rows(bandwidth):
    Z, _ = noisy_sample(150)
    Z, sizes = Z[:, :1], np.random.default_rng(0).choice([0.1, 2.0], 150)
    model = NoisyKMeans(2, deconvolution="kernel", bandwidth=bandwidth, random_state=0)
    assert np.isfinite(model.fit(Z, X_err=sizes).cluster_centers_).all()


def test_renoising_chooses_the_number_of_steps_with_errors_of_rows():
    Z, S = noisy_sample(90)
    Z[:9, 0] = np.nan
    model = NoisyKMeans(3, deconvolution="em", bandwidth=Renoise(copies=2), random_state=0)
    assert model.fit(Z, X_cov=S).n_steps_ in {2**i for i in range(8)}


def test_integer_weights_repeat_rows_with_their_errors():
    Z, S = noisy_sample(60)
    Z[:5, 1] = np.nan
    counts = np.random.default_rng(0).integers(0, 4, 60)
    weighted = fit(Z, X_cov=S, sample_weight=counts)
    repeated = fit(np.repeat(Z, counts, axis=0), X_cov=np.repeat(S, counts, axis=0))
    np.testing.assert_allclose(
        sorted_centers(weighted), sorted_centers(repeated), rtol=1e-6, atol=1e-6
    )


def test_rows_of_no_weight_touch_nothing():
    Z, S = noisy_sample(60)
    weights = np.r_[np.ones(60), 0.0]
    far = fit(np.r_[Z, [[1e6, 1e6]]], X_cov=np.r_[S, [1e12 * np.eye(2)]], sample_weight=weights)
    np.testing.assert_array_equal(far.cluster_centers_, fit(Z, X_cov=S).cluster_centers_)


def test_a_few_rows_that_tell_nothing_do_not_stretch_the_grid():
    Z, S = noisy_sample(100)
    useless = np.random.default_rng(0).normal(scale=1e5, size=(3, 2))
    both = fit(np.r_[Z, useless], X_cov=np.r_[S, np.tile(1e10 * np.eye(2), (3, 1, 1))])
    np.testing.assert_array_equal(both.cluster_centers_, fit(Z, X_cov=S).cluster_centers_)


def test_constant_feature_needs_no_error():
    Z, S = noisy_sample(80)
    wide = np.c_[Z, np.full(80, 7.0)]
    T = np.zeros((80, 3, 3))
    T[:, :2, :2] = S
    model = fit(wide, X_cov=T)
    np.testing.assert_allclose(model.cluster_centers_[:, :2], fit(Z, X_cov=S).cluster_centers_)
    assert (model.cluster_centers_[:, 2] == 7).all()


@pytest.mark.target
def test_a_million_covariances_cost_at_most_six_times_one_law():
    Z, S = noisy_sample(1_000_000)
    law = Gaussian.from_covariance(S.mean(axis=0))

    def seconds(law, **errors):
        model = NoisyKMeans(3, noise=law, random_state=0)
        start = time.perf_counter()
        model.fit(Z, **errors)
        return time.perf_counter() - start

    one = min(seconds(law) for _ in range(3))
    assert min(seconds(None, X_cov=S) for _ in range(3)) <= 6 * one


@pytest.mark.parametrize("rule", ["renoise", "lepski", "cv", "rate"])
@pytest.mark.parametrize("gap", [False, True])
def test_every_rule_of_the_kernel_estimate_takes_errors_of_all_sizes(rule, gap):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=60), rng.normal(size=60) + 9][:, None]
    sizes = rng.uniform(0.3, 1.5, X.shape)
    Z = X + sizes * rng.standard_normal(X.shape)
    if gap:
        Z, sizes = np.c_[Z, rng.normal(size=120)], np.c_[sizes, np.full(120, 0.1)]
        Z[::7, 1] = np.nan
        sizes = np.ceil(sizes * 2) / 2
    rule = Renoise(copies=3) if rule == "renoise" else rule
    model = NoisyKMeans(2, deconvolution="kernel", bandwidth=rule, random_state=0)
    model.fit(Z, X_err=sizes)
    assert np.isfinite(model.cluster_centers_).all()
    if not gap:  # cross-validation may blur too much where errors are uneven
        assert np.sort(model.cluster_centers_[:, 0]) == pytest.approx([0, 9], abs=1)


def test_columns_of_errors_in_another_order_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["x", "y"])
    sizes = pd.DataFrame({"y": np.full(50, 0.1), "x": np.full(50, 0.2)})
    message = r"X_err has the columns \['y', 'x'\], and X has \['x', 'y'\].* same order"
    model = NoisyKMeans(2, random_state=0)
    with pytest.raises(ValueError, match=message):
        model.fit(frame, X_err=sizes)
    model.fit(frame, X_err=sizes[["x", "y"]])
    with pytest.raises(ValueError, match=message):
        model.predict_proba(frame, X_err=sizes)
    model.fit(frame, X_err=sizes.rename(columns={"x": "e_x", "y": "e_y"}))


def test_masked_errors_are_refused():
    Z, sizes = np.random.default_rng(0).normal(size=(2, 50, 2))
    masked = np.ma.masked_less(np.abs(sizes), 0.1)
    with pytest.raises(ValueError, match=r"X_err is a masked array.* fill X_err with infinity"):
        NoisyKMeans(2).fit(Z, X_err=masked)
    NoisyKMeans(2, random_state=0).fit(Z, X_err=masked.filled(np.inf))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_fewer_points_than_centers_are_said_to_be(d):
    Z = np.repeat(np.arange(2.0), 30)[:, None] * np.ones(d)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) .* n_clusters \(4\)"):
        NoisyKMeans(4, noise=Gaussian(0.1), random_state=0).fit(Z)


# -- groups of covariances ---------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_logarithms_are_those_of_matrices(d):
    A = np.random.default_rng(d).standard_normal((20, d, d))
    S = A @ A.transpose(0, 2, 1)
    S[0] = 2 * np.eye(d)
    unit = np.arange(1.0, d + 1)
    expected = [linalg.logm(M / np.outer(unit, unit) + 0.05**2 * np.eye(d)) for M in S]
    rows, columns = np.tril_indices(d)
    scale = np.where(rows == columns, 1, np.sqrt(2))
    wanted = np.array(expected)[:, rows, columns] * scale
    np.testing.assert_allclose(log_covariances(S, unit), wanted, atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_first_improper_matrix_is_found(d):
    rng = np.random.default_rng(d)
    A = rng.standard_normal((50, d, d))
    A[7] = 0
    A[8, :, 1:] = A[8, :, :1]  # of rank 1
    S = A @ A.transpose(0, 2, 1)
    first = _kernels.covariances.first_improper
    assert first(S, 1e-8) == -1
    S[40, 0, 0] = np.nan
    assert first(S, 1e-8) == 40
    S[30] = -1e-3 * np.eye(d)
    assert first(S, 1e-8) == 30
    if d > 1:
        S[20, 1, 0] += 1
        assert first(S, 1e-8) == 20
        S[10] = np.eye(d) - 1.01 / d  # one negative eigenvalue of -0.01
        assert first(S, 1e-8) == 10


def test_few_covariances_are_kept_as_they_are():
    S = rotated(7, np.random.default_rng(0))
    which = np.random.default_rng(1).integers(7, size=100)
    labels, each = partition(S[which], np.ones(100), np.ones(2), 24)
    np.testing.assert_array_equal(each[labels], S[which])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_groups_keep_the_mean_covariance(d):
    rng = np.random.default_rng(d)
    A, weights = rng.standard_normal((3000, d, d)), rng.random(3000)
    S = A @ A.transpose(0, 2, 1)
    labels, each = partition(S, weights, np.ones(d), 24)
    assert len(each) <= 24
    assert set(labels) == set(range(len(each)))
    wanted = np.tensordot(weights, S, axes=1)
    np.testing.assert_allclose(np.tensordot(weights, each[labels], axes=1), wanted)


# -- formulas ----------------------------------------------------------------------------------


def small_groups():
    """Two laws, and rows that lack an axis."""
    rng = np.random.default_rng(0)
    grid = Grid((-3.0, -2.0), (0.5, 0.5), (12, 10))
    kinds = [
        Kind(Gaussian((0.3, 0.8)), (0, 1)),
        Kind(Gaussian.from_covariance([[1.0, 0.5], [0.5, 0.6]]), (0, 1)),
        Kind(Laplace(0.4), (1,)),
    ]
    X, labels = rng.normal(scale=0.8, size=(90, 2)), np.arange(90) % 3
    return Groups.fill(grid, X, np.ones(90), labels, kinds), X, labels


def test_step_is_the_formula_for_groups():
    groups, _, _ = small_groups()
    grid, m = groups.grid, 120
    f = np.random.default_rng(1).random(grid.shape)
    expected = np.zeros(m)
    for member in groups.members:
        blur, missing = Blur(member.histogram.grid, member.kind.noise), (0,)
        whole = len(member.kind.axes) == 2
        nodes = [row.reshape(grid.shape) for row in np.eye(m)]
        K = np.stack(
            [blur.forward(v if whole else v.sum(axis=missing)).ravel() for v in nodes], axis=1
        )
        h = member.histogram.values.ravel() / groups.mass
        expected += K.T @ (h / (K @ f.ravel() / f.sum()))
    expected *= f.ravel()
    plan = EMDeconvolution(groups)
    _, after = itertools.islice(plan.steps(Density(grid, f)), 2)
    wanted = expected.reshape(grid.shape) / expected.sum() / grid.cell_volume
    np.testing.assert_allclose(after.values, wanted, rtol=1e-6, atol=1e-9)


def test_likelihood_never_falls_over_groups():
    groups, _, _ = small_groups()
    plan = EMDeconvolution(groups, (0.2, 0.2))
    flat = Density(groups.grid, np.ones(groups.grid.shape))
    path = itertools.islice(plan.steps(flat), 1, 15)
    assert (np.diff([plan.log_likelihood(density) for density in path]) > -1e-5).all()


def test_spectrum_is_the_estimate_of_delaigle_and_meister():
    groups, X, labels = small_groups()
    laws = [member.kind.noise for member in groups.members]
    spectrum = groups.spectrum()
    phi = spectrum.characteristic_function()
    frequencies = groups.grid.frequencies
    for index in [(0, 0), (1, 0), (0, 2), (2, 3), (-1, 1)]:
        t = np.array([f[i] for f, i in zip(frequencies, index, strict=True)])
        above, below = 0.0, 0.0
        for z, label in zip(X, labels, strict=True):
            if label == 2 and t[0] != 0:
                continue
            s, point = (t[1:], z[1:]) if label == 2 else (t, z)
            size = laws[label].characteristic_function(s)
            above += np.conj(size) * np.exp(1j * s @ point)
            below += abs(size) ** 2
        wanted = above / below * groups.noise.characteristic_function(t)
        assert phi[index] == pytest.approx(wanted, abs=0.03)  # binning


def test_pooled_law_has_the_root_of_mean_squares():
    laws, t = [Gaussian(1.0), Laplace(0.5)], np.array([[0.7], [2.0]])
    squares = [law.characteristic_function(t) ** 2 for law in laws]
    law = Pooled(laws, [0.25, 0.75])
    expected = np.sqrt(0.25 * squares[0] + 0.75 * squares[1])
    np.testing.assert_allclose(law.characteristic_function(t), expected)
    assert law.covariance.tolist() == [[0.25 + 0.75 * 0.5]]
    assert law.sample(20_000, 0).var() == pytest.approx(0.625, rel=0.05)


def test_groups_add_and_coarsen_as_their_histograms_do():
    groups, X, labels = small_groups()
    kinds = [member.kind for member in groups.members]
    halves = [
        Groups.fill(groups.grid, X[part], np.ones(45), labels[part], kinds)
        for part in (slice(45), slice(45, 90))
    ]
    both = halves[0] + halves[1]
    for one, other in zip(both.members, groups.members, strict=True):
        np.testing.assert_allclose(one.histogram.values, other.histogram.values, atol=1e-12)
    assert groups.coarser().mass == pytest.approx(90)
    assert groups.coarser().grid == groups.histogram.coarser().grid


def test_groups_of_different_kinds_do_not_add():
    groups, _, _ = small_groups()
    with pytest.raises(ValueError, match="where their grids and their kinds are equal"):
        _ = groups + Groups.of(groups.histogram, Gaussian(1.0))


def test_group_lives_on_axes_of_the_grid():
    groups, _, _ = small_groups()
    with pytest.raises(ValueError, match=r"axes \(1,\) must be on these axes"):
        Groups(Grid((0.0, 0.0), (1.0, 1.0), (4, 4)), groups.members[2:])


@pytest.mark.parametrize("family", [Family(r, e) for r in (True, False) for e in (True, False)])
def test_bumps_are_the_most_likely_for_errors_that_differ(family):
    groups, _, _ = small_groups()
    sample = Sample.of(groups)
    state = sample.best(family, [sample.start(2, np.random.RandomState(0))])
    for _ in range(300):
        state = sample._step(family, state)
    found = sample.bumps(family, state)

    def likelihood(shares, means, C):
        total = 0.0
        for part, seen, S in zip(sample.parts, sample.observed, sample.errors, strict=True):
            z, m = sample.points[part][:, seen], (means - sample.mean)[:, seen]
            width = (C + S + 1e-9 * sample.covariance)[np.ix_(seen, seen)]
            u = z[:, None] - m
            squares = np.einsum("nbi,ij,nbj->nb", u, np.linalg.inv(width), u)
            values = np.exp(-squares / 2) @ shares / np.sqrt(np.linalg.det(width))
            total += sample.weights[part] @ np.log(values)
        return total

    best = likelihood(found.shares, found.means, found.covariance)
    assert best == pytest.approx(state.log_likelihood, abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(100):
        D = 0.05 * rng.standard_normal((2, 2))
        turn = (1 + D[0, 0]) * np.eye(2) if family.round else np.eye(2) + D
        shares = found.shares * (1 if family.equal else np.exp(0.05 * rng.standard_normal(2)))
        means = found.means + 0.05 * rng.standard_normal((2, 2))
        other = likelihood(shares / shares.sum(), means, turn @ found.covariance @ turn.T)
        assert other <= best + 1e-4


# -- missing coordinates -----------------------------------------------------------------------


def with_holes(n=300, seed=0):
    _, Z, _ = make_mod2(3, n, random_state=seed)
    Z[np.random.default_rng(seed).random(n) < 0.3, 0] = np.nan
    Z[:4, 1] = np.nan
    Z[:4, 0] = np.nan, 1.0, 12.0, 6.0
    return Z


def test_row_without_a_coordinate_tells_the_others():
    # Two clusters that differ in the second coordinate, which only incomplete rows tell well.
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(2000, 1)) + 8 * (rng.random((2000, 1)) < 0.3)
    Z = np.c_[rng.normal(size=2000), Y]
    Z[40:, 0] = np.nan
    model = NoisyKMeans(2, noise=Gaussian(0.3), random_state=0).fit(Z)
    assert model.density_.mean[1] == pytest.approx(Z[:, 1].mean(), abs=0.1)
    assert np.sort(model.cluster_centers_[:, 1]) == pytest.approx([0, 8], abs=0.4)


def test_infinite_errors_are_missing_values():
    Z, law = with_holes()[1:], Gaussian(2.0)
    missing = np.isnan(Z)
    sizes = np.where(missing, np.inf, 0.0)
    rng = np.random.default_rng(0)
    by_nan = NoisyKMeans(3, noise=law, random_state=0).fit(Z)
    filled = np.where(missing, rng.normal(size=Z.shape), Z)
    by_size = NoisyKMeans(3, noise=law, random_state=0).fit(filled, X_err=sizes)
    S = np.where(missing[:, :, None], np.nan, 0.0) * np.ones(2)
    S[:, [0, 1], [0, 1]] = sizes
    by_matrix = NoisyKMeans(3, noise=law, random_state=0).fit(filled, X_cov=S)
    for model in (by_size, by_matrix):
        np.testing.assert_allclose(model.cluster_centers_, by_nan.cluster_centers_, atol=1e-9)
        np.testing.assert_array_equal(model.labels_, by_nan.labels_)


def test_label_of_an_incomplete_row_is_the_closest_center_in_what_it_has():
    Z = with_holes()
    with pytest.warns(UserWarning, match="X has 1 row of which no coordinate was observed"):
        model = NoisyKMeans(3, noise=Gaussian(2.0), random_state=0).fit(Z)
    assert model.labels_[0] == -1
    for z, label in zip(Z[1:], model.labels_[1:], strict=True):
        squares = np.nansum((z - model.cluster_centers_) ** 2, axis=1)
        assert squares[label] == squares.min()
    np.testing.assert_array_equal(model.predict(Z), model.labels_)
    assert model.score(Z[1:]) == pytest.approx(
        -np.nansum((Z - model.cluster_centers_[model.labels_])[1:] ** 2)
    )


def test_maximum_likelihood_needs_no_complete_row():
    Z = make_mod2(3, 300, random_state=0)[1]
    Z[::2, 0], Z[1::2, 1] = np.nan, np.nan
    model = NoisyKMeans(3, noise=Gaussian(2.0), random_state=0).fit(Z)
    assert np.isfinite(model.cluster_centers_).all()
    with pytest.raises(ValueError, match=r"needs observations with all coordinates.*'em'"):
        NoisyKMeans(3, noise=Gaussian(2.0), bandwidth="rate").fit(Z)


def test_density_by_kernel_takes_incomplete_rows():
    Z = with_holes()[1:]
    model = DeconvolvedDensity(Gaussian(2.0), bandwidth=2.5).fit(Z)
    assert model.density_.mass == pytest.approx(1)
    np.testing.assert_allclose(model.density_.mean, np.nanmean(Z, axis=0), atol=0.6)


# -- bad input ---------------------------------------------------------------------------------

Z5 = np.random.default_rng(0).normal(size=(5, 2))
I5 = np.tile(np.eye(2), (5, 1, 1))


def changed(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


BAD = {
    "negative": ({"X_err": [1, 1, -1, 1, 1]}, "standard deviations, 0 or more; got -1.0 in row 2"),
    "NaN": ({"X_err": changed(np.ones((5, 2)), (3, 1), np.nan)}, "got nan in row 3, feature 1"),
    "short": ({"X_err": np.ones(4)}, r"X_err must have the shape \(5,\) or \(5, 2\).*got \(4,\)"),
    "wide": ({"X_err": np.ones((5, 3))}, r"X_err must have the shape.*got \(5, 3\)"),
    "words": ({"X_err": ["a"] * 5}, "X_err must be numbers"),
    "flat": ({"X_cov": np.ones((5, 2))}, r"X_cov must have the shape \(5, 2, 2\).*got \(5, 2\)"),
    "both": ({"X_err": np.ones(5), "X_cov": I5}, "give X_err or X_cov, not both"),
    "indefinite": (
        {"X_cov": changed(I5, 3, [[1, 2], [2, 1]])},
        r"positive semidefinite; row 3 has the eigenvalue -1: \[\[1.0, 2.0\]",
    ),
    "skew": ({"X_cov": changed(I5, (2, 0, 1), 0.5)}, "X_cov must be symmetric.*in row 2"),
    "NaN covariance": ({"X_cov": changed(I5, (1, 0, 1), np.nan)}, "X_cov must be finite.*row 1"),
    "no feature": (
        {"X_err": np.tile([1.0, np.inf], (5, 1))},
        "X has no observed value in feature 1",
    ),
}


@pytest.mark.parametrize(("params", "message"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("model", [NoisyKMeans(2), DeconvolvedDensity()])
def test_bad_errors_are_refused(model, params, message):
    with pytest.raises(ValueError, match=message):
        model.fit(Z5, **params)
    assert not hasattr(model, "density_")


def test_missing_values_are_refused_where_there_are_no_errors():
    with pytest.raises(ValueError, match="Input X contains NaN"):
        NoisyKMeans(2).fit(changed(Z5, (0, 0), np.nan))
    plain = NoisyKMeans(2).fit(Z5)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        plain.predict(changed(Z5, (0, 0), np.nan))


def test_nan_errors_of_missing_values_are_no_matter():
    Z = with_holes()[1:]
    sizes = np.where(np.isnan(Z), np.nan, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(Z, X_err=sizes)
    assert np.isfinite(model.cluster_centers_).all()


# -- metadata routing --------------------------------------------------------------------------


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_errors_reach_the_last_step_of_a_pipeline():
    Z, _ = noisy_sample(90)
    sizes = np.random.default_rng(0).choice([0.5, 2.0], (90, 2))
    last = NoisyKMeans(3, random_state=0).set_fit_request(X_err=True)
    pipeline = make_pipeline("passthrough", last).fit(Z, X_err=sizes)
    expected = fit(Z, X_err=sizes).cluster_centers_
    np.testing.assert_array_equal(pipeline[-1].cluster_centers_, expected)


@pytest.mark.usefixtures("routing")
def test_errors_are_scaled_with_the_data_by_a_pipeline_that_is_told_to():
    Z, _ = noisy_sample(90)
    sizes = np.random.default_rng(0).choice([0.5, 2.0], (90, 2))
    last = NoisyKMeans(3, random_state=0).set_fit_request(X_err=True)
    scaler = StandardScaler(with_mean=False)
    pipeline = make_pipeline(scaler, last, transform_input=["X_err"]).fit(Z, X_err=sizes)
    unit = Z.std(axis=0)
    expected = fit(Z / unit, X_err=sizes / unit).cluster_centers_
    np.testing.assert_allclose(pipeline[-1].cluster_centers_, expected)


@pytest.mark.usefixtures("routing")
def test_errors_are_split_with_the_rows_by_cross_validation():
    Z, S = noisy_sample(90)
    model = NoisyKMeans(3, random_state=0).set_fit_request(X_cov=True)
    scores = cross_val_score(model, Z, cv=3, params={"X_cov": S})
    halves = [np.arange(90) // 30 == part for part in range(3)]
    expected = [fit(Z[~out], X_cov=S[~out]).score(Z[out]) for out in halves]
    np.testing.assert_allclose(scores, expected)


def test_constant_feature_keeps_its_value_whatever_its_errors():
    Z = np.column_stack([normal_pairs(80), np.ones(80)])
    model = NoisyKMeans(2, random_state=0).fit(Z, X_err=0.5 * np.ones(80))
    assert (model.cluster_centers_[:, 2] == 1).all()


def normal_pairs(n):
    return np.random.default_rng(0).standard_normal((n, 2)) + 5 * (np.arange(n) % 2)[:, None]
