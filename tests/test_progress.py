"""Reading is shown on terminals, and nowhere else."""

from io import StringIO

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from rich.console import Console

from noisykmeans import NoisyKMeans, noise
from noisykmeans.batches import Iterated
from noisykmeans.progress import watched
from noisykmeans.tables import open_table


def shown(source, *, terminal=True):
    """What a fit of a source leaves on a terminal, and the model."""
    screen = StringIO()
    console = Console(file=screen, force_terminal=terminal, width=120)
    with watched(source, console) as seen:
        model = NoisyKMeans(2, noise=noise.Gaussian(0.5), random_state=0).fit_batches(seen)
    return screen.getvalue(), model


def table(tmp_path):
    x = np.random.default_rng(0).normal(size=300_000)
    parquet.write_table(pa.table({"x": x}), tmp_path / "a.parquet")
    return open_table(tmp_path / "a.parquet")


def test_a_table_shows_rows_speed_and_bytes_and_its_fit_is_the_same(tmp_path):
    source = table(tmp_path)
    text, model = shown(source)
    assert "300,000 rows" in text
    assert "million rows/s" in text
    assert "MB/s" in text
    assert "pass 1" in text
    assert "pass 2" not in text
    alone = NoisyKMeans(2, noise=noise.Gaussian(0.5), random_state=0).fit_batches(source)
    np.testing.assert_array_equal(model.cluster_centers_, alone.cluster_centers_)


def test_large_row_groups_are_read_in_small_pieces_under_a_bar_too(tmp_path):
    console = Console(file=StringIO(), force_terminal=True)
    with watched(table(tmp_path), console, purpose="labels") as seen:
        sizes = [batch.n_rows for batch in seen]
    assert sum(sizes) == 300_000
    assert max(sizes) <= 2**16
    assert "labels, pass 1" in console.file.getvalue()


def test_batches_of_unknown_number_show_both_passes():
    text, _ = shown(Iterated(np.array_split(np.random.default_rng(0).normal(size=(9000, 1)), 9)))
    assert "pass 2" in text
    assert "9,000 rows" in text


def test_nothing_is_written_where_there_is_no_terminal(tmp_path):
    assert shown(table(tmp_path), terminal=False)[0] == ""
