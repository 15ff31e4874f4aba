"""The settings of the accuracy benchmark: laws of clean points, laws of errors, sample sizes.

Each is a function of a random generator alone, so that every method meets the same data sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from noisykmeans import datasets, noise

Array = np.ndarray[Any, Any]
Sampler = Callable[[int, np.random.Generator], tuple[Array, Array]]
Shape = Callable[[np.random.Generator, tuple[int, int]], Array]

FRESH = 20_000  # clean points on which centers are judged
TUNING = 1_000  # clean points for the oracle


@dataclass(frozen=True)
class Problem:
    """One data set: clean points and their clusters, observations, and fresh clean points.

    Those of ``fresh`` judge centers; those of ``tuning`` are for the paper's way of tuning.
    ``centers`` are the means of the fresh points' clusters. ``noise`` is the law of errors as the
    methods are told; ``covariances`` are those of Gaussian errors of each observation, instead.
    Missing coordinates of Z are NaN.
    """

    X: Array
    Z: Array
    y: Array
    fresh: Array
    tuning: Array
    centers: Array
    noise: noise.Noise
    n_clusters: int
    seed: int
    covariances: Array | None = None


@dataclass(frozen=True)
class Setting:
    """A law of clean points and one of errors.

    Parameters
    ----------
    name : str
        As it stands in the tables.
    sampler : callable
        ``sampler(n, rng)`` draws clean points and their clusters.
    noise : Noise
        The law of the errors.
    n_samples, n_clusters : int
        The size of a data set, and the number of centers wanted.
    covariances : callable or None
        ``covariances(n, rng)`` draws those of each observation's errors, instead of ``noise``.
    missing : float
        The share of the coordinates that are missing, at random.
    readings : int
        How often each point is measured; the observation is the mean, and methods are told the
        law that `noise.from_replicates` estimates.
    told : bool
        Whether they are told the true law of the mean instead.
    """

    name: str
    sampler: Sampler
    noise: noise.Noise
    n_samples: int
    n_clusters: int
    covariances: Callable[[int, np.random.Generator], Array] | None = None
    missing: float = 0.0
    readings: int = 1
    told: bool = False

    def problem(self, replicate: int) -> Problem:
        """Draw a data set: the same one for the same replicate, whatever law is told."""
        rng = np.random.default_rng([replicate, *self.name.split(", law told")[0].encode()])
        X, y = self.sampler(self.n_samples, rng)
        covariances, law = None, self.noise
        if self.readings > 1:
            errors = [self.noise.sample(X.shape, rng) for _ in range(self.readings)]
            Z, law = noise.from_replicates(X[:, None] + np.stack(errors, axis=1))
            if self.told:
                mean = self.noise.project(np.eye(X.shape[1]) / self.readings)
                law = reduce(add, [mean] * self.readings)
        elif self.covariances is None:
            Z = X + self.noise.sample(X.shape, rng)
        else:
            covariances = self.covariances(self.n_samples, rng)
            Z = X + gaussian(covariances, rng)
        if self.missing:
            Z[rng.random(Z.shape) < self.missing] = np.nan
        fresh, which = self.sampler(FRESH, rng)
        centers = np.array([fresh[which == j].mean(axis=0) for j in np.unique(which)])
        tuning, _ = self.sampler(TUNING, rng)
        return Problem(
            X, Z, y, fresh, tuning, centers, law, self.n_clusters, replicate, covariances
        )


def gaussian(covariances: Array, rng: np.random.Generator) -> Array:
    """Draw one Gaussian error of each covariance, singular ones included."""
    values, axes = np.linalg.eigh(covariances)
    normal = rng.standard_normal(values.shape) * np.sqrt(np.maximum(values, 0))
    return np.einsum("nij,nj->ni", axes, normal)


def vertical(n: int, rng: np.random.Generator) -> Array:
    """Draw vertical errors of variance 0, 4 or 36, evenly."""
    covariances = np.zeros((n, 2, 2))
    covariances[:, 1, 1] = rng.choice([0.0, 4.0, 36.0], n)
    return covariances


def rotated(n: int, rng: np.random.Generator) -> Array:
    """Draw errors of total variance 10, as Mod2's, in any direction, of axis ratio 1 to 8.

    The ratio is that of the standard deviations.
    """
    angle, ratio = rng.uniform(0, np.pi, n), rng.uniform(1, 8, n)
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    shares = np.stack([ratio**2, np.ones(n)]) / (1 + ratio**2)
    return 10 * sum(
        s[:, None, None] * v[:, :, None] * v[:, None, :]
        for s, v in zip(shares, (along, across), strict=True)
    )


def shifted_exponential(variance: float) -> noise.Noise:
    """Return the law of errors along the second axis that are exponential, less their mean."""
    scale = float(np.sqrt(variance))
    along = noise.Custom(
        lambda t: (np.exp(-1j * scale * t) / (1 - 1j * scale * t)).prod(axis=-1),
        lambda size, rng: rng.exponential(scale, size=size) - scale,
        1,
    )
    return noise.Independent([noise.Gaussian(0.0), along])


def paper(make: Callable[..., tuple[Array, Array, Array]], u: float) -> Sampler:
    """Return the clean part of one of the paper's experiments."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        X, _, y = make(u, n, rng)
        return X, y

    return draw


