"""Declarations of columns from a published codebook or from the command line.

The codebook is a C4.5 names file, which many public tables have: the classes on the first line, then one line per
column, ``age: continuous.`` or ``sex: Female, Male.``; ``|`` begins a comment, and ``?`` is a missing value. The class
is the last column and has no name.
"""

from __future__ import annotations

import csv
import datetime
import re
import shlex
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from discreet.core.checks import nearest
from discreet.core.columns.kinds import ROLES
from discreet.core.output.files import read_whole
from discreet.errors import InvalidArgument, SchemaError

#: What a codebook calls the column that has no name there.
TARGET = "class"
_NUMBER = r"-?\d+(?:\.\d+)?(?:e\d+)?"
_DAY = r"\d{4}-\d{2}-\d{2}"
_FORMS = (
    "COLUMN=0..120, COLUMN=0:1.5, COLUMN=2020-01-01:2029-12-31, COLUMN=A,B, COLUMN=code:[0-9]{5}, COLUMN=boolean, "
    "COLUMN=levels:5,10, COLUMN=ROLE or COLUMN=own"
)
#: Kinds that need neither bounds nor categories; and others, with what to type for them.
_COMPLETE = ("boolean", "time")
_MISSING = ("drop", "own")
_KINDS = {
    "boolean": "boolean", "bool": "boolean", "time": "time", "integer": "0..120", "int": "0..120", "number": "0:1.5",
    "float": "0:1.5", "numeric": "0:1.5", "date": "2020-01-01:2029-12-31", "category": "A,B", "categorical": "A,B",
    "ordered": "A,B", "code": "code:[0-9]{5}",
}  # fmt: skip
_ROLE_WORDS = {
    "qi": "quasi-identifier", "qid": "quasi-identifier", "key": "identifier", "id": "identifier",
    "household": "household:12", "secret": "sensitive", "sa": "sensitive", "outcome": "target", "label": "target",
}  # fmt: skip
_GROUPS = ({"kind", "bounds", "categories", "pattern"}, {"role", "rows", "called"})


