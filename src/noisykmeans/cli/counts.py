"""The number of clusters as people write it, and the comparison of a range of numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from noisykmeans.cli.output import WrongUse

if TYPE_CHECKING:
    from noisykmeans.cli.rows import Rows
    from noisykmeans.estimators import NoisyKMeans

__all__ = ["compare", "parse_numbers"]


def parse_numbers(text: str) -> list[int]:
    """Return the numbers of clusters that are meant: one, or all of a range.

    Examples
    --------
    >>> parse_numbers("3"), parse_numbers("2-5")
    ([3], [2, 3, 4, 5])
    """
    found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= low <= high:
        raise WrongUse(
            f"--clusters: {text!r} is no number of clusters, such as 3, nor a range: 2-6"
        )
    return list(range(low, high + 1))


def compare(model: NoisyKMeans, rows: Rows, numbers: list[int]) -> str:
    """Give the model the number of clusters that the rows speak for, and return the table."""
    from noisykmeans.cluster_count import select_n_clusters  # noqa: PLC0415  rarely wanted

    count = select_n_clusters(
        rows.X,
        numbers,
        noise=model.noise,
        sample_weight=rows.weights,
        X_err=rows.X_err,
        deconvolution=model.deconvolution,
        random_state=model.random_state,
    )
    model.set_params(n_clusters=count.recommended)
    return str(count)
