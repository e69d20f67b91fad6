"""Options of estimators, kept in the user's cache folder.

Asking the estimators means importing them and the numerical libraries, which takes longer than to report a typing
mistake. So the answer is kept, with the sizes and times of the package's files. If one of them changes, they are asked
again.
"""

import ast
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields

from discreet._version import __version__
from discreet.core import Option, cache_folder, write_whole
from discreet.errors import DiscreetError


def kept(kind: str, ask: Callable[[], Sequence[Option]]) -> Sequence[Option]:
    """Return the options of a kind of job: kept ones, or those that the estimators declare."""
    if "numpy" in sys.modules:  # the estimators answer at once
        return ask()
    try:
        file = cache_folder() / f"options-{kind}.txt"
        files = sorted(_files(os.path.dirname(os.path.dirname(__file__))))
    except (OSError, DiscreetError):  # no home, or files that cannot be looked at: an editor's, or those of an archive
        return ask()
    state = hashlib.sha256(repr((__version__, files)).encode()).hexdigest()
    with suppress(OSError, ValueError, SyntaxError, TypeError):  # no file, or not one of ours
        first, _, text = file.read_text(encoding="utf-8").partition("\n")
        if first == state:
            return [Option(**each) for each in ast.literal_eval(text)]
    found = ask()
    with suppress(OSError, DiscreetError):
        file.parent.mkdir(parents=True, exist_ok=True)
        stated = [{part.name: getattr(each, part.name) for part in fields(Option)} for each in found]
        write_whole(file, f"{state}\n{stated!r}\n")
    return found


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield the names, sizes and times of the package's files."""
    for each in os.scandir(folder):
        if each.is_dir():
            yield from _files(each.path) if each.name != "__pycache__" else ()
        elif each.name.endswith(".py"):
            yield each.path, each.stat().st_size, each.stat().st_mtime_ns
