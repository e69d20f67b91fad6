"""Devices that never stop, a collector that is killed again and again, and a count of what became of every report.

Every frame holds one report of its own: frame i says that value i was held. So the counters tell, frame by frame,
whether it was counted, twice, or never.
"""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import discreet as dc
from collecting import Collector, ready, some_task, start
from discreet.collector import open_store
from discreet.local import Task, write_frame

MOST = 1 << 15
TASK = some_task(dc.local.DirectResponse(1, MOST))


class Devices:
    """Frames that were sent, and those for which an answer in the 200s came back."""

    def __init__(self, seed: int, senders: int = 6, task: Task = TASK) -> None:
        self.draw, self.senders, self.task = random.Random(seed), senders, task
        self.frames: list[bytes] = []
        self.acknowledged: set[int] = set()
        self.refused: dict[int, int] = {}
        self._lock, self._stop = threading.Lock(), threading.Event()

    def _next(self) -> int | None:
        with self._lock:
            if len(self.frames) >= MOST:
                return None
            body = len(self.frames).to_bytes(2, "little")
            frame = write_frame(TASK.mechanism, body)
            sealed = None if self.task.shuffle is None else self.task.shuffle.seal(self.task.digest, frame)
            self.frames.append(sealed or frame)
            return len(self.frames) - 1

    def _send(self, port: int, choose: Callable[[], int | None]) -> None:
        """Send frames over one connection until there are none, or no one answers."""
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            while not self._stop.is_set() and (frame := choose()) is not None:
                link.request("POST", f"/v1/tasks/{self.task.digest}/reports", self.frames[frame])
                answer = link.getresponse()
                answer.read()
                with self._lock:
                    if answer.status == 200:
                        self.acknowledged.add(frame)
                    else:
                        self.refused[answer.status] = self.refused.get(answer.status, 0) + 1
        except (OSError, http.client.HTTPException):
            pass  # killed in the middle: this frame has no answer
        finally:
            link.close()

    def load(self, running: Collector, seconds: float, then: Callable[[], None]) -> None:
        """Send new frames for some time, do something in the middle of it, and stop."""
        self._stop.clear()
        threads = [threading.Thread(target=self._send, args=(running.port, self._next)) for _ in range(self.senders)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        then()
        self._stop.set()
        for thread in threads:
            thread.join()

    def again(self, running: Collector, replayed: float) -> None:
        """Send what has no answer yet, as devices do, and some of what has one: a share, a few hundred, or all."""
        self._stop.clear()
        known = sorted(self.acknowledged)
        some = round(replayed * len(known)) if replayed == 1 else min(round(replayed * len(known)), 300)
        unanswered = [i for i in range(len(self.frames)) if i not in self.acknowledged]
        left = iter([*unanswered, *self.draw.sample(known, some)])
        lock = threading.Lock()

        def choose() -> int | None:
            with lock:
                return next(left, None)

        threads = [threading.Thread(target=self._send, args=(running.port, choose)) for _ in range(self.senders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def faults(self, address: str | Path) -> dict[str, int]:
        """Return how many acknowledged frames are lost, and how many frames were counted more than once."""
        store = open_store(address)
        try:
            total = np.zeros(MOST, np.int64)
            for counts in store.counts(self.task.digest).values():
                total += counts.counters["reports"]
        finally:
            store.shut()
        held = np.zeros(MOST, np.bool_)
        held[list(self.acknowledged)] = True
        return {"lost": int((held & (total == 0)).sum()), "twice": int((total > 1).sum())}


def survive(
    data: Path,
    kills: int,
    *,
    seed: int,
    fault: str = "",
    pause: float = 0.02,
    disk: bool = False,
    store: str | None = None,
    replayed: float = 0.3,
    between: Callable[[Devices], None] | None = None,
    environment: dict[str, str] | None = None,
) -> tuple[Devices, dict[str, int]]:
    """Kill a collector under load again and again; return the devices, and what went wrong.

    With ``disk`` all that was never synced is gone after a kill; without, the operating system still has it.
    """
    import shaky_disk

    place = data.with_name(f"{data.name}-disk")
    told = {"COLLECTOR_PAUSE": str(pause), **({"COLLECTOR_DISK": str(place)} if disk else {}), **(environment or {})}
    opened = open_store(store or data)
    opened.create(TASK)
    opened.shut()
    devices = Devices(seed)
    for _ in range(kills):
        running = start(data, fault=fault, environment=told, store=store)
        devices.again(running, replayed)
        devices.load(running, devices.draw.uniform(0.02, 0.3), running.kill)
        if disk:
            shaky_disk.after_the_cut(place, data)
        if between is not None:
            between(devices)
    lost = devices.faults(store or data)
    running = start(data, fault=fault, environment={**told, "COLLECTOR_PAUSE": "0"}, store=store)
    ready(running)
    devices.again(running, 1.0)
    running.kill()
    if disk:
        shaky_disk.after_the_cut(place, data)
    assert len(devices.acknowledged) == len(devices.frames)
    found = devices.faults(store or data)
    return devices, {name: max(found[name], lost[name]) for name in found}
