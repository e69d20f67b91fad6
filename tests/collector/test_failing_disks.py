"""Disks that are full, read-only, slow or broken, and files that were cut: nothing acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collecting import collector, start
from discreet.collector import open_store
from discreet.collector.stores.base import Outcome, Post
from discreet.collector.stores.sqlite import FILE, SqliteStore
from discreet.errors import DataSourceError
from discreet.local.tasks.frames import split_frame
from survival import MOST, TASK, Devices

FINE = {"lost": 0, "twice": 0}


def totals(store: Any) -> Any:
    found = np.zeros(MOST, np.int64)
    for counts in store.counts(TASK.digest).values():
        found += counts.counters["reports"]
    return found


def until(ask: Any, wanted: int) -> None:
    end = time.monotonic() + 20
    while ask() != wanted:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    "faults", [["full", "broken"], pytest.param(["full", "readonly", "broken"], marks=pytest.mark.slow)], ids=len
)
def test_a_disk_that_fails_is_said_and_survived(tmp_path: Path, faults: list[str]) -> None:
    """Full, read-only, with syncs that fail: refused with a time to come back; well again by itself; nothing twice."""
    data, place = tmp_path / "collected", tmp_path / "disk"
    devices = Devices(seed=1)
    with collector(data, TASK, environment={"COLLECTOR_DISK": str(place)}) as running:
        for fault in faults:
            devices.load(running, 0.1, lambda fault=fault: (place / "control" / fault).touch())  # type: ignore[misc]
            frame = devices._next()
            assert frame is not None
            path = f"/v1/tasks/{TASK.digest}/reports"
            status, told, headers = running.ask("POST", path, devices.frames[frame])
            assert (status, told["reason"]) == (503, "store")
            assert told["error"].startswith("the store takes no reports now")  # what is wrong with it is for the log
            assert int(headers["retry-after"]) > 0
            assert running.ask("GET", "/ready")[0] == 503
            assert running.ask("GET", "/health")[0] == 200
            assert running.ask("GET", f"/v1/tasks/{TASK.digest}")[0] == 200
            (place / "control" / fault).unlink()
            until(lambda: running.ask("GET", "/ready")[0], 200)
        devices.again(running, 0.5)
        assert devices.faults(data) == FINE
        assert "Traceback" not in running.log.read_text()
        running.kill()
    with collector(data) as running:
        devices.again(running, 1.0)
        assert len(devices.acknowledged) == len(devices.frames)
    assert devices.faults(data) == FINE


def test_a_disk_that_is_full_at_the_start_is_said_in_one_sentence(tmp_path: Path) -> None:
    running = start(tmp_path / "collected", fault="no room", wait=False)
    try:
        running.wait()
    finally:
        running.kill()
    said = running.log.read_text()
    assert "cannot keep reports in 'collected' (disk I/O error); check the folder" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_slow_store_sends_devices_away_before_memory_grows(tmp_path: Path) -> None:
    data, place = tmp_path / "collected", tmp_path / "disk"
    devices = Devices(seed=2, senders=12)
    with collector(data, TASK, environment={"COLLECTOR_DISK": str(place)}, most_waiting=1000) as running:
        (place / "control").mkdir(exist_ok=True)
        (place / "control" / "slow").touch()
        devices.load(running, 1.0, lambda: None)
        (place / "control" / "slow").unlink()
        assert devices.refused.get(503, 0) > 0
        assert set(devices.refused) == {503}
        assert devices.acknowledged
        devices.again(running, 0.5)
    assert devices.faults(data) == FINE


def _written(folder: Path, transactions: int) -> tuple[list[list[Post]], list[int]]:
    """Fill a store; return what each transaction held, and how long the log of SQLite was after it."""
    devices, store, groups, ends = Devices(seed=3), SqliteStore(folder), [], []
    store.create(TASK)
    for turn in range(transactions):
        group = []
        for _ in range(3):
            frame = devices._next()
            assert frame is not None
            key, n, body = split_frame(2, devices.frames[frame])
            group.append(Post(TASK.digest, 0, key, n, body))
        assert set(store.commit(group)) == {Outcome.NEW}
        groups.append(group)
        ends.append((folder / f"{FILE}-wal").stat().st_size)
        if turn == transactions - 3:  # counters among the last things that were written
            store.tidy(lambda work: store.commit([], work) and None, all_of_it=True)
    for name in (FILE, f"{FILE}-wal"):
        shutil.copyfile(folder / name, folder.with_name(name))
    store.shut()
    return groups, ends


def _cut(folder: Path, size: int, groups: list[list[Post]], ends: list[int]) -> None:
    """Cut the log of SQLite, open what is left, and send everything again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copyfile(folder.with_name(FILE), folder / FILE)
    with folder.with_name(f"{FILE}-wal").open("rb") as whole:
        (folder / f"{FILE}-wal").write_bytes(whole.read(size))
    store = SqliteStore(folder)
    try:
        if TASK.digest not in store.tasks():
            assert size < ends[0]
            return
        kept, sent = totals(store), sum(len(group) for group in groups)
        whole_groups = sum(end <= size for end in ends)
        assert kept[: 3 * whole_groups].all(), f"cut at {size}: a transaction before the cut is lost"
        assert kept.max() <= 1
        assert kept.sum() % 3 == 0, f"cut at {size}: half a transaction is there"
        store.commit([post for group in groups for post in group])
        assert totals(store)[:sent].tolist() == [1] * sent, f"cut at {size}: lost, or counted twice"
    finally:
        store.shut()


