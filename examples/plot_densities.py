"""One sample, three laws of errors
================================

The same observations mean different things under different laws of errors: what is deconvolved
depends on the law, not only on the size, of the errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisykmeans import NoisyKMeans, noise
from noisykmeans.plots import PALETTE

rng = np.random.default_rng(0)
y = rng.integers(2, size=2000)
X = np.where(y, 1.5, -1.5) + 0.5 * rng.standard_normal(2000)
Z = (X + noise.Laplace(0.7).sample((2000, 1), rng)[:, 0])[:, None]

# %%
# All three have the variance 0.98. The errors were Laplace's, and under that law the observations
# have the largest likelihood.

laws = {
    "Laplace (true)": noise.Laplace(0.7),
    "Gaussian": noise.Gaussian(0.98**0.5),
    "uniform": noise.Uniform((3 * 0.98) ** 0.5),
}
figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.hist(Z[:, 0], bins=80, density=True, color="0.85", label="observations")
x = np.linspace(-4, 4, 801)
truth = (np.exp(-2 * (x - 1.5) ** 2) + np.exp(-2 * (x + 1.5) ** 2)) / np.sqrt(2 * np.pi)
ax.plot(x, truth, color="black", linestyle=":", label="clean points")
for (name, law), colour, style in zip(laws.items(), PALETTE, ("-", "--", "-."), strict=False):
    model = NoisyKMeans(2, noise=law, random_state=0).fit(Z)
    ax.plot(x, model.density_(x[:, None]), color=colour, linestyle=style, label=name)
    centers = ", ".join(f"{center:.2f}" for center in sorted(model.cluster_centers_[:, 0]))
    print(f"{name:15} centers {centers}, log-likelihood {model.score_samples(Z).mean():.3f}")
ax.set(xlim=(-4, 4), xlabel="x", ylabel="density")
ax.legend(frameon=False)
plt.show()
