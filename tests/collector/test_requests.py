"""Answers of the service: reports are counted once, after they are written; errors are named and change nothing."""

from __future__ import annotations

import base64
import json
import os
import select
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from collecting import Collector, collector, some_task
from discreet.collector import Settings, open_store
from discreet.collector.reading import read
from discreet.collector.service import serve
from discreet.collector.service.app import App
from discreet.collector.stores.base import Post
from discreet.collector.stores.segments import count
from discreet.errors import DataSourceError
from discreet.local import Task, write_frame

COLOURS = some_task()
WORDS = some_task(dc.local.HadamardSketch(2, 64, 64, key=7), name="words", candidates=["cat", "dog"])
LATER = some_task(name="later", opens="2098-01-01T00:00:00Z")
OVER = some_task(name="over", closes="2026-01-02T00:00:00Z")


def frame(task: Task, *values: str, **more: Any) -> bytes:
    return write_frame(task.mechanism, task.mechanism.encode(list(values)), **more)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    data = tmp_path_factory.mktemp("collector") / "collected"
    with collector(data, COLOURS, WORDS, LATER, OVER, most_body=5000, patience=1.0) as found:
        yield found


def n_of(running: Collector, task: Task) -> int:
    store = open_store(running.data)
    try:
        return sum(counts.n for counts in store.counts(task.digest).values())
    finally:
        store.shut()


def test_a_report_is_counted_once_however_often_it_is_sent(running: Collector) -> None:
    before, sent = n_of(running, COLOURS), frame(COLOURS, "red")
    assert running.post(COLOURS, sent) == (200, {"counted": 1})
    assert n_of(running, COLOURS) == before + 1
    for _ in range(3):
        assert running.post(COLOURS, sent) == (200, {"counted": 0, "known": True})
    batch = frame(COLOURS, *["blue"] * 500)
    assert running.post(COLOURS, batch) == (200, {"counted": 500})
    assert running.post(COLOURS, batch)[1]["counted"] == 0
    assert n_of(running, COLOURS) == before + 501


def test_a_key_is_for_one_frame_and_for_one_task(running: Collector) -> None:
    key = bytes(range(16))
    assert running.post(WORDS, frame(WORDS, "cat", key=key))[0] == 200
    before = n_of(running, WORDS)
    status, told = running.post(WORDS, frame(WORDS, *["dog"] * 9, key=key))
    assert (status, told["reason"], n_of(running, WORDS)) == (409, "key", before)
    assert running.post(COLOURS, frame(COLOURS, "red", key=key))[0] == 200


def test_what_is_wrong_is_named_and_counts_nothing(running: Collector) -> None:
    good, before = frame(COLOURS, "red"), n_of(running, COLOURS)
    for data, status, reason in [
        (b"", 400, "length"),
        (good[:-1], 400, "length"),
        (good + b"\0", 400, "length"),
        (bytes([0x20]) + good[1:], 400, "version"),
        (bytes([0x11]) + good[1:], 400, "seeded"),
        (bytes([0x18]) + good[1:], 400, "flags"),
        (good[:-1] + b"\x03", 400, "report"),
        (good[:-1] + b"\xff", 400, "report"),
        (bytes(6000), 413, "large"),
    ]:
        found, told = running.post(COLOURS, data)
        assert (found, told["reason"]) == (status, reason)
        assert told["error"]
    for task, status, reason in [
        (LATER, 403, "early"),
        (OVER, 410, "closed"),
        (some_task(name="unknown"), 404, "task"),
    ]:
        found, told = running.post(task, good)
        assert (found, told["reason"]) == (status, reason)
    assert n_of(running, COLOURS) == before


def test_one_bad_report_of_a_batch_spoils_its_own_batch_only(running: Collector) -> None:
    before = n_of(running, COLOURS)
    bad = write_frame(COLOURS.mechanism, b"\0\1\2\3")
    assert running.post(COLOURS, bad)[1] == {
        "error": "a frame with a report that no device makes: report 3 of 4",
        "reason": "report",
    }
    assert running.post(COLOURS, frame(COLOURS, "red", "blue"))[0] == 200
    assert n_of(running, COLOURS) == before + 2


def test_methods_and_paths_that_do_not_exist_are_refused(running: Collector) -> None:
    path = f"/v1/tasks/{COLOURS.digest}"
    assert running.ask("GET", f"{path}/reports")[0] == 405
    assert running.ask("PUT", path, b"x")[0] == 405
    assert running.ask("GET", "/nothing")[0] == 404
    assert running.ask("POST", "/nothing", b"")[0] == 405
    assert running.ask("POST", "/v1/tasks/reports", b"")[0] == 404
    status, _, headers = running.ask("OPTIONS", f"{path}/reports")
    assert (status, headers["access-control-allow-origin"]) == (204, "*")
    status, told, _ = running.ask("POST", f"/v1/tasks/{COLOURS.digest}/batches", b"x")
    assert (status, told["error"]) == (404, "this task has no shuffler; devices send to /reports")


