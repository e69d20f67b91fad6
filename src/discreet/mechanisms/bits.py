"""Randomised bitmaps: every bit is turned over with a fixed chance."""

from fractions import Fraction

from discreet.core import ByteArray
from discreet.core.budget import Draw, Epsilon
from discreet.mechanisms.gate import Gate
from discreet.noise.reports import coin_bytes
from discreet.noise.stream import logistic


def flip_draw(epsilon: Fraction, items: int, number: int | None = None, bitmaps: int = 1) -> Draw:
    """Return what a ledger line states of bitmaps whose ε is for a unit of so many items.

    Examples
    --------
    >>> flip_draw(Fraction(2), 4).price
    Epsilon(2)
    """
    return Draw("flip", items / epsilon, Fraction(bitmaps), items, number)


def flipped_bits(gate: Gate, label: str, rows: ByteArray, price: Epsilon) -> ByteArray:
    """Publish packed bits, each turned over with chance 1/(1 + e^ε), ε the price for one item.

    Privacy
    -------
    Neighbours: add or remove one item, or one person with a bounded number of items. An item sets at most one bit, and
    the odds of a bit are e^ε to 1 either way, so its law changes by a factor of at most e^ε. Price: ε per item.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.core.budget.prices import Wanted
    >>> gate = Gate.open(Wanted.read(2.0, None, None), random_state=1)
    >>> flipped_bits(gate, "bits", np.zeros((1, 4), np.uint8), gate.left).tolist()
    [[0, 36, 34, 0]]
    """
    chance, hold = logistic(Fraction(price.amount)), gate.hold(label, price)
    with hold.drawing(Draw("flip", 1 / Fraction(price.amount), rows=gate._rows(Epsilon), number=8 * rows.size)):
        flipped: ByteArray = rows ^ coin_bytes(chance, rows.shape, gate._book.stream)
    return flipped
