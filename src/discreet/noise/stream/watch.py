"""A hook that reports which noise is drawn, and how many random bytes are taken from a stream.

It is unused in production. The test suite sets a watcher and compares every draw of a release with its ledger.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Protocol


class Watcher(Protocol):
    """The signature of a watcher."""

    def opened(self, stream: Any) -> None:
        """Note that a release draws from this stream: every byte needs a reason."""

    def began(self, stream: Any, reason: Any) -> None:
        """Note why bytes are taken next: a `Draw` of a ledger line, or None if no data are involved."""

    def ended(self, stream: Any) -> None:
        """Note that the reason holds no longer."""

    def drew(self, law: str, scale: Fraction, number: int, rng: Any) -> None:
        """Note a draw of a sampler."""

    def took(self, stream: Any, number: int) -> None:
        """Note bytes taken from a stream."""

    def promised(self, ledger: Any, promise: Any) -> None:
        """Note that a release is finished, with its ledger and its promise."""


#: The watcher of this process, if there is one.
_watcher: list[Watcher] = []


def watch(watcher: Watcher | None) -> None:
    _watcher[:] = [] if watcher is None else [watcher]


def watcher() -> Watcher | None:
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
