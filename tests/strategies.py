"""Hypothesis strategies, and the laws and samples that several test files share."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from noisykmeans import windows
from noisykmeans.grid import Grid
from noisykmeans.noise import Custom, Gaussian, Independent, Laplace, Projected, Uniform

# Compilation and a shared machine make single examples slow; examples are the same in every run.
steady = settings(
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)


def exponential_cf(t):
    return (np.exp(-1j * t) / (1 - 1j * t)).prod(axis=-1)


def exponential_sampler(shape, rng):
    return rng.exponential(size=shape) - 1


def slow_exponential_cf(t):
    return exponential_cf(0.4 * t)


def slow_exponential_sampler(shape, rng):
    return 0.4 * exponential_sampler(shape, rng)


# Centred exponential errors of scale 1 and 0.4 on independent axes: skew to the right.
EXPONENTIAL = Custom(exponential_cf, exponential_sampler)
SHORT_EXPONENTIAL = Custom(slow_exponential_cf, slow_exponential_sampler)

# Name: (number of axes, law).
LAWS = {
    "gaussian": (1, Gaussian(0.7)),
    "gaussian in any dimension": (3, Gaussian(0.7)),
    "gaussian per axis": (2, Gaussian((0.0, 1.3))),
    "gaussian correlated": (2, Gaussian.from_covariance([[1.0, 0.6], [0.6, 0.5]])),
    "gaussian singular": (2, Gaussian.from_covariance([[1.0, 2.0], [2.0, 4.0]])),
    "laplace": (1, Laplace(0.9)),
    "laplace per axis": (2, Laplace((0.4, 1.1))),
    "uniform": (1, Uniform(1.4)),
    "uniform per axis": (2, Uniform((0.8, 0.0))),
    "custom": (1, EXPONENTIAL),
    "custom in any dimension": (2, SHORT_EXPONENTIAL),
    "custom of known dimension": (2, Custom(exponential_cf, exponential_sampler, 2)),
    "independent": (3, Independent([Gaussian(0.5), EXPONENTIAL, Uniform((1.0,))])),
    "sum": (2, Gaussian((0.0, 1.0)) + Uniform(0.5)),
    "sum in any dimension": (2, Laplace(0.5) + EXPONENTIAL),
    "projected down": (1, Laplace((1.0, 0.5)).project([[1.0, -1.0]])),
    "projected up": (2, EXPONENTIAL.project([[1.0], [-0.5]])),
    "projected sum": (2, Projected(Laplace(0.5) + Uniform(1.0), [[1.0, 0.5], [0.0, 1.0]])),
}

WINDOWS = [
    windows.Cubic(),
    windows.FlatTop(),
    windows.FlatTop(flat=0.0),
    windows.FlatTop(flat=0.8),
    windows.Sinc(),
    windows.Gaussian(),
]

scales = st.floats(0, 1e3, allow_subnormal=False)


def per_axis(d):
    """One scale, or one for each of d axes."""
    return st.one_of(scales, st.tuples(*[scales] * d))


def gaussians(d):
    factors = npst.arrays(float, (d, d), elements=st.floats(-9, 9, width=16))
    correlated = factors.map(lambda A: Gaussian.from_covariance(A @ A.T))
    return st.one_of(per_axis(d).map(Gaussian), correlated)


def printable_laws(d):
    """Laws on d axes whose repr can be evaluated."""
    simple = st.one_of(gaussians(d), per_axis(d).map(Laplace), per_axis(d).map(Uniform))
    single = st.one_of(gaussians(1), per_axis(1).map(Laplace), per_axis(1).map(Uniform))
    independent = st.lists(single, min_size=d, max_size=d).map(Independent)
    P = npst.arrays(float, (d, 2), elements=st.floats(-9, 9, width=16))
    laplace = per_axis(2).map(Laplace)
    projected = st.builds(Projected, laplace, P)
    one = st.one_of(simple, independent, projected)
    return st.one_of(one, st.builds(lambda a, b: a + b, one, one))


@st.composite
def grids(draw, d):
    """Dyadic grids of a few nodes."""
    spacing = [2.0 ** draw(st.integers(-3, 2)) for _ in range(d)]
    lower = [s * draw(st.integers(-20, 20)) for s in spacing]
    shape = [draw(st.integers(2, 6)) for _ in range(d)]
    return Grid(tuple(lower), tuple(spacing), tuple(shape))


@st.composite
def binned(draw, d, beyond=0.0):
    """A grid, points on it (and up to ``beyond`` times its size outside) and their weights."""
    grid = draw(grids(d))
    low, high = np.array(grid.lower), np.array(grid.upper)
    n = draw(st.integers(1, 12))
    u = draw(npst.arrays(float, (n, d), elements=st.floats(-beyond, 1 + beyond)))
    weights = draw(npst.arrays(float, n, elements=st.floats(0, 100, allow_subnormal=False)))
    X = low + u * (high - low)
    return grid, (X if beyond else np.clip(X, low, high)), weights
