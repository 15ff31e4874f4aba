"""Ten features, some measured badly
=================================

Three clusters in ten features, of which the last ones have large errors. k-means follows the
largest variances, which are errors; noisy k-means works in the span of the centers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from noisykmeans import NoisyKMeans, noise
from noisykmeans.metrics import clustering_risk
from noisykmeans.plots import PartitionDisplay

rng = np.random.default_rng(1)
means = np.zeros((3, 10))
means[1, 0], means[2, 1] = 5, 5
y = rng.integers(3, size=500)
X = means[y] + rng.standard_normal((500, 10))
law = noise.Gaussian([0.3] * 5 + [4.0] * 5)
Z = X + law.sample(X.shape, rng)

# %%
# The share of clean points that are closest to the center of another cluster:

model = NoisyKMeans(3, noise=law, random_state=0).fit(Z)
plain = KMeans(3, n_init=10, random_state=0).fit(Z)
print(f"k-means       {clustering_risk(plain.cluster_centers_, X, y):.0%}")
print(f"noisy k-means {clustering_risk(model.cluster_centers_, X, y):.0%}")

# %%
# Without ``features`` a picture shows the axes along which the centers differ most.

PartitionDisplay.from_estimator(model, Z)
plt.show()
