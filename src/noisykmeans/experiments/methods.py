"""The methods that are compared, and how each looks in every figure."""

from __future__ import annotations

from typing import NamedTuple

from noisykmeans.plots import PALETTE

__all__ = ["METHODS", "PAPER", "Method"]


class Method(NamedTuple):
    """A method's name in tables and figures, and its look: colour, marker, line."""

    name: str
    what: str
    colour: str
    marker: str
    line: str


METHODS = {
    method.name: method
    for method in (
        Method("k-means", "Lloyd on Z from one random start", PALETTE[1], "s", "-"),
        Method(
            "noisy k-means",
            "the paper's: Lloyd on the deconvolved density from the same start, lambda tuned on "
            "fresh clean points",
            PALETTE[0],
            "o",
            "-",
        ),
        Method("k-means++", "the best of 10 k-means++ starts on Z", PALETTE[4], "^", "--"),
        Method(
            "noisy k-means, automatic",
            "`NoisyKMeans(k, noise=law)`: all choices from Z",
            PALETTE[5],
            "D",
            "--",
        ),
        Method(
            "k-means on X", "the best of 10 k-means++ starts on the clean points", "0.35", "v", ":"
        ),
    )
}
PAPER = ("k-means", "noisy k-means")  # those that the paper compares
