"""Features with standard errors: cell nuclei in images of breast tissue
=====================================================================

``python examples/plot_breast_cancer.py`` in the folder above.

Each image gives the mean of a feature over its nuclei *and the standard error of that mean*, one
for each image: ``X_err``. Two clusters are sought without the diagnoses, and compared with them. On
these data the errors are mostly small against the distance of the clusters, and what they change
is small, too; the table says by how much.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.mixture import GaussianMixture

from noisykmeans import NoisyKMeans

Array = np.ndarray[Any, Any]

IMAGES = Path("docs") / "images"
PAIRS = [  # of different kinds, with small and with large errors
    ("radius", "texture"),
    ("radius", "concave points"),
    ("texture", "concave points"),
    ("texture", "smoothness"),
    ("smoothness", "concavity"),
    ("symmetry", "concavity"),
]
SHOWN = ("symmetry", "concavity")


def load(pair: tuple[str, str]) -> tuple[Array, Array, Array]:
    """Return means and standard errors in the unit of the means' spread, and the diagnoses."""
    data = load_breast_cancer()
    columns = list(data.feature_names)
    X = data.data[:, [columns.index(f"mean {name}") for name in pair]]
    errors = data.data[:, [columns.index(f"{name} error") for name in pair]]
    unit = X.std(axis=0)
    return X / unit, errors / unit, data.target


def agreement(labels: Array, truth: Array) -> float:
    """Return the share of images in the cluster of their diagnosis."""
    return float(max((labels == truth).mean(), (labels != truth).mean()))


def centers_of(X: Array, errors: Array) -> dict[str, tuple[Array, Array]]:
    """Return centers and labels by method."""
    plain = KMeans(2, n_init=10, random_state=0).fit(X)
    mixture = GaussianMixture(2, n_init=5, random_state=0).fit(X)
    noisy = NoisyKMeans(2, random_state=0).fit(X, X_err=errors)
    return {
        "k-means": (plain.cluster_centers_, plain.labels_),
        "Gaussian mixture": (mixture.means_, mixture.predict(X)),
        "noisy k-means": (noisy.cluster_centers_, noisy.labels_),
    }


def draw(pair: tuple[str, str], path: Path) -> None:
    """Draw the images with their errors, and the centers."""
    X, errors, truth = load(pair)
    canvas = Figure(figsize=(7, 5), layout="constrained")
    ax = canvas.subplots()
    for value, name, colour in ((1, "benign", "#0072B2"), (0, "malignant", "#D55E00")):
        x, e = X[truth == value], errors[truth == value]
        ax.errorbar(
            *x.T, xerr=e[:, 0], yerr=e[:, 1], fmt="none", ecolor=colour, alpha=0.2, linewidth=0.8
        )
        ax.scatter(*x.T, s=9, color=colour, label=name, zorder=2)
    marks = {"k-means": "s", "Gaussian mixture": "^", "noisy k-means": "o"}
    for name, (centers, _) in centers_of(X, errors).items():
        ax.scatter(
            *centers.T, s=90, marker=marks[name], color="white", edgecolor="black", zorder=3,
            linewidth=1.6, label=name,
        )  # fmt: skip
    ax.set(xlabel=f"mean {pair[0]} / its spread", ylabel=f"mean {pair[1]} / its spread")
    # The bars of a few images with huge errors would leave no room for the others.
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, dpi=110)


def main() -> None:
    """Print the table, and draw one pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGES)
    out = parser.parse_args().out
    print("| features | median error | k-means | Gaussian mixture | noisy k-means |")
    print("| --- | --- | --- | --- | --- |")
    for pair in PAIRS:
        X, errors, truth = load(pair)
        size = ", ".join(f"{value:.2f}" for value in np.median(errors, axis=0))
        shares = [agreement(labels, truth) for _, labels in centers_of(X, errors).values()]
        print(f"| {', '.join(pair)} | {size} | " + " | ".join(f"{s:.1%}" for s in shares) + " |")
    draw(SHOWN, out / "breast-cancer.png")
    print(f"\ndrawn: {out / 'breast-cancer.png'}")


if __name__ == "__main__":
    main()
