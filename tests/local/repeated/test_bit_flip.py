"""d-bit flip: exact law at every d, one index set for life, one response for all that lies outside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dc
import local_laws as laws
from discreet.local.mechanism import mechanism_from_dict
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.memo import Memo
from discreet.noise.reports.laws import STORED, Coin
from discreet.noise.reports.stored import fresh_subsets, subsets
from local_crowds import MEMO, OTHER, Crowd

EPSILONS = [0.5, 1, 3, 5]


def parts(m: BitFlip, reports: Any) -> tuple[Any, Any]:
    """The indices and the answers of every report."""
    bits = np.unpackbits(reports.rows, axis=1, bitorder="little")
    width = m._index_bits
    indices = bits[:, : m.bits * width].reshape(len(bits), m.bits, width) @ (1 << np.arange(width))
    return indices, bits[:, m.bits * width : m.bits * (width + 1)]


# ---- the law


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("bits", [1, 2, 5])
def test_law(epsilon: float, bits: int) -> None:
    """Exactly ε at d = 1 too; mean and variance exact; both ways of making a report follow it."""
    m = BitFlip(epsilon, 5, bits=bits)
    laws.check_ratio(m, range(5))
    laws.check_unbiased_exactly(m, range(5))


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_sampler(bits: int) -> None:
    laws.check_sampler(BitFlip(1, 4, bits=bits), 3, draws=50_000)
    laws.check_sampler(Crowd(BitFlip(1, 4, bits=bits, memoised=True)), 3, draws=50_000)


def test_the_published_half_budget_at_one_bit_would_waste_half() -> None:
    """The trap of B4: with e^(ε/2)/(e^(ε/2) + 1) at d = 1 a report is ε/2-private only, and four times as noisy."""
    m = BitFlip(1, 5)
    assert m.law.p == pytest.approx(math.e / (math.e + 1), rel=1e-15)
    laws.check_ratio(BitFlip(0.5, 5), range(5), epsilon=0.5)
    assert BitFlip(0.5, 5).variance(1000) / m.variance(1000) == pytest.approx(4, rel=0.1)


def test_published_errors() -> None:
    """Root mean square over 26 values, n = 500,000. The table spends half its ε at d = 1; we spend all."""
    table = {
        (1, 0.05): 144_220, (24, 0.05): 29_438, (1, 0.5): 14_401, (4, 0.5): 7_200, (24, 0.5): 2_937, (1, 1): 7_170,
        (4, 1): 3_583, (24, 1): 1_457, (1, 2): 3_528, (4, 2): 1_760, (24, 2): 707, (4, 4): 833, (24, 4): 316,
        (24, 8): 109, (24, 32): 40,
    }  # fmt: skip
    for (bits, epsilon), wanted in table.items():
        m = BitFlip(epsilon / 2 if bits == 1 else epsilon, 26, bits=bits)
        assert math.sqrt(m.variance(500_000, 500_000 / 26)) == pytest.approx(wanted, rel=0.02)


def test_thresholds_round_towards_privacy() -> None:
    for epsilon in (0.1, 1, 20, 100, 200):
        m = BitFlip(epsilon, 5, bits=2)
        realised = Coin(m.randomiser.flip, up=True, digits=STORED).threshold / 2**64
        assert realised >= m.randomiser.flipped * (1 - 1e-15)
        assert realised - m.randomiser.flipped <= 2**-63


# ---- memory


def test_index_sets_are_uniform_and_for_life() -> None:
    keys = np.random.default_rng(1).integers(0, 256, (60_000, 16), dtype=np.uint8)
    for found in (subsets(5, 2, keys), fresh_subsets(5, 2, 60_000, dc.noise.generator(1))):
        assert np.all(found[:, 0] < found[:, 1])
        times = np.bincount(found[:, 0] * 5 + found[:, 1])
        times = times[times > 0]
        assert len(times) == 10
        assert ((times - 6000) ** 2 / 6000).sum() < 40  # chi-square with 9 degrees of freedom: 1e-5
    assert np.array_equal(subsets(5, 5, keys[:3]), np.tile(np.arange(5), (3, 1)))


def one_set_per_user(m: BitFlip, encode: Callable[[list[int], Any], Any]) -> None:
    """A user's index set does not depend on the value."""
    users = list(range(200))
    sets = [parts(m, encode([value] * len(users), users))[0] for value in range(m.domain)]
    assert all(np.array_equal(sets[0], other) for other in sets)
    assert len(np.unique(sets[0], axis=0)) > 20


