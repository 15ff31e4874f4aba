"""Laws made of laws: independent axes, sums of independent errors, linear images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.noise.base import Noise
from noisykmeans.noise.laws import Gaussian

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Independent", "Projected", "Sum", "add"]

_FREQUENCIES = 2**15  # at a time


class Independent(Noise):
    """Independent axes, each with a law of its own: ``phi(t) = prod phi_v(t_v)``.

    Parameters
    ----------
    laws : sequence of laws of one axis
        The law of each axis, in the order of the features.

    Examples
    --------
    >>> from noisykmeans.noise import Laplace
    >>> Independent([Gaussian(0.5), Laplace(1.0)]).covariance.tolist()
    [[0.25, 0.0], [0.0, 2.0]]
    """

    def __init__(self, laws: Iterable[Noise]) -> None:
        parts = _check_laws(laws)
        super().__init__(laws=laws if isinstance(laws, Sequence) else parts)
        for axis, law in enumerate(parts):
            if law.dimension not in (None, 1):
                raise ValueError(
                    f"Independent takes one law of one axis for each feature; law {axis}, "
                    f"{law!r}, has {law.dimension} axes"
                )
        object.__setattr__(self, "_laws", parts)

    _laws: tuple[Noise, ...]

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return len(self._laws)

    @property
    def independent(self) -> bool:
        """The axes are independent."""
        return True

    def _characteristic_function(self, t: NDArray[np.float64]) -> NDArray[Any]:
        factors = [law.characteristic_function(t[..., v, None]) for v, law in enumerate(self._laws)]
        return np.prod(factors, axis=0)

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return np.column_stack([law.sample((shape[0], 1), rng) for law in self._laws])

    def _covariance(self, dimension: int) -> NDArray[np.float64]:
        del dimension  # known
        return np.diag([law.covariance[0, 0] for law in self._laws])

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``."""
        return Independent(tuple(self._laws[v] for v in axes))


