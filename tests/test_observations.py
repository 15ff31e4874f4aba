import joblib
import numpy as np
import pytest
from sklearn.metrics import pairwise_distances_argmin

import reference
from noisykmeans import _kernels
from noisykmeans.observations import Observations, bounds, closest, standard_deviation


def layouts(X):
    """The same rows in every layout: by rows, by columns, with gaps, backwards, not writable."""
    locked = X.copy()
    locked.setflags(write=False)
    yield from (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X[::-1][::-1], locked)
    yield np.repeat(X, 2, axis=1)[:, ::2]


@pytest.mark.parametrize("d", [1, 2, 3, 7, 600])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_are_those_of_the_slow_twin(d, dtype):
    X = np.random.default_rng(0).normal(size=(1111, d)).astype(dtype)
    for rows in layouts(X):
        np.testing.assert_array_equal(bounds(rows), reference.bounds(X))
    assert bounds(X).dtype == np.float64


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 500, 1110])
def test_bounds_tell_which_feature_has_a_value_that_is_not_finite(value, row):
    X = np.random.default_rng(0).normal(size=(1111, 3))
    X[row, 1] = value
    for rows in layouts(X):
        assert np.isnan(bounds(rows)).tolist() == [[False, True, False]] * 2


def test_bounds_of_the_largest_numbers_are_finite():
    X = np.array([[-1e308], [1e308], [5e-324]])
    assert bounds(X).tolist() == [[-1e308], [1e308]]


@pytest.mark.parametrize(("d", "k"), [(1, 2), (2, 1), (2, 3), (3, 50), (40, 7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_those_of_the_slow_twin_and_of_scikit_learn(d, k, dtype):
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(1111, d)).astype(dtype), rng.normal(size=(k, d))
    for rows in layouts(X):
        np.testing.assert_array_equal(closest(rows, centers), reference.closest(X, centers))
    np.testing.assert_array_equal(
        closest(X, centers), pairwise_distances_argmin(X.astype(np.float64), centers)
    )
    assert closest(X, centers).dtype == np.int32


def test_of_centers_as_close_the_first_has_the_point():
    X = np.array([[0.0, 0.0], [1.0, 5.0], [-1.0, 2.0]])
    assert closest(X, [[1, 0], [-1, 0], [1, 0], [0, 1]]).tolist() == [0, 3, 3]
    assert closest(X, [[0, 1], [0, 1]]).tolist() == [0, 0, 0]


def test_labels_far_from_the_origin_are_those_near_it():
    rng = np.random.default_rng(0)
    X, centers = rng.integers(0, 2**10, (500, 2)) / 8, rng.integers(0, 2**10, (5, 2)) / 8
    np.testing.assert_array_equal(closest(X + 2.0**40, centers + 2.0**40), closest(X, centers))


def test_bounds_and_labels_are_the_same_for_any_number_of_threads(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1000, 3))
    expected = bounds(X), closest(X, X[:9])
    monkeypatch.setattr(_kernels.threads, "BLOCK", 64)
    for n in (1, 2, 7):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n: n)
        np.testing.assert_array_equal(bounds(X), expected[0])
        np.testing.assert_array_equal(closest(X, X[:9]), expected[1])


def test_weights_of_1_need_no_array():
    X = np.array([[0.0, 5.0], [1.0, 5.0]])
    plain, weighted = (Observations(X, w, bounds(X)) for w in (None, np.array([1.5, 2.0])))
    assert (plain.mass, plain.each_weight.tolist()) == (2.0, [1.0, 1.0])
    assert (weighted.mass, weighted.each_weight.tolist()) == (3.5, [1.5, 2.0])
    assert weighted.features([0, 1]) is weighted
    assert weighted.features([1]).X.tolist() == [[5.0], [5.0]]


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standard_deviation_is_numpy_s_of_the_repeated_sample(d, dtype):
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(300, d)) * 10.0 ** rng.integers(-3, 3, d)).astype(dtype)
    weights = rng.integers(0, 4, 300).astype(np.float64)
    expected = np.repeat(X.astype(np.float64), weights.astype(int), axis=0).std(axis=0)
    for rows in layouts(X):
        np.testing.assert_allclose(standard_deviation(rows, weights), expected, rtol=1e-12)


def test_standard_deviation_neither_overflows_nor_cancels():
    X = np.array([[1e200], [-1e200]])
    assert standard_deviation(X, np.ones(2)) == pytest.approx([1e200])
    far = np.array([[1e6], [1e6 + 2]], dtype=np.float64)
    assert standard_deviation(far, np.ones(2)) == pytest.approx([1], rel=1e-12)
    assert standard_deviation(np.ones((5, 2)), np.ones(5)).tolist() == [0, 0]


def test_standard_deviation_is_the_same_for_any_number_of_threads(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1000, 2))
    monkeypatch.setattr(_kernels.threads, "BLOCK", 64)
    values = []
    for n in (1, 2, 7):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n: n)
        values.append(standard_deviation(X, np.ones(1000)).tolist())
    assert values[0] == values[1] == values[2]
