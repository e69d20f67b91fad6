"""The file of a device: its secret, its spending, the tasks it answered, and the reports that wait.

The client in JavaScript keeps the same text in its store. The file is written under another name, synced, and moved
into place. A charge and its report are in one write: no crash leaves a report that was not charged.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core import NewFile, refuse_later, sync_folder, written_amount
from discreet.errors import DataSourceError, FormatError
from discreet.local.repeated.memo import Memo

_FORMAT, _VERSION = "discreet.device", 1


@dataclass
class DeviceState:
    """The content of the file. Amounts are exact rationals in text; reports and frames are in hexadecimal.

    ``day`` is the last local day with spending, ``today`` the spending on it by task, ``life`` all spending. ``tasks``
    are those answered so far, by digest. ``queue`` holds (task, report), ``frames`` (task, frame, first attempt in the
    device's seconds or None, reports): what no collector has acknowledged.
    """

    secret: str
    day: str = ""
    today: dict[str, str] = field(default_factory=dict)
    life: str = "0"
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    queue: list[list[str]] = field(default_factory=list)
    frames: list[list[Any]] = field(default_factory=list)

    def memo(self, question: str) -> Memo:
        """Return the secret of one question as a `Memo`.

        Each question has its own: with shared stored responses, equal ones would show that two answers are equal.
        """
        return Memo(hmac.digest(bytes.fromhex(self.secret), question.encode("utf-8", "replace"), hashlib.sha256))

    def spent_today(self, task: str | None = None) -> Fraction:
        """Return the spending of the last day: on one task, or on all."""
        chosen = (amount for name, amount in self.today.items() if task in (None, name))
        return sum(map(written_amount, chosen), start=Fraction(0))

    def charge(self, task: str, of_day: Fraction, of_life: Fraction) -> None:
        self.today[task] = str(self.spent_today(task) + of_day)
        self.life = str(written_amount(self.life) + of_life)

    def to_json(self) -> str:
        return json.dumps({"format": _FORMAT, "version": _VERSION, **asdict(self)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes, name: str = "the device file") -> DeviceState:
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError):
            facts = None
        refuse_later(name, facts, _VERSION, "version")
        try:
            state = cls(**{one.name: facts.pop(one.name) for one in fields(cls)})
            kinds = [type(part) for part in (state.tasks, state.queue, state.frames)]
            if facts != {"format": _FORMAT, "version": _VERSION} or kinds != [dict, list, list]:
                raise ValueError
            _ = Memo(bytes.fromhex(state.secret)), state.spent_today(), written_amount(state.life)
        except (ValueError, TypeError, KeyError, AttributeError):
            told = f"{name} is damaged or not a device file: what was spent is unknown; "
            raise FormatError(told + "delete it only if the device may start over with a new budget") from None
        return state


class DeviceFile:
    """The file of one device, held by one program at a time."""

    def __init__(self, path: str | Path) -> None:
        # One file has one lock, whatever links lead to it.
        self._path = Path(path).expanduser().resolve()
        self._lock, self._process = self._hold(), os.getpid()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            try:
                if self._path.exists():
                    self.state = DeviceState.from_json(self._path.read_bytes(), str(self._path))
                else:
                    self.state = DeviceState(Memo.draw().secret.hex())
                    self.save()
            except OSError as error:
                raise _unusable(self._path, error) from None
            undo.pop_all()

    def _hold(self) -> int:
        try:
            handle = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unusable(self._path, error) from None
        try:
            import fcntl
        except ImportError:  # pragma: no cover - Windows: one program at a time is then up to the application
            return handle
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise DataSourceError(f"device: {str(self._path)!r} is in use by another program; close it there") from None
        return handle

    def save(self) -> None:
        with NewFile(self._path, private=True, durable=True) as out:  # the secret is for its owner alone
            out.file.write(self.state.to_json().encode())
            out.keep()
        sync_folder(self._path.parent)

    @contextlib.contextmanager
    def change(self) -> Iterator[DeviceState]:
        """Change the state and save it; if either fails, restore the state."""
        # A lock outlives neither `close` nor the way into a child process: what is in memory may be old there.
        if self._lock < 0 or self._process != os.getpid():
            raise DataSourceError(f"device: {str(self._path)!r} is not held by this client any more; open another")
        before, saved = self.state.to_json(), False
        try:
            yield self.state
            self.save()
            saved = True
        except OSError as error:
            raise _unusable(self._path, error) from None
        finally:
            if not saved:
                self.state = DeviceState.from_json(before)

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _unusable(path: Path, error: OSError) -> DataSourceError:
    return DataSourceError(f"device: cannot use {str(path)!r} ({error.strerror}); check the folder")
