"""Reports in PostgreSQL: the store that several collector processes share.

A group of posts is one statement, hence one transaction and one round trip: new keys go into ``seen``, their reports
into ``log``. If two processes get the same key at once, its row is locked, and only one counts it. Folding is one
transaction too: it removes rows of the log and adds them to the counters.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from discreet.collector.stores import base as common
from discreet.collector.stores.base import Outcome, Post, Run, Work
from discreet.errors import DataSourceError, MissingExtra, StoreUnavailable
from discreet.local import Counts

if TYPE_CHECKING:
    import psycopg

_SCHEMA = f"""
create schema if not exists discreet;
create table if not exists task (number integer generated always as identity primary key, id text not null unique,
  description text not null, closed boolean not null default false);
create table if not exists seen (task integer, key bytea, checked bigint, age bigint, primary key (task, key));
create table if not exists log (id bigint generated always as identity primary key, task integer, period integer,
  reports bytea);
create table if not exists state (task integer, period integer, content bytea, primary key (task, period));
create table if not exists refused (task integer, reason text, n bigint, primary key (task, reason));
create table if not exists fact (name text primary key, value double precision);
insert into fact values ('format', {common.FORMAT}), ('ran', 0) on conflict do nothing;
"""
#: One round trip: find new posts, keep and return them.
_TAKE = """
with given as (
  select * from unnest(%b::int[], %b::int[], %b::bytea[], %b::bigint[], %b::bigint[], %b::bytea[])
    as g(task, period, key, checked, age, reports)),
fresh as (
  insert into seen select task, key, checked, age from given on conflict do nothing returning task, key),
kept as (
  insert into log (task, period, reports)
  select task, period, string_agg(reports, ''::bytea) from given join fresh using (task, key) group by task, period
  having sum(octet_length(reports)) > 0)
