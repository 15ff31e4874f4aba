"""Cell masses and moments of a density on a grid, and Lloyd's iterations on them.

A density is constant within each voxel of the last two axes and concentrated on planes across
the first. Everything is in index units: voxel i fills [i, i + 1] on the last two axes, the
planes stand at ``levels`` on the first. Squared distances are in units of the last axis's
spacing; an outer axis counts ``metric = (its spacing / last spacing)^2``.

On a plane, with ``F(y, x)`` the integral of the density over [0, x] of the row at y, Green's
theorem gives the mass of a cell as the integral of ``F dy`` around it. So only the edges of the
cells matter and the right side of the plane, not what lies between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noisykmeans._kernels.cells import corner_heights, cut, leads_at, leads_between, sort
from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Planes", "lloyd", "prefix_sums"]


class Planes(NamedTuple):
    """A density as `prefix_sums` fills it, where its planes stand, and how axes are measured."""

    prefix: NDArray[Any]
    side: NDArray[Any]
    levels: NDArray[Any]
    metric: NDArray[Any]


class Workspace(NamedTuple):
    """Buffers of a sweep over the cells of k centers."""

    order: NDArray[Any]
    table: NDArray[Any]
    lead: NDArray[Any]
    heights: NDArray[Any]
    cells: NDArray[Any]
    starts: NDArray[Any]
    sums: NDArray[Any]


@kernel
def workspace(k: int) -> Workspace:
    """Return the buffers for k centers."""
    return Workspace(
        np.empty(k, dtype=np.int64),
        np.zeros((k, k, 4)),
        np.zeros((k, k, 3)),
        np.empty(k * (k - 1) + 2),
        np.empty(k, dtype=np.int64),
        np.empty(k),
        np.empty((k, 4)),
    )


@kernel
def prefix_sums(values: NDArray[Any], prefix: NDArray[Any], side: NDArray[Any]) -> None:
    """Fill ``prefix[a, b, i] = (mass, x-moment)`` of row b over [0, i], and whole rows in ``side``.

    ``side[a, b] = (mass, y-moment, x-moment)`` of the rows below b.
    """
    n0, n1, n2 = values.shape
    for a in range(n0):
        side[a, 0] = 0.0
        for b in range(n1):
            mass = moment = 0.0
            prefix[a, b, 0] = 0.0
            for i in range(n2):
                mass += values[a, b, i]
                moment += values[a, b, i] * (i + 0.5)
                prefix[a, b, i + 1, 0] = mass
                prefix[a, b, i + 1, 1] = moment
            side[a, b + 1, 0] = side[a, b, 0] + mass
            side[a, b + 1, 1] = side[a, b, 1] + mass * (b + 0.5)
            side[a, b + 1, 2] = side[a, b, 2] + moment


@kernel
def below(side: NDArray[Any], y: float) -> tuple[float, float, float]:
    """Return mass, y-moment and x-moment of a plane's part below y."""
    b = min(int(y), side.shape[0] - 2)
    r = y - b
    row = side[b + 1, 0] - side[b, 0]
    moment = side[b, 2] + r * (side[b + 1, 2] - side[b, 2])
    return side[b, 0] + r * row, side[b, 1] + row * r * (b + 0.5 * r), moment


@kernel
def row_flux(
    row: NDArray[Any], y0: float, x0: float, y1: float, x1: float
) -> tuple[float, float, float]:
    """Return the integrals of F, y F and M along a straight piece within a row, as in `flux`."""
    last = row.shape[0] - 2
    left, right = min(x0, x1), max(x0, x1)
    first, final = min(int(left), last), min(int(right), last)
    rate = (y1 - y0) / (x1 - x0) if final > first else 0.0
    mass = y_moment = x_moment = 0.0
    for i in range(first, final + 1):
        start, stop = max(left, float(i)), min(right, i + 1.0)
        if i == final:
            stop = right
        width = stop - start
        middle = 0.5 * (start + stop)
        if final > first:
            height = abs(rate) * width
            y = y0 + rate * (middle - x0)
            tilt = rate * width
        else:
            height = y1 - y0
            y = 0.5 * (y0 + y1)
            tilt = height if x1 > x0 else -height
        f = row[i + 1, 0] - row[i, 0]
        r = middle - i
        F = row[i, 0] + f * r
        mass += height * F
        # Products of two linear functions: mean times mean, and a twelfth of the differences.
        y_moment += height * (y * F + tilt * f * width / 12)
        x_moment += height * (row[i, 1] + f * (i * r + 0.5 * (r * r + width * width / 12)))
    return mass, y_moment, x_moment


