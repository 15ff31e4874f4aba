"""The deconvolution kernel estimate: the paper's first step.

``f_hat(x) = (2 pi)^-d integral exp(-i <t, x>) W(t) phi_Z(t) / phi_eta(t) dt`` with the window
``W(t) = prod F[K](bandwidth_v t_v)``. Written as a sum over the observations it is
``f_hat(x) = mean_i K_eta(x - Z_i)`` with the deconvolution kernel
``K_eta(y) = (2 pi)^-d integral exp(-i <t, y>) W(t) / phi_eta(t) dt``.

The kernel is computed at all differences of nodes by Gauss-Legendre quadrature, which is exact
to rounding and meets the edge of the window where it is; then the convolution with the
histogram runs by FFT on the padded shape, where no difference wraps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

from noisykmeans.deconvolution.band import check_bandwidth, on_axis
from noisykmeans.deconvolution.ridge import Ridged
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.spectrum import inverse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.spectrum import Spectrum
    from noisykmeans.windows import Window

    Array = NDArray[np.float64]

__all__ = ["KernelDeconvolution"]

# A rule of this order integrates exp(i w s) over [-1, 1] to rounding for |w| <= _PHASE.
_ORDER, _PHASE = 32, 36.0
_PER_TOOTH, _MOST_PANELS = 8.0, 256


@dataclass(frozen=True)
class KernelDeconvolution:
    """The deconvolution kernel estimator on a grid, for one noise law and window.

    Parameters
    ----------
    grid : Grid
        The grid of the histograms and densities.
    noise : Noise
        The law of the errors; its c.f. may not vanish within the band.
    window : Window
        The Fourier transform of the kernel.

    Examples
    --------
    >>> from noisykmeans import noise, windows
    >>> from noisykmeans.grid import Grid
    >>> from noisykmeans.histogram import fill
    >>> from noisykmeans.spectrum import transform
    >>> grid = Grid((-8.0,), (0.125,), (129,))
    >>> plan = KernelDeconvolution(grid, noise.Laplace(0.5), windows.Cubic())
    >>> density = plan.density(transform(fill(grid, [[2.0]])), (0.5,))
    >>> density.grid.nodes[0][density.values.argmax()].item()
    2.0
    """

    grid: Grid
    noise: Noise
    window: Window

    def density(self, spectrum: Spectrum, bandwidth: Sequence[float]) -> Density:
        """Return the estimate from a spectrum: signed, and 1 in all up to what lies beyond."""
        return self.apply(spectrum, self.transfer(bandwidth))

    def apply(self, spectrum: Spectrum, transfer: NDArray[np.complex128]) -> Density:
        """Return the estimate for a known transfer function."""
        if spectrum.grid != self.grid:
            raise ValueError(f"the spectrum is on {spectrum.grid}, the plan on {self.grid}")
        series = spectrum.coefficients * transfer
        return Density(self.grid, inverse(series, self.grid.padded_shape, self.grid.shape))

    def transfer(self, bandwidth: Sequence[float]) -> NDArray[np.complex128]:
        """Return the FFT of the kernel: what a spectrum is multiplied with."""
        self._check(bandwidth)
        if not self.noise.independent:
            return np.asarray(fft.rfftn(_kernel(self, bandwidth), overwrite_x=True))
        waves = [_wave(plan, b) for plan, b in zip(self._per_axis, bandwidth, strict=True)]
        waves[-1] = waves[-1][: self.grid.padded_shape[-1] // 2 + 1]  # of a real transform
        return np.asarray(reduce(np.multiply.outer, waves))

    def kernel(self, bandwidth: Sequence[float]) -> Array:
        """Return ``K_eta`` at the differences of nodes, on the padded shape, 0 first as in an FFT.

        Parameters
        ----------
        bandwidth : sequence of float
            One for each axis, in the unit of the data.
        """
        self._check(bandwidth)
        if not self.noise.independent:
            return _kernel(self, bandwidth)
        kernels = [_kernel(plan, (b,)) for plan, b in zip(self._per_axis, bandwidth, strict=True)]
        return np.asarray(reduce(np.multiply.outer, kernels))

    def _check(self, bandwidth: Sequence[float]) -> None:
        d = self.grid.dimension
        if len(bandwidth) != d:
            raise ValueError(f"bandwidth must have {d} entries; got {tuple(bandwidth)}")
        check_bandwidth(self.noise, self.window, bandwidth)

    @cached_property
    def _per_axis(self) -> list[KernelDeconvolution]:
        """The plans of the axes, each on its own and wherever it lies."""
        axes = enumerate(zip(self.grid.spacing, self.grid.shape, strict=True))
        return [
            KernelDeconvolution(
                Grid((0.0,), (step,), (n,)), self.noise.marginal([axis]), self.window
            )
            for axis, (step, n) in axes
        ]


@lru_cache(maxsize=256)
def _wave(plan: KernelDeconvolution, bandwidth: float) -> NDArray[np.complex128]:
    """Return the FFT of the kernel of one axis, remembered: samples of one kind share it."""
    wave = np.asarray(fft.fft(_kernel(plan, (bandwidth,))))
    wave.setflags(write=False)
    return wave


def _kernel(plan: KernelDeconvolution, bandwidth: Sequence[float]) -> Array:
    """Integrate over the band."""
    grid, window, d = plan.grid, plan.window, plan.grid.dimension
    half = [_half_axis(plan, axis, value) for axis, value in enumerate(bandwidth)]
    # K_eta is real: the other half of the last axis is the complex conjugate.
    axes = [(np.r_[-t[::-1], t], np.r_[w[::-1], w]) for t, w in half[:-1]] + half[-1:]
    frequencies = np.stack(np.meshgrid(*(t for t, _ in axes), indexing="ij"), axis=-1)
    values = 1 / plan.noise.characteristic_function(frequencies)
    for axis, (t, w) in enumerate(axes):
        shape = [-1 if v == axis else 1 for v in range(d)]
        values = values * (w * window(bandwidth[axis] * t)).reshape(shape)
    for axis, (t, _) in enumerate(axes[:-1]):
        waves = np.exp(-1j * np.outer(_differences(grid, axis), t))
        values = np.moveaxis(np.tensordot(waves, values, axes=(1, axis)), 0, axis)
    angles = np.outer(axes[-1][0], _differences(grid, d - 1))
    kernel = values.real @ np.cos(angles) + values.imag @ np.sin(angles)
    return np.asarray(2 * kernel / (2 * np.pi) ** d)


def _differences(grid: Grid, axis: int) -> Array:
    """Return the differences of nodes along an axis, in the FFT's order."""
    n = grid.padded_shape[axis]
    return np.asarray(np.fft.fftfreq(n, 1 / n) * grid.spacing[axis])


