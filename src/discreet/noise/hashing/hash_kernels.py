"""Compiled loops of the keyed hashes: SipHash-2-4 and polynomials modulo 2^61 - 1.

SipHash is written from its published description (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
2012). Numba turns a mix of signed and unsigned 64-bit integers into floats, so every constant here is unsigned.
"""

from typing import Any

import numpy as np

from discreet.core import few, inlined, jit

_u64 = np.uint64
#: The Mersenne prime 2^61 - 1: reducing modulo it takes a shift and an addition.
PRIME = _u64(2**61 - 1)
#: The last byte of every hashed message, so that values of two kinds never share a message.
TAG_MISSING, TAG_WHOLE, TAG_BYTES, TAG_COEFFICIENT = _u64(0), _u64(1), _u64(2), _u64(3)

_ZERO, _ONE, _EIGHT, _FULL = _u64(0), _u64(1), _u64(8), _u64(0xFF)
_IV0, _IV1 = _u64(0x736F6D6570736575), _u64(0x646F72616E646F6D)
_IV2, _IV3 = _u64(0x6C7967656E657261), _u64(0x7465646279746573)
_R13, _R16, _R17, _R21, _R32 = _u64(13), _u64(16), _u64(17), _u64(21), _u64(32)
_R51, _R48, _R47, _R43 = _u64(51), _u64(48), _u64(47), _u64(43)
_R29, _R30, _R31, _R56, _R61 = _u64(29), _u64(30), _u64(31), _u64(56), _u64(61)
_LOW30, _LOW31, _LOW32 = _u64(2**30 - 1), _u64(2**31 - 1), _u64(2**32 - 1)


@inlined
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0 += v1
    v2 += v3
    v1 = ((v1 << _R13) | (v1 >> _R51)) ^ v0
    v3 = ((v3 << _R16) | (v3 >> _R48)) ^ v2
    v0 = (v0 << _R32) | (v0 >> _R32)
    v2 += v1
    v0 += v3
    v1 = ((v1 << _R17) | (v1 >> _R47)) ^ v2
    v3 = ((v3 << _R21) | (v3 >> _R43)) ^ v0
    v2 = (v2 << _R32) | (v2 >> _R32)
    return v0, v1, v2, v3


@inlined
def begin(k0: Any, k1: Any) -> Any:
    """Return the state of SipHash before the first word."""
    return k0 ^ _IV0, k1 ^ _IV1, k0 ^ _IV2, k1 ^ _IV3


@inlined
def absorb(v0: Any, v1: Any, v2: Any, v3: Any, word: Any) -> Any:
    """Take in a word: two rounds."""
    v3 ^= word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@inlined
def finish(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    """Return the hash: four rounds."""
    v2 ^= _FULL
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@inlined
def _siphash_word(k0: Any, k1: Any, word: Any, tail: Any) -> Any:
    """Hash a message of 8 to 15 bytes: one whole word, then the last block with the length in its top byte."""
    v0, v1, v2, v3 = begin(k0, k1)
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, word)
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, tail)
    return finish(v0, v1, v2, v3)


@jit
def siphash_words(words: Any, k0: Any, k1: Any, out: Any) -> None:
    """Hash each 64-bit word, as its 8 little-endian bytes and the tag of whole numbers."""
    tail = (_u64(9) << _R56) | TAG_WHOLE
    for row in range(len(words)):
        out[row] = _siphash_word(k0, k1, words[row], tail)


#: Rows that a process hashes without a kernel, which takes long to compile; a call costs as much as many rows.
_MOST_PLAIN, _PER_CALL, _PADDED = 1 << 18, 1 << 10, 1 << 22
_plain_rows = [0]


def siphash_bytes(data: Any, offsets: Any, tag: Any, k0: Any, k1: Any, out: Any) -> None:
    """Hash ``data[offsets[i]:offsets[i + 1]]`` and then the tag byte, for every row i of an Arrow array."""
    if few(hash_bytes, len(out)) and _plain_rows[0] <= _MOST_PLAIN:
        sizes = np.diff(offsets[: len(out) + 1]).astype(np.int64)
        width = int(sizes.max(initial=0) + 1) // 8 + 1
        if len(out) * width <= _PADDED // 8:
            _plain_rows[0] += len(out) + _PER_CALL
            out[:] = _hash_padded(data[offsets[0] : offsets[len(out)]], sizes, width, tag, k0, k1)
            return
    hash_bytes(data, offsets, tag, k0, k1, out)


def _hash_padded(data: Any, sizes: Any, width: int, tag: Any, k0: Any, k1: Any) -> Any:
    """Hash few texts, which lie side by side, with NumPy: word by word of all of them."""
    padded = np.zeros((len(sizes), 8 * width), np.uint8)
    padded[np.arange(8 * width) < sizes[:, np.newaxis]] = data
    padded[np.arange(len(sizes)), sizes] = tag
    words, last = padded.view("<u8").astype(np.uint64), (sizes + 1) // 8
    words[np.arange(len(sizes)), last] |= (sizes + 1).astype(np.uint64) << _R56
    state: Any = np.stack([np.full(len(sizes), word) for word in begin(k0, k1)])
    for place in range(width):
        more = last >= place
        v0, v1, v2, v3 = state[:, more]
        state[:, more] = absorb(v0, v1, v2, v3, words[more, place])
    return finish(*state)


