"""The paper's first experiment: two spherical clusters, errors that grow along one axis.

Mod1(u), u = 1..10: ``X ~ 1/2 N((0, 0), I) + 1/2 N((5, 0), I)``, errors ``N(0, diag(0, u))``,
n = 100 and k = 2. The paper shows the settings for u = 1, 3, 5, 7, the risk of both methods by u,
and each run at u = 7; in its introduction a data set of Mod1(9), and what k-means makes of it.

In words it says (100 runs each; failure is a risk above 0.2): k-means fails 22 to 68 times where
u >= 6, noisy k-means never more than 19 times.

The population optimum of k-means on Z keeps the right split, x = 2.5, up to u = 8.85; beyond, the
split across the errors is better. With half a normal's first moment ``2 a / sqrt(2 pi)`` that is
where ``1 + u = (5/2 (2 Phi(5/2) - 1) + 2 phi(5/2))^2 pi / 2``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisykmeans.datasets import make_mod1, mod1_means, mod1_noise
from noisykmeans.experiments.experiment import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MOD1", "means"]


def means(u: int) -> NDArray[np.float64]:
    """Return the centers of the clusters, the same for each u."""
    del u
    return mod1_means()


MOD1 = Experiment(
    name="mod1",
    title="Mod1",
    index=1,
    n_samples=100,
    draw=make_mod1,
    means=means,
    noise=mod1_noise,
    closeup=7,
    claims=(
        Claim("k-means", 6, 10, 22, 68, "22 to 68"),
        Claim("noisy k-means", 1, 10, 0, 19, "at most 19"),
    ),
)
