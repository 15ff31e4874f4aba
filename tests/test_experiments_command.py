"""`noisykmeans reproduce`, called as people call it, and stopped as it happens to them."""

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from io import StringIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rich.console import Console

from noisykmeans.cli import main
from noisykmeans.datasets import make_mod1
from noisykmeans.experiments import progress, runner, tables
from noisykmeans.experiments.folder import JOURNAL
from noisykmeans.experiments.journal import Journal
from noisykmeans.experiments.methods import METHODS
from noisykmeans.metrics import clustering_risk

mpl.use("Agg")

COMMAND = Path(sys.executable).with_name("noisykmeans")
SMALL = ["mod1", "--u", "1", "--u", "9", "--grid", "2"]
# Wall times differ, of course, and so does the order in which runs finish.
NOT_REPEATED = {JOURNAL, "times.parquet", "environment.json"}


def reproduce(*arguments):
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder of three runs for u = 1 and 9, done at one go in this process."""
    out = tmp_path_factory.mktemp("whole")
    done = reproduce(*SMALL, "--runs", 3, "--workers", 1, "--out", out)
    assert done.exit_code == 0, done.output
    return out, done


def contents(folder):
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert not [name for name in files if name.endswith(".part")]
    return {name: content for name, content in files.items() if name not in NOT_REPEATED}


def test_folder_holds_tables_figures_and_circumstances(whole):
    out, _ = whole
    figures = {"mod1-settings", "mod1-results", "mod1-9"}
    pictures = {f"{name}.{ending}" for name in figures for ending in ("png", "svg")}
    files = {"runs.parquet", "times.parquet", "summary.csv", "summary.md", "environment.json"}
    assert {path.name for path in out.iterdir()} == files | pictures | {JOURNAL}


def test_every_run_of_every_method_is_a_row(whole):
    runs = pd.read_parquet(whole[0] / "runs.parquet")
    times = pd.read_parquet(whole[0] / "times.parquet")
    assert list(runs.columns) == list(tables.COLUMNS)
    assert len(runs) == 2 * 3 * len(METHODS)
    key = ["experiment", "u", "replicate", "seed", "method"]
    assert not runs.duplicated(key).any()
    pd.testing.assert_frame_equal(runs[key], times[key])
    assert (times.time > 0).all()
    for row in runs.itertuples():
        X, _, y = make_mod1(row.u, 100, random_state=row.seed)
        assert row.risk == clustering_risk(np.stack(row.centers), X, y)


def test_summary_is_that_of_the_rows(whole):
    runs = pd.read_parquet(whole[0] / "runs.parquet")
    summary = pd.read_csv(whole[0] / "summary.csv")
    grouped = runs.groupby(["experiment", "u", "method"]).risk
    for row in summary.itertuples():
        risks = grouped.get_group((row.experiment, row.u, row.method))
        assert row.failures == (risks > 0.2).sum()
        assert row.mean_risk == pytest.approx(risks.mean())
        half = 1.96 * risks.std() / np.sqrt(3)
        assert [row.low, row.high] == pytest.approx(
            [row.mean_risk - half, row.mean_risk + half], abs=1e-10
        )
    words = summary[(summary.u == 9) & (summary.method == "k-means")]
    assert words.paper.tolist() == ["22 to 68"]


def test_circumstances_are_recorded(whole):
    record = json.loads((whole[0] / "environment.json").read_text())
    assert record["settings"]["grid"] == 2
    assert (record["seed"], record["runs"], record["u"]) == (0, 3, [1, 9])
    assert {"python", "noisykmeans", "numpy", "scikit-learn"} <= set(record["versions"])
    assert record["runs_in_this_call"] == 6
    assert record["wall_seconds"] > 0
    assert record["machine"]["cores"] >= 1
    assert record["command_line"]
    assert min(record["seconds_per_fit"].values()) > 0


def test_plain_lines_tell_the_progress_and_a_table_the_end(whole):
    out, done = whole
    lines = done.stderr.splitlines()
    assert lines[0] == "6 runs"
    assert lines[-1].startswith("6 of 6 runs (100%), ")
    assert "\x1b" not in done.output
    assert "Mod1: failures in 3 runs (risk > 0.2)" in done.stdout
    assert "of 3 agree." in done.stdout
    assert f"Tables and figures: {out}" in done.stdout


def test_quiet_prints_nothing_and_other_figures_are_those_of_the_other_experiment(tmp_path):
    done = reproduce(
        "mod2", "--u", 4, "--runs", 1, "--grid", 1, "--workers", 1, "--quiet", "--out", tmp_path
    )
    assert (done.exit_code, done.output) == (0, "")
    names = {path.stem for path in tmp_path.glob("*.png")}
    assert names == {"mod2-settings", "mod2-results", "lloyd-instability"}


def test_bar_on_a_terminal_shows_rate_and_remaining_time(monkeypatch):
    screen = StringIO()

    def terminal(**_):
        return Console(file=screen, force_terminal=True, width=80)

    monkeypatch.setattr(progress, "Console", terminal)
    with progress.shown(5, 2, quiet=False) as advance:
        for _ in range(3):
            advance()
    assert "5/5" in screen.getvalue()
    assert " runs/s" in screen.getvalue()
    assert "left" in screen.getvalue()


def test_resuming_a_finished_reproduction_changes_nothing(whole):
    out, _ = whole
    before = contents(out)
    done = reproduce(*SMALL, "--runs", 3, "--out", out, "--resume")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert contents(out) == before


def children(pid):
    """The processes whose parent is that one, and theirs."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(stat.parent.name)] = int(fields[1])
    found, last = set(), {pid}
    while last:
        last = {child for child, parent in parents.items() if parent in last}
        found |= last
    return found


