"""A pass over files in several threads. A thread reads one unit (some row groups, a file) after the other.

Each thread adds up on its own, so memory holds a few batches and the sums, however large the files are.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from discreet.core import WORKERS, Meter
from discreet.engines.tables.part import Part, is_divided


@dataclass(frozen=True)
class Unit:
    """Rows of a part that one thread reads in one go."""

    part: Part
    #: Columns to read.
    positions: Sequence[int]
    #: Number of the unit within the part; None means the whole part.
    number: int | None
    #: Share of the source, in the unit of the progress bar.
    size: int

    def read(self, batch_size: int) -> Any:
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


def gather(start: Callable[[], Any], units: Sequence[Unit], *, batch_size: int) -> Any:
    """Add up the results of all units. Each thread calls ``start`` once for an adder of batches (`_Encoding`)."""
    waiting, lock, halt = deque(units), threading.Lock(), threading.Event()

    def work(_: int) -> Any:
        adder, whole = start(), False
        try:
            while waiting and not halt.is_set():
                try:
                    unit = waiting.popleft()
                except IndexError:  # another thread took the last one
                    break
                for pieces, amount in unit.read(batch_size):
                    if halt.is_set():
                        break
                    adder.add(unit.part, pieces)
                    with lock:
                        meter.advance(amount)
            whole = True
        finally:
            if not whole:
                halt.set()  # after an error, the other threads need not go on
        return adder.result()

    workers = max(1, min(WORKERS, len(units)))
    with Meter(sum(unit.size for unit in units)) as meter, ThreadPoolExecutor(workers) as pool:
        try:
            total, *others = pool.map(work, range(workers))
        finally:
            halt.set()  # also when the main thread is interrupted
    for other in others:
        total += other
    return total
