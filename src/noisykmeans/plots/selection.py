"""What a rule tried to choose the smoothing, and what it chose, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noisykmeans.plots.style import MAP, Display, look_of
from noisykmeans.views import axes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisykmeans.estimators import DeconvolvedDensity, NoisyKMeans

    Array = NDArray[np.float64]

__all__ = ["SelectionDisplay"]

_SHADED = 3.0  # median distances from the best up to which shades differ: the worst are far off
_STAR: dict[str, Any] = {
    "marker": "*",
    "color": "black",
    "markersize": 16,
    "markeredgecolor": "white",
    "linestyle": "none",
}


@dataclass
class SelectionDisplay(Display):
    """The criterion of a rule over what it tried, where smaller is better.

    Over one axis a curve, over two the candidates in the plane, darker ones worse; over three a
    curve for each axis: the best that was found with that bandwidth on it.

    Parameters
    ----------
    candidates : array of shape (m, r)
        Bandwidths, one for each axis, or numbers of steps.
    criterion : array of shape (m,)
        What they scored.
    chosen : array of shape (r,)
        The choice.
    names : tuple of str
        What the axes are called.
    quantity : str
        What the candidates are.

    Examples
    --------
    >>> from noisykmeans.plots import SelectionDisplay
    >>> tried = [[1], [2], [4], [8]]
    >>> display = SelectionDisplay(tried, [3.0, 2.0, 1.5, 1.8], [4], quantity="number of steps")
    >>> display.plot().ax_.get_xlabel()
    'number of steps'
    """

    candidates: Array
    criterion: Array
    chosen: Array
    names: tuple[str, ...] = ()
    quantity: str = "bandwidth"

    def __post_init__(self) -> None:
        self.candidates = np.asarray(self.candidates, dtype=np.float64)
        self.criterion = np.asarray(self.criterion, dtype=np.float64)
        self.chosen = np.asarray(self.chosen, dtype=np.float64)
        m, r = self.candidates.shape
        if self.criterion.shape != (m,) or self.chosen.shape != (r,):
            raise ValueError(
                f"{m} candidates on {r} axes need a criterion of shape ({m},) and a choice of "
                f"shape ({r},); got {self.criterion.shape} and {self.chosen.shape}"
            )

    @classmethod
    def from_estimator(cls, model: NoisyKMeans | DeconvolvedDensity, *, ax: Any = None) -> Self:
        """Draw how the bandwidth of a fitted model, or its number of steps, was chosen.

        Parameters
        ----------
        model : NoisyKMeans or DeconvolvedDensity
            Fitted with a rule that compares, such as ``bandwidth="renoise"``.
        ax : matplotlib Axes or None
            Where to draw.
        """
        tried = model.selection_
        if tried is None or len(tried.criterion) < 2:
            how = (
                f"n_steps_={model.n_steps_}" if tried is None else f"bandwidth_={model.bandwidth_}"
            )
            raise ValueError(
                f"nothing was compared to choose the smoothing ({how}): fit with "
                f"bandwidth='renoise'"
            )
        values = (tried.candidates, tried.criterion, tried.bandwidth)
        if model.n_steps_ is not None:
            return cls(*values, quantity="number of steps").plot(ax=ax)
        return cls(*values, axes_of(model)[0]).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        if self.candidates.shape[1] == 2:
            self._draw_plane(ax)
        else:
            self._draw_curves(ax)

    def _draw_curves(self, ax: Any) -> None:
        """Draw the best criterion at each value along each axis."""
        r = self.candidates.shape[1]
        for axis, x in enumerate(self.candidates.T):
            values = np.unique(x)
            best = np.array([self.criterion[x == value].min() for value in values])
            name = self.names[axis] if axis < len(self.names) else f"axis {axis}"
            ax.plot(values, best, linewidth=1.2, markersize=5, label=name, **look_of(axis))
            at = values == self.chosen[axis]
            ax.plot(
                values[at], best[at], "*", color="black", markersize=15, markeredgecolor="white"
            )
        _scale(ax, "x", self.candidates)
        ax.set(xlabel=self.quantity, ylabel="criterion")
        if r > 1:
            ax.legend(title=f"{self.quantity} along")

    def _draw_plane(self, ax: Any) -> None:
        """Draw the candidates in the plane of two bandwidths."""
        best = self.criterion.min()
        worst = best + _SHADED * (np.median(self.criterion) - best)
        order = np.argsort(-self.criterion)
        shades = ax.scatter(
            *self.candidates[order].T,
            c=self.criterion[order],
            vmax=worst,
            cmap=MAP,
            s=70,
            edgecolors="0.3",
            linewidths=0.6,
        )
        ax.plot(*self.chosen, **_STAR)
        ax.figure.colorbar(shades, ax=ax, label="criterion", extend="max")
        for axis, name in zip(
            (ax.xaxis, ax.yaxis), self.names or ("axis 0", "axis 1"), strict=True
        ):
            axis.set_label_text(f"{self.quantity} along {name}")
        _scale(ax, "x", self.candidates[:, 0])
        _scale(ax, "y", self.candidates[:, 1])


def _scale(ax: Any, name: str, values: Array) -> None:
    """Make an axis logarithmic, with plain numbers at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter  # noqa: PLC0415

    if values.max() > 1.5 * values.min():
        ax.set(**{f"{name}scale": "log"})
        axis = getattr(ax, f"{name}axis")
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(NullLocator())
