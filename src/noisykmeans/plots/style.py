"""Colours and markers, the same in every picture."""

from __future__ import annotations

from typing import Any, Self

__all__ = ["MAP", "MARKERS", "PALETTE", "Display", "axes_or_new", "look_of"]

# Okabe and Ito's colours, distinct for the colour-blind; markers say the same again, for print.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MAP = "Blues"  # of one hue, ever darker: the same in grey


def look_of(cluster: int) -> dict[str, Any]:
    """Return the colour and marker of a cluster: the pair is its own up to 49 clusters."""
    n = len(PALETTE)
    return {"color": PALETTE[cluster % n], "marker": MARKERS[(cluster + cluster // n) % n]}


def axes_or_new(ax: Any) -> Any:
    """Return the Axes, or those of a new figure where it is None."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415  the extra `plot`
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'noisykmeans[plot]'") from error
    return plt.subplots(layout="constrained")[1]


class Display:
    """A picture: values first, then `plot`, in scikit-learn's manner."""

    ax_: Any
    figure_: Any

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw on an Axes, a new one if None; it is ``ax_`` afterwards, its figure ``figure_``.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw.
        title : str or None
            A title for the Axes.
        """
        ax = axes_or_new(ax)
        self._draw(ax)
        ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any) -> None:
        """Draw on an Axes."""
        raise NotImplementedError
