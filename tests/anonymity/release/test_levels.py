"""Codes and levels in anonymous tables: cells end at declared borders, print their names, and keep k as printed."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import engines
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.risk.printed import legend_of, read_sets, read_stretches
from discreet.errors import DiscreetError, InvalidArgument
from discreet.reporting import examine

QUASI = "quasi-identifier"
AGES = "0..17 minor, 18..64 adult, 65+ senior"


def _people(n: int = 1500, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    zips = [None if x < 8 else f"{1000 + x:05d}" for x in rng.gamma(2, 60, n).astype(int)]
    days = np.datetime64("2024-01-15") + rng.integers(0, 300, n)
    return pa.table({
        "zip": zips, "age": rng.integers(0, 105, n), "day": days, "pay": rng.uniform(0, 9000, n),
        "ill": rng.choice(["A00", "A00.1", "E11", "x"], n),
    })  # fmt: skip


def _domain(**more: Any) -> dc.Domain:
    return dc.Domain({
        "zip": dc.Code(r"\d{5}", role=QUASI, missing="own"),
        "age": dc.Integer(0, 120, levels=AGES, role=QUASI),
        "day": {"bounds": ["2000-01-15", "2024-12-31"], "levels": ["month", "quarter", "year"], "role": QUASI},
        "pay": {"bounds": [0, 9000], "levels": {"low": [0, 2000], "rest": {"mid": [2000, 5000], "high": "5000.."}},
                "role": QUASI},
        "ill": {"pattern": r"[A-Z]\d{2}(\.\d)?", "role": "sensitive"},
        **more,
    })  # fmt: skip


METHODS = {
    "density": lambda **o: dc.anonymity.DensityTree(10, criterion="cell", **o),
    "spread": lambda **o: dc.anonymity.DensityTree(10, **o),
    "mondrian": lambda **o: dc.anonymity.Mondrian(10, **o),
    "generalization": lambda **o: dc.anonymity.Generalization(10, suppress=0.5, **o),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{}, {"l_diversity": 2}])
def test_k_holds_for_what_is_printed(method: str, options: dict[str, Any], tmp_path: Path) -> None:
    rows, names = _people(), ["zip", "age", "day", "pay"]
    made = METHODS[method](domain=_domain(), **options).fit_transform(rows, random_state=1, order="input")
    printed = pa.table(made.table.to_pydict())  # as a stranger has it, without the promise
    keys = Counter(zip(*(printed[name].to_pylist() for name in names), strict=True))
    assert min(keys.values()) >= 10
    assert len(keys) > 5
    assert dc.anonymity.risk(printed, quasi_identifiers=names).k == min(keys.values())
    assert {text.removesuffix(" or missing") for text in printed["age"].to_pylist()} <= {
        "minor", "adult", "senior", "minor to adult", "adult to senior", "*",
    }  # fmt: skip
    # Every printed cell holds the value of its row.
    legend, codes = legend_of(made), made.guarantee.domain.column("zip").codes
    for name, of in (("zip", codes), ("age", None), ("day", None), ("pay", None)):
        read = read_stretches(made.table[name], legend.get(name), of)
        assert read is not None
        batches = engines.open(rows, made.guarantee.domain).batches(made.guarantee.domain.select([name]))
        own, held = read.code, np.concatenate([batch[0] for batch in batches])[made.rows]
        inside = (held >= read.low[own]) & np.where(read.closed[own], held <= read.high[own], held < read.high[own])
        assert (inside | (np.isnan(held) & read.missing[own])).all(), name
    made.save(tmp_path / "t.csv")
    assert json.loads((tmp_path / "t.csv.guarantee.json").read_text())["parameters"]["labels"]["age"]
    assert examine(tmp_path / "t.csv").failures == []


def test_cells_end_at_given_borders_only() -> None:
    grid = make_grid(_domain().column("age"))
    assert grid.edges == (-0.5, 17.5, 64.5, 120.5)
    assert grid.tiers == (0, 0)
    assert [grid.text(*run) for run in ((0, 0), (0, 1), (1, 2), (0, 2))] == [
        "minor",
        "minor to adult",
        "adult to senior",
        "*",
    ]
    pay = make_grid(_domain().column("pay"))
    assert (pay.edges, pay.tiers) == ((0.0, 2000.0, 5000.0, 9000.0), (0, 1))
    assert [pay.text(1, 2), pay.text(0, 1)] == ["rest", "low to mid"]
    days = make_grid(
        dc.Domain({"d": {"bounds": ["2023-11-10", "2024-12-31"], "levels": "month, quarter, year"}}).column("d")
    )
    assert [days.text(*run) for run in ((0, 0), (0, 1), (2, 13), (2, 4), (1, 2))] == [
        "2023-11", "2023", "2024", "2024-Q1", "2023-12 to 2024-01",
    ]  # fmt: skip
    wide = make_grid(dc.Integer(3, 47, levels=[5, 10, 20], name="a"))
    assert wide.edges == (2.5, 4.5, 9.5, 14.5, 19.5, 24.5, 29.5, 34.5, 39.5, 44.5, 47.5)
    assert wide.tiers == (2, 1, 2, 0, 2, 1, 2, 0, 2)
    assert wide.text(1, 2) == "[5, 14]"
    code = make_grid(dc.Code(r"\d{5}", name="z"), 2)
    assert code.levels == 100
    assert code.text(1, 1) == "01***"
    assert code.text(0, 99) == "*"
    assert code.text(9, 10) == "09*** to 10***"


@pytest.mark.parametrize(
    "levels",
    ["0..17 minor, 19.. adult", "0..17 minor, 10.. adult", "0..17 a, 18.. a", "0..17, 18..", "x..y a", "0..9 *, 10+ b",
     [5, 12], [0.5], [200], [], "month", {"a": {"b": "0..5"}}, {"a": ["0", "2.."], "b": ["1"]}, "0..60 a to b, 61.. c"],
)  # fmt: skip
def test_levels_that_do_not_fit_are_refused_with_an_example_that_works(levels: Any) -> None:
    with pytest.raises(InvalidArgument, match="levels of column 'age'") as refused:
        dc.Domain({"age": {"kind": "integer", "bounds": [0, 120], "levels": levels}})
    assert "0..17 minor" in refused.value.fix
    assert dc.Integer(0, 120, levels=AGES).levels == (("minor", "0..17"), ("adult", "18..64"), ("senior", "65+"))


def test_hierarchies_of_numbers_are_given_and_read_from_files(tmp_path: Path) -> None:
    rows = _people().select(["age", "ill"])
    domain = dc.Domain({"age": dc.Integer(0, 120, role=QUASI)})
    groups = [("child", "minor")] * 12 + [("teen", "minor")] * 6 + [("grown", "adult")] * 103
    lines = [f"{age};{small};{large};*" for age, (small, large) in enumerate(groups)]
    (tmp_path / "ages.csv").write_text("\n".join(lines))
    tree = dc.anonymity.Hierarchy.from_csv(tmp_path / "ages.csv")
    for given, wanted in (
        (tree, {"child", "teen", "grown", "minor", "adult"}),
        ({"young": "0..39", "old": "40+"}, {"young", "old"}),
        ("0–39 young, 40+ old", {"young", "old"}),
        ([40], {"[0, 39]", "[40, 79]", "[80, 119]"}),
    ):
        level = {"age": int(given is tree)}
        method = dc.anonymity.Generalization(5, domain=domain, hierarchies={"age": given}, levels=level)
        assert set(method.fit_transform(rows.select(["age"])).table["age"].to_pylist()) <= wanted
    with pytest.raises(InvalidArgument, match=r"levels of column 'age'.*gaps"):
        dc.anonymity.Mondrian(5, domain=domain, hierarchies={"age": {"a": "0..5"}}).fit(rows)


def test_a_town_is_not_lost_in_the_country() -> None:
    """All rows lie in one prefix: its parts are still told apart."""
    for method in ("density", "mondrian", "generalization"):
        made = METHODS[method](domain=_domain().select(["zip"])).fit_transform(_people().select(["zip"]))
        assert len(set(made.table["zip"].to_pylist())) > 3, method


def test_attackers_read_prefixes_too() -> None:
    sets = read_sets(
        pa.chunked_array([["010**", "010** to 012**", "01067", "*", "x", "02***"]]), ["01067", "01099", "01199"]
    )
    assert sets.members[:, :3].tolist() == [
        [True, True, False], [True, True, True], [True, False, False], [True, True, True], [False] * 3, [False] * 3,
    ]  # fmt: skip


def test_undeclared_codes_do_not_leave() -> None:
    made = dc.anonymity.Mondrian(5, domain=_domain()).fit_transform(_people())
    assert set(made.table["ill"].to_pylist()) == {"A00", "A00.1", "E11", None}


def test_codes_cannot_be_masked() -> None:
    for method in (dc.anonymity.Microaggregation(5, domain=_domain()), dc.anonymity.RankSwapping(domain=_domain())):
        with pytest.raises(DiscreetError, match="codes"):
            method.fit_transform(_people())
