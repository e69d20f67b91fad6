"""The law of unary encoding."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core import ByteArray, IntArray
from discreet.local.oracles import _unary_kernels as kernels
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
        kernels.write_own(rows, codes, toss(held.chance, (len(codes),), stream))
        return rows
