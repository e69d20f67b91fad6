"""Local hashing with all functions and with a pool: law, errors, the three kinds of state, the counting kernel."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
import local_laws as laws
from discreet.local import Counts
from discreet.local.mechanism import mechanism_from_dict
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.wire import binary
from discreet.noise import HashFamily
from discreet.noise.hashing import hash_kernels
from discreet.noise.hashing import support as _support
from discreet.noise.hashing import support as _support_kernels

EPSILONS = [0.5, 1, 3, 5]
P = 2**61 - 1


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_law_over_all_functions(epsilon: float) -> None:
    """With every function equally likely: ratio e^ε, the two support chances, the total variation (spec C.1.3)."""
    m = LocalHashing(epsilon, key=1)
    g = m.width
    d = 3 if g <= 8 else 2
    functions = np.array(list(itertools.product(range(g), repeat=d)))
    sent = functions[:, :, None] == np.arange(g)  # function, value, bucket
    chances = np.where(sent, m.row_law.p, m.row_law.q) / len(functions)
    assert chances.sum(axis=(0, 2)) == pytest.approx(np.ones(d), abs=1e-12)
    worst = (chances.max(axis=1) / chances.min(axis=1)).max()
    assert abs(math.log(worst) - epsilon) < 1e-12
    support = np.einsum("fxb,fvb->xv", chances, sent)
    assert np.allclose(support, np.where(np.eye(d, dtype=bool), m.law.p, m.law.q), rtol=0, atol=1e-12)
    apart = np.abs(chances[:, 0] - chances[:, 1]).sum() / 2
    assert 0 <= m.total_variation() - apart < 1e-8
    grown = math.exp(epsilon)
    assert apart == pytest.approx((1 - 1 / g) * (grown - 1) / (grown + g - 1), abs=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_law_of_a_pool(epsilon: float) -> None:
    m = LocalHashing(epsilon, pool=6, key=5)
    laws.check_ratio(m, ["cat", "dog", "emu"])
    laws.check_sampler(m, "cat", draws=60_000)


@pytest.mark.slow
def test_a_pool_is_unbiased_over_keys_and_has_the_stated_variance() -> None:
    """K' = 20, g = 8, ε = 2 of the spec's C.6: 9,879 for f = 150. Mean within 4 errors, variance within 15 %."""
    truth = np.array([900, 500, 300, 150, 100, 50])
    values = np.repeat(np.arange(6), truth)
    others = (truth * (truth - 1)).sum() - truth * (truth - 1)
    found = []
    for seed in range(1200):
        m = LocalHashing(2, width=8, pool=20, key=seed + 1)
        found.append(m.estimate(m.aggregate(m.encode(values, rng=seed)), range(6)))
    assert m.family.independence == 3  # what the variance formula needs
    wanted = m.variance(2000, truth, second_moment=others)
    assert wanted[3] == pytest.approx(9879, abs=0.5)
    counts = np.array([f.count for f in found])
    assert np.all(np.abs(counts.mean(axis=0) - truth) < 4 * np.sqrt(wanted / len(counts)))
    assert counts.var(axis=0) == pytest.approx(wanted, rel=0.15)
    ends = [f.interval(0.95) for f in found]
    covered = np.mean([(low <= truth) & (truth <= high) for low, high in ends])
    assert 0.93 < covered < 0.97


def test_the_extra_variance_of_a_pool() -> None:
    shares = 1 / np.arange(1, 1025) ** 1.1
    shares /= shares.sum()
    m = LocalHashing(3, pool=1000, key=1)
    for n, wanted in ((2e4, 0.27), (1e5, 0.46), (1e6, 2.6)):
        collisions = ((n * shares) * (n * shares - 1)).sum()
        assert m.variance(n, 0, collisions) / n == pytest.approx(wanted, rel=0.02)
        plain = LocalHashing(3, key=1).variance(n, 0)
        assert m.variance(n, 0, collisions) == pytest.approx(plain + collisions / (1000 * 20), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_estimates_over_many_runs(epsilon: float) -> None:
    truth = np.zeros(90, np.int64)
    truth[:6] = [900, 500, 300, 150, 100, 50]
    values, runs = np.repeat(np.arange(90), truth), 60
    m = LocalHashing(epsilon, candidates=90, key=11)
    found = [m.estimate(m.aggregate(m.encode(values, rng=seed))) for seed in range(runs)]
    off = np.array([f.count - truth for f in found]) / np.sqrt(m.variance(len(values), truth))
    assert np.all(np.abs(off.mean(axis=0)) < 4.5 / math.sqrt(runs))
    assert (off**2).mean() == pytest.approx(1, abs=0.1)
    ends = [f.interval(0.95) for f in found]
    covered = np.mean([(low <= truth) & (truth <= high) for low, high in ends])
    assert 0.93 < covered < 0.97


# The three kinds of state.


@pytest.mark.parametrize(
    "m",
    [
        LocalHashing(1, key=3),
        LocalHashing(1, key=3, candidates=["cat", "dog", "emu"]),
        LocalHashing(1, key=3, candidates=50),
        LocalHashing(1, key=3, pool=10),
    ],
    ids=repr,
)
def test_states(m: Any) -> None:
    laws.check_state(m, ["cat", "dog", None, "café", b"\xff", 3.5, 10**30, ""] * 20)
    assert mechanism_from_dict(m.to_dict()) == m


def test_candidates_named_before_or_after_give_the_same() -> None:
    late = LocalHashing(2, key=3)
    early = LocalHashing(2, key=3, candidates=["cat", "dog", "emu"])
    reports = late.encode(["cat"] * 300 + ["dog"] * 200, rng=1)
    one = late.estimate(late.aggregate(reports), ["cat", "dog", "emu"])
    two = early.estimate(early.aggregate(reports.to_bytes()))  # reports know nothing of candidates
    assert np.array_equal(one.count, two.count)
    assert np.array_equal(early.estimate(early.aggregate(reports), ["emu", "cat"]).count, one.count[[2, 0]])
    assert np.array_equal(one.std_error, two.std_error)
    assert early.aggregate(reports).counters["support"].shape == (3,)
    with pytest.raises(dc.errors.InvalidArgument, match="candidates"):
        late.aggregate(reports) + early.aggregate(reports)
    with pytest.raises(dc.errors.InvalidArgument, match="pool"):
        late.aggregate(LocalHashing(2, key=3, pool=7).encode(["cat"], rng=1))
    with pytest.raises(dc.errors.InvalidArgument, match="key"):
        late.aggregate(LocalHashing(2, key=4).encode(["cat"], rng=1))
    with pytest.raises(dc.errors.InvalidArgument, match="declared"):
        early.estimate(early.empty(), ["cow"])


def test_reports_are_kept_in_one_order_whatever_came_first() -> None:
    m = LocalHashing(1, key=3)
    reports = m.encode(range(500), rng=1)
    reports = reports + reports[:40]  # some twice
    shuffled = reports[np.random.default_rng(0).permutation(len(reports))]
    whole = m.aggregate(reports)
    assert m.aggregate([shuffled[:7], shuffled[7:300], shuffled[300:]]) == whole
    assert m.aggregate(shuffled[:100]) + m.aggregate(shuffled[100:]) == whole
    assert np.all(np.diff(whole.counters["seed"]) >= 0)
    assert whole != m.aggregate(reports[1:] + reports[:1][[0]] + reports[:1])


def test_damaged_states_are_refused() -> None:
    m = LocalHashing(1, key=3)
    good = m.aggregate(m.encode(range(20), rng=1))
    seed, bucket = good.counters["seed"], good.counters["bucket"]

    def message(n: int, *parts: Any) -> bytes:
        body = [bytes(8), *(np.asarray(p).astype("<i8").tobytes() for p in parts)]
        return binary.write(binary.STATE, m.to_dict(), n, body, seeded=True)

    assert Counts.from_bytes(message(20, seed, bucket)) == good
    assert Counts.from_bytes(message(0)).n == 0
    for bad in (
        message(19, seed, bucket),
        message(20, seed[::-1], bucket),
        message(20, seed, bucket + m.width),
        message(20, seed, bucket - m.width),
        message(20, seed - 2**62 - 2**62, bucket),
        message(20, seed),
    ):
        with pytest.raises(dc.errors.FormatError, match="damaged"):
            Counts.from_bytes(bad)


def test_impossible_reports_are_left_out() -> None:
    m = LocalHashing(1, width=5, key=3)
    rows = m.layout.pack(seed=np.array([1, 2, 2**63 - 1, 4]), bucket=np.array([0, 5, 4, 7]))
    for late in (m, LocalHashing(1, width=5, key=3, candidates=9)):
        counts = late.aggregate(rows)
        assert (counts.n, counts.rejected) == (2, 2)
    pool = LocalHashing(1, width=5, key=3, pool=5)
    rows = pool.layout.pack(seed=np.array([4, 5, 0, 7]), bucket=np.array([4, 0, 5, 1]))
    counts = pool.aggregate(rows)
    assert (counts.n, counts.rejected) == (1, 3)
    assert counts.counters["reports"].sum() == counts.counters["reports"][4, 4] == 1


def test_seeds_fill_their_bits_evenly() -> None:
    seeds = LocalHashing(1, key=3).encode([1] * 20_000, rng=2).field("seed")
    assert seeds.min() >= 0
    ones = (seeds[:, None] >> np.arange(63) & 1).mean(axis=0)
    assert np.all(np.abs(ones - 0.5) < 5 * 0.5 / math.sqrt(20_000))
    assert len(np.unique(seeds)) == 20_000


# The counting kernel against the definition of the hash.


@pytest.mark.parametrize("width", [2, 3, 21, 2**20, 2**31 + 1, 2**32 - 1, 2**32])
def test_support_equals_the_definition(width: int) -> None:
    rng = np.random.default_rng(width)
    family = HashFamily(2**63, width, key=9)
    functions = rng.integers(0, 2**63, 700, dtype=np.uint64)
    values = np.arange(3000)
    hit = family(rng.integers(0, 3000, 700), functions)
    buckets = np.where(rng.random(700) < 0.5, hit, rng.integers(0, width + 1, 700))  # some out of range
    wanted = np.zeros(3000, np.int64)
    points = family._points(values)
    hash_kernels.count_support(
        points, functions, buckets.astype(np.uint64), *family._parameters(), np.empty_like(points), wanted
    )
    assert np.array_equal(family.support(values, functions, buckets), wanted)
    assert wanted.sum() >= 250


def test_threads_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    family = HashFamily(2**63, 7, key=9)
    functions, buckets = np.arange(1001, dtype=np.uint64), np.arange(1001, dtype=np.uint64) % np.uint64(7)
    one = family.support(np.arange(50), functions, buckets)
    monkeypatch.setattr(_support, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(_support, "cores", lambda: 5)
    assert np.array_equal(family.support(np.arange(50), functions, buckets), one)
    assert family.support(np.arange(50), functions[:0], buckets[:0]).tolist() == [0] * 50
    assert family.support([], functions, buckets).shape == (0,)


def test_edges_of_buckets() -> None:
    for width in (2, 3, 21, 1000, 2**31 - 1, 2**32 - 1, 2**32):
        for bucket in {1, width // 2, width - 1}:
            edge = int(_support_kernels.edge(np.uint64(bucket), np.uint64(width)))
            assert edge * width >> 61 >= bucket
            assert (edge - 1) * width >> 61 < bucket
        assert int(_support_kernels.edge(np.uint64(width), np.uint64(width))) == P


def test_sixty_four_digits_fall_short_by_less_than_the_slack() -> None:
    """Factors and points at the ends of their ranges, by Python's unbounded integers."""
    rng = np.random.default_rng(4)
    special = [0, 1, 2, 2**30, 2**31 - 1, 2**31, 2**60, P // 3, P - 2, P - 1] + rng.integers(0, P, 12).tolist()
    fraction = {a: int(_support_kernels._fraction(np.uint64(a))) for a in special}
    assert all(digits == a * 2**64 // P for a, digits in fraction.items())
    worst = 0
    for a, x, c in itertools.product(special, repeat=3):
        b = a * 2**31 % P
        digits = (
            fraction[a] * (x & (2**31 - 1)) + int(_support_kernels._fraction(np.uint64(b))) * (x >> 31) + fraction[c]
        )
        short = ((a * x + c) % P * 2**64 - digits % 2**64 * P) % (2**64 * P)  # times p, to stay whole
        worst = max(worst, short)
    assert 2**31 * P < worst < int(_support_kernels.SLACK) * P
    assert int(_support_kernels.SLACK) < int(_support_kernels._fraction(np.uint64(2**29 - 1)))  # the smallest bucket


def test_doubtful_batches_are_counted_again() -> None:
    """A slack of 1/64 makes nearly every batch doubtful; the counts stay those of the definition."""
    family = HashFamily(2**63, 21, key=9)
    rng = np.random.default_rng(1)
    functions = rng.integers(0, 2**63, 1300, dtype=np.uint64)
    buckets = rng.integers(0, 23, 1300, dtype=np.uint64)  # 21 and 22 are no buckets
    points = family._points(np.arange(40))
    width, k0, k1, terms = family._parameters()
    wanted, sure, doubtful = np.zeros((3, 40), np.int64)
    hash_kernels.count_support(points, functions, buckets, width, k0, k1, terms, np.empty_like(points), wanted)
    _support_kernels.add_support(points, functions, buckets, width, k0, k1, _support_kernels.SLACK, sure)
    _support_kernels.add_support(points, functions, buckets, width, k0, k1, np.uint64(2**58), doubtful)
    assert wanted.tolist() == sure.tolist() == doubtful.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LocalHashing(-1), "epsilon must be a positive number"),
        (lambda: LocalHashing(1, width=1), "width must be a whole number from 2"),
        (lambda: LocalHashing(1, pool=0), "pool must be a whole number of at least 1"),
        (lambda: LocalHashing(1, width=2**32, pool=2), "pool must be a whole number from 1 to 1"),
        (lambda: LocalHashing(1, pool=8, candidates=5), "candidates must be None with a pool"),
        (lambda: LocalHashing(1, candidates=["a", "a"]), "without repeats"),
        (lambda: LocalHashing(1, key=2**128), "key"),
        (lambda: LocalHashing(1).report_law(1), "pool must be small enough"),
        (lambda: LocalHashing(1).estimate(LocalHashing(1).empty(), ["a"]), "key"),
        (lambda: LocalHashing(1, key=1).estimate(LocalHashing(1, key=1).empty()), "candidates must be a list"),
        (lambda: LocalHashing(1, key=1).estimate(LocalHashing(1, key=1).empty(), "cat"), "candidates must be a list"),
        (lambda: LocalHashing(1, key=1).estimate(LocalHashing(1, key=1).empty(), [0.5]), "whole numbers"),
    ],
)
def test_bad_arguments(make: Any, message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        make()