def test_a_task_is_served_word_for_word(running: Collector) -> None:
    status, told, headers = running.ask("GET", f"/v1/tasks/{WORDS.digest}")
    assert status == 200
    assert told == WORDS.to_dict()
    assert headers["etag"] == f'"{WORDS.digest}"'
    link = running.connect()
    link.request("GET", f"/v1/tasks/{WORDS.digest}")
    assert Task.from_json(link.getresponse().read()).digest == WORDS.digest
    link.close()


def test_frames_in_chunks_are_read_and_have_the_same_limit(running: Collector) -> None:
    def chunked(data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", running.port), 10) as link:
            head = f"POST /v1/tasks/{COLOURS.digest}/reports HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            link.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
            try:
                for start in range(0, len(data), 1000):
                    part = data[start : start + 1000]
                    link.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                link.sendall(b"0\r\n\r\n")
            except OSError:
                pass  # what is too large may be refused before its end
            return link.recv(200)

    assert b"200 OK" in chunked(frame(COLOURS, "green"))
    assert b" 413 " in chunked(bytes(50_000))


def test_a_client_that_sends_everything_before_it_reads_learns_that_its_frame_is_too_large(tmp_path: Path) -> None:
    """The server reads on. Of a body whose stated length is too large it keeps nothing, so little room will do."""
    for room, body in ((3 << 20, bytes(12 << 20)), (5 << 20, iter([bytes(1 << 16)] * 192))):
        with collector(tmp_path / str(room), COLOURS, most_waiting=room) as running:
            place = f"http://127.0.0.1:{running.port}/v1/tasks/{COLOURS.digest}/reports"
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(place, body, method="POST"))
            with refused.value as answer:
                assert (answer.code, json.loads(answer.read())["reason"]) == (413, "large")


def test_a_body_that_never_ends_is_not_waited_for(running: Collector) -> None:
    with socket.create_connection(("127.0.0.1", running.port), 10) as link:
        head = f"POST /v1/tasks/{COLOURS.digest}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 18\r\n\r\nabc"
        link.sendall(head.encode())
        assert b" 408 " in link.recv(200)


def test_estimates_are_for_the_operator_and_for_enough_reports(running: Collector) -> None:
    path = f"/v1/tasks/{WORDS.digest}/estimate"
    status, told, headers = running.ask("GET", path)
    assert (status, told["reason"]) == (401, "token")
    assert "Basic" in headers["www-authenticate"]
    assert running.ask("GET", path, authorization="Bearer wrong")[0] == 401
    assert running.ask("GET", path, authorization="Basic !")[0] == 401
    token = (running.data / "operator.token").read_text().strip()
    basic = base64.b64encode(f"operator:{token}".encode()).decode()
    few = running.ask("GET", path, authorization=f"Basic {basic}")
    assert (few[0], few[1]["reason"]) == (409, "few")
    assert "estimates" not in few[1]
    running.post(WORDS, frame(WORDS, *["cat"] * 900, *["dog"] * 100))
    status, told = running.read(path)
    assert status == 200
    cat, dog = told["estimates"]
    assert cat["lower"] < cat["count"] < cat["upper"]
    assert cat["count"] > 500 > dog["count"]  # eight standard errors apart
    assert told["refused"] == {} or set(told["refused"]) <= {"key", "length"}
    assert any("a false report looks like noise" in line for line in told["caveats"])
    assert "access-control-allow-origin" not in running.ask("GET", path, authorization=f"Bearer {token}")[2]


def test_the_dashboard_shows_what_there_is(running: Collector) -> None:
    running.post(WORDS, frame(WORDS, *["cat"] * 50))
    status, front = running.read("/")
    assert status == 200
    assert "<script" not in front
    assert "favourite colour" in front
    assert f"/tasks/{WORDS.digest}" in front
    status, page = running.read(f"/tasks/{WORDS.digest}")
    assert status == 200
    for words in ("Reports over time", "95 % interval", "a false report looks like noise", WORDS.digest):
        assert words in page
    assert '<a href="/">' in page
    assert "T00:00:00Z" not in page  # days are written as people do
    assert 'data-name=""' not in page  # on a narrow screen every cell has the name of its column
    assert '<a href="/">' not in front
    assert running.ask("GET", "/")[0] == 401


def test_metrics_count_frames_and_say_nothing_of_what_is_in_them(running: Collector) -> None:
    running.post(COLOURS, frame(COLOURS, "red"))
    text = running.ask("GET", "/metrics")[1]
    numbers = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}
    task = COLOURS.digest[:12]
    assert numbers[f'discreet_collector_frames_total{{task="{task}"}}'] >= 1
    assert numbers["discreet_collector_ready"] == 1
    assert not any(word in text for word in ("red", "green", "blue", "cat"))


