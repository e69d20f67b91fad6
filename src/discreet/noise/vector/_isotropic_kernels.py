"""The fast path of isotropic Laplace noise: doubles with a bound on their error.

A row of n coordinates takes W = 2⌈n/2⌉ + n words of 64 random bits. A word w stands for a uniform real number in
[w, w + 1)/2^64 whose further digits are not drawn yet. The first words are pairs for Box and Muller's normals, which
give a direction; the last n give a Gamma(n) radius, -ln(u_1 ... u_n). For n = 1 two words do: a sign and a length.

The kernel works at u = (⌊w/2^11⌋ + 1/2)/2^53, at most 2^-54 from the real number below 1/2, and at most 2^-53 above,
where the sum is rounded. It carries a bound on the error of every coordinate along:

- ln: |ln u - ln u'| <= 2^-53/u unless the leading 53 digits are all 0 (then nothing is known);
- √: |√a - √b| <= |a - b|/√a;
- sine and cosine at 2πu, in doubles: 2^-49;
- g/‖g‖: (e_g + |g|/‖g‖ e_norm)/(‖g‖ - e_norm), e_norm <= ‖e‖ + n 2^-52 ‖g‖.

The library's logarithm, sine and cosine are assumed to be right to 4 units in the last place, as all common ones are;
the bounds allow 8. A coordinate nearer to a rounding boundary than twice its bound is not decided here.
"""

import math
from typing import Any

import numpy as np

from discreet.core import inlined, jit

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
