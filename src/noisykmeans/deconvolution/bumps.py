"""Mixtures of Gaussian bumps, the simplest laws of clean points that have clusters.

If the clean points are a mixture of normal laws with one covariance C, the observations are such
a mixture too, with the covariance ``C + S``, S that of the errors, and the best C is known in
closed form. k-means itself is the best mixture of round bumps of equal size; a `Family` says
which of the two the data may change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from noisykmeans import _kernels, seeding
from noisykmeans.density import Density
from noisykmeans.measure import WeightedPoints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noisykmeans.grid import Grid
    from noisykmeans.histogram import Histogram
    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = ["Bumps", "Family", "Sample", "State", "clean_covariance", "round_variance"]

_FIRST_STEPS = 15  # of each start, before only the best goes on
_STEPS = 200
_PASSES = 10  # over a large sample, from where a part of it has led to
_GAIN = 1e-6  # of log-likelihood an observation, below which the steps end
_ROWS = 2**13  # whitened at a time: few enough to stay in the cache
_JITTER = 1e-9  # share of the observations' covariance that keeps a vanishing one invertible


@dataclass(frozen=True)
class Family:
    """What the bumps of a mixture have in common.

    Parameters
    ----------
    round : bool
        Whether their covariance is a multiple of the identity; else it is any, the same for all.
    equal : bool
        Whether they have equal mass.
    """

    round: bool
    equal: bool

    def n_parameters(self, n_bumps: int, dimension: int) -> int:
        """Return how many numbers are free: shares, means and covariance."""
        shares = 0 if self.equal else n_bumps - 1
        covariance = 1 if self.round else dimension * (dimension + 1) // 2
        return shares + n_bumps * dimension + covariance


@dataclass(frozen=True, eq=False)
class Bumps:
    """A mixture of normal laws with one covariance.

    Parameters
    ----------
    shares : array of shape (b,)
        The mass of each bump.
    means : array of shape (b, d)
        Their means.
    covariance : array of shape (d, d)
        The covariance of each, possibly singular.
    log_likelihood : float
        Of an observation, on average.
    """

    shares: Array
    means: Array
    covariance: Array
    log_likelihood: float

    def density(self, grid: Grid) -> Density:
        """Return the mixture on a grid; no bump is narrower than a spacing."""
        width = self.covariance + np.diag(np.square(grid.spacing)) / 4
        inverse = np.linalg.inv(width)
        points, values = grid.points, np.zeros(len(grid.points))
        for share, mean in zip(self.shares, self.means, strict=True):
            u = points - mean
            values += share * np.exp(-0.5 * ((u @ inverse) * u).sum(axis=1))
        values = values.reshape(grid.shape)
        return Density(grid, values / (values.sum() * grid.cell_volume))


@dataclass(frozen=True, eq=False)
class State:
    """What the bumps hold, their means, and the log-likelihood that led to them."""

    masses: Array
    means: Array
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Observations as the fit of bumps needs them: centred, of total weight 1.

    Parameters
    ----------
    points : array of shape (m, d)
        Places of observations, less their mean.
    weights : array of shape (m,)
        Their shares.
    covariance, errors : array of shape (d, d)
        The covariance of the observations, and that of their errors.
    mean : array of shape (d,)
        The mean of the clean points: that of the observations less that of the errors.
    origin : array of shape (d,) or 0
        What is still to be taken off the points, where they are too many to be copied.
    """

    points: Array
    weights: Array
    covariance: Array
    errors: Array
    mean: Array
    origin: Array | float = 0.0

    @classmethod
    def of(cls, histogram: Histogram, noise: Noise) -> Sample:
        """Take the nodes with mass for points."""
        grid, d = histogram.grid, histogram.grid.dimension
        filled = histogram.values.ravel() > 0
        weights = histogram.values.ravel()[filled] / histogram.mass
        points = grid.points[filled]
        mean = weights @ points
        points = points - mean
        # Linear binning adds spacing^2 / 6 to the variance, on average.
        errors = noise.covariance_matrix(d) + np.diag(np.square(grid.spacing)) / 6
        covariance = (points * weights[:, None]).T @ points
        return cls(points, weights, covariance, errors, mean - noise.mean(d))

    def start(self, n_bumps: int, rng: np.random.RandomState) -> State:
        """Draw points by k-means++, and give each observation to the closest."""
        measure = WeightedPoints(self.points, self.weights)
        masses, moments = measure.cell_moments(seeding.plus_plus(measure, n_bumps, rng))
        return State(masses, moments / masses[:, None], -np.inf)

    def best(self, family: Family, starts: Sequence[State]) -> State:
        """Run every start for a while, and the best of them until its likelihood rests."""
        first = [self._run(family, state, _FIRST_STEPS) for state in starts]
        return self._run(family, max(first, key=lambda state: state.log_likelihood), _STEPS)

    def polished(self, family: Family, state: State) -> State:
        """Take the last few steps to the maximum of the likelihood."""
        return self._run(family, state, _PASSES)

    def bumps(self, family: Family, state: State) -> Bumps:
        """Return the mixture of a state."""
        shares = np.exp(_log_shares(family, state))
        clean = self._clean(family, state)
        return Bumps(shares, state.means + self.mean, clean, state.log_likelihood)

    def _run(self, family: Family, state: State, n_steps: int) -> State:
        for _ in range(n_steps):
            following = self._step(family, state)
            gain = following.log_likelihood - state.log_likelihood
            state = following
            if gain < _GAIN:
                break
        return state

    def _step(self, family: Family, state: State) -> State:
        """Take an expectation and a maximisation step."""
        observed = self._clean(family, state) + self.errors + _JITTER * self.covariance
        root = np.linalg.cholesky(observed)
        whiten = np.linalg.inv(root)
        means = np.ascontiguousarray(state.means @ whiten.T)
        masses, moments, log_likelihood = self._expected(whiten, means, _log_shares(family, state))
        masses = np.maximum(masses, 1e-300)  # of a bump that nothing supports any more
        log_likelihood -= np.log(np.diag(root)).sum()
        return State(masses, (moments / masses[:, None]) @ root.T, log_likelihood)

    def _expected(self, whiten: Array, means: Array, shares: Array) -> tuple[Array, Array, float]:
        """Return masses, whitened moments and log-likelihood, in one pass over the points."""

        def block(rows: slice) -> tuple[Array, Array, float]:
            masses, moments, total = np.zeros(len(means)), np.zeros_like(means), 0.0
            for start in range(rows.start, rows.stop, _ROWS):
                some = slice(start, min(start + _ROWS, rows.stop))
                white = (self.points[some] - self.origin) @ whiten.T
                mass, moment = np.empty(len(means)), np.empty_like(means)
                total += _kernels.mixture.bump_moments(
                    white, self.weights[some], means, shares, mass, moment
                )
                masses += mass
                moments += moment
            return masses, moments, total

        parts = list(_kernels.threads.map_blocks(block, len(self.points)))
        masses, moments, totals = zip(*parts, strict=True)
        return np.sum(masses, axis=0), np.sum(moments, axis=0), float(sum(totals))

    def _clean(self, family: Family, state: State) -> Array:
        """Return the best covariance C of a bump: that within the bumps, less the errors."""
        between = (state.means * state.masses[:, None]).T @ state.means
        within = self.covariance - between
        if family.round:
            variances, axes = np.linalg.eigh(self.errors)
            along = ((within @ axes) * axes).sum(axis=0)
            return round_variance(along.tolist(), variances.tolist()) * np.eye(len(along))
        return clean_covariance(within + _JITTER * self.covariance, self.errors)


