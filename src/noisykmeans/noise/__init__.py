"""Laws of the measurement error: formulas only."""

from noisykmeans.noise.base import Noise
from noisykmeans.noise.combine import Independent, Projected, Sum
from noisykmeans.noise.estimated import Differences, Empirical, from_replicates
from noisykmeans.noise.laws import Custom, Gaussian, Laplace, Uniform
from noisykmeans.noise.observed import PerObservation
from noisykmeans.noise.tails import Cauchy, Student

__all__ = [
    "Cauchy",
    "Custom",
    "Differences",
    "Empirical",
    "Gaussian",
    "Independent",
    "Laplace",
    "Noise",
    "PerObservation",
    "Projected",
    "Student",
    "Sum",
    "Uniform",
    "from_replicates",
]
