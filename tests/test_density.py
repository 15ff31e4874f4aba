import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import optimize

import reference
from noisykmeans import _kernels
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from strategies import grids, steady


@st.composite
def signed(draw, d):
    """Values on a small grid whose positive part has a mass."""
    grid = draw(grids(d))
    values = draw(npst.arrays(float, grid.shape, elements=st.floats(-2, 5, width=32)))
    values.ravel()[0] += 6
    return Density(grid, values)


@st.composite
def with_centers(draw, d):
    """A density and up to five centers, some of them outside or at the same place."""
    density = draw(signed(d))
    grid = density.grid
    k = draw(st.integers(1, 5))
    u = draw(npst.arrays(float, (k, d), elements=st.floats(-0.5, 1.5, width=32)))
    centers = np.array(grid.lower) + u * (np.array(grid.upper) - grid.lower)
    if k > 1 and draw(st.booleans()):
        centers[-1] = centers[0]
    return density, centers


def smooth(d, n, seed=0):
    """A density of three bumps on n nodes per axis over about [-4, 4]^d, of unequal spacing."""
    rng = np.random.default_rng(seed)
    spacing = tuple((8 / n) * f for f in (1.0, 0.75, 1.25)[:d])
    grid = Grid((-4.0, -3.0, -5.0)[:d], spacing, (n,) * d)
    points, values = grid.points, 0
    for m in rng.uniform(-2, 2, size=(3, d)):
        values = values + np.exp(-((points - m) ** 2).sum(axis=1))
    return Density(grid, values.reshape(grid.shape)).clipped()


def unequal_centers(density, k, seed=0):
    """Centers in and around the grid; the last two at one place, and one far away."""
    rng = np.random.default_rng(seed)
    d = density.grid.dimension
    centers = rng.uniform(density.grid.lower, density.grid.upper, size=(k, d))
    if k > 2:
        centers[-1] = centers[-2]
    if k > 4:
        centers[1] = 1e6
    return centers


# The projection on densities


@steady
@given(st.integers(1, 3).flatmap(signed))
def test_projection_is_that_of_the_slow_twin(density):
    total = 1 / density.grid.cell_volume
    if np.maximum(density.values, 0).sum() <= total:
        expected = density.clipped().values
    else:
        expected = reference.projected(density.values, total)
    np.testing.assert_allclose(density.projected().values, expected, atol=1e-12 * (1 + total))


