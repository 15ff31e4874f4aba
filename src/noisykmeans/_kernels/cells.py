"""Where the cells of a plane lie: who is ahead of whom, the heights of the corners, the cuts.

A plane is the rectangle ``0 <= y <= n1``, ``0 <= x <= n2``; each center has a squared distance
``(x - c2)^2 + metric1 (y - c1)^2 + metric0 (a - c0)^2`` from its points, so that the cells are a
power diagram. Between two neighbouring corner heights the same cells follow each other from left
to right, cut by the same straight lines.

Centers come sorted by their last coordinate. The *lead* of center i over center j at (y, x) is
``lead[i, j] . (1, y, x)``: the difference of their squared distances, positive where i is closer,
scaled so that it counts spacings from the line between them. Its last entry is -1 for i before j,
1 for i after j, and 0 where their line is horizontal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans._kernels.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["corner_heights", "cut", "leads_at", "leads_between", "sort"]

# A corner is missed only where that moves a border by less than this share of the plane's width,
# and corners closer than a tenth of it in height are one: far above rounding, far below what is
# seen in a mass.
SLACK = 1e-12


@kernel
def sort(centers: NDArray[Any], order: NDArray[Any]) -> None:
    """Fill the order of the centers along the last axis, then by index."""
    for j in range(centers.shape[0]):
        i = j
        while i > 0 and centers[order[i - 1], 2] > centers[j, 2]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = j


@kernel
def leads_between(
    centers: NDArray[Any], order: NDArray[Any], metric: NDArray[Any], table: NDArray[Any]
) -> None:
    """Fill ``table[i, j]``: the lead on every plane, ``table[i, j] . (1, y, x, a)``."""
    for j in range(1, centers.shape[0]):
        q = order[j]
        for i in range(j):
            p = order[i]
            d0 = metric[0] * (centers[q, 0] - centers[p, 0])
            d1 = metric[1] * (centers[q, 1] - centers[p, 1])
            d2 = centers[q, 2] - centers[p, 2]
            # Differences times sums: exact to rounding however close two centers are.
            constant = (
                d2 * (centers[q, 2] + centers[p, 2])
                + d1 * (centers[q, 1] + centers[p, 1])
                + d0 * (centers[q, 0] + centers[p, 0])
            )
            scale = 0.5 / d2
            inclined = np.isfinite(scale) and np.isfinite(scale * constant)
            if not inclined:
                scale = 0.5 / abs(d1) if d1 != 0.0 else 1.0
            lead = table[i, j]
            lead[0] = scale * constant
            lead[1] = -2 * scale * d1
            lead[2] = -1.0 if inclined else 0.0
            lead[3] = -2 * scale * d0
            for v in range(4):
                table[j, i, v] = -lead[v]


@kernel
def leads_at(table: NDArray[Any], a: float, lead: NDArray[Any]) -> None:
    """Fill the leads on the plane at a."""
    k = table.shape[0]
    for i in range(k):
        for j in range(k):
            lead[i, j, 0] = table[i, j, 0] + table[i, j, 3] * a
            lead[i, j, 1] = table[i, j, 1]
            lead[i, j, 2] = table[i, j, 2]


@kernel
def clip(
    low: float, high: float, constant: float, rate: float, slack: float
) -> tuple[float, float]:
    """Return the part of [low, high] where ``constant + rate t >= 0``; low > high if none.

    An end that misses by less than the slack stays: lines that coincide keep each other, since
    which of them is in front is up to rounding.
    """
    below = constant + rate * low < -slack
    above = constant + rate * high < -slack
    if below and above:
        return 1.0, 0.0
    if below:
        low = min(high, -constant / rate)
    elif above:
        high = max(low, -constant / rate)
    return low, high


@kernel
def shared_edge(lead: NDArray[Any], i: int, j: int, n1: int, n2: int) -> tuple[float, float]:
    """Return the lowest and highest y on the edge between two cells; low > high if none."""
    y, x, dy, dx = 0.0, lead[i, j, 0], 1.0, lead[i, j, 1]
    low, high = 0.0, float(n1)
    if lead[i, j, 2] == 0.0:
        if lead[i, j, 1] == 0.0:
            return 1.0, 0.0
        y, x, dy, dx = -lead[i, j, 0] / lead[i, j, 1], 0.0, 0.0, 1.0
        if not 0.0 < y < n1:
            return 1.0, 0.0
        high = float(n2)
    slack = SLACK * (n2 + abs(dx) * n1)
    low, high = clip(low, high, x, dx, slack)
    if low <= high:
        low, high = clip(low, high, n2 - x, -dx, slack)
    k = lead.shape[0]
    # Those between i and j first: they are the likeliest to part them.
    for s in range(i + 1, i + k):
        q = s if s < k else s - k
        if low > high:
            return 1.0, 0.0
        if q != j:
            constant = lead[i, q, 0] + lead[i, q, 1] * y + lead[i, q, 2] * x
            rate = lead[i, q, 1] * dy + lead[i, q, 2] * dx
            low, high = clip(low, high, constant, rate, slack)
    return (y + low * dy, y + high * dy) if low <= high else (1.0, 0.0)


@kernel
def insert(heights: NDArray[Any], count: int, y: float, apart: float) -> int:
    """Insert y into the first ``count`` sorted heights unless one is as close; return the count."""
    i = count
    while heights[i - 1] > y:
        i -= 1
    if y - heights[i - 1] <= apart or (i < count and heights[i] - y <= apart):
        return count
    for s in range(count, i, -1):
        heights[s] = heights[s - 1]
    heights[i] = y
    return count + 1


@kernel
def corner_heights(lead: NDArray[Any], n1: int, n2: int, heights: NDArray[Any]) -> int:
    """Fill the heights where edges begin or end in the plane, 0 and n1 included, sorted.

    Returns their number. A height too many does no harm.
    """
    heights[0], heights[1] = 0.0, n1
    count = 2
    apart = 0.1 * SLACK * n1
    for i in range(lead.shape[0]):
        for j in range(i + 1, lead.shape[0]):
            low, high = shared_edge(lead, i, j, n1, n2)
            if low <= high:
                count = insert(heights, count, min(max(low, 0.0), n1), apart)
                count = insert(heights, count, min(max(high, 0.0), n1), apart)
    return count


@kernel
def cut(lead: NDArray[Any], y: float, n2: int, cells: NDArray[Any], starts: NDArray[Any]) -> int:
    """Fill the cells met from left to right at height y; return their number.

    The lower envelope of k straight lines with ascending slopes, by a stack. Whatever rounding
    does, the cells are a partition.
    """
    cells[0] = 0
    starts[0] = 0.0
    count = 1
    for j in range(1, lead.shape[0]):
        while True:
            i = cells[count - 1]
            x = lead[i, j, 0] + lead[i, j, 1] * y
            if lead[i, j, 2] == 0.0:
                if x >= 0:
                    break
            elif x > starts[count - 1]:
                if x < n2:
                    cells[count] = j
                    starts[count] = x
                    count += 1
                break
            count -= 1
            if count == 0:
                cells[0] = j
                count = 1
                break
    return count
