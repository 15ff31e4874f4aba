"""From the observations to the density of the clean points.

`KernelDeconvolution` is the paper's estimator, with a bandwidth to be chosen; `EMDeconvolution`
is maximum likelihood, from a first guess and with a number of steps.
"""

from noisykmeans.deconvolution.band import adequate_spacing, smallest_bandwidth
from noisykmeans.deconvolution.blur import Blur
from noisykmeans.deconvolution.bumps import Bumps
from noisykmeans.deconvolution.em import EMDeconvolution
from noisykmeans.deconvolution.guess import first_guess
from noisykmeans.deconvolution.kernel import KernelDeconvolution
from noisykmeans.deconvolution.ridge import Ridged

__all__ = [
    "Blur",
    "Bumps",
    "EMDeconvolution",
    "KernelDeconvolution",
    "Ridged",
    "adequate_spacing",
    "first_guess",
    "smallest_bandwidth",
]
