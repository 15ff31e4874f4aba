"""What every law and every window must satisfy, whatever its formulas."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone

N_SAMPLES = 20_000


def frequencies(d, n=24):
    """Frequencies at which laws of scale about 1 are neither 1 nor 0."""
    return np.random.default_rng(1).normal(scale=1.2, size=(n, d))


def mean_wave(errors, t):
    """Estimate E exp(i <t, eps>) from a sample."""
    return np.exp(1j * errors @ t.T).mean(axis=0)


def check_characteristic_function(law, d):
    t = frequencies(d)
    phi = law.characteristic_function(t)
    assert phi.shape == (24,)
    np.testing.assert_allclose(law.characteristic_function(np.zeros(d)), 1, rtol=1e-12)
    np.testing.assert_allclose(law.characteristic_function(-t), np.conj(phi), atol=1e-14)
    assert (np.abs(phi) <= 1 + 1e-12).all()
    boxed = law.characteristic_function(t.reshape(4, 6, d))
    np.testing.assert_allclose(boxed, phi.reshape(4, 6), rtol=1e-12)
    sampled = mean_wave(law.sample((N_SAMPLES, d), 0), t)
    assert np.abs(phi - sampled).max() < 5 / np.sqrt(N_SAMPLES)


def check_sample(law, d):
    errors = law.sample((7, d), 3)
    assert errors.shape == (7, d)
    assert errors.dtype == np.float64
    np.testing.assert_array_equal(law.sample((7, d), 3), errors)
    np.testing.assert_array_equal(law.sample((7, d), np.random.default_rng(3)), errors)
    assert not np.array_equal(law.sample((7, d), 4), errors)
    rng = np.random.default_rng(3)
    law.sample((7, d), rng)
    assert not np.array_equal(law.sample((7, d), rng), errors)
    if law.dimension is not None:
        np.testing.assert_array_equal(law.sample(7, 3), errors)


def check_covariance(law, d):
    if law.dimension is None:
        assert law.covariance.shape == (1, 1)
        law = law.project(np.eye(d))
    S = law.covariance
    assert S.shape == (d, d)
    sampled = np.cov(law.sample(N_SAMPLES, 5), rowvar=False).reshape(d, d)
    # Fourth moments of these laws are at most 9 squared variances.
    size = np.sqrt(np.outer(np.diag(S), np.diag(S)))
    assert (np.abs(S - sampled) <= 6 * 3 * size / np.sqrt(N_SAMPLES) + 1e-12).all()


def check_projection(law, d):
    rng = np.random.default_rng(7)
    for r in (1, 2):
        P = rng.normal(size=(r, d))
        image = law.project(P)
        assert image.dimension == r
        s = frequencies(r)
        expected = law.characteristic_function(s @ P)
        np.testing.assert_allclose(image.characteristic_function(s), expected, atol=1e-13)
        sampled = mean_wave(image.sample(N_SAMPLES, 8), s)
        assert np.abs(sampled - expected).max() < 5 / np.sqrt(N_SAMPLES)
        twice = image.project(np.ones((1, r)))
        s = frequencies(1)
        expected = law.characteristic_function(s @ np.ones((1, r)) @ P)
        np.testing.assert_allclose(twice.characteristic_function(s), expected, atol=1e-13)


def check_marginals(law, d):
    for axes in {(0,), (d - 1,), tuple(range(d))[::-1]}:
        s = frequencies(len(axes))
        t = np.zeros((len(s), d))
        t[:, axes] = s
        expected = law.characteristic_function(t)
        actual = law.marginal(axes).characteristic_function(s)
        np.testing.assert_allclose(actual, expected, atol=1e-13)


def check_value(law):
    """Compared by value, hashable, frozen, and copied by everything that copies."""
    remade = type(law)(**law.get_params(deep=False))
    copies = [remade, clone(law), copy.deepcopy(law), pickle.loads(pickle.dumps(law))]
    t = frequencies(law.dimension or 1)
    for twin in copies:
        assert twin == law
        assert hash(twin) == hash(law)
        assert repr(twin) == repr(law)
        np.testing.assert_array_equal(
            twin.characteristic_function(t), law.characteristic_function(t)
        )
    assert law != "a law"
    with pytest.raises(AttributeError, match=f"{type(law).__name__} is frozen: make a new law"):
        law.scale = 2.0


def check_law(law, d):
    check_characteristic_function(law, d)
    check_sample(law, d)
    check_covariance(law, d)
    check_projection(law, d)
    check_marginals(law, d)
    check_value(law)


def check_window(window):
    edge = window.support
    u = np.linspace(0, edge, 1001)
    values = window(u)
    assert window(0.0) == 1
    np.testing.assert_array_equal(window(-u), values)
    assert (np.diff(values) <= 1e-15).all()
    assert (values >= -1e-15).all()
    beyond = edge * np.array([1 + 1e-12, 1.5, 1e6, np.inf])
    np.testing.assert_array_equal(window(np.r_[beyond, -beyond]), 0)
    assert window(u.reshape(7, 11, 13)).shape == (7, 11, 13)
    assert all(0 < b < edge for b in window.breaks)
    assert list(window.breaks) == sorted(window.breaks)
    assert 0 < window.unit <= edge
    check_unit(window)
    check_breaks(window)


def check_unit(window):
    """The window crosses exp(-1/2) at its unit, by its course or by its cut."""
    height = np.exp(-0.5)
    assert window(window.unit * (1 - 1e-9)) >= height
    assert window(window.unit * (1 + 1e-9)) <= height


def check_breaks(window):
    """Between its breaks the window is smooth: a polynomial of high degree fits to rounding."""
    ends = [0.0, *window.breaks, window.support]
    for a, b in itertools.pairwise(ends):
        u = np.linspace(a, b, 400)
        fit = np.polynomial.Chebyshev.fit(u, window(u), 40)
        np.testing.assert_allclose(fit(u), window(u), atol=1e-11)
