"""Private distinct counts: the law of a bitmap by enumeration, merging, errors against published ones, questions."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.local import DistinctOverlap, DistinctSketch, FlippedBitmap
from discreet.local.distinct.bitmaps import weight
from discreet.local.distinct.likelihood import PatternLaw

#: So much budget that no coin falls the other way: what the bitmap itself is.
SURE = 200
SMALL = {"buckets": 8, "levels": 1, "key": 5}


def bits(bitmap: FlippedBitmap) -> Any:
    return np.unpackbits(bitmap.rows, axis=1, bitorder="little").astype(bool)


def worst(one: Any, two: Any) -> float:
    """The largest ratio of chances of two laws over the same bitmaps."""
    assert np.array_equal(one[0], two[0])
    assert abs(math.fsum(one[1]) - 1) < 1e-12
    return float(np.maximum(one[1] / two[1], two[1] / one[1]).max())


def drawn(m: DistinctSketch, atoms: list[int], rng: Any) -> list[FlippedBitmap]:
    """Bitmaps of so many items that hashing them would take long: occupied bits from their exact law, then the coins.

    Numbers of items per bit are multinomial; a bit is set if it has any.
    """
    places, names = np.repeat(m.rates, m.buckets), (len(atoms) + 1).bit_length() - 1
    held = np.zeros((names, len(places)), bool)
    for which, size in enumerate(atoms, start=1):
        hit = rng.multinomial(size, places) > 0
        for name in range(names):
            held[name] |= hit & bool(which >> name & 1)
    held ^= rng.random(held.shape) < 1 / (1 + math.exp(float(m.epsilon)))
    packed = np.packbits(held.reshape(names, m.levels, -1), axis=2, bitorder="little")
    return [FlippedBitmap(m, rows, seeded=True) for rows in packed]


# ---- what leaves a holder


@pytest.mark.parametrize(("epsilon", "levels"), [(0.5, 1), (1, 1), (3, 1), (1, 2)])
def test_one_item_moves_the_law_of_a_bitmap_by_its_budget_and_no_more(epsilon: float, levels: int) -> None:
    m = DistinctSketch(epsilon, buckets=8, levels=levels, key=5)
    empty, one, twice = (m.sketch_law(items) for items in ([], ["cat"], ["cat", "cat", None, "cat"]))
    assert worst(empty, one) == pytest.approx(math.exp(epsilon), rel=1e-12)
    assert np.array_equal(one[1], twice[1])
    crowd = [str(i) for i in range(6)]
    seen = [worst(m.sketch_law(crowd), m.sketch_law([*crowd, str(i)])) for i in range(6, 18)]
    # Either the bit was free, or somebody had set it: the one ratio or the other, and both do occur.
    assert {round(math.log(ratio) / epsilon, 9) for ratio in seen} == {0.0, 1.0}


def test_bitmaps_are_drawn_from_that_law() -> None:
    """Chi-square over all 256 bitmaps, at level 1e-6; every bit with a coin of its own."""
    m = DistinctSketch(1, **SMALL)
    rows, chances = m.sketch_law(["cat", "dog"])
    stream = dc.noise.generator(3)
    seen = np.bincount([m.sketch(["cat", "dog"], rng=stream).rows[0, 0] for _ in range(3000)], minlength=256)
    expected = 3000 * chances[np.argsort(rows[:, 0])]
    often = expected >= 5
    terms = ((seen - expected)[often] ** 2 / expected[often]).sum()
    terms += (seen[~often].sum() - expected[~often].sum()) ** 2 / expected[~often].sum()
    assert terms < often.sum() + 5.5 * math.sqrt(2 * often.sum())


@pytest.mark.parametrize(("epsilon", "items"), [(1, None), (1, 1), (6, 3)])
def test_every_bit_is_turned_over_with_the_chance_of_its_share_of_the_budget(epsilon: float, items: int | None) -> None:
    m = DistinctSketch(epsilon, buckets=2**16, levels=4, items=items, key=5)
    ones = bits(m.sketch([], None if items is None else [], rng=4))
    flip = 1 / (1 + math.exp(epsilon / (items or 1)))
    reach = 5 * math.sqrt(flip * (1 - flip) / ones.size)
    assert abs(ones.mean() - flip) < reach
    for both in (ones[:, 1:] & ones[:, :-1], ones[1:] & ones[:-1]):  # no coin is used for two bits
        assert abs(both.mean() - flip**2) < 2 * reach


def test_an_item_sets_one_bit_however_often_it_occurs_and_levels_halve() -> None:
    m = DistinctSketch(SURE, buckets=2**12, key=9)
    one = bits(m.sketch(["cat"] * 1000, rng=1))
    assert one.sum() == 1
    assert not bits(m.sketch([None, None], rng=1)).any()
    wide = DistinctSketch(SURE, buckets=2**20, levels=6, key=9)
    sums = bits(wide.sketch(np.arange(20_000), rng=1)).sum(axis=1)
    expected = 20_000 * np.append(0.5 ** np.arange(1, 6), 0.5**5)
    assert np.all(np.abs(sums - expected) < 5 * np.sqrt(expected) + 0.02 * expected)


def test_a_person_sets_no_more_bits_than_items_are_used_and_moves_no_one_elses() -> None:
    m = DistinctSketch(SURE, buckets=2**12, items=3, key=9)
    others = [f"o{i}" for i in range(400)]
    whose = [f"p{i // 4}" for i in range(400)]
    without = bits(m.sketch(others, whose, rng=1))
    with_one = bits(m.sketch([*others, *(f"x{i}" for i in range(50))], [*whose, *["ann"] * 50], rng=1))
    assert not (without & ~with_one).any()
    assert 1 <= (with_one & ~without).sum() <= 3
    assert bits(m.sketch([f"x{i}" for i in range(50)], ["ann"] * 50, rng=1)).sum() == 3
    assert bits(m.sketch(["x"] * 50 + ["y"], ["ann"] * 51, rng=1)).sum() == 2
    assert not bits(m.sketch(["x", None], [None, "ann"], rng=1)).any()


def test_which_items_of_a_person_are_used_is_left_to_chance() -> None:
    m = DistinctSketch(SURE, buckets=2**12, items=1, key=9)
    stream = dc.noise.generator(1)
    used = [int(np.flatnonzero(bits(m.sketch(["x", "y"], ["ann"] * 2, rng=stream)))[0]) for _ in range(60)]
    assert len(set(used)) == 2
    assert 12 <= used.count(used[0]) <= 48
    for _ in range(20):  # a missing item takes nothing of what a person may have
        assert bits(m.sketch(["x", None], ["ann"] * 2, rng=stream)).sum() == 1


def test_the_unit_is_said_and_persons_are_asked_for_where_they_are_the_unit() -> None:
    items, persons = DistinctSketch(1, **SMALL), DistinctSketch(1, items=4, **SMALL)
    assert items.sketch(["a"]).guarantee.unit == "one item, with all its rows"
    promise = persons.sketch(["a"], ["ann"]).guarantee
    assert promise.unit == "one person, with all their rows (at most 4 items used)"
    assert (promise.epsilon, promise.model, promise.seeded) == (1.0, "central", False)
    with pytest.raises(dc.errors.InvalidArgument, match=r"persons must be given: one per item.*persons=users"):
        persons.sketch(["a"])
    with pytest.raises(dc.errors.InvalidArgument, match=r"persons must be None"):
        items.sketch(["a"], ["ann"])
    with pytest.raises(dc.errors.InvalidArgument, match="one person per item"):
        persons.sketch(["a"], ["ann", "bob"])


def test_a_ledger_is_charged_before_items_are_read(tmp_path: Path) -> None:
    read: list[int] = []

    def parts() -> Any:
        read.append(1)
        yield np.arange(5)

    ledger = dc.Ledger(epsilon=1)
    DistinctSketch(0.75, **SMALL).sketch(parts(), ledger=ledger)
    assert (read, ledger.remaining) == ([1], 0.25)
    with pytest.raises(dc.errors.BudgetExceeded):
        DistinctSketch(0.75, **SMALL).sketch(parts(), ledger=ledger)
    assert read == [1]
    account = dc.Account.create(tmp_path / "a.account", dataset="visits", epsilon=1, unit=dc.Person("user", rows=8))
    DistinctSketch(0.5, items=8, **SMALL).sketch(["a"], ["ann"], ledger=account)
    assert float(account.spent) == 0.5
    with pytest.raises(dc.errors.DiscreetError, match="unit"):
        DistinctSketch(0.25, **SMALL).sketch(["a"], ledger=account)


def test_parts_of_any_type_give_the_bitmap_of_the_whole() -> None:
    m = DistinctSketch(1, key=3)
    whole = m.sketch(np.arange(1000), rng=1)
    assert m.sketch(iter([np.arange(300), list(range(300, 1000)), np.arange(0)]), rng=1) == whole
    assert m.sketch(range(1000), rng=1) == whole
    of_persons = DistinctSketch(1, items=2, key=3)
    people = np.arange(1000) // 5
    parted = of_persons.sketch(iter([np.arange(300), np.arange(300, 1000)]), iter([people[:300], people[300:]]), rng=1)
    assert parted == of_persons.sketch(np.arange(1000), people, rng=1)
    assert of_persons.sketch(iter([]), iter([]), rng=1) == of_persons.sketch([], [], rng=1)


# ---- merging


@pytest.mark.parametrize(("one", "two"), [(0.5, 0.5), (1, 3), (0.1, 5)])
def test_a_merged_bit_is_the_union_turned_over_with_the_chance_that_is_stated(one: float, two: float) -> None:
    """By enumeration of two true bits and four pairs of readings; and no smaller chance of turning over is possible."""
    flips = [1 / (1 + math.exp(e)) for e in (one, two)]
    merged = DistinctSketch(one, **SMALL).sketch([]).merge(DistinctSketch(two, **SMALL).sketch([]))
    q = merged.flip
    assert 1 - math.exp(-math.log((1 - q) / q)) == pytest.approx((1 - math.exp(-one)) * (1 - math.exp(-two)), rel=1e-9)

    def chance(a: int, b: int) -> float:
        return 1 - q - (1 - 2 * q) * weight(flips[0], a) * weight(flips[1], b)

    for x, y in itertools.product((0, 1), repeat=2):
        law = [
            (1 - flips[0] if a == x else flips[0]) * (1 - flips[1] if b == y else flips[1]) * chance(a, b)
            for a, b in itertools.product((0, 1), repeat=2)
        ]
        assert math.fsum(law) == pytest.approx(1 - q if x or y else q, abs=1e-12)
    assert chance(0, 0) == pytest.approx(0, abs=1e-12)
    assert all(-1e-12 <= chance(a, b) <= 1 + 1e-12 for a, b in itertools.product((0, 1), repeat=2))


@pytest.mark.parametrize(("left", "right"), [(False, False), (True, False), (False, True), (True, True)])
def test_merging_draws_from_that_law(left: bool, right: bool) -> None:
    wide = {"buckets": 2**16, "levels": 2, "key": 5}
    halves = []
    for seed, (epsilon, full) in enumerate([(1, left), (2, right)]):
        made = DistinctSketch(epsilon, **wide).sketch([], rng=seed)
        halves.append(FlippedBitmap(made.parameters, ~made.rows if full else made.rows, seeded=True))
    merged = halves[0].merge(halves[1], rng=7)
    flip = merged.flip
    wanted = 1 - flip if left or right else flip
    read = bits(merged)
    assert abs(read.mean() - wanted) < 5 * math.sqrt(flip * (1 - flip) / read.size)
    assert abs((read[0] & read[1]).mean() - wanted**2) < 10 * math.sqrt(flip * (1 - flip) / read.size)


def test_the_price_of_a_merged_bitmap_is_the_sum_and_alone_it_says_less() -> None:
    parts = [DistinctSketch(e, key=5).sketch(range(9), rng=i) for i, e in enumerate((1, 0.5, 1))]
    merged = parts[0].merge(*parts[1:], rng=1)
    assert merged == parts[0].merge(parts[1], rng=(g := dc.noise.generator(1))).merge(parts[2], rng=g)
    assert merged.guarantee.epsilon == 2.5
    assert [str(e) for e in merged.epsilons] == ["1/2", "1", "1"]
    alone = -math.log(1 - (1 - math.exp(-1)) ** 2 * (1 - math.exp(-0.5)))
    assert any(f"epsilon {alone:.4f}"[:12] in text for text in merged.guarantee.assumptions)
    with pytest.raises(dc.errors.InvalidArgument, match=r"key=.* must be made with the same|made with the same"):
        parts[0].merge(DistinctSketch(1, key=6).sketch([]))


# ---- estimates


@pytest.mark.parametrize(
    ("epsilon", "buckets", "n"),
    [(1, 256, 100), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, 256, 10**8), (3, 1024, 1000)))],
)
def test_errors_stay_within_the_published_ones(epsilon: float, buckets: int, n: int) -> None:
    """Root mean square of 150 estimates: at most 1.2 times the inverse root of the information, and as is stated."""
    m, rng = DistinctSketch(epsilon, buckets=buckets, key=1), np.random.default_rng(n)
    law = PatternLaw(m.rates, buckets, np.array([1 / (1 + math.exp(epsilon))]))
    published = 1 / math.sqrt(law.information(np.array([float(n)]))[0, 0])
    found = [drawn(m, [n], rng)[0].estimate() for _ in range(150)]
    counts = np.array([f.count for f in found])
    measured = math.sqrt(((counts - n) ** 2).mean())
    assert measured < 1.2 * published
    assert 0.83 < measured / m.std_error(n) < 1.2
    assert abs(counts.mean() - n) < 4 * counts.std() / math.sqrt(len(counts))
    inside = np.mean([low <= n <= high for low, high in (f.interval(0.95) for f in found)])
    assert inside > 0.87


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize("n", [100, 10**4, 10**6, 10**8])
def test_estimates_are_unbiased_and_intervals_cover_at_every_size(epsilon: float, n: int) -> None:
    """1000 estimates. Bias: below a tenth of a standard error, five of which are 1/√1000 apart from 0 by chance."""
    m, rng = DistinctSketch(epsilon, buckets=256, key=1), np.random.default_rng(n)
    found = [drawn(m, [n], rng)[0].estimate() for _ in range(1000)]
    counts = np.array([f.count for f in found])
    assert abs(counts.mean() - n) < 0.16 * m.std_error(n)
    assert 0.92 < counts.std() / m.std_error(n) < 1.08
    assert np.mean([low <= n <= high for low, high in (f.interval(0.95) for f in found)]) > 0.92


def test_real_items_are_counted_with_the_error_that_is_stated() -> None:
    m = DistinctSketch(2, buckets=2048, key=11)
    for n in (0, 50, 3000, 200_000):
        found = m.sketch(np.arange(n) * 7919, rng=n).estimate()
        assert abs(found.count - n) < 4 * m.std_error(n)


def test_a_bitmap_that_is_full_says_that_it_knows_nothing() -> None:
    m = DistinctSketch(1, **SMALL)
    full = [m.sketch(range(10**5), rng=seed).estimate() for seed in range(20)]
    lost = [found for found in full if found.std_error > 10**6]
    assert lost
    assert all(low <= 10**5 <= high for low, high in (found.interval() for found in lost))
    assert all(found.count < 1000 for found in full)
    overlap = DistinctOverlap({"a": m.sketch(range(10**5), rng=1), "b": m.sketch(range(10**5), rng=2)})
    assert overlap.count("a or b").std_error > 10


@pytest.mark.parametrize("atoms", [[3000, 2000, 1000], pytest.param([10**7, 10**7, 0], marks=pytest.mark.slow)])
def test_unions_intersections_and_differences_with_their_errors(atoms: list[int]) -> None:
    m, rng = DistinctSketch(1, buckets=256, key=1), np.random.default_rng(3)
    truth = np.array([sum(atoms), atoms[2], atoms[0]])
    found = []
    for _ in range(60):
        overlap = DistinctOverlap(dict(zip("ab", drawn(m, atoms, rng), strict=True)))
        found.append([overlap.count(asked) for asked in ("a or b", "a and b", "a and not b")])
    counts = np.array([[f.count for f in row] for row in found])
    errors = np.array([[f.std_error for f in row] for row in found])
    assert np.all(np.abs(counts.mean(axis=0) - truth) < 4 * counts.std(axis=0) / math.sqrt(60))
    assert np.all(np.abs(counts.std(axis=0) / errors.mean(axis=0) - 1) < 0.35)
    ends = [[f.interval(0.95) for f in row] for row in found]
    inside = np.mean([[low <= t <= high for (low, high), t in zip(row, truth, strict=True)] for row in ends], axis=0)
    assert np.all(inside > 0.85)


def test_a_union_is_sharper_from_the_parts_than_from_a_merged_bitmap() -> None:
    m, rng = DistinctSketch(1, buckets=256, key=1), np.random.default_rng(4)
    one, two = drawn(m, [5000, 5000, 5000], rng)
    assert (
        DistinctOverlap({"a": one, "b": two}).count("a or b").std_error
        < 0.9 * one.merge(two, rng=1).estimate().std_error
    )


# ---- questions


def test_questions_of_logic_are_answered_by_sets() -> None:
    sets = {"a": range(6000), "b": range(4000, 9000), "St Mary": range(5000, 12_000)}
    m = DistinctSketch(SURE, buckets=2**14, key=2)
    overlap = DistinctOverlap({name: m.sketch(held, rng=1) for name, held in sets.items()})
    a, b, c = (set(held) for held in sets.values())
    asked = {
        "a": a,
        "a and b": a & b,
        "a or b": a | b,
        "a and not b": a - b,
        "not a": (b | c) - a,
        "a and b and 'St Mary'": a & b & c,
        "(a or b) and not 'St Mary'": (a | b) - c,
        "not (a and b) and (a or b)": a ^ b,
    }
    for question, answer in asked.items():
        found = overlap.count(question)
        assert abs(found.count - len(answer)) < 4 * found.std_error + 1, question
        assert found.std_error < 0.02 * 12_000
    assert overlap.count("a").guarantee.epsilon == 600


@pytest.mark.parametrize(
    "question", ["a + b", "a.real", "a < b", "__import__('os')", "a if b else a", "", "a and", "1"]
)
def test_a_question_that_is_no_logic_is_refused(question: str) -> None:
    m = DistinctSketch(1, **SMALL)
    overlap = DistinctOverlap({"a": m.sketch([]), "b": m.sketch([])})
    with pytest.raises(dc.errors.InvalidArgument, match="question"):
        overlap.count(question)


def test_names_and_bitmaps_that_do_not_fit_are_refused() -> None:
    m = DistinctSketch(1, **SMALL)
    one = m.sketch([])
    with pytest.raises(
        dc.errors.InvalidArgument, match=r"made of the names clinic, got 'clinik'; try question='clinic'"
    ):
        DistinctOverlap({"clinic": one}).count("clinik")
    with pytest.raises(dc.errors.InvalidArgument, match="from 1 to 6"):
        DistinctOverlap({str(i): one for i in range(7)})
    with pytest.raises(dc.errors.InvalidArgument, match="same parameters"):
        DistinctOverlap({"a": one, "b": DistinctSketch(1, buckets=16, levels=1, key=5).sketch([])})
    with pytest.raises(dc.errors.InvalidType):
        DistinctOverlap([one])  # type: ignore[arg-type]


# ---- files, settings, speed


def test_a_bitmap_is_one_message_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    m = DistinctSketch(0.5, items=2, **SMALL)
    bitmap = m.sketch(["x"], ["ann"], rng=1)
    bitmap.save(tmp_path / "clinic.bin")
    assert FlippedBitmap.load(tmp_path / "clinic.bin") == bitmap
    data = bitmap.to_bytes()
    for place in range(len(data)):
        with pytest.raises(dc.errors.FormatError):
            FlippedBitmap.from_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
    with pytest.raises(dc.errors.FormatError, match="it is a flipped bitmap"):
        dc.local.Counts.from_bytes(data)
    with pytest.raises(dc.errors.DataSourceError, match="bitmap"):
        FlippedBitmap.load(tmp_path / "none.bin")


@pytest.mark.parametrize(
    "change",
    [
        {"merged": []}, {"merged": ["1", "1/2"]}, {"merged": ["2"]}, {"merged": ["2/4"]}, {"epsilon": "1e9"},
        {"epsilon": "1/0"}, {"buckets": 9}, {"buckets": "8"}, {"levels": 2}, {"items": 0}, {"key": "00"}, {"more": 1},
    ],
)  # fmt: skip
def test_a_message_that_was_made_by_hand_is_checked(change: dict[str, Any]) -> None:
    good = {"mechanism": "distinct-sketch", "epsilon": "1/2", "buckets": 8, "levels": 1, "items": None,
            "key": "05" + "00" * 15, "merged": ["1/2"]}  # fmt: skip

    def message(facts: dict[str, Any]) -> bytes:
        header = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()
        parts = len(facts["merged"]).to_bytes(8, "little")
        text = b"DSCL" + bytes([1, 3, 0, 0]) + len(header).to_bytes(4, "little") + header + parts
        text += (1).to_bytes(8, "little") + b"\x01"
        return text + hashlib.sha256(text).digest()

    read = FlippedBitmap.from_bytes(message(good))
    assert (bits(read).sum(), read.guarantee.epsilon) == (1, 0.5)
    with pytest.raises(dc.errors.FormatError):
        FlippedBitmap.from_bytes(message({**good, **change}))


@pytest.mark.parametrize(
    ("settings", "match"),
    [({"buckets": 100}, r"a power of two.*buckets=64"), ({"epsilon": 0}, "epsilon"), ({"items": 0}, "items"),
     ({"levels": 99}, "levels"), ({"epsilon": 1e-6, "items": 4}, "epsilon")],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=match):
        DistinctSketch(**{"epsilon": 1, **settings})


def test_no_item_makes_a_call_fail() -> None:
    m = DistinctSketch(SURE, buckets=2**10, key=1)
    odd = m.sketch(["", "\ud800", b"\xff", 2**80, -1, None, 3.5, float("nan"), object()], rng=1)
    assert bits(odd).sum() == 5


@pytest.mark.slow
def test_a_million_items_take_well_under_a_second() -> None:
    m, items = DistinctSketch(1, key=1), np.arange(10**6)
    m.sketch(items, rng=1)
    start = time.perf_counter()
    m.sketch(items, rng=1)
    assert time.perf_counter() - start < 0.8
