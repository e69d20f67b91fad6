"""NumPy generators for simulation: what runs a mechanism many times hands each portion of runs a stream of its own.

No noise that protects people is drawn here; a release made with such a stream counts as seeded.
"""

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray
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


def resample(counts: AnyArray, replicates: int, rng: object = None) -> IntArray:
    """Draw whole samples anew: rows of counts with the total of ``counts`` and its shares as chances.

    Examples
    --------
    >>> again = resample(np.array([60, 30, 10]), replicates=4, rng=1)
    >>> again.shape, again.sum(axis=1).tolist()
    ((4, 3), [100, 100, 100, 100])
    """
    seed = int.from_bytes(generator(rng).bytes(32).tobytes(), "little")
    total = int(counts.sum())
    shares = counts / max(total, 1) if total else np.full(len(counts), 1 / max(len(counts), 1))
    stream = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    return stream.multinomial(total, shares, size=replicates)


def even_points(n: int, dimension: int, constant: int) -> FloatArray:
    """Return the first points of a scrambled Halton sequence; ``constant`` names which.

    Privacy
    -------
    None: the same for everyone, so nothing may be hidden by it.

    Examples
    --------
    >>> bool(np.array_equal(even_points(4, 2, 7), even_points(4, 2, 7)))
    True
    """
    from scipy.stats import qmc  # slow to load, and few need it

    return np.asarray(qmc.Halton(dimension, scramble=True, seed=constant).random(n), np.float64)
