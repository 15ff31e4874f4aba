import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from sklearn.base import clone

from contracts import check_law
from noisykmeans import noise
from noisykmeans.noise import (
    Cauchy,
    Custom,
    Gaussian,
    Independent,
    Laplace,
    Noise,
    Projected,
    Sum,
    Uniform,
)
from strategies import (
    EXPONENTIAL,
    LAWS,
    exponential_cf,
    exponential_sampler,
    gaussians,
    printable_laws,
    steady,
)

NAMES = {name: getattr(noise, name) for name in noise.__all__}


@pytest.mark.parametrize(("d", "law"), LAWS.values(), ids=LAWS.keys())
def test_every_law_keeps_the_contract(d, law):
    check_law(law, d)


@pytest.mark.parametrize(
    ("law", "distribution", "low", "high"),
    [
        (Gaussian(0.7), stats.norm(scale=0.7), -9, 9),
        (Gaussian.from_covariance([[0.49]]), stats.norm(scale=0.7), -9, 9),
        (Laplace(0.7), stats.laplace(scale=0.7), -40, 40),
        (Uniform(0.7), stats.uniform(-0.7, 1.4), -0.7, 0.7),
        (EXPONENTIAL, stats.expon(loc=-1), -1, 60),
        (Laplace((1.0, 2.0)).project([[0.0, 0.35]]), stats.laplace(scale=0.7), -40, 40),
    ],
)
def test_characteristic_function_is_the_integral_against_the_density(law, distribution, low, high):
    for t in (0.3, 1.0, 2.5):
        real, imaginary = (
            integrate.quad(lambda x: wave(t * x) * distribution.pdf(x), low, high, points=[0.0])[0]  # noqa: B023  used at once
            for wave in (np.cos, np.sin)
        )
        phi = law.characteristic_function([t])
        np.testing.assert_allclose([phi.real, np.imag(phi)], [real, imaginary], atol=1e-8)
    np.testing.assert_allclose(law.covariance, [[distribution.var()]], rtol=1e-6)


def test_error_skewed_to_the_right_has_negative_imaginary_part():
    # E sin(t eps) = -t^3 E eps^3 / 6 + ..., and E eps^3 = 2 for the centred exponential.
    assert np.imag(EXPONENTIAL.characteristic_function([0.1])) == pytest.approx(-1e-3 / 3, rel=0.1)
    mirrored = EXPONENTIAL.project([[-1.0]])
    assert np.imag(mirrored.characteristic_function([0.1])) == pytest.approx(1e-3 / 3, rel=0.1)


@pytest.mark.parametrize("law", [Gaussian(0.5), Laplace(0.5), Uniform(0.5)])
def test_single_scale_fits_any_dimension(law):
    assert law.dimension is None
    for d in (1, 2, 5):
        assert law.characteristic_function(np.ones((4, d))).shape == (4,)
        assert law.sample((4, d), 0).shape == (4, d)
        one = law.characteristic_function([1.0])
        np.testing.assert_allclose(law.characteristic_function(np.ones(d)), one**d, rtol=1e-12)
    assert law.sample(4, 0).shape == (4, 1)


@pytest.mark.parametrize("law", [Gaussian((0.0, 2.0)), Laplace((0.0, 2.0)), Uniform((0.0, 2.0))])
def test_axis_of_scale_zero_has_no_error(law):
    assert law.characteristic_function([123.0, 0.0]) == 1
    assert (law.sample(9, 0)[:, 0] == 0).all()
    assert (law.sample(9, 0)[:, 1] != 0).all()


def test_samples_of_a_singular_gaussian_lie_on_its_line():
    errors = Gaussian.from_covariance([[1.0, 2.0], [2.0, 4.0]]).sample(1000, 0)
    np.testing.assert_allclose(errors[:, 1], 2 * errors[:, 0], atol=1e-6)


