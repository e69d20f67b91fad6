"""Curves, intervals, reconstruction and attributes. All seeded; see each false alarm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import discreet as dc
from attack_crowds import crowd, noisy
from discreet import evaluation as ev
from discreet import noise
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.pairs import log_sums, posterior
from discreet.evaluation.attacks.reconstruction import reconstruct
from discreet.evaluation.attacks.roc import best_threshold, roc_curve, split

# --- curves and intervals


def test_the_curve_and_its_area_count_pairs() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 8, 60).astype(float), rng.integers(0, 8, 45).astype(float) - 1
    found = ev.ScoredAttack("x", a, b, 3.0)
    wins = (a[:, None] > b).mean() + (a[:, None] == b).mean() / 2
    assert found.auc == pytest.approx(wins)
    curve = found.roc
    assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(wins)
    assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
    for f in (0.0, 0.1, 0.5):
        best = max((a >= t).mean() for t in [*b, *a, np.inf] if (b >= t).mean() <= f)
        assert found.tpr_at(f) == pytest.approx(best)
    assert found.advantage == pytest.approx((a >= 3).mean() - (b >= 3).mean())


def test_the_best_threshold_is_best() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(1, 1, 40), rng.normal(0, 1, 50)
    threshold = best_threshold(a, b)
    reached = (a >= threshold).mean() - (b >= threshold).mean()
    assert reached == pytest.approx(max((a >= t).mean() - (b >= t).mean() for t in np.concatenate([a, b])))
    assert best_threshold(b - 9, a) == math.inf  # calling no one is best
    assert roc_curve(np.array([-np.inf]), np.array([0.0])).tpr.tolist() == [0, 0, 1]


def test_the_same_half_would_flatter_the_attack() -> None:
    """On scores that mean nothing: about +0.13 with 50 + 50 people if fixed and judged on the same."""
    stream, rng, flattered, honest = noise.generator(3), np.random.default_rng(3), [], []
    for _ in range(150):
        a, b = rng.normal(size=(2, 50))
        t = best_threshold(a, b)
        flattered.append((a >= t).mean() - (b >= t).mean())
        honest.append(split("x", a, b, stream, confidence=0.95).advantage)
    assert 0.09 < np.mean(flattered) < 0.17
    assert abs(np.mean(honest)) < 4 * 0.14 / math.sqrt(150)  # 1 in 16,000


@pytest.mark.parametrize("shift", [0.0, *(pytest.param(shift, marks=pytest.mark.slow) for shift in (1.0, 3.0))])
def test_intervals_hold_the_truth_as_often_as_they_say(shift: float) -> None:
    """Normal scores, so the truth is known. 300 samples at 95 %: fewer than 272 hits happen once in 10,000."""
    rng, stream = np.random.default_rng(4), noise.generator(4)
    hits = np.zeros(4, int)
    truth = norm.cdf(shift / math.sqrt(2)), norm.sf(norm.isf(0.1) - shift)
    for _ in range(300):
        found = split("x", rng.normal(shift, 1, 120), rng.normal(0, 1, 150), stream, confidence=0.95)
        advantage = norm.sf(found.threshold - shift) - norm.sf(found.threshold)
        for i, (low, high), value in (
            (0, found.advantage_interval, advantage),
            (1, found.auc_interval, truth[0]),
            (2, found.tpr_interval(0.1), truth[1]),
            (3, found.attack.interval, norm.sf(found.threshold - shift)),
        ):
            hits[i] += low <= value <= high
    assert (hits >= [272, 265, 272, 272]).all(), hits  # the area's is asymptotic: a little less is allowed


def test_a_low_rate_needs_many_controls() -> None:
    found = ev.ScoredAttack("x", np.ones(1000), np.zeros(100), 0.5)
    assert found.tpr_at(0.001) == 1.0
    assert found.tpr_interval(0.001)[0] == 0.0  # 100 others cannot show what happens to one in 1000
    many = ev.ScoredAttack("x", np.ones(1000), np.zeros(20_000), 0.5)
    assert many.tpr_interval(0.001)[0] > 0.99


def test_a_result_reads_prints_and_draws() -> None:
    rng = np.random.default_rng(5)
    blind = ev.ScoredAttack("blind", rng.normal(size=50), rng.normal(size=50), 0.0)
    found = ev.ScoredAttack("x", rng.normal(3, 1, 50), rng.normal(size=50), 1.5, blind=blind, facts={"kind": "y"})
    plain = found.to_dict()
    assert plain["advantage"] == found.advantage
    assert plain["kind"] == "y"
    assert set(plain["tpr_at"]) == {"0.01", "0.001"}
    assert "advantage" in str(found)
    assert "no better" not in str(found)
    assert "no better than guessing" in str(blind)
    figure = found.plot()
    assert [t.name for t in figure.data] == ["attack", "without the release", "guessing"]
    assert {row[0] for row in found.rows()} >= {"advantage", "baseline", "found at 0.1% false"}


# --- draws and kernels


def test_the_sentence_follows_the_intervals_that_are_shown() -> None:
    """A threshold fixed on half of the people may miss what the area of all shows: the sentence says which counts."""
    rng = np.random.default_rng(1)
    scores, control = rng.normal(0.25, 1, 400), rng.normal(0, 1, 400)
    found = [ev.ScoredAttack("a", scores, control, threshold) for threshold in (0.1, 9.0)]
    assert [each.auc_interval[0] > 0.5 for each in found] == [True, True]
    assert [each.advantage_interval[0] > 0 for each in found] == [True, False]
    assert all(each.better_than_chance and "is better than chance" in each.verdict for each in found)
    assert "interval of the advantage is above 0" in found[0].verdict
    assert "interval of the area under the curve is above 0.5" in found[1].verdict
    none = ev.ScoredAttack("a", control, control, 0.0)
    assert not none.better_than_chance
    assert "no better than chance. Neither the advantage" in none.verdict


def test_scores_that_are_not_numbers_are_refused_and_not_called_chance() -> None:
    rows = np.random.default_rng(1).random((20, 2))
    with pytest.raises(InvalidArgument, match="scores must be numbers for all 40 people"):
        ev.membership_attack(rows, rows, rows, score=lambda _, records: np.full(len(records), np.nan))
    days = {"x": (0, 1), "day": {"kind": "date", "bounds": ["2024-01-01", "2024-12-31"]}}
    mechanism = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=dc.Domain(days))
    with pytest.raises(InvalidArgument, match="declare dates and times by numeric bounds"):
        ev.membership_attack(rows, rows, rows, metric=mechanism, reference=rows)


def test_people_who_are_all_alike_have_no_prior_error_to_compare_with() -> None:
    same = np.full((20, 2), 0.5)
    found = ev.reconstruction_attack(same, same, reference=same, rate=10, random_state=1)
    assert found.relative_to_prior is None
    assert found.to_dict()["relative_to_prior"] is None
    assert ("of the prior's error", "not known", "without the release there is no error") in found.rows()
    assert "with no error without the release" in str(found)


def test_noise_drawn_by_attacks_has_the_law() -> None:
    stream = noise.generator(6)
    for d in (1, 2, 6):
        z = draws.isotropic(40_000, d, 5.0, stream)
        assert np.linalg.norm(z, axis=1).mean() == pytest.approx(d / 5, rel=0.02)
        assert z.std(axis=0) == pytest.approx(np.full(d, math.sqrt(d + 1) / 5), rel=0.03)
        assert np.abs(z.mean(axis=0)).max() < 5 * math.sqrt(d + 1) / 5 / 200
    mixed = draws.others(7, stream)
    assert sorted(mixed) == list(range(7))
    assert (mixed != np.arange(7)).all()


def test_log_sums_neither_overflow_nor_vanish() -> None:
    rng = np.random.default_rng(7)
    x, z, w = rng.random((300, 3)), rng.random((400, 3)), rng.normal(size=400)
    for rate in (0.0001, 3.0, 1e5):
        a = w - rate * np.linalg.norm(x[:, None] - z, axis=2)
        wanted = np.log(np.exp(a - a.max(axis=1, keepdims=True)).sum(axis=1)) + a.max(axis=1)
        assert log_sums(x, z, rate, w) == pytest.approx(wanted, rel=1e-12)


def test_posterior_means_are_what_they_say() -> None:
    rng = np.random.default_rng(8)
    z, prior = rng.random((20, 2)), rng.random((90, 2))
    w = np.exp(-6.0 * np.linalg.norm(z[:, None] - prior, axis=2))
    w /= w.sum(axis=1, keepdims=True)
    assert posterior(z, prior, 6.0) == pytest.approx(w @ prior)


# --- the pairwise game


# --- reconstruction


def test_reconstruction_between_the_point_and_the_prior() -> None:
    people, public = crowd(400, 2, 1), crowd(800, 2, 2)
    found = {}
    for rate in (0.01, 4.0, 30.0, 1e5):
        found[rate] = ev.reconstruction_attack(
            noisy(people, rate, 3), people, reference=public, rate=rate, random_state=1
        )
    nothing, some, more, everything = found.values()
    assert nothing.relative_to_prior == pytest.approx(1, abs=0.02)
    assert nothing.advantage_interval[0] <= 0 <= nothing.advantage_interval[1]
    assert some.relative_to_noise < 0.6  # the prior helps
    assert some.relative_to_prior < 0.95  # and so does the point
    assert more.relative_to_prior < some.relative_to_prior
    assert everything.attack.value == 1
    assert everything.relative_to_noise == pytest.approx(1, abs=0.1)  # and a sample of the prior cannot spoil it
    assert everything.advantage > 0.8
    advantages = [r.advantage for r in found.values()]
    assert advantages == sorted(advantages)
    assert nothing.gain == pytest.approx(0, abs=0.03)


def test_the_result_of_a_reconstruction_says_everything() -> None:
    people, public = crowd(300, 2, 1), crowd(600, 2, 2)
    found = ev.reconstruction_attack(noisy(people, 12.0, 3), people, reference=public, rate=12.0, random_state=1)
    assert "of the noise" in str(found)
    assert {"relative_to_noise", "gain", "prior_error"} <= set(found.to_dict())


def test_reconstruction_sees_points_and_public_records_only() -> None:
    people, public = crowd(200, 2, 1), crowd(300, 2, 2)
    z = noisy(people, 10.0, 3)
    before = reconstruct(z.copy(), public, 10.0, noise.generator(1))[0]
    found = ev.reconstruction_attack(z, people, reference=public, rate=10.0, random_state=1)
    garbage = ev.reconstruction_attack(z, people * 0 + 77.0, reference=public, rate=10.0, random_state=1)
    assert np.linalg.norm(before - people, axis=1) == pytest.approx(found.errors)
    assert np.linalg.norm(before - 77.0, axis=1) == pytest.approx(garbage.errors)


# --- attributes


@pytest.mark.parametrize("linked", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_an_attribute_is_told_by_a_point_without_noise_and_not_by_noise(linked: bool) -> None:
    people, others, public = crowd(250, 3, 1), crowd(250, 3, 2), crowd(500, 3, 3)
    run = {}
    for rate in (0.01, 30.0, 1e4):
        run[rate] = ev.attribute_attack(
            noisy(people, rate, 4), people, others, column=1, reference=public, rate=rate, linked=linked, random_state=1
        )
    nothing, some, everything = run.values()
    assert nothing.relative_to_prior == pytest.approx(1, abs=0.02)
    assert nothing.advantage_interval[0] <= 0 <= nothing.advantage_interval[1]
    assert everything.attack.value > 0.9
    assert everything.gain > 0.4
    assert nothing.gain - 0.03 < some.gain < everything.gain
    assert everything.relative_to_prior < 0.3


def test_the_secret_column_has_no_way_into_the_guess() -> None:
    people, others, public = crowd(100, 2, 1), crowd(100, 2, 2), crowd(300, 2, 3)
    z = noisy(people, 20.0, 4)
    changed = people.copy()
    changed[:, 1] += 50.0  # far from everything
    run = [
        ev.attribute_attack(z, p, others, column=1, reference=public, rate=20.0, random_state=1)
        for p in (people, changed)
    ]
    # The same guess is off by 50 more, or 50 less, than truth minus guess.
    assert np.abs(run[1].errors - 50.0) == pytest.approx(run[0].errors)
    assert run[1].control_errors == pytest.approx(run[0].control_errors)
    assert run[0].errors.max() < 5


def test_a_synopsis_tells_a_category_that_depends_on_the_rest() -> None:
    rng = np.random.default_rng(1)
    domain = dc.Domain({"x": (0, 1), "ill": ["no", "flu", "cold"]})

    def rows(n: int) -> Any:
        x = rng.random(n)
        return np.column_stack([x, np.minimum(x * 3, 2.9).astype(int) + 0.5])

    people, others = rows(600), rows(600)
    blank = rows(600)
    blank[:, 1] = rng.permutation(blank[:, 1])  # public records that know nothing of the connection
    table = {"x": people[:, 0], "ill": np.array(["no", "flu", "cold"])[people[:, 1].astype(int)]}
    import pyarrow as pa

    made = dc.GridSynopsis(epsilon=100, domain=domain, rule=12, random_state=1).fit(pa.table(table)).synopsis_
    found = ev.attribute_attack(made, people, others, column="ill", reference=blank, random_state=1)
    assert found.attack.value > 0.9
    assert found.gain > 0.4
    # True of everybody alike, so no one is harmed by being in it.
    assert found.advantage_interval[0] < 0.05
    number = ev.attribute_attack(made, people, others, column=0, reference=blank, random_state=1)
    assert number.mean_error < number.prior_errors.mean()


# --- averaging


# --- arguments


def test_bad_arguments_are_named() -> None:
    rows = np.zeros((10, 2))
    with pytest.raises(InvalidArgument, match="rate must be given when no metric is"):
        ev.reconstruction_attack(rows, rows, reference=rows)
    with pytest.raises(InvalidArgument, match="rate must be left out"):
        ev.reconstruction_attack(rows, rows, reference=rows, rate=1, metric=dc.metric.IsotropicLaw(2, 1.0))
    with pytest.raises(InvalidArgument, match="metric must be about 2 columns"):
        ev.reconstruction_attack(rows, rows, reference=rows, metric=dc.metric.IsotropicLaw(3, 1.0))
    with pytest.raises(InvalidType, match="metric must be a mechanism"):
        ev.reconstruction_attack(rows, rows, reference=rows, metric="laplace")
    with pytest.raises(InvalidArgument, match="released must be one point for each"):
        ev.reconstruction_attack(rows[:4], rows, reference=rows, rate=1)
    with pytest.raises(InvalidArgument, match="column must be a whole number from 0 to 1"):
        ev.attribute_attack(rows, rows, rows, column=2, reference=rows, rate=1)
    with pytest.raises(InvalidArgument, match="originals must be a table of finite numbers"):
        ev.reconstruction_attack(rows, rows * np.nan, reference=rows, rate=1)

    class Square:
        dimension, rate = 2, 1.0

        def log_density(self, offsets: Any) -> Any:
            return -np.abs(np.asarray(offsets)).max(axis=-1)

    with pytest.raises(InvalidArgument, match="falls as exp"):
        ev.reconstruction_attack(rows, rows, reference=rows, metric=Square())
