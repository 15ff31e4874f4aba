"""Observations in groups, each with its own law of errors and its own histogram.

Errors that differ from one observation to the next, and coordinates that are missing, make
groups: all that deconvolution keeps of a sample is one histogram for each law. The ordinary
sample is one group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.grid import Grid
from noisykmeans.histogram import Histogram, fill
from noisykmeans.noise import Noise
from noisykmeans.persistence import save
from noisykmeans.spectrum import Spectrum, transform

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Group", "Groups", "Kind", "Pooled", "law_of_all", "pooled", "restricted"]


@dataclass(frozen=True)
class Kind:
    """What the observations of a group have in common.

    Parameters
    ----------
    noise : Noise
        The law of their errors, on the axes that were observed.
    axes : tuple of int
        These axes, in ascending order.
    """

    noise: Noise
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Group:
    """Observations whose errors have one law, and of which the same axes were observed.

    Parameters
    ----------
    histogram : Histogram
        The observations, on the observed axes of the groups' grid.
    kind : Kind
        The law of their errors, and the observed axes.
    """

    histogram: Histogram
    kind: Kind

    def coarser(self) -> Group:
        """Return the group at every second node."""
        return Group(self.histogram.coarser(), self.kind)


@dataclass(frozen=True, eq=False)
class Groups:
    """All observations, in groups.

    Groups of the same kinds on the same grid add, as histograms do.

    Parameters
    ----------
    grid : Grid
        The grid of the observations; where axes are missing, a histogram is on those left of it.
    members : tuple of Group
        The groups.

    Examples
    --------
    >>> from noisykmeans.noise import Gaussian
    >>> grid = Grid((0.0, 0.0), (1.0, 1.0), (4, 4))
    >>> kinds = [Kind(Gaussian((0.0, 1.0)), (0, 1)), Kind(Gaussian(0.5), (1,))]
    >>> X = np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, 1.0]])
    >>> groups = Groups.fill(grid, X, np.ones(3), np.array([0, 1, 0]), kinds)
    >>> [member.histogram.mass for member in groups.members]
    [2.0, 1.0]
    >>> (groups + groups).mass
    6.0
    """

    grid: Grid
    members: tuple[Group, ...]

    def __post_init__(self) -> None:
        for member in self.members:
            if member.histogram.grid != restricted(self.grid, member.kind.axes):
                raise ValueError(
                    f"the histogram of the axes {member.kind.axes} must be on these axes of "
                    f"{self.grid}; got {member.histogram.grid}"
                )

    @classmethod
    def of(cls, histogram: Histogram, noise: Noise) -> Groups:
        """Return the one group of observations whose errors all have the same law."""
        kind = Kind(noise, tuple(range(histogram.grid.dimension)))
        return cls(histogram.grid, (Group(histogram, kind),))

    @classmethod
    def fill(
        cls,
        grid: Grid,
        X: Array,
        weights: Array,
        labels: NDArray[np.intp] | None,
        kinds: Sequence[Kind],
    ) -> Groups:
        """Bin a sample, each group on its own.

        Parameters
        ----------
        grid : Grid
            The nodes.
        X : array of shape (n, d)
            Observations; axes that a row's kind has not are not looked at.
        weights : array of shape (n,)
            Their weights.
        labels : array of shape (n,) or None
            The number of each observation's kind; None where there is one kind.
        kinds : sequence of Kind
            What the groups have in common.
        """
        if len(kinds) == 1 and kinds[0].axes == tuple(range(grid.dimension)):
            return cls.of(fill(grid, X, weights), kinds[0].noise)
        labels = np.zeros(len(X), dtype=np.intp) if labels is None else labels
        order = np.argsort(labels.astype(np.min_scalar_type(len(kinds))), kind="stable")
        ends = np.cumsum(np.bincount(labels, minlength=len(kinds)))
        members = []
        for kind, rows in zip(kinds, np.split(order, ends[:-1]), strict=True):
            sample = np.take(X, rows, axis=0)
            sample = sample if len(kind.axes) == X.shape[1] else sample[:, kind.axes]
            histogram = fill(restricted(grid, kind.axes), sample, weights[rows])
            members.append(Group(histogram, kind))
        return cls(grid, tuple(members))

    def __add__(self, other: object) -> Groups:
        """Return the groups of both samples."""
        if not isinstance(other, Groups):
            return NotImplemented
        kinds = [member.kind for member in self.members]
        if other.grid != self.grid or [member.kind for member in other.members] != kinds:
            raise ValueError(
                "groups add where their grids and their kinds are equal: fill both samples with "
                "the same ones"
            )
        pairs = zip(self.members, other.members, strict=True)
        return Groups(self.grid, tuple(Group(a.histogram + b.histogram, a.kind) for a, b in pairs))

    @property
    def mass(self) -> float:
        """The mass of all groups."""
        return float(sum(member.histogram.mass for member in self.members))

    @property
    def n_filled(self) -> int:
        """The number of nodes with mass, over all groups."""
        return int(sum(np.count_nonzero(member.histogram.values) for member in self.members))

    @cached_property
    def complete(self) -> tuple[Group, ...]:
        """The groups of which every axis was observed."""
        return tuple(m for m in self.members if len(m.kind.axes) == self.grid.dimension)

    @cached_property
    def histogram(self) -> Histogram:
        """The histogram of the complete observations, whatever their errors."""
        if len(self.complete) == 1:
            return self.complete[0].histogram
        values = np.zeros(self.grid.shape)
        for member in self.complete:
            values += member.histogram.values
        outside = sum(member.histogram.outside for member in self.complete)
        counts = [member.histogram.count for member in self.complete]
        count = None if None in counts else sum(n or 0 for n in counts)
        return Histogram(self.grid, values, float(outside), count)

    @cached_property
    def noise(self) -> Noise:
        """The law of the complete observations' errors, as the kernel estimate meets it."""
        laws = [member.kind.noise for member in self.complete]
        return pooled(laws, [member.histogram.mass for member in self.complete])

    def coarser(self) -> Groups:
        """Return the same observations at every second node."""
        members = tuple(member.coarser() for member in self.members)
        return Groups(self.histogram.coarser().grid, members)

    def spectrum(self) -> Spectrum:
        """Return the spectrum that the kernel estimate divides by the c.f. of `noise`.

        The estimate of the clean c.f. by Delaigle and Meister (2008) is
        ``sum_g n_g conj(phi_g) phi_Zg / sum_g n_g |phi_g|^2``, which has the least variance. Rows
        with missing axes count where the frequencies of these are 0. It is multiplied here with
        the c.f. of the pooled law, by which the kernel estimate divides again.
        """
        if len(self.members) == 1 and self.complete:
            return transform(self.histogram)
        grid, d = self.grid, self.grid.dimension
        t = np.stack(np.meshgrid(*grid.frequencies, indexing="ij"), axis=-1)
        sums = np.zeros(t.shape[:-1], dtype=np.complex128)
        squares = np.zeros(t.shape[:-1])
        for member in self.members:
            histogram, axes = member.histogram, member.kind.axes
            if not histogram.mass > 0:
                continue
            zero = tuple(slice(None) if v in axes else slice(0, 1) for v in range(d))
            phi = member.kind.noise.characteristic_function(t[zero][..., list(axes)])
            waves = transform(Histogram(grid, _embedded(histogram, axes, grid))).coefficients[zero]
            # Coefficients are conjugate to the c.f., and so is what they are multiplied with.
            sums[zero] += histogram.mass * phi * waves
            squares[zero] += histogram.mass * np.abs(phi) ** 2
        estimate = np.divide(sums, squares, out=np.zeros_like(sums), where=squares > 1e-290)
        return Spectrum(grid, estimate * self.noise.characteristic_function(t))

    def save(self, path: str | PathLike[str]) -> None:
        """Write histograms and laws to a file that `noisykmeans.load` reads."""
        save(self, path)

    def __repr__(self) -> str:
        return f"Groups({self.grid}, {len(self.members)} groups, mass={self.mass:g})"


