"""Progress of work: a bar on the terminal, and listeners in this process.

Both receive a share and the name of a stage, but no number of rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 2.0
#: Told the name of a stage and the share of it that is done, None where that is not known; perhaps from many threads.
Listener = Callable[[str, float | None], None]
#: Of the whole process: threads of a count do not inherit context variables.
_listeners: list[Listener] = []


@contextmanager
def followed(listener: Listener) -> Iterator[None]:
    """Report the progress of all work in this process to ``listener``."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def stage(name: str, share: float | None = None) -> None:
    """Report the current stage: counting, model, sampling, clusters, groups or page."""
    for listener in tuple(_listeners):
        listener(name, share)


class Meter:
    """Measures work of a known size and shows a bar if it takes long.

    ``progress``: True shows the bar at once, False never, None if stderr is a terminal and the work takes long.
    """

    def __init__(self, total: int, progress: bool | None = None) -> None:
        self._total, self._done = total, 0
        self._wanted = sys.stderr.isatty() if progress is None else progress
        self._due = time.monotonic() + (0.0 if progress else PATIENCE)
        self._bar: tuple[Progress, TaskID] | None = None

    def advance(self, amount: int) -> None:
        """Note that this much more is done."""
        self._done += amount
        self._tell()
        if self._bar is None and self._wanted and time.monotonic() >= self._due:
            self._bar = self._start()
        if self._bar is not None:
            self._bar[0].update(self._bar[1], completed=self._done)

    def _tell(self) -> None:
        if _listeners:
            stage("counting", min(self._done / self._total, 1.0) if self._total else None)

    def _start(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        task = bar.add_task("counting", total=self._total, completed=self._done)
        bar.start()
        return bar, task

    def __enter__(self) -> Meter:
        self._tell()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar[0].stop()
