"""The pictures of the tutorial and the guide: run this file, and nothing else."""

import argparse
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer

from noisykmeans import NoisyKMeans, noise
from noisykmeans.datasets import make_mod1
from noisykmeans.plots import PALETTE, PartitionDisplay

IMAGES = Path(__file__).parent / "images"
STAR = {"marker": "*", "s": 300, "color": "black", "edgecolor": "white", "zorder": 4}


def nuclei():
    """Return the tutorial's images, and their errors, in units of their spread."""
    table = load_breast_cancer(as_frame=True).data
    Z = table[["mean symmetry", "mean concavity"]].to_numpy()
    errors = table[["symmetry error", "concavity error"]].to_numpy()
    return Z / Z.std(axis=0), errors / Z.std(axis=0)


def framed(ax, Z, title):
    """Name the axes of the tutorial, and show where the images are."""
    ax.set(title=title, xlabel="symmetry / its spread", ylabel="concavity / its spread")
    ax.set(xlim=(Z[:, 0].min() - 0.3, Z[:, 0].max() + 0.3), ylim=(-0.4, Z[:, 1].max() + 0.3))


def tutorial_centers():
    """Draw images with errors beside the density without."""
    Z, errors = nuclei()
    canvas = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = canvas.subplots(1, 2, sharey=True)
    some = slice(None, None, 4)
    left.errorbar(*Z[some].T, *errors[some].T[::-1], fmt="none", ecolor="0.7", linewidth=0.8)
    left.scatter(*Z.T, s=8, color=PALETTE[0])
    left.scatter(*KMeans(2, n_init=10, random_state=0).fit(Z).cluster_centers_.T, **STAR)
    model = NoisyKMeans(2, random_state=0).fit(Z, X_err=errors)
    x, y = model.density_.grid.nodes
    f = model.density_.values.T / model.density_.values.max()
    right.contourf(x, y, f, levels=(0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0), cmap="Blues")
    right.scatter(*model.cluster_centers_.T, **STAR)
    framed(left, Z, "as measured, and the centers of k-means")
    framed(right, Z, "without the errors, and their centers")
    right.set_ylabel("")
    return canvas


def tutorial_probabilities():
    """Draw the images by their probabilities."""
    Z, errors = nuclei()
    model = NoisyKMeans(2, random_state=0).fit(Z, X_err=errors)
    share = model.predict_proba(Z, X_err=errors)[:, model.cluster_centers_[:, 1].argmax()]
    canvas = Figure(figsize=(7.2, 4.6), layout="constrained")
    ax = canvas.subplots()
    dots = ax.scatter(*Z.T, c=share, cmap="cividis", s=22, vmin=0, vmax=1, edgecolor="0.4", lw=0.3)
    ax.scatter(*model.cluster_centers_.T, **STAR)
    canvas.colorbar(dots, label="probability of the upper cluster")
    framed(ax, Z, "")
    return canvas


def guide_stages():
    """Draw what the guide's chain makes of Mod1(9): histogram, density, cells."""
    _, Z, _ = make_mod1(9, 500, random_state=1)
    model = NoisyKMeans(2, noise=noise.Gaussian((0, 3)), random_state=0).fit(Z)
    canvas = Figure(figsize=(10.5, 3.9), layout="constrained")
    first, second, third = canvas.subplots(1, 3, sharex=True, sharey=True)
    grid = model.histogram_.grid
    for ax, values in ((first, model.histogram_.values), (second, model.density_.values)):
        ax.pcolormesh(*grid.nodes, values.T, cmap="Blues", rasterized=True)
    PartitionDisplay(model.cluster_centers_, Z, model.density_).plot(ax=third)
    titles = ("1. histogram of Z", "2. density of X", "3. centers and their cells")
    for ax, title in zip((first, second, third), titles, strict=True):
        ax.set(title=title, xlabel="", ylabel="")
        ax.set(xlim=Z[:, 0][[Z[:, 0].argmin(), Z[:, 0].argmax()]], ylim=(-11, 11))
        if ax.get_legend():
            ax.get_legend().remove()
    return canvas


PICTURES = {
    "tutorial-centers": tutorial_centers,
    "tutorial-probabilities": tutorial_probabilities,
    "guide-stages": guide_stages,
}


def main():
    """Draw all, or those of the given names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PICTURES), help=", ".join(PICTURES))
    parser.add_argument("--out", type=Path, default=IMAGES)
    given = parser.parse_args()
    for name in given.names:
        PICTURES[name]().savefig(given.out / f"{name}.png", dpi=110)
        print(given.out / f"{name}.png")


if __name__ == "__main__":
    main()
