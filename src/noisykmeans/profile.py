"""What is to be known of a sample before it is binned: its size, its bounds, its spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.observations import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from noisykmeans.batches import Batch

    Array = NDArray[np.float64]

__all__ = ["Counts", "Profile", "counted"]


@dataclass(frozen=True)
class Counts:
    """How many observations there are, and how much they weigh.

    Parameters
    ----------
    rows : int
        The number of rows that count.
    mass : float
        The sum of their weights.
    squares : float
        The sum of the squares of the weights.
    whole : bool
        Whether all weights are integers.
    missing : int
        The number of rows with a value that is missing or infinite: those cannot be binned.
    dropped : int
        The number of rows that were left out on request.

    Examples
    --------
    >>> both = Counts(2, 3.0, 5.0) + Counts(1, 0.5, 0.25, whole=False)
    >>> both.mass, round(both.effective, 3)
    (3.5, 2.333)
    """

    rows: int = 0
    mass: float = 0.0
    squares: float = 0.0
    whole: bool = True
    missing: int = 0
    dropped: int = 0

    def __add__(self, other: object) -> Counts:
        """Return the counts of both samples."""
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(
            self.rows + other.rows,
            self.mass + other.mass,
            self.squares + other.squares,
            self.whole and other.whole,
            self.missing + other.missing,
            self.dropped + other.dropped,
        )

    @property
    def effective(self) -> float:
        """The number of equal weights that carry as much: whole ones are repetitions."""
        return self.mass if self.whole else self.mass**2 / self.squares


def counted(batch: Batch) -> tuple[NDArray[Any], Array | None, NDArray[np.intp] | None, Counts]:
    """Return the rows that count, their weights, which ones they are, and how many.

    Rows of weight 0 do not count. None stands for weights of 1, and for all rows.
    """
    X, weights = batch.X, batch.sample_weight
    if weights is None:
        n = len(X)
        return X, None, None, Counts(n, float(n), float(n), dropped=batch.dropped)
    weights = np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        bad = weights[~(weights >= 0) | ~np.isfinite(weights)][0]
        raise ValueError(f"sample_weight must be finite and not negative; got {bad}")
    kept = None
    if not (weights > 0).all():
        kept = np.flatnonzero(weights > 0)
        X, weights = X[kept], weights[kept]
    whole = bool((weights == np.round(weights)).all())
    squares = float(weights @ weights)
    counts = Counts(len(X), float(weights.sum()), squares, whole, dropped=batch.dropped)
    return X, weights, kept, counts


@dataclass(frozen=True, eq=False)
class Profile:
    """Counts, bounds and spread of a sample; those of parts add.

    Parameters
    ----------
    counts : Counts
        Its size; rows with missing values are counted, and nowhere else.
    bounds : array of shape (2, d)
        The smallest and the largest value of each feature.
    mean : array of shape (d,)
        The weighted mean.
    scatter : array of shape (d,)
        The weighted sum of squared distances from the mean.

    Examples
    --------
    >>> from noisykmeans.batches import Batch
    >>> parts = [Profile.of(Batch(np.array([[x]]))) for x in (0.0, 1.0, 5.0)]
    >>> total = parts[0] + parts[1] + parts[2]
    >>> total.bounds.tolist(), total.scale.round(6).tolist()
    ([[0.0], [5.0]], [2.160247])
    """

    counts: Counts
    bounds: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, batch: Batch) -> Profile:
        """Look at the rows of a batch."""
        X, weights, _, counts = counted(batch)
        d = X.shape[1]
        box = bounds(X) if len(X) else _nowhere(d)
        if np.isnan(box).any():
            there = np.isfinite(X).all(axis=1)
            lost = int(np.count_nonzero(~there))
            X, weights = X[there], None if weights is None else weights[there]
            box = bounds(X) if len(X) else _nowhere(d)
            mass = float(len(X) if weights is None else weights.sum())
            squares = mass if weights is None else float(weights @ weights)
            counts = Counts(len(X), mass, squares, counts.whole, lost, counts.dropped)
        if not len(X):
            return cls(counts, box, np.zeros(d), np.zeros(d))
        origin = box[0]  # near the data, where squares lose no digits
        u = np.asarray(X - origin, dtype=np.float64)
        share = np.full(len(X), 1.0) if weights is None else weights
        mean = share @ u / counts.mass
        scatter = share @ (u - mean) ** 2
        return cls(counts, box, mean + origin, scatter)

    def __add__(self, other: object) -> Profile:
        """Return the profile of both samples (Chan, Golub and LeVeque, 1979)."""
        if not isinstance(other, Profile):
            return NotImplemented
        if self.bounds.shape != other.bounds.shape:
            raise ValueError(
                f"batches have different numbers of features: {self.bounds.shape[1]} and "
                f"{other.bounds.shape[1]}"
            )
        counts = self.counts + other.counts
        box = np.array(
            [
                np.minimum(self.bounds[0], other.bounds[0]),
                np.maximum(self.bounds[1], other.bounds[1]),
            ]
        )
        if not counts.mass > 0:
            return Profile(counts, box, self.mean, self.scatter)
        share = other.counts.mass / counts.mass
        step = other.mean - self.mean
        scatter = self.scatter + other.scatter + step**2 * (self.counts.mass * share)
        return Profile(counts, box, self.mean + share * step, scatter)

    @classmethod
    def nothing(cls, d: int) -> Profile:
        """Return the profile of no rows of d features."""
        return cls(Counts(), _nowhere(d), np.zeros(d), np.zeros(d))

    @classmethod
    def total(cls, profiles: Iterable[Profile]) -> Profile | None:
        """Return the sum of profiles in their order, None where there are none."""
        total: Profile | None = None
        for profile in profiles:
            total = profile if total is None else total + profile
        return total

    @property
    def mass(self) -> float:
        """The sum of the weights."""
        return self.counts.mass

    @property
    def scale(self) -> Array:
        """The standard deviation along each axis."""
        return np.asarray(np.sqrt(self.scatter / self.counts.mass))

    def features(self, axes: NDArray[np.intp]) -> Profile:
        """Return what is known of some features."""
        return Profile(self.counts, self.bounds[:, axes], self.mean[axes], self.scatter[axes])


def _nowhere(d: int) -> Array:
    return np.array([np.full(d, np.inf), np.full(d, -np.inf)])
