"""The band of frequencies that an estimate uses: where it may end, and the grid it needs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.deconvolution.ridge import Ridged
from noisykmeans.grid import check_dimension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.windows import Window

__all__ = [
    "LARGEST_GAIN",
    "adequate_spacing",
    "check_bandwidth",
    "on_axis",
    "raised_to_usable",
    "regular",
    "smallest_bandwidth",
]

LARGEST_GAIN = 1e12  # of 1 / |phi_eta|: beyond it an estimate is rounding error only

_FAR = 100.0  # frequency, times standard deviation, up to which zeros are sought
_SMALLEST_SHARE = 1e-6  # of a ray, at which the search for its usable part begins

# Aliasing of linear binning, relative to the estimate; see adequate_spacing.
_BINNING_ERROR = 5e-4


def on_axis(noise: Noise, t: NDArray[np.float64], axis: int, dimension: int) -> NDArray[Any]:
    """Return the noise's c.f. at frequencies along one axis."""
    frequencies = np.zeros((len(t), dimension))
    frequencies[:, axis] = t
    return noise.characteristic_function(frequencies)


def smallest_bandwidth(
    noise: Noise, window: Window, bandwidth: float, axis: int, dimension: int
) -> float:
    """Return the bandwidth, or the smallest larger one whose band the noise leaves usable.

    Along the axis, ``|phi_eta|`` must stay above 1e-12 and may not touch or pass through 0.
    """
    edge = np.zeros((1, dimension))
    edge[0, axis] = window.support / bandwidth
    share = _usable_share(noise, edge, 4096)
    while share <= _SMALLEST_SHARE and edge.max() > 0:  # far beyond: look closer to 0
        edge *= _SMALLEST_SHARE
        bandwidth /= _SMALLEST_SHARE
        share = _usable_share(noise, edge, 4096)
    return bandwidth / share


def _usable_share(noise: Noise, edges: NDArray[np.float64], steps: int) -> float:
    """Return the share of the rays from 0 to the edges up to which 1 / phi_eta can be used.

    A zero shows as a jump of the phase by about pi between neighbouring frequencies or, where
    phi_eta only touches it, as a minimum of ``|phi_eta|`` that falls to 0 when looked at closely.
    """
    if isinstance(noise, Ridged):
        return 1.0
    s = np.geomspace(_SMALLEST_SHARE, 1, steps)
    phi = noise.characteristic_function(s[:, None, None] * edges)
    size = np.abs(phi)
    gone = ~(size >= 1 / LARGEST_GAIN)
    gone[1:] |= (phi[1:] * np.conj(phi[:-1])).real <= 0
    first = np.where(gone.any(axis=0), gone.argmax(axis=0), steps)
    dips = (size[1:-1] < size[:-2]) & (size[1:-1] <= size[2:])
    before, ray = np.nonzero(dips & (np.arange(2, steps)[:, None] < first))
    low, high = s[before], s[before + 2]
    for _ in range(8):
        closer = np.linspace(low, high, 17, axis=1)
        size = np.abs(noise.characteristic_function(closer[:, :, None] * edges[ray][:, None, :]))
        least = size.argmin(axis=1)[:, None]
        low = np.take_along_axis(closer, np.maximum(least - 1, 0), axis=1)[:, 0]
        high = np.take_along_axis(closer, np.minimum(least + 1, 16), axis=1)[:, 0]
    touching = ~(size.min(axis=1, initial=1) >= 1 / LARGEST_GAIN)
    end = min(int(first.min()), int(before[touching].min(initial=steps)) + 1)
    return 1.0 if end >= steps else float(s[max(end - 1, 0)])


def regular(noise: Noise, n: float, dimension: int) -> Noise:
    """Return the law to divide by: with a ridge where its c.f. comes back after a zero.

    Where it comes back to less than ``2 / sqrt(n)``, nothing can be told there anyway.

    Parameters
    ----------
    noise : Noise
        The law of the errors.
    n : float
        The number of observations, or the sum of their weights.
    dimension : int
        The number of axes.
    """
    floor = 1 / np.sqrt(max(n, 4.0))
    return Ridged(noise, float(floor)) if _comes_back(noise, dimension) > 2 * floor else noise


@lru_cache(maxsize=256)
def _comes_back(noise: Noise, dimension: int) -> float:
    """Return the largest size of the c.f. beyond its first zero along any axis, 0 if none."""
    largest = 0.0
    for axis, variance in enumerate(np.diag(noise.width(dimension))):
        edge = np.zeros((1, dimension))
        edge[0, axis] = _FAR / np.sqrt(variance) if variance > 0 else 0.0
        first = _usable_share(noise, edge, 4096)
        if first < 1:
            t = np.linspace(first, min(20 * first, 1.0), 2001) * edge[0, axis]
            # Not the slope to the zero itself: what comes after the c.f. was smallest.
            size = np.abs(on_axis(noise, t, axis, dimension))
            largest = max(largest, float(size[int(size[:200].argmin()) :].max()))
    return largest


