"""Every word that the studio shows, in one catalogue: `catalogue/*.toml`, one file per screen, languages side by side.

    [title]
    en = "Columns"
    de = "Spalten"

A text may hold ``{names}``, which are filled in when it is shown; Jinja2 escapes the whole.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any

from markupsafe import Markup

#: The languages that are complete; the first is the default.
LANGUAGES = {"en": "English", "de": "Deutsch"}


@cache
def catalogue() -> dict[str, dict[str, str]]:
    """Return all texts by ``file.name`` and language."""
    found: dict[str, dict[str, str]] = {}
    for place in sorted(files("discreet.studio").joinpath("catalogue").iterdir(), key=lambda p: p.name):
        if place.name.endswith(".toml"):
            screen = place.name.removesuffix(".toml")
            for name, said in tomllib.loads(place.read_text(encoding="utf-8")).items():
                found[f"{screen}.{name}"] = said
    return found


def speaker(language: str) -> Callable[..., str]:
    """Return the function ``t`` of templates: ``t("frame.foot", version=2)``.

    Examples
    --------
    >>> speaker("de")("frame.account")
    'Konto'
    """

    def t(key: str, **values: Any) -> str:
        text = catalogue()[key][language]
        return text.format(**values) if values else text

    return t


def explainer(t: Callable[..., str]) -> Callable[..., Markup]:
    """Return the function ``term`` of templates: a word of the glossary that explains itself, one page long.

    ``term("epsilon")`` is the word, ``term("epsilon", "how much shows through")`` other words for it. It is a button,
    which works on tap and by keyboard without script; so it stands beside a ``<label>``, never inside one.

    Examples
    --------
    >>> print(explainer(speaker("en"))("delta", "chance"))  # doctest: +ELLIPSIS
    <button type="button" class="term" popovertarget="term-1" title="The chance ...">chance</button><span ...
    """
    numbers = count(1)

    def term(name: str, shown: str = "") -> Markup:
        number, word, told = next(numbers), t(f"glossary.{name}"), t(f"glossary.{name}_text")
        return Markup(
            '<button type="button" class="term" popovertarget="term-{0}" title="{3}">{1}</button>'
            '<span popover id="term-{0}" role="note"><b>{2}</b> {3}</span>'
        ).format(number, shown or word, word, told)

    return term


def in_bytes(size: int, language: str = "en") -> str:
    """Return how large something is, in words.

    Examples
    --------
    >>> in_bytes(512), in_bytes(3_400_000), in_bytes(2 * 2**30, "de")
    ('512 B', '3.4 MB', '2,1 GB')
    """
    number, units = float(size), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while number >= 999.5 and unit != "TB":
        number, unit = number / 1000, next(units)
    text = f"{number:.0f}" if unit == "B" or number >= 100 else f"{number:.1f}".removesuffix(".0")
    return f"{text.replace('.', ',') if language == 'de' else text} {unit}"


def chosen(accepted: str, said: str = "") -> str:
    """Return the language of a page: what was chosen, else the first of the browser's that is there.

    Examples
    --------
    >>> chosen("fr;q=0.9, de-AT;q=0.8"), chosen("de", said="en")
    ('de', 'en')
    """
    if said in LANGUAGES:
        return said
    for each in accepted.split(","):
        if (short := each.split(";")[0].strip().lower()[:2]) in LANGUAGES:
            return short
    return "en"
