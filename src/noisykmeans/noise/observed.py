"""Laws of errors that differ from one observation to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.noise.base import Noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["PerObservation"]


class PerObservation(Noise):
    """A law for each observation, of a few: the errors of means of 2, of 3, and of 5 readings.

    Estimators take it as `noise` for the rows that it was made for, in their order. As a law of
    its own it is that of an observation chosen at random.

    Parameters
    ----------
    laws : sequence of laws
        The different laws.
    labels : array of shape (n,)
        The number of each observation's law.

    Examples
    --------
    >>> from noisykmeans.noise import Gaussian
    >>> law = PerObservation([Gaussian(1.0), Gaussian(2.0)], [0, 1, 1, 0])
    >>> law.covariance.tolist()
    [[2.5]]
    """

    def __init__(self, laws: Sequence[Noise], labels: ArrayLike) -> None:
        super().__init__(laws=laws, labels=labels)
        each = np.asarray(labels)
        if each.ndim != 1 or each.dtype.kind not in "iu" or not len(each):
            raise ValueError(f"labels must be integers, one an observation; got {labels!r}")
        if each.min() < 0 or each.max() >= len(laws):
            raise ValueError(f"labels must be numbers of the {len(laws)} laws; got {labels!r}")
        shares = np.bincount(each, minlength=len(laws)) / len(each)
        object.__setattr__(self, "_laws", tuple(laws))
        object.__setattr__(self, "_labels", each.astype(np.intp))
        object.__setattr__(self, "_shares", shares)

    _laws: tuple[Noise, ...]
    _labels: NDArray[np.intp]
    _shares: Array

    @property
    def laws(self) -> tuple[Noise, ...]:
        """The different laws."""
        return self._laws

    @property
    def labels(self) -> NDArray[np.intp]:
        """The number of each observation's law."""
        return self._labels

    @property
    def dimension(self) -> int | None:
        """Number of axes, None where any number fits."""
        return next((law.dimension for law in self._laws if law.dimension), None)

    def check_rows(self, n: int) -> None:
        """Raise unless there is a law for each of n observations."""
        if n != len(self._labels):
            raise ValueError(
                f"noise has laws for {len(self._labels)} observations, in their order, and X has "
                f"{n} rows: fit the rows that it was made for"
            )

    def _characteristic_function(self, t: Array) -> NDArray[Any]:
        parts = zip(self._shares, self._laws, strict=True)
        return np.asarray(sum(share * law.characteristic_function(t) for share, law in parts))

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        drawn = rng.choice(len(self._laws), size=shape[0], p=self._shares)
        errors = np.empty(shape)
        for i, law in enumerate(self._laws):
            rows = np.flatnonzero(drawn == i)
            errors[rows] = law.sample((len(rows), shape[1]), rng)
        return errors

    def _covariance(self, dimension: int) -> Array:
        parts = list(zip(self._shares, self._laws, strict=True))
        means = [law.mean(dimension) for _, law in parts]
        middle = sum(share * mean for (share, _), mean in zip(parts, means, strict=True))
        return np.asarray(
            sum(
                share * (law.covariance_matrix(dimension) + np.outer(m - middle, m - middle))
                for (share, law), m in zip(parts, means, strict=True)
            )
        )

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the laws of the given axes of ``eps``."""
        return PerObservation([law.marginal(axes) for law in self._laws], self._labels)

    def __repr__(self) -> str:
        return f"PerObservation({list(self._laws)!r}, <{len(self._labels)} labels>)"
