"""The pages on scaling and recipes run as shown."""

import re
from pathlib import Path

import dask
import numpy as np
import pytest

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(("page", "n_blocks"), [("recipes.md", 6), ("scaling.md", 2)])
def test_examples_run_in_their_order(page, n_blocks):
    names = {}
    code = blocks(page)
    assert len(code) == n_blocks
    with dask.config.set(scheduler="threads"):
        for block in code:
            exec(compile(block, page, "exec"), names)  # noqa: S102  the examples are to be tested
            if "model" in names and hasattr(names["model"], "cluster_centers_"):
                found = np.sort(names["model"].cluster_centers_[:, 0])
                assert np.abs(found - [0, 5, 10]).max() < 0.3


def test_what_spark_would_bring_back_adds_up():
    names = {}
    exec(compile(blocks("recipes.md")[0], "recipes.md", "exec"), names)  # noqa: S102  the same
    page = (DOCS / "recipes.md").read_text(encoding="utf-8")
    code = page.split("## Spark")[1].split("```py\n")[1].split("\nrows = ")[0]
    exec("import pyarrow as pa\n" + code, names)  # noqa: S102  the same
    import pyarrow as pa  # noqa: PLC0415  as the page has it

    Z, grid = names["Z"], names["grid"]
    table = pa.table({"x": Z[:, 0], "y": Z[:, 1]})
    (row,) = names["histogram_of"](iter(table.to_batches(max_chunksize=1000)))
    values = np.frombuffer(row.column("values")[0].as_py()).reshape(grid.shape)
    np.testing.assert_array_equal(values, names["fill"](grid, Z).values)
    assert row.column("count")[0].as_py() == len(Z)
