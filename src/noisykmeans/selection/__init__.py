"""Choosing the bandwidth from the data: one rule per module."""

from noisykmeans.selection.rate import Rate

__all__ = ["Rate"]
