"""The frontier study: its attacks reach what theory says they must, and its releases count what is in the table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet_studies import Results
from discreet_studies.frontier.attacks import AttackTally, coins, releases
from discreet_studies.frontier.findings import LIMITS, findings, notes, within
from discreet_studies.frontier.forms import Known, Raw
from discreet_studies.frontier.people import TARGETS, People, World, adult_is_here, world
from discreet_studies.frontier.releases import release
from discreet_studies.frontier.study import GRID, STUDY, absent, measure, settings
from discreet_studies.frontier.utility import boxes, utility
from discreet_studies.measured.points import advantage_bound

WHOLE = (np.array([[0.0, 0.0, 0.0]]), np.array([[1.0, 1.0, 2.0]]))


@pytest.fixture(scope="module")
def here() -> World:
    return world("patients", 0)


@pytest.fixture(scope="module")
def table(here: World) -> People:
    return here.others(0)


def attacked(here: World, method: str, value: float, times: int) -> dict[str, float]:
    tally = AttackTally(here)
    for r, (made, others, _) in enumerate(releases(here, method, value, times, 0)):
        tally.add(made, others, coins(here, 0, r))
    return tally.numbers()


def test_isolated_targets_are_farther_from_the_public_records_than_typical_ones(here: World) -> None:
    gaps = np.sort(np.linalg.norm(here.targets.q[:, None] - here.public.q, axis=2), axis=1)[:, 4]
    assert here.isolated.sum() == TARGETS == (~here.isolated).sum()
    assert np.median(gaps[here.isolated]) > 4 * np.median(gaps[~here.isolated])


def test_a_run_is_repeatable_and_seeds_differ() -> None:
    one, again, other = world("patients", 3), world("patients", 3), world("patients", 4)
    assert np.array_equal(one.targets.q, again.targets.q)
    assert np.array_equal(one.others(2).q, again.others(2).q)
    assert not np.array_equal(one.others(2).q, one.others(3).q)
    assert not np.array_equal(one.targets.q, other.targets.q)


@pytest.mark.parametrize("method", ["density-tree", "mondrian"])
def test_anonymous_cells_hold_k_rows_and_every_row_once(table: People, method: str) -> None:
    made = release(method, 20, table, 0)
    assert made.counts(*WHOLE)[0] == pytest.approx(len(table))
    held = 1 / made.linked(table, np.arange(len(table)))
    assert held.min() >= 20


@pytest.mark.parametrize(("method", "value"), [("grid", 10), ("privtree", 10), ("local", 8), ("metric", 64)])
def test_releases_count_about_what_is_in_the_table(table: People, method: str, value: float) -> None:
    low, high = boxes(1)
    error = np.abs(release(method, value, table, 1).counts(low, high) - Raw(table).counts(low, high)).mean()
    assert error < 0.02 * len(table)


@pytest.mark.slow
def test_more_noise_costs_more(here: World, table: People) -> None:
    low, high = boxes(1)
    truth = Raw(table).counts(low, high)
    for method, strict, lax in (("grid", 0.01, 10), ("local", 0.5, 8), ("metric", 2, 64), ("mondrian", 200, 2)):
        errors = [np.abs(release(method, v, table, 1).counts(low, high) - truth).mean() for v in (strict, lax)]
        assert errors[0] > 2 * errors[1], method
    costs = [utility(release("grid", value, table, 1), table, here, 1) for value in (0.01, 10)]
    assert costs[0]["clusters"] > costs[1]["clusters"] > 0.9
    assert costs[0]["accuracy_lost"] > costs[1]["accuracy_lost"]


def test_the_raw_table_costs_nothing_and_gives_everybody_away(here: World, table: People) -> None:
    found = utility(Raw(table), table, here, 0)
    assert found["counts"] == 0
    assert found["clusters"] == 1
    assert found["accuracy_lost"] == 0
    reached = attacked(here, "raw", 0, 3)
    assert reached["advantage_others_isolated"] == reached["advantage_others_typical"] == 1
    assert reached["own_isolated"] == 1


def test_nothing_gives_no_one_away(here: World) -> None:
    reached = attacked(here, "nothing", 0, 2)
    assert all(
        reached[f"{name}_{who}_{sort}"] == 0
        for name in ("advantage", "gain")
        for who in ("others", "public")
        for sort in ("isolated", "typical")
    )
    assert "linked_isolated" not in reached


def test_exact_counts_tell_one_who_knows_the_others_everything(here: World) -> None:
    reached = attacked(here, "density-tree", 200, 3)
    assert reached["advantage_others_isolated"] == reached["advantage_others_typical"] == 1
    # What the release adds is the whole rest: right of everybody present, as before of everybody absent.
    assert reached["gain_others_isolated"] == pytest.approx(1 - reached["blind_isolated"], abs=0.15)
    assert reached["linked_isolated"] < 1 / 200 + 1e-9


def test_the_attack_on_grid_counts_reaches_what_laplace_noise_allows(here: World) -> None:
    # Threshold 1/2 on a count with two-sided geometric noise of ratio e^-b: P(noise >= 0) - P(noise >= 1), for the
    # scores are (w - λ - 1/2)/V and a tie is impossible. False alarm: four standard errors over independent cells.
    epsilon = 1.0
    b = epsilon * (1 - 0.03)
    expected = (1 - math.exp(-b)) / (1 + math.exp(-b))
    reached = attacked(here, "grid", epsilon, 30)
    assert reached["advantage_others_isolated"] == pytest.approx(expected, abs=4 / math.sqrt(30 * TARGETS))
    assert expected < advantage_bound(epsilon)


@pytest.mark.slow
def test_noisy_rows_with_hardly_any_noise_give_themselves_away(here: World) -> None:
    loud, still = attacked(here, "metric", 1, 3), attacked(here, "metric", 64, 3)
    assert still["advantage_others_isolated"] > 0.8 > 0.4 > loud["advantage_others_isolated"]
    assert still["linked_isolated"] > 0.8
    assert still["own_isolated"] == 1


def test_the_attacker_with_public_records_gets_no_word_of_the_table(here: World, table: People) -> None:
    made = release("mondrian", 5, table, 0)
    scores = made.scores(here.targets, Known(here.public, False, 1.0))
    assert scores.shape == (len(here.targets), 2)
    fewer = made.scores(here.targets[:3], Known(here.public, False, 1.0))
    assert np.array_equal(scores[:3], fewer)  # a person's score does not depend on who else is asked about


def test_settings_cover_all_four_models_and_repeat_enough() -> None:
    full, quick = settings(False), settings(True)
    assert len(quick) < len(full) / 5
    assert {s["method"] for s in quick} == {s["method"] for s in full} == set(GRID)
    assert len({s["seed"] for s in full}) >= 20
    assert all(len(GRID[m]) >= 6 for m in ("grid", "local", "metric", "density-tree"))
    assert absent() == ([] if adult_is_here() else ["adult"])


def test_a_measurement_takes_its_randomness_from_the_setting() -> None:
    setting = {"table": "patients", "method": "privtree", "value": 1, "seed": 5, "releases": 2}
    assert measure(setting) == measure(setting)
    assert measure(setting) != measure({**setting, "seed": 6})


def made_up() -> Results:
    """Grids that keep what ε promises but for ε = 1, the finer the better; anonymous cells that keep no limit."""
    rows = []
    for seed in (0, 1):
        for method, values in (("raw", (0,)), ("nothing", (0,)), ("grid", (0.05, 0.15, 1)), ("density-tree", (5,))):
            for value in values:
                reached = 1.0 if method == "density-tree" else 0.8 if value == 1 else 0.4 * value
                numbers = {
                    f"{name}_{who}_{sort}": reached + 0.001 * seed
                    for name in ("advantage", "gain")
                    for who in ("others", "public")
                    for sort in ("isolated", "typical")
                }
                numbers |= {"counts": 0.01 / (value + 1), "clusters": 1.0, "accuracy": 0.7, "accuracy_lost": 0.0}
                numbers |= {"blind_isolated": 0.7, "blind_typical": 0.7}
                rows.append(({"table": "patients", "method": method, "value": value, "seed": seed}, numbers))
    return Results(rows)


def test_the_steward_is_shown_the_least_error_within_a_limit() -> None:
    results = made_up()
    assert within(results, "patients", "central", "others", 0.1) == ("grid", 0.15)
    assert within(results, "patients", "central", "others", 0.05) == ("grid", 0.05)
    assert within(results, "patients", "k-anonymous", "others", max(LIMITS)) is None
    text = "\n".join(notes(results))
    assert "0.870 (grid synopsis, ε = 0.15)" in text
    assert "none" in text


def test_findings_name_the_bound_and_where_it_is_exceeded() -> None:
    found = {f.figure: f for f in findings(made_up()) if f.section.startswith("Membership")}
    assert found["patients: grid synopsis, ε = 0.05"].note == "at most 0.025 by ε"
    # An advantage of 0.8 at ε = 1 cannot be: the page must say so.
    assert "above" in found["patients: grid synopsis, ε = 1"].note
    assert all(f.published is None and not f.verdict for f in findings(made_up()))
    assert STUDY.findings is findings
