"""Files are written whole or not at all: under a temporary name first, then moved. `NewFile` writes every file."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import DataSourceError, FormatError

PROMISE_ENDING = ".guarantee.json"
_BLOCK = 1 << 20
#: What is not a regular file and takes bytes as they come.
STREAMS = ("pipe", "device")


def cache_folder() -> Path:
    """Return this user's cache folder. `DataSourceError` if the user has no home directory and no folder is named."""
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


def check_place(path: str | Path, *, promise: bool = False, streams: bool = False) -> None:
    """Refuse a path that cannot be written, before work and budget are spent.

    Only a ``promise`` may be called like one. Only an output that ``streams`` may go to a pipe or a terminal; see
    `NewFile`.
    """
    if not promise:
        check_name(path)
    target = Path(path).expanduser()
    kind = special(target)
    if kind in STREAMS and streams:
        return
    if kind:
        raise DataSourceError(
            f"output: {str(path)!r} is a {kind}, and this output is a file that is kept; name a regular file"
        )
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise DataSourceError(
            f"output: cannot write {str(path)!r}; name a file in a folder that is there and open to you"
        )


def special(path: str | Path) -> str:
    """Return the kind of a path that is not a regular file ("pipe", "folder", ...); "" for a file or an unused path.

    Names of open files, such as ``/dev/stdout``, count as pipes: they must never be replaced.
    """
    target = Path(path).expanduser()
    if "\0" in str(target):
        raise DataSourceError(f"output: {str(path)!r} holds the character NUL, which no name may; leave it out")
    try:
        mode = target.stat().st_mode
    except OSError:
        return ""
    if open_number(target) is not None:
        return "pipe"
    kinds = ((stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "disk"))
    return next((word for is_one, word in kinds if is_one(mode)), "" if stat.S_ISREG(mode) else "socket")


def open_number(target: Path) -> int | None:
    """Return the number of this process's open file that a path names, following links."""
    for _ in range(40):
        place = Path(os.path.realpath(target.parent))
        if place.name == "fd" and place.parent in (Path("/dev"), Path(f"/proc/{os.getpid()}")):
            return int(target.name) if target.name.isdecimal() else None
        if not target.is_symlink():
            return None
        target = place / os.readlink(target)
    return None


class NewFile:
    """A file that gets its name when it is complete. All files of this package are written with it.

    Bytes go to a temporary file in the same folder. `keep` renames it; without `keep`, nothing is left. A symbolic link
    is replaced; its target stays. Other special files are never replaced: a pipe, terminal or device such as
    ``/dev/null`` receives the bytes if the output ``streams``; folders, sockets and disks are refused. ``durable``:
    the bytes are on the disk before an earlier file is replaced, and one program at a time may write (a fixed temporary
    name, so that crashes leave at most one).
    """

    file: BinaryIO

    def __init__(
        self, path: str | Path, *, private: bool = False, durable: bool = False, streams: bool = False
    ) -> None:
        self._path = Path(path).expanduser()
        self._private, self._durable, self._streams = private, durable, streams
        self.temporary: Path | None = None

    def __enter__(self) -> NewFile:
        if special(self._path):
            check_place(self._path, promise=True, streams=self._streams)
            number = open_number(self._path)
            # Opened without leave to make a file: if the pipe is gone by now, nothing takes its place.
            handle = os.open(self._path, os.O_WRONLY | os.O_NOCTTY) if number is None else os.dup(number)
        elif self._durable:
            self.temporary = self._path.with_name(f".{self._path.name}.new")
            self.temporary.unlink(missing_ok=True)
            handle = os.open(self.temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        else:
            handle, name = tempfile.mkstemp(prefix=".", suffix=f".{self._path.name}", dir=self._path.parent)
            self.temporary = Path(name)
        self.file = os.fdopen(handle, "wb")
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what is left of a file that is thrown away
            self.file.close()
        if self.temporary is not None:
            self.temporary.unlink(missing_ok=True)

    def keep(self, sealed: Any = None) -> None:
        """Give the file its name; of a table after its promise, ``sealed``, has its own."""
        if sealed is not None:
            after_promise(self._path, sealed, self.keep)
            return
        if not self.file.closed:
            self.file.flush()
            if self._durable or self._private:  # what must not be forgotten, such as what was spent or published
                os.fsync(self.file.fileno())
            self.file.close()
        if self.temporary is None:
            return
        if not self._private:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(self.temporary, 0o666 & ~mask)  # a temporary file is private by default; this one is to be shared
        if special(self._path):  # since then
            check_place(self._path, promise=True)
        os.replace(self.temporary, self._path)
        self.temporary = None


def cannot_write(path: str | Path, error: OSError) -> DataSourceError:
    """Return what to say if a file cannot be written."""
    if isinstance(error, DataSourceError):
        return error
    reason = f" ({error.strerror})" if error.strerror else ""
    return DataSourceError(f"output: cannot write {str(path)!r}{reason}; check the folder and its room")


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Report an `OSError` as `cannot_write` does."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def unfit(text: str, *, path: bool = False) -> str:
    """Return what is wrong with a text that cannot be shown or cannot name a file; "" if it is fine."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a text in UTF-8"
    if path and text.startswith("~") and os.path.expanduser(text) == text:
        return "a path below a home folder that exists"
    return "a text without the character NUL" if "\0" in text else ""


def check_name(path: str | Path) -> None:
    """Refuse ``-``, and the name of a guarantee file for anything else: a table would lose its guarantee."""
    name = Path(path).name
    if name == "-":  # other programs would write to the terminal
        raise DataSourceError(f"output: {str(path)!r} is not a file; name one, or '/dev/stdout' for a page")
    if name.lower().endswith(PROMISE_ENDING):
        raise DataSourceError(
            f"output: {str(path)!r} is the name of a promise, as it lies beside its table; name a file that does not "
            f"end in {PROMISE_ENDING}"
        )


def write_whole(path: str | Path, data: bytes | str, *, private: bool = False, streams: bool = False) -> None:
    """Write a file so that no one ever meets half of it; see `NewFile`."""
    with writing(path), NewFile(path, private=private, streams=streams) as out:
        out.file.write(data.encode() if isinstance(data, str) else data)
        out.keep()


def read_whole(path: str | Path, what: str = "path") -> bytes:
    """Return the bytes of a file that an argument, ``what``, names."""
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise DataSourceError(f"{what}: cannot read {str(path)!r} ({error.strerror}); check the path") from None


def after_promise(path: str | Path, sealed: Any, put: Callable[[], None]) -> None:
    """Write the guarantee of a table, then let ``put`` rename the table.

    If the process is killed, there is never a table without its guarantee or with another one: an older table is
    removed first.
    """
    target, promise = Path(path).expanduser(), promise_place(path)
    with NewFile(promise) as beside:
        beside.file.write((sealed.to_json(indent=2) + "\n").encode())
        if target.is_file():
            target.unlink()
        beside.keep()
    try:
        put()
    except OSError:
        promise.unlink()
        raise


def sync(path: Path) -> None:
    """Return when a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Do the same for the names in a folder, where the system can."""
    with suppress(OSError):
        sync(folder)


def read_json(text: str | bytes) -> Any:
    """Read JSON in which no field occurs twice and no number is NaN or infinite; `ValueError` otherwise."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a field occurs twice")
        return dict(pairs)

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not a number")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


