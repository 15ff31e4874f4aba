"""What an observation tells of its own clean point: ``P(X in V_j | Z = z)`` and ``E[X | Z = z]``.

With f the density of X and eta that of the errors, the density of the observations is ``f * eta``,
and so is that of the observations whose clean point lies in one cell, with f cut at the cell:

    P(X in V_j | Z = z) = (1_{V_j} f * eta)(z) / (f * eta)(z)
    E[X | Z = z] = (x f * eta)(z) / (f * eta)(z)

Every convolution is made once for a law, by FFT on a grid as fine as that law needs, and read off
at the observations by linear interpolation: the cost for an observation depends on neither the
grid nor the law. Where a coordinate is missing, f is summed over it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from noisykmeans import _kernels
from noisykmeans.deconvolution import Blur
from noisykmeans.density import Density
from noisykmeans.grid import Grid
from noisykmeans.observations import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from noisykmeans.groups import Kind

    Array = NDArray[np.float64]
    Channels = Callable[[tuple[int, ...], tuple[float, ...]], Array]

__all__ = ["Posterior"]

_PER_DEVIATION = 4.0  # nodes wanted for a standard deviation of the errors
_WIDENING = 0.5  # squared spacings: the variance of three hat functions
_REACH = 7.0  # standard deviations by which observations may lie beyond the clean points
_MOST_NODES = 2**18  # of all laws together
_FEWEST_NODES = 2**13  # for one law, whatever their number
_FINEST = 2.0**-7  # of the density's spacing, where an axis has little error
_MOST_LAWS = {1: 256, 2: 128, 3: 32}  # by the number of axes
_CUTS = {1: 8, 2: 4, 3: 2}  # parts of a voxel along each axis, to be given to cells
_NOTHING = 1e-10  # share of the mass at a node along one axis
_ROUNDING = 1e-11  # of the largest value, below which a convolution by FFT says nothing


@dataclass(frozen=True, eq=False)
class Posterior:
    """The law of a clean point, given its observation and the law of its error.

    Beyond the places where the density of the observations can be told from rounding, an
    observation tells what one at the closest such place would.

    Parameters
    ----------
    density : Density
        Of the clean points; not negative, of mass 1.
    centers : array of shape (k, d)
        Their cells.

    Examples
    --------
    >>> from noisykmeans.density import Density
    >>> from noisykmeans.groups import Kind
    >>> from noisykmeans.noise import Gaussian
    >>> density = Density(Grid((-1.0,), (1.0,), (3,)), [0.5, 0.0, 0.5])
    >>> posterior = Posterior(density, np.array([[-1.0], [1.0]]))
    >>> Z, kind = np.array([[0.0], [1.0]]), Kind(Gaussian(1.0), (0,))
    >>> posterior.memberships(Z, None, [kind]).round(2).tolist()
    [[0.5, 0.5], [0.14, 0.86]]
    """

    density: Density
    centers: Array

    @property
    def most_laws(self) -> int:
        """In how many groups errors of each row should come."""
        return _MOST_LAWS[self.density.grid.dimension]

    @cached_property
    def scale(self) -> Array:
        """The standard deviation of X along each axis."""
        axes = zip(self._shares, self.density.grid.nodes, self.density.mean, strict=True)
        return np.sqrt([share @ (x - m) ** 2 for share, x, m in axes])

    @cached_property
    def _shares(self) -> list[Array]:
        """The share of the mass at each node along each axis."""
        f = self.density.values / self.density.values.sum()
        axes = range(f.ndim)
        return [f.sum(axis=tuple(u for u in axes if u != v)) for v in axes]

    @cached_property
    def _core(self) -> Density:
        """The density without what is next to nothing at the borders of its grid."""
        grid, box = self.density.grid, []
        for share in self._shares:
            kept = np.flatnonzero(share > _NOTHING)
            first = min(int(kept[0]), len(share) - 2)
            box.append(slice(first, max(int(kept[-1]), first + 1) + 1))
        lower = [x[part][0] for x, part in zip(grid.nodes, box, strict=True)]
        values = self.density.values[tuple(box)]
        return Density(Grid(tuple(map(float, lower)), grid.spacing, values.shape), values)

    def memberships(
        self, Z: Array, labels: NDArray[np.intp] | None, kinds: Sequence[Kind]
    ) -> Array:
        """Return ``P(X in V_j | Z = z)``, of shape (n, k).

        Without errors it is 1 for the cell of z. Without any coordinate it is the cell's mass.

        Parameters
        ----------
        Z : array of shape (n, d)
            Observations; axes that a row's kind has not are not looked at.
        labels : array of shape (n,) or None
            The number of each observation's kind; None where there is one kind.
        kinds : sequence of Kind
            The laws of the errors.
        """
        k = len(self.centers)
        cut = cache(self._cut)
        shares = np.empty((len(Z), k))
        for rows, kind, z in _by_kind(Z, labels, kinds):
            if not kind.axes:
                masses = np.maximum(self.density.cell_moments(self.centers)[0], 0)
                shares[rows] = masses / masses.sum()
            elif self._known(kind):
                shares[rows] = np.eye(k)[closest(z, self.centers)]
            else:
                shares[rows] = self._field(kind, cut, len(kinds)).of_parts()(z)[0]
        return shares

    def means(self, Z: Array, labels: NDArray[np.intp] | None, kinds: Sequence[Kind]) -> Array:
        """Return ``E[X | Z = z]``, of shape (n, d): z itself along axes without error.

        Parameters
        ----------
        Z, labels, kinds
            As in `memberships`.
        """
        moments = cache(self._moments)
        means = np.empty(Z.shape)
        for rows, kind, z in _by_kind(Z, labels, kinds):
            exact = _exact(kind)
            each = np.tile(self.density.mean, (len(z), 1))
            if kind.axes and not self._known(kind):
                field = self._field(kind, moments, len(kinds))
                values, places = field(z)
                each += values - (self.density.mean - self._core.mean)
                # Where errors are smaller than a spacing, binning has made the shift larger.
                clean = places - kind.noise.mean(len(exact))
                shift = each[:, kind.axes] - clean
                each[:, kind.axes] = clean + shift @ _attenuation(kind, field.grid).T
            each[:, np.array(kind.axes, dtype=int)[exact]] = z[:, exact]
            means[rows] = each
        return means

    def log_density(
        self, Z: Array, labels: NDArray[np.intp] | None, kinds: Sequence[Kind]
    ) -> Array:
        """Return ``log (f * eta)(z)``, the log-density of observations.

        It is ``-inf`` where the density is not more than rounding, 1e-11 of the largest.

        Parameters
        ----------
        Z, labels, kinds
            As in `memberships`; the density of a row is that of its observed coordinates.
        """
        mass = cache(self._mass)
        logs = np.zeros(len(Z))
        for rows, kind, z in _by_kind(Z, labels, kinds):
            if kind.axes:
                field = self._field(kind, mass, len(kinds))
                there = field.at(z)[:, 0]
                sure = there > _ROUNDING * field.table.max()
                logs[rows] = -np.inf
                found = np.log(there[sure] / field.grid.cell_volume)
                logs[np.arange(len(Z))[rows][sure]] = found
        return logs

    def _known(self, kind: Kind) -> bool:
        """Return whether observations of a kind are clean points."""
        return len(kind.axes) == self.density.grid.dimension and bool(_exact(kind).all())

    def _field(self, kind: Kind, channels: Channels, n: int) -> _Field:
        """Return the channels after the errors of a kind, one of n, on a grid that suits it."""
        steps, margin = self._layout(kind, max(_MOST_NODES // n, _FEWEST_NODES))
        own, axes = self._core.grid, list(kind.axes)
        spacing = np.array(own.spacing)[axes] * steps
        first = [_nodes(own.shape[v], step)[0] for v, step in zip(axes, steps, strict=True)]
        lower = np.array(own.lower)[axes] + (np.array(first) - margin) * spacing
        before = channels(kind.axes, steps)
        shape = np.array(before.shape[1:]) + 2 * np.array(margin)
        grid = Grid(tuple(lower.tolist()), tuple(spacing.tolist()), tuple(shape.tolist()))
        blur = Blur(grid, kind.noise)
        after = np.empty((*grid.shape, len(before)))
        for c, f in enumerate(before):
            after[..., c] = blur.forward(np.pad(f, [(m, m) for m in margin]))
        resolved = np.sqrt(_conditional(kind.noise.width(len(axes)))) >= 2 * spacing
        for v in np.flatnonzero(resolved).tolist():
            after = _narrowed(after, v, _WIDENING if steps[v] >= 1 else 2 / 3 * _WIDENING)
        return _Field(grid, after)

    def _layout(self, kind: Kind, most: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Return the spacing along each axis, in the density's, and the nodes of each margin."""
        r, axes = len(kind.axes), list(kind.axes)
        S, mean = kind.noise.width(r), kind.noise.mean(r)
        spacing = np.array(self._core.grid.spacing)[axes]
        nodes = np.array(self._core.grid.shape)[axes]
        reach = (_REACH * np.sqrt(np.diag(S)) + np.abs(mean)) / spacing
        wanted = np.sqrt(_conditional(S)) / spacing / _PER_DEVIATION
        steps = 2.0 ** np.floor(np.log2(np.maximum(wanted, _FINEST)))
        while True:
            margin = np.ceil(reach / steps)
            size = nodes / steps + 2 * margin
            if math.prod(size.tolist()) <= most:
                return tuple(steps.tolist()), tuple(margin.astype(int).tolist())
            steps[size.argmax()] *= 2

    def _mass(self, axes: tuple[int, ...], steps: tuple[float, ...]) -> Array:
        """Return the mass at the nodes of another grid."""
        f = self._core.values * self._core.grid.cell_volume
        return _resampled(f, axes, self._nodes_to(axes, steps))[None]

    def _moments(self, axes: tuple[int, ...], steps: tuple[float, ...]) -> Array:
        """Return mass and first moments at the nodes of another grid, the mean being 0."""
        grid, shares = self._core.grid, self._nodes_to(axes, steps)
        f = self._core.values * grid.cell_volume
        centred = (x - m for x, m in zip(grid.nodes, self._core.mean, strict=True))
        coordinates = np.meshgrid(*centred, indexing="ij", sparse=True)
        return np.stack([_resampled(c, axes, shares) for c in (f, *(f * x for x in coordinates))])

    def _cut(self, axes: tuple[int, ...], steps: tuple[float, ...]) -> Array:
        """Return the mass of each cell at the nodes of another grid.

        Voxels are parted, and each part is in the cell of its middle.
        """
        grid, d = self._core.grid, self._core.grid.dimension
        finest = dict(zip(axes, steps, strict=True))
        parts = [max(_CUTS[d], round(1 / finest.get(v, 1.0))) for v in range(d)]
        places = [
            (np.arange(n * m) + 0.5) / m - 0.5 for n, m in zip(grid.shape, parts, strict=True)
        ]
        lines = zip(grid.lower, grid.spacing, places, strict=True)
        points = np.stack(np.meshgrid(*(a + h * u for a, h, u in lines), indexing="ij"), axis=-1)
        cells = closest(points.reshape(-1, d), self.centers).reshape(points.shape[:-1])
        f = self._core.values * grid.cell_volume / math.prod(parts)
        for v, m in enumerate(parts):
            f = np.repeat(f, m, axis=v)
        shares = [
            _binned(places[v], grid.shape[v], step) for v, step in zip(axes, steps, strict=True)
        ]
        each = range(len(self.centers))
        return np.stack([_resampled(np.where(cells == j, f, 0.0), axes, shares) for j in each])

    def _nodes_to(self, axes: tuple[int, ...], steps: tuple[float, ...]) -> list[csr_array]:
        """Return how the nodes share their mass among those of another grid, axis by axis."""
        shares: list[csr_array] = []
        for v, step in zip(axes, steps, strict=True):
            n = self._core.grid.shape[v]
            if step >= 1:
                shares.append(_binned(np.arange(n, dtype=np.float64), n, step))
                continue
            # Between nodes the density is linear.
            first, count = _nodes(n, step)
            finer = _binned(np.arange(first, first + count, dtype=np.float64) * step, n, 1.0)
            shares.append((finer.T * step)[:, 1:-1])
        return shares


