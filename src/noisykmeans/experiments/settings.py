"""What a run's result depends on, and which runs are wanted."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noisykmeans.deconvolution.band import check_bandwidth
from noisykmeans.experiments.experiment import US
from noisykmeans.experiments.mod1 import MOD1
from noisykmeans.experiments.mod2 import MOD2
from noisykmeans.parameters import as_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noisykmeans.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "REPAIRS", "STARTS", "Run", "Scope", "Settings"]

EXPERIMENTS: dict[str, Experiment] = {"mod1": MOD1, "mod2": MOD2}
STARTS = ("box", "points")
REPAIRS = ("raw", "clipped", "projected")
FEWEST_NODES = 8


class Run(NamedTuple):
    """One data set of an experiment."""

    experiment: str
    u: int
    replicate: int


@dataclass(frozen=True)
class Scope:
    """The runs that are wanted.

    Parameters
    ----------
    experiments : tuple of str
        Names of `EXPERIMENTS`.
    runs : int
        Data sets for each u.
    us : tuple of int
        The settings u, within 1..10.

    Examples
    --------
    >>> scope = Scope(("mod1",), runs=2, us=(7,))
    >>> list(scope)
    [Run(experiment='mod1', u=7, replicate=0), Run(experiment='mod1', u=7, replicate=1)]
    """

    experiments: tuple[str, ...] = tuple(EXPERIMENTS)
    runs: int = 100
    us: tuple[int, ...] = tuple(US)

    def __post_init__(self) -> None:
        for name in self.experiments:
            if name not in EXPERIMENTS:
                known = " and ".join(map(repr, EXPERIMENTS))
                raise ValueError(f"there is no experiment {name!r}; the paper has {known}")
        for u in self.us:
            if u not in US:
                raise ValueError(f"u must be an integer from {US[0]} to {US[-1]}; got {u!r}")
        if self.runs < 1:
            raise ValueError(f"runs must be at least 1; got {self.runs!r}")
        if not (self.experiments and self.us):
            raise ValueError("a scope needs at least one experiment and one u")
        object.__setattr__(self, "us", tuple(sorted(set(self.us))))

    def __iter__(self) -> Iterator[Run]:
        for name in self.experiments:
            for u in self.us:
                yield from (Run(name, u, replicate) for replicate in range(self.runs))

    def __len__(self) -> int:
        return len(self.experiments) * len(self.us) * self.runs


@dataclass(frozen=True)
class Settings:
    """What a run's result depends on, besides which run it is.

    The paper leaves open where the grid of lambda ends, which kernel and which grid of nodes it
    uses, and how the random centers are drawn; the page "The paper, reproduced" gives the reasons
    for the defaults.

    Parameters
    ----------
    seed : int
        Of everything.
    grid : int
        Bandwidths along each axis, so that their pairs are tried: 20 x 20 in the paper.
    bandwidths : (float, float)
        The smallest and the largest, with equal ratios between.
    window : str
        The Fourier transform of the kernel, by its name in `NoisyKMeans`.
    nodes : int
        Nodes along each axis.
    starts : {"box", "points"}
        Random centers: uniform in the box of the observations, or k of the observations.
    repair : {"raw", "clipped", "projected"}
        What Lloyd's iterations run on: the signed estimate as in the paper, or a density.
    """

    seed: int = 0
    grid: int = 20
    bandwidths: tuple[float, float] = (0.5, 3.0)
    window: str = "cubic"
    nodes: int = 96
    starts: str = "box"
    repair: str = "raw"

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("grid", 1), ("nodes", FEWEST_NODES)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}; got {getattr(self, name)!r}")
        for name, known in (("starts", STARTS), ("repair", REPAIRS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {known}; got {getattr(self, name)!r}")
        low, high = self.bandwidths
        if not 0 < low <= high < math.inf:
            raise ValueError(
                f"bandwidths must be positive, the smallest first; got {low!r} and {high!r}"
            )
        as_window(self.window)

    @property
    def candidates(self) -> tuple[float, ...]:
        """The bandwidths along each axis."""
        return tuple(np.geomspace(*self.bandwidths, self.grid).tolist())

    def check(self, scope: Scope) -> None:
        """Raise where the noise or the nodes leave a candidate unusable for a run of the scope."""
        low, window = self.bandwidths[0], as_window(self.window)
        for name in scope.experiments:
            for u in scope.us:
                experiment = EXPERIMENTS[name]
                try:
                    check_bandwidth(experiment.noise(u), window, (low, low))
                except ValueError as error:
                    raise ValueError(f"{experiment.title}({u}): {error}") from error
                spacing = max(experiment.grid(u, self.nodes).spacing)
                if spacing > math.pi * low / window.support:
                    needed = math.ceil(self.nodes * spacing * window.support / math.pi / low) + 1
                    raise ValueError(
                        f"{experiment.title}({u}): {self.nodes} nodes cannot resolve the "
                        f"bandwidth {low:g}; give at least {needed}, or a larger bandwidth"
                    )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as they stand in files."""
        return {**asdict(self), "bandwidths": list(self.bandwidths)}
