import numpy as np
import pytest

from noisykmeans import datasets, noise


def test_mod1_has_two_clusters_and_vertical_errors():
    X, Z, y = datasets.make_mod1(9, 200_000, random_state=0)
    assert np.bincount(y) / len(y) == pytest.approx([0.5, 0.5], abs=0.01)
    assert X[y == 0].mean(axis=0) == pytest.approx([0, 0], abs=0.02)
    assert X[y == 1].mean(axis=0) == pytest.approx([5, 0], abs=0.02)
    assert np.cov((X - [[5 * c, 0] for c in y]).T) == pytest.approx(np.eye(2), abs=0.02)
    assert np.cov((Z - X).T) == pytest.approx(np.diag([0, 9]), abs=0.1)
    assert datasets.mod1_noise(9) == noise.Gaussian((0.0, 3.0))


def test_mod2_has_three_clusters_of_which_two_approach():
    for u, (a, b) in [(1, (15, 5)), (4, (13.5, 6.5)), (10, (10.5, 9.5))]:
        X, Z, y = datasets.make_mod2(u, 100_000, random_state=0)
        means = [X[y == j].mean(axis=0) for j in range(3)]
        assert np.array(means) == pytest.approx(np.array([[0, 0], [a, b], [b, a]]), abs=0.03)
        assert np.cov((Z - X).T) == pytest.approx(np.diag([5, 5]), abs=0.1)


def test_the_paper_s_sample_sizes_are_the_defaults():
    assert len(datasets.make_mod1(1)[0]) == 100
    assert len(datasets.make_mod2(1)[0]) == 180


def test_a_seed_repeats_a_sample():
    for make in (datasets.make_mod1, datasets.make_mod2):
        for a, b in zip(make(3, 50, 7), make(3, 50, 7), strict=True):
            assert (a == b).all()


@pytest.mark.parametrize("u", [-1, np.nan, np.inf])
def test_settings_beyond_the_model_are_refused(u):
    with pytest.raises(ValueError, match="u must be a finite number"):
        datasets.make_mod1(u)
