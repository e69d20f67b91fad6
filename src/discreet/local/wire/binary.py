"""The binary form of reports and states, which a client in any language can write. See docs/wire-format.md.

A message is: magic ``DSCL``, one byte of version, one of kind (1 reports, 2 state, 3 flipped bitmap), one of flags (bit
0: the noise was seeded), a zero byte; the length of the header (4 bytes) and the header, the mechanism's parameters as
canonical JSON; the number of reports (8 bytes), the length of the body (8 bytes) and the body; SHA-256 over all that
came before. Whole numbers are unsigned and little-endian.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from discreet.core import check_name, read_whole, write_whole
from discreet.errors import FormatError, InvalidType

MAGIC, VERSION = b"DSCL", 1
REPORTS, STATE, BITMAP = 1, 2, 3
_KINDS = {REPORTS: "reports", STATE: "a state", BITMAP: "a flipped bitmap"}
_SEEDED, _HEAD, _COUNT, _DIGEST = 1, 12, 16, 32
#: A header is a few parameters; a longer one is not a header of ours.
_LONGEST_HEADER = 1 << 24


@dataclass(frozen=True)
class Message:
    """The content of a message."""

    header: dict[str, Any]
    n: int
    body: memoryview
    seeded: bool


class Kept:
    """An object that is one message, by which it is compared and saved."""

    def to_bytes(self) -> bytes:
        """Return the message."""
        raise NotImplementedError

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the result of `to_bytes`."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def save(self, path: str | Path) -> None:
        """Write it to a file, whole or not at all."""
        check_name(path)
        write_whole(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read it from a file."""
        return cls.from_bytes(read_whole(path, cls.__name__.lower().removeprefix("flipped")))


def canonical(parameters: dict[str, Any]) -> bytes:
    """Write parameters in canonical form: sorted keys, no blanks, only the escapes that JSON needs."""
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def write(kind: int, parameters: dict[str, Any], n: int, body: Iterable[Any], *, seeded: bool) -> bytes:
    """Assemble a message from the buffers of its body."""
    header, parts = canonical(parameters), [bytes(p) for p in body]
    head = MAGIC + bytes([VERSION, kind, _SEEDED if seeded else 0, 0]) + len(header).to_bytes(4, "little") + header
    sizes = n.to_bytes(8, "little") + sum(map(len, parts)).to_bytes(8, "little")
    message = b"".join([head, sizes, *parts])
    return message + hashlib.sha256(message).digest()


def read(data: Any, kind: int) -> Message:
    """Read a message, or raise an error that names the fault."""
    wanted = _KINDS[kind]
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidType("data", type(data).__name__, "bytes", "data=reports.to_bytes()")
    view = memoryview(data).cast("B")
    if len(view) < _HEAD or bytes(view[:4]) != MAGIC:
        raise FormatError(f"not {wanted} of Discreet: the magic bytes are missing")
    if view[4] != VERSION:
        whole = hashlib.sha256(view[:-_DIGEST]).digest() == bytes(view[-_DIGEST:])  # else the byte itself is damaged
        more = "; upgrade discreet" if view[4] > VERSION and whole else ""
        raise FormatError(f"{wanted} of wire version {view[4]}: this library reads version {VERSION}{more}")
    if view[5] != kind:
        raise FormatError(f"not {wanted} of Discreet: it is {_KINDS.get(view[5], 'of an unknown kind')}")
    if view[6] & ~_SEEDED or view[7]:
        raise FormatError(f"{wanted} with unknown flags: written by a later version, or damaged")
    length = int.from_bytes(view[8:12], "little")
    start = _HEAD + length + _COUNT
    if length > _LONGEST_HEADER or len(view) < start + _DIGEST:
        raise FormatError(f"{wanted} cut short: the message ends before its body")
    n = int.from_bytes(view[start - 16 : start - 8], "little")
    size = int.from_bytes(view[start - 8 : start], "little")
    if len(view) != start + size + _DIGEST:
        raise FormatError(f"{wanted} cut short or too long: {len(view)} bytes, its sizes say {start + size + _DIGEST}")
    if hashlib.sha256(view[: start + size]).digest() != view[start + size :]:
        raise FormatError(f"{wanted} damaged: the checksum does not match")
    try:
        header = json.loads(bytes(view[_HEAD : _HEAD + length]).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or canonical(header) != view[_HEAD : _HEAD + length]:
        raise FormatError(f"{wanted} with a header that is not canonical JSON")
    return Message(header, n, view[start : start + size], bool(view[6] & _SEEDED))


def messages(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the messages of a file, one after the other."""
    while head := stream.read(_HEAD):
        if len(head) < _HEAD or head[:4] != MAGIC:
            raise FormatError("not a file of Discreet reports or counts: the magic bytes are missing")
        length = int.from_bytes(head[8:12], "little")
        if length > _LONGEST_HEADER:
            raise FormatError("damaged: a header longer than any there is")
        head += stream.read(length + _COUNT)
        size = int.from_bytes(head[-8:], "little") if len(head) == _HEAD + length + _COUNT else 0
        body = _exactly(stream, size + _DIGEST)
        yield head + body


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """Read up to a number of bytes in steps: a damaged size must not ask for all memory at once."""
    parts, left = [], size
    while left and (part := stream.read(min(left, 1 << 24))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
