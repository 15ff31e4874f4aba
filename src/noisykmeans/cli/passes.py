"""Tables too large to be held: read in batches, as often as is needed."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans import thinning
from noisykmeans.batches import Batch, Source
from noisykmeans.cli.output import WrongUse, say
from noisykmeans.cli.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noisykmeans.cli.columns import Columns
    from noisykmeans.estimators import NoisyKMeans
    from noisykmeans.report.scene import Drawn
    from noisykmeans.tables import Table

    Array = NDArray[np.float64]

__all__ = ["Passes", "is_large"]

# Numbers, rows times columns, that are held at once: 64 MB, of which a fit makes several times as
# much, up to ten where rows have errors of their own. Below it takes a second or two, and tells
# all that single rows can tell: how many have each label, and what those with gaps have to say.
# From there on batches cost less than they lose: the centers are the same.
MOST_VALUES = 2**23


def is_large(table: Table, columns: Columns, weights: str | None = None) -> bool:
    """Return whether a table has more numbers in these columns than are held at once."""
    names = columns.wanted
    most = MOST_VALUES // (len(names) + (weights is not None))
    if table.n_rows is not None:
        return table.n_rows > most
    rows = 0
    for part in table.select(names[:1]).parts():  # text is read to be counted, up to there
        rows += part.num_rows
        if rows > most:
            return True
    return False


@dataclass(eq=False)
class Passes(Source):
    """The rows of a large table, with the same answers as `Rows`.

    Parameters
    ----------
    table : Table
        With all columns that are wanted.
    columns : Columns
        What they are.
    drop : bool
        Leave out rows without a value.
    quiet : bool
        Show no progress, not on a terminal either.
    all_rows : bool
        Give rows that a fit leaves out, too, without any value, and check nothing.
    """

    table: Table
    columns: Columns
    drop: bool = False
    quiet: bool = False
    all_rows: bool = False
    n_lost: int = 0
    _counted: int | None = field(default=None, repr=False)

    @classmethod
    def over(
        cls, table: Table, columns: Columns, weights: str | None = None, **choices: Any
    ) -> Passes:
        """Return the rows, of which nothing is read yet."""
        return cls(table.select(columns.wanted, weights=weights), columns, **choices)

    @property
    def bounds(self) -> Array | None:
        """The bounds of the features, where the footers of files tell those of the rows taken."""
        box = None if self.drop else self.table.bounds
        if box is None:
            return None
        place = [self.columns.wanted.index(name) for name in self.columns.features]
        return box[:, place]

    @property
    def n_rows(self) -> int | None:
        """The number of rows in the table, None where they have not been counted yet."""
        return self._counted if self.table.n_rows is None else self.table.n_rows

    @property
    def n_kept(self) -> int:
        """The number of rows that count, after a fit."""
        return (self.n_rows or 0) - self.n_lost

    @property
    def n_bytes(self) -> int | None:
        """What is read of files."""
        return self.table.n_bytes

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.columns.features

    @property
    def has_errors(self) -> bool:
        """Whether rows have errors of their own."""
        return self.columns.has_errors

    @property
    def run(self) -> int:
        """The number of parts whose sums are kept together."""
        return self.table.run

    def parts(self) -> Iterator[Any]:
        """Give the parts of the table, and count the rows of text."""
        rows = 0
        for part in self.table.parts():
            rows += getattr(part, "num_rows", 0)
            yield part
        self._counted = rows

    def read(self, part: Any) -> Batch:
        """Return the rows of a part as a fit takes them."""
        return self._taken(self.table.read(part))

    def pieces(self, part: Any) -> Iterator[Batch]:
        """Give the rows of a part, a few at a time."""
        return map(self._taken, self.table.pieces(part))

    def _taken(self, batch: Batch) -> Batch:
        rows = Rows.of(batch, self.columns, drop=self.drop)
        if self.all_rows:
            errors = None if rows.X_err is None else rows.for_all(rows.X_err, np.nan)
            return Batch(rows.for_all(rows.X, np.nan), None, errors)
        self._check_rows(rows)
        return Batch(rows.X, rows.weights, rows.X_err, dropped=rows.n_lost)

    def check(self, model: NoisyKMeans) -> None:
        """Raise where a model needs all rows at once."""
        from noisykmeans.errors import heavy  # noqa: PLC0415  loads the numerics

        why = None
        if model.noise is None and not self.has_errors:
            why = "k-means without errors looks at single rows: give --noise or --errors"
        elif heavy(model.noise):
            why = "--noise with an infinite variance looks at single rows: give another law"
        if why is not None:
            raise WrongUse(f"{self.why}, and {why}, or --in-memory to read all rows at once")

    @property
    def why(self) -> str:
        """In words, that the table is large."""
        rows = "so many" if self.n_rows is None else f"{self.n_rows:,}"
        return f"a table of {rows} rows is read in batches"

    def _check_rows(self, rows: Rows) -> None:
        """Raise where a value is missing, or an error none that can be one."""
        both = [(rows.X, self.columns.features)]
        if rows.X_err is not None:
            both.append((rows.X_err, self.columns.errors))  # type: ignore[arg-type]
            if (rows.X_err < 0).any():
                j = int(np.argmax((rows.X_err < 0).any(axis=0)))
                raise WrongUse(
                    f"the column {self.columns.errors[j]!r} holds {rows.X_err[:, j].min():g}, and "
                    f"standard errors are 0 or more"
                )
        for values, names in both:
            there = np.isfinite(values)
            if there.all():
                continue
            i, j = np.argwhere(~there)[0]
            holds = "no value" if np.isnan(values[i, j]) else f"the value {values[i, j]:g}"
            way = "--drop-missing to leave such rows out, or " if holds == "no value" else ""
            raise WrongUse(
                f"the column {names[j]!r} has {holds} in some rows, and {self.why}, which must be "
                f"complete: give {way}--in-memory to use them for what they have"
            )

    def fit(self, model: NoisyKMeans, columns: Columns) -> None:
        """Fit a model to the rows."""
        del columns
        with self.shown("fit") as source:
            model.fit_batches(source)
        self.n_lost = model.n_dropped_
        if model.mixture_ is not None:
            most = min(self.n_kept, thinning.MOST_ROWS)
            say(f"Fitted to {_fair(most)}: more than three features vary", json=self.quiet)

    def some(self) -> Rows:
        """Rows to compare numbers of clusters on: a fair sample."""
        with self.shown("sample") as source:
            sample = source.reduce(thinning.thinned)
        if sample is None:
            raise WrongUse("the table has no rows that count")
        say(f"Numbers of clusters are compared on {_fair(len(sample.rows))}", json=self.quiet)
        weights = None if (sample.weights == 1).all() else sample.weights
        kept = np.ones(len(sample.rows), dtype=bool)
        return Rows(sample.rows, sample.errors, weights, kept)

    def labels(self, model: NoisyKMeans) -> Iterator[NDArray[np.int32]]:
        """Give the labels of all rows in another pass, -1 for those left out."""
        with replace(self, all_rows=True).shown("labels") as source:
            yield from model.predict_batches(source)

    def drawn(self) -> Drawn:
        """Return what a report draws: the rows that it would choose of them all."""
        from noisykmeans.report.scene import Drawn, distance  # noqa: PLC0415

        n = self.n_kept
        every, start, some = distance(n), 0, []
        with self.shown("report") as source:
            for batch in source:
                some.append(batch.X[-start % every :: every].copy())  # or batches would be kept
                start += batch.n_rows
        return Drawn(np.concatenate(some), np.arange(0, n, every))

    @contextmanager
    def shown(self, purpose: str) -> Iterator[Source]:
        """Show the progress of passes, to people only."""
        if self.quiet or not (sys.stdout.isatty() and sys.stderr.isatty()):
            yield self
            return
        from noisykmeans.progress import watched  # noqa: PLC0415

        with watched(self, purpose=purpose) as source:
            yield source


def _fair(rows: int) -> str:
    return f"a fair sample of {rows:,} rows"
