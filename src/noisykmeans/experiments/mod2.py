"""The paper's second experiment: three spherical clusters, two of which approach each other.

Mod2(u), u = 1..10: X from equal thirds ``N((0, 0), I)``, ``N((a, b), I)`` and ``N((b, a), I)``
with ``(a, b) = (15 - (u - 1) / 2, 5 + (u - 1) / 2)``, errors ``N(0, diag(5, 5))``, n = 180 and
k = 3. The paper shows the settings for u = 1, 3, 5, 7, the risk of both methods by u, and each run
at u = 4.

In words it says (100 runs each; failure is a risk above 0.2): both methods fail more than 30 times
where u >= 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisykmeans.datasets import make_mod2, mod2_means, mod2_noise
from noisykmeans.experiments.experiment import Claim, Experiment

if TYPE_CHECKING:
    from noisykmeans.noise import Gaussian

__all__ = ["MOD2", "noise"]


def noise(u: int) -> Gaussian:
    """Return the law of the errors, the same for each u."""
    del u
    return mod2_noise()


MOD2 = Experiment(
    name="mod2",
    title="Mod2",
    index=2,
    n_samples=180,
    draw=make_mod2,
    means=mod2_means,
    noise=noise,
    closeup=4,
    claims=(
        Claim("k-means", 9, 10, 31, 100, "more than 30"),
        Claim("noisy k-means", 9, 10, 31, 100, "more than 30"),
    ),
)
