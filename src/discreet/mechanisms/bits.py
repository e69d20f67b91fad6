"""Randomised bitmaps: every bit is flipped with a fixed chance."""

from fractions import Fraction

from discreet.core import ByteArray
from discreet.core.budget import Draw, Epsilon
from discreet.mechanisms.gate import Gate
from discreet.noise.reports import coin_bytes
from discreet.noise.stream import logistic


def flip_draw(epsilon: Fraction, items: int, number: int | None = None, bitmaps: int = 1) -> Draw:
    """Return the draw that a ledger line states for bitmaps, with ε for a unit of so many items."""
    return Draw("flip", items / epsilon, Fraction(bitmaps), items, number)


def flipped_bits(gate: Gate, label: str, rows: ByteArray, price: Epsilon) -> ByteArray:
    """Publish packed bits, each flipped with chance 1/(1 + e^ε), ε the price for one item.

    Privacy: an item sets at most one bit, and the odds of a bit are e^ε to 1 either way. Price: ε per item.
    """
    chance, hold = logistic(Fraction(price.amount)), gate.hold(label, price)
    with hold.drawing(Draw("flip", 1 / Fraction(price.amount), rows=gate._rows(Epsilon), number=8 * rows.size)):
        flipped: ByteArray = rows ^ coin_bytes(chance, rows.shape, gate._book.stream)
    return flipped
