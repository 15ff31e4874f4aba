"""Tables are read in batches, only the columns that are asked for, and say what is wrong."""

import gzip
import subprocess
import sys
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, feather
from pyarrow import dataset as ds
from pyarrow import parquet as pq

from noisykmeans.batches import Batch, Iterated
from noisykmeans.tables import Table, TableError, open_table

N = 1000


@pytest.fixture(scope="module")
def whole():
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "x": rng.normal(size=N),
            "y": rng.normal(size=N),
            "night": rng.integers(0, 3, N),
            "name": ["a"] * N,
            "e_x": rng.uniform(size=N).astype(np.float32),
        }
    )


@pytest.fixture(scope="module")
def folder(whole, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    pq.write_table(whole, path / "a.parquet", row_group_size=300)
    csv.write_csv(whole, path / "a.csv")
    with gzip.open(path / "b.tsv.gz", "wt") as stream:
        stream.write((path / "a.csv").read_text().replace(",", "\t"))
    feather.write_feather(whole, path / "a.feather")
    pq.write_to_dataset(whole, str(path / "nights"), partition_cols=["night"])
    for i in range(4):
        (path / "parts").mkdir(exist_ok=True)
        pq.write_table(whole.slice(250 * i, 250), path / "parts" / f"{i}.parquet")
    (path / "parts" / "_SUCCESS").touch()
    return path


SOURCES = {
    "parquet": lambda _, folder: folder / "a.parquet",
    "csv": lambda _, folder: str(folder / "a.csv"),
    "tsv": lambda _, folder: folder / "b.tsv.gz",
    "arrow file": lambda _, folder: folder / "a.feather",
    "folder": lambda _, folder: folder / "parts",
    "glob": lambda _, folder: folder / "parts" / "*.parquet",
    "list": lambda _, folder: [folder / "parts" / f"{i}.parquet" for i in range(4)],
    "dataset": lambda _, folder: ds.dataset(folder / "a.parquet"),
    "arrow": lambda whole, _: whole,
    "pandas": lambda whole, _: whole.to_pandas(),
    "polars": lambda whole, _: pl.from_arrow(whole),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_kind_of_table_gives_the_same_rows(source, whole, folder):
    table = open_table(source(whole, folder), ["y", "x"], errors=["e_x"], weights="night")
    batch = table.to_batch()
    np.testing.assert_allclose(batch.X[:, 1], whole["x"], rtol=1e-14)
    np.testing.assert_allclose(batch.X_err[:, 0], whole["e_x"], rtol=1e-6)
    np.testing.assert_array_equal(batch.X_err[:, 0], batch.X_err[:, 1])
    np.testing.assert_array_equal(batch.sample_weight, whole["night"])
    assert sum(b.n_rows for b in table) == N
    assert max(b.n_rows for b in table.batches(100)) <= 100
    assert table.names == ("y", "x")


def test_partitioned_dataset_gives_all_rows_and_the_column_of_its_folders(whole, folder):
    table = open_table(folder / "nights", ["x", "night"])
    rows = table.to_batch().X
    expected = np.column_stack([whole["x"], whole["night"]])
    np.testing.assert_array_equal(rows[np.argsort(rows[:, 0])], expected[expected[:, 0].argsort()])
    assert table.bounds is None  # folders have no footers
    assert open_table(folder / "nights", ["x"]).bounds is not None


@pytest.mark.parametrize("kind", ["parquet", "folder", "glob"])
def test_footers_of_parquet_tell_bounds_and_rows(kind, whole, folder):
    table = open_table(SOURCES[kind](whole, folder), ["x", "y"])
    X = table.to_batch().X
    np.testing.assert_array_equal(table.bounds, [X.min(axis=0), X.max(axis=0)])
    assert table.n_rows == N
    assert 16 * N < table.n_bytes < 20 * N


def test_without_footers_bounds_are_not_known(whole, folder, tmp_path):
    pq.write_table(whole, tmp_path / "a.parquet", write_statistics=False)
    for path in (tmp_path / "a.parquet", folder / "a.csv", folder / "a.feather"):
        assert open_table(path, ["x"]).bounds is None
    assert open_table(folder / "a.csv").n_rows is None
    assert open_table(folder / "a.csv").n_bytes == (folder / "a.csv").stat().st_size
    assert open_table(whole).n_bytes is None


def test_all_columns_of_numbers_are_taken_but_those_of_errors_and_weights(whole):
    assert open_table(whole).columns == ("x", "y", "night", "e_x")
    assert open_table(whole, errors=["e_x"], weights="night").columns == ("x", "y")
    assert open_table(whole).select(["y"]).columns == ("y",)


def test_numbers_in_memory_are_not_copied_before_they_are_read(whole):
    frame = pl.from_arrow(whole)
    column = next(open_table(frame, ["x"]).parts()).column("x")
    assert np.shares_memory(column.to_numpy(), frame["x"].to_numpy())


def test_single_precision_stays_single():
    assert open_table(pa.table({"x": pa.array([1, 2], pa.float32())})).to_batch().X.dtype == "f4"
    assert open_table(pa.table({"x": [1, 2], "b": [True, False]})).to_batch().X.dtype == "f8"
    decimals = pa.table({"x": pa.array([Decimal("0.5")])})
    assert open_table(decimals).to_batch().X.tolist() == [[0.5]]


def test_only_the_columns_that_are_needed_are_read(folder):
    table = open_table(folder / "a.parquet", ["x"])
    parts = [table._table_of(part) for part in table.parts()]
    assert [part.num_rows for part in parts] == [300, 300, 300, 100]
    assert all(part.schema.names == ["x"] for part in parts)
    assert all(part.schema.names == ["x"] for part in open_table(folder / "a.csv", ["x"]).parts())


def test_rows_with_missing_values_are_nan_or_dropped_and_counted():
    table = pa.table({"x": [1.0, None, 3.0, 4.0], "y": [1, 2, None, 4], "e": [1, 1, 1, np.nan]})
    assert np.isnan(open_table(table, ["x", "y"]).to_batch().X).sum() == 2
    batch = open_table(table, ["x", "y"], errors=["e"], drop_missing=True).to_batch()
    assert (batch.X.tolist(), batch.dropped) == ([[1.0, 1.0]], 3)
    weighted = open_table(table, ["x"], weights="y", drop_missing=True).to_batch()
    assert (weighted.sample_weight.tolist(), weighted.dropped) == ([1.0, 4.0], 2)


def test_whole_numbers_in_one_file_may_be_fractions_in_another(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [0.5]}), tmp_path / "b.parquet")
    assert open_table(tmp_path).to_batch().X.ravel().tolist() == [1, 2, 0.5]
    (tmp_path / "c.csv").write_text("x\n" + "1\n" * 600_000 + "0.5\n")
    assert open_table(tmp_path / "c.csv").to_batch().X[-1] == 0.5