def test_correlated_errors_have_the_sign_of_their_correlation():
    law = Gaussian.from_covariance([[1.0, -0.9], [-0.9, 1.0]])
    assert np.corrcoef(law.sample(1000, 0).T)[0, 1] < -0.8
    assert law.characteristic_function([1.0, 1.0]) > law.characteristic_function([1.0, -1.0])


@steady
@given(st.integers(1, 3).flatmap(printable_laws))
def test_repr_evaluates_to_an_equal_law(law):
    twin = eval(repr(law), NAMES)
    assert twin == law
    assert hash(twin) == hash(law)
    assert repr(twin) == repr(law)


@pytest.mark.parametrize(
    "law",
    [
        Sum([Laplace(1.0), Gaussian(2.0)]),
        Sum([Gaussian(3.0), Gaussian(4.0)]),
        Sum([Laplace(1.0)]),
        Sum([Sum([Laplace(1.0), Uniform(2.0)]), Laplace(3.0)]),
        Projected(Laplace(1.0) + Uniform(2.0), [[1.0, 2.0]]),
        Projected(Laplace(1.0), 2.0),
        Independent([Laplace(1.0) + Uniform(2.0), Gaussian.from_covariance([[2.0]])]),
    ],
)
def test_repr_of_a_nested_law_evaluates_to_an_equal_law(law):
    assert eval(repr(law), NAMES) == law


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (Gaussian(3), "Gaussian(3.0)"),
        (Gaussian(np.array([1, 2])), "Gaussian((1.0, 2.0))"),
        (Gaussian.from_covariance(np.eye(1)), "Gaussian.from_covariance(((1.0,),))"),
        (Uniform(np.float32(0.5)), "Uniform(0.5)"),
        (Independent([Gaussian(1), Laplace(2)]), "Independent((Gaussian(1.0), Laplace(2.0)))"),
        (Laplace(1) + Uniform(2), "Laplace(1.0) + Uniform(2.0)"),
        (Laplace(1).project([[1, 2]]), "Projected(Laplace(1.0), ((1.0, 2.0),))"),
    ],
)
def test_repr_is_short_and_plain(law, text):
    assert repr(law) == text


def test_laws_are_compared_by_value():
    assert Gaussian(1) == Gaussian(1.0) == Gaussian(np.float64(1))
    assert Gaussian([1, 2]) == Gaussian((1.0, 2.0)) == Gaussian(np.array([1.0, 2.0]))
    assert Gaussian(1.0) != Gaussian(2.0)
    assert Gaussian(1.0) != Laplace(1.0)
    assert Laplace(1.0) + Uniform(1.0) != Laplace(1.0) + Uniform(2.0)
    assert len({Gaussian(1), Gaussian(1.0), Gaussian(2), Laplace(1)}) == 3
    assert Custom(exponential_cf, exponential_sampler) == EXPONENTIAL
    assert Custom(exponential_cf, exponential_sampler, 1) != EXPONENTIAL


def test_law_does_not_follow_changes_of_the_array_it_was_made_from():
    scale, S = np.array([1.0, 2.0]), np.eye(2)
    laws = [np.array([[1.0, 0.0]]), [Laplace(1.0)]]
    made = [Gaussian(scale), Gaussian.from_covariance(S), Laplace((1.0, 2.0)).project(laws[0])]
    made.append(Independent(laws[1]))
    texts, keys = [repr(law) for law in made], [hash(law) for law in made]
    values = [law.characteristic_function(np.ones(law.dimension)) for law in made]
    scale[:], S[:], laws[0][:] = 7.0, 7.0, 7.0
    laws[1][0] = Laplace(7.0)
    assert [repr(law) for law in made] == texts
    assert [hash(law) for law in made] == keys
    assert [law.characteristic_function(np.ones(law.dimension)) for law in made] == values


def test_covariance_of_a_law_is_a_copy():
    law = Gaussian.from_covariance([[1.0, 0.5], [0.5, 1.0]])
    law.covariance[:] = 0
    assert law.covariance[0, 0] == 1


