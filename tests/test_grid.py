import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisykmeans.grid import MARGIN, Grid, check_dimension
from strategies import grids, steady


def test_nodes_and_points_by_hand():
    grid = Grid((0.0, -1.0), (0.5, 0.25), (2, 3))
    assert [x.tolist() for x in grid.nodes] == [[0.0, 0.5], [-1.0, -0.75, -0.5]]
    assert grid.upper == (0.5, -0.5)
    assert grid.dimension == 2
    assert grid.cell_volume == 0.125
    assert grid.points.tolist() == [[a, b] for a in (0.0, 0.5) for b in (-1.0, -0.75, -0.5)]


@steady
@given(st.integers(1, 3).flatmap(grids))
def test_points_run_as_the_values_of_the_shape_do(grid):
    assert grid.points.shape == (np.prod(grid.shape), grid.dimension)
    boxed = grid.points.reshape(*grid.shape, grid.dimension)
    for axis, x in enumerate(grid.nodes):
        shape = [-1 if v == axis else 1 for v in range(grid.dimension)]
        np.testing.assert_array_equal(
            boxed[..., axis], np.broadcast_to(x.reshape(shape), grid.shape)
        )
    np.testing.assert_array_equal(boxed[(-1,) * grid.dimension], grid.upper)


@steady
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9),
    st.floats(1e-2, 1e2),
)
def test_covering_is_dyadic_and_holds_the_data_with_a_margin(values, part):
    X = np.array(values)[:, None]
    width = np.ptp(X)
    spacing = max(width, 1e-3) * part / 100
    grid = Grid.covering(X, spacing)
    assert spacing / 2 < grid.spacing[0] <= spacing
    assert np.log2(grid.spacing[0]) % 1 == 0
    assert (grid.lower[0] / grid.spacing[0]) % 1 == 0
    rounding = 1e-9 * (1 + np.abs(X).max())
    assert X.min() - MARGIN * width - grid.lower[0] >= -rounding
    assert grid.upper[0] - X.max() - MARGIN * width >= -rounding
    assert X.min() - MARGIN * width - grid.lower[0] < grid.spacing[0] + rounding
    if width > 0:
        assert grid.upper[0] - X.max() - MARGIN * width < grid.spacing[0] + rounding


def test_covering_takes_one_spacing_or_one_per_axis_and_bounds_for_data():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert Grid.covering(X, 0.3) == Grid.covering(X, (0.3, 0.3))
    assert Grid.covering(X, (0.3, 0.1)).spacing == (0.25, 0.0625)
    assert Grid.covering(np.stack([X.min(axis=0), X.max(axis=0)]), 0.3) == Grid.covering(X, 0.3)
    assert Grid.covering(X.astype(np.float32), 0.3).shape == Grid.covering(X, 0.3).shape


def test_grids_of_different_samples_share_their_lattice():
    rng = np.random.default_rng(0)
    a, b = (Grid.covering(rng.normal(m, 1, size=(20, 1)), 0.1) for m in (0, 1e3))
    assert (b.lower[0] - a.lower[0]) % a.spacing[0] == 0


def test_far_away_data_keep_their_grid():
    X = np.random.default_rng(0).integers(-9, 9, size=(50, 3)).astype(float)
    near, far = Grid.covering(X, 0.5), Grid.covering(X + 2.0**20, 0.5)
    assert far.shape == near.shape
    assert far.lower == tuple(a + 2.0**20 for a in near.lower)


@steady
@given(st.integers(1, 3).flatmap(grids))
def test_no_two_nodes_are_half_a_period_apart(grid):
    for n, padded in zip(grid.shape, grid.padded_shape, strict=True):
        assert padded >= 2 * n - 1


@pytest.mark.parametrize("n", [2, 17, 97, 509, 1021])
def test_padded_lengths_are_products_of_small_primes(n):
    (length,) = Grid((0.0,), (1.0,), (n,)).padded_shape
    assert 2 * n - 1 <= length <= 1.2 * (2 * n - 1) + 2
    for prime in (2, 3, 5, 7, 11):
        while length % prime == 0:
            length //= prime
    assert length == 1


def test_frequencies_are_dual_to_the_nodes():
    grid = Grid((3.0, 0.0), (0.5, 0.25), (5, 9))
    n0, n1 = grid.padded_shape
    t0, t1 = grid.frequencies
    assert t0.shape == (n0,)
    assert t1.shape == (n1 // 2 + 1,)
    # A wave of any frequency has the padded length as a period.
    np.testing.assert_allclose(np.exp(1j * t0 * n0 * 0.5), 1, atol=1e-12)
    np.testing.assert_allclose(np.exp(1j * t1 * n1 * 0.25), 1, atol=1e-12)
    assert t1.min() == 0
    assert t1[1] == pytest.approx(2 * np.pi / (n1 * 0.25))
    assert t0.min() < 0 < t0.max()


def test_grids_are_values():
    grid = Grid((0.0,), (1.0,), (4,))
    assert grid == Grid((0.0,), (1.0,), (4,))
    assert grid != Grid((0.5,), (1.0,), (4,))
    assert hash(grid) == hash(Grid((0.0,), (1.0,), (4,)))
    assert eval(repr(grid)) == grid
    with pytest.raises(AttributeError, match="cannot assign"):
        grid.lower = (1.0,)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (((0.0,), (1.0, 1.0), (4,)), "lower, spacing and shape must have one entry an axis; got"),
        (((), (), ()), "a grid has 1 to 3 axes; got 0"),
        (((0.0,) * 4, (1.0,) * 4, (4,) * 4), "a grid has 1 to 3 axes; got 4: noise with more"),
        (((0.0, 0.0), (1.0, 1.0), (4, 1)), r"at least 2 nodes on each axis; got shape \(4, 1\)"),
        (((np.nan,), (1.0,), (4,)), "lower and spacing must be finite; got"),
        (((0.0,), (np.inf,), (4,)), "lower and spacing must be finite; got"),
        (((0.0,), (0.0,), (4,)), r"spacing must be positive; got \(0\.0,\)"),
        (((0.0,), (-1.0,), (4,)), r"spacing must be positive; got \(-1\.0,\)"),
    ],
)
def test_what_is_no_grid_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        Grid(*params)


@pytest.mark.parametrize("d", [0, 4, 10])
def test_number_of_axes_is_checked_on_its_own(d):
    with pytest.raises(ValueError, match=f"a grid has 1 to 3 axes; got {d}"):
        check_dimension(d)


@pytest.mark.parametrize("spacing", [1e-9, 1e-300])
def test_grid_beyond_the_memory_limit_says_how_much_it_would_need(spacing):
    message = r"nodes would need .* GiB for its Fourier transform, above the limit of 1 GiB: lower"
    with pytest.raises(ValueError, match=message):
        Grid.covering([[0.0, 0.0], [1.0, 1.0]], spacing)


def test_memory_is_that_of_the_transform():
    # 2 x 1280 nodes and two more on 3 axes: 8 * (2 * 1281)^3 bytes are 125 GiB.
    with pytest.raises(ValueError, match=r"of 1281 x 1281 x 1281 nodes would need 125 GiB"):
        Grid.covering(np.array([[0.0] * 3, [1066.0] * 3]), 1.0)
