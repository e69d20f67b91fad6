"""A device's client trusts no server: pinned tasks, ceilings of its own, the same frame again, nothing but noise."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import BudgetExceeded, DataSourceError, FormatError, InvalidArgument
from discreet.local import Client, Task
from discreet.local.tasks import client as client_module
from discreet.local.tasks.device_file import DeviceFile
from frame_reader import read_frame
from frame_server import Server, running

COLOURS = dc.local.DirectResponse(1, ["red", "green", "blue"])


def make(mechanism: Any = COLOURS, **more: Any) -> Task:
    facts = {"name": "colour", "per_day": 2, "wanted": 100, "minimum": 1, **more}
    return Task(mechanism, opens="2020-01-01T00:00:00Z", closes="2099-01-01T00:00:00Z", **facts)


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as one:
        yield one


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 16, 12)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(path: Path, server: Server, clock: Any = None, **more: Any) -> Client:
    facts: dict[str, Any] = {"report": 1, "day": 10, "life": 1000, **more}
    facts.setdefault("pins", {"colour": next(iter(server.tasks))})
    return Client(path / "device", server.url, clock=clock, **facts)


def serve(server: Server, *tasks: Task) -> None:
    server.tasks.update({task.digest: task.to_json() for task in tasks})


def test_every_report_arrives_once_though_the_network_fails(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make(per_day=200)
    serve(server, task)
    monkeypatch.setattr(client_module, "_BATCH", 10)
    with opened(tmp_path, server, day=200) as client:
        for _ in range(12):
            client.report("colour", "red")
        server.mood = ["lose", 503, 204, "lose"]
        results = [client.flush() for _ in range(4)]
        assert [r.waiting for r in results] == [12, 12, 2, 0]
        assert sum(r.sent for r in results) == 12
        assert client.flush() == (0, 0, 0)
    rows = [read_frame(task.mechanism, frame).rows for frame in server.frames.values()]
    assert sorted(map(len, rows)) == [2, 10]
    posts = [body for _, _, body in server.requests if body]
    assert len(posts) > len(set(posts)) == 2  # again, and byte for byte the same


def test_nothing_but_the_frame_is_sent(tmp_path: Path, server: Server) -> None:
    task = make()
    serve(server, task)
    with opened(tmp_path, server) as client:
        client.report("colour", "red")
        client.flush()
    (_, asked, _), (path, told, body) = server.requests
    allowed = {"Accept-Encoding", "Host", "User-Agent", "Connection", "Content-Type", "Content-Length"}
    assert set(asked) | set(told) <= allowed
    assert told["User-Agent"] == "discreet"
    assert path == f"/v1/tasks/{task.digest}/reports"
    assert len(body) == 18


def test_ceilings_hold_per_report_per_day_and_for_life(tmp_path: Path, server: Server, clock: Clock) -> None:
    other = make(dc.local.DirectResponse(1, 5), name="floor")
    serve(server, make(), other)
    pins = {"colour": make().digest, "floor": other.digest}
    with opened(tmp_path, server, clock, pins=pins, day=3, life=5) as client:
        client.report("colour", "red")
        client.report("colour", "red")
        with pytest.raises(BudgetExceeded, match="today by its task"):
            client.report("colour", "red")
        client.report("floor", 3)
        with pytest.raises(BudgetExceeded, match="today for all tasks"):
            client.report("floor", 3)
        assert (client.spent_today, client.spent) == (3, 3)
        clock.now += timedelta(days=1)
        client.report("floor", 3)
        clock.now -= timedelta(days=300)  # a day that was seen never comes again
        client.report("floor", 3)
        with pytest.raises(BudgetExceeded, match="for the life of this device"):
            client.report("colour", "red")
        assert client.flush().sent == 5
    with (
        opened(tmp_path, server, clock, pins=pins, day=3, life=5) as again,
        pytest.raises(BudgetExceeded, match="life"),
    ):
        again.report("colour", "red")


def test_a_task_beyond_the_ceilings_is_not_answered(tmp_path: Path, server: Server) -> None:
    serve(server, make(dc.local.DirectResponse(2, ["red", "green"])))
    with (
        opened(tmp_path, server) as client,
        pytest.raises(BudgetExceeded, match="2 per report, the application allows 1"),
    ):
        client.report("colour", "red")
    with opened(tmp_path, server, report=2, day=1) as client, pytest.raises(BudgetExceeded, match="2 per day"):
        client.report("colour", "red")
    assert DeviceFile(tmp_path / "device").state.tasks == {}


def test_only_the_pinned_task_is_answered(tmp_path: Path, server: Server) -> None:
    pinned, other = make(), make(wanted=101)
    server.tasks = {pinned.digest: other.to_json()}
    with opened(tmp_path, server) as client:
        with pytest.raises(FormatError, match="not the pinned one"):
            client.report("colour", "red")
        with pytest.raises(FormatError, match="not pinned"):
            client.use(other)
        with pytest.raises(InvalidArgument, match="question must be pinned"):
            client.report("shoe size", 44)
        client.use(pinned.to_json())
        client.report("colour", "red")
    server.tasks = {"0" * 64: ""}
    with opened(tmp_path / "..", server, pins={"x": "1" * 64}) as client, pytest.raises(DataSourceError, match="404"):
        client.report("x", 1)


@pytest.mark.parametrize(
    "second",
    [
        make(wanted=999),
        make(dc.local.DirectResponse(1, ["a", "b"])),
        make(dc.local.UnaryEncoding(1, ["blue", "green", "red"]), name="hue"),
        make(dc.local.HadamardSketch(1, 16, 16, key=7), name="hue", candidates=["red", "green", "blue"]),
    ],
    ids=["other wish", "same name", "same values", "same candidates"],
)
def test_a_second_task_that_asks_the_same_is_not_answered(tmp_path: Path, server: Server, second: Task) -> None:
    first = make()
    serve(server, first, second)
    with opened(tmp_path, server, pins={"colour": first.digest}) as client:
        client.report("colour", "red")
    with (
        opened(tmp_path, server, pins={"taste": second.digest}) as client,
        pytest.raises(FormatError, match="asks what task"),
    ):
        client.report("taste", "red")
    with opened(tmp_path, server, pins={"taste": [second.digest, first.digest]}) as client:
        client.report("taste", "red")


def test_what_a_collector_never_takes_is_dropped_and_what_it_may_take_later_stays(
    tmp_path: Path, server: Server, clock: Clock
) -> None:
    serve(server, make(key_window=3600))
    with opened(tmp_path, server, clock) as client:
        client.report("colour", "red")
        server.mood = [307, 410]  # to another address: never; but the collector may be there again tomorrow
        assert client.flush() == (0, 1, 0)
        assert client.flush() == (0, 0, 1)
        client.report("colour", "red")
        server.mood = ["1000"]
        assert client.flush() == (0, 1, 0)
        asked = len(server.requests)
        assert client.flush() == (0, 1, 0)
        assert len(server.requests) == asked  # it was told to stay away
        client._not_before = {}
        clock.now += timedelta(hours=2)  # the key may be forgotten by now
        assert client.flush() == (0, 0, 1)
        assert len(server.requests) == asked


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 503 Busy\r\nContent-Length: 500\r\n\r\nab",
        b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"",
    ],
)
def test_an_answer_cut_short_is_none_and_the_frame_waits(tmp_path: Path, answer: bytes) -> None:
    """A collector that dies in the middle of an answer, or a café's network: no error, and the same frame later."""
    task = make()
    with closing(socket.create_server(("127.0.0.1", 0))) as listens:

        def cut() -> None:
            other, _ = listens.accept()
            with other:
                other.recv(1 << 16)
                other.sendall(answer)
                other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset

        thread = threading.Thread(target=cut, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listens.getsockname()[1]}"
        with Client(tmp_path / "device", url, pins={"colour": task.digest}, report=1, day=2, life=2) as client:
            client.use(task)
            client.report("colour", "red")
            assert client.flush() == (0, 1, 0)
            assert client.problem.startswith(
                ("1 report of 'colour' kept: cannot reach", f"1 report of 'colour' kept: {url}")
            )
        thread.join(10)


