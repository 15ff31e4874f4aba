"""Make the figures and tables of `reproduction.md` again: run this file, and nothing else.

It runs `noisykmeans reproduce all`, and shorter reproductions with other choices where the paper
leaves them open; then it replaces the pictures in `images/reproduction` and the parts of the page
between `<!-- begin: ... -->` and `<!-- end: ... -->`. Everything is done anew, in `build/` of the
current folder.
"""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE, IMAGES = HERE / "reproduction.md", HERE / "images" / "reproduction"
BUILD = Path("build") / "reproduction"
COMMAND = Path(sys.executable).with_name("noisykmeans")

HARD = ("--u", "8", "--u", "10")
CHOICES = {
    "as above": (),
    "Lloyd on the projected density": ("--repair", "projected"),
    "Lloyd on the clipped density": ("--repair", "clipped"),
    "flat-top window": ("--window", "flat-top"),
    "sinc window": ("--window", "sinc"),
    "bandwidths 0.5 to 2": ("--bandwidths", "0.5", "2"),
    "bandwidths 0.5 to 10": ("--bandwidths", "0.5", "10"),
    "10 x 10 bandwidths": ("--grid", "10"),
    "192 nodes": ("--nodes", "192"),
    "starts at points of the data": ("--starts", "points"),
}


def reproduce(name, *options):
    """Run the command anew, and return the rows of its summary by experiment, u and method."""
    out = BUILD / name
    print(f"{name}: reproduce all {' '.join(options)}", flush=True)
    call = [COMMAND, "reproduce", "all", "--out", out, "--overwrite", "--quiet", *options]
    subprocess.run(call, check=True)
    with (out / "summary.csv").open(encoding="utf-8") as file:
        return {(r["experiment"], int(r["u"]), r["method"]): r for r in csv.DictReader(file)}


def table(head, rows):
    """Return a Markdown table, numbers to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def circumstances():
    """Return where and with what the figures of the page were made, and what a fit cost."""
    record = json.loads((BUILD / "paper" / "environment.json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    noisy, plain = (1000 * seconds for seconds in record["seconds_per_fit"].values())
    machine = record["machine"]
    return (
        f"This page: seed {record['seed']}, {record['runs_in_this_call']} data sets, "
        f"{record['wall_seconds']:.0f} s with {record['workers']} workers on {machine['cores']} "
        f"cores ({machine['processor']}). One of the 400 fits of noisy k-means on a data set took "
        f"{noisy:.2f} ms on average, one `KMeans(init=start, n_init=1).fit` on the same points "
        f"{plain:.2f} ms. Versions: {versions}."
    )


def readings():
    """Return the failures of k-means in both readings of "random", beside the paper's words."""
    found = {
        name: reproduce(name, "--starts", name, "--grid", "1", "--bandwidths", "1", "1")
        for name in ("box", "points")
    }
    rows = []
    for experiment, u, method in found["box"]:
        if method == "k-means":
            both = [found[name][experiment, u, method] for name in found]
            rows.append(
                [f"Mod{experiment[-1]}({u})", both[0]["paper"]] + [r["failures"] for r in both]
            )
    return table(["", "paper", "uniform in the box", "points of the data"], rows)


def choices():
    """Return failures and mean risk of noisy k-means with other choices, where it is hard."""
    places = [("mod1", 8), ("mod1", 10), ("mod2", 8), ("mod2", 10)]
    rows = []
    for number, (words, options) in enumerate(CHOICES.items()):
        found = reproduce(f"choice-{number}", *HARD, *options)
        same = [found[(*place, "noisy k-means")] for place in places]
        rows.append([words, *(f"{r['failures']}, {float(r['mean_risk']):.3f}" for r in same)])
    return table(["", *(f"Mod{name[-1]}({u})" for name, u in places)], rows)


def main():
    """Make everything, then change the page."""
    reproduce("paper")
    parts = {
        "circumstances": circumstances(),
        "summary": (BUILD / "paper" / "summary.md").read_text(encoding="utf-8").strip(),
        "readings": readings(),
        "choices": choices(),
    }
    IMAGES.mkdir(parents=True, exist_ok=True)
    for picture in (BUILD / "paper").glob("*.png"):
        shutil.copy(picture, IMAGES / picture.name)
    text = PAGE.read_text(encoding="utf-8")
    for name, part in parts.items():
        begin, end = f"<!-- begin: {name} -->\n", f"\n<!-- end: {name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        text, count = pattern.subn(lambda _, b=begin, p=part, e=end: b + p + e, text)
        if count != 1:
            sys.exit(f"{PAGE} must have one part called {name}; it has {count}")
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE} and {IMAGES} are new")


if __name__ == "__main__":
    main()
