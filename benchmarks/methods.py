"""The methods that the accuracy benchmark compares: from a problem to centers.

Methods see the observations and the law of their errors, and nothing else; the two that see
clean points are marked as limits that nobody can reach in practice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from noisykmeans import NoisyKMeans, selection
from settings import Array, Problem

Method = Callable[[Problem], Array]


def kmeans_observed(problem: Problem) -> Array:
    """k-means on the observations, k-means++ with 10 starts."""
    return kmeans(completed(problem.Z), problem)


def completed(Z: Array) -> Array:
    """Return observations with the mean of a coordinate where it is missing."""
    return np.where(np.isnan(Z), np.nanmean(Z, axis=0), Z)


def covariances(problem: Problem) -> Array:
    """Return the covariance of each observation's errors, huge where a coordinate is missing."""
    S = problem.covariances
    if S is None:
        law = problem.noise.covariance_matrix(problem.Z.shape[1])
        S = np.repeat(law[None], len(problem.Z), 0)
    missing = np.isnan(problem.Z)
    return S + 1e6 * missing[:, :, None] * np.eye(problem.Z.shape[1])


def kmeans_clean(problem: Problem) -> Array:
    """k-means on the clean points: the physical limit."""
    return kmeans(problem.X, problem)


def kmeans(points: Array, problem: Problem) -> Array:
    """Return the centers of scikit-learn's k-means, k-means++ with 10 starts."""
    plain = KMeans(problem.n_clusters, n_init=10, random_state=problem.seed)
    return plain.fit(points).cluster_centers_


def true_centers(problem: Problem) -> Array:
    """Return the means of the clusters of fresh clean points, which nobody knows."""
    return problem.centers


def gaussian_mixture(problem: Problem) -> Array:
    """Return the means of a Gaussian mixture of the observations, which ignores the errors."""
    mixture = GaussianMixture(problem.n_clusters, n_init=3, random_state=problem.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of slow convergence, which is the peer's affair
        return mixture.fit(completed(problem.Z)).means_


def extreme_deconvolution(problem: Problem) -> Array:
    """Return the means of astroML's XDGMM, a Gaussian mixture of the clean points."""
    from astroML.density_estimation import XDGMM  # noqa: PLC0415  a peer, not a dependency

    Z, errors = completed(problem.Z), covariances(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return XDGMM(problem.n_clusters, random_state=problem.seed).fit(Z, errors).mu


def moment_correction(problem: Problem) -> Array:
    """k-means on observations mapped linearly so that their covariance is that of clean points."""
    Z = completed(problem.Z)
    mean, S = Z.mean(axis=0), np.cov(Z.T)
    values, axes = np.linalg.eigh(S)
    root, inverse = (axes * values**0.5) @ axes.T, (axes * values**-0.5) @ axes.T
    shares, turned = np.linalg.eigh(
        inverse @ problem.noise.covariance_matrix(problem.Z.shape[1]) @ inverse
    )
    shrink = root @ (turned * np.sqrt(np.clip(1 - shares, 0.01, 1))) @ turned.T @ inverse
    return kmeans(mean + (Z - mean) @ shrink.T, problem)


def noisy(*, average: bool = False, **params: Any) -> Method:
    """Return noisy k-means with the given parameters.

    On average it is told only the law that the errors have on average, not those of each row.
    """

    def fit(problem: Problem) -> Array:
        law = problem.noise if average or problem.covariances is None else None
        model = NoisyKMeans(problem.n_clusters, noise=law, random_state=problem.seed, **params)
        own = {} if law is not None else {"X_cov": problem.covariances}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*no coordinate was observed")
            return model.fit(problem.Z, **own).cluster_centers_

    return fit


def oracle(problem: Problem) -> Array:
    """Tune the kernel estimator as the paper does, on 1,000 clean points and 20 x 20 bandwidths."""
    return noisy(bandwidth=selection.Oracle(problem.tuning))(problem)


METHODS: dict[str, Method] = {
    "k-means on clean X": kmeans_clean,
    "true centers": true_centers,
    "k-means on Z": kmeans_observed,
    "Gaussian mixture on Z": gaussian_mixture,
    "extreme deconvolution": extreme_deconvolution,
    "moment correction": moment_correction,
    "kernel, oracle": oracle,
    "kernel, renoise": noisy(bandwidth="renoise"),
    "kernel, lepski": noisy(bandwidth="lepski"),
    "kernel, cv": noisy(bandwidth="cv"),
    "kernel, rate": noisy(bandwidth="rate"),
    "em, renoise": noisy(deconvolution="em", bandwidth="renoise"),
    "average errors": noisy(average=True),
    "default": noisy(),
}
