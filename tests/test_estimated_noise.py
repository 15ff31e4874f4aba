"""Laws estimated from data, and laws with heavy tails."""

import warnings

import numpy as np
import pytest
from scipy import stats

import contracts
from noisykmeans import NoisyKMeans, noise
from noisykmeans.datasets import make_mod1

LAPLACE, SKEW = noise.Laplace((0.7, 0.4)), stats.gamma(2.0, loc=-2.0)


def frequencies(d, size=1.0):
    return np.random.default_rng(0).normal(scale=size, size=(40, d))


# -- heavy tails -------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [0.7, 1.0, 1.5, 3.0, 20.0])
def test_c_f_of_student_is_that_of_its_density(df):
    t = np.array([0.3, 1.0, 2.5])
    law = stats.t(df, scale=0.8)
    # By Parseval's identity with a Gaussian of scale 1, whatever the tails.
    x = np.linspace(-12, 12, 24_001)
    for shift in t:
        direct = np.trapezoid(np.cos(shift * x) * np.exp(-(x**2) / 2) * law.pdf(x), x)
        s = np.linspace(-10, 10, 20_001)
        phi = noise.Student(df, 0.8).characteristic_function((s + shift)[:, None])
        other = np.trapezoid(phi * np.exp(-(s**2) / 2), s) / np.sqrt(2 * np.pi)
        assert other == pytest.approx(direct, abs=1e-6)


def test_cauchy_is_student_with_one_degree_of_freedom():
    t = frequencies(2)
    np.testing.assert_allclose(
        noise.Cauchy((0.5, 2.0)).characteristic_function(t),
        noise.Student(1.0, (0.5, 2.0)).characteristic_function(t),
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    "law", [noise.Cauchy((0.0, 1.0)), noise.Student(3.5, (0.2, 1.0)), noise.Student(1.5, 0.4)]
)
def test_heavy_laws_keep_the_contract_of_laws(law):
    contracts.check_characteristic_function(law, 2)
    contracts.check_sample(law, 2)
    assert law.mean(2).tolist() == [0, 0]
    assert law.marginal([1]).width(1)[0, 0] == pytest.approx(law.width(2)[1, 1])


def test_width_of_heavy_laws_is_that_of_a_gaussian():
    assert noise.Cauchy(2.0).covariance.tolist() == [[np.inf]]
    assert noise.Cauchy(2.0).width(1)[0, 0] == pytest.approx(16.0, rel=0.02)
    assert noise.Gaussian(3.0).width(2).tolist() == [[9, 0], [0, 9]]
    assert noise.Cauchy((0.0, 1.0)).covariance.tolist() == [[0, 0], [0, np.inf]]


@pytest.mark.parametrize("law", [noise.Cauchy((0.0, 1.0)), noise.Student(2.5, (0.5, 2.0))])
def test_centers_are_found_under_heavy_tails(law):
    X = make_mod1(1, 400, random_state=0)[0]
    model = NoisyKMeans(2, noise=law, random_state=0).fit(X + law.sample(X.shape, 1))
    centers = model.cluster_centers_[model.cluster_centers_[:, 0].argsort()]
    np.testing.assert_allclose(centers, [[0, 0], [5, 0]], atol=0.6)
    assert set(model.labels_) == {0, 1}


@pytest.mark.parametrize("df", [0, -1.0, np.inf, "3", True])
def test_degrees_of_freedom_are_a_positive_number(df):
    with pytest.raises(ValueError, match="df must be"):
        noise.Student(df)


# -- pure errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [300, 5000])
def test_empirical_law_is_close_to_the_law_of_its_sample(m):
    true = noise.Gaussian.from_covariance([[1.0, 0.4], [0.4, 0.5]])
    law, t = noise.Empirical(true.sample((m, 2), 0)), frequencies(2)
    gap = law.characteristic_function(t) - true.characteristic_function(t)
    assert np.abs(gap).max() < 3 / np.sqrt(m)
    np.testing.assert_allclose(law.covariance, true.covariance, atol=6 / np.sqrt(m))


