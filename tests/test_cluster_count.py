"""How many clusters there are."""

import numpy as np
import pytest

from noisykmeans import select_n_clusters
from noisykmeans.cluster_count import ClusterCount
from noisykmeans.datasets import make_mod1
from noisykmeans.noise import Gaussian, Laplace, PerObservation


def separated(k, n, seed, apart=6.0):
    """Normal clusters of variance 1 on a circle, neighbours 6 apart, and errors as large."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(k) / k
    radius = apart / 2 / np.sin(np.pi / k) if k > 1 else 0.0
    means = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = means[rng.integers(k, size=n)] + rng.standard_normal((n, 2))
    return X + rng.standard_normal(X.shape)


def share_right(k, seeds):
    right = [
        select_n_clusters(separated(k, 300, s), noise=Gaussian(1.0), random_state=s).recommended
        for s in seeds
    ]
    return float(np.mean(np.array(right) == k))


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 5])
def test_separated_clusters_are_counted_in_nine_of_ten_data_sets(k):
    assert share_right(k, range(500, 550)) >= 0.9


@pytest.mark.slow
def test_one_cluster_is_one_cluster_in_nine_of_ten_data_sets():
    assert share_right(1, range(500, 520)) >= 0.9


@pytest.mark.statistical
@pytest.mark.parametrize("k", [1, 3])
def test_separated_clusters_are_counted(k):
    count = select_n_clusters(
        separated(k, 300, 900), range(1, 6), noise=Gaussian(1.0), n_copies=2, random_state=0
    )
    assert count.recommended == k
    assert count.candidates.tolist() == [1, 2, 3, 4, 5]
    assert count.stability[0] == 1
    assert count.stability[k - 1] > 0.95
    assert (count.gap_std_errors > 0).all()
    assert count.distortion[0] > count.distortion[-1]


def test_errors_do_not_count_as_clusters():
    # Vertical errors of variance 81: k-means sees no round clusters at all.
    Z = make_mod1(81, 400, random_state=0)[1]
    count = select_n_clusters(Z, [1, 2, 3], noise=Gaussian((0, 9)), n_copies=2, random_state=0)
    assert count.recommended == 2


@pytest.mark.parametrize(
    "errors",
    [
        {"X_err": np.ones(200)},
        {"X_cov": np.tile(np.eye(2), (200, 1, 1))},
        {"noise": Laplace(0.7)},
        {"noise": PerObservation([Gaussian(0.5), Gaussian(1.3)], [0, 1] * 100)},
        {"noise": Gaussian(0.7), "X_err": np.full(200, 0.7), "sample_weight": np.ones(200)},
        {"noise": Gaussian(1.0), "bandwidth": 1.0},
    ],
    ids=["deviations", "covariances", "Laplace", "of a few laws", "both", "kernel"],
)
def test_errors_of_all_kinds_are_taken(errors):
    Z = separated(3, 200, 1)
    count = select_n_clusters(Z, [2, 3, 4], n_copies=2, random_state=0, **errors)
    assert count.recommended == 3


def test_clean_points_and_holes_and_many_features_are_taken():
    Z = separated(2, 200, 1)
    assert select_n_clusters(Z, [1, 2, 3], n_copies=2, random_state=0).recommended == 2
    holes = Z.copy()
    holes[::10, 1] = np.nan
    noise = Gaussian(1.0)
    count = select_n_clusters(holes, [2, 3], noise=noise, n_copies=2, random_state=0)
    assert count.recommended == 2
    rng = np.random.default_rng(0)
    wide = np.hstack([Z, rng.standard_normal((200, 3))])
    count = select_n_clusters(wide, [2, 3], noise=noise, n_copies=2, random_state=0)
    assert count.recommended == 2


def test_seed_repeats_the_table():
    Z = separated(2, 100, 0)
    first, second = (
        select_n_clusters(Z, [1, 2], noise=Gaussian(1.0), n_copies=2, random_state=3)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.gap, second.gap)
    np.testing.assert_array_equal(first.stability, second.stability)
    assert str(first) == str(second)


def test_table_marks_the_recommended_number():
    values = np.array([[1, 2, 3], [9, 4, 3], [0.1, 0.9, 0.8], [0.1, 0.1, 0.1], [1.0, 1.0, 0.5]])
    lines = str(ClusterCount(*values, recommended=2)).splitlines()
    assert len(lines) == 4
    assert [line.endswith("<- recommended") for line in lines] == [False, False, True, False]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"candidates": [2]}, "candidates must be two different positive integers at least"),
        ({"candidates": [2, 2]}, "candidates must be two different positive integers at least"),
        ({"candidates": [0, 2]}, "candidates must be two different positive integers at least"),
        ({"candidates": [1.5, 2]}, "candidates must be two different positive integers at least"),
        ({"candidates": [2, 101]}, "candidates must not exceed the 100 rows of X; got 101"),
        ({"n_copies": 1}, "n_copies must be an integer, 2 or more; got 1"),
        ({"n_copies": "some"}, "n_copies must be an integer, 2 or more; got 'some'"),
        ({"X_err": np.ones(3)}, "X_err must have the shape"),
        ({"resolution": -1}, "resolution must be positive"),
    ],
)
def test_bad_input_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        select_n_clusters(separated(2, 100, 0), **{"noise": Gaussian(1.0)} | params)
