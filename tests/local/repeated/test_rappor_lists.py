"""RAPPOR with long lists of candidates: unbiased, honest errors, bounded false discoveries, as much as is published."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.local import Counts, Estimate, Rappor
from discreet.local.repeated.rappor_lists import _Design, decode_list
from local_crowds import simulate

#: The published simulation's, of ε₁ = 1: p, q and f; 8 bits, 2 hashes, 128 cohorts.
TYPICAL = {"f": 0.45, "p": 0.39, "q": 0.61, "bits": 8, "hashes": 2, "cohorts": 128}
#: That of its report: 100,000 clients with seven values each.
REPORT = {"f": 0.5, "p": 0.5, "q": 0.75, "bits": 16, "hashes": 2, "cohorts": 64}


def shares(name: str, size: int) -> Any:
    """The published distributions."""
    x = np.arange(1, size + 1)
    half = np.arange(-(size // 2) + 1, size // 2 + 1)
    law = {
        "exp": np.exp(-5 * x / size), "gauss": np.exp(-0.5 * (6 * half / size) ** 2), "unif": np.ones(size),
        "zipf1": 1 / x, "zipf1.5": x**-1.5,
    }[name]  # fmt: skip
    return law / law.sum()


def counted(m: Rappor, values: list[str], law: Any, n: int, rng: np.random.Generator) -> tuple[Counts, Any]:
    """Counters of n reports from their exact law, and the true counts."""
    held = rng.multinomial(n, law)
    return simulate(m, values, held, rng), held  # type: ignore[arg-type]


def crowd(
    name: str, size: int, n: int, more: int, seed: int, settings: dict[str, Any], *, gaps: bool = True
) -> tuple[Any, Any]:
    """The estimate of a published case, and the true counts: every tenth value is not listed, ``more`` are invented."""
    rng = np.random.default_rng([seed, n])
    m = Rappor(**settings, key=int(rng.integers(2**60)))
    values = [f"v{i}" for i in range(1, size + 1)]
    counts, truth = counted(m, values, shares(name, size), n, rng)
    listed = [not (gaps and value.endswith("9")) for value in values]
    asked = [v for v, known in zip(values, listed, strict=True) if known] + [f"v{size + i}" for i in range(1, more + 1)]
    return m.estimate(counts, asked), np.append(truth[listed], np.zeros(more))


@pytest.mark.slow
def test_two_thousand_candidates_at_eight_by_128_are_decoded_with_honest_errors() -> None:
    """Absent candidates have z-values of mean 0 and spread 1; intervals of all cover; common values are found."""
    found, truth = crowd("exp", 100, 10**6, 1910, 1, TYPICAL)
    assert len(found) == 2000
    z = found.count[truth == 0] / found.std_error[truth == 0]
    assert abs(z.mean()) < 0.15
    assert 0.88 < z.std() < 1.08
    low, high = found.interval(0.95)
    assert np.mean((low <= truth) & (truth <= high)) > 0.93
    surely = {f"v{i}" for i in range(1, 9)}
    assert surely <= set(found.significant().candidates)
    assert np.all(found.stability[:8] > 0.9)
    assert np.mean(found.stability[truth == 0]) < 0.02
    assert found.top(5).stability.shape == (5,)
    assert abs(found.unlisted - (10**6 - truth.sum())) < 4 * found.unlisted_error


def test_few_candidates_are_decoded_as_before_and_few_cohorts_are_refused() -> None:
    found, _ = crowd("exp", 100, 10**5, 100, 2, TYPICAL)
    assert found.stability is None
    with pytest.raises(dc.errors.InvalidArgument, match=r"at most half as many as cohorts times bits, here 32"):
        crowd("exp", 100, 10**5, 100, 2, {**TYPICAL, "cohorts": 8})
    rng = np.random.default_rng(1)
    m = Rappor(**TYPICAL, key=1)
    counts, _ = counted(m, ["a", "b"], [0.5, 0.5], 1000, rng)
    with pytest.raises(dc.errors.InvalidArgument, match="at most 117187 at once"):
        m.estimate(counts, range(200_000))
    with pytest.raises(dc.errors.InvalidArgument, match="no value twice"):
        m.estimate(counts, [*range(600), 5])


@pytest.mark.parametrize("unlisted", [pytest.param(0.0, marks=pytest.mark.slow), 0.6])
def test_the_mean_over_keys_is_the_truth_whatever_the_list(unlisted: float) -> None:
    """Over 25 keys: three values are held by many, others hold what is not listed, and most candidates are absent."""
    held = np.array([0.5, 0.3, 0.2]) * (1 - unlisted)
    law = np.append(held, np.full(50, unlisted / 50))
    values = ["a", "b", "c", *(f"u{i}" for i in range(50))]
    asked = ["a", "b", "c", *(f"w{i}" for i in range(80))]
    found = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        m = Rappor(0.2, 0.2, 0.8, bits=8, hashes=2, cohorts=16, key=int(rng.integers(2**60)))
        estimate = m.estimate(counted(m, values, law, 40_000, rng)[0], asked)
        found.append((estimate.count[:4] / 40_000, estimate.std_error[:4] / 40_000))
    mean, error = np.array(found).swapaxes(0, 1)
    truth = np.append(held, 0)
    assert np.all(np.abs(mean.mean(axis=0) - truth) < 4 * mean.std(axis=0) / math.sqrt(25))
    assert np.all(np.abs(mean.std(axis=0) / np.sqrt((error**2).mean(axis=0)) - 1) < 0.5)


def test_products_and_columns_are_those_of_the_written_out_matrix() -> None:
    """Also where two hashes of a value fall on one bit, which counts once."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 4, (5, 3, 7))
    again = np.zeros(bits.shape, bool)
    again[:, 1] = bits[:, 0] == bits[:, 1]
    again[:, 2] = (bits[:, 2] == bits[:, 0]) | (bits[:, 2] == bits[:, 1])
    assert again.any()
    written = np.zeros((5, 4, 7))
    for c, h, j in np.ndindex(*bits.shape):
        written[c, bits[c, h, j], j] = 1
    written -= 0.3
    design, some, columns = _Design(bits, again, 4, 0.3), np.array([4, 0, 2]), np.array([1, 5])
    assert np.allclose(design.dense(some, columns), written[some][:, :, columns].reshape(-1, 2))
    left = rng.normal(size=(3, 4))
    assert np.allclose(design.products(some, left), np.einsum("crj,cr->cj", written[some], left))


