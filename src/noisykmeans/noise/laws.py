"""The laws that people name: Gaussian, Laplace, Uniform, and Custom for all others."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noisykmeans.noise.base import Noise, per_axis, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Custom", "Gaussian", "Laplace", "Uniform"]


class _ScaleFamily(Noise):
    """Independent axes, each a multiple of one standard law: ``phi(t) = prod phi_0(s_v t_v)``."""

    _parameter: str  # the name of the scale in the signature
    _variance: float  # of the standard law

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        scale = per_axis(params[self._parameter], self._parameter)
        object.__setattr__(self, "_scale", np.asarray(scale))

    _scale: NDArray[np.float64]

    @staticmethod
    @abstractmethod
    def _standard_characteristic_function(u: NDArray[np.float64]) -> NDArray[np.float64]:
        """``phi_0`` of the standard law on the line."""

    @staticmethod
    @abstractmethod
    def _standard_sample(
        shape: tuple[int, int], rng: np.random.Generator
    ) -> NDArray[np.float64]: ...

    @property
    def dimension(self) -> int | None:
        """Number of axes, None for a single scale."""
        return self._scale.size if self._scale.ndim else None

    @property
    def independent(self) -> bool:
        """The axes are independent."""
        return True

    def _characteristic_function(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._standard_characteristic_function(t * self._scale).prod(axis=-1)

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return self._standard_sample(shape, rng) * self._scale

    def _covariance(self, dimension: int) -> NDArray[np.float64]:
        return np.diag(np.broadcast_to(self._variance * self._scale**2, dimension))

    def mean(self, dimension: int) -> NDArray[np.float64]:
        """``E eps = 0``, by symmetry."""
        self.check_dimension(dimension)
        return np.zeros(dimension)

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``: of the same family."""
        if self.dimension is None:
            return self
        return type(self)(**{self._parameter: tuple(map(float, self._scale[list(axes)]))})


