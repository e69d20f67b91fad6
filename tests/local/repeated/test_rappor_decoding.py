"""RAPPOR's decoding: unbiased also when values are missing from the list, with errors that say how sure it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
import local_laws as laws
from discreet.local.repeated.rappor import Rappor
from discreet.local.repeated.rappor_decoding import system
from local_crowds import Crowd, simulate, zipf


def equations(m: Rappor, counts: Any, labels: list[Any]) -> Any:
    return system(m.law, m.family, labels, counts.counters["reports"], counts.counters["ones"])


def test_state() -> None:
    laws.check_state(Crowd(Rappor(0.5, 0.25, 0.75, bits=13, cohorts=5, key=1)), ["a", "c", None, 5, 2.5, b"x"] * 20)


def test_from_device_to_estimate() -> None:
    m = Rappor.from_budget(epsilon_lifetime=6, epsilon_report=3, cohorts=16, key=11)
    words = ["apple", "pear", "plum", "fig", "date", "kiwi", "lime"]
    held = [6000, 4000, 3000, 2000, 1000, 0, 0]
    values = [w for w, k in zip(words, held, strict=True) for _ in range(k)] + [f"rare{i}" for i in range(4000)]
    counts = m.aggregate(Crowd(m).encode(values, rng=2))
    found = m.estimate(counts, words)
    assert np.all(np.abs(found.count - held) < 4.5 * found.std_error)
    assert abs(found.unlisted - 4000) < 4.5 * found.unlisted_error
    assert set(found.significant().candidates) >= {"apple", "pear", "plum"}
    assert not set(found.significant().candidates) & {"kiwi", "lime"}
    assert m.estimate(counts, words, consistency="simplex").count.sum() == pytest.approx(counts.n)


def coverage(bits: int, hashes: int, cohorts: int, candidates: int, n: int, runs: int) -> tuple[float, float, Any]:
    """Cover, false alarm and mean error over n, averaged over hash keys; 20 of the candidates are absent."""
    rng = np.random.default_rng(bits)
    held = np.append(zipf(candidates - 20, n), np.zeros(20, np.int64))
    values = list(range(candidates))
    covered, alarms, errors = [], 0, []
    for _ in range(runs):
        m = Rappor(0.5, 0.5, 0.75, bits=bits, hashes=hashes, cohorts=cohorts, key=int(rng.integers(2**62)))
        found = m.estimate(simulate(m, values, held, rng), values)
        low, high = found.interval(0.95)
        covered.append((low <= held) & (held <= high))
        alarms += any(v >= candidates - 20 for v in found.significant().candidates)
        errors.append(found.count - held)
    return float(np.mean(covered)), alarms / runs, np.array(errors)


@pytest.mark.parametrize(
    ("bits", "hashes", "cohorts", "candidates", "n"),
    [(32, 2, 8, 60, 200_000), pytest.param(16, 1, 16, 50, 1_000_000, marks=pytest.mark.slow)],
)
def test_intervals_cover(bits: int, hashes: int, cohorts: int, candidates: int, n: int) -> None:
    runs = 50
    cover, alarms, errors = coverage(bits, hashes, cohorts, candidates, n, runs)
    assert 0.93 < cover < 0.97
    assert alarms <= 5 / runs  # 20 of the candidates are absent: 1.7 to 2 % of the runs expected
    assert abs(errors.mean()) < 5 * errors.std() / math.sqrt(errors.size)
    m = Rappor(0.5, 0.5, 0.75, bits=bits, hashes=hashes, cohorts=cohorts, key=1)
    stated = m.variance(n, np.append(zipf(candidates - 20, n), np.zeros(20)), candidates=candidates)
    assert (errors**2).mean() == pytest.approx(stated.mean(), rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "hashes", "cohorts", "candidates", "n"),
    [(32, 2, 32, 120, 200_000), (64, 2, 8, 120, 200_000), (16, 1, 64, 70, 1_000_000)],
)
def test_published_coverage(bits: int, hashes: int, cohorts: int, candidates: int, n: int) -> None:
    cover, alarms, _ = coverage(bits, hashes, cohorts, candidates, n, 400)
    assert cover == pytest.approx(0.950, abs=0.006)
    assert alarms < 0.035  # 0.8 to 1.4 % expected; more than 13 of 400 has a chance below 1e-3


def unlisted_setting(runs: int, others: int) -> tuple[Any, Any, Any]:
    """30 % of the reporters hold values that are not listed: errors with and without the extra column."""
    rng = np.random.default_rng(8)
    n, candidates = 200_000, 40
    held = np.append(zipf(candidates, int(0.7 * n)), np.full(others, int(0.3 * n) // others))
    values = list(range(candidates + others))
    with_column, without, scores = [], [], []
    for _ in range(runs):
        m = Rappor(0.5, 0.5, 0.75, bits=64, cohorts=8, key=int(rng.integers(2**62)))
        counts = simulate(m, values, held, rng)
        found = m.estimate(counts, values[:candidates])
        with_column.append(found.count - held[:candidates])
        scores.append(with_column[-1] / found.std_error)
        matrix, right = equations(m, counts, values[:candidates]).normal()
        without.append(n * np.linalg.solve(matrix[:-1, :-1], right[:-1]) - held[:candidates])
    return np.array(with_column), np.array(without), np.array(scores)


@pytest.mark.parametrize("others", [pytest.param(1, marks=pytest.mark.slow), 50])
def test_unlisted_values_do_not_lift_the_candidates(others: int) -> None:
    good, biased, scores = unlisted_setting(50, others)
    assert abs(good.mean()) < 4 * good.mean(axis=1).std() / math.sqrt(50)
    assert biased.mean() > 10 * biased.mean(axis=1).std() / math.sqrt(50)  # the trap: no column for them
    # Their bits are 0 or 1 and not an average: one heavy value unlisted makes errors larger, and the stated errors too.
    assert 0.9 < scores.std() < 1.1


def test_one_hash_spreads_a_small_domain() -> None:
    m = Rappor(0.5, 0.5, 0.75, hashes=1, cohorts=8, key=4)
    assert all(len(set(row)) > 20 for row in m.family.all(list(range(26))).tolist())


def test_the_design_counts_a_bit_once() -> None:
    m = Rappor(0.5, 0.5, 0.75, bits=4, hashes=8, cohorts=2, key=4)
    counts = m.aggregate(Crowd(m).encode(range(50), rng=1))
    assert equations(m, counts, [1, 2]).design.toarray().max() == 1


def test_candidates_that_cannot_be_distinguished_are_refused() -> None:
    m = Rappor(0.5, 0.5, 0.75, bits=8, hashes=1, cohorts=2, key=1)
    counts = m.aggregate(Crowd(m).encode(range(500), rng=1))
    with pytest.raises(dc.errors.InvalidArgument, match="at most half"):
        m.estimate(counts, range(9))
    with pytest.raises(dc.errors.InvalidArgument, match="no value twice"):
        m.estimate(counts, [1, 1])
    same = next(v for v in range(1, 10_000) if np.array_equal(m.family.all([v]), m.family.all([0])))
    with pytest.raises(dc.errors.InvalidArgument, match="told apart"):
        m.estimate(counts, [0, same])
    for wrong in (None, "cat", 5):
        with pytest.raises(dc.errors.InvalidType, match="candidates"):
            m.estimate(counts, wrong)
    with pytest.raises(dc.errors.InvalidArgument, match="consistency"):
        m.estimate(counts, [0], consistency="likelihood")


def test_nothing_counted_and_nothing_asked() -> None:
    m = Rappor(0.5, 0.5, 0.75, key=1)
    assert m.estimate(m.empty(), ["a", "b"]).count.tolist() == [0, 0]
    counts = m.aggregate(Crowd(m).encode(["a"] * 400, rng=1))
    empty = m.estimate(counts, [])
    assert len(empty) == 0
    assert abs(empty.unlisted - 400) < 5 * empty.unlisted_error


def test_a_cohort_without_reports_is_left_out() -> None:
    m = Rappor(0.25, 0.25, 0.75, bits=32, cohorts=64, key=1)
    counts = m.aggregate(Crowd(m).encode(["a"] * 40, rng=1))
    assert (counts.counters["reports"] == 0).any()
    found = m.estimate(counts, ["a", "b"])
    assert np.all(np.isfinite(found.std_error))


def test_impossible_reports_are_counted_and_left_out() -> None:
    m = Rappor(0.5, 0.25, 0.75, bits=8, cohorts=5, key=1)
    rows = m.layout.pack(bits=np.array([[255], [1], [3]], np.uint8), cohort=np.array([4, 5, 7]))
    counts = m.aggregate(rows)
    assert (counts.n, counts.rejected) == (1, 2)
    assert counts.counters["reports"].tolist() == [0, 0, 0, 0, 1]
    assert counts.counters["ones"].sum() == 8


def test_every_bit_is_counted_where_it_belongs() -> None:
    m = Rappor(0.5, 0.25, 0.75, bits=13, cohorts=5, key=1)
    reports = Crowd(m).encode(range(200), rng=1)
    counters = m.aggregate(reports).counters
    bits = np.unpackbits(reports.rows, axis=1, bitorder="little")
    cohorts = bits[:, 13:16] @ (1, 2, 4)
    for cohort in range(5):
        assert counters["reports"][cohort] == (cohorts == cohort).sum()
        assert np.array_equal(counters["ones"][cohort], bits[cohorts == cohort, :13].sum(axis=0))


@pytest.mark.parametrize("seed", range(4))
def test_errors_are_those_of_the_formula(seed: int) -> None:
    """With whole matrices, as the formula of spec C.12.3 is written; a surplus can only come from the residuals."""
    rng = np.random.default_rng(seed)
    m = Rappor(0.5, 0.5, 0.75, bits=16, cohorts=6, key=seed)
    counts = simulate(m, list(range(30)), zipf(30, 50_000), rng)
    found = m.estimate(counts, list(range(10)))
    parts, n, phi = equations(m, counts, list(range(10))), counts.n, 1 - (1 - 1 / 16) ** 2
    X = np.hstack([parts.design.toarray(), np.full((96, 1), phi)])
    N = np.repeat(counts.counters["reports"], 16)
    A = np.linalg.solve(X.T @ (N[:, None] * X), X.T * N)
    theta = A @ parts.shares.ravel()
    assert np.allclose(n * theta, np.append(found.count, found.unlisted))
    p, q = float(m.law.p_star), float(m.law.q_star)
    x = np.clip(X @ theta, 0, 1)
    middle = np.diag((x * q * (1 - q) + (1 - x) * p * (1 - p)) / (N * (q - p) ** 2) + theta[-1] * phi * (1 - phi) / N)
    spread = np.diag(theta) - np.outer(theta, theta)
    for cohort in range(6):
        rows = slice(16 * cohort, 16 * cohort + 16)
        middle[rows, rows] += X[rows] @ spread @ X[rows].T / N[16 * cohort]
    surplus = np.append(found.std_error, found.unlisted_error) ** 2 / n**2 - np.diag(A @ middle @ A.T - spread / n)
    factor = surplus / np.diag(A @ A.T)
    assert np.allclose(factor, factor[0], rtol=1e-6, atol=1e-15)
    assert factor[0] > -1e-15
