"""The README's picture of the report: cell nuclei, each with the standard errors of its means."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

IMAGE = Path(__file__).parent / "images" / "report.png"
COLUMNS = {"mean symmetry": "symmetry", "mean concavity": "concavity"}
ERRORS = {"symmetry error": "symmetry_error", "concavity error": "concavity_error"}


def table():
    """Return the means of two features of each image, and their standard errors."""
    data = load_breast_cancer(as_frame=True).data
    return data[[*COLUMNS, *ERRORS]].rename(columns=COLUMNS | ERRORS)


def main():
    """Write the report, and take its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGE)
    out = parser.parse_args().out
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("the picture needs chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "nuclei.html"
        table().to_csv(Path(folder) / "nuclei.csv", index=False)
        command = [Path(sys.executable).with_name("noisykmeans"), "fit", "nuclei.csv", "-k", "2"]
        subprocess.run([*command, "--bootstrap", "50", "--report", page], check=True, cwd=folder)
        options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1160,860"]
        subprocess.run(
            [browser, *options, f"--user-data-dir={folder}", f"--screenshot={out}", page.as_uri()],
            check=True,
            stderr=subprocess.DEVNULL,
        )
    print(out)


if __name__ == "__main__":
    main()
