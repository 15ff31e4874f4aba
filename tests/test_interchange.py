"""Tables and numbers of other libraries keep their names, units and errors, or are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from astropy import units
from astropy.table import MaskedColumn, QTable, Table
from uncertainties import ufloat, unumpy

from noisykmeans import DeconvolvedDensity, NoisyKMeans, noise
from noisykmeans.interchange import from_quantities, from_table, from_uncertainties

Z = np.random.default_rng(0).normal(size=(80, 2)) * [4, 1]
SIZES = np.random.default_rng(1).uniform(0.1, 0.5, size=Z.shape)
LAW = noise.Gaussian(0.3)


def fitted(X):
    return NoisyKMeans(2, noise=LAW, random_state=0).fit(X)


FRAMES = [pd.DataFrame, pl.DataFrame]


@pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars"])
def test_frames_give_their_names(frame):
    table = frame({"height": Z[:, 0], "width": Z[:, 1]})
    model = fitted(table)
    assert list(model.feature_names_in_) == ["height", "width"]
    np.testing.assert_array_equal(model.cluster_centers_, fitted(Z).cluster_centers_)
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    other = frame({"width": Z[:, 1], "height": Z[:, 0]})
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(other)


@pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars"])
def test_errors_may_be_frames(frame):
    model = NoisyKMeans(2, random_state=0)
    errors = frame({"height": SIZES[:, 0], "width": SIZES[:, 1]})
    centers = model.fit(Z, X_err=errors).cluster_centers_
    np.testing.assert_array_equal(centers, model.fit(Z, X_err=SIZES).cluster_centers_)


@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_distances_come_as_the_frame_that_was_asked_for(kind, frame):
    model = fitted(Z).set_output(transform=kind)
    distances = model.transform(Z)
    assert isinstance(distances, frame)
    assert list(distances.columns) == ["noisykmeans0", "noisykmeans1"]
    assert list(model.get_feature_names_out()) == ["noisykmeans0", "noisykmeans1"]


def test_notebooks_show_the_model():
    html = fitted(Z)._repr_html_()
    assert "NoisyKMeans" in html
    assert "Gaussian(0.3)" in html


def test_errors_are_converted_to_the_units_of_their_columns():
    table = QTable(
        {"x": Z[:, 0] * units.m, "y": Z[:, 1] * units.km, "e_x": SIZES[:, 0] * units.cm}
        | {"e_y": SIZES[:, 1] * units.m}
    )
    found = from_table(table, ["x", "y"], ["e_x", "e_y"])
    np.testing.assert_array_equal(found.X, Z)
    np.testing.assert_allclose(found.X_err, SIZES * [1e-2, 1e-3])
    assert found.names == ("x", "y")
    assert found.units == (units.m, units.km)


def test_centers_return_to_their_units():
    found = from_table(QTable({"x": Z[:, 0] * units.m, "n": Z[:, 1]}), ["x", "n"])
    centers = found.restore(fitted(found.X).cluster_centers_)
    assert centers["x"].unit == units.m
    assert isinstance(centers["n"], np.ndarray)
    with pytest.raises(ValueError, match=r"values must have a column for each of x, n; got .*3, 1"):
        found.restore(np.ones((3, 1)))


def test_masked_values_are_missing():
    column = MaskedColumn([1.0, 2.0, 3.0], mask=[False, True, False], unit="m")
    found = from_table(Table({"x": column}), ["x"])
    np.testing.assert_array_equal(found.X, [[1], [np.nan], [3]])
    assert found.units == (units.m,)


def test_integers_are_numbers():
    assert from_table(Table({"n": [1, 2]}), ["n"]).X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (1.0 * units.m, 1.0 * units.s, "errors of 'x' are in s, which is no unit of the same kind"),
        (1.0 * units.m, 1.0, "the errors of 'x' have no unit, and 'x' has the unit m"),
        (1.0, 1.0 * units.m, "'x' has no unit, and the errors of 'x' have the unit m"),
    ],
)
def test_units_that_do_not_agree_are_refused(x, error, message):
    with pytest.raises(ValueError, match=message):
        from_quantities({"x": np.ones(3) * x}, [np.ones(3) * error])


def test_columns_that_are_not_there_are_named():
    with pytest.raises(ValueError, match="there is no column 'z'; there are x, y"):
        from_table(Table({"x": [1], "y": [2]}), ["x", "z"])
    with pytest.raises(ValueError, match="errors must be one for each of x, y; got 1 of them"):
        from_table(Table({"x": [1], "y": [2]}), ["x", "y"], ["x"])
    with pytest.raises(ValueError, match=r"a column must have the shape \(n,\); got \(2, 2\)"):
        from_quantities({"x": np.ones((2, 2))})


@pytest.mark.parametrize("wrong", [Z * units.m, QTable({"x": Z[:, 0] * units.m})])
def test_units_are_never_dropped(wrong):
    for model in (NoisyKMeans(2, noise=LAW), DeconvolvedDensity(LAW)):
        with pytest.raises(TypeError, match=r"X is a \w+ of astropy, whose unit plain numbers"):
            model.fit(wrong)
    with pytest.raises(TypeError, match="X is a"):
        fitted(Z).predict(wrong)


def test_units_of_errors_and_laws_are_never_dropped():
    with pytest.raises(TypeError, match="X_err is a Quantity of astropy"):
        NoisyKMeans(2).fit(Z, X_err=SIZES * units.m)
    with pytest.raises(TypeError, match="a parameter of a law is a Quantity of astropy"):
        noise.Gaussian(3 * units.m)


def test_frame_with_a_column_called_unit_is_plain():
    fitted(pd.DataFrame(Z, columns=["unit", "value"]))


def test_uncertainties_are_values_and_covariances():
    X, X_cov = from_uncertainties(unumpy.uarray(Z, SIZES))
    np.testing.assert_array_equal(X, Z)
    np.testing.assert_allclose(X_cov, np.einsum("ni,ij->nij", SIZES**2, np.eye(2)))
    np.testing.assert_allclose(
        NoisyKMeans(2, random_state=0).fit(X, X_cov=X_cov).cluster_centers_,
        NoisyKMeans(2, random_state=0).fit(Z, X_err=SIZES).cluster_centers_,
    )


def test_correlations_within_a_row_are_kept():
    rows = []
    for a, b in Z:
        common = ufloat(0, 0.4)
        rows.append([ufloat(a, 0.3) + common, b - common])
    X, X_cov = from_uncertainties(rows)
    np.testing.assert_allclose(X, Z)
    np.testing.assert_allclose(X_cov, np.broadcast_to([[0.25, -0.16], [-0.16, 0.16]], (80, 2, 2)))


def test_correlations_between_rows_are_refused():
    common = ufloat(0, 1)
    with pytest.raises(ValueError, match="the rows 0 and 2 have correlated errors"):
        from_uncertainties([1 + common, ufloat(1, 1), common])


def test_exact_numbers_beside_uncertain_ones_have_no_variance():
    X, X_cov = from_uncertainties([[ufloat(1, 0.5), 2.0]])
    assert X.tolist() == [[1.0, 2.0]]
    np.testing.assert_allclose(X_cov, [[[0.25, 0], [0, 0]]])
    with pytest.raises(ValueError, match=r"values must have the shape \(n, d\) or \(n,\)"):
        from_uncertainties(np.ones((2, 2, 2)))


def test_uncertainties_are_never_dropped():
    with pytest.raises(TypeError, match=r"X holds values with uncertainties.*from_uncertainties"):
        fitted(unumpy.uarray(Z, SIZES))
