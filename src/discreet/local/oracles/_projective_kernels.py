"""The compiled loops of the projective-geometry response: sums of message counts over hyperplanes.

Points and their numbers are those of `projective.py`: appending the digit δ to point a gives point q·a + 1 + δ. So
the descendants of a point by r digits are a range, q^r·a + N_r .. q^r·(a + 1) + N_r - 1, where N_r = (q^r - 1)/(q - 1)
is also how many points of length r there are.
"""

from typing import Any

import numpy as np

from discreet.core import jit
from discreet.noise.reports import inverse, write_digits


@jit
def direct_support(sums: Any, codes: Any, order: int, length: int, out: Any) -> None:  # pragma: no cover
    """Sum the messages of each code's hyperplane one by one. ``sums[i]`` is the sum of the first i counts.

    Let l be the place of the last non-zero coordinate of v. A point u that begins after l is on the hyperplane. One
    that begins before it has any prefix of length l, then the digit that solves <u, v> = 0, then any others: a range.
    """
    value = np.empty(length, np.int64)
    products = np.empty((len(sums) - 1) // order + 1, np.int64)  # <prefix, v> for all prefixes of a length
    for row in range(len(codes)):
        write_digits(codes[row], order, value)
        last = length - 1
        while value[last] == 0:
            last -= 1
        count = 0
        for place in range(last):
            # One digit longer. The largest numbers first, so that no product is overwritten before it is read.
            for a in range(count - 1, -1, -1):
                product = products[a]
                for child in range(order * a + 1, order * a + 1 + order):
                    products[child] = product
                    product += value[place]
                    if product >= order:
                        product -= order
            products[0] = value[place]
            count = order * count + 1
        width, before = 1, 0
        for _ in range(length - 1 - last):
            width, before = width * order, before * order + 1
        total, factor = sums[before], order - inverse(value[last], order)
        for a in range(count):
            digit = products[a] * factor % order
            first = (order * a + 1 + digit) * width + before
            total += sums[first + width] - sums[first]
        out[row] = total


@jit
def scaled_points(order: int, places: Any) -> None:  # pragma: no cover
    """Write the number of the point (1, γ b) as ``places[b, γ]``, for every point b of a length."""
    for b in range(places.shape[0]):
        for factor in range(1, order):
            rest, total, power = b, 0, 1
            while rest > 0:
                rest -= 1
                total += power * (rest % order * factor % order)
                rest //= order
                power *= order
            places[b, factor] = places.shape[0] + total + power * factor


@jit
def shorten(lines: Any, prefix_sums: Any, places: Any, inverses: Any, out: Any) -> None:  # pragma: no cover
    """Shorten the prefixes by a digit: one layer of the dynamic programme.

    ``lines[a, b, z]`` is the sum over the messages with prefix a whose other coordinates have inner product z with the
    point b; ``out`` is the same for prefixes without their last digit δ, and points (b0, γ b) with b0 in {0, 1}:

        out[a, (b0, γ b), z] = Σ_δ lines[aδ, b, (z - b0 δ)/γ].

    For b0 = 1 put z = γ s: a sum of whole lines, each turned by δ/γ. The point (1, 0, ..., 0) asks for one prefix aδ,
    of any further digits: ``prefix_sums``.
    """
    suffixes, order = lines.shape[1], lines.shape[2]
    twice, line = np.empty((order, 2 * order), lines.dtype), np.empty(order, lines.dtype)
    for a in range(out.shape[0]):
        first = order * a + 1
        for z in range(order):
            out[a, suffixes, z] = prefix_sums[first + z]
        for b in range(suffixes):
            line[:] = 0
            for digit in range(order):
                for z in range(order):
                    entry = lines[first + digit, b, z]
                    twice[digit, z] = entry
                    twice[digit, order + z] = entry
                    line[z] += entry
            for z in range(order):
                out[a, b, z] = line[z]
            for factor in range(1, order):
                line[:] = 0
                turn = order
                for digit in range(order):
                    turned = twice[digit, turn : turn + order]
                    for s in range(order):
                        line[s] += turned[s]
                    turn -= inverses[factor]
                    if turn <= 0:
                        turn += order
                place, z = places[b, factor], 0
                for s in range(order):
                    out[a, place, z] = line[s]
                    z += factor
                    if z >= order:
                        z -= order


@jit
def begin_here(lines: Any, later: Any, places: Any, inverses: Any, out: Any) -> None:  # pragma: no cover
    """Add the messages that begin one place earlier, with their leading 1, to those that begin later.

    ``lines[b, z]`` belongs to the prefix that is the leading 1. A point is (b0, γ b): of the messages that begin here
    it takes those with inner product -b0/γ with b.
    """
    suffixes, order = lines.shape
    for b in range(suffixes):
        out[b] = later[b] + lines[b, 0]
        for factor in range(1, order):
            out[places[b, factor]] = later[b] + lines[b, order - inverses[factor]]


@jit
def write_inverses(out: Any) -> None:  # pragma: no cover
    """Write 1/a modulo the prime len(out): q = (q div a)·a + q mod a, so 1/a = -(q div a)/(q mod a)."""
    order = len(out)
    out[1] = 1
    for a in range(2, order):
        out[a] = (order - order // a) * out[order % a] % order
