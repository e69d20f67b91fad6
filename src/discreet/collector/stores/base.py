"""The interface of every store, and the records it exchanges with the service.

A store holds noisy reports, counters, keys and tasks: no address, nothing else of a request, and no time finer than the
period, except the number of the window in which each key came. `discreet.local` interprets the reports.
"""

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from discreet.core.schema import without_password
from discreet.errors import DataSourceError, InvalidArgument
from discreet.local import Counts, Task

#: Statements with their rows, to be run in the writer's next transaction.
Work = Sequence[tuple[str, Sequence[tuple[Any, ...]]]]
#: Executes work, and returns when it is durable.
Run = Callable[[Work], None]

#: Counters of one task: 256 MiB.
MOST_COUNTERS = 1 << 25
#: The version of the tables.
FORMAT = 1
#: The most bytes of the log that are folded at once, and the fewest.
MOST_FOLDED, LEAST_FOLDED = 1 << 24, 1 << 18
#: Bytes of reports that are counted at once.
_COUNTED = 1 << 22
#: Rows of the log beyond which it is folded, however small they are.
MOST_ROWS = 4096
#: The reason of reports that a shuffler deleted, and the age of keys that are never forgotten.
LOST, NEVER = "lost", 1 << 62


class Outcome(IntEnum):
    """Outcome of a post: counted, counted before, or refused because its key was used for other reports."""

    NEW = 0
    AGAIN = 1
    OTHER = 2


class Post(NamedTuple):
    """A checked request: reports of one task under one key. A batch of a shuffler has a key that is never forgotten."""

    task: str
    period: int
    key: bytes
    n: int
    reports: bytes
    for_ever: bool = False

    @property
    def checked(self) -> int:
        """A checksum that reveals another post under the same key."""
        return crc32(self.reports)


@dataclass(frozen=True)
class Held:
    """A task as a store holds it."""

    number: int
    task: Task
    closed: bool


class Store:
    """The methods that service, command line and tests use. Statements mark a value with ``?``.

    Examples
    --------
    >>> open_store("collected").tasks()  # doctest: +SKIP
    {}
    """

    #: The folder for reports as Parquet; None if they are counted.
    segments: Path | None = None

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._looking = threading.Lock()

    def _change(self, line: str, values: tuple[object, ...]) -> int:
        """Execute one statement, durably, and return how many rows it changed."""
        raise NotImplementedError

    def _rows(self, line: str, *values: object) -> list[Any]:
        """Return the rows of a question."""
        raise NotImplementedError

    def create(self, task: Task) -> bool:
        """Add a task; False if it exists."""
        check_size(task)
        line = "insert into task (id, description) values (?, ?) on conflict do nothing"
        return self._change(line, (task.digest, task.to_json())) > 0

    def tasks(self) -> dict[str, Held]:
        """Return all tasks by their digest."""
        with self._looking:  # the first reader must not write last
            rows = self._rows("select number, id, description, closed from task order by number")
            old = self._held  # these are not parsed again
            self._held = {
                digest: Held(number, old[digest].task if digest in old else Task.from_json(text), bool(closed))
                for number, digest, text, closed in rows
            }
            return self._held

    def _known(self, task: str) -> Held:
        return self._held[task] if task in self._held else known(self.tasks(), task)

    def close_task(self, task: str) -> None:
        """Accept no more reports for a task."""
        known(self.tasks(), task)
        self._change("update task set closed = true where id = ?", (task,))

    def commit(self, posts: Sequence[Post], work: Work = ()) -> list[Outcome]:
        """Write posts. When this returns they are durable; when it raises none of them was acknowledged."""
        raise NotImplementedError

    def counts(self, task: str) -> dict[int, Counts]:
        """Return the counts of every period of a task."""
        raise NotImplementedError

    def log_of(self, task: str) -> dict[int, Any]:
        """Return the reports of a task that wait to be moved to a segment, as tables by period."""
        return {}

    @property
    def moves_to(self) -> str | None:
        """The folder to which a collector moves the reports of this store; None if it counts them."""
        return None

    def knows(self, task: str, key: bytes) -> bool:
        """Return whether a key of a task was used."""
        return bool(self._rows("select 1 from seen where task = ? and key = ?", self._known(task).number, key))

    def refused(self, task: str) -> dict[str, int]:
        """Return the numbers of refused frames of a task, by reason."""
        line = "select reason, n from refused where task = ? order by reason"
        return dict(self._rows(line, self._known(task).number))

    def note_refused(self, run: Run, found: dict[tuple[str, str], int]) -> None:
        """Add to the numbers of refused frames, by task and reason."""
        more = "on conflict (task, reason) do update set n = refused.n + excluded.n"
        rows = [(self._known(task).number, reason, n) for (task, reason), n in sorted(found.items())]
        run([(f"insert into refused values (?, ?, ?) {more}", rows)])

    def note_lost(self, task: str, n: int) -> None:
        """Record how many reports of a task its shuffler has deleted so far."""
        line = "on conflict (task, reason) do update set n = excluded.n where refused.n < excluded.n"
        self._change(f"insert into refused values (?, '{LOST}', ?) {line}", (self._known(task).number, n))

    def tick(self, run: Run) -> None:
        """Record how long the store ran; fails if nothing can be written."""
        raise NotImplementedError

    def tidy(self, run: Run, *, all_of_it: bool = False) -> None:
        """Fold the log into counters, in bounded steps, and remove expired keys."""
        raise NotImplementedError

    def shut(self) -> None:
        """Close files and connections."""
        raise NotImplementedError


