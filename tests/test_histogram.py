import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from noisykmeans import _kernels
from noisykmeans.grid import Grid
from noisykmeans.histogram import Histogram, fill
from strategies import binned, steady

SHARE = 2.0**-24  # to multiples of which shares are rounded

samples = st.integers(1, 3).flatmap(binned)
samples_beyond = st.integers(1, 3).flatmap(lambda d: binned(d, beyond=0.5))


@steady
@given(samples_beyond)
def test_histogram_is_that_of_the_slow_twin(sample):
    grid, X, weights = sample
    values, outside = reference.bin_linearly(grid, X, weights)
    histogram = fill(grid, X, weights)
    np.testing.assert_allclose(histogram.values, values, atol=2 * SHARE * (1 + weights.sum()))
    assert histogram.outside == pytest.approx(outside, abs=1e-12)


@steady
@given(samples)
def test_binning_keeps_mass_exactly_and_mean_to_a_small_share_of_a_spacing(sample):
    grid, X, weights = sample
    histogram = fill(grid, X, weights)
    total = weights.sum()
    assert histogram.outside == 0
    assert histogram.mass == pytest.approx(total, rel=1e-13)
    moved = histogram.values.ravel() @ grid.points - weights @ X
    rounding = 1e-12 * (1 + np.abs(X).max()) * (1 + total)
    assert (np.abs(moved) <= 2 * SHARE * total * np.array(grid.spacing) + rounding).all()


@steady
@given(samples_beyond, st.integers(0, 12))
def test_histograms_of_parts_add_up(sample, cut):
    grid, X, weights = sample
    whole = fill(grid, X, weights)
    parts = fill(grid, X[:cut], weights[:cut]) + fill(grid, X[cut:], weights[cut:])
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-13 * (1 + weights.sum()))
    assert parts.outside == pytest.approx(whole.outside, rel=1e-13)
    assert parts.grid == grid


@steady
@given(samples_beyond, st.randoms(use_true_random=False))
def test_order_of_the_sample_does_not_matter(sample, random):
    grid, X, weights = sample
    order = list(range(len(X)))
    random.shuffle(order)
    a, b = fill(grid, X, weights), fill(grid, X[order], weights[order])
    np.testing.assert_allclose(a.values, b.values, atol=1e-13 * (1 + weights.sum()))


@steady
@given(samples)
def test_a_weight_counts_as_repetitions(sample):
    grid, X, weights = sample
    times = np.floor(weights / 30).astype(int)
    a, b = fill(grid, X, times), fill(grid, np.repeat(X, times, axis=0))
    np.testing.assert_array_equal(a.values, b.values)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_add_up_to_the_whole_to_the_bit(d, dtype):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(10_000, d)).astype(dtype), rng.integers(0, 9, 10_000)
    grid = Grid((-3.0,) * d, (0.25,) * d, (25,) * d)
    for times in (None, weights):
        whole = fill(grid, X, times)
        assert whole.outside > 0
        cuts = np.sort(rng.choice(10_000, 12, replace=False))
        parts = np.split(np.arange(10_000), cuts)
        histograms = [fill(grid, X[p], None if times is None else times[p]) for p in parts]
        total = histograms[0]
        for histogram in histograms[1:]:
            total = total + histogram
        np.testing.assert_array_equal(total.values, whole.values)
        assert total.outside == whole.outside
        shuffled = rng.permutation(10_000)
        again = fill(grid, X[shuffled], None if times is None else times[shuffled])
        np.testing.assert_array_equal(again.values, whole.values)


def test_shares_by_hand():
    grid = Grid((0.0, 0.0), (1.0, 2.0), (3, 3))
    histogram = fill(grid, [[0.25, 1.5]], [8.0])
    assert histogram.values.tolist() == [[1.5, 4.5, 0.0], [0.5, 1.5, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_both_ends_of_the_grid_belong_to_it(d):
    grid = Grid((0.0,) * d, (0.5,) * d, (4,) * d)
    histogram = fill(grid, [[0.0] * d, [1.5] * d, [1.5 + 1e-9] * d, [-1e-9] * d])
    assert histogram.values[(0,) * d] == 1
    assert histogram.values[(-1,) * d] == 1
    assert histogram.outside == 2


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_what_is_no_place_on_the_grid_counts_as_outside(d, value):
    grid = Grid((0.0,) * d, (0.5,) * d, (4,) * d)
    for axis in range(d):
        X = np.full((1, d), 0.5)
        X[0, axis] = value
        histogram = fill(grid, X, [3.0])
        assert (histogram.mass, histogram.outside) == (0, 3)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_layout_of_the_data_does_not_matter(d, dtype, order):
    X = np.random.default_rng(0).integers(0, 28, size=(100, d)).astype(dtype)
    X = X / dtype(4) if dtype != np.int64 else X // 4
    grid = Grid((0.0,) * d, (0.5,) * d, (15,) * d)
    values, _ = reference.bin_linearly(grid, X.astype(float), np.ones(100))
    np.testing.assert_array_equal(fill(grid, np.asarray(X, order=order)).values, values)
    strided = np.repeat(X, 2, axis=0)[::2]
    np.testing.assert_array_equal(fill(grid, strided).values, values)
    X.setflags(write=False)
    np.testing.assert_array_equal(fill(grid, X).values, values)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_far_away_data_are_binned_as_near_ones(d):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2**10, size=(200, d)) / 2**7
    grid, shift = Grid((0.0,) * d, (0.25,) * d, (33,) * d), 1e6
    far = Grid((shift,) * d, grid.spacing, grid.shape)
    np.testing.assert_array_equal(fill(far, X + shift).values, fill(grid, X).values)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_result_is_the_same_to_the_bit_for_any_number_of_threads(monkeypatch, d):
    rng = np.random.default_rng(0)
    X, weights = rng.random((10_000, d)) * 7.9, rng.random(10_000)
    grid = Grid((0.0,) * d, (1.0,) * d, (8,) * d)
    monkeypatch.setattr(_kernels.threads, "BLOCK", 64)
    results = []
    for n in (1, 2, 3, 7, 16):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n: n)
        results.append(fill(grid, X, weights))
    for other in results[1:]:
        np.testing.assert_array_equal(other.values, results[0].values)
        assert other.outside == results[0].outside
    assert results[0].outside > 0
    monkeypatch.setattr(_kernels.threads, "BLOCK", 2**18)
    np.testing.assert_allclose(fill(grid, X, weights).values, results[0].values, rtol=1e-12)


