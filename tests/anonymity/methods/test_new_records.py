"""A tree that takes new records: rules hold on all of them, cells stay nested, and releases keep the rules together."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from discreet import Domain, Person
from discreet.anonymity import DensityTree, Release
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.table import read_table
from discreet.errors import InvalidArgument
from past_releases import Past
from release_attacker import Held, hold, singled_out
from support.trees import cuts_of

VALUES = [f"d{i}" for i in range(6)]
COLUMNS: dict[str, Any] = {
    "id": {"bounds": [0, 10**6], "role": "identifier"},
    "age": {"bounds": [0, 100], "role": "quasi-identifier"},
    "pay": {"bounds": [0, 1], "role": "quasi-identifier", "missing": "own"},
    "job": {"categories": ["a", "b", "c", "d"], "role": "quasi-identifier"},
    "ill": {"categories": VALUES, "role": "sensitive"},
}
ROWS = Domain(COLUMNS)
PERSONS = Domain({**COLUMNS, "id": {"bounds": [0, 10**6], "role": "person"}})
UNIT = Domain({**COLUMNS, "id": {"bounds": [0, 10**6], "role": "person"}}, unit=Person("id", rows=8))


def people(n: int, seed: int, start: int = 0, repeat: int = 1) -> pa.Table:
    """Rows whose illness hangs on their age, so that l and t have work to do; the shares drift with the seed."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    ill = (age // 25 + rng.integers(0, 2 + seed % 3, n)) % 6
    pay = np.where(rng.random(n) < 0.1, np.nan, rng.random(n))
    return pa.table(
        {
            "id": start + rng.permutation(n) // repeat,
            "age": age,
            "pay": pa.array(pay, from_pandas=True),
            "job": [("a", "b", "c", "d")[i] for i in rng.integers(0, 4, n)],
            "ill": [VALUES[i] for i in ill],
        }
    )


def same(one: Tree, other: Tree) -> bool:
    return one.grids == other.grids and cuts_of(one) == cuts_of(other)


def broken(tree: DensityTree, table: pa.Table) -> list[str]:
    """The rules that the leaves break, counted again."""
    leaf = tree.tree_.route(read_table(table, tree.plan_).bins).tolist()
    rows = list(zip(leaf, table["id"].to_pylist(), table["ill"].to_pylist(), strict=True))
    rules, wrong = tree.rules_, []
    whole = Counter(value for _, _, value in rows)
    for node in set(leaf):
        own = [(who, value) for at, who, value in rows if at == node]
        size = len(own) if tree.plan_.person is None else len({who for who, _ in own})
        counts = Counter(value for _, value in own)
        shares = np.array([counts[v] / len(own) for v in VALUES])
        known = shares[shares > 0]
        if size < rules.k:
            wrong.append(f"k: {size}")
        if rules.l_on and not tree.blind:
            least = np.exp(-(known * np.log(known)).sum()) if rules.l_kind == "entropy" else len(known)
            if least < (rules.l_diversity or 0) - 1e-9:
                wrong.append(f"l: {least}")
        if rules.t_on and not tree.blind:
            far = np.abs(shares - [whole[v] / len(rows) for v in VALUES]).sum() / 2
            if far > (rules.t_closeness or 1) + 1e-9:
                wrong.append(f"t: {far}")
    return wrong


