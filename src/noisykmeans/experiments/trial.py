"""One data set, and what every method makes of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from noisykmeans.estimators import NoisyKMeans
from noisykmeans.experiments.methods import METHODS
from noisykmeans.experiments.separable import SeparableDeconvolution
from noisykmeans.experiments.settings import EXPERIMENTS, Run, Settings
from noisykmeans.experiments.tuning import distortions, tune
from noisykmeans.histogram import fill
from noisykmeans.metrics import clustering_risk
from noisykmeans.parameters import as_window
from noisykmeans.spectrum import transform

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Found = tuple[Array, Array | None]

__all__ = ["Row", "Trial", "perform", "random_centers"]

N_CLEAN = 1000  # fresh clean points, once for tuning and once for the column `distortion`
N_STARTS = 10  # of the methods that restart


class Row(NamedTuple):
    """What one method has found on one data set: a row of the table of runs."""

    experiment: str
    u: int
    replicate: int
    seed: int
    method: str
    risk: float
    distortion: float
    bandwidth: list[float] | None
    centers: list[list[float]]
    time: float

    @property
    def key(self) -> tuple[str, int, int, int]:
        """Where the row stands in the table."""
        return self.experiment, self.u, self.replicate, list(METHODS).index(self.method)


@dataclass(frozen=True, eq=False)
class Trial:
    """A data set, the start that both methods of the paper share, and fresh clean points.

    Parameters
    ----------
    run : Run
        Which data set.
    seed : int
        Its own: ``draw(u, n_samples, seed)`` of the experiment draws it again.
    clean, observations, clusters : array
        ``X``, ``Z`` and the true clusters.
    start : array of shape (k, 2)
        The single random centers.
    tuning, fresh : array of shape (1000, 2)
        Clean points to tune lambda, and to measure the distortion.
    state : int
        For scikit-learn's and the package's own random choices.
    """

    run: Run
    seed: int
    clean: Array
    observations: Array
    clusters: NDArray[np.intp]
    start: Array
    tuning: Array
    fresh: Array
    state: int

    @classmethod
    def draw(cls, run: Run, settings: Settings) -> Self:
        """Draw the data set of a run. Every part has random numbers of its own."""
        experiment = EXPERIMENTS[run.experiment]
        place = (experiment.index, run.u, run.replicate)
        (state,) = np.random.SeedSequence(settings.seed, spawn_key=place).generate_state(1, "u8")
        seed = int(state) >> 11  # exact as a float, too: tables are read by spreadsheets
        start, tuning, fresh, other = np.random.SeedSequence(seed).spawn(4)
        X, Z, y = experiment.draw(run.u, experiment.n_samples, seed)
        k, rng = experiment.n_clusters, np.random.default_rng(start)
        return cls(
            run,
            seed,
            clean=X,
            observations=Z,
            clusters=y,
            start=random_centers(Z, k, settings.starts, rng),
            tuning=experiment.draw(run.u, N_CLEAN, np.random.default_rng(tuning))[0],
            fresh=experiment.draw(run.u, N_CLEAN, np.random.default_rng(fresh))[0],
            state=int(other.generate_state(1)[0]),
        )

    def row(self, method: str, find: Callable[[], Found]) -> Row:
        """Time a method, and judge its centers on clean points."""
        begin = time.perf_counter()
        centers, bandwidth = find()
        seconds = time.perf_counter() - begin
        return Row(
            *self.run,
            self.seed,
            method,
            risk=clustering_risk(centers, self.clean, self.clusters),
            distortion=float(distortions(centers[None], self.fresh)[0]),
            bandwidth=None if bandwidth is None else bandwidth.tolist(),
            centers=centers.tolist(),
            time=seconds,
        )


def perform(run: Run, settings: Settings) -> list[Row]:
    """Draw a data set and try every method on it, in one thread."""
    with threadpool_limits(1):
        return _tried(run, settings)


def _tried(run: Run, settings: Settings) -> list[Row]:
    trial = Trial.draw(run, settings)
    experiment = EXPERIMENTS[run.experiment]
    Z, k = trial.observations, experiment.n_clusters
    restarts: dict[str, Any] = {"n_init": N_STARTS, "random_state": trial.state}
    automatic = NoisyKMeans(k, noise=experiment.noise(run.u), random_state=trial.state)
    finders: dict[str, Callable[[], Found]] = {
        "k-means": lambda: _plain(Z, KMeans(k, init=trial.start, n_init=1)),
        "noisy k-means": lambda: _tuned(trial, settings),
        "k-means++": lambda: _plain(Z, KMeans(k, **restarts)),
        "noisy k-means, automatic": lambda: _automatic(Z, automatic),
        "k-means on X": lambda: _plain(trial.clean, KMeans(k, **restarts)),
    }
    return [trial.row(method, finders[method]) for method in METHODS]


def random_centers(points: Array, k: int, reading: str, rng: np.random.Generator) -> Array:
    """Draw random centers in either reading of the paper: "box" or "points".

    Parameters
    ----------
    points : array of shape (n, d)
        Observations.
    k : int
        How many centers.
    reading : {"box", "points"}
        Uniform in the box of the observations, or k different ones of them.
    rng : numpy.random.Generator
        Source of randomness.
    """
    if reading == "points":
        return rng.choice(points, size=k, replace=False)
    low, high = points.min(axis=0), points.max(axis=0)
    return rng.uniform(low, high, size=(k, points.shape[1]))


def _plain(points: Array, model: KMeans) -> Found:
    return model.fit(points).cluster_centers_, None


def _tuned(trial: Trial, settings: Settings) -> Found:
    plan = _plan(trial.run.experiment, trial.run.u, settings)
    spectrum = transform(fill(plan.grid, trial.observations))
    found = tune(plan, spectrum, trial.start, trial.tuning, settings.repair)
    return found.centers, np.array(found.bandwidth)


def _automatic(Z: Array, model: NoisyKMeans) -> Found:
    model.fit(Z)
    # A rule may choose something else than a bandwidth, and has none to show then.
    bandwidth = getattr(model, "bandwidth_", None)
    if bandwidth is None or not (np.asarray(bandwidth) > 0).all():
        return model.cluster_centers_, None
    return model.cluster_centers_, np.ravel(bandwidth)


@lru_cache(maxsize=2)  # runs come sorted by experiment and u, which share their plans
def _plan(name: str, u: int, settings: Settings) -> SeparableDeconvolution:
    experiment = EXPERIMENTS[name]
    return SeparableDeconvolution(
        experiment.grid(u, settings.nodes),
        experiment.noise(u),
        as_window(settings.window),
        settings.candidates,
    )