def clusters(
    means: list[tuple[float, ...]] | Array,
    shape: Shape,
    shares: list[float] | None = None,
) -> Sampler:
    """Return the law of shifted copies of one shape, evenly shared unless shares are given."""
    centers = np.array(means)

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        y = rng.choice(len(centers), size=n, p=shares)
        return centers[y] + shape(rng, (n, centers.shape[1])), y

    return draw


def normal(rng: np.random.Generator, size: tuple[int, int]) -> Array:
    """Draw from the standard normal law."""
    return rng.standard_normal(size)


def square(rng: np.random.Generator, size: tuple[int, int]) -> Array:
    """Draw from the uniform law on the square of side 3."""
    return rng.uniform(-1.5, 1.5, size)


def exponential(rng: np.random.Generator, size: tuple[int, int]) -> Array:
    """Draw independent exponential coordinates of scale 1."""
    return rng.exponential(size=size)


def student(rng: np.random.Generator, size: tuple[int, int]) -> Array:
    """Draw independent coordinates of Student's law with 3 degrees of freedom."""
    return rng.standard_t(3, size)


def ring(rng: np.random.Generator, size: tuple[int, int]) -> Array:
    """Draw from a ring of radius 1.5 and thickness 0.2."""
    angle, radius = rng.uniform(0, 2 * np.pi, size[0]), rng.normal(1.5, 0.2, size[0])
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def many_axes(  # noqa: PLR0913  a law and a size are five numbers and a shape
    d: int, k: int, n: int, *, shape: Shape = normal, laplace: bool = False, turned: bool = False
) -> Setting:
    """Return k clusters in d dimensions, and errors that are large where the clusters are not.

    The clusters lie at ``5 e_j`` and at 0. The variance of the errors is 0.5 on the first
    ``k - 1`` axes and 9 on the others; all may be turned by one rotation.
    """
    means = np.vstack([5 * np.eye(k - 1, d), np.zeros(d)])
    variance = np.where(np.arange(d) < k - 1, 0.5, 9.0)
    law: noise.Noise = (
        noise.Laplace(np.sqrt(variance / 2)) if laplace else noise.Gaussian(np.sqrt(variance))
    )
    sampler = clusters(means, shape)
    words = [f"d = {d}, k = {k}, n = {n}"]
    words += [shape.__name__] * (shape is not normal) + ["Laplace"] * laplace
    if turned:
        axes = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
        law, sampler = law.project(axes), turned_by(axes, sampler)
        words.append("rotated")
    return Setting(", ".join(words), sampler, law, n, k)


