"""The book builds without a warning, and documents every public name and no other."""

import fcntl
import importlib
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

from chromium import Chromium

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SPEC = importlib.util.spec_from_file_location("namespaces", DOCS / "namespaces.py")
NAMESPACES = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(NAMESPACES)
PARTS = ("docs", "examples", "CHANGELOG.md", "CONTRIBUTING.md", "README.md")


def built(folder, *options):
    """Build a copy of the book, and return where it is."""
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    for made in ("_build", "gallery", "api/generated"):
        shutil.rmtree(folder / "docs" / made, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", *options]
    done = subprocess.run(
        [*command, "docs", "book"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return folder / "book"


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The book, its examples not run; built once for all processes of a run of the tests."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = tmp_path_factory.getbasetemp().parent / f"book-{run}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "book").is_dir():
            built(folder, "-D", "plot_gallery=0")
    yield folder / "book"
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(folder)


def documented(book):
    """The dotted names that the book has an entry for, of this package's classes and so on."""
    inventory = InventoryFile.loads((book / "objects.inv").read_bytes(), uri="")
    kinds = ("py:class", "py:function", "py:exception", "py:data")
    return {name for kind in kinds for name in inventory.data.get(kind, {})}


def value_of(dotted):
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_every_public_name_is_documented(book):
    public = {
        f"{module}.{name}" for module in NAMESPACES.modules() for name in NAMESPACES.names(module)
    }
    assert len(public) > 200
    assert public <= documented(book)
    # What a package takes from its modules is documented with the package.
    there = {id(value_of(name)) for name in public}
    for module in NAMESPACES.modules():
        home = importlib.import_module(module)
        for name in home.__all__:
            value = getattr(home, name)
            assert inspect.ismodule(value) or id(value) in there, f"{module}.{name}"


def test_every_documented_name_is_public(book):
    for name in documented(book):
        assert name.rpartition(".")[2] in importlib.import_module(name.rpartition(".")[0]).__all__
        assert value_of(name) is not None


def test_the_index_of_the_api_lists_every_namespace():
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (noisykmeans\S*)$", text, re.MULTILINE)
    assert sorted(listed) == [name for name in NAMESPACES.modules() if name.count(".") < 2]


def test_methods_of_the_estimator_are_documented(book):
    page = (book / "api" / "generated" / "noisykmeans.NoisyKMeans.html").read_text("utf-8")
    for method in ("fit", "fit_histogram", "predict", "predict_proba", "denoise", "sample", "save"):
        assert f'id="noisykmeans.NoisyKMeans.{method}"' in page
    assert "set_fit_request" not in page


def test_pages_need_no_network(book):
    for page in book.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//', text), page


@pytest.fixture(scope="module")
def browser():
    browser = Chromium()
    yield browser
    browser.close()


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("name", ["index", "tutorial", "mathematics", "guide/index", "api/index"])
def test_page_fits_its_window_and_sets_its_formulas_without_a_network(book, browser, name, width):
    browser.size(width)
    browser.open(book / f"{name}.html")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert not [url for url in browser.requests if not url.startswith(("file:", "data:"))]
    if name == "mathematics":
        browser.run("MathJax.startup.promise.then(() => true)")
        formulas = browser.run("document.querySelectorAll('.math').length")
        assert browser.run("document.querySelectorAll('.math mjx-container').length") == formulas
        assert formulas > 100
        assert browser.run("document.querySelectorAll('mjx-merror').length") == 0


@pytest.mark.slow
def test_the_gallery_runs_and_has_a_picture_of_each_example(tmp_path):
    book = built(tmp_path)
    for example in (ROOT / "examples").glob("plot_*.py"):
        page = (book / "gallery" / f"{example.stem}.html").read_text(encoding="utf-8")
        assert re.search(rf'src="\.\./_images/sphx_glr_{example.stem}_\d+\.png"', page)
