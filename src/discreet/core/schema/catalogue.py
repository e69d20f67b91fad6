"""Common kinds of columns, with bounds from public sources. They are offered by name, never applied silently.

A column is recognised by its name alone, so an offer can be wrong: "age" may be the age of a building. A draft shows it
in a comment only.
"""

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class KnownKind:
    """The usual meaning of a column name: a pattern of names, a declaration, and the source of its bounds."""

    names: str
    declared: Mapping[str, Any]
    source: str


@functools.cache
def known_kinds() -> tuple[KnownKind, ...]:
    """Return all kinds, from the file next to this one."""
    held = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["kind"]
    return tuple(KnownKind(one.pop("names"), source=one.pop("source"), declared=one) for one in held)


def known_kind(name: str, kind: str | None = None) -> KnownKind | None:
    """Return the usual meaning of a column name; None if unknown.

    ``kind`` was found in rows that someone looked at: a column Tag of dates does not hold the days of a month.
    """
    plain = re.sub(r"[^\w]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())).strip("_").casefold()
    found = next((known for known in known_kinds() if re.fullmatch(known.names, plain)), None)
    if found is None or "bounds" not in found.declared or kind not in ("date", "integer", "number"):
        return found
    return found if isinstance(found.declared["bounds"][0], str) == (kind == "date") else None
