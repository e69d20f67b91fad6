"""The count-mean sketches: laws by enumeration, exact means and variances, the tables of the field, the wire."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import discreet as dc
import local_laws as laws
from discreet.local.sketches.count_mean import CountMeanSketch
from discreet.local.sketches.hadamard import HadamardSketch
from discreet.noise import HashFamily, generator

EPSILONS = [0.5, 1, 3, 5]
SkippingSketch = partial(HadamardSketch, skip_zero=True)
KINDS = [CountMeanSketch, HadamardSketch, SkippingSketch]
VALUES = ["cat", "dog", "emu", 7]
#: A reference population: six values, 2000 reporters, and two absent values.
HELD = np.array([900, 500, 300, 150, 100, 50, 0, 0])
PEOPLE = np.repeat(np.arange(8), HELD)


def moment(held: Any, of: int) -> float:
    """G: the sum of f(f - 1) over the other values."""
    held = np.asarray(held, float)
    return float((held * (held - 1)).sum() - of * (of - 1))


# ---- the law of a report


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("kind", "width"), [(CountMeanSketch, 6), (HadamardSketch, 8), (SkippingSketch, 8)])
def test_law(kind: Any, width: int, epsilon: float) -> None:
    m = kind(epsilon, 3, width, key=5)
    laws.check_ratio(m, VALUES)
    laws.check_sampler(m, "emu")


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("kind", "width"), [(CountMeanSketch, 5), (HadamardSketch, 4), (SkippingSketch, 4)])
def test_the_mean_of_an_estimate_is_exact_given_the_key(kind: Any, width: int, epsilon: float) -> None:
    """By enumeration: a report counts 1 for its value and, for another, what their shared buckets make of it.

    (m/(m-1)) (share of rows where both are in one bucket - 1/m), which is 0 on average over keys. The published code
    took the constant of ε/2 in the Hadamard sketch and fails here.
    """
    m = kind(epsilon, 3, width, key=11)
    buckets = HashFamily(3, width, key=11, independence=3).all(VALUES)
    for i, value in enumerate(VALUES):
        rows, chances = m.report_law(value)
        single = np.array([m.estimate(m.aggregate(row[None]), VALUES).count for row in rows])
        shared = (buckets == buckets[:, [i]]).mean(axis=0)
        assert np.allclose(chances @ single, width / (width - 1) * (shared - 1 / width), atol=1e-9)
        assert chances @ single[:, i] == pytest.approx(1, abs=1e-9)


def test_too_many_reports_to_list_are_refused() -> None:
    for m in (CountMeanSketch(1, 2, 40, key=1), CountMeanSketch(1, 2, 4096, key=1), HadamardSketch(1, 2**10, 2**12, 1)):
        with pytest.raises(dc.errors.InvalidArgument, match="width"):
            m.report_law("cat")


# ---- constants and variances


def test_constants() -> None:
    """Annex A.1."""
    table = {
        0.5: (0.43782, 8.0416, 0.37754, 4.08299),
        1: (0.37754, 4.0830, 0.26894, 2.16395),
        2: (0.26894, 2.1640, 0.11920, 1.31304),
        4: (0.11920, 1.3130, 0.01799, 1.03731),
        8: (0.01799, 1.0373, 0.00034, 1.00067),
    }
    for epsilon, (flip, constant, sign_flip, sign_constant) in table.items():
        vector, sign = CountMeanSketch(epsilon, key=1), HadamardSketch(epsilon, key=1)
        assert vector.randomiser.flipped == pytest.approx(flip, abs=5e-6)
        assert 1 / (vector.law.p - vector.law.q) == pytest.approx(constant, abs=5e-5)
        assert sign.randomiser.flipped == pytest.approx(sign_flip, abs=5e-6)
        assert sign.constant == pytest.approx(sign_constant, abs=5e-6)
        # One object makes both: what is sent on average times the constant is the sign itself.
        assert sign.constant * (1 - 2 * sign.randomiser.flipped) == pytest.approx(1, rel=1e-12)


def test_exact_variances() -> None:
    """Annex A.2, and 3.C.2 for the option."""
    wanted = [
        (CountMeanSketch(2, 8, 16, key=1), 5284, 11890),
        (CountMeanSketch(4, 4, 8, key=1), 13984, 42189),
        (HadamardSketch(2, 8, 16, key=1), 6010, 13416),
        (HadamardSketch(4, 4, 8, key=1), 14966, 44029),
        (SkippingSketch(2, 8, 16, key=1), None, 12970),
    ]
    for m, of_900, of_150 in wanted:
        if of_900:
            assert m.variance(2000, 900, moment(HELD, 900)) == pytest.approx(of_900, abs=0.5)
        assert m.variance(2000, 150, moment(HELD, 150)) == pytest.approx(of_150, abs=0.5)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_variances_in_the_form_of_the_spec(epsilon: float) -> None:
    """3.C.1 and 3.C.2, written out: the general formula contains them."""
    n, f, k, w, g = 2000, 150, 8, 16, moment(HELD, 150)
    a, c = math.exp(epsilon / 2), 1 / math.tanh(epsilon / 2)
    collisions = ((n - f) + g / k) / (w - 1)
    scale = (w / (w - 1)) ** 2
    vector = scale * n * a / (a - 1) ** 2 + collisions
    sign = scale * (n * c**2 - f - (n - f) / w) + collisions
    skipping = n * c**2 - f + g / (k * (w - 1))
    for kind, wanted in zip(KINDS, (vector, sign, skipping), strict=True):
        assert kind(epsilon, k, w, key=1).variance(n, f, g) == pytest.approx(wanted, rel=1e-10)
    # Without the moment: the worst case.
    assert CountMeanSketch(epsilon, k, w, key=1).variance(n, f) == pytest.approx(
        scale * n * a / (a - 1) ** 2 + ((n - f) + n**2 / k) / (w - 1), rel=1e-10
    )


def simulate(kind: Any, epsilon: float, k: int, width: int, runs: int) -> tuple[Any, Any, float]:
    """Estimates of the reference population under fresh keys, their exact variances, and the coverage at 95 %."""
    rng, found, hits = np.random.default_rng(7), [], 0
    for run in range(runs):
        m = kind(epsilon, k, width, key=int(rng.integers(2**63)))
        one = m.estimate(m.aggregate(m.encode(PEOPLE, rng=run)), range(8))
        low, high = one.interval(0.95)
        hits += int(((low <= HELD) & (high >= HELD)).sum())
        found.append(one.count)
    exact = np.array([m.variance(2000, f, moment(HELD, f)) for f in HELD.tolist()])
    return np.array(found), exact, hits / (8 * runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "epsilon", "k", "width"),
    [
        (CountMeanSketch, 2, 8, 16),
        pytest.param(HadamardSketch, 2, 8, 16, marks=pytest.mark.slow),
        pytest.param(SkippingSketch, 2, 8, 16, marks=pytest.mark.slow),
        pytest.param(HadamardSketch, 4, 4, 8, marks=pytest.mark.slow),
    ],
)
def test_mean_variance_and_coverage_over_keys(kind: Any, epsilon: float, k: int, width: int) -> None:
    """Mean within 4 standard errors, variance within 15 % (3.9 standard errors), coverage 93 to 97 %."""
    runs = 1400
    found, exact, coverage = simulate(kind, epsilon, k, width, runs)
    assert np.all(np.abs(found.mean(axis=0) - HELD) < 4 * np.sqrt(exact / runs))
    assert np.all(np.abs(found.var(axis=0) / exact - 1) < 0.15)
    assert 0.93 < coverage < 0.97


@pytest.mark.parametrize("epsilon", [0.5, *(pytest.param(e, marks=pytest.mark.slow) for e in (1, 3, 5))])
@pytest.mark.parametrize("kind", KINDS)
def test_every_budget(kind: Any, epsilon: float) -> None:
    found, exact, coverage = simulate(kind, epsilon, 8, 16, runs := 300)
    assert np.all(np.abs(found.mean(axis=0) - HELD) < 4 * np.sqrt(exact / runs))
    assert abs((found.var(axis=0) / exact).mean() - 1) < 0.15
    assert 0.93 < coverage < 0.97


def test_rare_item_constants() -> None:
    """C.11 at ε = 3, d = 1024: 0.37 and 1.22, without collisions."""
    vector, sign, skipping = (kind(3, 128, 1024, key=1) for kind in KINDS)
    assert vector.law.variance(1, 0) == pytest.approx(0.36971, abs=5e-6)
    assert skipping.law.variance(1, 0) == pytest.approx(1.2182, abs=5e-5)
    assert vector.variance(10**6, 0, 0) / 10**6 == pytest.approx(0.37, rel=0.01)
    assert sign.variance(10**6, 0, 0) / 10**6 == pytest.approx(1.22, rel=0.01)


def test_collisions_set_a_floor() -> None:
    """C.2.5: Zipf 1.1 over 1024 values, ε = 3, k = 128, m = 1024; variance over n grows with n."""
    share = np.arange(1, 1025) ** -1.1
    share /= share.sum()
    wanted = {2e4: (0.379, 1.23), 1e5: (0.408, 1.26), 1e6: (0.736, 1.59), 1e7: (4.02, 4.87)}
    for n, constants in wanted.items():
        for kind, constant in zip((CountMeanSketch, HadamardSketch), constants, strict=True):
            m = kind(3, 128, 1024, key=1)
            assert m.variance(int(n), 0, moment(share * n, 0)) / n == pytest.approx(constant, rel=3e-3)


# ---- reports and states


@pytest.mark.parametrize("width", [2, 5, 8, 9, 60, 64, 70, 256])
def test_a_vector_is_the_bucket_when_nothing_is_flipped(width: int) -> None:
    """At ε = 200 no bit is flipped (chance 4e-44): the report must be what the documented hash says."""
    m = CountMeanSketch(200, 5, width, key=9)
    values = [f"word {i}" for i in range(300)]
    reports = m.encode(values, rng=1)
    bits = np.unpackbits(reports.rows, axis=1, bitorder="little")
    row = (bits[:, width:] * (1 << np.arange(bits.shape[1] - width))).sum(axis=1)
    assert np.array_equal(row, reports.field("row"))
    assert set(row.tolist()) == set(range(5))
    buckets = HashFamily(5, width, key=9, independence=3)(values, index=row)
    assert np.array_equal(bits[:, :width], np.eye(width, dtype=np.uint8)[buckets])
    counts = m.aggregate(reports)
    wanted = np.zeros((5, width), int)
    np.add.at(wanted, (row, buckets), 1)
    assert np.array_equal(counts.counters["ones"], wanted)


@pytest.mark.parametrize("width", [2, 8, 64, 4096])
@pytest.mark.parametrize("skip_zero", [False, True])
def test_a_sign_is_the_parity_when_nothing_is_flipped(width: int, skip_zero: bool) -> None:
    m = HadamardSketch(200, 5, width, key=9, skip_zero=skip_zero)
    values = [f"word {i}" for i in range(500)]
    reports = m.encode(values, rng=1)
    row, index, sign = (reports.field(name) for name in ("row", "index", "sign"))
    buckets = HashFamily(5, width, key=9, independence=3)(values, index=row)
    parity = [int(a & b).bit_count() & 1 for a, b in zip(index, buckets, strict=True)]
    assert np.array_equal(sign, 1 - np.array(parity))
    assert index.min() >= skip_zero
    assert set(row.tolist()) == set(range(5))
    sums = m.aggregate(reports).counters["signs"]
    wanted = np.zeros((5, width), int)
    np.add.at(wanted, (row, index), 2 * sign - 1)
    assert np.array_equal(sums, wanted)


def test_bytes_of_a_report() -> None:
    """The packed forms, fixed for clients in other languages."""
    vector = CountMeanSketch(200, 5, 12, key=9).layout.pack(
        vector=np.array([[0x21, 0x0A]], np.uint8), row=np.array([5])
    )
    assert vector.tolist() == [[0x21, 0x5A]]
    sign = HadamardSketch(1, 5, 64, key=9).layout.pack(sign=np.array([1]), row=np.array([4]), index=np.array([37]))
    assert sign.tolist() == [[1 | 4 << 1 | (37 & 15) << 4, 37 >> 4]]
    assert (CountMeanSketch(1, key=1).report_bits, HadamardSketch(1, key=1).report_bits) == (266, 19)


@pytest.mark.parametrize("width", [5, 12, 256])
def test_many_reports_a_row(width: int) -> None:
    """More reports of a row than a counter of one byte holds, against plain unpacking."""
    m = CountMeanSketch(1, 2, width, key=3)
    reports = m.encode(np.arange(3000) % 7, rng=2)
    counts = m.aggregate(reports)
    bits = np.unpackbits(reports.rows, axis=1, bitorder="little")[:, :width].astype(int)
    row = reports.field("row")
    assert np.array_equal(counts.counters["ones"], [bits[row == j].sum(axis=0) for j in range(2)])
    assert np.array_equal(counts.counters["reports"], np.bincount(row, minlength=2))


def test_counters_of_one_byte_do_not_overflow() -> None:
    m = CountMeanSketch(1, 2, 16, key=3)
    full = m.layout.pack(vector=np.full((1000, 2), 255, np.uint8), row=np.arange(1000) % 3 // 2)
    counts = m.aggregate(full)
    assert np.array_equal(counts.counters["ones"], [[667] * 16, [333] * 16])
    assert counts.counters["reports"].tolist() == [667, 333]


@pytest.mark.parametrize(
    "m",
    [
        CountMeanSketch(1, 3, 12, key=3),
        CountMeanSketch(2, 1024, 256, key=3),
        HadamardSketch(1, 3, 16, key=3),
        SkippingSketch(1, 1, 2, key=3),
    ],
    ids=str,
)
def test_state(m: Any) -> None:
    laws.check_state(m, ["a", "c", b"zebra", None, 5, -1, 2**70, 1.5, float("nan"), object(), "\ud800"] * 25)
    assert len(m.encode([], rng=1)) == 0
    assert m.estimate(m.empty(), ["a"]).count.tolist() == [0.0]
    assert m.estimate(m.empty(), []).count.shape == (0,)


def test_impossible_reports_are_counted_and_left_out() -> None:
    vector = CountMeanSketch(1, 5, 11, key=1)  # 11 bits, a row of 3 bits, 2 bits of nothing
    rows = np.array([[255, 7 | 4 << 3], [255, 7 | 5 << 3], [0, 7 << 3], [1, 1 << 6], [0, 0]], np.uint8)
    counts = vector.aggregate(rows)
    assert (counts.n, counts.rejected) == (2, 3)
    assert counts.counters["reports"].tolist() == [1, 0, 0, 0, 1]
    assert counts.counters["ones"].sum() == 11
    sign = HadamardSketch(1, 5, 4, key=1)  # a sign, a row of 3 bits, an index of 2 bits, 2 bits of nothing
    rows = np.array([[1 | 4 << 1 | 3 << 4], [5 << 1], [7 << 1], [1 << 6], [0]], np.uint8)
    counts = sign.aggregate(rows)
    assert (counts.n, counts.rejected) == (2, 3)
    assert (counts.counters["signs"][4, 3], counts.counters["signs"][0, 0]) == (1, -1)
    assert np.abs(counts.counters["signs"]).sum() == 2
    skipping = SkippingSketch(1, 5, 4, key=1)
    counts = skipping.aggregate(rows)
    assert (counts.n, counts.rejected) == (1, 4)


def test_the_option_and_the_key_belong_to_the_parameters() -> None:
    plain, skipping = HadamardSketch(1, 8, 16, key=1), SkippingSketch(1, 8, 16, key=1)
    with pytest.raises(dc.errors.InvalidArgument, match="skip_zero"):
        plain.aggregate(skipping.encode(["a"], rng=1))
    with pytest.raises(dc.errors.InvalidArgument, match="skip_zero"):
        plain.empty() + skipping.empty()
    for kind in (CountMeanSketch, HadamardSketch):
        with pytest.raises(dc.errors.InvalidArgument, match="key"):
            kind(1, 8, 16, key=1).estimate(kind(1, 8, 16, key=2).empty(), ["a"])
        drawn = kind(1, 8, 16)
        assert 0 <= drawn.key < 2**128
        assert drawn != kind(1, 8, 16)
        assert kind.from_dict(drawn.to_dict()) == drawn


def test_a_wide_sketch() -> None:
    """Width 2^20: no matrix of that side could be formed."""
    m = HadamardSketch(3, 4, 2**20, key=5)
    values = ["often"] * 20_000 + ["seldom"] * 5_000
    found = m.estimate(m.aggregate(m.encode(values, rng=1)), ["often", "seldom", "never"])
    assert np.all(np.abs(found.count - [20_000, 5_000, 0]) < 4 * found.std_error)
    assert m.report_bits == 23
    wide = CountMeanSketch(3, 2, 2**20, key=5)
    found = wide.estimate(wide.aggregate(wide.encode(["often"] * 200, rng=1)), ["often", "never"])
    assert np.all(np.abs(found.count - [200, 0]) < 4 * found.std_error)


def test_values_and_candidates_of_any_kind_are_the_same_value() -> None:
    for kind in KINDS:
        m = kind(20, 64, 64, key=1)
        counts = m.aggregate([m.encode(["caf\u00e9"] * 500, rng=1), m.encode(np.full(500, 7, np.int32), rng=2)])
        found = m.estimate(counts, np.array(["cafe\u0301", "7"], object))
        assert found.count[0] == pytest.approx(500, abs=150)
        assert found.count[1] == pytest.approx(0, abs=150)
        assert m.estimate(counts, [7, np.int64(7)]).count == pytest.approx([500, 500], abs=150)


@pytest.mark.parametrize("candidates", [None, "cat", 7, [1.5], [object()]])
def test_bad_candidates(candidates: Any) -> None:
    for kind in KINDS:
        m = kind(1, 8, 16, key=1)
        with pytest.raises(dc.errors.InvalidArgument, match="candidates"):
            m.estimate(m.empty(), candidates)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a positive number"),
        ({"epsilon": 300}, "at most 200"),
        ({"n_hashes": 0}, "n_hashes"),
        ({"n_hashes": 2**21}, "n_hashes"),
        ({"n_hashes": 2**20, "width": 4096}, "n_hashes must be at most 524288 with width=4096"),
        ({"width": 1}, "width"),
        ({"width": 2.0}, "width"),
        ({"key": -1}, "key"),
        ({"key": "7"}, "key"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    for kind in KINDS:
        with pytest.raises(dc.errors.InvalidArgument, match=message):
            kind(**{"epsilon": 1, "n_hashes": 8, "width": 16, "key": 1, **arguments})


def test_bad_arguments_of_the_hadamard_sketch() -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=r"width must be a power of two.*width=128"):
        HadamardSketch(1, width=100)
    with pytest.raises(dc.errors.InvalidArgument, match="skip_zero"):
        HadamardSketch(1, skip_zero=1)  # type: ignore[arg-type]


def test_one_seeded_stream_makes_two_different_sets_of_reports() -> None:
    m, stream = CountMeanSketch(1, 4, 64, key=1), generator(3)
    one, two = m.encode(["a"] * 20, rng=stream), m.encode(["a"] * 20, rng=stream)
    assert one.seeded
    assert not np.array_equal(one.rows, two.rows)
    assert one == m.encode(["a"] * 20, rng=3)
