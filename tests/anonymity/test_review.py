"""The room of anonymous tables as a reviewer attacks it: releases that break their rules, odd input, wrong figures."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonymity_checker import check_classes
from discreet.anonymity import (
    DensityTree,
    Generalization,
    Microaggregation,
    Mondrian,
    NoiseAddition,
    RankSwapping,
    interval_disclosure,
    record_linkage,
    risk,
)
from discreet.anonymity.growth.date_grid import date_edges
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.table import read_table
from discreet.anonymity.risk.persons import persons_by_node
from discreet.core.domain import Date, Domain
from discreet.errors import DiscreetError, InvalidArgument, SchemaError


def qi(**declared: Any) -> dict[str, Any]:
    return {"role": "quasi-identifier", **declared}


DOMAIN = Domain(
    {
        "who": {"categories": ["any"], "role": "person"},
        "born": qi(bounds=["1930-01-01", "2009-12-31"], missing="own"),
        "x": qi(bounds=[0, 1]),
        "job": qi(categories=["cook", "smith", "nurse", "clerk"], missing="own"),
        "ill": {"categories": ["no", "flu", "cold"], "role": "sensitive"},
        "cost": {"bounds": [0, 9], "role": "sensitive"},
    }
)
QUASI = ["born", "x", "job"]


def people(n: int, seed: int) -> pa.Table:
    """Rows of persons who come several times, with ties, gaps and values beyond the bounds."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, max(n // 4, 1), n)
    day = np.datetime64("1930-01-01") + rng.integers(-400, 29_900, n)
    gap = rng.random(n) < 0.1
    jobs = rng.choice(["cook", "smith", "nurse", "clerk", "spy"], n)
    return pa.table(
        {
            "who": pa.array([f"p{w}" for w in who]),
            "born": pa.array([None if g else d.item() for g, d in zip(gap, day, strict=True)], pa.date32()),
            "x": np.round(rng.beta(0.5, 2, n), 2),
            "job": jobs,
            "ill": rng.choice(["no", "flu", "cold"], n, p=[0.6, 0.3, 0.1]),
            "cost": rng.integers(0, 10, n),
        }
    )


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
    for seed in range(3):
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
        # every row lies in the cell it is published with
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
    tree = DensityTree(4, domain=domain).fit(first)
    out = tree.transform(first)
    one = pa.table({"who": ["new"] * 8, "x": np.full(8, 0.1)})
    with pytest.raises(InvalidArgument, match="8 records added"):
        tree.transform(pa.concat_tables([first, one]), previous=out)
    several = pa.table({"who": [f"new {i}" for i in range(8)], "x": np.full(8, 0.1)})
    assert len(tree.transform(pa.concat_tables([first, several]), previous=out)) == 48


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
    with pytest.raises(InvalidArgument, match=r"\(1\)"):  # rows of nobody in particular may be of one
        Generalization(2, domain=domain, person="who").fit(nobody)
    for method in (Microaggregation(3, domain=domain), Mondrian(3, domain=domain, mode="relaxed", person="who")):
        declared = Domain({"x": qi(bounds=[0, 1]), "who": {"categories": ["any"], "role": "person"}})
        with pytest.raises(InvalidArgument, match="counts rows, not persons"):
            method.set_params(domain=declared).fit_transform(table)


def test_one_column_has_one_part() -> None:
    domain = Domain({"x": qi(bounds=[0, 1]), "s": {"categories": ["a", "b"], "role": "sensitive"}})
    table = pa.table({"x": [0.1, 0.2, 0.8, 0.9], "s": ["a", "b", "a", "b"]})
    for part in ("sensitive", "target", "person", "keep"):
        with pytest.raises(InvalidArgument, match=f"^{part} must be"):
            DensityTree(2, domain=domain, **{part: ["x"] if part == "keep" else "x"}).fit(table)
    with pytest.raises(InvalidArgument, match="person must be a column that is not passed on"):
        DensityTree(2, domain=domain, person="s").fit(table)
    two = Domain({"x": (0, 1), "p": {"categories": ["a"], "role": "person"}, "q": {"bounds": [0, 1], "role": "person"}})
    with pytest.raises(SchemaError, match="all declared person"):
        DensityTree(2, domain=two).fit(pa.table({"x": [1.0], "p": ["a"], "q": [1]}))


