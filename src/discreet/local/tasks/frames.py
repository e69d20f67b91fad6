"""Frames: the messages of a device within a task. One report in a few bytes, or a batch under one key.

A frame is one byte of version (upper half) and flags (lower half), an idempotency key of 16 fresh random bytes, and the
body. Flag 1: the noise was seeded, and no collector takes it. Flag 2: a batch, whose body is the number of reports in 4
bytes, little-endian, and the reports. The address that a frame is sent to identifies the task. See docs/wire-format.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray
from discreet.errors import FormatError, InvalidArgument, InvalidType

if TYPE_CHECKING:
    from discreet.local.mechanism import Mechanism

VERSION = 1
SEEDED, BATCH = 1, 2
KEY, HEAD, COUNT = 16, 17, 4
MOST_REPORTS = 1 << 20


def write_frame(mechanism: Mechanism, reports: Any, *, key: bytes | None = None) -> bytes:
    """Write a frame; several reports become a batch.

    Parameters
    ----------
    mechanism : Mechanism
        The task's mechanism.
    reports : bytes, ndarray of uint8 or Reports
        One packed report, or several. Seeded ones are marked, and refused by every reader.
    key : bytes, optional
        The idempotency key; None draws one. To send the same reports again, send the same frame.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.local.DirectResponse(1, 5)
    >>> write_frame(m, b"\\x04", key=bytes(16)).hex()
    '100000000000000000000000000000000004'
    >>> write_frame(m, b"\\x04\\x00\\x02", key=bytes(16)).hex()
    '120000000000000000000000000000000003000000040002'
    """
    seeded = bool(getattr(reports, "seeded", False))
    body = bytes(reports) if isinstance(reports, (bytes, bytearray, memoryview)) else _packed(reports)
    key = noise.generator().bytes(KEY).tobytes() if key is None else key
    if not isinstance(key, bytes) or len(key) != KEY:
        raise InvalidArgument("key", key, f"{KEY} bytes", "key=None")
    size = mechanism.layout.size
    n = len(body) // size
    if len(body) != n * size or not 1 <= n <= MOST_REPORTS:
        raise InvalidArgument("reports", f"{len(body)} bytes", f"1 to {MOST_REPORTS} reports of {size} bytes")
    head = bytes([VERSION << 4 | SEEDED * seeded | BATCH * (n > 1)]) + key
    return head + n.to_bytes(COUNT, "little") + body if n > 1 else head + body


def split_frame(size: int, data: bytes) -> tuple[bytes, int, bytes]:
    """Split a frame into key, number of reports, and their bytes, without a check of the reports.

    A collector does this while a request waits, and checks the reports of many requests at once.
    """
    if len(data) < HEAD:
        raise FormatError(f"a frame cut short: {len(data)} bytes where the head alone has {HEAD}", reason="length")
    version, flags = data[0] >> 4, data[0] & 15
    if version != VERSION:
        raise FormatError(f"a frame of version {version}: this collector reads version {VERSION}", reason="version")
    if flags & SEEDED:
        raise FormatError("a frame of seeded reports: such reports are never collected", reason="seeded")
    if flags & ~(SEEDED | BATCH):
        raise FormatError(f"a frame with unknown flags: {flags}", reason="flags")
    start, n = HEAD, 1
    if flags & BATCH:
        start, n = HEAD + COUNT, int.from_bytes(data[HEAD : HEAD + COUNT], "little")
        if len(data) < start or not 1 <= n <= MOST_REPORTS:
            raise FormatError(f"a batch must hold 1 to {MOST_REPORTS} reports", reason="length")
    if len(data) != start + n * size:
        whole = start + n * size
        raise FormatError(f"a frame of {len(data)} bytes where {n} reports of this task make {whole}", reason="length")
    return bytes(data[1:HEAD]), n, bytes(data[start:])


def impossible(possible: BoolArray) -> FormatError:
    """Return the error about an invalid report of a frame."""
    first, n = int(np.argmin(possible)), len(possible)
    return FormatError(f"a frame with a report that no device makes: report {first} of {n}", reason="report")


def _packed(reports: Any) -> bytes:
    rows = getattr(reports, "rows", reports)
    if not isinstance(rows, np.ndarray) or rows.dtype != np.uint8:
        raise InvalidType("reports", type(reports).__name__, "Reports or packed bytes", "reports=m.encode(values)")
    return rows.tobytes()
