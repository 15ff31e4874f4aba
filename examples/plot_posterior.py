"""Where is the true point? Probabilities and denoised points
==========================================================

An observation tells of its clean point with an error. ``predict_proba`` gives the probability that
the clean point lies in each cell, ``denoise`` the clean point to be expected.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisykmeans import NoisyKMeans, noise
from noisykmeans.datasets import make_mod2

X, Z, y = make_mod2(8, 600, random_state=0)
model = NoisyKMeans(3, noise=noise.Gaussian(5**0.5), random_state=0).fit(Z)

# %%
# Between the two clusters that touch, the most probable cell is far from sure.

P = model.predict_proba(Z)
figure, ax = plt.subplots(layout="constrained")
dots = ax.scatter(*Z.T, c=P.max(axis=1), cmap="cividis", s=16, vmin=1 / 3, vmax=1)
ax.scatter(*model.cluster_centers_.T, marker="*", s=260, color="black", edgecolor="white")
figure.colorbar(dots, label="probability of the most probable cell")
plt.show()

# %%
# These probabilities can be trusted: clean points are in a cell as often as they say.

there = np.eye(3)[model.predict(X)]
for low in (0.1, 0.3, 0.5, 0.7):
    some = (low <= P) & (low + 0.2 > P)
    print(f"said {P[some].mean():.2f}, observed {there[some].mean():.2f} ({some.sum()} times)")

# %%
# Denoised points are drawn towards where clean points are.

clean = model.denoise(Z)
before, after = (((points - X) ** 2).sum(axis=1).mean() for points in (Z, clean))
print(f"mean squared error: {before:.1f} before, {after:.1f} after")

figure, axes = plt.subplots(1, 3, figsize=(10, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, points, title in zip(
    axes, (Z, clean, X), ("observed", "denoised", "clean, never seen"), strict=True
):
    ax.scatter(*points.T, s=5, c=y, cmap="viridis")
    ax.set_title(title)
plt.show()
