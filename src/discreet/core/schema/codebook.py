"""What is declared of columns without an editor: a published codebook, and declarations typed on a command line.

The codebook is a file of names as C4.5 reads it, which many public tables come with: the classes on the first line,
then a line per column, ``age: continuous.`` or ``sex: Female, Male.``; ``|`` begins a comment, and ``?`` is a
missing value in the table. The class is the last column and has no name of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.core.columns import ROLES
from discreet.errors import DataSourceError, InvalidArgument, SchemaError

#: What a codebook calls the column that has no name there.
TARGET = "class"
_NUMBER = r"-?\d+(?:\.\d+)?(?:e\d+)?"
_DAY = r"\d{4}-\d{2}-\d{2}"


def read_codebook(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a codebook declares, column by column: categories, or nothing yet of what is continuous.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "people.names"
    ...     _ = place.write_text("poor, rich.   | the classes\\nage: continuous.\\nsex: Female, Male.\\n")
    ...     read_codebook(place)
    {'age': {}, 'sex': {'categories': ['Female', 'Male'], 'missing': 'own'}, 'class': {'categories': ['poor', 'rich'], \
'missing': 'own'}}
    """
    try:
        text = path.expanduser().read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataSourceError(f"codebook: cannot read {str(path)!r} ({error.strerror}); check the path") from None
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


def read_declarations(texts: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what was typed of columns.

    ``age=0..120`` are whole numbers, ``cost=0:5000`` numbers, ``day=2025-01-01:2025-12-31`` days, ``sex=f,m`` a
    list; ``name=identifier`` is a role, which several columns may be given at once: ``age,sex=quasi-identifier``;
    ``user=person:8`` also says that persons are what is hidden, with at most eight rows of each.

    Parameters
    ----------
    texts : sequence of str
        One declaration each; several about a column add up.
    names : sequence of str
        The columns of the table.

    Examples
    --------
    >>> read_declarations(["age=0..120", "share=0:1", "age,share=sensitive"], ["age", "share"])
    {'age': {'kind': 'integer', 'bounds': [0, 120], 'role': 'sensitive'}, 'share': {'bounds': [0.0, 1.0], 'role': \
'sensitive'}}
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        left, equals, value = (part.strip() for part in text.partition("="))
        listed = left.split(",") if left not in names and value in ROLES else [left]
        if not equals or not value or not set(listed) <= set(names):
            expected = f"COLUMN=0..120, COLUMN=0:1.5, COLUMN=A,B or COLUMN=ROLE, of {', '.join(names[:20])}"
            raise InvalidArgument("--declare", text, expected, f"--declare {names[0]}=0..120")
        for name in listed:
            found.setdefault(name, {}).update(_declared(value))
    return found


def _declared(value: str) -> Mapping[str, Any]:
    if value in ROLES:
        return {"role": value}
    if bound := re.fullmatch(r"person:(auto|\d+)", value):
        return {"role": "person", "rows": "auto" if bound[1] == "auto" else int(bound[1])}
    if ends := re.fullmatch(r"(-?\d+)\.\.(-?\d+)", value):
        return {"kind": "integer", "bounds": [*map(int, ends.groups())]}
    if ends := re.fullmatch(rf"({_NUMBER}):({_NUMBER})", value):
        return {"bounds": [*map(float, ends.groups())]}
    if ends := re.fullmatch(rf"({_DAY}):({_DAY})", value):
        return {"bounds": [*ends.groups()]}
    return {"categories": [part.strip() for part in value.split(",")]}
