"""Unary encoding, subset selection, Hadamard response: their exact laws, their errors, the constants of all oracles."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dc
import local_laws as laws
from discreet.local.oracles.direct import DirectResponse
from discreet.local.oracles.hadamard_response import HadamardResponse
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.projective import ProjectiveGeometry
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.support import SupportLaw
from discreet.noise.reports.bases import independent_vectors
from discreet.noise.reports.subsets import subsets
from discreet.noise.stream.thresholds import Chance

EPSILONS = [0.5, 1, 3, 5]


# Which values a report supports, written without the code under test.


def bits_of(rows: Any, n_bits: int) -> Any:
    return np.unpackbits(rows, axis=1, bitorder="little")[:, :n_bits].astype(bool)


def supported(m: Any, rows: Any) -> Any:
    """One row per report, one column per declared value."""
    bits, d = bits_of(rows, m.report_bits), m.choices.size
    if isinstance(m, UnaryEncoding) or (isinstance(m, SubsetSelection) and m.report_bits == d):
        return bits
    words = lambda part: part @ (1 << np.arange(part.shape[1]))  # noqa: E731
    if isinstance(m, SubsetSelection):
        each = m.report_bits // m.size
        listed = np.stack([words(bits[:, i * each : (i + 1) * each]) for i in range(m.size)])
        return (listed[:, :, None] == np.arange(d)).any(axis=0)
    assert isinstance(m, HadamardResponse)
    out = np.ones((len(rows), d), bool)
    for i in range(m.bits):
        vector = words(bits[:, i * m.length : (i + 1) * m.length])
        parity = np.bitwise_count(vector[:, None] & np.arange(d)) & 1
        out &= parity == bits[:, m.bits * m.length + i, None]
    return out


def check_pure(m: Any) -> None:
    """By enumeration: the two support chances and the total variation are the stated ones, for every pair of values."""
    d = m.choices.size
    rows, _ = m.report_law(0)
    chances = np.stack([m.report_law(x)[1] for x in range(d)])
    assert all(np.array_equal(m.report_law(x)[0], rows) for x in range(d))
    support = chances @ supported(m, rows)
    assert np.allclose(support, np.where(np.eye(d, dtype=bool), m.law.p, m.law.q), rtol=0, atol=1e-12)
    for x, y in itertools.combinations(range(d), 2):
        assert abs(chances[x] - chances[y]).sum() / 2 == pytest.approx(m.total_variation(), abs=1e-12)


def small(epsilon: float) -> list[Any]:
    return [
        UnaryEncoding(epsilon, 4),
        UnaryEncoding(epsilon, 4, "symmetric"),
        SubsetSelection(epsilon, 7),
        SubsetSelection(epsilon, 7, size=2),
        SubsetSelection(epsilon, 7, size=6),
        *(HadamardResponse(epsilon, 2**b, t) for b, t in ((3, 1), (3, 2), (3, 3), (4, 2))),
        HadamardResponse(epsilon, 6, 2),
    ]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laws_enumerated(epsilon: float) -> None:
    for m in small(epsilon):
        laws.check_ratio(m, range(m.choices.size))
        check_pure(m)


@pytest.mark.parametrize("m", [m for m in small(1.0) if m.report_bits < 9], ids=repr)
def test_one_report_is_unbiased_with_the_stated_variance(m: Any) -> None:
    laws.check_unbiased_exactly(m, range(m.choices.size))


@pytest.mark.parametrize("m", small(1.0) + small(3.0), ids=repr)
def test_samplers_follow_the_law(m: Any) -> None:
    laws.check_sampler(m, 3, draws=100_000)


@pytest.mark.parametrize(
    "m",
    [
        UnaryEncoding(1, ["a", "b", "c"]),
        UnaryEncoding(2, 1001, "symmetric"),
        SubsetSelection(3, 100),
        SubsetSelection(0.5, 100),
        HadamardResponse(3, 100),
        HadamardResponse(1, 3000, 1),
    ],
    ids=repr,
)
def test_states(m: Any) -> None:
    values = ["a", "c", "zebra", None] * 25 if m.choices.size == 3 else [*range(98), "zebra", None, -1, 1e9]
    laws.check_state(m, values)


# The constants of the spec's C.11: variance over n of a rare item.

COLUMNS = [(0.5, 1024), (1, 1024), (3, 1024), (5, 1024), (4, 22_000)]
CONSTANTS = {
    "direct": [2432.4, 347.07, 2.8608, 0.05386, 7.676],
    "symmetric": [15.917, 3.9177, 0.36971, 0.09742, 0.18102],
    "optimised": [15.671, 3.6827, 0.22056, 0.02732, 0.07602],
    "hashing": [15.817, 3.6917, 0.22057, 0.02732, 0.07602],
    "subset": [15.638, 3.6736, 0.21820, 0.02534, 0.07592],
    "one bit": [16.638, 4.6736, 1.2182, 1.0253, 1.0760],
    "hadamard": [16.638, 3.6823, 0.22318, 0.02562, 0.07634],
    "geometry": [15.788, 3.7611, 0.22082, 0.02723, 0.07605],
}
MAKE: dict[str, Any] = {
    "direct": DirectResponse,
    "symmetric": lambda e, d: UnaryEncoding(e, d, "symmetric"),
    "optimised": UnaryEncoding,
    "hashing": lambda e, d: LocalHashing(e, key=1),
    "subset": SubsetSelection,
    "one bit": lambda e, d: HadamardResponse(e, d, 1),
    "hadamard": HadamardResponse,
    "geometry": ProjectiveGeometry,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_published_variances(name: str) -> None:
    for (epsilon, d), constant in zip(COLUMNS, CONSTANTS[name], strict=True):
        # Printed with five digits (four where they begin with a 0 after the point): half a unit of the last one.
        assert MAKE[name](epsilon, d).variance(1, 0) == pytest.approx(constant, rel=2.1e-4)


def test_published_choices() -> None:
    assert [SubsetSelection(e, d).size for e, d in COLUMNS] == [387, 275, 49, 7, 396]
    assert [HadamardResponse(e, d).bits for e, d in COLUMNS] == [1, 2, 4, 7, 6]
    assert [LocalHashing(e, key=1).width for e, _ in COLUMNS] == [3, 4, 21, 149, 56]
    chosen = [ProjectiveGeometry(e, d).geometry for e, d in COLUMNS]
    assert [(g.order, g.points) for g in chosen] == [
        (3, 1093),
        (3, 1093),
        (23, 12_720),
        (149, 22_351),
        (53, 151_740),
    ]
    assert [HadamardResponse(3, 1024, t).variance(1, 0) for t in range(1, 6)] == pytest.approx(
        [1.218, 0.486, 0.286, 0.223, 0.228], abs=6e-4
    )


def test_forged_reports_move_an_item_by_what_the_spec_says() -> None:
    for name, most in {"optimised": 2.1, "hashing": 2.1, "symmetric": 1.3, "one bit": 1.1, "direct": 54.6}.items():
        law = MAKE[name](3, 1024).law
        assert (1 - law.q) / (law.p - law.q) == pytest.approx(most, abs=0.06), name


def exact_coverage(law: SupportLaw, n: int) -> float:
    """The chance that the 95 % interval of an absent item contains 0."""
    support = np.arange(n + 1)
    low, high = law.interval(support, n, 0.95)
    return float(stats.binom.pmf(support, n, law.q)[(low <= 0) & (high >= 0)].sum())


def test_exact_coverage_of_score_intervals() -> None:
    assert exact_coverage(LocalHashing(3, key=1).law, 1000) == pytest.approx(0.947, abs=6e-4)
    assert exact_coverage(UnaryEncoding(5, 1024).law, 1000) == pytest.approx(0.951, abs=6e-4)
    assert exact_coverage(DirectResponse(3, 1000).law, 20_000) == pytest.approx(0.959, abs=6e-4)
    assert exact_coverage(DirectResponse(3, 1000).law, 1000) == pytest.approx(0.923, abs=6e-4)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ["symmetric", "optimised", "subset", "one bit", "hadamard", "geometry"])
def test_estimates_over_many_runs(name: str, epsilon: float) -> None:
    """Mean, variance and coverage over 60 runs of 2,000 reporters; false alarms about 1 in 10^4 (4 errors)."""
    m, d, runs = MAKE[name](epsilon, 90), 90, 60
    truth = np.zeros(d, np.int64)
    truth[:6] = [900, 500, 300, 150, 100, 50]
    values = np.repeat(np.arange(d), truth)
    found = [m.estimate(m.aggregate(m.encode(values, rng=seed))) for seed in range(runs)]
    off = np.array([f.count - truth for f in found]) / np.sqrt(m.variance(len(values), truth))
    assert np.all(np.abs(off.mean(axis=0)) < 4.5 / math.sqrt(runs))
    assert abs(off[:, 6:].mean()) < 4 / math.sqrt(runs * 20)
    assert (off**2).mean() == pytest.approx(1, abs=0.12)
    ends = [f.interval(0.95) for f in found]
    covered = np.mean([(low <= truth) & (truth <= high) for low, high in ends])
    assert 0.93 < covered < 0.97


def test_both_bits_of_unary_encoding_are_randomised() -> None:
    for variant in ("optimised", "symmetric"):
        m = UnaryEncoding(5, 16, variant)
        rows = bits_of(m.encode([4] * 20_000, rng=1).rows, 16)
        seen = rows.mean(axis=0)
        assert 0 < seen[4] < 1
        assert np.all(seen > 0)
        error = np.sqrt(m.law.other / 20_000)
        assert np.all(np.abs(np.delete(seen, 4) - m.law.q) < 5 * error)


def test_subsets_are_filled_from_the_other_values() -> None:
    """Filling up from all values, the true one included, would cost more than ε: the trap of the spec's C.7."""
    for epsilon, d, wrong in ((4, 22_000, 4.04), (1, 1024, 1.55)):
        m = SubsetSelection(epsilon, d)
        trap = math.log(1 + math.exp(epsilon) * d / (d - m.size))
        assert trap == pytest.approx(wrong, abs=6e-3)
        reports = m.encode([17] * 3000, rng=5)
        held = m.aggregate(reports).counters["support"]
        assert held.sum() == 3000 * m.size
        assert abs(held[17] - 3000 * m.law.p) < 4.5 * math.sqrt(3000 * m.law.own)
        filled = m.law.p + (1 - m.law.p) * m.size / d  # how often the true value would be in
        if epsilon == 1:
            assert held[17] < 3000 * filled - 3 * math.sqrt(3000 * m.law.own)