@jit
def hash_bytes(data: Any, offsets: Any, tag: Any, k0: Any, k1: Any, out: Any) -> None:
    """Hash rows as `siphash_bytes` does."""
    for row in range(len(out)):
        place, end = _u64(offsets[row]), _u64(offsets[row + 1])
        length = end - place
        v0, v1, v2, v3 = begin(k0, k1)
        while end - place >= _EIGHT:
            word = _ZERO
            for i in range(8):
                word |= _u64(data[place + _u64(i)]) << _u64(8 * i)
            v0, v1, v2, v3 = absorb(v0, v1, v2, v3, word)
            place += _EIGHT
        word, shift = _ZERO, _ZERO
        while place < end:
            word |= _u64(data[place]) << shift
            shift += _EIGHT
            place += _ONE
        word |= tag << shift
        if shift == _R56:  # the tag filled the word: the last block holds the length only
            v0, v1, v2, v3 = absorb(v0, v1, v2, v3, word)
            word = _ZERO
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, word | ((length + _ONE) << _R56))
        out[row] = finish(v0, v1, v2, v3)


@inlined
def reduce_word(x: Any) -> Any:
    """Return any 64-bit word modulo 2^61 - 1."""
    x = (x & PRIME) + (x >> _R61)
    return x - PRIME if x >= PRIME else x


@inlined
def multiply_add(a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c modulo 2^61 - 1 for a, b, c below it.

    With halves of 30 and 31 bits, a·b = A·2^62 + M·2^31 + B. As 2^61 counts as 1, A·2^62 is 2A, and M·2^31 is
    the top of M plus its low 30 bits moved up. The sum stays below 2^61 + 2^32 + 2^61 + 2^62 + 2^61 < 2^64.
    """
    a1, a0, b1, b0 = a >> _R31, a & _LOW31, b >> _R31, b & _LOW31
    middle = a0 * b1 + a1 * b0
    moved = (middle >> _R30) + ((middle & _LOW30) << _R31)
    return reduce_word(((a1 * b1) << _ONE) + moved + a0 * b0 + c)


@inlined
def coefficient(function: Any, power: Any, k0: Any, k1: Any) -> Any:
    """Derive one coefficient from the key: SipHash of (function as 8 bytes, power as 1 byte, tag), modulo p."""
    tail = (_u64(10) << _R56) | (TAG_COEFFICIENT << _EIGHT) | power
    return reduce_word(_siphash_word(k0, k1, function, tail))


@inlined
def bucket(h: Any, width: Any) -> Any:
    """Return floor(h·width / 2^61) for h below 2^61 and width up to 2^32."""
    return ((h >> _R32) * width + (((h & _LOW32) * width) >> _R32)) >> _R29


@jit
def reduce_words(words: Any) -> None:
    """Reduce every word modulo 2^61 - 1, in place."""
    for row in range(len(words)):
        words[row] = reduce_word(words[row])


@inlined
def coefficients(function: Any, k0: Any, k1: Any, terms: Any) -> None:
    """Fill ``terms`` with the coefficients of one function, the constant term first."""
    for power in range(len(terms)):
        terms[power] = coefficient(function, _u64(power), k0, k1)


@inlined
def polynomial(terms: Any, x: Any) -> Any:
    """Evaluate terms[0] + terms[1]·x + ... modulo 2^61 - 1, for x below it."""
    h = terms[-1]
    for power in range(len(terms) - 2, -1, -1):
        h = multiply_add(h, x, terms[power])
    return h


@inlined
def _polynomials(terms: Any, points: Any, out: Any) -> None:
    """Evaluate one polynomial at many points. The inner loop over points becomes vector code."""
    for column in range(len(points)):
        out[column] = terms[-1]
    for power in range(len(terms) - 2, -1, -1):
        term = terms[power]
        for column in range(len(points)):
            out[column] = multiply_add(out[column], points[column], term)


@jit
def hash_pairs(points: Any, functions: Any, width: Any, k0: Any, k1: Any, terms: Any, out: Any) -> None:
    """Hash point i under function i, deriving coefficients on the way."""
    for row in range(len(out)):
        coefficients(functions[row], k0, k1, terms)
        out[row] = bucket(polynomial(terms, points[row]), width)


@jit
def hash_table(points: Any, functions: Any, width: Any, k0: Any, k1: Any, terms: Any, hashes: Any, out: Any) -> None:
    """Hash every point under every function: one row of ``out`` per function; ``hashes`` is room for one."""
    for row in range(len(functions)):
        coefficients(functions[row], k0, k1, terms)
        _polynomials(terms, points, hashes)
        for column in range(len(points)):
            out[row, column] = bucket(hashes[column], width)


@jit
def count_support(
    points: Any, functions: Any, buckets: Any, width: Any, k0: Any, k1: Any, terms: Any, hashes: Any, out: Any
) -> None:
    """Count for every point how many functions send it to the bucket given with the function; as `hash_table`."""
    for row in range(len(functions)):
        coefficients(functions[row], k0, k1, terms)
        _polynomials(terms, points, hashes)
        wanted = buckets[row]
        for column in range(len(points)):
            out[column] += bucket(hashes[column], width) == wanted
