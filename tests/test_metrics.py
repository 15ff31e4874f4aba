import itertools

import numpy as np
import pytest

from noisykmeans import metrics


def test_risk_is_the_smallest_over_all_matchings():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 2)), rng.integers(4, size=50)
    centers = rng.standard_normal((4, 2))
    closest = ((X[:, None] - centers) ** 2).sum(-1).argmin(1)
    every = [np.mean(np.array(m)[closest] != y) for m in itertools.permutations(range(4))]
    assert metrics.clustering_risk(centers, X, y) == pytest.approx(min(every))


def test_risk_counts_what_has_no_partner_when_centers_are_too_few():
    X, y = [[0.0], [1.0], [9.0]], [0, 1, 2]
    assert metrics.clustering_risk([[0.5], [9.0]], X, y) == pytest.approx(1 / 3)


def test_distortion_is_the_mean_squared_distance_to_the_closest():
    rng = np.random.default_rng(1)
    X, centers = rng.standard_normal((50, 3)), rng.standard_normal((4, 3))
    direct = ((X[:, None] - centers) ** 2).sum(-1).min(1).mean()
    assert metrics.clean_distortion(centers, X) == pytest.approx(direct)
