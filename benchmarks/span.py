"""The span of two centers against the plain grid, in two dimensions, where both can serve.

    python benchmarks/span.py

On the data sets of ``accuracy.py``: failures, mean risk and mean distortion ratio of either.
"""

from __future__ import annotations

from unittest import mock

import click
import joblib
import numpy as np

from methods import kmeans_clean, noisy
from noisykmeans.metrics import clean_distortion, clustering_risk
from settings import SETTINGS


def run(name: str, replicate: int) -> list[float]:
    """Return risk and distortion ratio on the grid, then on the span."""
    problem = SETTINGS[name].problem(replicate)
    limit = clean_distortion(kmeans_clean(problem), problem.fresh)
    figures = []
    for largest in (2, 1):
        with mock.patch("noisykmeans.estimators.kmeans.MAX_DIMENSION", largest):
            centers = noisy()(problem)
        figures.append(clustering_risk(centers, problem.X, problem.y))
        figures.append(clean_distortion(centers, problem.fresh) / limit)
    return figures


@click.command(help=__doc__)
@click.option("--sets", default=100, show_default=True, help="Data sets for each setting.")
def main(sets: int) -> None:  # noqa: D103
    click.echo("| setting | grid: failures, risk, ratio | span: failures, risk, ratio |")
    click.echo("| --- | --- | --- |")
    for name in [f"Mod1({u})" for u in range(1, 11)]:
        jobs = (joblib.delayed(run)(name, i) for i in range(sets))
        runs = np.array(joblib.Parallel(-1, inner_max_num_threads=1)(jobs))
        failures, means = (runs > 0.2).sum(axis=0), runs.mean(axis=0)
        cells = [f"{failures[i]}, {means[i]:.4f}, {means[i + 1]:.3f}" for i in (0, 2)]
        click.echo(f"| {name} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()
