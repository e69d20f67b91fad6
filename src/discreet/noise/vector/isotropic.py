"""Isotropic Laplace noise in n dimensions, rounded to a lattice, exactly.

The law. Y has density proportional to e^(-‖y‖/s) in n dimensions: a uniform direction and a Gamma(n) length of scale s
(Chatzikokolakis, Andrés, Bordenabe, Palamidessi 2013 for n = 2). The noise N is Y rounded to whole numbers.

Rounding keeps the promise: P(N = m) is the integral of the density over the unit cube around m, and moving the cube by
m' - m changes the density by at most e^(‖m' - m‖/s) at every point. So a lattice point plus N is private at rate 1/s
per step, exactly.

It is drawn exactly: the random words are the leading digits of uniform *real* numbers. Doubles with a bound on their
error (below) decide how a vector is rounded, except for about one row in a hundred million. For that row
further digits are drawn and the same formulas are evaluated in decimals. The noise of row i is a function of a key and
i, so rows can be processed in any order and on all cores.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import IntArray, inlined, jit
from discreet.noise.stream import watch
from discreet.noise.stream.row_words import in_chunks, row_key, row_words, settle
from discreet.noise.vector.decimals import cos_sin, pi

# The fast path of isotropic Laplace noise: doubles with a bound on their error.
#
# A row of n coordinates takes W = 2⌈n/2⌉ + n words of 64 random bits. A word w stands for a uniform real number in
# [w, w + 1)/2^64 whose further digits are not drawn yet. The first words are pairs for Box and Muller's normals, which
# give a direction; the last n give a Gamma(n) radius, -ln(u_1 ... u_n). For n = 1 two words do: a sign and a length.
#
# The kernel works at u = (⌊w/2^11⌋ + 1/2)/2^53, at most 2^-54 from the real number below 1/2, and at most 2^-53 above,
# where the sum is rounded. It carries a bound on the error of every coordinate along:
#
# - ln: |ln u - ln u'| <= 2^-53/u unless the leading 53 digits are all 0 (then nothing is known);
# - √: |√a - √b| <= |a - b|/√a;
# - sine and cosine at 2πu, in doubles: 2^-49;
# - g/‖g‖: (e_g + |g|/‖g‖ e_norm)/(‖g‖ - e_norm), e_norm <= ‖e‖ + n 2^-52 ‖g‖.
#
# The library's logarithm, sine and cosine are assumed to be right to 4 units in the last place, as all common ones are;
# the bounds allow 8. A coordinate nearer to a rounding boundary than twice its bound is not decided here.

_TINY = 2.0**-53
#: Uniform numbers multiplied before one logarithm is taken: 2^-54 to the 16th is above 0.
_FACTORS = 16


def words_of(dimension: int) -> int:
    """Return the number of 64-bit words that a row takes."""
    return 2 if dimension == 1 else 2 * (-(-dimension // 2)) + dimension


@inlined
def _uniform(word: Any) -> Any:  # pragma: no cover
    return (np.float64(word >> np.uint64(11)) + 0.5) * _TINY


@jit
def offsets(words: Any, first: int, scale: float, direction: Any, wobble: Any, out: Any, bound: Any) -> bool:
    """Compute the noise of one row, in steps, with a bound per coordinate; False if a word is too small to decide."""
    n = out.shape[0]
    squares, errors = 0.0, 0.0
    place = first
    if n == 1:
        direction[0], wobble[0], squares = (1.0 if words[place] >> np.uint64(63) else -1.0), 0.0, 1.0
        place += 1
    for i in range(0, n if n > 1 else 0, 2):
        u, turn = _uniform(words[place]), 2 * math.pi * _uniform(words[place + 1])
        place += 2
        if u < _TINY or u == 1.0:  # 1 is a number just below it, rounded: its logarithm is not known to a digit
            return False
        energy = -math.log(u)
        r = math.sqrt(2 * energy)
        e = 2 * (_TINY / u + 8 * _TINY * energy) / r + r * 2.0**-49
        for j in range(i, min(i + 2, n)):
            g = r * (math.cos(turn) if j == i else math.sin(turn))
            direction[j], wobble[j] = g, e
            squares += g * g
            errors += e * e
    norm = math.sqrt(squares)
    e_norm = math.sqrt(errors) + n * 2 * _TINY * norm
    if norm <= 2 * e_norm:
        return False
    radius, e_radius, product = 0.0, 0.0, 1.0
    for i in range(n):
        u = _uniform(words[place + i])
        if u < _TINY:
            return False
        e_radius += _TINY / u
        product *= u
        if i % _FACTORS == _FACTORS - 1 or i == n - 1:
            radius -= math.log(product)
            product = 1.0
    e_radius += (radius + n) * 32 * _TINY + n * _TINY * radius
    for j in range(n):
        c = direction[j] / norm
        e_c = (wobble[j] + abs(c) * e_norm) / (norm - e_norm)
        out[j] = scale * radius * c
        bound[j] = scale * (e_radius * abs(c) + radius * e_c) + abs(out[j]) * 8 * _TINY
    return True


@jit
def add_rows(words: Any, scale: float, places: Any, open_rows: Any) -> None:  # pragma: no cover
    """Add noise to the lattice places of some rows; mark those that doubles cannot decide, and leave them unchanged."""
    rows, n = places.shape
    per_row = words.shape[0] // rows
    direction, wobble = np.empty(n), np.empty(n)
    out, bound = np.empty(n), np.empty(n)
    for row in range(rows):
        decided = offsets(words, row * per_row, scale, direction, wobble, out, bound)
        if decided:
            for j in range(n):
                # Beyond 2^53 a double has no fraction, and beyond 2^63 a whole number would wrap round.
                if not abs(out[j]) < 2.0**53:
                    decided = False
                    break
                share = out[j] - math.floor(out[j])
                if abs(share - 0.5) <= 2 * bound[j]:
                    decided = False
                    break
        open_rows[row] = not decided
        if decided:
            for j in range(n):
                places[row, j] += np.int64(math.floor(out[j] + 0.5))


class IsotropicNoise:
    """The noise of every row of a table, with ``scale`` = 1/rate in lattice steps.

    Anyone who knows ``key``, 8 words of 32 bits, can remove the noise.
    """

    def __init__(self, dimension: int, scale: Fraction, key: npt.NDArray[np.uint32]) -> None:
        self.dimension = dimension
        self.scale = scale
        self._key = key
        self._words = words_of(dimension)

    @classmethod
    def draw(cls, dimension: int, scale: Fraction, rng: object = None) -> IsotropicNoise:
        """Draw a key and return its noise. ``rng``: see `discreet.noise.generator`."""
        return cls(dimension, scale, row_key(rng))

    def add(self, places: IntArray, first: int = 0) -> None:
        """Add the noise of rows ``first``, ``first + 1``, ... to lattice places, in place.

        ``places`` must be stored row by row; ``first`` must be a multiple of 8 for 8 rows or more.
        """
        in_chunks(len(places), self._words, lambda a, b: self._add_chunk(places[a:b], first + a))

    def _add_chunk(self, places: IntArray, first: int) -> None:
        rows = len(places)
        words = row_words(self._key, self._words, first, rows)
        open_rows = np.empty(rows, bool)
        add_rows(words, float(self.scale), places, open_rows)
        for row in np.flatnonzero(open_rows):
            own = words[row * self._words : (row + 1) * self._words]
            places[row] += settle(self._key, own, first + int(row), self._rounded)

    def _rounded(self, words: Sequence[int], bits: int) -> IntArray | None:
        return rounded(words, bits, self.dimension, self.scale)


def isotropic_laplace(rows: int, dimension: int, scale: Fraction, rng: object = None) -> IntArray:
    """Draw isotropic Laplace noise on a lattice, one vector per row, with ``scale`` = 1/rate in lattice steps.

    Privacy
    -------
    None by itself. Added to a lattice point, it makes any result at most e^(D/scale) times as likely for one point as
    for another at distance D steps: see the module.
    """
    places = np.zeros((rows, dimension), np.int64)
    watch.drew("isotropic", scale, rows, rng)
    IsotropicNoise.draw(dimension, scale, rng).add(places)
    return places


def rounded(words: Sequence[int], bits: int, dimension: int, scale: Fraction) -> IntArray | None:
    """Round the noise given by ``words`` of so many ``bits``, in decimals; None if they leave it open."""
    found = exact_offsets(words, bits, dimension, scale)
    if found is None:
        return None
    values, bounds = found
    settled = [(z - e).to_integral_value(decimal.ROUND_HALF_UP) for z, e in zip(values, bounds, strict=True)]
    others = [(z + e).to_integral_value(decimal.ROUND_HALF_UP) for z, e in zip(values, bounds, strict=True)]
    return np.array([int(z) for z in settled], np.int64) if settled == others else None


def exact_offsets(
    words: Sequence[int], bits: int, dimension: int, scale: Fraction
) -> tuple[list[Decimal], list[Decimal]] | None:
    """Evaluate the formulas of the kernel in decimals; return values and bounds."""
    # A decimal digit is 3.3 bits; with thirty to spare, rounding is negligible against the digits not drawn yet.
    with decimal.localcontext(decimal.Context(prec=bits // 3 + 30)):
        gap = Decimal(1) / (1 << bits)
        u = [(Decimal(w) + Decimal("0.5")) * gap for w in words]
        normals = 1 if dimension == 1 else 2 * (-(-dimension // 2))
        if any(words[i] == 0 for i in [*range(0, normals if dimension > 1 else 0, 2), *range(normals, len(words))]):
            return None
        g, e = [], []
        if dimension == 1:
            g, e = [Decimal(1 if words[0] >> (bits - 1) else -1)], [Decimal(0)]
        for i in range(0, normals if dimension > 1 else 0, 2):
            r = (-2 * u[i].ln()).sqrt()
            slack = 2 * gap / (u[i] * r) + 8 * r * gap
            cosine, sine = cos_sin(2 * pi() * u[i + 1])
            g += [r * cosine, r * sine]
            e += [slack, slack]
        g, e = g[:dimension], e[:dimension]
        norm = sum((x * x for x in g), Decimal(0)).sqrt()
        e_norm = sum((x * x for x in e), Decimal(0)).sqrt()
        if norm <= 2 * e_norm:
            return None
        radius = -sum((x.ln() for x in u[normals:]), Decimal(0))
        e_radius = sum((gap / x for x in u[normals:]), Decimal(0))
        steps = Decimal(scale.numerator) / Decimal(scale.denominator)
        values = [steps * radius * x / norm for x in g]
        wobble = [(a + abs(x) / norm * e_norm) / (norm - e_norm) for x, a in zip(g, e, strict=True)]
        bounds = [
            2 * steps * (e_radius * abs(x) / norm + radius * a) + gap * (1 + abs(steps * radius))
            for x, a in zip(g, wobble, strict=True)
        ]
        return values, bounds
