"""Shuffling: the certified bounds against the truth by enumeration, and against the published figures."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc

import discreet as dc
from discreet.local import DirectResponse
from discreet.local.numbers.means import MeanResponse
from discreet.local.numbers.square_wave import SquareWave
from discreet.local.oracles.hadamard_response import HadamardResponse
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.projective import ProjectiveGeometry
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.planning.shuffling import ShuffledBound, _delta, _local, shuffled
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.sketches.count_mean import CountMeanSketch

#: Laws of small mechanisms, a row a value, a column a report.
Table = Any


def shuffled_delta(mechanism: Any, n: int, epsilon: float, beta: float | None = None) -> float:
    """The δ at a central ε, by the better bound; ``beta`` is the total variation between any two values."""
    local, apart = _local(mechanism)
    apart = apart if beta is None else (beta, beta)
    found = _delta(epsilon, local, n, None)
    return found if apart is None else min(found, _delta(epsilon, local, n, apart))


def direct(epsilon: float, d: int) -> Table:
    table = np.ones((d, d)) + (math.exp(epsilon) - 1) * np.eye(d)
    return table / table.sum(axis=1, keepdims=True)


def unary(d: int, p: float, q: float) -> Table:
    bits = np.array(list(itertools.product([0, 1], repeat=d)))
    chance = np.where(np.eye(d, dtype=bool), p, q)
    return np.prod(np.where(bits[None], chance[:, None], 1 - chance[:, None]), axis=2)


def symmetric(epsilon: float) -> Table:
    s = math.exp(epsilon / 2)
    return unary(3, s / (s + 1), 1 / (s + 1))


def optimised(epsilon: float) -> Table:
    return unary(3, 0.5, 1 / (math.exp(epsilon) + 1))


def one_bit_hadamard(epsilon: float) -> Table:
    keep = 1 / (1 + math.exp(-epsilon))
    rows = []
    for x in range(4):
        signs = [bin(x & basis).count("1") % 2 for basis in (1, 2, 3)]
        rows.append([keep / 3 if sign == bit else (1 - keep) / 3 for sign in signs for bit in (0, 1)])
    return np.array(rows)


def add_report(sets: dict[tuple[int, ...], float], law: Any) -> dict[tuple[int, ...], float]:
    out: dict[tuple[int, ...], float] = {}
    for seen, chance in sets.items():
        for report, p in enumerate(law):
            key = (*seen[:report], seen[report] + 1, *seen[report + 1 :])
            out[key] = out.get(key, 0.0) + chance * p
    return out


def true_delta(table: Table, n: int, epsilon: float) -> float:
    """The largest δ over what the others hold; the victim holds value 0 or 1."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(len(table)), n - 1):
        sets = {(0,) * table.shape[1]: 1.0}
        for value in others:
            sets = add_report(sets, table[value])
        one, two = add_report(sets, table[0]), add_report(sets, table[1])
        for p, q in ((one, two), (two, one)):
            worst = max(worst, sum(max(p[key] - math.exp(epsilon) * q[key], 0.0) for key in p))
    return worst


def apart(table: Table) -> float:
    distances = {round(float(np.abs(a - b).sum() / 2), 12) for a, b in itertools.combinations(table, 2)}
    assert len(distances) == 1, "all pairs are to be equally far apart"
    return distances.pop()


CASES = [
    ("direct 3", lambda e: direct(e, 3), 4),
    ("direct 3", lambda e: direct(e, 3), 6),
    ("direct 4", lambda e: direct(e, 4), 4),
    ("direct 4", lambda e: direct(e, 4), 5),
    ("direct 6", lambda e: direct(e, 6), 4),
    ("symmetric", symmetric, 4),
    ("optimised", optimised, 4),
    ("one bit", one_bit_hadamard, 4),
    ("one bit", one_bit_hadamard, 5),
]


