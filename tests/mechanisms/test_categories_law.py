"""private categories keep (ε, δ) for a person with any number of rows: by enumeration of all small tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.mechanisms import categories
from discreet.mechanisms.categories import BITS, chances, levels, support
from discreet.noise.public import PublicRandomness
from discreet.noise.stream.generator import generator

WORDS = "abc"
#: What a person may have: every set of words but the empty one.
SETS = [[w for i, w in enumerate(WORDS) if bits >> i & 1] for bits in range(1, 8)]


def _counts(people: list[list[str] | None], key: int, full: tuple[int, int], rows: int | None) -> np.ndarray:
    """Count with one key; person number i keeps the name i, anyone who else is there."""
    pairs = [(word, str(i)) for i, own in enumerate(people) if own for word in own]
    listed, counts = support(
        pa.array([w for w, _ in pairs], pa.large_string()),
        pa.array([p for _, p in pairs], pa.large_string()),
        full,
        rows,
        PublicRandomness(key),
    )
    found = dict(zip(listed.to_pylist(), counts.tolist(), strict=True))
    return np.array([found.get(word, 0) for word in WORDS])


def _differences(
    n: int, keys: range, full: tuple[int, int], rows: int | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the counts with and without the first person, for all tables of n persons."""
    for people in product(SETS, repeat=n):
        for key in keys:
            yield _counts(list(people), key, full, rows), _counts([None, *people[1:]], key, full, rows)


def _moved_by_more(pairs: Iterator[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Return whether a person changes more than one count, or one by more than one, or lowers one."""
    return any((more < less).any() or (more - less).sum() > 1 for more, less in pairs)


@pytest.mark.parametrize(("full", "rows"), [((1, 1), None), ((1, 2), None), ((2, 3), 2)])
def test_one_person_moves_one_count_by_one(full: tuple[int, int], rows: int | None) -> None:
    assert not _moved_by_more(_differences(3, range(1), full, rows))


@pytest.mark.slow
@pytest.mark.parametrize("full", [(1, 1), (1, 2), (2, 3), (9, 9)])
@pytest.mark.parametrize("rows", [None, 1, 2])
def test_one_person_moves_one_count_by_one_among_four(full: tuple[int, int], rows: int | None) -> None:
    assert not _moved_by_more(_differences(4, range(3), full, rows))


def _two_words(starts: Any, ends: Any, words: Any, lower: int, upper: int, counts: Any) -> None:
    for start, end in zip(starts, ends, strict=True):
        counts[words[start : min(start + 2, end)]] += 1


def _fullest_first(starts: Any, ends: Any, words: Any, lower: int, upper: int, counts: Any) -> None:
    for start, end in zip(starts, ends, strict=True):
        open_words = [w for w in words[start:end] if counts[w] < lower]
        if open_words:
            counts[max(open_words, key=lambda w: counts[w])] += 1


@pytest.mark.parametrize("broken", [_two_words, _fullest_first])
def test_broken_choices_are_caught(broken: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(categories, "_count", broken)
    assert _moved_by_more(_differences(4, range(1), (3, 3)))


def test_places_that_depend_on_others_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words ordered by how many persons have them: anyone who comes or goes changes the order for all."""

    def by_number(texts: pa.Array, key: int) -> tuple[np.ndarray, pa.Array]:
        order = np.argsort([text + str(len(texts)) for text in texts.to_pylist()][:: -1 if len(texts) % 2 else 1])
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return place, texts.take(pa.array(order))

    monkeypatch.setattr(categories, "_ordered", by_number)
    assert _moved_by_more(_differences(3, range(1), (2, 2)))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, "1/1000000"), ("1/10", "1/1000"), (5, "1/100"), ("1/100", "1/1000000000")]
)
def test_chances_keep_both_inequalities_and_no_larger_ones_do(epsilon: Any, delta: str) -> None:
    rate, share = Fraction(epsilon), Fraction(delta)
    pi = [Fraction(int(c), 1 << BITS) for c in chances(rate, share)]
    growth = categories._exponential_below(rate)
    assert growth < Fraction(math.exp(float(rate))) * (1 + Fraction(1, 10**15))
    assert float(growth) == pytest.approx(math.exp(float(rate)), rel=1e-15)
    assert pi[0] == 0
    assert pi[-1] == 1
    unit = Fraction(3, 1 << BITS)
    for low, high in pairwise(pi):
        assert low <= high
        assert high <= growth * low + share
        assert 1 - low <= growth * (1 - high) + share
        larger = high + unit  # the recursion rounds down three times at most
        assert high == 1 or larger > growth * low + share or 1 - low > growth * (1 - larger) + share


def test_the_whole_law_keeps_the_promise() -> None:
    """The loss of the set that is released, over all sets, for all tables of two persons and both directions."""
    epsilon, delta = Fraction(1), Fraction(1, 10)
    pi = chances(epsilon, delta) / 2.0**BITS
    full = levels(chances(epsilon, delta))
    released = np.array(list(product([0, 1], repeat=3)))

    def law(counts: np.ndarray) -> np.ndarray:
        return np.where(released, pi[counts], 1 - pi[counts]).prod(axis=1)

    worst = 0.0
    for more, less in _differences(2, range(1), full):
        for p, q in ((law(more), law(less)), (law(less), law(more))):
            worst = max(worst, float(np.maximum(p - math.e * q, 0).sum()))
    assert worst == pytest.approx(0.1, abs=1e-9)  # and it is used up


@pytest.mark.filterwarnings("ignore:delta:discreet.errors.DiscreetWarning")
def test_draws_follow_the_chances_and_are_independent() -> None:
    """500 draws on two words that two persons each have: false alarm three in a million (five standard deviations)."""
    pi = chances(Fraction(1), Fraction(1, 10)) / 2.0**BITS
    stream, words, persons = generator(5), ["v", "v", "w", "w"], [1, 2, 3, 4]
    drawn = [categories.private_categories(words, persons, epsilon=1, delta=0.1, rng=stream) for _ in range(500)]
    expected = {"v": pi[2], "w": pi[2], "both": pi[2] ** 2}
    for name, chance in expected.items():
        hits = sum(len(found) == 2 if name == "both" else name in found for found in drawn)
        assert abs(hits - 500 * chance) < 5 * math.sqrt(500 * chance * (1 - chance))


@pytest.mark.filterwarnings("ignore:delta:discreet.errors.DiscreetWarning")
def test_a_word_that_no_one_counts_for_never_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even by the lowest number that can be drawn, one time in 2^62."""
    monkeypatch.setattr(categories, "below", lambda bound, size, rng: np.zeros(size, np.int64))
    assert len(categories.private_categories(["v", "w"], [1, 1], epsilon=1, delta=0.1, rng=1)) == 1


def test_which_words_and_whose_come_first_follows_the_key() -> None:
    """Every word and every person has its chance: no order is the same for all keys."""
    everything = [_counts([["a", "b", "c"]], key, (1, 1), None) for key in range(40)]
    assert len({tuple(counts) for counts in everything}) == 3
    # Two persons with two words each share b, which holds one: who comes first decides whether a or c is counted.
    seats = [_counts([["a", "b"], ["b", "c"]], key, (1, 1), None) for key in range(40)]
    assert {tuple(counts) for counts in seats} >= {(1, 1, 0), (0, 1, 1), (1, 0, 1)}
    looked = [_counts([["a", "b"]] * 2, key, (9, 9), 1) for key in range(40)]
    assert {tuple(counts) for counts in looked} == {(2, 0, 0), (0, 2, 0), (1, 1, 0)}
