"""Numbers and dates as people type them: decimal commas, separators of thousands, formats such as DD.MM.YYYY.

A number that can be read in two ways is not guessed.
"""

import datetime
import math
import re
from collections.abc import Iterable

from discreet.core import dates

_GROUP = r"[+-]?[1-9]\d{0,2}"


class TwoWays(ValueError):
    """A number that can be read in two ways; ``values`` are what to type for each."""

    def __init__(self, text: str, whole: str, point: str) -> None:
        super().__init__(text)
        self.values = {"text": text, "whole": whole, "point": point, "comma": point.replace(".", ",")}


def read_number(text: str, thousands: str = "", *, whole: bool = False) -> int | float | None:
    """Return the number that was typed, None if it is not one.

    ``thousands`` is the declared separator. With ``whole``, 1.500 cannot be one and a half. Raises `TwoWays` if three
    digits follow a single point or comma: 100.000 is a hundred to some and a hundred thousand to others.
    """
    plain = re.sub(r"[\s_\u00a0\u2009\u202f]", "", text).replace("−", "-")
    if re.fullmatch(rf"{_GROUP}(['\u2019]\d{{3}})+([.,]\d+)?", plain):
        plain = re.sub("['\u2019]", "", plain)
    elif re.fullmatch(rf"{_GROUP}([.,])\d{{3}}(\1\d{{3}})*((?!\1)[.,]\d+)?", plain):
        mark = next(c for c in plain if c in ".,")
        rest = plain.replace(mark, "")
        once = len(rest) == len(plain) - 1 and not set(rest) & {".", ","}
        if once and mark != thousands and not (whole and not plain.endswith("000")):
            raise TwoWays(text.strip(), rest, certain(plain.replace(",", ".").rstrip("0")))
        plain = rest
    plain = re.sub(r"^([+-]?\d*),(\d+(?:e[+-]?\d+)?)$", r"\1.\2", plain)
    try:
        value = float(plain)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 and not re.search(r"[.e]", plain) else value


def certain(text: str) -> str:
    """Return a number with a decimal point that cannot be mistaken for thousands."""
    return f"{text}0" if re.fullmatch(rf"{_GROUP}\.(\d{{3}})?", text) else text


_LETTERS = {
    "en": {"%Y": "YYYY", "%y": "YY", "%m": "MM", "%d": "DD", "%H": "hh", "%M": "mm", "%S": "ss"},
    "de": {"%Y": "JJJJ", "%y": "JJ", "%m": "MM", "%d": "TT", "%H": "hh", "%M": "mm", "%S": "ss"},
}
_FORMS = (("jjjj|yyyy", "%Y"), ("jj|yy", "%y"), ("tt?|dd?", "%d"), ("mm?", "%m"))
_CLOCK = (("hh?", "%H"), ("mm?", "%M"), ("ss?", "%S"))


def read_form(text: str) -> str:
    """Return the form of dates that was typed as a schema writes it; what is none of ours stays as it is."""
    day, clock = re.fullmatch(r"(.*?)(\W*\bh{1,2}:.*)?", text, re.IGNORECASE | re.DOTALL).groups("")  # type: ignore[union-attr]
    made = _put(day, _FORMS) + _put(clock, _CLOCK)
    return made if "%" not in text and not re.search("[a-z]", re.sub("%[a-z]", "", made, flags=re.I), re.I) else text


def _put(text: str, forms: Iterable[tuple[str, str]]) -> str:
    for letters, directive in forms:
        text = re.sub(rf"(?<![a-z%])(?:{letters})(?![a-z])", directive, text, flags=re.IGNORECASE)
    return text


def shown_form(form: str, language: str) -> str:
    return re.sub("%[YymdHMS]", lambda found: _LETTERS[language][found[0]], form)


def read_day(text: str, forms: Iterable[str] = ()) -> datetime.date | None:
    """Return a date that was typed like 1984-05-01 or in a declared form that says the century, None if it is none."""
    day = dates.day_number(text)
    if day is not None:
        return datetime.date.fromisoformat(dates.date_text(day))
    for form in forms:
        for each in dict.fromkeys((form, re.split(r"\s*%H", form)[0])):
            try:
                if "%Y" in each:
                    return datetime.datetime.strptime(text.strip(), each).date()
            except ValueError:
                continue
    return None
