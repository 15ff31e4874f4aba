"""The examples run, print their tables and draw their pictures."""

import importlib.util
import re
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    load(name).main()


def values(line):
    return [float(cell.strip(" %")) for cell in line.strip("| \n").split("|")[1:]]


def test_breast_cancer_shows_every_pair_of_features(monkeypatch, tmp_path, capsys):
    run("plot_breast_cancer", monkeypatch, "--out", tmp_path)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.endswith("% |")]
    assert len(rows) == len(load("plot_breast_cancer").PAIRS)
    assert (tmp_path / "breast-cancer.png").read_bytes().startswith(b"\x89PNG")


def test_page_has_the_table_of_breast_cancer(monkeypatch, tmp_path, capsys):
    # Rounding may differ between machines by one image in 569.
    run("plot_breast_cancer", monkeypatch, "--out", tmp_path)
    page = (EXAMPLES.parent / "docs" / "errors.md").read_text(encoding="utf-8").splitlines()
    for line in capsys.readouterr().out.splitlines():
        if line.endswith("% |"):
            (shown,) = [row for row in page if row.split("|")[:3] == line.split("|")[:3]]
            ours, theirs = (
                [float(cell) for cell in row.replace("%", "").split("|")[3:6]]
                for row in (line, shown)
            )
            assert theirs == pytest.approx(ours, abs=0.8)


def test_blood_pressure_prefers_noisy_k_means(monkeypatch, tmp_path, capsys):
    run("plot_blood_pressure", monkeypatch, "--studies", 2, "--subjects", 150, "--out", tmp_path)
    rows = {
        line.split("|")[1].strip(): values(line)
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(("| k-means", "| noisy"))
    }
    assert rows["noisy k-means"][0] < rows["k-means on means"][0]
    assert (tmp_path / "blood-pressure.png").read_bytes().startswith(b"\x89PNG")


CELLS = sorted(p.stem for p in EXAMPLES.glob("plot_*.py") if "argparse" not in p.read_text("utf-8"))


@pytest.mark.parametrize("name", CELLS)
def test_example_of_the_gallery_draws(name):
    mpl.use("Agg")
    plt.close("all")
    load(name)
    assert plt.get_fignums()
    plt.close("all")


def test_examples_are_what_they_say(capsys):
    load("plot_first_look")
    found = dict(re.findall(r"(\S+) +misplaces (\d+)%", capsys.readouterr().out))
    assert int(found["noisy"]) == 0
    assert int(found["k-means"]) > 20
    load("plot_many_features")
    found = dict(re.findall(r"((?:noisy )?k-means) +(\d+)%", capsys.readouterr().out))
    assert int(found["noisy k-means"]) <= 5
    assert int(found["k-means"]) >= 20
    plt.close("all")