def check_bandwidth(noise: Noise, window: Window, bandwidth: Sequence[float]) -> None:
    """Raise where a bandwidth reaches frequencies that the noise has destroyed."""
    _check(noise, window, tuple(bandwidth))


# Remembered: a fit asks at every stage, and fits of many small samples ask the same.
@lru_cache(maxsize=256)
def _check(noise: Noise, window: Window, bandwidth: tuple[float, ...]) -> None:
    d = len(bandwidth)
    for axis, value in enumerate(bandwidth):
        usable = smallest_bandwidth(noise, window, value, axis, d)
        if usable > value:
            raise ValueError(
                f"bandwidth {value:.6g} on axis {axis} is too small: 1/phi_eta overflows there for "
                f"{noise!r} (it exceeds {LARGEST_GAIN:g} or has a pole): use deconvolution='em', "
                f"which divides by nothing, or a larger bandwidth; the smallest usable "
                f"bandwidth on this axis is {usable * 1.0001:.6g}"
            )
    if d == 1:
        return
    # Zeros may lie off the axes, so rays to all of the band's border; where the axes are
    # independent they cannot, and the gain is largest in the corner.
    border = np.ones((1, d)) if noise.independent else _border(d, 33 if d == 2 else 17)
    share = _usable_share(noise, border * (window.support / np.array(bandwidth)), 512)
    if share < 1:
        raise ValueError(
            f"bandwidth {tuple(bandwidth)} is too small on all axes together: 1/phi_eta overflows "
            f"for {noise!r} (it exceeds {LARGEST_GAIN:g} or has a pole); the smallest usable one "
            f"in this proportion is "
            f"{tuple(float(f'{1.0001 / share * value:.6g}') for value in bandwidth)}"
        )


def raised_to_usable(
    bandwidth: NDArray[np.float64], noise: Noise, window: Window
) -> NDArray[np.float64]:
    """Return the bandwidth, or the next larger one that the noise leaves usable.

    A rule knows sizes only, and may reach into frequencies at which the noise has left nothing.
    """
    d = len(bandwidth)
    raised = np.array(
        [smallest_bandwidth(noise, window, b, axis, d) for axis, b in enumerate(bandwidth.tolist())]
    )
    raised[raised > bandwidth] *= 1.001  # off the very edge
    if d == 1:
        return raised
    border = np.ones((1, d)) if noise.independent else _border(d, 33 if d == 2 else 17)
    share = _usable_share(noise, border * (window.support / raised), 512)
    while share < 1:
        raised = raised * 1.001 / share
        share = _usable_share(noise, border * (window.support / raised), 512)
    return raised


def _border(d: int, n: int) -> NDArray[np.float64]:
    """Return points on half of the border of ``[-1, 1]^d``; the other half mirrors it."""
    side = np.linspace(-1, 1, n)
    faces = []
    for axis in range(d):
        axes = [np.ones(1) if v == axis else side for v in range(d)]
        faces.append(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d))
    return np.concatenate(faces)


def adequate_spacing(
    noise: Noise, window: Window, bandwidth: Sequence[float]
) -> NDArray[np.float64]:
    """Return the largest spacing of the nodes along each axis that resolves the estimate.

    Binning leaves aliases of relative size ``(t spacing / 2 pi)^2`` at the frequency t, with
    independent signs for the two neighbours. Averaged over the band with the weight
    ``|prod window(bandwidth_v t_v) / phi_eta(t)|`` that the estimate gives to it, the error is
    ``sqrt(2) q^2 spacing^2 / (2 pi)^2``, q the root mean square frequency along the axis. It is
    kept below 5e-4.
    """
    check_dimension(len(bandwidth))
    check_bandwidth(noise, window, bandwidth)
    return np.array(_adequate_spacing(noise, window, tuple(bandwidth)))


@lru_cache(maxsize=256)
def _adequate_spacing(
    noise: Noise, window: Window, bandwidth: tuple[float, ...]
) -> tuple[float, ...]:
    d = len(bandwidth)
    n = (512, 128, 32)[d - 1]
    half = window.support * (np.arange(n) + 0.5) / n
    u = np.stack(np.meshgrid(*[np.r_[-half[::-1], half]] * (d - 1), half, indexing="ij"), axis=-1)
    t = u / np.array(bandwidth)
    weight = window(u).prod(axis=-1) / np.abs(noise.characteristic_function(t))
    squares = (weight[..., None] * t**2).reshape(-1, d).sum(axis=0) / weight.sum()
    spacing = 2 * np.pi / np.sqrt(squares) * np.sqrt(_BINNING_ERROR / np.sqrt(2))
    return tuple(map(float, spacing))
