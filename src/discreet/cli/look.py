"""Look whether the files are there before anything heavy is imported: a slip of the pen is told at once.

Which options are files to read is part of their declaration. What is wrong *inside* a file is for the jobs to say.
"""

import glob
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.core.schema import is_address
from discreet.errors import DataSourceError
from discreet.jobs import Option


def look(given: Sequence[tuple[Option, Any]], start: Path = Path()) -> None:
    """Refuse if a file that is to be read is not there.

    Examples
    --------
    >>> from discreet.jobs.options import TABLE
    >>> look([(TABLE, "no-such-file.csv")])
    Traceback (most recent call last):
    ...
    discreet.errors.DataSourceError: data: no file matches 'no-such-file.csv'; check the path
    """
    for option, value in given:
        if not option.reads or ("names" in option.takes and isinstance(value, list)):
            continue
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        for text in values:
            if "table" in option.takes and is_address(text):
                continue
            if "://" in str(text):  # not repeated: it may hold a password
                raise DataSourceError(f"{option.name.replace('_', '-')}: takes a file, not an address; name a file")
            place = str(start / os.path.expanduser(str(text)))
            if not (_matches(place) if "table" in option.takes else _is_there(place)):
                name = option.name.replace("_", "-")
                # In the words of the jobs themselves, which say it where no command line was typed.
                if "table" in option.takes and not str(text).endswith(".txt"):
                    raise DataSourceError(f"{name}: no file matches {text!r}; check the path")
                raise DataSourceError(f"{name}: cannot read {text!r} (no such file); check the path")


def look_into(job: Path, *, data: bool = True) -> None:
    """Look for a job file and the table that it names; what else is wrong in it is for the job to say."""
    from discreet.jobs.kinds import KINDS

    if not _is_there(str(job)):
        raise DataSourceError(f"job: cannot read {str(job)!r} (no such file); check the path")
    try:
        table = tomllib.loads(job.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    named, given = (part if isinstance(part, dict) else {} for part in (table.get("job"), table.get("data")))
    kind = KINDS.get(str(named.get("kind")))
    if data and kind is not None and kind.data is not None and isinstance(given.get("path"), (str, list)):
        look([(kind.data, given["path"])], job.parent)


def _is_there(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return True  # what is no path at all is for the job to say


def _matches(text: str) -> bool:
    return _is_there(text) or bool(glob.glob(text, recursive=True))
