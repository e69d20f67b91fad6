"""Settings of a collector or a shuffler, its keys, and the limits it enforces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from discreet import noise
from discreet.collector.stores.base import Store, open_store, sync
from discreet.core import NewFile, write_whole
from discreet.errors import DataSourceError
from discreet.local.tasks import private_key

TOKEN, KEYS, USED = "operator.token", "sealing.keys", "sealing.used"
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
    path = Path(folder).expanduser() / KEYS
    try:
        lines = path.read_text(encoding="ascii").split() if path.exists() else []
        found = [private_key(bytes.fromhex(line)) for line in lines]
        if new:
            found.append(private_key())
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_private(path, [key.private_bytes_raw().hex() for key in found])
    except OSError as error:
        raise DataSourceError(f"data: cannot read {str(path)!r} ({error.strerror}); check the folder") from None
    except ValueError:
        raise DataSourceError(f"data: {str(path)!r} must hold one key of 64 hexadecimal digits per line") from None
    return {key.public_key().public_bytes_raw().hex(): key for key in found}


def write_private(path: Path, lines: Sequence[str]) -> None:
    """Write a file for its owner alone; when this returns it is on the disk."""
    with NewFile(path, private=True, durable=True) as out:
        out.file.write("".join(f"{line}\n" for line in lines).encode("ascii"))
        out.keep()
    sync(path.parent)


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
