"""k, l and t: the measures against a linear programme and plain Python, closure under union, hierarchies, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from anonymity_checker import distance, keeps_l
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.distances import Limits, equal_distance, hierarchical_distance, is_ok, ordered_distance
from discreet.anonymity.risk.hierarchy import Hierarchy
from discreet.anonymity.risk.rules import Rules
from discreet.errors import DiscreetError, InvalidArgument, SchemaError
from support.classes import keeps

TREE = {"a": ["0", "1"], "b": {"c": ["2", "3", "4"], "d": ["5"]}, "e": ["6"]}
NESTED = [["0", "1"], [["2", "3", "4"], ["5"]], ["6"]]


def transport(p: Any, q: Any, cost: Any) -> float:
    """Least work of moving p into q, by linear programming."""
    m = len(p)
    rows = np.zeros((2 * m, m * m))
    for i in range(m):
        rows[i, i * m : (i + 1) * m] = 1
        rows[m + i, i::m] = 1
    return float(linprog(np.ravel(cost), A_eq=rows[:-1], b_eq=np.concatenate([p, q])[:-1], method="highs").fun)


def coded(values: Any, *, ordered: bool = False, name: str = "s") -> CodedColumn:
    labels = sorted(set(values), key=lambda v: (v is None, v if ordered and v is not None else str(v)))
    place = {v: i for i, v in enumerate(labels)}
    return CodedColumn(name, np.array([place[v] for v in values], np.int32), labels, ordered)


def random_distribution(rng: np.random.Generator, m: int) -> tuple[Any, int]:
    counts = rng.integers(0, 6, m)
    counts[rng.integers(m)] += 1
    return counts, int(counts.sum())


@pytest.mark.parametrize("kind", ["equal", "ordered", "hierarchical"])
def test_closed_forms_equal_the_transport_programme(kind: str) -> None:
    rng = np.random.default_rng(1)
    labels = [str(i) for i in range(7)]
    parent, weight, leaf = Hierarchy(TREE).distance_tree(labels)
    heights = np.array([[_meeting(NESTED, a, b) for b in labels] for a in labels])
    for _ in range(40):
        m = 7 if kind == "hierarchical" else int(rng.integers(2, 8))
        (counts, n), (others, more) = random_distribution(rng, m), random_distribution(rng, m)
        p, q = counts / n, (counts + others) / (n + more)  # a class is part of its table
        if kind == "equal":
            found, cost = equal_distance(counts[None], np.array([n]), q)[0], 1.0 - np.eye(m)
        elif kind == "ordered":
            found = ordered_distance(counts[None], np.array([n]), q)[0]
            place = np.cumsum(q > 0) - 1  # what the table does not have is no value between others
            cost = np.abs(np.subtract.outer(place, place)) / max(place[-1], 1)
        else:
            found = hierarchical_distance(counts[None], np.array([n]), q, parent, weight, leaf)[0]
            cost = heights / 3
        assert found == pytest.approx(transport(p, q, cost), abs=2e-8)


def _meeting(tree: Any, a: str, b: str) -> int:
    """Height of the lowest common ancestor, by recursion."""

    def height(node: Any) -> int:
        return 1 + max(map(height, node)) if isinstance(node, list) else 0

    def holds(node: Any, x: str) -> bool:
        return any(holds(child, x) for child in node) if isinstance(node, list) else node == x

    if a == b:
        return 0
    below = [child for child in tree if isinstance(child, list) and holds(child, a) and holds(child, b)]
    return _meeting(below[0], a, b) if below else height(tree)


@pytest.mark.parametrize("l_kind", ["distinct", "entropy", "recursive"])
@pytest.mark.parametrize("t_kind", ["equal", "ordered", "hierarchical"])
def test_values_equal_plain_python(l_kind: str, t_kind: str) -> None:
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(60):
        n = int(rng.integers(4, 40))
        values = [str(v) for v in rng.integers(0, rng.integers(2, 8), n)]
        column = coded(values)
        rules = Rules(
            2,
            l_diversity=int(rng.integers(2, 4)),
            l_kind=l_kind,  # type: ignore[arg-type]
            c=float(rng.choice([0.5, 1.0, 2.0])),
            t_closeness=float(rng.choice([0.1, 0.25, 0.5])),
            t_kind=t_kind,  # type: ignore[arg-type]
            hierarchies={"s": Hierarchy(TREE)},
        )
        rows = np.sort(rng.choice(n, int(rng.integers(2, n + 1)), replace=False))
        own = [values[i] for i in rows]
        far = distance(own, values, t_kind, NESTED)
        assert rules.l_diversity is not None
        assert rules.t_closeness is not None
        good = keeps_l(own, l_kind, rules.l_diversity, rules.c) and far <= rules.t_closeness + 1e-9
        assert keeps(rules, rows, [column]) == good
        seen.add(good)
        halves = np.arange(n) < n // 2
        reached = rules.measure(halves.astype(int), [column]).to_dict()
        both = [[v for v, h in zip(values, halves, strict=True) if h == side] for side in (True, False)]
        assert reached["k"] == min(map(len, both))
        assert reached["t"]["s"] == pytest.approx(max(distance(b, values, t_kind, NESTED) for b in both))
    assert seen == {True, False}


def test_rules_are_closed_under_union() -> None:
    rng = np.random.default_rng(3)
    tree = Hierarchy(TREE)
    checked = 0
    for trial in range(4000):
        rules = Rules(
            2,
            l_diversity=float(rng.integers(1, 4)),
            l_kind=("distinct", "entropy", "recursive")[trial % 3],
            c=float(rng.choice([0.7, 1.5, 3.0])),
            t_closeness=float(rng.uniform(0.1, 0.9)),
            t_kind=("equal", "ordered", "hierarchical")[trial // 3 % 3],
            hierarchies={"s": tree},
        )
        limits: Limits = rules.limits(
            [CodedColumn("s", rng.integers(0, 7, 30).astype(np.int32), list("0123456"), False)]
        )
        one, other = rng.integers(0, 5, 7), rng.integers(0, 5, 7)
        three = np.stack([one, other, one + other])
        kept = is_ok(three, three.sum(axis=1), limits) & (three.sum(axis=1) > 0)
        if kept[0] and kept[1]:
            checked += 1
            assert kept[2]
    assert checked > 300


def test_suppression_can_break_closeness_elsewhere() -> None:
    """Classes 6:4, 4:6, 8:2: without the last the first is no longer at distance 0 (spec 9.4.4)."""
    values = ["x"] * 6 + ["y"] * 4 + ["x"] * 4 + ["y"] * 6 + ["x"] * 8 + ["y"] * 2
    of = np.repeat([0, 1, 2], 10)
    rules = Rules(2, t_closeness=0.5)
    assert rules.measure(np.where(of == 0, 0, 1), [coded(values)]).t["s"] == pytest.approx(0.0)
    assert rules.measure(np.where(of == 2, -1, of), [coded(values)]).t["s"] == pytest.approx(0.1)


def test_one_and_more_mean_no_rule_and_missing_is_a_value() -> None:
    column = coded(["x", None, None, "x"])
    assert Rules(2, l_diversity=1, t_closeness=1.0).to_dict() == {"k": 2}
    assert keeps(Rules(2, l_diversity=2), [0, 1], [column])
    assert not keeps(Rules(2, l_diversity=2), [1, 2], [column])
    assert Rules(2).measure([0, 0, 1, 1], []).to_dict() == {"k": 2}


@pytest.mark.parametrize(
    "bad",
    [
        {"k": 1},
        {"k": 2.5},
        {"k": 0},
        {"k": True},
        {"k": 2, "l_diversity": 0},
        {"k": 2, "l_diversity": 1.5},
        {"k": 2, "l_diversity": float("nan")},
        {"k": 2, "l_kind": "some"},
        {"k": 2, "t_closeness": -0.1},
        {"k": 2, "t_kind": "far"},
        {"k": 2, "c": 0},
        {"k": 2, "hierarchies": {"s": 1}},
    ],
)
def test_bad_rules_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(DiscreetError):
        Rules(**bad)


def test_hierarchical_distance_needs_every_value() -> None:
    column = coded(["0", "9"])
    with pytest.raises(InvalidArgument, match="has the sensitive column 's'"):
        Rules(2, t_kind="hierarchical").limits([column])
    with pytest.raises(SchemaError, match="misses a value that occurs") as error:
        Rules(2, t_kind="hierarchical", hierarchies={"s": Hierarchy(TREE)}).limits([column])
    assert "'9'" not in str(error.value)  # a row's value is not quoted


def test_hierarchy_reads_nested_groups_and_arx_rows_alike(tmp_path: Any) -> None:
    nested = Hierarchy({"office": ["clerk", "boss"], "craft": ["smith", "cook"]})
    rows = [["clerk", "office", "*"], ["smith", "craft", "*"], ["boss", "office", "*"], ["cook", "craft", "*"]]
    (tmp_path / "jobs.csv").write_text("\n".join(";".join(row) for row in rows))
    for other in (Hierarchy.from_rows(rows), Hierarchy.from_csv(tmp_path / "jobs.csv")):
        assert other.categories == nested.categories
        assert other.tiers(nested.categories).tolist() == nested.tiers(nested.categories).tolist() == [1, 0, 1]
        assert other.height == nested.height == 2
    assert Hierarchy({"*": ["a", "b"]}).height == 1  # one group of all is the root itself


def test_hierarchy_refuses_what_is_none() -> None:
    for tree in ({"a": ["x"], "b": ["x"]}, {"a": []}, "abc", 7, {"a": [1.5]}, []):
        with pytest.raises(DiscreetError):
            Hierarchy(tree)
    with pytest.raises(SchemaError, match="misses the category 'z'"):
        Hierarchy(["x", "y"]).check("job", ["x", "z"])
    with pytest.raises(DiscreetError):
        Hierarchy.from_rows([["a", "b"], ["c"]])
    with pytest.raises(DiscreetError):
        Hierarchy.from_csv("no-such-file.csv")


def test_merging_puts_rare_categories_together() -> None:
    rng = np.random.default_rng(4)
    counts = rng.permutation([1, 2, 3, 400, 500, 600]).tolist()
    names = [f"c{i}" for i in range(6)]
    tree = Hierarchy.merging(names, counts)
    tiers = tree.tiers(names)
    order = tree.order(names)
    rare = [counts[i] < 10 for i in order]
    assert sorted(np.flatnonzero(rare)) == list(range(rare.index(True), rare.index(True) + 3))
    assert max(tiers) > min(tiers)