# --- dates ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "edges"),
    [
        ("year", ["1999-11-15", "2000-01-01", "2001-01-01", "2001-02-01"]),
        (["2000-02-29"], ["1999-11-15", "2000-02-29", "2001-02-01"]),
        (
            [datetime.date(2000, 1, 1), np.datetime64("2000-02-01")],
            ["1999-11-15", "2000-01-01", "2000-02-01", "2001-02-01"],
        ),
        (2, ["1999-11-15", "2000-06-24", "2001-02-01"]),
    ],
)
def test_grids_of_dates(steps: Any, edges: list[str]) -> None:
    column = Date("born", "1999-11-15", datetime.date(2001, 2, 1))
    found = date_edges(column, steps)
    assert [str(np.datetime64(int(e), "D")) for e in found] == edges
    assert len(date_edges(column, "day")) == 445
    assert len(date_edges(column, None)) == 16  # months: days would be more than 256 steps


@pytest.mark.parametrize("steps", ["week", 0, 10**6, ["2000-02-30"], ["2002-01-01"], ["2000-02-01", "2000-01-01"], 1.5])
def test_bad_grids_of_dates_are_refused(steps: Any) -> None:
    with pytest.raises(InvalidArgument, match="grid of column 'born'"):
        date_edges(Date("born", "1999-11-15", "2001-02-01"), steps)


def test_dates_in_every_output() -> None:
    table = people(300, 1)
    method = DensityTree(5, domain=DOMAIN, grid={"born": "month"})
    texts = method.fit_transform(table).table["born"].to_pylist()
    ends = {end for text in texts if text != "missing" for end in text.split(" or ")[0][1:-1].split(", ")}
    assert ends - {"1930-01-01", "2009-12-31"}
    assert all(end.endswith("-01") or end == "2009-12-31" for end in ends)  # on the public grid of months
    center = method.fit_transform(table, output="center").table["born"]
    drawn = method.fit_transform(table, output="sample", random_state=1).table["born"]
    assert center.type == drawn.type == pa.date32()
    plain = DOMAIN.select(["born", "x"])
    mean = Microaggregation(5, domain=plain).fit_transform(table)
    swapped = RankSwapping(domain=plain).fit_transform(table, random_state=1)
    noisy = NoiseAddition(0.1, domain=plain).fit_transform(table, random_state=1)
    for release in (mean, swapped, noisy):
        assert release.table["born"].type == pa.date32()
    assert Counter(swapped.table["born"].to_pylist()) == Counter(
        None if d is None else min(max(d, datetime.date(1930, 1, 1)), datetime.date(2009, 12, 31))
        for d in table["born"].to_pylist()
    )
    read = Tree.from_dict(method.tree_.to_dict())
    assert read.grids == method.tree_.grids


def test_disclosure_reads_dates_and_intervals_of_dates() -> None:
    domain = Domain({"born": ("1950-01-01", "1999-12-31")})
    table = pa.table({"born": [datetime.date(1950 + i, 3, 1) for i in range(40)]})
    release = DensityTree(4, domain=domain).fit_transform(table)
    assert record_linkage(table, release).share <= 1 / 4 + 1e-9
    assert set(interval_disclosure(table, release).columns) == {"born"}
    assert record_linkage(table, table).share == 1.0


def test_sensitive_dates_are_ordered() -> None:
    domain = Domain({"x": qi(bounds=[0, 1]), "seen": {"bounds": ["2020-01-01", "2020-12-31"], "role": "sensitive"}})
    table = pa.table({"x": [0.1] * 4, "seen": ["2020-02-01", "2020-10-01", "2020-02-01T10:00", None]})
    release = DensityTree(2, 2, domain=domain).fit_transform(table)
    assert release.guarantee.parameters["reached"]["t_kind"] == {"seen": "ordered"}
    assert release.guarantee.parameters["reached"]["l"] == {"seen": 3.0}  # the day counts, not the hour


