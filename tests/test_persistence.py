"""Files hold numbers and their meaning, are read back whole, and are refused where they lie."""

import json
import pickle
import stat
import zipfile
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.cluster import KMeans

import noisykmeans
from noisykmeans import DeconvolvedDensity, NoisyKMeans, noise, selection, windows
from noisykmeans.grid import Grid
from noisykmeans.groups import Groups, Kind
from noisykmeans.histogram import Histogram, fill
from noisykmeans.persistence import (
    UnreadableFileError,
    UnsavableError,
    _digest,
    check_savable,
    load,
    save,
)

RNG = np.random.default_rng(0)
LAWS = [
    noise.Gaussian((0.0, 3.0)),
    noise.Gaussian(np.array([0.5, 0.25])),
    noise.Gaussian.from_covariance([[2.0, 1.0], [1.0, 2.0]]),
    noise.Laplace([0.5, 1.0]),
    noise.Uniform(0.1),
    noise.Student(3.0, 0.5),
    noise.Cauchy((0.5, 2.0)),
    noise.Independent([noise.Gaussian(0.5), noise.Laplace(1.0)]),
    noise.Laplace(0.5) + noise.Gaussian(1.0),
    noise.Laplace((1.0, 2.0)).project([[1.0, 1.0]]),
    noise.Empirical(RNG.normal(size=(50, 2))),
    noise.Differences(RNG.normal(size=40), 3),
    noise.PerObservation([noise.Gaussian(1.0), noise.Laplace(2.0)], np.array([0, 1, 1])),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.fixture(scope="module")
def Z():  # noqa: N802  observations, as in the formulas
    clean = np.repeat([[0.0, 0.0], [5.0, 0.0]], 100, axis=0)
    return clean + np.random.default_rng(1).normal(size=clean.shape) * (1, 2)


def through(value, path):
    save(value, path)
    return noisykmeans.load(path)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_laws_come_back_equal(law, path):
    assert through(law, path) == law


def same(a, b):
    """Two models have the same attributes, to the last bit."""
    assert vars(a).keys() == vars(b).keys()
    for name, value in vars(a).items():
        alike(value, getattr(b, name), name)


def alike(value, other, name):
    assert type(other) is type(value), name
    if isinstance(value, np.ndarray):
        assert value.dtype == other.dtype
        np.testing.assert_array_equal(value, other)
    elif is_dataclass(value):
        for field in fields(value):
            alike(getattr(value, field.name), getattr(other, field.name), f"{name}.{field.name}")
    else:
        assert value == other, name


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"noise": noise.Gaussian((0, 2)), "random_state": 0},
        {"noise": noise.Laplace(1.0), "bandwidth": selection.Renoise(copies=3)},
        {"noise": noise.Laplace(1.0), "bandwidth": "rate", "deconvolution": "kernel"},
        {"noise": noise.Laplace(1.0), "bandwidth": (1, 2.0), "window": windows.FlatTop(0.3)},
        {"noise": noise.Gaussian(1.0), "init": np.array([[0, 0], [1, 1]]), "tol": 0},
    ],
)
def test_models_come_back_the_same_and_predict_the_same(options, path, Z):
    model = NoisyKMeans(2, **options).fit(Z)
    loaded = through(model, path)
    same(model, loaded)
    np.testing.assert_array_equal(loaded.predict(Z), model.labels_)


@pytest.mark.parametrize("law", [None, noise.Gaussian((0, 2))])
def test_densities_come_back_the_same(law, path, Z):
    model = DeconvolvedDensity(law).fit(Z)
    model.save(path)
    loaded = noisykmeans.load(path)
    np.testing.assert_array_equal(loaded.score_samples(Z), model.score_samples(Z))
    np.testing.assert_array_equal(loaded.sample(5, 0), model.sample(5, 0))


def test_errors_of_each_observation_and_constant_features_come_back(path, Z):
    X = np.column_stack([Z, np.ones(len(Z))])
    sizes = np.column_stack([np.full((len(Z), 2), 0.5), np.zeros(len(Z))])
    model = NoisyKMeans(2, random_state=0).fit(X, X_err=sizes)
    same(model, through(model, path))


def test_models_of_many_features_keep_mixture_and_standard_errors(path):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(200, 5)) + 6 * (np.arange(200) % 2)[:, None]
    sizes = rng.uniform(0.1, 1, (200, 5))
    model = NoisyKMeans(2, n_bootstrap=2, random_state=0).fit(wide, X_err=sizes)
    model.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.center_std_errors_, model.center_std_errors_)
    for answer in ("predict_proba", "denoise", "score_samples"):
        one, other = (getattr(m, answer)(wide, X_err=sizes) for m in (model, again))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("deconvolution", ["em", "kernel"])
