"""The release history: a folder that knows every release about some people and lets one through at a time.

<folder>/            0700
  lock               held from the check until the release is written; it ends with the process
  000001.json        where the table and its copies are, its date and digest, the seal of its record, earlier seals
  000001.record      who was published in which cell (`discreet.anonymity.release.record`)
  000001.withdrawn   empty: the table was deleted before anyone received it

An entry is written before its table gets its name, and notes the temporary name of the table. If a process is killed
in between, the next holder of the lock finds the temporary file and removes it with the entry: no one has seen it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import pyarrow as pa

from discreet.anonymity.release.record import ReleaseRecord
from discreet.core import (
    Guarantee,
    NewFile,
    cannot_write,
    counted,
    promise_place,
    refuse_later,
    signature_place,
    sync_folder,
    write_sealed,
    write_whole,
)
from discreet.engines import check_target
from discreet.errors import DataSourceError, DiscreetWarning, FormatError, InvalidArgument, InvalidType

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from discreet.anonymity.release.release import Release

_FORMAT, _FORMAT_VERSION = "discreet.history", 2
_RESTORE = "restore the folder from a backup"


@dataclass(frozen=True)
class Entry:
    """A release in the history: its number, the path of its table, the day, and the seal of its record.

    ``earlier`` are the seals of the records that it was checked with, ``waits`` is the temporary path of the table
    until it gets its name, ``digest`` that of the table in whatever form, ``copies`` are further paths of it, and
    ``promises`` the digests of the guarantees next to its files.
    """

    number: int
    table: str
    date: str
    seal: str
    earlier: tuple[str, ...]
    waits: str = ""
    digest: str = ""
    copies: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        return (self.table, *self.copies)

    def is_at(self, place: str | Path) -> bool:
        """Return whether the table or a copy of it was written to a path, however that is spelled."""
        return real_place(place) in map(real_place, self.places)


def real_place(path: str | Path) -> str:
    """Return where a file is written: folders that are links are followed, and a file that is a link is replaced."""
    place = Path(path).expanduser().absolute()
    return os.path.realpath(place) if place.name == ".." else os.path.join(os.path.realpath(place.parent), place.name)


class _FolderLock:
    """The lock of a folder, shared by all histories of this process in that folder."""

    def __init__(self) -> None:
        self.handle: int | None = None
        self.owner = 0  # the process that holds the lock: a forked one has the handle, and not the lock
        self.guard = threading.RLock()  # for the threads of this process
        self.blocks = 0  # `with` blocks of the user that are open

    @classmethod
    def of(cls, folder: Path) -> _FolderLock:
        with _LOCKS_GUARD:
            return _LOCKS.setdefault((os.getpid(), os.path.realpath(folder)), cls())


_LOCKS: WeakValueDictionary[tuple[int, str], _FolderLock] = WeakValueDictionary()
_LOCKS_GUARD = threading.Lock()


class ReleaseHistory:
    """All releases about the same people, in a private folder.

    Give it as ``history=`` when you release a table. The release is then checked with all earlier ones, and saving it
    adds it to the history. Inside a ``with`` block the history is locked from the first read to the end of the block.
    Another program that wants to release data about these people waits. Without the block, saving is refused if
    something was released in between.

    Parameters
    ----------
    folder : str or Path
        Created by the first release. Only its owner can read it, because it undoes the releases.

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
    ...             release = dc.anonymity.DensityTree(k=2, domain=domain).fit_transform(people, history=history)
    ...             release.save(f"{place}/{month}.csv")
    ...     len(history.entries), release.guarantee.parameters["earlier_releases"]
    (2, 1)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not os.fspath(folder):
            raise InvalidArgument("history", folder, "the path of a folder", 'history="people.history"')
        self.folder = Path(folder).expanduser().absolute()
        self._held = _FolderLock.of(self.folder)

    def __enter__(self) -> ReleaseHistory:
        self._held.guard.acquire()
        self._held.blocks += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._held.blocks -= 1
        if not self._held.blocks:
            self._unlock()
        self._held.guard.release()

    @property
    def entries(self) -> list[Entry]:
        """The releases that a new one is checked with, the earliest first.

        Withdrawn releases are left out, unless a release that was not withdrawn was checked with them.
        """
        found = [entry for entry in self._all() if not entry.waits]
        chosen = {entry.seal: entry for entry in found if not self._mark(entry).exists()}
        known = {entry.seal: entry for entry in found}  # the same may be released again after it was withdrawn
        while more := {seal for entry in chosen.values() for seal in entry.earlier if seal in known} - set(chosen):
            chosen |= {seal: known[seal] for seal in more}
        return sorted(chosen.values(), key=lambda entry: entry.number)

    @property
    def tables(self) -> list[Entry]:
        """The releases that were not withdrawn, the earliest first; also one that is just being written."""
        return [entry for entry in self._all() if not self._mark(entry).exists()]

    def lists(self, place: str | Path, promise: str | None) -> bool:
        """Return whether a table with a guarantee of this digest, wherever it was moved, is a release that counts."""
        if any(promise in entry.promises for entry in self.tables):
            return True
        # An entry of an earlier version names no guarantees, only places.
        older = [each for entry in self.tables if not entry.promises for each in entry.places]
        return os.path.realpath(place) in map(os.path.realpath, older)

    def records(self) -> list[ReleaseRecord]:
        """Read the records of all earlier releases; refuse a history in which one is missing or was changed."""
        if not self.folder.exists() and not self._held.blocks:
            return []
        with self._locked():
            return complete([self._record(entry) for entry in self.entries])

    def add(
        self, release: Release, path: str | Path, form: str = "text", book: Callable[[Guarantee], None] | None = None
    ) -> None:
        """Write the table of a release, its guarantee and its entry: all of them or, if the process is killed, none.

        The release must have been made with this history, and nothing released in between. See `Release.save`.
        ``book`` is called with the sealed guarantee before the table appears.
        """
        book = book or (lambda _: None)
        target = Path(path).expanduser().absolute()
        check_target(target, promised=True)
        record, payload = release.record, release._payload(target.suffix, form)
        sealed, digest = release.guarantee.seal(payload), _digest(release.table)
        with self._locked():
            for entry in self.entries:
                if (entry.seal, entry.digest) == (record.seal, digest):  # the same table in another form
                    self._note_copy(entry, str(target), str(sealed.digest))
                    book(sealed)
                    write_sealed(target, payload, sealed)
                    return
            self._check(record)
            if any(entry.is_at(target) for entry in self.entries):
                warnings.warn(
                    f"{target.name!r} replaces a table that counts as released; later tables are checked with both. "
                    "Name each release differently, or use 'discreet withdraw' before you replace one no one received",
                    DiscreetWarning, stacklevel=3,
                )  # fmt: skip
            try:
                with NewFile(target) as out:
                    today, waits = date.today().isoformat(), str(out.temporary)
                    entry = Entry(
                        self._next(), str(target), today, record.seal, record.earlier, waits, digest,
                        promises=(str(sealed.digest),),
                    )  # fmt: skip
                    try:
                        self._write(entry)
                        out.file.write(payload)
                        record.save(self._place(entry, "record"))
                        sync_folder(self.folder)
                        book(sealed)
                        out.keep(sealed)
                    finally:
                        self._settle()
            except OSError as error:
                raise cannot_write(path, error) from None

    def withdraw(self, place: str | Path, note: Callable[[Guarantee], None] | None = None) -> int:
        """Delete tables that no one received, so that later releases ignore them; return how many releases these were.

        A table is deleted with its guarantee and signature. Of a folder these are all tables in it, of a table only
        the last release there: an earlier one, which it replaced, may have been handed out. A release with a copy
        elsewhere still counts, until that is withdrawn too. Refused if the release there is another one by the time
        the lock is free. ``note`` is called with each guarantee before its table is deleted.
        """
        if not self.folder.exists():
            return 0
        own = real_place(place)
        seen = {entry.number for entry in self._at(own)}
        with self._locked():
            found = self._at(own)
            if not seen.issuperset(entry.number for entry in found):
                raise DataSourceError(
                    f"history: another program changed what is at {own!r}; nothing was withdrawn; withdraw it again "
                    "if no one received what is there now"
                )
            for entry in found:
                gone = [each for each in entry.places if f"{real_place(each)}{os.sep}".startswith(own + os.sep)]
                if other := next((each for each in gone if _is_another(Path(each), entry)), None):
                    raise DataSourceError(
                        f"history: {other!r} is not the table that was released there: its guarantee is another one, "
                        "or missing; delete or move it, and withdraw the table again if no one received it"
                    )
                left = [each for each in entry.places if each not in gone]
                # First the note, then the files, then the entry: a program that is killed in between leaves a release
                # that still counts and can be withdrawn again, never a table that the history ignores.
                for each in gone:
                    _delete(Path(each), note)
                if left:
                    self._write(replace(entry, table=left[0], copies=tuple(left[1:])))
                else:
                    self._mark(entry).touch(mode=0o600)
        return len(found)

    def _at(self, own: str) -> list[Entry]:
        """Return the last release of a table, or all in a folder; not one whose table has no name yet."""
        held = [entry for entry in self.tables if not entry.waits or not Path(entry.waits).exists()]
        last = [entry for entry in held if entry.is_at(own)][-1:]
        return last or [e for e in held if any(real_place(each).startswith(own + os.sep) for each in e.places)]

    def _note_copy(self, entry: Entry, place: str, promise: str) -> None:
        """Note a further copy of a table before it is written; a withdrawn release counts again."""
        if self._mark(entry).exists():
            self._write(replace(entry, table=place, copies=(), promises=(promise,)))
            self._mark(entry).unlink()
        else:
            copies = (*entry.copies, *([] if entry.is_at(place) else [place]))
            known = (*entry.promises, promise) if entry.promises else ()
            self._write(replace(entry, copies=copies, promises=known))

    def _check(self, record: ReleaseRecord) -> None:
        """Refuse a release that was not checked with exactly the releases of this history."""
        missing = len({entry.seal for entry in self.entries} - set(record.earlier))
        if missing:
            expected = f"the same as when this table was made: {counted(missing, 'release')} came in between"
            fix = "making and saving the table inside 'with ReleaseHistory(...) as history:'"
            raise InvalidArgument("history", str(self.folder), expected, fix)
        if lost := len(set(record.earlier) - {entry.seal for entry in self._all()}):
            raise FormatError(f"history: {counted(lost, 'release')} in {str(self.folder)!r} disappeared; {_RESTORE}")

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
            # The entry goes last: a process that is killed in between leaves it, and this is done again.
            for place in (record, waits, mark, self._place(entry, "json")):
                place.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; inside a ``with`` block of the user, until the end of the block."""
        held = self._held
        with held.guard:
            if held.handle is not None and held.owner == os.getpid():
                yield
                return
            if held.handle is not None:  # the parent's, which keeps its lock
                os.close(held.handle)
            held.handle, held.owner = self._lock(), os.getpid()
            try:
                self._settle()
                yield
            finally:
                if not held.blocks:
                    self._unlock()

    def _lock(self) -> int:
        if fcntl is None:  # pragma: no cover - Windows
            raise DataSourceError("history: needs a file lock that this system does not have; use Linux or macOS")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            said = f"history: cannot use {str(self.folder)!r} ({error.strerror}); name a folder that you own"
            raise DataSourceError(said) from None
        held = False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            held = True
        finally:
            if not held:  # interrupted while waiting
                os.close(handle)
        return handle

    def _unlock(self) -> None:
        held = self._held
        if held.handle is not None and held.owner == os.getpid():
            fcntl.flock(held.handle, fcntl.LOCK_UN)  # closing is not enough where a child was forked meanwhile
            os.close(held.handle)
            held.handle = None

    def _all(self) -> list[Entry]:
        """Read all entries, also of releases that were withdrawn or are not finished; refuse a record without entry."""
        for record in sorted(self.folder.glob("[0-9]*.record")):
            # An entry is written before its record and removed after it, perhaps while this is read without the lock.
            if not record.with_suffix(".json").exists() and record.exists():
                raise FormatError(f"history: {str(record)!r} has no entry ({record.stem}.json); {_RESTORE}")
        found = (_read(place) for place in self.folder.glob("[0-9]*.json"))
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.number)

    def _next(self) -> int:
        """Return a number that no file has."""
        stems = (place.name.partition(".")[0] for place in self.folder.glob("[0-9]*"))
        return 1 + max((int(stem) for stem in stems if stem.isdecimal()), default=0)

    def _record(self, entry: Entry) -> ReleaseRecord:
        place = self._place(entry, "record")
        record = ReleaseRecord.load(place)
        if record.seal != entry.seal:
            raise FormatError(f"history: {str(place)!r} is the record of another release; {_RESTORE}")
        day = date.fromisoformat(entry.date)
        return replace(record, label=f"{Path(entry.table).name} of {day.day} {day:%B %Y}")

    def _write(self, entry: Entry) -> None:
        told = {"format": _FORMAT, "format_version": _FORMAT_VERSION, **asdict(entry)}
        write_whole(self._place(entry, "json"), json.dumps(told, ensure_ascii=False), private=True)

    def _place(self, entry: Entry, ending: str) -> Path:
        return self.folder / f"{entry.number:06}.{ending}"

    def _mark(self, entry: Entry) -> Path:
        return self._place(entry, "withdrawn")

    def __repr__(self) -> str:
        return f"<history of {counted(len(self.entries), 'release')} in {str(self.folder)!r}; never publish it>"


def as_history(given: Any) -> ReleaseHistory:
    if isinstance(given, ReleaseHistory):
        return given
    if isinstance(given, (str, os.PathLike)):
        return ReleaseHistory(given)
    raise InvalidType("history", type(given), "a ReleaseHistory or its folder", 'history="people.history"')


def complete(records: list[ReleaseRecord]) -> list[ReleaseRecord]:
    """Return records, each once; refuse them if one of them was checked with a release that is not among them."""
    found = {record.seal: record for record in records}
    if absent := len({seal for record in records for seal in record.earlier} - set(found)):
        raise FormatError(f"history: it is incomplete, {counted(absent, 'earlier release')} missing; {_RESTORE}")
    return list(found.values())


def _is_another(table: Path, entry: Entry) -> bool:
    """Return whether what is at the place of a release is not its table; an entry of an earlier version cannot say."""
    promise = promise_place(table)
    known = promise.is_file() and str(Guarantee.from_json(promise.read_bytes()).digest) in entry.promises
    return bool(entry.promises) and table.exists() and not known


def _delete(table: Path, note: Callable[[Guarantee], None] | None) -> None:
    """Delete a table, its guarantee and its signature, durably."""
    promise = promise_place(table)
    if note is not None and promise.is_file():
        note(Guarantee.from_json(promise.read_bytes()))
    for place in (table, promise, signature_place(table)):
        try:
            place.unlink(missing_ok=True)
        except OSError as error:
            said = f"history: cannot delete {str(place)!r} ({error.strerror}); delete it and withdraw the table again"
            raise DataSourceError(said) from None
    sync_folder(table.parent)


def _digest(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    plain = table.combine_chunks().replace_schema_metadata(None)
    with pa.ipc.new_stream(sink, plain.schema) as out:
        out.write_table(plain)
    return "sha256:" + hashlib.sha256(sink.getvalue()).hexdigest()


def _read(place: Path) -> Entry | None:
    try:
        told = json.loads(place.read_text(encoding="utf-8"))
        refuse_later(f"history: {str(place)!r}", told, _FORMAT_VERSION)
        if (told["format"], told["format_version"]) != (_FORMAT, _FORMAT_VERSION):
            raise ValueError("another format")
        table, day, seal, waits, digest = (told[name] for name in ("table", "date", "seal", "waits", "digest"))
        lists = (tuple(told["copies"]), tuple(told.get("promises", ())))
        entry = Entry(int(place.stem), table, day, seal, tuple(told["earlier"]), waits, digest, *lists)
        texts = (table, day, seal, waits, digest, *entry.earlier, *entry.copies, *entry.promises)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
        date.fromisoformat(entry.date)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        damaged = FormatError(f"history: {str(place)!r} is damaged; {_RESTORE}")
        raise (error if isinstance(error, FormatError) else damaged) from None
    return entry
