"""Collections of Dask are fitted where they are, and give what arrays give."""

import os
import signal
import subprocess
import sys
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster, get_worker

import noisykmeans
from noisykmeans import NoisyKMeans, noise
from noisykmeans.distributed import Blocks, is_collection

N = 6000
LAW = noise.Gaussian((0.5, 1.5))
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:dask|distributed|tornado")


def observed(n=N):
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(n, 2)) * 0.5 + 4 * rng.integers(0, 3, (n, 1))
    return clean + LAW.sample((n, 2), rng)


def model(**options):
    return NoisyKMeans(3, noise=LAW, random_state=0, **options)


@pytest.fixture(scope="module")
def whole():
    return model().fit(observed())


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def threads():
    with dask.config.set(scheduler="threads"):
        yield


def frame(n_partitions=5):
    return dd.from_pandas(pd.DataFrame(observed(), columns=["x", "y"]), npartitions=n_partitions)


def unknown(n_blocks):
    return frame(n_blocks).to_dask_array()


COLLECTIONS = {
    "array": lambda: da.from_array(observed(), chunks=(700, 2)),
    "single block": lambda: da.from_array(observed(), chunks=-1),
    "data frame": frame,
    "unknown chunk sizes": lambda: unknown(4),
}


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("collection", COLLECTIONS.values(), ids=COLLECTIONS)
def test_every_collection_gives_the_centers_of_the_array(collection, whole):
    X = collection()
    fitted = model().fit(X)
    np.testing.assert_array_equal(fitted.cluster_centers_, whole.cluster_centers_)
    np.testing.assert_array_equal(fitted.histogram_.values, whole.histogram_.values)
    assert is_collection(fitted.labels_)
    np.testing.assert_array_equal(fitted.labels_.compute(), whole.labels_)


@pytest.mark.usefixtures("threads")
def test_answers_to_collections_stay_lazy(whole):
    X = COLLECTIONS["array"]()
    for name in ("predict", "transform", "predict_proba", "denoise", "score_samples"):
        lazy = getattr(whole, name)(X)
        assert is_collection(lazy)
        expected = getattr(whole, name)(observed())
        assert (lazy.dtype, lazy.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-9, atol=1e-12)
    sizes = np.full(observed().shape, 0.3)
    lazy = whole.predict_proba(X, X_err=da.from_array(sizes, chunks=(900, 1)))
    expected = whole.predict_proba(observed(), X_err=sizes)
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)
    assert whole.score(X) == pytest.approx(whole.score(observed()))


@pytest.mark.usefixtures("threads")
def test_names_of_a_frame_are_kept_and_labels_of_a_collection_are_not_saved(tmp_path):
    fitted = model().fit(frame())
    assert list(fitted.feature_names_in_) == ["x", "y"]
    fitted.save(tmp_path / "model.npz")
    loaded = noisykmeans.load(tmp_path / "model.npz")
    assert not hasattr(loaded, "labels_")
    np.testing.assert_array_equal(loaded.cluster_centers_, fitted.cluster_centers_)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", ["dask", "numpy", "other blocks", "series"])
def test_weights_come_in_the_blocks_of_the_rows(kind):
    X, weights = observed(), np.random.default_rng(0).integers(0, 3, N)
    rows = frame() if kind == "series" else da.from_array(X, chunks=(700, 2))
    given = {
        "dask": lambda: da.from_array(weights, chunks=700),
        "numpy": lambda: weights,
        "other blocks": lambda: da.from_array(weights, chunks=1100),
        "series": lambda: dd.from_pandas(pd.Series(weights), npartitions=5),
    }[kind]()
    fitted = model().fit(rows, sample_weight=given)
    expected = model().fit(X, sample_weight=weights)
    np.testing.assert_array_equal(fitted.cluster_centers_, expected.cluster_centers_)
    assert fitted.inertia_ == expected.inertia_