def test_empirical_law_is_the_sample_up_to_the_cut_and_vanishes_beyond():
    errors = np.random.default_rng(0).laplace(size=(200, 1))
    law, t = noise.Empirical(errors), np.linspace(0, 0.5, 9)[:, None]
    expected = np.exp(1j * errors[:, 0] * t).mean(axis=1)
    np.testing.assert_allclose(law.characteristic_function(t), expected)
    # Where chance leaves 1 / sqrt(200) = 0.07 of a sample's c.f. on average, nothing is left.
    assert np.abs(law.characteristic_function([[40.0], [100.0]])).max() < 1e-6


def test_empirical_law_minds_the_sign():
    errors = SKEW.rvs(3000, random_state=0)
    t = np.array([[0.5], [-0.5]])
    expected = np.exp(-2j * t[:, 0]) / (1 - 1j * t[:, 0]) ** 2
    assert np.abs(noise.Empirical(errors).characteristic_function(t) - expected).max() < 0.05


def test_axis_without_errors_has_none_in_the_empirical_law():
    errors = np.c_[np.zeros(100), np.random.default_rng(0).normal(size=100)]
    law = noise.Empirical(errors)
    far = law.characteristic_function([[1e3, 0.0]])
    assert far[0] == pytest.approx(1)


def test_empirical_law_keeps_the_contract_of_laws():
    law = noise.Empirical(LAPLACE.sample((500, 2), 0))
    contracts.check_sample(law, 2)
    contracts.check_covariance(law, 2)
    assert law.marginal([1]).covariance[0, 0] == pytest.approx(law.covariance[1, 1])
    assert repr(law) == "Empirical(<500 errors of 2 axes>)"


def test_blank_sample_serves_in_place_of_the_law():
    X, law = make_mod1(1, 300, random_state=0)[0], noise.Laplace((0.0, 2.0))
    Z = X + law.sample(X.shape, 1)
    blank = noise.Empirical(law.sample((300, 2), 2))
    known, estimated = (
        NoisyKMeans(2, noise=each, random_state=0).fit(Z).cluster_centers_ for each in (law, blank)
    )
    order = estimated[:, 0].argsort(), known[:, 0].argsort()
    np.testing.assert_allclose(estimated[order[0]], known[order[1]], atol=0.25)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (np.ones((2, 2, 2)), r"sample must have the shape \(m,\) or \(m, d\)"),
        ([1.0], "m at least 2; got"),
        ([1.0, np.nan], "sample must be finite; got 1 others"),
    ],
)
def test_bad_sample_of_errors_is_refused(sample, message):
    with pytest.raises(ValueError, match=message):
        noise.Empirical(sample)


# -- repeated measurements ---------------------------------------------------------------------


def readings(n, m, law=LAPLACE, seed=0):
    rng = np.random.default_rng(seed)
    X = 3 * rng.standard_normal((n, 2))
    return X, X[:, None] + law.sample((n * m, 2), rng).reshape(n, m, 2)


@pytest.mark.parametrize("m", [2, 3])
def test_law_of_means_is_found_from_differences(m):
    _, R = readings(3000, m)
    means, law = noise.from_replicates(R)
    np.testing.assert_allclose(means, R.mean(axis=1))
    t = frequencies(2)
    expected = LAPLACE.characteristic_function(t / m) ** m
    np.testing.assert_allclose(law.characteristic_function(t), expected, atol=0.06)
    np.testing.assert_allclose(law.covariance, LAPLACE.covariance / m, atol=0.05)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_errors_drawn_from_differences_have_their_covariance(r):
    _, R = readings(2000, 2)
    law = noise.Differences(R[:, 0] - R[:, 1], r)
    drawn = law.sample((50_000, 2), 0)
    np.testing.assert_allclose(np.cov(drawn.T), law.covariance, atol=0.03)
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=0.03)


def test_gaussian_law_of_means_is_an_option():
    _, R = readings(3000, 2)
    _, law = noise.from_replicates(R, gaussian=True)
    assert isinstance(law, noise.Gaussian)
    np.testing.assert_allclose(law.covariance, LAPLACE.covariance / 2, atol=0.05)


