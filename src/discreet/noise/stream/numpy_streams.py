"""NumPy generators for simulation: what runs a mechanism many times hands each portion of runs a stream of its own.

No noise that protects people is drawn here; a release made with such a stream counts as seeded.
"""

from __future__ import annotations

import numpy as np

from discreet.noise.stream.generator import generator


def root_of(rng: object = None) -> int:
    """Draw the number that all streams of one simulation grow from.

    Examples
    --------
    >>> root_of(7) == root_of(7), root_of() == root_of()
    (True, False)
    """
    return int.from_bytes(generator(rng).bytes(16).tobytes(), "little")


def numpy_stream(root: int, *place: int) -> np.random.Generator:
    """Return the stream of one place in a simulation; different places are independent.

    Examples
    --------
    >>> draws = [int(numpy_stream(5, i).integers(1000)) for i in (0, 0, 1)]
    >>> draws[0] == draws[1], draws[0] == draws[2]
    (True, False)
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(root, spawn_key=place)))