def test_a_task_made_or_closed_while_it_runs_is_known_at_once(running: Collector) -> None:
    fresh = some_task(name="made meanwhile")
    assert running.post(fresh, frame(fresh, "red"))[0] == 404
    store = open_store(running.data)
    store.create(fresh)
    end = time.monotonic() + 10
    while running.post(fresh, frame(fresh, "red"))[0] != 200:
        assert time.monotonic() < end
        time.sleep(0.1)
    store.close_task(fresh.digest)
    while running.post(fresh, frame(fresh, "red"))[0] != 410:
        assert time.monotonic() < end
        time.sleep(0.1)
    store.shut()


def test_a_second_collector_on_the_same_folder_is_refused(running: Collector) -> None:
    with pytest.raises(DataSourceError, match=r"process \d+ already keeps"):
        open_store(running.data, serving=True)


def test_a_second_collector_on_the_same_port_is_refused(running: Collector, tmp_path: Path) -> None:
    """Ports can be shared: without a check both would run, and each would get half of the reports."""
    with pytest.raises(DataSourceError, match="name another with --port"):
        serve.check(Settings(data=str(tmp_path / "other"), port=running.port))


def test_a_rate_is_kept_and_at_the_end_segments_are_whole(tmp_path: Path) -> None:
    shared = tmp_path / "segments"
    with collector(tmp_path / "collected", COLOURS, rate=1, segments=str(shared)) as running:
        sent = frame(COLOURS, *["red"] * 150)
        assert running.post(COLOURS, sent)[0] == 200
        path = f"/v1/tasks/{COLOURS.digest}/reports"
        status, told, headers = running.ask("POST", path, frame(COLOURS, "red"))
        assert (status, told["reason"], headers["retry-after"]) == (429, "rate", "1")
        running.stop()
        assert running.status() == 0
        assert "Traceback" not in running.log.read_text()
    assert sum(counts.n for counts in count(COLOURS, shared).values()) == 150


def test_a_task_is_known_while_the_service_looks_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that gets 404 drops its report, so 404 is never the answer for a task that exists."""
    app, task = App(Settings(data=str(tmp_path))), some_task()
    app.store = app.opened()
    app.store.create(task)
    app._learn()
    path, known = f"/v1/tasks/{task.digest}/reports", []

    class Looked(dict[str, Any]):
        def items(self) -> Any:
            for item in super().items():
                known.append(path in app._paths)
                yield item

    found = Looked(app.store.tasks())
    monkeypatch.setattr(app.store, "tasks", lambda: found)
    app._learn()
    app.store.shut()
    assert known == [True]


def test_a_folder_without_a_token_lets_no_one_in(tmp_path: Path) -> None:
    assert len(Settings(data=str(tmp_path)).token()) == 48
    for odd in (b"", b"\n", b"short", "ä".encode() * 20):
        (tmp_path / "operator.token").write_bytes(odd)
        with pytest.raises(DataSourceError, match="holds no token"):
            Settings(data=str(tmp_path)).token()


def test_bodies_that_arrive_in_part_count_as_what_waits(tmp_path: Path) -> None:
    """Many devices that send most of a large frame and then stop must not fill the memory."""
    path = f"/v1/tasks/{COLOURS.digest}/reports"
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n".encode()
    with collector(tmp_path / "collected", COLOURS, most_waiting=150_000) as running:
        links = [socket.create_connection(("127.0.0.1", running.port), timeout=5) for _ in range(4)]
        for link in links:
            link.sendall(head + bytes(100_000))
        told = b""
        for _ in range(3):  # there is room for one of the four
            (link, *_), _, _ = select.select(links, [], [], 5)
            told += link.recv(4000)
            links.remove(link)
            link.close()
        assert told.count(b"HTTP/1.1 503") == told.count(b'"reason": "busy"') == 3
        assert not select.select(links, [], [], 0.2)[0]
        assert running.post(COLOURS, frame(COLOURS, "red"))[0] == 200
        links[0].close()


def test_what_may_be_read_does_not_give_away_a_day_of_too_few(tmp_path: Path) -> None:
    """The whole less the days that are shown is the rest: it must be of enough reports too."""
    task = some_task(minimum=100)
    store = open_store(tmp_path)
    store.create(task)
    for period, n in ((0, 300), (1, 200), (2, 1)):
        rows = task.mechanism.encode(["red"] * n).rows
        store.commit([Post(task.digest, period, os.urandom(16), n, rows.tobytes())])
    shown = [one["period"] for one in read(store, task.digest)["periods"] if "estimates" in one]
    rows = task.mechanism.encode(["red"] * 120).rows
    store.commit([Post(task.digest, 2, os.urandom(16), 120, rows.tobytes())])
    later = [one["period"] for one in read(store, task.digest)["periods"] if "estimates" in one]
    store.shut()
    assert (shown, later) == ([0], [0, 1, 2])
