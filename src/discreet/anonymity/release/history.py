"""The release history: a folder that knows every release about some people, and lets one release through at a time.

A release about the same people is checked with every earlier one when it is written. So reading the history, checking,
and writing the table, its promise and its entry in the history happen under one lock. The lock is held by the process
and dies with it.

<folder>/            0700
  lock               held from the check to the written release
  000001.json        where the table went, the seal of its release record, and those that it was checked with
  000001.record       who was published in which cell (`discreet.anonymity.ReleaseRecord`)
  000001.withdrawn   empty: the table was deleted before anybody had it

An entry is written before its table gets its name, and notes under which name the table waits. A process that is killed
in between is recognised by that: if the table still waits, nobody has seen it, and whoever takes the lock next removes
table and entry. Otherwise the release is whole.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.anonymity.release.record import ReleaseRecord
from discreet.core import NewFile, cannot_write, promise_place, sync_folder, write_sealed, write_whole
from discreet.engines import check_target
from discreet.errors import DataSourceError, FormatError, InvalidArgument

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from discreet.anonymity.release.release import Release

_FORMAT, _FORMAT_VERSION = "discreet.history", 1


@dataclass(frozen=True)
class Entry:
    """A release in the history.

    Attributes
    ----------
    number : int
        Its place in the order of releases.
    table : str
        Where the table was written; "" for one that was made without this history.
    seal : str
        Of its release record.
    earlier : tuple of str
        Seals of the release records that it was checked with.
    waits : str
        Where the table lies until it gets its name; "" once it has.
    """

    number: int
    table: str
    seal: str
    earlier: tuple[str, ...]
    waits: str = ""


class ReleaseHistory:
    """All releases about some people, in a folder for their keeper alone.

    Inside a ``with`` block the history is locked from the moment it is first read, as ``previous=``, to the end of the
    block: another program that releases something about the same people waits.

    Parameters
    ----------
    folder : str or Path
        Made when the first release is added. Only its owner may read it: it undoes the releases.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> import pyarrow as pa
    >>> domain = dc.Domain({"age": {"bounds": [0, 120], "role": "quasi-identifier"},
    ...                     "name": {"categories": ["a"], "role": "identifier"}})
    >>> people = pa.table({"age": [31, 33, 61, 64], "name": ["ann", "bob", "cid", "dee"]})
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for month in ("january", "february"):
    ...         with dc.anonymity.ReleaseHistory(f"{place}/people.history") as history:
    ...             release = dc.anonymity.DensityTree(k=2, domain=domain).fit_transform(people, previous=history)
    ...             release.save(f"{place}/{month}.csv", history=history)
    ...     len(history.entries), release.guarantee.parameters["earlier_releases"]
    (2, 1)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser().absolute()
        self._handle: int | None = None
        self._owner = 0  # the process that holds the lock: a forked one has the handle, and not the lock
        self._guard = threading.RLock()  # for threads that share this object
        self._inside = False

    def __enter__(self) -> ReleaseHistory:
        self._guard.acquire()
        self._inside = True
        return self

    def __exit__(self, *_: object) -> None:
        self._inside = False
        self._unlock()
        self._guard.release()

    @property
    def entries(self) -> list[Entry]:
        """The releases that a new one is checked with, the earliest first.

        A withdrawn one shows nobody anything, so it is left out; but one that was checked with it can only be followed
        together with it.
        """
        found = [entry for entry in self._all() if not entry.waits]
        chosen = {entry.seal: entry for entry in found if not self._mark(entry).exists()}
        known = {entry.seal: entry for entry in found}  # the same may be released again after it was withdrawn
        while more := {seal for entry in chosen.values() for seal in entry.earlier if seal in known} - set(chosen):
            chosen |= {seal: known[seal] for seal in more}
        return sorted(chosen.values(), key=lambda entry: entry.number)

    def records(self) -> list[ReleaseRecord]:
        """Read who was published where in all releases so far."""
        if not self.folder.exists() and not self._inside:
            return []
        with self._locked():
            return [self._record(entry) for entry in self.entries]

    def files(self) -> list[Path]:
        """Return the release records of `entries`."""
        return [self._place(entry, "record") for entry in self.entries]

    def adopt(self, record: ReleaseRecord | str | Path, table: str | Path = "") -> None:
        """Add a release that was made without this history; nothing happens if it is here already.

        Parameters
        ----------
        record : ReleaseRecord or path
            Its release record.
        table : str or Path
            Where its table lies.
        """
        record = record if isinstance(record, ReleaseRecord) else ReleaseRecord.load(record)
        with self._locked():
            if record.seal not in {entry.seal for entry in self.entries}:
                entry = Entry(self._next(), str(table), record.seal, record.earlier)
                record.save(self._place(entry, "record"))
                self._write(entry)

    def add(self, release: Release, path: str | Path, form: str = "text") -> None:
        """Write the table of a release, its promise and its entry: all of them or, if the process is killed, none.

        Parameters
        ----------
        release : Release
            Checked with all releases of this history: made with ``previous=history``.
        path, form
            As in `Release.save`.

        Raises
        ------
        InvalidArgument
            If something was released since, which it was not checked with.
        """
        target = Path(path).expanduser().absolute()
        check_target(target, promised=True)
        record, payload = release.record, release._payload(target.suffix, form)
        sealed = release.guarantee.seal(payload)
        with self._locked():
            if record.seal in {entry.seal for entry in self.entries}:  # the same table in another form
                write_sealed(target, payload, sealed)
                return
            self._check(record)
            try:
                with NewFile(target) as out:
                    entry = Entry(self._next(), str(target), record.seal, record.earlier, str(out.temporary))
                    try:
                        self._write(entry)
                        out.file.write(payload)
                        record.save(self._place(entry, "record"))
                        sync_folder(self.folder)
                        out.keep(sealed)
                    finally:
                        self._settle()
            except OSError as error:
                raise cannot_write(path, error) from None

    def withdraw(self, folder: str | Path) -> None:
        """Note that the tables in a folder were deleted before anybody had them: later releases need not mind them."""
        inside = str(Path(folder).absolute()) + os.sep
        for entry in self._all():
            if entry.table.startswith(inside):
                self._mark(entry).touch(mode=0o600)

    def _check(self, record: ReleaseRecord) -> None:
        """Refuse a release that was not checked with all others, or with one that is not here."""
        here = {entry.seal for entry in self.entries}
        if missing := here - set(record.earlier):
            raise InvalidArgument(
                "history",
                str(self.folder),
                f"checked with: it holds {len(missing)} releases about these people that this one was not checked with",
                "previous=history, inside 'with ReleaseHistory(...) as history:'",
            )
        known = {entry.seal for entry in self._all()}
        if absent := set(record.earlier) - known:
            raise InvalidArgument(
                "history",
                str(self.folder),
                f"complete: {len(absent)} releases that this one was checked with are not in it",
                'history.adopt("january.record") for each of them',
            )

    def _settle(self) -> None:
        """Finish or remove what a killed process left."""
        for entry in self._all():
            if not entry.waits:
                continue
            waits, record, mark = Path(entry.waits), self._place(entry, "record"), self._mark(entry)
            if not waits.exists() and record.exists() and not mark.exists():  # it has its name: the release is whole
                self._write(replace(entry, waits=""))
                continue
            if not Path(entry.table).exists():
                promise_place(entry.table).unlink(missing_ok=True)
            # The release record first and the entry last: killed in between, this is seen to be unfinished, and done again.
            for place in (record, waits, mark, self._place(entry, "json")):
                place.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; inside a ``with`` block of the user until its end."""
        with self._guard:
            if self._handle is not None and self._owner == os.getpid():
                yield
                return
            if self._handle is not None:  # the parent's, which keeps its lock
                os.close(self._handle)
            self._handle, self._owner = self._lock(), os.getpid()
            try:
                self._settle()
                yield
            finally:
                if not self._inside:
                    self._unlock()

    def _lock(self) -> int:
        if fcntl is None:  # pragma: no cover - Windows
            raise DataSourceError("history: this system has no lock that dies with its process; use Linux or macOS")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            said = f"history: cannot use {str(self.folder)!r} ({error.strerror}); name a folder that is yours"
            raise DataSourceError(said) from None
        held = False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            held = True
        finally:
            if not held:  # the user did not want to wait
                os.close(handle)
        return handle

    def _unlock(self) -> None:
        if self._handle is not None and self._owner == os.getpid():
            fcntl.flock(self._handle, fcntl.LOCK_UN)  # closing is not enough where a child was forked meanwhile
            os.close(self._handle)
            self._handle = None

    def _all(self) -> list[Entry]:
        """Read all entries, also of releases that were withdrawn or are not finished."""
        found = (_read(place) for place in self.folder.glob("[0-9]*.json"))
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.number)

    def _next(self) -> int:
        return 1 + max((entry.number for entry in self._all()), default=0)

    def _record(self, entry: Entry) -> ReleaseRecord:
        record = ReleaseRecord.load(self._place(entry, "record"))
        if record.seal != entry.seal:
            raise FormatError(
                f"history: {str(self._place(entry, 'record'))!r} is the release record of another release"
            )
        return record

    def _write(self, entry: Entry) -> None:
        told = {"format": _FORMAT, "format_version": _FORMAT_VERSION, **asdict(entry)}
        write_whole(self._place(entry, "json"), json.dumps(told, ensure_ascii=False), private=True)

    def _place(self, entry: Entry, ending: str) -> Path:
        return self.folder / f"{entry.number:06}.{ending}"

    def _mark(self, entry: Entry) -> Path:
        return self._place(entry, "withdrawn")

    def __repr__(self) -> str:
        return f"<history of {len(self.entries)} releases in {str(self.folder)!r}; not to be handed out>"


def as_history(given: Any) -> ReleaseHistory:
    """Return a history, also if its folder is named."""
    return given if isinstance(given, ReleaseHistory) else ReleaseHistory(given)


def _read(place: Path) -> Entry | None:
    """Read an entry; None if it was removed since it was listed."""
    try:
        told = json.loads(place.read_text(encoding="utf-8"))
        if (told["format"], told["format_version"]) != (_FORMAT, _FORMAT_VERSION):
            raise ValueError("another format")
        entry = Entry(int(place.stem), told["table"], told["seal"], tuple(told["earlier"]), told["waits"])
        if not all(isinstance(text, str) for text in (entry.table, entry.seal, *entry.earlier, entry.waits)):
            raise TypeError
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        raise FormatError(f"history: {str(place)!r} is damaged; put a copy of the folder back") from None
    return entry
