"""Settings of a collector and the limits it enforces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from discreet import noise
from discreet.collector.stores.base import Store
from discreet.collector.stores.opening import open_store
from discreet.core import write_whole
from discreet.errors import DataSourceError

TOKEN = "operator.token"
_SHORTEST = 16


@dataclass(frozen=True)
class Settings:
    """Settings: the store, the address, and limits on requests.

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
    #: Bytes of one request, and of all that wait to be written.
    most_body: int = 1 << 22
    most_waiting: int = 1 << 26
    #: Reports of one task per second; None for any number.
    rate: float | None = None
    #: The task of the simulation, whose page is then served too.
    simulated: str | None = None
    #: Seconds that a request may take to arrive.
    patience: float = 10.0

    def open(self, *, serving: bool = False) -> Store:
        """Open the store."""
        return open_store(self.store or self.data, serving=serving, segments=self.segments)

    def token(self) -> str:
        """Return the operator's token: from the folder, where it is made once."""
        path = Path(self.data).expanduser() / TOKEN
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_whole(path, noise.generator().bytes(24).tobytes().hex() + "\n", private=True)
            token = path.read_bytes().strip()
        except OSError as error:
            raise DataSourceError(f"data: cannot read {str(path)!r} ({error.strerror}); check the folder") from None
        if len(token) < _SHORTEST or not token.isascii():  # an empty one would let everybody in
            raise DataSourceError(f"data: {str(path)!r} holds no token; remove it, and another is made")
        return token.decode("ascii")


class Bucket:
    """So many reports per second, and a second's worth at once.

    Examples
    --------
    >>> bucket = Bucket(100)
    >>> bucket.take(60), bucket.take(60)
    (True, False)
    """

    def __init__(self, rate: float) -> None:
        self.rate, self._left, self._since = rate, rate, monotonic()

    def take(self, n: int) -> bool:
        """Return whether this number may come now. A batch larger than a second's worth waits for a full bucket."""
        now = monotonic()
        self._left = min(self.rate, self._left + (now - self._since) * self.rate)
        self._since = now
        if self._left < min(n, self.rate):
            return False
        self._left -= n
        return True
