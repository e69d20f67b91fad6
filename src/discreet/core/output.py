"""Files are written whole or not at all: under a temporary name first, then moved into place."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
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


def check_name(path: str | Path) -> None:
    """Refuse the name of a promise for anything else: a table would lose the promise that lies beside it."""
    name = Path(path).name
    if name.lower().endswith(PROMISE_ENDING):
        raise DataSourceError(
            f"output: {str(path)!r} is the name of a promise, as it lies beside its table; name a file that does not "
            f"end in {PROMISE_ENDING}"
        )


def reserve(path: str | Path) -> Path:
    """Make an empty file next to a place, for its owner alone: what is to lie there is written into it first."""
    target = Path(path).expanduser()
    handle, made = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    return Path(made)


def fill(reserved: Path, data: bytes | str, *, private: bool = False) -> None:
    """Write a reserved file; a private one stays readable by its owner alone, and is on the disk afterwards."""
    with reserved.open("wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        if private:  # what must not be forgotten, such as what was spent or published
            file.flush()
            os.fsync(file.fileno())
    if not private:
        share(reserved)


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk."""
    with suppress(OSError):  # a folder cannot be synced everywhere
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def share(place: Path) -> None:
    """Give a file the mode that new files of this user have: one that was reserved is private."""
    mask = os.umask(0)
    os.umask(mask)
    place.chmod(0o666 & ~mask)


def replace_whole(path: str | Path, data: bytes | str, *, private: bool = False) -> None:
    """Do what `write_whole` does, with the errors of the operating system."""
    reserved = reserve(path)
    try:
        fill(reserved, data, private=private)
        reserved.replace(Path(path).expanduser())
    finally:
        reserved.unlink(missing_ok=True)


def write_whole(path: str | Path, data: bytes | str, *, private: bool = False) -> None:
    """Write a file so that nobody ever meets half of it; a private one is for its owner's eyes alone (mode 600)."""
    try:
        replace_whole(path, data, private=private)
    except OSError as error:
        raise refused(path, error) from None


def refused(path: str | Path, error: OSError) -> DataSourceError:
    """Return why a file cannot be written as an error for the user."""
    return DataSourceError(f"output: cannot write {str(path)!r} ({error.strerror}); check the folder")


def promise_place(path: str | Path) -> Path:
    """Return where the promise of a table lies: beside it, as ``<name>.guarantee.json``."""
    target = Path(path).expanduser()
    return target.with_name(target.name + PROMISE_ENDING)


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
    write_sealed(path, payload, sealed)
    return sealed


def write_sealed(path: str | Path, payload: bytes, sealed: Any) -> None:
    """Write a table and, beside it, the guarantee that is sealed over its bytes."""
    reserved = None
    try:
        reserved = reserve(path)
        fill(reserved, payload)
        put_with_promise(reserved, path, sealed)
    except OSError as error:
        raise refused(path, error) from None
    finally:
        if reserved is not None:
            reserved.unlink(missing_ok=True)


def put_with_promise(made: Path, path: str | Path, sealed: Any) -> None:
    """Give a finished table its name, after its promise has its own.

    Whenever the process is killed, no table lies there without its promise, or with that of another table: an older
    table is removed first.
    """
    target = Path(path).expanduser()
    promise = promise_place(target)
    reserved = reserve(promise)
    try:
        fill(reserved, sealed.to_json(indent=2) + "\n")
        if target.is_file():
            target.unlink()
        reserved.replace(promise)
    finally:
        reserved.unlink(missing_ok=True)
    try:
        os.replace(made, target)
    except OSError:
        promise.unlink()
        raise