def _half_axis(plan: KernelDeconvolution, axis: int, bandwidth: float) -> tuple[Array, Array]:
    """Return quadrature nodes and weights on the positive half of the band along an axis."""
    grid, window = plan.grid, plan.window
    edge = window.support / bandwidth
    length = grid.spacing[axis] * grid.shape[axis]
    gain = np.abs(on_axis(plan.noise, np.array([edge]), axis, grid.dimension))[0]
    # Panels resolve the waves over the grid's length and the growth of 1 / phi_eta.
    panels = (edge * length - min(np.log(gain), 0.0)) / (2 * _PHASE)
    if isinstance(plan.noise, Ridged):  # and the teeth of a ridge
        sd = np.sqrt(plan.noise.width(grid.dimension)[axis, axis])
        panels = max(panels, min(edge * sd / (_PER_TOOTH * plan.noise.floor), _MOST_PANELS))
    breaks = np.array([0.0, *window.breaks, window.support]) / bandwidth
    return _gauss_legendre(breaks, int(np.ceil(panels)))


def _gauss_legendre(breaks: Array, panels: int) -> tuple[Array, Array]:
    """Nodes and weights of a composite rule, with that many panels over all pieces at least."""
    total = breaks[-1] - breaks[0]
    edges = np.concatenate(
        [
            np.linspace(a, b, max(1, int(np.ceil(panels * (b - a) / total))), endpoint=False)
            for a, b in pairwise(breaks)
        ]
        + [breaks[-1:]]
    )
    s, w = np.polynomial.legendre.leggauss(_ORDER)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    nodes: Array = (middle[:, None] + half[:, None] * s).ravel()
    weights: Array = (half[:, None] * w).ravel()
    return nodes, weights