def test_a_collector_that_is_down_is_named_as_the_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[str] = []
    monkeypatch.setattr(logging.getLogger("discreet.client"), "warning", lambda form, *args: noted.append(form % args))
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    task = make()
    with Client(tmp_path / "device", url, pins={"colour": task.digest}, report=1, day=2, life=2) as client:
        with pytest.raises(DataSourceError, match=r"Connection refused.*client\.use\(task\)"):
            client.report("colour", "red")  # a device has no task before it fetched it, or was given it
        assert client.spent == 0
        client.use(task)
        client.report("colour", "red")
        assert client.flush() == (0, 1, 0)
        assert client.problem.startswith(f"1 report of 'colour' kept: cannot reach {url} (")
        assert "Connection refused" in client.problem
        assert noted == [client.problem]


def test_a_report_is_refused_outside_the_times_of_its_task(tmp_path: Path, server: Server, clock: Clock) -> None:
    serve(server, make())
    with opened(tmp_path, server, clock) as client:
        for year in (1, 2, 203, 2019, 9999):
            clock.now = datetime(year, 1, 1)
            with pytest.raises(DataSourceError, match="takes reports from"):
                client.report("colour", "red")
        clock.now = datetime(2026, 1, 1)
        client.report("colour", "red")
        clock.now = datetime(1, 1, 1)  # a battery that was empty
        assert client.flush() == (1, 0, 0)


