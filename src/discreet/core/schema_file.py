"""The TOML schema file: a table ``[columns.NAME]`` per column, perhaps a first line ``unit = "row"`` and ``[source]``.

``[source]`` says how the table is written (`Dialect`): ``delimiter = ";"``, ``decimal = ","``, or ``header = false`` if
its first line is a record and the columns are called column_1, column_2, ...

Only the draft is written by hand: it is mostly comments, which no writer of TOML writes.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from discreet.errors import DataSourceError, SchemaError

_ROLES = ("quasi-identifier", "sensitive", "identifier", "person", "target")


#: What stands in records and hardly in headers: numbers of all spellings, dates, addresses.
_RECORD = re.compile(
    r"[+-]?[$€£]?[\d.,][\d.,' ]*(e[+-]?\d+)?\s*[%$€£]?"
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|[^@\s]+@[^@\s]+\.[^@\s]+",
    re.IGNORECASE,
)


def looks_like_a_record(names: Sequence[str]) -> bool:
    """Tell whether a line that should name columns may be somebody's record.

    Numbers, dates or addresses where names belong, gaps (other than one at the front, which some programs leave above
    their row numbers), or repeats. A record of different plain words looks like names.

    Examples
    --------
    >>> looks_like_a_record(["age", "town"]), looks_like_a_record(["", "age"]), looks_like_a_record(["34", "Ulm"])
    (False, False, True)
    """
    plain = [name.strip() for name in names]
    if any(_RECORD.fullmatch(name) for name in plain) or not all(plain[1:]):
        return True
    return len({name.casefold() for name in plain}) < len(plain)


def load_schema(source: str | Path) -> tuple[Mapping[str, Any], Any, Any]:
    """Return columns, unit and source (None if not said) of a schema file, or of its text (it has line breaks)."""
    where, table = _tables(source)
    columns = table.get("columns")
    if not isinstance(columns, dict) or not columns or set(table) - {"columns", "unit", "source"}:
        raise SchemaError(
            f"{where} must hold one table [columns.NAME] per column, and nothing else but unit and [source], "
            f"got {sorted(table)}"
        )
    return columns, table.get("unit"), table.get("source")


def _tables(source: str | Path) -> tuple[str, dict[str, Any]]:
    if isinstance(source, str) and "\n" in source:
        where, text = "schema text", source
    else:
        where = str(source)
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError, TypeError) as error:
            raise DataSourceError(f"schema: cannot read {where!r} ({error}); check the path") from None
    try:
        return where, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{where} is not valid TOML: {error}; see docs/schema.md for an example") from None


def draft_schema(names: Sequence[str], source: str, *, read: str = "names") -> str:
    """Return a schema file to be filled in: the columns by name, and nothing that rows could tell.

    ``read`` says what was read: "names" that the file keeps apart from its rows, its "first line", or of that line only
    the number of "fields".
    """
    where = toml_value(source)
    said = {
        "names": f"# Drafted from the column names of {where} alone: no row was read.",
        "first line": f"# Drafted from the first line of {where} alone, taken for the column names; nothing below "
        "it was read.\n# If that line is somebody's record, delete this file and draft again with --no-header.",
        "fields": f"# Drafted from the number of fields in the first line of {where} alone: no value was kept.",
    }[read]
    text = [
        said,
        "# Declare each column by what it means, not by what the table holds: keep one of the lines bounds and",
        "# categories, write your own values, remove the '#'. Delete the columns that are not to be used.",
    ]
    if read == "fields":
        text.append("\n[source]\nheader = false  # the first line is a record; columns are called by their places")
    seen: set[str] = set()
    for place, name in enumerate((n.strip() for n in names), start=1):
        if not name or name in seen:
            why = f"has the name {toml_value(name)} of an earlier one" if name else "has no name"
            text.append(f"\n# Column {place} {why} and is left out.")
            continue
        seen.add(name)
        text.append(
            f"\n[columns.{toml_key(name)}]\n"
            "# bounds = [LOW, HIGH]            # a number, or a date as 1984-05-01; values beyond count as the bound\n"
            '# categories = ["FIRST", "NEXT"]  # or one of a list; anything else is missing\n'
            f'# role = "attribute"              # or {", ".join(_ROLES)}\n'
            '# missing = "drop"                # or own: rows without a value get a cell of their own'
        )
    return "\n".join(text) + "\n"


def write_toml(table: Mapping[str, Any]) -> str:
    """Return the text of a TOML file.

    Examples
    --------
    >>> print(write_toml({"columns": {"age": {"bounds": [0.0, 120.5]}}}), end="")
    [columns.age]
    bounds = [0, 120.5]
    """
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
    """Return a key as TOML."""
    return write_toml({name: 0}).removesuffix(" = 0\n")


def toml_value(value: Any) -> str:
    """Return a value as TOML, in one line: a table is one where it lies in a list of lists."""
    return write_toml({"x": [[value]]}).removeprefix("x = [[").removesuffix("]]\n")
