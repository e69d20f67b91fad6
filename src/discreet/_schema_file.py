"""The TOML schema file: a table ``[columns.NAME]`` per column, and perhaps a first line ``unit = "row"``.

Reading is the standard library's. Writing is by hand because the standard library has no writer and four kinds of
value do not warrant a dependency.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import DataSourceError, SchemaError

_ROLES = ("quasi-identifier", "sensitive", "identifier", "person", "target")


def load_schema(source: str | Path) -> tuple[Mapping[str, Any], Any]:
    """Return columns and unit (None if not said) of a schema file, or of its text (recognised by its line breaks)."""
    if isinstance(source, str) and "\n" in source:
        where, text = "schema text", source
    else:
        where = str(source)
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError, TypeError) as error:
            raise DataSourceError(f"schema: cannot read {where!r} ({error}); check the path") from None
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{where} is not valid TOML: {error}; see docs/schema.md for an example") from None
    columns = table.get("columns")
    if not isinstance(columns, dict) or not columns or set(table) - {"columns", "unit"}:
        raise SchemaError(
            f"{where} must hold one table [columns.NAME] per column, and nothing else but unit, got {sorted(table)}"
        )
    return columns, table.get("unit")


def dump_schema(columns: Mapping[str, Mapping[str, Any]], above: str = "columns", unit: str | None = None) -> str:
    """Return the text of a schema file, or of the same tables under another name; the unit comes first."""
    tables = [] if unit is None else [f"unit = {_value(unit)}"]
    for name, declared in columns.items():
        lines = [f"[{above}.{_key(name)}]", *(f"{key} = {_value(value)}" for key, value in declared.items())]
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def draft_schema(names: Sequence[str], source: str) -> str:
    """Return a schema file to be filled in: the columns by name, and nothing that rows could tell."""
    text = [
        f"# Drafted from the column names of {_value(source)} alone: no row was read.",
        "# Declare each column by what it means, not by what the table holds: keep one of the lines bounds and",
        "# categories, write your own values, remove the '#'. Delete the columns that are not to be used.",
    ]
    seen: set[str] = set()
    for place, name in enumerate((n.strip() for n in names), start=1):
        if not name or name in seen:
            why = f"has the name {_value(name)} of an earlier one" if name else "has no name"
            text.append(f"\n# Column {place} {why} and is left out.")
            continue
        seen.add(name)
        text.append(
            f"\n[columns.{_key(name)}]\n"
            "# bounds = [LOW, HIGH]            # a number, or a date as 1984-05-01; values beyond count as the bound\n"
            '# categories = ["FIRST", "NEXT"]  # or one of a list; anything else is missing\n'
            f'# role = "attribute"              # or {", ".join(_ROLES)}\n'
            '# missing = "drop"                # or own: rows without a value get a cell of their own'
        )
    return "\n".join(text) + "\n"


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    # JSON's escapes for text are valid TOML, and so are its numbers and booleans. DEL is the one exception.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
