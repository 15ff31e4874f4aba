"""What an observation tells of its clean point where there is no grid: under a mixture of bumps.

If X is a mixture of normal laws with shares p_b, means m_b and one covariance C, and the errors are
normal with covariance S, then so is X given an observation z, with

    shares     r_b ~ p_b N(z; m_b, C + S)
    means      m_b + G (z - m_b),  G = C (C + S)^-1
    covariance C - G C

Of other laws of errors mean and covariance count. Missing coordinates are left out of z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm, qmc

from noisykmeans import _kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from noisykmeans.deconvolution.bumps import Bumps
    from noisykmeans.groups import Kind

    Array = NDArray[np.float64]

__all__ = ["MixturePosterior"]

_LOG_DRAWS = 7  # so many powers of two of draws stand for a normal law when it is cut at the cells
_ROWS = 2**13
_MOST_LAWS = 512
_RIDGE = 1e-9  # share of a bump's size that keeps the covariance of observations invertible


@dataclass(frozen=True, eq=False)
class MixturePosterior:
    """The law of a clean point, given its observation and the law of its error.

    Parameters
    ----------
    bumps : Bumps
        The law of the clean points.
    centers : array of shape (k, d)
        Their cells.

    Examples
    --------
    >>> from noisykmeans.deconvolution.bumps import Bumps
    >>> from noisykmeans.groups import Kind
    >>> from noisykmeans.noise import Gaussian
    >>> means = np.array([[-1.0, 0.0], [1.0, 0.0]])
    >>> bumps = Bumps(np.array([0.5, 0.5]), means, 0.1 * np.eye(2), 0.0)
    >>> posterior = MixturePosterior(bumps, means)
    >>> Z, kind = np.array([[0.0, 0.0], [1.1, 5.0]]), Kind(Gaussian(1.0), (0, 1))
    >>> posterior.memberships(Z, None, [kind]).round(2).tolist()
    [[0.5, 0.5], [0.12, 0.88]]
    >>> posterior.means(Z, None, [kind]).round(2).tolist()
    [[0.0, 0.0], [0.79, 0.45]]
    """

    bumps: Bumps
    centers: Array

    @property
    def most_laws(self) -> int:
        """In how many groups errors of each row should come."""
        return _MOST_LAWS

    @property
    def scale(self) -> Array:
        """The standard deviation of X along each axis."""
        p, m = self._shares, self.bumps.means
        between = p @ (m - p @ m) ** 2
        return np.asarray(np.sqrt(between + np.diag(self.bumps.covariance)))

    def memberships(
        self, Z: Array, labels: NDArray[np.intp] | None, kinds: Sequence[Kind]
    ) -> Array:
        """Return ``P(X in V_j | Z = z)``, of shape (n, k), to about a hundredth.

        Parameters
        ----------
        Z : array of shape (n, d)
            Observations; axes that a row's kind has not are not looked at.
        labels : array of shape (n,) or None
            The number of each observation's kind; None where there is one kind.
        kinds : sequence of Kind
            The laws of the errors.
        """
        shares = np.zeros((len(Z), len(self.centers)))
        middle = self.centers.mean(axis=0)
        origin = self._origin
        c = self.centers - middle
        halves = (c**2).sum(axis=1) / 2
        for rows, law, z in self._by_law(Z, labels, kinds):
            # A center is the closest one where <c, x> - |c|^2 / 2 is largest.
            leads = (self._means_of_bumps(law) - (middle - origin)) @ c.T - halves
            slope = c @ law.gain
            values, axes = np.linalg.eigh(law.covariance)
            draws = self._draws @ (axes * np.sqrt(np.maximum(values, 0))).T @ c.T
            part = np.zeros((len(z), len(c)))
            _kernels.mixture.cell_shares(
                np.exp(log_softmax(self._logs(law, z), axis=1)), z @ slope.T, leads, draws, part
            )
            shares[rows] = part
        return shares

    def means(self, Z: Array, labels: NDArray[np.intp] | None, kinds: Sequence[Kind]) -> Array:
        """Return ``E[X | Z = z]``, of shape (n, d): z itself along axes without error.

        Parameters
        ----------
        Z, labels, kinds
            As in `memberships`.
        """
        means = np.empty(Z.shape)
        for rows, law, z in self._by_law(Z, labels, kinds):
            share = np.exp(log_softmax(self._logs(law, z), axis=1))
            each = self._origin + (share @ self._means_of_bumps(law) + z @ law.gain.T)
            each[:, law.exact] = Z[rows][:, law.exact]
            means[rows] = each
        return means

    def log_density(
        self, Z: Array, labels: NDArray[np.intp] | None, kinds: Sequence[Kind]
    ) -> Array:
        """Return the log-density of observations, of shape (n,).

        Parameters
        ----------
        Z, labels, kinds
            As in `memberships`; the density of a row is that of its observed coordinates.
        """
        logs = np.empty(len(Z))
        for rows, law, z in self._by_law(Z, labels, kinds):
            u = z @ law.whiten.T
            constant = law.log_determinant / 2 + len(law.axes) * np.log(2 * np.pi) / 2
            logs[rows] = logsumexp(self._logs(law, z), axis=1) - (u**2).sum(axis=1) / 2 - constant
        return logs

    def drawn_given(self, basis: Array, u: Array, rng: np.random.Generator) -> Array:
        """Draw clean points X of which ``basis X = u`` is known.

        Parameters
        ----------
        basis : array of shape (r, d)
            Orthonormal rows.
        u : array of shape (n, r)
            Coordinates along them.
        rng : numpy.random.Generator
            Source of randomness.
        """
        m, C = self._placed, self.bumps.covariance
        u = u - basis @ self._origin
        T = basis @ C @ basis.T
        spread = ((basis @ (m - self._shares @ m).T) ** 2).sum()
        T += _RIDGE * max(np.trace(T), _RIDGE * spread, 1e-200) * np.eye(len(T))
        gain = C @ basis.T @ np.linalg.inv(T)
        seen = m @ basis.T
        precise = u @ np.linalg.inv(T)
        logs = precise @ seen.T - ((seen @ np.linalg.inv(T)) * seen).sum(axis=1) / 2
        share = np.cumsum(np.exp(log_softmax(logs + np.log(self._shares), axis=1)), axis=1)
        bump = (rng.uniform(size=(len(u), 1)) > share[:, :-1]).sum(axis=1)
        values, axes = np.linalg.eigh(C - gain @ basis @ C)
        rest = rng.standard_normal((len(u), len(C))) @ (axes * np.sqrt(np.maximum(values, 0))).T
        rest -= rest @ basis.T @ basis
        across = m[bump] + (u - seen[bump]) @ gain.T
        return np.asarray(self._origin + (across + (u - across @ basis.T) @ basis + rest))

    @cached_property
    def _origin(self) -> Array:
        """A point near which differences lose no digits."""
        return np.asarray(self._shares @ self.bumps.means)

    @cached_property
    def _placed(self) -> Array:
        return np.asarray(self.bumps.means - self._origin)

    @cached_property
    def _shares(self) -> Array:
        return np.asarray(self.bumps.shares / self.bumps.shares.sum())

    @cached_property
    def _draws(self) -> Array:
        """Standard normal points, evenly spread, and their mirror images."""
        d = self.bumps.means.shape[1]
        uniform = qmc.Sobol(d, rng=np.random.default_rng(0)).random_base2(_LOG_DRAWS)
        normal = norm.ppf(np.clip(uniform, 1e-9, 1 - 1e-9))
        return np.concatenate([normal, -normal])

    def _logs(self, law: _Law, z: Array) -> Array:
        """Return ``log r_b`` but for what all bumps have in common, of shape (n, b)."""
        m = self._placed[:, law.axes] @ law.whiten.T
        return np.asarray(z @ law.whiten.T @ m.T - (m**2).sum(axis=1) / 2 + np.log(self._shares))

    def _means_of_bumps(self, law: _Law) -> Array:
        """Return ``m_b - G m_b``: the mean of each bump where z is 0."""
        m = self._placed
        return np.asarray(m - m[:, law.axes] @ law.gain.T)

    def _by_law(
        self, Z: Array, labels: NDArray[np.intp] | None, kinds: Sequence[Kind]
    ) -> Iterator[tuple[Any, _Law, Array]]:
        """Give rows, the law that they have in common, and their observed coordinates."""
        for i, kind in enumerate(kinds):
            law = _Law.of(kind, self.bumps)
            every = np.arange(len(Z)) if labels is None else np.flatnonzero(labels == i)
            for start in range(0, len(every), _ROWS):
                rows = every[start : start + _ROWS]
                yield rows, law, Z[rows][:, law.axes] - law.mean - self._origin[law.axes]


@dataclass(frozen=True, eq=False)
class _Law:
    """What observations of a kind tell of their clean points.

    Parameters
    ----------
    axes : list of int
        The observed axes.
    mean : array
        That of the errors along them.
    gain : array of shape (d, r)
        ``C (C + S)^-1``.
    covariance : array of shape (d, d)
        Of a clean point of one bump, given its observation.
    whiten : array of shape (r, r)
        An inverse root of ``C + S``.
    exact : array of int
        Observed axes without error.
    """

    axes: list[int]
    mean: Array
    gain: Array
    covariance: Array
    whiten: Array
    exact: NDArray[np.intp]

    @classmethod
    def of(cls, kind: Kind, bumps: Bumps) -> _Law:
        """Work out the formulas."""
        axes, C = list(kind.axes), bumps.covariance
        r = len(axes)
        S = kind.noise.width(r) if r else np.zeros((0, 0))
        mean = kind.noise.mean(r) if r else np.zeros(0)
        T = C[np.ix_(axes, axes)] + S
        size = np.diag(T).max(initial=1e-300)
        ridge = _RIDGE * np.maximum(np.diag(T), _RIDGE * size)
        whiten = np.linalg.inv(np.linalg.cholesky(T + np.diag(ridge)))
        gain = C[:, axes] @ whiten.T @ whiten
        exact = np.array(axes, dtype=np.intp)[(np.diag(S) == 0) & (mean == 0)]
        return cls(axes, mean, gain, C - gain @ C[axes], whiten, exact)

    @property
    def log_determinant(self) -> float:
        """``log det(C + S)``."""
        return float(-2 * np.log(np.diag(self.whiten)).sum())
