"""Dates as people write their form (DD.MM.YYYY, TT.MM.JJJJ) and as they type them."""

import datetime
import re
from collections.abc import Iterable

from discreet.core import dates

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
    """Return a format of dates in letters, such as DD.MM.YYYY."""
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
