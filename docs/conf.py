"""How Sphinx builds the book: `sphinx-build -W --keep-going -b html docs docs/_build`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import namespaces  # noqa: E402  beside this file
from scraper import InOrder, arguments, pictures  # noqa: E402  the same

import noisykmeans  # noqa: E402  after the path, for isort's sake

project = "noisykmeans"
copyright = "the noisykmeans developers"  # noqa: A001  Sphinx's name for it
version = release = noisykmeans.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # the book needs no network
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # functions and modules above are the same in every build
default_role = "py:obj"
nitpicky = False  # docstrings name parameters and formulas in single quotes, too

# Pages.
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3

# Docstrings.
autosummary_generate = True
autosummary_context = {"namespaces": namespaces}
autodoc_typehints = "none"  # numpydoc's sections tell types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates list them

# The gallery.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": InOrder,
    "reset_argv": arguments,
    "image_scrapers": ("matplotlib", pictures),
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 10**6,
}

# Looks.
html_theme = "pydata_sphinx_theme"
html_title = f"noisykmeans {release}"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader has it
html_sidebars = {"*": []}  # pages that stand alone have no section to navigate
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app):
    """Leave out members that are not this package's, and show the command line as it speaks."""
    app.connect("autodoc-skip-member", namespaces.skip)
    app.connect("autodoc-process-docstring", namespaces.tell_help, priority=600)
    app.connect("autodoc-process-signature", namespaces.tell_no_arguments)
