"""The verbs for people's own tables, called as people call them."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import noisykmeans
from noisykmeans import NoisyKMeans, noise
from noisykmeans.cli import main
from noisykmeans.cli.columns import choose
from noisykmeans.cli.laws import parse_law
from noisykmeans.datasets import make_mod2

X, _, _ = make_mod2(5, 300, random_state=0)
RNG = np.random.default_rng(0)
SIZES = RNG.uniform(0.5, 2.5, size=X.shape)
Z = X + SIZES * RNG.normal(size=X.shape)
STARS = pd.DataFrame(
    {"name": "s", "x": Z[:, 0], "y": Z[:, 1], "x_err": SIZES[:, 0], "e_y": SIZES[:, 1]}
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    STARS.to_csv("stars.csv", index=False)
    return tmp_path


def call(*arguments, code=0):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done


def refused(*arguments, code=2):
    """The one line that tells what is wrong."""
    done = call(*arguments, code=code)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert done.stderr.endswith(line + "\n")
    assert "Traceback" not in done.output
    return line.removeprefix("Error: ")


def expected(**more):
    model = NoisyKMeans(3, random_state=0, **more)
    return model.fit(Z, X_err=SIZES)


def test_fit_matches_errors_and_tells_so(folder):
    done = call("fit", "stars.csv", "--clusters", 3)
    assert done.stdout.splitlines()[:2] == [
        "Columns: x, y",
        "Errors: x: x_err, y: e_y (matched by name)",
    ]
    assert "3 clusters, 300 rows" in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["stars.csv"]


@pytest.mark.usefixtures("folder")
def test_fit_finds_what_the_estimator_finds():
    found = json.loads(call("fit", "stars.csv", "-k", 3, "--json").stdout)
    model = expected()
    centers = [[c["center"]["x"], c["center"]["y"]] for c in found["clusters"]]
    np.testing.assert_allclose(centers, model.cluster_centers_)
    assert [c["observations"] for c in found["clusters"]] == np.bincount(model.labels_).tolist()
    assert sum(c["share"] for c in found["clusters"]) == pytest.approx(1)
    assert found["errors"] == {"x": "x_err", "y": "e_y"}
    assert found["rows"] == 300


@pytest.mark.usefixtures("folder")
def test_machines_read_json_and_nothing_else():
    done = call("fit", "stars.csv", "-k", 3, "--json")
    assert done.stdout.count("\n") == 1
    assert "matched by name" in done.stderr


def test_model_labels_and_report_are_written(folder):
    places = ["--out", "m.npz", "--labels", "l.csv", "--report", "r.html"]
    done = call("fit", "stars.csv", "-k", 3, *places)
    assert done.stdout.endswith("Model: m.npz\nLabels: l.csv\nReport: r.html\n")
    model = noisykmeans.load("m.npz")
    assert list(model.feature_names_in_) == ["x", "y"]
    labels = pd.read_csv("l.csv")
    assert list(labels.columns) == ["label"]
    np.testing.assert_array_equal(labels["label"], expected().labels_)
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "stars.csv: 3 clusters" in page
    assert "x: x_err, y: e_y (matched by name)" in page


@pytest.mark.usefixtures("folder")
def test_predict_gives_the_labels_of_the_fit():
    call("fit", "stars.csv", "-k", 3, "--out", "m.npz", "--labels", "l.parquet")
    labels = pd.read_parquet("l.parquet")["label"].tolist()
    printed = call("predict", "m.npz", "stars.csv").stdout.split()
    assert printed == ["label", *map(str, labels)]
    assert json.loads(call("predict", "m.npz", "stars.csv", "--json").stdout)["labels"] == labels
    call("predict", "m.npz", "stars.csv", "--out", "p.csv")
    assert pd.read_csv("p.csv")["label"].tolist() == labels


@pytest.mark.usefixtures("folder")
def test_predict_adds_probabilities_and_true_points():
    call("fit", "stars.csv", "-k", 3, "--out", "m.npz")
    done = call("predict", "m.npz", "stars.csv", "--proba", "--denoise", "--out", "p.csv")
    assert "Errors: x: x_err, y: e_y (matched by name)" in done.stderr
    found, model = pd.read_csv("p.csv"), expected()
    assert list(found.columns) == ["label", "p0", "p1", "p2", "x_true", "y_true"]
    np.testing.assert_allclose(found[["p0", "p1", "p2"]], model.predict_proba(Z, X_err=SIZES))
    np.testing.assert_allclose(found[["x_true", "y_true"]], model.denoise(Z, X_err=SIZES))


@pytest.mark.usefixtures("folder")
def test_predict_takes_other_names_in_the_order_of_the_fit():
    call("fit", "stars.csv", "-k", 3, "--out", "m.npz")
    STARS.rename(columns={"x": "ra", "y": "dec"}).to_csv("new.csv", index=False)
    message = refused("predict", "m.npz", "new.csv")
    assert message.startswith("--columns: there is no column of numbers 'x'; there are 'ra', 'dec'")
    labels = call("predict", "m.npz", "new.csv", "--columns", "ra,dec").stdout
    assert labels == call("predict", "m.npz", "stars.csv").stdout
    message = refused("predict", "m.npz", "new.csv", "--columns", "ra")
    assert message == "--columns: the model has 2 features; got 1"


def test_show_tells_centers_and_settings(folder):
    call("fit", "stars.csv", "-k", 3, "--noise", "gaussian:0,0.5", "--out", "m.npz")
    shown = call("show", "m.npz", "--report", "r.html").stdout
    assert "Features: x, y" in shown
    assert "noise=Gaussian((0.0, 0.5))" in shown
    assert (folder / "r.html").exists()
    found = json.loads(call("show", "m.npz", "--json").stdout)
    assert found["noise"] == "Gaussian((0.0, 0.5))"
    assert found["settings"]["n_clusters"] == "3"


@pytest.mark.usefixtures("folder")
def test_shared_law_adds_to_the_columns_of_errors():
    found = json.loads(call("fit", "stars.csv", "-k", 3, "--noise", "uniform:1", "--json").stdout)
    centers = [list(c["center"].values()) for c in found["clusters"]]
    model = expected(noise=noise.Uniform(1))
    np.testing.assert_allclose(centers, model.cluster_centers_)


@pytest.mark.usefixtures("folder")
def test_bootstrap_adds_standard_errors():
    arguments = ["fit", "stars.csv", "-k", 3, "--errors", "none", "--noise", "gaussian:1.5"]
    done = call(*arguments, "--bootstrap", 5, "--report", "r.html")
    assert done.stdout.count(" ± ") == 6
    assert '<th scope="col">± x</th>' in Path("r.html").read_text(encoding="utf-8")
    found = json.loads(call(*arguments, "--bootstrap", 5, "--json").stdout)
    model = NoisyKMeans(3, noise=noise.Gaussian(1.5), n_bootstrap=5, random_state=0).fit(Z)
    errors = [list(cluster["std_errors"].values()) for cluster in found["clusters"]]
    np.testing.assert_allclose(errors, model.center_std_errors_)


@pytest.mark.usefixtures("folder")
def test_range_of_clusters_is_compared():
    law = ["--errors", "none", "--noise", "gaussian:1.5"]
    done = call("fit", "stars.csv", "-k", "2-4", *law, "--json")
    count = noisykmeans.select_n_clusters(Z, [2, 3, 4], noise=noise.Gaussian(1.5), random_state=0)
    assert str(count) in done.stderr
    assert len(json.loads(done.stdout)["clusters"]) == count.recommended == 3


@pytest.mark.parametrize("wrong", ["0", "-3", "5-2", "three", "1.5", ""])
@pytest.mark.usefixtures("folder")
def test_numbers_of_clusters_that_are_none_are_told(wrong):
    message = refused("fit", "stars.csv", f"--clusters={wrong}")
    assert message.startswith(f"--clusters: {wrong!r} is no number of clusters")


@pytest.mark.usefixtures("folder")
def test_weights_are_no_feature_and_count():
    STARS.assign(w=np.arange(300) % 2).to_csv("w.csv", index=False)
    found = json.loads(call("fit", "w.csv", "-k", 3, "--weights", "w", "--json").stdout)
    half = NoisyKMeans(3, random_state=0).fit(Z[1::2], X_err=SIZES[1::2])
    centers = [list(c["center"].values()) for c in found["clusters"]]
    assert found["columns"] == ["x", "y"]
    found_centers, true = np.sort(centers, axis=0), np.sort(half.cluster_centers_, axis=0)
    np.testing.assert_allclose(found_centers, true, atol=0.1)


def gaps():
    frame = STARS.copy()
    frame.loc[[3, 7], "x"] = np.nan
    frame.to_csv("gaps.csv", index=False)


@pytest.mark.usefixtures("folder")
def test_rows_with_gaps_are_used_for_what_they_have():
    gaps()
    found = json.loads(call("fit", "gaps.csv", "-k", 3, "--json").stdout)
    assert (found["rows"], found["left_out"]) == (300, 0)


@pytest.mark.usefixtures("folder")
def test_rows_that_are_left_out_keep_their_place_among_the_labels():
    gaps()
    done = call("fit", "gaps.csv", "-k", 3, "--drop-missing", "--labels", "l.csv")
    assert "298 rows (2 left out)" in done.stdout
    labels = pd.read_csv("l.csv")["label"]
    assert np.flatnonzero(labels == -1).tolist() == [3, 7]


@pytest.mark.usefixtures("folder")
def test_gaps_without_errors_ask_for_a_decision():
    gaps()
    message = refused("fit", "gaps.csv", "-k", 3, "--errors", "none")
    assert message.startswith("the column 'x' has no value in 2 rows: give --drop-missing")


@pytest.mark.usefixtures("folder")
def test_errors_that_are_none_are_told_by_their_column():
    frame = STARS.copy()
    frame.loc[[4, 9], "e_y"] = np.nan
    frame.to_csv("lacking.csv", index=False)
    message = refused("fit", "lacking.csv", "-k", 3)
    assert message.startswith("the column 'e_y' has no value in 2 rows, the first of them row 4")
    call("fit", "lacking.csv", "-k", 3, "--drop-missing")
    frame.loc[4, "x_err"] = -1
    frame.to_csv("negative.csv", index=False)
    message = refused("fit", "negative.csv", "-k", 3)
    assert message == "the column 'x_err' holds -1 in row 4, and standard errors are 0 or more"


@pytest.mark.usefixtures("folder")
def test_words_among_numbers_are_not_left_out_unnoticed():
    STARS.astype({"x": object}).replace({"x": {STARS["x"][5]: "n/a!"}}).to_csv("w.csv", index=False)
    message = refused("fit", "w.csv", "-k", 3)
    assert message.startswith("the column 'x' holds other things than numbers, though 'x_err'")
    call("fit", "w.csv", "-k", 3, "--columns", "y")


@pytest.mark.usefixtures("folder")
def test_warnings_are_told_in_a_line():
    done = call("fit", "stars.csv", "-k", 3, "--errors", "none", "--noise", "gaussian:99")
    assert "Warning: noise has the standard deviation 99 in feature 0" in done.stderr


@pytest.mark.parametrize(
    ("numeric", "wanted", "errors", "described"),
    [
        (["x", "x_error"], None, "auto", "x: x_error (matched by name)"),
        (["x", "x_err"], None, "auto", "x: x_err (matched by name)"),
        (["x", "e_x"], None, "auto", "x: e_x (matched by name)"),
        (["x", "sigma_x"], None, "auto", "x: sigma_x (matched by name)"),
        (["X", "x_Err"], None, "auto", "X: x_Err (matched by name)"),
        (["x", "x_err", "y"], None, "auto", "x: x_err, y: exact (matched by name)"),
        (["x", "y"], None, "auto", "none"),
        (["x", "x_err"], None, "none", "none"),
        (["x", "y", "s"], None, "s", "x: s, y: s"),
        (["x", "y", "s", "t"], None, "t,s", "x: t, y: s"),
        (["x", "y", "s"], None, "none,s", "x: exact, y: s"),
        (["x", "y", "x_err", "e_x"], ["y"], "auto", "none"),
    ],
)
def test_columns_of_errors(numeric, wanted, errors, described):
    assert choose(numeric, wanted, errors).described() == described


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "z"], "--columns: there is no column of numbers 'z'; there are 'x', 'y'"),
        (["--columns", "name"], "--columns: there is no column of numbers 'name'"),
        (["--columns", "x,x"], "--columns: a column is named twice in x,x"),
        (["--errors", "dx"], "--errors: there is no column of numbers 'dx'"),
        (["--errors", "x_err,e_y,x_err"], "--errors must name one column for all or 2"),
        (["--columns", "x", "--errors", "x"], "--errors: 'x' cannot be a feature and its errors"),
        (["--weights", "w"], "--weights: there is no column of numbers 'w'"),
        (["--noise", "gauss:1"], "--noise: 'gauss:1' is no law: write NAME:NUMBER"),
        (["--noise", "gaussian"], "--noise: 'gaussian' needs numbers after a colon"),
        (["--noise", "student:4"], "--noise: 'student:4' needs numbers after a colon (degrees"),
        (["--noise", "laplace:-1"], "--noise: 'laplace:-1': scale must be finite and not negative"),
        (["--out", "m.txt"], "--out: m.txt is no .npz"),
        (["--labels", "l.txt"], "--labels: l.txt must end in .csv or .parquet"),
        (["--report", "stars.csv"], "--report: stars.csv must end in .html or .htm"),
        (["--out", "nowhere/m.npz"], "--out: there is no folder nowhere"),
    ],
)
def test_wrong_use_is_told_in_one_line(folder, arguments, message):
    assert refused("fit", "stars.csv", "-k", 3, *arguments).startswith(message)
    assert [path.name for path in folder.iterdir()] == ["stars.csv"]


@pytest.mark.usefixtures("folder")
def test_ambiguous_columns_of_errors_are_listed():
    STARS.assign(sigma_x=1.0).to_csv("two.csv", index=False)
    message = refused("fit", "two.csv", "-k", 3)
    assert message == (
        "2 columns may hold the errors of 'x': 'x_err', 'sigma_x'; choose with "
        "--errors x_err,..., or --errors none"
    )
    call("fit", "two.csv", "-k", 3, "--columns", "x,y", "--errors", "sigma_x,e_y")


@pytest.mark.parametrize(
    ("option", "name"), [("--out", "a.npz"), ("--labels", "a.csv"), ("--report", "a.html")]
)
def test_file_that_exists_is_replaced_only_by_force(folder, option, name):
    (folder / name).write_text("mine")
    message = refused("fit", "stars.csv", "-k", 3, option, name)
    assert message == f"{option}: {name} exists: give --force to replace it"
    assert (folder / name).read_text() == "mine"
    call("fit", "stars.csv", "-k", 3, option, name, "--force")
    assert (folder / name).read_bytes() != b"mine"


@pytest.mark.usefixtures("folder")
def test_table_that_cannot_be_read_is_told():
    assert refused("fit", "no.csv", "-k", 3) == "there is no file no.csv"
    Path("bad.parquet").write_bytes(b"PAR1 not really")
    assert "bad.parquet" in refused("fit", "bad.parquet", "-k", 3, code=1)
    pd.DataFrame({"name": ["a"]}).to_csv("words.csv", index=False)
    assert "no numbers" in refused("fit", "words.csv", "-k", 1, code=1)


@pytest.mark.usefixtures("folder")
def test_model_that_is_none_is_told():
    Path("m.npz").write_text("x,y\n")
    assert "is no file of noisykmeans" in refused("show", "m.npz", code=1)
    np.savez("other.npz", a=np.ones(3))
    assert "is no file of noisykmeans" in refused("predict", "other.npz", "stars.csv", code=1)
    noisykmeans.persistence.save(noise.Gaussian(1.0), "law.npz")
    assert refused("show", "law.npz") == "law.npz holds Gaussian, no fitted NoisyKMeans"
    assert refused("show", "none.npz") == "there is no file none.npz"


@pytest.mark.usefixtures("folder")
def test_data_that_cannot_be_clustered_are_told():
    assert "lower n_clusters" in refused("fit", "stars.csv", "-k", 301, code=1)


@pytest.mark.usefixtures("folder")
def test_debug_shows_the_traceback():
    done = call("fit", "stars.csv", "-k", 301, "--debug", code=1)
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: n_samples=300 should be >=")


@pytest.mark.usefixtures("folder")
def test_disk_that_fails_is_told(monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    message = refused("fit", "stars.csv", "-k", 3, "--report", "r.html", code=1)
    assert message == "cannot write r.html: No space left on device"


@pytest.mark.usefixtures("folder")
def test_missing_pyarrow_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = refused("fit", "stars.csv", "-k", 3, code=1)
    assert message == "tables need pyarrow: pip install 'noisykmeans[tables]'"


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("gaussian:0,2.6", noise.Gaussian((0, 2.6))),
        ("Gaussian:1", noise.Gaussian(1)),
        ("laplace:0.5", noise.Laplace(0.5)),
        ("uniform:0.5,1", noise.Uniform((0.5, 1))),
        ("cauchy:0.1", noise.Cauchy(0.1)),
        ("student:4,0.5", noise.Student(4, 0.5)),
        ("gaussian:1 + uniform:0.5", noise.Gaussian(1) + noise.Uniform(0.5)),
    ],
)
def test_words_for_laws(text, law):
    assert parse_law(text) == law


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(shell):
    script = call("completion", shell).stdout
    assert "_NOISYKMEANS_COMPLETE" in script
    assert "noisykmeans" in script


def test_bash_completes_verbs():
    command = Path(sys.executable).with_name("noisykmeans")
    environment = {
        "_NOISYKMEANS_COMPLETE": "bash_complete",
        "COMP_WORDS": "noisykmeans pre",
        "COMP_CWORD": "1",
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run([command], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "plain,predict\n"


@pytest.mark.parametrize("verb", list(main.commands))
def test_help_of_each_verb_has_an_example(verb):
    text = call(verb, "--help").stdout
    assert "Example" in text
    assert f"noisykmeans {verb} " in text


def test_help_documents_exit_codes():
    text = call("--help").stdout
    assert "Exit codes:" in text
    for code in "012":
        assert f"  {code}  " in text


@pytest.mark.timing
def test_million_rows_with_a_report_take_less_than_fifteen_seconds(tmp_path):
    rng = np.random.default_rng(0)
    clean, _, _ = make_mod2(3, 1_000_000, random_state=0)
    sizes = rng.uniform(0.5, 2, size=clean.shape)
    seen = clean + sizes * rng.normal(size=clean.shape)
    table = tmp_path / "million.parquet"
    columns = {"x": seen[:, 0], "y": seen[:, 1], "x_err": sizes[:, 0], "y_err": sizes[:, 1]}
    pd.DataFrame(columns).to_parquet(table)
    report = tmp_path / "million.html"
    command = Path(sys.executable).with_name("noisykmeans")
    start = time.perf_counter()
    subprocess.run(
        [command, "fit", table, "-k", "3", "--report", report, "--out", tmp_path / "m.npz"],
        check=True,
        capture_output=True,
        env={"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"},
    )
    assert time.perf_counter() - start < 15
    assert report.stat().st_size < 6_000_000


@pytest.mark.parametrize("named", [False, True])
def test_numbers_of_objects_among_the_features_are_pointed_out(named):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(60), "x": rng.normal(size=60), "x_err": np.full(60, 0.1)})
    frame.to_csv("ids.csv", index=False)
    done = call("fit", "ids.csv", "--clusters", 2, *(["--columns", "id,x"] if named else []))
    told = "Taken as features without error: id. If they are none: --columns x"
    assert (told in done.stdout) != named
