"""An append-only file of chained lines for many processes, safe against power cuts.

A line is JSON text, a space, and the SHA-256 of that text. The text contains the SHA-256 of the line before, so no
line can be changed, moved or removed from the middle. The last hash is the *head*.

A writer takes an exclusive lock that dies with its process (`flock`), reads the lines of others, appends one line,
releases the lock and waits for the disk. A line counts once `fsync` has returned. An unfinished line of a dead process
has no line end; the next writer removes it and writes a line about that. Anything else that does not fit is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

from discreet.core import NewFile, sync
from discreet.errors import DataSourceError, DiscreetError, FormatError

try:
    import fcntl
except ImportError:  # this system has no flock
    fcntl = None  # type: ignore[assignment]

_LINE = re.compile(rb"(\{.*\}) ([0-9a-f]{64})")
#: Hash before the first line.
START = "0" * 64
#: Longest line.
LONGEST_LINE = 2**20


class Book(Protocol):
    """The state that the lines of a chain add up to."""

    def check(self, facts: dict[str, Any]) -> None:
        """Raise if a line cannot follow."""

    def take(self, facts: dict[str, Any]) -> None:
        """Apply a checked line."""

    def forget(self) -> None:
        """Start again without lines."""


class Disk:
    """The system calls on which durability rests; tests replace it."""

    def append(self, handle: int, data: bytes) -> None:
        while data:
            data = data[os.write(handle, data) :]

    def cut(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        """Return when all writes to the file are on the disk."""
        if hasattr(fcntl, "F_FULLFSYNC"):  # where fsync stops at the drive's own cache
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        else:
            os.fsync(handle)

    def sync_folder(self, folder: Path) -> None:
        """Return when the names in a folder are on the disk."""
        sync(folder)


_chains: weakref.WeakSet[Chain] = weakref.WeakSet()


class Chain:
    """The lines of one file. ``book`` checks every line that is written or read."""

    def __init__(self, path: Path, book: Book, disk: Disk | None = None) -> None:
        if fcntl is None:
            raise DataSourceError(
                "account: this system has no file lock that ends with its process; use Linux or macOS"
            )
        self.path, self._book, self._disk = path, book, disk or Disk()
        self.lock = threading.RLock()
        self._hashes: dict[str, int] = {}
        self._end, self.head, self._last, self.torn = 0, START, b"", 0
        self._handles: set[int] = set()
        self._forked = False
        _chains.add(self)

    def __len__(self) -> int:
        return len(self._hashes)

    def knows(self, head: str) -> bool:
        """Return True if a line with this hash is in the chain."""
        return head in self._hashes

    def create(self, facts: dict[str, Any]) -> str:
        """Make the file with its first line, durably; never touch an existing file."""
        try:
            with NewFile(self.path) as out:  # named when that line is in it: no one opens half an account
                self._write(out.file.fileno(), facts)
                self._disk.sync(out.file.fileno())
                _name(cast(Path, out.temporary), self.path)
            self._disk.sync_folder(self.path.parent)
        except FileExistsError:
            raise DataSourceError(f"account: {str(self.path)!r} already exists; name another file") from None
        except OSError as error:
            raise self._failed("write", error) from None
        return self.head

    def append(self, make: Callable[[], dict[str, Any]]) -> str:
        """Add a line and return its hash once it is on the disk; ``make`` is called after all other lines are read."""
        with self._opened(os.O_RDWR | os.O_APPEND) as handle:
            with self.lock:
                self._follow(handle)  # whole lines stay, so most can be read before others have to wait
                fcntl.flock(handle, fcntl.LOCK_EX)
                self._follow(handle)
                if self.torn:
                    # An unfinished line never counted for its writer.
                    dropped = self.torn
                    self._disk.cut(handle, self._end)
                    self.torn = 0
                    self._write(handle, {"kind": "repair", "dropped": dropped})
                head = self._write(handle, make())
                fcntl.flock(handle, fcntl.LOCK_UN)
            self._disk.sync(handle)
        return head

    def read(self) -> None:
        """Read new lines; write nothing."""
        with self._opened(os.O_RDONLY) as handle, self.lock:
            fcntl.flock(handle, fcntl.LOCK_SH)
            self._follow(handle)

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        try:
            handle = os.open(self.path, flags | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe is not waited for
        except OSError as error:
            raise self._failed("open", error, ", or make one with 'discreet account create'") from None
        self._handles.add(handle)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise DataSourceError(f"account: {str(self.path)!r} is not a file; check the path")
            yield handle
        except OSError as error:  # such as a full disk
            raise self._failed("write", error) from None
        finally:
            self._handles.discard(handle)
            fcntl.flock(handle, fcntl.LOCK_UN)  # closing is not enough where a child was forked meanwhile
            os.close(handle)

    def _failed(self, what: str, error: OSError, fix: str = "") -> DataSourceError:
        if isinstance(error, DataSourceError):
            return error
        check = "the path" if what == "open" else "the folder and its room"
        return DataSourceError(f"account: cannot {what} {str(self.path)!r} ({error.strerror}); check {check}{fix}")

    def _after_fork(self) -> None:
        """Start again in a forked child: another thread may have held the lock in the middle of a line."""
        for handle in self._handles:
            os.close(handle)
        self.lock, self._handles, self._forked = threading.RLock(), set(), True

    def _write(self, handle: int, facts: dict[str, Any]) -> str:
        text = _text({"after": self.head, **facts})
        self._book.check(facts)
        if len(text) > LONGEST_LINE - 65:
            raise FormatError(f"account: a line holds {LONGEST_LINE:,} characters, got {len(text):,}; shorten it")
        line = text.encode() + b" " + hashlib.sha256(text.encode()).hexdigest().encode() + b"\n"
        self._disk.append(handle, line)
        return self._count(facts, line)

    def _count(self, facts: dict[str, Any], line: bytes) -> str:
        self._book.take(facts)
        self.head = line[-65:-1].decode()
        self._hashes[self.head] = len(self._hashes)
        self._end += len(line)
        self._last = line
        return self.head

    def _follow(self, handle: int) -> None:
        """Apply the new lines; those seen before must still be there."""
        seen = self.head if self._forked else START
        if self._forked:
            self._book.forget()
            self._hashes, self._forked = {}, False
            self._end, self.head, self._last, self.torn = 0, START, b"", 0
        with open(os.dup(handle), "rb") as file:
            file.seek(self._end - len(self._last))
            if file.read(len(self._last)) != self._last:
                raise self._gone(self.head)
            lines = file.read().split(b"\n")
        for line in lines[:-1]:
            self._take_in(line)
        self.torn = len(lines[-1])
        if not self._hashes:
            raise FormatError(f"account: {str(self.path)!r} has no complete line; it is not an account")
        self.check_holds(seen)

    def check_holds(self, head: str) -> None:
        """Refuse a file without a line that was seen in it."""
        if head != START and head not in self._hashes:
            raise self._gone(head)

    def _gone(self, head: str) -> FormatError:
        return FormatError(
            f"account: {str(self.path)!r} no longer holds a line that this program has seen ({head}); it "
            "was cut, edited, or replaced by an older copy"
        )

    def _take_in(self, line: bytes) -> None:
        number = len(self._hashes) + 1
        found = _LINE.fullmatch(line) if len(line) <= LONGEST_LINE else None
        facts: Any = None
        if found is not None and hashlib.sha256(found[1]).hexdigest().encode() == found[2]:
            try:
                facts = json.loads(found[1])
                facts = facts if _text(facts).encode() == found[1] else None  # one way to write each line
            except (ValueError, RecursionError):
                facts = None
        if not isinstance(facts, dict):
            raise FormatError(f"account: line {number} of {str(self.path)!r} is damaged or was edited")
        if facts.pop("after", None) != self.head:
            raise FormatError(
                f"account: line {number} of {str(self.path)!r} does not follow the one before; a line was changed, "
                "moved or removed"
            )
        try:
            self._book.check(facts)
        except DiscreetError as error:
            raise FormatError(
                f"account: line {number} of {str(self.path)!r} cannot follow those before: {error}"
            ) from None
        self._count(facts, line + b"\n")


def _text(facts: Any) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _name(new: Path, path: Path) -> None:
    """Give a file its name; `FileExistsError` if anything has it, be it a link to nowhere."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # the file system has no links: the name is taken first, and an empty file is no account
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        new.rename(path)


def _after_fork() -> None:
    for chain in list(_chains):
        chain._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