def alive(pids):
    states = []
    for pid in pids:
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists():
            states.append(stat.read_text().rpartition(")")[2].split()[0])
    return [state for state in states if state != "Z"]


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def start(out):
    # Where the tests run in the background, interrupts are ignored, by all that they start too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [COMMAND, "reproduce", *SMALL, "--runs", "5000", "--workers", "2", "--out", out],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, before)
    journal = out / JOURNAL
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 4)
    return process, children(process.pid)


def check_resumed(out, whole, *, finished):
    done = reproduce(*SMALL, "--runs", 3, "--workers", 1, "--out", out, "--resume")
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith(f"6 runs, {finished} of them finished earlier")
    assert contents(out) == contents(whole[0])


def interrupt(process):
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all processes


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("stop", [interrupt, subprocess.Popen.terminate])
def test_interrupted_it_stops_at_once_and_goes_on_to_identical_tables(tmp_path, whole, stop):
    process, workers = start(tmp_path / "out")
    assert len(workers) >= 2
    stop(process)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stdout == ""
    *_, last = stderr.splitlines()
    assert last.startswith("Stopped. ")
    assert last.endswith("of 10000 runs are kept: the same command with --resume goes on.")
    assert "Traceback" not in stderr
    wait_until(lambda: not alive(workers), 10)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {JOURNAL}
    _, *records = Journal.read(tmp_path / "out" / JOURNAL)
    wanted = [record for record in records if record["run"][2] < 3]
    check_resumed(tmp_path / "out", whole, finished=len(wanted))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_killed_it_leaves_no_workers_and_goes_on_to_identical_tables(tmp_path, whole):
    process, workers = start(tmp_path / "out")
    process.kill()
    process.communicate(timeout=30)
    wait_until(lambda: not alive(workers), 10)
    journal = tmp_path / "out" / JOURNAL
    # A run was being written: two whole ones are left, and a part of the third.
    lines = journal.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"run":["mod1",1,' in line and line[-2:] == b"}\n"]
    first = [line for line in kept if int(line.split(b",")[2].split(b"]")[0]) < 3]
    journal.write_bytes(lines[0] + b"".join(first[:2]) + first[-1][:50])
    check_resumed(tmp_path / "out", whole, finished=2)


def test_more_runs_are_added_to_those_that_are_there(tmp_path, whole):
    first = reproduce(*SMALL, "--runs", 1, "--workers", 1, "--out", tmp_path, "--quiet")
    assert first.exit_code == 0, first.output
    check_resumed(tmp_path, whole, finished=2)


def test_full_disk_keeps_the_finished_runs_and_says_so(tmp_path, monkeypatch, whole):
    append, written = Journal.append, []

    def filling(self, record):
        if len(written) == 4:
            self._file.write(b'01234567 {"run":["mod1"')
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(append(self, record))

    with monkeypatch.context() as full:
        full.setattr(Journal, "append", filling)
        done = reproduce(*SMALL, "--runs", 3, "--workers", 1, "--out", tmp_path)
    assert done.exit_code == 1
    assert f"Error: cannot write to {tmp_path}: No space left on device. 3 of 6" in done.stderr
    assert "--resume goes on" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [JOURNAL]
    check_resumed(tmp_path, whole, finished=3)


def test_death_of_a_worker_is_told_and_the_finished_runs_are_kept(tmp_path, monkeypatch, whole):
    results = runner.results

    def dying(*arguments):
        for _, (run, rows) in zip(range(2), results(*arguments), strict=False):
            yield run, rows
        raise BrokenProcessPool

    with monkeypatch.context() as dead:
        dead.setattr(runner, "results", dying)
        done = reproduce(*SMALL, "--runs", 3, "--workers", 1, "--out", tmp_path)
    assert done.exit_code == 1
    assert "a worker process has died, perhaps for want of memory. 2 of 6 runs are" in done.stderr
    check_resumed(tmp_path, whole, finished=2)


def test_folder_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", fail)
    done = reproduce(*SMALL, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "Read-only file system" in done.output
    assert "Invalid value for '--out': cannot write to" in done.output


def test_without_pyarrow_the_tables_are_csv(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(tables, "find_spec", lambda _: None)
    (tmp_path / JOURNAL).write_bytes((whole[0] / JOURNAL).read_bytes())
    (tmp_path / "runs.parquet").write_bytes(b"of an earlier call")
    done = reproduce(*SMALL, "--runs", 3, "--out", tmp_path, "--resume", "--quiet")
    assert done.exit_code == 0, done.output
    assert not list(tmp_path.glob("*.parquet"))
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    parquet = pd.read_parquet(whole[0] / "runs.parquet")
    assert len(rows) == len(parquet)
    for row, same in zip(rows, parquet.itertuples(), strict=True):
        assert float(row["risk"]) == same.risk
        assert float(row["distortion"]) == same.distortion
        assert json.loads(row["centers"]) == [center.tolist() for center in same.centers]
        assert (row["lambda"] == "") == (same[8] is None)
    assert (tmp_path / "times.csv").read_text().count("\n") == len(rows) + 1


def test_overwriting_leaves_nothing_of_the_earlier_run(tmp_path, whole):
    for path in whole[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "notes.txt").write_text("mine")
    call = ["mod1", "--u", 2, "--runs", 1, "--grid", 1, "--workers", 1, "--out", tmp_path]
    done = reproduce(*call, "--overwrite", "--quiet")
    assert done.exit_code == 0, done.output
    assert "mod1-9.png" not in {path.name for path in tmp_path.iterdir()}
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert set(pd.read_parquet(tmp_path / "runs.parquet").u) == {2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mod3"], "'mod3' is not one of 'mod1', 'mod2', 'all'"),
        (["mod1", "--u", "11"], "11 is not in the range 1<=x<=10"),
        (["mod1", "--runs", "0"], "0 is not in the range x>=1"),
        (["mod1", "--grid", "0"], "0 is not in the range x>=1"),
        (["mod1", "--workers", "0"], "0 is not in the range x>=1"),
        (["mod1", "--nodes", "4"], "nodes must be at least 8; got 4"),
        (["mod1", "--bandwidths", "3", "1"], "bandwidths must be positive, the smallest first"),
        (["mod2", "--bandwidths", "0.1", "1"], "Mod2(1): bandwidth 0.1 on axis 0 is too small"),
        (["mod1", "--window", "gaussian"], "is too small: 1/phi_eta overflows"),
        (["mod1", "--resume", "--overwrite"], "--resume keeps the runs that --overwrite deletes"),
    ],
)
def test_wrong_use_is_told_before_anything_is_written(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = reproduce(*arguments)
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.split())
    assert not list(tmp_path.iterdir())


def test_folder_of_another_run_is_refused(whole):
    out, _ = whole
    before = (out / JOURNAL).read_bytes()
    for more, message in [
        ([], "holds 6 finished runs: resume to go on with them"),
        (["--resume", "--seed", "1"], "other settings (seed 0 there, 1 here)"),
    ]:
        done = reproduce(*SMALL, "--runs", 3, "--out", out, *more)
        assert done.exit_code == 2
        assert message in " ".join(done.output.split())
    assert (out / JOURNAL).read_bytes() == before


def test_missing_matplotlib_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = reproduce(*SMALL, "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "the figures need matplotlib: pip install 'noisykmeans[plot]'" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.timing
def test_a_first_impression_takes_less_than_twenty_seconds(tmp_path):
    start = time.perf_counter()
    call = [COMMAND, "reproduce", "all", "--runs", "5", "--grid", "4", "--quiet"]
    subprocess.run([*call, "--out", tmp_path / "out"], check=True)
    assert time.perf_counter() - start < 20
    assert len(list((tmp_path / "out").glob("*.png"))) == 6
