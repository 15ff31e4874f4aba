"""Pictures, as Display objects in scikit-learn's manner: values first, then ``plot``."""

from noisykmeans.plots.counts import ClusterCountDisplay
from noisykmeans.plots.density import DensityDisplay
from noisykmeans.plots.partition import PartitionDisplay
from noisykmeans.plots.selection import SelectionDisplay
from noisykmeans.plots.style import PALETTE

__all__ = [
    "PALETTE",
    "ClusterCountDisplay",
    "DensityDisplay",
    "PartitionDisplay",
    "SelectionDisplay",
]
