"""The coins of one device: random bytes, read one by one, and the two draws that make a report.

Vectors of reports have their own kernels. The rules here are short enough to write again in any language: see
docs/wire-format.md. Both give the same bytes for the same coins if a mechanism draws in the same order.
"""

from typing import Protocol

from discreet.noise.stream.draw import byte_width
from discreet.noise.stream.generator import generator

#: Bytes asked of the generator at a time.
_AT_ONCE = 256


class Coins(Protocol):
    """The source of a device's draws."""

    def toss(self, threshold: bytes) -> bool:
        """Return whether a uniform U is below the number with these base-256 digits; a full tie is a no."""

    def below(self, bound: int) -> int:
        """Draw a uniform whole number below a bound."""

    def take(self, n: int) -> bytes:
        """Draw random bytes."""


class ByteCoins:
    """Draws from a stream of random bytes, front to back."""

    def __init__(self, rng: object = None, *, given: bytes | None = None) -> None:
        self._stream = generator(rng) if given is None else None
        self._buffer, self.used = given or b"", 0
        self.seeded = self._stream is None or self._stream.seeded

    def take(self, n: int) -> bytes:
        while self.used + n > len(self._buffer):
            if self._stream is None:
                raise EOFError("the given coins are used up")
            self._buffer, self.used = self._buffer[self.used :] + self._stream.bytes(_AT_ONCE).tobytes(), 0
        self.used += n
        return self._buffer[self.used - n : self.used]

    def toss(self, threshold: bytes) -> bool:
        """Compare the digits of U with those of the threshold until they differ."""
        for digit in threshold:
            drawn = self.take(1)[0]
            if drawn != digit:
                return drawn < digit
        return False

    def below(self, bound: int) -> int:
        """Mask as many bytes as the bound needs, the first the highest; draw again while the number is too large."""
        width, mask = byte_width(bound)
        while True:
            number = int.from_bytes(self.take(width), "big") & mask
            if number < bound:
                return number
