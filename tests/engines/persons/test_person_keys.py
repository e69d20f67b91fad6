"""A person has one key, whatever the table is stored in, and no other row has a say in it."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
import uuid
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.core.schema.dialect import Dialect
from discreet.engines.persons.bounded import PersonKeys
from discreet.engines.readers import column_batches
from discreet.engines.tables.same import same_key
from discreet.engines.tables.texts import as_text, text_of

KEYS = PersonKeys(None, Dialect(), np.arange(8, dtype=np.uint64))
#: Some doubles have shorter texts than digits; the first is also one of the numbers that a workbook can hold.
PEOPLE: dict[str, list[Any]] = {
    "int": [7, 7, -3, 2**53 + 1, 2**62],
    "float": [1.834567890123457e18, 7.0, -0.0, 0.5, 1e-7, 1e22],
    "text": [
        "ann",
        " ann",
        "7",
        "07",
        "Zo\u00eb",
        "Zoe\u0308",
        "2020-01-01 00:00:00",
        "550e8400-e29b-41d4-a716-446655440000",
    ],
    "moment": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 8, 30), dt.datetime(2020, 1, 1, 8, 30, 0, 500_000)],
    "day": [dt.date(2020, 1, 1), dt.date(1999, 12, 31)],
    "time": [dt.time(8, 30), dt.time(8, 30, 0, 500_000)],
    "uuid": [uuid.UUID(int=i) for i in (1, 65, 2**128 - 1)],
    "decimal": [Decimal("7.00"), Decimal("0.50"), Decimal("1E+3")],
}
TYPES = {"uuid": pa.uuid(), "decimal": pa.decimal128(20, 2), "moment": pa.timestamp("us"), "time": pa.time64("us")}


def words(data: Any) -> list[tuple[int, int, bool]]:
    """Return what tells the persons of a table apart, row by row."""
    found: list[tuple[int, int, bool]] = []
    for _, batch in column_batches(dc.engines.open(data), ["who"], persons={"who": None}):
        p0, p1, known = KEYS.words(batch["who"])
        found += zip(p0.tolist(), p1.tolist(), known.tolist(), strict=True)
    return found


def arrow(kind: str, values: list[Any]) -> pa.Table:
    stored = [v.bytes for v in values] if kind == "uuid" else values
    return pa.table({"who": pa.array(stored, TYPES.get(kind))})


def sources(kind: str, folder: Path) -> dict[str, Any]:
    values = PEOPLE[kind]
    table, objects = arrow(kind, values), np.empty((len(values), 1), object)
    objects[:, 0] = values
    pq.write_table(table, folder / "t.parquet")
    written = [(text_of(v) or b"").decode() for v in values]
    (folder / "t.csv").write_text("who,n\n" + "".join(f'"{text}",1\n' for text in written), "utf-8")
    found = {
        "arrow": table,
        "large text": pa.table({"who": pa.array(written, pa.large_string())}),
        "dictionary": pa.table({"who": pa.array(written).dictionary_encode()}),
        "parquet": folder / "t.parquet",
        "csv": folder / "t.csv",
        "stream": pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "pandas objects": pd.DataFrame({"who": pd.Series(values, dtype=object)}),
        "pandas category": pd.DataFrame({"who": pd.Categorical(values, categories=list(dict.fromkeys(values)))}),
        "polars objects": pl.DataFrame({"who": pl.Series("who", values, dtype=pl.Object)}),
        "lazy objects": pl.DataFrame({"who": pl.Series("who", values, dtype=pl.Object)}).lazy(),
        "records": [{"who": v} for v in values],
        "columns": {"who": values},
        "series": pd.Series(values, name="who", dtype=object),
    }
    if kind != "uuid":
        found["pandas"] = pd.DataFrame({"who": values})
        found["polars"] = pl.DataFrame({"who": values})
        found["lazy polars"] = pl.DataFrame({"who": values}).lazy()
    if kind in ("int", "float"):
        found["array"] = pd.DataFrame({"who": np.array(values)})
    return found


@pytest.mark.parametrize("kind", PEOPLE)
def test_every_source_gives_a_person_the_same_key(kind: str, tmp_path: Path) -> None:
    made = {name: words(data) for name, data in sources(kind, tmp_path).items()}
    expected = made["arrow"]
    assert all(known for *_, known in expected)
    assert {name: found == expected for name, found in made.items()} == dict.fromkeys(made, True)


@pytest.mark.parametrize("kind", ["int", "float", "text"])
def test_files_of_other_programs_and_databases_give_the_same_key(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    stats, _ = pytest.importorskip("pyreadstat"), pytest.importorskip("adbc_driver_sqlite")
    values = [v for v in PEOPLE[kind] if kind != "int" or abs(v) < 2**53]  # what a double holds
    frame = pd.DataFrame({"who": values, "n": 1.0})
    expected = words(arrow(kind, values))
    with sqlite3.connect(tmp_path / "t.db") as base:
        base.execute("create table t (who)")
        base.executemany("insert into t values (?)", [(v,) for v in values])
    assert words(f"sqlite:///{tmp_path}/t.db?table=t") == expected
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    assert words(tmp_path / "t.xlsx") == expected
    stats.write_sav(frame.astype({"who": str if kind == "text" else float}), str(tmp_path / "t.sav"))
    assert words(tmp_path / "t.sav") == expected
    stats.write_dta(frame.astype({"who": str if kind == "text" else float}), str(tmp_path / "t.dta"))
    assert words(tmp_path / "t.dta") == expected


ODD = [
    None,
    b"\xff\xfe",
    object(),
    2**70,
    uuid.UUID(int=5),
    {"a": 1},
    [1, 2],
    float("nan"),
    1e300,
    dt.time(1),
    "\ufeff",
]


@pytest.mark.parametrize("odd", range(len(ODD)))
def test_one_odd_person_changes_no_one_else(odd: int) -> None:
    usual = [7, "ann", 0.5, Decimal("2.50"), True, uuid.UUID(int=65), dt.datetime(2020, 1, 1)]
    forms = {
        "pandas": lambda v: pd.DataFrame({"who": pd.Series(v, dtype=object)}),
        "polars": lambda v: pl.DataFrame({"who": pl.Series("who", v, dtype=pl.Object)}),
        "records": lambda v: [{"who": x} for x in v],
        "array": lambda v: {"who": np.array([*v, None], dtype=object)[:-1]},
    }
    for form in forms.values():
        assert words(form([*usual, ODD[odd]]))[: len(usual)] == words(form(usual))


@pytest.mark.parametrize("last", [uuid.UUID(int=2**128 - 1), uuid.UUID(int=(1 << 64) + 65), uuid.UUID(int=0)])
def test_a_uuid_is_its_digits_whatever_the_others_are(last: uuid.UUID) -> None:
    """Bytes that happen to be text are still digits: adding a person adds one row of those that are used."""
    for first in (1, 65):
        some = [uuid.UUID(int=i) for i in range(first, first + 26)]
        assert words(arrow("uuid", [*some, last]))[:26] == words(arrow("uuid", some)) == words({"who": some})
        assert _used(arrow("uuid", [*some, last])) == _used(arrow("uuid", some)) + 1


def _used(*tables: Any, domain: Any = None) -> float:
    """Return how many rows are used where one of each person may be."""
    data = tables[0] if len(tables) == 1 else list(tables)
    if isinstance(data, pa.Table):
        data = data.append_column("a", pa.array([1.0] * len(data)))
    unit = dc.Person("who", rows=1)
    declared = dc.Domain({"a": (0, 10), **(domain or {})}, unit=unit)
    return float(dc.GridSynopsis(math.inf, domain=declared, rule=2).fit(data).synopsis_.weights.sum())


def test_a_person_in_many_python_objects_is_one() -> None:
    names = [("x" + "ann")[1:] for _ in range(2000)]
    frame = pl.DataFrame({"a": np.linspace(0, 10, 2000), "who": pl.Series("who", names, dtype=pl.Object)})
    assert _used(frame) == _used(frame.lazy()) == 1


def test_numbers_of_128_bits_are_read() -> None:
    people = [2**100, 2**100 + 1, 7]
    frame = pl.DataFrame({"a": [1.0, 1.0, 1.0], "who": pl.Series("who", people, dtype=pl.Int128)})
    assert _used(frame) == 3
    assert words(frame) == words({"who": people})


@pytest.mark.parametrize(("people", "rows"), [(None, 1), ([7, 8], 1), (["Ann", "7"], 2), (["Ann"], 1), (["Bob"], 0)])
def test_a_value_label_of_one_file_does_not_make_a_second_person(people: Any, rows: int, tmp_path: Path) -> None:
    """Only where a label is declared as a person is it one."""
    stats = pytest.importorskip("pyreadstat")
    table = pd.DataFrame({"a": [1.0] * 3, "who": [7.0] * 3})
    files = [str(tmp_path / name) for name in ("wave1.sav", "wave2.sav")]
    stats.write_sav(table, files[0], variable_value_labels={"who": {7.0: "Ann"}})
    stats.write_sav(table, files[1])
    listed = {} if people is None else {"categories": people}
    assert _used(*files, domain={"who": {"role": "person", **listed}}) == rows
    assert people is not None or _used(*files) == 1
    assert dc.anonymity.risk(files, ["a"], person="who").k == 1


def test_a_large_double_is_one_person_in_all_files(tmp_path: Path) -> None:
    stats = pytest.importorskip("pyreadstat")
    table = pd.DataFrame({"a": [1.0, 2.0], "who": [1.834567890123457e18] * 2})
    files = [tmp_path / name for name in ("a.xlsx", "b.parquet", "c.sav", "d.csv")]
    table.to_excel(files[0], index=False)
    table.to_parquet(files[1])
    stats.write_sav(table, str(files[2]))
    table.to_csv(files[3], index=False)
    assert [_used(*pair) for pair in pairwise(files)] == [1, 1, 1]
    mixed = pd.Series([int(table.who[0]), table.who[0]], dtype=object)
    assert _used(table.assign(who=mixed)) == 1


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("2020-01-01T08:30:00.500", "2020-01-01 08:30:00.5"),
        ("2020-01-01 08:30:00.000000+02:00", "2020-01-01 08:30:00+0200"),
        ("2020-01-01T00:00:00", "2020-01-01"),
        ("2020-01-01 00:00:00Z", "2020-01-01 00:00:00Z"),
        ("08:30:00.000", "08:30:00"),
        ("12:34:56:78", "12:34:56:78"),
        ("10:00:000", "10:00:000"),
    ],
)
def test_moments_have_one_key_and_a_key_is_its_own(value: str, key: str) -> None:
    assert same_key(pa.array([value, key])).to_pylist() == [key, key]
    assert len(set(words({"who": [value, key]}))) == 1


def test_a_column_is_written_as_its_values_are() -> None:
    numbers = [7.0, 1e16, 1.834567890123457e18, -0.0, 0.1, 1e-7, math.inf]
    for kind in (pa.float64(), pa.float32()):
        column = pa.array(numbers, kind)
        scalars = np.array(numbers, np.float32) if kind == pa.float32() else numbers
        assert as_text(column).to_pylist() == [(text_of(v) or b"").decode() for v in scalars]
    cents = [Decimal("7.00"), Decimal("0.50"), Decimal("-0.01")]
    assert as_text(pa.array(cents, pa.decimal128(20, 2))).to_pylist() == ["7", "0.5", "-0.01"]


def test_the_two_words_of_a_person_have_keys_of_their_own() -> None:
    """One key for both would make 64 bits of them, and among 10⁹ persons two would be one with chance 1 in 37."""
    names = pa.array([f"person {i}" for i in range(200)])
    key = np.arange(1, 9, dtype=np.uint64)
    first = PersonKeys(None, Dialect(), key).words(names)
    assert not (first[0] | np.uint64(1) == first[1]).any()
    for changed, same, other in ((slice(0, 2), 1, 0), (slice(2, 4), 0, 1)):
        again = key.copy()
        again[changed] += np.uint64(77)
        second = PersonKeys(None, Dialect(), again).words(names)
        assert (first[same] == second[same]).all()
        assert (first[other] != second[other]).all()