def turned_by(axes: Array, sampler: Sampler) -> Sampler:
    """Return the law of clean points after a rotation."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        X, y = sampler(n, rng)
        return X @ axes.T, y

    return draw


PAIR = [(0.0, 0.0), (5.0, 0.0)]
TRIANGLE = [(0.0, 0.0), (5.0, 0.0), (2.5, 4.5)]
SIZES = [(10, 2, 500), (10, 3, 1000), (20, 2, 2000), (20, 6, 5000), (30, 10, 10000)]
DICE = [(0.0, 0.0), (7.0, 0.0), (0.0, 7.0), (7.0, 7.0), (14.0, 3.5)]

SETTINGS = {
    setting.name: setting
    for setting in (
        *(
            Setting(f"Mod1({u})", paper(datasets.make_mod1, u), datasets.mod1_noise(u), 100, 2)
            for u in range(1, 11)
        ),
        *(
            Setting(f"Mod2({u})", paper(datasets.make_mod2, u), datasets.mod2_noise(), 180, 3)
            for u in range(1, 11)
        ),
        Setting("squares, Laplace", clusters(TRIANGLE, square), noise.Laplace((0.5, 1.2)), 300, 3),
        Setting("exponential", clusters(TRIANGLE, exponential), noise.Gaussian((0.8, 1.5)), 300, 3),
        Setting("rings", clusters([(0, 0), (6, 0)], ring), noise.Gaussian((0.5, 3.0)), 200, 2),
        Setting("uniform errors", clusters(PAIR, normal), noise.Uniform((0.0, 5.2)), 100, 2),
        Setting(
            "unequal sizes",
            clusters(TRIANGLE, normal, [0.6, 0.3, 0.1]),
            noise.Gaussian((1.0, 2.0)),
            300,
            3,
        ),
        Setting(
            "correlated errors",
            clusters(PAIR, normal),
            noise.Gaussian.from_covariance([[4.0, 3.5], [3.5, 4.0]]),
            100,
            2,
        ),
        Setting("heavy tails", clusters(DICE[:4], student), noise.Gaussian(2.5), 300, 4),
        Setting("five clusters", clusters(DICE, normal), noise.Gaussian(2.0), 500, 5),
        Setting("n = 50", clusters(PAIR, normal), noise.Gaussian((0.0, 2.5)), 50, 2),
        Setting("n = 500", clusters(PAIR, normal), noise.Gaussian((1.5, 3.5)), 500, 2),
        Setting("n = 5000", clusters(PAIR, normal), noise.Gaussian((2.0, 4.0)), 5000, 2),
        Setting(
            "three error sizes",
            clusters(PAIR, normal),
            noise.Gaussian((0.0, np.sqrt(40 / 3))),
            300,
            2,
            vertical,
        ),
        Setting(
            "rotated errors",
            paper(datasets.make_mod2, 7),
            noise.Gaussian(np.sqrt(5)),
            500,
            3,
            rotated,
        ),
        Setting("uniform, n = 300", clusters(PAIR, normal), noise.Uniform((0.0, 27**0.5)), 300, 2),
        Setting("exponential errors", clusters(PAIR, normal), shifted_exponential(9.0), 300, 2),
        *(
            Setting(
                "two readings" + ", law told" * told,
                clusters(PAIR, normal),
                datasets.mod1_noise(18),  # the mean of two has the errors of Mod1(9)
                300,
                2,
                readings=2,
                told=told,
            )
            for told in (False, True)
        ),
        Setting(
            "missing coordinates",
            paper(datasets.make_mod2, 5),
            datasets.mod2_noise(),
            600,
            3,
            missing=0.2,
        ),
        *(
            many_axes(*size, laplace=laplace, turned=turned)
            for size in SIZES
            for laplace in (False, True)
            for turned in (False, True)
        ),
        *(many_axes(*size, shape=shape) for size in SIZES for shape in (exponential, square)),
    )
}
