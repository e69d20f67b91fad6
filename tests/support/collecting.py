"""A collector that runs, in a process of its own, and devices that talk to it."""

from __future__ import annotations

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
    return Task(mechanism, per_day=float(mechanism.epsilon), **{**given, **more})


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Collector:
    """A running collector."""

    def __init__(self, data: Path, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.data, self.port, self.process, self.log = data, port, process, log

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

    def kill(self) -> None:
        """End it at once, with all its processes, as a power cut would."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def stop(self) -> None:
        """Ask it to end."""
        self.process.terminate()
        self.process.wait(30)


def start(data: Path, *, fault: str = "", port: int | None = None, wait: bool = True, **settings: Any) -> Collector:
    """Start a collector, perhaps with a fault that `broken_collectors` knows, in a group of processes of its own."""
    port = free_port() if port is None else port
    log = data.with_name(f"{data.name}.log")
    line = [
        sys.executable,
        str(HERE / "broken_collectors.py"),
        fault,
        json.dumps({"data": str(data), "port": port, **settings}),
    ]
    with log.open("ab") as out:
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    found = Collector(data, port, process, log)
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
        if found.process.poll() is not None or time.monotonic() > end:
            raise AssertionError(found.log.read_text())
        time.sleep(0.05)


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