def test_a_file_cut_anywhere_opens_and_loses_only_what_was_cut(tmp_path: Path) -> None:
    groups, ends = _written(tmp_path / "whole", 6)
    draw = np.random.default_rng(4)
    around = [end + shift for end in ends[-3:] for shift in (-1, 0, 1)]
    for size in sorted({*around, *draw.integers(0, ends[-1], 25).tolist()}):
        _cut(tmp_path / "cut", min(size, ends[-1]), groups, ends)


def test_a_copy_made_while_it_runs_can_be_restored(tmp_path: Path) -> None:
    data, devices = tmp_path / "collected", Devices(seed=6)
    with collector(data, TASK) as running:
        before: set[int] = set()

        def copy() -> None:
            before.update(devices.acknowledged)
            store = SqliteStore(data)
            store.backup(tmp_path / "copy.sqlite")
            with pytest.raises(DataSourceError, match="exists; name another file"):
                store.backup(tmp_path / "copy.sqlite")
            store.shut()

        devices.load(running, 0.3, copy)
        running.kill()
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
        (data / name).unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "copy.sqlite", data / FILE)
    store = SqliteStore(data)
    kept = totals(store)
    store.shut()
    assert before
    assert kept[sorted(before)].tolist() == [1] * len(before)
    with collector(data) as running:
        devices.again(running, 1.0)
    assert devices.faults(data) == FINE


@pytest.mark.slow
def test_a_file_cut_at_every_offset_of_its_tail(tmp_path: Path) -> None:
    """Every one of the last 600 bytes, and every 61st of the last transactions: each opens a store and fills it."""
    memory = Path("/dev/shm")  # thousands of stores are opened and synced
    place = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else tmp_path))
    try:
        groups, ends = _written(place / "whole", 6)
        last = 600
        for size in [*range(ends[-1], ends[-1] - last - 1, -1), *range(ends[-1] - last, ends[-3] - 1, -61)]:
            _cut(place / "cut", size, groups, ends)
    finally:
        shutil.rmtree(place)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A true file system of 8 MiB, which only root can make."""
    place = tmp_path / "small"
    place.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(place)]
    if os.geteuid() or subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk; the simulated one is tested all the same")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
def test_a_true_disk_that_is_full_and_one_that_becomes_read_only(tmp_path: Path, small_disk: Path) -> None:
    data, devices = small_disk / "collected", Devices(seed=5)
    store = open_store(data)
    store.create(TASK)
    store.shut()
    running = start(data, environment={})
    try:
        devices.load(running, 0.3, lambda: None)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        devices.load(running, 1.5, lambda: None)
        assert 503 in devices.refused
        filler.unlink()
        until(lambda: running.ask("GET", "/ready")[0], 200)
        devices.load(running, 0.2, lambda: None)
        assert devices.faults(data) == FINE
        running.kill()
        lines = [["mount", "-o", f"remount,{how}", str(small_disk)] for how in ("ro", "rw")]
        subprocess.run(lines[0], check=True)
        with pytest.raises(DataSourceError, match="cannot keep reports"):
            open_store(data, serving=True)
        subprocess.run(lines[1], check=True)
        running = start(data)
        devices.again(running, 1.0)
    finally:
        running.kill()
    assert len(devices.acknowledged) == len(devices.frames)
    assert devices.faults(data) == FINE
