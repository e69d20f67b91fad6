"""RAPPOR: its exact law and budgets, and its memory."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
import local_laws as laws
from discreet.local.mechanism import mechanism_from_dict
from discreet.local.repeated.memo import Memo, stored
from discreet.local.repeated.rappor import Rappor
from discreet.local.repeated.rappor_law import RapporLaw
from local_crowds import MEMO, OTHER, Crowd

EPSILONS = [0.5, 1, 3, 5]


# ---- the law of one report, and of many


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_report_costs_what_it_says(epsilon: float) -> None:
    m = Rappor.from_budget(epsilon_lifetime=2 * epsilon, epsilon_report=epsilon, bits=8, cohorts=2, key=5)
    laws.check_ratio(m, range(12))
    assert epsilon - 1e-8 < m.epsilon <= epsilon
    assert 2 * epsilon - 1e-8 < m.epsilon_lifetime <= 2 * epsilon
    assert m.guarantee.epsilon == m.epsilon


@pytest.mark.parametrize(("f", "p", "q", "hashes"), [(0.5, 0.75, 0.25, 2), (0.25, 0, 1, 1), (0, 0.5, 0.75, 3)])
def test_the_ratio_holds_at_the_edges(f: float, p: float, q: float, hashes: int) -> None:
    laws.check_ratio(Rappor(f, p, q, bits=8, hashes=hashes, cohorts=1, key=3), range(40))


@pytest.mark.parametrize("hashes", [3, 4])
def test_a_filter_with_few_bits_costs_less(hashes: int) -> None:
    m = Rappor(0.5, 0.5, 0.75, bits=4, hashes=hashes, cohorts=20, key=1)
    laws.check_ratio(m, range(60))
    assert m.epsilon < Rappor(0.5, 0.5, 0.75, bits=64, hashes=hashes, key=1).epsilon
    # Where hashes outnumber bits: at most all but one bit one way, and at least one the other.
    per_bit = math.log(0.6875 / 0.5625), math.log(0.4375 / 0.3125)
    assert Rappor(0.5, 0.5, 0.75, bits=4, hashes=9, key=1).epsilon == pytest.approx(per_bit[0] + 3 * per_bit[1])


def test_published_budgets_in_natural_logarithms() -> None:
    for hashes in (1, 2, 8):
        m = Rappor(0.5, 0.5, 0.75, hashes=hashes, key=1)
        assert float(m.law.q_star) == 0.6875
        assert float(m.law.p_star) == 0.5625
        assert m.epsilon / hashes == pytest.approx(0.5371, abs=5e-5)
        assert m.epsilon_lifetime / hashes == pytest.approx(2.1972, abs=5e-5)
    assert Rappor(0.5, 0.25, 0.75, hashes=8, key=1).epsilon == pytest.approx(8.17, abs=5e-3)  # 3.55 with log10
    assert Rappor(0, 0.5, 0.75, hashes=1, key=1).epsilon == pytest.approx(math.log(3))
    assert Rappor(0, 0.5, 0.75, hashes=1, key=1).epsilon_lifetime == math.inf


def test_published_costs_of_repeats() -> None:
    m = Rappor(0.5, 0.5, 0.75, hashes=2, key=1)
    for reports, cost in {1: 1.074, 2: 2.017, 5: 3.656, 50: 4.394}.items():
        assert m.epsilon_over(reports) == pytest.approx(cost, abs=5e-4)
        assert m.epsilon_over(reports) <= min(reports * m.epsilon, m.epsilon_lifetime) * (1 + 1e-12)
    assert m.epsilon_over(10**7) == pytest.approx(m.epsilon_lifetime, rel=1e-12)
    assert m.epsilon_over(6, values=3) == pytest.approx(3 * m.epsilon_over(2))
    assert m.epsilon_over(2, values=5) == pytest.approx(2 * m.epsilon)


@pytest.mark.parametrize(
    ("f", "p", "q", "hashes", "bits", "reports"),
    [
        ("1/2", "1/2", "3/4", 1, 2, 1),
        ("1/2", "1/2", "3/4", 1, 3, 2),
        ("1/4", "3/4", "1/8", 1, 3, 3),
        ("1/2", "1/2", "3/4", 2, 4, 2),
        ("3/4", "0", "1", 1, 3, 2),
        ("0", "1/3", "1/2", 1, 2, 3),
    ],
)
def test_repeats_cost_what_full_enumeration_says(f: str, p: str, q: str, hashes: int, bits: int, reports: int) -> None:
    """Every sequence of reports, every permanent response, every pair of Bloom filters; all in exact rationals."""
    turned, chances = Fraction(f) / 2, (Fraction(p), Fraction(q))
    filters = [b for b in itertools.product((0, 1), repeat=bits) if 1 <= sum(b) <= hashes]
    worst = Fraction(1)

    def chance(bloom: Any, sent: Any) -> Fraction:
        total = Fraction(1)
        for place, truth in enumerate(bloom):  # bits are independent
            total *= sum(
                (turned if kept != truth else 1 - turned)
                * math.prod(chances[kept] if report[place] else 1 - chances[kept] for report in sent)
                for kept in (0, 1)
            )
        return total

    single = list(itertools.product((0, 1), repeat=bits))
    for sent in itertools.combinations_with_replacement(single, reports):
        found = [chance(bloom, sent) for bloom in filters]
        if max(found):
            assert min(found) > 0
            worst = max(worst, max(found) / min(found))
    law = RapporLaw(Fraction(f), Fraction(p), Fraction(q), bits, hashes)
    assert law.cost(reports) == pytest.approx(math.log(worst), abs=1e-12)
    assert law.cost(reports) >= math.log(worst) - 1e-15


def test_solved_parameters_have_the_least_noise() -> None:
    for life, once in ((4, 1), (4, 2.5), (2, 1.9), (1, 1)):
        m = Rappor.from_budget(epsilon_lifetime=life, epsilon_report=once, bits=64, hashes=2, key=1)
        odds, best = math.exp(once / 2), m.variance(1000)
        for p_star in np.linspace(0.001, 0.999, 999):
            q_star = odds * p_star / (1 + (odds - 1) * p_star)
            reach = (q_star - p_star) / (1 - float(m.f))
            p, q = (q_star + p_star - reach) / 2, (q_star + p_star + reach) / 2
            if 0 <= p <= 1 and 0 <= q <= 1:
                assert Rappor(m.f, p, q, bits=64, key=1).variance(1000) > best * (1 - 1e-6)


@pytest.mark.parametrize("hashes", [1, 2, 64])
@pytest.mark.parametrize(
    ("life", "once"), [(200, 200), (200, 0.001), (0.001, 0.001), (1, 0.999), (60, 30), (0.01, 0.005)]
)
def test_budgets_are_never_passed(life: float, once: float, hashes: int) -> None:
    m = Rappor.from_budget(epsilon_lifetime=life, epsilon_report=once, bits=128, hashes=hashes, key=1)
    assert m.epsilon <= once
    assert m.epsilon_lifetime <= life
    if life <= 20 * hashes:  # beyond, f would be smaller than the grid
        assert m.epsilon_lifetime > life * (1 - 1e-3)
        assert m.epsilon > once * (1 - 1e-3)


def test_reports_follow_the_law() -> None:
    laws.check_sampler(Crowd(Rappor(0.5, 0.25, 0.75, bits=5, hashes=2, cohorts=3, key=9)), "cat", draws=30_000)


# ---- memory


def test_the_permanent_response_is_that_of_user_and_value() -> None:
    m = Rappor(0.5, 0.25, 0.75, bits=70, cohorts=16, key=1)
    permanent = lambda values, users, memo=MEMO: m._permanent(values, users, memo, dc.noise.generator(1))  # noqa: E731
    cohorts, bits, labels = permanent(["a", "b", "a", "a"], ["ann", "ann", "bob", "ann"])
    assert cohorts[0] == cohorts[1] == cohorts[3]  # a cohort is for life
    assert np.array_equal(bits[0], bits[3])
    assert labels[0] == labels[3]
    assert len(set(labels.tolist())) == 3
    again = permanent(["a"], ["ann"])
    assert np.array_equal(again[1][0], bits[0])
    assert not np.array_equal(permanent(["a"], ["ann"], OTHER)[1][0], bits[0])
    assert m.responses(["a", "b"], ["ann", "ann"], memo=MEMO).tolist() == labels[:2].tolist()
    one, two = (m.encode(["a"], users=["ann"], memo=MEMO) for _ in range(2))
    assert not np.array_equal(one.rows, two.rows)  # the rest is fresh: equal by chance 2^-65 or so


def test_what_fixes_the_permanent_response() -> None:
    """New p and q reuse it. Anything else that is new makes another one, as two must not share coins."""

    def bits(**changes: Any) -> Any:
        m = Rappor(**{"f": 0.5, "p": 0.25, "q": 0.75, "bits": 64, "cohorts": 1, "key": 1, **changes})
        return m._permanent(["a"], ["ann"], MEMO, dc.noise.generator(1))[1] ^ m._filter(["a"], np.zeros(1, np.int64))

    same = bits()
    assert np.array_equal(bits(p=0.5, q=0.75), same)
    for changes in ({"f": 0.500001}, {"key": 2}, {"cohorts": 2}, {"hashes": 3}):
        assert not np.array_equal(bits(**changes), same)


def test_permanent_bits_turn_over_both_ways() -> None:
    """Ones that never become zeros would leave no finite bound at all."""
    m = Rappor(0.5, 0, 1, bits=16, hashes=2, cohorts=4, key=1)
    n = 20_000
    cohorts, kept, _ = m._permanent([7] * n, range(n), MEMO, dc.noise.generator(1))
    truth = np.unpackbits(m._filter([7] * n, cohorts), axis=1, bitorder="little")
    sent = np.unpackbits(kept, axis=1, bitorder="little")
    for bit in (0, 1):
        turned = sent[truth == bit] != bit
        assert abs(turned.mean() - 0.25) < 5 * math.sqrt(0.25 * 0.75 / turned.size)
    assert abs(np.bincount(cohorts, minlength=4) - n / 4).max() < 5 * math.sqrt(n * 3 / 16)
    # Bits of a response are independent of each other, and of those of the next user.
    one = (sent != truth).astype(float) - 0.25
    assert abs((one[:, :-1] * one[:, 1:]).mean()) < 5 * 0.1875 / math.sqrt(n * 15)
    assert abs((one[:-1] * one[1:]).mean()) < 5 * 0.1875 / math.sqrt(n * 16)


def test_keys_are_hmacs() -> None:
    memo = Memo(b"k" * 100)  # longer than a block
    words = np.array([3, 2**63, 3], np.uint64)
    personal = memo.personal(b"context", words)
    for row, word in zip(personal, words.tolist(), strict=True):
        message = hashlib.sha256(b"context").digest() + word.to_bytes(8, "little")
        assert row.tobytes() == hmac.digest(b"k" * 100, message, "sha256")
    kept = stored(personal, words)
    for row, key, word in zip(kept, personal, words.tolist(), strict=True):
        assert row.tobytes() == hmac.digest(key[:16].tobytes(), word.to_bytes(8, "little"), "sha256")


def test_stored_responses_stay_the_same_across_versions() -> None:
    m = Rappor(0.5, 0.25, 0.75, bits=32, cohorts=64, key=7)
    cohorts, bits, labels = m._permanent(["cat", "dog"], ["ann", 5], MEMO, dc.noise.generator(1))
    assert cohorts.tolist() == [38, 63]
    assert [row.tobytes().hex() for row in bits] == ["c69a0730", "92809416"]
    assert labels.tolist() == [4647862233700968506, 15212431286606999307]


def test_a_user_without_a_key_is_met_once() -> None:
    m = Rappor(0.5, 0, 1, bits=64, cohorts=1, key=1)
    rows = m.encode(["a"] * 3, users=[None, None, "ann"], memo=MEMO).rows
    assert not np.array_equal(rows[0], rows[1])


def test_seeds_mark_the_reports() -> None:
    m = Rappor(0.5, 0.25, 0.75, key=1)
    assert not m.encode(["a"], users=[1], memo=MEMO).seeded
    assert m.encode(["a"], users=[1], memo=MEMO, rng=1).seeded
    assert m.encode(["a"], users=[1], memo=Memo.draw(rng=1)).seeded
    assert "secret" not in repr(MEMO)


# ---- what it says of itself


def test_the_guarantee_states_both_budgets() -> None:
    m = Rappor(0.5, 0.5, 0.75, key=1)
    text = str(m.guarantee)
    assert "4.39445" in text
    assert "one report" in text
    assert any("secret" in line for line in m.guarantee.assumptions)
    assert any("pattern of changes is not covered" in line for line in m.guarantee.assumptions)
    assert m.lifetime.epsilon == pytest.approx(4.394449, abs=1e-6)
    assert dc.Guarantee.from_json(m.lifetime.to_json()) == m.lifetime
    assert "NO privacy" in str(Rappor(0, 0.5, 0.75, key=1).lifetime)
    assert "without bound" in Rappor(0, 0.5, 0.75, key=1).guarantee.unit


def test_parameters_survive_exactly() -> None:
    m = Rappor("1/3", 0.1, Fraction(2, 3), key=1)
    assert (m.f, m.p, m.q) == (Fraction(1, 3), Fraction(1, 10), Fraction(2, 3))
    assert mechanism_from_dict(m.to_dict()) == m
    assert m.report_bits == 128 + 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"f": 1}, "below 1"),
        ({"f": -0.1}, "from 0 to 1"),
        ({"f": "1/0"}, "rational"),
        ({"f": "1e999999999"}, "rational"),
        ({"f": None}, "f must be"),
        ({"q": 0.5}, "different from p"),
        ({"f": 0, "p": 0}, "certain"),
        ({"bits": 1}, "bits"),
        ({"hashes": 0}, "hashes"),
        ({"cohorts": 0}, "cohorts"),
        ({"hashes": 64, "f": 1e-9, "p": 0, "q": 1}, "at most epsilon"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        Rappor(**{"f": 0.5, "p": 0.5, "q": 0.75, "key": 1, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon_report": 5}, "at most epsilon_lifetime"),
        ({"epsilon_report": 0}, "positive"),
        ({"epsilon_lifetime": 500}, "to 200"),
        ({"epsilon_report": 1e-9}, "from 0.001"),
        ({"bits": 3}, "twice hashes"),
    ],
)
def test_bad_budgets(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        Rappor.from_budget(**{"epsilon_lifetime": 4, "epsilon_report": 1, **arguments})


def test_encoding_needs_to_know_who_reports() -> None:
    m = Rappor(0.5, 0.5, 0.75, key=1)
    with pytest.raises(dc.errors.InvalidArgument, match="users must be a key per user"):
        m.encode(["a"], memo=MEMO)
    with pytest.raises(dc.errors.InvalidArgument, match="memo must be"):
        m.encode(["a"], users=["ann"])
    with pytest.raises(dc.errors.InvalidArgument, match="one key per value"):
        m.encode(["a"], users=["ann", "bob"], memo=MEMO)
    with pytest.raises(dc.errors.InvalidArgument, match="secret must be at least"):
        Memo(b"short")
    with pytest.raises(dc.errors.InvalidType, match="secret must be bytes"):
        Memo("text of many many characters")  # type: ignore[arg-type]
    with pytest.raises(dc.errors.InvalidArgument, match="bits"):
        m.report_law("a")
