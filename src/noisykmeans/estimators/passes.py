"""From a source of batches to histograms, in one pass over it where bounds are known, or two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from noisykmeans.estimation import ByKernel, ByLikelihood, grid_over, warn_of_far_ones
from noisykmeans.estimators.differing import Grouping, WellMeasured, measured
from noisykmeans.grid import MAX_DIMENSION
from noisykmeans.groups import Groups, law_of_all
from noisykmeans.lattice import placed
from noisykmeans.profile import Counts, Profile
from noisykmeans.summary import Binning
from noisykmeans.validation import check_outside, varying_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from noisykmeans.batches import Batch, Source
    from noisykmeans.estimation import Method
    from noisykmeans.histogram import Histogram
    from noisykmeans.noise import Noise
    from noisykmeans.stream import Stream

    Array = NDArray[np.float64]

__all__ = [
    "Demand",
    "Gathered",
    "ManyAxesError",
    "checked",
    "gathered",
    "profiled",
    "settled",
    "varying_axes",
]

T = TypeVar("T")


class ManyAxesError(ValueError):
    """More features vary than a histogram can hold."""


@dataclass(frozen=True, eq=False)
class Demand:
    """What a fit asks of a sample.

    Parameters
    ----------
    method : Method
        The deconvolution, for all features.
    noise : Noise
        The law of the errors of all features.
    nodes : array of shape (d,) or None
        How many nodes are wanted at least along each feature.
    """

    method: Method
    noise: Noise
    nodes: Array | None

    def on(self, box: Array, axes: NDArray[np.intp], mass: float) -> Demand:
        """Return what is asked of the features that vary, given the bounds of all and the mass.

        The law is that of the errors as the method uses it.
        """
        low, high = box
        noise = self.noise if len(axes) == len(low) else self.noise.marginal(axes.tolist())
        nodes = None if self.nodes is None else self.nodes[axes]
        told = self.method.law(self.noise, mass, len(low))
        method = self.method.restricted(told, high > low)
        return Demand(method, self.method.law(noise, mass, len(axes)), nodes)

    @property
    def needs_spread(self) -> bool:
        """Whether the law or the spacing depends on the size and the spread of the sample."""
        return isinstance(self.method, ByKernel)


@dataclass(frozen=True, eq=False)
class Gathered:
    """A sample as a fit needs it.

    Parameters
    ----------
    groups : Groups
        Histograms of the features that vary.
    counts : Counts
        The size of the sample.
    constants : array of shape (d,)
        The values of the features that do not vary, NaN for the others.
    method : Method
        The deconvolution, for the features that vary.
    scale : array or None
        The standard deviation along each axis of the groups, where it is known better than
        histograms tell.
    """

    groups: Groups
    counts: Counts
    constants: Array
    method: Method
    scale: Array | None = None


def profiled(batches: Iterable[Batch]) -> Profile | None:
    """Return the profile of batches together."""
    return Profile.total(map(Profile.of, batches))


def gathered(source: Source, demand_on: Callable[[int], Demand], bounds: Array | None) -> Gathered:
    """Read a source as often as is needed, and bin it as `fit` would.

    Parameters
    ----------
    source : Source
        Can be read more than once, unless its bounds are known.
    demand_on : callable
        Says what is asked of that many features.
    bounds : array of shape (2, d) or None
        The bounds of the features, where they are known.
    """
    box, profile = (source.bounds if bounds is None else bounds), None
    if source.has_errors:
        source, profile = _well_measured(source)
        box = profile.bounds if bounds is None else bounds
    elif box is None or demand_on(box.shape[1]).needs_spread:
        profile = source.reduce(profiled)
        profile = checked(profile, profile.counts if profile else Counts())
        box = profile.bounds if box is None else box
    demand = demand_on(box.shape[1])
    low, high = box
    axes = varying_axes(low, high, profile.counts.rows if profile else source.n_rows)
    asked = demand.on(box, axes, profile.mass if profile else 0.0)
    known = (profile or Profile(Counts(), box, np.zeros(len(low)), np.zeros(len(low)))).features(
        axes
    )
    fine, plan = _fine(box[:, axes], known, asked, axes), None
    if source.has_errors:
        shared = demand.noise if len(axes) == len(low) else demand.noise.marginal(axes.tolist())
        plan, fine = _differing(source, replace(asked, noise=shared), known, axes)
    summary = source.reduce(fine)
    summary = checked(summary, summary.counts if summary else Counts())
    whole = summary.groups.histogram
    check_outside(whole, stacklevel=5)
    whole = _coarse_enough(whole, asked, box[:, axes])
    groups = Groups.of(whole, asked.noise)
    if plan is not None and plan.labels is None:
        groups = Groups.of(whole, plan.kinds[0].noise)
    elif plan is not None:
        groups = _groups(source, replace(plan, grid=whole.grid))
    scale = None if profile is None else known.scale
    constants = np.where(high > low, np.nan, low)
    return Gathered(groups, summary.counts, constants, asked.method, scale)


def _fine(box: Array, known: Profile, asked: Demand, axes: NDArray[np.intp]) -> Binning:
    """Return the plan to bin all rows on the finest nodes in question."""
    spacing = asked.method.spacing(known, asked.noise, asked.nodes)
    return Binning.alike(grid_over(box, asked.noise, spacing), axes.tolist(), asked.noise)


def _well_measured(source: Source) -> tuple[Source, Profile]:
    """Return the rows whose errors leave something to know, and their profile."""
    first: Any = source.reduce(measured)
    first = checked(first, first.profile.counts if first else Counts())
    profile: Profile = first.profile
    limits = first.sizes.largest_usable()
    if not first.sizes.exceeds(limits):
        return source, profile
    better = WellMeasured(source, limits)
    second = better.reduce(profiled) or profile
    if second.counts.rows < profile.counts.rows:
        better.warn(second.counts.rows, profile.counts.rows)
    return better, second


def _differing(
    source: Source, asked: Demand, known: Profile, axes: NDArray[np.intp]
) -> tuple[Binning, Binning]:
    """Return the plans to bin rows by the law of their errors, and all together."""
    grouping, cells = Grouping(tuple(axes.tolist()), known.scale).gathered(source)
    labels, kinds, masses = grouping.kinds(cells, asked.noise)
    law = law_of_all(kinds, masses, len(axes)) or asked.noise
    fine = _fine(known.bounds, known, replace(asked, noise=law), axes)
    return Binning(fine.grid, fine.axes, kinds, labels if len(kinds) > 1 else None), fine


def _groups(source: Source, plan: Binning) -> Groups:
    """Return the histogram of the rows of each law."""
    summary = source.reduce(plan)
    return checked(summary, summary.counts if summary else Counts()).groups


def settled(stream: Stream, demand: Demand) -> Gathered:
    """Return what a stream has come to, on the grid that `fit` would have chosen for it all."""
    box, counts = stream.profile.bounds, stream.profile.counts
    low, high = box
    axes = varying_axes(low, high, counts.rows)
    asked, profile = demand.on(box, axes, counts.mass), stream.profile.features(axes)
    histogram: Any = stream.histogram
    spacing = asked.method.spacing(profile, asked.noise, asked.nodes)
    spacing = np.maximum(spacing, histogram.grid.spacing)
    fine = placed(histogram, grid_over(profile.bounds, asked.noise, spacing))
    constants = np.where(high > low, np.nan, low)
    groups = Groups.of(_coarse_enough(fine, asked, profile.bounds), asked.noise)
    return Gathered(groups, counts, constants, asked.method, profile.scale)


def varying_axes(low: Array, high: Array, n: int | None) -> NDArray[np.intp]:
    """Return the features that are not constant, or raise where a grid cannot hold them."""
    axes = varying_features(range(n or 0), low, high)
    if len(axes) > MAX_DIMENSION:
        raise ManyAxesError(
            f"{len(axes)} features vary, and a histogram has at most {MAX_DIMENSION} axes: choose "
            f"or project on at most {MAX_DIMENSION} features, or give the rows to fit at once, as "
            f"one array"
        )
    return axes


def checked(whole: T | None, counts: Counts) -> T:
    """Raise where there are no rows, or some cannot be binned."""
    if counts.missing:
        total = counts.rows + counts.missing
        raise ValueError(
            f"{counts.missing} of {total} rows have a value that is missing or infinite: leave "
            f"them out with drop_missing=True, or fill them in"
        )
    if whole is None or not counts.rows:
        raise ValueError("there are no rows: the batches are empty, or all weights are 0")
    return whole


def _coarse_enough(fine: Histogram, asked: Demand, box: Array) -> Histogram:
    """Return the histogram on the nodes that the method needs, with a warning of far rows."""
    histogram = asked.method.settled(fine, box, asked.nodes)
    if isinstance(asked.method, ByLikelihood) and asked.nodes is None:
        warn_of_far_ones(*fine.quartiles, histogram)
    return histogram
