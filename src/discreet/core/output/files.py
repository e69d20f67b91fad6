"""Files are written whole or not at all: under a temporary name first, then moved into place.

Every file that this package writes goes through `NewFile`.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import DataSourceError

#: How the name of a promise ends that lies beside its table.
PROMISE_ENDING = ".guarantee.json"
_BLOCK = 1 << 20
#: What is not a regular file and takes bytes as they come.
STREAMS = ("pipe", "device")


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


def check_place(path: str | Path, *, promise: bool = False, streams: bool = False) -> None:
    """Refuse a place that cannot be written to, before work (and budget) goes into what would be written.

    Only a ``promise`` may have the name of one. Only what ``streams`` may go to a pipe or a terminal; see `NewFile`.
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
    """Return what lies at a place in words, if it is not a regular file; "" for such a file and for an empty place.

    A name of an open file, such as ``/dev/stdout``, counts as one of those, whatever it leads to: the name must stay.
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
    """Return the number of the open file of this process that a name stands for, following links."""
    for _ in range(40):
        place = Path(os.path.realpath(target.parent))
        if place.name == "fd" and place.parent in (Path("/dev"), Path(f"/proc/{os.getpid()}")):
            return int(target.name) if target.name.isdecimal() else None
        if not target.is_symlink():
            return None
        target = place / os.readlink(target)
    return None


class NewFile:
    """A file that gets its name when it is whole: the one way in which this package writes files.

    The bytes go to a temporary file next to the place. `keep` gives it its name; without it, nothing is left behind.
    If a symbolic link lies at the place, the new file takes the link's place; what the link led to stays as it is.

    What is not a regular file is never replaced. A pipe, a terminal or a device such as ``/dev/null`` takes the bytes
    as they come if this output ``streams``, and is refused otherwise. Folders, sockets and disks are always refused.

    Parameters
    ----------
    path : str or Path
        The place.
    private : bool
        Whether only the owner may read the file.
    durable : bool
        Whether the bytes are on the disk before an earlier file is given up. Only one program at a time may write such
        a file: the temporary name is always the same, so that crashes leave one temporary file at most.
    streams : bool
        Whether the output may go to a pipe: for pages and figures. What is kept with its guarantee may not.

    Attributes
    ----------
    file : binary file
        Takes the bytes.
    temporary : Path or None
        Where they lie before they have their name; None if they are streamed.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder, NewFile(f"{folder}/page.html") as out:
    ...     _ = out.file.write(b"<html>")
    ...     out.keep()
    ...     os.listdir(folder)
    ['page.html']
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


def unfit(text: str, *, path: bool = False) -> str:
    """Say what a text must be to be shown, or to name a file; "" if it is.

    The character NUL is in no name, and half of a pair of surrogates is what is left of a byte that is no character.

    Examples
    --------
    >>> unfit("café"), unfit("a\\0b"), unfit("caf\\udce9")
    ('', 'a text without the character NUL', 'a text in UTF-8')
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a text in UTF-8"
    if path and text.startswith("~") and os.path.expanduser(text) == text:
        return "a path below a home folder that exists"
    return "a text without the character NUL" if "\0" in text else ""


def check_name(path: str | Path) -> None:
    """Refuse the name of a promise for anything else: a table would lose the promise that lies beside it."""
    name = Path(path).name
    if name.lower().endswith(PROMISE_ENDING):
        raise DataSourceError(
            f"output: {str(path)!r} is the name of a promise, as it lies beside its table; name a file that does not "
            f"end in {PROMISE_ENDING}"
        )


def write_whole(path: str | Path, data: bytes | str, *, private: bool = False, streams: bool = False) -> None:
    """Write a file so that no one ever meets half of it; see `NewFile`."""
    try:
        with NewFile(path, private=private, streams=streams) as out:
            out.file.write(data.encode() if isinstance(data, str) else data)
            out.keep()
    except OSError as error:
        raise cannot_write(path, error) from None


def after_promise(path: str | Path, sealed: Any, put: Callable[[], None]) -> None:
    """Write the promise of a table, then let ``put`` give the table its name.

    Whenever the process is killed, no table lies there without its promise, or with that of another table: an older
    table is removed first.
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


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk."""
    with suppress(OSError):  # a folder cannot be synced everywhere
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
    write_sealed(path, payload, sealed)
    return sealed


def write_sealed(path: str | Path, payload: bytes, sealed: Any) -> None:
    """Write a table and, beside it, the guarantee that is sealed over its bytes."""
    try:
        with NewFile(path) as out:
            out.file.write(payload)
            out.keep(sealed)
    except OSError as error:
        raise cannot_write(path, error) from None
