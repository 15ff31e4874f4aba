"""The command line, called as people call it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import noisykmeans
from noisykmeans.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(main, arguments)


def test_command_of_the_package_writes_table_and_picture(folder):
    command = Path(sys.executable).with_name("noisykmeans")
    done = subprocess.run(
        [command, "demo", "--out", "a.png"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"MPLBACKEND": "tkagg"},
    )
    assert done.stderr == ""
    assert "noisy k-means" in done.stdout
    assert done.stdout.endswith("Picture: a.png\n")
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")


def test_table_has_centers_risk_and_distortion_of_both_methods(folder):
    done = call("demo", "--seed", "2")
    assert done.exit_code == 0, done.output
    assert "seed 2" in done.output
    rows = [line for line in done.output.splitlines() if line.startswith("│")]
    assert [row.split("│")[1].strip() for row in rows] == ["k-means", "noisy k-means"]
    risks = [float(row.split("│")[3]) for row in rows]
    assert risks[0] > 0.2 > risks[1]
    assert max(map(len, done.output.splitlines())) <= 80
    assert (folder / "noisykmeans-demo.png").stat().st_size < 200_000


def test_default_picture_is_written_anew(folder):
    picture = folder / "noisykmeans-demo.png"
    picture.write_text("old")
    assert call("demo").exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "head"), [("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("a.PNG", b"\x89PNG")]
)
def test_ending_tells_the_format(folder, name, head):
    assert call("demo", "--out", name).exit_code == 0
    assert (folder / name).read_bytes().startswith(head)


def test_named_picture_is_replaced_only_by_force(folder):
    (folder / "a.png").write_text("mine")
    done = call("demo", "--out", "a.png")
    assert done.exit_code == 2
    assert "a.png exists: give --force to replace it" in done.output
    assert (folder / "a.png").read_text() == "mine"
    assert call("demo", "--out", "a.png", "--force").exit_code == 0
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--out", "a.jpg"], "a.jpg must end in .png, .svg or .pdf"),
        (["demo", "--out", "nowhere/a.png"], "there is no folder nowhere"),
        (["demo", "--seed", "-1"], "-1 is not in the range"),
        (["demo", "--seed", "4294967296"], "4294967296 is not in the range"),
        (["demo", "--seed", "two"], "'two' is not a valid integer"),
        (["demo", "--colour"], "No such option"),
        (["demos"], "No such command 'demos'"),
    ],
)
def test_wrong_use_is_told_and_nothing_is_written(folder, arguments, message):
    done = call(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert "Usage: " in done.output
    assert not list(folder.iterdir())


def test_place_that_cannot_be_written_is_told_before_any_work(folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # noqa: ARG005  root may write all
    done = call("demo")
    assert done.exit_code == 2
    assert "no permission to write" in done.output
    assert "--out" in done.output
    assert not list(folder.iterdir())


def test_disk_that_fails_is_told(folder, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    done = call("demo")
    assert done.exit_code == 1
    assert "Error: cannot write noisykmeans-demo.png: No space left on device" in done.output
    assert not list(folder.iterdir())


def test_missing_matplotlib_is_told(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = call("demo")
    assert done.exit_code == 1
    assert "pip install 'noisykmeans[plot]'" in done.output
    assert not list(folder.iterdir())


def test_help_and_version_answer():
    assert "demo" in call("--help").output
    assert "--seed" in call("demo", "-h").output
    assert call("--version").output == f"noisykmeans, version {noisykmeans.__version__}\n"
