"""Slow and obvious twins of what the package computes fast."""

import itertools

import numpy as np


def bin_linearly(grid, X, weights):
    values, outside = np.zeros(grid.shape), 0.0
    for z, w in zip(X, weights, strict=True):
        u = (z - np.array(grid.lower)) / np.array(grid.spacing)
        if (u < 0).any() or (u > np.array(grid.shape) - 1).any():
            outside += w
            continue
        for node in itertools.product(*[(int(np.floor(v)), int(np.floor(v)) + 1) for v in u]):
            share = np.prod(np.maximum(0, 1 - np.abs(u - node)))
            if share:
                values[node] += w * share
    return values, outside


def deconvolved_density(axes, Z, noise, window, bandwidth):
    """(2 pi)^-d int exp(-i<t,x>) W(t) phi_Z(t) / phi_eta(t) dt at the product of axes.

    Direct sums over the data and over the frequencies of Simpson's rule: no FFT, no bins.
    """
    d = Z.shape[1]
    # Simpson's error is (phase between two frequencies)^4 / 180.
    fine = (10, 6, 3)[d - 1]
    phase = [np.abs(np.subtract.outer(x[[0, -1]], z)).max() for x, z in zip(axes, Z.T, strict=True)]
    rules = [simpson(window, b, fine * p / b) for b, p in zip(bandwidth, phase, strict=True)]
    t = np.stack(np.meshgrid(*[t for t, _ in rules], indexing="ij"), -1)
    waves = [np.exp(1j * np.outer(z, t)) for z, (t, _) in zip(Z.T, rules, strict=True)]
    letters = "abc"[:d]
    terms = ",".join("n" + letter for letter in letters)
    values = np.einsum(f"{terms}->{letters}", *waves, optimize=True) / len(Z)  # phi_Z
    values = values * np.prod(window(t * bandwidth), axis=-1) / noise.characteristic_function(t)
    for x, (t, weights) in zip(axes, rules, strict=True):
        back = np.exp(-1j * np.outer(t, x)) * weights[:, None]
        values = np.tensordot(values, back, axes=(0, 0))  # this axis goes last, the next is first
    return values.real / (2 * np.pi) ** d


def simpson(window, bandwidth, panels):
    """Simpson's rule on the band, with panels that end where the window is not smooth."""
    half = [0.0, *window.breaks, window.support]
    breaks = sorted({-b for b in half} | set(half))
    t, w = [], []
    for a, b in itertools.pairwise(breaks):
        # One-sided at the edges: a window that jumps to 0 there counts with its inner value.
        n = 2 * max(10, int(np.ceil(panels * (b - a) / 2)))
        nodes = np.linspace(a, b, n + 1)
        weights = np.ones(n + 1)
        weights[1:-1:2], weights[2:-1:2] = 4, 2
        t.append(nodes)
        w.append(weights * (b - a) / n / 3)
    return np.concatenate(t) / bandwidth, np.concatenate(w) / bandwidth