@pytest.mark.parametrize(("n_values", "size"), [(6, 3), (9, 8), (200, 40), (40, 39)])
def test_random_subsets_are_uniform_sorted_and_of_the_right_size(n_values: int, size: int) -> None:
    values = np.arange(20_000) % n_values
    for chance in (Chance(a=1), Chance(a=0)):  # type: ignore[arg-type]
        drawn = subsets(values, n_values=n_values, size=size, chance=chance, rng=3)
        assert np.all(np.diff(drawn, axis=1) > 0)
        assert drawn.min() >= 0
        assert drawn.max() < n_values
        holds = (drawn == values[:, None]).any(axis=1)
        assert holds.all() if chance.a == 1 else not holds.any()
    drawn = subsets(np.zeros(20_000, np.int64), n_values=n_values, size=size, chance=Chance(), rng=4)
    seen = np.bincount(drawn.ravel(), minlength=n_values)[1:]
    share = size / (n_values - 1)
    assert np.all(np.abs(seen - 20_000 * share) <= 5 * np.sqrt(20_000 * share * (1 - share)) + 1e-9)
    if n_values == 6:
        _, times = np.unique(drawn, axis=0, return_counts=True)
        assert len(times) == math.comb(5, 3)
        assert stats.chisquare(times).pvalue > 1e-6