def test_a_share_of_false_discoveries_is_bounded_and_more_is_found_than_without_any() -> None:
    """Over 300 crowds of 200 candidates, 40 of them present; Bonferroni finds fewer, and hardly ever a false one."""
    rng = np.random.default_rng(5)
    count = np.append(np.linspace(1, 5, 40), np.zeros(160))
    promise = dc.local.DirectResponse(1, 2).guarantee
    false, found, strict = [], [], []
    for _ in range(300):
        estimate = Estimate(list(range(200)), count + rng.normal(size=200), np.ones(200), 1000, promise)
        picked = estimate.significant(0.1, control="share").candidates
        false.append(sum(c >= 40 for c in picked) / max(len(picked), 1))
        found.append(sum(c < 40 for c in picked))
        strict.append(sum(c < 40 for c in estimate.significant(0.05).candidates))
    assert np.mean(false) < 0.1
    assert np.mean(found) > 1.4 * np.mean(strict)
    absent = Estimate(list(range(9)), np.zeros(9), np.zeros(9), 0, promise)
    assert len(absent.significant(control="share")) == 0
    with pytest.raises(dc.errors.InvalidArgument, match="control"):
        absent.significant(control="all")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "printed"), [("exp", 16), ("gauss", 36), ("unif", 49)])
def test_as_much_is_found_as_the_published_simulation_prints(name: str, printed: int) -> None:
    """Its report shows 16, 36 and 49 of 50 values, with one false value among them in two of three.

    Thirty crowds with ten synthetic candidates, at a tenth of false discoveries.
    """
    found, false = [], []
    for seed in range(30):
        estimate, truth = crowd(name, 50, 700_000, 10, seed, REPORT, gaps=False)
        picked = np.isin(estimate.candidates, estimate.significant(0.1, control="share").candidates)
        found.append((picked & (truth > 0)).sum())
        false.append((picked & (truth == 0)).sum() / max(picked.sum(), 1))
    assert np.mean(found) > printed - 1
    assert np.max(found) >= printed
    assert np.mean(false) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exp", "zipf1", "gauss"])
def test_false_discoveries_of_long_lists_keep_to_their_bound(name: str) -> None:
    shared, any_false = [], []
    for seed in range(12):
        estimate, truth = crowd(name, 100, 10**6, 1000, seed, TYPICAL)
        picked = np.isin(estimate.candidates, estimate.significant(0.1, control="share").candidates)
        shared.append((picked & (truth == 0)).sum() / max(picked.sum(), 1))
        strict = np.isin(estimate.candidates, estimate.significant(0.05).candidates)
        any_false.append((strict & (truth == 0)).any())
    assert np.mean(shared) < 0.17
    assert np.sum(any_false) <= 4


