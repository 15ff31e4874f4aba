"""Laws with heavy tails, whose variance may be infinite: Student and Cauchy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, kve

from noisykmeans.noise.base import Noise, per_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Cauchy", "Student"]


class Student(Noise):
    """Independent errors of Student's law, multiplied by a scale.

    ``phi(t) = prod u^(df / 2) K_(df / 2)(u) / (Gamma(df / 2) 2^(df / 2 - 1))``,
    ``u = sqrt(df) scale_v |t_v|``, K the modified Bessel function of the second kind.

    Parameters
    ----------
    df : float
        Degrees of freedom; the variance is ``scale^2 df / (df - 2)``, infinite up to 2.
    scale : float or one per axis
        The ``scale`` of `scipy.stats.t`. 0 means no error.

    Examples
    --------
    >>> Student(3.0, 0.5).covariance.tolist()
    [[0.75]]
    """

    def __init__(self, df: float, scale: ArrayLike = 1.0) -> None:
        super().__init__(df=df, scale=scale)
        if isinstance(df, bool) or not (isinstance(df, int | float | np.number) and df > 0):
            raise ValueError(f"df must be a positive number; got {df!r}")
        if not np.isfinite(df):
            raise ValueError(f"df must be finite; got {df!r}: use Gaussian(scale)")
        object.__setattr__(self, "_df", float(df))
        object.__setattr__(self, "_scale", np.asarray(per_axis(scale, "scale")))

    _df: float
    _scale: Array

    @property
    def dimension(self) -> int | None:
        """Number of axes, None for a single scale."""
        return self._scale.size if self._scale.ndim else None

    @property
    def independent(self) -> bool:
        """The axes are independent."""
        return True

    def _characteristic_function(self, t: Array) -> Array:
        half = self._df / 2
        u = np.sqrt(self._df) * np.abs(t * self._scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = half * np.log(u) + np.log(kve(half, u)) - u
        values = np.exp(logs - gammaln(half) - (half - 1) * np.log(2))
        # Close to 0 the Bessel function overflows, and the c.f. is 1.
        return np.asarray(np.where(np.isfinite(logs), values, 1.0).prod(axis=-1))

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        return rng.standard_t(self._df, size=shape) * self._scale

    def _covariance(self, dimension: int) -> Array:
        variance = self._df / (self._df - 2) if self._df > 2 else np.inf
        scale = np.broadcast_to(self._scale, dimension)
        squares = np.zeros(dimension)
        squares[scale > 0] = variance * scale[scale > 0] ** 2
        return np.diag(squares)

    def mean(self, dimension: int) -> Array:
        """``E eps``, or the median where there is none: 0."""
        self.check_dimension(dimension)
        return np.zeros(dimension)

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``."""
        return self if self.dimension is None else Student(self._df, self._scale[list(axes)])


class Cauchy(Student):
    """Independent Cauchy errors, ``phi(t) = exp(-sum scale_v |t_v|)``: no mean, no variance.

    Parameters
    ----------
    scale : float or one per axis
        The ``scale`` of `scipy.stats.cauchy`, half the distance of the quartiles. 0 means no
        error.

    Examples
    --------
    >>> Cauchy(2.0).characteristic_function([[0.5]]).round(4).tolist()
    [0.3679]
    """

    def __init__(self, scale: ArrayLike = 1.0) -> None:
        super().__init__(1.0, scale)
        Noise.__init__(self, scale=scale)

    def _characteristic_function(self, t: Array) -> Array:
        return np.exp(-np.abs(t * self._scale).sum(axis=-1))

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return the law of the given axes of ``eps``."""
        return self if self.dimension is None else Cauchy(self._scale[list(axes)])
