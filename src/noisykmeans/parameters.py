"""What users write, turned into parts: strings and numbers into windows, bandwidths, spacings.

Strings are a courtesy of the estimators; below them there are objects only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import seeding, windows
from noisykmeans.deconvolution import adequate_spacing, smallest_bandwidth
from noisykmeans.deconvolution.band import LARGEST_GAIN
from noisykmeans.grid import MARGIN
from noisykmeans.noise import Noise
from noisykmeans.selection import Rate
from noisykmeans.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noisykmeans.measure import Measure

    Array = NDArray[np.float64]

__all__ = [
    "as_bandwidth",
    "as_centers",
    "as_noise",
    "as_resolution",
    "as_spacing",
    "as_starts",
    "as_window",
    "is_array",
    "is_count",
    "is_real",
    "usable",
]

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


def usable(bandwidth: Array, noise: Noise, window: Window) -> Array:
    """Return the bandwidth of a rule, or the next larger one that the noise leaves usable.

    A rule knows sizes only, and may reach into frequencies at which the noise has left nothing.
    """
    d = len(bandwidth)
    raised = np.array(
        [smallest_bandwidth(noise, window, b, axis, d) for axis, b in enumerate(bandwidth.tolist())]
    )
    raised[raised > bandwidth] *= 1.001  # off the very edge
    signs = np.array(np.meshgrid(*[(-1.0, 1.0)] * d)).reshape(d, -1).T
    while not (
        np.abs(noise.characteristic_function(signs * window.support / raised)) >= 1 / LARGEST_GAIN
    ).all():
        raised *= 1.01
    return raised


def as_resolution(resolution: Any, dimension: int) -> Array | None:
    """Return the wanted number of nodes along each axis, None for "auto"."""
    if isinstance(resolution, str) and resolution == "auto":
        return None
    if isinstance(resolution, str):
        raise ValueError(  # noqa: TRY004  an unknown word, not a wrong type
            f"resolution must be 'auto' or a number of nodes per axis; got {resolution!r}"
        )
    nodes = _per_feature(resolution, "resolution", dimension)
    if (nodes != np.floor(nodes)).any():
        raise ValueError(f"resolution counts nodes, in integers; got {resolution!r}")
    return nodes


def as_spacing(
    nodes: Array | None, width: Array, noise: Noise, window: Window, bandwidth: Array
) -> Array:
    """Return the upper limit of the distance of nodes along each axis.

    None keeps the error of binning below a thousandth; numbers ask for at least so many nodes
    along the data's range and its margins.
    """
    if nodes is None:
        return np.minimum(
            adequate_spacing(noise, window, tuple(bandwidth.tolist())),
            _extent(width) / SMALLEST_RESOLUTION,
        )
    spacing = _extent(width) / nodes
    coarsest = np.pi * bandwidth / window.support  # Nyquist, for the edge of the band
    if (nodes < SMALLEST_RESOLUTION).any() or (spacing > coarsest).any():
        needed = np.maximum(np.ceil(_extent(width) / coarsest), SMALLEST_RESOLUTION)
        each = nodes.astype(int).tolist()
        wanted = each[0] if len(set(each)) == 1 else tuple(each)
        raise ValueError(
            f"resolution {wanted} is too small: bandwidth "
            f"{tuple(bandwidth.round(6).tolist())} needs at least "
            f"{tuple(needed.astype(int).tolist())} nodes; raise resolution or leave it 'auto'"
        )
    return spacing


def is_array(init: Any) -> bool:
    """Return whether init is given centers, and no name or function."""
    return isinstance(init, list | tuple) or hasattr(init, "__array__")


def is_count(value: Any) -> bool:
    """Return whether the value is a positive integer."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return bool(is_integer and value >= 1)


def is_real(value: Any) -> bool:
    """Return whether the value is one real number."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def as_centers(centers: Any, n_clusters: int, dimension: int, name: str) -> Array:
    """Return given centers, or raise where they are not finite numbers of the right shape."""
    try:
        array = np.asarray(centers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers; got {centers!r}") from error
    if array.shape != (n_clusters, dimension):
        raise ValueError(
            f"{name} must have the shape ({n_clusters}, {dimension}), one row for each of "
            f"n_clusters; got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; got {array.tolist()}")
    return array


def as_starts(
    init: Any, n_init: Any, measure: Measure, n_clusters: int, rng: np.random.RandomState
) -> Iterator[Array]:
    """Give centers to start from: drawn ones, those of a function, or the given ones once."""
    if isinstance(init, np.ndarray):
        yield init
        return
    for _ in range(STARTS if isinstance(n_init, str) else int(n_init)):
        if callable(init):
            yield init(measure.support()[0], n_clusters, random_state=rng)
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
