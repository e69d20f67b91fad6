"""Requests that no one honest sends: each is refused by name, nothing is counted, nothing grows, nothing breaks."""

from __future__ import annotations

import random
import re
import resource
import select
import socket
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from collecting import Collector, collector, some_task
from discreet.collector import open_store
from discreet.errors import FormatError
from discreet.local import write_frame
from frame_reader import read_frame

TASK = some_task(dc.local.HadamardSketch(2, 60, 64, key=7))  # 60 rows in 6 bits: some reports are impossible
OVER = some_task(TASK.mechanism, name="over", closes="2026-01-02T00:00:00Z")
PATH = f"/v1/tasks/{TASK.digest}/reports"
GOOD = write_frame(TASK.mechanism, TASK.mechanism.encode(["cat"]))
#: All that a store has: nothing of these is an address, a time or a header.
_WORDS = "number id description closed task key checked age period heads reports generation content reason n name value"
COLUMNS = {*_WORDS.split(" "), "seq"}
REASONS = {"length", "version", "seeded", "flags", "report"}


def broken(draw: random.Random) -> bytes:
    """Return a frame with something wrong with it, or with nothing left of a frame."""
    frame = bytearray(write_frame(TASK.mechanism, TASK.mechanism.encode(["cat"] * draw.choice([1, 1, 1, 5])).rows))
    kind = draw.randrange(7)
    if kind == 0:
        del frame[draw.randrange(len(frame)) :]
    elif kind == 1:
        frame += draw.randbytes(draw.randint(1, 40))
    elif kind == 2:
        frame[0] = draw.choice([b for b in range(256) if b not in (0x10, 0x12)])
    elif kind == 3:
        frame[-1] |= draw.choice([0x80, 0x40, 0xE0])  # bits after the last field
    elif kind == 4:
        frame = bytearray(draw.randbytes(draw.randint(0, 60)))
        frame[:1] = bytes([draw.choice([0x20, 0x11, 0x14])])
    elif kind == 5:
        frame = bytearray([0x12]) + draw.randbytes(16) + draw.choice([0, 2**32 - 1, 2**20 + 1, 7]).to_bytes(4, "little")
    else:
        frame[0] ^= 0x02  # a batch said to be a report, or the other way round
    return bytes(frame)


def _frames(n: int) -> None:
    draw, reasons = random.Random(1), Counter()
    for _ in range(n):
        frame = broken(draw)
        try:
            found = read_frame(TASK.mechanism, frame)
        except FormatError as error:
            reasons[error.reason] += 1
        else:  # a change that hit nothing: then it is a frame like any other
            assert TASK.mechanism.aggregate(found.rows).rejected == 0
            reasons["fine"] += 1
    assert set(reasons) - {"fine"} == REASONS
    assert reasons["fine"] < n / 100


def test_broken_frames_are_refused_by_name() -> None:
    _frames(3000)


@pytest.mark.slow
def test_a_hundred_thousand_broken_frames_are_refused_by_name() -> None:
    _frames(100_000)