@kernel
def flux(
    rows: NDArray[Any], y0: float, x0: float, y1: float, x1: float
) -> tuple[float, float, float]:
    """Return the integrals of ``F dy``, ``y F dy`` and ``M dy`` along a straight piece, y0 < y1.

    They are mass, y-moment and x-moment of what lies to its left; M is to x f as F is to f.
    """
    slope = (x1 - x0) / (y1 - y0)
    mass = y_moment = x_moment = 0.0
    y, x = y0, x0
    for b in range(int(y0), rows.shape[0]):
        y_end, x_end = y1, x1
        if b + 1 < y1:
            y_end, x_end = b + 1.0, x0 + (b + 1.0 - y0) * slope
        part = row_flux(rows[b], y, x, y_end, x_end)
        mass += part[0]
        y_moment += part[1]
        x_moment += part[2]
        y, x = y_end, x_end
        if y_end == y1:
            break
    return mass, y_moment, x_moment


@kernel
def add_plane(rows: NDArray[Any], side: NDArray[Any], a: float, work: Workspace) -> None:
    """Add mass and moments of the cells on the plane at a to the sums, cells in sorted order."""
    lead, cells, sums = work.lead, work.cells, work.sums
    n1, n2 = rows.shape[0], rows.shape[1] - 1
    leads_at(work.table, a, lead)
    count = corner_heights(lead, n1, n2, work.heights)
    done = (0.0, 0.0, 0.0)
    for s in range(1, count):
        y0, y1 = work.heights[s - 1], work.heights[s]
        met = cut(lead, 0.5 * (y0 + y1), n2, cells, work.starts)
        x0 = x1 = 0.0
        for t in range(1, met):
            i, j = cells[t - 1], cells[t]
            # Borders in order at either end cannot cross: no cell is counted twice.
            x0 = min(max(lead[i, j, 0] + lead[i, j, 1] * y0, x0), n2)
            x1 = min(max(lead[i, j, 0] + lead[i, j, 1] * y1, x1), n2)
            add(sums, i, j, a, flux(rows, y0, x0, y1, x1))
        total = below(side, y1)
        i = cells[met - 1]
        add(sums, i, -1, a, (total[0] - done[0], total[1] - done[1], total[2] - done[2]))
        done = total


@kernel
def add(sums: NDArray[Any], i: int, j: int, a: float, part: tuple[float, float, float]) -> None:
    """Give what lies to the left of an edge to cell i, and take it from cell j unless -1."""
    sums[i, 0] += part[0]
    sums[i, 1] += part[0] * a
    sums[i, 2] += part[1]
    sums[i, 3] += part[2]
    if j >= 0:
        sums[j, 0] -= part[0]
        sums[j, 1] -= part[0] * a
        sums[j, 2] -= part[1]
        sums[j, 3] -= part[2]


@kernel
def sweep(
    planes: Planes,
    centers: NDArray[Any],
    work: Workspace,
    masses: NDArray[Any],
    moments: NDArray[Any],
) -> None:
    """Fill mass (k,) and first moments (k, 3) of each center's cell, in index units.

    The planes of a node share its mass. Of centers at the same place the first owns the cell.
    """
    sort(centers, work.order)
    leads_between(centers, work.order, planes.metric, work.table)
    k = centers.shape[0]
    for i in range(k):
        for v in range(4):
            work.sums[i, v] = 0.0
    each = planes.levels.shape[0] // planes.prefix.shape[0]
    for s in range(planes.levels.shape[0]):
        add_plane(planes.prefix[s // each], planes.side[s // each], planes.levels[s], work)
    for i in range(k):
        p = work.order[i]
        masses[p] = work.sums[i, 0] / each
        for v in range(3):
            moments[p, v] = work.sums[i, v + 1] / each


@kernel
def lloyd(
    planes: Planes,
    centers: NDArray[Any],
    limits: tuple[int, float, float],
    masses: NDArray[Any],
    moments: NDArray[Any],
) -> int:
    """Move centers to the means of their cells until none moves by more than ``tol`` spacings.

    The limits are the largest number of moves, ``tol``, and the mass up to which a cell counts as
    empty: its center stays. Returns the number of moves; with none, all that is done is to fill
    masses and moments as `sweep` does.
    """
    max_iter, tol, smallest_mass = limits
    k = centers.shape[0]
    work = workspace(k)
    # A single row is a line: the way across it is no axis, and no center moves there.
    first = 2 if planes.prefix.shape[1] == 1 else 0
    iteration = 0
    while True:
        sweep(planes, centers, work, masses, moments)
        if iteration == max_iter:
            return max_iter
        largest = 0.0
        for j in range(k):
            if masses[j] > smallest_mass:
                for v in range(first, 3):
                    c = moments[j, v] / masses[j]
                    largest = max(largest, abs(c - centers[j, v]))
                    centers[j, v] = c
        iteration += 1
        if largest <= tol or iteration == max_iter:
            return iteration
