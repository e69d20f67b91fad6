"""A fast stream over the system's entropy: ChaCha20 (Bernstein 2008, RFC 8439), keyed with 32 bytes of it.

The operating system gives about 0.4 GB/s, too slow for vectors of a thousand coins; a stream cipher is several times
faster. Linux makes its own random bytes with this cipher, so nothing new has to be trusted. The block counter has 64
bits. Many blocks are computed together, which becomes vector code.
"""

import os
from typing import Any

import numpy as np

from discreet.core import AnyArray, ByteArray, inlined, jit
from discreet.noise.stream.generator import Generator

#: Blocks of 64 bytes that are computed together.
_LANES = 64


def expanded(stream: Generator) -> Generator:
    """Return a stream of ChaCha20 whose key is the next 32 bytes of another stream, secure or seeded as that is.

    After a fork, a secure one takes a new key.
    """
    return Generator(_Reader(stream), seeded=stream.seeded)


class _Reader:
    """The source of an expanded stream: blocks of one key, one after the other."""

    def __init__(self, stream: Generator) -> None:
        self._stream = stream
        self._renew()

    def _renew(self) -> None:
        self._process = os.getpid()
        self._key = self._stream.bytes(32).view("<u4").astype(np.uint32)
        self._used = 0

    def __call__(self, n: int) -> ByteArray:
        if not self._stream.seeded and os.getpid() != self._process:
            self._renew()
        blocks = np.empty((-(-n // 64), 16), np.uint32)
        chacha20(self._key, self._used, (0, 0), blocks)
        self._used += len(blocks)
        return blocks.astype("<u4", copy=False).view(np.uint8).ravel()


def chacha20(key: AnyArray, counter: int, nonce: tuple[int, int], out: AnyArray) -> None:
    """Fill ``out`` with key stream, a block of 16 words per row, from block ``counter`` on."""
    constant = np.frombuffer(b"expand 32-byte k", "<u4")
    words = np.concatenate([constant, key, (0, 0), nonce]).astype(np.uint32)
    _blocks(np.uint64(counter), words, out)


@inlined
def _quarter_rounds(a: Any, b: Any, c: Any, d: Any) -> None:  # pragma: no cover
    """One quarter round in every lane. Numba widens sums of 32-bit numbers, hence the casts."""
    for lane in range(_LANES):
        w, x, y, z = a[lane], b[lane], c[lane], d[lane]
        w = np.uint32(w + x)
        turned = z ^ w
        z = np.uint32(turned << np.uint32(16) | turned >> np.uint32(16))
        y = np.uint32(y + z)
        turned = x ^ y
        x = np.uint32(turned << np.uint32(12) | turned >> np.uint32(20))
        w = np.uint32(w + x)
        turned = z ^ w
        z = np.uint32(turned << np.uint32(8) | turned >> np.uint32(24))
        y = np.uint32(y + z)
        turned = x ^ y
        x = np.uint32(turned << np.uint32(7) | turned >> np.uint32(25))
        a[lane], b[lane], c[lane], d[lane] = w, x, y, z


@jit
def _blocks(counter: Any, words: Any, out: Any) -> None:  # pragma: no cover
    """Fill ``out`` with blocks whose words before the rounds are these and a counter."""
    start, state = np.empty((16, _LANES), np.uint32), np.empty((16, _LANES), np.uint32)
    for word in range(16):
        for lane in range(_LANES):
            start[word, lane] = words[word]
    for first in range(0, out.shape[0], _LANES):
        for lane in range(_LANES):
            number = counter + np.uint64(first + lane)
            start[12, lane] = np.uint32(number & np.uint64(0xFFFFFFFF))
            start[13, lane] = np.uint32(number >> np.uint64(32))
        for word in range(16):
            for lane in range(_LANES):
                state[word, lane] = start[word, lane]
        for _ in range(10):
            _quarter_rounds(state[0], state[4], state[8], state[12])
            _quarter_rounds(state[1], state[5], state[9], state[13])
            _quarter_rounds(state[2], state[6], state[10], state[14])
            _quarter_rounds(state[3], state[7], state[11], state[15])
            _quarter_rounds(state[0], state[5], state[10], state[15])
            _quarter_rounds(state[1], state[6], state[11], state[12])
            _quarter_rounds(state[2], state[7], state[8], state[13])
            _quarter_rounds(state[3], state[4], state[9], state[14])
        for lane in range(min(_LANES, out.shape[0] - first)):
            for word in range(16):
                out[first + lane, word] = np.uint32(state[word, lane] + start[word, lane])