#: How a message about a later format ends: such a file is not wrong, and cannot be read here.
UPGRADE = "; upgrade discreet"


def refuse_later(what: str, facts: Any, known: int, field: str = "format_version") -> None:
    """Refuse what a later version of this package wrote: the number of its format is above the one that is known."""
    found = facts.get(field) if isinstance(facts, Mapping) else None
    if found is not None and type(found) is not int:  # 1.0 and true equal 1 in Python, and nothing of ours writes them
        raise FormatError(f"{what} is damaged: its {field} must be a whole number, got {found!r}")
    if found is not None and found > known:
        told = f"{what} is of format version {found}, and this version of Discreet reads up to {known}"
        raise FormatError(told + UPGRADE)


def read_ledger(text: str | bytes, what: str, name: str, version: int) -> dict[str, Any]:
    """Read a ledger that is kept as JSON, if it is one of this format and version."""
    try:
        facts = read_json(text)
    except (ValueError, TypeError, RecursionError):
        raise FormatError(f"not a {what} of Discreet: it is not JSON, or a field occurs twice") from None
    refuse_later(f"the {what}", facts, version, "version")
    if not isinstance(facts, dict) or (facts.get("format"), facts.get("version")) != (name, version):
        raise FormatError(f"not a {what} of Discreet: format and version must be {(name, version)}")
    return facts


def promise_place(path: str | Path) -> Path:
    """Return the path of a table's guarantee: ``<name>.guarantee.json`` in the same folder."""
    target = Path(path).expanduser()
    return target.parent / f"{target.name}{PROMISE_ENDING}"


def payload_of(path: str | Path) -> Iterator[bytes]:
    """Yield the bytes that the promise of a table is sealed over: its file's, or those of its part files by name."""
    place = Path(path).expanduser()
    files = sorted(p for p in place.iterdir() if not p.name.startswith((".", "_"))) if place.is_dir() else [place]
    for name in files:
        if name.is_dir():
            raise FormatError(f"{place.name} has a folder in it, {name.name!r}, which no seal covers")
        with name.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block


def digest_of(path: str | Path) -> str:
    """Return the SHA-256 of a file, or of the part files of a folder, in hexadecimal."""
    found = hashlib.sha256()
    for block in payload_of(path):
        found.update(block)
    return found.hexdigest()


def write_sealed(path: str | Path, payload: bytes, sealed: Any) -> None:
    """Write a table and the guarantee that is sealed over its bytes."""
    with writing(path), NewFile(path) as out:
        out.file.write(payload)
        out.keep(sealed)
