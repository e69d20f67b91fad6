"""A progress bar for long counts, on the terminal of whoever holds the data and nowhere else.

It shows a share and a time, no number of rows.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

#: A bar appears when a count takes longer than this many seconds.
PATIENCE = 2.0


class Meter:
    """Follows work of a known size and shows a bar if it takes long.

    Parameters
    ----------
    total : int
        Size of the work, in any unit.
    progress : bool or None
        True shows the bar at once, False never, None when stderr is a terminal and the work takes long.

    Examples
    --------
    >>> with Meter(10, progress=False) as meter:
    ...     meter.advance(10)
    """

    def __init__(self, total: int, progress: bool | None) -> None:
        self._total, self._done = total, 0
        self._wanted = sys.stderr.isatty() if progress is None else progress
        self._due = time.monotonic() + (0.0 if progress else PATIENCE)
        self._bar: tuple[Progress, TaskID] | None = None

    def advance(self, amount: int) -> None:
        """Note that this much more is done."""
        self._done += amount
        if self._bar is None and self._wanted and time.monotonic() >= self._due:
            self._bar = self._start()
        if self._bar is not None:
            self._bar[0].update(self._bar[1], completed=self._done)

    def _start(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        task = bar.add_task("counting", total=self._total, completed=self._done)
        bar.start()
        return bar, task

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()
