"""The paper's two simulated experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.noise import Gaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Sample = tuple[Array, Array, NDArray[np.intp]]

__all__ = ["make_mod1", "make_mod2", "mod1_means", "mod1_noise", "mod2_means", "mod2_noise"]


def mod1_means() -> Array:
    """Return the centers of Mod1's clusters, (0, 0) and (5, 0)."""
    return np.array([[0.0, 0.0], [5.0, 0.0]])


def mod2_means(u: float) -> Array:
    """Return the centers of Mod2's clusters, (0, 0), (a, b) and (b, a), see `make_mod2`."""
    a, b = 15 - (_check_setting(u) - 1) / 2, 5 + (u - 1) / 2
    return np.array([[0.0, 0.0], [a, b], [b, a]])


def mod1_noise(u: float) -> Gaussian:
    """Return the law of Mod1's errors, ``N(0, diag(0, u))``."""
    return Gaussian((0.0, float(np.sqrt(_check_setting(u)))))


def mod2_noise() -> Gaussian:
    """Return the law of Mod2's errors, ``N(0, diag(5, 5))``."""
    return Gaussian((float(np.sqrt(5)), float(np.sqrt(5))))


def make_mod1(
    u: float, n_samples: int = 100, random_state: int | np.random.Generator | None = None
) -> Sample:
    """Draw from Mod1(u): two clusters side by side, with vertical errors of variance u.

    ``X ~ 1/2 N((0, 0), I) + 1/2 N((5, 0), I)``, ``Z = X + eps``, ``eps ~ N(0, diag(0, u))``.

    Parameters
    ----------
    u : float
        The variance of the errors, 1 to 10 in the paper.
    n_samples : int
        Number of points.
    random_state : int, numpy.random.Generator or None
        Seed or source of randomness.

    Returns
    -------
    X : array of shape (n_samples, 2)
        Clean points, which a user would not have.
    Z : array of shape (n_samples, 2)
        Observations.
    y : array of shape (n_samples,)
        The cluster of each point.

    Examples
    --------
    >>> X, Z, y = make_mod1(9, 100, random_state=0)
    >>> bool((X[:, 0] == Z[:, 0]).all())
    True
    """
    return _draw(mod1_means(), mod1_noise(u), n_samples, random_state)


def make_mod2(
    u: float, n_samples: int = 180, random_state: int | np.random.Generator | None = None
) -> Sample:
    """Draw from Mod2(u): three clusters, two of which approach each other as u grows.

    ``X ~ 1/3 N((0, 0), I) + 1/3 N((a, b), I) + 1/3 N((b, a), I)`` with ``a = 15 - (u - 1) / 2``
    and ``b = 5 + (u - 1) / 2``; ``Z = X + eps``, ``eps ~ N(0, diag(5, 5))``.

    Parameters
    ----------
    u : float
        The setting, 1 to 10 in the paper.
    n_samples : int
        Number of points.
    random_state : int, numpy.random.Generator or None
        Seed or source of randomness.

    Returns
    -------
    X : array of shape (n_samples, 2)
        Clean points, which a user would not have.
    Z : array of shape (n_samples, 2)
        Observations.
    y : array of shape (n_samples,)
        The cluster of each point.
    """
    return _draw(mod2_means(u), mod2_noise(), n_samples, random_state)


def _draw(
    means: Array, noise: Gaussian, n_samples: int, random_state: int | np.random.Generator | None
) -> Sample:
    """Draw from the even mixture of ``N(mean_j, I)``, and add errors."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(len(means), size=n_samples)
    X = means[y] + rng.standard_normal((n_samples, means.shape[1]))
    return X, X + noise.sample(X.shape, rng), y


def _check_setting(u: float) -> float:
    """Return u, or raise where the paper's models are not defined."""
    if not 0 <= u < np.inf:
        raise ValueError(f"u must be a finite number, not negative; got {u!r}")
    return u
