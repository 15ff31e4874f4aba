"""The density of the clean points as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from noisykmeans.plots.style import MAP, PALETTE, Display
from noisykmeans.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noisykmeans.density import Density
    from noisykmeans.estimators import DeconvolvedDensity, NoisyKMeans

__all__ = ["DensityDisplay"]

_LEVELS = 10
_ZERO = 1e-3  # of the height: less is left blank


@dataclass
class DensityDisplay(Display):
    """The density of the clean points: a curve over one axis, shades over two.

    Parameters
    ----------
    density : Density
        On one or two axes.
    names : tuple of str
        What the axes are called.

    Examples
    --------
    >>> from noisykmeans import NoisyKMeans, noise
    >>> from noisykmeans.datasets import make_mod1
    >>> from noisykmeans.plots import DensityDisplay
    >>> X, Z, y = make_mod1(9, 100, random_state=0)
    >>> model = NoisyKMeans(2, noise=noise.Gaussian((0, 3)), random_state=0).fit(Z)
    >>> display = DensityDisplay.from_estimator(model, features=[0])
    >>> display.density.grid.dimension, display.ax_.get_xlabel()
    (1, 'feature 0')
    """

    density: Density
    names: tuple[str, ...] = ("feature 0", "feature 1")

    def __post_init__(self) -> None:
        if self.density.grid.dimension > 2:
            raise ValueError(
                f"a density is drawn over one or two axes; got {self.density.grid.dimension}: "
                f"take noisykmeans.views.marginal, or from_estimator with features"
            )

    @classmethod
    def from_estimator(
        cls,
        model: NoisyKMeans | DeconvolvedDensity,
        *,
        features: Sequence[int | str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the density of a fitted model.

        Parameters
        ----------
        model : NoisyKMeans or DeconvolvedDensity
            Fitted, with errors.
        features : sequence of one or two int or str, or None
            The features to draw over, by number or name. None takes all of one or two; of more,
            the axes along which the centers differ most. All others are integrated out.
        ax : matplotlib Axes or None
            Where to draw.
        """
        if model.density_ is None:
            raise ValueError(
                "there is no density to draw: without errors the fit is k-means on the points; "
                "give noise or X_err"
            )
        view = View.of_density(model) if features is None else View.of(model, features)
        density = view.density(model)
        if density is None:
            raise ValueError(
                f"the density is not known over features {features!r}: it is that of "
                f"X @ components_.T; leave features out"
            )
        return cls(density, view.names).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        f = self.density.values
        if self.density.grid.dimension == 1:
            (x,) = self.density.grid.nodes
            ax.fill_between(x, f, color=PALETTE[0], alpha=0.2, linewidth=0)
            ax.plot(x, f, color=PALETTE[0])
            ax.set(xlabel=self.names[0], ylabel="density", xlim=(x[0], x[-1]), ylim=(0, None))
        else:
            x, y = self.density.grid.nodes
            from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  the extra `plot`

            ticks = MaxNLocator(_LEVELS).tick_values(0, f.max())
            levels = [_ZERO * f.max(), *ticks[1:]]
            shades = ax.contourf(x, y, f.T, levels=levels, cmap=MAP)
            ax.contour(x, y, f.T, levels=levels[1:], colors="0.3", linewidths=0.5)
            ax.figure.colorbar(shades, ax=ax, label="density", ticks=ticks)
            ax.set(xlabel=self.names[0], ylabel=self.names[1])
