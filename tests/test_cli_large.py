"""The verbs for tables too large to be held: in batches they find what all rows at once tell."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import noisykmeans
from noisykmeans.cli import main, passes
from noisykmeans.datasets import make_mod2

N = 9000
CLEAN, _, _ = make_mod2(5, N, random_state=0)
RNG = np.random.default_rng(0)
SIZES = RNG.uniform(0.5, 1.5, size=CLEAN.shape)
Z = CLEAN + SIZES * RNG.normal(size=CLEAN.shape)
STARS = pd.DataFrame({"x": Z[:, 0], "y": Z[:, 1], "x_err": SIZES[:, 0], "y_err": SIZES[:, 1]})
LAW = ["--errors", "none", "--noise", "gaussian:1.1"]
COMMAND = Path(sys.executable).with_name("noisykmeans")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(passes, "MOST_VALUES", 5000)
    save(STARS)
    return tmp_path


def save(frame, name="stars.parquet"):
    if name.endswith(".csv"):
        frame.to_csv(name, index=False)
    else:
        parquet.write_table(pa.Table.from_pandas(frame), name, row_group_size=1000)


def call(*arguments, code=0):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done


def refused(*arguments, code=2):
    """The one line that tells what is wrong."""
    (line,) = [x for x in call(*arguments, code=code).stderr.splitlines() if x.startswith("Error")]
    return line.removeprefix("Error: ")


def fitted(*arguments):
    return json.loads(call("fit", *arguments, "-k", 3, "--json").stdout)


def both(*arguments):
    """What is found in batches, and at once."""
    return fitted(*arguments), fitted(*arguments, "--in-memory")


def centers(found):
    return np.array([list(cluster["center"].values()) for cluster in found["clusters"]])


@pytest.mark.parametrize("name", ["stars.parquet", "stars.csv"])
def test_centers_of_one_law_are_those_of_all_rows_at_once_to_the_last_bit(name):
    save(STARS, name)
    large, small = both(name, *LAW)
    np.testing.assert_array_equal(centers(large), centers(small))
    assert (large["rows"], large["left_out"]) == (N, 0)
    assert "observations" not in large["clusters"][0]
    assert small["clusters"][0]["observations"]


@pytest.mark.parametrize("errors", ["auto", "none,y_err", "x_err"])
def test_centers_of_rows_with_errors_are_those_of_all_rows_at_once(errors):
    options = ["--columns", "x,y", "--errors", errors]
    options += ["--noise", "gaussian:0.5"] if errors != "auto" else []
    large, small = both("stars.parquet", *options)
    np.testing.assert_allclose(centers(large), centers(small), atol=1e-9)
    assert large["errors"] == small["errors"]


def test_weights_count_and_standard_errors_agree_as_far_as_iterations_go():
    save(STARS.assign(w=np.arange(N) % 3))
    large, small = both("stars.parquet", *LAW, "--columns", "x,y", "--weights", "w")
    np.testing.assert_array_equal(centers(large), centers(small))
    large, small = both("stars.parquet", *LAW, "--columns", "x,y", "--bootstrap", 5)
    for one, other in zip(large["clusters"], small["clusters"], strict=True):
        assert one["std_errors"] == pytest.approx(other["std_errors"], rel=1e-4)


@pytest.mark.parametrize("name", ["stars.parquet", "stars.csv"])
def test_labels_of_a_second_pass_are_those_of_the_fit(name):
    frame = STARS.copy()
    frame.loc[[3, 5000], "x"] = np.nan
    frame.loc[7, "y_err"] = np.nan
    save(frame, name)
    options = ["fit", name, "-k", 3, "--drop-missing", "--labels"]
    done = call(*options, "l.csv")
    assert "8,997 rows (3 left out)" in done.stdout
    call(*options, "m.parquet", "--in-memory")
    labels = pd.read_csv("l.csv")["label"]
    assert np.flatnonzero(labels == -1).tolist() == [3, 7, 5000]
    assert (labels == pd.read_parquet("m.parquet")["label"]).all()


def test_a_report_draws_the_rows_that_it_draws_of_all_at_once():
    pages = []
    for more in ([], ["--in-memory"]):
        call("fit", "stars.parquet", "-k", 3, *LAW, "--columns", "x,y", "--report", "r.html", *more)
        page = Path("r.html").read_text(encoding="utf-8")
        pages.append(json.loads(page.split('id="data">')[1].split("</script>")[0]))
        assert "Every 3th observation is drawn" in page
        assert "9,000" in page
        Path("r.html").unlink()
    assert pages[0]["points"] == pages[1]["points"]
    assert len(pages[0]["points"]["rows"]) == 3000


def test_numbers_of_clusters_are_compared_on_a_fair_sample(monkeypatch):
    monkeypatch.setattr("noisykmeans.thinning.MOST_ROWS", 2000)
    done = call("fit", "stars.parquet", "-k", "2-4", *LAW, "--columns", "x,y", "--json")
    assert "compared on a fair sample of 2,000 rows" in done.stderr
    assert len(json.loads(done.stdout)["clusters"]) == 3


def test_many_features_are_fitted_by_a_fair_sample_and_told_so(monkeypatch):
    monkeypatch.setattr("noisykmeans.thinning.MOST_ROWS", 2000)
    done = call("fit", "stars.parquet", "-k", 3, *LAW, "--columns", "x,y,x_err,y_err")
    assert "Fitted to a fair sample of 2,000 rows" in done.stdout
    assert "3 clusters, 9,000 rows" in done.stdout


@pytest.mark.parametrize("option", ["--proba", "--denoise"])
@pytest.mark.parametrize("out", ["p.csv", "p.parquet"])
def test_predict_writes_in_batches_what_it_writes_at_once(option, out):
    call("fit", "stars.parquet", "-k", 3, *LAW, "--columns", "x,y", "--out", "m.npz")
    read = pd.read_csv if out.endswith("csv") else pd.read_parquet
    asked = ["predict", "m.npz", "stars.parquet", option, "--errors", "none", "--force"]
    found = []
    for more in ([], ["--in-memory"]):
        call(*asked, "--out", out, *more)
        found.append(read(out))
    pd.testing.assert_frame_equal(*found)
    assert len(found[0]) == N
    printed = [call(*asked[:3], *more).stdout for more in ([], ["--in-memory"])]
    assert printed[0] == printed[1]
    assert printed[0].count("\n") == N + 1


def test_probabilities_of_rows_with_errors_agree_as_far_as_their_groups_go():
    call("fit", "stars.parquet", "-k", 3, "--out", "m.npz")
    found = []
    for more in ([], ["--in-memory"]):
        call("predict", "m.npz", "stars.parquet", "--proba", "--out", "p.csv", "--force", *more)
        found.append(pd.read_csv("p.csv"))
    assert (found[0]["label"] == found[1]["label"]).all()
    apart = (found[0] - found[1])[["p0", "p1", "p2"]].abs().max(axis=1)
    assert 0 < np.quantile(apart, 0.99) < 0.01


def test_json_of_many_labels_is_refused():
    call("fit", "stars.parquet", "-k", 3, *LAW, "--columns", "x,y", "--out", "m.npz")
    message = refused("predict", "m.npz", "stars.parquet", "--json")
    assert message == (
        "--json prints all labels at once, and a table of 9,000 rows is read in batches: give "
        "--out labels.csv or .parquet without --json, or --in-memory"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--errors", "none"], "k-means without errors looks at single rows"),
        (["--noise", "cauchy:0.1"], "--noise with an infinite variance looks at single rows"),
    ],
)
def test_fits_that_need_all_rows_at_once_are_refused(options, message):
    told = refused("fit", "stars.parquet", "-k", 3, *options)
    assert told.startswith(f"a table of 9,000 rows is read in batches, and {message}")
    assert told.endswith("or --in-memory to read all rows at once")
    save(STARS, "stars.csv")
    told = refused("fit", "stars.csv", "-k", 3, *options)
    assert told.startswith("a table of so many rows is read in batches")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("x", np.nan, "the column 'x' has no value in some rows, and a table of 9,000 rows is"),
        ("y_err", np.nan, "the column 'y_err' has no value in some rows"),
        ("y_err", np.inf, "the column 'y_err' has the value inf in some rows"),
        ("y_err", -2.0, "the column 'y_err' holds -2, and standard errors are 0 or more"),
    ],
)
def test_rows_that_batches_cannot_use_are_told(column, value, message):
    frame = STARS.copy()
    frame.loc[8000, column] = value
    save(frame)
    told = refused("fit", "stars.parquet", "-k", 3, "--labels", "l.csv")
    assert told.startswith(message)
    assert ("--drop-missing" in told) == np.isnan(value)
    assert not Path("l.csv").exists()


def test_labels_that_cannot_be_written_to_their_end_leave_no_file(monkeypatch):
    def broken(*_):
        yield np.zeros(3, dtype=np.int32)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(noisykmeans.NoisyKMeans, "predict_batches", broken)
    options = [*LAW, "--columns", "x,y", "--labels", "l.csv"]
    message = refused("fit", "stars.parquet", "-k", 3, *options, code=1)
    assert message == "cannot write l.csv: No space left on device"
    assert not Path("l.csv").exists()


def test_tables_that_fit_are_held(monkeypatch):
    monkeypatch.setattr(passes, "MOST_VALUES", 2 * N)
    assert fitted("stars.parquet", *LAW, "--columns", "x,y")["clusters"][0]["observations"]
    assert "observations" not in fitted("stars.parquet")["clusters"][0]


# The command with a low limit, as a process that may have a terminal.
LOW = (
    "from noisykmeans.cli import main, passes; passes.MOST_VALUES = 5000; "
    "main(prog_name='noisykmeans')"
)


def on_terminal(*arguments):
    """What the command leaves on a terminal of its own."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", LOW, *arguments]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while more := os.read(ours, 2**16):
                shown += more
        except OSError:  # Linux ends a terminal so
            pass
    os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode()


