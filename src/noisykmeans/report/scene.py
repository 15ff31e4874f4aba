"""What the report's pictures are drawn from, as plain numbers for its script."""

from __future__ import annotations

import warnings
from base64 import b64encode
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import _check_feature_names

from noisykmeans.density import Density
from noisykmeans.distributed import as_array, is_collection
from noisykmeans.histogram import Histogram
from noisykmeans.views import View, axes_of, center_errors, feature_names, marginal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.estimators import NoisyKMeans

    Array = NDArray[np.float64]

__all__ = ["MOST_AXES", "MOST_POINTS", "Drawn", "Scene", "distance"]

MOST_POINTS = 4000  # that are drawn
MOST_AXES = 16  # to choose from
_NODES = {1: 1024, 2: 160}  # along each axis of a picture, by the number of axes
_CELLS = {1: 64, 2: 64}  # the same of a histogram, whose cells are to hold more than a few
_STEPS = 2**16 - 1  # of the height of a density


@dataclass(frozen=True, eq=False)
class Drawn:
    """Observations that are drawn, and which rows they are.

    Parameters
    ----------
    X : array of shape (m, d)
        The observations.
    rows : array of shape (m,)
        Their numbers in the table, at equal distances.
    """

    X: Array
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, X: Any, model: NoisyKMeans) -> Self:
        """Return some of the observations, at equal distances in their order."""
        if is_collection(X):
            X = as_array(X)
            X = X.compute_chunk_sizes() if np.isnan(X.shape[0]) else X
        elif hasattr(X, "columns"):
            _check_feature_names(model, X, reset=False)
        d = model.n_features_in_
        if np.ndim(X) != 2 or np.shape(X)[1] != d:
            raise ValueError(f"X must have the shape (n, {d}), as in the fit; got {np.shape(X)}")
        some = np.arange(0, len(X), distance(len(X)))
        return cls(np.asarray(X[some]) if hasattr(X, "dtype") else np.asarray(X)[some], some)


