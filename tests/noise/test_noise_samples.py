"""The samplers draw from the laws they claim, repeatably, from any source and in any portion.

The chi-square tests are seeded, so they pass or fail once and for all; each had a 1e-4 chance of a false alarm when
its seed was chosen.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from discreet import noise
from discreet.errors import InvalidType
from discreet.noise.stream.generator import Generator

N = 1_000_000
FALSE_ALARM = 1e-4


def assert_follows(draws: np.ndarray, law: Any) -> None:
    """Chi-square over all cells with an expected count of at least ten; the tails in two cells of their own."""
    z = np.arange(draws.min() - 10, draws.max() + 11)
    expected = law.pmf(z) * len(draws)
    inside = z[expected >= 10]
    low, high = inside[0], inside[-1]
    observed = np.bincount(np.clip(draws, low - 1, high + 1) - (low - 1))
    middle = law.pmf(inside)
    upper = (1 - middle.sum()) / 2  # both laws are symmetric
    wanted = np.concatenate([[upper], middle, [upper]]) * len(draws)
    kept = wanted > 1e-9 * len(draws)
    assert observed[~kept].sum() == 0
    statistic = ((observed - wanted)[kept] ** 2 / wanted[kept]).sum()
    assert statistic < chi2.isf(FALSE_ALARM, kept.sum() - 1)


@pytest.mark.parametrize("scale", [0.4, 3, 250])
def test_a_million_laplace_draws_follow_the_law(scale: float) -> None:
    assert_follows(noise.discrete_laplace(scale, size=N, rng=11), noise.DiscreteLaplace(scale))


@pytest.mark.parametrize("sigma", [0.6, 3, 120])
def test_a_million_gaussian_draws_follow_the_law(sigma: float) -> None:
    assert_follows(noise.discrete_gaussian(sigma, size=N, rng=12), noise.DiscreteGaussian(sigma))


def test_the_secure_source_follows_the_law_too() -> None:
    """Not seeded: may fail once in 10^9 runs, so the bound is wider."""
    draws = noise.discrete_laplace(2, size=N)
    law = noise.DiscreteLaplace(2)
    z = np.arange(-8, 9)
    observed = np.array([(draws == v).sum() for v in z])
    expected = law.pmf(z) * N
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-9, len(z))


@pytest.mark.parametrize("scale", [1e-3, 0.03, 1e4, 1e9, 1e12])
def test_every_scale_works_without_overflow(scale: float) -> None:
    for draw, law in [
        (noise.discrete_laplace, noise.DiscreteLaplace(scale)),
        (noise.discrete_gaussian, noise.DiscreteGaussian(scale)),
    ]:
        z = draw(scale, size=200_000, rng=5).astype(float)
        deviation = np.sqrt(law.variance)
        assert abs(z.mean()) <= 5 * deviation / np.sqrt(len(z))
        assert (z**2).mean() == pytest.approx(law.variance, rel=0.05, abs=1e-9)


def test_one_at_a_time_or_all_at_once_is_the_same() -> None:
    """Also when the draws of different kinds take turns on one generator."""
    at_once = noise.generator(3)
    one_by_one = noise.generator(3)
    assert noise.discrete_laplace(40, size=500, rng=at_once).tolist() == [
        noise.discrete_laplace(40, rng=one_by_one) for _ in range(500)
    ]
    assert noise.discrete_gaussian(4, size=300, rng=at_once).tolist() == [
        noise.discrete_gaussian(4, rng=one_by_one) for _ in range(300)
    ]
    assert noise.below(1000, size=300, rng=at_once).tolist() == [noise.below(1000, rng=one_by_one) for _ in range(300)]
    assert noise.bernoulli(0.3, size=(3, 100), rng=at_once).ravel().tolist() == [
        noise.bernoulli(0.3, rng=one_by_one) for _ in range(300)
    ]


@pytest.mark.parametrize("block", [1, 3, 64, 5000])
def test_the_size_of_the_blocks_read_changes_nothing(block: int) -> None:
    stream = np.random.default_rng(0).integers(0, 256, 400_000).astype(np.uint8)

    def trickle(n: int) -> Generator:
        place = 0

        def read(_: int) -> np.ndarray:
            nonlocal place
            place += n
            return stream[place - n : place]

        return Generator(read, seeded=True)

    draw = noise.discrete_gaussian(30, size=200, rng=trickle(block))
    assert draw.tolist() == noise.discrete_gaussian(30, size=200, rng=trickle(100_000)).tolist()


def test_seeds_repeat_and_entropy_does_not() -> None:
    assert noise.discrete_laplace(9, size=50, rng=1).tolist() == noise.discrete_laplace(9, size=50, rng=1).tolist()
    assert noise.discrete_laplace(9, size=50, rng=1).tolist() != noise.discrete_laplace(9, size=50, rng=2).tolist()
    assert noise.discrete_laplace(1e9, size=50).tolist() != noise.discrete_laplace(1e9, size=50).tolist()
    assert noise.generator(np.random.default_rng(4)).bytes(9).tolist() == (
        noise.generator(np.random.default_rng(4)).bytes(9).tolist()
    )
    assert noise.generator(np.random.RandomState(4)).seeded
    assert noise.generator(np.int64(3)).seeded
    assert not noise.generator(None).seeded


def test_the_seeded_stream_is_frozen() -> None:
    """A change here would silently change every published experiment."""
    assert noise.generator(2026).bytes(8).tobytes().hex() == FROZEN_STREAM
    assert noise.discrete_laplace(5, size=6, rng=2026).tolist() == FROZEN_LAPLACE


FROZEN_STREAM = "13da200e46bdf72b"
FROZEN_LAPLACE = [-7, -1, 2, -3, -4, -2]


def test_threads_share_a_generator_without_sharing_bytes() -> None:
    counter = iter(range(10**9))

    def read(n: int) -> np.ndarray:
        return np.array([next(counter) for _ in range(n // 8 + 1)], dtype="<u8").view(np.uint8)

    shared = Generator(read, seeded=True)
    taken: list[int] = []
    lock = threading.Lock()

    def work() -> None:
        mine = [int(shared.bytes(8).view("<u8")[0]) for _ in range(2000)]
        with lock:
            taken.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(taken) == list(range(8000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_parent_and_child_draw_different_noise_after_a_fork() -> None:
    script = """if True:
        import os
        from discreet import noise
        shared = noise.generator()
        shared.bytes(1)                      # the buffer now holds bytes that the child would inherit
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, shared.bytes(32).tobytes())
            os._exit(0)
        child = os.read(read, 32)
        os.wait()
        assert len(child) == 32 and child != shared.bytes(32).tobytes()
    """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_a_generator_does_not_cross_processes() -> None:
    with pytest.raises(InvalidType, match="crosses processes"):
        pickle.dumps(noise.generator())


def test_randomized_response_keeps_and_changes_at_the_stated_rates() -> None:
    k, epsilon = 5, 1.0
    answers = Counter(noise.randomized_response(np.full(200_000, 2), n_values=k, epsilon=epsilon, rng=8).tolist())
    keep = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    wanted = np.full(k, (1 - keep) / (k - 1) * 200_000)
    wanted[2] = keep * 200_000
    observed = np.array([answers[v] for v in range(k)])
    assert ((observed - wanted) ** 2 / wanted).sum() < chi2.isf(FALSE_ALARM, k - 1)


def test_randomized_response_clamps_codes_row_by_row() -> None:
    answers = noise.randomized_response([[-9, 99], [0, 1]], n_values=2, epsilon=50, rng=0)
    assert answers.tolist() == [[0, 1], [0, 1]]
    assert noise.randomized_response([], n_values=2, epsilon=1).shape == (0,)


def test_uniform_integers_are_uniform_for_awkward_bounds() -> None:
    for bound in [1, 2, 3, 255, 256, 257, 1000]:
        counts = np.bincount(noise.below(bound, size=100 * bound, rng=bound), minlength=bound)
        assert len(counts) == bound
        assert ((counts - 100) ** 2 / 100).sum() <= chi2.isf(FALSE_ALARM, max(bound - 1, 1))
    assert noise.below(2**62, size=1000, rng=0).max() > 2**61


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64])
def test_every_numpy_generator_gives_the_right_law(bits: Any) -> None:
    draws = noise.discrete_laplace(2, size=200_000, rng=np.random.Generator(bits(1)))
    assert_follows(draws, noise.DiscreteLaplace(2))


def test_a_seeded_stream_cannot_be_passed_off_as_secure() -> None:
    with pytest.raises(AttributeError):
        noise.generator(7).seeded = False  # type: ignore[misc]
