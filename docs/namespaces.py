"""Which public names there are, and on which page of the book each is documented.

Public is what stands in the `__all__` of a module without a leading underscore. A name that a
package takes from its modules is documented with the package, and nowhere else.
"""

import importlib
import inspect
import pkgutil

import click

import noisykmeans

# Namespaces that people import from: there each name has a page of its own.
FOR_USERS = (
    "noisykmeans",
    "noisykmeans.datasets",
    "noisykmeans.interchange",
    "noisykmeans.metrics",
    "noisykmeans.noise",
    "noisykmeans.persistence",
    "noisykmeans.plots",
    "noisykmeans.report",
    "noisykmeans.selection",
    "noisykmeans.tables",
    "noisykmeans.views",
    "noisykmeans.windows",
)


def modules():
    """Return the names of all public modules."""
    found = pkgutil.walk_packages(noisykmeans.__path__, "noisykmeans.")
    return sorted(
        ["noisykmeans", *(m.name for m in found if not any(p[0] == "_" for p in m.name.split(".")))]
    )


def names(module):
    """Return the public names that are documented with a module: those that no package takes."""
    own = importlib.import_module(module)
    parts = module.split(".")
    packages = [importlib.import_module(".".join(parts[:n])) for n in range(1, len(parts))]
    return [
        name
        for name in own.__all__
        if not inspect.ismodule(getattr(own, name))
        and not any(
            name in package.__all__ and getattr(package, name) is getattr(own, name)
            for package in packages
        )
    ]


def of_kind(module, kind):
    """Return the names of a module that are classes, functions or values."""
    own = importlib.import_module(module)
    return [name for name in names(module) if _kind(getattr(own, name)) == kind]


def _kind(value):
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "value"


def paged(module):
    """Return whether the names of a module have pages of their own."""
    return module in FOR_USERS


def inner(module):
    """Return the modules right below one that have names which the package does not take."""
    own = importlib.import_module(module)
    return [name for name in _below(module) if inspect.ismodule(getattr(own, name.split(".")[-1]))]


def hidden(module):
    """Return the names of modules that a package hides behind a function of the same name."""
    shown = inner(module)
    return [f"{m}::{name}" for m in _below(module) if m not in shown for name in names(m)]


def _below(module):
    if module == "noisykmeans":
        return []
    level = module.count(".") + 1
    return [
        name
        for name in modules()
        if name.startswith(f"{module}.") and name.count(".") == level and names(name)
    ]


def _inside(value):
    """Return the function behind a method or a property."""
    for name in ("fget", "__func__", "func", "fn"):
        value = getattr(value, name, value)
    return value


def skip(app, what, name, obj, would_skip, options):  # noqa: PLR0913, PLR0917  Sphinx's signature
    """Tell Sphinx to leave out members of other packages, such as scikit-learn's."""
    del app, what, name, options
    inside = _inside(obj)
    home = getattr(inside, "__module__", None)
    return True if home is not None and not str(home).startswith("noisykmeans") else would_skip


def tell_help(app, what, name, obj, options, lines):  # noqa: PLR0913, PLR0917  Sphinx's signature
    """Put in place of a verb's docstring what its --help prints."""
    del app, what, options
    if isinstance(obj, click.Command):
        verb = name.rsplit(".", 1)[-1]
        called = "noisykmeans" if verb == "main" else f"noisykmeans {verb}"
        context = {"max_content_width": 88, "help_option_names": ["-h", "--help"]}
        text = obj.get_help(click.Context(obj, info_name=called, **context))
        lines[:] = [".. code-block:: text", "", *(f"   {line}" for line in text.splitlines())]


def tell_no_arguments(app, what, name, obj, *rest):
    """Leave out the signature of a verb: it is called from a shell."""
    del app, what, name, rest
    return ("", None) if isinstance(obj, click.Command) else None
