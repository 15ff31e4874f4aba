import matplotlib as mpl
import numpy as np
import pytest

from noisykmeans.demo import Demo

mpl.use("Agg")


@pytest.fixture(scope="module")
def demo():
    return Demo.run(2)


def test_both_methods_see_the_same_observations(demo):
    for model in demo.models.values():
        np.testing.assert_array_equal(model.predict(demo.observations), model.labels_)
    assert demo.observations.shape == demo.clean.shape == (100, 2)
    assert (demo.observations[:, 0] == demo.clean[:, 0]).all()


def test_rows_are_ordered_and_show_the_difference(demo):
    plain, noisy = demo.rows()
    assert (plain.method, noisy.method) == ("k-means", "noisy k-means")
    assert plain.risk > 0.2
    assert noisy.risk < 0.05
    assert noisy.distortion < 0.5 * plain.distortion
    for row in (plain, noisy):
        assert row.centers[0, 0] <= row.centers[1, 0]
    assert np.abs(noisy.centers - [[0, 0], [5, 0]]).max() < 1.5


def test_seed_repeats_the_demo(demo):
    for a, b in zip(demo.rows(), Demo.run(2).rows(), strict=True):
        np.testing.assert_array_equal(a.centers, b.centers)
        assert a.risk == b.risk
    assert not np.array_equal(Demo.run(3).observations, demo.observations)


def test_figure_shows_both_partitions_with_the_risk_in_the_title(demo):
    figure = demo.figure()
    titles = [ax.get_title() for ax in figure.axes]
    for title, row in zip(titles, demo.rows(), strict=True):
        assert title.startswith(row.method + ": ")
        assert f"{row.risk:.0%}" in title
