"""What a fitted model is handed on as, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

__all__ = ["Exports"]


class Exports:
    """Ways out of a fitted model; what they need loads when they are called."""

    def report(
        self,
        path: str | PathLike[str],
        X: ArrayLike | None = None,
        *,
        title: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write one HTML page with data, density, cells, centers and settings; it needs no network.

        Parameters
        ----------
        path : str or path
            The file.
        X : array of shape (n, d) or None
            Observations to draw, 4000 of them at most. Without them the histogram that the model
            has kept is drawn.
        title : str or None
            The heading.
        overwrite : bool
            Whether a file that exists is replaced.
        """
        from noisykmeans.report import write  # noqa: PLC0415  what stands around, when called

        model: Any = self
        write(model, path, X, title=title, overwrite=overwrite)