def test_impossible_subsets_are_left_out() -> None:
    m = SubsetSelection(1, 9, size=2)  # two numbers of four bits: eight, against nine as a vector
    assert m.report_bits == 8
    lists = np.array([[0x10], [0x01], [0x11], [0x91], [0x82]], np.uint8)  # (0,1) (1,0) (1,1) (1,9) (2,8)
    counts = m.aggregate(lists)
    assert (counts.n, counts.rejected) == (2, 3)
    assert counts.counters["support"].tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 1]
    vector = SubsetSelection(1, 5, size=2)
    assert vector.report_bits == 5
    counts = vector.aggregate(np.array([[0b00011], [0b10100], [0b00111], [0], [0b100001]], np.uint8))
    assert (counts.n, counts.rejected) == (2, 3)
    assert counts.counters["support"].tolist() == [1, 1, 1, 0, 1]


def test_a_subset_of_one_is_direct_response() -> None:
    one, direct = SubsetSelection(2, 40, size=1), DirectResponse(2, 40)
    assert (one.law.p, one.law.q) == pytest.approx((direct.law.p, direct.law.q), rel=1e-14)


def test_hadamard_decoding_equals_the_support_counts() -> None:
    for d, t in ((8, 1), (100, 3), (100, 7), (3000, 5)):
        m = HadamardResponse(3, d, t)
        reports = m.encode(np.arange(400) % d, rng=2)
        counts = m.aggregate(reports)
        assert counts.n == 400
        found = m._support(counts.counters["spectrum"], np.arange(d))
        assert np.array_equal(found, supported(m, reports.rows).sum(axis=0))


def test_dependent_vectors_are_impossible() -> None:
    m = HadamardResponse(1, 16, 3)
    words = [(1, 2, 4, 0), (1, 2, 3, 0), (5, 5, 1, 7), (0, 1, 2, 0), (8, 12, 15, 5)]
    rows = m.layout.pack(**{k: np.array([w[i] for w in words]) for i, k in enumerate(dict(m.layout.fields))})
    counts = m.aggregate(rows)
    assert (counts.n, counts.rejected) == (2, 3)
    assert counts.counters["spectrum"][0] == 2
    assert HadamardResponse(1, 16, 1).aggregate(np.array([[0], [16]], np.uint8)).n == 0


