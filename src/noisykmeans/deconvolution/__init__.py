"""From the spectrum of the observations to the density of the clean points."""

from noisykmeans.deconvolution.band import adequate_spacing, smallest_bandwidth
from noisykmeans.deconvolution.kernel import KernelDeconvolution

__all__ = ["KernelDeconvolution", "adequate_spacing", "smallest_bandwidth"]
