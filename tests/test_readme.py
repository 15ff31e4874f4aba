"""What the README shows runs as shown."""

import re
import shlex
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from noisykmeans.cli import main
from noisykmeans.datasets import make_mod2

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_example_finds_the_clusters(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names = {}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102  the example is to be tested
    centers = names["model"].cluster_centers_
    found = centers[np.argsort(centers[:, 0])]
    assert np.abs(found - [[0, 0], [5, 0]]).max() < 1.5
    assert capsys.readouterr().out.startswith("[[")


def test_each_command_is_one_line_that_the_gate_can_find():
    for name, last in [
        ("demo", "noisykmeans demo"),
        ("tests", '-m "not timing and not target and not slow"'),
    ]:
        found = re.findall(rf"<!-- {name} -->\n```sh\n(python3 .*)\n```", README)
        assert len(found) == 1
        assert found[0].endswith(last)
    assert "<!-- tests -->" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_three_commands_lead_from_a_table_to_its_report(tmp_path, monkeypatch):
    (block,) = re.findall(r"<!-- own -->\n```sh\n(.*?)```", README, re.DOTALL)
    install, fit, look = block.splitlines()
    assert install.endswith("'.[tables]'")
    monkeypatch.chdir(tmp_path)
    _, Z, _ = make_mod2(1, 100, random_state=0)
    rows = np.c_[Z, np.full(Z.shape, 2.2)]
    names = "x,y,x_err,e_y"
    np.savetxt("stars.csv", rows, delimiter=",", header=names, comments="")
    command = shlex.split(fit.removeprefix(".venv/bin/noisykmeans "))
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "x: x_err, y: e_y" in done.output
    page = tmp_path / look.split()[-1]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_files_that_the_readme_names_exist():
    for target in re.findall(r"\]\(([^)h][^)]*)\)", README):
        assert (ROOT / target).is_file(), target