def test_a_disk_that_fails_leaves_the_ledger_as_it_was(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server, make())
    with opened(tmp_path, server) as client:
        client.report("colour", "red")
        before = (tmp_path / "device").read_bytes()

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(os, "fsync", full)
            with pytest.raises(DataSourceError, match="No space left"):
                client.report("colour", "red")
        assert (tmp_path / "device").read_bytes() == before
        assert client.spent == 1
        client.report("colour", "red")
        assert client.flush().sent == 2


def test_one_program_at_a_time_holds_the_file_and_no_one_else_reads_it(tmp_path: Path, server: Server) -> None:
    serve(server, make())
    with opened(tmp_path, server):
        assert (tmp_path / "device").stat().st_mode & 0o077 == 0
        with pytest.raises(DataSourceError, match="in use by another program"):
            opened(tmp_path, server)
    opened(tmp_path, server).close()


def test_who_does_not_hold_the_file_any_more_makes_no_report(tmp_path: Path, server: Server) -> None:
    """A client that was closed, and the copy of one in a child process, remember what may no longer be so."""
    serve(server, make())
    old = opened(tmp_path, server, life=2)
    old.report("colour", "red")
    pid = os.fork()
    if not pid:  # pragma: no cover - another process
        try:
            old.report("colour", "red")
            os._exit(1)
        except DataSourceError:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert old.spent == 1
    old.close()
    with opened(tmp_path, server, life=2) as client:
        client.report("colour", "red")
        for act in (lambda: old.report("colour", "red"), old.flush):
            with pytest.raises(DataSourceError, match="not held by this client"):
                act()
        assert client.flush().sent == 2
    (tmp_path / "link").symlink_to(tmp_path / "device")
    with opened(tmp_path, server, life=2), pytest.raises(DataSourceError, match="in use by another program"):
        Client(tmp_path / "link", server.url, pins={"colour": "0" * 64}, report=1, day=1, life=1)


def test_questions_share_no_stored_response(tmp_path: Path, server: Server) -> None:
    """Shared responses would show whether two answers have the same number."""
    tasks = [make(dc.local.BitFlip(1, 9, bits=4, memoised=True), name=name) for name in "abcdefgh"]
    serve(server, *tasks)
    with opened(tmp_path, server, pins={task.name: task.digest for task in tasks}, day=99) as client:
        for task in tasks:
            client.report(task.name, 3)
        client.flush()
    assert len({frame[17:] for frame in server.frames.values()}) > 1  # four of nine values and their bits, eight times


def test_a_damaged_file_is_no_new_lifetime(tmp_path: Path, server: Server) -> None:
    serve(server, make())
    with opened(tmp_path, server) as client:
        client.report("colour", "red")
    whole = (tmp_path / "device").read_text()
    for odd in ("", whole[:-5], "[]", "{}", "null", "\xff", whole.replace('"life": "1"', '"life": "x"'),
                whole.replace("colour", "col\xfcr")):  # fmt: skip
        (tmp_path / "device").write_text(odd, encoding="latin-1")
        with pytest.raises(FormatError):
            opened(tmp_path, server)


def test_a_stored_response_is_paid_once(tmp_path: Path, server: Server) -> None:
    """Two answers: at most three stored responses, whatever the device holds, so three payments for a lifetime.

    A day pays for every report, which bounds how often the same noise is counted.
    """
    m = dc.local.BitFlip(1, 26, bits=2, memoised=True)
    serve(server, make(m, per_day=5))
    with opened(tmp_path, server) as client:
        for _ in range(5):
            client.report("colour", 7)
        assert (client.spent, client.spent_today) == (3, 5)
        with pytest.raises(BudgetExceeded, match="today by its task"):
            client.report("colour", 7)
        assert client.flush().sent == 5
    (frame,) = server.frames.values()
    assert len({row.tobytes() for row in read_frame(m, frame).rows}) == 1


def test_a_day_pays_for_stored_responses_though_the_life_has_paid(tmp_path: Path, server: Server, clock: Clock) -> None:
    """After nine reports of one value, a day may be the first to show the eight others: that is eight times ε."""
    serve(server, make(dc.local.BitFlip(1, 8, bits=8, memoised=True), per_day=1))
    with opened(tmp_path, server, clock) as client:
        for _ in range(9):
            client.report("colour", "none of them")
            clock.now += timedelta(days=1)
        client.report("colour", 0)
        assert (client.spent_today, client.spent) == (1, 9)
        with pytest.raises(BudgetExceeded, match="today by its task"):
            client.report("colour", 1)


