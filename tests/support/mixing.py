"""A collector and a shuffler that run, each in a process of its own, and a task that names both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from collecting import Collector, collector, some_task, start
from discreet.collector import open_store, sealing_keys
from discreet.local import Shuffle, Task, write_frame


def mixed_task(place: Path, mechanism: Any = None, *, batch: int = 4, honest: int = 2, **more: Any) -> Task:
    """Return a task whose keys are in the folders ``collected`` and ``shuffled``; they are made once."""
    folders = {"collector": place / "collected", "shuffler": place / "shuffled"}
    keys = {name: next(iter(sealing_keys(f) or sealing_keys(f, new=True))) for name, f in folders.items()}
    wait = more.pop("longest_wait", 86_400)
    return some_task(mechanism, shuffle=Shuffle(batch=batch, honest=honest, longest_wait=wait, **keys), **more)


@contextmanager
def mixing(place: Path, *tasks: Task, fault: str = "", **settings: Any) -> Iterator[tuple[Collector, Collector]]:
    """Run both for as long as the context lasts; returns the collector and the shuffler."""
    with collector(place / "collected", *tasks, **settings) as running:
        shuffler = start(place / "shuffled", to=f"http://127.0.0.1:{running.port}", fault=fault)
        try:
            yield running, shuffler
        finally:
            shuffler.kill()


def sealed(task: Task, value: Any, **more: Any) -> bytes:
    """Return a sealed frame of a value."""
    return task.shuffle.seal(task.digest, write_frame(task.mechanism, task.mechanism.encode([value]), **more))


def count(data: str | Path, task: Task) -> int:
    """Return how many reports a collector has counted."""
    store = open_store(data)
    try:
        return sum(counts.n for counts in store.counts(task.digest).values())
    finally:
        store.shut()


def wait_for(true: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)
