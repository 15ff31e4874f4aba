"""Laws of errors as words: `gaussian:0,2.6`, `uniform:0.5`, `gaussian:1+uniform:0.5`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisykmeans.cli.output import WrongUse

if TYPE_CHECKING:
    from noisykmeans.noise import Noise

__all__ = ["LAWS", "parse_law"]

LAWS = {
    "gaussian": "standard deviation",
    "laplace": "scale",
    "uniform": "half width",
    "cauchy": "scale",
    "student": "degrees of freedom, then scale",
}


def parse_law(text: str) -> Noise:
    """Return the law that the words mean; sums have a plus sign.

    Parameters
    ----------
    text : str
        A name, a colon, and one number or one for each column, with commas.

    Examples
    --------
    >>> parse_law("gaussian:0,2.6")
    Gaussian((0.0, 2.6))
    >>> parse_law("student:4,0.5")
    Student(4.0, 0.5)
    """
    laws = [_one(part.strip(), text) for part in text.split("+")]
    total = laws[0]
    for law in laws[1:]:
        total = total + law
    return total


def _one(part: str, text: str) -> Noise:
    from noisykmeans import noise  # noqa: PLC0415  help does not need it

    name, _, listed = part.partition(":")
    name = name.lower()
    if name not in LAWS:
        raise WrongUse(
            f"--noise: {text!r} is no law: write NAME:NUMBER or NAME:NUMBER,NUMBER,... with one of "
            f"{', '.join(LAWS)}, such as gaussian:0,2.6"
        )
    try:
        numbers = [float(number) for number in listed.split(",")]
    except ValueError:
        numbers = []
    least = 2 if name == "student" else 1
    if len(numbers) < least:
        raise WrongUse(
            f"--noise: {part!r} needs numbers after a colon ({LAWS[name]}), such as "
            f"{name}:{'4,' if least == 2 else ''}0.5"
        )
    try:
        if name == "student":
            return noise.Student(numbers[0], _scale(numbers[1:]))
        return getattr(noise, name.capitalize())(_scale(numbers))
    except ValueError as error:
        raise WrongUse(f"--noise: {part!r}: {error}") from error


def _scale(numbers: list[float]) -> float | list[float]:
    return numbers[0] if len(numbers) == 1 else numbers
