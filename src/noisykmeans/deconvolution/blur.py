"""What errors do to mass on a grid: the forward model that likelihoods are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import fft

from noisykmeans import spectrum
from noisykmeans.deconvolution.band import on_axis
from noisykmeans.grid import Grid
from noisykmeans.noise import Gaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = ["Blur"]

_ALIASES = {1: 64, 2: 3, 3: 1}  # on either side of each axis, at most
_NEGLIGIBLE = 1e-9  # size of the c.f. from which on aliases do not count
_REACH = 6.0  # standard deviations of the errors that a period must hold beyond the grid
_WIDEST = {1: 100, 2: 6, 3: 3}  # lengths of the grid that a period holds beyond it, at most
_DECAYED = 5.0  # frequency, times standard deviation, from which on a c.f. counts as gone
_LOOKS = {2: 65, 3: 17}  # along each axis of an alias, for a ridge of the c.f.
_HEAVY_REACH = 40.0  # where there are none: what comes round is spread over the whole period


@dataclass(frozen=True)
class Blur:
    """Moves mass at the nodes of a grid by errors, and bins it linearly again.

    A point at node i is observed at ``x_i + eps``, and linear binning gives node j the share
    ``k(j - i) = E prod max(0, 1 - |eps_v / spacing_v - (j - i)_v|)``. The shares are a law: not
    negative for any errors, and 1 in all, so that ``forward`` loses only what leaves the grid.

    Their Fourier series is ``sum_m conj(phi(t + 2 pi m / spacing)) prod sinc^2``, by Poisson's
    summation. It is inverted on a period that is long enough for no error to come round; errors
    that are many times wider than the grid do come round, and are as good as uniform on it.
    The c.f. of errors on a line or a plane across the axes never decays in some directions, and
    the series would not end: such errors get half a spacing more in every direction.

    Parameters
    ----------
    grid : Grid
        The nodes.
    noise : Noise
        The law of the errors.

    Examples
    --------
    >>> from noisykmeans.grid import Grid
    >>> from noisykmeans.noise import Uniform
    >>> blur = Blur(Grid((0.0,), (1.0,), (5,)), Uniform(1.0))
    >>> blur.forward(np.array([0.0, 0.0, 1.0, 0.0, 0.0])).round(3).tolist()
    [0.0, 0.25, 0.5, 0.25, 0.0]
    """

    grid: Grid
    noise: Noise

    def forward(self, values: Array) -> Array:
        """Return the expected binned mass ``g(j) = sum_i k(j - i) f(i)``."""
        return self.inverse(self.series(values) * self.transfer)

    def backward(self, values: Array) -> Array:
        """Return the adjoint, ``sum_j k(j - i) v(j)``: an average over the errors of node i."""
        return self.inverse(self.series(values) * self.adjoint)

    def series(self, values: Array) -> NDArray[np.complex128]:
        """Return the FFT of values at the nodes, on the padded shape."""
        return spectrum.forward(values, self.grid.padded_shape)

    def inverse(self, series: NDArray[np.complex128]) -> Array:
        """Return the values at the nodes, given an FFT on the padded shape."""
        return spectrum.inverse(series, self.grid.padded_shape, self.grid.shape)

    @cached_property
    def transfer(self) -> NDArray[np.complex128]:
        """The FFT of the shares at all differences of nodes, on the padded shape."""
        if not self.noise.independent:
            return np.asarray(fft.rfftn(self.shares()))
        grid = self.grid
        axes = enumerate(zip(grid.lower, grid.spacing, grid.shape, strict=True))
        blurs = [
            Blur(Grid((low,), (step,), (n,)), self.noise.marginal([axis]))
            for axis, (low, step, n) in axes
        ]
        return np.asarray(fft.rfftn(reduce(np.multiply.outer, [b.shares() for b in blurs])))

    @cached_property
    def adjoint(self) -> NDArray[np.complex128]:
        """The transfer function of `backward`."""
        return np.conj(self.transfer)

    def shares(self) -> Array:
        """Return the shares at all differences of nodes, in the order of the padded shape."""
        shares = self._on_a_period()
        for axis, (n, padded) in enumerate(
            zip(self.grid.shape, self.grid.padded_shape, strict=True)
        ):
            differences = np.zeros(padded, dtype=np.intp)
            differences[:n] = np.arange(n)
            differences[padded - n + 1 :] = np.arange(1 - n, 0)
            shares = np.take(shares, differences % shares.shape[axis], axis=axis)
            # Differences that no two nodes have.
            between = [slice(None)] * shares.ndim
            between[axis] = slice(n, padded - n + 1)
            shares[tuple(between)] = 0
        return shares

    def _on_a_period(self) -> Array:
        """``k`` on a period of nodes, 0 first as in an FFT."""
        grid, d = self.grid, self.grid.dimension
        heavy = np.isinf(np.diag(self.noise.covariance_matrix(d)))
        sigma = np.sqrt(np.diag(self.noise.width(d)))
        lengths = np.array(grid.spacing) * grid.shape
        reach = np.abs(self.noise.mean(d)) + np.where(heavy, _HEAVY_REACH, _REACH) * sigma
        reach = np.minimum(reach, _WIDEST[d] * lengths)
        period = [
            int(fft.next_fast_len(int(2 * n + 2 * r / h), real=True))
            for n, r, h in zip(grid.shape, reach, grid.spacing, strict=True)
        ]
        angles = [2 * np.pi * np.fft.fftfreq(n) for n in period]
        angles[-1] = 2 * np.pi * np.fft.rfftfreq(period[-1])
        aliases = [self._aliases(axis, angle) for axis, angle in enumerate(angles)]
        series = np.zeros([len(angle) for angle in angles], dtype=np.complex128)
        noise = self._decaying()
        for terms in product(*aliases):
            if d > 1 and not self._counts(noise, [m for m, _ in terms]):
                continue
            axes = zip(angles, terms, grid.spacing, strict=True)
            t = [(angle + 2 * np.pi * m) / h for angle, (m, _), h in axes]
            phi = noise.characteristic_function(np.stack(np.meshgrid(*t, indexing="ij"), -1))
            for axis, (_, share) in enumerate(terms):
                phi = phi * share.reshape([-1 if v == axis else 1 for v in range(d)])
            series += np.conj(phi)
        shares = np.maximum(fft.irfftn(series, s=period), 0)
        return np.asarray(shares / shares.sum())

    def _decaying(self) -> Noise:
        """Return the law, widened where its c.f. lasts beyond the aliases in some direction."""
        spacing, d = np.array(self.grid.spacing), self.grid.dimension
        if self.noise.independent or d == 1:
            return self.noise
        S = self.noise.width(d) / np.outer(spacing, spacing)
        narrowest = np.sqrt(max(np.linalg.eigvalsh(S)[0], 0))  # in spacings
        lasts = narrowest * np.pi * (2 * _ALIASES[d] + 1) < _DECAYED
        return self.noise + Gaussian(spacing / 2) if lasts else self.noise

    def _counts(self, noise: Noise, alias: list[int]) -> bool:
        """Return whether the c.f. is more than negligible somewhere in an alias of the band."""
        within = np.linspace(-0.5, 0.5, _LOOKS[self.grid.dimension])
        axes = zip(alias, self.grid.spacing, strict=True)
        t = np.meshgrid(*(2 * np.pi / h * (m + within) for m, h in axes), indexing="ij")
        size = np.abs(noise.characteristic_function(np.stack(t, axis=-1))).max()
        return bool(size >= _NEGLIGIBLE)

    def _aliases(self, axis: int, angle: NDArray[Any]) -> list[tuple[int, Array]]:
        """Return the aliases of an axis that may count, each with its share ``sinc^2``.

        What lies beyond the last one is given to it: so the shares add to 1 exactly, and on the
        line errors of size 0 need no alias at all.
        """
        n = most = _ALIASES[self.grid.dimension]
        if self.grid.dimension == 1:
            within = np.linspace(-0.5, 0.5, 17)
            t = 2 * np.pi / self.grid.spacing[0] * (np.arange(1, n + 1)[:, None] + within)
            size = np.abs(on_axis(self.noise, t.ravel(), axis, 1)).reshape(t.shape).max(axis=1)
            counts = np.flatnonzero((size >= _NEGLIGIBLE) & (size < 1))
            n = int(counts[-1]) + 1 if len(counts) else 0
            most = 0 if (size >= 1).any() else most
        shares = {m: np.sinc(angle / (2 * np.pi) + m) ** 2 for m in range(-n, n + 1)}
        if n == most:
            rest = (1 - np.sum(list(shares.values()), axis=0)) / 2
            shares[-n] = shares[-n] + rest
            shares[n] = shares[n] + rest
        return list(shares.items())
