"""Repeated readings of an unknown error: blood pressure
=====================================================

``python examples/plot_blood_pressure.py`` in the folder above.

Simulated, so that the truth is known: three groups of subjects, each measured one to three times.
Single readings scatter widely, more so in the systolic pressure, with tails heavier than a
Gaussian's. Nobody tells their law: ``noise.from_replicates`` estimates it from the differences of
readings of the same subject, and subjects that were measured more often count for more.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from noisykmeans import NoisyKMeans, noise
from noisykmeans.metrics import clean_distortion

Array = np.ndarray[Any, Any]

IMAGES = Path("docs") / "images"
MEANS = np.array([[112.0, 72.0], [132.0, 76.0], [140.0, 94.0]])  # systolic, diastolic, in mmHg
SPREAD = np.array([5.0, 4.0])
ERRORS = noise.Laplace((9.0, 4.0))  # of a single reading


def simulate(n: int, seed: int) -> tuple[Array, Array]:
    """Return usual pressures, and readings of shape (n, 3, 2), NaN where there are fewer."""
    rng = np.random.default_rng(seed)
    X = MEANS[rng.integers(3, size=n)] + SPREAD * rng.standard_normal((n, 2))
    R = X[:, None] + ERRORS.sample((3 * n, 2), rng).reshape(n, 3, 2)
    R[np.arange(3) >= rng.integers(1, 4, size=n)[:, None]] = np.nan
    return X, R


def centers_of(R: Array) -> dict[str, Array]:
    """Return the centers by method."""
    Z, law = noise.from_replicates(R)
    return {
        "k-means on means": KMeans(3, n_init=10, random_state=0).fit(Z).cluster_centers_,
        "Gaussian mixture": GaussianMixture(3, n_init=5, random_state=0).fit(Z).means_,
        "noisy k-means": NoisyKMeans(3, noise=law, random_state=0).fit(Z).cluster_centers_,
    }


def ratios(n: int, seed: int) -> dict[str, float]:
    """Return the distortion of fresh subjects, over that of k-means on usual pressures."""
    X, R = simulate(n, seed)
    fresh, _ = simulate(20_000, 10_000 + seed)
    best = KMeans(3, n_init=10, random_state=0).fit(X).cluster_centers_
    limit = clean_distortion(best, fresh)
    return {name: clean_distortion(c, fresh) / limit for name, c in centers_of(R).items()}


def draw(n: int, path: Path) -> None:
    """Draw the means of the readings, the usual pressures, and the centers."""
    X, R = simulate(n, 0)
    canvas = Figure(figsize=(9, 4.4), layout="constrained")
    left, right = canvas.subplots(1, 2, sharex=True, sharey=True)
    counts = (~np.isnan(R[:, :, 0])).sum(axis=1)
    for readings, size in ((1, 5), (2, 11), (3, 22)):
        rows = counts == readings
        label = f"{readings} reading{'s' if readings > 1 else ''}"
        left.scatter(*np.nanmean(R[rows], axis=1).T, s=size, color="#56B4E9", label=label)
    right.scatter(*X.T, s=8, color="0.75")
    marks = {"k-means on means": "s", "Gaussian mixture": "^", "noisy k-means": "o"}
    colours = {"k-means on means": "#D55E00", "Gaussian mixture": "#E69F00"}
    for name, centers in centers_of(R).items():
        for ax in (left, right):
            ax.scatter(
                *centers.T, s=70, marker=marks[name], color=colours.get(name, "#0072B2"),
                edgecolor="black", label=name if ax is right else None,
            )  # fmt: skip
    left.set(title="means of readings", xlabel="systolic, mmHg", ylabel="diastolic, mmHg")
    right.set(title="usual pressures, which nobody sees", xlabel="systolic, mmHg")
    left.legend(frameon=False)
    right.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, dpi=110)


def main() -> None:
    """Print the table over many studies, and draw one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subjects", type=int, default=300)
    parser.add_argument("--studies", type=int, default=30)
    parser.add_argument("--out", type=Path, default=IMAGES)
    given = parser.parse_args()
    runs = [ratios(given.subjects, seed) for seed in range(given.studies)]
    print(f"{given.studies} studies of {given.subjects} subjects; 1 is k-means without errors\n")
    print("| method | mean ratio of distortions | worst |")
    print("| --- | --- | --- |")
    for name in runs[0]:
        values = np.array([run[name] for run in runs])
        print(f"| {name} | {values.mean():.3f} | {values.max():.3f} |")
    draw(given.subjects, given.out / "blood-pressure.png")
    print(f"\ndrawn: {given.out / 'blood-pressure.png'}")


if __name__ == "__main__":
    main()