def read_codebook(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a codebook declares for each column: categories, or nothing for continuous columns."""
    text = read_whole(path, "codebook").decode("utf-8", "replace")
    lines = [line.partition("|")[0].strip().removesuffix(".") for line in text.splitlines()]
    head, *rest = [line for line in lines if line] or [""]
    found: dict[str, dict[str, Any]] = {}
    for line in rest:
        name, colon, values = (part.strip() for part in line.partition(":"))
        if not colon or not name or not values or name in found:
            raise SchemaError(f"codebook: {str(path)!r} has a line that is not 'NAME: continuous.' or 'NAME: A, B.'")
        listed = [v.strip() for v in values.split(",")]
        kinds: dict[str, dict[str, Any]] = {"continuous": {}, "ignore": {"role": "identifier"}}
        found[name] = kinds.get(values, {"categories": listed, "missing": "own"})
    if ":" in head or not found:
        raise SchemaError(f"codebook: {str(path)!r} must have a line of classes, then columns: 'NAME: A, B.'")
    return {**found, TARGET: {"categories": [v.strip() for v in head.split(",")], "missing": "own"}}


def of_header(book: Mapping[str, dict[str, Any]], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what a codebook declares for a table with its own names; nothing if they do not match.

    Names match if their letters and digits do. The class, which has no name in a codebook, is the remaining column.
    """
    said = {_bare(name): declared for name, declared in book.items()}
    found = {name: said[_bare(name)] for name in names if _bare(name) in said}
    if 2 * len(found) < len(book):
        return {}
    rest = [name for name in names if name not in found]
    if len(rest) == 1 and _bare(TARGET) not in map(_bare, names):
        found[rest[0]] = book[TARGET]
    return found


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def read_declarations(texts: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the declarations that a user typed; several about one column add up.

    ``age=0..120`` are whole numbers, ``cost=0:5000`` numbers, ``day=2025-01-01:2025-12-31`` days, ``sex=f,m``
    categories, ``smoker=boolean`` and ``arrived=time`` kinds; ``name=identifier`` is a role; ``user=person:8`` protects
    persons with at most eight rows each, ``hh=household:12`` households; ``job=own`` gives missing values their own
    cell. Several columns may share a declaration: ``age,sex=quasi-identifier``, ``pixel*=0..16``. Categories with
    commas, and a single category, are put in double quotes: ``town="Ulm, Donau",Bonn``. ``zip=code:[0-9]{5}`` are
    codes; ``age=levels:0..17 minor, 18+ adult`` are groups that an anonymous table prints. Malformed declarations are
    refused, not taken as categories.
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        left, equals, value = (part.strip() for part in text.partition("="))
        listed = [left] if left in names else _listed(left, names)
        fix = _meant(value)
        if not equals or not left or not value or not set(listed) <= set(names):
            known = f"{', '.join(filter(None, names[:20]))}{', …' if len(names) > 20 else ''}"
            forms = "a declaration" if equals and value else _FORMS
            expected = f"{forms} of {known} (several: A,B=0..120, or all that begin alike: A*)"
            near = [name if name in names else nearest(name, names) for name in listed]
            near = near if left else [next(filter(None, names), "age")]
            meant = f"{','.join(name for name in near if name)}={fix or value or '0..120'}"
            raise InvalidArgument(
                "--declare", text, expected, "one of these" if None in near else f"--declare {shlex.quote(meant)}"
            )
        if fix:
            expected = f"{_FORMS} (the lower end first; a comma between categories; a single category in double quotes)"
            raise InvalidArgument("--declare", text, expected, f"--declare {shlex.quote(f'{left}={fix}')}")
        for name in listed:
            found[name] = merged(found.get(name, {}), _declared(value))
    return found


def _listed(left: str, names: Sequence[str]) -> list[str]:
    """Return the named columns: separated by commas, or by a pattern such as ``x*``. Unknown names stay as typed."""
    found: list[str] = []
    for part in map(str.strip, left.split(",")):
        fits = re.compile(re.escape(part).replace(r"\*", ".*"), re.DOTALL)
        found += [part] if part in names else [name for name in names if fits.fullmatch(name)] or [part]
    return found


def merged(known: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Update a declaration by a later one. Bounds, categories and kind replace each other; role and rows too."""
    named = {key for group in _GROUPS if group & set(said) for key in group}
    return {**{key: value for key, value in known.items() if key not in named}, **said}


def _declared(value: str) -> Mapping[str, Any]:
    if value in ROLES:
        return {"role": value}
    if value in _MISSING:
        return {"missing": value}
    if value in _COMPLETE:
        return {"kind": value}
    if bound := re.fullmatch(r"(person|household):(auto|\d+)", value):
        rows = "auto" if bound[2] == "auto" else int(bound[2])
        return {"role": "person", "rows": rows, **({} if bound[1] == "person" else {"called": bound[1]})}
    if said := re.fullmatch(r"(code|levels):\s*(.+)", value):
        return {"kind": "code", "pattern": said[2]} if said[1] == "code" else {"levels": said[2]}
    if ends := re.fullmatch(r"(-?\d+)\.\.(-?\d+)", value):
        return {"kind": "integer", "bounds": [*map(int, ends.groups())]}
    if ends := re.fullmatch(rf"({_NUMBER}):({_NUMBER})", value):
        return {"bounds": [*map(float, ends.groups())]}
    if ends := re.fullmatch(rf"({_DAY}):({_DAY})", value):
        return {"bounds": [*ends.groups()]}
    return {"categories": _categories(value)}


def _categories(value: str) -> list[str]:
    """Return the parts of a list by the rules of CSV; nothing if a quotation is not closed."""
    try:
        return [part.strip() for part in next(csv.reader([value], skipinitialspace=True, strict=True))]
    except csv.Error:
        return []


def _meant(value: str) -> str:
    """Return what a declaration that cannot be used was probably meant to be; empty if it can be used."""
    if not value:
        return ""
    whole, broken = r"-?\d+(?:\.\d+)?", r"-?\d+(?:[.,]\d+)?"  # a comma and a dash may be a list: 5-9,10
    ends = re.fullmatch(rf"({broken})\s*(?:\.\.|:)\s*({broken})|({whole})\s*(?:-|–|—|to)\s*({whole})", value)
    if ends:
        low, high = (end.replace(",", ".") for end in ends.groups() if end is not None)
        low, high = sorted((low, high), key=float)
        fix = f"{low}:{high}" if "." in low + high or ":" in value else f"{low}..{high}"
        return "" if value == fix else fix
    if (ends := re.fullmatch(rf"({_NUMBER}):({_NUMBER})", value)) and float(ends[1]) > float(ends[2]):
        return f"{ends[2]}:{ends[1]}"
    if (ends := re.fullmatch(rf"({_DAY}):({_DAY})", value)) and ends[1] > ends[2]:
        return f"{ends[2]}:{ends[1]}"
    if re.fullmatch(_NUMBER, value):
        low, high = sorted(("0", value), key=float)
        return f"{low}..{high}" if re.fullmatch(r"-?\d+", value) else f"{low}:{high}"
    if set(_declared(value)) != {"categories"}:
        return ""
    listed = _categories(value) or _categories(f'{value}"')
    if not all(listed) or not _categories(value):  # an empty category, or a quotation that is not closed
        return _typed([part for part in listed if part]) or "A,B"
    if "," in value or value.startswith('"'):
        return ""
    days = [_iso(part) for part in re.findall(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}", value)]
    if len(days) == 2 and all(days):
        return ":".join(days)
    if value.casefold() in _KINDS:
        return _KINDS[value.casefold()]
    role, colon, rows = (part.strip() for part in value.partition(":"))
    if colon and (near := nearest(role, (*ROLES, "household"))) in ("person", "household"):
        return f"{near}:{rows if re.fullmatch('auto|[1-9][0-9]*', rows) else 8}"
    if value.casefold() in _ROLE_WORDS:
        return _ROLE_WORDS[value.casefold()]
    if said := re.fullmatch(r"missing\s*[=:]?\s*[\"']?(own|drop|)[\"']?", value):
        return said[1] or "own"
    if (near := nearest(value, (*ROLES, *_MISSING, *_KINDS))) and _alike(value, near):
        return _KINDS.get(near, near)
    if mark := next((m for m in ";|/" if m in value and (m != "/" or not re.search(r"\d", value))), ""):
        parts = [part.strip() for part in value.split(mark) if part.strip()]
        return _typed(parts if len(parts) > 1 else [value])
    if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?\s*[-–:]\s*\d{1,2}:\d{2}(:\d{2})?", value):
        return "time"
    if re.search(r"\d.*[-–:/]|[-–:/].*\d|\.\.", value):
        return "0..120"
    return _typed([value])


def _alike(value: str, word: str) -> bool:
    """Return whether a word is the beginning of another one, or differs by a letter or two."""
    plain = value.casefold()
    return word.startswith(plain) or SequenceMatcher(None, plain, word).ratio() >= 0.75


def _typed(categories: Sequence[str]) -> str:
    """Return a list as it is declared, in double quotes where they are needed."""
    quoted = ['"' + c.replace('"', '""') + '"' if len(categories) == 1 or "," in c else c for c in categories]
    return ",".join(quoted)


def _iso(day: str) -> str:
    """Return a day as it is declared; empty if it is none."""
    for written in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d"):
        try:
            return datetime.datetime.strptime(day, written).date().isoformat()
        except ValueError:
            continue
    return ""
