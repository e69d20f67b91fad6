"""Find missing files before the numerical libraries are imported, so that a typing mistake is reported at once."""

import glob
import os
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.core import Option
from discreet.core.schema import is_address
from discreet.errors import DataSourceError
from discreet.jobs import SCHEMA, Kind, read


def look(given: Sequence[tuple[Option, Any]], start: Path = Path()) -> None:
    """Raise if a file to read does not exist."""
    for option, value in given:
        if not option.reads or ("names" in option.takes and isinstance(value, list)):
            continue
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        for text in values:
            if "table" in option.takes and is_address(text):
                continue
            name = option.name.replace("_", "-")
            if "://" in str(text):  # not repeated: it may hold a password
                raise DataSourceError(f"{name}: takes a file, not an address; name a file")
            place = str(start / os.path.expanduser(str(text)))
            if not _exists(place) and not ("table" in option.takes and glob.glob(place, recursive=True)):
                # The same words as the jobs use.
                if "table" in option.takes and not str(text).endswith(".txt"):
                    raise DataSourceError(f"{name}: no file matches {text!r}; check the path")
                raise DataSourceError(f"{name}: cannot read {text!r} (no such file); check the path")


def look_at_words(kind: Kind, words: Sequence[str]) -> None:
    """Look for files in words that were typed, with the options that are known without importing the estimators."""
    if not kind.estimators:
        return
    named = {o.flag: o for o in (*kind.own, *([SCHEMA] if kind.schema else [])) if o.reads}
    found = [(named[flag], read(kind, named[flag], [text])) for flag, text in pairwise(words) if flag in named]
    if words and kind.data is not None and not words[0].startswith("-"):
        found.insert(0, (kind.data, words[0]))
    look(found)


def look_into(job: Path, *, data: bool = True) -> None:
    """Look for a job file and its table. Other faults of the file are left to the job."""
    from discreet.jobs.kinds import KINDS

    if not _exists(str(job)):
        raise DataSourceError(f"job: cannot read {str(job)!r} (no such file); check the path")
    try:
        table = tomllib.loads(job.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    named, given = (part if isinstance(part, dict) else {} for part in (table.get("job"), table.get("data")))
    kind = KINDS.get(str(named.get("kind")))
    if data and kind is not None and kind.data is not None and isinstance(given.get("path"), (str, list)):
        look([(kind.data, given["path"])], job.parent)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return True  # not a path: the job reports it
