"""The interface of every store, and the records it exchanges with the service.

A store knows a report by its task, its period and its key; what is in it is for `discreet.local` to say. It holds noisy
reports, counters, keys and tasks: no address, no time finer than the period, nothing else of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol
from zlib import crc32

import numpy as np

from discreet.errors import DataSourceError, InvalidArgument
from discreet.local import Counts, Task

#: Statements with their rows, to be run in the writer's next transaction.
Work = Sequence[tuple[str, Sequence[tuple[Any, ...]]]]
#: Carries work out, and returns when it is durable.
Run = Callable[[Work], None]

#: Counters of one task: 256 MiB.
MOST_COUNTERS = 1 << 25
#: The form of the tables.
FORMAT = 1
#: Log that is folded in one go, in bytes; and log that is left lying although a state is smaller.
MOST_FOLDED, LEAST_FOLDED = 1 << 24, 1 << 18
#: Rows of the log beyond which it is folded, however small they are.
MOST_ROWS = 4096


class Outcome(IntEnum):
    """Outcome of a post: counted, counted before, or refused because its key was used for other reports."""

    NEW = 0
    AGAIN = 1
    OTHER = 2


class Post(NamedTuple):
    """A checked request: reports of one task under one key."""

    task: str
    period: int
    key: bytes
    n: int
    reports: bytes

    @property
    def checked(self) -> int:
        """A short sum by which another post under the same key is noticed."""
        return crc32(self.reports)


@dataclass(frozen=True)
class Held:
    """A task as a store holds it."""

    number: int
    task: Task
    closed: bool


class Store(Protocol):
    """The methods that service, command line and tests use."""

    #: Where reports go as Parquet; None where they are counted.
    segments: Path | None

    def create(self, task: Task) -> bool:
        """Take a task in; False if it is there already."""

    def tasks(self) -> dict[str, Held]:
        """Return all tasks by their digest."""

    def close_task(self, task: str) -> None:
        """Take no more reports of a task."""

    def commit(self, posts: Sequence[Post], work: Work = ()) -> list[Outcome]:
        """Take posts in. When this returns they are durable; when it raises none of them was acknowledged."""

    def counts(self, task: str) -> dict[int, Counts]:
        """Return the counts of every period of a task."""

    def refused(self, task: str) -> dict[str, int]:
        """Return how many frames of a task were refused, by reason."""

    def note_refused(self, run: Run, found: dict[tuple[str, str], int]) -> None:
        """Add to the numbers of refused frames, by task and reason."""

    def tick(self, run: Run) -> None:
        """Remember how long the store ran; fails where nothing can be written."""

    def tidy(self, run: Run, *, all_of_it: bool = False) -> None:
        """Fold the log into counters, in bounded steps, and forget keys whose window is over."""

    def shut(self) -> None:
        """Let go of files and connections."""


class Ages:
    """Total running time of a store. Keys expire by it, never by a clock that someone can set.

    Time in which the collector was down does not count: a key is remembered for at least the window that its task
    states, and for less than three windows of running.
    """

    def __init__(self, ran: float) -> None:
        self._before, self._since = ran, monotonic()

    @property
    def ran(self) -> float:
        """Seconds of running."""
        return self._before + monotonic() - self._since

    def age(self, task: Task) -> int:
        """Return the number of whole windows of a task."""
        return int(self.ran // task.key_window)

    def forgotten(self, task: Task) -> int:
        """Return the age below which keys are forgotten."""
        return self.age(task) - 1


def joined(task: Task, reports: Iterable[bytes], counts: Counts | None) -> Counts:
    """Count reports that lie one after the other, on top of earlier counts."""
    counts = task.mechanism.empty() if counts is None else counts
    size = task.mechanism.layout.size
    for part in _parts(reports):
        counts.add(np.frombuffer(part, np.uint8).reshape(-1, size))
    return counts


def _parts(reports: Iterable[bytes], most: int = 1 << 22) -> Iterator[bytes]:
    """Join reports to pieces of some size: to count many at once is what makes counting cheap."""
    held: list[bytes] = []
    total = 0
    for one in reports:
        held.append(one)
        total += len(one)
        if total >= most:
            yield b"".join(held)
            held, total = [], 0
    if held:
        yield b"".join(held)


def counters_of(task: Task) -> int:
    """Return how many counters a task begins with."""
    return sum(int(a.size) for a in task.mechanism.empty().counters.values())


def check_size(task: Task) -> None:
    """Refuse a task whose counters are more than a collector should hold in memory while it folds."""
    n = counters_of(task)
    if n > MOST_COUNTERS:
        raise InvalidArgument("mechanism", f"{n:,} counters", f"one with at most {MOST_COUNTERS:,} counters")


def check_format(found: int) -> None:
    """Refuse a store that a later version wrote."""
    if found > FORMAT:
        raise DataSourceError(f"store: it has form {found}, and this version reads up to {FORMAT}; upgrade discreet")


def find_task(store: Store, digest: str) -> Held:
    """Return a task by its digest, or by the beginning of one: eight characters at least.

    Examples
    --------
    >>> import tempfile
    >>> from discreet.collector import open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(folder)
    ...     try:
    ...         find_task(store, "3f2a91c0")
    ...     except DataSourceError as error:
    ...         print(error)
    ...     store.shut()
    task: none has the digest '3f2a91c0'; discreet collect task list shows them
    """
    tasks = store.tasks()
    if len(digest) < 8:
        raise DataSourceError(
            f"task: {digest!r} is too short; give at least eight characters of a digest: discreet collect task list "
            "shows them"
        )
    found = [known for known in tasks if known == digest or (len(digest) >= 8 and known.startswith(digest))]
    return known(tasks, found[0] if len(found) == 1 else digest)


def known(tasks: dict[str, Held], digest: str) -> Held:
    """Return a task that must be there."""
    if digest not in tasks:
        raise DataSourceError(f"task: none has the digest {digest!r}; discreet collect task list shows them")
    return tasks[digest]
