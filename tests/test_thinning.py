"""Rows of many features that come in batches."""

import numpy as np
import pytest

from noisykmeans import NoisyKMeans, noise, thinning
from noisykmeans.batches import Batch
from noisykmeans.thinning import Thinned, thinned

CENTERS = 6 * np.vstack([np.eye(2, 5), np.zeros(5)])


def observed(n, seed=0):
    rng = np.random.default_rng(seed)
    return CENTERS[rng.integers(3, size=n)] + rng.standard_normal((n, 5)) * [1, 1, 1, 3, 3]


def model(**params):
    return NoisyKMeans(3, noise=noise.Gaussian((0.5, 0.5, 0.5, 2.8, 2.8)), random_state=0, **params)


def sorted_rows(X):
    return X[np.lexsort(X.T)]


def ordered(centers):
    return centers[[np.abs(centers - c).sum(axis=1).argmin() for c in CENTERS]]


def test_sample_is_the_same_for_any_order_and_batches(monkeypatch):
    monkeypatch.setattr(thinning, "MOST_ROWS", 100)
    X = observed(1000)
    whole = Thinned.of(Batch(X))
    assert whole.rows.shape == (100, 5)
    rng = np.random.default_rng(1)
    for _ in range(5):
        parts = np.split(X[rng.permutation(1000)], np.sort(rng.integers(0, 1001, 6)))
        other = thinned(map(Batch, parts))
        np.testing.assert_array_equal(other.rows, whole.rows)
        np.testing.assert_array_equal(other.weights, whole.weights)
        assert other.counts.mass == 1000


def test_sample_is_fair(monkeypatch):
    monkeypatch.setattr(thinning, "MOST_ROWS", 2000)
    X = np.arange(20_000.0)[:, None] * [1, -1]
    kept = Thinned.of(Batch(X)).rows[:, 0]
    counts = np.histogram(kept, bins=20, range=(0, 20_000))[0]
    assert np.abs(counts - 100).max() < 40


def test_equal_rows_are_one_of_their_weights_together():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [-0.0, 1.0]])
    sample = Thinned.of(Batch(X, np.array([1.0, 0.0, 2.5])))
    assert sample.rows.tolist() == [[0.0, 1.0]]
    assert sample.weights.tolist() == [3.5]
    assert sample.counts.rows == 2


def test_errors_and_weights_stay_with_their_rows():
    X, sizes = observed(50), np.random.default_rng(0).random((50, 5))
    sample = Thinned.of(Batch(X, np.arange(1.0, 51), X_err=sizes))
    for row, weight, size in zip(sample.rows, sample.weights, sample.errors, strict=True):
        (i,) = np.flatnonzero((row == X).all(axis=1))
        assert weight == i + 1
        np.testing.assert_array_equal(size, sizes[i])
    assert set(sample.given) == {"X", "sample_weight", "X_err"}


@pytest.mark.parametrize("way", ["batches", "generator", "partial_fit"])
def test_batches_of_many_features_are_fitted_as_one_array(way):
    X = observed(900)
    parts = np.array_split(X, 7)
    streamed = model()
    if way == "partial_fit":
        for part in parts:
            streamed.partial_fit(part)
    else:
        streamed.fit_batches(parts if way == "batches" else iter(parts))
    whole = model().fit(X)
    got, wanted = ordered(streamed.cluster_centers_), ordered(whole.cluster_centers_)
    np.testing.assert_allclose(got, wanted, atol=0.1)
    assert np.abs(got - CENTERS).max() < 1
    assert not hasattr(streamed, "labels_")
    assert streamed.n_features_in_ == 5
    assert streamed.predict(X).shape == (900,)


def test_more_rows_can_come_after_the_centers_were_asked_for():
    first, second = observed(400), observed(500, 1)
    asked = model().partial_fit(first)
    assert asked.cluster_centers_.shape == (3, 5)
    once = model().partial_fit(first).partial_fit(second)
    asked.partial_fit(second)
    np.testing.assert_array_equal(asked.cluster_centers_, once.cluster_centers_)


def test_a_sample_of_many_rows_leads_to_the_same_clusters(monkeypatch):
    monkeypatch.setattr(thinning, "MOST_ROWS", 2000)
    streamed = model().fit_batches(np.array_split(observed(30_000), 9))
    assert np.abs(ordered(streamed.cluster_centers_) - CENTERS).max() < 0.6
    assert streamed.inertia_ > 30_000


def test_errors_of_rows_come_with_batches():
    X, sizes = observed(600), np.random.default_rng(0).uniform(0.2, 1, (600, 5))
    Z = X + sizes * np.random.default_rng(1).standard_normal(X.shape)
    parts = zip(np.array_split(Z, 4), np.array_split(sizes, 4), strict=True)
    batches = [Batch(z, X_err=s) for z, s in parts]
    streamed, whole = model().fit_batches(batches), model().fit(Z, X_err=sizes)
    got, wanted = ordered(streamed.cluster_centers_), ordered(whole.cluster_centers_)
    np.testing.assert_allclose(got, wanted, atol=0.2)


def test_rows_with_missing_values_are_counted_in_many_features():
    X = observed(300)
    X[5, 2] = np.nan
    with pytest.raises(ValueError, match="1 of 300 rows have a value that is missing or infinite"):
        model().fit_batches([X])
    kept = model().fit_batches([X], drop_missing=True)
    assert kept.n_dropped_ == 1