def test_models_of_many_features_with_standard_errors_come_back(deconvolution, path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) + 4 * rng.integers(0, 2, (300, 1))
    model = NoisyKMeans(
        2, noise=noise.Uniform(0.5), deconvolution=deconvolution, n_bootstrap=3, random_state=0
    ).fit(X)
    loaded = through(model, path)
    same(model, loaded)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_models_that_are_not_fitted_can_be_saved(path):
    model = NoisyKMeans(3, noise=noise.Laplace(0.5), random_state=np.random.RandomState(3))
    loaded = through(model, path)
    assert loaded.noise == model.noise
    assert loaded.random_state.randint(10**9) == model.random_state.randint(10**9)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        loaded.predict([[0.0]])


def test_feature_names_outputs_and_metadata_requests_come_back(path, Z):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(Z, columns=["x", "y"])
    with sklearn.config_context(enable_metadata_routing=True):
        model = NoisyKMeans(2, noise=noise.Gaussian((0, 2))).set_fit_request(X_err=True)
        loaded = through(model.set_output(transform="pandas").fit(frame), path)
        routing = loaded.get_metadata_routing()
        assert routing.fit.requests["X_err"] is True
    assert list(loaded.feature_names_in_) == ["x", "y"]
    assert list(loaded.transform(frame).columns) == ["noisykmeans0", "noisykmeans1"]
    clone(loaded).fit(frame)


def test_histograms_and_groups_come_back_with_mass_count_and_law(path):
    grid = Grid((0.0, -1.0), (0.5, 0.25), (4, 8))
    histogram = fill(grid, RNG.uniform(0, 1, (10, 2)), np.full(10, 0.5))
    histogram.save(path)
    loaded = load(path)
    assert (loaded.grid, loaded.mass, loaded.count) == (grid, histogram.mass, 10)
    np.testing.assert_array_equal((loaded + histogram).values, 2 * histogram.values)
    assert (loaded + histogram).count == 20
    kinds = [Kind(noise.Gaussian(1.0), (0, 1)), Kind(noise.Laplace(0.5), (1,))]
    groups = Groups.fill(grid, RNG.uniform(0, 0.7, (9, 2)), np.ones(9), np.arange(9) % 2, kinds)
    groups.save(path)
    assert [member.kind for member in load(path).members] == kinds
    assert (load(path) + groups).mass == 18


def test_count_is_unknown_where_one_is():
    grid = Grid((0.0,), (1.0,), (3,))
    counted = fill(grid, [[0.5], [9.0]])
    assert counted.count == counted.coarser().count == 2
    assert (counted + Histogram(grid, np.ones(3))).count is None


def test_numpy_reads_the_arrays_of_a_file(path, Z):
    model = NoisyKMeans(2, noise=noise.Gaussian((0, 2))).fit(Z)
    model.save(path)
    with np.load(path, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["cluster_centers_"], model.cluster_centers_)
        assert json.loads(arrays["header"].tobytes())["version"] == 1


