"""Batches, one after the other or in passes, come to what all rows at once do."""

import pickle
import warnings

import dask
import dask.array as da
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import noisykmeans
from noisykmeans import NoisyKMeans, noise
from noisykmeans.batches import Batch
from noisykmeans.estimators import streaming
from noisykmeans.grid import Grid
from noisykmeans.groups import Groups, Kind
from noisykmeans.histogram import Histogram, fill
from noisykmeans.lattice import coarsened, extended, joined, placed, spanning
from noisykmeans.profile import Counts, Profile
from noisykmeans.tables import open_table

LAWS = {1: noise.Gaussian(1.0), 2: noise.Laplace((0.5, 1.0)), 3: noise.Gaussian((0.5, 1.0, 1.0))}


def observed(d, n=5000, seed=0):
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(n, d)) * 0.5 + 5 * rng.integers(0, 3, (n, 1))
    return clean + LAWS[d].sample((n, d), rng)


def model(d, **options):
    return NoisyKMeans(3, noise=LAWS[d], random_state=0, **options)


@pytest.mark.parametrize(("d", "options"), [(1, {}), (2, {}), (2, {"resolution": 40}), (3, {})])
def test_batches_that_can_be_read_twice_give_the_fit_to_the_last_bit(d, options):
    X = observed(d)
    whole = model(d, **options).fit(X)
    cuts = np.sort(np.random.default_rng(d).integers(0, len(X), 40))
    for batches in (np.split(X, cuts), lambda: iter(np.split(X, cuts[::4]))):
        parts = model(d, **options).fit_batches(batches)
        assert parts.histogram_.grid == whole.histogram_.grid
        np.testing.assert_array_equal(parts.histogram_.values, whole.histogram_.values)
        np.testing.assert_array_equal(parts.cluster_centers_, whole.cluster_centers_)
        assert parts.inertia_ == whole.inertia_
        assert not hasattr(parts, "labels_")


@pytest.mark.parametrize("bandwidth", [1.5, "rate"])
def test_kernel_estimates_of_batches_are_those_of_all_rows(bandwidth):
    X = observed(2)
    whole = model(2, bandwidth=bandwidth).fit(X)
    parts = model(2, bandwidth=bandwidth).fit_batches(np.array_split(X, 7))
    np.testing.assert_allclose(parts.cluster_centers_, whole.cluster_centers_, atol=1e-9)


def test_order_of_batches_does_not_matter():
    batches = np.array_split(observed(2), 30)
    forth = model(2).fit_batches(batches)
    back = model(2).fit_batches(batches[::-1])
    np.testing.assert_array_equal(forth.cluster_centers_, back.cluster_centers_)


def test_known_bounds_save_a_pass_and_serve_generators():
    X = observed(2)
    box = [X.min(axis=0), X.max(axis=0)]
    parts = model(2).fit_batches((x for x in np.array_split(X, 9)), bounds=box)
    np.testing.assert_array_equal(parts.cluster_centers_, model(2).fit(X).cluster_centers_)


def test_tables_are_read_once_where_footers_tell_bounds(tmp_path):
    X = observed(2)
    parquet.write_table(pa.table({"x": X[:, 0], "y": X[:, 1]}), tmp_path / "a.parquet")
    table = open_table(tmp_path / "a.parquet")
    reads = []
    whole = model(2).fit(X)
    original = type(table).parts
    try:
        type(table).parts = lambda self: reads.append(1) or original(self)
        parts = model(2).fit_batches(table)
    finally:
        type(table).parts = original
    assert len(reads) == 1
    np.testing.assert_array_equal(parts.cluster_centers_, whole.cluster_centers_)
    assert list(parts.feature_names_in_) == ["x", "y"]
    labels = np.concatenate(list(parts.predict_batches(table)))
    np.testing.assert_array_equal(labels, whole.labels_)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_thousand_batches_give_the_histogram_of_one_fit_to_rounding(d):
    X = observed(d)
    whole, stream = model(d).fit(X), model(d)
    for x in np.array_split(X, 1000):
        stream.partial_fit(x)
    assert stream.histogram_.grid == whole.histogram_.grid
    np.testing.assert_allclose(stream.histogram_.values, whole.histogram_.values, atol=1e-6)
    scale = whole.histogram_.scale
    assert stream.histogram_.mass == len(X)
    assert stream.histogram_.count == len(X)
    # Rounding may turn a tie between starts: then they agree as far as the iterations go.
    assert (np.abs(stream.cluster_centers_ - whole.cluster_centers_) < 1e-4 * scale).all()


