"""A hook that reports which noise is drawn, and how many random bytes are taken from a stream.

It is unused in production. The test suite sets a watcher and compares every draw of a release with its ledger. A
watcher has ``opened(stream)`` (a release draws from it: every byte needs a reason), ``began(stream, reason)`` and
``ended(stream)`` around bytes for a `Draw` of a ledger line (None: no data are involved), ``drew(law, scale, number,
rng)``, ``took(stream, number)`` of bytes, and ``promised(ledger, promise)`` of a finished release.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: The watcher of this process, if there is one.
_watcher: list[Any] = []


def watch(watcher: Any) -> None:
    _watcher[:] = [] if watcher is None else [watcher]


def watcher() -> Any:
    return _watcher[0] if _watcher else None


def drew(law: str, scale: Any, number: int, rng: Any) -> None:
    """Report a draw to the watcher."""
    if _watcher:
        _watcher[0].drew(law, scale, number, rng)


@contextmanager
def reason(stream: Any, why: Any) -> Iterator[None]:
    """State why a stream's bytes are taken: a draw that a ledger line states, or None for public randomness."""
    if not _watcher:
        yield
        return
    _watcher[0].began(stream, why)
    try:
        yield
    finally:
        _watcher[0].ended(stream)