def cell_moments(density, centers, factor):
    """Brute force: every voxel cut into factor^d pieces, each piece to its closest center."""
    grid, d = density.grid, density.grid.dimension
    axes = [
        (n[:, None] + s * ((np.arange(factor) + 0.5) / factor - 0.5)).ravel()
        for n, s in zip(grid.nodes, grid.spacing, strict=True)
    ]
    values = density.values
    for v in range(d):
        values = np.repeat(values, factor, axis=v)
    mass = values.ravel() * grid.cell_volume / factor**d
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, d)
    closest = np.concatenate(
        [
            ((p[:, None, :] - centers) ** 2).sum(-1).argmin(1)
            for p in np.array_split(points, max(1, len(points) // 100_000))
        ]
    )
    masses = np.bincount(closest, mass, len(centers))
    moments = [np.bincount(closest, mass * x, len(centers)) for x in points.T]
    return masses, np.stack(moments, 1)


def line_cell_moments(density, centers):
    """One axis, exactly: the overlap of every voxel with every interval between midpoints."""
    step, (x,), c = density.grid.spacing[0], density.grid.nodes, np.ravel(centers)
    masses, moments = np.zeros(len(c)), np.zeros((len(c), 1))
    _, first = np.unique(c, return_index=True)
    borders = [-np.inf, *((c[first][1:] + c[first][:-1]) / 2), np.inf]
    for j, low, high in zip(first, borders[:-1], borders[1:], strict=True):
        a, b = np.maximum(low, x - step / 2), np.minimum(high, x + step / 2)
        share = density.values * np.maximum(b - a, 0)
        masses[j], moments[j] = share.sum(), share @ (a + b) / 2
    return masses, moments


def plane_cell_moments(density, centers, offsets):
    """Two axes, exactly: each cell a polygon, cut to every voxel; offsets add to the distances."""
    grid, centers = density.grid, np.asarray(centers, dtype=float)
    half = np.array(grid.spacing) / 2
    masses, moments = np.zeros(len(centers)), np.zeros((len(centers), 2))
    for point, f in zip(grid.points, density.values.ravel(), strict=True):
        for j, c in enumerate(centers):
            piece = [point + half * s for s in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            for i, e in enumerate(centers):
                limit = (e - c) @ ((e + c) / 2 - point) + (offsets[i] - offsets[j]) / 2
                if (e != c).any():
                    piece = half_plane(piece, point, e - c, limit)
                elif limit < 0 or (limit == 0 and i < j):
                    piece = []
            area, moment = area_and_moment(piece)
            masses[j] += f * area
            moments[j] += f * moment
    return masses, moments


def half_plane(polygon, origin, normal, limit):
    """The part of a convex polygon where <p - origin, normal> <= limit (Sutherland-Hodgman)."""
    part = []
    for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        u, v = normal @ (p - origin) - limit, normal @ (q - origin) - limit
        if u <= 0:
            part.append(p)
        if u * v < 0:
            part.append(p + (q - p) * (u / (u - v)))
    return part


def area_and_moment(polygon):
    """Area and first moment of a convex polygon as a fan of triangles."""
    area, moment = 0.0, np.zeros(2)
    for p, q in itertools.pairwise(polygon[1:]):
        o = polygon[0]
        triangle = ((p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0])) / 2
        area += triangle
        moment += triangle * (o + p + q) / 3
    return area, moment


def lloyd(density, centers, max_iter, tol):
    """The sweep's own cells, moved one step at a time."""
    centers = np.array(centers, dtype=float)
    for _ in range(max_iter):
        masses, moments = density.cell_moments(centers)
        filled = masses > 1e-12 * density.mass
        moved = centers.copy()
        moved[filled] = moments[filled] / masses[filled, None]
        rest = (np.abs(moved - centers) / density.scale).max() <= tol
        centers = moved
        if rest:
            break
    return centers


def projected(values, total):
    """The projection on {f >= 0, sum f = total} by sorting."""
    f = np.sort(values.ravel())[::-1]
    xi = (np.cumsum(f) - total) / np.arange(1, f.size + 1)
    rank = np.flatnonzero(f > xi)[-1]
    return np.maximum(values - xi[rank], 0)


def bump_moments(rows, widths, means, log_shares):
    """Responsibilities of bumps with a covariance in each part, their masses and moments."""
    points, weights, parts, origin = rows
    points = points - origin
    masses = np.zeros((len(widths), len(means)))
    moments, total = np.zeros((*masses.shape, points.shape[1])), 0.0
    for g, S in enumerate(widths):
        x, w = points[parts == g], weights[parts == g]
        u = x[:, None, :] - means
        joint = np.exp(log_shares - np.einsum("nbi,ij,nbj->nb", u, np.linalg.inv(S), u) / 2)
        share = w[:, None] * joint / joint.sum(1, keepdims=True)
        masses[g], moments[g] = share.sum(0), share.T @ x
        total += w @ np.log(joint.sum(1))
    return masses, moments, total


def bounds(X):
    """Smallest and largest value of each feature, NaN where a value is not finite."""
    rows = np.where(np.isfinite(X).all(0), [X.min(0), X.max(0)], np.nan)
    return rows.astype(np.float64)


def closest(X, centers):
    """The first of the centers at the smallest distance."""
    X, centers = X.astype(np.float64), np.asarray(centers, dtype=np.float64)
    return ((X[:, None, :] - centers) ** 2).sum(-1).argmin(1)


def interpolate(X, grid, table):
    """Multilinear interpolation by the hat functions of all nodes, 0 beyond the grid."""
    hats = np.ones((len(X), len(grid.points)))
    for v, spacing in enumerate(grid.spacing):
        hats *= np.maximum(1 - np.abs(X[:, v, None] - grid.points[:, v]) / spacing, 0)
    inside = ((grid.lower <= X) & (grid.upper >= X)).all(axis=1)
    return inside[:, None] * (hats @ table.reshape(-1, table.shape[-1]))


def posterior(Z, density, centers, noise_density):
    """P(X in V_j | Z) and E[X | Z] by a sum over the nodes, each with its whole mass."""
    x, f = density.grid.points, density.values.ravel()
    share = f * noise_density(Z[:, None, :] - x)
    share /= share.sum(1, keepdims=True)
    cells = np.eye(len(centers))[((x[:, None, :] - centers) ** 2).sum(-1).argmin(1)]
    return share @ cells, share @ x


def cell_shares(shares, common, leads, draws):
    """The share of the draws of each bump at which each center leads."""
    values = common[:, None, None, :] + leads[:, None, :] + draws
    hits = np.eye(common.shape[1])[values.argmax(-1)].mean(2)
    return (shares[:, :, None] * hits).sum(1)


def plus_plus(points, weights, uniform):
    """Greedy k-means++ by its definition, the draws given."""
    mass, chosen, squares_before = weights, [], np.inf
    for draws in uniform:
        found = np.searchsorted(np.cumsum(mass), draws * mass.sum(), side="right")
        squares = ((points[:, None, :] - points[found]) ** 2).sum(-1)
        nearest = np.minimum(squares, squares_before)
        best = (weights @ nearest).argmin() if chosen else 0
        chosen.append(found[best])
        squares_before = nearest[:, [best]]
        mass = weights * squares_before[:, 0]
    return chosen
