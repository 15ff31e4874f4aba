"""What a rule compares: bandwidths of the kernel estimator
=========================================================

The paper's estimator needs a bandwidth for each axis. Re-noising adds one more error to every
observation, and asks which bandwidth finds the observations' own centers again.
"""

import matplotlib.pyplot as plt

from noisykmeans import NoisyKMeans, noise
from noisykmeans.datasets import make_mod1
from noisykmeans.plots import DensityDisplay, SelectionDisplay

X, Z, y = make_mod1(4, 500, random_state=0)
law = noise.Gaussian((0, 2))

# %%
# Each axis gets a bandwidth of its own. What is judged are the centers that it leads to, not how
# smooth the density looks.

model = NoisyKMeans(2, noise=law, deconvolution="kernel", random_state=0).fit(Z)
print("bandwidth", model.bandwidth_.round(2))
print("centers", model.cluster_centers_.round(1).tolist())

# %%
# Each dot is a bandwidth that was tried, darker ones scored worse; the star is the choice.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
SelectionDisplay.from_estimator(model, ax=left)
DensityDisplay.from_estimator(model, ax=right)
right.set_title("density of the clean points")
plt.show()