def request(draw: random.Random, known: bytes) -> tuple[bytes, set[int]]:
    """Return a request that must be refused, as bytes, and the statuses that are right; 0 is a closed connection."""
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n".encode()
    frame, closed = broken(draw), {0, 400}
    kind = draw.randrange(14)
    if kind < 4:
        return head + b"Content-Length: %d\r\n\r\n" % len(frame) + frame, {400}
    if kind == 4:  # cut short: the other end waits for more, and this one hangs up
        return head + b"Content-Length: %d\r\n\r\n" % (len(GOOD) + 5) + GOOD, {0, 400, 408}
    if kind == 5:
        size = draw.choice([5001, 10**7, 10**18])
        return head + b"Content-Length: %d\r\n\r\n" % size + bytes(min(size, 8000)), {0, 413}
    if kind == 6:  # a key that was used, with other reports
        other = known[:17] + bytes([known[17] ^ 1]) + known[18:]
        return head + b"Content-Length: %d\r\n\r\n" % len(other) + other, {409}
    if kind == 7:
        sizes = [b"zz", b"-1", b"ffffffffffffffffff", b"5;x=\0", b"", b"3\r\nabcdef"]
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + draw.choice(sizes) + b"\r\nabc\r\n0\r\n\r\n", closed
    if kind == 8:
        twice = b"Content-Length: 20\r\nContent-Length: 21\r\n\r\n"
        both = b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
        return head + draw.choice([twice + GOOD, both]), closed
    if kind == 9:
        digest = draw.choice(["0" * 64, TASK.digest[:-1], "..%2f..%2f", "%00", "é" * 9, TASK.digest.upper()])
        path = f"/v1/tasks/{digest}/reports".encode()
        return b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 20\r\n\r\n" + GOOD, {
            0,
            400,
            404,
        }
    if kind == 10:
        return head.replace(TASK.digest.encode(), OVER.digest.encode()) + b"Content-Length: 20\r\n\r\n" + GOOD, {410}
    if kind == 11:
        method = draw.choice([b"PUT", b"DELETE", b"PATCH", b"BREW"])
        return method + head[4:] + b"Content-Length: 20\r\n\r\n" + GOOD, {405}
    if kind == 12:
        line = b"GET /v1/tasks/%b/estimate HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" % TASK.digest.encode()
        return line + b"Authorization: " + draw.choice([b"Bearer x", b"Basic ====", b"\xff\xfe", b""]) + b"\r\n\r\n", {
            401
        }
    noise = [
        draw.randbytes(draw.randint(1, 400)), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + draw.randbytes(60), b"\r\n" * 50,
        b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"a" * 9000, head + b"A: b\r\n" * 3000, head + b"X" * 70_000 + b"\r\n\r\n",
    ]  # fmt: skip
    return draw.choice(noise), {0, 400, 401, 404, 408, 414, 431, 505}


def send(port: int, data: bytes, hang_up: bool) -> tuple[int, bytes]:
    """Send bytes, perhaps hang up on this side, and return the status that came back (0 for none) and the rest."""
    with socket.create_connection(("127.0.0.1", port), 20) as link:
        answer = b""
        try:
            link.sendall(data)
            if hang_up:
                link.shutdown(socket.SHUT_WR)
            while part := link.recv(65536):
                answer += part
        except OSError:
            pass  # it hung up first
    found = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    return (int(found[1]) if found else 0), answer


def memory(running: Collector) -> int:
    """Return the resident bytes of the process that serves."""
    worker = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0]
    return 4096 * int(Path(f"/proc/{worker}/statm").read_text().split()[1])


def state(data: Path) -> Any:
    store = open_store(data)
    try:
        return store.counts(TASK.digest)
    finally:
        store.shut()


def _requests(data: Path, n: int) -> None:
    draw, told = random.Random(2), Counter()
    with collector(data, TASK, OVER, most_body=5000, patience=0.2) as running:
        assert running.post(TASK, GOOD) == (200, {"counted": 1})
        before, grown = state(data), 0
        for turn in range(n):
            data_sent, right = request(draw, GOOD)
            status, answer = send(running.port, data_sent, hang_up=0 in right and 413 not in right and 404 not in right)
            assert status in right, (data_sent[:300], answer[:300])
            told[status] += 1
            if status in (400, 404, 405, 409, 410, 413) and b'"reason"' in answer:
                told["named"] += 1
            if turn == n // 2:
                grown = memory(running)
        for _ in range(3):  # a body that never comes
            with socket.create_connection(("127.0.0.1", running.port), 20) as link:
                link.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n".encode())
                time.sleep(0.05)
                assert b" 408 " in link.recv(100)
        assert state(data) == before
        assert memory(running) - grown < 2**24
        assert running.post(TASK, GOOD) == (200, {"counted": 0, "known": True})
        log = running.log.read_text(errors="replace")
        assert "Traceback" not in log
        assert "panick" not in log
        running.stop()
        assert running.status() == 0
    assert told["named"] > n / 2
    assert {400, 404, 405, 409, 410, 413} <= set(told)


