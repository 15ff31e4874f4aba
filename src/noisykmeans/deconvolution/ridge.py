"""A ridge for laws whose characteristic function has zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.noise import Noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Ridged"]

_ZERO = 1e-9  # size of a c.f. that counts as this much, to be divided by


class Ridged(Noise):
    """A law as the kernel estimate divides by it, where its c.f. vanishes here and there.

    ``1 / phi`` becomes ``conj(phi) / max(|phi|, floor)^2`` (Hall and Meister, 2007, with r = 0): it
    never exceeds 1 / floor, and is 0 where phi is. What `characteristic_function` returns is the
    inverse of that, phi itself wherever it is no smaller than the floor. Sample, mean and
    covariance are those of the law.

    Parameters
    ----------
    law : Noise
        The law of the errors.
    floor : float
        What the empirical c.f. cannot be told from: about one over the root of the sample size.

    Examples
    --------
    >>> from noisykmeans.noise import Uniform
    >>> law = Ridged(Uniform(np.pi), 0.1)
    >>> phi = law.characteristic_function([[0.5], [0.97]])
    >>> (1 / phi).round(2).tolist()
    [1.57, 3.09]
    """

    def __init__(self, law: Noise, floor: float) -> None:
        super().__init__(law=law, floor=float(floor))

    @property
    def law(self) -> Noise:
        """The law of the errors."""
        law: Noise = self._params["law"]
        return law

    @property
    def floor(self) -> float:
        """The size from which on the c.f. counts as it is."""
        return float(self._params["floor"])

    @property
    def dimension(self) -> int | None:
        """Number of axes, None where any number fits."""
        return self.law.dimension

    @property
    def independent(self) -> bool:
        """Whether the axes of the error are independent."""
        return self.law.independent

    def _characteristic_function(self, t: NDArray[np.float64]) -> NDArray[Any]:
        phi = self.law.characteristic_function(t)
        size = np.abs(phi)
        phi = np.where(size < _ZERO, _ZERO, phi)
        return np.where(size >= self.floor, phi, self.floor**2 / np.conj(phi))

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return self.law.sample(shape, rng)

    def _covariance(self, dimension: int) -> NDArray[np.float64]:
        return self.law.covariance_matrix(dimension)

    def mean(self, dimension: int) -> NDArray[np.float64]:
        """``E eps``, of shape (dimension,)."""
        return self.law.mean(dimension)

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return what the errors do along the given axes."""
        return Ridged(self.law.marginal(axes), self.floor)

    def project(self, P: ArrayLike) -> Noise:
        """Return the law of ``P eps``."""
        return Ridged(self.law.project(P), self.floor)

    def __add__(self, other: object) -> Noise:
        """Return the sum with an independent error, with the same ridge."""
        law = other.law if isinstance(other, Ridged) else other
        return Ridged(self.law + law, self.floor) if isinstance(law, Noise) else NotImplemented
