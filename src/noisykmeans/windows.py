"""Windows: the Fourier transforms of smoothing kernels, which cut off what noise has destroyed.

The estimate of the density keeps the frequencies ``|t_v| <= support / bandwidth_v`` and weighs
them with ``prod window(bandwidth_v t_v)``. A window is 1 at 0, even, and 0 beyond its support.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Cubic", "FlatTop", "Gaussian", "Sinc", "Window"]


class Window(ABC):
    """The Fourier transform of a kernel on the line, ``F[K]``; in R^d the product over axes."""

    @property
    def support(self) -> float:
        """The frequency, times bandwidth, from which on the window is 0."""
        return 1.0

    @property
    def breaks(self) -> tuple[float, ...]:
        """Points in (0, support) at which the window is not smooth."""
        return ()

    @property
    @abstractmethod
    def unit(self) -> float:
        """The bandwidth at which the window blurs about as much as a Gaussian of scale 1.

        It is the point where the window falls to ``exp(-1/2)``, and makes bandwidths of
        different windows comparable.
        """

    @abstractmethod
    def _inside(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at 0 <= u <= support."""

    def __call__(self, u: ArrayLike) -> NDArray[np.float64]:
        """``F[K](u)``, elementwise."""
        u = np.abs(np.asarray(u, dtype=np.float64))
        return np.where(u <= self.support, self._inside(np.minimum(u, self.support)), 0.0)


@dataclass(frozen=True)
class Cubic(Window):
    """``F[K](u) = (1 - u^2)^3``: smooth, and the usual choice in deconvolution.

    Examples
    --------
    >>> Cubic()([0.0, 0.5, 1.0]).tolist()
    [1.0, 0.421875, 0.0]
    """

    @property
    def unit(self) -> float:
        """``sqrt(1 - exp(-1/6))``."""
        return float(np.sqrt(-np.expm1(-1 / 6)))

    def _inside(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return (1 - u**2) ** 3


@dataclass(frozen=True)
class FlatTop(Window):
    """1 up to ``flat``, then a smooth step down to 0 at 1: no bias for smooth densities.

    With ``s = (u - flat) / (1 - flat)`` the step is ``1 - 10 s^3 + 15 s^4 - 6 s^5``, twice
    continuously differentiable at both ends.

    Parameters
    ----------
    flat : float
        Where the step begins, 0 <= flat < 1.

    Examples
    --------
    >>> FlatTop(flat=0.5)([0.0, 0.5, 0.75, 1.0]).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """

    flat: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.flat < 1:
            raise ValueError(f"flat must lie in [0, 1); got {self.flat!r}")

    @property
    def breaks(self) -> tuple[float, ...]:
        """The beginning of the step."""
        return (self.flat,) if self.flat > 0 else ()

    @property
    def unit(self) -> float:
        """The point of the step at height ``exp(-1/2)``."""
        s = 0.4426835075873  # 10 s^3 - 15 s^4 + 6 s^5 = 1 - exp(-1/2)
        return self.flat + s * (1 - self.flat)

    def _inside(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        s = np.maximum(u - self.flat, 0) / (1 - self.flat)
        return 1 - s**3 * (10 + s * (6 * s - 15))


@dataclass(frozen=True)
class Sinc(Window):
    """``F[K](u) = 1`` for ``|u| <= 1``: a plain cut, whose kernel is ``sin(x) / (pi x)``.

    Examples
    --------
    >>> Sinc()([0.0, 1.0, 1.1]).tolist()
    [1.0, 1.0, 0.0]
    """

    @property
    def unit(self) -> float:
        """The cut."""
        return 1.0

    def _inside(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ones_like(u)


@dataclass(frozen=True)
class Gaussian(Window):
    """``F[K](u) = exp(-u^2 / 2)``, set to 0 where it is below 1e-8.

    Against Gaussian noise of scale s the estimate is dominated by the cut, and useless, unless
    the bandwidth is well above s: prefer a window of compact support there.

    Examples
    --------
    >>> Gaussian()([0.0, 1.0, 7.0]).round(4).tolist()
    [1.0, 0.6065, 0.0]
    """

    @property
    def support(self) -> float:
        """``sqrt(2 log 1e8)``."""
        return float(np.sqrt(16 * np.log(10)))

    @property
    def unit(self) -> float:
        """The scale."""
        return 1.0

    def _inside(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-0.5 * u**2)