class Laplace(_ScaleFamily):
    """Independent Laplace errors, ``phi(t) = prod 1 / (1 + scale_v^2 t_v^2)``.

    Parameters
    ----------
    scale : float or one per axis
        The ``scale`` of `scipy.stats.laplace`; the variance is ``2 scale^2``. 0 means no error.

    Examples
    --------
    >>> Laplace((0.0, 1.5)).covariance.tolist()
    [[0.0, 0.0], [0.0, 4.5]]
    """

    _parameter = "scale"
    _variance = 2.0

    def __init__(self, scale: ArrayLike) -> None:
        super().__init__(scale=scale)

    @staticmethod
    def _standard_characteristic_function(u: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1 / (1 + u**2)

    @staticmethod
    def _standard_sample(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.laplace(size=shape)


class Uniform(_ScaleFamily):
    """Independent errors uniform on ``[-half_width, half_width]``, as rounding makes them.

    ``phi(t) = prod sin(a_v t_v) / (a_v t_v)``, with zeros at the multiples of ``pi / a_v``.

    Parameters
    ----------
    half_width : float or one per axis
        The variance is ``half_width^2 / 3``. 0 means no error.

    Examples
    --------
    >>> Uniform(3.0).covariance.tolist()
    [[3.0]]
    """

    _parameter = "half_width"
    _variance = 1 / 3

    def __init__(self, half_width: ArrayLike) -> None:
        super().__init__(half_width=half_width)

    @staticmethod
    def _standard_characteristic_function(u: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sinc(u / np.pi)

    @staticmethod
    def _standard_sample(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.uniform(-1, 1, size=shape)


class Gaussian(Noise):
    """Gaussian errors, ``phi(t) = exp(-<t, S t> / 2)``.

    Parameters
    ----------
    scale : float or one per axis
        Standard deviations of independent axes; 0 means an axis without error.
    covariance : array of shape (d, d), instead of scale
        Any covariance matrix, singular ones included; `from_covariance` reads better.

    Examples
    --------
    >>> noise = Gaussian((0, 3))
    >>> noise.characteristic_function([[5.0, 0.0], [0.0, 1.0]]).round(6).tolist()
    [1.0, 0.011109]
    >>> Gaussian(3) + Gaussian(4)
    Gaussian(5.0)
    """

    _scale: NDArray[np.float64] | None
    _matrix: NDArray[np.float64]

    def __init__(
        self, scale: ArrayLike | None = None, *, covariance: ArrayLike | None = None
    ) -> None:
        if (scale is None) == (covariance is None):
            raise ValueError("Gaussian takes either scale or covariance")
        if covariance is None:
            super().__init__(scale=scale)
            value = np.asarray(per_axis(scale, "scale"))
            matrix = np.diag(np.atleast_1d(value) ** 2)
        else:
            super().__init__(covariance=covariance)
            value, matrix = None, _as_covariance(covariance)
        object.__setattr__(self, "_scale", value)
        object.__setattr__(self, "_matrix", matrix)

    @classmethod
    def from_covariance(cls, S: ArrayLike) -> Self:
        """Gaussian errors with the covariance matrix ``S``, symmetric and without negative axis."""
        return cls(covariance=S)

    @property
    def dimension(self) -> int | None:
        """Number of axes, None for a single scale."""
        return None if self._scale is not None and self._scale.ndim == 0 else len(self._matrix)

    @property
    def independent(self) -> bool:
        """Whether the covariance is diagonal."""
        return not (self._matrix - np.diag(np.diag(self._matrix))).any()

    def _characteristic_function(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._scale is not None:
            return np.exp(-0.5 * ((t * self._scale) ** 2).sum(axis=-1))
        return np.exp(-0.5 * np.einsum("...i,ij,...j->...", t, self._matrix, t))

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        normal = rng.standard_normal(shape)
        if self._scale is not None:
            return normal * self._scale
        variances, axes = np.linalg.eigh(self._matrix)
        return (normal * np.sqrt(np.maximum(variances, 0))) @ axes.T

    def _covariance(self, dimension: int) -> NDArray[np.float64]:
        if self.dimension is None:
            return np.eye(dimension) * self._matrix[0, 0]
        return self._matrix.copy()

    def project(self, P: ArrayLike) -> Noise:
        """Return the law of ``P eps``: Gaussian with the covariance ``P S P^T``."""
        P = np.atleast_2d(np.asarray(P, dtype=np.float64))
        self.check_dimension(P.shape[1])
        S = P @ self._covariance(P.shape[1]) @ P.T
        return Gaussian.from_covariance((S + S.T) / 2)

    def mean(self, dimension: int) -> NDArray[np.float64]:
        """``E eps = 0``, by symmetry."""
        self.check_dimension(dimension)
        return np.zeros(dimension)

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``."""
        if self._scale is None:
            return Gaussian(covariance=self._matrix[np.ix_(list(axes), list(axes))])
        return self if self._scale.ndim == 0 else Gaussian(self._scale[list(axes)])

    def plus(self, other: Gaussian) -> Gaussian:
        """Return the law of the sum of two independent Gaussian errors."""
        if self.dimension is not None and other.dimension is not None:
            self.check_dimension(other.dimension)
        if self._scale is not None and other._scale is not None:
            return Gaussian(np.hypot(self._scale, other._scale))
        d = self.dimension or other.dimension or 1
        return Gaussian.from_covariance(self._covariance(d) + other._covariance(d))

    def __repr__(self) -> str:
        if self._scale is None:
            return f"Gaussian.from_covariance({printable(self._matrix)!r})"
        return super().__repr__()


class Custom(Noise):
    """A law given by its characteristic function and a way to draw from it.

    Parameters
    ----------
    characteristic_function : callable
        Maps frequencies of shape (..., d) to ``E exp(i <t, eps>)`` of shape (...).
    sampler : callable
        ``sampler((n, d), rng)`` draws errors of that shape with a `numpy.random.Generator`.
    dimension : int or None
        Number of axes; None where the functions work for any.

    Examples
    --------
    A centred exponential error, not symmetric:

    >>> law = Custom(
    ...     lambda t: (np.exp(-1j * t) / (1 - 1j * t)).prod(axis=-1),
    ...     lambda size, rng: rng.exponential(size=size) - 1,
    ... )
    >>> law.covariance.round(6).tolist()
    [[1.0]]
    """

    _params: dict[str, Any]

    def __init__(
        self,
        characteristic_function: Callable[[NDArray[np.float64]], ArrayLike],
        sampler: Callable[[tuple[int, int], np.random.Generator], ArrayLike],
        dimension: int | None = None,
    ) -> None:
        for name, function in [
            ("characteristic_function", characteristic_function),
            ("sampler", sampler),
        ]:
            if not callable(function):
                raise TypeError(f"{name} must be a function; got {function!r}")
        super().__init__(
            characteristic_function=characteristic_function, sampler=sampler, dimension=dimension
        )
        if dimension is not None:
            self.check_dimension(dimension)

    @property
    def dimension(self) -> int | None:
        """Number of axes, None where any number fits."""
        dimension: int | None = self._params["dimension"]
        return dimension

    def check_dimension(self, d: int) -> None:
        """Raise unless the functions make a law on d axes: phi(0) = 1, phi(-t) its conjugate."""
        super().check_dimension(d)
        origin = self._characteristic_function(np.zeros((1, d)))[0]
        if not abs(origin - 1) <= 1e-9:
            raise ValueError(
                f"characteristic_function must be 1 at t = 0; got {origin}: it is E exp(i<t, eps>)"
            )
        t = np.linspace(0.1, 1.0, 3)[:, None] * np.ones(d)
        if not np.allclose(
            self._characteristic_function(-t), np.conj(self._characteristic_function(t))
        ):
            raise ValueError(
                "characteristic_function(-t) must be the complex conjugate of "
                "characteristic_function(t), as for every real error"
            )

    def _characteristic_function(self, t: NDArray[np.float64]) -> NDArray[Any]:
        values = np.asarray(self._params["characteristic_function"](t))
        if values.shape != t.shape[:-1]:
            raise ValueError(
                f"characteristic_function must map shape {t.shape} to {t.shape[:-1]}; "
                f"got {values.shape}: sum or multiply over the last axis"
            )
        return values

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        errors = np.asarray(self._params["sampler"](shape, rng), dtype=np.float64)
        if errors.shape != shape:
            raise ValueError(f"sampler must return the shape {shape}; got {errors.shape}")
        return errors

    def _covariance(self, dimension: int) -> NDArray[np.float64]:
        # By polarisation from variances along axes and their sums: minus the second derivative
        # of log |phi| at 0.
        axes = np.eye(dimension)
        single = [self._variance_along(axis) for axis in axes]
        S = np.diag(single)
        for i in range(dimension):
            for j in range(i):
                both = self._variance_along(axes[i] + axes[j])
                S[i, j] = S[j, i] = (both - single[i] - single[j]) / 2
        return S

    def _variance_along(self, axis: NDArray[np.float64]) -> float:
        def quotient(h: float) -> float:
            value = self._characteristic_function((h * axis)[None])[0]
            return float(-2 * np.log(np.abs(value)) / h**2)

        # The step at which |phi| has fallen by a thousandth balances rounding and curvature.
        h = 1.0
        while np.abs(self._characteristic_function((h * axis)[None])[0]) < 0.999 and h > 1e-150:
            h /= 2
        while np.abs(self._characteristic_function((h * axis)[None])[0]) > 0.999 and h < 1e150:
            h *= 2
        if h >= 1e150:
            return 0.0
        h /= 2
        return (4 * quotient(h / 2) - quotient(h)) / 3  # Richardson: the error of order h^2 cancels


def _as_covariance(value: ArrayLike) -> NDArray[np.float64]:
    """Return a checked symmetric positive semidefinite matrix."""
    S = np.asarray(value)
    if S.dtype.kind not in "iuf":
        raise TypeError(f"covariance must be a real matrix; got {value!r}")
    S = S.astype(np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.size == 0:
        raise ValueError(f"covariance must be a square matrix; got shape {S.shape}")
    if not np.isfinite(S).all():
        raise ValueError(f"covariance must be finite; got {value!r}")
    size = np.abs(S).max()
    if np.abs(S - S.T).max() > 1e-8 * size:
        raise ValueError(f"covariance must be symmetric; got {value!r}")
    smallest = np.linalg.eigvalsh(S)[0]
    if smallest < -1e-8 * size:
        raise ValueError(
            f"covariance must be positive semidefinite; its smallest eigenvalue is {smallest:.3g}"
        )
    return S
