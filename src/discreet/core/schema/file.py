"""The TOML schema file: a table ``[columns.NAME]`` per column, perhaps a first line ``unit = "row"`` and ``[source]``.

``[source]`` is the format of the table (`Dialect`). Public facts are ``[functions.COLUMN.OTHER]`` with a line for each
value of the other column, ``[[impossible]]`` with a line for each column of an impossible combination, and a first line
``rules = ["admission <= discharge"]``. A column may also be one line under ``[columns]``:
``age = {kind = "integer", bounds = [0, 120]}``.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.core.columns import lists
from discreet.errors import DataSourceError, SchemaError

_BESIDE = ("unit", "source", "functions", "impossible", "rules")
#: What stands in records and hardly in headers: numbers of all spellings, dates, addresses.
_RECORD = re.compile(
    r"[+-]?[$€£]?[\d.,][\d.,' ]*(e[+-]?\d+)?\s*[%$€£]?"
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|[^@\s]+@[^@\s]+\.[^@\s]+",
    re.IGNORECASE,
)


def looks_like_a_record(names: Sequence[str]) -> bool:
    """Return whether a line that should name columns may be a record.

    Signs are numbers, dates or addresses, gaps (except one at the front, where some programs put row numbers) and
    repeats. A record of different plain words looks like names.
    """
    plain = [name.strip() for name in names]
    if any(_RECORD.fullmatch(name) for name in plain) or not all(plain[1:]):
        return True
    return len({name.casefold() for name in plain}) < len(plain)


def load_schema(source: str | Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the columns of a schema file, or of its text (it has line breaks), and its other parts."""
    where, table = toml_tables(source)
    columns = table.get("columns")
    if not isinstance(columns, dict) or not columns or set(table) - {"columns", *_BESIDE}:
        raise SchemaError(
            f"{where} must hold one table [columns.NAME] per column, and nothing else but unit, rules, [source], "
            f"[functions.COLUMN.OTHER] and [[impossible]], got {sorted(table)}"
        )
    bare = [name for name, declared in columns.items() if undeclared(declared)]
    if bare:
        named = ", ".join(toml_key(name) for name in bare[:20]) + (", ..." if len(bare) > 20 else "")
        yet = "does not yet" if len(bare) == 1 else "do not yet"
        raise SchemaError(
            f"{where}: {len(bare)} of {len(columns)} columns must declare either 'bounds' or 'categories' and {yet} "
            f'({named}); write bounds = [0, 100] or categories = ["a", "b"], as fits the '
            "column, or delete columns that are not needed"
        )
    folder = Path() if isinstance(source, str) and "\n" in source else Path(source).parent
    return lists.beside(columns, folder), {name: table[name] for name in _BESIDE if name in table}


def undeclared(declared: Any) -> bool:
    """Return whether a draft's column still needs values; identifiers and persons need none."""
    return (
        isinstance(declared, dict)
        and not set(declared) - {"kind", "role", "missing", "levels"}
        and declared.get("role") not in ("identifier", "person")
        and declared.get("kind", "number") in ("integer", "number", "date", "category", "ordered", "code")
    )


def toml_tables(source: str | Path) -> tuple[str, dict[str, Any]]:
    """Return what a schema file, or its text, is called, and what it holds."""
    if isinstance(source, str) and "\n" in source:
        where, text = "schema text", source
    else:
        where = str(source)
        try:
            text = Path(source).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise DataSourceError(_other_file(where)) from None
        except (OSError, TypeError) as error:
            raise DataSourceError(f"schema: cannot read {where!r} ({error}); check the path") from None
    try:
        return where, tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        if Path(where).suffix not in ("", ".toml", ".txt"):
            raise SchemaError(_other_file(where)) from None
        raise SchemaError(f"{where} is not valid TOML: {error}; see docs/schema.md for an example") from None


def _other_file(where: str) -> str:
    return f"schema: {where!r} is not a schema file, which is TOML text; 'discreet schema' drafts one for a table"


def write_toml(table: Mapping[str, Any]) -> str:
    """Return the text of a TOML file."""
    import tomli_w

    # The writer gives every item of a list a line. Texts hold no line breaks, so that these are all there are.
    text = tomli_w.dumps(_whole(table), indent=0)
    return text.replace("[\n", "[").replace(",\n]", "]").replace(",\n", ", ")


def _whole(value: Any) -> Any:
    """Return plain data in which whole numbers are written as such."""
    if isinstance(value, Mapping):
        return {key: _whole(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def toml_key(name: str) -> str:
    return write_toml({name: 0}).removesuffix(" = 0\n")


def toml_value(value: Any) -> str:
    """Return a value as TOML, in one line: a table is inline inside a list."""
    return write_toml({"x": [[value]]}).removeprefix("x = [[").removesuffix("]]\n")
