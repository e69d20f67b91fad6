"""Numbers and settings as pages print them for people, held to what is stated. Nothing of the package is used here."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

_LEVELS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_POWER = rf"10[{_LEVELS}]+"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[+-]?\d+)?"

#: A positive number: 0.25, 1,064, 1e-06, 10⁻⁶, 3.81 × 10⁻⁶.
NUM = rf"(?:{_DIGITS} × {_POWER}|{_POWER}|{_DIGITS})"


def _parts(text: str) -> tuple[Fraction, int]:
    """The number before a power of ten, and the power."""
    found = re.fullmatch(rf"(?:({_DIGITS})(?: × |$))?(?:10([{_LEVELS}]+))?", text)
    if not text or not found:
        raise ValueError(f"not a printed number: {text!r}")
    power = (found[2] or "⁰").translate(str.maketrans(_LEVELS, "-0123456789"))
    return Fraction((found[1] or "1").replace(",", "")), int(power)


def value_of(text: str) -> float:
    """The number that is printed."""
    number, power = _parts(text)
    return float(number * Fraction(10) ** power)


def half_a_unit(text: str) -> Fraction:
    """Return how far a printed number may be from its value: half a unit of its last digit.

    Zeros at the end are not printed: 2 stands for 2.000 and 10⁻⁶ for 1.00 × 10⁻⁶. So a number is held to four digits,
    or three before a power of ten, and to all that it prints where these are more.
    """
    number, power = _parts(text)
    before = text.split(" ")[0]
    shown = len(before.partition(".")[2]) if "." in before else 0
    raised = re.search(_POWER, text)
    first = math.floor(math.log10(number)) if number else 0
    return Fraction(10) ** (power - max(shown, (2 if raised else 3) - first, 0)) / 2


def _eaten(text: str, value: Any) -> str | None:
    """Take a value off the front of a text; None where the text says something else."""
    if value is None or isinstance(value, bool) or value in ({}, [], ()):
        word = {True: "yes", False: "no"}[value] if isinstance(value, bool) else "none"
        return text.removeprefix(word) if text.startswith(word) else None
    if isinstance(value, (dict, list, tuple)):
        return _eaten_list(text, value)
    if isinstance(value, str):
        return text.removeprefix(value) if text.startswith(value) else None
    return _eaten_number(text, value)


def _eaten_list(text: str, value: Any) -> str | None:
    if isinstance(value, dict):  # names are never left out
        parts, more = [(f"{name.replace('_', ' ')} ", inner) for name, inner in value.items()], ""
    else:  # the first twelve are printed, and how many more there are
        parts, more = [("", inner) for inner in value[:12]], f" and {len(value) - 12:,} more" if len(value) > 12 else ""
    rest: str | None = text
    for place, (name, inner) in enumerate(parts):
        head = (", " if place else "") + name
        rest = _eaten(rest.removeprefix(head), inner) if rest is not None and rest.startswith(head) else None
    return rest.removeprefix(more) if rest is not None and rest.startswith(more) else None


def _eaten_number(text: str, value: float) -> str | None:
    if math.isnan(value) or math.isinf(value):
        word = "not known" if math.isnan(value) else "∞" if value > 0 else "−∞"
        return text.removeprefix(word) if text.startswith(word) else None
    found = re.match(rf"(−?)({NUM})", text)
    if not found or bool(found[1]) != (value < 0):
        return None
    number, power = _parts(found[2])
    apart = abs(number * Fraction(10) ** power - abs(Fraction(value)))
    # Nothing but nothing is printed as 0.
    fits = apart <= half_a_unit(found[2]) if number else value == 0
    return text[found.end() :] if fits else None


def says(text: str, value: Any) -> bool:
    """Return whether a printed setting is the stated one, to the printed digits."""
    return _eaten(text, value) == ""
