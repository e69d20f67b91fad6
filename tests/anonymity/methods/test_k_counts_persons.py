"""With a person column, k counts persons: in every method, node, later release and refusal."""

from __future__ import annotations

import datetime
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dc
from anonymity_checker import check_classes
from discreet.anonymity import DensityTree, Generalization, Microaggregation, Mondrian
from discreet.anonymity.release.table import read_table
from discreet.anonymity.risk.persons import persons_by_node
from discreet.core.domain import Domain
from discreet.errors import InvalidArgument, SchemaError
from past_releases import Past
from recurring_people import DOMAIN, people, qi

QUASI = ["born", "x", "job"]


def keys(table: pa.Table, columns: list[str]) -> list[Any]:
    return list(zip(*(table[c].to_pylist() for c in columns), strict=True))


METHODS = [
    DensityTree(4, domain=DOMAIN),
    DensityTree(3, 2, domain=DOMAIN, criterion="cell", suppress=0.1),
    DensityTree(5, 2, 0.6, domain=DOMAIN, grid={"born": "month", "x": 32}, t_kind="equal"),
    DensityTree(3, domain=DOMAIN, pruning="folds", criterion="cell", random_state=1),
    Mondrian(4, domain=DOMAIN),
    Mondrian(3, 2, domain=DOMAIN, suppress=0.05),
    Generalization(3, domain=DOMAIN, suppress=0.2),
    Generalization(3, 2, domain=DOMAIN, suppress=0.5),
]


@pytest.mark.parametrize("number", range(len(METHODS)))
def test_releases_keep_k_of_persons_and_the_rest(number: int) -> None:
    method = METHODS[number]
    for seed in range(2):
        table = people(400, seed)
        release = method.fit_transform(table)
        shown = release.table
        back = release.rows
        persons = [table["who"][int(i)].as_py() for i in back]
        assert "who" not in shown.column_names
        assert len(shown) + release.suppressed + release.dropped == 400
        sensitive = {c: [str(v) for v in shown[c].to_pylist()] for c in ("ill", "cost")}
        rules = method.rules_
        wrong = check_classes(
            keys(shown, QUASI),
            sensitive,
            k=rules.k,
            l=rules.l_diversity,
            t=rules.t_closeness,
            t_kinds={"ill": "equal", "cost": "equal"},
            persons=persons,
        )
        assert not wrong
        facts = release.guarantee.parameters
        counted: dict[Any, set[str]] = defaultdict(set)
        for key, person in zip(keys(shown, QUASI), persons, strict=True):
            counted[key].add(person)
        assert facts["reached"]["k"] == min(map(len, counted.values()))
        assert facts["k_counts"] == "persons, by column 'who'"
        assert release.guarantee.unit == "one person"
        # every row is in the cell it is published with
        for row, i in zip(release.bounds.to_pylist(), back, strict=True):
            born, x = table["born"][int(i)].as_py(), table["x"][int(i)].as_py()
            if born is None:
                assert row["born_may_be_missing"]
            else:
                clamped = min(max(born, datetime.date(1930, 1, 1)), datetime.date(2009, 12, 31))
                assert row["born_lower"] <= clamped <= row["born_upper"]
            assert row["x_lower"] <= x <= row["x_upper"]


def test_a_later_release_counts_the_persons_that_came() -> None:
    domain = Domain({"who": {"categories": ["any"], "role": "person"}, "x": qi(bounds=[0, 1])})
    first = pa.table({"who": [f"a{i}" for i in range(40)], "x": np.linspace(0, 0.99, 40)})
    tree = DensityTree(4, domain=domain, on_conflict="merge").fit(first)
    out = tree.transform(first)
    one = pa.table({"who": ["new"] * 8, "x": np.full(8, 0.1)})
    with pytest.raises(InvalidArgument, match="8 added record"):
        tree.transform(pa.concat_tables([first, one]), history=Past(out))
    several = pa.table({"who": [f"new {i}" for i in range(8)], "x": np.full(8, 0.1)})
    assert len(tree.transform(pa.concat_tables([first, several]), history=Past(out))) == 48


def test_persons_of_every_node_by_counting_sets() -> None:
    table = people(600, 5)
    method = DensityTree(3, domain=DOMAIN).fit(table)
    tree, rows = method.tree_, read_table(table, method.plan_)
    leaf = tree.route(rows.bins)
    found = persons_by_node(tree.parent, tree.levels, leaf, rows.persons)
    assert tree.n_nodes > 20
    for node in range(tree.n_nodes):
        inside = (leaf >= node) & (leaf < tree.ends[node])
        assert found[node] == len(set(rows.persons[inside].tolist()))
    assert found[tree.leaves].min() >= 3


def test_too_few_persons_are_refused_however_many_rows_they_have() -> None:
    domain = Domain({"x": qi(bounds=[0, 1]), "who": ["any"]})
    table = pa.table({"x": np.linspace(0, 1, 100), "who": ["a", "b"] * 50})
    with pytest.raises(InvalidArgument, match=r"number of persons in the release \(2\)"):
        DensityTree(3, domain=domain, person="who").fit(table)
    nobody = pa.table({"x": np.linspace(0, 1, 100), "who": pa.nulls(100, pa.string())})
    with pytest.raises(SchemaError, match="no row has a value in 'who'"):  # rows of no one in particular are left out
        Generalization(2, domain=domain, person="who").fit(nobody)
    declared = Domain({"x": qi(bounds=[0, 1]), "who": {"categories": ["any"], "role": "person"}})
    with pytest.raises(InvalidArgument, match="counts rows, not persons"):
        Microaggregation(3, domain=declared).fit_transform(table)


def test_hashed_identifiers_that_link_rows_are_named_in_the_promise() -> None:
    domain = Domain({"who": {"categories": ["any"], "role": "person"}, "x": qi(bounds=[0, 1])})
    table = pa.table({"who": [f"p{i % 10}" for i in range(40)], "x": np.linspace(0, 1, 40)})
    method = DensityTree(3, domain=domain)
    linked = method.fit_transform(table, identifiers="hash", key=b"0123456789abcdef")
    assert len(set(linked.table["who"].to_pylist())) == 10
    assert any("belong together" in line for line in linked.guarantee.assumptions)
    assert not any("belong together" in line for line in method.fit_transform(table).guarantee.assumptions)


def test_a_unit_of_persons_means_that_k_counts_them_also_where_their_column_is_not_declared() -> None:
    rows = pd.DataFrame({"age": [1.0] * 6 + [2.0] * 6, "who": ["ann"] * 6 + list("abcdef")})
    domain = dc.Domain({"age": {"bounds": (0, 3), "role": "quasi-identifier"}}, unit=dc.Person("who", rows=2))
    release = dc.anonymity.DensityTree(k=4, domain=domain).fit_transform(rows)
    assert release.guarantee.unit == "one person"
    assert release.guarantee.parameters["reached"]["k"] == 7  # the six rows of one person are no group
    assert "who" not in release.table.column_names