@pytest.mark.parametrize("local", [1, pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(("name", "make", "n"), CASES, ids=[f"{c[0]}, n={c[2]}" for c in CASES])
def test_bounds_are_never_below_the_truth(name: str, make: Any, n: int, local: float) -> None:
    table = make(local)
    beta = apart(table)
    for share in (0.0, 0.3, 0.6, 0.9):
        truth = true_delta(table, n, share * local)
        clones = shuffled_delta(local, n, share * local)
        nearer = shuffled_delta(local, n, share * local, beta)
        assert truth <= clones
        assert truth <= nearer <= clones
        # And a bound is worth something: at ε = 0 it is not the trivial one.
        if share == 0:
            assert nearer < 1


def true_repeated(table: Table, n: int, k: int, epsilon: float) -> float:
    """The largest δ if the victim sends k reports in one batch, over all histories and what the others hold."""
    worst, size = 0.0, len(table)
    for others in itertools.combinations_with_replacement(range(size), n - 1):
        sets = {(0,) * table.shape[1]: 1.0}
        for value in others:
            sets = add_report(sets, table[value])
        seen = []
        for history in itertools.combinations_with_replacement(range(size), k):
            found = sets
            for value in history:
                found = add_report(found, table[value])
            seen.append(found)
        for p, q in itertools.permutations(seen, 2):
            worst = max(worst, sum(max(p[key] - math.exp(epsilon) * q[key], 0.0) for key in p))
    return worst


@pytest.mark.parametrize("local", [1, 2])
@pytest.mark.parametrize("delta", [0.02, 0.2])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_several_reports_of_a_device_are_never_below_the_truth(local: float, delta: float, k: int) -> None:
    """The promise that a shuffled task states, for one report and for those of a day, all in one batch of five."""
    m = DirectResponse(local, 3)
    bound = shuffled(m, 5, delta).repeated(k)
    assert bound.reports == k
    assert true_repeated(direct(local, 3), 5, k, bound.epsilon) <= bound.delta


def test_the_counter_examples_to_the_withdrawn_theorem() -> None:
    """C.17.5: there the formula gave 0.0415 and 0.1532, below the truth."""
    assert true_delta(direct(1, 3), 4, 0.6) == pytest.approx(0.0489, abs=5e-5)
    assert shuffled_delta(1, 4, 0.6) == pytest.approx(0.1310, abs=5e-5)
    assert shuffled_delta(DirectResponse(1, 3), 4, 0.6) == pytest.approx(0.0930, abs=5e-5)
    assert true_delta(direct(2, 4), 5, 1.2) == pytest.approx(0.1573, abs=5e-5)
    assert shuffled_delta(DirectResponse(2, 4), 5, 1.2) > 0.1573


def withdrawn_delta(epsilon: float, local: float, n: int, beta: float) -> float:
    """The withdrawn formula: the victim's unchanged part is hidden among the others' instead of revealed."""
    e0, p = math.exp(local), beta / (math.exp(local) - 1)
    rest = 1 - (e0 + 1) * p
    others = {(0, 0, 0): 1.0}
    for _ in range(n - 1):
        others = add_report(others, [p, p, 1 - 2 * p])
    one, two = add_report(others, [e0 * p, p, rest]), add_report(others, [p, e0 * p, rest])
    return sum(max(one[key] - math.exp(epsilon) * two[key], 0.0) for key in one)


def test_the_withdrawn_theorem_is_caught_by_the_enumeration() -> None:
    assert withdrawn_delta(0.6, 1, 4, apart(direct(1, 3))) == pytest.approx(0.0415, abs=5e-5)
    assert withdrawn_delta(1.2, 2, 5, apart(direct(2, 4))) == pytest.approx(0.1532, abs=5e-5)


def timed(mechanism: Any, n: int, delta: float) -> ShuffledBound:
    start = time.perf_counter()
    bound = shuffled(mechanism, n, delta)
    assert time.perf_counter() - start < 5, "slow: 1.5 s are promised on a free core"
    return bound


def test_published_figures() -> None:
    assert timed(4, 10**5, 1e-6).epsilon == pytest.approx(0.1698, abs=5e-5)
    assert timed(DirectResponse(4, 2), 10**5, 1e-6).epsilon == pytest.approx(0.118, abs=5e-4)
    assert timed(UnaryEncoding(4, 9, "symmetric"), 10**5, 1e-6).epsilon == pytest.approx(0.132, abs=5e-4)
    assert timed(LocalHashing(4, key=1), 10**5, 1e-6).epsilon == pytest.approx(0.164, abs=5e-4)
    assert timed(2, 10**6, 1e-8).epsilon == pytest.approx(0.01756, abs=5e-6)
    assert timed(1, 10**7, 1e-8).epsilon == pytest.approx(0.00181, abs=5e-6)
    assert timed(1, 10**12, 1e-8).epsilon < 0.0002


def plain_core(epsilon: float, local: float, n: int, chance: float) -> float:
    """The core function by summing over everything, without runs, tails or slack."""
    w, v = 1 / (math.exp(-local) + 1), 1 / (math.exp(local) + 1)
    total = 0.0
    for clones in range(n):
        weight = math.comb(n - 1, clones) * chance**clones * (1 - chance) ** (n - 1 - clones)
        for held in range(clones + 2):
            coins = [math.comb(clones, k) / 2**clones if 0 <= k <= clones else 0.0 for k in (held - 1, held)]
            one, two = w * coins[0] + v * coins[1], v * coins[0] + w * coins[1]
            total += weight * max(one - math.exp(epsilon) * two, 0.0)
    return total


@pytest.mark.parametrize(("local", "n"), [(0.3, 5), (1, 12), (3, 30), (6, 9), (40, 6)])
def test_the_core_function_is_the_sum_it_stands_for(local: float, n: int) -> None:
    for share in (0, 0.2, 0.5, 0.95, 0.999):
        wanted = plain_core(share * local, local, n, math.exp(-local))
        found = shuffled_delta(local, n, share * local)
        assert wanted <= found * (1 + 1e-12)
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_binomial_tails_of_double_precision_are_good_enough() -> None:
    """The slack of 1e-10 is larger than their error: exact sums of whole numbers at 20,001 coins."""
    n, running = 20_000, 0
    exact: dict[int, int] = {}
    term = 1
    for k in range(n, -1, -1):
        running += term
        exact[k] = running
        term = term * k // (n - k + 1)
    for k in (9000, 10_000, 10_100, 10_400, 10_700):
        share = exact[k] / 2**n
        assert betainc(k, n - k + 1, 0.5) == pytest.approx(share, rel=1e-11)


def test_the_bound_is_an_upper_end_and_monotone() -> None:
    for mechanism in (1.0, DirectResponse(2, 5), 5):
        bound = shuffled(mechanism, 2000, 1e-5)
        assert shuffled_delta(mechanism, 2000, bound.epsilon) <= 1e-5
        assert shuffled_delta(mechanism, 2000, bound.epsilon * 0.999) > 1e-5
        assert shuffled(mechanism, 4000, 1e-5).epsilon < bound.epsilon
        assert shuffled(mechanism, 2000, 1e-4).epsilon < bound.epsilon
        assert bound.epsilon <= bound.local_epsilon


def test_never_above_the_local_budget() -> None:
    for local, n in ((0.1, 1), (3, 2), (8, 1000), (100, 1000), (200, 10)):
        bound = shuffled(local, n, 1e-9)
        assert bound.epsilon == local
        assert bound.method == "local"
    assert shuffled(1, 10, 0.99).epsilon == 0
    assert shuffled_delta(1, 10, 1) == 0


@pytest.mark.parametrize(
    "mechanism",
    [
        DirectResponse(2, 4),
        UnaryEncoding(2, 3, "symmetric"),
        UnaryEncoding(2, 3),
        SubsetSelection(1, 6),
        HadamardResponse(2, 8, bits=2),
        HadamardResponse(2, 5, bits=1),
        ProjectiveGeometry(1, 7, order=2),
        ProjectiveGeometry(2, 9, order=3),
    ],
    ids=lambda m: f"{m.NAME} {m.choices.size}",
)
def test_what_is_called_even_is_even(mechanism: Any) -> None:
    """The reports of any two values are as far apart as `total_variation` says, so the nearer bound may be used."""
    values = range(mechanism.choices.size)
    table: dict[bytes, Any] = {}
    for value in values:
        rows, chances = mechanism.report_law(value)
        for row, chance in zip(rows, chances, strict=True):
            table.setdefault(row.tobytes(), np.zeros(len(values)))[value] += chance
    law = np.array(list(table.values())).T
    assert apart(law) == pytest.approx(mechanism.total_variation(), rel=1e-9)
    assert shuffled(mechanism, 10**4, 1e-6).epsilon <= shuffled(mechanism.epsilon, 10**4, 1e-6).epsilon


def test_only_even_mechanisms_use_their_total_variation() -> None:
    uneven = [
        SquareWave(4, 0, 1),
        MeanResponse(4, 0, 1),
        LocalHashing(4, pool=100, key=1),
        CountMeanSketch(4, 16, 64, key=1),
        BitFlip(4, 10, bits=2),
    ]
    for mechanism in uneven:
        assert mechanism.total_variation() is None
        assert shuffled(mechanism, 10**4, 1e-6) == shuffled(4, 10**4, 1e-6)


@pytest.mark.parametrize(
    "mechanism", [BitFlip(1, 9, bits=2, memoised=True), dc.local.Rappor(0.5, 0.5, 0.75, key=7)], ids=lambda m: m.NAME
)
def test_stored_responses_are_not_amplified(mechanism: Any) -> None:
    """The collector recognises a device by its response, and so its batches: no composition of fresh reports holds."""
    bound = shuffled(mechanism, 10**4, 1e-6)
    assert (bound.epsilon, bound.method) == (float(mechanism.epsilon), "stored")
    assert bound.repeated(3).epsilon == 3 * bound.epsilon
    assert "store their responses" in str(bound)
    assert shuffled(BitFlip(1, 9, bits=2), 10**4, 1e-6).method == "clones"


def test_words_and_plain_data() -> None:
    bound = shuffled(4, 10**5, 1e-6)
    text = str(bound)
    assert "(0.1698, 1e-06)-differential privacy in the shuffled model" in text
    assert "one user's value replaced" in text
    assert "does not collude" in text
    assert "adds nothing" in str(shuffled(4, 5, 1e-6))
    assert bound.to_dict() == {
        "model": "shuffled",
        "neighbours": "one user's value replaced",
        "epsilon": bound.epsilon,
        "delta": 1e-6,
        "n": 10**5,
        "local_epsilon": 4.0,
        "method": "clones",
        "reports": 1,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanism": "direct"}, "mechanism"),
        ({"mechanism": -1}, "mechanism"),
        ({"mechanism": 500}, "at most 200"),
        ({"n": 0}, "n must be"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        shuffled(**{"mechanism": 1.0, "n": 100, "delta": 1e-3, **arguments})
