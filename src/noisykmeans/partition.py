"""Which observations have errors alike: covariances in a few groups.

Deconvolution needs a histogram and two Fourier transforms for each law of errors. A law for each
observation would cost what a pass over the data does at every step; laws that hardly differ can
share one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

from noisykmeans import _kernels
from noisykmeans.grid import MAX_DIMENSION
from noisykmeans.observations import bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "CELL",
    "MOST_CELLS",
    "MOST_GROUPS",
    "WIDER",
    "different",
    "keys_of",
    "log_covariances",
    "most_groups",
    "partition",
]

MOST_GROUPS = {1: 24, 2: 24, 3: 16}  # by the number of axes
_MOST_NUMBERS = 2**15  # in the covariances of groups where no grid is needed for each
_MOST_ROWS = 2**13  # from which groups are found where axes are many
CELL = 0.2  # width of a cell of the lattice, in logarithms of variances
MOST_CELLS = 2000
WIDER = 1.5  # cells, where there are too many
_FLOOR = 0.05  # standard deviation of errors, in those of the data, below which none matters


def partition(
    covariances: Array, weights: Array, scale: Array, most: int
) -> tuple[NDArray[np.intp], Array]:
    """Return the number of each observation's group, and the covariance of each group.

    Up to ``most`` different covariances are kept as they are. Else their matrix logarithms, which
    know size, shape and direction, are rounded to a lattice, and k-means joins its cells to
    ``most`` groups. A group has the mean covariance of its members, so that its first error is of
    second order in their spread: with 24 groups in the plane, and covariances of all sizes and
    directions, the centers move by less than a fifth of their own standard error.

    Parameters
    ----------
    covariances : array of shape (n, d, d)
        Of the errors of each observation.
    weights : array of shape (n,)
        Weights of the observations.
    scale : array of shape (d,)
        Standard deviations of the observations, the unit of what matters.
    most : int
        The largest number of groups.

    Examples
    --------
    >>> S = np.array([[[1.0]], [[4.0]], [[1.0]]])
    >>> labels, each = partition(S, np.ones(3), np.ones(1), 24)
    >>> labels.tolist(), each.ravel().tolist()
    ([0, 1, 0], [1.0, 4.0])
    """
    labels, first = different(covariances, most)
    if len(first) <= most:
        return labels, covariances[first]
    find = _on_lattice if len(scale) <= MAX_DIMENSION else _by_shape
    labels = find(covariances, weights, scale, most)
    mass = np.bincount(labels, weights)
    d = covariances.shape[1]
    means = np.empty((len(mass), d, d))
    for i in range(d):
        for j in range(i + 1):
            means[:, i, j] = np.bincount(labels, weights * covariances[:, i, j]) / mass
            means[:, j, i] = means[:, i, j]
    return labels, means


def most_groups(dimension: int) -> int:
    """Return how many groups there may be: on a grid each takes Fourier transforms at every step.

    Beyond three axes there is no grid, and each takes the inverse of a matrix.
    """
    if dimension in MOST_GROUPS:
        return MOST_GROUPS[dimension]
    return max(_MOST_NUMBERS // dimension**2, 64)


def _on_lattice(covariances: Array, weights: Array, scale: Array, most: int) -> NDArray[np.intp]:
    """Round logarithms to a lattice, and join its cells."""
    logs = log_covariances(covariances, scale)
    cell = CELL
    labels, n_cells = _cells(logs, cell)
    while n_cells > MOST_CELLS:
        cell *= WIDER
        labels, n_cells = _cells(logs, cell)
    if n_cells <= most:
        return labels
    mass = np.bincount(labels, weights)
    middles = np.stack([np.bincount(labels, weights * x) for x in logs.T], axis=1) / mass[:, None]
    joined = KMeans(most, n_init=1, random_state=0).fit(middles, sample_weight=mass)
    return np.unique(joined.labels_, return_inverse=True)[1][labels]


def _by_shape(covariances: Array, weights: Array, scale: Array, most: int) -> NDArray[np.intp]:
    """Join covariances of many axes by the logarithms of standard deviations, and correlations."""
    d = len(scale)
    variances = covariances.diagonal(axis1=1, axis2=2)
    sizes = np.sqrt(variances / scale**2 + _FLOOR**2)
    rows, columns = np.tril_indices(d, -1)
    cross = covariances[:, rows, columns] / (scale[rows] * scale[columns])
    alike = np.concatenate([np.log(sizes), cross / (sizes[:, rows] * sizes[:, columns])], axis=1)
    step = max(len(alike) // _MOST_ROWS, 1)
    some = np.flatnonzero(weights > 0)[::step]
    joined = MiniBatchKMeans(most, n_init=1, batch_size=4096, random_state=0)
    joined.fit(alike[some], sample_weight=weights[some])
    return np.unique(joined.predict(alike), return_inverse=True)[1]


def log_covariances(covariances: Array, scale: Array) -> Array:
    """Return the matrix logarithms of covariances, in units of the data, as vectors.

    Errors that are far smaller than the data are alike. Euclidean distances of the vectors are
    Frobenius distances of the logarithms.

    Parameters
    ----------
    covariances : array of shape (n, d, d)
        Symmetric, without negative eigenvalues.
    scale : array of shape (d,)
        The units.

    Returns
    -------
    array of shape (n, d (d + 1) / 2)
    """
    d = len(scale)
    rows, columns = np.tril_indices(d)
    logs = np.empty((len(covariances), len(rows)))

    def block(part: slice) -> None:
        if d == 2:
            _kernels.covariances.logs_of_two(covariances[part], scale, _FLOOR**2, logs[part])
            return
        S = covariances[part] / np.multiply.outer(scale, scale) + _FLOOR**2 * np.eye(d)
        values, axes = np.linalg.eigh(S)
        values = np.log(np.maximum(values, _FLOOR**2))
        logs[part] = ((axes * values[:, None]) @ axes.transpose(0, 2, 1))[:, rows, columns]

    for _ in _kernels.threads.map_blocks(block, len(covariances)):
        pass
    logs *= np.where(rows == columns, 1.0, np.sqrt(2))
    return logs


def different(covariances: Array, most: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the number of each covariance among the different ones, and where these are first.

    Matrices are told apart by one product of their entries with numbers drawn once. Many
    different ones are seen in a few rows, and not sorted.
    """
    few = np.unique(keys_of(covariances[:1000]))
    if len(few) > most:
        return np.arange(len(covariances)), np.arange(len(covariances))
    _, first, labels = np.unique(keys_of(covariances), return_index=True, return_inverse=True)
    return labels.ravel(), first


def keys_of(covariances: Array) -> Array:
    """Return the numbers by which matrices are told apart."""
    rows, columns = np.tril_indices(covariances.shape[1])
    roots = np.random.default_rng(0).uniform(1, 2, len(rows))
    pairs = zip(roots, rows, columns, strict=True)
    return np.asarray(sum(root * covariances[:, i, j] for root, i, j in pairs))


def _cells(logs: Array, cell: float) -> tuple[NDArray[np.intp], int]:
    """Return the number of each row's cell on a lattice, and how many are not empty."""
    low, high = np.floor(bounds(logs) / cell)
    shape = (high - low + 1).astype(np.int64)
    flat = np.zeros(len(logs), dtype=np.int64)
    for x, first, n in zip(logs.T, low, shape, strict=True):
        flat *= n
        flat += (x / cell - first).astype(np.int64)
    if shape.prod() > len(logs):
        used, labels = np.unique(flat, return_inverse=True)
        return labels.ravel(), len(used)
    filled = np.bincount(flat) > 0
    return (np.cumsum(filled) - 1)[flat], int(filled.sum())
