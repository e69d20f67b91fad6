"""Sealed frames in one SQLite file: the store of a shuffler.

Frames are taken as a collector takes reports: a key each, here a digest of the frame, and a log. When enough wait, one
transaction draws their order, writes the batch under a random name, and removes them from the log: from then on the
order of arrival is nowhere. The batch is removed when the collector has it. A batch that stays too small for the
longest wait of its task, or until that closes, is deleted.
"""

import logging
from datetime import datetime
from time import time

import numpy as np

from discreet import noise
from discreet.collector.stores import sqlite
from discreet.collector.stores.base import LOST, NEVER, Held, Run
from discreet.core import counted
from discreet.local.tasks import MOST_BATCH, sealed_size

log = logging.getLogger("discreet.collector")
_SINCE = "since %d"


class BatchStore(sqlite.SqliteStore):
    """The folder of a shuffler."""

    file = "shuffled.sqlite"
    schema = (
        sqlite._SCHEMA
        + """
create table if not exists batch (name blob primary key, task integer, content blob);
insert or ignore into fact values ('born', lower(hex(randomblob(16))));
"""
    )

    @property
    def born(self) -> str:
        """A random name of this store."""
        return str(self._rows("select value from fact where name = 'born'")[0][0])

    def tidy(self, run: Run, *, all_of_it: bool = False) -> None:
        for held in self.tasks().values():
            self._look(run, held)
            ends = datetime.fromisoformat(held.task.closes).timestamp() + held.task.shuffle.longest_wait
            if not held.closed and time() > ends:
                self.close_task(held.task.digest)
        self._forget(run)
        self._empty(run)

    def _expired(self, held: Held) -> int:
        """Digests of frames are kept as long as their task takes frames."""
        return NEVER + 1 if held.closed else 0

    def _look(self, run: Run, held: Held) -> None:
        """Make a batch of what waits, or delete it if it waited too long or its task takes no more."""
        number, shuffle = held.number, held.task.shuffle
        (n, last), since = self.waiting(held), _SINCE % number
        if not n:
            return
        rows = self._rows("select value from fact where name = ?", since)
        if n >= shuffle.batch:
            self._cut(run, held)
        elif not rows and not held.closed:
            # The one time that is kept of a batch, in seconds that the store ran.
            run([("insert into fact values (?, ?)", [(since, self.ages.ran)])])
        elif held.closed or self.ages.ran - rows[0][0] >= shuffle.longest_wait:
            lost = "insert into refused values (?, ?, ?) on conflict (task, reason) do update set n = n + excluded.n"
            run([(lost, [(number, LOST, n)]), *_gone(number, last)])
            self._stale = True
            log.warning(
                "task %s: %s deleted, because fewer than %d came within %d seconds or before it closed",
                held.task.digest[:12], counted(n, "report"), shuffle.batch, shuffle.longest_wait,
            )  # fmt: skip

    def waiting(self, held: Held) -> tuple[int, int]:
        """Return how many frames of a task wait for a batch, and the last id of the log."""
        line = "select coalesce(sum(length(reports)), 0), coalesce(max(id), 0) from log where task = ?"
        ((total, last),) = self._rows(line, held.number)
        return int(total) // sealed_size(held.task.mechanism.layout.size), int(last)

    def _cut(self, run: Run, held: Held) -> None:
        """Move what waits into a batch, in an order drawn uniformly."""
        size = sealed_size(held.task.mechanism.layout.size)
        rows = self._rows("select id, reports from log where task = ? order by id", held.number)
        frames = np.frombuffer(b"".join(reports for _, reports in rows), f"V{size}")
        taken, rest = np.split(frames, [min(len(frames), MOST_BATCH // size)])
        name = noise.generator().bytes(16).tobytes()
        batch = (name, held.number, taken[noise.permutation(len(taken))].tobytes())
        left = [(held.number, 0, None, rest.tobytes())] if len(rest) else []
        run([
            ("insert into batch values (?, ?, ?)", [batch]), *_gone(held.number, rows[-1][0]), (sqlite._APPEND, left),
        ])  # fmt: skip
        self._stale = True

    def batches(self) -> list[tuple[bytes, int]]:
        """Return the names of the batches that the collector does not have, and the numbers of their tasks."""
        return self._rows("select name, task from batch order by name")

    def content(self, name: bytes) -> bytes:
        """Return the frames of a batch."""
        return bytes(self._rows("select content from batch where name = ?", name)[0][0])

    def delivered(self, run: Run, name: bytes, *, lost: int = 0) -> None:
        """Remove a batch that the collector has, or one with so many frames that it never takes."""
        more = "insert into refused select task, ?, ? from batch where name = ?"
        kept = "on conflict (task, reason) do update set n = n + excluded.n"
        noted = [(LOST, lost, name)] if lost else []
        run([(f"{more} {kept}", noted), ("delete from batch where name = ?", [(name,)])])
        self._stale = True


def _gone(number: int, last: int) -> list[tuple[str, list[tuple[object, ...]]]]:
    """Return the statements that remove the log of a task up to an id, and since when it waited."""
    return [
        ("delete from log where task = ? and id <= ?", [(number, last)]),
        ("delete from fact where name = ?", [(_SINCE % number,)]),
    ]