class Sum(Noise):
    """The sum of independent errors: ``phi(t) = prod phi_i(t)``. Written ``law_a + law_b``.

    Parameters
    ----------
    laws : sequence of laws
        The laws of the terms, each for any number of axes or all for the same.

    Examples
    --------
    >>> from noisykmeans.noise import Uniform
    >>> Gaussian((0.0, 3.0)) + Uniform(0.5)
    Gaussian((0.0, 3.0)) + Uniform(0.5)
    """

    def __init__(self, laws: Iterable[Noise]) -> None:
        parts = _check_laws(laws)
        super().__init__(laws=laws if isinstance(laws, Sequence) else parts)
        known = sorted({law.dimension for law in parts if law.dimension is not None})
        if len(known) > 1:
            raise ValueError(f"cannot add laws of {known[0]} and of {known[1]} axes")
        object.__setattr__(self, "_laws", parts)
        object.__setattr__(self, "_known", known[0] if known else None)

    _laws: tuple[Noise, ...]
    _known: int | None

    @property
    def laws(self) -> tuple[Noise, ...]:
        """The laws of the terms."""
        return self._laws

    @property
    def dimension(self) -> int | None:
        """Number of axes, None where any number fits."""
        return self._known

    @property
    def independent(self) -> bool:
        """Whether the axes of every term are independent."""
        return all(law.independent for law in self._laws)

    def check_dimension(self, d: int) -> None:
        """Raise unless every term fits data with d features."""
        for law in self._laws:
            law.check_dimension(d)

    def _characteristic_function(self, t: NDArray[np.float64]) -> NDArray[Any]:
        return np.prod([law.characteristic_function(t) for law in self._laws], axis=0)

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return np.sum([law.sample(shape, rng) for law in self._laws], axis=0)

    def _covariance(self, dimension: int) -> NDArray[np.float64]:
        return np.sum([law._covariance(dimension) for law in self._laws], axis=0)

    def project(self, P: ArrayLike) -> Noise:
        """Return the law of ``P eps``: the sum of the projected terms."""
        return Sum(tuple(law.project(P) for law in self._laws))

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``."""
        return Sum(tuple(law.marginal(axes) for law in self._laws))

    def __repr__(self) -> str:
        if reduce(add, self._laws) == self:
            return " + ".join(map(repr, self._laws))
        return super().__repr__()  # `+` would have made another law of the same terms


class Projected(Noise):
    """The law of ``P eps``: ``phi(s) = phi_eps(P^T s)``.

    Parameters
    ----------
    law : law
        The law of ``eps``.
    matrix : array of shape (r, d)
        ``P``.

    Examples
    --------
    >>> from noisykmeans.noise import Laplace
    >>> Laplace((1.0, 2.0)).project([[1.0, 1.0]]).covariance.tolist()
    [[10.0]]
    """

    def __init__(self, law: Noise, matrix: ArrayLike) -> None:
        super().__init__(law=law, matrix=matrix)
        P = np.atleast_2d(np.array(matrix, dtype=np.float64))  # a copy: the law is frozen
        if P.ndim != 2 or not np.isfinite(P).all():
            raise ValueError(f"a projection is a finite matrix of shape (r, d); got {matrix!r}")
        law.check_dimension(P.shape[1])
        object.__setattr__(self, "_law", law)
        object.__setattr__(self, "_matrix", P)

    _law: Noise
    _matrix: NDArray[np.float64]

    @property
    def dimension(self) -> int:
        """Number of axes after the projection."""
        return len(self._matrix)

    def _characteristic_function(self, t: NDArray[np.float64]) -> NDArray[Any]:
        # The original law may have many axes: some frequencies at a time.
        flat = t.reshape(-1, t.shape[-1])
        phi = [
            self._law.characteristic_function(
                np.einsum("nr,rd->nd", flat[start : start + _FREQUENCIES], self._matrix)
            )
            for start in range(0, max(len(flat), 1), _FREQUENCIES)
        ]
        return np.concatenate(phi).reshape(t.shape[:-1])

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return self._law.sample((shape[0], self._matrix.shape[1]), rng) @ self._matrix.T

    def _covariance(self, dimension: int) -> NDArray[np.float64]:
        del dimension  # known
        S, P = np.array(self._law._covariance(self._matrix.shape[1])), self._matrix
        heavy = np.isinf(np.diag(S))
        S[heavy], S[:, heavy] = 0.0, 0.0
        projected = P @ S @ P.T
        reached = np.flatnonzero((P[:, heavy] != 0).any(axis=1))
        projected[reached], projected[:, reached] = 0.0, 0.0
        projected[reached, reached] = np.inf
        return np.asarray(projected)

    def project(self, P: ArrayLike) -> Noise:
        """Return the law of ``P eps``, from the same original law."""
        P = np.atleast_2d(np.asarray(P, dtype=np.float64))
        self.check_dimension(P.shape[1])
        return self._law.project(P @ self._matrix)


def add(first: Noise, second: Noise) -> Noise:
    """Return the law of the sum of two independent errors; Gaussian terms become one."""
    terms: list[Noise] = []
    gaussian: Gaussian | None = None
    for law in (first, second):
        for term in law.laws if isinstance(law, Sum) else (law,):
            if isinstance(term, Gaussian):
                gaussian = term if gaussian is None else gaussian.plus(term)
            else:
                terms.append(term)
    if gaussian is not None:
        terms.insert(0, gaussian)
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def _check_laws(laws: Iterable[Noise]) -> tuple[Noise, ...]:
    """Return the laws as a tuple, or raise where one is no law or there is none."""
    parts = tuple(laws)
    if not parts:
        raise ValueError("at least one law is needed; got none")
    for law in parts:
        if not isinstance(law, Noise):
            raise TypeError(f"{law!r} is no noise law: use noisykmeans.noise.Gaussian and the like")
    return parts