def test_reports_are_framed_in_an_order_of_their_own(tmp_path: Path, server: Server) -> None:
    """Sixty reports that differ: the order in which they were made comes out with a chance of 1 in 60 factorial."""
    task = make(dc.local.DirectResponse(1, 200))
    serve(server, task)
    with opened(tmp_path, server) as client:
        client.report("colour", 1)
        bodies = [bytes([i]) for i in range(60)]
        with client._file.change() as state:
            state.queue = [[task.digest, body.hex()] for body in bodies]
        assert client.flush().sent == 60
    (frame,) = server.frames.values()
    sent = [row.tobytes() for row in read_frame(task.mechanism, frame).rows]
    assert sorted(sent) == bodies != sent


def test_threads_share_one_ledger(tmp_path: Path, server: Server) -> None:
    serve(server, make(per_day=9))
    with opened(tmp_path, server) as client:
        refused: list[int] = []

        def work() -> None:
            for _ in range(4):
                try:
                    client.report("colour", "red")
                except BudgetExceeded:
                    refused.append(1)
                client.flush()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (client.spent, len(refused)) == (9, 7)
        assert client.flush().waiting == 0
    assert sum(len(read_frame(COLOURS, frame).rows) for frame in server.frames.values()) == 9


def test_a_public_file_names_what_is_answered(tmp_path: Path, server: Server) -> None:
    content = b"cat\ndog\n"
    task = make(dc.local.DirectResponse(1, 2), candidates=dc.local.PublicFile.of("w.txt", content))
    serve(server, task)
    with opened(tmp_path, server, labels={"colour": content}) as client:
        client.report("colour", "dog")
        assert client.flush().sent == 1
    with opened(tmp_path, server) as client, pytest.raises(InvalidArgument, match=r"w\.txt"):
        client.report("colour", "dog")
    more = dc.local.PublicFile.of("v.txt", b"cat\ndog\nemu\n")
    sketch = make(dc.local.HadamardSketch(1, 8, 16, key=7), name="sketched", candidates=more)
    serve(server, sketch)
    with opened(tmp_path, server, pins={"sketched": sketch.digest}) as client:
        client.report("sketched", "dog")  # what is hashed needs no list on the device


def test_wrong_arguments_are_named(tmp_path: Path, server: Server) -> None:
    serve(server, make())
    for more, name in (
        ({"pins": {}}, "pins"),
        ({"pins": {"colour": "abc"}}, "pins"),
        ({"pins": {"a": make().digest, "b": make().digest}}, "pins"),
        ({"report": 0}, "report"),
        ({"life": -1}, "life"),
    ):
        with pytest.raises(InvalidArgument, match=name):
            opened(tmp_path, server, **more)
    with pytest.raises(InvalidArgument, match="url"):
        Client(tmp_path / "device", "ftp://x", pins={"a": make().digest}, report=1, day=1, life=1)


_REPORTER = """
import sys
from discreet.local import Client, Task
task = Task.from_json(open(sys.argv[2]).read())
client = Client(sys.argv[1], sys.argv[3], pins={"colour": task.digest}, report=1, day=200, life=100000)
client.use(task)
print("ready", flush=True)
while True:
    client.report("colour", "red")
    print("made", flush=True)
    if client.spent % 7 == 0:
        client.flush()
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_no_report_that_was_not_charged(tmp_path: Path, server: Server) -> None:
    """kill -9, five times: what was made is charged, and what was charged is queued, framed or at the server."""
    task = make(per_day=200, key_window=86400)
    (tmp_path / "task.json").write_text(task.to_json())
    made = 0
    for kill in range(5):
        command = [sys.executable, "-c", _REPORTER, str(tmp_path / "device"), str(tmp_path / "task.json"), server.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            time.sleep(0.03 + 0.037 * kill)
            running.send_signal(signal.SIGKILL)
            made += running.stdout.read().count("made")
        with closing(DeviceFile(tmp_path / "device")) as file:
            state = json.loads(file.state.to_json())
        waiting = {bytes.fromhex(f)[1:17]: bytes.fromhex(f) for _, f, *_ in state["frames"]}
        frames = {**server.frames, **waiting}
        there = sum(len(read_frame(task.mechanism, f).rows) for f in frames.values()) + len(state["queue"])
        assert int(state["life"]) == there >= made
    assert made > 10
    assert not re.search(r"\d{4}-\d\d-\d\d", b"".join(server.frames.values()).decode("latin-1"))
