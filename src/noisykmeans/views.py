"""One or two axes on which a fitted model is looked at: in pictures and in the report.

Up to three features that vary, the axes are features. Beyond, the density of the clean points is
known on the span of the centers, and the axes are those of `components_`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from noisykmeans.density import Density
from noisykmeans.groups import restricted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from noisykmeans.estimators import DeconvolvedDensity, NoisyKMeans

    Array = NDArray[np.float64]

__all__ = ["View", "axes_of", "center_errors", "feature_names", "marginal"]

_SAME = 1e-9  # distance up to which two directions are one


@dataclass(frozen=True, eq=False)
class View:
    """One or two directions of the space of features, ``u = basis x``.

    Parameters
    ----------
    names : tuple of str
        What the axes are called.
    basis : array of shape (r, d), r = 1 or 2
        Orthonormal rows.

    Examples
    --------
    >>> view = View(("width",), np.array([[0.0, 1.0, 0.0]]))
    >>> view.project([[1.0, 2.0, 3.0]]).tolist()
    [[2.0]]
    >>> view.separates([[0.0, 1.0, 0.0], [0.0, 5.0, 0.0]])
    True
    """

    names: tuple[str, ...]
    basis: Array

    @classmethod
    def of(cls, model: NoisyKMeans, features: Sequence[int | str] | None = None) -> Self:
        """Return the view of some features, or the one that shows most of the centers.

        Parameters
        ----------
        model : NoisyKMeans
            Fitted.
        features : sequence of one or two int or str, or None
            Numbers or names of features. None takes all of one or two; of more axes, those two
            along which the centers differ most.
        """
        names = feature_names(model)
        if features is not None:
            if len(set(features)) != len(features) or not 1 <= len(features) <= 2:
                raise ValueError(
                    f"features must be one or two different features; got {features!r}"
                )
            chosen = [_number(feature, names) for feature in features]
            return cls(tuple(names[v] for v in chosen), np.eye(len(names))[chosen])
        if len(names) <= 2:
            return cls(names, np.eye(len(names)))
        return cls.of_density(model)

    @classmethod
    def of_density(cls, model: NoisyKMeans | DeconvolvedDensity) -> Self:
        """Return the view of the density's axes, or two along which the centers differ most."""
        names, basis = axes_of(model)
        centers = getattr(model, "cluster_centers_", np.zeros((1, model.n_features_in_)))
        spread = (centers @ basis.T).var(axis=0)
        kept = np.sort(np.argsort(-spread, kind="stable")[:2])
        return cls(tuple(names[v] for v in kept), basis[kept])

    @property
    def dimension(self) -> int:
        """The number of axes."""
        return len(self.basis)

    def project(self, X: ArrayLike) -> Array:
        """Return the coordinates of points of shape (n, d), of shape (n, r)."""
        X = np.asarray(X, dtype=np.float64)
        # Features that the view leaves out may be missing.
        seen = np.abs(self.basis).max(axis=0) > 0
        return X[:, seen] @ self.basis[:, seen].T

    def covariances(self, errors: ArrayLike) -> Array:
        """Return the covariances on the view of what has errors in the space of features.

        Parameters
        ----------
        errors : array of shape (k, d) or (k, d, d)
            Standard deviations along the features, or covariance matrices.
        """
        errors = np.asarray(errors, dtype=np.float64)
        if errors.ndim == 2:
            return np.einsum("iv,kv,jv->kij", self.basis, errors**2, self.basis)
        return np.einsum("iu,kuv,jv->kij", self.basis, errors, self.basis)

    def separates(self, centers: ArrayLike) -> bool:
        """Return whether the cells are the same on the view: centers differ along its axes only."""
        apart = np.asarray(centers, dtype=np.float64)
        apart = apart - apart.mean(axis=0)
        beyond = apart - apart @ self.basis.T @ self.basis
        return bool(np.abs(beyond).max() <= _SAME * max(np.abs(apart).max(), 1e-300))

    def density(self, model: NoisyKMeans | DeconvolvedDensity) -> Density | None:
        """Return the model's density on the view, None where it has none there."""
        if model.density_ is None or model.components_ is None:
            return None
        close = np.abs(self.basis @ model.components_.T) >= 1 - _SAME
        if not close.any(axis=1).all():
            return None
        return marginal(model.density_, close.argmax(axis=1).tolist())


def axes_of(model: NoisyKMeans | DeconvolvedDensity) -> tuple[tuple[str, ...], Array]:
    """Return the names and directions of the density's axes, or of all features without one."""
    names, components = feature_names(model), model.components_
    if components is None:
        return names, np.eye(len(names))
    if (np.abs(components).max(axis=1) >= 1 - _SAME).all():
        return tuple(names[v] for v in np.abs(components).argmax(axis=1)), components
    return tuple(f"component {i}" for i in range(len(components))), components


def feature_names(model: NoisyKMeans | DeconvolvedDensity) -> tuple[str, ...]:
    """Return the names of the features that a model was fitted on, or their numbers."""
    numbered = [f"feature {v}" for v in range(model.n_features_in_)]
    return tuple(map(str, getattr(model, "feature_names_in_", numbered)))


def center_errors(model: NoisyKMeans) -> Array | None:
    """Return the covariances of the centers' errors, or their standard errors, if known."""
    for name in ("center_covariances_", "center_std_errors_"):
        known = getattr(model, name, None)
        if known is not None:
            return np.asarray(known)
    return None


def marginal(density: Density, axes: Sequence[int]) -> Density:
    """Return the density of some of the axes, in the given order.

    Examples
    --------
    >>> from noisykmeans.grid import Grid
    >>> grid = Grid((0.0, 0.0), (1.0, 0.5), (2, 3))
    >>> flat = Density(grid, np.full((2, 3), 1 / 3))
    >>> marginal(flat, [0]).values.tolist()
    [0.5, 0.5]
    """
    grid = density.grid
    if list(axes) == list(range(grid.dimension)):
        return density
    others = tuple(v for v in range(grid.dimension) if v not in axes)
    width = float(np.prod([grid.spacing[v] for v in others]))
    values = np.transpose(density.values, (*axes, *others))
    summed = values.sum(axis=tuple(range(len(axes), grid.dimension))) * width
    return Density(restricted(grid, axes), summed)


def _number(feature: int | str, names: tuple[str, ...]) -> int:
    """Return the number of a feature given by its number or name."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"features must be among {', '.join(map(repr, names))}, or their numbers; got {feature!r}"
    )