def outside_is_one(m: BitFlip, encode: Callable[[list[int], Any], Any]) -> None:
    """And values outside it, which have the same answers, have the same response."""
    users = list(range(200))
    rows = [encode([value] * len(users), users) for value in range(m.domain)]
    indices = parts(m, rows[0])[0]
    for user in users:
        outside = [rows[v].rows[user] for v in range(m.domain) if v not in indices[user]]
        assert len(np.unique(outside, axis=0)) == 1


def test_one_index_set_per_user_and_one_response_outside_it() -> None:
    m = BitFlip(1, 12, bits=2, memoised=True)

    def right(values: list[int], users: Any) -> Any:
        return m.encode(values, users=users, memo=MEMO)

    def set_per_value(values: list[int], users: Any) -> Any:
        """The published fault: the client is run anew for every value, and its set becomes a label of the value."""
        return m.encode(values, users=[f"{u}-{v}" for u, v in zip(users, values, strict=True)], memo=MEMO)

    one_set_per_user(m, right)
    outside_is_one(m, right)
    with pytest.raises(AssertionError):
        one_set_per_user(m, set_per_value)

    class ResponsePerValue(BitFlip):
        """The other fault: a stored response for every value, also for those that look alike."""

        NAME = ""

        def _stored(self, codes: Any, people: Any, memo: Any) -> Any:
            from discreet.local.repeated import memo as _memo

            indices, _ = super()._stored(codes, people, memo)
            return indices, _memo.stored(memo.personal(self._context, people), codes.astype(np.uint64))

    leaky = ResponsePerValue(1, 12, bits=2, memoised=True)
    one_set_per_user(m, lambda values, users: leaky.encode(values, users=users, memo=MEMO))
    with pytest.raises(AssertionError):
        outside_is_one(m, lambda values, users: leaky.encode(values, users=users, memo=MEMO))


def test_a_user_has_one_stored_response_more_than_indices() -> None:
    m = BitFlip(1, 12, bits=3, memoised=True)
    names = [m.responses(list(range(12)), ["ann"] * 12, memo=MEMO) for _ in range(2)]
    assert np.array_equal(*names)
    assert len(set(names[0].tolist())) == 4
    undeclared = m.responses([99, -3], ["ann"] * 2, memo=MEMO)
    assert undeclared[0] == undeclared[1]
    assert undeclared[0] in names[0]


def test_a_constant_value_never_changes_its_response() -> None:
    m = BitFlip(0.1, 50, bits=7, memoised=True)
    values, users = list(range(50)), [f"u{i}" for i in range(50)]
    first = m.encode(values, users=users, memo=MEMO)
    for _ in range(5):
        assert m.encode(values, users=users, memo=MEMO) == first
    assert m.encode(values, users=users, memo=OTHER) != first
    assert (
        BitFlip(0.2, 50, bits=7, memoised=True).encode(values, users=users, memo=MEMO).rows.tolist()
        != first.rows.tolist()
    )


def test_answers_are_turned_over_both_ways() -> None:
    m = BitFlip(1, 3, bits=3, memoised=True)
    _, answers = parts(m, Crowd(m).encode([1] * 30_000))
    for column, truth in ((0, 0), (1, 1), (2, 0)):
        turned = (answers[:, column] != truth).mean()
        assert abs(turned - m.law.q) < 5 * math.sqrt(m.law.other / 30_000)


# ---- counts and estimates


@pytest.mark.parametrize("bits", [1, 3, 9])
def test_state(bits: int) -> None:
    laws.check_state(BitFlip(1, 9, bits=bits), [0, 3, 8, 77, -1] * 20)
    laws.check_state(Crowd(BitFlip(1, list("abcdefghi"), bits=bits, memoised=True)), ["a", "c", None, "zebra"] * 20)


def test_report_size() -> None:
    assert BitFlip(1, 26, bits=4).report_bits == 4 * (1 + 5)
    assert BitFlip(1, 26, bits=26).report_bits == 26  # all are spoken of: no indices
    assert BitFlip(1, 2).report_bits == 2


def test_impossible_reports_are_counted_and_left_out() -> None:
    m = BitFlip(1, 5, bits=2)  # two indices of 3 bits, two answers: one byte
    good, same, falling, beyond = (a | b << 3 | 1 << 6 for a, b in ((1, 4), (2, 2), (3, 1), (1, 6)))
    counts = m.aggregate(np.array([[good], [same], [falling], [beyond]], np.uint8))
    assert (counts.n, counts.rejected) == (1, 3)
    assert counts.counters["asked"].tolist() == [0, 1, 0, 0, 1]
    assert counts.counters["ones"].tolist() == [0, 1, 0, 0, 0]