select task, key from fresh
"""
#: Key of the advisory lock of the process that folds.
_LOCK = 0x44534352
_TRIES = 4
#: Seconds after which a process that does not fold asks again whether it should.
_AGAIN = 5.0


class PostgresStore(common.Store):
    """A schema called ``discreet`` in a PostgreSQL database, which several collectors may share."""

    def __init__(self, address: str, *, absent: str | None = None) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("keeping reports in PostgreSQL", "collector") from None
        self._psycopg, self._address = psycopg, address
        self._base: psycopg.Connection[Any] | None = None
        self._keeper: psycopg.Connection[Any] | None = None
        self._other: psycopg.Connection[Any] | None = None
        self._taking_turns = threading.Lock()
        self._ticked, self._tried = monotonic(), monotonic() - _AGAIN
        try:
            with self._connect() as base:
                # Two processes that start at once must not both create the tables.
                base.execute("select pg_advisory_xact_lock(%s)", (_LOCK + 1,))
                if absent is not None and _one(base.execute("select to_regclass('discreet.fact')")) is None:
                    raise DataSourceError(f"store: there is no store of a collector in this PostgreSQL; {absent}")
                base.execute(_SCHEMA)
                if _one(base.execute("show fsync")) != "on":
                    raise DataSourceError(
                        "store: this PostgreSQL runs with fsync=off and may lose what it acknowledged"
                    )
                common.check_format(int(_one(base.execute("select value from fact where name = 'format'"))))
                self.ages = common.Ages(_one(base.execute("select value from fact where name = 'ran'")))
        except psycopg.Error as error:
            raise DataSourceError(f"store: cannot open the PostgreSQL ({_first(error)}); check the address") from None

    def _connect(self, **more: Any) -> psycopg.Connection[Any]:
        # An answer means durable, whatever the server's default.
        options = "-c search_path=discreet -c synchronous_commit=on -c statement_timeout=60000"
        return self._psycopg.connect(self._address, options=options, connect_timeout=10, **more)

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection[Any]]:
        """Open a transaction on the connection for everything except posts."""
        with self._taking_turns:
            try:
                if self._other is None or self._other.closed:
                    self._other = self._connect()
                with self._other.transaction():
                    yield self._other
            except self._psycopg.Error as error:
                if self._other is not None:
                    self._other.close()
                raise StoreUnavailable(_first(error)) from None

    @contextmanager
    def _reading(self) -> Iterator[psycopg.Connection[Any]]:
        """Open a separate connection that sees a snapshot of the store."""
        try:
            with self._connect() as base:
                base.execute("set transaction isolation level repeatable read, read only")
                yield base
        except self._psycopg.Error as error:
            raise StoreUnavailable(_first(error)) from None

    def _change(self, line: str, values: tuple[object, ...]) -> int:
        with self._session() as base:
            return int(base.execute(line.replace("?", "%s"), values).rowcount)

    def _rows(self, line: str, *values: object) -> list[Any]:
        with self._session() as base:
            return list(base.execute(line.replace("?", "%s"), values).fetchall())

    # ---- reports

    def commit(self, posts: Sequence[Post], work: Work = ()) -> list[Outcome]:
        places = [(self._known(post.task).number, post.key) for post in posts]
        # Sorted, so that two processes lock the same keys in the same order.
        first = dict(sorted(zip(places[::-1], posts[::-1], strict=True), key=lambda pair: pair[0]))
        columns = (
            [number for number, _ in first],
            [post.period for post in first.values()],
            [key for _, key in first],
            [post.checked for post in first.values()],
            [common.NEVER if post.for_ever else self.ages.age(self._held[post.task].task) for post in first.values()],
            [post.reports for post in first.values()],
        )
        try:
            fresh = set(self._taken(columns)) if posts else set()
            return self._outcomes(posts, places, fresh)
        except self._psycopg.Error as error:
            if self._base is not None:  # it may be broken: the next post opens another
                self._base.close()
                self._base = None
            raise StoreUnavailable(_first(error)) from error

    def _taken(self, columns: tuple[list[Any], ...]) -> list[tuple[int, bytes]]:
        for left in reversed(range(_TRIES)):
            base = self._writer()
            try:
                return list(base.execute(_TAKE, columns).fetchall())
            except (self._psycopg.errors.DeadlockDetected, self._psycopg.errors.SerializationFailure):
                if not left:
                    raise
        raise AssertionError

    def _outcomes(self, posts: Sequence[Post], places: list[tuple[int, bytes]], fresh: set[Any]) -> list[Outcome]:
        """Return the outcome of each post: the first of a new key is new; the others must have the same reports."""
        new = []
        for place in places:
            new.append(place in fresh)
            fresh.discard(place)
        again = sorted({place for place, is_new in zip(places, new, strict=True) if not is_new})
        line = "select task, key, checked from seen where (task, key) in (select * from unnest(%b::int[], %b::bytea[]))"
        sums: dict[tuple[int, bytes], int] = {}
        if again:
            rows = self._writer().execute(line, ([n for n, _ in again], [k for _, k in again]))
            sums = {(task, key): checked for task, key, checked in rows}
        return [
            Outcome.NEW if is_new else Outcome.AGAIN if sums.get(place) == post.checked else Outcome.OTHER
            for post, place, is_new in zip(posts, places, new, strict=True)
        ]

    def _writer(self) -> psycopg.Connection[Any]:
        if self._base is None or self._base.closed:
            self._base = self._connect(autocommit=True)
        return self._base

    def counts(self, task: str) -> dict[int, Counts]:
        held = self._known(task)
        found: dict[int, Counts | None] = {}
        logs: defaultdict[int, list[bytes]] = defaultdict(list)
        with self._reading() as base:
            line = "select period, content from state where task = %b"
            for period, content in base.execute(line, (held.number,), binary=True):
                found[period] = Counts.from_bytes(content)
            line = "select period, reports from log where task = %b"
            for period, reports in base.execute(line, (held.number,), binary=True):
                logs[period].append(reports)
        return common.with_logs(held.task, found, logs)

    def note_refused(self, run: Run, found: dict[tuple[str, str], int]) -> None:
        def at_once(work: Work) -> None:
            with self._session() as base, base.cursor() as cursor:
                for line, rows in work:
                    cursor.executemany(line.replace("?", "%s"), rows)

        super().note_refused(at_once, found)

    # ---- maintenance next to the commits, by one process at a time

    def tick(self, run: Run) -> None:
        """Record how long the store ran: the time of the one process that folds."""
        now, line = monotonic(), "update fact set value = value + %s where name = 'ran' returning value"
        passed = now - self._ticked if self._keeper is not None and not self._keeper.closed else 0.0
        with self._session() as base:
            self.ages = common.Ages(_one(base.execute(line, (passed,))))
        self._ticked = now

    def tidy(self, run: Run, *, all_of_it: bool = False) -> None:
        self.tasks()
        try:
            if self._keeps():
                assert self._keeper is not None
                while self._fold(self._keeper, all_of_it):
                    pass
                self._forget(self._keeper)
        except self._psycopg.Error as error:
            if self._keeper is not None:
                self._keeper.close()
            raise StoreUnavailable(_first(error)) from error

    def _keeps(self) -> bool:
        """Return whether this process is the one that folds; the lock ends with its connection."""
        if self._keeper is not None and not self._keeper.closed:
            return True
        if monotonic() - self._tried < _AGAIN:
            return False
        self._tried = monotonic()
        keeper = self._connect(autocommit=True)
        if _one(keeper.execute("select pg_try_advisory_lock(%s)", (_LOCK,))):
            self._keeper, self._ticked = keeper, monotonic()
            return True
        keeper.close()
        return False

    def _fold(self, base: psycopg.Connection[Any], all_of_it: bool) -> bool:
        """Move the oldest part of the log into the counters; False if the log is too short."""
        line = "select id, octet_length(reports) from log order by id limit %s"
        rows = base.execute(line, (common.MOST_ROWS,)).fetchall()
        size = sum(length for _, length in rows)
        if not rows or not (all_of_it or size >= common.LEAST_FOLDED or len(rows) >= common.MOST_ROWS):
            return False
        ids, total = [], 0
        for number, length in rows:
            ids.append(number)
            total += length
            if total >= common.MOST_FOLDED:
                break
        by_number = {held.number: held for held in self._held.values()}
        logs: defaultdict[tuple[int, int], list[bytes]] = defaultdict(list)
        with base.transaction():
            line = "delete from log where id = any(%b) returning task, period, reports"
            for task, period, reports in base.execute(line, (ids,), binary=True):
                logs[task, period].append(reports)
            for place, several in sorted(logs.items()):
                line = "select content from state where task = %b and period = %b"
                row = base.execute(line, place, binary=True).fetchone()
                before = None if row is None else Counts.from_bytes(row[0])
                counts = common.joined(by_number[place[0]].task, several, before)
                line = "on conflict (task, period) do update set content = excluded.content"
                base.execute(f"insert into state values (%b, %b, %b) {line}", (*place, counts.to_bytes()))
        return True

    def _forget(self, base: psycopg.Connection[Any]) -> None:
        for held in self._held.values():
            if (age := self.ages.forgotten(held.task)) > 0:
                base.execute("delete from seen where task = %s and age < %s", (held.number, age))

    def shut(self) -> None:
        for base in (self._base, self._keeper, self._other):
            if base is not None:
                base.close()


def _one(found: Any) -> Any:
    return found.fetchone()[0]


def _first(error: BaseException) -> str:
    """Return the first line of an error of PostgreSQL."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