def test_laws_may_come_from_a_generator():
    law = Independent(Laplace(s) for s in (1.0, 2.0))
    assert law == Independent([Laplace(1.0), Laplace(2.0)])
    assert clone(law) == law


# Sums


@steady
@given(gaussians(2), gaussians(2))
def test_sum_of_gaussians_is_gaussian(a, b):
    total = a + b
    assert isinstance(total, Gaussian)
    t = np.array([[0.1, 0.0], [0.0, 0.2], [0.05, -0.1], [0.01, 0.02]])
    expected = a.characteristic_function(t) * b.characteristic_function(t)
    np.testing.assert_allclose(total.characteristic_function(t), expected, rtol=1e-7, atol=1e-300)


def test_sum_multiplies_characteristic_functions_and_adds_covariances():
    a, b, c = Laplace((0.5, 1.0)), Gaussian.from_covariance([[1.0, 0.5], [0.5, 2.0]]), Uniform(0.7)
    total = a + b + c
    t = np.random.default_rng(0).normal(size=(20, 2))
    product = np.prod([law.characteristic_function(t) for law in (a, b, c)], axis=0)
    np.testing.assert_allclose(total.characteristic_function(t), product, rtol=1e-12)
    expected = a.covariance + b.covariance + np.eye(2) * 0.7**2 / 3
    np.testing.assert_allclose(total.covariance, expected, rtol=1e-12)
    assert total.dimension == 2


def test_gaussian_terms_of_sums_become_one():
    total = (Laplace(1.0) + Gaussian(3.0)) + (Uniform(1.0) + Gaussian(4.0))
    assert total.laws == (Gaussian(5.0), Laplace(1.0), Uniform(1.0))


def test_law_added_to_something_else_is_a_type_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        Laplace(1.0) + 1.0


# Parameters, as scikit-learn uses them


def test_set_params_on_a_clone_leaves_the_original_alone():
    law = Gaussian(0.5)
    twin = clone(law).set_params(scale=2.0)
    assert (law, twin) == (Gaussian(0.5), Gaussian(2.0))
    assert twin.characteristic_function([1.0]) == pytest.approx(np.exp(-2))


def test_nested_parameters_are_reached_by_double_underscores():
    law = Laplace((1.0, 2.0)).project([[1.0, 1.0]])
    assert law.get_params()["law__scale"] == (1.0, 2.0)
    assert set(law.get_params(deep=False)) == {"law", "matrix"}
    twin = clone(law).set_params(law__scale=(3.0, 1.0))
    assert twin == Laplace((3.0, 1.0)).project([[1.0, 1.0]])
    np.testing.assert_allclose(twin.covariance, [[20.0]])
    np.testing.assert_allclose(law.covariance, [[10.0]])


def test_set_params_refuses_unknown_names():
    with pytest.raises(ValueError, match=r"Laplace\(1.0\) has no parameter 'size': it has 'scale'"):
        Laplace(1.0).set_params(size=2.0)


def test_law_is_unchanged_by_parameters_that_it_refuses():
    law = Laplace(1.0)
    with pytest.raises(ValueError, match="scale must be finite and not negative"):
        law.set_params(scale=-2.0)
    assert law == Laplace(1.0)


# What is refused


@pytest.mark.parametrize(
    ("law", "name"), [(Gaussian, "scale"), (Laplace, "scale"), (Uniform, "half_width")]
)
class TestScales:
    @pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, (1.0, -1.0), (np.nan, 1.0)])
    def test_must_be_finite_and_not_negative(self, law, name, value):
        with pytest.raises(ValueError, match=f"{name} must be finite and not negative; got"):
            law(value)

    @pytest.mark.parametrize("value", [1j, "1", True, (1.0, 1j), object()])
    def test_must_be_real(self, law, name, value):
        with pytest.raises(TypeError, match=f"{name} must be a real number or one per axis; got"):
            law(value)

    @pytest.mark.parametrize(("value", "shape"), [([], r"\(0,\)"), ([[1.0]], r"\(1, 1\)")])
    def test_must_be_one_number_or_a_vector(self, law, name, value, shape):
        message = f"{name} must be a number or one per axis; got shape {shape}"
        with pytest.raises(ValueError, match=message):
            law(value)


