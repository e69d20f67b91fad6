"""Partitions that keep k, l and t: the frozen tree, what its later releases may show, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import discreet as dc
from anonymity_checker import check_classes, is_union_of_siblings
from discreet.anonymity.growth.frontier import enforce
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.growth.grow import grow_tree
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.methods.density_tree import DensityTree
from discreet.anonymity.methods.mondrian import Mondrian
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.hierarchy import Hierarchy
from discreet.anonymity.risk.rules import Rules
from discreet.core.domain import Domain, Numeric
from discreet.errors import DiscreetError, InvalidArgument
from past_releases import Past
from support.classes import keeps
from support.trees import tree_of

LETTERS = list("abcdefgh")
NESTED: list[Any] = [["a", "b"], [["c", "d"], "e"], ["f", "g", "h"]]
GROUPS = {"x": ["a", "b"], "y": [{"z": ["c", "d"]}, "e"], "w": ["f", "g", "h"]}


def blobs(n: int, d: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(size=(n, d)) * 0.1 + 0.3 + 0.4 * rng.integers(0, 2, size=(n, 1)), 0, 1)


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
    return tree_of(grids, column, cut)


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
        good = [len(rows) == 0 or keeps(rules, rows, [column]) for rows in under]
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
    """Suppressed rows change the distribution that the other rows are compared with."""
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


def test_a_chain_of_a_hundred_thousand_cuts() -> None:
    steps, d = 2**15, 4
    inner = 100_000
    column = np.full(2 * inner + 1, -1)
    cut = np.full(2 * inner + 1, -1)
    # Every right child is cut again: the left children are leaves.
    column[0:-1:2] = np.arange(inner) % d
    cut[0:-1:2] = np.arange(inner) // d + 1
    grids = [make_grid(Numeric(f"x{j}", 0, 1), steps) for j in range(d)]
    tree = tree_of(grids, column.tolist(), cut.tolist())
    assert tree.levels.max() == inner
    assert tree.n_leaves == inner + 1
    bins = np.full((d, 3), [0, 1000, steps - 1], np.uint16)
    leaf = tree.route(bins)
    assert leaf.tolist() == [1, 2 * 4000 + 1, 2 * inner]
    assert enforce(tree, np.repeat(leaf, 2), Rules(2), []).node.tolist() == np.repeat(leaf, 2).tolist()
    assert enforce(tree, leaf, Rules(2), []).merged == 3
    assert tree.collapsed(np.arange(10, tree.n_nodes))[0].n_leaves == 6


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
    release = DensityTree(k=5, domain=DOMAIN, criterion="spread").fit_transform(table, order="input")
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
    """Subtracting two cumulative releases isolates no one (spec 9.7.4)."""
    everyone = named(600, 2)
    method = DensityTree(k=5, domain=NAMED, on_conflict="merge").fit(everyone.slice(0, 500))
    old = everyone.slice(0, 500)
    first = method.transform(old)

    def grown_by_few(cells: Any) -> int:
        """Cells to which fewer than five of the new people came."""
        added = Counter(cells.cells.of[500:].tolist())
        return sum(0 < n < 5 for n in added.values())

    assert grown_by_few(method.transform(everyone)) > 0
    safe = method.transform(everyone, history=Past(first))
    assert grown_by_few(safe) == 0
    assert safe.cells.n_cells > 1
    same = method.transform(old, history=Past(first))
    assert same.cells.n_cells == first.cells.n_cells
    with pytest.raises(InvalidArgument, match="3 added record"):
        method.transform(everyone.slice(0, 503), history=Past(first))
    with pytest.raises(InvalidArgument, match="2 removed record"):
        method.transform(old.slice(2), history=Past(first))


def test_identifiers_tell_who_was_added() -> None:
    old = named(200, 3)
    method = DensityTree(k=5, domain=NAMED, on_conflict="merge").fit(old)
    # One person leaves and another with the same values comes: by values alone nothing would have changed.
    names = [f"p{i}" for i in range(199)] + ["somebody else"]
    new = old.set_column(old.column_names.index("name"), "name", pa.array(names))
    with pytest.raises(InvalidArgument, match="1 removed record"):
        method.transform(new, history=Past(method.transform(old)))


def test_equal_inputs_give_equal_files() -> None:
    method = DensityTree(k=5, domain=DOMAIN)
    one, two = (method.fit_transform(people(300), order="input") for _ in range(2))
    assert one.table.equals(two.table)
    assert one.guarantee == two.guarantee


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


def test_hierarchies_order_and_restrict_the_cuts() -> None:
    release = DensityTree(k=5, domain=DOMAIN, hierarchies={"job": Hierarchy(GROUPS)}).fit_transform(people(500))
    sets = {tuple(b["job_set"]) for b in release.bounds.to_pylist()}
    assert len(sets) > 2
    assert all(is_union_of_siblings(set(s), NESTED) for s in sets)
    merged = DensityTree(k=5, domain=DOMAIN, hierarchies={"job": "merge"}).fit(people(500))
    grouped = merged.transform(people(500))
    listed = [*grouped.bounds["job_set"].to_pylist(), *(t[1:-1].split(", ") for t in grouped.table["job"].to_pylist())]
    assert all(names == sorted(names, key=LETTERS.index) for names in listed if len(names) > 1), "as declared"
    assert merged.hierarchies_["job"].categories != tuple(LETTERS)
    assert merged.transform(people(500)).guarantee.assumptions[-1].startswith("categories of 'job' were grouped")


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
            "levels of column 'age'",
        ),
        (
            "hierarchy of nothing",
            lambda: DensityTree(k=3, domain=DOMAIN, hierarchies={"x": GROUPS}).fit(table),
            "hierarch",
        ),
        ("hierarchy as text", lambda: DensityTree(k=3, domain=DOMAIN, hierarchies={"job": "x"}).fit(table), "merge"),
        ("all missing, own branch", lambda: DensityTree(k=3, domain=DOMAIN).fit(nothing), "'age' has no value"),
        ("all missing, dropped", lambda: DensityTree(k=3, domain=DOMAIN).fit(no_job), "'job': no row has a value"),
        (
            "too diverse",
            lambda: DensityTree(k=3, l_diversity=3, domain=DOMAIN).fit(table),
            r"declared values of .ill. \(2\), got 3",
        ),
        (
            "l without sensitive",
            lambda: DensityTree(2, 2, domain=Domain({"age": (0, 9)})).fit(table),
            "sensitive column",
        ),
        ("criterion", lambda: DensityTree(k=3, domain=DOMAIN, criterion="best").fit(table), "criterion must be"),
        ("min_share", lambda: DensityTree(k=3, domain=DOMAIN, min_share=2).fit(table), "min_share"),
        ("pruning", lambda: DensityTree(k=3, domain=DOMAIN, pruning="yes").fit(table), "pruning"),
        ("suppress", lambda: DensityTree(k=3, domain=DOMAIN, suppress=-1).fit(table), "suppress"),
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
    tree = DensityTree(3, 2, 0.5, domain=DOMAIN, criterion="cell", keep=["x"])
    assert clone(tree).get_params() == tree.get_params()
    assert DensityTree(
        k=10, l_diversity=None, t_closeness=None, domain=DOMAIN, sensitive=None, grid=None, criterion="spread"
    )
    assert clone(Mondrian(k=4, blind=True)).blind is True


def test_density_integrates_to_one_and_scores_higher_where_it_fits() -> None:
    X = blobs(3000, 2)
    domain = Domain.box(0, [1, 1])
    fitted = DensityTree(k=40, domain=domain, grid=128, criterion="cell").fit(X)
    grid = (np.stack(np.meshgrid(*[np.arange(256)] * 2), -1).reshape(-1, 2) + 0.5) / 256
    assert fitted.density(grid).mean() == pytest.approx(1.0)
    flat = DensityTree(k=3000, domain=domain).fit(X)
    assert fitted.score(blobs(3000, 2, 1)) > flat.score(blobs(3000, 2, 1)) == pytest.approx(1.0)


def countries(n: int, seed: int = 0) -> tuple[Domain, pa.Table]:
    """Many categories, most rows in one of them; who lives where depends on the age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    country = np.where(rng.random(n) < 0.8, 17, (rng.zipf(1.5, n) * 7 + age // 20) % 40)
    job = (age // 12 + rng.integers(0, 6, n)) % 14
    names = {"country": [f"c{i:02}" for i in range(40)], "job": [f"j{i:02}" for i in range(14)]}
    domain = Domain({"age": (0, 120), **names, "id": {"categories": ["any"], "role": "identifier"}})
    found = {"age": age, "country": [names["country"][i] for i in country], "job": [names["job"][i] for i in job]}
    return domain, pa.table({**found, "id": [f"p{i}" for i in range(n)]})


def test_by_default_categories_are_grouped_so_that_cells_print_little_loss() -> None:
    domain, table = countries(3000)
    found = {}
    for criterion in ("auto", "spread"):
        release = DensityTree(k=5, domain=domain, criterion=criterion).fit_transform(table)
        found[criterion] = dc.anonymity.risk(release.table, ["age", "country", "job"]).information_loss["printed"]
        assert ("grouped by how often" in release.guarantee.to_json()) == (criterion == "auto")
        assert release.guarantee.parameters["criterion"] == {"auto": "width"}.get(criterion, criterion)
        assert release.guarantee.parameters["reached"]["k"] >= 5
    assert found["auto"] < 0.6 * found["spread"]
    ordered = dc.Domain({"size": {"categories": list("abcdefgh"), "kind": "ordered"}})
    tree = DensityTree(k=2, domain=ordered).fit(pa.table({"size": list("aabbccddeeffgghh")}))
    assert tree.hierarchies_ == {}  # an order that means something stays
    assert DensityTree(k=2, domain=ordered).fit(pa.table({"size": list("aabb")})).criterion == "auto"


def test_a_grid_of_a_column_of_categories_is_refused() -> None:
    """It would change nothing, and a steward would believe that it did."""
    domain = dc.Domain({"town": ["a", "b"], "age": dc.Integer(0, 9)})
    with pytest.raises(InvalidArgument, match="leaving 'town' out of it"):
        DensityTree(k=2, domain=domain, grid={"town": 2, "age": 5}).fit({"town": ["a", "b"], "age": [1, 2]})
    assert DensityTree(k=2, domain=domain, grid=5).fit({"town": ["a"] * 4, "age": [1, 1, 2, 2]})
