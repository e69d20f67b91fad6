"""A collector that runs, in a process of its own, and devices that talk to it."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.collector import open_store
from discreet.collector.service.settings import TOKEN
from discreet.local import Task

HERE = Path(__file__).parent


def some_task(mechanism: Any = None, **more: Any) -> Task:
    """Return a task that is open now."""
    given = {"name": "favourite colour", "wanted": 10**6, "minimum": 10, "opens": "2026-01-01T00:00:00Z",
             "closes": "2099-01-01T00:00:00Z"}  # fmt: skip
    mechanism = mechanism or dc.local.DirectResponse(2, ["red", "green", "blue"])
    return Task(mechanism, **{"per_day": mechanism.epsilon, **given, **more})


def free_port() -> int:
    """Return a port that no one listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@cache
def _nursery() -> subprocess.Popen[str]:
    """Start what forks collectors: it imports everything once, and ends when this process does."""
    line = [sys.executable, str(HERE / "broken_collectors.py")]
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def _asked(question: dict[str, Any]) -> Any:
    nursery = _nursery()
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps(question) + "\n")
    return json.loads(nursery.stdout.readline())


class Collector:
    """A running collector."""

    def __init__(self, data: Path, port: int, pid: int, log: Path) -> None:
        self.data, self.port, self.pid, self.log = data, port, pid, log
        self._status: int | None = None

    def connect(self, timeout: float = 20) -> http.client.HTTPConnection:
        """Return a connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        """Send one request; returns status, body (read as JSON where it is) and headers."""
        link = self.connect()
        try:
            link.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = link.getresponse()
            text, told = answer.read(), {name.lower(): value for name, value in answer.getheaders()}
        finally:
            link.close()
        found = json.loads(text) if told.get("content-type") == "application/json" else text.decode("utf-8")
        return answer.status, found, told

    def post(self, task: Task, frame: bytes) -> tuple[int, Any]:
        """Send a frame."""
        return self.ask("POST", f"/v1/tasks/{task.digest}/reports", frame)[:2]

    def read(self, path: str) -> tuple[int, Any]:
        """Ask as the operator."""
        token = (self.data / TOKEN).read_text().strip()
        return self.ask("GET", path, authorization=f"Bearer {token}")[:2]

    def status(self) -> int | None:
        """Return how it ended, None while it runs."""
        if self._status is None:
            self._status = _asked({"poll": self.pid})
        return self._status

    def kill(self) -> None:
        """End it at once, with all its processes, as a power cut would."""
        if self.status() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self.wait()
            self._let_go()

    def _let_go(self) -> None:
        """Wait until its last process is gone: one that waits for the disk takes a moment to die."""
        if (self.data / "lock").exists():
            with (self.data / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)

    def stop(self) -> None:
        """Ask it to end."""
        os.kill(self.pid, signal.SIGTERM)
        self.wait()

    def wait(self, seconds: float = 40) -> None:
        """Wait for its end."""
        end = time.monotonic() + seconds
        while self.status() is None:
            assert time.monotonic() < end
            time.sleep(0.01)


def start(
    data: Path, *, fault: str = "", environment: dict[str, str] | None = None, wait: bool = True, **settings: Any
) -> Collector:
    """Start a collector, perhaps with a fault that `broken_collectors` knows, in a group of processes of its own."""
    port, log = free_port(), data.with_name(f"{data.name}.log")
    asked = {"settings": {"data": str(data), "port": port, **settings}, "fault": fault, "log": str(log)}
    found = Collector(data, port, _asked({**asked, "environment": environment or {}}), log)
    if wait:
        ready(found)
    return found


def ready(found: Collector, seconds: float = 60) -> None:
    """Wait until it answers."""
    end = time.monotonic() + seconds
    while True:
        try:
            if found.ask("GET", "/health")[0] == 200:
                return
        except OSError:
            pass
        if found.status() is not None or time.monotonic() > end:
            raise AssertionError(found.log.read_text())
        time.sleep(0.02)


@contextmanager
def collector(data: Path, *tasks: Task, **settings: Any) -> Iterator[Collector]:
    """Run a collector with tasks for as long as the context lasts."""
    store = open_store(settings.get("store") or data)
    for task in tasks:
        store.create(task)
    store.shut()
    running = start(data, **settings)
    try:
        yield running
    finally:
        running.kill()