def test_a_generator_is_read_once_on_a_lattice_that_grows():
    X = observed(2)
    whole = model(2).fit(X)
    once = model(2).fit_batches(x for x in np.array_split(X, 50))
    np.testing.assert_allclose(once.cluster_centers_, whole.cluster_centers_, atol=1e-4)
    assert once.histogram_.grid == whole.histogram_.grid


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_range_that_doubles_twenty_times_keeps_mass_and_mean_and_memory(d):
    rng, stream, rows, nodes = np.random.default_rng(0), model(d), [], []
    for i in range(21):
        rows.append(rng.uniform(-1, 1, (500, d)) * 2.0**i)
        stream.partial_fit(rows[-1])
        nodes.append(stream._stream.histogram.values.size)
    X, histogram = np.concatenate(rows), stream._stream.histogram
    assert histogram.mass == len(X)
    assert histogram.outside == 0
    mean = [
        histogram.values.sum(axis=tuple(u for u in range(d) if u != v)) @ x / len(X)
        for v, x in enumerate(histogram.grid.nodes)
    ]
    np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-7 * np.abs(X).max())
    assert max(nodes[1:]) <= 2**d * 1.1 * min(nodes[1:])


def test_features_that_begin_to_vary_late_are_binned_as_if_they_always_had():
    X = observed(2)
    X[:3000, 1] = 0.3
    stream, whole = model(2), model(2).fit(X)
    for x in np.array_split(X, 50):
        stream.partial_fit(x)
    np.testing.assert_allclose(stream.histogram_.values, whole.histogram_.values, atol=1e-6)


def test_rows_may_come_one_by_one_and_constant_features_stay():
    X = np.column_stack([observed(1, 40), np.full(40, 7.0)])
    stream = NoisyKMeans(2, noise=noise.Gaussian(1.0), random_state=0)
    for x in X:
        stream.partial_fit(x[None])
    whole = clone(stream).fit(X)
    np.testing.assert_allclose(stream.cluster_centers_, whole.cluster_centers_, atol=1e-4)
    assert (stream.cluster_centers_[:, 1] == 7.0).all()


def test_weights_of_batches_count_as_in_a_fit():
    X, weights = observed(2), np.random.default_rng(1).integers(0, 3, 5000)
    batches = [
        Batch(x, w) for x, w in zip(*(np.array_split(a, 9) for a in (X, weights)), strict=True)
    ]
    whole = model(2).fit(X, sample_weight=weights)
    parts = model(2).fit_batches(batches)
    np.testing.assert_array_equal(parts.cluster_centers_, whole.cluster_centers_)
    stream = model(2)
    for batch in batches:
        stream.partial_fit(batch.X, sample_weight=batch.sample_weight)
    np.testing.assert_allclose(stream.cluster_centers_, whole.cluster_centers_, atol=1e-4)
    uneven = model(2).fit_batches([Batch(x.X, x.sample_weight / 2) for x in batches])
    assert uneven.inertia_ == pytest.approx(
        model(2).fit(X, sample_weight=weights / 2).inertia_, rel=1e-9
    )


def test_centers_of_a_stream_are_computed_when_asked_for_and_follow_later_batches(monkeypatch):
    fits = []
    original = streaming.settled
    monkeypatch.setattr(streaming, "settled", lambda *a: fits.append(1) or original(*a))
    X = observed(2)
    stream = model(2).partial_fit(X[:100]).partial_fit(X[100:200])
    assert not fits
    early = stream.cluster_centers_
    assert stream.predict(X).shape == (5000,)
    assert fits == [1]
    late = stream.partial_fit(X[200:]).cluster_centers_
    assert not np.array_equal(early, late)
    assert "cluster_centers_" not in vars(clone(stream))


