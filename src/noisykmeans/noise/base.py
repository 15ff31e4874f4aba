"""What every law of a measurement error states, and what all laws can do.

A law states formulas only: its characteristic function, how to draw from it, its covariance.
Everything else (sums, projections, parameters for a grid search, printing) is generic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noisykmeans.units import check_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Noise", "per_axis", "printable"]


class Noise(ABC):
    """The law of a measurement error ``eps`` in R^d.

    Conventions: ``phi(t) = E exp(i <t, eps>)``; frequencies ``t`` have the shape (..., d) and the
    unit 1 / unit of the data. A law whose `dimension` is None has independent axes of one law
    and fits any number of them; where nothing tells the number, it is one.

    Laws are values: compared by their parameters, hashable, and not to be changed. (`set_params`
    is for scikit-learn alone, which calls it on copies of its own.)
    """

    _params: dict[str, Any]  # as given: scikit-learn's clone asks for the very same objects
    _values: dict[str, Any]  # what they were then: arrays and lists may change later

    def __init__(self, **params: Any) -> None:
        object.__setattr__(self, "_params", params)
        values = {name: printable(value) for name, value in params.items()}
        object.__setattr__(self, "_values", values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: make a new law to change {name!r}")

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """Number of axes, None where any number fits."""

    @property
    def independent(self) -> bool:
        """Whether the errors of different axes are known to be independent."""
        return False

    @abstractmethod
    def _characteristic_function(self, t: NDArray[np.float64]) -> NDArray[Any]:
        """``phi`` at checked frequencies of shape (..., d)."""

    @abstractmethod
    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """Errors of the given checked shape (n, d)."""

    @abstractmethod
    def _covariance(self, dimension: int) -> NDArray[np.float64]:
        """Covariance matrix on the given checked number of axes."""

    def characteristic_function(self, t: ArrayLike) -> NDArray[Any]:
        """``phi(t) = E exp(i <t, eps>)``, real for symmetric laws.

        Parameters
        ----------
        t : array of shape (..., d)
            Frequencies.

        Returns
        -------
        array of shape (...)
        """
        t = np.asarray(t, dtype=np.float64)
        if t.ndim == 0:
            raise ValueError("frequencies have the shape (..., d); got a single number")
        self.check_dimension(t.shape[-1])
        return self._characteristic_function(t)

    def sample(
        self, size: int | tuple[int, int], rng: np.random.Generator | int | None = None
    ) -> NDArray[np.float64]:
        """Draw errors.

        Parameters
        ----------
        size : int or (int, int)
            Number of errors, or (number of errors, number of axes).
        rng : numpy.random.Generator, int or None
            Source of randomness, or a seed for one.

        Returns
        -------
        array of shape (n, d)
        """
        n, d = size if isinstance(size, tuple) else (size, self.dimension or 1)
        self.check_dimension(d)
        return self._sample((n, d), np.random.default_rng(rng))

    @property
    def covariance(self) -> NDArray[np.float64]:
        """``E[(eps - E eps) (eps - E eps)^T]``, of shape (d, d)."""
        return self._covariance(self.dimension or 1)

    def covariance_matrix(self, dimension: int) -> NDArray[np.float64]:
        """Return the covariance on that many axes, of shape (dimension, dimension)."""
        self.check_dimension(dimension)
        return self._covariance(dimension)

    def mean(self, dimension: int) -> NDArray[np.float64]:
        """``E eps``, of shape (dimension,): 0 for laws that are symmetric about 0.

        It is the derivative of the phase of the c.f. at 0, taken where ``|phi|`` is close to 1.
        """
        mean = np.zeros(dimension)
        for axis, variance in enumerate(np.diag(self.width(dimension))):
            # phi(h) = exp(i h mean - h^2 variance / 2 - i h^3 third / 6 ...)
            h = 1e-3 / np.sqrt(variance) if variance > 0 else 1e-3
            steps = np.array([1.0, 2.0, 0.618])
            while True:
                t = np.zeros((3, dimension))
                t[:, axis] = steps * h
                phase = np.angle(self.characteristic_function(t))
                # A phase that has wrapped is not in proportion to its step, or not small.
                if np.abs(phase).max() < 0.5 and np.abs(phase - steps * phase[0]).max() < 0.01:
                    break
                h /= 8
            mean[axis] = (8 * phase[0] - phase[1]) / (6 * h)
        return mean

    def width(self, dimension: int) -> NDArray[np.float64]:
        """Return the covariance, with the width of the law in place of infinite variances.

        It is the variance of the Gaussian law whose c.f. falls to ``exp(-1/2)`` at the same
        frequency.
        """
        S = self.covariance_matrix(dimension)
        for axis in np.flatnonzero(~np.isfinite(np.diag(S))):
            unit = np.geomspace(1e-9, 1e9, 3601)
            t = np.zeros((len(unit), dimension))
            t[:, axis] = unit
            fallen = np.abs(self.characteristic_function(t)) < np.exp(-0.5)
            S[axis], S[:, axis] = 0.0, 0.0
            S[axis, axis] = unit[fallen.argmax()] ** -2.0
        return S

    def project(self, P: ArrayLike) -> Noise:
        """Return the law of ``P eps``, for a matrix ``P`` of shape (r, d)."""
        from noisykmeans.noise.combine import Projected  # noqa: PLC0415  base and its algebra

        return Projected(self, P)

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``."""
        if self.dimension is None:
            return self
        return self.project(np.eye(self.dimension)[list(axes)])

    def __add__(self, other: object) -> Noise:
        """Return the law of the sum of two independent errors: their c.f.s multiply."""
        from noisykmeans.noise.combine import add  # noqa: PLC0415  base and its algebra

        return add(self, other) if isinstance(other, Noise) else NotImplemented

    def check_dimension(self, d: int) -> None:
        """Raise unless the law fits data with d features."""
        if self.dimension is not None and self.dimension != d:
            raise ValueError(
                f"the noise law {self!r} has {self.dimension} axes, where {d} are needed: "
                f"give one entry for each feature, or a single number for all"
            )

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  sklearn's
        """Return the parameters as given, with those of nested laws as ``outer__inner``."""
        params = dict(self._params)
        if deep:
            for name, value in self._params.items():
                if isinstance(value, Noise):
                    params |= {f"{name}__{k}": v for k, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place: the door that scikit-learn's grid search uses on copies."""
        unknown = [name for name in params if name not in self.get_params()]
        if unknown:
            known = ", ".join(map(repr, self.get_params()))
            raise ValueError(f"{self!r} has no parameter {unknown[0]!r}: it has {known}")
        own = dict(self._params)
        own |= {name: value for name, value in params.items() if name in own}
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if inner:
                own[outer].set_params(**{inner: value})
        self.__dict__.update(type(self)(**own).__dict__)  # a frozen value is remade, with checks
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._values.values()))})"

    def _key(self) -> tuple[Any, ...]:
        return (type(self), *self._values.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Noise) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def printable(value: Any) -> Any:
    """Plain floats and tuples in place of arrays and lists, so that a repr can be evaluated."""
    check_plain(value, "a parameter of a law")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(printable(entry) for entry in value)
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return float(value) if is_number else value


def per_axis(value: Any, name: str) -> tuple[float, ...] | float:
    """One finite number >= 0, or a tuple of such with one per axis; anything else is an error."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a real number or one per axis; got {value!r}")
    if array.ndim > 1 or array.size == 0:
        raise ValueError(f"{name} must be a number or one per axis; got shape {array.shape}")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name} must be finite and not negative; got {value!r}")
    return tuple(map(float, array)) if array.ndim else float(array)