@dataclass(frozen=True, eq=False)
class _Field:
    """The density of the observations at the nodes of a grid, and what goes with it.

    Parameters
    ----------
    grid : Grid
        The nodes.
    table : array of shape (*grid.shape, 1 + m)
        The mass at the nodes, and m parts of it or moments.
    """

    grid: Grid
    table: Array

    def of_parts(self) -> _Field:
        """Return the sum of all channels, none of them negative, and the channels."""
        parts = np.maximum(self.table, 0)
        return _Field(self.grid, np.concatenate([parts.sum(-1, keepdims=True), parts], axis=-1))

    def __call__(self, z: Array) -> tuple[Array, Array]:
        """Return what goes with the mass, relative to it, and the places where it was read."""
        values, places, floor = self.at(z), z, _ROUNDING * self.table[..., 0].max()
        far = np.flatnonzero(~(values[:, 0] > floor))
        if len(far):
            places = np.array(z, dtype=np.float64)
            places[far] = self._closest(places[far], floor)
            values[far] = self.at(places[far])
        return values[:, 1:] / values[:, :1], places

    def at(self, z: Array) -> Array:
        """Return the values of shape (n, 1 + m), 0 beyond the grid."""
        channels = self.table.shape[-1]
        values = np.empty((len(z), channels))
        lower, per_spacing = np.array(self.grid.lower), 1 / np.array(self.grid.spacing)
        shape, table = np.array(self.grid.shape), self.table.reshape(-1, channels)

        def block(rows: slice) -> None:
            _kernels.interpolation.interpolate(
                z[rows], lower, per_spacing, shape, table, values[rows]
            )

        for _ in _kernels.threads.map_blocks(block, len(z)):
            pass
        return values

    def _closest(self, z: Array, floor: float) -> Array:
        """Return the closest nodes, in spacings, at which the mass is above the floor."""
        sure = np.argwhere(self.table[..., 0] > floor)
        u = (z - self.grid.lower) / self.grid.spacing
        _, which = cKDTree(sure).query(np.clip(u, 0, np.array(self.grid.shape) - 1))
        return np.asarray(self.grid.lower + sure[which] * np.array(self.grid.spacing))


