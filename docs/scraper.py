"""How the gallery shows the examples: in which order, and where those that write files write."""

import shutil
import tempfile
from pathlib import Path

FOLDER = Path(tempfile.gettempdir()) / "noisykmeans-gallery"
FIRST = ("plot_first_look.py", "plot_posterior.py", "plot_number_of_clusters.py")


class InOrder:
    """What a newcomer wants to see comes first, the rest by name."""

    def __init__(self, src_dir):
        del src_dir

    def __call__(self, filename):
        """Return the key of an example."""
        return (FIRST.index(filename) if filename in FIRST else len(FIRST), filename)


def arguments(gallery_conf, script_vars):
    """Return the command line of an example: pictures go into a folder of their own."""
    del gallery_conf
    source = Path(script_vars["src_file"])
    if "argparse" not in source.read_text(encoding="utf-8"):
        return []
    shutil.rmtree(FOLDER, ignore_errors=True)
    return ["--out", str(FOLDER)]


def pictures(block, block_vars, gallery_conf):
    """Move the pictures that an example has written into the gallery."""
    del block
    from sphinx_gallery.scrapers import figure_rst  # noqa: PLC0415  the extra `docs`

    moved = []
    for path in sorted(FOLDER.glob("*.png")):
        target = next(block_vars["image_path_iterator"])
        shutil.move(path, target)
        moved.append(target)
    return figure_rst(moved, gallery_conf["src_dir"]) if moved else ""
