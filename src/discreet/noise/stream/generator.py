"""The two sources of random bytes: the operating system's, and a seeded one for experiments.

A `Generator` is a *byte stream*. Every sampler reads it from front to back, so a thousand draws at once equal a
thousand draws one by one, and no result depends on a buffer's size. The secure stream is `os.urandom`, read in blocks;
a child process drops its block after a fork. The seeded stream is Philox keyed by NumPy's `SeedSequence`; both are
stable across NumPy versions.
"""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core import ByteArray, FloatArray, IntArray, WordArray, checks
from discreet.errors import InvalidType
from discreet.noise.stream.watch import watcher

#: ``step(buffer, position)`` works from ``position`` and returns where it stopped and whether it finished.
Step = Callable[[ByteArray, int], tuple[int, bool]]

_SMALLEST_BLOCK, _LARGEST_BLOCK = 64, 1 << 22


class Generator:
    """A stream of random bytes: secure, or seeded and marked as such. Make one with `generator`.

    Threads may share it: each draw takes its bytes under a lock. Do not publish a release made with a seeded stream,
    because anyone who knows the seed can repeat it.

    Examples
    --------
    >>> generator(7).bytes(4).tolist() == generator(7).bytes(4).tolist()
    True
    >>> generator().seeded
    False
    """

    def __init__(self, read: Callable[[int], ByteArray], *, seeded: bool) -> None:
        self._read = read
        self._seeded = seeded
        self._reset()
        if not seeded:
            _secure_streams.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._buffer = np.empty(0, np.uint8)
        self._position = 0

    @property
    def seeded(self) -> bool:
        """True if the stream can be repeated."""
        return self._seeded

    def bytes(self, n: int) -> ByteArray:
        """Return the next ``n`` bytes of the stream."""
        taken = np.empty(n, np.uint8)

        def step(buffer: ByteArray, position: int) -> tuple[int, bool]:
            if len(buffer) - position < n:
                return position, False
            taken[:] = buffer[position : position + n]
            return position + n, True

        self.run(step, expected=n)
        return taken

    def run(self, step: Step, *, expected: int) -> None:
        """Call ``step`` until it has finished, with more bytes each time; ``expected`` guesses how many it needs."""
        block = min(max(expected, _SMALLEST_BLOCK), _LARGEST_BLOCK)
        taken = 0
        with self._lock:
            while True:
                before = self._position
                self._position, finished = step(self._buffer, before)
                taken += self._position - before
                if finished:
                    break
                rest = self._buffer[self._position :]
                self._buffer, self._position = np.concatenate([rest, self._read(block)]), 0
        watching = watcher()
        if watching is not None:
            watching.took(self, taken)

    def __reduce__(self) -> Any:
        raise InvalidType("rng", self, "an integer or None when it crosses processes", "rng=0 or rng=None")

    def __repr__(self) -> str:
        return f"<{'seeded' if self.seeded else 'secure'} generator>"


_secure_streams: weakref.WeakSet[Generator] = weakref.WeakSet()


def _after_fork() -> None:
    for stream in list(_secure_streams):
        stream._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _from_system(n: int) -> ByteArray:
    return np.frombuffer(os.urandom(n), np.uint8)


def _from_bit_generator(bits: Any) -> Callable[[int], ByteArray]:
    def read(n: int) -> ByteArray:
        words: WordArray = bits.random_raw(-(-n // 8))
        return words.astype("<u8", copy=False).view(np.uint8)

    return read


def _from_numpy(rng: np.random.Generator) -> Callable[[int], ByteArray]:
    # Not the raw words: those of the Mersenne Twister are half empty.
    def read(n: int) -> ByteArray:
        return np.frombuffer(rng.bytes(-(-n // 8) * 8), np.uint8)

    return read


def generator(rng: object = None, name: str = "rng") -> Generator:
    """Return the stream that an ``rng`` or ``random_state`` argument denotes; ``name`` is what the user calls it.

    None is the operating system's entropy. A whole number or a generator of NumPy makes a *seeded* stream, which can be
    repeated.

    Examples
    --------
    >>> generator(), generator(42)
    (<secure generator>, <seeded generator>)
    """
    if isinstance(rng, Generator):
        return rng
    if rng is None:
        return Generator(_from_system, seeded=False)
    if isinstance(rng, np.random.Generator):
        return Generator(_from_numpy(rng), seeded=True)
    if isinstance(rng, np.random.RandomState):
        return generator(int(rng.randint(0, 2**63 - 1, dtype=np.int64)))
    if isinstance(rng, (bool, np.bool_)) or not isinstance(rng, (int, np.integer)):
        raise InvalidType(name, rng, "None (secure), a whole number (seeded) or a generator", f"{name}=None")
    seed = checks.whole(name, rng)
    return Generator(_from_bit_generator(np.random.Philox(np.random.SeedSequence(seed))), seeded=True)


# NumPy generators for simulation. No noise that protects people is drawn here.


def root_of(random_state: object = None) -> int:
    """Draw the number that all streams of one simulation are derived from (`numpy_stream`)."""
    return int.from_bytes(generator(random_state, "random_state").bytes(16).tobytes(), "little")


def numpy_stream(root: int, *place: int) -> np.random.Generator:
    """Return the stream of one place in a simulation; different places are independent."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(root, spawn_key=place)))


def resample(chances: FloatArray, total: int, replicates: int, rng: object = None) -> IntArray:
    """Draw bootstrap samples: rows of counts with a total, by chances that add up to 1."""
    seed = int.from_bytes(generator(rng).bytes(32).tobytes(), "little")
    stream = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    return stream.multinomial(total, chances / chances.sum(), size=replicates)


def even_points(n: int, dimension: int, constant: int) -> FloatArray:
    """Return the first points of a scrambled Halton sequence, the one named by ``constant``: public, no privacy."""
    from scipy.stats import qmc  # slow to load, and few need it

    return np.asarray(qmc.Halton(dimension, scramble=True, seed=constant).random(n), np.float64)
