"""The empirical characteristic function on the dual grid, by FFT of the histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import fft

from noisykmeans._kernels.threads import n_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.grid import Grid
    from noisykmeans.histogram import Histogram

__all__ = ["Spectrum", "forward", "inverse", "transform"]

_LARGE = 2**18  # values of a transform that is worth several threads


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Fourier coefficients of a sample on the dual grid.

    ``coefficients = E exp(-i <t, Z - lower>)`` with ``lower`` the grid's first node: the sign and
    the origin of the FFT, in which phases cancel later. `characteristic_function` has the
    statistician's.

    Parameters
    ----------
    grid : Grid
        The grid of the histogram; the frequencies are ``grid.frequencies``.
    coefficients : complex array
        One for each frequency.
    """

    grid: Grid
    coefficients: NDArray[np.complex128]

    def characteristic_function(self) -> NDArray[np.complex128]:
        """``phi_Z(t) = E exp(i <t, Z>)`` at the frequencies of the dual grid."""
        phi = np.conj(self.coefficients)
        for axis, (t, lower) in enumerate(zip(self.grid.frequencies, self.grid.lower, strict=True)):
            phi = phi * _along(np.exp(1j * t * lower), axis, self.grid.dimension)
        return phi

    def __repr__(self) -> str:
        return f"Spectrum({self.grid})"


def transform(histogram: Histogram) -> Spectrum:
    """Transform a histogram, normalised to mass 1.

    Linear binning multiplies the c.f. by ``prod sinc^2(t_v spacing_v / 2)``, sinc x = sin x / x;
    this is divided out. What remains of the binning is aliasing, of relative size
    ``(t_v spacing_v / 2 pi)^2``.
    """
    grid = histogram.grid
    mass = histogram.mass
    if not mass > 0:
        raise ValueError(f"the histogram must have a positive mass; got {mass:g}")
    coefficients = forward(histogram.values, grid.padded_shape)
    coefficients /= mass
    for axis, n in enumerate(grid.padded_shape):
        gain = _compensation(n)[: coefficients.shape[axis]]  # the last axis has one half only
        coefficients *= _along(gain, axis, grid.dimension)
    return Spectrum(grid, coefficients)


def forward(values: NDArray[np.float64], padded: tuple[int, ...]) -> NDArray[np.complex128]:
    """Return the real FFT of arrays, padded with zeros, of which no line is transformed.

    Parameters
    ----------
    values : array
        What is transformed, along its last axes.
    padded : tuple of int
        The shape of the transform.
    """
    workers = _workers(padded)
    series = fft.rfft(values, padded[-1], workers=workers)
    for axis in range(-2, -len(padded) - 1, -1):
        series = fft.fft(series, padded[axis], axis=axis, overwrite_x=True, workers=workers)
    return np.asarray(series)


def inverse(
    series: NDArray[np.complex128], padded: tuple[int, ...], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the first values along each axis that `forward` leads back to; the series is lost.

    Parameters
    ----------
    series : complex array
        Fourier coefficients, along its last axes.
    padded : tuple of int
        The shape of the transform.
    shape : tuple of int
        How many values are wanted.
    """
    workers = _workers(padded)
    for axis in range(-len(padded), -1):
        whole = fft.ifft(series, axis=axis, overwrite_x=True, workers=workers)
        series = whole[(..., slice(shape[axis]), *[slice(None)] * (-axis - 1))]
    return np.asarray(fft.irfft(series, padded[-1], workers=workers)[..., : shape[-1]])


def _workers(padded: tuple[int, ...]) -> int:
    """Return the number of threads: one where starting more would take longer than they save."""
    return n_threads() if math.prod(padded) >= _LARGE else 1


@lru_cache(maxsize=64)
def _compensation(n: int) -> NDArray[np.float64]:
    """Return ``1 / sinc^2`` at the frequencies of n nodes, in the FFT's order."""
    gain: NDArray[np.float64] = np.sinc(np.fft.fftfreq(n)) ** -2
    gain.setflags(write=False)
    return gain


def _along(values: NDArray[Any], axis: int, dimension: int) -> NDArray[Any]:
    """Shape a vector so that it broadcasts along one axis of several."""
    return values.reshape([-1 if v == axis else 1 for v in range(dimension)])
