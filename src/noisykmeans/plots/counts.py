"""What speaks for each number of clusters, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noisykmeans.cluster_count import STABLE
from noisykmeans.plots.style import PALETTE, Display

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.cluster_count import ClusterCount

    Array = NDArray[np.float64]

__all__ = ["ClusterCountDisplay"]


@dataclass
class ClusterCountDisplay(Display):
    """A criterion over the number of clusters.

    Parameters
    ----------
    n_clusters : array of shape (m,)
        The numbers that were compared.
    values : array of shape (m,)
        What they scored.
    errors : array of shape (m,) or None
        Standard errors of the scores, drawn as bars.
    chosen : int or None
        The choice, marked with a star.
    criterion : str
        What is compared, the label of the axis.
    stable : array of shape (m,) or None
        Which numbers may be chosen; the others are hollow.

    Examples
    --------
    >>> from noisykmeans.plots import ClusterCountDisplay
    >>> display = ClusterCountDisplay([1, 2, 3], [0.0, 0.9, 0.4], chosen=2, criterion="stability")
    >>> display.plot().ax_.get_ylabel()
    'stability'
    """

    n_clusters: NDArray[np.intp]
    values: Array
    errors: Array | None = None
    chosen: int | None = None
    criterion: str = "criterion"
    stable: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        self.n_clusters = np.asarray(self.n_clusters)
        self.values = np.asarray(self.values, dtype=np.float64)
        if self.errors is not None:
            self.errors = np.asarray(self.errors, dtype=np.float64)
        if self.stable is not None:
            self.stable = np.asarray(self.stable, dtype=bool)
        for name in ("values", "errors", "stable"):
            given = getattr(self, name)
            if given is not None and given.shape != self.n_clusters.shape:
                raise ValueError(
                    f"{name} must have the shape {self.n_clusters.shape}, one for each of "
                    f"n_clusters; got {given.shape}"
                )
        if self.chosen is not None and self.chosen not in self.n_clusters:
            raise ValueError(
                f"chosen must be among n_clusters={self.n_clusters.tolist()}; got {self.chosen}"
            )

    @classmethod
    def from_count(cls, count: ClusterCount, *, ax: Any = None) -> Self:
        """Draw what `select_n_clusters` has found: the gap, hollow where clusters are not stable.

        Parameters
        ----------
        count : ClusterCount
            The result of `select_n_clusters`.
        ax : matplotlib Axes or None
            Where to draw.
        """
        return cls(
            count.candidates,
            count.gap,
            count.gap_std_errors,
            count.recommended,
            "gap (hollow: not stable)",
            count.stability >= STABLE,
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.errorbar(self.n_clusters, self.values, self.errors, color=PALETTE[0], capsize=4)
        full = np.ones(len(self.n_clusters), dtype=bool) if self.stable is None else self.stable
        for chosen, face in ((full, PALETTE[0]), (~full, "white")):
            marks = (self.n_clusters[chosen], self.values[chosen])
            ax.plot(*marks, "o", color=PALETTE[0], markerfacecolor=face, markersize=7)
        if self.chosen is not None:
            best = self.values[self.n_clusters == self.chosen]
            ax.plot(self.chosen, best[0], "*", color="black", markersize=17, mec="white", zorder=3)
        ax.set(xlabel="number of clusters", ylabel=self.criterion, xticks=self.n_clusters)