def distance(n: int) -> int:
    """Return every how many of n rows one is drawn.

    Examples
    --------
    >>> distance(100), distance(8001)
    (1, 3)
    """
    return max(-(-n // MOST_POINTS), 1)


@dataclass(frozen=True, eq=False)
class Scene:
    """A model on all axes that the report offers: features, and components if they are others.

    Parameters
    ----------
    model : NoisyKMeans
        Fitted.
    names : tuple of str
        What the axes are called.
    basis : array of shape (m, d)
        Their directions.
    """

    model: NoisyKMeans
    names: tuple[str, ...]
    basis: Array

    @classmethod
    def of(cls, model: NoisyKMeans) -> Self:
        """Return the features along which the centers differ most, then the components."""
        features = feature_names(model)
        names, components = axes_of(model)
        spread = model.cluster_centers_.var(axis=0)
        own = [v for v, name in enumerate(features) if name in names]
        others = [v for v in np.argsort(-spread, kind="stable") if v not in own]
        kept = sorted(own + others[: max(MOST_AXES - len(own), 0)])[:MOST_AXES]
        new = [i for i, name in enumerate(names) if name not in features]
        return cls(
            model,
            (*(features[v] for v in kept), *(names[i] for i in new)),
            np.concatenate([np.eye(len(features))[kept], components[new]]),
        )

    def data(self, X: ArrayLike | Drawn | None) -> dict[str, Any]:
        """Return all numbers of the pictures.

        Parameters
        ----------
        X : array of shape (n, d), Drawn or None
            Observations; without them the histogram that the model has kept is drawn.
        """
        model = self.model
        centers = model.cluster_centers_
        known = center_errors(model)
        every = View(self.names, self.basis)
        return {
            "axes": list(self.names),
            "shown": self._shown(),
            "exact": self._exact(),
            "centers": _rounded(centers @ self.basis.T),
            "errors": None if known is None else _rounded(every.covariances(known)),
            "points": None if X is None else self._points(_drawn(X, model)),
            "density": self._fields(model.density_, _NODES),
            "observed": None if X is not None else self._fields(_observed(model), _CELLS),
            "criterion": self._criterion(),
        }

    def _shown(self) -> list[int]:
        """Return the axes of the first picture."""
        return [self.names.index(name) for name in View.of(self.model).names]

    def _exact(self) -> list[str]:
        """Return on which axes, alone or in pairs, the cells are seen as they are."""
        found = []
        for axes in self._choices(range(len(self.names))):
            basis = self.basis[list(axes)]
            straight = np.allclose(basis @ basis.T, np.eye(len(axes)))
            view = View(tuple(self.names[v] for v in axes), basis)
            if straight and view.separates(self.model.cluster_centers_):
                found.append(_key(axes))
        return found

    @staticmethod
    def _choices(axes: Any) -> list[tuple[int, ...]]:
        return [(a,) for a in axes] + list(combinations(axes, 2))

    def _points(self, drawn: Drawn) -> dict[str, Any]:
        """Return the observations that are drawn."""
        taken, some = drawn.X, drawn.rows
        columns = [View((), direction[None]).project(taken)[:, 0] for direction in self.basis]
        # Differences from the centers need fewer digits than the values.
        origin = _rounded(self.basis @ self.model.cluster_centers_.mean(axis=0))
        with_gaps = self.model.density_ is not None or not np.isnan(taken).any()
        labels = _labels(self.model, taken) if with_gaps else np.full(len(some), -1)
        return {
            "origin": origin,
            "columns": [
                _encoded(x - middle, np.float32) for x, middle in zip(columns, origin, strict=True)
            ],
            "labels": labels.tolist(),
            "rows": some.tolist(),
        }

    def _fields(self, density: Density | None, most: dict[int, int]) -> dict[str, Any] | None:
        """Return a density on each of its axes and on each pair, on fewer nodes."""
        if density is None:
            return None
        names, _ = axes_of(self.model)
        place = [self.names.index(name) for name in names]
        order = np.argsort(place)
        return {
            _key([place[v] for v in axes]): _field(marginal(density, axes), most[len(axes)])
            for axes in self._choices(order.tolist())
        }

    def _criterion(self) -> dict[str, Any] | None:
        """Return what was compared to choose the smoothing, if anything was."""
        tried = self.model.selection_
        if tried is None or len(tried.criterion) < 2:
            return None
        steps = self.model.n_steps_ is not None
        names = [""] if steps else list(axes_of(self.model)[0])
        order = np.argsort(tried.candidates[:, 0], kind="stable")
        return {
            "quantity": "number of steps" if steps else "bandwidth",
            "names": names,
            "candidates": _rounded(tried.candidates[order]),
            "criterion": _rounded(tried.criterion[order]),
        }


def _drawn(X: ArrayLike | Drawn, model: NoisyKMeans) -> Drawn:
    return X if isinstance(X, Drawn) else Drawn.of(X, model)


def _labels(model: NoisyKMeans, X: Array) -> NDArray[np.int32]:
    """Return labels, whatever the model knows of the names of its features."""
    with warnings.catch_warnings():
        # Names of features are checked where people hand over their data.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return model.predict(X)


def _observed(model: NoisyKMeans) -> Density | None:
    """Return the density of the observations that the model has kept."""
    kept = model.histogram_
    if kept is None:
        return None
    return Density(kept.grid, kept.values / kept.mass / kept.grid.cell_volume)


def _field(density: Density, most: int) -> dict[str, Any]:
    """Return a density as 16-bit shares of its height, on few enough nodes."""
    kept = Histogram(density.grid, density.values * density.grid.cell_volume)
    while wide := [v for v, n in enumerate(kept.grid.shape) if n > most]:
        kept = kept.coarser(wide)
    values = np.maximum(kept.values / kept.grid.cell_volume, 0)
    top = float(values.max())
    return {
        "lower": kept.grid.lower,
        "spacing": kept.grid.spacing,
        "shape": kept.grid.shape,
        "top": top,
        "values": _encoded(np.round(values / top * _STEPS), np.uint16),
    }


def _encoded(values: Array, kind: Any) -> str:
    """Return numbers as text, in the order of bytes of nearly all machines."""
    return b64encode(values.astype(np.dtype(kind).newbyteorder("<")).tobytes()).decode()


def _rounded(values: ArrayLike) -> Any:
    """Return lists of numbers of twelve digits."""
    array = np.asarray(values, dtype=np.float64)
    return np.array([float(f"{v:.12g}") for v in array.ravel()]).reshape(array.shape).tolist()


def _key(axes: Any) -> str:
    return ",".join(map(str, axes))
