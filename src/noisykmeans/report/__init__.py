"""A fitted model as one HTML page that needs nothing else: pictures, tables, settings, versions."""

from noisykmeans.report.page import render, write

__all__ = ["render", "write"]
