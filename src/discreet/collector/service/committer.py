"""Group commit: many requests share one transaction, and each is answered when it is durable.

One thread writes. While it waits for the disk, the event loop gathers posts for the next transaction. Another thread
maintains the store; its work is part of the same transactions, a bounded piece in each.
"""

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np

from discreet.collector.stores.base import Held, Outcome, Post, Store, Work
from discreet.errors import DiscreetError, StoreUnavailable
from discreet.local.tasks import impossible

log = logging.getLogger("discreet.collector")
#: Most posts, and bytes of reports, per transaction.
MOST_POSTS, MOST_BYTES = 4096, 1 << 24
#: Seconds between two rounds of maintenance, and between two records of the running time.
TIDY, TICK = 1.0, 30.0

#: Posts that are written together or not at all, and the future that gets their outcomes.
Waiting = tuple[Sequence[Post], Held, "asyncio.Future[Any]"]


@dataclass
class _Work:
    statements: Work
    done: threading.Event = field(default_factory=threading.Event)
    error: DiscreetError | None = None


class Committer:
    """Writes posts in groups. `put` is called on the event loop; two threads do the rest.

    At most ``most_waiting`` bytes of reports may wait before new ones are refused. A shuffler cannot check reports.
    """

    def __init__(
        self, store: Store, loop: asyncio.AbstractEventLoop, *, most_waiting: int = 1 << 26, checks: bool = True
    ) -> None:
        self.store, self._loop, self.most_waiting, self.checks = store, loop, most_waiting, checks
        self._posts: deque[Waiting] = deque()
        self._work: deque[_Work] = deque()
        self._wake = threading.Condition()
        self._stopping, self._stopped, self._last = False, threading.Event(), False
        self.waiting_bytes = 0
        self.ready = True
        #: Numbers of refused frames that are not in the store yet.
        self.refused: Counter[tuple[str, str]] = Counter()
        self.commits, self.commit_seconds, self.committed = 0, 0.0, 0
        self._threads = [
            threading.Thread(target=self._write, name="writer", daemon=True),
            threading.Thread(target=self._keep, name="keeper", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def full(self) -> bool:
        """True if the queue is full: later posts must be sent again."""
        return self.waiting_bytes >= self.most_waiting

    def put(self, held: Held, *posts: Post) -> asyncio.Future[Any]:
        """Queue posts of one task; the future gets a list with the `Outcome` of each, or its error."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self.waiting_bytes += _bytes(posts)
        with self._wake:
            self._posts.append((posts, held, future))
            self._wake.notify()
        return future

    def run(self, statements: Work) -> None:
        """Execute statements in the next transaction, and wait for it."""
        if self._stopped.is_set() and not self._last:
            raise StoreUnavailable("the collector ends")  # an unfinished fold is repeated at the next start
        work = _Work(statements)
        with self._wake:
            self._work.append(work)
            self._wake.notify()
        work.done.wait()
        if work.error is not None:
            raise work.error

    def stop(self) -> None:
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._stopped.set()
        for thread in reversed(self._threads):
            if thread.is_alive():
                thread.join(30)

    # ---- the writer

    def _write(self) -> None:
        while True:
            with self._wake:
                while not (self._posts or self._work or self._stopping):
                    self._wake.wait()
                if not (self._posts or self._work) and not self._threads[1].is_alive():
                    return
                group = self._group()
                work = self._work.popleft() if self._work else None
            if not group and work is None:
                self._stopped.wait(0.01)
                self._threads[1].join(0.01)
                continue
            self._transaction(group, work)

    def _group(self) -> list[Waiting]:
        """Take the posts of the next transaction."""
        group: list[Waiting] = []
        total = n = 0
        while self._posts and n < MOST_POSTS and total < MOST_BYTES:
            group.append(self._posts.popleft())
            n += len(group[-1][0])
            total += _bytes(group[-1][0])
        return group

    def _transaction(self, group: list[Waiting], work: _Work | None) -> None:
        posts = [post for several, _, _ in group for post in several]
        held = {one.task.digest: one for _, one, _ in group} if self.checks else {}
        answers = _checked(posts, held)
        good = [i for i, answer in enumerate(answers) if answer is None]
        started = monotonic()
        try:
            outcomes = self.store.commit([posts[i] for i in good], work.statements if work else ())
            for i, outcome in zip(good, outcomes, strict=True):
                answers[i] = outcome
            if not self.ready:
                log.warning("the store takes reports again")
            self.ready = True
        except DiscreetError as error:
            for i in good:
                answers[i] = error
            if work is not None:
                work.error = error
            if self.ready:
                log.error("%s", error)
            self.ready = False
        self.commits += 1
        self.commit_seconds += monotonic() - started
        self.committed += sum(answers[i] is Outcome.NEW for i in good)
        if work is not None:
            work.done.set()
        if group:
            self._loop.call_soon_threadsafe(self._answer, group, answers)

    def _answer(self, group: list[Waiting], answers: list[Any]) -> None:
        """Answer the requests; runs on the event loop."""
        start = 0
        for posts, _, future in group:
            self.waiting_bytes -= _bytes(posts)
            if not future.done():
                future.set_result(answers[start : start + len(posts)])
            start += len(posts)

    # ---- the keeper

    def _keep(self) -> None:
        ticked = monotonic()
        while not self._stopped.wait(TIDY):
            tick = monotonic() - ticked >= TICK or not self.ready
            self._tidied(tick=tick)
            ticked = monotonic() if tick else ticked
        self._last = True
        # So that others can count the segments while this collector is down.
        self._tidied(tick=True, all_of_it=self.store.segments is not None)

    def _tidied(self, *, tick: bool, all_of_it: bool = False) -> None:
        try:
            if tick:
                self.store.tick(self.run)
            refused, self.refused = self.refused, Counter()
            if refused:
                self.store.note_refused(self.run, dict(refused))
            if all_of_it or not self._last:
                self.store.tidy(self.run, all_of_it=all_of_it)
        except StoreUnavailable as error:
            if not self._stopped.is_set():
                log.warning("maintenance failed: %s", error)
        except DiscreetError as error:
            log.error("maintenance failed: %s", error)


def _bytes(posts: Sequence[Post]) -> int:
    """Return the bytes of posts in memory, with the overhead of each."""
    return sum(len(post.reports) + 256 for post in posts)


def _checked(posts: Sequence[Post], held: Mapping[str, Held]) -> list[Any]:
    """Check the reports of the given tasks at once; None for a valid post, else the error."""
    answers: list[Any] = [None] * len(posts)
    by_task: dict[str, list[int]] = {}
    for i, post in enumerate(posts):
        by_task.setdefault(post.task, []).append(i)
    for task in by_task.keys() & held.keys():
        members, mechanism = by_task[task], held[task].task.mechanism
        rows = np.frombuffer(b"".join([posts[i].reports for i in members]), np.uint8)
        possible = mechanism.possible(rows.reshape(-1, mechanism.layout.size))
        if possible.all():
            continue
        starts = np.cumsum([0, *(posts[i].n for i in members)])
        for i, start, end in zip(members, starts, starts[1:], strict=False):
            if not possible[start:end].all():
                answers[i] = impossible(possible[start:end])
    return answers
