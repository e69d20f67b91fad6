"""Partitions that keep k, l and t: a thousand tables against an independent checker, growth against a slow one."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from anonymity_checker import check_classes, is_union_of_siblings
from discreet.anonymity.growth import grow
from discreet.anonymity.growth.criteria import cell_gain
from discreet.anonymity.growth.frontier import enforce
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.growth.grow import grow_tree
from discreet.anonymity.growth.hierarchy import Hierarchy
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.methods.density_tree import CRITERIA, DensityTree
from discreet.anonymity.methods.mondrian import Mondrian
from discreet.anonymity.methods.supervised import GrowthChoice
from discreet.anonymity.release.table import CodedColumn
from discreet.anonymity.risk.rules import Rules
from discreet.core.domain import Domain, Numeric
from discreet.errors import DiscreetError, FormatError, InvalidArgument, SchemaError

# --- a thousand tables -------------------------------------------------------------------------------------------

LETTERS = list("abcdefgh")
NESTED: list[Any] = [["a", "b"], [["c", "d"], "e"], ["f", "g", "h"]]
GROUPS = {"x": ["a", "b"], "y": [{"z": ["c", "d"]}, "e"], "w": ["f", "g", "h"]}


class Case:
    """One random table with random rules."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.n = int(rng.integers(2, 90))
        self.columns: dict[str, dict[str, Any]] = {}
        self.values: dict[str, list[Any]] = {}
        self.grid: dict[str, Any] = {}
        self.trees: dict[str, Any] = {}
        self.edges: dict[str, set[float]] = {}
        for j in range(int(rng.integers(1, 5))):
            self._quasi(rng, f"q{j}")
        for j in range(int(rng.integers(0, 3))):
            self._sensitive(rng, f"s{j}")
        secret = [name for name in self.columns if name[0] == "s"]
        self.rules: dict[str, Any] = {"k": int(rng.integers(2, max(3, self.n if rng.random() < 0.2 else 9)))}
        if secret and rng.random() < 0.6:
            self.rules["l_diversity"] = int(rng.integers(1, 4))
            self.rules["l_kind"] = str(rng.choice(["distinct", "entropy", "recursive"]))
            self.rules["c"] = float(rng.choice([1.0, 3.0]))
        if secret and rng.random() < 0.6:
            self.rules["t_closeness"] = float(rng.uniform(0.05, 0.7))
            texts = all("categories" in self.columns[name] for name in secret)
            self.rules["t_kind"] = str(rng.choice(["auto", "equal", "ordered", *["hierarchical"] * texts]))
            if self.rules["t_kind"] == "hierarchical":
                self.trees.update(dict.fromkeys(secret, GROUPS))
        if rng.random() < 0.3:  # duplicates
            rows = rng.integers(0, max(1, self.n // 3), self.n)
            self.values = {name: [v[i] for i in rows] for name, v in self.values.items()}
        self.suppress = float(rng.choice([0.0, 0.0, 0.1]))
        self.output = str(rng.choice(["interval", "center"]))
        self.rng = rng

    def _quasi(self, rng: np.random.Generator, name: str) -> None:
        missing = str(rng.choice(["own", "drop"]))
        if rng.random() < 0.6:
            low = float(rng.integers(-5, 5))
            high = low + float(rng.choice([1, 10, 37.5]))
            steps = int(rng.choice([1, 4, 10, 64]))
            self.columns[name] = {"bounds": [low, high]}
            draws = (
                rng.normal((low + high) / 2, high - low, self.n)
                if rng.random() < 0.5
                else rng.uniform(low, high, self.n)
            )
            values = [float(v) for v in (np.round(draws) if rng.random() < 0.5 else draws)]
            self.grid[name] = steps
            self.edges[name] = {low + (high - low) * i / steps for i in range(steps)} | {high}
        else:
            self.columns[name] = {"categories": LETTERS}
            values = [str(v) for v in rng.choice(LETTERS, self.n, p=rng.dirichlet([0.7] * 8))]
            tree = rng.choice(3)
            if tree:
                self.trees[name] = GROUPS if tree == 1 else "merge"
        self.columns[name].update(role="quasi-identifier", missing=missing)
        if rng.random() < 0.4:
            values = [None if gone else v for v, gone in zip(values, rng.random(self.n) < 0.2, strict=True)]
        self.values[name] = values

    def _sensitive(self, rng: np.random.Generator, name: str) -> None:
        if rng.random() < 0.5:
            self.columns[name] = {"categories": LETTERS}
            values: list[Any] = [str(v) for v in rng.choice(LETTERS[: rng.integers(1, 5)], self.n)]
        else:
            self.columns[name] = {"bounds": [0, 9]}
            values = [float(v) for v in rng.integers(0, 5, self.n)]
        if rng.random() < 0.3:
            values = [None if gone else v for v, gone in zip(values, rng.random(self.n) < 0.2, strict=True)]
        self.columns[name]["role"] = "sensitive"
        self.values[name] = values

    def table(self, rows: Any = slice(None)) -> pa.Table:
        columns = {}
        for name, values in self.values.items():
            kind = pa.string() if "categories" in self.columns[name] else pa.float64()
            columns[name] = pa.array(np.array(values, object)[rows], kind, from_pandas=True)
        return pa.table(columns)

    def method(self) -> Any:
        shared = {
            **self.rules,
            "domain": Domain(self.columns),
            "grid": self.grid,
            "hierarchies": self.trees,
            "suppress": self.suppress,
        }
        draw = self.rng.random()
        if draw < 0.15:
            return Mondrian(**shared)
        if draw < 0.25 and not any(name[0] == "q" for name in self.trees):
            return Mondrian(**{**shared, "suppress": 0.0}, mode="relaxed")
        pruning = "folds" if self.rng.random() < 0.1 else None
        min_share = float(self.rng.choice([0.0, 0.02]))
        return DensityTree(
            **shared,
            criterion=str(self.rng.choice(CRITERIA)),
            min_share=min_share,
            pruning=pruning,
            random_state=0,
        )

    def t_kinds(self) -> dict[str, str]:
        kind = self.rules.get("t_kind", "auto")
        auto = {n: "ordered" if "bounds" in c else "equal" for n, c in self.columns.items()}
        return {n: auto[n] if kind == "auto" else kind for n in self.columns if n[0] == "s"}

    def whole_is_bad(self, values: dict[str, list[Any]]) -> bool:
        n = len(next(iter(values.values())))
        sensitive = {name: v for name, v in values.items() if name[0] == "s"}
        return n < self.rules["k"] or bool(self.wrong([0] * n, sensitive))

    def wrong(self, keys: Any, sensitive: dict[str, Any]) -> list[str]:
        return check_classes(
            keys,
            sensitive,
            k=self.rules["k"],
            l=self.rules.get("l_diversity"),
            l_kind=self.rules.get("l_kind", "distinct"),
            c=self.rules.get("c", 3.0),
            t=self.rules.get("t_closeness"),
            t_kinds=self.t_kinds(),
            trees=dict.fromkeys(sensitive, NESTED),
        )


def kept_values(case: Case, rows: Any) -> dict[str, list[Any]]:
    """The rows that have a value in every column that drops rows without one; categories are all declared."""
    drop = [n for n, c in case.columns.items() if c.get("missing") == "drop" and n[0] == "q"]
    kept = [i for i in rows if all(case.values[n][i] is not None for n in drop)]
    return {name: [v[i] for i in kept] for name, v in case.values.items()}


def check_release(case: Case, release: Any, rows: list[int]) -> None:
    table = release.table.to_pydict()
    quasi = [name for name in table if name[0] == "q"]
    secret = {name: v for name, v in table.items() if name[0] == "s"}
    # The rows that look alike: here by their bounds, for relaxed Mondrian by the groups.
    keys: list[Any] = list(zip(*[table[name] for name in quasi], strict=True))
    if case.output == "center":
        keys = [tuple(str(v) for v in row.values()) for row in release.bounds.to_pylist()]
    assert case.wrong(keys, secret) == []
    # No row is lost silently.
    assert len(release) + release.suppressed + release.dropped == len(rows)
    assert release.suppressed <= case.suppress * (len(rows) - release.dropped) + 1e-9
    assert release.dropped == len(rows) - len(next(iter(kept_values(case, rows).values())))
    assert release.guarantee.parameters["reached"]["k"] <= min(Counter(keys).values())
    # Every bound is a public grid point, and every record lies in its own cell.
    bounds = release.bounds.to_pylist()
    source = [rows[i] for i in _input_rows(case, rows, release)]
    for name in quasi:
        for bound, i in zip(bounds, source, strict=True):
            value = case.values[name][i]
            if value is None:
                assert bound[f"{name}_may_be_missing"]
            elif name in case.edges:
                low, high = bound[f"{name}_lower"], bound[f"{name}_upper"]
                assert {low, high} <= case.edges[name]
                inside = min(max(value, min(case.edges[name])), max(case.edges[name]))
                assert low <= inside < high or (inside == high == max(case.edges[name]))
            else:
                assert value in bound[f"{name}_set"]
        if case.trees.get(name) is GROUPS:
            for members in {tuple(b[f"{name}_set"]) for b in bounds}:
                assert not members or is_union_of_siblings(set(members), NESTED)


def _input_rows(case: Case, rows: list[int], release: Any) -> list[int]:
    drop = [n for n, c in case.columns.items() if c.get("missing") == "drop" and n[0] == "q"]
    kept = [p for p, i in enumerate(rows) if all(case.values[n][i] is not None for n in drop)]
    return [kept[p] for p in release.rows]


@pytest.mark.parametrize("block", range(10))
def test_a_thousand_tables_keep_the_rules(block: int) -> None:
    released = refused = 0
    for seed in range(100 * block, 100 * block + 100):
        case = Case(seed)
        method = case.method()
        everyone = list(range(case.n))
        build = everyone
        if seed % 3 == 0 and getattr(method, "mode", "strict") == "strict":  # later records
            build = [i for i in everyone if i % 2]
        later = everyone if build is everyone else [i for i in everyone if not i % 2]
        try:
            if build is everyone:
                release = method.fit_transform(case.table(), output=case.output)
            else:
                release = method.fit(case.table(build)).transform(case.table(later), output=case.output)
        except (InvalidArgument, SchemaError):
            release = None
        if release is None:
            refused += 1
            assert _has_reason(case, build, later), seed
        else:
            released += 1
            check_release(case, release, later)
    assert released > 50
    assert refused > 0


def _has_reason(case: Case, build: list[int], later: list[int]) -> bool:
    """A refusal is right only if the records as a whole break the rules, or a column has no value at all."""
    for rows in (build, later):
        if any(all(case.values[n][i] is None for i in rows) for n in case.columns if n[0] == "q"):
            return True
        if case.whole_is_bad(kept_values(case, rows)):
            return True
    return False


# --- growth against a slow reference ------------------------------------------------------------------------------


def slow_tree(
    bins: Any, steps: list[int], k: int, criterion: str, min_share: float, rules: Any = None
) -> list[tuple[int, int]]:
    """Grow on columns of equal steps, from the formulas of the specification: column and cut of every node."""
    d = len(steps)
    x = [[int(v) for v in column] for column in bins]
    nodes: list[tuple[int, int]] = []
    stack = [(list(range(len(x[0]))), [0] * d, [s - 1 for s in steps])]
    while stack:
        rows, first, last = stack.pop()
        best: tuple[float, int, int] | None = None
        offers = list(slow_cuts(x, steps, rows, first, last, k, criterion, min_share))
        if criterion == "mondrian":
            widths = [Fraction(max(x[j][i] for i in rows) - min(x[j][i] for i in rows), steps[j]) for j in range(d)]
            offers.sort(key=lambda offer: (-widths[offer[1]], offer[1], offer[2]))
        for gain, j, cut in offers:
            if best is not None and criterion == "mondrian" and j != best[1]:
                break
            if best is None or gain > best[0] + 1e-12 * abs(best[0]):
                sides = [[i for i in rows if (x[j][i] < cut) == left] for left in (True, False)]
                if rules is None or all(rules(side) for side in sides):
                    best = (gain, j, cut)
        if best is None or len(rows) < 2 * k:
            nodes.append((-1, -1))
            continue
        _, j, cut = best
        nodes.append((j, cut))
        right = ([i for i in rows if x[j][i] >= cut], first[:j] + [cut] + first[j + 1 :], last)
        left = ([i for i in rows if x[j][i] < cut], first, last[:j] + [cut - 1] + last[j + 1 :])
        stack += [right, left]
    return nodes


def slow_cuts(
    x: Any, steps: list[int], rows: list[int], first: Any, last: Any, k: int, criterion: str, min_share: float
) -> Any:
    for j in range(len(steps)):
        occupied = sorted({x[j][i] for i in rows})
        for before, after in itertools.pairwise(occupied):
            cut = (before + 1 + after) // 2
            left = [i for i in rows if x[j][i] < cut]
            right = [i for i in rows if x[j][i] >= cut]
            share = Fraction(cut - first[j], last[j] + 1 - first[j])
            if len(left) < k or len(right) < k or not min_share <= share <= 1 - min_share:
                continue
            yield slow_gain(x, steps, rows, left, right, share, criterion), j, cut


def slow_gain(x: Any, steps: list[int], rows: Any, left: Any, right: Any, share: Any, criterion: str) -> Any:
    c, a, b = len(rows), len(left), len(right)
    if criterion == "cell":
        return a * a / share + b * b / (1 - share) - c * c
    if criterion == "mondrian":
        return -abs(a - c / 2)
    if criterion == "tight":
        volumes = []
        for side in (left, right):
            sides = [max(max(x[m][i] for i in side) - min(x[m][i] for i in side), 1) / s for m, s in enumerate(steps)]
            volumes.append(float(np.prod(sides)))
        return a * a / volumes[0] + b * b / volumes[1]
    total = 0.0
    for m, s in enumerate(steps):  # the drop of the sum of squares, by its definition
        for sign, part in ((1, rows), (-1, left), (-1, right)):
            values = np.array([x[m][i] / s for i in part])
            total += sign * float(((values - values.mean()) ** 2).sum())
    return total


@pytest.mark.parametrize("criterion", ["cell", "tight", "mondrian", "spread"])
def test_growth_equals_the_slow_reference(criterion: str) -> None:
    rng = np.random.default_rng(5)
    for trial in range(24):
        n, d, k = int(rng.integers(4, 200)), int(rng.integers(1, 4)), int(rng.integers(2, 9))
        steps = [int(s) for s in rng.integers(2, 40, d)]
        bins = np.stack([np.floor(rng.beta(2, 5, n) * s) for s in steps]).astype(np.uint16)
        grids = [make_grid(Numeric(f"x{j}", 0, 1), s) for j, s in enumerate(steps)]
        share = 0.02 if trial % 2 else 0.0
        codes = rng.integers(0, 3, n).astype(np.int32)
        column = CodedColumn("s", codes, ["a", "b", "c"], False)
        rules = Rules(k, l_diversity=2, t_closeness=0.4) if trial % 3 == 0 and n >= k else Rules(k)
        ok = (lambda rows, r=rules, s=column: r.ok(rows, [s])) if rules.l_on else None
        grown = grow_tree(
            bins,
            grids,
            rules.limits([column]),
            criterion=criterion,
            sensitive=codes[None].astype(np.int64),
            min_share=share,
            max_depth=10**6,
        )
        found = list(zip(grown.tree.column.tolist(), grown.tree.cut.tolist(), strict=True))
        assert found == slow_tree(bins, steps, k, criterion, share, ok)
        assert (grown.tree.route(bins) == grown.leaf).all()


def test_identities_of_the_cell_gain() -> None:
    """I1 to I3 (spec 2.9), from the definitions and from the two-cell χ² computed apart."""
    rng = np.random.default_rng(6)
    n = rng.integers(2, 1000, 20_000)
    left = rng.integers(0, n + 1)
    share = rng.uniform(0.001, 0.999, len(n))
    volume = rng.uniform(0.01, 1, len(n))
    total = n * rng.uniform(1, 9, len(n))
    gain = np.array([cell_gain(int(c), int(a), float(r)) for c, a, r in zip(n, left, share, strict=True)])
    right = n - left
    squares = left**2 / share + right**2 / (1 - share)
    assert np.abs(gain - (squares - n.astype(float) ** 2)).max() <= 1e-9 * squares.max()
    drop = (
        -((n / total) ** 2) / volume
        + (left / total) ** 2 / (share * volume)
        + (right / total) ** 2 / (1 - share) / volume
    )
    np.testing.assert_allclose(gain / (total**2 * volume), drop, atol=1e-9 * drop.max())
    chi = (left - share * n) ** 2 / (share * n) + (right - (1 - share) * n) ** 2 / ((1 - share) * n)
    np.testing.assert_allclose(gain, n * chi, rtol=1e-9)


def blobs(n: int, d: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(size=(n, d)) * 0.1 + 0.3 + 0.4 * rng.integers(0, 2, size=(n, 1)), 0, 1)


@pytest.mark.parametrize("criterion", [*CRITERIA, "label"])
def test_threads_change_nothing(criterion: str) -> None:
    X = blobs(20_000, 3)
    grids = [make_grid(Numeric(f"x{j}", 0, 1), 64) for j in range(3)]
    bins = np.stack([g.bins(X[:, j]) for j, g in enumerate(grids)]).astype(np.uint16)
    target = CodedColumn("y", (X[:, 0] > 0.5).astype(np.int32), [0, 1], False)
    one, two = (
        grow_tree(bins, grids, Rules(7).limits([]), criterion=criterion, target=target, threads=t)
        for t in (False, True)
    )
    for a, b in zip(
        (one.tree.column, one.tree.cut, one.tree.right, one.counts),
        (two.tree.column, two.tree.cut, two.tree.right, two.counts),
        strict=True,
    ):
        assert np.array_equal(a, b)
    assert np.array_equal(one.leaf, two.leaf)
    assert one.counts[one.tree.leaves].min() >= 7
    assert one.counts[one.tree.leaves].sum() == len(X)
    assert one.tree.volumes()[one.tree.leaves].sum() == pytest.approx(1.0)


FEW_POINTS = np.sort(np.random.default_rng(3).random(50)).tolist()


@pytest.mark.parametrize(
    ("n", "d", "grid", "k", "missing"),
    [
        (20_000, 5, None, 5, "drop"),
        (6_000, 5, 1024, 3, "drop"),
        (6_000, 9, 300, 40, "own"),
        (6_000, 3, FEW_POINTS, 5, "own"),
        (3_000, 24, 8192, 5, "drop"),  # more nodes wait than there is room for histograms
        (3_000, 2, 30_000, 2, "drop"),
        (63, 4, 5000, 2, "own"),
    ],
)
def test_counting_grows_what_the_general_search_grows(
    n: int, d: int, grid: Any, k: int, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = blobs(n, d, seed=n + d)
    X[:, -1] = np.round(X[:, -1], 1)
    X[np.random.default_rng(1).random(X.shape) < 0.02] = np.nan if missing == "own" else 0.5
    domain = Domain({f"x{j}": {"bounds": [0, 1], "missing": missing} for j in range(d)})
    found = []
    for most in (grow.MOST_COUNTERS, 0):
        monkeypatch.setattr(grow, "MOST_COUNTERS", most)
        model = DensityTree(k, domain=domain, grid=grid, criterion="cell")
        _, leaf = model._fit(X)
        found.append((model.tree_.to_dict(), leaf.tolist(), model.leaf_counts_.tolist()))
    assert found[0] == found[1]
    assert len(found[0][2]) > 2


def test_bins_agree_with_the_printed_edges() -> None:
    rng = np.random.default_rng(2)
    for low, high, steps in ((0, 1, 10), (-3, 0.7, 129), (1e9, 1e9 + 1, 1000), (0, 120, None), (0, 1, FEW_POINTS)):
        grid = make_grid(Numeric("x", low, high), steps)
        edges = np.array(grid.edges)
        near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        x = np.concatenate([near, rng.uniform(low - 1, high + 1, 500), [np.inf, -np.inf, 1e300, np.nan]])
        expected = [sum(e <= v for e in grid.edges[1:-1]) for v in x[:-1]]
        assert grid.bins(x).tolist() == [*expected, -1]
        own = make_grid(Numeric("x", low, high, missing="own"), steps)
        assert own.bins(x[::-1]).tolist() == [own.levels, *expected[::-1]]


def test_cell_mode_does_not_see_units() -> None:
    X = blobs(500, 3)
    scale, shift = np.array([10.0, 0.25, 4.0]), np.array([3.0, -1.0, 0.5])
    plain = DensityTree(k=5, domain=Domain.box(0, [1, 1, 1]), grid=64, criterion="cell").fit(X)
    other = DensityTree(k=5, domain=Domain.box(shift, shift + scale), grid=64, criterion="cell").fit(X * scale + shift)
    assert np.array_equal(plain.tree_.column, other.tree_.column)
    assert np.array_equal(plain.tree_.cut, other.tree_.cut)


# --- the frozen tree ----------------------------------------------------------------------------------------------


def random_tree(rng: np.random.Generator, inner: int, steps: int = 16, d: int = 2) -> Tree:
    """A random tree with so many cuts on columns of equal steps."""
    column, cut = [], []
    budget = inner
    stack = [([0] * d, [steps - 1] * d)]
    while stack:
        first, last = stack.pop()
        wide = [j for j in range(d) if first[j] < last[j]]
        if budget and wide and (rng.random() < 0.75 or not stack):
            budget -= 1
            j = int(rng.choice(wide))
            at = int(rng.integers(first[j] + 1, last[j] + 1))
            column.append(j)
            cut.append(at)
            stack.append((first[:j] + [at] + first[j + 1 :], last))
            stack.append((first, last[:j] + [at - 1] + last[j + 1 :]))
        else:
            column.append(-1)
            cut.append(-1)
    grids = [make_grid(Numeric(f"x{j}", 0, 1), steps) for j in range(d)]
    facts = Tree(tuple(grids), np.array([-1]), np.array([-1]), np.array([-1]), np.array([-1])).to_dict()
    named = [None if c < 0 else "spread" for c in column]
    return Tree.from_dict({**facts, "column": column, "cut": cut, "criterion": named})


def frontiers(tree: Tree, node: int = 0) -> Any:
    """Every set of nodes that covers all leaves once."""
    yield (node,)
    if tree.column[node] >= 0:
        for a in frontiers(tree, node + 1):
            for b in frontiers(tree, int(tree.right[node])):
                yield a + b


def test_enforcement_finds_the_one_finest_frontier() -> None:
    rng = np.random.default_rng(7)
    finer = 0
    for _ in range(150):
        tree = random_tree(rng, int(rng.integers(1, 6)))
        n, k = int(rng.integers(4, 30)), int(rng.integers(2, 6))
        leaf = rng.choice(tree.leaves, n, p=rng.dirichlet(np.full(tree.n_leaves, 0.6)))
        column = CodedColumn("s", rng.integers(0, 3, n).astype(np.int32), ["a", "b", "c"], False)
        rules = Rules(k, l_diversity=2, t_closeness=0.6)
        under = [np.flatnonzero((leaf >= t) & (leaf < tree.ends[t])) for t in range(tree.n_nodes)]
        good = [len(rows) == 0 or rules.ok(rows, [column]) for rows in under]
        # Frontiers that can be reached by splitting nodes into children that are empty or ok.
        valid = [set(f) for f in frontiers(tree) if all(good[t] for t in f)]
        if not good[0] or not len(under[0]):
            with pytest.raises(InvalidArgument):
                enforce(tree, leaf, rules, [column])
            continue
        found = enforce(tree, leaf, rules, [column])
        shown = {int(t) for t in np.unique(found.node)}
        finest = max(valid, key=lambda f: sum(len(under[t]) > 0 for t in f))
        assert shown == {t for t in finest if len(under[t])} or len(shown) == sum(len(under[t]) > 0 for t in finest)
        assert all(good[t] for t in shown)
        # It refines every other: each of its cells lies inside a cell of any valid frontier.
        for other in valid:
            for t in shown:
                assert any(u <= t < tree.ends[u] for u in other) or any(
                    np.array_equal(under[t], under[u]) for u in other
                )
        finer += len(shown) > 1
    assert finer > 20


def test_after_suppression_closeness_is_judged_anew() -> None:
    """What is left out changes the distribution that the others are compared with (spec 9.4.4)."""
    rng = np.random.default_rng(10)
    suppressed = 0
    for _ in range(300):
        tree = random_tree(rng, 5)
        n = 60
        leaf = rng.choice(tree.leaves, n, p=rng.dirichlet(np.full(tree.n_leaves, 0.8)))
        # The value follows the leaf, so that leaving leaves out shifts the whole.
        codes = ((leaf % 2 + (rng.random(n) < 0.4)) % 2).astype(np.int32)
        found = enforce(
            tree, leaf, Rules(6, t_closeness=0.2), [CodedColumn("s", codes, ["a", "b"], False)], suppress=0.3
        )
        kept = found.node >= 0
        values = {"s": codes[kept].tolist()}
        assert check_classes(found.node[kept].tolist(), values, k=6, t=0.2, t_kinds={"s": "equal"}) == []
        assert found.suppressed == (~kept).sum() <= 18
        suppressed += found.suppressed > 0
    assert suppressed > 50


def test_a_tree_survives_its_dict_and_a_damaged_one_is_refused() -> None:
    tree = DensityTree(k=5, domain=Domain.box(0, [1, 1]), grid=64).fit(blobs(200, 2)).tree_
    facts = json.loads(json.dumps(tree.to_dict()))
    again = Tree.from_dict(facts)
    for name in ("column", "cut", "right", "criterion"):
        assert np.array_equal(getattr(again, name), getattr(tree, name))
    assert again.grids == tree.grids
    numbers = {int(v) for v in tree.column} | {int(v) for v in tree.cut}
    assert all(int(v) in numbers for v in facts["column"] + facts["cut"])  # cuts only: no counts of records
    cut = list(facts["cut"])
    cut[0] = 10**6
    for damage in (
        {"column": facts["column"][:-1]},
        {"column": [0] * len(facts["column"])},
        {"column": []},
        {"cut": cut},
        {"columns": facts["columns"][:1]},
        {"criterion": ["best"] * len(cut)},
        {"format": "other"},
        {"format_version": 9},
    ):
        with pytest.raises(FormatError):
            Tree.from_dict({**facts, **damage})
    with pytest.raises(FormatError):
        Tree.from_dict([])


def test_a_chain_of_a_hundred_thousand_cuts() -> None:
    steps, d = 2**15, 4
    inner = 100_000
    column = np.full(2 * inner + 1, -1)
    cut = np.full(2 * inner + 1, -1)
    # Every right child is cut again: the left children are leaves.
    column[0:-1:2] = np.arange(inner) % d
    cut[0:-1:2] = np.arange(inner) // d + 1
    grids = [make_grid(Numeric(f"x{j}", 0, 1), steps) for j in range(d)]
    facts = Tree(tuple(grids), np.array([-1]), np.array([-1]), np.array([-1]), np.array([-1])).to_dict()
    tree = Tree.from_dict({**facts, "column": column.tolist(), "cut": cut.tolist(), "criterion": [None] * len(column)})
    assert tree.depth == inner
    assert tree.n_leaves == inner + 1
    bins = np.full((d, 3), [0, 1000, steps - 1], np.uint16)
    leaf = tree.route(bins)
    assert leaf.tolist() == [1, 2 * 4000 + 1, 2 * inner]
    assert enforce(tree, np.repeat(leaf, 2), Rules(2), []).node.tolist() == np.repeat(leaf, 2).tolist()
    assert enforce(tree, leaf, Rules(2), []).merged == 3
    assert tree.collapsed(np.arange(tree.n_nodes) >= 10).n_leaves == 6


def test_growth_of_a_chain_needs_no_recursion() -> None:
    # Ever rarer values: each cut parts off the densest end.
    x = np.concatenate([np.full(2, i) for i in range(3000)]).astype(np.uint16)
    grid = make_grid(Numeric("x", 0, 1), 4000)
    grown = grow_tree(x[None], [grid], Rules(2).limits([]), criterion="cell", min_share=0.0, max_depth=10**6)
    assert grown.tree.n_leaves == 3000
    assert grow_tree(x[None], [grid], Rules(2).limits([]), criterion="cell", max_depth=5).tree.depth == 5


# --- releases -----------------------------------------------------------------------------------------------------

DOMAIN = Domain(
    {
        "age": {"bounds": [0, 120], "role": "quasi-identifier", "missing": "own"},
        "job": {"categories": LETTERS, "role": "quasi-identifier"},
        "ill": {"categories": ["no", "yes"], "role": "sensitive"},
    }
)


def people(n: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = pa.array(rng.normal(40, 10, n).round(), mask=rng.random(n) < 0.1)
    return pa.table({"age": age, "job": rng.choice(LETTERS, n), "ill": rng.choice(["no", "yes"], n)})


def test_missing_values_have_their_own_branch() -> None:
    table = people(400)
    release = DensityTree(k=5, domain=DOMAIN).fit_transform(table, order="input")
    shown = release.table["age"].to_pylist()
    assert "missing" in shown
    for text, age in zip(shown, table["age"].to_pylist(), strict=True):
        assert age is not None or "missing" in text
    wide = DensityTree(k=400, domain=DOMAIN).fit_transform(table)
    assert set(wide.table["age"].to_pylist()) == {"[0, 120] or missing"}


def test_a_later_release_is_checked_again_and_says_what_was_merged() -> None:
    tree = DensityTree(k=5, domain=DOMAIN).fit(people(1000))
    release = tree.transform(people(60, 1))
    assert release.guarantee.parameters["leaves_merged"] > 0
    assert release.guarantee.parameters["reached"]["k"] >= 5
    assert release.suppressed == 0
    fewer = clone(tree).set_params(suppress=0.2).fit(people(1000)).transform(people(300, 1))
    assert 0 < fewer.suppressed <= 60
    assert len(fewer) + fewer.suppressed == 300
    assert fewer.cells.n_cells > tree.transform(people(300, 1)).cells.n_cells
    with pytest.raises(InvalidArgument, match="number of records in the release"):
        tree.transform(people(4, 1))


NAMED = Domain({**DOMAIN.to_dict(), "name": {"categories": ["x"], "role": "identifier"}})


def named(n: int, seed: int) -> pa.Table:
    return people(n, seed).append_column("name", pa.array([f"p{i}" for i in range(n)]))


def test_what_was_added_hides_among_itself() -> None:
    """Subtracting two cumulative releases isolates nobody (spec 9.7.4)."""
    everyone = named(600, 2)
    method = DensityTree(k=5, domain=NAMED).fit(everyone.slice(0, 500))
    old = everyone.slice(0, 500)
    first = method.transform(old)

    def grown_by_few(cells: Any) -> int:
        """Cells to which fewer than five of the new people came."""
        added = Counter(cells.cells.of[500:].tolist())
        return sum(0 < n < 5 for n in added.values())

    assert grown_by_few(method.transform(everyone)) > 0
    safe = method.transform(everyone, previous=first)
    assert grown_by_few(safe) == 0
    assert safe.cells.n_cells > 1
    same = method.transform(old, previous=first)
    assert same.cells.n_cells == first.cells.n_cells
    with pytest.raises(InvalidArgument, match="3 records added"):
        method.transform(everyone.slice(0, 503), previous=first)
    with pytest.raises(InvalidArgument, match="2 records removed"):
        method.transform(old.slice(2), previous=first)


def test_identifiers_tell_who_was_added() -> None:
    old = named(200, 3)
    method = DensityTree(k=5, domain=NAMED).fit(old)
    # One person leaves and another with the same values comes: by values alone nothing would have changed.
    names = [f"p{i}" for i in range(199)] + ["somebody else"]
    new = old.set_column(old.column_names.index("name"), "name", pa.array(names))
    with pytest.raises(InvalidArgument, match="1 records removed"):
        method.transform(new, previous=method.transform(old))


def test_equal_inputs_give_equal_files() -> None:
    method = DensityTree(k=5, domain=DOMAIN, criterion="mixture")
    one, two = (method.fit_transform(people(300), order="input") for _ in range(2))
    assert one.table.equals(two.table)
    assert one.guarantee == two.guarantee


def test_a_mixture_says_what_cut_each_node() -> None:
    rng = np.random.default_rng(8)
    angle = rng.uniform(0, 2 * np.pi, 4000)
    ring = np.column_stack([0.5 + 0.3 * np.cos(angle), 0.5 + 0.3 * np.sin(angle)]) + rng.normal(0, 0.01, (4000, 2))
    method = DensityTree(k=10, domain=Domain.box(0, [1, 1]), grid=64, criterion="mixture").fit(ring)
    assert set(method.tree_.criteria()) == {"cell", "spread"}
    assert sum(method.tree_.criteria().values()) == method.tree_.n_leaves - 1


def test_supervised_cuts_follow_the_label() -> None:
    rng = np.random.default_rng(9)
    X = rng.uniform(0, 1, (1500, 4))
    label = np.where(X[:, 3] > 0.62, "b", "a")  # one column tells the label, all spread alike
    table = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": label})
    domain = Domain({**{f"x{j}": (0, 1) for j in range(4)}, "y": ["a", "b"]})

    def impurity(**settings: Any) -> float:
        release = DensityTree(k=50, domain=domain, target="y", grid=100, **settings).fit_transform(table)
        cells = release.cells.of
        wrong = sum(
            min(Counter(label[cells == e]).values(), default=0)
            for e in range(release.cells.n_cells)
            if len(set(label[cells == e])) > 1
        )
        return wrong / len(label)

    assert impurity(supervised=True) < 0.02 < impurity()
    with pytest.raises(InvalidArgument, match="target"):
        DensityTree(k=5, domain=Domain.box(0, 1), supervised=True).fit(X[:, :1])


def test_looking_ahead_finds_the_cut_that_tells_nothing_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    X = rng.uniform(0, 1, (1200, 3))
    label = np.where((X[:, 1] > 0.5) != (X[:, 2] > 0.5), "b", "a")  # neither column tells it alone
    table = pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "y": label})
    domain = Domain({**{f"x{j}": (0, 1) for j in range(3)}, "y": ["a", "b"]})
    model = DensityTree(k=60, domain=domain, target="y", grid=64, supervised=True)
    release = model.fit_transform(table)
    assert model.ahead_ > 0
    assert model.tree_.column[0] in (1, 2)
    assert release.guarantee.parameters["levels_ahead"] == model.ahead_
    read, tiers = model._read(table)
    limits = model.rules_.limits(read.sensitive)

    def wrong(leaf: Any) -> float:
        ones = np.bincount(leaf, weights=label == "b")
        return float(np.minimum(ones, np.bincount(leaf) - ones).sum()) / len(label)

    plain = grow_tree(read.bins, read.plan.grids, limits, criterion="label", target=read.target, tiers=tiers)
    assert wrong(release.cells.of) < 0.6 * wrong(plain.leaf)
    monkeypatch.setattr(
        "discreet.anonymity.growth.lookahead._MOST_WORK", 1200
    )  # a table too large for it is grown plainly
    assert model.fit(table).ahead_ == 0


def test_looking_ahead_keeps_the_rules_in_every_cell_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.anonymity.methods.density_tree.choose_growth", lambda *_: GrowthChoice(0.75, 3))
    grown = 0
    for seed in range(2000, 2080):
        case = Case(seed)
        label = pa.array(["ab"[i % 2] for i in range(case.n)])
        domain = Domain({**case.columns, "y": {"categories": ["a", "b"], "role": "target"}})
        shared = {"domain": domain, "grid": case.grid, "hierarchies": case.trees, "suppress": case.suppress}
        method = DensityTree(**case.rules, **shared, supervised=True)
        try:
            release = method.fit_transform(case.table().append_column("y", label), output=case.output)
        except (InvalidArgument, SchemaError):
            continue
        check_release(case, release, list(range(case.n)))
        assert release.guarantee.parameters["leaves_merged"] == 0  # growth kept them, not the check that follows
        grown += method.tree_.n_leaves > 2
    assert grown > 20


def test_relaxed_mondrian_halves_and_cannot_route() -> None:
    data = pa.table({"age": np.repeat([30.0, 40.0, 50.0], [10, 30, 10])})
    domain = Domain({"age": (0, 120)})
    strict = Mondrian(k=5, domain=domain).fit_transform(data)
    relaxed = Mondrian(k=5, domain=domain, mode="relaxed").fit_transform(data)
    assert sorted(Counter(strict.cells.of).values()) == [10, 10, 30]
    assert max(Counter(relaxed.cells.of).values()) < 2 * 25
    assert min(Counter(relaxed.cells.of).values()) >= 5
    method = Mondrian(k=5, domain=domain, mode="relaxed")
    for call in (method.fit, method.transform):
        with pytest.raises(InvalidArgument, match="overlapping"):
            call(data)


def test_hierarchies_order_and_restrict_the_cuts() -> None:
    release = DensityTree(k=5, domain=DOMAIN, hierarchies={"job": Hierarchy(GROUPS)}).fit_transform(people(500))
    sets = {tuple(b["job_set"]) for b in release.bounds.to_pylist()}
    assert len(sets) > 2
    assert all(is_union_of_siblings(set(s), NESTED) for s in sets)
    merged = DensityTree(k=5, domain=DOMAIN, hierarchies={"job": "merge"}).fit(people(500))
    assert merged.hierarchies_["job"].categories != tuple(LETTERS)
    assert merged.transform(people(500)).guarantee.assumptions[-1].startswith("the categories of 'job' were grouped")


def bad_calls() -> list[tuple[str, Any, str]]:
    table = people(30)
    nothing = pa.table({**table.to_pydict(), "age": pa.nulls(30, pa.float64())})
    no_job = pa.table({**table.to_pydict(), "job": pa.nulls(30, pa.string())})
    short = {"x": ["a", "b"]}
    return [
        ("k below 2", lambda: DensityTree(k=1, domain=DOMAIN).fit(table), "k must be"),
        ("k above n", lambda: DensityTree(k=31, domain=DOMAIN).fit(table), r"number of records in the release \(30\)"),
        ("no domain", lambda: DensityTree(k=3).fit(table), "domain must be"),
        ("both roles", lambda: DensityTree(k=3, domain=DOMAIN, sensitive="age").fit(table), "not a quasi-identifier"),
        ("unknown column", lambda: DensityTree(k=3, domain=DOMAIN, sensitive="income").fit(table), "declared column"),
        ("column not in the data", lambda: DensityTree(k=3, domain=DOMAIN).fit(table.drop(["job"])), "'job'"),
        ("hierarchy misses a value", lambda: _tree(short).fit(table), "misses the category 'c'"),
        (
            "hierarchy of a number",
            lambda: DensityTree(k=3, domain=DOMAIN, hierarchies={"age": GROUPS}).fit(table),
            "grid",
        ),
        (
            "hierarchy of nothing",
            lambda: DensityTree(k=3, domain=DOMAIN, hierarchies={"x": GROUPS}).fit(table),
            "hierarch",
        ),
        ("hierarchy as text", lambda: DensityTree(k=3, domain=DOMAIN, hierarchies={"job": "x"}).fit(table), "merge"),
        ("all missing, own branch", lambda: DensityTree(k=3, domain=DOMAIN).fit(nothing), "'age' has no value"),
        ("all missing, dropped", lambda: DensityTree(k=3, domain=DOMAIN).fit(no_job), "'job' has no value"),
        ("too diverse", lambda: DensityTree(k=3, l_diversity=3, domain=DOMAIN).fit(table), r"whole table \(it is 2\)"),
        (
            "l without sensitive",
            lambda: DensityTree(2, 2, domain=Domain({"age": (0, 9)})).fit(table),
            "sensitive column",
        ),
        ("criterion", lambda: DensityTree(k=3, domain=DOMAIN, criterion="best").fit(table), "criterion must be"),
        ("min_share", lambda: DensityTree(k=3, domain=DOMAIN, min_share=2).fit(table), "min_share"),
        ("pruning", lambda: DensityTree(k=3, domain=DOMAIN, pruning="yes").fit(table), "pruning"),
        ("suppress", lambda: DensityTree(k=3, domain=DOMAIN, suppress=-1).fit(table), "suppress"),
        ("mode", lambda: Mondrian(k=3, domain=DOMAIN, mode="lax").fit(table), "mode must be"),
        ("output", lambda: DensityTree(k=3, domain=DOMAIN).fit_transform(table, output="rows"), "output must be"),
    ]


def _tree(groups: Any) -> DensityTree:
    return DensityTree(k=3, domain=DOMAIN, hierarchies={"job": groups})


@pytest.mark.parametrize(("name", "call", "match"), [pytest.param(*c, id=c[0]) for c in bad_calls()])
def test_bad_input_is_refused_with_its_reason(name: str, call: Any, match: str) -> None:
    with pytest.raises(DiscreetError, match=match):
        call()


def test_k_near_n_gives_one_cell() -> None:
    table = people(30)
    for k in (16, 30):
        release = DensityTree(k=k, domain=DOMAIN).fit_transform(table)
        assert release.cells.n_cells == 1
        assert release.guarantee.parameters["reached"]["k"] == 30


def test_estimators_clone_and_keep_their_parameters() -> None:
    tree = DensityTree(3, 2, 0.5, domain=DOMAIN, criterion="tight", keep=["x"])
    assert clone(tree).get_params() == tree.get_params()
    assert DensityTree(
        k=10, l_diversity=None, t_closeness=None, domain=DOMAIN, sensitive=None, grid=None, criterion="spread"
    )
    assert clone(Mondrian(k=4, mode="relaxed")).mode == "relaxed"


def test_density_integrates_to_one_and_scores_higher_where_it_fits() -> None:
    X = blobs(3000, 2)
    domain = Domain.box(0, [1, 1])
    fitted = DensityTree(k=40, domain=domain, grid=128, criterion="cell").fit(X)
    grid = (np.stack(np.meshgrid(*[np.arange(256)] * 2), -1).reshape(-1, 2) + 0.5) / 256
    assert fitted.density(grid).mean() == pytest.approx(1.0)
    flat = DensityTree(k=3000, domain=domain).fit(X)
    assert fitted.score(blobs(3000, 2, 1)) > flat.score(blobs(3000, 2, 1)) == pytest.approx(1.0)