def test_blocks_cover_every_row_once_and_in_order(monkeypatch):
    monkeypatch.setattr(_kernels.threads, "BLOCK", 4)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)
    for n in (0, 1, 4, 5, 41):
        rows = [list(range(n))[part] for part in _kernels.threads.map_blocks(lambda s: s, n)]
        assert sum(rows, []) == list(range(n))  # noqa: RUF017  a few
        assert all(len(part) == 4 for part in rows[:-1])


def test_scale_is_the_standard_deviation_of_the_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(scale=(1.0, 3.0), size=(20_000, 2))
    histogram = fill(Grid((-20.0, -20.0), (0.5, 1.0), (81, 41)), X)
    assert histogram.scale == pytest.approx(X.std(axis=0), rel=5e-3)


def test_scale_of_a_sample_within_a_voxel_is_positive():
    assert (fill(Grid((0.0,), (1.0,), (4,)), [[1.5]]).scale > 0).all()


def test_histogram_does_not_follow_its_array_and_is_not_written_to():
    values = np.ones(4)
    histogram = Histogram(Grid((0.0,), (1.0,), (4,)), values)
    values[:] = 7
    assert histogram.mass == 4
    with pytest.raises(ValueError, match="read-only"):
        histogram.values[0] = 1


def test_repr_tells_grid_and_masses():
    histogram = fill(Grid((0.0,), (1.0,), (4,)), [[0.5], [9.0]])
    assert repr(histogram) == f"Histogram({histogram.grid!r}, mass=1, outside=1)"


def test_empty_sample_has_an_empty_histogram():
    histogram = fill(Grid((0.0,), (1.0,), (4,)), np.empty((0, 1)))
    assert (histogram.mass, histogram.outside) == (0, 0)


GRID = Grid((0.0, 0.0), (1.0, 1.0), (4, 4))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: fill(GRID, np.zeros((5, 3))), r"X must have the shape \(n, 2\); got \(5, 3\)"),
        (lambda: fill(GRID, np.zeros(5)), r"X must have the shape \(n, 2\); got \(5,\)"),
        (
            lambda: fill(GRID, np.zeros((5, 2)), np.ones(4)),
            r"sample_weight must have the shape \(5,\); got \(4,\)",
        ),
        (
            lambda: Histogram(GRID, np.zeros(4)),
            r"values have the shape \(4,\), the grid has \(4, 4\)",
        ),
        (
            lambda: fill(GRID, [[0, 0]]) + fill(Grid((1.0, 0.0), *GRID_REST), [[1, 0]]),
            "histograms add on one grid only; got Grid.* fill both on the same one",
        ),
    ],
)
def test_what_does_not_fit_is_refused(use, message):
    with pytest.raises(ValueError, match=message):
        use()


GRID_REST = (GRID.spacing, GRID.shape)


def test_histogram_plus_a_number_is_a_type_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        fill(GRID, [[0, 0]]) + 1


@steady
@given(samples)
def test_every_second_node_holds_what_a_coarser_grid_would(sample):
    grid, X, weights = sample
    coarse = fill(grid, X, weights).coarser()
    assert coarse.grid.spacing == tuple(2 * s for s in grid.spacing)
    assert all(
        low % step == 0 for low, step in zip(coarse.grid.lower, coarse.grid.spacing, strict=True)
    )
    expected = fill(coarse.grid, X, weights).values
    np.testing.assert_allclose(coarse.values, expected, atol=4 * SHARE * (1 + weights.sum()))


def test_histogram_is_coarsened_along_the_given_axes_only():
    X = np.random.default_rng(0).normal(size=(50, 2))
    histogram = fill(Grid.covering(X, (0.25, 0.5)), X)
    coarse = histogram.coarser([0])
    assert coarse.grid.spacing == (0.5, 0.5)
    np.testing.assert_allclose(coarse.values, fill(coarse.grid, X).values, atol=4 * SHARE * len(X))


def test_deviation_is_the_mean_distance_from_the_mean():
    X = np.random.default_rng(0).normal(scale=(1.0, 3.0), size=(20_000, 2))
    histogram = fill(Grid((-20.0, -20.0), (0.125, 0.125), (321, 321)), X)
    expected = np.abs(X - X.mean(axis=0)).mean(axis=0)
    assert histogram.deviation == pytest.approx(expected, rel=5e-3)


def test_coarser_histogram_keeps_what_is_outside():
    histogram = fill(Grid((0.0,), (1.0,), (5,)), [[0.5], [9.0]])
    assert histogram.coarser().outside == 1.0