def clean_covariance(within: Array, errors: Array) -> Array:
    """Return the C >= 0 for which ``C + errors`` fits best to the covariance ``within``.

    The maximum of the likelihood: in the axes in which ``within`` is 1, the eigenvalues s of the
    errors become ``max(1 - s, 0)``.
    """
    values, axes = np.linalg.eigh(within)
    values = np.maximum(values, _JITTER * values[-1])
    root, inverse = axes * np.sqrt(values), (axes / np.sqrt(values)).T
    noisy, turn = np.linalg.eigh(inverse @ errors @ inverse.T)
    turned = root @ turn
    return np.asarray((turned * np.maximum(1 - noisy, 0)) @ turned.T)


def round_variance(within: Sequence[float], errors: Sequence[float]) -> float:
    """Return the c >= 0 for which the variances ``c + errors`` fit best to those ``within``.

    The likelihood falls with ``sum log(c + s_v) + w_v / (c + s_v)``, whose slope is
    ``sum (c + s_v - w_v) / (c + s_v)^2``.
    """

    def slope(c: float) -> float:
        return sum((c + s - w) / (c + s) ** 2 for w, s in zip(within, errors, strict=True))

    low = _JITTER * sum(max(w, 0.0) for w in within)
    high = max(w - s for w, s in zip(within, errors, strict=True))
    if high <= low or slope(low) >= 0:
        return 0.0
    return float(brentq(slope, low, high, xtol=_JITTER * high, rtol=1e-9))


def _log_shares(family: Family, state: State) -> Array:
    if family.equal:
        return np.full(len(state.masses), -np.log(len(state.masses)))
    return np.asarray(np.log(state.masses / state.masses.sum()))
