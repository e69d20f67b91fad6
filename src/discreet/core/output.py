"""Files are written whole or not at all: under a temporary name first, then moved into place."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.errors import DataSourceError

#: How the name of a promise ends that lies beside its table.
PROMISE_ENDING = ".guarantee.json"
_BLOCK = 1 << 20


def cache_folder() -> Path:
    """Return the folder in which this user's programs keep what can be made again.

    Raises
    ------
    DataSourceError
        If the user has no home, as in some containers, and no folder is named.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(base).expanduser() / "discreet"
    except RuntimeError:
        raise DataSourceError("cache: this user has no home directory; set XDG_CACHE_HOME to a folder") from None


def check_place(path: str | Path, *, promise: bool = False) -> None:
    """Refuse a place that cannot be written to, before work (and budget) goes into what would be written.

    Only a ``promise`` may have the name of one.
    """
    if not promise:
        check_name(path)
    target = Path(path).expanduser()
    if target.is_dir() or not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise DataSourceError(
            f"output: cannot write {str(path)!r}; name a file in a folder that is there and open to you"
        )


def unusable(text: str, *, path: bool) -> str:
    """Return what a text must be to be written, or opened as a path; empty if it is.

    Examples
    --------
    >>> unusable("report.html", path=True), unusable("a\\0b", path=True), unusable("\\ud800", path=False)
    ('', 'a path without a zero byte', 'text that can be written as UTF-8')
    """
    if path and "\0" in text:
        return "a path without a zero byte"
    try:
        os.fsencode(text) if path else text.encode()
    except UnicodeEncodeError:
        return "text that can be written as UTF-8"
    if path and text.startswith("~") and os.path.expanduser(text) == text:
        return "a path below a home folder that exists"
    return ""


def check_name(path: str | Path) -> None:
    """Refuse the name of a promise for anything else: a table would lose the promise that lies beside it."""
    name = Path(path).name
    if name.lower().endswith(PROMISE_ENDING):
        raise DataSourceError(
            f"output: {str(path)!r} is the name of a promise, as it lies beside its table; name a file that does not "
            f"end in {PROMISE_ENDING}"
        )


def write_whole(path: str | Path, data: bytes | str, *, private: bool = False) -> None:
    """Write a file so that nobody ever meets half of it; a private one is for its owner's eyes alone."""
    target = Path(path).expanduser()
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        if not private:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)  # a temporary file is private by default; this one is to be shared
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise DataSourceError(f"output: cannot write {str(path)!r} ({error.strerror}); check the folder") from None


def promise_place(path: str | Path) -> Path:
    """Return where the promise of a table lies: beside it, as ``<name>.guarantee.json``."""
    target = Path(path).expanduser()
    return target.parent / f"{target.name}{PROMISE_ENDING}"


def payload_of(path: str | Path) -> Iterator[bytes]:
    """Yield the bytes that the promise of a table is sealed over: its file's, or those of its part files by name."""
    place = Path(path).expanduser()
    files = sorted(p for p in place.iterdir() if not p.name.startswith((".", "_"))) if place.is_dir() else [place]
    for name in files:
        with name.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block


def write_with_promise(path: str | Path, payload: bytes, guarantee: Any) -> Any:
    """Write a table and, beside it, its guarantee sealed over the very bytes of the table; return the sealed one."""
    sealed = guarantee.seal(payload)
    write_whole(path, payload)
    write_whole(promise_place(path), sealed.to_json(indent=2) + "\n")
    return sealed
