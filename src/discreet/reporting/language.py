"""Pages in other languages: each file `languages/*.toml` holds the templates of English sentences and their meaning.

Finished sentences are translated where they are shown, because many rooms make them and guarantees seal them in
English. A template matches a whole sentence or nothing. Its ``{name:number}`` is a figure, ``{name:said}`` a text that
is translated in turn or a known text of the user, and ``{name}`` the user's own, which is never translated
(``{name:name}``: without commas). Without a template a sentence stays English, and is logged. docs/languages.md shows
how to add a language.
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
_KINDS = {"number": _NUMBER, "date": _DATE, "said": ".+?", "name": "[^,;:]+?", "": ".+?"}
_PLACE = re.compile(r"\{(\w+):?(\w*)\}")
_SKIPPED = ("style", "code", "script")


class Language:
    """One file of translations."""

    def __init__(self, code: str, file: Path) -> None:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
        self.code, self.form = code, found["form"]
        self.sentences: dict[str, str] = {en: said for room in found["sentences"].values() for en, said in room.items()}
        templates = [(_PLACE.split(english), english) for english in self.sentences if _PLACE.search(english)]
        # The most specific first: what a template says itself counts, and then how narrow its places are.
        templates.sort(key=lambda each: (-sum(map(len, each[0][::3])), -sum(map(bool, each[0][2::3]))))
        self._templates = [(max(parts[::3], key=len), _pattern(parts), english) for parts, english in templates]
        self.said = lru_cache(maxsize=1 << 14)(self._said)

    def _said(self, text: str, own: frozenset[str] = frozenset()) -> str | None:
        """Return a text in this language; None if a part of it has no translation."""
        if text in own or (text.endswith("…") and any(each.startswith(text[:-1]) for each in own)):
            return text
        if text in self.sentences:
            return self.sentences[text]
        if re.fullmatch(_NUMBER, text) or re.fullmatch(_DATE, text):
            return self._figure(text)
        for fixed, pattern, english in self._templates:
            if fixed in text and (found := pattern.fullmatch(text)) and (values := self._values(english, found, own)):
                return _PLACE.sub(lambda place: values[place[1]], self.sentences[english])
        if text[-1:] == ".":  # a warning, an assumption or an error, written as a sentence
            inner = self.said(text[:1].lower() + text[1:-1], own)
            if inner is not None:
                return f"{inner[:1].upper()}{inner[1:]}."
        parts = re.split(r"(?<=[.!?]) (?=[A-Z])", text)
        told = [self.said(part, own) for part in parts] if len(parts) > 1 else [None]
        return None if None in told else " ".join(filter(None, told))

    def _values(self, english: str, found: re.Match[str], own: frozenset[str]) -> dict[str, str] | None:
        values = found.groupdict()
        for name, kind in _PLACE.findall(english):
            if kind == "said":
                if (told := self.said(values[name], own)) is None:
                    return None
                values[name] = told
            elif kind in ("number", "date"):
                values[name] = self._figure(values[name])
        return values

    def _figure(self, text: str, *, short: bool = False) -> str:
        """Return an English figure or an ISO date as this language writes it."""
        if not re.fullmatch(_DATE, text):
            marks = {",": self.form["thousands"], ".": self.form["decimal"]}
            return re.sub("[,.]", lambda mark: marks[mark[0]], text)
        year, month, day = (*text.split("-"), "")[:3]
        form = self.form[("short_" if short else "") + ("day" if day else "month")]
        return str(form).format(year=year, mm=month, dd=day, day=day.lstrip("0"),
                                month=self.form["months"][int(month) - 1])  # fmt: skip

    def page(self, text: str, own: frozenset[str] = frozenset()) -> Iterator[str]:
        """Yield the pieces of an English page in this language; texts in ``own`` are the user's."""
        skipped: list[str] = []  # open elements whose text is not translated
        drawn = False
        for piece in re.split(r"(<[^>]*>)", text):
            if not piece.startswith("<"):
                yield piece if skipped else "\n".join(self._shown(line, own, drawn) for line in piece.split("\n"))
                continue
            tag = piece.strip("</>").split()[0] if len(piece) > 2 else ""
            if skipped and tag == skipped[-1]:
                skipped = skipped[:-1] if piece.startswith("</") else [*skipped, tag]
            elif not skipped and not piece.startswith("</") and (tag in _SKIPPED or ' translate="no"' in piece):
                skipped = [tag]
            drawn = piece != "</svg>" and (drawn or tag == "svg")
            piece = piece.replace('<html lang="en"', f'<html lang="{self.code}"')
            named = re.search(r' data-name="([^"]+)"', piece)
            if named and not skipped:
                piece = piece.replace(named[0], f' data-name="{self._shown(named[1], own, False)}"')
            yield piece

    def _shown(self, line: str, own: frozenset[str], drawn: bool) -> str:
        """Return a line of a page in this language."""
        if not (text := html.unescape(line.strip())):
            return line
        short = drawn and text not in own and re.fullmatch(_DATE, text)
        if (said := self._figure(text, short=True) if short else self.said(text, own)) is None:
            if re.search(r"[^\W\d_]{2}", text):
                _LOG.debug("no translation (%s): %s", self.code, text)
            return line
        return line if said == text else line.replace(line.strip(), html.escape(said))


def _pattern(parts: list[str]) -> re.Pattern[str]:
    """Return what finds a template, given as texts, names and kinds in turn."""
    names = [f"(?P<{name}>{_KINDS[kind]})" for name, kind in zip(parts[1::3], parts[2::3], strict=True)]
    return re.compile("".join(re.escape(text) + name for text, name in zip(parts[::3], [*names, ""], strict=True)))


def languages() -> list[str]:
    """Return the languages of pages, English first."""
    return ["en", *sorted(file.stem for file in FOLDER.glob("*.toml"))]


@cache
def read(code: str) -> Language | None:
    """Return a language; None for English."""
    if code not in languages():
        raise InvalidArgument("language", code, f"one of {', '.join(languages())}", 'language="de"')
    return None if code == "en" else Language(code, FOLDER / f"{code}.toml")


def translated(text: str, language: str, own: Iterable[Any] = ()) -> str:
    """Return a sentence in a language, or in English without a translation; ``own`` are known texts of the user."""
    spoken = read(language)
    return text if spoken is None else spoken.said(text, frozenset(map(str, own))) or text


def translated_page(text: str, language: str, own: Iterable[Any] = ()) -> str:
    """Return a page in a language. Texts in ``own`` are the user's and are never translated."""
    spoken = read(language)
    return text if spoken is None else "".join(spoken.page(text, frozenset(map(str, own))))
