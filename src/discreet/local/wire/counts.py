"""Counts: the state of a collector, integers that add up in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import Guarantee
from discreet.errors import FormatError
from discreet.local.wire import binary
from discreet.local.wire.parameters import mechanism_from_dict
from discreet.local.wire.reports import as_rows

if TYPE_CHECKING:
    from discreet.local.mechanism import Mechanism

_INT64 = np.dtype("<i8")
#: Counters have 63 bits.
_MOST = 2**63


class Counts(binary.Kept):
    """The mergeable state of a collector: integer counters over noisy reports.

    Made by a mechanism's ``aggregate`` or ``empty``. ``a + b`` equals the counts of both sets of reports together.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism of the reports.
    n, rejected : int
        Numbers of valid and of invalid reports. Invalid ones, such as an index out of range, are not counted.
    counters : dict of ndarray of int64
        The counters.
    seeded : bool
        Whether any report was seeded.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.local.DirectResponse(epsilon=1, domain=3)
    >>> one, two = m.aggregate(m.encode([0, 1, 1], rng=1)), m.aggregate(m.encode([2, 2], rng=2))
    >>> both = one + two
    >>> both.n, both.counters["reports"].tolist()
    (5, [2, 3, 0])
    >>> dc.local.Counts.from_bytes(both.to_bytes()) == both
    True
    """

    def __init__(
        self, mechanism: Mechanism, counters: dict[str, Any], *, n: int = 0, rejected: int = 0, seeded: bool = False
    ) -> None:
        self.mechanism, self.counters = mechanism, counters
        self.n, self.rejected, self.seeded = n, rejected, seeded

    @property
    def guarantee(self) -> Guarantee:
        """The promise to every reporter, with the mark of seeded noise."""
        return replace(self.mechanism.guarantee, seeded=self.seeded)

    def add(self, reports: Any) -> Counts:
        """Count more reports (Reports, their bytes, or packed rows), in place. A refused part changes nothing."""
        rows, seeded = as_rows(self.mechanism, reports)
        good = self.mechanism.possible(rows)
        valid = rows if good.all() else rows[good]
        self.mechanism._add(self.counters, valid)
        self.n += len(valid)
        self.rejected += len(rows) - len(valid)
        self.seeded = self.seeded or seeded
        return self

    def __add__(self, other: object) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self.mechanism.same_as(other.mechanism, "counts")
        return Counts(
            self.mechanism,
            self.mechanism._merge(self.counters, other.counters),
            n=self.n + other.n,
            rejected=self.rejected + other.rejected,
            seeded=self.seeded or other.seeded,
        )

    def to_bytes(self) -> bytes:
        """Return the state as one message: the rejected reports, then every counter, 8 bytes each."""
        body = [self.rejected.to_bytes(8, "little"), *(a.astype(_INT64).tobytes() for a in self.counters.values())]
        return binary.write(binary.STATE, self.mechanism.to_dict(), self.n, body, seeded=self.seeded)

    @classmethod
    def from_bytes(cls, data: bytes) -> Counts:
        """Read the result of `to_bytes`."""
        message = binary.read(data, binary.STATE)
        mechanism = mechanism_from_dict(message.header)
        if len(message.body) < 8 or len(message.body) % 8:
            raise FormatError("a state damaged: its counters are not whole")
        rejected = int.from_bytes(message.body[:8], "little")
        numbers = np.frombuffer(message.body[8:], _INT64).astype(np.int64)
        if message.n >= _MOST or rejected >= _MOST:
            raise FormatError("a state damaged: it counts more reports than there can be")
        counters = mechanism._unpack_counters(numbers, message.n)
        if not mechanism._possible(counters, message.n):
            raise FormatError(f"a state damaged: {message.n} reports cannot have left these counters")
        return cls(mechanism, counters, n=message.n, rejected=rejected, seeded=message.seeded)

    def __repr__(self) -> str:
        rejected = f", {self.rejected} rejected" if self.rejected else ""
        return f"<counts of {self.n} reports{rejected}, {type(self.mechanism).__name__}>"
