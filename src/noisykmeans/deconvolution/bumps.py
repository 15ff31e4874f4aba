"""Mixtures of Gaussian bumps, the simplest laws of clean points that have clusters.

If the clean points are a mixture of normal laws with one covariance C, the observations are such
a mixture too, with the covariance ``C + S``, S that of the errors, and the best C is known in
closed form. k-means itself is the best mixture of round bumps of equal size; a `Family` says
which of the two the data may change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import _kernels, seeding
from noisykmeans.deconvolution.covariance import JITTER, clean_covariance, round_variance
from noisykmeans.density import Density
from noisykmeans.groups import Kind
from noisykmeans.measure import WeightedPoints
from noisykmeans.noise import Gaussian
from noisykmeans.observations import closest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from noisykmeans.grid import Grid
    from noisykmeans.groups import Groups

    Array = NDArray[np.float64]

__all__ = ["Bumps", "Family", "Sample", "State", "log_shares"]

_FIRST_STEPS = 15  # of each start, before only the best goes on
_STEPS = 200
_PASSES = 10  # over a large sample, from where a part of it has led to
_GAIN = 1e-6  # of log-likelihood an observation, below which the steps end
_FEW_AXES = 12  # so that a system of their pairs is small
_RESIDUAL, _MOST_TURNS = 1e-8, 100
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
        members = [member for member in groups.members if member.histogram.mass > 0]
        kinds, points, weights = [], [], []
        for member in members:
            grid, values = member.histogram.grid, member.histogram.values.ravel()
            points.append(grid.points[values > 0])
            weights.append(values[values > 0] / groups.mass)
            # Linear binning adds spacing^2 / 6 to the variance, on average.
            binning = Gaussian(tuple(s / np.sqrt(6) for s in grid.spacing))
            kinds.append(Kind(member.kind.noise + binning, member.kind.axes))
        return cls.of_parts(points, weights, kinds, groups.grid.dimension)

    @classmethod
    def of_parts(
        cls, points: Sequence[Array], weights: Sequence[Array], kinds: Sequence[Kind], d: int
    ) -> Sample:
        """Join parts of a sample.

        Parameters
        ----------
        points : sequence of arrays of shape (m, axes)
            The points of each part, along the axes of its kind.
        weights : sequence of arrays of shape (m,)
            Their shares in all observations.
        kinds : sequence of Kind
            The errors, of which mean and covariance count, and the observed axes of each part.
        d : int
            The number of axes.
        """
        observed, errors = np.zeros((len(kinds), d), dtype=bool), np.zeros((len(kinds), d, d))
        ends = np.cumsum([len(w) for w in weights])
        whole = np.zeros((ends[-1], d))
        for g, (kind, part) in enumerate(zip(kinds, points, strict=True)):
            axes = list(kind.axes)
            whole[ends[g] - len(part) : ends[g], axes] = part - kind.noise.mean(len(axes))
            observed[g, axes] = True
            errors[g][np.ix_(axes, axes)] = kind.noise.width(len(axes))
        seen = np.repeat(observed, np.diff(ends, prepend=0), axis=0)
        share = np.concatenate(weights)
        mean = share @ whole / np.maximum(share @ seen, 1e-300)
        whole -= mean
        whole[~seen] = 0.0
        return cls(whole, share, ends, observed, errors, mean)

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

    @cached_property
    def mean_errors(self) -> Array:
        """The mean covariance of the errors, each pair of axes from the rows that have both."""
        mass = np.tensordot(self.masses, self._pairs, axes=1)
        return np.asarray(np.tensordot(self.masses, self.errors, axes=1) / np.maximum(mass, 1e-300))

    def start(self, n_bumps: int, rng: np.random.RandomState) -> State:
        """Draw points by k-means++, and give each observation to the closest."""
        # What is drawn should be complete where that is possible.
        complete = np.repeat(self.observed.all(axis=1), np.diff(self.ends, prepend=0))
        drawn = WeightedPoints(self.points, np.where(complete, 1.0, 1e-9) * self.weights)
        centers = seeding.plus_plus(drawn, n_bumps, rng)
        return self.held(self._closest(centers), n_bumps)

    def _closest(self, centers: Array) -> NDArray[np.int32]:
        """Return the closest center of each point, along the axes that were observed."""
        labels = np.empty(len(self.points), dtype=np.int32)
        for part, seen in zip(self.parts, self.observed, strict=True):
            labels[part] = closest(self.points[part], centers * seen)
        return labels

    def held(self, labels: NDArray[Any], n_bumps: int) -> State:
        """Return the bumps that hold each the points of one label, as wide as the whole sample."""
        d, n_parts = len(self.mean), len(self.ends)
        place = self._part * n_bumps + labels
        size = n_parts * n_bumps
        counts = np.bincount(place, self.weights, size).astype(np.float64)
        masses = np.reshape(counts, (n_parts, n_bumps))
        moments = np.empty((n_parts, n_bumps, d))
        for v, x in enumerate(self.points.T):
            moments[..., v] = np.bincount(place, self.weights * x, size).reshape(n_parts, n_bumps)
        mass = np.maximum(np.einsum("gb,gv->bv", masses, self.observed), 1e-300)
        spread = np.diag(np.diag(self.covariance))
        return State(masses, moments, moments.sum(axis=0) / mass, spread, -np.inf)

    def alike(self) -> Sample:
        """Return the sample as if all errors were alike, and missing coordinates at the mean."""
        d, seen = len(self.mean), np.ones((1, len(self.mean)), dtype=bool)
        ends = np.array([len(self.points)])
        errors = self.mean_errors.reshape(1, d, d)
        return Sample(self.points, self.weights, ends, seen, errors, self.mean, self.origin)

    def best(self, family: Family, starts: Sequence[State]) -> State:
        """Run every start for a while, and the best of them until its likelihood rests."""
        first = [self._run(family, state, _FIRST_STEPS) for state in starts]
        return self._run(family, max(first, key=lambda state: state.log_likelihood), _STEPS)

    def polished(self, family: Family, state: State) -> State:
        """Take the last few steps to the maximum of the likelihood."""
        return self._run(family, state, _PASSES)

    def bumps(self, family: Family, state: State) -> Bumps:
        """Return the mixture of a state."""
        shares, clean = np.exp(log_shares(family, state)), self.clean(family, state)
        return Bumps(shares, state.means + self.mean, clean, state.log_likelihood)

    def _run(self, family: Family, state: State, n_steps: int) -> State:
        for _ in range(n_steps):
            following = self._step(family, state)
            gain = following.log_likelihood - state.log_likelihood
            state = following
            if gain < _GAIN:
                break
        return state

    def seen(self, means: Array, clean: Array, log_shares: Array) -> State:
        """Take an expectation step: what given bumps hold of the sample."""
        roots = np.linalg.cholesky(self._widths(clean))
        whiten = np.linalg.inv(roots).transpose(0, 2, 1)
        placed = (means * self.observed[:, None, :]) @ whiten
        bumps = _kernels.mixture.Seen(
            np.ascontiguousarray(whiten), np.ascontiguousarray(placed), log_shares
        )
        masses, moments, total = self._expected(bumps)
        total -= self.masses @ np.log(roots.diagonal(axis1=1, axis2=2)).sum(axis=1)
        return State(masses, moments @ roots.transpose(0, 2, 1), means, clean, float(total))

    def _step(self, family: Family, state: State) -> State:
        """Take an expectation and a maximisation step."""
        clean = self.clean(family, state)
        held = self.seen(state.means, clean, log_shares(family, state))
        return replace(held, means=self._means(held.masses, held.moments, clean))

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
        width = clean + np.diag(np.diag(self.mean_errors + JITTER * self.covariance))
        root = np.linalg.cholesky(width)
        inverse = np.where(self._pairs, np.linalg.inv(self._widths(clean)), 0.0)
        return np.asarray(root.T @ inverse @ root), np.asarray(root)

    def _within(self, state: State) -> Array:
        """Return the mean of squares within the bumps, for each part."""
        means = state.means * self.observed[:, None, :]
        cross = state.moments.transpose(0, 2, 1) @ means
        squares = (means * state.masses[:, :, None]).transpose(0, 2, 1) @ means
        within = self._squares - cross - cross.transpose(0, 2, 1) + squares
        return np.asarray(within / self.masses[:, None, None])

    def _expected(self, bumps: Any) -> tuple[Array, Array, float]:
        """Return masses, whitened moments and log-likelihood, in one pass."""
        size = bumps.means.shape
        origin = np.broadcast_to(np.asarray(self.origin, dtype=np.float64), size[-1])

        def block(rows: slice) -> tuple[Array, Array, float]:
            masses, moments = np.zeros(size[:2]), np.zeros(size)
            some = _kernels.mixture.Rows(
                self.points[rows], self.weights[rows], self._part[rows], np.array(origin)
            )
            return masses, moments, _kernels.mixture.bump_moments(some, bumps, masses, moments)

        masses, moments, total = np.zeros(size[:2]), np.zeros(size), 0.0
        for mass, moment, log_likelihood in _kernels.threads.map_blocks(block, len(self.points)):
            masses += mass
            moments += moment
            total += log_likelihood
        return masses, moments, total

    @cached_property
    def _part(self) -> NDArray[np.intp]:
        """The number of the part that each point is in."""
        if len(self.ends) == 1:
            return np.broadcast_to(np.intp(0), len(self.points))
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def clean(self, family: Family, state: State) -> Array:
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
        A, root = self._precisions(clean)
        unit = np.linalg.inv(root)
        sides = np.array(
            [
                np.tensordot(self.masses, A @ (unit @ each @ unit.T) @ A, axes=1)
                for each in (within, self.errors)
            ]
        )
        # The system has d^2 unknowns: solved at once where that is little, else step by step.
        solve = _at_once if len(root) <= _FEW_AXES else _by_conjugate_gradients
        W, S = root @ solve(self.masses, A, sides) @ root.T
        return (W + W.T) / 2, (S + S.T) / 2


def _at_once(masses: Array, A: Array, sides: Array) -> Array:
    """Return the X with ``sum_g n_g A_g X A_g`` on each side, by least squares."""
    d = A.shape[-1]
    flat = A.reshape(-1, d * d)
    pairs = ((flat.T * masses) @ flat).reshape(d, d, d, d)
    system = pairs.transpose(0, 2, 1, 3).reshape(d * d, d * d)
    solved = np.linalg.lstsq(system, sides.reshape(len(sides), -1).T, rcond=1e-12)[0]
    return np.asarray(solved.T.reshape(sides.shape))


def _by_conjugate_gradients(masses: Array, A: Array, sides: Array) -> Array:
    """Return what `_at_once` does, with products of matrices only."""

    def squares(X: Array) -> Array:
        return np.asarray((X * X).sum(axis=(1, 2), keepdims=True))

    weighted = masses[:, None, None] * A
    X, rest = np.zeros_like(sides), sides.copy()
    way, size = rest.copy(), squares(rest)
    enough = _RESIDUAL**2 * size
    for _ in range(_MOST_TURNS):
        if (size <= enough).all():
            break
        image = np.array([(weighted @ each @ A).sum(axis=0) for each in way])
        step = size / np.maximum((way * image).sum(axis=(1, 2), keepdims=True), 1e-300)
        X, rest = X + step * way, rest - step * image
        before, size = size, squares(rest)
        way = rest + size / np.maximum(before, 1e-300) * way
    return X


def _chunks(part: slice, rows: slice) -> Iterator[slice]:
    """Give the rows of a part, counted from its start, a few at a time."""
    stop = part.start + rows.stop
    for start in range(part.start + rows.start, stop, _ROWS):
        yield slice(start, min(start + _ROWS, stop))


def log_shares(family: Family, state: State) -> Array:
    """Return the logarithms of the bumps' shares in all observations."""
    masses = np.maximum(state.masses.sum(axis=0), 1e-300)
    if family.equal:
        return np.full(len(masses), -np.log(len(masses)))
    return np.asarray(np.log(masses / masses.sum()))
