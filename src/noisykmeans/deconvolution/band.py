"""The band of frequencies that an estimate uses: where it may end, and the grid it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noisykmeans.noise import Noise
    from noisykmeans.windows import Window

__all__ = ["LARGEST_GAIN", "adequate_spacing", "check_bandwidth", "on_axis", "smallest_bandwidth"]

LARGEST_GAIN = 1e12  # of 1 / |phi_eta|: beyond it an estimate is rounding error only

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

    Along the axis, ``|phi_eta|`` must stay above 1e-12 and may not pass through 0; a zero shows
    as a jump of the phase by about pi between neighbouring frequencies.
    """
    t = window.support / bandwidth * np.geomspace(1e-6, 1, 4096)
    phi = on_axis(noise, t, axis, dimension)
    gone = ~(np.abs(phi) >= 1 / LARGEST_GAIN)
    gone[1:] |= (phi[1:] * np.conj(phi[:-1])).real <= 0
    if not gone.any():
        return bandwidth
    return float(window.support / t[max(gone.argmax() - 1, 0)])


def check_bandwidth(noise: Noise, window: Window, bandwidth: Sequence[float]) -> None:
    """Raise where a bandwidth reaches frequencies that the noise has destroyed."""
    d = len(bandwidth)
    for axis, value in enumerate(bandwidth):
        usable = smallest_bandwidth(noise, window, value, axis, d)
        if usable > value:
            raise ValueError(
                f"bandwidth {value:.6g} on axis {axis} is too small: 1/phi_eta overflows there for "
                f"{noise!r} (it exceeds {LARGEST_GAIN:g} or has a pole); the smallest usable "
                f"bandwidth on this axis is {usable * 1.0001:.6g}"
            )
    corners = np.array(np.meshgrid(*[(-1.0, 1.0)] * d)).reshape(d, -1).T
    corners *= window.support / np.array(bandwidth)
    if not (np.abs(noise.characteristic_function(corners)) >= 1 / LARGEST_GAIN).all():
        factor = 1.0
        while not (
            np.abs(noise.characteristic_function(corners / factor)) >= 1 / LARGEST_GAIN
        ).all():
            factor *= 1.01
        raise ValueError(
            f"bandwidth {tuple(bandwidth)} is too small on all axes together: 1/phi_eta overflows "
            f"for {noise!r}; the smallest usable one in this proportion is "
            f"{tuple(float(f'{factor * value:.6g}') for value in bandwidth)}"
        )


def adequate_spacing(
    noise: Noise, window: Window, bandwidth: Sequence[float]
) -> NDArray[np.float64]:
    """Return the largest spacing of the nodes along each axis that resolves the estimate.

    Binning leaves aliases of relative size ``(t spacing / 2 pi)^2`` at the frequency t, with
    independent signs for the two neighbours. Averaged over the band with the weight
    ``|window(bandwidth t) / phi_eta(t)|`` that the estimate gives to it, the error is
    ``sqrt(2) q^2 spacing^2 / (2 pi)^2``, q the root mean square frequency. It is kept below
    5e-4.
    """
    d = len(bandwidth)
    spacing = np.empty(d)
    for axis, value in enumerate(bandwidth):
        u = np.linspace(0, window.support, 513)[1:]
        t = u / value
        weight = np.abs(window(u) / on_axis(noise, t, axis, d))
        q = np.sqrt((weight * t**2).sum() / weight.sum())
        spacing[axis] = 2 * np.pi / q * np.sqrt(_BINNING_ERROR / np.sqrt(2))
    return spacing