# --- what looks diverse and is not -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ({"bounds": [0, 9]}, pa.array(["1", "1.0", " 1", "1e0"])),
        ({"bounds": [0, 9]}, pa.array([math.nan, None, math.nan, None])),
        ({"bounds": [0, 9]}, pa.array(["", " ", None, "nan"])),
        ({"categories": ["p", "q"]}, pa.array(["p", " p", "p ", "p"])),
    ],
)
def test_spellings_of_one_value_are_not_diverse(declared: dict[str, Any], values: pa.Array) -> None:
    domain = Domain({"x": qi(bounds=[0, 1]), "s": {**declared, "role": "sensitive"}})
    with pytest.raises(InvalidArgument, match="l_diversity"):
        DensityTree(2, 2, domain=domain).fit_transform(pa.table({"x": [0.5] * 4, "s": values}))


def test_more_categories_than_bins_are_refused() -> None:
    domain = Domain({"c": qi(categories=[f"c{i}" for i in range(40_000)])})
    with pytest.raises(InvalidArgument, match="categories of column 'c'"):
        DensityTree(2, domain=domain).fit(pa.table({"c": ["c0", "c1", "c39999"]}))


# --- odd input -------------------------------------------------------------------------------------------------------

SMALL = Domain(
    {"a": qi(bounds=[0, 10]), "c": qi(categories=["x", "ü"]), "s": {"categories": ["p"], "role": "sensitive"}}
)
OWN = Domain({name: {**column, "missing": "own"} for name, column in SMALL.to_dict().items()})


def small(a: list[Any], c: list[Any]) -> pa.Table:
    return pa.table({"a": pa.array(a, pa.float64()), "c": pa.array(c, pa.string()), "s": ["p"] * len(a)})


ODD = {
    "no rows": small([], []),
    "one row": small([1], ["x"]),
    "no value in a": small([None] * 4, ["x"] * 4),
    "no value in c": small([1, 2, 3, 4], ["zz", None, "", "y"]),
    "infinite": small([math.inf, -math.inf, math.nan, 4, 5], ["x"] * 5),
    "all alike": small([3] * 5, ["ü"] * 5),
}
KINDS = (DensityTree, Mondrian, Generalization, Microaggregation)


@pytest.mark.parametrize("name", ODD)
def test_odd_tables_are_released_or_refused_in_words(name: str) -> None:
    for domain in (SMALL, OWN):
        methods = [kind(2, domain=domain) for kind in KINDS]
        methods += [Mondrian(2, domain=domain, mode="relaxed"), RankSwapping(domain=domain)]
        for method in methods:
            if name not in ("infinite", "all alike"):
                with pytest.raises(DiscreetError):
                    method.fit_transform(ODD[name])
                continue
            release = method.fit_transform(ODD[name])
            assert len(release) + release.suppressed + release.dropped == 5
            if not isinstance(method, RankSwapping):
                assert min(Counter(keys(release.table, ["a", "c"])).values()) >= 2


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], names=["a", "a"])
    for job in (
        lambda: DensityTree(2, domain=Domain({"a": (0, 10)})).fit(table),
        lambda: risk(table, ["a"]),
    ):
        with pytest.raises(SchemaError, match="more than one column 'a'"):
            job()


def test_nothing_is_written_if_the_promise_cannot_be(tmp_path: Path) -> None:
    release = DensityTree(2, domain=Domain({"a": (0, 10)})).fit_transform(pa.table({"a": [1.0, 2.0, 8.0, 9.0]}))
    (tmp_path / "safe.csv.guarantee.json").mkdir()
    with pytest.raises(DiscreetError, match="cannot write"):
        release.save(tmp_path / "safe.csv")
    assert not (tmp_path / "safe.csv").exists()


# --- risk against counting -------------------------------------------------------------------------------------------


def test_risk_counts_persons() -> None:
    table = pa.table({"zip": [1, 1, 1, 2, 2, 2], "who": ["a", "a", "b", "c", "c", "c"]})
    report = risk(table, ["zip"], person="who")
    assert (report.k, report.unique, report.prosecutor["max"]) == (1, 0.5, 1.0)
    assert report.prosecutor["mean"] == pytest.approx((3 * 0.5 + 3 * 1) / 6)
    assert "persons of the smallest group" in str(report)
    assert risk(table, ["zip"]).k == 3
    for bad in ("zip", ["who", "zip"]):
        with pytest.raises(InvalidArgument, match="person"):
            risk(table, ["zip"], person=bad)
    with pytest.raises(InvalidArgument, match="missing"):
        risk(table, ["zip"], person="who", missing="wildcard")