def test_nothing_on_the_way_is_pickled(path, Z, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError

    model = NoisyKMeans(2, noise=noise.Gaussian((0, 2)), random_state=0).fit(Z)
    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    same(model, through(model, path))


CUSTOM = noise.Custom(lambda t: np.exp(-(t**2).sum(-1) / 2), lambda s, rng: rng.normal(size=s))


def test_a_law_made_of_functions_is_refused_before_and_after_a_fit(path):
    model = NoisyKMeans(2, noise=CUSTOM)
    for attempt in (check_savable, lambda value: save(value, path)):
        with pytest.raises(UnsavableError, match=r"noise is Custom\(.* functions cannot be saved"):
            attempt(model)
    with pytest.raises(UnsavableError, match=r"noise.laws.1 is Custom"):
        check_savable(NoisyKMeans(2, noise=noise.Laplace(1.0) + CUSTOM))
    with pytest.raises(UnsavableError, match=r"init=.* is a function"):
        check_savable(NoisyKMeans(2, init=np.mean))
    with pytest.raises(UnsavableError, match=r"it=.* is of type set"):
        check_savable({1, 2})
    with pytest.raises(UnsavableError, match="x is an array of complex128"):
        check_savable({"x": np.ones(2) * 1j})
    with pytest.raises(UnsavableError, match="x has keys that are no text"):
        check_savable({"x": {1: 2}})


def test_classes_of_others_are_refused_though_they_bear_our_names(path):
    class Laplace(noise.Laplace):
        pass

    with pytest.raises(UnsavableError, match="cannot be saved"):
        save(Laplace(1.0), path)
    Laplace.__module__ = "noisykmeans.noise.laws"
    with pytest.raises(UnsavableError, match="cannot be saved"):
        save(Laplace(1.0), path)


def test_a_save_that_fails_leaves_the_old_file_and_no_other(path, tmp_path, monkeypatch):
    save(noise.Laplace(1.0), path)
    before = path.read_bytes()
    with pytest.raises(UnsavableError):
        save(NoisyKMeans(noise=CUSTOM), path)
    monkeypatch.setattr("noisykmeans.persistence.os.fsync", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(noise.Laplace(2.0), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_files_are_as_readable_as_others_in_the_folder(path, tmp_path):
    save(noise.Laplace(1.0), path)
    other = tmp_path / "other"
    other.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_a_folder_that_is_not_there_is_said_to_be(tmp_path):
    with pytest.raises(FileNotFoundError):
        save(noise.Laplace(1.0), tmp_path / "none" / "law.npz")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")


def edited(path, change):
    """Change the header of a file, with all checksums of zip right."""
    with np.load(path) as arrays:
        parts = dict(arrays)
    header = json.loads(parts.pop("header").tobytes())
    change(header, parts)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, header=text, **parts)


@pytest.fixture
def saved(path, Z):
    NoisyKMeans(2, noise=noise.Gaussian((0, 2)), random_state=0).fit(Z).save(path)
    return path


def test_foreign_files_are_refused(path):
    for content in (b"", b"hello", b"PK\x05\x06" + 18 * b"\0"):
        path.write_bytes(content)
        with pytest.raises(UnreadableFileError, match="no file of noisykmeans"):
            load(path)
    np.savez(path, x=np.ones(3))
    with pytest.raises(UnreadableFileError, match="it has no header"):
        load(path)
    np.savez(path, header=np.frombuffer(b'{"format": "other"}', np.uint8))
    with pytest.raises(UnreadableFileError, match="its header is another's"):
        load(path)
    np.savez(path, header=np.frombuffer(b"[" * 100_000, np.uint8))
    with pytest.raises(UnreadableFileError, match="its header cannot be read"):
        load(path)


def test_pickles_are_refused_unopened(path):
    np.savez(path, header=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UnreadableFileError):
        load(path)


def test_newer_files_say_so(saved):
    edited(saved, lambda header, _: header.update(version=2))
    with pytest.raises(UnreadableFileError, match=r"version 2 .* install a newer noisykmeans"):
        load(saved)


def test_edited_files_are_refused(saved):
    def move(_, arrays):
        arrays["cluster_centers_"] = arrays["cluster_centers_"] + 1

    edited(saved, move)
    with pytest.raises(UnreadableFileError, match="has been changed since it was saved"):
        load(saved)


@pytest.mark.parametrize(
    "tag", ["os.system", "noise.Custom", "noise.__builtins__", "experiments.x"]
)
def test_only_listed_classes_are_made(saved, tag):
    def change(header, arrays):
        header["content"] = {"class": tag, "values": {}}
        header["digest"] = _digest(header["content"], arrays)

    edited(saved, change)
    with pytest.raises(UnreadableFileError, match="unknown kind"):
        load(saved)


def test_files_larger_than_the_limit_are_refused_before_memory_is_taken(path):
    save({"x": np.zeros(10**6)}, path)
    assert path.stat().st_size < 20_000
    with pytest.raises(UnreadableFileError, match=r"80\d* bytes, more than the limit of 1000000"):
        load(path, limit=10**6)
    assert load(path, limit=10**7)["x"].shape == (10**6,)


def test_an_array_that_claims_more_than_it_has_takes_no_memory(saved):
    with zipfile.ZipFile(saved) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    claim = parts["cluster_centers_.npy"].replace(b"(2, 2), ", b"(9999999999, 2), ")
    parts["cluster_centers_.npy"] = claim
    with zipfile.ZipFile(saved, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(UnreadableFileError, match="not what its own header says"):
        load(saved)


def test_truncated_and_damaged_files_are_refused_or_harmless(saved):
    content, model = saved.read_bytes(), load(saved)
    rng = np.random.default_rng(0)
    for end in rng.integers(0, len(content), 40):
        saved.write_bytes(content[:end])
        with pytest.raises(UnreadableFileError):
            load(saved)
    for place in rng.integers(0, len(content), 300):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        saved.write_bytes(damaged)
        try:
            loaded = load(saved)
        except UnreadableFileError:
            continue
        same(loaded, model)  # a bit that means nothing


def test_plain_k_means_predicts_the_same(Z):
    model = NoisyKMeans(3, noise=noise.Gaussian((0, 2)), random_state=0).fit(Z)
    plain = model.to_sklearn()
    assert type(plain) is KMeans
    np.testing.assert_array_equal(plain.cluster_centers_, model.cluster_centers_)
    points = np.random.default_rng(2).normal(size=(10_000, 2)) * 5
    np.testing.assert_array_equal(plain.predict(points), model.predict(points))
    np.testing.assert_allclose(plain.transform(points), model.transform(points))
    assert plain.n_features_in_ == 2


def test_plain_k_means_keeps_names_and_needs_a_fit(Z):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(Z, columns=["x", "y"])
    plain = NoisyKMeans(2, noise=noise.Gaussian((0, 2))).fit(frame).to_sklearn()
    assert list(plain.feature_names_in_) == ["x", "y"]
    plain.predict(frame)
    binned = NoisyKMeans(2, noise=noise.Gaussian(1.0))
    binned.fit_histogram(fill(Grid.covering(Z, 0.25), Z))
    assert not hasattr(binned.to_sklearn(), "labels_")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        NoisyKMeans(2).to_sklearn()