def test_collections_that_cannot_be_fitted_say_why():
    X = COLLECTIONS["array"]()
    text = dd.from_pandas(pd.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"]}), npartitions=1)
    cases = [
        (
            X.rechunk((700, 1)),
            {},
            r"X is chunked along its features, in \(1, 1\).*rechunk\(\{1: -1",
        ),
        (X[:, X[0] > -np.inf], {}, "X has an unknown number of features.*compute_chunk_sizes"),
        (X[:, 0], {}, "X must have the shape .*; got 1 dimensions"),
        (text, {}, "the column 's' holds .*, no numbers; columns of numbers are 'x'"),
        (X, {"sample_weight": np.ones(5)}, "sample_weight must be a dask collection in the blocks"),
        (X, {"sample_weight": da.ones(5)}, "sample_weight has 5 rows, and X 6000"),
        (unknown(4), {"sample_weight": da.ones(N, chunks=N)}, "has 1 blocks and X 4, of unknown"),
        (unknown(4), {"sample_weight": np.ones(N)}, "must be a dask collection in the blocks of X"),
        (da.full((10, 2), np.nan), {}, "10 of 10 rows have a value that is missing"),
    ]
    for collection, options, message in cases:
        with pytest.raises(ValueError, match=message):
            model().fit(collection, **options)
    with pytest.raises(ValueError, match="without errors this is k-means of the rows"):
        NoisyKMeans(2).fit(X)
    with pytest.raises(ValueError, match="X has 1 features, but NoisyKMeans is expecting 2"):
        model().fit(X).predict(X[:, :1])


def test_importing_the_module_does_not_load_dask():
    code = "import sys, noisykmeans.distributed; assert 'dask' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_blocks_are_iterated_and_counted():
    blocks = Blocks(COLLECTIONS["array"]())
    assert (blocks.n_rows, blocks.n_features, len(list(blocks))) == (N, 2, 9)
    assert Blocks(unknown(3)).n_rows is None


def made(seed, n):
    """A block that is made where it is needed, as files are read."""
    return np.random.default_rng(seed).normal(size=(n, 2)) + 3 * (seed % 3)


def large(n_blocks=24, n=20_000):
    blocks = [da.from_delayed(dask.delayed(made)(i, n), (n, 2), float) for i in range(n_blocks)]
    return da.concatenate(blocks)


def test_two_processes_give_the_centers_of_one_machine(client):
    X = large()
    with dask.config.set(scheduler="threads"):
        rows = X.compute()
    assert len(client.scheduler_info()["workers"]) == 2
    fitted = model().fit(X)
    expected = model().fit(rows)
    scale = expected.histogram_.scale
    assert (np.abs(fitted.cluster_centers_ - expected.cluster_centers_) <= 1e-12 * scale).all()
    np.testing.assert_array_equal(fitted.labels_.compute(), expected.labels_)


def test_many_features_on_a_cluster_are_fitted_as_on_one_machine(client):
    assert len(client.scheduler_info()["workers"]) == 2
    rng = np.random.default_rng(0)
    X = 6 * np.vstack([np.eye(2, 5), np.zeros(5)])[rng.integers(3, size=900)]
    X += rng.standard_normal(X.shape)
    far = NoisyKMeans(3, noise=noise.Gaussian(0.5), random_state=0)
    far.fit(da.from_array(X, chunks=(200, 5)))
    near = NoisyKMeans(3, noise=noise.Gaussian(0.5), random_state=0).fit_batches([X])
    np.testing.assert_array_equal(far.cluster_centers_, near.cluster_centers_)
    np.testing.assert_array_equal(far.labels_.compute(), near.predict(X))


def deadly(block, marker):
    """End the process that works on the first block, once."""
    if not os.path.exists(marker):  # noqa: PTH110  as plain as it gets
        with open(marker, "w"):  # noqa: PTH123
            pass
        assert get_worker()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return block


def test_a_worker_killed_in_mid_fit_changes_nothing(client, tmp_path):
    X = large(12)
    expected = model().fit(X).cluster_centers_
    victim = da.map_blocks(deadly, X.blocks[6], str(tmp_path / "killed"), dtype=float)
    mined = da.concatenate([X.blocks[:6], victim, X.blocks[7:]])
    fitted = model().fit(mined)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(fitted.cluster_centers_, expected)
    client.wait_for_workers(2, timeout=60)


@pytest.mark.usefixtures("threads")
def test_an_empty_partition_has_empty_answers(tmp_path):
    whole = frame(3)
    empty = dd.concat([whole, whole[whole.x > 1e9]])
    fitted = model().fit(empty)
    assert len(fitted.labels_.compute()) == len(whole)
    for answer in ("predict", "predict_proba", "denoise", "transform"):
        assert len(getattr(fitted, answer)(empty).compute()) == len(whole)
    fitted.report(tmp_path / "a.html", X=empty)
    assert (tmp_path / "a.html").stat().st_size > 10_000
