"""The rows of a table as `NoisyKMeans` takes them, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noisykmeans.cli.output import WrongUse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from noisykmeans.batches import Batch
    from noisykmeans.cli.columns import Columns
    from noisykmeans.estimators import NoisyKMeans
    from noisykmeans.tables import Table

    Array = NDArray[np.float64]

__all__ = ["Rows", "opened"]


@dataclass(frozen=True, eq=False)
class Rows:
    """What is read of a table.

    Parameters
    ----------
    X : array of shape (n, d)
        The features.
    X_err : array of shape (n, d) or None
        Their standard errors, 0 for exact features.
    weights : array of shape (n,) or None
        The weights.
    kept : array of shape (m,)
        Which of the table's m rows these n are.
    """

    X: Array
    X_err: Array | None
    weights: Array | None
    kept: NDArray[np.bool_]

    @classmethod
    def read(
        cls, table: Table, columns: Columns, weights: str | None = None, *, drop: bool = False
    ) -> Rows:
        """Read the columns, and leave out rows without a value where that is wanted."""
        batch = table.select(columns.wanted, weights=weights).to_batch()
        return cls.of(batch, columns, drop=drop)

    @classmethod
    def of(cls, batch: Batch, columns: Columns, *, drop: bool = False) -> Rows:
        """Tell features from errors in a batch that has all of them."""
        wanted = columns.wanted
        place = {name: batch.X[:, j] for j, name in enumerate(wanted)}
        if wanted == list(columns.features):
            X, X_err = batch.X, None
        else:
            X = np.stack([place[name] for name in columns.features], axis=1)
            none = np.zeros(len(X))
            each = [none if name is None else place[name] for name in columns.errors]
            X_err = np.stack(each, axis=1)
        kept = np.ones(len(X), dtype=bool)
        if drop:
            kept = ~(np.isnan(X).any(axis=1) | (X_err is not None and np.isnan(X_err).any(axis=1)))
        if kept.all():
            return cls(X, X_err, batch.sample_weight, kept)
        own = batch.sample_weight
        return cls(
            X[kept],
            None if X_err is None else X_err[kept],
            None if own is None else own[kept],
            kept,
        )

    def check(self, columns: Columns, *, with_errors: bool) -> None:
        """Raise where a value is missing that errors or a decision must make up for."""
        for name, gaps in zip(columns.features, np.isnan(self.X).sum(axis=0).tolist(), strict=True):
            if gaps and not with_errors:
                raise WrongUse(
                    f"the column {name!r} has no value in {gaps} rows: give --drop-missing to "
                    f"leave them out; with errors given they are taken as they are"
                )
        self._check_errors(columns)

    def fit(self, model: NoisyKMeans, columns: Columns) -> None:
        """Fit a model to the rows, and give its features their names."""
        model.fit(self.X, sample_weight=self.weights, X_err=self.X_err)
        model.feature_names_in_ = np.array(columns.features, dtype=object)

    @property
    def n_kept(self) -> int:
        """The number of rows that count."""
        return len(self.X)

    @property
    def n_lost(self) -> int:
        """The number of rows that were left out."""
        return int((~self.kept).sum())

    def some(self) -> Rows:
        """Rows to compare numbers of clusters on: these."""
        return self

    def labels(self, model: NoisyKMeans) -> Iterator[NDArray[Any]]:
        """Give the labels of the fit for all rows of the table, -1 for those left out."""
        yield self.for_all(model.labels_, -1)

    def drawn(self) -> Array:
        """Return what a report draws some of."""
        return self.X

    def _check_errors(self, columns: Columns) -> None:
        """Raise where a value has no error, or none that can be one."""
        if self.X_err is None:
            return
        for x, error, name in zip(self.X.T, self.X_err.T, columns.errors, strict=True):
            lacking = np.flatnonzero(np.isnan(error) & ~np.isnan(x))
            if len(lacking):
                raise WrongUse(
                    f"the column {name!r} has no value in {len(lacking)} rows, the first of them "
                    f"row {lacking[0]}: give --drop-missing to leave them out"
                )
            negative = np.flatnonzero(error < 0)
            if len(negative):
                raise WrongUse(
                    f"the column {name!r} holds {error[negative[0]]:g} in row {negative[0]}, and "
                    f"standard errors are 0 or more"
                )

    def for_all(self, values: NDArray[Any], missing: Any) -> NDArray[Any]:
        """Return values for all rows of the table, in their order."""
        if self.kept.all():
            return values
        full = np.full((len(self.kept), *values.shape[1:]), missing, dtype=values.dtype)
        full[self.kept] = values
        return full


def opened(path: Path) -> Table:
    """Open a table, or tell that there is none."""
    if not path.exists() and not set(str(path)) & set("*?["):
        raise WrongUse(f"there is no file {path}")
    from noisykmeans.tables import open_table  # noqa: PLC0415  help does not need it

    return open_table(str(path))
