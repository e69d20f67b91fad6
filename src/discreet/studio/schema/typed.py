"""Typed values of a column and its declaration, converted into each other. Errors name their field."""

import csv
import datetime
import re
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.core import MISSING_RULES, NAMING, ROLES, category_text, code_set, dates, read_column
from discreet.core.schema import Dialect, undeclared
from discreet.errors import InvalidArgument, SchemaError
from discreet.studio.schema.values import TwoWays, certain, read_day, read_number

#: Kinds of values, as a schema file calls them.
KINDS = ("number", "integer", "category", "ordered", "boolean", "date", "time", "code")
#: Shown among the roles: the column is left out of the schema.
UNUSED = "unused"
CHOICES = {"role": (*ROLES, UNUSED), "kind": ("", *KINDS), "missing": MISSING_RULES}
#: What is typed of a column.
FIELDS = ("role", "kind", "low", "high", "list", "missing", "levels")
_VALUES = ("kind", "low", "high", "list")
#: The same in a file.
_KEYS = ("kind", "bounds", "categories", "categories_file", "categories_digest", "pattern")
#: A longer list is edited on the column's own page.
MOST_LISTED, LONGEST = 40, 320


class Fault(Exception):
    """Something typed that cannot be used: in which field, and the words of the catalogue that say why."""

    def __init__(self, field: str, key: str, **values: Any) -> None:
        super().__init__(key)
        self.field, self.key, self.values = field, key, values


def kind_of(held: Mapping[str, Any]) -> str:
    if isinstance(held.get("kind"), str) and held["kind"] in KINDS:
        return str(held["kind"])
    if isinstance(bounds := held.get("bounds"), (list, tuple)):
        if any(isinstance(b, datetime.time) for b in bounds):
            return "time"
        return "date" if any(isinstance(b, (str, datetime.date)) for b in bounds) else "number"
    if isinstance(listed := held.get("categories"), list):
        return "boolean" if listed and all(isinstance(c, bool) for c in listed) else "category"
    return "code" if "pattern" in held else "category" if "categories_file" in held else ""


def texts_of(held: Mapping[str, Any]) -> dict[str, str]:
    bounds = held.get("bounds")
    low, high = bounds if isinstance(bounds, (list, tuple)) and len(bounds) == 2 else ("", "")
    listed = held.get("categories")
    shown = written_list(listed) if isinstance(listed, list) and kind_of(held) != "boolean" else held.get("pattern", "")
    return {"role": str(held.get("role", "attribute")), "kind": kind_of(held), "low": _end(low), "high": _end(high),
            "list": shown, "missing": str(held.get("missing", "drop")),
            "levels": _levels(held.get("levels", ""))}  # fmt: skip


def _levels(held: Any) -> str:
    if isinstance(held, Mapping):
        return ", ".join(f"{v} {k}" for k, v in held.items()) if all(isinstance(v, str) for v in held.values()) else "…"
    return held if isinstance(held, str) else ", ".join(map(str, held))