def test_progress_is_shown_on_a_terminal():
    shown = on_terminal("fit", "stars.parquet", "-k3", *LAW, "--columns=x,y", "--labels=l.csv")
    for words in ("fit, pass 1", "labels, pass 1", "9,000 rows", "million rows/s", "MB/s"):
        assert words in shown
    shown = on_terminal("fit", "stars.parquet", "-k3", *LAW, "--columns=x,y", "--json")
    assert "pass 1" not in shown


def test_nothing_of_progress_is_written_to_a_pipe():
    command = [sys.executable, "-c", LOW, "fit", "stars.parquet", "-k3", *LAW, "--columns=x,y"]
    environment = os.environ | {"FORCE_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    assert "pass" not in done.stdout


def test_labels_whose_reader_has_gone_end_quietly():
    save(pd.concat([STARS] * 10))
    call("fit", "stars.parquet", "-k", 3, *LAW, "--columns", "x,y", "--out", "m.npz")
    command = [sys.executable, "-c", LOW, "predict", "m.npz", "stars.parquet"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "label\n"
        process.stdout.close()
        assert process.stderr.read() == ""


# A process begins with the size of the one that started it, so a small one stands between.
MEASURED = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"""


def peak(*arguments):
    """The most memory that the command has held, in MB."""
    command = [sys.executable, "-c", MEASURED, COMMAND, *arguments]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.timing
def test_memory_does_not_grow_with_the_table():
    rows, rng = 1_000_000, np.random.default_rng(0)
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    with parquet.ParquetWriter("large.parquet", schema) as writer:
        for _ in range(5):
            X = rng.normal(size=(rows, 2)) + 5 * rng.integers(0, 3, (rows, 1))
            writer.write_table(pa.table({"x": X[:, 0], "y": X[:, 1]}, schema))
    options = ["-k3", "--noise", "gaussian:0.5", "--labels", "l.parquet", "--force"]
    peak("fit", "large.parquet", *options)  # compiled once, which takes memory of its own
    large = peak("fit", "large.parquet", *options, "--out", "m.npz")
    whole = peak("fit", "large.parquet", *options, "--in-memory")
    assert parquet.read_metadata("l.parquet").num_rows == 5 * rows
    assert large < 500
    assert large < whole - 60
    assert peak("predict", "m.npz", "large.parquet", "--out", "p.csv") < 500