SETTINGS: dict[str, dict[str, Any]] = {
    "k": {},
    "distinct": {"l_diversity": 3},
    "entropy": {"l_diversity": 2.5, "l_kind": "entropy"},
    "close": {"t_closeness": 0.35},
    "both": {"l_diversity": 2, "t_closeness": 0.4, "criterion": "width"},
    "blind": {"l_diversity": 2, "blind": True, "criterion": "factor"},
    "merged categories": {"hierarchies": {"job": "merge"}, "criterion": "cell"},
    "persons": {"domain": PERSONS, "l_diversity": 2},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_leaf_keeps_the_rules_on_all_records(name: str) -> None:
    tree = DensityTree(**{"k": 8, "domain": ROWS, **SETTINGS[name]})
    other = clone(tree)
    taken = people(150, 0, repeat=2)
    leaves = [tree.partial_fit(taken).tree_.n_leaves]
    other.partial_fit(taken)
    for batch, n in enumerate((40, 3, 300), start=1):
        more = people(n, batch, start=60 * batch, repeat=2)  # some of the persons come again
        before = tree.tree_
        tree.partial_fit(more)
        # In whatever order the records of a batch come.
        other.partial_fit(more.take(pa.array(np.random.default_rng(batch).permutation(n))))
        assert same(tree.tree_, other.tree_)
        taken = pa.concat_tables([taken, more])
        assert not broken(tree, taken)
        if name not in ("entropy", "close", "both"):  # no leaf can come to break these
            _nested(before, tree.tree_, read_table(taken, tree.plan_).bins)
        assert tree.leaf_counts_.sum() == taken.num_rows
        leaves.append(tree.tree_.n_leaves)
    assert leaves[-1] > leaves[0]
    assert tree.batches_ == 4
    # No leaf could be cut further, and nothing is merged without need: no one new, nothing new.
    last = tree.tree_
    tree.partial_fit(taken.slice(0, 0))
    assert same(tree.tree_, last)
    assert tree.batches_ == 4


def _nested(before: Tree, after: Tree, bins: Any) -> None:
    """Assert that every new leaf is in an old one."""
    pairs = set(zip(before.route(bins).tolist(), after.route(bins).tolist(), strict=True))
    assert len(pairs) == len({new for _, new in pairs})


def test_values_counted_by_person_hold_too() -> None:
    tree = DensityTree(k=6, l_diversity=2, t_closeness=0.5, domain=UNIT)
    taken = people(200, 1, repeat=3)
    tree.partial_fit(taken)
    for batch in (2, 3):
        more = people(150, batch, start=50 * batch, repeat=3)
        taken = pa.concat_tables([taken, more])
        tree.partial_fit(more)
        table = read_table(taken, tree.plan_)
        assert tree.rules_.measure(tree.tree_.route(table.bins), table.sensitive, table.persons).ok


@pytest.mark.parametrize("criterion", ["spread", "factor", "width", "cell"])
@pytest.mark.parametrize("domain", [ROWS, PERSONS])
def test_a_leaf_becomes_what_growth_on_all_records_makes_of_it(criterion: str, domain: Domain) -> None:
    settings: dict[str, Any] = {"k": 6, "l_diversity": 2, "domain": domain, "criterion": criterion}
    first, rest = people(11, 4), people(400, 5, start=3, repeat=2)
    tree = DensityTree(**settings).partial_fit(first)
    assert tree.tree_.n_leaves == 1
    tree.partial_fit(rest)
    whole = DensityTree(**settings).fit(pa.concat_tables([first, rest]))
    assert same(tree.tree_, whole.tree_)
    assert np.array_equal(tree.leaf_counts_, whole.leaf_counts_)


def test_values_and_persons_are_the_same_ones_in_every_batch() -> None:
    """New values come before the known ones in the order of the declaration; rows of no one are one person's."""
    settings: dict[str, Any] = {"k": 6, "l_diversity": 2, "t_closeness": 0.6, "domain": PERSONS}
    rest = people(400, 5, repeat=2)
    nobody = rest.set_column(0, "id", pa.array([None if i % 7 == 0 else i // 2 for i in range(400)], pa.int64()))
    late = pa.array(np.flatnonzero(np.isin(nobody["ill"].to_numpy(), ["d4", "d5"])))
    early = pa.array(np.setdiff1d(np.arange(400), late))
    batches = [nobody.take(late).slice(0, 11), nobody.take(early), nobody.take(late).slice(11)]
    tree = DensityTree(**settings)
    for batch in batches:
        tree.partial_fit(batch)
    table = read_table(pa.concat_tables(batches), tree.plan_)
    assert tree.tree_.n_leaves > 3
    assert tree.rules_.measure(tree.tree_.route(table.bins), table.sensitive, table.persons).ok
    seen = tree._seen
    assert [seen.sensitive[0].labels[c] for c in seen.sensitive[0].codes] == table.others["ill"].to_pylist()
    assert seen.persons is not None
    assert seen.names.take(pa.array(seen.persons)).cast(pa.int64()).to_pylist() == table.identifiers["id"].to_pylist()


def test_blind_cuts_do_not_see_what_is_new_of_the_sensitive_values() -> None:
    first, second = people(100, 1), people(300, 2, start=100)
    dealt = second.set_column(4, "ill", pa.array(np.random.default_rng(0).choice(["d0", "d1"], 300, p=[0.95, 0.05])))
    trees = [
        DensityTree(k=5, l_diversity=2, blind=True, domain=ROWS).partial_fit(first).partial_fit(rest).tree_
        for rest in (second, dealt)
    ]
    assert same(*trees)


def test_too_few_new_records_leave_the_tree_as_it_was() -> None:
    tree = DensityTree(k=10, domain=ROWS).partial_fit(people(400, 2))
    before, cells = tree.tree_, tree.leaf_counts_.copy()
    room = int(np.argmin(cells))
    assert cells[room] < 18
    at = before.leaves[room]
    more = people(2000, 3)
    fit = np.flatnonzero(before.route(read_table(more, tree.plan_).bins) == at)[:2]
    tree.partial_fit(more.take(pa.array(fit)))
    assert same(tree.tree_, before)
    assert tree.leaf_counts_[room] == cells[room] + 2


def test_leaves_that_no_longer_keep_the_rules_are_merged() -> None:
    half = [{"id": i, "age": 20 + 50 * (i % 2), "pay": 0.5, "job": "a", "ill": VALUES[i // 2 % 4]} for i in range(80)]
    tree = DensityTree(k=8, l_diversity=3.5, l_kind="entropy", domain=ROWS).partial_fit(pa.Table.from_pylist(half))
    assert tree.tree_.n_leaves == 2
    # Fifty young people with one illness: the young are diverse no more, all together still are.
    alike = [{"id": 100 + i, "age": 20, "pay": 0.5, "job": "a", "ill": "d0"} for i in range(50)]
    assert tree.partial_fit(pa.Table.from_pylist(alike[:30])).tree_.n_leaves == 1
    with pytest.raises(InvalidArgument, match="l_diversity"):  # and so many that nothing keeps it: all is as it was
        tree.partial_fit(pa.Table.from_pylist(alike * 5))
    assert tree.leaf_counts_.sum() == 110
    # With others of all illnesses the old cut is found again.
    healed = [{"id": 300 + i, "age": 20, "pay": 0.5, "job": "a", "ill": VALUES[1 + i % 3]} for i in range(90)]
    assert tree.partial_fit(pa.Table.from_pylist(healed)).tree_.n_leaves == 2


def test_no_stored_copy_holds_a_record() -> None:
    first, second, third = people(200, 1), people(100, 2, start=200), people(100, 3, start=300)
    tree = DensityTree(k=8, l_diversity=2, domain=PERSONS).partial_fit(first).partial_fit(second)
    assert tree._seen.bins.shape[1] == 300
    copy = pickle.loads(pickle.dumps(tree))
    assert not hasattr(copy, "_seen")
    assert len(pickle.dumps(copy)) < len(pickle.dumps(tree._seen)) + 20_000
    with pytest.raises(InvalidArgument, match="stored copies keep none"):
        copy.partial_fit(third)
    with pytest.raises(InvalidArgument, match="fall into other leaves"):
        copy.partial_fit(third, earlier=first)
    copy.partial_fit(third, earlier=pa.concat_tables([second, first]))
    assert same(copy.tree_, tree.partial_fit(third).tree_)
    assert copy.batches_ == 3
    with pytest.raises(InvalidArgument, match="holds the records"):
        copy.partial_fit(third, earlier=first)
    with pytest.raises(InvalidArgument, match="no records were taken"):
        DensityTree(k=8, domain=ROWS).partial_fit(third, earlier=first)
    # `fit` keeps none either, and forgets those of before.
    copy.fit(first)
    assert copy.batches_ == 1
    with pytest.raises(InvalidArgument, match="fit and stored copies"):
        copy.partial_fit(second)
    copy.partial_fit(second, earlier=first)
    assert copy.leaf_counts_.sum() == 300


@pytest.mark.parametrize("setting", [{"supervised": True, "target": "job"}, {"pruning": "folds"}])
def test_what_is_chosen_over_all_records_is_refused(setting: dict[str, Any]) -> None:
    domain = Domain({**COLUMNS, "job": {"categories": ["a", "b", "c", "d"]}}) if "target" in setting else ROWS
    tree = DensityTree(k=5, domain=domain, **setting)
    with pytest.raises(InvalidArgument, match="where records come in batches"):
        tree.partial_fit(people(100, 0))
    tree.fit(people(100, 0))
    with pytest.raises(InvalidArgument, match="where records come in batches"):
        tree.partial_fit(people(100, 0))


AGES = Domain({name: COLUMNS[name] for name in ("id", "age", "ill")})


def months(seed: int, rules: dict[str, Any], *, checked: bool) -> tuple[list[Held], list[Release]]:
    """Four months: people come; with odd seeds a whole cell leaves in the third. The tree takes the new each time."""
    rng = np.random.default_rng(seed)
    tree = DensityTree(domain=AGES, suppress=0.2, **rules)
    here: dict[int, tuple[int, str]] = {}
    releases: list[Release] = []
    held: list[Held] = []
    for month in range(4):
        came = {
            month * 1000 + i: (int(a), VALUES[int(v)])
            for i, (a, v) in enumerate(zip(rng.integers(0, 100, 70), rng.integers(0, 6, 70), strict=True))
        }
        if month == 2 and seed % 2:
            first, last = releases[0].cells.first[1, 0], releases[0].cells.last[1, 0]
            here = {who: rest for who, rest in here.items() if not first <= rest[0] <= last}
        here |= came
        rows = [{"id": who, "age": age, "ill": ill} for who, (age, ill) in here.items()]
        tree.partial_fit(pa.Table.from_pylist([r for r in rows if r["id"] in came]))
        release = tree.transform(pa.Table.from_pylist(rows), history=Past(*releases) if checked else None)
        releases.append(release)
        held.append(hold(release, [(who,) for who in here], ["age"], "ill", **_promised(rules)))
    return held, releases


def _promised(rules: dict[str, Any]) -> dict[str, Any]:
    return {"k": rules["k"], "l": rules.get("l_diversity"), "t": rules.get("t_closeness")}


@pytest.mark.parametrize("rules", [{"k": 4}, {"k": 4, "l_diversity": 2}, {"k": 4, "t_closeness": 0.6}])
def test_releases_of_a_renewed_tree_single_no_one_out(rules: dict[str, Any]) -> None:
    finished = 0
    for seed in range(4):
        try:
            held, releases = months(seed, rules, checked=True)
        except InvalidArgument:  # who was published cannot be taken back
            continue
        finished += 1
        assert next(singled_out(held), None) is None
        assert releases[-1].guarantee.parameters["earlier_releases"] == 3
    assert finished >= 1


def test_unchecked_releases_of_a_renewed_tree_would_single_people_out() -> None:
    held, releases = months(0, {"k": 4}, checked=False)
    assert next(singled_out(held), None) is not None
    # The promise of such a table says what it rests on; that of a tree's first batch has nothing to say.
    said = "tables that were released by it before"
    assert said in str(releases[1].guarantee)
    assert releases[1].guarantee.parameters["batches"] == 2
    assert said not in str(releases[0].guarantee)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_renewed_tree_and_one_grown_anew_release_finer_than_a_frozen_one(elsewhere: bool) -> None:
    january, february = people(1000, 7), people(1000, 10, start=1000)
    if elsewhere:  # in January nearly everybody is below 50; the others come in February
        old = np.flatnonzero(january["age"].to_numpy() > 50)[10:]
        january = january.take(pa.array(np.setdiff1d(np.arange(1000), old)))
    both = pa.concat_tables([january, february])
    tree = DensityTree(k=5, domain=ROWS, criterion="spread").partial_fit(january)
    first = tree.transform(january)
    frozen = tree.transform(both, history=Past(first)).cells.n_cells
    model = DensityTree(k=5, domain=ROWS, criterion="spread")
    anew = model.fit_transform(both, history=Past(first)).cells.n_cells
    renewed = tree.partial_fit(february).transform(both, history=Past(first)).cells.n_cells
    assert renewed > frozen if elsewhere else renewed >= frozen
    assert anew > 0.8 * renewed  # it begins with the cuts of the first release
