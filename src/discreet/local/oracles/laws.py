"""The law of unary encoding."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import ByteArray, IntArray, jit
from discreet.noise.reports import Coin, ReportLaw, coin_bytes, either_way, keep_chance, toss
from discreet.noise.stream import Chance, logistic


@dataclass(frozen=True)
class UnaryLaw(ReportLaw):
    """One bit per value. The bit of the value held is 1 with a higher probability than the others."""

    epsilon: Fraction
    size: int
    symmetric: bool = False

    @property
    def coins(self) -> dict[str, Coin]:
        """The probabilities of a 1 for the value held and for another one."""
        if not self.symmetric:
            return {"held": Coin(Chance(a=Fraction(1, 2)), up=False), "other": Coin(logistic(self.epsilon), up=True)}
        half = self.epsilon / 2
        return {"held": Coin(keep_chance(2, half), up=False), "other": Coin(logistic(half), up=True)}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the odds of a held bit over those of another one. Two values differ in one bit of each kind."""
        held, other = heads["held"], heads["other"]
        return either_way(held * (1 - other) / (other * (1 - held)))

    def draw(self, codes: IntArray, stream: Any) -> ByteArray:
        """Draw a packed vector of bits for every number."""
        held, other = self.coins.values()
        rows = coin_bytes(other.chance, (len(codes), -(-self.size // 8)), stream)
        rows[:, -1] &= 255 >> (-self.size % 8)
        _write_own(rows, codes, toss(held.chance, (len(codes),), stream))
        return rows


@jit
def _write_own(rows: Any, codes: Any, kept: Any) -> None:  # pragma: no cover
    """Write the bit of the held value over the noise."""
    for i in range(rows.shape[0]):
        place, mask = codes[i] >> 3, np.uint8(1 << (codes[i] & 7))
        if kept[i]:
            rows[i, place] |= mask
        else:
            rows[i, place] &= ~mask
