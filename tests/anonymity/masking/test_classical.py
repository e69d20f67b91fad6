"""Microaggregation, noise, rank swapping, full-domain generalisation and the measures of disclosure."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import discreet as dc
from anonymity_checker import classes_of, keeps_l
from discreet.anonymity import Hierarchy
from discreet.anonymity.masking._mdav_kernels import mdav
from discreet.anonymity.masking._swap_kernels import swap_ranks
from discreet.anonymity.masking.microaggregation import Microaggregation
from discreet.anonymity.masking.noise import NoiseAddition, _root
from discreet.anonymity.masking.sampling import Sampling
from discreet.anonymity.masking.swapping import RankSwapping
from discreet.anonymity.methods.generalization import Generalization
from discreet.anonymity.release.disclosure import near_values, record_linkage
from discreet.anonymity.risk.printed import legend_of, read_sets, read_stretches
from discreet.errors import InvalidArgument, InvalidType, SchemaError

UNIT = dc.Domain({"x": (0, 1), "y": (0, 1)})


def test_a_sample_has_the_stated_share_of_rows_drawn_at_random() -> None:
    """Of 400 samples of 3 among 12 rows, each row is in 100 on average: beyond 54 and 146 with a chance below 1e-6."""
    rows = pa.table({"x": np.linspace(0, 1, 12), "y": np.zeros(12)})
    made = [Sampling(0.25, domain=UNIT).fit_transform(rows, random_state=seed) for seed in range(400)]
    drawn = [release.table["x"].to_pylist() for release in made]
    assert all(len(set(one)) == 3 for one in drawn)
    often = Counter(value for one in drawn for value in one)
    assert len(often) == 12
    assert 54 < min(often.values()) <= max(often.values()) < 146


def reference_mdav(rows: list[list[float]], k: int) -> list[int]:
    """MDAV as the specification writes it, on plain lists; equal distances go to the lower row."""

    def far(free: list[int], point: list[float]) -> int:
        return max(free, key=lambda i: (gap(rows[i], point), -i))

    def gap(a: list[float], b: list[float]) -> float:
        return sum((x - y) * (x - y) for x, y in zip(a, b, strict=True))

    def take(free: list[int], start: int) -> list[int]:
        near = sorted((i for i in free if i != start), key=lambda i: (gap(rows[i], rows[start]), i))
        return [start, *near[: k - 1]]

    free, groups = list(range(len(rows))), []
    while len(free) >= 2 * k:
        pair = len(free) >= 3 * k
        centre = [sum(rows[i][j] for i in free) / len(free) for j in range(len(rows[0]))]
        r = far(free, centre)
        groups.append(take(free, r))
        free = [i for i in free if i not in groups[-1]]
        if pair:
            groups.append(take(free, far(free, rows[r])))
            free = [i for i in free if i not in groups[-1]]
    groups.append(free)
    return [next(g for g, members in enumerate(groups) if i in members) for i in range(len(rows))]


@pytest.mark.parametrize(("n", "k"), [(7, 2), (20, 3), (41, 5), (60, 4), (9, 5), (10, 5), (15, 5), (5, 5)])
@pytest.mark.parametrize("seed", range(4))
def test_mdav_makes_the_groups_of_the_plain_reference(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers, codes = rng.random((n, 2)), rng.integers(0, 3, (n, 2))
    corners = np.concatenate([np.eye(3)[codes[:, j]] / math.sqrt(2) for j in range(2)], axis=1)
    wanted = reference_mdav(np.concatenate([numbers, corners], axis=1).tolist(), k)
    assert mdav(numbers.copy(), codes.copy(), 3, k).tolist() == wanted


@pytest.mark.parametrize("seed", range(4))
def test_mdav_breaks_ties_by_the_place_in_the_input(seed: int) -> None:
    # Eighths add up without rounding in any order, so both sides see the same ties.
    numbers = np.random.default_rng(seed).integers(0, 4, (40, 2)) / 8
    assert mdav(numbers.copy(), np.empty((40, 0), np.int64), 1, 3).tolist() == reference_mdav(numbers.tolist(), 3)


@pytest.mark.parametrize("k", [2, 3, 7, 40, 99, 100, 150])
def test_groups_have_k_to_2k_rows_and_publish_their_mean_on_the_grid(k: int) -> None:
    rng = np.random.default_rng(k)
    ages, pays = rng.integers(18, 90, 150), rng.gamma(2.0, 15_000, 150)
    domain = dc.Domain({"age": (0, 120), "pay": (0, 100_000), "ill": ["no", "yes"]})
    table = pa.table({"age": ages, "pay": pays, "ill": rng.choice(["no", "yes"], 150)})
    release = Microaggregation(k, domain=domain, sensitive="ill", grid={"pay": 50}).fit_transform(table, order="input")
    groups = release.cells.of
    sizes = np.bincount(groups)
    assert len(groups) == len(release) == 150
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
    shown = release.table.to_pydict()
    for g in range(len(sizes)):
        mine = np.flatnonzero(groups == g)
        assert {shown["age"][i] for i in mine} == {math.ceil(ages[mine].mean() - 0.5)}  # halves go down
        (pay,) = {shown["pay"][i] for i in mine}
        assert pay % 2000 == 0
        assert abs(pay - np.minimum(pays[mine], 100_000).mean()) <= 1000 + 1e-6
    assert shown["ill"] == table["ill"].to_pylist()
    reached = min(len(c) for c in classes_of(list(zip(shown["age"], shown["pay"], strict=True))))
    assert release.guarantee.parameters["reached"]["k"] == reached >= k


def test_a_category_is_published_only_if_all_share_it() -> None:
    jobs = Hierarchy({"office": ["clerk", "manager"], "craft": ["smith", "cook"]})
    table = pa.table({"age": [10, 10, 10, 90, 90, 90], "job": ["smith", "cook", "smith", "clerk", "clerk", "clerk"]})
    domain = dc.Domain({"age": (0, 100), "job": ["clerk", "cook", "smith", "manager"]})
    plain = Microaggregation(3, domain=domain).fit_transform(table, order="input")
    assert plain.table["job"].to_pylist() == ["*"] * 3 + ["clerk"] * 3
    nested = Microaggregation(3, domain=domain, hierarchies={"job": jobs}).fit_transform(table, order="input")
    assert nested.table["job"].to_pylist() == ["craft"] * 3 + ["clerk"] * 3


def test_a_mean_of_fewer_than_k_values_is_not_published() -> None:
    domain = dc.Domain(
        {"age": {"bounds": [0, 100], "missing": "own"}, "sex": {"categories": ["f", "m"], "missing": "own"}}
    )
    table = pa.table({"age": [10, 12, None, 90, 91, 92, 95], "sex": ["f", None, "f", "m", "m", "m", "m"]})
    release = Microaggregation(3, domain=domain).fit_transform(table, order="input")
    assert release.table["age"].to_pylist() == [None] * 3 + [92] * 4
    assert release.table["sex"].to_pylist() == ["* or missing"] * 3 + ["m"] * 4


def test_a_new_release_is_grouped_for_itself_and_checked() -> None:
    rows = np.random.default_rng(0).random((50, 2))
    method = Microaggregation(5, domain=UNIT, grid=10).fit(pa.table({"x": rows[:, 0], "y": rows[:, 1]}))
    again = method.transform(pa.table({"x": rows[:12, 0], "y": rows[:12, 1]}))
    assert min(Counter(zip(*again.table.to_pydict().values(), strict=True)).values()) >= 5
    with pytest.raises(InvalidArgument, match="at most the number of records"):
        method.transform(pa.table({"x": [0.5] * 4, "y": [0.5] * 4}))
    assert clone(method).get_params()["k"] == 5


def test_a_table_of_means_has_no_bounds_and_saves_its_promise(tmp_path: Path) -> None:
    table = pa.table({"x": [0.1, 0.2, 0.8, 0.9], "y": [0.1, 0.2, 0.8, 0.9]})
    release = Microaggregation(2, domain=UNIT, grid=10).fit_transform(table, order="shuffled", random_state=1)
    assert sorted(release.rows.tolist()) == [0, 1, 2, 3]
    with pytest.raises(InvalidArgument, match="changed values"):
        release.save(tmp_path / "safe.csv", form="bounds")
    release.save(tmp_path / "safe.csv")
    facts = json.loads((tmp_path / "safe.csv.guarantee.json").read_text())
    assert facts["parameters"]["reached"] == {"k": 2}
    assert facts["parameters"]["method"] == "Microaggregation"


@pytest.mark.parametrize("p", [0.01, 0.05, 0.3, 1.0])
def test_swapped_values_come_from_near_ranks_and_all_values_stay(p: float) -> None:
    rng = np.random.default_rng(3)
    values = rng.permutation(400) * 0.25
    table = pa.table({"x": values, "g": rng.choice(["a", "b", "c"], 400)})
    domain = dc.Domain({"x": (0, 100), "g": ["a", "b", "c"]})
    release = RankSwapping(p, domain=domain).fit_transform(table, order="input", random_state=4)
    after = release.table["x"].to_numpy()
    assert sorted(after) == sorted(values)
    assert Counter(release.table["g"].to_pylist()) == Counter(table["g"].to_pylist())
    moved = np.abs(after - values) / 0.25
    assert moved.max() <= max(1, int(p * 400))
    assert (moved == 0).sum() <= release.guarantee.parameters["not_swapped"]["x"] <= 0.1 * 400


def test_ranks_and_not_values_limit_the_swap() -> None:
    # The example of spec local-sketches 3.A.8, corrected by C12: a fifth of six records is one rank.
    heat = [36.9, 37.9, 38.8, 39.2, 38.2, 37.2]
    domain = dc.Domain({"heat": (35, 42)})
    method = RankSwapping(0.2, domain=domain)
    after = method.fit_transform(pa.table({"heat": heat}), order="input", random_state=0).table["heat"]
    assert after.to_pylist() == [37.2, 38.2, 39.2, 38.8, 37.9, 36.9]


def test_every_near_rank_is_equally_likely() -> None:
    partners = Counter(int(swap_ranks(dc.noise.below(2**62, size=9, rng=seed), 4)[0]) for seed in range(4000))
    assert set(partners) == {1, 2, 3, 4}
    # 1000 each, standard deviation 27: a false alarm once in a billion runs; the seeds are fixed.
    assert all(abs(count - 1000) < 170 for count in partners.values())


def test_missing_values_stay_where_they_are() -> None:
    domain = dc.Domain({"x": {"bounds": [0, 10], "missing": "own"}})
    table = pa.table({"x": [1, None, 3, 4, None, 6]})
    for method in (RankSwapping(0.5, domain=domain), NoiseAddition(0.2, domain=domain)):
        shown = method.fit_transform(table, order="input", random_state=1).table["x"].to_pylist()
        assert [v is None for v in shown] == [False, True, False, False, True, False]


@pytest.mark.parametrize("kind", ["uncorrelated", "correlated"])
def test_noise_keeps_means_and_scales_variances(kind: str) -> None:
    n, alpha = 40_000, 0.3
    rng = np.random.default_rng(5)
    shared = rng.normal(0, 1, n)
    x, y = 50 + 4 * shared, 500 - 60 * shared + 40 * rng.normal(0, 1, n)
    domain = dc.Domain({"x": (0, 100), "y": (0, 1000)})
    release = NoiseAddition(alpha, domain=domain, kind=kind).fit_transform(pa.table({"x": x, "y": y}), random_state=6)
    noisy = np.stack([release.table[c].to_numpy() for c in ("x", "y")])
    clean = np.stack([x, y])
    spread = np.std(clean, axis=1)
    # Means move by α^½ σ/√n, covariances by about σσ √(2α(2 + α)/n): six and five times that are allowed.
    assert (np.abs((noisy - clean).mean(axis=1)) < 6 * spread * math.sqrt(alpha / n)).all()
    wanted = np.cov(clean, ddof=0)
    wanted = wanted * (1 + alpha) if kind == "correlated" else wanted + alpha * np.diag(np.diag(wanted))
    allowed = 5 * np.outer(spread, spread) * math.sqrt(2 * alpha * (2 + alpha) / n)
    assert (np.abs(np.cov(noisy, ddof=0) - wanted) < allowed).all()


def test_the_scale_of_the_noise_is_a_variance() -> None:
    # Spec local-sketches, C11: α σ² = 22.18, so the standard deviation is 4.71, not 22.18.
    weights = np.array([[76.5, 54.6, 59.8, 81.2, 91.5, 50.9]])
    assert math.sqrt(0.1) * _root(weights, "uncorrelated")[0, 0] == pytest.approx(4.71, abs=0.005)


def test_noise_can_be_rounded_and_clipped() -> None:
    domain = dc.Domain({"x": (0, 100)})
    table = pa.table({"x": [0, 50, 100] * 50})
    shown = NoiseAddition(0.5, domain=domain, grid=20, clip=True).fit_transform(table, random_state=2).table["x"]
    assert set(shown.to_pylist()) <= set(range(0, 101, 5))
    free = NoiseAddition(0.5, domain=domain, grid=20).fit_transform(table, random_state=2).table["x"].to_numpy()
    assert (free % 5 == 0).all()
    assert free.min() < 0
    assert free.max() > 100


@pytest.mark.parametrize("method", [NoiseAddition(0.1), RankSwapping(0.05)])
def test_masking_promises_nothing_and_says_so(method: Any) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.random(300), "y": rng.random(300)})
    release = method.set_params(domain=UNIT).fit_transform(table, random_state=9)
    facts = release.guarantee.parameters
    assert facts["required"] == facts["reached"] == {"k": None}
    assert "no stated property" in str(release.guarantee)
    assert release.guarantee.seeded
    assert "no k" in repr(release)
    assert facts["disclosure"] == release.disclosure
    same = record_linkage(table, release)
    assert release.disclosure["record_linkage"] == same.to_dict()
    pairs = [(table[name].to_numpy()[release.rows], release.table[name].to_numpy()) for name in ("x", "y")]
    near = [near_values(truth, shown, 0.05) for truth, shown in pairs]
    share = sum(close for close, _ in near) / sum(looked for _, looked in near)
    assert release.disclosure["interval_disclosure"]["share"] == pytest.approx(share)
    assert 1 / 300 < same.share < 1
    assert not method.fit_transform(table).guarantee.seeded


def brute_linkage(truth: np.ndarray, shown: np.ndarray) -> float:
    scale = truth.std(axis=0)
    total = 0.0
    for i, row in enumerate(shown):
        gaps = np.round((((truth - row) / scale) ** 2).sum(axis=1), 9)
        if gaps[i] == gaps.min():
            total += 1 / int((gaps == gaps.min()).sum())
    return total / len(shown)


@pytest.mark.parametrize("seed", range(5))
def test_linkage_equals_the_comparison_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 6, (120, 2)).astype(float)
    shown = truth + rng.integers(-1, 2, (120, 2)) * 0.5
    tables = [pa.table({"x": t[:, 0], "y": t[:, 1]}) for t in (truth, shown)]
    assert record_linkage(*tables).share == pytest.approx(brute_linkage(truth, shown))


def test_linkage_of_k_anonymous_rows_is_at_most_one_in_k() -> None:
    rows = np.random.default_rng(2).random((300, 2))
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    for k in (3, 10):
        release = Microaggregation(k, domain=UNIT, grid=200).fit_transform(table)
        assert record_linkage(table, release).share <= 1 / k + 1e-9
        cells = dc.anonymity.DensityTree(k, domain=UNIT, grid=64).fit_transform(table, output="center")
        assert record_linkage(table, cells).share <= 1 / k + 1e-9


def test_linkage_follows_shuffled_rows_and_categories() -> None:
    table = pa.table({"x": np.arange(50.0), "g": ["a", "b"] * 25})
    domain = dc.Domain({"x": (0, 50), "g": ["a", "b"]})
    release = RankSwapping(0.02, domain=domain).fit_transform(table, order="shuffled", random_state=3)
    ordered = RankSwapping(0.02, domain=domain).fit_transform(table, random_state=3)
    assert record_linkage(table, release).share == record_linkage(table, ordered).share
    assert record_linkage(table, table).share == 1.0


def test_interval_disclosure_by_hand() -> None:
    truth, shown = np.array([0.0, 10.0, 20.0, 30.0, 100.0]), np.array([4.0, 10.0, 26.0, 5.0, 90.0])
    # Middle ranks of the true values are 0.5 .. 4.5; of the published ones 1, 1.5, 3, 1, 4.
    assert near_values(truth, shown, 0.1) == (4, 5)
    assert near_values(truth, shown, 0.05) == (1, 5)


def people(n: int, seed: int) -> tuple[dc.Domain, pa.Table]:
    found = dc.datasets.people(n, seed=seed)
    return found.domain, found.table


@pytest.mark.parametrize("k", [2, 5, 25])
@pytest.mark.parametrize("l", [None, 2])
def test_recoded_tables_keep_the_rules_and_lose_few_rows(k: int, l: int | None) -> None:  # noqa: E741
    domain, table = people(500, k)
    method = Generalization(k, l, domain=domain, widths={"age": [5, 10, 20, 40]}, suppress=0.1)
    release = method.fit_transform(table)
    shown = release.table.to_pydict()
    quasi = list(zip(shown["age"], shown["town"], shown["job"], shown["hours"], strict=True))
    for rows in classes_of(quasi):
        assert len(rows) >= k
        assert l is None or keeps_l([shown["illness"][i] for i in rows], "distinct", l)
    assert len(release) + release.suppressed == 500
    assert release.suppressed <= 50
    assert release.guarantee.parameters["levels"] == method.levels_
    step = {0: 1, 1: 5, 2: 10, 3: 20, 4: 40}.get(method.levels_["age"])
    for text in set(shown["age"]):
        low = int(text[1:].split(",")[0])
        assert low % step == 0 if step else low == 0


@pytest.mark.parametrize("seed", range(60))
def test_generated_tables_keep_k_and_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 60)), int(rng.integers(2, 6))
    k = min(k, n)
    missing = ["drop", "own"][seed % 2]
    domain = dc.Domain(
        {
            "x": {"bounds": [0, 20], "missing": missing, "role": "quasi-identifier"},
            "g": {"categories": ["a", "b", "c", "d"], "missing": missing, "role": "quasi-identifier"},
            "s": {"categories": ["u", "v"], "role": "sensitive"},
        }
    )
    tree = [None, Hierarchy({"1": ["d", "b"], "2": ["a", "c"]})][seed % 3 == 0]
    x = [None if rng.random() < 0.1 and seed % 2 else int(v) for v in rng.integers(0, 21, n)]
    g = [None if rng.random() < 0.1 and seed % 2 else str(v) for v in rng.choice(["a", "b", "c", "d"], n)]
    table = pa.table({"x": pa.array(x, pa.int64()), "g": pa.array(g, pa.string()), "s": rng.choice(["u", "v"], n)})
    if all(v is None for v in x) or all(v is None for v in g):
        return
    trees = {"g": tree} if tree else None
    for method in (
        Microaggregation(k, domain=domain, hierarchies=trees),
        Generalization(k, domain=domain, hierarchies=trees, suppress=[0.0, 0.2][seed % 2]),
    ):
        release = method.fit_transform(table)
        shown = release.table.to_pydict()
        sizes = [len(rows) for rows in classes_of(list(zip(shown["x"], shown["g"], strict=True)))]
        assert min(sizes) >= k
        assert release.guarantee.parameters["reached"]["k"] == min(sizes)
        assert len(release) + release.suppressed == n
        sets = read_sets(release.table["g"], ["a", "b", "c", "d"], legend_of(release).get("g"))
        for row, source in enumerate(release.rows):
            value = g[source]
            assert sets.members[sets.code[row], 4 if value is None else "abcd".index(value)]
        if isinstance(method, Generalization):
            cells = read_stretches(release.table["x"])
            assert cells is not None
            for row, source in enumerate(release.rows):
                c, number = cells.code[row], x[source]
                if number is None:
                    assert cells.missing[c]
                else:
                    assert cells.low[c] <= number < cells.high[c] + cells.closed[c] * 1e-9
        else:
            assert set(shown["x"]) <= {None, *range(21)}


def test_given_levels_are_used_as_they_are() -> None:
    domain = dc.Domain({"age": (0, 100), "job": ["clerk", "cook", "smith"]})
    jobs = Hierarchy({"office": ["clerk"], "craft": ["smith", "cook"]})
    table = pa.table({"age": [5, 15, 25, 35, 95], "job": ["cook", "smith", "clerk", "clerk", "clerk"]})
    method = Generalization(
        2, domain=domain, grid=10, levels={"age": 1, "job": 1}, hierarchies={"job": jobs}, suppress=0.2
    )
    release = method.fit_transform(table, order="input")
    assert release.suppressed == 1
    assert release.table.to_pydict() == {
        "age": ["[0, 20)", "[0, 20)", "[20, 40)", "[20, 40)"],
        "job": ["craft", "craft", "clerk", "clerk"],
    }
    with pytest.raises(InvalidArgument, match=r"at least 0\.2,"):
        method.set_params(suppress=0.1).fit_transform(table)


def test_leaving_rows_out_does_not_break_closeness_elsewhere() -> None:
    # Spec density-trees, 9.4.4. Shares of "y" are 0.7, 0.5 and 1, in all 0.64: only "c" is more than 0.145 away. But
    # without it all have 0.55, and "a" is 0.15 away.
    ill = ["y"] * 7 + ["n"] * 3 + ["y"] * 15 + ["n"] * 15 + ["y"] * 10
    table = pa.table({"place": ["a"] * 10 + ["b"] * 30 + ["c"] * 10, "ill": ill})
    domain = dc.Domain({"place": ["a", "b", "c"], "ill": ["n", "y"]})
    method = Generalization(2, t_closeness=0.145, domain=domain, sensitive="ill", levels={}, suppress=0.4)
    release = method.fit_transform(table)
    assert set(release.table["place"].to_pylist()) == {"b"}
    assert release.suppressed == 20
    assert release.guarantee.parameters["reached"]["t"] == {"ill": 0.0}
    with pytest.raises(InvalidArgument, match=r"at least 0\.4,"):
        method.set_params(suppress=0.3).fit_transform(table)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Microaggregation(1, domain=UNIT), "k must be"),
        (Microaggregation(11, domain=UNIT), "at most the number of records"),
        (Microaggregation(2), "domain must be"),
        (Microaggregation(2, domain=UNIT, sensitive="z"), "sensitive must be a declared column"),
        (Generalization(2, domain=UNIT, levels={"z": 1}), "levels must be"),
        (Generalization(2, domain=UNIT, levels={"x": 99}), "level of column 'x'"),
        (Generalization(2, domain=UNIT, levels=3), "levels must be"),
        (Generalization(2, domain=UNIT, grid=10, widths={"x": [0.25]}), "a multiple of the grid step"),
        (Generalization(2, domain=UNIT, grid=10, widths={"x": [0.2, 0.3]}), "rising"),
        (Generalization(2, domain=UNIT, widths={"z": [0.2]}), "widths must be"),
        (NoiseAddition(0.0, domain=UNIT), "alpha must be"),
        (NoiseAddition(0.1, domain=UNIT, kind="white"), "kind must be"),
        (NoiseAddition(0.1), "domain must be"),
        (RankSwapping(0.0, domain=UNIT), "p must be"),
        (RankSwapping(1.5, domain=UNIT), "p must be"),
        (RankSwapping("all", domain=UNIT), "p must be"),
        (RankSwapping(k=1, domain=UNIT), "k must be"),
        (RankSwapping(k=11, domain=UNIT), "at most the number of records"),
        (RankSwapping(0.1, k=3, domain=UNIT), "p must be left out where k is given"),
    ],
)
def test_bad_arguments_are_refused(method: Any, message: str) -> None:
    rows = np.linspace(0, 1, 10)
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        method.fit_transform(pa.table({"x": rows, "y": rows}))


def test_bad_tables_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="noise needs them"):
        NoiseAddition(0.1, domain={"g": ["a", "b"]}).fit(pa.table({"g": ["a", "b"]}))
    with pytest.raises(InvalidArgument, match="at least two rows"):
        RankSwapping(0.1, domain={"x": (0, 1)}).fit_transform(pa.table({"x": [0.5]}))
    with pytest.raises(SchemaError, match="no value in any row"):
        Microaggregation(2, domain={"x": (0, 1), "y": (0, 1)}).fit(pa.table({"x": [None] * 3, "y": [0.1] * 3}))
    listed = {"g": {"categories": ["f; m"], "missing": "own"}, "y": (0, 1)}
    with pytest.raises(SchemaError, match=r"'g': no row has a value of its declared list \('f; m'\)"):
        Microaggregation(2, domain=listed).fit(pa.table({"g": ["f", "m", "f"], "y": [0.1, 0.2, 0.3]}))
    declared = {"x": {"bounds": [0, 1], "role": "quasi-identifier"}}
    with pytest.raises(InvalidArgument, match="not a quasi-identifier"):
        Microaggregation(2, domain=declared, sensitive="x").fit(pa.table({"x": [0.1, 0.2]}))
    one, two = pa.table({"x": [1.0, 2.0]}), pa.table({"x": [1.0]})
    with pytest.raises(InvalidArgument, match="as many as the original"):
        record_linkage(one, two)
    with pytest.raises(SchemaError, match="no column in common"):
        record_linkage(one, pa.table({"y": [1.0, 2.0]}))
    drawn = dc.anonymity.DensityTree(2, domain={"x": (0, 4)}).fit_transform(one, output="sample", random_state=1)
    with pytest.raises(InvalidArgument, match="rows that have an original"):
        record_linkage(one, drawn)
