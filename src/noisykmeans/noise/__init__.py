"""Laws of the measurement error: formulas only."""

from noisykmeans.noise.base import Noise
from noisykmeans.noise.combine import Independent, Projected, Sum
from noisykmeans.noise.laws import Custom, Gaussian, Laplace, Uniform

__all__ = [
    "Custom",
    "Gaussian",
    "Independent",
    "Laplace",
    "Noise",
    "Projected",
    "Sum",
    "Uniform",
]
