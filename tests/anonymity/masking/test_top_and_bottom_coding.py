"""Values beyond a declared threshold print as one, exactly as they are: "> 90" for 91 and more, and readers know it."""

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from discreet.anonymity import (
    DensityTree,
    Generalization,
    Microaggregation,
    Mondrian,
    NoiseAddition,
    RankSwapping,
    TopBottomCoding,
)
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.risk.printed import as_numbers, read_stretches
from discreet.errors import DiscreetError, InvalidArgument, SchemaError
from support.trees import bins_of

COLUMNS: list[tuple[Any, Any, list[str]]] = [
    (dc.Integer(0, 120, bottom=18, top=90, name="x"), None, ["< 18", "> 90", "[18, 19]", "< 19", ">= 90", "*"]),
    (dc.Integer(0, 120, top=90, name="x"), 12, ["> 90", ">= 0", "[0, 10]"]),
    (dc.Integer(0, 9, bottom=4, top=3, name="x"), None, ["< 4", "> 3", "*"]),
    (dc.Numeric("x", -2.5, 1e6, bottom=0, top=2e5, missing="own"), 7, ["< 0", ">= 200000", "* or missing", "missing"]),
    (dc.Numeric("x", 0, 1, bottom=0.25), 8, ["< 0.25", "<= 1", "< 0.375"]),
    (dc.Date("x", "1900-01-01", "2020-12-31", top="2010-01-01"), "year", [">= 2010-01-01", "[1900-01-01, 1901-01-01)"]),
    (dc.Time(bottom="06:00", top="22:00", name="x"), 24, ["< 06:00:00", "> 22:00:00", "[06:00:00, 06:59:59]"]),
]  # fmt: skip