def test_hostile_requests_change_nothing(tmp_path: Path) -> None:
    _requests(tmp_path / "collected", 80)


@pytest.mark.slow
def test_ten_thousand_hostile_requests_change_nothing(tmp_path: Path) -> None:
    _requests(tmp_path / "collected", 10_000)


def _head(length: int) -> bytes:
    return f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()


def _statuses(links: list[socket.socket], seconds: float, enough: int) -> list[int]:
    """Read until so many connections were answered or closed, or the time is over; 0 is closed without an answer."""
    found: dict[socket.socket, int] = {}
    end = time.monotonic() + seconds
    while len(found) < enough and time.monotonic() < end:
        poll = select.poll()
        by_number = {link.fileno(): link for link in links if link not in found}
        for number in by_number:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(100):
            link = by_number[number]
            try:
                answer = link.recv(4096)
            except OSError:
                answer = b""
            found[link] = int(answer[9:12]) if answer else 0
    return list(found.values())


SLOW = {
    "silent": b"",
    "one byte": b"P",
    "half a head": b"GET /health HTTP/1.1\r\nHost: x\r\n",
    "answered and idle": b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n",
    "no body": _head(20) + b"x",
}


@pytest.mark.parametrize(
    "sent",
    [pytest.param(b, id=n, marks=[pytest.mark.slow] * (n != "no body")) for n, b in SLOW.items()],
)
def test_connections_that_send_nothing_block_no_one(tmp_path: Path, sent: bytes) -> None:
    """More of them than granian takes by default; as many as the files that this process may open allow."""
    many, (soft, hard) = 1300, resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < many + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(many + 200, hard), hard))
    with collector(tmp_path / "collected", TASK, patience=60.0) as running, ExitStack() as held:
        for _ in range(min(many, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)):
            link = held.enter_context(socket.create_connection(("127.0.0.1", running.port), 20))
            link.sendall(sent)
        assert running.post(TASK, GOOD) == (200, {"counted": 1})


def test_connections_that_send_nothing_are_closed(tmp_path: Path) -> None:
    with collector(tmp_path / "collected", TASK, patience=0.5) as running, ExitStack() as held:
        links = {name: socket.create_connection(("127.0.0.1", running.port), 20) for name in SLOW}
        for name, link in links.items():
            held.enter_context(link)
            link.sendall(SLOW[name])
        answers = dict.fromkeys(links, b"")
        for name, link in links.items():
            while part := link.recv(4096):
                answers[name] += part
    assert b" 404 " in answers.pop("answered and idle")
    assert b" 408 " in answers.pop("no body")
    assert set(answers.values()) == {b""}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux closes connections that take no bytes")
def test_a_device_that_does_not_read_its_answers_is_let_go(tmp_path: Path) -> None:
    asked = f"GET /v1/tasks/{TASK.digest} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with collector(tmp_path / "collected", TASK, patience=0.5) as running, socket.socket() as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.settimeout(0.3)
        link.connect(("127.0.0.1", running.port))
        with pytest.raises(OSError, match=r"timed out|reset|[Bb]roken pipe"):  # its answers fill all buffers
            link.sendall(asked * 100_000)
        deadline = time.monotonic() + 20
        while link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 and time.monotonic() < deadline:
            try:
                link.send(b"x")
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() < deadline


@pytest.mark.parametrize("size", [pytest.param(60_000, marks=pytest.mark.slow), 4_000])
def test_bodies_that_arrive_in_part_count_against_the_limit(tmp_path: Path, size: int) -> None:
    """All but one byte of each comes. What is beyond the limit is turned away at once, and then there is room again."""
    limit, many = 1 << 19, 3 * (1 << 19) // size
    with collector(tmp_path / "collected", TASK, patience=15.0, most_waiting=limit) as running:
        with ExitStack() as held:
            links = []
            for _ in range(many):
                links.append(held.enter_context(socket.create_connection(("127.0.0.1", running.port), 5)))
                links[-1].sendall(_head(size) + bytes(size - 1))
            least = many - limit // (size - 1) - 1
            answers = _statuses(links, 10, least)
            assert answers == [503] * len(answers)
            assert least <= len(answers) < many
        end = time.monotonic() + 10
        while running.post(TASK, GOOD)[0] == 503:  # their connections are gone
            assert time.monotonic() < end


