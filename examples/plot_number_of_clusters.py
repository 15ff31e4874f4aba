"""How many clusters are there behind the errors?
==============================================

``select_n_clusters`` compares numbers of clusters by the gap of their distortion and by their
stability under more errors. Here the errors are as wide as the clusters' distances allow to see.
"""

import matplotlib.pyplot as plt

from noisykmeans import noise, select_n_clusters
from noisykmeans.datasets import make_mod2
from noisykmeans.plots import ClusterCountDisplay

X, Z, y = make_mod2(4, 300, random_state=0)
law = noise.Gaussian(5**0.5)

# %%
# Both answers for each number, and a recommendation: the largest gap among the stable ones.

count = select_n_clusters(Z, range(1, 6), noise=law, random_state=0)
print(count)

# %%
# Hollow marks are numbers whose clusters are not found again under more errors.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.scatter(*Z.T, s=8, color="0.4")
left.set_title("observations")
ClusterCountDisplay.from_count(count, ax=right)
plt.show()
