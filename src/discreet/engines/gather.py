"""A pass over files from several places at once: a thread takes one unit (some row groups, a file) after the other.

Every thread adds up on its own, so memory is that of a few batches and of what is gathered, however large the files.
With a checkpoint the threads come together every so often, what they have is added up and saved, and a job that was
killed goes on from there.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from discreet.core import WORKERS, Meter
from discreet.engines.tables.part import Batch, Part, is_divided

T = TypeVar("T")
Found = TypeVar("Found", covariant=True)


@dataclass(frozen=True)
class Unit:
    """Some rows of a part: what one thread reads in one go.

    Attributes
    ----------
    part : Part
        Where they are.
    positions : sequence of int
        The columns to read.
    number : int or None
        Which unit of the part; None is all of it.
    size : int
        How much of the source it is.
    """

    part: Part
    positions: Sequence[int]
    number: int | None
    size: int

    def read(self, batch_size: int) -> Iterator[Batch]:
        """Yield the rows."""
        if self.number is None:
            return self.part.read(self.positions, batch_size)
        assert is_divided(self.part)
        return self.part.read_unit(self.number, self.positions, batch_size)


def units_of(parts: Sequence[Part], positions: Sequence[Sequence[int]]) -> list[Unit]:
    """Divide parts as far as they can be."""
    units = []
    for part, places in zip(parts, positions, strict=True):
        if is_divided(part):
            units += [Unit(part, places, i, rows) for i, rows in enumerate(part.units)]
        else:
            units.append(Unit(part, places, None, part.size()))
    return units


class SavedProgress(Protocol[T]):
    """Where a job saves what it has; see `discreet.engines.checkpoint`."""

    #: Seconds between two savings.
    every: float

    def load(self) -> tuple[set[int], T | None]:
        """Return the units that are done and what they gave."""

    def save(self, done: set[int], total: T) -> None:
        """Keep what the units gave that are done."""


class RowGatherer(Protocol[Found]):
    """Takes in some rows of a part at a time."""

    def add(self, part: Part, pieces: list[Any]) -> None:
        """Take in a batch."""

    def result(self) -> Found:
        """Return what was gathered; it can be added to that of another."""


def gather(
    start: Callable[[], RowGatherer[T]],
    units: Sequence[Unit],
    *,
    batch_size: int,
    progress: bool | None,
    saved: SavedProgress[T] | None = None,
) -> T:
    """Add up what all units give.

    Parameters
    ----------
    start : callable
        Makes an empty adder; called once for every thread (and again after every saving).
    units : sequence of Unit
        The work.
    batch_size : int
        Rows a thread holds at a time.
    progress : bool or None
        As in `Source.count`.
    saved : SavedProgress, optional
        Where to save, and to go on from.
    """
    done, total = saved.load() if saved is not None else (set(), None)
    waiting = deque(i for i in range(len(units)) if i not in done)
    with Meter(sum(unit.size for unit in units), progress) as meter:
        meter.advance(sum(units[i].size for i in done))
        while waiting:
            until = math.inf if saved is None else time.monotonic() + saved.every
            for finished, found in _round(start, units, waiting, until, batch_size, meter):
                done |= finished
                total = found if total is None else total + found  # type: ignore[operator]
            if saved is not None and total is not None:
                saved.save(done, total)
    return start().result() if total is None else total


def _round(
    start: Callable[[], RowGatherer[T]],
    units: Sequence[Unit],
    waiting: deque[int],
    until: float,
    batch_size: int,
    meter: Meter,
) -> list[tuple[set[int], T]]:
    """Let the threads work until a point in time, each on whole units and at least on one."""
    lock, halt = threading.Lock(), threading.Event()

    def work(_: int) -> tuple[set[int], T]:
        adder, whole = start(), False
        finished: set[int] = set()
        try:
            while not halt.is_set() and (not finished or time.monotonic() < until):
                try:
                    number = waiting.popleft()
                except IndexError:
                    break
                unit = units[number]
                for pieces, amount in unit.read(batch_size):
                    if halt.is_set():
                        break
                    adder.add(unit.part, pieces)
                    with lock:
                        meter.advance(amount)
                else:
                    finished.add(number)
            whole = True
        finally:
            if not whole:
                halt.set()  # something went wrong: the others need not go on
        return finished, adder.result()

    workers = min(WORKERS, len(waiting))
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            return list(pool.map(work, range(workers)))
        finally:
            halt.set()  # also when the main thread is interrupted
