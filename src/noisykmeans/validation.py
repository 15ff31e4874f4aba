"""What observations must be like, for the messages where they are not."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from noisykmeans.grid import MAX_DIMENSION

if TYPE_CHECKING:
    from collections.abc import Sized

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.histogram import Histogram
    from noisykmeans.noise import Noise

    Array = NDArray[np.float64]

__all__ = [
    "all_equal",
    "check_on_grid",
    "check_outside",
    "check_weights",
    "varying_features",
    "warn_of_equal_centers",
    "warn_of_noise",
]

LARGEST_OUTSIDE = 0.05  # share of the mass that may lie beyond a given grid
NARROWEST, WIDEST = 1e-100, 1e100  # ranges of a feature whose powers neither vanish nor overflow


def check_weights(sample_weight: ArrayLike, X: Array) -> Array:
    """Return one finite weight for each row, none negative and not all of them 0."""
    weights = np.asarray(sample_weight)
    if weights.dtype.kind in "iuf" and weights.size:
        if weights.min() < 0:
            raise ValueError(
                f"Negative values in data passed to `sample_weight`: the smallest is "
                f"{weights.min()}; leave such rows out or give them the weight 0"
            )
        if (weights == 0).all():
            raise ValueError(
                "Sample weights must contain at least one non-zero number: sample_weight is 0 "
                "for every row"
            )
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))


def varying_features(X: Sized, low: Array, high: Array) -> NDArray[np.intp]:
    """Return the features that are not constant, or raise where one cannot be computed with."""
    axes = np.flatnonzero(high > low)
    if not len(axes):
        raise ValueError(f"{all_equal(X, low)}: there is nothing to deconvolve; use noise=None")
    with np.errstate(over="ignore"):
        width = high - low
    for axis in axes:
        if not NARROWEST <= width[axis] <= WIDEST:
            raise ValueError(
                f"the range of X in feature {axis}, from {low[axis]:g} to {high[axis]:g}, is "
                f"beyond what can be computed with: change the unit of that feature"
            )
    return axes


def check_on_grid(axes: NDArray[np.intp]) -> None:
    """Raise where a grid cannot hold the features that vary."""
    if len(axes) > MAX_DIMENSION:
        raise ValueError(
            f"X has {len(axes)} features that vary, and the density of at most {MAX_DIMENSION} can "
            f"be estimated on a grid: choose or project on fewer features"
        )


def all_equal(X: Sized, value: Array) -> str:
    """Say that all rows of X are equal to that value."""
    return f"all observations (n_samples={len(X)}) are equal to {value.tolist()}"


def check_outside(histogram: Histogram, stacklevel: int) -> None:
    """Warn of mass beyond the grid, and raise where it is too much or none is left."""
    total = histogram.mass + histogram.outside
    if not total > 0:
        raise ValueError(f"the histogram must have a positive mass; got {total:g}: fill it first")
    if not histogram.outside > 0:
        return
    share = histogram.outside / total
    message = f"{share:.3%} of the observations' mass lies outside the grid"
    if share > LARGEST_OUTSIDE:
        raise ValueError(
            f"{message}, more than the {LARGEST_OUTSIDE:.0%} that can be left out: fill the "
            f"histogram on a grid that covers the data"
        )
    warnings.warn(f"{message} and is left out", UserWarning, stacklevel=stacklevel + 1)


def warn_of_equal_centers(centers: Array, X: Array) -> None:
    """Warn where some centers are the same, or there are fewer points than centers, as k-means."""
    k = len(centers)
    different = len(set(map(tuple, centers.tolist())))
    if different == k:
        # Among a few rows there mostly are enough; else all are looked at.
        different = len(set(map(tuple, X[: 4 * k].tolist())))
        if different < k and len(X) > 4 * k:
            different = len(np.unique(X, axis=0))
        if different >= k:
            return
    warnings.warn(
        f"Number of distinct clusters ({different}) found smaller than n_clusters ({k}): without "
        f"their errors the observations may be that few points",
        ConvergenceWarning,
        stacklevel=3,
    )


def warn_of_noise(noise: Noise, scale: Array, n: float, axes: NDArray[np.intp]) -> None:
    """Warn where the errors alone would spread the observations more than they are spread.

    By chance the observations' variance may fall short of that of the errors: its logarithm
    varies by about ``sqrt(2 / n)``, and more for heavy tails. Six times as much is no chance.
    """
    errors = np.sqrt(np.diag(noise.width(len(scale))))
    allowed = scale * np.exp(3 * np.sqrt(2 / max(n, 1.0)))
    for feature, size, spread, limit in zip(axes, errors, scale, allowed, strict=True):
        if size > limit:
            warnings.warn(
                f"noise has the standard deviation {size:.4g} in feature {feature}, more than the "
                f"observations themselves ({spread:.4g}): they carry no information on that axis; "
                f"check the unit of noise",
                UserWarning,
                stacklevel=4,
            )
