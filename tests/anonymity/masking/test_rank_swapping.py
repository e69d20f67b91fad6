"""Record linkage after rank swapping: at most one in k inside groups, and the limits of ranks alone."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity import RankSwapping
from discreet.anonymity.masking._swap_kernels import swap_ranks
from discreet.anonymity.masking.swapping import candidates, permuted
from discreet.errors import SchemaError
from discreet.evaluation import recount
from discreet.reporting.words import for_experts, for_lawyers
from small_tables import one_of, random_table, whole

DOMAIN = dc.Domain({"x": (0, 100), "g": {"categories": ["a", "b", "c"], "missing": "own"}})


def people(n: int, seed: int = 0) -> pa.Table:
    return random_table({"x": whole(0, 101), "g": one_of(["a", "b", "c", None])}, n, seed)


def test_every_order_inside_a_group_is_equally_likely() -> None:
    groups = np.array([0, 1, 0, 0, 1])
    stream = dc.noise.generator(3)
    found = Counter(tuple(permuted(np.arange(5.0), groups, stream).astype(int)) for _ in range(12_000))
    assert len(found) == 12  # 3! orders of one group times 2! of the other
    # 1000 each, standard deviation 30: a false alarm once in ten million runs; the seed is fixed.
    assert all(abs(count - 1000) < 180 for count in found.values())


def posterior(values: list[list[int]], shown: list[list[int]]) -> dict[tuple[int, int], Fraction]:
    """The chance that a row is a person's, for a group whose persons and rows have these values, column by column.

    All assignments of rows to persons are equally likely beforehand, and so are all orders of a column.
    """
    n = len(values[0])
    total, found = Fraction(0), Counter()
    for owners in itertools.permutations(range(n)):
        chance = Fraction(1)
        for own, seen in zip(values, shown, strict=True):
            orders = list(itertools.permutations(range(n)))
            fitting = sum(all(own[order[owners[r]]] == seen[r] for r in range(n)) for order in orders)
            chance *= Fraction(fitting, len(orders))
        total += chance
        for row, person in enumerate(owners):
            found[row, person] += chance
    return {pair: Fraction(chance) / total for pair, chance in found.items()}


@pytest.mark.parametrize("values", [[[1, 2, 3], [7, 8, 9]], [[1, 1, 2], [7, 8, 9]], [[5, 5, 5], [1, 2, 2]]])
def test_no_row_of_a_group_is_more_likely_of_one_person_than_of_another(values: list[list[int]]) -> None:
    for shown in itertools.product(*(sorted(set(itertools.permutations(v))) for v in values)):
        chances = posterior(values, [list(column) for column in shown])
        assert set(chances.values()) == {Fraction(1, 3)}


@pytest.mark.parametrize(("k", "n"), [(2, 5), (3, 40), (7, 100), (40, 40)])
def test_values_stay_in_groups_of_k_that_are_told(k: int, n: int) -> None:
    table = people(n)
    release = RankSwapping(k=k, domain=DOMAIN).fit_transform(table, order="input", random_state=1)
    facts = release.guarantee.parameters
    assert facts["required"] == {"k": None, "probabilistic_k": k}
    assert k <= facts["reached"]["probabilistic_k"] <= 2 * k - 1
    assert facts["reached"]["k"] is None
    for name in ("x", "g"):
        assert Counter(release.table[name].to_pylist()) == Counter(table[name].to_pylist())
    again = RankSwapping(k=k, domain=DOMAIN).fit_transform(table, order="input", random_state=1)
    assert again.table == release.table
    assert recount(release.table, release.guarantee).failures == ()


def test_groups_follow_ranks_and_not_distances() -> None:
    values = np.array([0, 1, 2, 3, 1000, 1_000_000, 2_000_000, 99_000_000])
    domain = dc.Domain({"x": (0, 100_000_000)})
    method = RankSwapping(k=2, domain=domain)
    for seed in range(10):
        after = method.fit_transform(pa.table({"x": values}), order="input", random_state=seed).table["x"].to_numpy()
        assert [sorted(after[i : i + 2]) for i in (0, 2, 4, 6)] == [sorted(values[i : i + 2]) for i in (0, 2, 4, 6)]


def test_what_is_told_of_disclosure_does_not_tell_who_is_who() -> None:
    """Of two people with two values each, "all rows can be linked" and "none can" would both say which row is whose."""
    domain = dc.Domain({"x": (0, 100), "y": (0, 100), "ill": {"categories": ["no", "yes"], "role": "sensitive"}})
    two = pa.table({"x": [10, 20], "y": [1, 50], "ill": ["no", "yes"]})
    seen = set()
    for seed in range(60):
        release = RankSwapping(k=2, domain=domain).fit_transform(two, random_state=seed)
        own = {(row["x"], row["y"], row["ill"]) for row in release.table.to_pylist()}
        told = release.guarantee.parameters["disclosure"]
        assert told == release.disclosure
        if {(x, y) for x, y, _ in own} == {(10, 1), (20, 50)}:
            shares = (told["record_linkage"]["share"], told["interval_disclosure"]["share"])
            seen.add(((10, 1, "no") in own, shares))
    assert {share for _, share in seen} == {(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)}
    assert len(seen) == 6  # whatever is reported, either row may be of either


@pytest.mark.parametrize("unit", [{}, {"unit": dc.Person("who", rows=3)}])
def test_groups_of_rows_are_no_groups_of_persons(unit: dict[str, Any]) -> None:
    domain = dc.Domain({"who": {"bounds": [0, 9], "role": "person"}, "x": (0, 100)}, **unit)
    visits = pa.table({"who": [1, 1, 1, 2], "x": [10, 11, 12, 90]})
    with pytest.raises(SchemaError, match="may then be one person's"):
        RankSwapping(k=3, domain=domain).fit(visits)
    assert len(RankSwapping(0.5, domain=domain).fit_transform(visits)) == 4  # of which nothing is promised


def test_the_promise_is_a_chance_and_says_so() -> None:
    release = RankSwapping(k=5, domain=DOMAIN).fit_transform(people(60))
    assert "probabilistic k-anonymity with k = 5" in str(release.guarantee)
    assert "no row can be linked with a person with a chance above 1/k" in str(release.guarantee)
    assert f"at most 1 in {release.guarantee.parameters['reached']['probabilistic_k']}" in " ".join(
        for_lawyers(release.guarantee)
    )
    assert "<= 1/k" in for_experts(release.guarantee)[0]
    assert "candidates" not in release.disclosure
    plain = RankSwapping(0.1, domain=DOMAIN).fit_transform(people(60))
    assert "no stated property" in str(plain.guarantee)


@cache
def partner_law(n: int, limit: int) -> dict[tuple[int, int], Fraction]:
    """The exact chance that two ranks are partners, by all ways the swaps can go."""
    found: Counter[tuple[int, int]] = Counter()

    def go(free: tuple[int, ...], chance: Fraction) -> None:
        if not free:
            return
        first, rest = free[0], free[1:]
        near = [r for r in rest if r <= first + limit]
        if not near:
            found[first, first] += chance
            go(rest, chance)
        for other in near:
            found[first, other] += chance / len(near)
            found[other, first] += chance / len(near)
            go(tuple(r for r in rest if r != other), chance / len(near))

    go(tuple(range(n)), Fraction(1))
    return dict(found)


@pytest.mark.parametrize(("n", "limit"), [(5, 2), (6, 2), (7, 3), (6, 5)])
def test_ranks_near_each_other_bound_the_best_guess_from_below(n: int, limit: int) -> None:
    law = partner_law(n, limit)
    seen = Counter(
        (r, int(p)) for s in range(3000) for r, p in enumerate(swap_ranks(dc.noise.below(2**62, n, s), limit))
    )
    assert set(seen) == set(law)
    assert all(abs(seen[pair] / 3000 - float(law[pair])) < 0.05 for pair in law)  # five standard deviations
    values = np.arange(float(n))[None]
    for row in range(n):  # a row that shows the value of this rank is of its partner
        open_ = candidates(values, np.full((1, n), float(row)), [limit])
        chances = [law.get((row, person), Fraction(0)) for person in range(n)]
        assert sum(chances) == 1
        assert sum(c > 0 for c in chances) <= open_[0]
        assert max(chances) >= Fraction(1, int(open_[0]))
    # Swapping within a distance does not keep its number of candidates: the last ranks take what is left.
    assert max(law.values()) > Fraction(1, 2 * limit)


def test_a_row_with_one_candidate_is_found_and_that_is_told() -> None:
    # Young and rich, old and poor, and one in between: ranks of two columns together leave some people alone.
    x = np.concatenate([np.arange(50.0), np.arange(50.0, 100.0)])
    table = pa.table({"x": x, "y": np.concatenate([x[:50], x[50:][::-1]])})
    domain = dc.Domain({"x": (0, 100), "y": (0, 100)})
    release = RankSwapping(0.01, domain=domain).fit_transform(table, random_state=2)
    told = release.disclosure["candidates"]
    assert told["rows"] == 100
    assert 1 <= told["least"] <= 3
    assert 1 / 3 <= told["chance_of_the_best_guess_at_least"] <= 1
    wide = RankSwapping(0.5, domain=domain).fit_transform(table, random_state=2).disclosure["candidates"]
    assert wide["least"] > 10


@pytest.mark.parametrize("seed", range(4))
def test_candidates_are_those_of_the_plain_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 12, (2, 30)).astype(float)
    before[0, rng.random(30) < 0.2] = np.nan
    after = before[:, rng.permutation(30)]
    limits = [2, 4]

    def fits(j: int, person: int, row: int) -> Any:
        own, shown = before[j, person], after[j, row]
        if np.isnan(own) or np.isnan(shown):
            return np.isnan(own) and np.isnan(shown)
        there = np.sort(before[j][~np.isnan(before[j])])
        ranks = [np.flatnonzero(there == v) for v in (own, shown)]
        return min(abs(int(a) - int(b)) for a in ranks[0] for b in ranks[1]) <= limits[j]

    wanted = [sum(all(fits(j, person, row) for j in (0, 1)) for person in range(30)) for row in range(30)]
    assert candidates(before, after, limits).tolist() == wanted
