"""Look whether the files are there before anything heavy is imported: a slip of the pen is told at once.

Every verb is wrapped when it is added to the command line. Which of its parameters are files to read is written down
here, once for all verbs; a test holds this against the verbs. What is wrong *inside* a file is for the jobs to say.
"""

from __future__ import annotations

import functools
import glob
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from discreet.errors import DataSourceError

#: Tables: a file, a folder, or a pattern.
TABLES = ("data", "against", "control", "reference", "population")
#: One file, or several of them.
FILES = (
    "schema", "released", "artifact", "attack", "audit", "candidates", "file", "files", "counts", "domain", "secret",
    "prior", "hash_key", "previous", "job",
)  # fmt: skip
#: COLUMN=FILE.
NAMED_FILES = ("hierarchy",)
#: Files that are written, or folders; these are looked at where they are written.
WRITTEN = ("output", "html", "plot", "out", "house")


def looking_first(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Return a verb that refuses at once if a file it is to read is not there."""

    @functools.wraps(verb)
    def looked(**given: Any) -> Any:
        look(given)
        return verb(**given)

    return looked


def look(given: dict[str, Any]) -> None:
    """Refuse if a file among the parameters of a verb is not there.

    Examples
    --------
    >>> look({"data": "no-such-file.csv", "k": 3})
    Traceback (most recent call last):
    ...
    discreet.errors.DataSourceError: data: no file matches 'no-such-file.csv'; check the path
    """
    for name, value in given.items():
        texts = [str(v) for v in (value if isinstance(value, (list, tuple)) else [value]) if v is not None]
        if name in TABLES:
            _look(name, texts, _matches)
        elif name in FILES:
            _look(name, texts, _is_there)
        elif name in NAMED_FILES:
            _look(name, [text.partition("=")[2] for text in texts if "=" in text], _is_there)
    if given.get("job") is not None and not given.get("check"):
        _look_into(Path(given["job"]).expanduser())


def _look(name: str, texts: Iterable[str], found: Callable[[str], bool], start: Path = Path()) -> None:
    for text in texts:
        if not found(str(start / Path(text).expanduser())):
            # In the words of the jobs themselves, which say it where no command line was typed.
            if name == "artifact":
                raise DataSourceError(f"artifact: no file {text!r}; name what was released")
            if name in TABLES:
                raise DataSourceError(f"{name}: no file matches {text!r}; check the path")
            raise DataSourceError(f"{name.replace('_', '-')}: cannot read {text!r} (no such file); check the path")


def _is_there(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return True  # what is no path at all is for the job to say


def _matches(text: str) -> bool:
    return _is_there(text) or bool(glob.glob(text, recursive=True))


def _look_into(job: Path) -> None:
    """Look for the table that a job file names; what else is wrong in it is for the job to say."""
    try:
        table = tomllib.loads(job.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    kind, data = (part if isinstance(part, dict) else {} for part in (table.get("job"), table.get("data")))
    if isinstance(text := data.get("path"), str):
        # Of a sketch it is a file of values, and need not be a table.
        _look("values" if kind.get("kind") == "sketch" else "data", [text], _matches, job.parent)
