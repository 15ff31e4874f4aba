"""The deconvolution kernel estimate at many pairs of bandwidths, one axis at a time.

With a window and errors that are independent along the two axes, the deconvolution kernel is a
product of kernels on the line: m x m pairs of bandwidths need 2 m kernels only, and what the first
axis does to a spectrum is shared by the m bandwidths of the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import fft

from noisykmeans.deconvolution import KernelDeconvolution
from noisykmeans.deconvolution.band import check_bandwidth
from noisykmeans.density import Density
from noisykmeans.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.spectrum import Spectrum
    from noisykmeans.windows import Window

__all__ = ["SeparableDeconvolution"]


@dataclass(frozen=True)
class SeparableDeconvolution:
    """`KernelDeconvolution` on two axes with independent errors, at all pairs of bandwidths.

    Parameters
    ----------
    grid : Grid
        Of two axes.
    noise : Noise
        The law of the errors, whose c.f. must be a product over the axes.
    window : Window
        The Fourier transform of the kernel on the line.
    bandwidths : tuple of float
        The candidates on each axis.

    Examples
    --------
    >>> from noisykmeans import noise, windows
    >>> from noisykmeans.histogram import fill
    >>> from noisykmeans.spectrum import transform
    >>> grid = Grid((-4.0, -4.0), (0.25, 0.25), (33, 33))
    >>> law = noise.Gaussian((0.0, 0.5))
    >>> plan = SeparableDeconvolution(grid, law, windows.Cubic(), (0.5, 1.0))
    >>> spectrum = transform(fill(grid, [[0.0, 1.0]]))
    >>> pairs = dict(plan.densities(spectrum))
    >>> list(pairs)
    [(0.5, 0.5), (0.5, 1.0), (1.0, 0.5), (1.0, 1.0)]
    >>> reference = KernelDeconvolution(grid, law, windows.Cubic()).density(spectrum, (0.5, 1.0))
    >>> bool(np.abs(pairs[0.5, 1.0].values - reference.values).max() < 1e-12)
    True
    """

    grid: Grid
    noise: Noise
    window: Window
    bandwidths: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.grid.dimension != 2:
            raise ValueError(f"pairs of bandwidths need a grid of 2 axes; got {self.grid}")
        smallest = min(self.bandwidths)
        check_bandwidth(self.noise, self.window, (smallest, smallest))

    def densities(self, spectrum: Spectrum) -> Iterator[tuple[tuple[float, float], Density]]:
        """Give each pair of bandwidths and the signed estimate, the second axis fastest."""
        if spectrum.grid != self.grid:
            raise ValueError(f"the spectrum is on {spectrum.grid}, the plan on {self.grid}")
        (n0, n1), (_, padded) = self.grid.shape, self.grid.padded_shape
        first, second = self._transfers
        for a, transfer in zip(self.bandwidths, first, strict=True):
            product = spectrum.coefficients * transfer[:, None]
            # Rows in the padding are dropped before the second axis sees them.
            rows = fft.ifft(product, axis=0, overwrite_x=True)[:n0]
            for b, transfer_b in zip(self.bandwidths, second, strict=True):
                values = fft.irfft(rows * transfer_b, n=padded, axis=1, overwrite_x=True)
                yield (a, b), Density(self.grid, values[:, :n1])

    @cached_property
    def _transfers(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The FFT of each axis's kernels: on all frequencies, and from 0 up only."""
        return fft.fft(self._kernels(0), axis=1), fft.rfft(self._kernels(1), axis=1)

    def _kernels(self, axis: int) -> NDArray[np.float64]:
        grid = self.grid
        line = Grid((grid.lower[axis],), (grid.spacing[axis],), (grid.shape[axis],))
        plan = KernelDeconvolution(line, self.noise.marginal([axis]), self.window)
        return np.array([plan.kernel((bandwidth,)) for bandwidth in self.bandwidths])
