"""Laws of errors that are estimated: from pure errors, and from repeated measurements."""

from __future__ import annotations

import warnings
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.noise.base import Noise
from noisykmeans.noise.laws import Gaussian
from noisykmeans.noise.observed import PerObservation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Differences", "Empirical", "from_replicates"]

_FEWEST = 30  # differences from which a law can be estimated
_NEGLIGIBLE = 1e-9  # size of the c.f. from which on it is 0
_FARTHEST = 8.0  # standard deviations, as frequencies: no cut lies beyond
_MOST_POINTS = 2000  # larger samples are rounded to a lattice
_CELL = 1 / 32  # its spacing, in standard deviations
_BLOCK = 2**22  # of waves at a time
_DIRECTIONS = 12  # at random, beside the axes, in which the cut is sought


class Empirical(Noise):
    """The law of a sample of pure errors, as blank measurements give it.

    The c.f. is that of the sample, ``mean_j exp(i <t, eps_j>)``, as far as it can be told from 0:
    up to the ellipsoid ``<t, S t> = rho^2``, S the covariance, at which it first falls below
    ``m^(-1/2)`` (Neumann, 1997). There chance begins, and a Gaussian tail is put in its place:
    ``|phi(t)| = |phi(t / r)|^(r^2)``, ``t / r`` on the border.

    Parameters
    ----------
    sample : array of shape (m,) or (m, d)
        Errors. Their mean is not taken off.

    Examples
    --------
    >>> errors = np.random.default_rng(0).laplace(size=500)
    >>> law = Empirical(errors)
    >>> abs(law.characteristic_function([[1.0]])[0] - 0.5) < 0.05
    np.True_
    """

    def __init__(self, sample: ArrayLike) -> None:
        super().__init__(sample=sample)
        points = _errors(sample, "sample", 2)
        object.__setattr__(self, "_points", points)

    _points: Array

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return self._points.shape[1]

    @cached_property
    def _waves(self) -> _Waves:
        return _Waves(self._points, len(self._points) ** -0.5)

    def _characteristic_function(self, t: Array) -> NDArray[Any]:
        return self._waves(t)

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        return self._points[rng.integers(len(self._points), size=shape[0])]

    def _covariance(self, dimension: int) -> Array:
        del dimension  # known
        return np.atleast_2d(np.cov(self._points.T, bias=True))

    def mean(self, dimension: int) -> Array:
        """``E eps``, the mean of the sample."""
        self.check_dimension(dimension)
        return np.asarray(self._points.mean(axis=0))

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``."""
        return self if len(axes) == self.dimension else Empirical(self._points[:, list(axes)])

    def __repr__(self) -> str:
        return f"Empirical(<{len(self._points)} errors of {self.dimension} axes>)"


class Differences(Noise):
    """The law of the mean of some symmetric errors, known by differences of two of them.

    ``E exp(i <t, e - e'>) = phi_e(t)^2`` where the law of e is symmetric, so that
    ``phi_e = sqrt(mean_j cos <t, D_j>)`` (Delaigle, Hall and Meister, 2008), and the mean of r
    errors has ``phi_e(t / r)^r``. Beyond the frequencies at which the mean of the cosines can be
    told from 0, which is where it first falls below ``m^(-1/2)``, the c.f. has the Gaussian tail
    of `Empirical`.

    Parameters
    ----------
    differences : array of shape (m,) or (m, d)
        Differences of two errors of the same object.
    readings : int
        The number r of errors in a mean.

    Examples
    --------
    >>> two = np.random.default_rng(0).normal(size=(400, 2))
    >>> law = Differences(two[:, 0] - two[:, 1])
    >>> abs(law.characteristic_function([[1.0]])[0] - np.exp(-0.5)) < 0.05
    np.True_
    """

    def __init__(self, differences: ArrayLike, readings: int = 1) -> None:
        super().__init__(differences=differences, readings=readings)
        if isinstance(readings, bool) or not isinstance(readings, int) or readings < 1:
            raise ValueError(f"readings must be a positive integer; got {readings!r}")
        object.__setattr__(self, "_points", _errors(differences, "differences", 1))

    _points: Array

    @property
    def _readings(self) -> int:
        return int(self._params["readings"])

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return self._points.shape[1]

    @cached_property
    def _waves(self) -> _Waves:
        return _Waves(self._points, len(self._points) ** -0.5, symmetric=True)

    def _characteristic_function(self, t: Array) -> Array:
        squared = np.maximum(self._waves(t / self._readings), 0)
        return np.asarray(squared ** (self._readings / 2))

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        # The mean of an even number of symmetric errors is one of half as many differences. An
        # odd one is a difference over sqrt(2): right in its variance, and exact for Gaussians.
        pairs, odd = divmod(self._readings, 2)
        total = np.zeros(shape)
        for factor in [1.0] * pairs + [0.5**0.5] * odd:
            drawn = self._points[rng.integers(len(self._points), size=shape[0])]
            total += factor * drawn * rng.choice([-1.0, 1.0], size=(shape[0], 1))
        return total / self._readings

    def _covariance(self, dimension: int) -> Array:
        del dimension  # known
        squares = self._points.T @ self._points / len(self._points)
        return squares / (2 * self._readings)

    def mean(self, dimension: int) -> Array:
        """``E eps``: 0, since the law is symmetric."""
        self.check_dimension(dimension)
        return np.zeros(dimension)

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``."""
        return Differences(self._points[:, list(axes)], self._readings)

    def __repr__(self) -> str:
        return (
            f"Differences(<{len(self._points)} differences of {self.dimension} axes>, "
            f"{self._readings})"
        )


class _Waves:
    """``mean_j exp(i <t, x_j>)`` with a Gaussian tail beyond the cut."""

    def __init__(self, points: Array, smallest: float, *, symmetric: bool = False) -> None:
        self._points, self._weights = _rounded(points)
        self._wave = np.cos if symmetric else _wave
        middle = 0.0 if symmetric else points.mean(axis=0)
        self._covariance = (points - middle).T @ (points - middle) / len(points)
        self._cut = self._first_below(smallest)
        # Where the tail of a c.f. of that size at the cut has vanished.
        self._end = np.sqrt(np.log(_NEGLIGIBLE) / np.log(min(smallest, 0.9)))

    def __call__(self, t: Array) -> NDArray[Any]:
        flat = t.reshape(-1, t.shape[-1])
        r = np.sqrt(np.maximum(((flat @ self._covariance) * flat).sum(axis=1), 0)) / self._cut
        values = np.zeros(len(flat), dtype=self._wave(np.zeros(1)).dtype)
        inside, tail = r <= 1, (r > 1) & (r < self._end)
        values[inside] = self._mean(flat[inside])
        at_border = self._mean(flat[tail] / r[tail, None])
        values[tail] = at_border * np.abs(at_border) ** (r[tail] ** 2 - 1)
        return values.reshape(t.shape[:-1])

    def _mean(self, t: Array) -> NDArray[Any]:
        rows = max(_BLOCK // len(self._points), 1)
        blocks = [t[i : i + rows] for i in range(0, len(t), rows)]
        parts = [self._wave(block @ self._points.T) @ self._weights for block in blocks]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _first_below(self, smallest: float) -> float:
        """Return the least Mahalanobis length of frequencies at which nothing is left."""
        d = self._points.shape[1]
        rays = np.concatenate([np.eye(d), np.random.default_rng(0).normal(size=(_DIRECTIONS, d))])
        sizes = np.sqrt(np.maximum(((rays @ self._covariance) * rays).sum(axis=1), 0))
        rays = rays[sizes > 0] / sizes[sizes > 0, None]
        lengths = np.linspace(0, _FARTHEST, 161)[1:]
        below = np.abs(self._mean((lengths[:, None, None] * rays).reshape(-1, d))) < smallest
        first = below.reshape(len(lengths), -1).any(axis=1)
        return float(lengths[first.argmax()] if first.any() else _FARTHEST)


def _wave(angles: Array) -> NDArray[np.complex128]:
    return np.exp(1j * angles)


def from_replicates(R: ArrayLike, *, gaussian: bool = False) -> tuple[Array, Noise]:
    """Return the means of repeated measurements, and the law of their errors.

    Differences of two readings of one object have nothing in them but errors. These are taken
    for symmetric, and for equally distributed for all objects: see `Differences`. Objects with
    different numbers of readings have different laws, in a `PerObservation`.

    Parameters
    ----------
    R : array of shape (n, m) or (n, m, d)
        Up to m readings of each of n objects. A reading with NaN is none.
    gaussian : bool
        Whether errors are known to be Gaussian: then only their covariance is estimated.

    Returns
    -------
    X : array of shape (n, d)
        The mean of the readings of each object, NaN where there are none.
    law : Noise
        The law of its error, for ``NoisyKMeans(noise=law).fit(X)``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> R = rng.normal(size=(200, 1, 1)) + rng.laplace(size=(200, 2, 1))
    >>> X, law = from_replicates(R)
    >>> X.shape, law
    ((200, 1), Differences(<200 differences of 1 axes>, 2))
    """
    readings = np.asarray(R)
    if readings.ndim == 2:
        readings = readings[:, :, None]
    if readings.ndim != 3 or readings.dtype.kind not in "iuf" or not readings.size:
        raise ValueError(
            f"R must be numbers of shape (n, m, d), m readings of each of n objects; got shape "
            f"{np.shape(R)}"
        )
    readings = readings.astype(np.float64)
    if np.isinf(readings).any():
        raise ValueError("R must be finite, or NaN where a reading is missing; got infinity")
    there = ~np.isnan(readings).any(axis=2)
    counts = there.sum(axis=1)
    if counts.max() < 2:
        raise ValueError(
            "R has no object with two readings or more: without differences the law of the errors "
            "cannot be estimated; give one as noise"
        )
    totals = np.where(there[:, :, None], readings, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        X = totals / np.where(counts > 0, counts, np.nan)[:, None]
    differences = np.concatenate(
        [
            readings[both, i] - readings[both, j]
            for i, j in combinations(range(readings.shape[1]), 2)
            if (both := there[:, i] & there[:, j]).any()
        ]
    )
    if len(differences) < _FEWEST and not gaussian:
        warnings.warn(
            f"R has only {len(differences)} differences of readings, too few to estimate the law "
            f"of the errors: a Gaussian law is fitted; gaussian=True asks for that",
            UserWarning,
            stacklevel=2,
        )
        gaussian = True
    return X, _law_of_means(differences, np.maximum(counts, 1), gaussian=gaussian)


def _law_of_means(differences: Array, counts: NDArray[np.intp], *, gaussian: bool) -> Noise:
    """Return the law of means of as many errors as the counts say."""
    one = differences.T @ differences / (2 * len(differences))
    different, labels = np.unique(counts, return_inverse=True)
    laws: list[Noise] = [
        Gaussian.from_covariance(one / r) if gaussian else Differences(differences, r)
        for r in different.tolist()
    ]
    return laws[0] if len(laws) == 1 else PerObservation(laws, labels.ravel())


def _errors(sample: ArrayLike, name: str, fewest: int) -> Array:
    array = np.array(sample, dtype=np.float64)  # a copy: the law is frozen
    points = array[:, None] if array.ndim == 1 else array
    if points.ndim != 2 or len(points) < fewest or not points.shape[1]:
        raise ValueError(
            f"{name} must have the shape (m,) or (m, d), m at least {fewest}; got {array.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite; got {int((~np.isfinite(points)).sum())} others")
    return points


def _rounded(points: Array) -> tuple[Array, Array]:
    """Return places and their shares: the points, or cells of a fine lattice where they are many.

    A cell stands for its points by their mean.
    """
    n = len(points)
    if n <= _MOST_POINTS:
        return points, np.full(n, 1 / n)
    scale = points.std(axis=0)
    cells = np.floor(points / np.where(scale > 0, _CELL * scale, 1.0))
    _, labels, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    sums = [np.bincount(labels.ravel(), x) for x in points.T]
    return np.stack(sums, axis=1) / counts[:, None], counts / n
