"""Leaks in the last bits of doubles: which ones can be released may depend on the input.

Noise made from a uniform double reaches only some doubles, and adding it to a count of 0 or 1 reaches different ones
(Mironov, "On significance of the least significant bits for differential privacy", 2012).
"""

from typing import Any

import numpy as np

from discreet.core import FloatArray, WordArray, checks
from discreet.evaluation.audits.features import flatten, rounded_away

_LOW_BITS = np.uint64(255)
#: Position of the last bit of zero: below that of all numbers.
_NOTHING = -1100.0


class BitPatterns:
    """Features of the bits of a release's doubles, to audit floating-point noise: ``audit(features=BitPatterns())``.

    For each number: value, trailing zeros of the mantissa, position of the last bit set, exponent, last eight bits, and
    what the double rounds away of a whole number beyond 2^52.

    Parameters
    ----------
    numbers : int, default 1
        How many numbers of a release to examine.

    Examples
    --------
    >>> import discreet as dc
    >>> def textbook(data, rng, size):       # ε = 1 by the formula
    ...     u = rng.random(size) - 0.5
    ...     return len(data) - np.sign(u) * np.log1p(-2 * np.abs(u))
    >>> how = {"trials": 20_000, "epsilon": 1, "batch": True, "features": BitPatterns(), "random_state": 1}
    >>> dc.evaluation.audit(textbook, [1], [], **how).passed
    False
    """

    def __init__(self, numbers: int = 1) -> None:
        self.numbers = checks.whole("numbers", numbers, low=1, high=64)
        kinds = ("value", "trailing zeros", "last bit", "exponent", "low bits", "rounded away")
        self.names = tuple(
            kind if numbers == 1 else f"{kind} of number {i}" for i in range(self.numbers) for kind in kinds
        )

    def __call__(self, release: Any) -> FloatArray:
        flat = flatten(release)[: self.numbers]
        row, rest = np.full(self.numbers, np.nan), np.zeros(self.numbers)
        row[: len(flat)], rest[: len(flat)] = flat, flatten(release, rounded_away)[: self.numbers]
        return np.asarray(self._table(row[None], rest[None])[0])

    def batch(self, releases: Any) -> FloatArray:
        """Return one row per release."""
        if isinstance(releases, np.ndarray) and releases.dtype.kind in "bf":
            flat = releases.reshape(len(releases), -1)[:, : self.numbers].astype(np.float64)
            if flat.shape[1] == self.numbers:
                return self._table(flat, np.zeros_like(flat))
        return np.array([self(r) for r in releases]).reshape(len(releases), len(self.names))

    def _table(self, values: FloatArray, rests: FloatArray) -> FloatArray:
        columns: list[Any] = []
        for x, rest in zip(values.T, rests.T, strict=True):
            columns += [*self._of(np.ascontiguousarray(x)), np.where(np.isnan(x), np.nan, rest)]
        return np.column_stack(columns)

    def _of(self, x: FloatArray) -> list[FloatArray]:
        finite = np.isfinite(x)
        known = np.where(finite, x, 0.0)
        fraction, exponent = np.frexp(known)
        # As whole numbers: |x| = whole * 2^(exponent - 53), exact also for subnormal ones.
        whole = (np.abs(fraction) * 2.0**53).astype(np.uint64)
        zeros = _trailing_zeros(whole)
        none = whole == 0
        last = np.where(none, _NOTHING, exponent - 53 + zeros)
        found = [
            known,
            np.where(none, 64.0, zeros),
            last,
            np.where(none, _NOTHING, exponent - 1.0),
            (known.view(np.uint64) & _LOW_BITS).astype(np.float64),
        ]
        return [np.where(finite, column, np.nan) for column in found]


def _trailing_zeros(whole: WordArray) -> FloatArray:
    with np.errstate(over="ignore"):
        lowest = whole & (~whole + np.uint64(1))
    return np.where(whole == 0, 0.0, np.frexp(np.maximum(lowest, np.uint64(1)).astype(np.float64))[1] - 1.0)