class Pooled(Noise):
    """What errors of different laws do together to the kernel estimate of the clean density.

    Its c.f. is ``sqrt(sum_g share_g |phi_g|^2)``: that of errors of one symmetric law from which
    the clean c.f. would be known with the same variance. Errors drawn from it are those of
    observations that are chosen at random.

    Parameters
    ----------
    laws : sequence of laws
        The laws of the groups.
    shares : sequence of float
        The share of the observations in each group.
    """

    def __init__(self, laws: Sequence[Noise], shares: Sequence[float]) -> None:
        super().__init__(laws=tuple(laws), shares=tuple(map(float, shares)))

    @property
    def _parts(self) -> list[tuple[Noise, float]]:
        return list(zip(self._params["laws"], self._params["shares"], strict=True))

    @property
    def dimension(self) -> int | None:
        """Number of axes, None where any number fits."""
        return next((law.dimension for law, _ in self._parts if law.dimension), None)

    def _characteristic_function(self, t: Array) -> Array:
        squares = sum(p * np.abs(law.characteristic_function(t)) ** 2 for law, p in self._parts)
        return np.asarray(np.sqrt(squares))

    def _sample(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        counts = rng.multinomial(shape[0], self._params["shares"])
        errors = [
            law.sample((int(n), shape[1]), rng)
            for (law, _), n in zip(self._parts, counts, strict=True)
        ]
        return rng.permutation(np.concatenate(errors))

    def _covariance(self, dimension: int) -> Array:
        return np.asarray(sum(p * law.covariance_matrix(dimension) for law, p in self._parts))

    def marginal(self, axes: Sequence[int]) -> Noise:
        """Return what the errors do along the given axes."""
        return Pooled([law.marginal(axes) for law, _ in self._parts], self._params["shares"])


def law_of_all(kinds: Sequence[Kind], masses: NDArray[Any], dimension: int) -> Noise | None:
    """Return the law of complete observations, or None where there are none."""
    complete = [i for i, kind in enumerate(kinds) if len(kind.axes) == dimension]
    return pooled([kinds[i].noise for i in complete], masses[complete]) if complete else None


def pooled(laws: Sequence[Noise], masses: ArrayLike) -> Noise:
    """Return the law of all errors where there is one, and the pooled one else."""
    if not laws:
        raise ValueError(
            "the kernel estimate needs observations with all coordinates, and there are none: "
            "use deconvolution='em'"
        )
    if len(laws) == 1:
        return laws[0]
    shares = np.asarray(masses, dtype=np.float64)
    return Pooled(laws, (shares / shares.sum()).tolist())


def restricted(grid: Grid, axes: Sequence[int]) -> Grid:
    """Return the grid of some of the axes."""
    return Grid(
        tuple(grid.lower[v] for v in axes),
        tuple(grid.spacing[v] for v in axes),
        tuple(grid.shape[v] for v in axes),
    )


def _embedded(histogram: Histogram, axes: Sequence[int], grid: Grid) -> Array:
    """Put the histogram of some axes at the first node of the others."""
    values = np.zeros(grid.shape)
    place = tuple(slice(None) if v in axes else 0 for v in range(grid.dimension))
    values[place] = histogram.values
    return values
