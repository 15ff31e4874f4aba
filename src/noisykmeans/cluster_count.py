"""How many clusters? Two answers side by side, and a rule that takes both."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from noisykmeans.errors import Errors, varies
from noisykmeans.estimators import NoisyKMeans
from noisykmeans.estimators.rows import as_covariances
from noisykmeans.noise import PerObservation
from noisykmeans.observations import closest
from noisykmeans.parameters import as_noise, is_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = ["ClusterCount", "select_n_clusters"]

STABLE = 0.9  # from which stability on a number of clusters is worth considering
_POINTS = 2000  # on which partitions are compared
_OUTSIDE = 0.005  # share of the clean points beyond either end of the reference's box


@dataclass(frozen=True, eq=False)
class ClusterCount:
    """What speaks for each number of clusters.

    Printed, it is a table.

    Parameters
    ----------
    candidates : array of shape (m,)
        The numbers of clusters.
    distortion : array of shape (m,)
        The mean squared distance of the clean points to the closest center, as estimated.
    gap : array of shape (m,)
        How far the logarithm of the distortion lies below that for clean points without clusters:
        uniform on the box around the clean points, with the same errors. Larger is better.
    gap_std_errors : array of shape (m,)
        How much the gap varies with the points drawn for it.
    stability : array of shape (m,)
        How far centers from noisier copies of the observations give the same clusters: the mean
        adjusted Rand index, 1 for the same ones and 0 for chance. One cluster is stable.
    recommended : int
        Among those with a stability of at least `STABLE` (or all, if none has) the smallest one
        whose gap lies below the largest by at most the standard error of the difference.

    Examples
    --------
    >>> count = ClusterCount(*np.array([[1, 2], [4.0, 1.0], [0.1, 0.9], [0.1, 0.1], [1.0, 1.0]]), 2)
    >>> print(count)
    clusters  distortion    gap  (std. error)  stability
           1           4  0.100         0.100       1.00
           2           1  0.900         0.100       1.00  <- recommended
    """

    candidates: NDArray[np.intp]
    distortion: Array
    gap: Array
    gap_std_errors: Array
    stability: Array
    recommended: int

    def __str__(self) -> str:
        lines = ["clusters  distortion    gap  (std. error)  stability"]
        columns = (self.candidates, self.distortion, self.gap, self.gap_std_errors, self.stability)
        for k, distortion, gap, error, stability in zip(*columns, strict=True):
            line = f"{k:8.0f}{distortion:12.4g}{gap:7.3f}{error:14.3f}{stability:11.2f}"
            lines.append(line + ("  <- recommended" if k == self.recommended else ""))
        return "\n".join(lines)


def select_n_clusters(  # noqa: PLR0913  those of a fit, and two numbers
    X: ArrayLike,
    candidates: Iterable[int] = range(1, 9),
    *,
    noise: Noise | None = None,
    sample_weight: ArrayLike | None = None,
    X_err: ArrayLike | None = None,
    X_cov: ArrayLike | None = None,
    n_copies: int = 4,
    random_state: Any = None,
    **params: Any,
) -> ClusterCount:
    """Compare numbers of clusters by stability under more errors, and by the gap.

    Stability: errors are added once more to the observations, and deconvolved together with the
    first ones. Clusters that are there are found again. (Without errors, rows are repeated at
    random.) Gap (Tibshirani, Walther and Hastie 2001): by how much the distortion falls short of
    that of clean points without clusters, which have the same errors and the same analysis. The
    recommended number is the smallest stable one whose gap lies below the largest by at most the
    standard error of the difference.

    Parameters
    ----------
    X : array of shape (n, d)
        Observations.
    candidates : iterable of int
        Numbers of clusters, two at least.
    noise, sample_weight, X_err, X_cov
        As for `NoisyKMeans` and its `fit`.
    n_copies : int
        How many noisier copies, and how many samples without clusters; 2 at least.
    random_state : int, RandomState or None
        Source of randomness.
    **params
        Further parameters of `NoisyKMeans`.

    Examples
    --------
    >>> from noisykmeans.datasets import make_mod2
    >>> from noisykmeans.noise import Gaussian
    >>> X, Z, y = make_mod2(1, 200, random_state=0)
    >>> count = select_n_clusters(Z, [2, 3, 4], noise=Gaussian(5**0.5), random_state=0)
    >>> count.recommended
    3
    """
    if not is_count(n_copies) or n_copies < 2:
        raise ValueError(f"n_copies must be an integer, 2 or more; got {n_copies!r}")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    sample = _Sample.of(X, noise, sample_weight, X_err, X_cov)
    numbers = _checked(candidates, len(sample.Z))
    model = NoisyKMeans(noise=noise, random_state=int(rng.integers(2**31 - 1)), **params)
    fits = [sample.fitted(model, k) for k in numbers]
    distortion = np.array([fit.inertia_ for fit in fits]) / sample.mass
    points = sample.clean(fits[-1], rng)
    references = [
        [_log_distortion(sample.fitted(model, k, Z=Z), sample) for k in numbers]
        for Z in (sample.without_clusters(points, rng) for _ in range(n_copies))
    ]
    gap = np.mean(references, axis=0) - np.log(np.maximum(distortion, 1e-300))
    errors = np.std(references, axis=0, ddof=1) * np.sqrt(1 + 1 / n_copies)
    some = points[:_POINTS]
    found = [closest(some, fit.cluster_centers_) for fit in fits]
    stability = np.mean(
        [
            [
                adjusted_rand_score(labels, closest(some, centers))
                for labels, centers in zip(found, copy, strict=True)
            ]
            for copy in sample.copies(model, numbers, n_copies, rng)
        ],
        axis=0,
    )
    return ClusterCount(
        numbers, distortion, gap, errors, stability, _recommended(numbers, gap, errors, stability)
    )


def _recommended(numbers: NDArray[np.intp], gap: Array, errors: Array, stability: Array) -> int:
    """Return the smallest stable number whose gap is not clearly below the largest one."""
    stable = stability >= STABLE
    judged = np.where(stable, gap, -np.inf) if stable.any() else gap
    best = judged.argmax()
    return int(numbers[(judged >= judged[best] - np.hypot(errors, errors[best])).argmax()])


def _checked(candidates: Iterable[int], n: int) -> NDArray[np.intp]:
    """Return the candidates in ascending order, or raise where they are none."""
    given = list(candidates)
    if not all(is_count(k) for k in given) or len(set(given)) < 2:
        raise ValueError(
            f"candidates must be two different positive integers at least, numbers of clusters; "
            f"got {given!r}"
        )
    if max(given) > n:
        raise ValueError(f"candidates must not exceed the {n} rows of X; got {max(given)}")
    return np.array(sorted(set(given)))


def _log_distortion(model: NoisyKMeans, sample: _Sample) -> float:
    return float(np.log(max(model.inertia_ / sample.mass, 1e-300)))


@dataclass(frozen=True, eq=False)
class _Sample:
    """Observations, and all that is known of their errors.

    Parameters
    ----------
    Z : array of shape (n, d)
        Observations, NaN for what was not observed.
    noise : Noise or None
        The law that all rows share.
    covariances : array of shape (n, d, d) or None
        Of the errors of each row beside.
    weights : array of shape (n,) or None
        The weights of the rows.
    """

    Z: Array
    noise: Noise | None
    covariances: Array | None
    weights: Array | None

    @classmethod
    def of(cls, X: ArrayLike, noise: Any, sample_weight: Any, X_err: Any, X_cov: Any) -> _Sample:
        """Check and collect."""
        known = noise is not None or X_err is not None or X_cov is not None
        finite: Any = "allow-nan" if known else True
        Z = check_array(X, dtype=np.float64, ensure_all_finite=finite)
        errors = Errors.of(Z, as_covariances(X_err, X_cov, Z))
        if noise is not None:
            as_noise(noise, Z.shape[1])
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return cls(errors.hidden(Z), noise, errors.covariances, weights)

    @property
    def mass(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.Z) if self.weights is None else self.weights.sum())

    def fitted(self, model: NoisyKMeans, k: int, **changes: Any) -> NoisyKMeans:
        """Return a fit of so many clusters to these observations, or others in their place."""
        given = {"Z": self.Z, "X_cov": self.covariances, "sample_weight": self.weights} | changes
        model = clone(model).set_params(n_clusters=int(k), noise=given.pop("noise", self.noise))
        with warnings.catch_warnings():
            # More clusters than there are is what is asked about.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(given.pop("Z"), **given)

    def clean(self, model: NoisyKMeans, rng: np.random.Generator) -> Array:
        """Return points of the clean law: drawn ones, or the observations where they are clean."""
        if model.density_ is not None:
            return model.sample(2 * _POINTS, int(rng.integers(2**31 - 1)))
        return self.Z[rng.permutation(len(self.Z))]

    def without_clusters(self, points: Array, rng: np.random.Generator) -> Array:
        """Return observations of points that are uniform on a box along the principal axes."""
        middle = points.mean(axis=0)
        _, _, axes = np.linalg.svd(points - middle, full_matrices=False)
        low, high = np.quantile((points - middle) @ axes.T, [_OUTSIDE, 1 - _OUTSIDE], axis=0)
        X = middle + rng.uniform(low, high, (len(self.Z), len(low))) @ axes
        return np.where(np.isnan(self.Z), np.nan, X + self._errors(rng))

    def copies(
        self, model: NoisyKMeans, numbers: NDArray[np.intp], n: int, rng: np.random.Generator
    ) -> Iterator[list[Array]]:
        """Give the centers for each number of clusters from noisier copies."""
        for _ in range(n):
            if self.noise is None and self.covariances is None:
                weights = np.ones(len(self.Z)) if self.weights is None else self.weights
                changes: dict[str, Any] = {
                    "sample_weight": weights * rng.poisson(1.0, len(weights))
                }
            else:
                changes = {"Z": self.Z + self._errors(rng), "noise": _twice(self.noise)}
                changes["X_cov"] = None if self.covariances is None else 2 * self.covariances
            yield [self.fitted(model, k, **changes).cluster_centers_ for k in numbers]

    def _errors(self, rng: np.random.Generator) -> Array:
        """Draw errors of all rows."""
        n, d = self.Z.shape
        errors = np.zeros((n, d))
        if varies(self.noise):
            for i, law in enumerate(self.noise.laws):
                rows = np.flatnonzero(self.noise.labels == i)
                errors[rows] = law.sample((len(rows), d), rng)
        elif self.noise is not None:
            errors += self.noise.sample((n, d), rng)
        if self.covariances is not None:
            values, axes = np.linalg.eigh(self.covariances)
            normal = rng.standard_normal((n, d)) * np.sqrt(np.maximum(values, 0))
            errors += np.einsum("nij,nj->ni", axes, normal)
        return errors


def _twice(noise: Noise | None) -> Noise | None:
    """Return the law of the sum of two errors."""
    if varies(noise):
        return PerObservation([law + law for law in noise.laws], noise.labels)
    return None if noise is None else noise + noise
