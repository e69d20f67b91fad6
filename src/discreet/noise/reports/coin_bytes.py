"""Many coins of one chance, eight at a time: a quarter of a byte of entropy per coin, and exact.

Call a byte a *pattern*: bit i is coin i. A pattern has probability p^ones (1-p)^zeros; F(b) is the chance of a pattern
below b. If U is uniform in [0, 1), the pattern b with F(b) <= U < F(b + 1) has exactly the law of eight coins. Two
base-256 digits of U settle the pattern unless some F(b) begins with them, so a table of 65,536 entries answers all but
at most 255 of them. There the next digits are compared, as in `thresholds.py`.

P(pattern < b) falls when p rises, so an enclosure of p by rationals encloses F(b), and digits are known as soon as both
ends agree. They do at some precision: where p is not rational it is transcendental, and so is F(b), a polynomial in p
that is not constant.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from discreet.core import ByteArray, inlined, jit
from discreet.noise.stream.draw import draw
from discreet.noise.stream.kernels import FINISHED, MORE_BYTES, MORE_DIGITS
from discreet.noise.stream.thresholds import Chance

_PATTERNS = 256


class CoinTables(NamedTuple):
    """Tables of the kernel; ``first`` and ``last`` bound the pattern where two digits leave it open."""

    settled: npt.NDArray[np.int16]
    first: ByteArray
    last: ByteArray
    digits: ByteArray


def coin_bytes(chance: Chance, shape: tuple[int, ...], rng: object) -> ByteArray:
    """Draw bytes whose bits are 1 with exactly the given chance, all independent.

    Privacy
    -------
    None by itself: a building block.
    """

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return fill_bytes(*tables(chance, precision), *state)

    return cast("ByteArray", draw(kernel, shape, rng, bytes_each=2.02, dtype=np.uint8))


@lru_cache(maxsize=64)
def tables(chance: Chance, precision: int) -> CoinTables:
    """Build the tables from the first ``precision`` digits of every F(b)."""
    digits = np.frombuffer(b"".join(below(chance, precision)), np.uint8).reshape(_PATTERNS, precision)
    lead = digits[1:, 0].astype(np.int64) * 256 + digits[1:, 1]  # of F(1), ..., F(255)
    entries = np.arange(65536)
    # F(b) is in the entry it begins with: entries above it have patterns from b on, entries below have smaller ones.
    first, last = np.searchsorted(lead, entries, side="left"), np.searchsorted(lead, entries, side="right")
    settled = np.where(first == last, first, -1).astype(np.int16)
    return CoinTables(settled, first.astype(np.uint8), last.astype(np.uint8), digits)


def below(chance: Chance, n: int) -> list[bytes]:
    """Return the first ``n`` digits of P(pattern < b) for b = 0..255 (1 is written 0.FFFF...)."""
    unit = 256**n
    more = 8
    while True:
        p_low, p_high = _enclose(chance, n + more)
        least, most = (_floors(p, unit) for p in (p_high, p_low))
        if least == most:
            return [min(whole, unit - 1).to_bytes(n, "big") for whole in least]
        more *= 2


def _enclose(chance: Chance, n: int) -> tuple[Fraction, Fraction]:
    """Enclose a chance to ``n`` digits; one that is rational is its own enclosure."""
    if chance.x == 0 or chance.a * chance.d == chance.b * chance.c:
        value = (chance.a + chance.b) / (chance.c + chance.d)
        return value, value
    whole = int.from_bytes(chance.digits(n), "big")
    return Fraction(whole, 256**n), Fraction(whole + 1, 256**n)


def _floors(p: Fraction, unit: int) -> list[int]:
    """Return floor(F(b) · unit) for the 256 patterns b, F for the rational chance p.

    A pattern is below b if at some bit that b has it lacks that bit, and agrees with b on all higher ones.
    """
    heads, whole = p.numerator, p.denominator
    tails = whole - heads
    floors = []
    for b in range(_PATTERNS):
        total, agree = 0, 1  # numerators; after i bits the denominator is whole^i
        for bit in range(7, -1, -1):
            total *= whole
            if b >> bit & 1:
                total += agree * tails
                agree *= heads
            else:
                agree *= tails
        floors.append(total * unit // whole**8)
    return floors


@inlined
def _compare(
    first: Any, last: Any, digits: Any, buffer: Any, position: int
) -> tuple[int, int, int]:  # pragma: no cover
    """Find the pattern that two digits leave open: read on until one is left. Return it, the place after, a state."""
    lead = (int(buffer[position]) << 8) | int(buffer[position + 1])
    low, high, after = int(first[lead]), int(last[lead]), position + 2
    for place in range(2, digits.shape[1]):
        if after >= buffer.shape[0]:
            return 0, position, MORE_BYTES
        digit = buffer[after]
        after += 1
        # The chances that still tie are in order, hence so are their next digits.
        while low < high and digits[low + 1, place] < digit:
            low += 1
        while low < high and digits[high, place] > digit:
            high -= 1
        if low == high:
            return low, after, FINISHED
    return 0, position, MORE_DIGITS


@jit
def fill_bytes(
    settled: Any, first: Any, last: Any, digits: Any, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    """Draw patterns of eight coins by inversion; see `coin_bytes.py` for the tables.

    ``settled[t]`` is the pattern of the two leading digits t, or -1 where they do not decide it: then it is one of
    ``first[t]..last[t]``, and row b of ``digits`` holds the digits of the chance of a pattern below b.
    """
    while done < out.shape[0]:
        # The common case: one pattern after the other up to the first that is open. Unsigned places are twice as fast:
        # Numba need not look whether they count from the end.
        room = min(out.shape[0] - done, (buffer.shape[0] - position) // 2)
        source, target = buffer[position : position + 2 * room], out[done : done + room]
        i, stop = np.uint64(0), np.uint64(room)
        while i < stop:
            pattern = settled[(np.uint64(source[i + i]) << np.uint64(8)) | np.uint64(source[i + i + np.uint64(1)])]
            if pattern < 0:
                break
            target[i] = np.uint8(pattern)
            i += np.uint64(1)
        done += int(i)
        position += 2 * int(i)
        if done == out.shape[0]:
            break
        if position + 2 > buffer.shape[0]:
            return position, done, MORE_BYTES
        found, position, state = _compare(first, last, digits, buffer, position)
        if state != FINISHED:
            return position, done, state
        out[done] = found
        done += 1
    return position, done, FINISHED
