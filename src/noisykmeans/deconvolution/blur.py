"""What errors do to mass on a grid: the forward model that likelihoods are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, reduce
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import fft

from noisykmeans import spectrum
from noisykmeans.deconvolution.band import on_axis
from noisykmeans.grid import Grid
from noisykmeans.noise import Gaussian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = ["Blur", "padded"]

_ALIASES = {1: 64, 2: 3, 3: 1}  # on either side of each axis, at most
_NEGLIGIBLE = 1e-9  # size of the c.f. from which on aliases do not count
_REACH = 6.0  # standard deviations of the errors that a period must hold beyond the grid
_WIDEST = {1: 100, 2: 6, 3: 3}  # lengths of the grid that a period holds beyond it, at most
_DECAYED = 5.0  # frequency, times standard deviation, from which on a c.f. counts as gone
_LOOKS = {2: 65, 3: 17}  # along each axis of an alias, for a ridge of the c.f.
_LOST = 1e-12  # mass that may be left out of a convolution
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
        return self._convolved(values, self.transfer(self.padded_shape))

    def backward(self, values: Array) -> Array:
        """Return the adjoint, ``sum_j k(j - i) v(j)``: an average over the errors of node i."""
        return self._convolved(values, np.conj(self.transfer(self.padded_shape)))

    def _convolved(self, values: Array, transfer: NDArray[np.complex128]) -> Array:
        series = spectrum.forward(values, self.padded_shape)
        return spectrum.inverse(series * transfer, self.padded_shape, self.grid.shape)

    @cached_property
    def reach(self) -> tuple[int, ...]:
        """The largest differences of nodes along each axis that errors lead to, but for 1e-12."""
        reach = []
        for axis, n in enumerate(self.grid.shape):
            others = tuple(v for v in range(self.grid.dimension) if v != axis)
            line = self.shares.sum(axis=others)
            # Of k and -k together, the farthest first.
            far = np.cumsum((line[1:n] + line[:-n:-1])[::-1])[::-1]
            reach.append(int(np.count_nonzero(far > _LOST)))
        return tuple(reach)

    @cached_property
    def padded_shape(self) -> tuple[int, ...]:
        """A shape for Fourier transforms on which no mass comes round to the grid."""
        return padded(self.grid, self.reach)

    def transfer(self, padded_shape: tuple[int, ...]) -> NDArray[np.complex128]:
        """Return the FFT of the shares at all differences of nodes within reach.

        Parameters
        ----------
        padded_shape : tuple of int
            The shape of the transform: the grid's and the reach, at least.
        """
        shares = self.shares
        for axis, (reach, length) in enumerate(zip(self.reach, padded_shape, strict=True)):
            kept = np.arange(-reach, reach + 1)
            shape = [*shares.shape]
            shape[axis] = length
            cropped = np.zeros(shape)
            np.moveaxis(cropped, axis, 0)[kept] = np.moveaxis(shares, axis, 0)[kept]
            shares = cropped
        return np.asarray(fft.rfftn(shares))

    @cached_property
    def shares(self) -> Array:
        """The shares at all differences of nodes, in the order of an FFT of the grid's padding."""
        if not self.noise.independent or self.grid.dimension == 1:
            return self._at_differences(self._on_a_period())
        grid = self.grid
        axes = enumerate(zip(grid.lower, grid.spacing, grid.shape, strict=True))
        blurs = [
            Blur(Grid((low,), (step,), (n,)), self.noise.marginal([axis]))
            for axis, (low, step, n) in axes
        ]
        return np.asarray(reduce(np.multiply.outer, [blur.shares for blur in blurs]))

    def _at_differences(self, shares: Array) -> Array:
        """Return what a period has at the differences that two nodes may have, 0 elsewhere."""
        for axis, (n, length) in enumerate(
            zip(self.grid.shape, self.grid.padded_shape, strict=True)
        ):
            differences = np.zeros(length, dtype=np.intp)
            differences[:n] = np.arange(n)
            differences[length - n + 1 :] = np.arange(1 - n, 0)
            shares = np.take(shares, differences % shares.shape[axis], axis=axis)
            between = [slice(None)] * shares.ndim
            between[axis] = slice(n, length - n + 1)
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
        counts = lru_cache(partial(self._counts, noise))
        for terms in product(*aliases):
            alias = tuple(m for m, _ in terms)  # its mirror image has a c.f. of the same size
            if d > 1 and not counts(max(alias, tuple(-m for m in alias))):
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

    def _counts(self, noise: Noise, alias: tuple[int, ...]) -> bool:
        """Return whether the c.f. is more than negligible somewhere in an alias of the band."""
        if isinstance(noise, Gaussian) and self._decayed(noise, alias):
            return False
        within = np.linspace(-0.5, 0.5, _LOOKS[self.grid.dimension])
        axes = zip(alias, self.grid.spacing, strict=True)
        t = np.meshgrid(*(2 * np.pi / h * (m + within) for m, h in axes), indexing="ij")
        size = np.abs(noise.characteristic_function(np.stack(t, axis=-1))).max()
        return bool(size >= _NEGLIGIBLE)

    def _decayed(self, noise: Gaussian, alias: tuple[int, ...]) -> bool:
        """Return whether ``t' S t / 2`` is large on an alias by the least eigenvalue of S alone."""
        spacing, d = np.array(self.grid.spacing), self.grid.dimension
        least = np.linalg.eigvalsh(noise.covariance_matrix(d) / np.outer(spacing, spacing))[0]
        closest = 2 * np.pi * np.maximum(np.abs(alias) - 0.5, 0)
        return bool(least * (closest @ closest) / 2 > -np.log(_NEGLIGIBLE))

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


def padded(grid: Grid, reach: Sequence[int]) -> tuple[int, ...]:
    """Return lengths for fast transforms that hold the grid and what errors lead to beyond it."""
    lengths = zip(grid.shape, reach, strict=True)
    return tuple(int(fft.next_fast_len(n + r, real=True)) for n, r in lengths)
