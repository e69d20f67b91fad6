"""Reports in one SQLite file: the store of one collector process.

Requests share a transaction, which is synced before any of them is acknowledged (WAL, ``synchronous=FULL``). A post
adds a key; the reports of a transaction are appended to a log, one row per task and period. Between commits the log is
folded into counters: new counters are written in pieces, each as part of a transaction that is made anyway, and one
small last step makes them valid. After any interruption, the valid counters and the log after them are complete.
"""

import fcntl
import os
import shlex
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

from discreet import noise
from discreet.collector.stores import base as common
from discreet.collector.stores import segments
from discreet.collector.stores.base import Held, Outcome, Post, Run, Work
from discreet.core import sync
from discreet.errors import DataSourceError, StoreUnavailable
from discreet.local import Counts

Logs = dict[tuple[int, int], list[bytes]]
FILE = "collected.sqlite"
#: Bytes of counters per transaction.
PIECE = 1 << 16
#: A segment is written after so many bytes or seconds.
SEGMENT_BYTES, SEGMENT_SECONDS = 1 << 23, 300.0
#: Seconds to wait for another process that locks the file.
_PATIENCE = 10
#: Rows and bytes of the log that one transaction removes; parts into which the keys are split to expire them.
_REMOVED, _REMOVED_BYTES, _SWEPT = 256, 1 << 20, 512

# Ids of the log must never repeat (AUTOINCREMENT): everything up to an id is folded.
_SCHEMA = f"""
create table if not exists task (number integer primary key, id text not null unique, description blob not null,
  closed integer not null default 0);
create table if not exists seen (task integer, key blob, checked integer, age integer, primary key (task, key))
  without rowid;
create table if not exists log (id integer primary key autoincrement, task integer, period integer, heads blob,
  reports blob);
create table if not exists piece (task integer, period integer, generation integer, number integer, content blob);
create index if not exists piece_place on piece (task, period, generation, number);
create table if not exists state (task integer, period integer, generation integer, primary key (task, period))
  without rowid;
create table if not exists refused (task integer, reason text, n integer, primary key (task, reason)) without rowid;
create table if not exists fact (name text primary key, value) without rowid;
insert or ignore into fact values ('format', {common.FORMAT}), ('upto', 0), ('ran', 0), ('segment', null),
  ('secret', null);
"""
_TAKE = "insert or ignore into seen values (?, ?, ?, ?)"
_APPEND = "insert into log (task, period, heads, reports) values (?, ?, ?, ?)"
_FACT = "update fact set value = ? where name = ?"
_FOLDER, _NOTED = "segments", "select value from fact where name = ?"


