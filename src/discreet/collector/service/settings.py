"""Settings of a collector or a shuffler, its keys, and the limits it enforces."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from discreet import noise
from discreet.collector.stores.base import Store, open_store
from discreet.core import NewFile, write_whole, writing
from discreet.errors import DataSourceError, FormatError
from discreet.local.tasks import private_key

TOKEN, KEYS = "operator.token", "sealing.keys"
_SHORTEST = 16


@dataclass(frozen=True)
class Settings:
    """The store, the address, and limits on requests.

    Examples
    --------
    >>> settings = Settings(data="collected", port=9000)
    >>> settings.host, settings.most_body
    ('127.0.0.1', 4194304)
    """

    data: str = "collected"
    store: str | None = None
    segments: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    #: Most bytes of one request, and of all that wait to be written.
    most_body: int = 1 << 22
    most_waiting: int = 1 << 26
    #: Most reports of one task per second; None for no limit.
    rate: float | None = None
    #: The task of the simulation, whose page is served too.
    simulated: str | None = None
    #: Most seconds for a request to arrive.
    patience: float = 10.0
    #: The collector's address, if this is a shuffler.
    to: str | None = None

    def open(self, *, serving: bool = False) -> Store:
        if self.to is not None:
            from discreet.collector.stores.batches import BatchStore

            return BatchStore(self.data, serving=serving)
        return open_store(self.store or self.data, serving=serving, segments=self.segments)

    def token(self) -> str:
        """Return the operator's token from the folder; it is created once."""
        path = Path(self.data).expanduser() / TOKEN
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_whole(path, noise.generator().bytes(24).tobytes().hex() + "\n", private=True)
            token = path.read_bytes().strip()
        except OSError as error:
            raise DataSourceError(f"data: cannot read {str(path)!r} ({error.strerror}); check the folder") from None
        if len(token) < _SHORTEST or not token.isascii():  # an empty one would let everyone in
            raise DataSourceError(f"data: {str(path)!r} holds no token; remove it to create another")
        return token.decode("ascii")


def sealing_keys(folder: str | Path, *, new: bool = False) -> dict[str, Any]:
    """Return the private keys of a folder by their public keys, oldest first.

    Tasks name a public key, so a new key serves new tasks. Remove the line of an old key when its tasks are closed:
    no one can open their frames any more.
    """
    if new:
        with _changing(folder) as lines:
            lines.append([private_key().private_bytes_raw().hex()])
    else:
        lines = _key_lines(folder)
    try:
        found = [private_key(bytes.fromhex(line[0])) for line in lines]
    except ValueError:
        raise DataSourceError(f"data: {KEYS!r} must hold one key of 64 hexadecimal digits per line") from None
    return {key.public_key().public_bytes_raw().hex(): key for key in found}


def missing_keys(folder: str | Path, store: Store) -> list[str]:
    """Return warnings about open tasks whose reports cannot be opened: their sealing key is not in the folder."""
    known = sealing_keys(folder)
    return [
        f"task {digest[:12]} ({held.task.name}) is sealed to a key that is not in {str(Path(folder) / KEYS)!r}: its "
        "batches wait and are lost in the end; put the backup of that file there"
        for digest, held in store.tasks().items()
        if held.task.shuffle is not None and not held.closed and held.task.shuffle.collector not in known
    ]


def bind_key(folder: str | Path, public: str, store: str) -> None:
    """Note which store remembers the frames of a shuffler's key; a key of another store is a `FormatError`.

    A store that was lost would take frames again that someone recorded, and the second batch with a frame would show
    whose it is.
    """
    with _changing(folder) as lines:
        line = lines[list(sealing_keys(folder)).index(public)]
        if line[1:] not in ([], [store]):
            raise FormatError(
                f"the store that took frames for the key {public} is gone: remove the key from {KEYS!r}, make a new "
                "one with discreet collect key --new, and create new tasks"
            )
        line[1:] = [store]


def _key_lines(folder: str | Path) -> list[list[str]]:
    path = Path(folder).expanduser() / KEYS
    try:
        return [line.split() for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise DataSourceError(f"data: cannot read {str(path)!r} ({error}); check the folder") from None


@contextmanager
def _changing(folder: str | Path) -> Iterator[list[list[str]]]:
    """Give the lines to one writer at a time, then write them for their owner alone; they are on the disk after it."""
    path = Path(folder).expanduser() / KEYS
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # a shuffler that runs, and someone who makes a new key
        lines, before = _key_lines(folder), _key_lines(folder)
        yield lines
        if lines == before:
            return
        with writing(path), NewFile(path, private=True, durable=True) as out:
            out.file.write("".join(f"{' '.join(line)}\n" for line in lines).encode("ascii"))
            out.keep()
        os.fsync(handle)
    finally:
        os.close(handle)


class Bucket:
    """A token bucket that allows ``rate`` reports per second, and those of one second at once."""

    def __init__(self, rate: float) -> None:
        self.rate, self._left, self._since = rate, rate, monotonic()

    def take(self, n: int) -> bool:
        """Return whether n reports are allowed now. A batch larger than the bucket needs a full one."""
        now = monotonic()
        self._left = min(self.rate, self._left + (now - self._since) * self.rate)
        self._since = now
        if self._left < min(n, self.rate):
            return False
        self._left -= n
        return True
