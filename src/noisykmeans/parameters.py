"""What users write, turned into parts: strings and numbers into windows, bandwidths, spacings.

Strings are a courtesy of the estimators; below them there are objects only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import seeding, windows
from noisykmeans.estimation import ByKernel, ByLikelihood
from noisykmeans.noise import Noise
from noisykmeans.selection import (
    CrossValidation,
    Fixed,
    FixedSteps,
    Lepski,
    Rate,
    Renoise,
    Rule,
    StepRate,
    StepRule,
)
from noisykmeans.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noisykmeans.estimation import Method
    from noisykmeans.measure import Measure

    Array = NDArray[np.float64]

__all__ = [
    "as_centers",
    "as_method",
    "as_noise",
    "as_resolution",
    "as_rule",
    "as_starts",
    "as_window",
    "is_array",
    "is_count",
    "is_real",
]

WINDOWS = {
    "cubic": windows.Cubic(),
    "flat-top": windows.FlatTop(),
    "sinc": windows.Sinc(),
    "gaussian": windows.Gaussian(),
}
DRAWN = {"k-means++": seeding.plus_plus, "random": seeding.random}
STARTS = 10  # they take microseconds each on a density
DECONVOLUTIONS = ("auto", "em", "kernel")
RULES: dict[str, Rule] = {
    "auto": Renoise(),
    "renoise": Renoise(),
    "lepski": Lepski(),
    "cv": CrossValidation(),
    "rate": Rate(),
}
STEP_RULES: dict[str, StepRule] = {"auto": StepRate(), "rate": StepRate(), "renoise": Renoise()}


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


def as_method(deconvolution: Any, bandwidth: Any, window: Any, dimension: int) -> Method:
    """Return the deconvolution of that name, with the bandwidth or the number of steps wanted.

    "auto" is maximum likelihood, and the kernel estimate where a bandwidth is asked for.
    """
    if not isinstance(deconvolution, str) or deconvolution not in DECONVOLUTIONS:
        raise ValueError(
            f"deconvolution must be one of {', '.join(map(repr, DECONVOLUTIONS))}; "
            f"got {deconvolution!r}"
        )
    automatic = isinstance(bandwidth, str) and bandwidth == "auto"
    if deconvolution == "em" or (deconvolution == "auto" and automatic):
        as_window(window)
        return ByLikelihood(_as_steps(bandwidth))
    return ByKernel(as_rule(bandwidth, dimension), as_window(window))


def _as_steps(bandwidth: Any) -> StepRule:
    """Return the rule for the number of steps of maximum likelihood, which is its bandwidth."""
    if isinstance(bandwidth, StepRule):
        return bandwidth
    if is_count(bandwidth):
        return FixedSteps(int(bandwidth))
    if not isinstance(bandwidth, str) or bandwidth not in STEP_RULES:
        raise ValueError(
            f"bandwidth must be {', '.join(map(repr, STEP_RULES))} or a number of steps with "
            f"deconvolution='em'; got {bandwidth!r}: other rules and bandwidths go with "
            f"deconvolution='kernel'"
        )
    return STEP_RULES[bandwidth]


def as_rule(bandwidth: Any, dimension: int) -> Rule:
    """Return the rule of that name, the rule itself, or that of one number for each axis."""
    if isinstance(bandwidth, Rule):
        return bandwidth
    if isinstance(bandwidth, StepRule):
        raise ValueError(  # noqa: TRY004  a rule, but of the other deconvolution
            f"bandwidth={bandwidth!r} chooses a number of steps: it goes with deconvolution='em'"
        )
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            raise ValueError(
                f"bandwidth must be a number, one per feature, or one of "
                f"{', '.join(map(repr, RULES))}; got {bandwidth!r}"
            )
        return RULES[bandwidth]
    return Fixed(tuple(_per_feature(bandwidth, "bandwidth", dimension).tolist()))


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
