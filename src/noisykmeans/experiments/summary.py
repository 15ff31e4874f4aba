"""Failures and mean risks by u and method, beside what the paper says of them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noisykmeans.experiments.experiment import FAILURE
from noisykmeans.experiments.methods import METHODS
from noisykmeans.experiments.settings import EXPERIMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from noisykmeans.experiments.trial import Row

__all__ = ["Summary", "as_markdown", "as_records", "interval", "summarise"]

QUANTILE = 1.96


class Summary(NamedTuple):
    """The risks of one method at one u, and what the paper says of its failures."""

    experiment: str
    u: int
    method: str
    runs: int
    failures: int
    mean: float
    low: float | None
    high: float | None
    median: float
    paper: str | None
    excess: float | None

    @property
    def verdict(self) -> str:
        """Agree or disagree, and by how many failures in 100 runs."""
        if self.excess is None:
            return ""
        return "agree" if self.excess == 0 else f"disagree by {self.excess:+g}"


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """Summarise the rows of each experiment, u and method, in this order."""

    def group(row: Row) -> tuple[str, int, int]:
        return row.experiment, row.u, row.key[-1]

    return [_summary(list(same)) for _, same in groupby(sorted(rows, key=group), key=group)]


def _summary(rows: list[Row]) -> Summary:
    first = rows[0]
    risks = np.array([row.risk for row in rows])
    failures = int((risks > FAILURE).sum())
    claim = EXPERIMENTS[first.experiment].claim(first.method, first.u)
    return Summary(
        first.experiment,
        first.u,
        first.method,
        len(rows),
        failures,
        float(risks.mean()),
        *interval(risks),
        float(np.median(risks)),
        claim.words if claim else None,
        claim.excess(failures, len(rows)) if claim else None,
    )


def interval(risks: np.ndarray[Any, Any]) -> tuple[float | None, float | None]:
    """Return ``mean -/+ 1.96 sd / sqrt(number of runs)``, None for a single run.

    Examples
    --------
    >>> interval(np.array([0.0, 0.2]))
    (-0.096, 0.296)
    """
    if len(risks) < 2:
        return None, None
    half = QUANTILE * risks.std(ddof=1) / np.sqrt(len(risks))
    mean = risks.mean()
    return round(float(mean - half), 12), round(float(mean + half), 12)


def as_records(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """Return the rows of ``summary.csv``."""
    names = {"mean": "mean_risk", "median": "median_risk", "excess": "disagreement"}
    return [
        {names.get(k, k): v for k, v in summary._asdict().items()} | {"verdict": summary.verdict}
        for summary in summaries
    ]


def as_markdown(summaries: Sequence[Summary]) -> str:
    """Return ``summary.md``: for each experiment the failures, the mean risks and the verdicts."""
    parts = []
    for name, rows in groupby(summaries, key=lambda summary: summary.experiment):
        same = list(rows)
        title, n = EXPERIMENTS[name].title, same[0].runs
        parts += [
            f"### {title}: failures in {n} runs (risk above {FAILURE:g})",
            _cross(same, lambda s: str(s.failures)),
            f"### {title}: mean risk, with its 95 % interval",
            _cross(same, _mean_risk),
            f"### {title}: median risk",
            _cross(same, lambda s: f"{s.median:.3f}"),
            f"### {title}: what the paper says of failures, in 100 runs",
            _claims(same),
        ]
    return "\n\n".join(parts) + "\n"


def _mean_risk(summary: Summary) -> str:
    if summary.low is None or summary.high is None:
        return f"{summary.mean:.3f}"
    return f"{summary.mean:.3f} ({max(summary.low, 0):.3f} to {summary.high:.3f})"


def _cross(summaries: list[Summary], show: Any) -> str:
    """Return a Markdown table with a row for each u and a column for each method."""
    lines = ["| u | " + " | ".join(METHODS) + " |", "| --- |" + " ---: |" * len(METHODS)]
    for u, same in groupby(summaries, key=lambda summary: summary.u):
        lines.append(f"| {u} | " + " | ".join(map(show, same)) + " |")
    return "\n".join(lines)


def _claims(summaries: list[Summary]) -> str:
    """Return a Markdown table of what the paper says, and whether it is so here."""
    lines = ["| u | method | paper | here | |", "| --- | --- | --- | ---: | --- |"]
    for s in summaries:
        if s.paper is not None:
            share = 100 * s.failures / s.runs
            lines.append(f"| {s.u} | {s.method} | {s.paper} | {share:g} | {s.verdict} |")
    if len(lines) == 2:
        return "Nothing, at these u."
    return "\n".join(lines)