def test_objects_with_more_readings_have_smaller_errors():
    X, R = readings(6000, 3)
    R[::2, 2] = np.nan
    R[::4, 1, 0] = np.nan  # half a reading is none
    R[1, :] = np.nan
    means, law = noise.from_replicates(R)
    assert isinstance(law, noise.PerObservation)
    assert np.isnan(means[1]).all()
    np.testing.assert_allclose(means[4], R[4, 0])
    for label, each in enumerate(law.laws):
        rows = (law.labels == label) & ~np.isnan(means[:, 0])
        found = np.cov((means - X)[rows].T)
        np.testing.assert_allclose(found, each.covariance, atol=0.12)
    variances = [each.covariance[0, 0] for each in law.laws]
    assert variances == pytest.approx([0.98, 0.49, 0.98 / 3], abs=0.1)


def test_fit_takes_the_laws_of_different_numbers_of_readings():
    rng = np.random.default_rng(0)
    X = make_mod1(1, 300, random_state=0)[0]
    R = X[:, None] + noise.Gaussian((0.0, 3.0)).sample((900, 2), rng).reshape(300, 3, 2)
    R[::2, 1:] = np.nan
    R[0] = np.nan
    Z, law = noise.from_replicates(R)
    told = noise.PerObservation([noise.Gaussian((0.0, 3 / np.sqrt(r))) for r in (1, 3)], law.labels)
    fitted = []
    for each in (law, told):
        with pytest.warns(UserWarning, match="1 row of which no coordinate"):
            fitted.append(NoisyKMeans(2, noise=each, random_state=0).fit(Z).cluster_centers_)
    first, second = (centers[centers[:, 0].argsort()] for centers in fitted)
    np.testing.assert_allclose(first, second, atol=0.15)
    # The same as variances of each row.
    sizes = np.where(np.arange(300) % 2, 3 / np.sqrt(3), 3.0)[1:, None] * [0.0, 1.0]
    by_row = NoisyKMeans(2, random_state=0).fit(Z[1:], X_err=sizes).cluster_centers_
    np.testing.assert_allclose(by_row[by_row[:, 0].argsort()], second, atol=0.01)


def test_law_for_each_row_is_for_these_rows():
    law = noise.PerObservation([noise.Gaussian(1.0), noise.Gaussian(2.0)], [0, 1, 0])
    with pytest.raises(ValueError, match=r"laws for 3 observations.*X has 4 rows"):
        NoisyKMeans(2, noise=law).fit(np.random.default_rng(0).normal(size=(4, 2)))


def test_law_of_an_observation_chosen_at_random_is_a_mixture():
    law = noise.PerObservation([noise.Gaussian(1.0), noise.Uniform(2.0)], [0, 1, 1])
    contracts.check_characteristic_function(law, 2)
    contracts.check_sample(law, 2)
    contracts.check_covariance(law, 2)


@pytest.mark.parametrize("labels", [[0, 2], [-1, 0], [0.5, 1.0], [[0, 1]], []])
def test_labels_number_the_laws(labels):
    with pytest.raises(ValueError, match="labels must be"):
        noise.PerObservation([noise.Gaussian(1.0), noise.Gaussian(2.0)], labels)


def test_few_differences_make_a_gaussian_with_a_warning():
    _, R = readings(29, 2)
    with pytest.warns(UserWarning, match="R has only 29 differences.*a Gaussian law is fitted"):
        _, law = noise.from_replicates(R)
    assert isinstance(law, noise.Gaussian)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise.from_replicates(R, gaussian=True)


@pytest.mark.parametrize(
    ("R", "message"),
    [
        (np.ones((5, 1, 2)), "R has no object with two readings or more"),
        (np.where(np.arange(3) > 0, np.nan, np.ones((5, 3))), "R has no object with two readings"),
        (np.ones(5), r"R must be numbers of shape \(n, m, d\).*got shape \(5,\)"),
        (np.full((5, 2), "a"), "R must be numbers"),
        (np.full((5, 2), np.inf), "R must be finite, or NaN"),
    ],
)
def test_bad_readings_are_refused(R, message):
    with pytest.raises(ValueError, match=message):
        noise.from_replicates(R)


@pytest.mark.parametrize("readings", [0, 1.5, True])
def test_number_of_readings_is_a_positive_integer(readings):
    with pytest.raises(ValueError, match="readings must be a positive integer"):
        noise.Differences([1.0, 2.0], readings)