def _by_kind(
    Z: Array, labels: NDArray[np.intp] | None, kinds: Sequence[Kind]
) -> Iterator[tuple[Any, Kind, Array]]:
    """Give the rows of each kind, and their observed coordinates."""
    for i, kind in enumerate(kinds):
        every = labels is None or len(kinds) == 1
        rows: Any = slice(None) if every else np.flatnonzero(labels == i)
        z = Z[rows]
        yield rows, kind, z if len(kind.axes) == Z.shape[1] else z[:, list(kind.axes)]


def _exact(kind: Kind) -> NDArray[np.bool_]:
    """Return along which of its axes a kind has no error."""
    r = len(kind.axes)
    if not r:
        return np.ones(0, dtype=bool)
    return np.asarray((np.diag(kind.noise.width(r)) == 0) & (kind.noise.mean(r) == 0))


def _conditional(S: Array) -> Array:
    """Return the variance of the errors along each axis, those along the others being known."""
    variances = np.diag(S).copy()
    some = np.flatnonzero(variances > 0)
    size = np.sqrt(variances[some])
    correlations = S[np.ix_(some, some)] / np.multiply.outer(size, size)
    inverse = np.linalg.inv(correlations + 1e-9 * np.eye(len(some)))
    variances[some] /= np.maximum(np.diag(inverse), 1.0)
    return variances


