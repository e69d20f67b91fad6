"""A disk that forgets what was not synced, and a power cut that comes when it likes."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from discreet.accounts.chain import Disk


class PowerCut(Exception):
    """Everything that is not on the disk is lost."""


class ForgetfulDisk(Disk):
    """Keeps what was synced; cuts the power at the ``last`` call, or goes on for ever."""

    def __init__(self, draw: random.Random, last: int | None = None) -> None:
        self.draw, self.last, self.calls = draw, last, 0
        self.durable: bytes | None = None
        #: What somebody else does between a writer's line and its sync.
        self.meanwhile: Callable[[], None] | None = None

    def _call(self) -> bool:
        """Count a call; tell whether the power goes within it."""
        self.calls += 1
        if self.last is not None and self.calls > self.last:
            raise PowerCut
        return self.calls == self.last

    def append(self, handle: int, data: bytes) -> None:
        if self._call():
            super().append(handle, data[: self.draw.randrange(len(data) + 1)])
            raise PowerCut
        super().append(handle, data)

    def cut(self, handle: int, size: int) -> None:
        if self._call() and self.draw.random() < 0.5:
            raise PowerCut
        super().cut(handle, size)

    def sync(self, handle: int) -> None:
        other, self.meanwhile = self.meanwhile, None
        if other is not None:
            other()
        gone = self._call()
        if gone and self.draw.random() < 0.5:
            raise PowerCut
        self.durable = os.pread(handle, os.fstat(handle).st_size, 0)
        if gone:
            raise PowerCut

    def sync_folder(self, folder: Path) -> None:
        self._call()

    def after_the_cut(self, path: Path) -> None:
        """Leave what a disk may hold then: all that was synced, and of the rest a part from the beginning."""
        kept, held = self.durable or b"", path.read_bytes()
        if held.startswith(kept):
            rest = held[len(kept) :]
            kept += rest[: self.draw.randrange(len(rest) + 1)]
        path.write_bytes(kept)


class LazyDisk(ForgetfulDisk):
    """The same for a writer that does not wait: nothing is ever synced but the first line."""

    def sync(self, handle: int) -> None:
        durable = self.durable
        super().sync(handle)
        self.durable = self.durable if durable is None else durable