def test_a_cohort_without_reports_is_left_out() -> None:
    m = Rappor(**{**TYPICAL, "cohorts": 20}, key=3)
    counts, _ = counted(m, ["a", "b"], [0.6, 0.4], 10**5, np.random.default_rng(1))
    asked = ["a", "b", *(f"w{i}" for i in range(100))]
    lost = {name: array.copy() for name, array in counts.counters.items()}
    for array in lost.values():
        array[[3, 7]] = 0
    share, error, *_ = decode_list(m.law, m.family, asked, lost["reports"], lost["ones"])
    assert np.all(np.abs(share[:2] - [0.6, 0.4]) < 5 * error[:2])


def uneven(m: Rappor, shares_of_cohorts: Any, n: int, rng: np.random.Generator) -> Counts:
    """Counters of n reports of three values that are not asked for, split unevenly into cohorts."""
    held = np.stack([rng.multinomial(n // 3, shares_of_cohorts) for _ in range(3)], axis=1)
    places = m.family.all(["x", "y", "z"]).reshape(m.cohorts, m.hashes, 3)
    hit = (places[:, :, None, :] == np.arange(m.bits)[:, None]).any(axis=1)
    set_bits, reports = (hit * held[:, None, :]).sum(axis=2), held.sum(axis=1)
    ones = rng.binomial(set_bits, float(m.law.q_star))
    ones += rng.binomial(reports[:, None] - set_bits, float(m.law.p_star))
    return Counts(m, {"reports": reports, "ones": ones}, n=int(reports.sum()))


def test_errors_are_honest_where_cohorts_are_uneven() -> None:
    """Of 2 x 300 absent candidates, z-values have a spread of 1; hardly any is called present."""
    z, called, rng = [], 0, np.random.default_rng(4)
    for key in range(2):
        m = Rappor(**{**TYPICAL, "cohorts": 64}, key=key)
        found = m.estimate(uneven(m, [0.3] + [0.7 / 63] * 63, 10**6, rng), [f"v{i}" for i in range(300)])
        z.append(found.count / found.std_error)
        called += len(found.significant())
    assert 0.85 < np.std(z) < 1.1
    assert called <= 2


def test_a_list_is_refused_where_few_cohorts_have_nearly_all_reports() -> None:
    m = Rappor(**{**TYPICAL, "cohorts": 16}, key=1)
    counts = uneven(m, [0.9] + [0.1 / 15] * 15, 30_000, np.random.default_rng(1))
    asked = [f"v{i}" for i in range(300)]
    with pytest.raises(dc.errors.InvalidArgument, match=r"at most 64: .* that of 1\.\d cohorts"):
        m.estimate(counts, asked)
    assert len(m.estimate(counts, asked[:64])) == 64


def test_the_order_of_candidates_makes_no_difference_and_no_equations_are_promised() -> None:
    m, rng = Rappor(**{**TYPICAL, "cohorts": 32}, key=3), np.random.default_rng(3)
    values = [f"v{i}" for i in range(400)]
    counts, _ = counted(m, values[:60], shares("zipf1", 60), 50_000, rng)
    order = rng.permutation(400)
    one, other = m.estimate(counts, values), m.estimate(counts, [values[i] for i in order])
    assert np.array_equal(one.count[order], other.count)
    assert np.array_equal(one.std_error[order], other.std_error)
    assert one.stability is not None
    assert np.array_equal(one.stability[order], other.stability)
    assert len(m.estimate(counts, values, consistency="base-cut")) == 400


def test_many_candidates_for_many_bits_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """More candidates than equations are solved for; and a fit that looks at no more bits than it may."""
    m, rng = Rappor(**{**TYPICAL, "cohorts": 16, "bits": 1024}, key=3), np.random.default_rng(3)
    counts, truth = counted(m, ["v0", "v1"], [0.7, 0.3], 20_000, rng)
    seen: list[Any] = []
    dense = _Design.dense

    def noted(self: Any, cohorts: Any, columns: Any) -> Any:
        seen.append(len(cohorts) * self.width * len(columns))
        return dense(self, cohorts, columns)

    monkeypatch.setattr(_Design, "dense", noted)
    monkeypatch.setattr("discreet.local.repeated.rappor_lists._MOST_BITS", 10**5)
    found = m.estimate(counts, [f"v{i}" for i in range(4200)])
    assert len(seen) > 0
    assert max(seen) <= 10**5
    assert found.significant().candidates == ["v0", "v1"]
    assert np.all(np.abs(found.count[:2] - truth) < 4 * found.std_error[:2])
