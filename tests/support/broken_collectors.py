"""Collectors that are broken on purpose, each in one way: what the tests of survival must catch. And the true one.

Run as a program this is a nursery: it imports everything once, and forks a collector for every line it is asked.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import shaky_disk
from discreet.collector import Settings, serve
from discreet.collector.service import app as app_module
from discreet.collector.service import committer
from discreet.collector.service import shuffler as shuffler_module
from discreet.collector.service.app import App
from discreet.collector.service.shuffler import Shuffler
from discreet.collector.stores.base import Outcome
from discreet.collector.stores.batches import BatchStore
from discreet.collector.stores.postgres import PostgresStore
from discreet.collector.stores.sqlite import SqliteStore
from discreet.errors import DataSourceError, DiscreetError


def pause() -> None:
    """Wait before a commit: without this, anyone who answers early is rarely caught."""
    time.sleep(float(os.environ.get("COLLECTOR_PAUSE", "0")) * random.random())


class Slow(SqliteStore):
    """The true store, with a pause before every commit."""

    def _commit(self) -> None:
        pause()
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


class NoRoom(SqliteStore):
    """A store whose disk became full since the settings were checked."""

    def _open(self) -> Any:
        raise DataSourceError("data: cannot keep reports in 'collected' (disk I/O error); check the folder")


class SlowBatches(BatchStore):
    """The true store of a shuffler, with a pause before every commit."""

    def _commit(self) -> None:
        pause()
        super()._commit()


class DropsEarly(SlowBatches):
    """Removes a batch when it is sent, not when the collector has it."""

    def content(self, name: bytes) -> bytes:
        found = super().content(name)
        self._change("delete from batch where name = ?", (name,))
        return found


class TakesAgain(SlowBatches):
    """Does not see that a frame came before."""

    def commit(self, posts: Any, work: Any = ()) -> list[Outcome]:
        outcomes = super().commit(posts, work)
        self._base.execute("delete from seen")
        return outcomes


class SlowPostgres(PostgresStore):
    """The true store, with a pause while the transaction is open."""

    def _taken(self, columns: Any) -> Any:
        with self._writer().transaction():
            found = super()._taken(columns)
            pause()
        return found


class ForgetsKeysInPostgres(SlowPostgres):
    """Does not keep the keys of what it counts."""

    def commit(self, posts: Any, work: Any = ()) -> list[Outcome]:
        outcomes = super().commit(posts, work)
        self._writer().execute("delete from discreet.seen")
        return outcomes


class NeverSyncsInPostgres(SlowPostgres):
    """Takes the server's word before its log is on the disk."""

    def _connect(self, **more: Any) -> Any:
        base = super()._connect(**more)
        base.execute("set synchronous_commit = off")
        base.commit()
        return base


class AnswersEarly(App):
    """Says that reports are on the disk when they are about to be."""

    def __rsgi_init__(self, loop: Any) -> None:
        super().__rsgi_init__(loop)
        put = self.committer.put

        def early(held: Any, *posts: Any) -> Any:
            put(held, *posts)
            future = loop.create_future()
            future.set_result([Outcome.NEW] * len(posts))
            return future

        self.committer.put = early  # type: ignore[method-assign]


BATCHES = {"": SlowBatches, "drops early": DropsEarly, "forgets keys": TakesAgain}
STORES = {"": Slow, "forgets keys": ForgetsKeys, "never syncs": NeverSyncs, "answers early": Slow,
          "no room": NoRoom}  # fmt: skip
SHARED = {
    "": SlowPostgres, "forgets keys": ForgetsKeysInPostgres, "answers early": SlowPostgres,
    "never syncs": NeverSyncsInPostgres,
}  # fmt: skip


def jump(place: str) -> None:
    """Let the clock of the service be off by as many seconds as a file says."""

    def now() -> float:
        return time.time() + float(Path(place).read_text())

    app_module.time = now  # type: ignore[attr-defined]


def hurry() -> None:
    """Let rounds of maintenance and of forwarding follow each other faster: tests wait for them."""
    committer.TIDY = 0.1
    app_module._LOOK = shuffler_module._LOOK = 0.05
    shuffler_module._PAUSE = 0.2


class Make:
    """Makes the application with a fault, in the process that runs it."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def __call__(self, settings: Settings) -> App:
        """Make it."""
        fault = self.fault
        hurry()
        if disk := os.environ.get("COLLECTOR_DISK"):
            shaky_disk.install(disk, settings.data)
        if clock := os.environ.get("COLLECTOR_CLOCK"):
            jump(clock)
        sys.setswitchinterval(0.0005)
        random.seed()
        kind = AnswersEarly if fault == "answers early" else App if settings.to is None else Shuffler
        app = kind(settings)

        def opened() -> Any:
            if settings.to is not None:
                return BATCHES[fault](settings.data, serving=True)
            if settings.store:
                return SHARED[fault](settings.store)
            return STORES[fault](settings.data, serving=True, segments=settings.segments)

        app.opened = opened  # type: ignore[method-assign]
        return app


def forked(asked: dict[str, Any]) -> int:
    """Fork a collector, in a group of processes of its own."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setsid()
        out = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for handle, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
            os.dup2(handle, target)
        os.environ.update(asked["environment"])
        serve(Settings(**asked["settings"]), Make(asked["fault"]))
        code = 0
    except DiscreetError as error:
        os.write(2, f"{error}\n".encode())
        code = 2
    finally:
        os._exit(code)


def nursery() -> None:
    """Do what is asked, line by line, until no one asks any more."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "settings" in asked:
            told: Any = forked(asked)
        else:
            done, status = os.waitpid(asked["poll"], os.WNOHANG)
            told = None if not done else os.waitstatus_to_exitcode(status)
        sys.stdout.write(f"{json.dumps(told)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    nursery()
