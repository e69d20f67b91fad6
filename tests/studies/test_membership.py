"""Membership by labels alone, by shadow releases, and by the published forest test. All seeded."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

import discreet as dc
from attack_crowds import crowd, noisy
from discreet import evaluation as ev
from discreet import noise
from discreet.errors import InvalidArgument, InvalidType
from discreet_studies.measured import membership
from discreet_studies.measured.forest_attack import forest_attack
from discreet_studies.measured.membership import boundary_attack, plain_sum, shadow_attack

SQUARE = dc.Domain.box([0, 0], [1, 1])


def has_zero(found: ev.ScoredAttack) -> bool:
    low, high = found.advantage_interval
    return low <= 0 <= high


def lottery(rows: Any) -> Any:
    """Give labels that no model can learn, only remember."""
    return (np.floor(rows[:, 0] * 1e6) % 3).astype(int)


def test_label_only_distance_to_a_known_boundary() -> None:
    rng = np.random.default_rng(1)
    rows = rng.random((50, 2))
    score = membership.boundary_distance(lambda x: x[:, 0] > 0.5, 2.0, 200, 14, None, noise.generator(1))
    assert score(rows) == pytest.approx(np.abs(rows[:, 0] - 0.5), rel=0.02, abs=0.001)
    never = membership.boundary_distance(lambda x: np.zeros(len(x)), 2.0, 5, 4, None, noise.generator(1))
    assert (never(rows) == 2.0).all()


@pytest.mark.slow
def test_labels_alone_give_away_what_a_model_remembers() -> None:
    people, others = np.random.default_rng(1).random((2, 300, 2))
    memory = KNeighborsClassifier(1).fit(people, lottery(people))
    found = boundary_attack(memory, people, others, label=lottery, directions=8, steps=6, random_state=1)
    assert found.advantage > 0.5  # a third of the others are labelled right by luck
    forest = RandomForestClassifier(10, random_state=1).fit(people, lottery(people))
    again = boundary_attack(forest.predict, people, others, label=lottery, directions=4, steps=4, random_state=1)
    assert again.advantage > 0.4
    plain = KMeans(4, n_init=1, random_state=1).fit(people)
    assert has_zero(boundary_attack(plain, people, others, directions=8, random_state=1))


def test_shadow_forests_learn_from_many_features() -> None:
    people, others, public = np.random.default_rng(1).random((3, 200, 2))

    def release(rows: Any, seed: int) -> Any:
        return RandomForestClassifier(15, random_state=seed).fit(rows, lottery(rows))

    def look(model: Any, rows: Any) -> Any:
        shares = np.zeros((len(rows), 4))
        shares[:, model.classes_] = model.predict_proba(rows)
        shares[:, 3] = lottery(rows)
        return shares

    made = release(people, 3)
    found = shadow_attack(made, people, others, release, public, score=look, shadows=2, random_state=1)
    assert found.advantage_interval[0] > 0.4


@pytest.mark.slow
def test_the_published_forest_test_runs_and_says_little() -> None:
    people = crowd(800, 2, 1)
    hidden = forest_attack(people, lambda rows: noisy(rows, 1.0, 7), repeats=2, random_state=1)
    assert len(hidden.runs) == 2
    assert hidden.advantage == pytest.approx(np.mean([r.advantage for r in hidden.runs]))
    low, high = hidden.advantage_interval
    assert low <= 0 <= high
    plain = forest_attack(people, repeats=2, noisy_shadows=True, random_state=1)
    assert plain.advantage < 0.4  # without any noise, far from what the points themselves would give
    assert len(plain.to_dict()["advantages"]) == 2


def test_scorers_have_no_way_in_for_members() -> None:
    allowed = {"artifact", "release", "score", "reference", "shadows", "stream", "synopsis"}
    allowed |= {"predict", "reach", "directions", "steps", "label"}
    for make in (membership.synopsis_density, membership.boundary_distance, membership.shadow_scorer):
        assert set(inspect.signature(make).parameters) <= allowed


def grid(epsilon: float, parts: int) -> Any:
    def release(rows: Any, seed: int) -> Any:
        return dc.GridSynopsis(epsilon=epsilon, domain=SQUARE, rule=parts, random_state=seed).fit(rows).synopsis_

    return release


@pytest.mark.slow
def test_shadows_find_members_in_fine_cells_without_noise_only() -> None:
    people, others, public = np.random.default_rng(1).random((3, 300, 2))

    def attack(epsilon: float, parts: int) -> ev.ScoredAttack:
        release = grid(epsilon, parts)
        more: dict[str, Any] = {"shadows": 8, "random_state": 1, "confidence": 0.99}
        return shadow_attack(release(people, 5), people, others, release, public, **more)

    assert attack(1e6, 80).advantage > 0.85  # 6,400 cells for 300 people
    assert has_zero(attack(0.001, 80))
    assert has_zero(attack(1.0, 4))


@pytest.mark.parametrize("kind", ["points", "synopsis", "centers"])
def test_raw_data_overwritten_after_the_release_change_nothing(kind: str) -> None:
    source, others, public = crowd(150, 2, 1), crowd(150, 2, 2), crowd(300, 2, 3)
    asked = source.copy()

    def release(rows: Any, seed: int) -> Any:
        if kind == "points":
            return noisy(rows, 100.0, seed)
        if kind == "synopsis":
            return grid(5, 16)(rows, seed)
        return KMeans(5, n_init=1, random_state=seed).fit(rows)

    def attack() -> Any:
        more: dict[str, Any] = {"rate": 100.0} if kind == "points" else {}
        return shadow_attack(made, asked, others, release, public, shadows=4, random_state=1, **more)

    made = release(source, 1)
    before = attack()
    source[:] = 1e9
    after = attack()
    assert np.array_equal(before.scores, after.scores)
    assert np.array_equal(before.control_scores, after.control_scores)


def test_the_plain_sum_finds_copies() -> None:
    people, others = crowd(500, 2, 1), crowd(500, 2, 2)
    found = ev.membership_attack(noisy(people, 1e5, 4), people, others, score=plain_sum(1e5), random_state=1)
    assert found.advantage > 0.95


def test_bad_arguments_are_named() -> None:
    rows = crowd(20, 2, 1)
    with pytest.raises(InvalidType, match="release must be release"):
        shadow_attack(rows, rows, rows, None, rows)
    with pytest.raises(InvalidArgument, match="at least 4 public records"):
        shadow_attack(rows, rows, rows, grid(1, 4), rows[:2])
    with pytest.raises(InvalidType, match="model must be a model with predict"):
        boundary_attack(rows, rows, rows)