def damaged(path):
    content = bytearray(path.read_bytes())
    content[20:2000] = bytes(1980)
    return content


def cases(whole, folder, tmp_path):
    """What is wrong, and what is said of it."""
    parquet = folder / "a.parquet"
    (tmp_path / "cut.parquet").write_bytes(parquet.read_bytes()[:3000])
    (tmp_path / "damaged.parquet").write_bytes(damaged(parquet))
    (tmp_path / "text.csv").write_text("x,y\n1,2\n" * 1 + "1,2\n" * 400_000 + "hello,3\n")
    (tmp_path / "empty.csv").write_text("")
    pq.write_table(whole.slice(0, 0), tmp_path / "rows.parquet")
    for name, other in [("less", whole.drop_columns("x")), ("text", pa.table({"x": ["a"]}))]:
        (tmp_path / name).mkdir()
        pq.write_table(whole, tmp_path / name / "a.parquet")
        pq.write_table(other, tmp_path / name / "b.parquet")
    (tmp_path / "none").mkdir()
    everything = r"there are 'x', 'y', 'night', 'name', 'e_x'"
    return [
        (tmp_path / "no.parquet", "x", "there is no file"),
        (tmp_path / "*.xyz", "x", r"the pattern .*\*.xyz matches no file of .parquet"),
        (tmp_path / "none", "x", "the folder .*none has no file of .parquet"),
        (folder, "x", "files must be of one format, .* got .*a.feather beside .*a.csv"),
        (folder / "parts" / "_SUCCESS", "x", "files must be of one format, .* got .*_SUCCESS$"),
        (parquet, "q", f"there is no column 'q'; {everything}"),
        (parquet, "name", "the column 'name' holds string, no numbers; .* are 'x', 'y', 'night'"),
        (pa.table({"x": ["a"]}), None, "holds string, no numbers; columns of numbers are none"),
        (pa.table({}), None, "has no columns"),
        (tmp_path / "less", "x", "files differ: .*b.parquet has 'y', .*a.parquet 'x', 'y'"),
        (tmp_path / "text", "x", "files differ: the column 'x' is string in .*b.parquet"),
        (tmp_path / "cut.parquet", "x", "cut.parquet cannot be read: .*magic bytes not found"),
        (tmp_path / "damaged.parquet", "x", "cannot be read to its end: .*"),
        (tmp_path / "text.csv", "x", "cannot be read to its end: .*invalid value 'hello'"),
        (tmp_path / "empty.csv", "x", "empty.csv cannot be read: .*Empty CSV file"),
        (tmp_path / "rows.parquet", "x", "rows.parquet has no rows"),
        (3, "x", "a table must be a path, .* got int"),
    ]


