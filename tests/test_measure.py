import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.cluster import KMeans

from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.measure import Measure, WeightedPoints, distinct, smallest_mass
from strategies import steady


def measures(d):
    rng = np.random.default_rng(d)
    grid = Grid((-1.0,) * d, (0.25,) * d, (9,) * d)
    return [
        WeightedPoints(rng.normal(size=(40, d))),
        WeightedPoints(rng.normal(size=(40, d)), rng.random(40)),
        Density(grid, rng.random(grid.shape)).projected(),
        Density(grid, rng.random(grid.shape)),
    ]


CASES = [(d, i) for d in (1, 2, 3) for i in range(4)]


@pytest.mark.parametrize(("d", "i"), CASES)
def test_every_measure_keeps_the_contract(d, i):
    measure = measures(d)[i]
    assert measure.mean.shape == measure.scale.shape == (d,)
    assert (measure.scale > 0).all()
    assert measure.mass > 0
    assert measure.spread > 0
    points, weights = measure.support()
    assert weights.sum() == pytest.approx(measure.mass)
    np.testing.assert_allclose(weights @ points / measure.mass, measure.mean, atol=1e-12)
    centers = np.random.default_rng(0).normal(size=(4, d))
    masses, moments = measure.cell_moments(centers)
    assert masses.shape == (4,)
    assert moments.shape == (4, d)
    assert masses.sum() == pytest.approx(measure.mass)
    np.testing.assert_allclose(moments.sum(axis=0), measure.mean * measure.mass, atol=1e-10)
    one = measure.cell_moments(np.zeros((1, d)))
    np.testing.assert_allclose(one[0], measure.mass)


@pytest.mark.parametrize(("d", "i"), CASES)
def test_descent_moves_every_center_to_the_mean_of_its_cell(d, i):
    measure = measures(d)[i]
    start = np.random.default_rng(3).uniform(-1, 1, size=(3, d))
    masses, moments = measure.cell_moments(start)
    assert (masses > 0).all()
    once, n_iter = measure.descend(start, 1, 0.0)
    np.testing.assert_allclose(once, moments / masses[:, None], atol=1e-12)
    assert n_iter == 1
    generic, n_generic = Measure.descend(measure, start, 20, 1e-3)
    centers, n_iter = measure.descend(start, 20, 1e-3)
    np.testing.assert_allclose(centers, generic, atol=1e-10)
    assert n_iter == n_generic


@pytest.mark.parametrize(("d", "i"), CASES)
def test_center_without_mass_stays(d, i):
    measure = measures(d)[i]
    centers, _ = measure.descend([[50.0] * d, [0.0] * d], 5, 0.0)
    np.testing.assert_allclose(centers[0], 50, rtol=1e-13)
    np.testing.assert_allclose(centers[1], measure.mean, atol=1e-12)


@pytest.mark.parametrize(("d", "i"), CASES)
def test_descent_ends_when_centers_rest(d, i):
    measure = measures(d)[i]
    start = np.random.default_rng(1).uniform(-1, 1, size=(3, d))
    centers, n_iter = measure.descend(start, 500, 1e-6)
    assert n_iter < 500
    again, moves = measure.descend(centers, 500, 1e-6)
    assert moves == 1
    assert (np.abs(again - centers) <= 1e-6 * measure.scale).all()
    assert measure.descend(start, 0, 0.0)[1] == 0


def test_points_by_hand():
    measure = WeightedPoints([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]], [1.0, 1.0, 2.0])
    assert measure.mass == 4
    assert measure.mean.tolist() == [0.5, 2.0]
    assert measure.spread == 0.25 + 4 + 2.25 + 4 + 2 * (0.25 + 4)
    masses, moments = measure.cell_moments([[0.0, 4.0], [1.0, 0.0]])
    assert masses.tolist() == [2, 2]
    assert moments.tolist() == [[0.0, 8.0], [2.0, 0.0]]
    assert measure.scale.tolist() == [np.sqrt(19 / 8)] * 2


def test_points_without_weights_have_mass_one():
    assert WeightedPoints([[0.0], [1.0], [5.0]]).mass == pytest.approx(1)


def test_tie_goes_to_the_first_center():
    masses, _ = WeightedPoints([[0.0]]).cell_moments([[1.0], [-1.0], [1.0]])
    assert masses.tolist() == [1, 0, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_descent_on_points_is_k_means(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 3 * rng.integers(3, size=(300, 1))
    weights = rng.random(300) if weighted else np.ones(300)
    start = X[:4]
    centers, _ = WeightedPoints(X, weights).descend(start, 300, 0.0)
    oracle = KMeans(4, init=start, n_init=1, tol=0, algorithm="lloyd").fit(X, sample_weight=weights)
    np.testing.assert_allclose(centers, oracle.cluster_centers_, atol=1e-12)


def test_smallest_mass_is_relative_and_not_negative():
    assert smallest_mass(2.0) == smallest_mass(-2.0) == pytest.approx(2e-12)


samples = st.integers(1, 20).flatmap(
    lambda n: st.tuples(
        npst.arrays(float, (n, 2), elements=st.integers(-2, 2)),
        npst.arrays(float, n, elements=st.integers(1, 4)),
    )
)


@steady
@given(samples)
def test_merging_keeps_the_sample(sample):
    X, weights = sample
    points, merged = distinct(X, weights)
    assert len(np.unique(points, axis=0)) == len(points)
    a = WeightedPoints(X, weights).cell_moments([[0.3, 0.1], [-1.2, 0.7]])
    b = WeightedPoints(points, merged).cell_moments([[0.3, 0.1], [-1.2, 0.7]])
    np.testing.assert_allclose(b[0], a[0])
    np.testing.assert_allclose(b[1], a[1], atol=1e-12)


@steady
@given(samples)
def test_weight_is_as_many_repetitions(sample):
    X, weights = sample
    repeated = np.repeat(X, weights.astype(int), axis=0)[::-1]
    a, b = distinct(X, weights), distinct(repeated, np.ones(len(repeated)))
    if len(a[0]) < len(X) or (weights != 1).any():
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


@pytest.mark.parametrize("X", [[[3.0], [1.0], [2.0]], [[1.0, 3.0], [1.0, 1.0]]])
def test_points_that_are_all_different_come_back_as_they_are(X):
    X, weights = np.array(X), np.ones(len(X))
    points, same = distinct(X, weights)
    assert points is X
    assert same is weights


def test_measure_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Measure()
