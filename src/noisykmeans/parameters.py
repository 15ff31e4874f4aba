"""What users write, turned into parts: strings and numbers into windows, bandwidths, spacings.

Strings are a courtesy of the estimators; below them there are objects only.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import seeding, windows
from noisykmeans.deconvolution import adequate_spacing
from noisykmeans.grid import MARGIN
from noisykmeans.noise import Noise
from noisykmeans.selection import Rate
from noisykmeans.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noisykmeans.measure import Measure

    Array = NDArray[np.float64]

__all__ = ["as_bandwidth", "as_noise", "as_spacing", "as_starts", "as_window"]

WINDOWS = {
    "cubic": windows.Cubic(),
    "flat-top": windows.FlatTop(),
    "sinc": windows.Sinc(),
    "gaussian": windows.Gaussian(),
}
DRAWN = {"k-means++": seeding.plus_plus, "random": seeding.random}
STARTS = 10  # they take microseconds each on a density
RULES = {"auto": Rate(), "rate": Rate()}
SMALLEST_RESOLUTION = 8


def as_noise(noise: Any, dimension: int) -> Noise:
    """Return the law, or raise where it is none or does not fit the data."""
    if not isinstance(noise, Noise):
        raise TypeError(
            f"noise must be None or a law such as noisykmeans.noise.Gaussian(scale); got {noise!r}"
        )
    noise.check_dimension(dimension)
    return noise


def as_window(window: Any) -> Window:
    """Return the window of that name, or the window itself."""
    if isinstance(window, Window):
        return window
    if not isinstance(window, str) or window not in WINDOWS:
        raise ValueError(
            f"window must be one of {', '.join(map(repr, WINDOWS))} or an object of "
            f"noisykmeans.windows; got {window!r}"
        )
    return WINDOWS[window]


def as_bandwidth(bandwidth: Any, dimension: int) -> Rate | Array:
    """Return the rule of that name, the rule itself, or one number for each axis."""
    if isinstance(bandwidth, Rate):
        return bandwidth
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            raise ValueError(
                f"bandwidth must be a number, one per feature, or one of "
                f"{', '.join(map(repr, RULES))}; got {bandwidth!r}"
            )
        return RULES[bandwidth]
    return _per_feature(bandwidth, "bandwidth", dimension)


def _per_feature(value: Any, name: str, dimension: int) -> Array:
    """Return one positive finite number for each feature."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a real number or one per feature; got {value!r}")
    if array.shape not in ((), (dimension,)):
        raise ValueError(
            f"{name} must be one number or {dimension}, one per feature; got shape {array.shape}"
        )
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be positive and finite; got {value!r}")
    return np.broadcast_to(array.astype(np.float64), dimension)


def as_spacing(
    resolution: Any, width: Array, noise: Noise, window: Window, bandwidth: Array
) -> Array:
    """Return the upper limit of the distance of nodes along each axis.

    ``"auto"`` keeps the error of binning below a thousandth; a number asks for at least so many
    nodes along the data's range and its margins.
    """
    if isinstance(resolution, str) and resolution == "auto":
        return np.minimum(
            adequate_spacing(noise, window, tuple(bandwidth.tolist())),
            _extent(width) / SMALLEST_RESOLUTION,
        )
    if isinstance(resolution, str):
        raise ValueError(  # noqa: TRY004  an unknown word, not a wrong type
            f"resolution must be 'auto' or a number of nodes per axis; got {resolution!r}"
        )
    nodes = _per_feature(resolution, "resolution", len(width))
    spacing = _extent(width) / nodes
    coarsest = np.pi * bandwidth / window.support  # Nyquist, for the edge of the band
    if (nodes < SMALLEST_RESOLUTION).any() or (spacing > coarsest).any():
        needed = np.maximum(np.ceil(_extent(width) / coarsest), SMALLEST_RESOLUTION)
        raise ValueError(
            f"resolution {resolution!r} is too small: bandwidth "
            f"{tuple(bandwidth.round(6).tolist())} needs at least "
            f"{tuple(needed.astype(int).tolist())} nodes; raise resolution or leave it 'auto'"
        )
    return spacing


def as_starts(
    init: Any, n_init: Any, measure: Measure, n_clusters: int, rng: np.random.RandomState
) -> Iterator[Array]:
    """Give centers to start from: drawn ones, those of a function, or the given ones once."""
    if isinstance(init, np.ndarray):
        yield init
        return
    if n_init != "auto" and (not isinstance(n_init, Integral) or n_init < 1):
        raise ValueError(f"n_init must be 'auto' or a positive integer; got {n_init!r}")
    for _ in range(STARTS if n_init == "auto" else int(n_init)):
        if callable(init):
            yield np.asarray(init(measure.support()[0], n_clusters, random_state=rng))
        elif isinstance(init, str) and init in DRAWN:
            yield DRAWN[init](measure, n_clusters, rng)
        else:
            raise ValueError(
                f"init must be one of {', '.join(map(repr, DRAWN))}, an array of centers or a "
                f"function; got {init!r}"
            )


def _extent(width: Array) -> Array:
    """Return the width of the grid for data of that width."""
    return width * (1 + 2 * MARGIN)
