"""All texts of the studio: `catalogue/*.toml`, one file per screen, both languages in each.

    [title]
    en = "Columns"
    de = "Spalten"

A text may contain ``{names}`` for values; Jinja2 escapes the result. Options are an exception: their English texts are
those of their declarations, and `options.de.toml` has the German ones.
"""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from discreet.core import large_delta
from discreet.jobs import choosing
from discreet.reporting import number, prose, translated

#: The languages that are complete; the first is the default.
LANGUAGES = {"en": "English", "de": "Deutsch"}
#: Returns a text of the catalogue in one language; see `speaker`.
T = Callable[..., str]
_FIGURE = re.compile(r"(?<![\w.,])[−-]?\d[\d,]*(\.\d+)?(?![\w.,]\d)")


@cache
def catalogue() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for place in sorted(files("discreet.studio").joinpath("catalogue").iterdir(), key=lambda p: p.name):
        if place.name.endswith(".toml") and not place.name.startswith("options."):
            screen = place.name.removesuffix(".toml")
            for name, said in tomllib.loads(place.read_text(encoding="utf-8")).items():
                found[f"{screen}.{name}"] = said
    return found | {f"goal.{name}": said for name, said in choosing.held()["texts"].items()}


def speaker(language: str) -> T:
    """Return the function ``t`` of templates: ``t("frame.foot", version=2)``."""

    def t(key: str, **values: Any) -> str:
        text = catalogue()[key][language]
        return text.format(**values) if values else text

    t.language = language  # type: ignore[attr-defined]
    return t


@cache
def options(language: str) -> dict[str, tuple[str, str]]:
    """Return labels and help texts of options by name: translations of the English ones, which are declared."""
    place = files("discreet.studio").joinpath("catalogue", f"options.{language}.toml")
    return tomllib.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}


class Terms:
    """The function ``term`` of templates: a word of the glossary that explains itself, and all that a page used.

    ``term("epsilon")`` is the word, ``term("epsilon", "how much shows through")`` other words for it. It is a button,
    which works on tap and by keyboard without script, so it must not be inside a ``<label>``. Explanations are at the
    end of the page, where `told` puts them.
    """

    def __init__(self, t: T) -> None:
        self._t = t
        self.used: dict[str, None] = {}

    def __call__(self, name: str, shown: str = "") -> Markup:
        self.used[name] = None
        return Markup('<button type="button" class="term" popovertarget="term-{}" title="{}">{}</button>').format(
            name, self._t(f"glossary.{name}_text"), shown or self._t(f"glossary.{name}")
        )

    def told(self) -> Markup:
        each = Markup('<div popover id="term-{}" role="note"><b>{}</b> {}</div>')
        told = [each.format(n, self._t(f"glossary.{n}"), self._t(f"glossary.{n}_text")) for n in self.used]
        return Markup("\n").join(told)


def explained(t: T, term: Terms, language: str) -> Callable[..., Markup]:
    """Return the function ``tt`` of templates: ``t``, in which the words of the glossary explain themselves.

    Each of them once on a page, where it first stands. For running text: not for attributes, nor inside a label.
    """
    pattern, names = _said(language)

    def tt(key: str, **values: Any) -> Markup:
        parts, end, text = [], 0, t(key, **values)
        for found in pattern.finditer(text):
            name = names[found[0].casefold()]
            if name not in term.used:
                parts += [escape(text[end : found.start()]), term(name, found[0])]
                end = found.end()
        return Markup("").join([*parts, escape(text[end:])])

    return tt


@cache
def _said(language: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return what finds the words of the glossary in a text, and which is which."""
    texts = catalogue()
    names = {
        form.casefold(): key.removeprefix("glossary.")
        for key, word in texts.items()
        if key.startswith("glossary.") and not key.endswith(("_text", "_said"))
        for form in texts.get(f"{key}_said", word)[language].split("|")
    }
    longest = sorted(map(re.escape, names), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(longest)})(?![\w-])", re.IGNORECASE), names


def in_bytes(size: int, language: str = "en") -> str:
    number, units = float(size), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while number >= 999.5 and unit != "TB":
        number, unit = number / 1000, next(units)
    text = f"{number:.0f}" if unit == "B" or number >= 100 else f"{number:.1f}".removesuffix(".0")
    return f"{text.replace('.', ',') if language == 'de' else text} {unit}"


def chosen(accepted: str, said: str = "") -> str:
    """Return the language of a page: what was chosen, else the first of the browser's that is there."""
    if said in LANGUAGES:
        return said
    for each in accepted.split(","):
        if (short := each.split(";")[0].strip().lower()[:2]) in LANGUAGES:
            return short
    return "en"


def written(text: str, t: T) -> str:
    if t.language != "de":  # type: ignore[attr-defined]
        return text
    return _FIGURE.sub(lambda found: found[0].translate(str.maketrans(",.", ".,")), text)


@pass_context
def _written(context: Context, text: Any) -> str:
    return written(str(text), context["t"])


@pass_context
def _figure(context: Context, value: float) -> str:
    return written(number(float(value)), context["t"])


@pass_context
def _core(context: Context, text: Any, mark: bool = True) -> Markup:
    """Return a sentence of the core in the language of the page; without a translation it is marked as English."""
    language, english = context["t"].language, prose(str(text))
    known = (context.get("facts") or {}).get("columns", ())
    said = translated(english, language, [column["name"] for column in known])
    plain = language == "en" or said != english or not mark
    return escape(said) if plain else Markup('<span lang="en">{}</span>').format(said)


#: ``{{ 1234.5 | figure }}`` writes a number, ``{{ "1,234.5" | written }}`` one that is already text;
#: ``core`` writes a sentence that the core made, such as one of a promise.
FILTERS = {"written": _written, "figure": _figure, "core": _core, "large_delta": large_delta}
