"""The figures that docs/performance.md promises, and that the benchmark runs."""

import csv
import subprocess
import sys
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.cluster import KMeans

from noisykmeans import NoisyKMeans, _kernels
from noisykmeans.deconvolution import KernelDeconvolution
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.histogram import fill
from noisykmeans.noise import Laplace
from noisykmeans.spectrum import transform
from noisykmeans.windows import Cubic

LAW = Laplace(0.4)
CENTERS = np.array([[0.0, 0.0], [5.0, 0.0], [2.5, 4.0]])
BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "speed.py"


def clusters(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    X += CENTERS[rng.integers(0, 3, n)]
    X += rng.laplace(scale=0.4, size=(n, 2))
    return X


def given(**params):
    return NoisyKMeans(3, noise=LAW, bandwidth=0.5, random_state=0, **params)


def shortest(function, repetitions=5):
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def run_benchmark(*arguments):
    command = [sys.executable, str(BENCHMARK), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


# Results


def test_fit_is_the_same_to_the_bit_for_any_number_of_threads(monkeypatch):
    X = clusters(3000)
    weights = np.random.default_rng(1).random(3000)
    monkeypatch.setattr(_kernels.threads, "BLOCK", 128)
    fits = []
    for n in (1, 2, 7):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n: n)
        fits.append([given().fit(X, sample_weight=w) for w in (None, weights)])
    for others in fits[1:]:
        for model, first in zip(others, fits[0], strict=True):
            np.testing.assert_array_equal(model.cluster_centers_, first.cluster_centers_)
            np.testing.assert_array_equal(model.labels_, first.labels_)
            assert model.inertia_ == first.inertia_


def test_fit_of_13_chunks_is_that_of_the_whole_to_the_bit():
    X = clusters(3000)
    whole = given().fit(X)
    grid = whole.histogram_.grid
    cuts = np.sort(np.random.default_rng(0).choice(3000, 12, replace=False))
    parts = [fill(grid, chunk) for chunk in np.split(X, cuts)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    np.testing.assert_array_equal(total.values, whole.histogram_.values)
    centers = given().fit_histogram(total).cluster_centers_
    np.testing.assert_array_equal(centers, whole.cluster_centers_)


def test_benchmark_runs_and_writes_table_and_figure(tmp_path):
    shown = run_benchmark("--smoke", "--out", tmp_path)
    assert "noisy k-means, bandwidth given" in shown
    with (tmp_path / "speed.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"X.sum()", "noisy k-means, default", "KMeans"} <= {row["method"] for row in rows}
    assert all(float(row["seconds"]) > 0 for row in rows)
    assert (tmp_path / "speed-table.md").read_text().count("\n") == len(rows) + 2
    assert (tmp_path / "images" / "speed.png").stat().st_size > 10_000


# Times and memory


@pytest.fixture(scope="module")
def large():
    return clusters(10**7)


@pytest.mark.timing
def test_fit_with_a_bandwidth_takes_at_most_ten_sums_and_a_twelfth_of_k_means(large):
    given().fit(large[:1000])
    total, ours = shortest(large.sum), shortest(lambda: given().fit(large))
    theirs = shortest(lambda: KMeans(3, n_init=1, random_state=0).fit(large), 2)
    assert ours <= 10 * total, f"{ours / total:.1f} times"
    assert theirs >= 12 * ours, f"{theirs / ours:.1f} times"


@pytest.mark.timing
def test_fit_with_a_bandwidth_adds_less_than_50_mb_and_the_labels():
    added = float(run_benchmark("--peak", "noisy k-means, bandwidth given", 10**7, 2, 3))
    assert added - 4 * 10**7 / 2**20 < 50


@pytest.mark.timing
def test_binning_takes_at_most_five_sums(large):
    low, high = large.min(axis=0), large.max(axis=0)
    grid = Grid(tuple(low), tuple((high - low) / 255 * (1 + 1e-12)), (256, 256))
    total, ours = shortest(large.sum, 9), shortest(lambda: fill(grid, large), 9)
    assert ours <= 5 * total, f"{ours / total:.1f} times"


@pytest.mark.timing
def test_default_fit_of_large_data_is_faster_than_k_means(large):
    model = NoisyKMeans(3, noise=LAW, random_state=0)
    ours = shortest(lambda: model.fit(large), 2)
    theirs = shortest(lambda: KMeans(3, n_init=1, random_state=0).fit(large), 2)
    assert ours < theirs


@pytest.mark.timing
def test_default_fit_is_a_hundred_times_faster_than_extreme_deconvolution():
    peer = pytest.importorskip("astroML.density_estimation")
    X = clusters(10**5)
    model = NoisyKMeans(3, noise=LAW, random_state=0)
    errors = np.repeat(LAW.covariance_matrix(2)[None], len(X), 0)
    model.fit(X)
    ours = shortest(lambda: model.fit(X), 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = shortest(lambda: peer.XDGMM(3, random_state=0).fit(X, errors), 1)
    assert theirs >= 100 * ours, f"{theirs / ours:.0f} times"


@pytest.mark.target
def test_fit_of_100_points_takes_no_longer_than_k_means():
    X = clusters(100)
    ours = shortest(lambda: given(init=CENTERS).fit(X), 300)
    theirs = shortest(lambda: KMeans(3, init=CENTERS, n_init=1).fit(X), 300)
    assert ours <= theirs, f"{ours / theirs:.1f} times"


@pytest.mark.timing
def test_time_grows_no_faster_than_the_sample(large):
    grid = given().fit(large).histogram_.grid

    def chunks(n):
        total = fill(grid, large[: min(n, 10**7)])
        for _ in range(n // 10**7 - 1):
            total = total + fill(grid, large)
        given().fit_histogram(total)

    sizes = 10 ** np.arange(5, 9)
    times = [shortest(lambda n=n: chunks(n), 3) for n in sizes]
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    assert slope <= 1.05, f"slope {slope:.2f}: {times}"


@pytest.mark.timing
def test_memory_does_not_grow_with_the_sample():
    added = [
        float(run_benchmark("--peak", "noisy k-means, bandwidth given", n, 2, 3)) - 4 * n / 2**20
        for n in (10**6, 10**7)
    ]
    assert abs(added[1] - added[0]) < 25, added


@pytest.mark.target
def test_sweep_on_three_axes_takes_at_most_six_sums_of_the_density():
    rng = np.random.default_rng(0)
    density = Density(Grid((0.0,) * 3, (1.0,) * 3, (64,) * 3), rng.random((64,) * 3))
    start = rng.random((10, 3)) * 63
    total = shortest(density.values.sum, 200)
    sweeps = shortest(lambda: density.descend(start, 21, -1.0), 20)
    ours = (sweeps - shortest(lambda: density.descend(start, 1, -1.0), 20)) / 20
    assert ours <= 6 * total, f"{ours / total:.1f} times"


@pytest.mark.timing
def test_density_is_three_times_faster_than_kdepy_s():
    peer = pytest.importorskip("KDEpy")
    X = clusters(10**6)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    grid = Grid(tuple(low), tuple((high - low) / 511), (512, 512))

    def density():
        plan = KernelDeconvolution(grid, LAW, Cubic())
        return plan.density(transform(fill(grid, X)), (0.5, 0.5))

    density()
    ours = shortest(density)
    theirs = shortest(lambda: peer.FFTKDE(bw=0.5).fit(X).evaluate(grid.points), 2)
    assert theirs >= 3 * ours, f"{theirs / ours:.1f} times"
