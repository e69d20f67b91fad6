"""Pages in other languages: each file `languages/*.toml` holds templates of English sentences and their translations.

Finished sentences are translated where they are shown, because many rooms make them and guarantees seal them in
English. A template matches a whole sentence or nothing. Its ``{name:number}`` is a figure, ``{name:said}`` a text that
is translated in turn or a known text of the user, and ``{name}`` the user's own, which is never translated
(``{name:name}``: without commas). Without a template a sentence stays English, and is logged. See docs/languages.md.
"""

import html
import logging
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from discreet.errors import InvalidArgument

FOLDER = Path(__file__).parent / "languages"
_LOG = logging.getLogger("discreet.languages")
_NUMBER = r"[−-]?(?:∞|10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?)(?!\w)"
_DATE = r"\d{4}-\d\d(?:-\d\d)?"
_KINDS = {"number": _NUMBER, "said": ".+?", "name": "[^,;:]+?", "": ".+?"}
_PLACE = re.compile(r"\{(\w+):?(\w*)\}")


class Language:
    """One file of translations."""

    def __init__(self, file: Path) -> None:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
        self.code, self.form = file.stem, found["form"]
        self.sentences: dict[str, str] = {en: said for room in found["sentences"].values() for en, said in room.items()}
        places = [(_PLACE.split(english), english) for english in self.sentences if _PLACE.search(english)]
        # The most specific first: what a template says itself counts, and then how narrow its places are.
        places.sort(key=lambda each: (-sum(map(len, each[0][::3])), -sum(map(bool, each[0][2::3]))))
        self._templates = [(max(parts[::3], key=len), _pattern(english), english) for parts, english in places]
        self.said = lru_cache(maxsize=1 << 14)(self._said)

    def _said(self, text: str, own: frozenset[str] = frozenset()) -> str | None:
        """Return a text in this language; None if a part of it has no translation."""
        if text in own or (text.endswith("…") and any(each.startswith(text[:-1]) for each in own)):
            return text
        if text in self.sentences:
            return self.sentences[text]
        if re.fullmatch(f"{_NUMBER}|{_DATE}", text):
            return self.figure(text)
        for fixed, pattern, english in self._templates:
            if fixed in text and (found := pattern.fullmatch(text)) and (values := self._values(english, found, own)):
                return _PLACE.sub(lambda place: values[place[1]], self.sentences[english])
        # A warning, an assumption or an error, written as a sentence
        if text[-1:] == "." and (inner := self.said(text[:1].lower() + text[1:-1], own)):
            return f"{inner[:1].upper()}{inner[1:]}."
        parts = re.split(r"(?<=[.!?]) (?=[A-Z])", text)
        told = [self.said(part, own) for part in parts] if len(parts) > 1 else [None]
        return None if None in told else " ".join(filter(None, told))

    def _values(self, english: str, found: re.Match[str], own: frozenset[str]) -> dict[str, str] | None:
        """Return what stands at the places of a template; None if one of them has no translation."""
        values: dict[str, str | None] = dict(found.groupdict())
        for name, kind in _PLACE.findall(english):
            if kind == "said":
                values[name] = self.said(found[name], own)
            elif kind == "number":
                values[name] = self.figure(found[name])
        return None if None in values.values() else values  # type: ignore[return-value]

    def figure(self, text: str, short: str = "") -> str:
        """Return an English figure or an ISO date as this language writes it; dates of axes are ``short``."""
        form = self.form
        if not re.fullmatch(_DATE, text):
            return re.sub("[,.]", lambda mark: form["thousands" if mark[0] == "," else "decimal"], text)
        year, mm, dd = (*text.split("-"), "")[:3]
        said: str = form[f"{short}{'day' if dd else 'month'}"]
        return said.format(year=year, mm=mm, dd=dd, day=dd.lstrip("0"), month=form["months"][int(mm) - 1])

    def page(self, text: str, own: frozenset[str]) -> Iterator[str]:
        """Yield the pieces of an English page in this language; texts in ``own`` are the user's."""
        skipped, drawn = "", False  # an element whose text is not translated; True inside a chart
        for piece in re.split(r"(<[^>]*>)", text):
            if not piece.startswith("<"):
                yield piece if skipped else "\n".join(self._shown(line, own, drawn) for line in piece.split("\n"))
                continue
            tag = piece.strip("<>").partition(" ")[0]
            drawn = tag != "/svg" and (drawn or tag == "svg")
            if skipped or tag in ("style", "code") or ' translate="no"' in piece:
                skipped = "" if tag == f"/{skipped}" else skipped or tag
            elif named := re.search(r' data-name="([^"]+)"', piece):
                piece = piece.replace(named[0], f' data-name="{self._shown(named[1], own, drawn)}"')
            yield f'<html lang="{self.code}">' if tag == "html" else piece

    def _shown(self, line: str, own: frozenset[str], drawn: bool) -> str:
        """Return a line of a page in this language."""
        text = html.unescape(line.strip()).replace("\u00a0%", " %")
        short = drawn and text not in own and re.fullmatch(_DATE, text)
        if (said := self.figure(text, "short_") if short else self.said(text, own)) is None:
            if re.search(r"[^\W\d_]{2}", text):
                _LOG.debug("no translation (%s): %s", self.code, text)
            return line
        return line if said == text else line.replace(line.strip(), html.escape(said))


def _pattern(english: str) -> re.Pattern[str]:
    places = r"\\\{(\w+):?(\w*)\\\}"  # as `re.escape` leaves them
    return re.compile(re.sub(places, lambda place: f"(?P<{place[1]}>{_KINDS[place[2]]})", re.escape(english)))


def known_languages() -> list[str]:
    """Return the languages of pages, English first."""
    return ["en", *sorted(file.stem for file in FOLDER.glob("*.toml"))]


@cache
def read(code: str) -> Language | None:
    """Return a language; None for English."""
    if code not in known_languages():
        raise InvalidArgument("language", code, f"one of {', '.join(known_languages())}", 'language="de"')
    return None if code == "en" else Language(FOLDER / f"{code}.toml")


def translated(text: str, language: str, own: Iterable[Any] = (), *, page: bool = False) -> str:
    """Return a sentence or a page in a language. Texts in ``own`` are the user's and are never translated."""
    if (spoken := read(language)) is None:
        return text
    known = frozenset(map(str, own))
    return "".join(spoken.page(text, known)) if page else spoken.said(text, known) or text
