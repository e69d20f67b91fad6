"""Was it in the release? Near the maximum without noise, nothing under pure noise, and no look at what is secret."""

from __future__ import annotations

import inspect
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans

import discreet as dc
from attack_crowds import crowd, noisy
from discreet import evaluation as ev
from discreet import noise
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.attacks import membership as scorers
from discreet.evaluation.attacks.laws import LawSpace
from discreet.evaluation.attacks.roc import score_blindly

SQUARE = dc.Domain.box([0, 0], [1, 1])


def has_zero(found: ev.ScoredAttack) -> bool:
    low, high = found.advantage_interval
    return low <= 0 <= high


@pytest.mark.parametrize("d", [2, 5])
def test_points_from_pure_noise_to_none(d: int) -> None:
    people, others, public = crowd(500, d, 1), crowd(500, d, 2), crowd(1000, d, 3)
    run = {}
    for rate in (0.01, 50.0, 300.0, 2000.0, 1e6):
        z = noisy(people, rate, 4)
        run[rate] = ev.membership_attack(
            z, people, others, rate=rate, reference=public, random_state=1, confidence=0.99
        )
    nothing, *between, everything = run.values()
    assert has_zero(nothing)
    assert everything.advantage > 0.97
    assert everything.tpr_at(0.01) > 0.97
    areas = [found.auc for found in (*between, everything)]
    assert all(b > a - 0.03 for a, b in pairwise(areas)), areas
    assert abs(everything.baseline) < 0.15


def test_without_public_records_the_release_itself_must_do() -> None:
    people, others = crowd(500, 2, 1), crowd(500, 2, 2)
    found = ev.membership_attack(noisy(people, 1e5, 4), people, others, rate=1e5, random_state=1)
    assert found.advantage > 0.95


def test_the_ratio_of_a_stranger_has_mean_one() -> None:
    """Calibrated by construction: over releases without a record, its likelihood ratio averages 1, wherever it is."""
    public, rate = crowd(4000, 2, 1), 15.0
    targets = np.array([[0.5, 0.5], *crowd(3, 2, 9)])
    space = LawSpace.of(None, rate, 2)
    found = []
    for seed in range(60):
        scorer = scorers.likelihood_ratio(noisy(crowd(200, 2, 100 + seed), rate, seed), space, public)
        found.append(np.exp(scorer(targets)))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(60)
    assert (np.abs(mean - 1) < 4 * error + 0.05).all(), (mean, error)


def test_the_attack_on_a_mechanism_in_its_own_units() -> None:
    domain = dc.Domain({"age": (0, 100), "income": (0, 1e5)})
    people, others, public = (domain.from_unit(crowd(400, 2, s)) for s in (1, 2, 3))
    mechanism = dc.metric.NDLaplace(epsilon=100, radius=0.1, domain=domain, random_state=1)
    z = mechanism.transform(people)
    raw = ev.membership_attack(z, people, others, metric=mechanism, reference=public, random_state=1)
    scaled = [mechanism.scale(rows) for rows in (z, people, others, public)]
    rate = mechanism.guarantee_.parameters["noise_rate"]  # a little below 1,000: the lattice is part of the promise
    same = ev.membership_attack(*scaled[:3], rate=rate, reference=scaled[3], random_state=1)
    assert raw.scores == pytest.approx(same.scores)
    assert raw.advantage == pytest.approx(same.advantage)
    assert raw.advantage_interval[0] > 0.2


# --- the attack never sees what the adversary would not


def test_scorers_have_no_way_in_for_members() -> None:
    makers = [
        scorers.likelihood_ratio,
        scorers.synopsis_ratio,
        scorers.nearest_center,
    ]
    allowed = {"points", "space", "reference", "synopsis", "centers"}
    for make in makers:
        assert set(inspect.signature(make).parameters) <= allowed


@pytest.mark.parametrize("kind", ["points", "synopsis", "centers"])
def test_raw_data_turned_to_garbage_after_the_release_change_nothing(kind: str) -> None:
    """The array that was released from is overwritten; the people in question are asked about from a copy."""
    source, others, public = crowd(150, 2, 1), crowd(150, 2, 2), crowd(300, 2, 3)
    asked = source.copy()

    def release(rows: Any, seed: int) -> Any:
        if kind == "points":
            return noisy(rows, 100.0, seed)
        if kind == "synopsis":
            return dc.GridSynopsis(epsilon=5, domain=SQUARE, rule=16, random_state=seed).fit(rows).synopsis_
        return KMeans(5, n_init=1, random_state=seed).fit(rows)

    def attack() -> Any:
        more: dict[str, Any] = {"rate": 100.0} if kind == "points" else {}
        return ev.membership_attack(made, asked, others, reference=public, random_state=1, **more)

    made = release(source, 1)
    before = attack()
    source[:] = 1e9
    after = attack()
    assert np.array_equal(before.scores, after.scores)
    assert np.array_equal(before.control_scores, after.control_scores)


