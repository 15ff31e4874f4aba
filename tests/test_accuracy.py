"""The default finds good centers without tuning: the promises of docs/accuracy.md."""

import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.cluster import KMeans

from noisykmeans import NoisyKMeans
from noisykmeans.metrics import clean_distortion, clustering_risk

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

# Setting: most failures of 100, largest mean risk, largest distortion ratio.
PROMISES = {
    **{f"Mod1({u})": (0, 0.010, 1.10) for u in range(1, 9)},
    **{f"Mod1({u})": (1, 0.013, 1.15) for u in (9, 10)},
    **{f"Mod2({u})": (0, 1.0, 1.12) for u in range(1, 9)},
    "Mod2(9)": (1, 1.0, 1.20),
    "Mod2(10)": (100, 1.0, 1.28),
    "squares, Laplace": (0, 1.0, 1.06),
    "exponential": (0, 1.0, 1.06),
}

# Here even maximum likelihood with known shapes and sizes has ratios of 1.118, 1.121 and 1.161, and
# 2 failures: what so few observations tell. The default has 1.121, 1.130, 1.176 and 5.
AT_THE_LIMIT = {"Mod2(7)", "Mod2(8)", "Mod2(9)"}


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def judged(problem, centers):
    clean = KMeans(problem.n_clusters, n_init=10, random_state=problem.seed).fit(problem.X)
    limit = clean_distortion(clean.cluster_centers_, problem.fresh)
    risk = clustering_risk(centers, problem.X, problem.y)
    return risk, clean_distortion(centers, problem.fresh) / limit


def run(path, setting, replicate):
    """Risk and ratio of the default, then of somebody who knows shapes and sizes, if Gaussian."""
    sys.path.insert(0, path)
    from limit import known_shapes  # noqa: PLC0415  of the benchmarks
    from settings import SETTINGS  # noqa: PLC0415

    problem = SETTINGS[setting].problem(replicate)
    model = NoisyKMeans(problem.n_clusters, noise=problem.noise, random_state=problem.seed)
    default = judged(problem, model.fit(problem.Z).cluster_centers_)
    known = judged(problem, known_shapes(problem)) if setting.startswith("Mod") else (0, 0)
    return (*default, *known)


@pytest.mark.statistical
@pytest.mark.parametrize("setting", PROMISES)
def test_default_is_right_without_tuning(setting):
    jobs = (joblib.delayed(run)(str(BENCHMARKS), setting, i) for i in range(100))
    runs = np.array(joblib.Parallel(-1, inner_max_num_threads=1)(jobs))
    failures, (risk, ratio, _, limit) = (runs[:, 0] > 0.2).sum(), runs.mean(axis=0)
    most, largest_risk, largest_ratio = PROMISES[setting]
    if setting in AT_THE_LIMIT:
        assert ratio <= 1.015 * limit
        assert failures <= (runs[:, 2] > 0.2).sum() + 4
    else:
        assert ratio <= largest_ratio
        assert failures <= most
        assert risk <= largest_risk


MANY_AXES = {  # how much larger the mean risk may be than that of the true centers
    f"{size}{law}": margin
    for size, margin in {
        "d = 10, k = 2, n = 500": 0.004,
        "d = 10, k = 3, n = 1000": 0.004,
        "d = 20, k = 2, n = 2000": 0.004,
        "d = 20, k = 6, n = 5000": 0.01,
        "d = 30, k = 10, n = 10000": 0.01,
    }.items()
    for law in ("", ", rotated", ", Laplace", ", Laplace, rotated")
}


def risks(path, setting, replicate):
    """The risk of the default, and that of the true centers."""
    sys.path.insert(0, path)
    from settings import SETTINGS  # noqa: PLC0415  of the benchmarks

    problem = SETTINGS[setting].problem(replicate)
    model = NoisyKMeans(problem.n_clusters, noise=problem.noise, random_state=problem.seed)
    centers = model.fit(problem.Z).cluster_centers_
    return [clustering_risk(c, problem.X, problem.y) for c in (centers, problem.centers)]


@pytest.mark.slow
@pytest.mark.parametrize("setting", MANY_AXES)
def test_default_comes_close_to_the_true_centers_in_any_dimension(setting):
    jobs = (joblib.delayed(risks)(str(BENCHMARKS), setting, i) for i in range(50))
    runs = np.array(joblib.Parallel(-1, inner_max_num_threads=1)(jobs))
    assert (runs[:, 0] <= 0.2).all()
    risk, true = runs.mean(axis=0)
    assert risk <= true + MANY_AXES[setting]