@pytest.mark.parametrize(
    ("S", "error", "message"),
    [
        ([[1.0, 0.5], [0.4, 1.0]], ValueError, "covariance must be symmetric; got"),
        ([[1.0, 2.0], [2.0, 1.0]], ValueError, "semidefinite; its smallest eigenvalue is -1$"),
        ([[-1.0]], ValueError, "covariance must be positive semidefinite"),
        ([[np.nan]], ValueError, "covariance must be finite; got"),
        ([[np.inf, 0.0], [0.0, 1.0]], ValueError, "covariance must be finite; got"),
        ([[1.0, 0.0]], ValueError, r"covariance must be a square matrix; got shape \(1, 2\)"),
        ([1.0], ValueError, r"covariance must be a square matrix; got shape \(1,\)"),
        (1.0, ValueError, r"covariance must be a square matrix; got shape \(\)"),
        (np.zeros((0, 0)), ValueError, r"a square matrix; got shape \(0, 0\)"),
        ([[1j]], TypeError, "covariance must be a real matrix; got"),
    ],
)
def test_gaussian_refuses_what_is_no_covariance(S, error, message):
    with pytest.raises(error, match=message):
        Gaussian.from_covariance(S)


@pytest.mark.parametrize("params", [{}, {"scale": 1.0, "covariance": [[1.0]]}])
def test_gaussian_takes_one_of_scale_and_covariance(params):
    with pytest.raises(ValueError, match="Gaussian takes either scale or covariance"):
        Gaussian(**params)


@pytest.mark.parametrize(
    "law",
    [
        Gaussian((1.0, 2.0)),
        Gaussian.from_covariance(np.eye(2)),
        Laplace((1.0, 2.0)),
        Uniform((1.0, 2.0)),
        Independent([Laplace(1.0), Laplace(1.0)]),
        Laplace((1.0, 2.0)) + Uniform(1.0),
        Laplace(1.0).project(np.eye(2)),
        Custom(exponential_cf, exponential_sampler, 2),
    ],
)
def test_wrong_number_of_axes_is_refused(law):
    message = "has 2 axes, where 3 are needed: give one entry for each feature, or a single number"
    for use in (
        lambda: law.characteristic_function(np.zeros((4, 3))),
        lambda: law.sample((4, 3), 0),
        lambda: law.project(np.eye(3)),
        lambda: law.check_dimension(3),
    ):
        with pytest.raises(ValueError, match=message):
            use()


def test_single_number_is_no_frequency():
    with pytest.raises(ValueError, match=r"frequencies have the shape \(..., d\); got a single"):
        Laplace(1.0).characteristic_function(1.0)


@pytest.mark.parametrize(
    "combine",
    [
        lambda: Laplace((1.0, 2.0)) + Uniform((1.0, 2.0, 3.0)),
        lambda: Sum([Gaussian((1.0, 2.0)), Laplace(1.0), Uniform((1.0, 2.0, 3.0))]),
    ],
)
def test_laws_of_different_dimension_do_not_add(combine):
    with pytest.raises(ValueError, match="cannot add laws of 2 and of 3 axes"):
        combine()


def test_gaussians_of_different_dimension_do_not_add():
    with pytest.raises(ValueError, match=r"Gaussian\(\(1.0, 2.0\)\) has 2 axes, where 3 are"):
        Gaussian((1.0, 2.0)) + Gaussian((1.0, 2.0, 3.0))


def test_independent_takes_laws_of_one_axis():
    message = r"takes one law of one axis for each feature; law 1, Laplace.*, has 2 axes"
    with pytest.raises(ValueError, match=message):
        Independent([Gaussian(1.0), Laplace((1.0, 2.0))])