@pytest.mark.parametrize(("bits", "count"), [(1, 1), (2, 2), (3, 2), (3, 3), (9, 9)])
def test_random_vectors_are_independent_and_uniform(bits: int, count: int) -> None:
    drawn = independent_vectors(30_000, bits=bits, count=count, rng=6)
    spanned = np.zeros((len(drawn), 1), np.int64)
    for i in range(count):
        spanned = np.concatenate([spanned, spanned ^ drawn[:, i : i + 1]], axis=1)
    assert all(len(set(row)) == 2**count for row in spanned[:2000].tolist())
    if bits <= 3:
        _, times = np.unique(drawn, axis=0, return_counts=True)
        assert len(times) == math.prod(2**bits - 2**i for i in range(count))
        if len(times) > 1:
            assert stats.chisquare(times).pvalue > 1e-6


def test_all_bits_of_the_hadamard_response_are_direct_response() -> None:
    one, direct = HadamardResponse(2, 64, 6), DirectResponse(2, 64)
    assert (one.law.p, one.law.q) == pytest.approx((direct.law.p, direct.law.q), rel=1e-14)


# Arguments.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UnaryEncoding(0, 5), "epsilon must be a positive number"),
        (lambda: UnaryEncoding(1, 1), "domain"),
        (lambda: UnaryEncoding(1, 5, "best"), "variant must be one of 'optimised', 'symmetric'"),
        (lambda: SubsetSelection(1, 5, size=0), "size must be a whole number of at least 1"),
        (lambda: SubsetSelection(1, 5, size=5), "size must be a whole number from 1 to 4"),
        (lambda: SubsetSelection(1, 5, size=1.5), "size"),  # type: ignore[arg-type]
        (lambda: HadamardResponse(1, 5, bits=4), "bits must be a whole number from 1 to 3"),
        (lambda: HadamardResponse(math.nan, 5), "epsilon"),
        (lambda: UnaryEncoding(1, 30).report_law(0), "domain must be small enough"),
        (lambda: SubsetSelection(1, 40, size=20).report_law(0), "domain must be small enough"),
        (lambda: HadamardResponse(1, 4000, 2).report_law(0), "domain must be small enough"),
        (lambda: UnaryEncoding(1, 5).estimate(UnaryEncoding(1, 5).empty(), [5]), "declared in the domain"),
        (lambda: UnaryEncoding(1, 5).aggregate(UnaryEncoding(1, 5, "symmetric").encode([1])), "variant"),
    ],
)
def test_bad_arguments(make: Any, message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        make()


@pytest.mark.parametrize("m", [UnaryEncoding(8, 4), SubsetSelection(8, 4), HadamardResponse(8, 4)], ids=repr)
def test_undeclared_values_are_spread_evenly(m: Any) -> None:
    found = m.estimate(m.aggregate(m.encode([9, -1, None, "x"] * 5000, rng=5)))
    assert np.all(np.abs(found.count - 5000) < 700)


@pytest.mark.parametrize("epsilon", [0.01, 60, 200])
def test_extreme_budgets_work(epsilon: float) -> None:
    for name, make in MAKE.items():
        m = make(epsilon, 50)
        assert math.isfinite(m.variance(1000, 10)), name
        found = m.estimate(m.aggregate(m.encode([3] * 50, rng=1)), [3, 4])
        assert np.isfinite(found.count).all(), name
        if epsilon > 50 and name not in ("optimised", "one bit"):
            assert found.count == pytest.approx([50, 0], abs=25 if name == "geometry" else 1e-6), name


def test_two_spellings_of_one_accent_are_one_label() -> None:
    """NFC for labels as for hashed text: decomposed letters and the Kelvin sign, in a list, an array and in Arrow."""
    m = dc.local.DirectResponse(200, ["café", "K", "e\u0301te\u0301"])
    values = ["cafe\u0301", "\u212a", "été", "tea"]
    for column in (values, np.array(values), np.array(values, object), pa.array(values), pa.chunked_array([values])):
        assert m.choices.codes(column).tolist() == [0, 1, 2, -1]
    assert m.choices.codes(pa.array(values).dictionary_encode()).tolist() == [0, 1, 2, -1]
    odd = pa.array([b"\xff", "cafe\u0301".encode(), None]).view(pa.string())  # not UTF-8: no label, no error, alone
    assert m.choices.codes(odd).tolist() == [-1, 0, -1]
    with pytest.raises(dc.errors.InvalidArgument, match="NFC"):
        dc.local.DirectResponse(1, ["é", "e\u0301"])
