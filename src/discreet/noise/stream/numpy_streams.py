"""NumPy generators for simulation. No noise that protects people is drawn here."""

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray
from discreet.noise.stream.generator import generator


def root_of(rng: object = None) -> int:
    """Draw the number that all streams of one simulation are derived from (`numpy_stream`)."""
    return int.from_bytes(generator(rng).bytes(16).tobytes(), "little")


def numpy_stream(root: int, *place: int) -> np.random.Generator:
    """Return the stream of one place in a simulation; different places are independent."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(root, spawn_key=place)))


def resample(counts: AnyArray, replicates: int, rng: object = None) -> IntArray:
    """Draw bootstrap samples: rows of counts with the total of ``counts`` and its shares as chances."""
    seed = int.from_bytes(generator(rng).bytes(32).tobytes(), "little")
    total = int(counts.sum())
    shares = counts / max(total, 1) if total else np.full(len(counts), 1 / max(len(counts), 1))
    stream = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    return stream.multinomial(total, shares, size=replicates)


def even_points(n: int, dimension: int, constant: int) -> FloatArray:
    """Return the first points of a scrambled Halton sequence, the one named by ``constant``: public, no privacy."""
    from scipy.stats import qmc  # slow to load, and few need it

    return np.asarray(qmc.Halton(dimension, scramble=True, seed=constant).random(n), np.float64)