def _narrowed(table: Array, axis: int, variance: float) -> Array:
    """Take off what linear binning and interpolation add to the variance, in squared spacings.

    The clean points are binned, their errors are, and between nodes the table is linear: each
    acts as an error, of variance 1/6. The second difference takes it off.
    """
    inner = [slice(None)] * table.ndim
    inner[axis] = slice(1, -1)
    narrowed = table.copy()
    narrowed[tuple(inner)] -= variance / 2 * np.diff(table, 2, axis=axis)
    return narrowed


def _attenuation(kind: Kind, grid: Grid) -> Array:
    """Return ``S (S + B)^-1``, S the covariance of the errors and B what binning has added.

    ``E[X - z | Z = z] = S grad log (f * eta)(z)`` for Gaussian errors. B counts only along axes
    that could not be resolved.
    """
    S, spacing = kind.noise.width(grid.dimension), np.array(grid.spacing)
    coarse = _PER_DEVIATION * spacing > np.sqrt(_conditional(S)) * (1 + 1e-9)
    binning = np.diag(np.where(coarse, spacing**2 / 3, 0.0))
    return np.asarray(np.linalg.lstsq(S + binning, S)[0].T)


def _nodes(n: int, step: float) -> tuple[int, int]:
    """Return the first and the number of the nodes ``i step`` around the places 0 to n - 1."""
    around = math.ceil(max(1 / step, 1.0))
    return -around, math.ceil((n - 1) / step) + 1 + 2 * around


def _binned(places: Array, n: int, step: float) -> csr_array:
    """Return the shares by which masses at places bin linearly to nodes: (nodes, places)."""
    first, count = _nodes(n, step)
    u = places / step - first
    left = np.clip(np.floor(u).astype(np.intp), 0, count - 2)
    share = u - left
    columns = np.tile(np.arange(len(places)), 2)
    entries = (np.concatenate([left, left + 1]), columns)
    return csr_array((np.concatenate([1 - share, share]), entries), shape=(count, len(places)))


def _resampled(f: Array, axes: tuple[int, ...], shares: Sequence[csr_array]) -> Array:
    """Sum over the missing axes, and share the masses along the others."""
    f = f.sum(axis=tuple(v for v in range(f.ndim) if v not in axes))
    for v, share in enumerate(shares):
        lines = np.moveaxis(f, v, 0)
        shared = share @ lines.reshape(len(lines), -1)
        f = np.moveaxis(shared.reshape(-1, *lines.shape[1:]), 0, v)
    return f