@pytest.mark.parametrize("seed", range(6))
def test_risk_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 60, 90
    draw = lambda size: {  # noqa: E731
        "a": [None if g < 0.2 else int(v) for g, v in zip(rng.random(size), rng.integers(0, 3, size), strict=True)],
        "b": rng.choice(["x", "y"], size).tolist(),
    }
    rows = {**draw(n), "s": rng.choice(["p", "q", "r"], n, p=[0.7, 0.2, 0.1]).tolist()}
    extra = draw(m)
    everyone = {c: rows[c] + extra[c] for c in ("a", "b")}
    table, population = pa.table(rows), pa.table(everyone)
    mine, theirs = list(zip(rows["a"], rows["b"], strict=True)), list(zip(everyone["a"], everyone["b"], strict=True))

    report = risk(table, ["a", "b"], "s", population=population, threshold=0.15)
    size, held = Counter(mine), Counter(theirs)
    assert report.k == min(size.values())
    assert report.k_map == min(held[key] for key in mine)
    assert report.unique == pytest.approx(sum(size[key] == 1 for key in mine) / n)
    assert report.prosecutor["mean"] == pytest.approx(len(size) / n)
    assert report.prosecutor["share"] == pytest.approx(sum(1 / size[key] > 0.15 for key in mine) / n)
    assert report.journalist is not None
    assert report.journalist["mean"] == pytest.approx(sum(1 / held[key] for key in mine) / n)
    assert report.marketer == pytest.approx(sum(size[key] / held[key] for key in size) / n)
    pairs = sum(mine[i] != mine[j] for i in range(n) for j in range(n)) / (n * (n - 1))
    assert report.columns["*"]["separation"] == pytest.approx(pairs)

    whole = {v: rows["s"].count(v) / n for v in "pqr" if v in rows["s"]}
    found = report.sensitive["s"]
    classes = [[rows["s"][i] for i in range(n) if mine[i] == key] for key in size]
    shares = [{v: c.count(v) / len(c) for v in whole} for c in classes]
    assert found.distinct_l == min(len(set(c)) for c in classes)
    assert found.entropy_l == pytest.approx(
        min(math.exp(-sum(p * math.log(p) for p in s.values() if p)) for s in shares)
    )
    assert found.t_equal == pytest.approx(max(sum(abs(s[v] - whole[v]) for v in whole) / 2 for s in shares))
    assert found.beta == pytest.approx(max((s[v] - whole[v]) / whole[v] for s in shares for v in whole))
    assert found.homogeneous == pytest.approx(sum(len(c) for c in classes if len(set(c)) == 1) / n)
    lacking = any(p == 0 for s in shares for p in s.values())
    delta = max(abs(math.log(s[v] / whole[v])) for s in shares for v in whole if s[v])
    assert found.delta == (math.inf if lacking else pytest.approx(delta))

    wild = risk(table, ["a", "b"], missing="wildcard")
    fits = lambda one, two: all(u is None or v is None or u == v for u, v in zip(one, two, strict=True))  # noqa: E731
    assert wild.k == min(sum(fits(one, two) for two in mine) for one in mine)
    dropped = risk(table, ["a", "b"], missing="drop")
    left = Counter(key for key in mine if None not in key)
    assert (dropped.rows, dropped.k) == (sum(left.values()), min(left.values()))


def test_hashed_identifiers_that_link_rows_are_named_in_the_promise() -> None:
    domain = Domain({"who": {"categories": ["any"], "role": "person"}, "x": qi(bounds=[0, 1])})
    table = pa.table({"who": [f"p{i % 10}" for i in range(40)], "x": np.linspace(0, 1, 40)})
    method = DensityTree(3, domain=domain)
    linked = method.fit_transform(table, identifiers="hash", key=b"0123456789abcdef")
    assert len(set(linked.table["who"].to_pylist())) == 10
    assert any("belong together" in line for line in linked.guarantee.assumptions)
    assert not any("belong together" in line for line in method.fit_transform(table).guarantee.assumptions)
