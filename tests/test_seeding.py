import numpy as np
import pytest

import reference
from noisykmeans import _kernels, seeding
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.measure import WeightedPoints

DRAWS = [seeding.plus_plus, seeding.random]
BOTH = pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: draw.__name__)


def two_bumps():
    grid = Grid((-4.0, -1.0), (0.25, 0.25), (33, 9))
    x, y = grid.points.T
    values = np.exp(-8 * ((np.abs(x) - 3) ** 2 + y**2)) - 0.01
    return Density(grid, values.reshape(grid.shape))


@BOTH
def test_starts_are_different_points_of_the_support(draw):
    density = two_bumps()
    nodes = set(map(tuple, density.support()[0]))
    assert len(nodes) < density.values.size
    for seed in range(20):
        centers = draw(density, 5, np.random.RandomState(seed))
        assert centers.shape == (5, 2)
        assert len(np.unique(centers, axis=0)) == 5
        assert set(map(tuple, centers)) <= nodes


@BOTH
def test_starts_are_reproducible_and_vary_with_the_seed(draw):
    density = two_bumps()
    first, again, other = (draw(density, 3, np.random.RandomState(s)) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@BOTH
def test_unit_of_mass_does_not_matter(draw):
    density = two_bumps()
    tiny = Density(density.grid, density.values * 2.0**-600)
    for seed in range(5):
        a, b = (draw(f, 4, np.random.RandomState(seed)) for f in (density, tiny))
        np.testing.assert_array_equal(a, b)


def test_plus_plus_takes_a_center_in_each_bump():
    for seed in range(50):
        centers = seeding.plus_plus(two_bumps(), 2, np.random.RandomState(seed))
        assert np.sign(centers[:, 0]).sum() == 0


def test_random_starts_follow_the_mass():
    measure = WeightedPoints([[0.0], [1.0], [2.0]], [1.0, 3.0, 0.0])
    rng = np.random.RandomState(0)
    drawn = np.array([seeding.random(measure, 1, rng)[0, 0] for _ in range(4000)])
    assert drawn.mean() == pytest.approx(0.75, abs=0.03)
    assert drawn.max() == 1


def test_random_starts_leave_out_points_without_mass():
    measure = WeightedPoints([[0.0], [1.0], [2.0]], [1.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="the measure has 2 points of positive mass, fewer than"):
        seeding.random(measure, 3, np.random.RandomState(0))


@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_plus_plus_is_that_of_the_slow_twin(d, k):
    rng = np.random.default_rng(10 * d + k)
    points, weights = rng.standard_normal((201, d)), rng.random(201) * (rng.random(201) < 0.8)
    uniform = rng.random((k, 2 + int(np.log(k))))
    chosen = np.empty(k, dtype=np.intp)
    _kernels.spreading.spread(np.ascontiguousarray(points.T), weights, uniform, chosen)
    assert chosen.tolist() == reference.plus_plus(points, weights, uniform)


def test_plus_plus_on_fewer_places_than_centers_repeats_one():
    measure = WeightedPoints([[1.0], [1.0], [2.0]])
    for seed in range(9):
        centers = seeding.plus_plus(measure, 3, np.random.RandomState(seed))
        assert set(centers.ravel()) == {1.0, 2.0}


@BOTH
def test_more_centers_than_points_are_refused(draw):
    density = Density(Grid((0.0,), (1.0,), (4,)), [1.0, -1.0, 1.0, 0.0])
    message = r"has 2 points of positive mass, fewer than n_clusters=3: lower n_clusters or raise"
    with pytest.raises(ValueError, match=message):
        draw(density, 3, np.random.RandomState(0))
    assert draw(density, 2, np.random.RandomState(0)).shape == (2, 1)


def test_plus_plus_counts_points_of_positive_mass_only():
    measure = WeightedPoints([[0.0], [1.0], [2.0]], [1.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="the measure has 2 points of positive mass, fewer than"):
        seeding.plus_plus(measure, 3, np.random.RandomState(0))