@pytest.mark.parametrize(("column", "steps", "some"), COLUMNS)
def test_every_text_of_a_coded_grid_is_exactly_true(column: Any, steps: Any, some: list[str]) -> None:
    grid = make_grid(column, steps)
    points = np.unique(np.concatenate([grid.edges, np.array(grid.edges) - 1e-3, np.array(grid.edges) + 1e-3]))
    values = np.unique(np.rint(points)) if column.kind in ("integer", "time") else points
    values = values[(values >= column.low) & (values <= column.high)]
    bins = bins_of(grid, values)
    places = sorted({b for b in (0, 1, 2, grid.levels // 2, grid.levels - 2, grid.levels - 1) if 0 <= b < grid.levels})
    runs = [(first, last) for first in places for last in {*places, grid.n_bins - 1} if first <= last]
    texts = [grid.text(first, last) for first, last in runs]
    assert len(set(texts)) == len(texts)  # no two runs look alike
    assert set(some) <= {*texts, grid.text(grid.levels, grid.levels)}
    found = read_stretches(pa.chunked_array([texts]))
    assert found is not None
    for c, (first, last) in zip(found.code, runs, strict=True):
        above = values <= found.high[c] if found.closed[c] else values < found.high[c]
        assert (((values >= found.low[c]) & above) == ((bins >= first) & (bins <= last))).all(), texts[c]
        assert found.missing[c] == (last >= grid.levels)


def people(n: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    born = [datetime.date(1920, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 36_000, n)]
    return pa.table({"age": rng.integers(0, 130, n), "born": born})


BORN = {"bounds": ["1920-01-01", "2020-01-01"], "top": "2010-01-01"}
DOMAIN = dc.Domain({"age": dc.Integer(0, 120, bottom=18, top=90), "born": BORN})


def test_every_method_of_cells_keeps_the_coded_ends(tmp_path: Path) -> None:
    table = people(1500)
    for method in (DensityTree(5, domain=DOMAIN), Mondrian(5, domain=DOMAIN), Generalization(5, domain=DOMAIN)):
        release = method.fit_transform(table, random_state=1)
        ages, born = set(release.table["age"].to_pylist()), set(release.table["born"].to_pylist())
        assert not {a for a in ages if a[0] not in "<>*[1234567890"}
        for name in ("age", "born"):
            found = read_stretches(release.table[name])
            values = as_numbers(table[name])
            assert found is not None
            assert values is not None
            c, mine = found.code, values[release.rows]
            assert (found.low[c] <= mine).all()
            assert np.where(found.closed[c], mine <= found.high[c], mine < found.high[c]).all()
        # Nothing is cut beyond a threshold: no text ends or begins there.
        read = read_stretches(pa.chunked_array([sorted(ages)]))
        assert read is not None
        assert read.low.max() <= np.nextafter(90, np.inf)
        assert any(b.startswith(">= ") for b in born)
        method.transform_file(table, tmp_path / "b.csv", random_state=1)
        assert pa_csv.read_csv(tmp_path / "b.csv")["age"].to_pylist() == release.table["age"].to_pylist()
        assert dc.anonymity.risk(tmp_path / "b.csv", ["age", "born"]).k >= 5


def test_levels_of_a_generalisation_leave_the_coded_ends_alone() -> None:
    domain = dc.Domain({"age": dc.Integer(0, 120, bottom=18, top=90)})
    table = people(4000).select(["age"])
    widths = Generalization(2, domain=domain, widths={"age": [10, 20]}, levels={"age": 2}, suppress=1.0)
    shown = ["< 18", "[18, 19]", "[20, 39]", "[40, 59]", "[60, 79]", "[80, 90]", "> 90"]
    assert sorted(set(widths.fit_transform(table).table["age"].to_pylist())) == sorted(shown)
    doubled = Generalization(2, domain=domain, levels={"age": 3}, suppress=1.0)
    texts = set(doubled.fit_transform(table).table["age"].to_pylist())
    assert {"< 18", "[18, 25]", "> 90"} <= texts
    top = Generalization(2, domain=domain, levels={"age": 7}).fit(table)
    assert set(top.transform(table).table["age"].to_pylist()) <= {"< 18", "[18, 81]", "[82, 90]", "> 90", "*"}


def test_thresholds_travel_with_the_declaration(tmp_path: Path) -> None:
    schema = """
[columns.age]
kind = "integer"
bounds = [0, 120]
bottom = 18
top = 90
[columns.born]
bounds = [1920-01-01, 2020-01-01]
top = 2010-01-01
[columns.pay]
bounds = [0, 1e6]
top = 2e5
[columns.arrived]
kind = "time"
top = "22:00"
"""
    (tmp_path / "schema.toml").write_text(schema)
    domain = dc.Domain.from_toml(tmp_path / "schema.toml")
    domain.to_toml(tmp_path / "copy.toml")
    assert dc.Domain.from_toml(tmp_path / "copy.toml") == domain == dc.Domain(json.loads(json.dumps(domain.to_dict())))
    assert domain.to_dict()["age"] == {
        "kind": "integer", "bounds": [0, 120], "role": "attribute", "missing": "drop", "bottom": 18, "top": 90,
    }  # fmt: skip
    assert repr(domain.column("age")) == "Integer(0, 120, bottom=18.0, top=90.0)"
    assert domain.to_dict()["born"]["top"] == "2010-01-01"
    assert domain.to_dict()["arrived"]["top"] == "22:00:00"
    assert DensityTree(5, domain=DOMAIN).fit_transform(people(500)).guarantee.domain == DOMAIN


@pytest.mark.parametrize(
    ("declared", "wrong"),
    [
        ({"bounds": [0, 120], "top": 120}, "top of column 'x' must be a threshold .* got 120.0; try .top.: 60.0"),
        ({"kind": "integer", "bounds": [0, 9], "top": 9}, "got 9; try .top.: 4"),
        ({"kind": "integer", "bounds": [0, 1], "bottom": 0}, "got 0; try .bottom.: 1"),
        ({"kind": "integer", "bounds": [0, 9], "bottom": 7, "top": 5}, "not below the bottom 7, got 5; try .top.: 7"),
        ({"kind": "integer", "bounds": [0, 9], "top": 4.5}, "a whole number, as the column is, got 4.5; try .top.: 4"),
        ({**BORN, "top": "soon"}, 'a date such as 2010-01-01, got .soon.; try .top.: "2010'),
        ({**BORN, "top": "1920-01-01"}, "try .top.: .1969-12-31."),
        ({"kind": "time", "bottom": "00:00"}, "try .bottom.: .12:00:00."),
        ({"categories": ["a", "b"], "top": "a"}, "with bounds 'bottom', 'top' and 'levels'"),
        ({"bounds": [0, 9], "top": True}, "top of column 'x'"),
    ],
)  # fmt: skip
def test_thresholds_that_make_no_sense_are_refused(declared: Any, wrong: str) -> None:
    with pytest.raises(DiscreetError, match=wrong) as caught:
        dc.Domain({"x": declared})
    fix = getattr(caught.value, "fix", "")
    if fix and fix[-1] not in "]." and "true" not in str(declared).lower():
        dc.Domain({"x": {**declared, **eval("{" + fix + "}")}})  # what was suggested is accepted


def test_coding_by_itself_changes_only_what_lies_beyond() -> None:
    domain = dc.Domain(
        {
            "age": dc.Integer(0, 120, bottom=18, top=90),
            "pay": {"bounds": [0, 1000], "bottom": 10, "top": 500, "missing": "own"},
            "born": BORN,
            "sex": ["f", "m"],
        }
    )
    dates = [datetime.date(1950, 5, 1), datetime.date(2010, 1, 1), datetime.date(2009, 12, 31)] * 2
    pay = [9.5, 10.0, 499.5, 500.0, None, 800.0]
    table = pa.table({"age": [17, 18, 90, 91, 40, 200], "pay": pay, "born": dates, "sex": list("fmfmfm")})
    release = TopBottomCoding(domain=domain).fit_transform(table, order="input")
    assert release.table.to_pydict() == {
        "age": ["< 18", "18", "90", "> 90", "40", "> 90"],
        "pay": ["< 10", "10", "499.5", ">= 500", None, ">= 500"],
        "born": ["1950-05-01", ">= 2010-01-01", "2009-12-31"] * 2,
        "sex": list("fmfmfm"),
    }
    assert release.guarantee.parameters["coded"]["age"] == {"bottom": 18, "top": 90}
    assert release.guarantee.parameters["reached"]["k"] is None
    assert release.disclosure["record_linkage"]["rows"] == 5
    with pytest.raises(SchemaError, match="declares a threshold"):
        TopBottomCoding(domain=dc.Domain({"age": (0, 9)})).fit(table)


@pytest.mark.parametrize("method", [Microaggregation(2), NoiseAddition(), RankSwapping()])
def test_methods_that_publish_values_refuse_a_threshold(method: Any) -> None:
    domain = dc.Domain({"age": dc.Integer(0, 120, top=90)})
    with pytest.raises(InvalidArgument, match=r"top of column 'age' must be left out: .*TopBottomCoding"):
        method.set_params(domain=domain).fit(pa.table({"age": [1, 2, 3]}))


def test_attacks_and_linkage_understand_coded_ends() -> None:
    domain = dc.Domain({"age": dc.Integer(0, 120, top=90)})
    original, control = pa.table({"age": [*range(80, 100)] * 5}), pa.table({"age": [*range(0, 100)]})
    release = Generalization(3, domain=domain, levels={"age": 0}).fit_transform(original, order="input")
    assert release.table["age"][19].as_py() == "> 90"
    spelled = [t if t != "> 90" else "[91, 120]" for t in release.table["age"].to_pylist()]
    listed = pa.table({"age": spelled})
    results = [
        dc.evaluation.singling_out(shown, original, control, random_state=1).to_dict() for shown in (release, listed)
    ]
    assert results[0] == results[1]
    assert dc.anonymity.record_linkage(original, release).rows == 100  # rows beyond a threshold are looked at too


@pytest.mark.parametrize("role", ["sensitive", "target"])
def test_a_threshold_of_a_column_that_is_passed_on_is_refused(role: str) -> None:
    pay = {"bounds": [0, 1000], "top": 500, "role": role}
    domain = dc.Domain({"age": {"bounds": [0, 120], "role": "quasi-identifier"}, "pay": pay})
    with pytest.raises(SchemaError, match="column 'pay' declares a top and is passed on as it is"):
        DensityTree(2, domain=domain).check()
    plain = dc.Domain({"age": {"bounds": [0, 120], "role": "quasi-identifier"}, "pay": {**pay, "role": "attribute"}})
    with pytest.raises(SchemaError, match="column 'pay' declares a top"):
        DensityTree(2, domain=plain, keep=["pay"]).check()