def test_streams_are_pickled_and_saved_and_go_on(tmp_path):
    X = observed(2)
    whole = model(2).partial_fit(X[:3000]).partial_fit(X[3000:])
    half = model(2).partial_fit(X[:3000])
    half.save(tmp_path / "stream.npz")
    for copy in (pickle.loads(pickle.dumps(half)), noisykmeans.load(tmp_path / "stream.npz")):
        copy.partial_fit(X[3000:])
        np.testing.assert_array_equal(copy.cluster_centers_, whole.cluster_centers_)


def test_a_stream_goes_on_with_what_a_fit_has_kept():
    X = observed(2)
    both = model(2).fit(X[:4000]).partial_fit(X[4000:])
    whole = model(2).fit(X)
    assert both.histogram_.count == len(X)
    assert both.histogram_.mass == len(X)
    np.testing.assert_allclose(both.cluster_centers_, whole.cluster_centers_, atol=0.01)


def test_a_batch_that_fails_leaves_the_stream_as_it_was():
    stream = model(2).partial_fit(observed(2))
    before = stream.cluster_centers_
    with pytest.raises(ValueError, match="X has 1 features, but NoisyKMeans is expecting 2"):
        stream.partial_fit(np.ones((3, 1)))
    with pytest.raises(ValueError, match="1 of 3 rows have a value that is missing or infinite"):
        stream.partial_fit([[0.0, 1.0], [np.nan, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(stream.cluster_centers_, before)


def test_what_cannot_be_streamed_says_so():
    X = observed(2)
    with pytest.raises(AttributeError, match=r"no attribute 'partial_fit': .*noise=None: give a"):
        NoisyKMeans(2).partial_fit(X)
    with pytest.raises(ValueError, match="MiniBatchKMeans"):
        NoisyKMeans(2).fit_batches([X])
    for fitted in (model(2).fit(X, X_err=X * 0 + 1), model(2).fit_batches([X])):
        with pytest.raises(ValueError, match="partial_fit goes on with what partial_fit or a fit"):
            fitted.partial_fit(X)
    wide = np.random.default_rng(0).normal(size=(50, 5))
    narrow = wide * [1, 1, 0, 0, 0]
    with pytest.raises(ValueError, match="5 features vary, and a histogram has at most 3"):
        NoisyKMeans(2, noise=noise.Gaussian(1.0)).partial_fit(narrow).partial_fit(wide)
    with pytest.raises(ValueError, match="there are no rows"):
        model(2).fit_batches([])
    with pytest.raises(ValueError, match="there are no rows"):
        model(2).fit_batches([Batch(X, np.zeros(len(X)))])
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative; got -1"):
        model(2).fit_batches([Batch(X, np.full(len(X), -1.0))])
    with pytest.raises(ValueError, match="batches have different numbers of features: 2 and 1"):
        model(2).fit_batches([X, X[:, :1]])
    with pytest.raises(ValueError, match=r"n_samples=2 should be >= n_clusters=3"):
        model(2).fit_batches([X[:2]])
    with pytest.raises(ValueError, match=r"n_samples=2 should be >= n_clusters=3"):
        _ = model(2).partial_fit(X[:2]).cluster_centers_
    with pytest.raises(NotFittedError):
        model(2).predict(X)
    with pytest.raises(AttributeError, match="no attribute 'nothing_'"):
        _ = model(2).partial_fit(X).nothing_
    with pytest.raises(ValueError, match=r"a batch has 1 features, .* fitted to 2"):
        next(model(2).fit(X).predict_batches([X[:, :1]]))


@pytest.mark.parametrize("bounds", [[0, 1], [[1, 1], [0, 0]], [[0, 0], [np.inf, 1]]])
def test_bounds_that_are_none_are_refused(bounds):
    with pytest.raises(ValueError, match=r"bounds must be finite, of shape \(2, n_features\)"):
        model(2).fit_batches([observed(2)], bounds=bounds)


def test_bounds_that_leave_mass_outside_are_told():
    X = observed(2)
    low, high = X.min(axis=0), X.max(axis=0)
    middle = (low + high) / 2
    with pytest.raises(ValueError, match=r"of the observations' mass lies outside .* more than"):
        model(2).fit_batches([X], bounds=[low, middle])
    box = np.quantile(X, [0.001, 0.999], axis=0) * 0.999
    with pytest.warns(UserWarning, match="lies outside the grid and is left out"):
        model(2).fit_batches([X], bounds=[box[0], 0.85 * box[1]])


@pytest.mark.parametrize("known", [True, False])
def test_rows_with_missing_values_are_counted_and_dropped_on_request(known, tmp_path):
    X = observed(2)
    X[::100, 0] = np.nan
    if known:
        table = pa.table({"x": X[:, 0], "y": X[:, 1]})
        parquet.write_table(table, tmp_path / "a.parquet")
        batches = open_table(tmp_path / "a.parquet")
        assert batches.bounds is not None
    else:
        batches = np.array_split(X, 9)
    with pytest.raises(ValueError, match="50 of 5000 rows have a value that is missing"):
        model(2).fit_batches(batches)
    dropped = model(2).fit_batches(batches, drop_missing=True)
    assert dropped.n_dropped_ == 50
    complete = model(2).fit(X[np.isfinite(X).all(axis=1)])
    np.testing.assert_array_equal(dropped.cluster_centers_, complete.cluster_centers_)


def test_far_rows_that_stretch_the_grid_give_a_warning():
    X = observed(1)
    X[0] = 1e5
    with pytest.warns(UserWarning, match="a few that are far away stretch the grid"):
        model(1).fit_batches([X])
    stream = model(1).partial_fit(X)
    with pytest.warns(UserWarning, match="a few that are far away stretch the grid"):
        _ = stream.cluster_centers_


def test_groups_bring_their_laws_to_a_fit():
    X = observed(2)
    near = model(2).fit(X).histogram_
    groups = Groups.of(near, LAWS[2])
    fitted = NoisyKMeans(3, random_state=0).fit_histogram(groups)
    expected = model(2).fit_histogram(near)
    np.testing.assert_array_equal(fitted.cluster_centers_, expected.cluster_centers_)
    model(2).fit_histogram(groups)
    with pytest.raises(ValueError, match="the groups have laws of their own, others than noise="):
        NoisyKMeans(3, noise=noise.Laplace(2.0)).fit_histogram(groups)
    grid, half = near.grid, len(X) // 2
    kinds = [Kind(noise.Laplace((0.5, 1.0)), (0, 1)), Kind(noise.Gaussian(0.5), (0, 1))]
    two = Groups.fill(grid, X, np.ones(len(X)), np.arange(len(X)) // half, kinds)
    assert np.isfinite(NoisyKMeans(3, random_state=0).fit_histogram(two).cluster_centers_).all()


# Errors of each row


def errors_of(kind, n, rng):
    """Errors that differ from row to row, as fit takes them, and errors drawn from them."""
    if kind == "X_cov":
        A = rng.normal(size=(n, 2, 2)) * 0.7
        S = A @ A.transpose(0, 2, 1) + 0.01 * np.eye(2)
        return {kind: S}, np.einsum("nij,nj->ni", np.linalg.cholesky(S), rng.normal(size=(n, 2)))
    few = rng.choice([0.3, 0.8, 1.5], size=(n, 1)) * np.ones((1, 2))
    sizes = few if kind == "few" else np.exp(rng.normal(size=(n, 2)) * 0.5 - 0.3)
    return {"X_err": sizes}, sizes * rng.normal(size=(n, 2))


@pytest.mark.parametrize(
    ("kind", "law", "weighted"),
    [("few", None, False), ("X_err", noise.Laplace(0.3), True), ("X_cov", None, True)],
)
def test_errors_of_each_row_come_in_batches_and_blocks(kind, law, weighted):
    rng, n = np.random.default_rng(3), 3000
    own, drawn = errors_of(kind, n, rng)
    X = rng.normal(size=(n, 2)) * 0.5 + 4 * rng.integers(0, 3, (n, 1)) + drawn
    if weighted:
        own["sample_weight"] = rng.integers(0, 3, n)
    three = NoisyKMeans(3, noise=law, random_state=0)
    whole = clone(three).fit(X, **own)
    batches = [Batch(X[i::5], **{k: v[i::5] for k, v in own.items()}) for i in range(5)]
    lazy = {k: da.from_array(v, chunks=(900, *v.shape[1:])) for k, v in own.items()}
    parts = clone(three).fit_batches(batches)
    with dask.config.set(scheduler="threads"):
        blocks = clone(three).fit(da.from_array(X, chunks=(1100, 2)), **lazy)
    for other in (parts, blocks):
        assert other.histogram_.grid == whole.histogram_.grid
        np.testing.assert_allclose(other.cluster_centers_, whole.cluster_centers_, atol=1e-11)


def test_error_columns_of_a_table_are_errors_of_each_row():
    rng = np.random.default_rng(0)
    own, drawn = errors_of("X_err", 3000, rng)
    X = 4 * rng.integers(0, 3, (3000, 1)) + drawn
    columns = [X[:, 0], X[:, 1], own["X_err"][:, 0], own["X_err"][:, 1]]
    table = open_table(pa.table(columns, names=["x", "y", "e_x", "e_y"]))
    three = NoisyKMeans(3, random_state=0)
    fitted = clone(three).fit_batches(table.select(["x", "y"], errors=["e_x", "e_y"]))
    expected = clone(three).fit(X, X_err=own["X_err"]).cluster_centers_
    np.testing.assert_allclose(fitted.cluster_centers_, expected, atol=1e-11)


def test_rows_whose_errors_leave_nothing_to_know_do_not_stretch_the_grid():
    rng = np.random.default_rng(0)
    own, drawn = errors_of("X_err", 3000, rng)
    X, sizes = 4 * rng.integers(0, 3, (3000, 1)) + drawn, own["X_err"]
    X[:4], sizes[:4] = 1e6, 1e6
    three = NoisyKMeans(3, random_state=0)
    with pytest.warns(UserWarning, match="4 of 3000 rows have an error more than ten times"):
        fitted = clone(three).fit_batches([Batch(X[i::2], X_err=sizes[i::2]) for i in range(2)])
    expected = clone(three).fit(X, X_err=sizes).cluster_centers_
    np.testing.assert_allclose(fitted.cluster_centers_, expected, atol=1e-11)


def test_errors_that_parts_cannot_have_are_told():
    X, three = observed(2), NoisyKMeans(3)
    ones = np.ones(len(X))
    with pytest.raises(ValueError, match="some batches have errors of each row, and some have"):
        three.fit_batches([Batch(X, X_err=ones), Batch(X)])
    with pytest.raises(ValueError, match="rows in parts must have finite errors"):
        three.fit_batches([Batch(X, X_err=ones * np.inf)])
    for law in (noise.Cauchy(1.0), noise.PerObservation([LAWS[2], LAWS[2]], [0, 1])):
        with pytest.raises(ValueError, match="needs all rows at once"):
            NoisyKMeans(3, noise=law).fit_batches([X])


# Lattices


def dyadic(draw, d):
    lower = [draw(st.integers(-40, 40)) for _ in range(d)]
    steps = [2.0 ** draw(st.integers(-3, 2)) for _ in range(d)]
    shape = [draw(st.integers(2, 9)) for _ in range(d)]
    grid = Grid(tuple(a * h for a, h in zip(lower, steps, strict=True)), tuple(steps), tuple(shape))
    size = int(np.prod(shape))
    values = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    return Histogram(grid, np.reshape(values, shape), 1.0, size)


@st.composite
def pairs(draw):
    d = draw(st.integers(1, 3))
    return dyadic(draw, d), dyadic(draw, d)


def moments(histogram):
    """Mass, and the sum of positions along each axis."""
    sums = [
        histogram.values.sum(axis=tuple(u for u in range(histogram.grid.dimension) if u != v)) @ x
        for v, x in enumerate(histogram.grid.nodes)
    ]
    return np.array([histogram.mass, *sums])


@settings(deadline=None, max_examples=60)
@given(pairs())
def test_joined_histograms_keep_mass_and_mean_in_any_order(pair):
    a, b = pair
    both = joined(a, b)
    np.testing.assert_array_equal(moments(both), moments(a) + moments(b))
    np.testing.assert_array_equal(both.values, joined(b, a).values)
    assert (both.outside, both.count) == (2.0, a.count + b.count)


def test_joined_is_what_binning_on_the_common_grid_gives():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 4, (50, 2)), rng.uniform(-9, 2, (70, 2))
    near, far = fill(Grid.covering(a, 0.25), a), fill(Grid.covering(b, (0.5, 0.25)), b)
    both = joined(near, far)
    np.testing.assert_allclose(
        both.values, fill(both.grid, np.concatenate([a, b])).values, atol=1e-5
    )


def test_an_axis_of_one_value_is_added_exactly():
    X = np.random.default_rng(0).integers(0, 7, (40, 1)) / 2
    flat = fill(Grid((0.0,), (0.5,), (8,)), X)
    full = np.column_stack([np.full(40, 1.375), X])
    wide = extended(flat, 0, 1.375, 0.5)
    np.testing.assert_array_equal(wide.values, fill(wide.grid, full).values)


def test_histograms_that_do_not_match_say_so():
    grid = Grid((0.0,), (1.0,), (4,))
    histogram = Histogram(grid, np.ones(4))
    with pytest.raises(ValueError, match=r"histograms of \[1, 2\] axes cannot be joined"):
        joined(histogram, Histogram(Grid((0.0, 0.0), (1.0, 1.0), (2, 2)), np.ones((2, 2))))
    with pytest.raises(ValueError, match="spacings are powers of two"):
        spanning(grid, Grid((0.0,), (0.3,), (4,)))
    with pytest.raises(ValueError, match="cannot be brought to the finer"):
        placed(histogram, Grid((0.0,), (0.5,), (9,)))
    with pytest.raises(ValueError, match="does not hold all of"):
        placed(histogram, Grid((0.0,), (1.0,), (3,)))
    assert coarsened(histogram, (1.0,)) is histogram


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), min_size=1, max_size=8))
def test_profiles_of_parts_add_up_to_that_of_the_whole(parts):
    each = [Profile.of(Batch(np.array(part)[:, None])) for part in parts]
    X = np.concatenate(parts)[:, None]
    total, whole = Profile.total(each), Profile.of(Batch(X))
    assert total.counts == whole.counts == Counts(len(X), float(len(X)), float(len(X)))
    np.testing.assert_array_equal(total.bounds, whole.bounds)
    np.testing.assert_allclose(total.scale, X.std(axis=0), rtol=1e-6, atol=1e-6)


def test_no_warning_of_names_where_batches_are_predicted():
    table = open_table(pa.table({"x": observed(1)[:, 0]}))
    fitted = model(1).fit_batches(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(map(len, fitted.predict_batches(table))) == 5000


def test_columns_in_another_order_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(observed(2), columns=["x", "y"])
    turned = frame[["y", "x"]]
    with pytest.raises(ValueError, match=r"batches have different columns: \['x', 'y'\] and"):
        model(2).fit_batches([frame, turned])
    fitted = model(2).fit_batches([frame])
    assert fitted.feature_names_in_.tolist() == ["x", "y"]
    with pytest.raises(ValueError, match=r"the table has the features \['y', 'x'\], and the model"):
        list(fitted.predict_batches([turned]))


def test_histograms_too_far_apart_are_not_joined():
    near, far = (
        fill(Grid((0.0,), (0.5,), (4,)), [[0.5]]),
        fill(Grid((2.0**60,), (0.5,), (4,)), [[2.0**60]]),
    )
    with pytest.raises(ValueError, match=r"too far apart .* leave out .*1\.15\d*e\+18"):
        joined(near, near, far)
    with pytest.raises(ValueError, match="there are no histograms to join"):
        joined()