def _end(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else certain(str(value))


def written_list(categories: Iterable[Any]) -> str:
    return ", ".join(map(_quoted, map(category_text, categories)))


def _quoted(text: str) -> str:
    plain = text and text == text.strip() and not set(text) & set(',;"\n')
    return text if plain else '"' + text.replace('"', '""') + '"'


def read_list(text: str) -> list[str]:
    """Return categories that were typed: one to a line where there are lines, else between semicolons or commas."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return [plain for line in lines if (plain := line.rstrip(",; "))]
    mark = ";" if ";" in _unquoted(text) else ","
    return [part.strip() for part in next(csv.reader(lines, delimiter=mark, skipinitialspace=True), []) if part.strip()]


def _unquoted(text: str) -> str:
    return re.sub('"[^"]*"', "", text)


def _check_parted(listed: str, texts: list[str]) -> None:
    """Refuse a list in which the end of a value is ambiguous; quotation marks help."""
    line = "" if len(listed.strip().splitlines()) > 1 else _unquoted(listed)
    if {",", ";"} <= set(line):
        raise Fault("list", "two_marks")
    if len(texts) == 1 and set(line) & set("|/\t"):
        raise Fault("list", "one_value", value=texts[0])


def read_texts(
    name: str, held: Mapping[str, Any], texts: Mapping[str, str], source: Dialect | None = None
) -> dict[str, Any]:
    """Return the declaration of a column that was typed, or raise a `Fault`; marks and dates are as in the table."""
    shown = texts_of(held)
    typed = {key: texts.get(key, shown[key]).strip() for key in FIELDS}
    for key, allowed in CHOICES.items():
        if typed[key] not in allowed:
            raise Fault(key, "choice")
    made = {key: value for key, value in held.items() if key in _KEYS}
    if any(typed[key] != shown[key] for key in _VALUES):
        made = _values(typed, made, shown, source or Dialect())
    if typed["levels"] != shown["levels"]:
        held = {key: value for key, value in held.items() if key != "levels"}
        made |= {"levels": typed["levels"]} if typed["levels"] else {}
    usual = {"role": "attribute", "missing": "drop"}
    for key in usual:
        said = str(held.get(key, usual[key])) if typed[key] == UNUSED else typed[key]
        if said != usual[key] or key in held:
            made[key] = said
    if made.get("role") in NAMING and not set(made) & set(_KEYS[1:]):
        made.pop("kind", None)  # a person column has no kind
    made = ordered({**{key: value for key, value in held.items() if key not in (*_KEYS, *usual)}, **made})
    if typed["role"] != UNUSED and not undeclared(made) and "categories_file" not in made:
        try:
            read_column(name, made)
        except (InvalidArgument, SchemaError) as error:
            about = "levels" if str(error).startswith("levels") else "low" if "bounds" in made else "list"
            raise Fault(about, "library", text=str(error)) from None
    return made


def ordered(declared: Mapping[str, Any]) -> dict[str, Any]:
    first = [key for key in ("kind", "bounds", "categories", "pattern") if key in declared]
    return {key: declared[key] for key in (*first, *(k for k in declared if k not in first))}


def _values(
    typed: Mapping[str, str], held: Mapping[str, Any], shown: Mapping[str, str], source: Dialect
) -> dict[str, Any]:
    kind, low, high, listed = (typed[key] for key in _VALUES)
    if not kind:  # values without a kind say which it is; those that were there go with the kind that is taken back
        low, high, listed = (typed[key] if typed[key] != shown[key] else "" for key in _VALUES[1:])
        kind = _guessed(low, high, listed, source)
    if kind == "code" and code_set(listed.strip(), ()):
        return {"kind": kind, "pattern": listed.strip()}
    if kind in ("category", "ordered", "code"):
        texts = read_list(listed)
        if [category_text(c) for c in held.get("categories", ())] == texts:
            value = {key: part for key, part in held.items() if key.startswith("categories")}
        else:
            _check_parted(listed, texts)
            value = {"categories": texts} if texts else {}
        if len(set(texts)) < len(texts):
            raise Fault("list", "twice", value=next(x for x in texts if texts.count(x) > 1))
        return {**({"kind": kind} if kind != "category" or not value else {}), **value}
    if kind in ("", "boolean"):
        return {"kind": kind} if kind else {}
    if not low and not high:
        return {"kind": kind}
    for key, text in (("low", low), ("high", high)):
        if not text:
            raise Fault(key, "other_bound")
    ends = [_number(key, text, kind, source) for key, text in (("low", low), ("high", high))]
    if not ends[0] < ends[1]:
        raise Fault("high", "turned")
    return {**({"kind": kind} if kind in ("integer", "time") else {}), "bounds": ends}


def _guessed(low: str, high: str, listed: str, source: Dialect) -> str:
    if listed and (low or high):
        raise Fault("kind", "either")
    if listed:
        return "category"
    if not low and not high:
        return ""
    dated = re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}.*", low or high) or read_day(low or high, source.dates)
    return "date" if dated else "number"


def _number(field: str, text: str, kind: str, source: Dialect) -> Any:
    if kind == "date":
        day = read_day(text, source.dates)
        if day is None:
            raise Fault(field, "not_date")
        return day
    if kind == "time":
        second = dates.second_number(text)
        if second is None:
            raise Fault(field, "not_time")
        return dates.time_text(second)
    try:
        value = read_number(text, source.thousands, whole=kind == "integer")
    except TwoWays as error:
        raise Fault(field, "two_ways", **error.values) from None
    if value is None:
        raise Fault(field, "not_number")
    if kind == "integer" and not float(value).is_integer():
        raise Fault(field, "not_whole")
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value
