"""The page on the paper shows what its script has made."""

import importlib.util
import re
from pathlib import Path

import pytest

from noisykmeans.cli import main
from noisykmeans.experiments.figures import NAMES
from noisykmeans.experiments.methods import METHODS

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "reproduction.md").read_text(encoding="utf-8")
SPEC = importlib.util.spec_from_file_location("reproduction", DOCS / "reproduction.py")
SCRIPT = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SCRIPT)


def test_page_shows_every_figure_and_no_other():
    shown = re.findall(r"\]\((images/[^)]*)\)", PAGE)
    assert sorted(shown) == sorted(f"images/reproduction/{name}.png" for name in NAMES)
    for path in shown:
        assert (DOCS / path).read_bytes().startswith(b"\x89PNG")


def test_page_names_every_method():
    for name in METHODS:
        assert f"| {name} | " in PAGE


@pytest.mark.parametrize("part", ["circumstances", "summary", "readings", "choices"])
def test_parts_that_the_script_makes_are_there(part):
    (text,) = re.findall(f"<!-- begin: {part} -->\n(.*?)\n<!-- end: {part} -->", PAGE, re.DOTALL)
    assert len(text) > 100


def test_other_choices_are_ones_that_the_command_knows_and_the_page_lists():
    defaults = main.commands["reproduce"].make_context("reproduce", ["all"]).params
    for words, options in SCRIPT.CHOICES.items():
        given = main.commands["reproduce"].make_context("reproduce", ["all", *options]).params
        assert (given == defaults) == (words == "as above")
        assert f"| {words} | " in PAGE
