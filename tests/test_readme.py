"""What the README shows runs as shown."""

import re
from pathlib import Path

import numpy as np

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


def test_files_that_the_readme_names_exist():
    for target in re.findall(r"\]\(([^)h][^)]*)\)", README):
        assert (ROOT / target).is_file(), target
