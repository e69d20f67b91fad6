"""Few draws are made without compiled kernels, with the same bytes and the same results."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.noise.integer.laplace import draw_geometric
from discreet.noise.reports.coins import randomized_response
from discreet.noise.stream import draw, kernels

LAWS = {
    "laplace": lambda scale, rng: noise.discrete_laplace(scale, size=400, rng=rng),
    "gaussian": lambda scale, rng: noise.discrete_gaussian(scale, size=400, rng=rng),
    "geometric": lambda scale, rng: draw_geometric(Fraction(scale), (400,), rng),
    "coins": lambda scale, rng: noise.bernoulli(1 / (1 + scale), size=400, rng=rng),
    "response": lambda scale, rng: randomized_response(np.arange(400) % 5, n_values=5, epsilon=1 / scale, rng=rng),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 7.7, 1e3, 1e9])
def test_the_interpreter_draws_what_the_kernel_draws(law: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = []

    def few(kernel: object, steps: int, *, few: bool) -> bool:
        plain.append(few)
        return few

    made = []
    for which in (True, False):
        monkeypatch.setattr(draw, "few", lambda kernel, steps, which=which: few(kernel, steps, few=which))
        monkeypatch.setattr(draw, "_plain_draws", [0])
        made.append([LAWS[law](scale, seed).tolist() for seed in range(5)])
    assert made[0] == made[1]
    assert any(plain)
    assert not all(plain)


def test_ties_ask_for_more_digits_without_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for which in (True, False):
        monkeypatch.setattr(draw, "few", lambda kernel, steps, which=which: which)
        monkeypatch.setattr(draw, "_plain_draws", [0])
        monkeypatch.setattr(draw, "_DIGITS", 1)
        made.append(noise.discrete_gaussian(40.0, size=3000, rng=1).tolist())
    assert made[0] == made[1]


def test_a_process_makes_only_so_many_draws_without_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(draw, "few", lambda kernel, steps: seen.append(steps) or True)
    monkeypatch.setattr(draw, "_MOST_PLAIN", 10)
    monkeypatch.setattr(draw, "_plain_draws", [0])
    for _ in range(5):
        noise.discrete_laplace(2.0, size=4, rng=1)
    assert sum(seen) == 8


@pytest.mark.parametrize("bound", [1, 2, 3, 129, 256, 257, 2**31 + 1, 2**61 + 3, 2**62])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 64, 1000])
def test_few_uniform_integers_are_those_of_the_kernel(bound: int, length: int) -> None:
    buffer = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8)
    width, mask = draw.byte_width(bound)
    for start in (0, min(5, length)):
        for size, done in ((0, 0), (1, 0), (40, 3), (2000, 0)):
            few, many = np.full(size, -7), np.full(size, -7)
            told = draw._few_below(bound, width, mask, buffer, start, few, done)
            assert told == kernels.below(bound, width, mask, buffer, start, many, done)
            assert np.array_equal(few, many)
