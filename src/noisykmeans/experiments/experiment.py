"""What an experiment of the paper is: data for u = 1..10, and what the text says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisykmeans.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noisykmeans.noise import Gaussian

    Array = NDArray[np.float64]

__all__ = ["FAILURE", "US", "Claim", "Experiment"]

US = range(1, 11)
FAILURE = 0.2  # a run fails where its risk exceeds this
REACH = 6.0  # standard deviations of Z around the means that a grid covers


@dataclass(frozen=True)
class Claim:
    """What the paper says in words about the failures of a method in 100 runs.

    Parameters
    ----------
    method : str
        The method's key.
    first, last : int
        The smallest and largest u that it speaks of.
    least, most : int
        The bounds of the number of failures.
    words : str
        In short.
    """

    method: str
    first: int
    last: int
    least: int
    most: int
    words: str

    def excess(self, failures: int, runs: int) -> float:
        """Return by how many failures in 100 runs the bounds are missed, signed."""
        per_100 = 100 * failures / runs
        return min(per_100 - self.least, 0.0) + max(per_100 - self.most, 0.0)


@dataclass(frozen=True)
class Experiment:
    """A model of data for each u, with unit variance around the means of its clusters.

    Parameters
    ----------
    name : str
        On the command line and in tables.
    title : str
        In the paper.
    index : int
        Its place in the seeds.
    n_samples : int
        Size of a data set.
    draw : callable
        ``draw(u, n_samples, random_state)`` returns clean points, observations and clusters.
    means, noise : callable
        The centers of the clusters, of shape (k, 2), and the law of the errors, from u.
    closeup : int
        The u at which each run's risk is shown.
    claims : tuple of Claim
        What the paper says.
    """

    name: str
    title: str
    index: int
    n_samples: int
    draw: Callable[..., tuple[Array, Array, NDArray[np.intp]]]
    means: Callable[[int], Array]
    noise: Callable[[int], Gaussian]
    closeup: int
    claims: tuple[Claim, ...]

    @property
    def n_clusters(self) -> int:
        """Number of clusters, and of centers to find."""
        return len(self.means(1))

    def grid(self, u: int, nodes: int) -> Grid:
        """Return one grid for all data sets at u: the means and 6 standard deviations around.

        A share of at most 4e-9 of the observations lies outside: none in a million runs, nearly.
        """
        means = self.means(u)
        reach = REACH * np.sqrt(1 + np.diag(self.noise(u).covariance))
        low, high = means.min(axis=0) - reach, means.max(axis=0) + reach
        spacing = (high - low) / (nodes - 1)
        return Grid(tuple(low.tolist()), tuple(spacing.tolist()), (nodes, nodes))

    def claim(self, method: str, u: int) -> Claim | None:
        """Return what the paper says of a method at u, if anything."""
        fitting = (c for c in self.claims if c.method == method and c.first <= u <= c.last)
        return next(fitting, None)
