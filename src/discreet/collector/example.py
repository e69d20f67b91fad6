"""A small store with a simulated task in it, for examples and to try things on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from discreet import local
from discreet.collector.stores.base import Post, Store
from discreet.collector.stores.opening import open_store
from discreet.local.tasks import split_frame


@contextmanager
def example(reports: int = 1000) -> Iterator[tuple[Store, local.Task]]:
    """Open a store in a folder that goes away again, with so many reports of simulated devices.

    Examples
    --------
    >>> with example(reports=50) as (store, task):
    ...     sum(counts.n for counts in store.counts(task.digest).values())
    50
    """
    colours = local.DirectResponse(epsilon=2, domain=["red", "green", "blue"])
    task = local.Task(
        colours, name="favourite colour", per_day=2, wanted=10_000, minimum=10,
        opens="2026-11-16T00:00:00Z", closes="2036-11-16T00:00:00Z",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(folder)
        try:
            store.create(task)
            made = colours.encode((["red"] * 5 + ["green"] * 3 + ["blue"] * 2) * (reports // 10))
            key, _, body = split_frame(1, local.write_frame(colours, made))
            store.commit([Post(task.digest, 0, key, len(made), body)])
            yield store, task
        finally:
            store.shut()