def test_http_2_is_not_spoken(tmp_path: Path) -> None:
    """One connection would carry hundreds of bodies that are buffered before anybody counts them."""
    with collector(tmp_path / "collected", TASK) as running:
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # and empty settings
        assert send(running.port, preface, hang_up=False)[1][:9] in (b"", b"HTTP/1.1 ")
        assert running.post(TASK, GOOD) == (200, {"counted": 1})


def test_only_noisy_reports_counters_and_tasks_are_ever_on_the_disk(tmp_path: Path) -> None:
    """Everything in the folder and in the log is looked through, before and after folding and for what is refused."""
    import sqlite3

    data = tmp_path / "collected"
    secrets = {"user-agent": "canary-agent", "x-forwarded-for": "203.0.113.77", "cookie": "id=canary-cookie",
               "referer": "http://canary-page/", "content-type": "canary/type"}  # fmt: skip
    started = time.time()
    with collector(data, TASK, OVER, patience=0.5) as running:
        for i in range(40):
            frame = write_frame(TASK.mechanism, TASK.mechanism.encode(["cat"] * 5))
            link = running.connect()
            link.request("POST", f"{PATH}?who=canary-query", frame if i % 4 else frame[:-1], secrets)
            assert link.getresponse().status == (200 if i % 4 else 400)
            link.close()
        time.sleep(0.5)  # the keeper has noted what was refused
        running.stop()
        files = [*(p for p in data.rglob("*") if p.is_file()), running.log]
    for file in files:
        content = file.read_bytes()
        for word in (b"canary", b"203.0.113.77", b"127.0.0.1", str(running.port).encode()):
            assert word not in content or (word == str(running.port).encode() and file == running.log), (file, word)
    assert {p.name for p in data.iterdir()} <= {"collected.sqlite", "lock", "operator.token"}
    link = sqlite3.connect(data / "collected.sqlite")
    for (table,) in link.execute("select name from sqlite_master where type = 'table'").fetchall():
        columns = {row[1] for row in link.execute(f"pragma table_info({table})")}
        assert columns <= COLUMNS, table
        for row in link.execute(f"select * from {table}"):  # no clock: neither seconds nor finer, since 1970
            numbers = [v for v in row if isinstance(v, (int, float))]
            for scale in (1, 1000, 10**6, 10**9):
                assert not any(abs(v / scale - started) < 86_400 for v in numbers) or table == "seen", (table, row)
    link.close()


@pytest.mark.slow
def test_many_reports_leave_memory_as_it_was(tmp_path: Path) -> None:
    """Batches by the hundred thousand: counters and a bounded log, nothing else."""
    _many(tmp_path / "collected", batches=10)


@pytest.mark.slow
def test_ten_million_reports_leave_memory_as_it_was(tmp_path: Path) -> None:
    _many(tmp_path / "collected", batches=1000)


def _many(data: Path, batches: int) -> None:
    rows = TASK.mechanism.encode(["cat", "dog"] * 5000).rows
    with collector(data, TASK) as running:
        path, link, seen = PATH, running.connect(), []
        for _ in range(batches):
            link.request("POST", path, write_frame(TASK.mechanism, rows))
            assert link.getresponse().read() == b'{"counted":10000}'
            seen.append(memory(running))
        link.close()
        settled = seen[len(seen) // 3 :]
        assert max(settled) - min(settled) < 2**26
        running.stop()
    found = state(data)
    assert sum(counts.n for counts in found.values()) == 10_000 * batches
    assert np.sum([counts.counters["reports"].sum() for counts in found.values()]) == 10_000 * batches
    assert sum(p.stat().st_size for p in data.iterdir()) < 2**24
