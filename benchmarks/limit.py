"""How good can centers be? Maximum likelihood by somebody who knows shapes and sizes.

    python benchmarks/limit.py

On the paper's settings, and on the data sets of ``accuracy.py``, only the means of the clusters are
unknown: their covariance is known to be the identity and their sizes to be equal. The iterations
start at the means of the true clusters. What is left is what 100 or 180 observations with errors
tell of the means: an estimate that also has to find shapes and sizes cannot do much better.
"""

from __future__ import annotations

import click
import joblib
import numpy as np
from sklearn.cluster import KMeans

from noisykmeans.metrics import clean_distortion, clustering_risk
from settings import SETTINGS, Array, Problem


def known_shapes(problem: Problem) -> Array:
    """Return the maximum likelihood estimate of the means from a good start."""
    root = np.linalg.cholesky(problem.noise.covariance_matrix(2) + np.eye(2))
    white = np.linalg.solve(root, problem.Z.T).T
    true = np.array([problem.X[problem.y == j].mean(axis=0) for j in range(problem.n_clusters)])
    means = np.linalg.solve(root, true.T).T
    for _ in range(500):
        squared = ((white[:, None] - means) ** 2).sum(axis=-1)
        share = np.exp(0.5 * (squared.min(axis=1, keepdims=True) - squared))
        share /= share.sum(axis=1, keepdims=True)
        means = share.T @ white / share.sum(axis=0)[:, None]
    return means @ root.T


def run(name: str, replicate: int) -> tuple[float, float]:
    """Return risk and distortion ratio on one data set."""
    problem = SETTINGS[name].problem(replicate)
    clean = KMeans(problem.n_clusters, n_init=10, random_state=problem.seed).fit(problem.X)
    centers, limit = known_shapes(problem), clean_distortion(clean.cluster_centers_, problem.fresh)
    ratio = clean_distortion(centers, problem.fresh) / limit
    return clustering_risk(centers, problem.X, problem.y), ratio


@click.command(help=__doc__)
@click.option("--sets", default=100, show_default=True, help="Data sets for each setting.")
def main(sets: int) -> None:  # noqa: D103
    click.echo("| setting | failures | risk | ratio |\n| --- | --- | --- | --- |")
    for name in [name for name in SETTINGS if name.startswith("Mod")]:
        runs = joblib.Parallel(-1)(joblib.delayed(run)(name, i) for i in range(sets))
        risk, ratio = np.transpose(runs)
        click.echo(f"| {name} | {(risk > 0.2).sum()} | {risk.mean():.4f} | {ratio.mean():.3f} |")


if __name__ == "__main__":
    main()
