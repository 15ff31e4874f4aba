"""The first guess in any dimension: mixtures of bumps, fitted to the points themselves.

No grid is needed to fit them, and in many dimensions they are all that one can hope to fit. What
they tell of the centers' span is where a grid comes in, see `subspace`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from noisykmeans import _kernels
from noisykmeans.deconvolution.bumps import Bumps, Family, Sample, State, log_shares
from noisykmeans.deconvolution.guess import DETAIL, FAMILIES, Guess
from noisykmeans.deconvolution.principal import principal_starts
from noisykmeans.density import Density
from noisykmeans.measure import WeightedPoints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noisykmeans.grid import Grid
    from noisykmeans.groups import Kind

    Array = NDArray[np.float64]

__all__ = ["Clusters", "Observed", "first_clusters"]

_MOST_ROWS = 2**13  # on which starts and families are tried
_STARTS = 8
_ATOMS = 2**13
_FEWEST_ATOMS = 128  # for one bump
_RIDGE = 1e-12
_MANY_PARTS = 32  # each takes inverses of matrices at every step


@dataclass(frozen=True, eq=False)
class Clusters:
    """Mixtures of bumps, mixed by what the data say of each.

    Parameters
    ----------
    fits : tuple of Bumps
        One for each family.
    weights : array of shape (len(fits),)
        ``exp(-BIC / 2)``, of sum 1.
    mean : array of shape (d,)
        The mean of the clean points.
    errors : array of shape (d, d)
        The mean covariance of the errors.
    """

    fits: tuple[Bumps, ...]
    weights: Array
    mean: Array
    errors: Array

    @property
    def likeliest(self) -> Bumps:
        """The fit of the largest weight."""
        return self.fits[int(self.weights.argmax())]

    def atoms(self, rng: np.random.RandomState) -> WeightedPoints:
        """Draw from the likeliest fit: the same pairs ``mean + u``, ``mean - u`` for each bump.

        So the mean of each bump is exact, and clusters that lie apart have their centers there.
        """
        bumps = self.likeliest
        k, d = bumps.means.shape
        half = max(_FEWEST_ATOMS, _ATOMS // k) // 2
        values, axes = np.linalg.eigh(bumps.covariance)
        u = rng.standard_normal((half, d)) @ (axes * np.sqrt(np.maximum(values, 0))).T
        u = np.concatenate([u, -u])
        points = (bumps.means[:, None] + u).reshape(-1, d)
        return WeightedPoints(points, np.repeat(bumps.shares / bumps.shares.sum() / len(u), len(u)))

    def guess(self, grid: Grid, basis: Array) -> Guess:
        """Return the law of ``basis X`` on a grid, as deconvolution begins with it."""
        values = np.zeros(grid.shape)
        for bumps, weight in zip(self.fits, self.weights, strict=True):
            if weight > 1e-12:
                values += weight * _projected(bumps, basis).density(grid).values
        likeliest = _projected(self.likeliest, basis)
        detail = DETAIL * np.sqrt(np.maximum(np.diag(likeliest.covariance), 0))
        return Guess(Density(grid, values), likeliest.means, tuple(detail.tolist()))


def _projected(bumps: Bumps, basis: Array) -> Bumps:
    covariance = basis @ bumps.covariance @ basis.T
    return Bumps(bumps.shares, bumps.means @ basis.T, covariance, bumps.log_likelihood)


@dataclass(frozen=True, eq=False)
class Observed:
    """Observations in any dimension, and what is known of their errors.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows. Coordinates that a row's kind has not are not looked at.
    weights : array of shape (n,)
        Their weights, of which the sum counts the observations.
    kinds : sequence of Kind
        Laws of errors, of which only mean and covariance count here, and observed axes.
    labels : array of shape (n,) or None
        The number of each row's kind; None where there is one kind.
    """

    X: Array
    weights: Array
    kinds: Sequence[Kind]
    labels: NDArray[np.intp] | None = None

    def rows(self, chosen: NDArray[np.intp]) -> Observed:
        """Return some rows, each of weight 1, and the kinds that they have."""
        X, weights = self.X[chosen], np.ones(len(chosen))
        if self.labels is None:
            return Observed(X, weights, self.kinds)
        used, labels = np.unique(self.labels[chosen], return_inverse=True)
        return Observed(X, weights, [self.kinds[i] for i in used], labels.ravel())

    def sample(self) -> Sample:
        """Return the rows by their kinds; without a copy of them where there is one kind."""
        d = self.X.shape[1]
        share = self.weights / self.weights.sum()
        if self.labels is None:
            sample = self._alike(share)
        else:
            order = np.argsort(self.labels, kind="stable")
            ends = np.cumsum(np.bincount(self.labels, minlength=len(self.kinds)))
            parts = np.split(order, ends[:-1])
            points = [
                np.take(self.X, rows, axis=0)[:, kind.axes]
                for kind, rows in zip(self.kinds, parts, strict=True)
            ]
            sample = Sample.of_parts(points, [share[rows] for rows in parts], self.kinds, d)
        # A combination of features that does not vary must not make a covariance singular.
        ridge = _RIDGE * np.diag(np.diag(sample.covariance))
        observed = sample.observed[:, :, None] & sample.observed[:, None, :]
        return replace(sample, errors=sample.errors + ridge * observed)

    def _alike(self, share: Array) -> Sample:
        X, d, noise = self.X, self.X.shape[1], self.kinds[0].noise
        mean = sum(_kernels.threads.map_blocks(lambda rows: share[rows] @ X[rows], len(X)))
        observed = np.ones((1, d), dtype=bool)
        clean = mean - noise.mean(d)
        return Sample(X, share, np.array([len(X)]), observed, noise.width(d)[None], clean, mean)


def first_clusters(observed: Observed, n_clusters: int, rng: np.random.RandomState) -> Clusters:
    """Fit every family, to all points or, of a large sample, to some and then the best to all.

    Parameters
    ----------
    observed : Observed
        The observations.
    n_clusters : int
        The number of bumps, fewer where there are fewer points.
    rng : numpy.random.RandomState
        Source of randomness of the starts, and of the choice of rows.
    """
    n, n_rows = float(observed.weights.sum()), len(observed.X)
    n_clusters = min(n_clusters, n_rows)
    whole = observed.sample()
    some = whole
    if n_rows > _MOST_ROWS:
        ends = np.cumsum(observed.weights)
        places = (np.arange(_MOST_ROWS) + rng.uniform(size=_MOST_ROWS)) / _MOST_ROWS * ends[-1]
        some = observed.rows(np.minimum(np.searchsorted(ends, places), n_rows - 1)).sample()
    some = replace(some, points=some.points - some.origin, origin=0.0)
    tried = _fits(some, n_clusters, n, rng)
    if n_rows > _MOST_ROWS:
        _, family, state = max(tried, key=lambda fit: fit[0])
        means = state.means + (some.mean - whole.mean)
        state = whole.seen(means, some.clean(family, state), log_shares(family, state))
        tried = [(0.0, family, whole.polished(family, state))]
    bumps = tuple(whole.bumps(family, state) for _, family, state in tried)
    evidence = softmax([evidence for evidence, _, _ in tried])
    return Clusters(bumps, evidence, whole.mean, whole.mean_errors)


def _fits(
    sample: Sample, n_clusters: int, n: float, rng: np.random.RandomState
) -> list[tuple[float, Family, State]]:
    """Fit every family to centred points, and give ``-BIC / 2`` with it, for n observations."""
    d = len(sample.mean)
    families = [family for family in FAMILIES if n_clusters > 1 or family.equal]
    states = principal_starts(sample, n_clusters, _STARTS if n_clusters > 1 else 1, rng)
    if len(sample.ends) > _MANY_PARTS:
        states = _starts_alike(sample, families, states)
    tried = []
    for family in families:
        state = sample.best(family, states)
        states = [*states, state]
        penalty = family.n_parameters(n_clusters, d) * np.log(max(n, 1.0)) / 2
        tried.append((n * state.log_likelihood - penalty, family, state))
    return tried


def _starts_alike(sample: Sample, families: list[Family], states: list[State]) -> list[State]:
    """Return two starts for many parts: the best with errors that are alike, by likelihood.

    They are those of the most frugal family and of the most lavish one.
    """
    alike = sample.alike()
    whole = [alike.seen(s.means, s.covariance, log_shares(families[0], s)) for s in states]
    starts = []
    for family in (families[0], families[-1]):
        state = alike.best(family, whole)
        starts.append(
            sample.seen(state.means, alike.clean(family, state), log_shares(family, state))
        )
    return starts
