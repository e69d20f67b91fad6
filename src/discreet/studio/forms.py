"""Options of jobs as fields of forms: types, bounds, defaults and texts come from the declarations.

Errors that follow from a declaration are in the language of the page. Errors of the library are in English, with the
labels of the page (`Page`).
"""

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.core import PAIR_TYPES, Option
from discreet.errors import InvalidArgument
from discreet.jobs import Kind, WrongOption, check, edges_of
from discreet.studio import words
from discreet.studio.schema.typed import read_list, written_list
from discreet.studio.schema.values import TwoWays, certain, read_number
from discreet.studio.words import T

_LISTS = ("names", "list", "numbers", "files")
_NUMBERS = ("number", "budget", "whole")


@dataclass(frozen=True)
class Field:
    """A field of a form."""

    name: str
    label: str
    help: str
    control: str  # flag, choice, offered (text with suggestions), lines, or text
    text: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""  # if it stays empty
    example: str = ""
    numeric: bool = False
    required: bool = False
    fault: str = ""  # the error


def field(kind: Kind, option: Option, t: T, given: Mapping[str, Any], typed: Mapping[str, str] | None = None,
          faults: Mapping[str, str] | None = None) -> Field:  # fmt: skip
    """Return an option as a field: with what was typed, else with what is given."""
    takes = set(option.takes)
    if takes == {"flag"}:
        control = "flag"
    elif option.choices:
        control = "choice" if takes == {"text"} else "offered"
    else:
        control = "lines" if takes & set(PAIR_TYPES) else "text"
    shown = write(option, given[option.name]) if option.name in given else ""
    return Field(
        option.name, *texts(kind.name, option, t), control,
        text=(typed or {}).get(option.name, shown), choices=option.choices,
        default="" if option.default is None else write(option, option.default),
        example="" if option.example is None else write(option, option.example),
        numeric=bool(takes & set(_NUMBERS)) and "text" not in takes, required=option.required,
        fault=(faults or {}).get(option.name, ""),
    )  # fmt: skip


def texts(kind: str, option: Option, t: T) -> tuple[str, str]:
    translated = words.options(t.language)  # type: ignore[attr-defined]
    own = translated.get(f"{option.name}_{kind}") or translated.get(option.name)
    return own or (option.title, option.help)


def write(option: Option, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, Mapping):
        pairs = {k: ",".join(map(_plain, v)) if isinstance(v, list) else _plain(v) for k, v in value.items()}
        return "\n".join(f"{k}={v}" for k, v in pairs.items())
    if isinstance(value, (list, tuple)):
        return written_list(_plain(v) for v in value)
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return (
            str(int(value))
            if value.is_integer() and abs(value) < 2**53
            else certain(f"{value:.15g}".replace("e-0", "e-"))
        )
    return str(value)


class Wrong(Exception):
    """A typed value cannot be used; the message says why."""


def read(kind: Kind, option: Option, text: str, t: T | None = None) -> Any:
    t, text = t or words.speaker("en"), text.strip()
    if not text:
        if option.required:
            raise Wrong(t("forms.needed"))
        return None
    takes = set(option.takes)
    value: Any = None
    if takes == {"flag"}:
        return True
    if takes & set(PAIR_TYPES):
        value = _pairs(option, text, t)
    elif "numbers" in takes and (numbers := [_number(part, t) for part in _split(text, t)]) and None not in numbers:
        value = numbers
    elif takes & set(_NUMBERS) and (found := _number(text, t, whole=not takes & {"number", "budget"})) is not None:
        value = found
        if "whole" in takes and not takes & {"number", "budget"} and isinstance(found, float):
            if not found.is_integer():
                raise Wrong(t("forms.whole"))
            value = int(found)
    elif option.choices and takes & set(_LISTS) and set(parts := read_list(text)) <= set(option.choices) and parts[1:]:
        value = parts
    elif option.choices and text not in option.choices:
        other = t("forms.or_number") if takes & set(_NUMBERS) else ""
        raise Wrong(t("forms.choices", listed=", ".join(option.choices)) + other)
    elif takes <= set(_NUMBERS):
        raise Wrong(t("forms.whole" if takes == {"whole"} else "forms.number"))
    else:
        value = read_list(text) if takes & set(_LISTS) and text not in option.choices else text
    for number in _flat(value):
        _bounded(option, number, t)
    try:
        return check(kind, option, value)
    except InvalidArgument as error:
        raise Wrong(said(error, t)) from None


def read_all(
    kind: Kind, options: Iterable[Option], typed: Mapping[str, str], t: T
) -> tuple[dict[str, Any], dict[str, str]]:
    given: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for option in options:
        if option.name not in typed:
            continue
        try:
            value = read(kind, option, typed[option.name], t)
        except Wrong as error:
            faults[option.name] = str(error)
            continue
        if value is not None:
            given[option.name] = value
    return given, faults


def said(error: InvalidArgument, t: T) -> str:
    if not isinstance(error, WrongOption):
        return str(error)
    if error.expected.startswith("given"):
        return t("forms.needed")
    if "unless it is confirmed" in error.expected:
        return t("forms.twice_delta" if error.option.name == "delta" else "forms.twice_epsilon")
    return error.said(Page(t))


@dataclass(frozen=True)
class Page:
    """A page: options are called as their fields are."""

    t: T

    def name(self, option: Option) -> str:
        return self.t("forms.quoted", text=texts("", option, self.t)[0])

    def given(self, option: Option, value: Any) -> str:
        if isinstance(value, bool):
            return self.t("forms.tick" if value else "forms.untick", name=self.name(option))
        return self.t("forms.give", name=self.name(option), value=write(option, value))


def _number(text: str, t: T, *, whole: bool = False) -> float | None:
    if text.strip() in ("inf", "∞"):
        return math.inf
    try:
        return read_number(text, whole=whole)
    except TwoWays as error:
        raise Wrong(t("columns.two_ways", **error.values)) from None


def _split(text: str, t: T) -> Sequence[str]:
    """Part numbers; between semicolons a comma is one of a number, and 0,5 alone may be one number or two."""
    if ";" in text:
        return [part for part in text.split(";") if part.strip()]
    if re.search(r"\d,\d", text) and not re.search(r"\.\d", text):
        raise Wrong(t("forms.numbers_parted"))
    return [part for part in re.split(r"\s+|,\s*", text) if part]


def _pairs(option: Option, text: str, t: T) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name or not value or name in made:
            raise Wrong(t("forms.pairs", example=write(option, option.example).splitlines()[0]))
        if "edge pairs" in option.takes:
            made[name] = edges_of(value.replace(";", ","))
        elif "list pairs" in option.takes:
            numbers = [_number(part, t) for part in value.split(";" if ";" in value else ",")]
            made[name] = numbers if None not in numbers else value
        else:
            found = None if "file pairs" in option.takes else _number(value, t)
            made[name] = value if found is None else found
    return made


def _flat(value: Any) -> Iterable[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, list):
            yield from _flat(part)
        elif isinstance(part, (int, float)) and not isinstance(part, bool):
            yield part


def _bounded(option: Option, number: float, t: T) -> None:
    above = 0 if "budget" in option.takes else option.above
    limits = [("at_least", option.low, operator.lt), ("at_most", option.high, operator.gt)]
    for key, bound, beyond in [*limits, ("above", above, operator.le), ("below", option.below, operator.ge)]:
        if bound is not None and beyond(number, bound):
            raise Wrong(t(f"forms.{key}", value=_plain(bound)))
