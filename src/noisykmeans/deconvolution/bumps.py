"""Mixtures of Gaussian bumps, the simplest laws of clean points that have clusters.

If the clean points are a mixture of normal laws with one covariance C, the observations are such
a mixture too, with the covariance ``C + S``, S that of the errors, and the best C is known in
closed form. k-means itself is the best mixture of round bumps of equal size; a `Family` says
which of the two the data may change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans import _kernels, seeding
from noisykmeans.deconvolution.covariance import JITTER, clean_covariance, round_variance
from noisykmeans.density import Density
from noisykmeans.measure import WeightedPoints

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from noisykmeans.grid import Grid
    from noisykmeans.groups import Groups

    Array = NDArray[np.float64]

__all__ = ["Bumps", "Family", "Sample", "State"]

_FIRST_STEPS = 15  # of each start, before only the best goes on
_STEPS = 200
_PASSES = 10  # over a large sample, from where a part of it has led to
_GAIN = 1e-6  # of log-likelihood an observation, below which the steps end
_ROWS = 2**13  # whitened at a time: few enough to stay in the cache


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
    """What the bumps hold, where they are, and the log-likelihood that led to them.

    Parameters
    ----------
    masses : array of shape (g, b)
        The share of the observations that each bump holds of each part of the sample.
    moments : array of shape (g, b, d)
        Their first moments, 0 along axes that were not observed.
    means : array of shape (b, d)
        The means of the bumps.
    covariance : array of shape (d, d)
        That of the bumps when the masses were found.
    log_likelihood : float
        The log-likelihood then.
    """

    masses: Array
    moments: Array
    means: Array
    covariance: Array
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Observations as the fit of bumps needs them: centred, of total weight 1, in g parts.

    A part has errors of one covariance, and the same axes were observed. Along others its points
    and errors are 0.

    Parameters
    ----------
    points : array of shape (m, d)
        Places of observations, less the means of the sample and of the errors, part by part.
    weights : array of shape (m,)
        Their shares in all observations.
    ends : array of shape (g,)
        Where the points of each part end.
    observed : array of shape (g, d)
        Which axes were observed.
    errors : array of shape (g, d, d)
        The covariance of the errors of each part.
    mean : array of shape (d,)
        The mean of the clean points: that of the observations less that of the errors.
    origin : array of shape (d,) or 0
        What is still to be taken off the points, where they are too many to be copied.
    """

    points: Array
    weights: Array
    ends: NDArray[np.intp]
    observed: NDArray[np.bool_]
    errors: Array
    mean: Array
    origin: Array | float = 0.0

    @classmethod
    def of(cls, groups: Groups) -> Sample:
        """Take the nodes with mass for points."""
        total, d = groups.mass, groups.grid.dimension
        members = [member for member in groups.members if member.histogram.mass > 0]
        observed, errors = np.zeros((len(members), d), dtype=bool), np.zeros((len(members), d, d))
        points, weights = [], []
        for g, member in enumerate(members):
            histogram, noise, axes = member.histogram, member.kind.noise, list(member.kind.axes)
            filled = histogram.values.ravel() > 0
            weights.append(histogram.values.ravel()[filled] / total)
            points.append(np.zeros((len(weights[-1]), d)))
            points[-1][:, axes] = histogram.grid.points[filled] - noise.mean(len(axes))
            # Linear binning adds spacing^2 / 6 to the variance, on average.
            binning = np.diag(np.square(histogram.grid.spacing)) / 6
            observed[g, axes] = True
            errors[g][np.ix_(axes, axes)] = noise.width(len(axes)) + binning
        ends = np.cumsum([len(w) for w in weights])
        seen = np.repeat(observed, np.diff(ends, prepend=0), axis=0)
        share = np.concatenate(weights)
        mean = share @ np.concatenate(points) / np.maximum(share @ seen, 1e-300)
        centred = np.where(seen, np.concatenate(points) - mean, 0.0)
        return cls(centred, share, ends, observed, errors, mean)

    @cached_property
    def parts(self) -> list[slice]:
        """The rows of each part."""
        return [slice(a, b) for a, b in pairwise([0, *self.ends.tolist()])]

    @cached_property
    def masses(self) -> Array:
        """The share of each part."""
        return np.array([self.weights[part].sum() for part in self.parts])

    @cached_property
    def _pairs(self) -> NDArray[np.bool_]:
        """Which pairs of axes were observed, of shape (g, d, d)."""
        return self.observed[:, :, None] & self.observed[:, None, :]

    @cached_property
    def _squares(self) -> Array:
        """The sum of weights times squares over each part, of shape (g, d, d)."""
        return np.array([self._products(part) for part in self.parts])

    def _products(self, part: slice) -> Array:
        def block(rows: slice) -> Array:
            total = np.zeros((len(self.mean), len(self.mean)))
            for some in _chunks(part, rows):
                u = self.points[some] - self.origin
                total += (u * self.weights[some, None]).T @ u
            return total

        return np.asarray(sum(_kernels.threads.map_blocks(block, part.stop - part.start)))

    @cached_property
    def covariance(self) -> Array:
        """The covariance of the observations, each pair of axes from the rows that have both."""
        mass = np.tensordot(self.masses, self._pairs, axes=1)
        return self._squares.sum(axis=0) / np.maximum(mass, 1e-300)

    def start(self, n_bumps: int, rng: np.random.RandomState) -> State:
        """Draw points by k-means++, and give each observation to the closest."""
        # What is drawn should be complete where that is possible.
        complete = np.repeat(self.observed.all(axis=1), np.diff(self.ends, prepend=0))
        drawn = WeightedPoints(self.points, np.where(complete, 1.0, 1e-9) * self.weights)
        centers = seeding.plus_plus(drawn, n_bumps, rng)
        masses, moments = self._empty(n_bumps)
        for g, (part, seen) in enumerate(zip(self.parts, self.observed, strict=True)):
            near = WeightedPoints(self.points[part], self.weights[part])
            masses[g], moments[g] = near.cell_moments(centers * seen)
        mass = np.maximum(np.einsum("gb,gv->bv", masses, self.observed), 1e-300)
        spread = np.diag(np.diag(self.covariance))  # as wide as the observations themselves
        return State(masses, moments, moments.sum(axis=0) / mass, spread, -np.inf)

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

    def _empty(self, n_bumps: int) -> tuple[Array, Array]:
        size = (len(self.ends), n_bumps)
        return np.zeros(size), np.zeros((*size, len(self.mean)))

    def _step(self, family: Family, state: State) -> State:
        """Take an expectation and a maximisation step."""
        clean, log_shares = self._clean(family, state), _log_shares(family, state)
        roots = np.linalg.cholesky(self._widths(clean))
        whiten = np.linalg.inv(roots)
        placed = state.means * self.observed[:, None, :]
        means = np.ascontiguousarray(placed @ whiten.transpose(0, 2, 1))
        masses, moments = self._empty(len(state.means))
        log_likelihood = -self.masses @ np.log(roots.diagonal(axis1=1, axis2=2)).sum(axis=1)
        for g, part in enumerate(self.parts):
            masses[g], moments[g], total = self._expected(part, whiten[g], means[g], log_shares)
            log_likelihood += total
        moments = moments @ roots.transpose(0, 2, 1)
        means = self._means(masses, moments, clean)
        return State(masses, moments, means, clean, float(log_likelihood))

    def _widths(self, clean: Array) -> Array:
        """Return the covariance of an observed bump in each part, 1 along axes that are not."""
        widths = clean + self.errors + JITTER * self.covariance
        return np.where(self._pairs, widths, np.eye(len(self.mean)))

    def _means(self, masses: Array, moments: Array, clean: Array) -> Array:
        """Return the best means for what the bumps hold: least squares, in the parts' metrics."""
        masses = np.maximum(masses, 1e-300)  # of a bump that nothing supports any more
        if len(masses) == 1:
            return np.asarray(moments[0] / masses[0][:, None])  # the metric cancels
        precisions, root = self._precisions(clean)
        left = np.einsum("gb,gvw->bvw", masses, precisions)
        right = np.einsum("gvw,gbw->bv", precisions, moments @ np.linalg.inv(root).T)
        # Along an axis that no row of a bump has, it stays in the middle.
        left += 1e-12 * left.trace(axis1=1, axis2=2)[:, None, None] * np.eye(len(self.mean))
        return np.asarray(np.linalg.solve(left, right[..., None])[..., 0] @ root.T)

    def _precisions(self, clean: Array) -> tuple[Array, Array]:
        """Return the inverse covariance of bumps in each part, and the unit they are in.

        The unit is a root of their mean covariance: else variances of different size would make
        equations that cannot be solved. Axes that were not observed have precision 0.
        """
        mass = np.tensordot(self.masses, self._pairs, axes=1)
        errors = np.tensordot(self.masses, self.errors, axes=1) / np.maximum(mass, 1e-300)
        width = clean + np.diag(np.diag(errors + JITTER * self.covariance))
        root = np.linalg.cholesky(width)
        inverse = np.where(self._pairs, np.linalg.inv(self._widths(clean)), 0.0)
        return root.T @ inverse @ root, root

    def _within(self, state: State) -> Array:
        """Return the mean of squares within the bumps, for each part."""
        means = state.means * self.observed[:, None, :]
        cross = state.moments.transpose(0, 2, 1) @ means
        squares = (means * state.masses[:, :, None]).transpose(0, 2, 1) @ means
        within = self._squares - cross - cross.transpose(0, 2, 1) + squares
        return np.asarray(within / self.masses[:, None, None])

    def _expected(
        self, part: slice, whiten: Array, means: Array, shares: Array
    ) -> tuple[Array, Array, float]:
        """Return masses, whitened moments and log-likelihood of a part, in one pass over it."""

        def block(rows: slice) -> tuple[Array, Array, float]:
            masses, moments, total = np.zeros(len(means)), np.zeros_like(means), 0.0
            for some in _chunks(part, rows):
                white = (self.points[some] - self.origin) @ whiten.T
                mass, moment = np.empty(len(means)), np.empty_like(means)
                total += _kernels.mixture.bump_moments(
                    white, self.weights[some], means, shares, mass, moment
                )
                masses += mass
                moments += moment
            return masses, moments, total

        blocks = list(_kernels.threads.map_blocks(block, part.stop - part.start))
        masses, moments, totals = zip(*blocks, strict=True)
        return np.sum(masses, axis=0), np.sum(moments, axis=0), float(sum(totals))

    def _clean(self, family: Family, state: State) -> Array:
        """Return the best covariance C of a bump: that within the bumps, less the errors."""
        within = self._within(state)
        if family.round:
            sizes, axes = self._error_frame
            along, seen = ((within @ axes) * axes).sum(axis=1), sizes >= 0
            shares = np.broadcast_to(self.masses[:, None], seen.shape)
            c = round_variance(along[seen], sizes[seen], shares[seen])
            return c * np.eye(len(self.mean))
        W, S = within[0], self.errors[0]
        if len(within) > 1:
            W, S = self._scored(within, state.covariance)
        return clean_covariance(W + JITTER * self.covariance, S)

    @cached_property
    def _error_frame(self) -> tuple[Array, Array]:
        """The eigenvalues of the errors, -1 for axes that were not observed, and their axes."""
        marked = np.where(self._pairs, self.errors, -np.eye(len(self.mean)))
        values, axes = np.linalg.eigh(marked)
        return np.where(values > -0.5, np.maximum(values, 0), -1.0), axes

    def _scored(self, within: Array, clean: Array) -> tuple[Array, Array]:
        """Return W and S such that ``W - S`` is the next covariance by Fisher's scoring.

        With ``A_g = (C + S_g)^-1`` the slope of the likelihood vanishes where
        ``sum_g n_g A_g (W_g - S_g - C) A_g = 0``. With the A_g of the last C this is linear in C.
        """
        d = len(self.mean)
        A, root = self._precisions(clean)
        unit = np.linalg.inv(root)
        system = np.einsum("g,gij,gkl->ikjl", self.masses, A, A).reshape(d * d, d * d)
        sides = [
            np.tensordot(self.masses, A @ (unit @ each @ unit.T) @ A, axes=1).ravel()
            for each in (within, self.errors)
        ]
        solved = np.linalg.lstsq(system, np.transpose(sides), rcond=1e-12)[0].T.reshape(2, d, d)
        W, S = root @ solved @ root.T
        return (W + W.T) / 2, (S + S.T) / 2


def _chunks(part: slice, rows: slice) -> Iterator[slice]:
    """Give the rows of a part, counted from its start, a few at a time."""
    stop = part.start + rows.stop
    for start in range(part.start + rows.start, stop, _ROWS):
        yield slice(start, min(start + _ROWS, stop))


def _log_shares(family: Family, state: State) -> Array:
    masses = np.maximum(state.masses.sum(axis=0), 1e-300)
    if family.equal:
        return np.full(len(masses), -np.log(len(masses)))
    return np.asarray(np.log(masses / masses.sum()))
