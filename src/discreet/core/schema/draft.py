"""The draft of a schema file: one line per column to fill in, and nothing from the rows.

It is written by hand, because TOML writers write no comments.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.schema.catalogue import known_kind
from discreet.core.schema.dialect import Dialect
from discreet.core.schema.file import toml_key, toml_value, undeclared

_HOW = """\
# One line per column: declare which values are possible. Bounds read off the table would reveal someone's values.
#   age = {kind = "integer", bounds = [0, 120]}        whole numbers; values beyond count as the bound
#   income = {bounds = [0, 1e6]}                       numbers
#   born = {bounds = [1920-01-01, 2010-12-31]}         dates
#   sex = {categories = ["f", "m"], missing = "own"}   a list; rows without a value get a cell of their own
#   zip = {kind = "code", pattern = '[0-9]{5}'}        codes by their pattern, or a list of them as categories
#   name = {role = "identifier"}                       never released, needs no more
# Other roles: quasi-identifier, sensitive, person (whose row it is), target, weight. Delete columns that are not used.
# Public facts about all rows may follow the columns, for marginal synopses. Start a new line at each slash:
#   [functions] / grade = {points = {"0..49" = "failed", "50..100" = "passed"}}   a column that follows from another
#   [[impossible]] / role = "wife" / sex = ["m", "not known"]                     values that no row has together
#   rules = ["admission <= discharge", "total = ward + drugs"]                    orders and sums; above the columns"""
_MOST_LISTED = 12


def draft_schema(
    names: Sequence[str],
    source: str,
    *,
    read: str = "names",
    dialect: Dialect | None = None,
    reasons: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    declared: Mapping[str, Mapping[str, Any]] | None = None,
    rules: Sequence[str] = (),
) -> str:
    """Return a schema file to fill in.

    ``read`` states what was read: "names" that the file keeps apart from its rows, its "first line", or only its number
    of "fields". ``dialect`` and ``reasons`` are the guessed format and why, ``kinds`` the kinds found in rows that the
    user allowed to look at, ``labels`` value labels of the file, ``declared`` and ``rules`` what the user declared.
    """
    text = [_said(read, toml_value(source), dialect), _HOW]
    text += ["", f"rules = {toml_value(list(rules))}"] if rules else []
    written = {} if dialect is None else dialect.to_dict()
    if read == "fields":
        written["names"] = list(names)
    if written or reasons:
        text += ["", *(f"# {reason}" for reason in reasons)]
    if written:
        text += ["[source]"]
        text += [f"{key} = {toml_value(value)}{_why(key, value)}" for key, value in written.items()]
    for name, said in (declared or {}).items():
        if "rows" in said:
            called = said.get("called", "person")
            text += [
                "",
                f"[unit]  # protects a {called} with all their rows; at most this many rows of each {called} are used",
            ]
            text += [f"{toml_key(called)} = {toml_value(name)}", f"rows = {toml_value(said['rows'])}"]
    text += ["", "[columns]"]
    lines, left = _columns([n.strip() for n in names], kinds or {}, labels or {}, declared or {})
    if any("known by name" in line for line in lines):
        text.append(
            '# "Known by name" is from a public catalogue, not from the file: check it, then put it between the braces.'
        )
    if any("labels of the file" in line for line in lines):
        text.append(
            '# "Labels of the file" are metadata, declared in its head apart from the rows: check that they are public.'
        )
    return "\n".join([*text, *lines, *left]) + "\n"


def _said(read: str, where: str, dialect: Dialect | None) -> str:
    if dialect is not None and dialect.selected:
        return f"# Drafted from {where}, some categories selected privately; every guarantee states the price."
    if dialect is not None and dialect.looked:
        return f"# Drafted from {where} after a look at its first {dialect.looked} rows; every guarantee states it."
    return {
        "names": f"# Drafted from the column names of {where} alone: no row was read.",
        "first line": f"# Drafted from the first line of {where} alone, taken for the column names; nothing below "
        "it was read.\n# If that line is somebody's record, delete this file and draft again with --no-header.",
        "fields": f"# Drafted from the number of fields in the first line of {where} alone: no value was kept.",
    }[read]


def _why(key: str, value: Any) -> str:
    if key == "header" and value is False:
        return "  # the first line is a record"
    return "  # said in every guarantee" if key in ("looked", "selected") else ""


def _columns(
    names: Sequence[str],
    kinds: Mapping[str, str],
    labels: Mapping[str, Sequence[str]],
    declared: Mapping[str, Mapping[str, Any]],
) -> tuple[list[str], list[str]]:
    """Return a line per column, and why some have none."""
    lines, left, seen = [], [], set()
    for place, name in enumerate(names, start=1):
        if not name or name in seen:
            why = f"has the name {toml_value(name)} of an earlier one" if name else "has no name"
            left.append(f"# Column {place} {why} and is left out.")
            continue
        seen.add(name)
        said = {key: value for key, value in declared.get(name, {}).items() if key not in ("rows", "called")}
        waits = undeclared(said)
        kind = kinds.get(name)
        if waits and kind in ("integer", "number", "date", "boolean"):
            said = {"kind": kind, **said}
        filled = ", ".join(f"{key} = {_plain(value)}" for key, value in said.items())
        if not waits:
            lines.append(f"{toml_key(name)} = {{{filled}}}")
            continue
        known = known_kind(name, kind)
        offer = f"   # labels of the file: categories = {toml_value(list(labels[name]))}" if name in labels else ""
        missing = {} if known is None else {key: v for key, v in known.declared.items() if key not in said}
        if known is not None and missing:
            parts = ", ".join(f"{key} = {_short(value)}" for key, value in missing.items())
            offer += f"   # known by name: {parts} ({known.source})"
        lines.append(f"{toml_key(name)} = {{{filled}}}{offer}")
    return lines, left


def _plain(value: Any) -> str:
    days = isinstance(value, list) and all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(v)) for v in value)
    return f"[{', '.join(value)}]" if days else str(toml_value(value))


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > _MOST_LISTED:
        return f"[{', '.join(toml_value(v) for v in value[:3])}, ... {len(value)} in all]"
    return str(toml_value(value))
