"""The estimators: validation and choice of parts, no numerics."""

from noisykmeans.estimators.density import DeconvolvedDensity
from noisykmeans.estimators.kmeans import NoisyKMeans

__all__ = ["DeconvolvedDensity", "NoisyKMeans"]