def test_what_cannot_be_read_says_why(whole, folder, tmp_path):
    for source, column, message in cases(whole, folder, tmp_path):
        with pytest.raises(TableError, match=message):
            open_table(source, column and [column]).to_batch()


def test_number_of_error_columns_must_fit(whole):
    with pytest.raises(TableError, match="errors must name one column for each of"):
        open_table(whole, ["x", "y", "night"], errors=["e_x", "e_x"])


def test_without_pyarrow_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'noisykmeans\[tables\]'"):
        open_table("a.parquet")


def test_importing_tables_does_not_load_pyarrow():
    code = "import sys, noisykmeans.tables; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_repr_of_a_table_tells_its_columns(whole):
    table = open_table(whole, ["x"])
    assert repr(table).startswith("Table(columns=('x',), errors=()")
    assert isinstance(table, Table)


def test_sums_over_batches_are_taken_in_their_order():
    source = Iterated([np.full((2, 1), float(i)) for i in range(50)])
    assert source.reduce(lambda run: [batch.X[0, 0] for batch in run]) == list(range(50))
    assert Iterated([]).reduce(list) is None


def test_a_generator_is_known_to_be_read_once():
    assert Iterated(np.ones((2, 1)) for _ in range(3)).once
    assert not Iterated([np.ones((2, 1))]).once
    assert not Iterated(lambda: iter([np.ones((2, 1))])).once


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (np.ones(3), r"must have the shape \(n_rows, n_features\); got \(3,\)"),
        (np.array([["a"]]), "must hold numbers"),
        (Batch(np.ones((3, 1)), np.ones(2)), r"sample_weight must have the shape \(3,\); got"),
    ],
)
def test_batches_that_are_none_are_refused(item, message):
    with pytest.raises(ValueError, match=message):
        Batch.of(item)


@pytest.mark.parametrize(
    "text",
    [
        "x;y;x_err\n1,5;-2,25;0,5\n3;4e-1;0,1\n",
        "x;y;x_err\n1.5;-2.25;0.5\n3;0.4;0.1\n",
        "# a table\n# of mine\nx, y, x_err\n1.5, -2.25, 0.5\n3, 0.4, 0.1\n",
        "\ufeffx,y,x_err\r\n1.5,-2.25,0.5\r\n3,0.4,0.1\r\n",
    ],
    ids=["decimal commas", "semicolons", "comments and blanks", "byte order mark"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_text_is_read_as_people_write_it(text, packed, tmp_path):
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    data = text.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    table = open_table(path)
    assert table.names == ("x", "y", "x_err")
    (batch,) = table
    np.testing.assert_allclose(batch.X, [[1.5, -2.25, 0.5], [3, 0.4, 0.1]])


@pytest.mark.parametrize("first", [0, 1])
def test_a_file_that_lacks_a_column_is_told_in_any_order(first, tmp_path):
    for i, names in enumerate((["x"], ["x", "y"])):
        table = pa.table({name: [1.0, 2.0] for name in names})
        pq.write_table(table, tmp_path / f"{(i + first) % 2}.parquet")
    with pytest.raises(TableError, match="files differ"):
        open_table(tmp_path)
