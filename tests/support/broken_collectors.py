"""Collectors that are broken on purpose, each in one way: what the tests of survival must catch.

``python broken_collectors.py FAULT SETTINGS`` serves one; the fault "" serves the true collector.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any

from discreet.collector import Settings, serve
from discreet.collector.service.app import App
from discreet.collector.stores.base import Outcome
from discreet.collector.stores.postgres import PostgresStore
from discreet.collector.stores.sqlite import SqliteStore

#: Seconds of the pause before a commit: without one, whoever answers early is rarely caught.
PAUSE = float(os.environ.get("COLLECTOR_PAUSE", "0"))


class Slow(SqliteStore):
    """The true store, with a pause before every commit."""

    def _commit(self) -> None:
        time.sleep(PAUSE * random.random())
        super()._commit()


class ForgetsKeys(Slow):
    """Does not keep the keys of what it counts."""

    def commit(self, posts: Any, work: Any = ()) -> list[Outcome]:
        outcomes = super().commit(posts, work)
        self._base.execute("delete from seen")
        return outcomes


class NeverSyncs(Slow):
    """Leaves it to the operating system when data reach the disk."""

    def _open(self) -> Any:
        base = super()._open()
        base.execute("pragma synchronous=off")
        base.execute("pragma wal_autocheckpoint=0")
        return base


class SlowPostgres(PostgresStore):
    """The true store, with a pause while the transaction is open."""

    def _taken(self, columns: Any) -> Any:
        if not PAUSE:
            return super()._taken(columns)
        base = self._writer()
        with base.transaction():
            found = super()._taken(columns)
            time.sleep(PAUSE * random.random())
        return found


class ForgetsKeysInPostgres(SlowPostgres):
    """Does not keep the keys of what it counts."""

    def commit(self, posts: Any, work: Any = ()) -> list[Outcome]:
        outcomes = super().commit(posts, work)
        self._writer().execute("delete from discreet.seen")
        return outcomes


class AnswersEarly(App):
    """Says that reports are on the disk when they are about to be."""

    def __rsgi_init__(self, loop: Any) -> None:
        super().__rsgi_init__(loop)
        put = self.committer.put

        def early(post: Any, held: Any) -> Any:
            put(post, held)
            future = loop.create_future()
            future.set_result(Outcome.NEW)
            return future

        self.committer.put = early  # type: ignore[method-assign]


STORES = {"": Slow, "forgets keys": ForgetsKeys, "never syncs": NeverSyncs, "answers early": Slow}
SHARED = {"": SlowPostgres, "forgets keys": ForgetsKeysInPostgres, "answers early": SlowPostgres}


def made(fault: str, settings: Settings) -> App:
    """Make the application with a fault."""
    if disk := os.environ.get("COLLECTOR_DISK"):
        import shaky_disk

        shaky_disk.install(disk)
    sys.setswitchinterval(0.0005)
    app = AnswersEarly(settings) if fault == "answers early" else App(settings)

    def opened() -> Any:
        if settings.store:
            return SHARED[fault](settings.store)
        return STORES[fault](settings.data, serving=True, segments=settings.segments)

    app.opened = opened  # type: ignore[method-assign]
    return app


class Make:
    """Makes the application in the process that runs it."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def __call__(self, settings: Settings) -> App:
        return made(self.fault, settings)


if __name__ == "__main__":
    serve(Settings(**json.loads(sys.argv[2])), Make(sys.argv[1]))