@steady
@given(npst.arrays(float, st.integers(1, 40), elements=st.floats(-9, 9)), st.floats(0.01, 100))
def test_threshold_solves_its_equation(values, total):
    xi = _kernels.projection.threshold(values, total)
    assert np.maximum(values - xi, 0).sum() == pytest.approx(total, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threshold_takes_both_precisions(dtype):
    values = np.array([0.5, -0.25, 0.5, 0.25, 0.75], dtype=dtype)
    # (0.5 - xi) * 2 + (0.75 - xi) = 1 at xi = 0.25, where the fourth is just left out.
    assert _kernels.projection.threshold(values, 1.0) == 0.25


@steady
@given(st.integers(1, 3).flatmap(signed))
def test_projected_and_clipped_are_densities(density):
    for repaired in (density.projected(), density.clipped()):
        assert (repaired.values >= 0).all()
        assert repaired.mass == pytest.approx(1, rel=1e-12)
        np.testing.assert_allclose(repaired.projected().values, repaired.values, atol=1e-12)


def test_projection_is_the_closest_density():
    rng = np.random.default_rng(0)
    f = rng.normal(0.2, 0.5, size=12)
    density = Density(Grid((0.0,), (0.5,), (12,)), f)
    solved = optimize.minimize(
        lambda g: ((g - f) ** 2).sum(),
        np.full(12, 1 / 6),
        jac=lambda g: 2 * (g - f),
        bounds=[(0, None)] * 12,
        constraints={"type": "eq", "fun": lambda g: g.sum() / 2 - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(density.projected().values, solved.x, atol=1e-6)


@steady
@given(st.integers(1, 2).flatmap(signed), st.integers(0, 2**31))
def test_projection_never_raises_the_error(density, seed):
    if np.maximum(density.values, 0).sum() <= 1 / density.grid.cell_volume:
        return  # mass is missing on the grid, and the clipped density is no projection
    truth = np.random.default_rng(seed).exponential(size=density.grid.shape)
    truth /= truth.sum() * density.grid.cell_volume
    after = ((density.projected().values - truth) ** 2).sum()
    before = ((density.values - truth) ** 2).sum()
    assert after <= before * (1 + 1e-12)


def test_density_whose_mass_lies_beyond_the_grid_is_not_lifted():
    density = Density(Grid((0.0,), (1.0,), (4,)), [0.5, 0.0, -0.1, 0.0])
    assert density.projected().values.tolist() == [1, 0, 0, 0]


def test_clipping_by_hand():
    density = Density(Grid((0.0,), (0.5,), (4,)), [1.5, -1.0, 0.5, 0.0])
    assert density.clipped().values.tolist() == [1.5, 0.0, 0.5, 0.0]
    assert density.mass == 0.5


# Moments


@steady
@given(st.integers(1, 3).flatmap(signed))
def test_mass_and_mean_are_sums_over_nodes(density):
    f = density.clipped()
    weights = f.values.ravel() * f.grid.cell_volume
    assert f.mass == pytest.approx(weights.sum())
    np.testing.assert_allclose(f.mean, weights @ f.grid.points, atol=1e-12 * 50)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_spread_is_that_of_the_pieces(d):
    f = smooth(d, 12)
    factor = 16
    assert f.grid.dimension == d
    squares = 0.0
    planes = f._planes
    for v, x in enumerate(f.grid.nodes):
        n = planes if d == 3 and v == 0 else factor
        pieces = (x[:, None] + f.grid.spacing[v] * ((np.arange(n) + 0.5) / n - 0.5)).ravel()
        mass = np.repeat(f._marginals[v], n) / n
        # Planes are thin; other pieces have a width of their own.
        within = 0 if d == 3 and v == 0 else (f.grid.spacing[v] / n) ** 2 / 12
        squares += mass @ (pieces - f.mean[v]) ** 2 + within
    assert f.spread == pytest.approx(squares, rel=1e-12)


# Cells


@pytest.mark.parametrize("k", range(1, 13))
def test_cells_on_a_line_are_exact(k):
    density = smooth(1, 100)
    for seed in range(5):
        centers = unequal_centers(density, k, seed)
        masses, moments = density.cell_moments(centers)
        expected = reference.line_cell_moments(density, centers)
        np.testing.assert_allclose(masses, expected[0], atol=1e-14)
        np.testing.assert_allclose(moments, expected[1], atol=1e-13)


@steady
@given(with_centers(1))
def test_cells_on_a_line_are_those_of_the_slow_twin(case):
    density, centers = case
    masses, moments = density.cell_moments(centers)
    expected = reference.line_cell_moments(density, centers)
    size = np.abs(density.values).sum() * density.grid.cell_volume
    far = 1 + np.abs(density.grid.points).max()
    np.testing.assert_allclose(masses, expected[0], atol=1e-9 * size)
    np.testing.assert_allclose(moments, expected[1], atol=1e-9 * size * far)


@steady
@given(with_centers(2))
def test_cells_on_a_plane_are_those_of_the_slow_twin(case):
    density, centers = case
    masses, moments = density.cell_moments(centers)
    expected = reference.plane_cell_moments(density, centers, np.zeros(len(centers)))
    size = np.abs(density.values).sum() * density.grid.cell_volume
    far = 1 + np.abs(density.grid.points).max()
    np.testing.assert_allclose(masses, expected[0], atol=1e-9 * size)
    np.testing.assert_allclose(moments, expected[1], atol=1e-9 * size * far)


@pytest.mark.parametrize("k", range(1, 13))
def test_cells_on_a_plane_are_exact(k):
    density = smooth(2, 10)
    centers = unequal_centers(density, k)
    masses, moments = density.cell_moments(centers)
    expected = reference.plane_cell_moments(density, centers, np.zeros(k))
    np.testing.assert_allclose(masses, expected[0], atol=1e-13)
    np.testing.assert_allclose(moments, expected[1], atol=1e-12)


@pytest.mark.parametrize("k", range(1, 13))
@pytest.mark.parametrize(("d", "n"), [(1, 200), (2, 40), (3, 10)])
def test_cells_are_those_of_brute_force_to_a_thousandth(d, n, k):
    density = smooth(d, n, seed=k)
    centers = unequal_centers(density, k, seed=k)
    masses, moments = density.cell_moments(centers)
    expected = reference.cell_moments(density, centers, 16)
    np.testing.assert_allclose(masses, expected[0], atol=1e-3)
    np.testing.assert_allclose(moments, expected[1], atol=1e-3 * 5)


@steady
@given(st.integers(1, 3).flatmap(with_centers))
def test_cells_are_a_partition(case):
    density, centers = case
    masses, moments = density.cell_moments(centers)
    size = np.abs(density.values).sum() * density.grid.cell_volume
    far = 1 + np.abs(density.grid.points).max()
    assert masses.sum() == pytest.approx(density.mass, abs=1e-9 * size)
    whole = density.values.ravel() @ density.grid.points * density.grid.cell_volume
    np.testing.assert_allclose(moments.sum(axis=0), whole, atol=1e-9 * size * far)


@steady
@given(st.integers(1, 3).flatmap(with_centers), st.randoms(use_true_random=False))
def test_order_of_distinct_centers_does_not_matter(case, random):
    density, centers = case
    centers = np.unique(centers, axis=0)
    order = list(range(len(centers)))
    random.shuffle(order)
    a, b = density.cell_moments(centers), density.cell_moments(centers[order])
    size = np.abs(density.values).sum() * density.grid.cell_volume
    np.testing.assert_allclose(b[0], a[0][order], atol=1e-9 * size)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_first_of_coincident_centers_owns_the_cell(d):
    density = smooth(d, 12)
    masses, moments = density.cell_moments([[0.1] * d, [0.1] * d, [0.1] * d])
    assert masses == pytest.approx([1, 0, 0])
    np.testing.assert_allclose(moments[0], density.mean, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("far", [1e3, 1e9, 1e150])
def test_far_away_center_has_no_mass(d, far):
    density = smooth(d, 12)
    masses, _ = density.cell_moments([[far] * d, [0.0] * d, [-far] + [0.0] * (d - 1)])
    assert masses == pytest.approx([0, 1, 0], abs=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_density_far_from_the_origin_has_the_same_cells_there(d):
    near = smooth(d, 16)
    shift = 2.0**20
    far = Density(
        Grid(tuple(a + shift for a in near.grid.lower), near.grid.spacing, near.grid.shape),
        near.values,
    )
    centers = unequal_centers(near, 4)
    a, b = near.cell_moments(centers), far.cell_moments(centers + shift)
    np.testing.assert_allclose(b[0], a[0], atol=1e-8)
    np.testing.assert_allclose(b[1] - shift * b[0][:, None], a[1], atol=1e-7)
    assert far.spread == pytest.approx(near.spread, rel=1e-8)


def test_cells_by_hand():
    # Four voxels of masses 1 to 4 over [-0.5, 3.5]; the border at 1 halves the second.
    density = Density(Grid((0.0,), (1.0,), (4,)), [1.0, 2.0, 3.0, 4.0])
    masses, moments = density.cell_moments([[2.0], [0.0]])
    assert masses.tolist() == [8, 2]
    assert moments.ravel() == pytest.approx([1 * 1.25 + 3 * 2 + 4 * 3, 0 + 1 * 0.75])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_layout_of_values_and_centers_does_not_matter(d):
    f, rng = smooth(d, 8), np.random.default_rng(0)
    centers = rng.uniform(-2, 2, size=(4, d)).astype(np.float32)
    expected = f.cell_moments(centers.astype(float))
    fortran = Density(f.grid, np.asfortranarray(f.values))
    for c in (centers, np.asfortranarray(centers), centers.astype(float).tolist()):
        for actual, value in zip(fortran.cell_moments(c), expected, strict=True):
            np.testing.assert_array_equal(actual, value)
    single = Density(f.grid, f.values.astype(np.float32))
    np.testing.assert_allclose(single.cell_moments(centers)[0], expected[0], atol=1e-6)
    np.testing.assert_array_equal(
        fortran.projected().values, Density(f.grid, np.array(f.values)).projected().values
    )


@pytest.mark.parametrize("shape", [(1, 5, 7), (4, 5, 7)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_prefix_sums_are_cumulative_sums(shape, order, dtype):
    values = np.asarray(
        np.random.default_rng(0).integers(0, 9, size=shape), dtype=dtype, order=order
    )
    prefix = np.empty((*shape[:2], shape[2] + 1, 2))
    side = np.empty((shape[0], shape[1] + 1, 3))
    _kernels.sweep.prefix_sums(values, prefix, side)
    x, y = np.arange(shape[2]) + 0.5, np.arange(shape[1]) + 0.5
    zero = np.zeros((*shape[:2], 1))
    for v, f in enumerate((values, values * x)):
        np.testing.assert_array_equal(prefix[..., v], np.concatenate([zero, f.cumsum(2)], 2))
    rows = values.sum(axis=2)
    for v, f in enumerate((rows, rows * y, (values * x).sum(axis=2))):
        np.testing.assert_array_equal(
            side[..., v], np.concatenate([np.zeros((shape[0], 1)), f.cumsum(1)], 1)
        )


# Lloyd's iterations in one loop


@pytest.mark.parametrize("d", [1, 2, 3])
def test_descent_is_that_of_the_slow_twin(d):
    density = smooth(d, 16)
    for seed in range(5):
        start = unequal_centers(density, 6, seed)
        for max_iter in (0, 1, 7):
            centers, n_iter = density.descend(start, max_iter, 0.0)
            expected = reference.lloyd(density, start, max_iter, 0.0)
            np.testing.assert_allclose(centers, expected, atol=1e-9, rtol=1e-12)
            assert n_iter <= max_iter


def test_descent_does_not_write_to_its_start():
    start = np.array([[-1.0], [1.0]])
    smooth(1, 50).descend(start, 5, 0.0)
    assert start.tolist() == [[-1.0], [1.0]]


# As a function, as points, as a source


def test_values_between_nodes_are_linear_and_zero_beyond():
    density = Density(Grid((0.0, 0.0), (1.0, 2.0), (2, 2)), [[1.0, 2.0], [3.0, 8.0]])
    X = [[0, 0], [0, 2], [0.5, 0], [0.5, 1.0], [1, 2], [1.5, 1], [-0.1, 0], [0, 9]]
    assert density(X) == pytest.approx([1, 2, 2, 3.5, 8, 0, 0, 0])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_values_at_nodes_are_the_values(d):
    density = smooth(d, 8)
    np.testing.assert_allclose(density(density.grid.points), density.values.ravel(), atol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_sample_follows_the_density(d):
    density = smooth(d, 12)
    X = density.sample(40_000, 0)
    assert X.shape == (40_000, d)
    np.testing.assert_allclose(X.mean(axis=0), density.mean, atol=0.04)
    assert ((X - density.mean) ** 2).sum(axis=1).mean() == pytest.approx(density.spread, rel=0.03)
    centers = np.random.default_rng(1).uniform(-2, 2, size=(3, d))
    closest = ((X[:, None] - centers) ** 2).sum(axis=-1).argmin(axis=1)
    shares = np.bincount(closest, minlength=3) / len(X)
    np.testing.assert_allclose(shares, density.cell_moments(centers)[0], atol=0.015)


def test_sample_is_reproducible_and_stays_in_positive_voxels():
    density = Density(Grid((0.0,), (1.0,), (4,)), [0.0, 0.5, 0.0, 0.5])
    X = density.sample(100, 3)
    np.testing.assert_array_equal(density.sample(100, np.random.default_rng(3)), X)
    assert set(np.rint(X.ravel())) == {1.0, 3.0}
    assert np.ptp(X[X < 2]) > 0.5


def test_support_is_where_the_density_is_positive():
    density = Density(Grid((0.0,), (0.5,), (4,)), [0.0, 1.5, -1.0, 0.5])
    points, masses = density.support()
    assert points.tolist() == [[0.5], [1.5]]
    assert masses.tolist() == [0.75, 0.25]


def test_density_does_not_follow_its_array_and_is_not_written_to():
    values = np.ones(4)
    density = Density(Grid((0.0,), (1.0,), (4,)), values)
    values[:] = 7
    assert density.mass == 4
    with pytest.raises(ValueError, match="read-only"):
        density.values[0] = 1


def test_repr_tells_grid_and_mass():
    density = Density(Grid((0.0,), (1.0,), (2,)), [0.25, 0.5])
    assert repr(density) == f"Density({density.grid!r}, mass=0.75)"


def test_values_must_have_the_shape_of_the_grid():
    with pytest.raises(ValueError, match=r"values have the shape \(3,\), the grid has \(4,\)"):
        Density(Grid((0.0,), (1.0,), (4,)), np.zeros(3))
