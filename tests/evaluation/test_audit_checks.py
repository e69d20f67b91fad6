"""The audit of a file believes no promise that the table contradicts, and refuses no release that the library made."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.output.files import promise_place
from discreet.errors import FormatError
from discreet.jobs.work.audit import examine
from discreet.reporting import report_facts

PEOPLE = 200
_R = random.Random(1)
TABLE = pa.table(
    {
        "who": [f"p{i}" for i in range(PEOPLE)],
        "age": [_R.randint(0, 99) for _ in range(PEOPLE)],
        "town": [_R.choice("abcdef") for _ in range(PEOPLE)],
        "ill": [_R.choice("xyz") for _ in range(PEOPLE)],
    }
)
QUASI: dict[str, Any] = {
    "age": {"bounds": [0, 100], "role": "quasi-identifier"},
    "town": {"categories": list("abcdef"), "role": "quasi-identifier"},
}
COLUMNS: dict[str, Any] = {**QUASI, "ill": {"categories": list("xyz"), "role": "sensitive"}}


def _released(folder: Path, columns: dict[str, Any] = COLUMNS, **rules: Any) -> Path:
    """Release the people, in their order, so that a test can put raw values back."""
    model = dc.anonymity.DensityTree(k=5, domain=dc.Domain(columns), **rules)
    model.fit_transform(TABLE, order="input").save(folder / "o.csv")
    return folder / "o.csv"


def _changed(path: Path, rows: Callable[[list[list[str]]], list[list[str]]], **facts: Any) -> list[str]:
    """Change the rows of a table, the header first, and facts of its promise; seal both again; return the refusal."""
    with path.open(newline="") as file:
        changed = rows(list(csv.reader(file)))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(changed)
    beside = promise_place(path)
    promise = dc.Guarantee.from_json(beside.read_text())
    parameters = {**promise.parameters, **facts}
    sealed = replace(promise, parameters=parameters, digest=None).seal(path.read_bytes())
    beside.write_text(sealed.to_json(indent=2) + "\n")
    return examine(path).failures


def _put(name: str, values: Sequence[str]) -> Callable[[list[list[str]]], list[list[str]]]:
    """Return a change that puts values into a column, or adds it."""

    def change(rows: list[list[str]]) -> list[list[str]]:
        at = rows[0].index(name) if name in rows[0] else len(rows[0])
        return [[*row[:at], value, *row[at + 1 :]] for row, value in zip(rows, [name, *values], strict=True)]

    return change


def _same(rows: list[list[str]]) -> list[list[str]]:
    return rows


def test_k_of_persons_is_at_most_the_rows_of_a_group(tmp_path: Path) -> None:
    path = _released(tmp_path, {"who": {"role": "person"}, **COLUMNS})
    found = examine(path)
    assert found.passed
    assert any(c.holds is None and c.detail.startswith("not checkable: k counts persons") for c in found.checks)
    alone = [f"[{i / 10}, {i / 10 + 0.1})" for i in range(PEOPLE)]
    assert any("k is at most 1, required 5" in text for text in _changed(path, _put("age", alone)))


def test_a_quasi_identifier_that_the_promise_leaves_out_is_counted(tmp_path: Path) -> None:
    towns = _put("town", TABLE["town"].to_pylist())
    refused = " ".join(_changed(_released(tmp_path), towns, quasi_identifiers=["age"]))
    assert "'town' is declared a quasi-identifier" in refused
    assert "k is 1, required 5" in refused


def test_l_and_t_are_counted_where_nothing_is_said_of_what_was_reached(tmp_path: Path) -> None:
    required = {"k": 5, "l": {"kind": "distinct", "least": 3}}
    refused = _changed(_released(tmp_path), _put("ill", ["x"] * PEOPLE), required=required, reached={"k": 5})
    assert refused == ["l of ill is 1 (distinct), required 3"]
    close = {"k": 5, "t": {"kind": "auto", "most": 0.1}}
    assert any("t of ill" in text for text in _changed(_released(tmp_path), _same, required=close, reached={"k": 5}))


def test_what_is_stated_as_reached_is_held_to_it(tmp_path: Path) -> None:
    reached = {"k": 5, "l_kind": "distinct", "l": {"ill": 3.0}, "t_kind": {"ill": "equal"}, "t": {"ill": 1.0}}
    refused = _changed(_released(tmp_path), _same, reached=reached)
    assert refused == ["l of ill is 1 (distinct), stated as reached 3.0"]
    assert any("stated as reached 50" in t for t in _changed(_released(tmp_path), _same, reached={"k": 50}))


def test_no_column_comes_along_because_its_name_begins_like_a_declared_one(tmp_path: Path) -> None:
    people = _put("age_name", TABLE["who"].to_pylist())
    assert _changed(_released(tmp_path), people) == ["column 'age_name' is not declared"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("required", {"k": "many"}),
        ("reached", {"k": 10**400}),
        ("reached", {"k": 5, "l": {"ill": None}}),
        ("kept", {"columns": ["ill"], "k": 2}),
        ("quasi_identifiers", None),
        ("rows", True),
        ("method", "\ud800"),
        ("labels", {"town": ["a"]}),
    ],
)
def test_facts_that_cannot_be_read_are_named_and_make_no_page(name: str, value: Any, tmp_path: Path) -> None:
    path = _released(tmp_path)
    beside = promise_place(path)
    facts = json.loads(beside.read_text())
    facts["parameters"][name] = value
    beside.write_text(json.dumps(facts, indent=2) + "\n")
    assert examine(path).failures == [f"the promise states {name!r} in a form that cannot be read"]
    with pytest.raises(FormatError, match=name):
        report_facts(path)


def test_a_promise_without_columns_or_without_a_price_is_no_promise(tmp_path: Path) -> None:
    path = _released(tmp_path)
    promise = dc.Guarantee.from_json(promise_place(path).read_text())
    for changed, said in (
        (replace(promise, domain=None), "declares no columns"),
        (replace(promise, model="central", neighbours=""), "the ledger is empty"),
    ):
        promise_place(path).write_text(changed.seal(path.read_bytes()).to_json(indent=2) + "\n")
        assert any(said in text for text in examine(path).failures)


def test_cells_outside_of_the_declaration_are_refused(tmp_path: Path) -> None:
    def swapped(old: str, new: str) -> Callable[[list[list[str]]], list[list[str]]]:
        return lambda rows: [[new if cell == old else cell for cell in row] for row in rows]

    with _released(tmp_path).open(newline="") as file:
        age, town, _ = list(csv.reader(file))[1]
    for column, cell, odd in (("age", age, "[0, 500]"), ("age", age, "Ann"), ("town", town, "{a, Ann}")):
        refused = _changed(_released(tmp_path), swapped(cell, odd))
        assert refused == [f"column '{column}' shows a cell that is not one of its declaration"]


def test_values_that_were_passed_on_are_within_their_declaration(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    table = TABLE.append_column("cost", pa.array([str(i % 50) for i in range(PEOPLE)]))
    domain = dc.Domain({**COLUMNS, "cost": (0, 50)})
    dc.anonymity.DensityTree(k=5, domain=domain, keep=["cost"]).fit_transform(table, order="input").save(path)
    assert examine(path).passed
    costs = [str(i % 50) for i in range(PEOPLE)]
    refused = _changed(path, _put("cost", ["900", "Ann", "", *costs[3:]]), kept={"columns": ["cost"]})
    assert refused == ["column 'cost' was passed on with 2 values outside of its declaration"]
    refused = _changed(path, _put("cost", costs), kept={"columns": []})
    assert refused == ["column 'cost' was passed on, but the promise does not mention it"]


def test_marks_of_people_are_hashes(tmp_path: Path) -> None:
    domain = dc.Domain({"who": {"role": "identifier"}, **COLUMNS})
    release = dc.anonymity.DensityTree(k=5, domain=domain).fit_transform(TABLE, identifiers="hash", key=b"k" * 32)
    release.save(tmp_path / "o.csv")
    assert examine(tmp_path / "o.csv").passed
    (refused,) = _changed(tmp_path / "o.csv", _put("who", TABLE["who"].to_pylist()))
    assert refused.startswith("column 'who' names people")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ({"categories": ["flu", "cold", "none"]}, ["flu", " flu", "cold", "none ", "none"]),
        ({"categories": ["1", "2", "3"]}, ["1", "1.0", "2", "3", "3.0"]),
        ({"bounds": [-5, 5]}, [-0.0, 0.0, 1.0, -3.0, None]),
        ({"bounds": [-5, 5]}, ["-0", "0", "1", "1.0", "-3"]),
        ({"bounds": ["1950-01-01", "2000-01-01"]}, ["1950-01-02", "1960-07-31", "", "1999-12-31", None]),
        ({"categories": ["no", "yes"]}, ["no", "yes", "", None, "nan"]),
    ],
    ids=["blanks", "1.0 and 1", "-0 and 0", "-0 and 0 as text", "dates", "missing"],
)
def test_sensitive_values_are_read_as_the_release_reads_them(
    declared: dict[str, Any], values: list[Any], ending: str, tmp_path: Path
) -> None:
    picks = random.Random(2)
    table = pa.table(
        {"age": [picks.randint(0, 99) for _ in range(300)], "ill": [picks.choice(values) for _ in range(300)]}
    )
    domain = dc.Domain({"age": QUASI["age"], "ill": {**declared, "role": "sensitive"}})
    for rules in ({"t_closeness": 0.3}, {"l_diversity": 2}):
        place = tmp_path / f"o.{ending}"
        dc.anonymity.DensityTree(k=10, domain=domain, **rules).fit_transform(table).save(place)
        assert examine(place).failures == []


@pytest.mark.parametrize("seed", range(6))
def test_releases_to_persons_are_not_refused_because_rows_were_counted(seed: int, tmp_path: Path) -> None:
    picks = random.Random(seed)
    table = pa.table(
        {
            "who": [picks.randint(0, 20) for _ in range(60)],
            "age": [picks.randint(0, 99) for _ in range(60)],
            "ill": [picks.choice("xxyz") for _ in range(60)],
        }
    )
    columns = {"who": {"role": "person"}, "age": QUASI["age"], "ill": COLUMNS["ill"]}
    domain = dc.Domain(columns, unit=dc.Person("who", rows=9))
    dc.anonymity.DensityTree(5, domain=domain).fit_transform(table).save(tmp_path / "o.csv")
    found = examine(tmp_path / "o.csv")
    assert found.failures == []
    assert any("those stated as reached count persons" in c.detail for c in found.checks)


def test_perturbed_numbers_may_leave_the_box_and_gaps_are_explained(tmp_path: Path) -> None:
    model = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=dc.Domain({"x": (0, 1), "y": (0, 1)}), random_state=2)
    model.transform_file(pa.table({"x": [0.1, 0.9], "y": [0.2, None]}), tmp_path / "o.csv")
    said = " ".join(c.detail for c in examine(tmp_path / "o.csv").checks)
    assert "may be outside their bounds by design" in said
    assert "middle of its bounds" in str(model.guarantee_)


def test_a_release_of_nothing_is_called_so(tmp_path: Path) -> None:
    model = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=dc.Domain({"x": (0, 1), "y": (0, 1)}), random_state=2)
    model.transform_file(
        pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}), tmp_path / "o.csv"
    )
    assert any("no rows" in c.detail for c in examine(tmp_path / "o.csv").checks)
