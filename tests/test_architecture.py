"""Imports point one way, public names are documented, and importing stays light."""

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import noisykmeans

SOURCE = Path(noisykmeans.__file__).parent

# The way of the data, from the bottom up. A module may import from lower layers and its own.
LAYERS = [
    {"_kernels", "units"},
    {"batches", "files", "grid", "metrics", "noise", "windows"},
    {"distributed", "progress", "tables"},
    {"encoding"},
    {"persistence"},
    {"histogram", "spectrum", "measure", "density", "observations", "lattice"},
    {"groups", "partition", "profile", "seeding"},
    {"cells", "summary", "thinning"},
    {"stream"},
    {"deconvolution", "errors", "quantization", "subspace"},
    {"mixture_posterior", "posterior", "selection"},
    {"estimation"},
    {"reduction"},
    {"bootstrap"},
    {"parameters", "validation"},
    {"estimators"},
    {"cluster_count", "datasets", "interchange", "views"},
    {"plots", "report"},
    {"demo", "experiments"},
    {"cli"},
]
# Within a layer the order of the data's way, too.
BEFORE = {
    ("histogram", "spectrum"),
    ("measure", "density"),
    ("histogram", "density"),
    ("measure", "histogram"),
    ("measure", "observations"),
    ("histogram", "lattice"),
}
# Methods through which the estimators reach what stands around them, loaded when called.
DOORS = {("report", "estimators")}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules():
    return [
        ("noisykmeans." + ".".join(p.relative_to(SOURCE).with_suffix("").parts), p)
        for p in sorted(SOURCE.rglob("*.py"))
        if p.parent != SOURCE or p.name != "__init__.py"
    ]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "noisykmeans":
                yield from (alias.name for alias in node.names)
            elif node.module.startswith("noisykmeans."):
                yield node.module.split(".")[1]


def test_every_module_has_a_layer():
    assert {name.split(".")[1] for name, _ in modules()} == set(LEVEL)


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda value: str(value).split("/")[-1])
def test_imports_point_one_way(name, path):
    me = name.split(".")[1]
    for other in imported(path):
        if other == me or other.startswith("__"):
            continue
        allowed = LEVEL[other] < LEVEL[me] or (other, me) in BEFORE | DOORS
        assert allowed, f"{me} imports {other}"


def public(path):
    """The functions and classes of a module without an underscore in front."""
    tree = ast.parse(path.read_text())
    kinds = ast.FunctionDef | ast.ClassDef
    return {n.name for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")}


@pytest.mark.parametrize(("name", "path"), modules())
def test_all_lists_what_is_public(name, path):
    module = importlib.import_module(name.removesuffix(".__init__"))
    if "_kernels" not in name:
        assert public(path) <= set(module.__all__)
    for listed in module.__all__:
        assert getattr(module, listed).__doc__ or listed.isupper(), f"{name}.{listed}"


def test_names_of_the_package_load_when_used():
    for name in noisykmeans.__all__:
        assert getattr(noisykmeans, name) is not None
    assert set(noisykmeans.__all__) <= set(dir(noisykmeans))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = noisykmeans.nothing


def test_no_module_is_called_by_a_name_that_says_nothing():
    names = {module.name.split(".")[-1] for module in pkgutil.walk_packages([str(SOURCE)])}
    assert not names & {"utils", "helpers", "common", "core", "misc"}


def run(code):
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout


def test_import_loads_nothing_optional():
    # scikit-learn itself loads pandas where it is installed; what counts is what is added.
    code = (
        "import sys, sklearn.cluster, sklearn.neighbors; before = set(sys.modules); "
        "import noisykmeans.estimators; print(*set(sys.modules) - before)"
    )
    loaded = {name.split(".")[0] for name in run(code).split()}
    assert not loaded & {"dask", "matplotlib", "pandas", "pyarrow", "numba", "click", "rich"}


@pytest.mark.timing
def test_import_adds_at_most_a_third_of_a_second_to_scikit_learn():
    code = (
        "import time, sklearn.cluster; t = time.perf_counter(); "
        "import noisykmeans; noisykmeans.NoisyKMeans; print(time.perf_counter() - t)"
    )
    assert min(float(run(code)) for _ in range(3)) <= 0.35


@pytest.mark.timing
def test_help_answers_at_once():
    def seconds():
        start = time.perf_counter()
        command = Path(sys.executable).with_name("noisykmeans")
        subprocess.run([command, "--help"], capture_output=True, check=True)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.4