@pytest.mark.parametrize("combine", [Independent, Sum])
def test_combinations_take_laws(combine):
    with pytest.raises(ValueError, match="at least one law is needed; got none"):
        combine([])
    with pytest.raises(TypeError, match=r"1\.0 is no noise law: use noisykmeans\.noise"):
        combine([Laplace(1.0), 1.0])


@pytest.mark.parametrize("P", [[[np.nan, 1.0]], np.zeros((1, 1, 2))])
def test_projection_must_be_a_finite_matrix(P):
    with pytest.raises(ValueError, match=r"a projection is a finite matrix of shape \(r, d\)"):
        Laplace((1.0, 2.0)).project(P)


@pytest.mark.parametrize(
    ("params", "name"),
    [((1.0, exponential_sampler), "characteristic_function"), ((exponential_cf, None), "sampler")],
)
def test_custom_takes_functions(params, name):
    with pytest.raises(TypeError, match=f"{name} must be a function; got"):
        Custom(*params)


@pytest.mark.parametrize("dimension", [None, 2])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: 2 * exponential_cf(t), r"must be 1 at t = 0; got \(?2.*: it is E exp"),
        (lambda t: np.nan * t[..., 0], "must be 1 at t = 0; got nan"),
        (lambda t: np.exp(-(t**2)), r"must map shape \(1, 2\) to \(1,\); got \(1, 2\): sum or"),
        (lambda t: 1 + t.sum(axis=-1) / 10, r"\(-t\) must be the complex conjugate"),
        (lambda t: np.exp(-1j * np.abs(t).sum(axis=-1)), r"\(-t\) must be the complex conjugate"),
    ],
)
def test_custom_refuses_what_is_no_characteristic_function(function, message, dimension):
    with pytest.raises(ValueError, match=f"characteristic_function.*{message}"):
        Custom(function, exponential_sampler, dimension).characteristic_function(np.ones((3, 2)))


def test_custom_refuses_samples_of_wrong_shape():
    law = Custom(exponential_cf, lambda shape, rng: rng.exponential(size=shape[0]))
    with pytest.raises(ValueError, match=r"sampler must return the shape \(3, 1\); got \(3,\)"):
        law.sample(3, 0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_covariance_of_a_custom_law_has_the_scale_of_its_errors(scale):
    S = scale**2 * np.array([[2.0, -0.5], [-0.5, 1.0]])
    law = Custom(
        lambda t: np.exp(-0.5 * np.einsum("...i,ij,...j", t, S, t) + 1j * scale * t[..., 0]),
        lambda shape, rng: rng.multivariate_normal([scale, 0.0], S, size=shape[0]),
        2,
    )
    np.testing.assert_allclose(law.covariance, S, rtol=1e-6)


def test_covariance_of_a_custom_law_without_error_is_zero():
    law = Custom(lambda t: np.ones(t.shape[:-1]), lambda shape, _: np.zeros(shape), 2)
    np.testing.assert_array_equal(law.covariance, np.zeros((2, 2)))


def test_noise_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Noise()


@pytest.mark.parametrize("mean", [0.0, 3.0, -5000.0, 1e7])
@pytest.mark.parametrize("sd", [0.0, 1.0, 1e-3])
def test_mean_far_from_zero_is_found(mean, sd):
    law = Custom(
        lambda t: np.exp(1j * mean * t - (sd * t) ** 2 / 2).prod(axis=-1),
        lambda size, rng: rng.normal(mean, sd, size),
    )
    assert law.mean(1)[0] == pytest.approx(mean, rel=1e-6, abs=1e-9)


def test_projection_of_a_heavy_law_is_heavy_where_it_reaches():
    law = Independent([Cauchy(1.0), Gaussian(2.0)]).project([[1.0, 1.0], [0.0, 3.0]])
    np.testing.assert_array_equal(law.covariance, [[np.inf, 0], [0, 36]])
