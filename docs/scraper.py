"""Pictures of the gallery that examples have written to files: where to, and from where."""

import shutil
import tempfile
from pathlib import Path

FOLDER = Path(tempfile.gettempdir()) / "noisykmeans-gallery"


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