class Ages:
    """Total running time of a store. Keys expire by it, never by a clock that someone can set.

    Downtime does not count: a key is kept for at least the window of its task, and for less than three windows.
    """

    def __init__(self, ran: float) -> None:
        self._before, self._since = ran, monotonic()

    @property
    def ran(self) -> float:
        return self._before + monotonic() - self._since

    def age(self, task: Task) -> int:
        """Return the number of whole windows of a task."""
        return int(self.ran // task.key_window)

    def forgotten(self, task: Task) -> int:
        """Return the age below which keys are removed."""
        return self.age(task) - 1


def with_logs(task: Task, found: dict[int, Counts | None], logs: Mapping[int, Sequence[bytes]]) -> dict[int, Counts]:
    """Add the reports of the log to the counters, by period."""
    for period, reports in logs.items():
        found[period] = joined(task, reports, found.get(period))
    return {period: counts for period, counts in sorted(found.items()) if counts is not None}


def joined(task: Task, reports: Iterable[bytes], counts: Counts | None) -> Counts:
    """Count reports, in addition to earlier counts."""
    counts = task.mechanism.empty() if counts is None else counts
    size = task.mechanism.layout.size
    rows, step = np.frombuffer(b"".join(reports), np.uint8).reshape(-1, size), max(1, _COUNTED // size)
    for start in range(0, len(rows), step):
        counts.add(rows[start : start + step])
    return counts


def counters_of(task: Task) -> int:
    return sum(int(a.size) for a in task.mechanism.empty().counters.values())


def check_size(task: Task) -> None:
    """Refuse a task with more counters than a collector should hold in memory."""
    n = counters_of(task)
    if n > MOST_COUNTERS:
        raise InvalidArgument("mechanism", f"{n:,} counters", f"one with at most {MOST_COUNTERS:,} counters")


def check_format(found: int) -> None:
    """Refuse a store of a later version."""
    if found > FORMAT:
        raise DataSourceError(f"store: it has format {found}, and this version reads up to {FORMAT}; upgrade discreet")


def find_task(store: Store, digest: str) -> Held:
    """Return a task by its digest, or by at least the first eight characters of it.

    Examples
    --------
    >>> find_task(store, "3f2a91c0").task.name  # doctest: +SKIP
    'favourite colour'
    """
    tasks = store.tasks()
    if len(digest) < 8:
        raise DataSourceError(
            f"task: {digest!r} is too short; give at least eight characters of a digest: discreet collect task list "
            "shows them"
        )
    found = [known for known in tasks if known.startswith(digest)]
    return known(tasks, found[0] if len(found) == 1 else digest)


def known(tasks: dict[str, Held], digest: str) -> Held:
    """Return a task, or raise an error."""
    if digest not in tasks:
        raise DataSourceError(f"task: none has the digest {digest!r}; discreet collect task list shows them")
    return tasks[digest]


def open_store(
    address: str | Path, *, serving: bool = False, segments: str | Path | None = None, absent: str | None = None
) -> Store:
    """Open a store.

    Parameters
    ----------
    address : path or str
        A folder (SQLite), or ``postgresql://user:password@host/database``.
    serving : bool
        True to write reports; with SQLite only one process may.
    segments : path, optional
        A folder to write reports to as Parquet, instead of counting them; with SQLite.
    absent : str, optional
        Advice for a place without a store, which is then refused: an empty one would look like a collection without
        reports. By default a store is made there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(folder)
    ...     found = store.tasks()
    ...     store.shut()
    >>> found
    {}
    """
    text = str(address)
    found = re.match("([a-z][a-z0-9+.-]+):/+", text, re.IGNORECASE)  # a path has lost one of the slashes
    if text.startswith(("postgresql://", "postgres://")):
        from discreet.collector.stores.postgres import PostgresStore

        if segments is not None:
            raise DataSourceError("segments are written by collectors that keep reports in a folder; leave --store out")
        return PostgresStore(text, absent=absent)
    if found:
        place = without_password(f"postgresql://{text[found.end() :]}")
        given = place.replace("postgresql", found[1], 1)
        raise InvalidArgument("store", given, "a folder or the address of a PostgreSQL", f"store={place!r}")
    from discreet.collector.stores.sqlite import FILE, SqliteStore

    folder = Path(address).expanduser()
    if absent is not None and not (folder / FILE).is_file():
        what = "store of a collector in the folder" if folder.is_dir() else "folder"
        raise DataSourceError(f"data: there is no {what} {text!r}; {absent}")
    return SqliteStore(address, serving=serving, segments=segments)