class SqliteStore(common.Store):
    """A folder with one SQLite file; see `open_store`."""

    file, schema = FILE, _SCHEMA

    def __init__(self, folder: str | Path, *, serving: bool = False, segments: str | Path | None = None) -> None:
        super().__init__()
        self.folder = Path(folder).expanduser()
        self.segments = None if segments is None else Path(segments).expanduser()
        try:
            new = not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if new:
                sync(self.folder.parent)
            self._lock = _only_one(self.folder) if serving else None
            self._base = self._open()
            with closing(self._base.cursor()) as cursor:
                cursor.executescript(self.schema)
                if self.segments is not None:
                    counts = "select exists(select 1 from state) or exists(select 1 from log where heads is null)"
                    if cursor.execute(counts).fetchone()[0]:
                        # Its log has no keys for a segment, and its counters would be left out of the total.
                        told = f"data: {str(folder)!r} counts its reports itself; name a new folder for --segments"
                        raise DataSourceError(told)
                    # So that those who read know that the rest is there.
                    there = (_FOLDER, str(self.segments.absolute()))
                    cursor.execute("insert or replace into fact values (?, ?)", there)
                elif serving and (noted := cursor.execute(_NOTED, (_FOLDER,)).fetchone()):
                    # No reading has both counters and segments, so counting starts only if nothing was moved.
                    if cursor.execute("select 1 from fact where name in ('upto', 'segment') and value > 0").fetchone():
                        told = f"data: {str(folder)!r} moves its reports to segments; add --segments "
                        raise DataSourceError(f"{told}{shlex.quote(noted[0])}, or name a new folder to count them")
                    cursor.execute("delete from fact where name = ?", (_FOLDER,))
        except DataSourceError:
            raise
        except (OSError, sqlite3.Error) as error:
            raise DataSourceError(f"data: cannot keep reports in {str(folder)!r} ({error}); check the folder") from None
        common.check_format(int(self._fact(self._base, "format")))
        self.ages = common.Ages(self._fact(self._base, "ran"))
        self._swept: dict[int, int] = {}
        rows, size = self._base.execute("select count(*), coalesce(sum(length(reports)), 0) from log").fetchone()
        # The writer counts what is appended, the keeper what is removed: two threads, no lock.
        self._appended, self._removed = [int(rows), int(size)], [0, 0]
        self._touched = {(t, p) for t, p in self._base.execute("select distinct task, period from log")}
        self._sizes: dict[tuple[int, int], int] = {}
        self._folded_at = monotonic()
        # Removed rows may still be in the write-ahead log; empty it now.
        self._stale, self._emptying = True, False

    def _open(self) -> sqlite3.Connection:
        place = self.folder / self.file
        base = sqlite3.connect(place, isolation_level=None, check_same_thread=False, timeout=_PATIENCE)
        for line in (
            "journal_mode=wal", "synchronous=full", "cache_size=-65536", "journal_size_limit=67108864",
            "secure_delete=on",  # else folded reports and expired keys stay in free pages
        ):  # fmt: skip
            base.execute(f"pragma {line}")
        return base

    @staticmethod
    def _fact(base: sqlite3.Connection, name: str) -> float:
        return float(base.execute(_NOTED, (name,)).fetchone()[0])

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Open a separate connection that sees a snapshot of the store."""
        try:
            with closing(sqlite3.connect(self.folder / self.file, isolation_level=None, timeout=_PATIENCE)) as base:
                base.execute("pragma query_only=on")
                base.execute("begin")
                yield base
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from None

    def _change(self, line: str, values: tuple[object, ...]) -> int:
        try:
            with closing(self._open()) as base:
                return base.execute(line, values).rowcount
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from None

    def _rows(self, line: str, *values: object) -> list[Any]:
        with self._reading() as base:
            return base.execute(line, values).fetchall()

    # ---- reports

    def commit(self, posts: Sequence[Post], work: Work = ()) -> list[Outcome]:
        base = self._base
        fresh: defaultdict[tuple[int, int], list[Post]] = defaultdict(list)
        places = {task: self._known(task) for task in {post.task for post in posts}}
        heads = {task: (held.number, self.ages.age(held.task)) for task, held in places.items()}
        rows = [(heads[p.task][0], p.key, p.checked, common.NEVER if p.for_ever else heads[p.task][1]) for p in posts]
        try:
            base.execute("begin immediate")
            outcomes = self._take(rows)
            for post, row, outcome in zip(posts, rows, outcomes, strict=True):
                if outcome is Outcome.NEW and post.n:
                    fresh[row[0], post.period].append(post)
            for (number, period), found in fresh.items():
                head = segments.heads(found) if self.segments else None
                base.execute(_APPEND, (number, period, head, b"".join([post.reports for post in found])))
            for line, values in work:
                base.executemany(line, values)
            self._commit()
        except sqlite3.Error as error:
            self._undo()
            raise StoreUnavailable(str(error)) from error
        self._empty_log_ahead()
        self._appended[0] += len(fresh)
        self._appended[1] += sum(len(post.reports) for found in fresh.values() for post in found)
        self._touched.update(fresh)
        return outcomes

    def _empty_log_ahead(self) -> None:
        """Empty the write-ahead log, where SQLite leaves removed rows, if the keeper asked for it.

        This runs on the writer's connection between two transactions, so it blocks no one. It does not wait for
        readers: while one is active, the log stays, and the keeper asks again.
        """
        if not self._emptying:
            return
        self._emptying = False
        with suppress(sqlite3.Error):  # the posts are on the disk anyway
            self._base.execute("pragma busy_timeout=0")
            try:
                self._stale = bool(self._base.execute("pragma wal_checkpoint(truncate)").fetchone()[0])
            finally:
                self._base.execute(f"pragma busy_timeout={1000 * _PATIENCE}")

    def _undo(self) -> None:
        """Roll back a failed transaction; replace the connection if that fails too."""
        try:
            if self._base.in_transaction:
                self._base.execute("rollback")
        except sqlite3.Error:
            self._base.close()
            with suppress(sqlite3.Error):  # then the next transaction fails and retries this
                self._base = self._open()

    def _take(self, rows: list[tuple[int, bytes, int, int]]) -> list[Outcome]:
        """Write keys and return which are new. Usually all are, which takes one call."""
        base = self._base
        if base.executemany(_TAKE, rows).rowcount == len(rows):
            return [Outcome.NEW] * len(rows)
        base.execute("rollback")
        base.execute("begin immediate")
        outcomes = []
        for row in rows:
            if base.execute(_TAKE, row).rowcount:
                outcomes.append(Outcome.NEW)
                continue
            known = base.execute("select checked from seen where task = ? and key = ?", row[:2]).fetchone()
            outcomes.append(Outcome.AGAIN if known[0] == row[2] else Outcome.OTHER)
        return outcomes

    def _commit(self) -> None:
        self._base.execute("commit")

    def counts(self, task: str) -> dict[int, Counts]:
        held = self._known(task)
        with self._reading() as base:
            upto = int(self._fact(base, "upto"))
            periods = base.execute("select period from state where task = ?", (held.number,)).fetchall()
            found = {period: self._state(base, held, period) for (period,) in periods}
            logs: defaultdict[int, list[bytes]] = defaultdict(list)
            line = "select period, reports from log where id > ? and task = ? order by id"
            for period, reports in base.execute(line, (upto, held.number)):
                logs[period].append(reports)
        return common.with_logs(held.task, found, logs)

    def log_of(self, task: str) -> dict[int, Any]:
        held = self._known(task)
        logs: defaultdict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
        line = "select period, heads, reports from log where id > (select value from fact where name = 'upto') and "
        for period, *row in self._rows(line + "task = ? and heads is not null order by id", held.number):
            logs[period].append(tuple(row))
        joined = ((period, map(b"".join, zip(*rows, strict=True))) for period, rows in logs.items())
        return {period: segments.table(held.task, *parts) for period, parts in joined}

    @property
    def moves_to(self) -> str | None:
        found = self._rows(_NOTED, _FOLDER)
        return found[0][0] if found else None

    @staticmethod
    def _state(base: sqlite3.Connection, held: Held, period: int) -> Counts | None:
        line = "select generation from state where task = ? and period = ?"
        row = base.execute(line, (held.number, period)).fetchone()
        if row is None:
            return None
        line = "select content from piece where task = ? and period = ? and generation = ? order by number"
        return Counts.from_bytes(b"".join(r[0] for r in base.execute(line, (held.number, period, row[0]))))

    # ---- maintenance next to the commits

    def tick(self, run: Run) -> None:
        run([(_FACT, [(self.ages.ran, "ran")])])

    def tidy(self, run: Run, *, all_of_it: bool = False) -> None:
        self.tasks()
        while True:
            rows, size = (a - b for a, b in zip(self._appended, self._removed, strict=True))
            # All counters are rewritten, so wait until the log is as long as they are.
            worth = min(max(common.LEAST_FOLDED, sum(map(self._size, list(self._touched)))), common.MOST_FOLDED)
            due = all_of_it or rows >= common.MOST_ROWS * max(1, worth // common.LEAST_FOLDED)
            if self.segments is not None:
                worth, due = SEGMENT_BYTES, all_of_it or monotonic() - self._folded_at > SEGMENT_SECONDS
            if not rows or not (due or size >= worth):
                break
            self._fold(run)
            self._folded_at = monotonic()
        self._forget(run)
        self._empty(run)

    def _empty(self, run: Run) -> None:
        """Have the writer empty the write-ahead log if removed rows may be in it."""
        if self._stale:
            self._emptying = True
            run(())

    def _size(self, place: tuple[int, int]) -> int:
        """Return the last known size in bytes of the counters of a task and period."""
        if place not in self._sizes:
            held = next(h for h in self._held.values() if h.number == place[0])
            self._sizes[place] = 8 * common.counters_of(held.task)
        return self._sizes[place]

    def _fold(self, run: Run) -> None:
        """Fold the oldest part of the log: write new counters, then switch to them."""
        self._touched.clear()
        by_number = {held.number: held for held in self._held.values()}
        with self._reading() as base:
            upto, logs, heads = self._oldest(base)
            states = {} if self.segments else {p: self._state(base, by_number[p[0]], p[1]) for p in logs}
        if self.segments is not None:
            segments.write(self.segments, self._named(run, upto), logs, heads, by_number)
        flip = [(*place, upto) for place in states]
        for place in flip:
            content = common.joined(by_number[place[0]].task, logs.pop(place[:2]), states.pop(place[:2])).to_bytes()
            self._sizes[place[:2]] = len(content)
            # An interrupted fold may have left pieces of the same name.
            run([("delete from piece where task = ? and period = ? and generation = ?", [place])])
            for number in range(-(-len(content) // PIECE)):
                row = (*place, number, content[number * PIECE : (number + 1) * PIECE])
                run([("insert into piece values (?, ?, ?, ?, ?)", [row])])
        line = "insert or replace into state values (?, ?, ?)"
        run([(line, flip), (_FACT, [(upto, "upto"), (None, "segment"), (None, "secret")])])
        self._remove(run, upto, flip)

    def _named(self, run: Run, upto: int) -> bytes:
        """Return the secret that names the next segments; record it and their content, to repeat them after a crash."""
        with self._reading() as base:
            secret = base.execute("select value from fact where name = 'secret'").fetchone()[0]
        secret = bytes(secret or noise.generator().bytes(16).tobytes())
        run([(_FACT, [(upto, "segment"), (secret, "secret")])])
        return secret

    def _oldest(self, base: sqlite3.Connection) -> tuple[int, Logs, Logs]:
        """Return the log up to some id, by task and period: as much as is folded at once."""
        upto, total = int(self._fact(base, "upto")), 0
        planned = base.execute("select value from fact where name = 'segment'").fetchone()[0]
        last = 2**62 if planned is None else int(planned)
        logs: defaultdict[tuple[int, int], list[bytes]] = defaultdict(list)
        heads: defaultdict[tuple[int, int], list[bytes]] = defaultdict(list)
        line = "select id, task, period, heads, reports from log where id > ? and id <= ? order by id"
        for number, task, period, head, reports in base.execute(line, (upto, last)):
            logs[task, period].append(reports)
            heads[task, period].append(head)
            upto, total = number, total + len(reports)
            if total >= common.MOST_FOLDED and planned is None:
                break
        return upto, logs, heads

    def _remove(self, run: Run, upto: int, flip: Sequence[tuple[int, int, int]]) -> None:
        """Remove the folded log and the previous counters, a few rows at a time."""
        self._stale = True
        with self._reading() as base:
            rows = base.execute("select id, length(reports) from log where id <= ? order by id", (upto,)).fetchall()
            line = "select rowid from piece where task = ? and period = ? and generation <> ?"
            old = [row for place in flip for row in base.execute(line, place)]
        some = size = 0
        for number, length in rows:
            some, size = some + 1, size + length
            if some >= _REMOVED or size >= _REMOVED_BYTES or number == rows[-1][0]:
                run([("delete from log where id <= ?", [(number,)])])
                some = size = 0
        self._removed = [self._removed[0] + len(rows), self._removed[1] + sum(length for _, length in rows)]
        for start in range(0, len(old), 4):
            run([("delete from piece where rowid = ?", old[start : start + 4])])

    def _expired(self, held: Held) -> int:
        """Return the age below which keys of a task are removed."""
        return self.ages.forgotten(held.task)

    def _forget(self, run: Run) -> None:
        """Remove the expired keys, one part after the other."""
        line = "delete from seen where task = ? and age < ? and key >= ? and key < ?"
        for held in self._held.values():
            age = self._expired(held)
            if self._swept.get(held.number, 0) >= age:
                continue
            self._swept[held.number] = age
            with self._reading() as base:
                any_old = "select 1 from seen where task = ? and age < ? limit 1"
                if base.execute(any_old, (held.number, age)).fetchone() is None:
                    continue
            self._stale = True
            step = (1 << 16) // _SWEPT
            for start in range(0, 1 << 16, step):
                end = (start + step).to_bytes(3, "big")[1:] if start + step < 1 << 16 else b"\xff" * 17
                run([(line, [(held.number, age, start.to_bytes(2, "big"), end)])])

    def backup(self, target: str | Path) -> None:
        """Copy a snapshot of the store, while others write to it."""
        place = Path(target).expanduser()
        if place.exists():
            raise DataSourceError(f"target: {str(target)!r} exists; name another file")
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL, 0o600))  # for its owner alone, like the store
        except OSError as error:
            raise StoreUnavailable(f"no copy was made: {error}") from None
        try:
            with closing(self._open()) as base:
                base.execute("vacuum into ?", (str(place),))
            for path in (place, place.parent):
                sync(path)
        except (OSError, sqlite3.Error) as error:
            with suppress(OSError):
                place.unlink()
            raise StoreUnavailable(f"no copy was made: {error}") from None

    def shut(self) -> None:
        """Close the file; it holds everything that was acknowledged."""
        self._base.close()
        if self._lock is not None:
            os.close(self._lock)


def _only_one(folder: Path) -> int:
    """Lock the folder for this process; the lock ends with the process."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(handle, 20).decode("ascii", "replace").strip()
        os.close(handle)
        which = f"process {holder}" if holder.isdecimal() else "another collector"
        stop = f" (kill {holder})" if holder.isdecimal() else ""
        raise DataSourceError(
            f"data: {which} already keeps its reports in {str(folder)!r}; stop it{stop}, name another folder, or share "
            "a PostgreSQL"
        ) from None
    os.ftruncate(handle, 0)
    os.write(handle, b"%d\n" % os.getpid())
    return handle
