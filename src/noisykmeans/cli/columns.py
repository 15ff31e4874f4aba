"""Which columns of a table are features, and which hold their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noisykmeans.cli.output import WrongUse

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PATTERNS", "Columns", "check_known", "choose", "names_of"]

PATTERNS = ("{}_error", "{}_err", "e_{}", "sigma_{}")
NONE = "none"


@dataclass(frozen=True)
class Columns:
    """The features, and the column of the errors of each.

    Parameters
    ----------
    features : tuple of str
        The columns that are clustered.
    errors : tuple of str or None
        For each of them the column of its standard errors, None where it has none.
    matched : bool
        Whether the columns of errors were found by their names.
    """

    features: tuple[str, ...]
    errors: tuple[str | None, ...]
    matched: bool = False

    @property
    def has_errors(self) -> bool:
        """Whether any feature has a column of errors."""
        return any(error is not None for error in self.errors)

    @property
    def wanted(self) -> list[str]:
        """All columns that must be read, each once."""
        return list(dict.fromkeys([*self.features, *filter(None, self.errors)]))

    @property
    def without_errors(self) -> list[str]:
        """The features that count as exact beside others that have errors."""
        pairs = zip(self.features, self.errors, strict=True)
        return [name for name, error in pairs if error is None and self.has_errors]

    def described(self) -> str:
        """Return in words which column holds the errors of which."""
        if not self.has_errors:
            return "none"
        pairs = zip(self.features, self.errors, strict=True)
        words = [f"{name}: {'exact' if error is None else error}" for name, error in pairs]
        return ", ".join(words) + (" (matched by name)" if self.matched else "")


def choose(
    numeric: Sequence[str],
    wanted: Sequence[str] | None,
    errors: str,
    others: Sequence[str] = (),
) -> Columns:
    """Return the features and their columns of errors.

    Parameters
    ----------
    numeric : sequence of str
        The columns of numbers.
    wanted : sequence of str or None
        The features; None takes all columns of numbers that hold no errors of others.
    errors : str
        "auto" matches names, "none" takes none; else one column for all features, or one for
        each, where "none" stands for an exact feature.
    others : sequence of str
        The columns that hold no numbers.

    Examples
    --------
    >>> choose(["x", "x_err", "y", "e_y"], None, "auto").described()
    'x: x_err, y: e_y (matched by name)'
    """
    named = [] if errors in {"auto", NONE} else names_of(errors)
    matches = {name: _matches(name, numeric) for name in numeric}
    taken = {match for found in matches.values() for match in found} | set(named)
    features = tuple(name for name in numeric if name not in taken) if wanted is None else wanted
    for option, names in (("--columns", features), ("--errors", named)):
        check_known(option, [name for name in names if name != NONE], numeric)
    if wanted is None:
        _check_words(others, numeric)
    both = set(features) & (set(named) - {NONE})
    if both:
        raise WrongUse(f"--errors: {_listed(sorted(both))} cannot be a feature and its errors")
    if not features:
        raise WrongUse(f"no column is left to cluster among {_listed(numeric)}: give --columns")
    if len(set(features)) < len(features):
        raise WrongUse(f"--columns: a column is named twice in {','.join(features)}")
    if named:
        return Columns(tuple(features), _assigned(named, features))
    if errors == NONE:
        return Columns(tuple(features), (None,) * len(features))
    found = tuple(_only(name, matches[name], features) for name in features)
    return Columns(tuple(features), found, matched=True)


def names_of(text: str) -> list[str]:
    """Return the names in a list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _matches(name: str, numeric: Sequence[str]) -> list[str]:
    """Return the columns that by their names hold the errors of a column."""
    patterns = {pattern.format(name.strip()).lower() for pattern in PATTERNS}
    return [other for other in numeric if other.strip().lower() in patterns and other != name]


def _only(name: str, matches: list[str], features: Sequence[str]) -> str | None:
    if len(matches) > 1:
        example = ",".join(matches[0] if feature == name else "..." for feature in features)
        raise WrongUse(
            f"{len(matches)} columns may hold the errors of {name!r}: {_listed(matches)}; choose "
            f"with --errors {example}, or --errors none"
        )
    return matches[0] if matches else None


def _assigned(named: Sequence[str], features: Sequence[str]) -> tuple[str | None, ...]:
    if len(named) not in (1, len(features)):
        raise WrongUse(
            f"--errors must name one column for all or {len(features)}, one for each of "
            f"{','.join(features)}; got {','.join(named)}"
        )
    each = named if len(named) == len(features) else [named[0]] * len(features)
    return tuple(None if name == NONE else name for name in each)


def check_known(option: str, names: Sequence[str], numeric: Sequence[str]) -> None:
    """Raise where an option names a column that is not there, or holds no numbers."""
    for name in names:
        if name not in numeric:
            raise WrongUse(
                f"{option}: there is no column of numbers {name!r}; there are {_listed(numeric)}"
            )


def _check_words(others: Sequence[str], numeric: Sequence[str]) -> None:
    """Raise where a column with errors holds no numbers itself: it would be left out unnoticed."""
    for name in others:
        for match in _matches(name, numeric):
            raise WrongUse(
                f"the column {name!r} holds other things than numbers, though {match!r} seems to "
                f"hold its errors: mend it, or name the features with --columns"
            )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
