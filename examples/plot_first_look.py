"""A first look: two clusters, and errors that hide them
=====================================================

Two clusters lie side by side, and their points are observed with vertical errors of standard
deviation 3. k-means splits along the errors. Told of them, noisy k-means splits along the clusters.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans

from noisykmeans import NoisyKMeans, noise
from noisykmeans.datasets import make_mod1
from noisykmeans.metrics import clustering_risk
from noisykmeans.plots import PartitionDisplay

X, Z, y = make_mod1(9, 100, random_state=2)  # clean points, observations, true clusters

# %%
# The law of the errors is all that has to be said: none along x, 3 along y.

model = NoisyKMeans(2, noise=noise.Gaussian((0, 3)), random_state=0).fit(Z)
plain = KMeans(2, n_init=10, random_state=0).fit(Z)

for name, centers in (("k-means", plain.cluster_centers_), ("noisy", model.cluster_centers_)):
    print(f"{name:8} misplaces {clustering_risk(centers, X, y):.0%} of the clean points")

# %%
# Contours are the estimated density of the clean points, which only the model has.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
PartitionDisplay(plain.cluster_centers_, Z, feature_names=("x", "y")).plot(ax=left)
PartitionDisplay(model.cluster_centers_, Z, model.density_, ("x", "y")).plot(ax=right)
left.set_title("k-means")
right.set(title="noisy k-means", ylabel="")
plt.show()