@pytest.mark.parametrize(("size", "bits"), [(300, 20), (70, 70), (1000, 1)])
def test_every_answer_is_counted_where_it_belongs(size: int, bits: int) -> None:
    m = BitFlip(1, size, bits=bits)
    reports = m.encode(np.arange(500) % size, rng=1)
    counters = m.aggregate(reports).counters
    indices, answers = parts(m, reports)
    if bits == size:
        indices = np.tile(np.arange(size), (500, 1))
    assert np.array_equal(counters["asked"], np.bincount(indices.ravel(), minlength=size))
    assert np.array_equal(counters["ones"], np.bincount(indices[answers == 1], minlength=size))


@pytest.mark.parametrize(
    ("bits", "memoised"), [(1, False), (4, False), (1, True), pytest.param(4, True, marks=pytest.mark.slow)]
)
def test_intervals_cover(bits: int, memoised: bool) -> None:
    m = BitFlip(2, 8, bits=bits, memoised=memoised)
    held = np.array([500, 300, 200, 0, 0, 0, 0, 0])
    values = np.repeat(np.arange(8), held)
    hits, errors = [], []
    for seed in range(150):
        known = {"users": np.arange(1000), "memo": Memo.draw(rng=seed)} if memoised else {}
        found = m.estimate(m.aggregate(m.encode(values, rng=seed, **known)))
        low, high = found.interval(0.95)
        hits.append((low <= held) & (held <= high))
        errors.append(found.count - held)
    assert 0.93 < np.mean(hits) < 0.97
    stated = m.variance(1000, held)
    assert np.all(np.abs(np.mean(errors, axis=0)) < 5 * np.sqrt(stated / 150))
    assert (np.square(errors) / stated).mean() == pytest.approx(1, abs=0.15)


def test_undeclared_values_add_to_no_estimate() -> None:
    m = BitFlip(8, 6, bits=3)
    found = m.estimate(m.aggregate(m.encode([77] * 20_000, rng=1)))
    assert np.all(np.abs(found.count) < 5 * found.std_error)


# ---- what it says of itself


def test_the_guarantee_says_what_repeats_cost() -> None:
    fresh, stored = BitFlip(1, 26, bits=2).guarantee, BitFlip(1, 26, bits=2, memoised=True).guarantee
    assert fresh.epsilon == stored.epsilon == 1
    assert "r times epsilon" in str(fresh)
    assert "pattern of changes is not covered" in str(stored)
    assert "at most epsilon 3" in stored.unit
    assert "secret" in str(stored)


def test_parameters_survive() -> None:
    for m in (BitFlip(1, 26, bits=2), BitFlip(0.1, ["a", "b"], memoised=True)):
        assert mechanism_from_dict(m.to_dict()) == m
    with pytest.raises(dc.errors.InvalidArgument, match="memoised"):
        BitFlip(1, 5).empty() + BitFlip(1, 5, memoised=True).empty()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"epsilon": 0}, "epsilon"), ({"bits": 0}, "bits"), ({"bits": 6}, "from 1 to 5"), ({"domain": 1}, "domain"),
     ({"memoised": 1}, "memoised")],
)  # fmt: skip
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        BitFlip(**{"epsilon": 1, "domain": 5, **arguments})


def test_users_belong_to_memory() -> None:
    fresh, stored = BitFlip(1, 5), BitFlip(1, 5, memoised=True)
    with pytest.raises(dc.errors.InvalidArgument, match="memoised=True"):
        fresh.encode([1], users=["ann"], memo=MEMO)
    with pytest.raises(dc.errors.InvalidArgument, match="users must be a key per user"):
        stored.encode([1])
    with pytest.raises(dc.errors.InvalidArgument, match="memo must be"):
        stored.encode([1], users=["ann"])
    with pytest.raises(dc.errors.InvalidArgument, match="one key per value"):
        stored.encode([1], users=["ann", "bob"], memo=MEMO)
    with pytest.raises(dc.errors.InvalidArgument, match="bits"):
        BitFlip(1, 100, bits=50).report_law(1)


def test_long_fields_are_read_from_any_bit() -> None:
    m = BitFlip(1, 1000, bits=70)  # 700 bits of indices, then 70 answers: not on a byte
    reports = m.encode([5, 6], rng=1)
    wanted = np.unpackbits(reports.rows, axis=1, bitorder="little")[:, 700:770]
    found = np.unpackbits(reports.field("answers"), axis=1, bitorder="little")[:, :70]
    assert np.array_equal(found, wanted)
