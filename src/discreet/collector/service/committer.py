"""Group commit: posts of many requests go into one transaction, and each is answered when it is durable.

One thread writes. While it waits for the disk, the event loop goes on gathering what the next transaction will hold.
Another thread keeps the store tidy; its work travels in the same transactions, a bounded piece in each.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np

from discreet.collector.stores.base import Held, Outcome, Post, Store, Work
from discreet.errors import DiscreetError, StoreUnavailable
from discreet.local.tasks import impossible

log = logging.getLogger("discreet.collector")
#: Posts, and bytes of reports, that go into one transaction.
MOST_POSTS, MOST_BYTES = 4096, 1 << 24
#: Seconds between two looks at what there is to tidy, and between two notes of how long the store ran.
TIDY, TICK = 1.0, 30.0

Waiting = tuple[Post, Held, "asyncio.Future[Any]"]


@dataclass
class _Work:
    statements: Work
    done: threading.Event = field(default_factory=threading.Event)
    error: DiscreetError | None = None


class Committer:
    """Writes what requests bring, in groups; `put` is called on the event loop, all else happens on two threads.

    Parameters
    ----------
    store : Store
        Where to.
    loop : event loop
        Where the futures live.
    most_waiting : int
        Bytes of reports that may wait before new ones are turned away.
    """

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop, *, most_waiting: int = 1 << 26) -> None:
        self.store, self._loop, self.most_waiting = store, loop, most_waiting
        self._posts: deque[Waiting] = deque()
        self._work: deque[_Work] = deque()
        self._wake = threading.Condition()
        self._stopping, self._stopped, self._last = False, threading.Event(), False
        self.waiting_bytes = 0
        self.ready = True
        #: What frames were refused for, since the store was told last.
        self.refused: Counter[tuple[str, str]] = Counter()
        self.commits, self.commit_seconds, self.committed = 0, 0.0, 0
        self._threads = [
            threading.Thread(target=self._write, name="writer", daemon=True),
            threading.Thread(target=self._keep, name="keeper", daemon=True),
        ]

    def start(self) -> None:
        """Start both threads."""
        for thread in self._threads:
            thread.start()

    @property
    def full(self) -> bool:
        """True if the queue is full: later posts must be sent again."""
        return self.waiting_bytes >= self.most_waiting

    def put(self, post: Post, held: Held) -> asyncio.Future[Any]:
        """Hand a post to the next transaction; the future has its `Outcome`, or why there is none."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self.waiting_bytes += len(post.reports) + 256  # what a small post costs here is not its bytes
        with self._wake:
            self._posts.append((post, held, future))
            self._wake.notify()
        return future

    def run(self, statements: Work) -> None:
        """Have statements carried out in the next transaction, and wait for it."""
        if self._stopped.is_set() and not self._last:
            raise StoreUnavailable("the collector ends")  # what is half folded is folded when it begins again
        work = _Work(statements)
        with self._wake:
            self._work.append(work)
            self._wake.notify()
        work.done.wait()
        if work.error is not None:
            raise work.error

    def stop(self) -> None:
        """Write all that waits, and end."""
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
        """Take what goes into one transaction."""
        group: list[Waiting] = []
        total = 0
        while self._posts and len(group) < MOST_POSTS and total < MOST_BYTES:
            group.append(self._posts.popleft())
            total += len(group[-1][0].reports)
        return group

    def _transaction(self, group: list[Waiting], work: _Work | None) -> None:
        answers = _checked(group)
        good = [i for i, answer in enumerate(answers) if answer is None]
        started = monotonic()
        try:
            outcomes = self.store.commit([group[i][0] for i in good], work.statements if work else ())
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
        """On the event loop: let the requests go on."""
        for (post, _, future), answer in zip(group, answers, strict=True):
            self.waiting_bytes -= len(post.reports) + 256
            if not future.done():
                future.set_result(answer)

    # ---- the keeper

    def _keep(self) -> None:
        ticked = monotonic()
        while not self._stopped.wait(TIDY):
            tick = monotonic() - ticked >= TICK or not self.ready
            self._tidied(tick=tick)
            ticked = monotonic() if tick else ticked
        self._last = True
        # Others can count segments while this collector is down.
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
                log.warning("not tidied: %s", error)
        except DiscreetError as error:
            log.error("not tidied: %s", error)


def _checked(group: Sequence[Waiting]) -> list[Any]:
    """Look into the reports of many posts at once; None for a post that devices can have made, else what is wrong."""
    answers: list[Any] = [None] * len(group)
    by_task: dict[str, list[int]] = {}
    for i, (post, _, _) in enumerate(group):
        by_task.setdefault(post.task, []).append(i)
    for members in by_task.values():
        mechanism = group[members[0]][1].task.mechanism
        rows = np.frombuffer(b"".join([group[i][0].reports for i in members]), np.uint8)
        possible = mechanism.possible(rows.reshape(-1, mechanism.layout.size))
        if possible.all():
            continue
        starts = np.cumsum([0, *(group[i][0].n for i in members)])
        for i, start, end in zip(members, starts, starts[1:], strict=False):
            if not possible[start:end].all():
                answers[i] = impossible(possible[start:end])
    return answers
