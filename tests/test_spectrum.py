import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisykmeans import spectrum
from noisykmeans.grid import Grid
from noisykmeans.histogram import Histogram, fill
from noisykmeans.spectrum import transform
from strategies import binned, steady


def direct(grid, X, weights):
    """E exp(i <t, Z>) at the frequencies of the dual grid, by a sum over the data."""
    t = np.stack(np.meshgrid(*grid.frequencies, indexing="ij"), axis=-1)
    return np.exp(1j * t @ X.T) @ (weights / weights.sum())


def on_nodes(grid, n, rng):
    return grid.points[rng.integers(len(grid.points), size=n)]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_characteristic_function_of_data_on_nodes_is_the_direct_sum(d):
    # Nothing is shared there: all that transform takes off for binning is too much.
    rng = np.random.default_rng(0)
    grid = Grid((-3.0, 1.0, 0.5)[:d], (0.5, 0.25, 1.0)[:d], (7, 6, 5)[:d])
    X, weights = on_nodes(grid, 20, rng), rng.random(20)
    phi = transform(fill(grid, X, weights)).characteristic_function()
    sinc = [np.sinc(t * h / (2 * np.pi)) ** 2 for t, h in zip(grid.frequencies, grid.spacing)]  # noqa: B905
    compensation = np.prod(np.meshgrid(*sinc, indexing="ij"), axis=0)
    np.testing.assert_allclose(phi * compensation, direct(grid, X, weights), atol=1e-13)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_compensated_characteristic_function_is_close_at_low_frequencies(d):
    rng = np.random.default_rng(1)
    grid = Grid((-4.0,) * d, (0.125,) * d, (65,) * d)
    X = rng.uniform(-3, 3, size=(300, d))
    phi = transform(fill(grid, X)).characteristic_function()
    low = tuple(slice(5) for _ in range(d))
    t = np.stack(np.meshgrid(*[t[:5] for t in grid.frequencies], indexing="ij"), axis=-1)
    exact = np.exp(1j * t @ X.T).mean(axis=-1)
    np.testing.assert_allclose(phi[low], exact, atol=5e-4)
    # Without the compensation it is not: sinc^2 takes off t^2 spacing^2 / 12 along each axis.
    sinc = np.sinc(grid.frequencies[0][4] * 0.125 / (2 * np.pi)) ** 2
    assert 1 - sinc > 2e-3


def test_datum_to_the_right_has_positive_phase():
    grid = Grid((-2.0,), (0.25,), (33,))
    phi = transform(fill(grid, [[1.0]])).characteristic_function()
    t = grid.frequencies[0][1]
    assert np.angle(phi[1]) == pytest.approx(t)
    shifted = transform(fill(grid, [[-1.0]])).characteristic_function()
    assert np.angle(shifted[1]) == pytest.approx(-t)


@steady
@given(st.integers(1, 3).flatmap(binned))
def test_spectrum_is_normalised_and_does_not_know_the_unit_of_the_weights(sample):
    grid, X, weights = sample
    weights = weights + 1
    spectrum = transform(fill(grid, X, weights))
    assert spectrum.coefficients.ravel()[0] == pytest.approx(1)
    again = transform(fill(grid, X, 8 * weights))
    np.testing.assert_allclose(again.coefficients, spectrum.coefficients, atol=1e-12)


@steady
@given(st.integers(1, 3).flatmap(binned), st.integers(-5, 5))
def test_coefficients_do_not_depend_on_the_origin(sample, steps):
    grid, X, weights = sample
    shift = steps * np.array(grid.spacing)
    moved = Grid(tuple(map(float, grid.lower + shift)), grid.spacing, grid.shape)
    a, b = fill(grid, X, weights + 1), fill(moved, X + shift, weights + 1)
    if b.outside == a.outside:
        np.testing.assert_allclose(transform(b).coefficients, transform(a).coefficients, atol=1e-9)


def test_repr_tells_the_grid():
    grid = Grid((0.0,), (1.0,), (4,))
    assert repr(transform(fill(grid, [[1.0]]))) == f"Spectrum({grid!r})"


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan])
def test_histogram_without_mass_has_no_spectrum(mass):
    histogram = Histogram(Grid((0.0,), (1.0,), (4,)), [mass, 0, 0, 0])
    with pytest.raises(ValueError, match="the histogram must have a positive mass; got"):
        transform(histogram)


@pytest.mark.parametrize("shape", [(7,), (5, 8), (4, 6, 5)])
def test_transforms_of_padded_arrays_are_those_of_numpy(shape):
    padded = tuple(2 * n + 1 for n in shape)
    values = np.random.default_rng(0).normal(size=shape)
    series = spectrum.forward(values, padded)
    expected = np.fft.rfftn(values, padded, axes=range(len(shape)))
    np.testing.assert_allclose(series, expected, atol=1e-12)
    np.testing.assert_allclose(spectrum.inverse(series, padded, shape), values, atol=1e-13)


@pytest.mark.parametrize("shape", [(37, 41), (17, 13, 11)])
def test_transforms_are_the_same_to_the_bit_for_any_number_of_threads(monkeypatch, shape):
    monkeypatch.setattr(spectrum, "_LARGE", 0)
    padded = tuple(4 * n for n in shape)
    values = np.random.default_rng(0).normal(size=shape)
    results = []
    for n in (1, 2, 7):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n: n)
        series = spectrum.forward(values, padded)
        results.append((series.copy(), spectrum.inverse(series, padded, shape)))
    for series, back in results[1:]:
        np.testing.assert_array_equal(series, results[0][0])
        np.testing.assert_array_equal(back, results[0][1])
