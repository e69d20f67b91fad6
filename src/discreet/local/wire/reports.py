"""Reports: packed bytes, one row per user, with the parameters of their mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import AnyArray
from discreet.errors import FormatError, InvalidArgument, InvalidType
from discreet.local.wire import binary
from discreet.local.wire.bits import Rows
from discreet.local.wire.parameters import mechanism_from_dict

if TYPE_CHECKING:
    from discreet.local.mechanism import Mechanism


class Reports(binary.Kept):
    """Randomised reports of one mechanism, made by its ``encode``. They may be sent, stored and shared.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism.
    rows : ndarray of uint8
        One packed report per row; see docs/wire-format.md.
    seeded : bool
        True if the noise can be repeated. Such reports must not be collected from people.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.local.DirectResponse(epsilon=1, domain=["cat", "dog", "emu"])
    >>> reports = m.encode(["dog", "dog", "emu"], rng=1)
    >>> len(reports), reports.rows.shape, reports.field("value").tolist()
    (3, (3, 1), [1, 0, 2])
    >>> dc.local.Reports.from_bytes(reports.to_bytes()).field("value").tolist()
    [1, 0, 2]
    """

    def __init__(self, mechanism: Mechanism, rows: Rows, *, seeded: bool) -> None:
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != mechanism.layout.size:
            expected = f"an array of bytes, {mechanism.layout.size} a report"
            raise InvalidArgument("rows", f"{rows.dtype} {rows.shape}", expected, "rows=reports.rows")
        self.mechanism, self.seeded = mechanism, seeded
        self.rows: Rows = np.ascontiguousarray(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, places: Any) -> Reports:
        rows = self.rows[places]
        return Reports(self.mechanism, rows[None] if rows.ndim == 1 else rows, seeded=self.seeded)

    def __add__(self, other: object) -> Reports:
        if not isinstance(other, Reports):
            return NotImplemented
        self.mechanism.same_as(other.mechanism, "reports")
        seeded = self.seeded or other.seeded
        return Reports(self.mechanism, np.concatenate([self.rows, other.rows]), seeded=seeded)

    def field(self, name: str) -> AnyArray:
        """Return one field of every report; a long vector of bits as packed bytes."""
        names = [n for n, _ in self.mechanism.layout.fields]
        if name not in names:
            raise InvalidArgument("name", name, f"one of {', '.join(names)}", f"name={names[0]!r}")
        return self.mechanism.layout.unpack(self.rows, name)

    def to_bytes(self) -> bytes:
        """Return the reports as one message."""
        header = self.mechanism.to_dict()
        return binary.write(binary.REPORTS, header, len(self), [self.rows.tobytes()], seeded=self.seeded)

    @classmethod
    def from_bytes(cls, data: bytes) -> Reports:
        """Read a message of `to_bytes` or of a client in another language."""
        message = binary.read(data, binary.REPORTS)
        mechanism = mechanism_from_dict(message.header)
        if len(message.body) != message.n * mechanism.layout.size:
            raise FormatError(f"reports damaged: {message.n} reports do not fill {len(message.body)} bytes")
        rows = np.frombuffer(message.body, np.uint8).reshape(message.n, mechanism.layout.size)
        return cls(mechanism, rows.copy(), seeded=message.seeded)

    def __repr__(self) -> str:
        bits = self.mechanism.report_bits
        return f"<{len(self)} reports of {bits} bits, {type(self.mechanism).__name__}>"


def as_rows(mechanism: Mechanism, reports: Any) -> tuple[Rows, bool]:
    """Read reports, a message, or packed rows."""
    if isinstance(reports, (bytes, bytearray, memoryview)):
        reports = Reports.from_bytes(bytes(reports))
    if isinstance(reports, np.ndarray):
        reports = Reports(mechanism, reports, seeded=False)
    if not isinstance(reports, Reports):
        raise InvalidType("reports", type(reports).__name__, "Reports or their bytes", "reports=m.encode(values)")
    mechanism.same_as(reports.mechanism, "reports")
    return reports.rows, reports.seeded