def test_the_scorer_gets_the_people_mixed_and_unnamed() -> None:
    seen = []

    def scorer(rows: Any) -> Any:
        seen.append(rows[:, 0].copy())
        return rows[:, 0]

    a, b = score_blindly(scorer, np.zeros((300, 1)), np.ones((300, 1)), noise.generator(1))
    assert (a == 0).all()
    assert (b == 1).all()
    assert 100 < seen[0][:300].sum() < 200  # neither group comes first


def test_swapping_the_roles_of_the_people_swaps_the_scores() -> None:
    """Labels of membership do not change the scores."""
    people, others, public = crowd(100, 2, 1), crowd(100, 2, 2), crowd(300, 2, 3)
    z = noisy(people, 100.0, 4)
    one = ev.membership_attack(z, people, others, rate=100.0, reference=public, random_state=1)
    two = ev.membership_attack(z, others, people, rate=100.0, reference=public, random_state=7)
    assert one.scores == pytest.approx(two.control_scores)
    assert one.control_scores == pytest.approx(two.scores)


def test_groups_that_differ_anyway_are_shown_by_the_baseline() -> None:
    people, others, public = crowd(400, 2, 1), crowd(400, 2, 2) + 0.1, crowd(400, 2, 3)
    found = ev.membership_attack(noisy(people, 5.0, 4), people, others, rate=5.0, reference=public, random_state=1)
    assert found.blind is not None
    assert found.blind.advantage_interval[0] > 0.3


# --- synopses, centres, models


def grid(epsilon: float, parts: int) -> Any:
    def release(rows: Any, seed: int) -> Any:
        return dc.GridSynopsis(epsilon=epsilon, domain=SQUARE, rule=parts, random_state=seed).fit(rows).synopsis_

    return release


def test_a_synopsis_leaks_with_fine_cells_and_no_noise_only() -> None:
    rng = np.random.default_rng(1)
    people, others, public = rng.random((3, 300, 2))

    def attack(epsilon: float, parts: int) -> ev.ScoredAttack:
        return ev.membership_attack(
            grid(epsilon, parts)(people, 5), people, others, reference=public, random_state=1, confidence=0.99
        )

    assert attack(1e6, 80).advantage > 0.85  # 6,400 cells for 300 people
    assert has_zero(attack(0.001, 80))
    assert has_zero(attack(1.0, 4))
    assert attack(1e6, 80).auc > attack(1.0, 80).auc > attack(0.001, 80).auc - 0.05


def test_centres_barely_leak() -> None:
    """Nothing beyond chance is found in the centres of 8 clusters of 600 people, without any noise."""
    people, others, public = crowd(600, 2, 1), crowd(600, 2, 2), crowd(1200, 2, 3)

    made = KMeans(8, n_init=2, random_state=1).fit(people)
    found = ev.membership_attack(made, people, others, reference=public, random_state=1, confidence=0.99)
    assert has_zero(found), found
    # As many centres as people are the people themselves, and then both see it.
    copied = ev.membership_attack(people, people, others, kind="centers", random_state=1)
    assert copied.advantage > 0.95


def test_the_same_seed_gives_the_same_result() -> None:
    people, others, public = crowd(80, 2, 1), crowd(80, 2, 2), crowd(80, 2, 3)
    z = noisy(people, 50.0, 4)
    run = [ev.membership_attack(z, people, others, rate=50.0, reference=public, random_state=s) for s in (5, 5)]
    assert run[0].to_dict() == run[1].to_dict()


def test_bad_arguments_are_named() -> None:
    rows = crowd(20, 2, 1)
    made = grid(1.0, 4)(rows, 1)
    for more, kind, text in [
        ({"score": "best"}, InvalidType, "score must be score"),
        ({"artifact": rows}, InvalidArgument, "rate must be given"),
        ({"artifact": rows, "rate": -1}, InvalidArgument, "rate must be a positive"),
        ({"artifact": rows, "kind": "synopsis"}, InvalidType, "artifact must be a Synopsis"),
        ({"reference": rows[:, :1]}, InvalidArgument, "reference must be a table with 2 columns"),
        ({}, InvalidArgument, "reference must be public records"),
        ({"members": rows[:2]}, InvalidArgument, "members must be at least 4 rows"),
        ({"confidence": 2}, InvalidArgument, "confidence must be"),
    ]:
        given: dict[str, Any] = {"artifact": made, "members": rows, "non_members": rows, **more}
        with pytest.raises(kind, match=text):
            ev.membership_attack(**given)
