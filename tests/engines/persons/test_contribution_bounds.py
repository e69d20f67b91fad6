"""The rows of persons are bounded alike whatever the order, batches, files, types and engines they come in."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.core.schema.dialect import Dialect
from discreet.engines.persons import bounded
from discreet.engines.persons.bounded import PersonKeys, PersonTable
from discreet.engines.tables.same import same_key
from discreet.errors import SchemaError

DOMAIN = dc.Domain({"age": (0, 120), "town": {"categories": ["a", "b", "c"], "missing": "own"}})
KEY = np.random.default_rng(1).integers(0, 2**64, 8, dtype=np.uint64)
UNITS = {
    "rows": dc.Person("user", rows=4),
    "groups": dc.Person("user", rows=4, group="town", per_group=2),
    "bought": dc.Person("user", rows="auto"),
}


def table(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    user = rng.zipf(1.6, n) % 200
    age, town = rng.integers(-5, 130, n).astype(float), rng.choice(["a", "b", "c", "x"], n)
    return pd.DataFrame({"user": user, "age": np.where(rng.random(n) < 0.05, np.nan, age), "town": town})


def digest(data: Any, unit: dc.Person, **more: Any) -> str:
    return str(dc.GridSynopsis(1.0, DOMAIN.with_unit(unit), rule=6, random_state=3, **more).fit(data).synopsis_.digest)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_order_batches_files_and_engines_give_one_digest(unit: dc.Person, tmp_path: Any) -> None:
    rows = table()
    arrow = pa.Table.from_pandas(rows)
    pa_csv.write_csv(arrow, tmp_path / "t.csv")
    pq.write_table(arrow, tmp_path / "t.parquet", row_group_size=300)
    for i, start in enumerate(range(0, 3000, 1100)):
        pa_csv.write_csv(arrow.slice(start, 1100), tmp_path / f"part-{i}.csv")
    forms = {
        "pandas": rows,
        "shuffled": rows.sample(frac=1, random_state=2),
        "arrow": arrow,
        "polars": pl.from_pandas(rows),
        "csv": tmp_path / "t.csv",
        "parquet": tmp_path / "t.parquet",
        "files": sorted(tmp_path.glob("part-*.csv")),
        "texts": rows.assign(user=[f" {u}.0" for u in rows["user"]]),
        "floats": rows.assign(user=rows["user"].astype(float)),
        "words and numbers": rows.assign(user=rows["user"].map(lambda u: u if u % 2 else f"0{u}")),
    }
    expected = digest(rows, unit)
    assert {name: digest(data, unit) for name, data in forms.items()} == dict.fromkeys(forms, expected)


def test_an_array_is_bounded_by_place() -> None:
    rows = table()[["user", "age"]]
    axes = {"user": {"role": "person"}, "age": (0, 120)}
    made = [
        dc.GridSynopsis(1.0, dc.Domain(axes, unit=UNITS["rows"]), rule=6, random_state=3).fit(data).synopsis_.digest
        for data in (rows, rows.to_numpy())
    ]
    assert made[0] == made[1]
    with pytest.raises(SchemaError):
        dc.GridSynopsis(1.0, dc.Domain({"age": (0, 120)}, unit=UNITS["rows"]), rule=6).fit(rows.to_numpy())


def test_the_choice_is_another_one_every_time() -> None:
    rows = pd.DataFrame({"user": 1, "age": np.arange(100.0), "town": "a"})
    shares = [
        dc.GridSynopsis(1e6, DOMAIN.with_unit(UNITS["rows"]), rule=[120, 3]).fit(rows).synopsis_.weights > 0.5
        for _ in range(3)
    ]
    assert len({s.tobytes() for s in shares}) == 3
    assert all(s.sum() == 4 for s in shares)


def source(people: Any, **columns: Any) -> Any:
    n = len(people)
    return dc.engines.open(pa.table({"user": people, "age": pa.array(np.arange(n, dtype=float)), **columns}))


def rows_of(people: Any, declared: Any = None, rows: int = 100) -> list[float]:
    columns = {"age": (0, 1e6)} | ({} if declared is None else {"user": declared})
    domain = dc.Domain(columns, unit=dc.Person("user", rows=rows))
    axes = domain.select(["age"])
    found = PersonTable(source(people), domain.unit, domain, axes, KEY).bounded(rows)
    return sorted(x for batch in found.batches(axes) for x in batch[0].tolist())


def test_rows_of_no_one_are_left_out() -> None:
    assert rows_of(pa.array(["ann", None, "", " ", "nan", "bob"])) == [0, 5]
    assert rows_of(pa.array([1.0, float("nan"), None, 2.5])) == [0, 3]


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        ((0, 10), [0, 2, 3]),
        (dc.Integer(0, 10), [0, 3]),
        (["7", "ann"], [0, 1]),
        ({"role": "person"}, [0, 1, 2, 3, 4]),
        ({"bounds": (0, 10), "role": "person"}, [0, 2, 3]),
    ],
)
def test_rows_outside_the_declaration_are_left_out_and_never_moved_to_somebody_else(declared: Any, kept: Any) -> None:
    assert rows_of(pa.array(["7", "ann", "9.5", "010", "11", None]), declared) == kept


def test_declared_people_that_only_their_text_tells_apart_are_two() -> None:
    people = pa.array(["07"] * 5 + ["7"] * 5)
    assert len(rows_of(people, ["07", "7"], rows=2)) == 4
    assert len(rows_of(people, rows=2)) == 2


def test_people_whose_names_cannot_be_read_are_no_one(tmp_path: Any) -> None:
    """In a file of another encoding Müller and Möller would be one person: what is left of their names is the same."""
    names = ["Müller", "Möller", "Mueller"]
    (tmp_path / "t.csv").write_bytes("\n".join(["user,age", *(f"{name},1" for name in names)]).encode("latin-1"))
    for data in (tmp_path / "t.csv", pa.table({"user": [name.encode("latin-1") for name in names], "age": [1.0] * 3})):
        domain = dc.Domain({"age": (0, 120)}, unit=dc.Person("user", rows=1))
        assert dc.GridSynopsis(math.inf, domain, rule=1).fit(data).synopsis_.total == 1


def test_numbers_of_persons_are_read_as_the_file_writes_numbers(tmp_path: Any) -> None:
    """With decimal commas and points between thousands, one person is not split and several are not merged."""
    ways = ["7", "7,0", "07,00", " 7", "1.000", "1000", "1000,0", "1"]
    frame = pd.DataFrame({"user": ways, "age": np.arange(8)})
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    columns = {"user": {"bounds": (0, 9999), "role": "person"}, "age": (0, 120)}
    source = {"decimal": ",", "thousands": ".", "delimiter": ";"}
    domain = dc.Domain(columns, unit=dc.Person("user", rows=1), source=source)
    for data in (frame, pa.Table.from_pandas(frame), tmp_path / "t.csv"):
        made = dc.GridSynopsis(math.inf, domain, rule=1).fit(data).synopsis_
        assert made.total == 3


def test_words_of_persons_follow_the_rule_of_all_rooms() -> None:
    texts = ["7", " 7", "7.0", "07", "+7", "7e0", "\ufeff7", "ann", "Ann Lee", "Ann  Lee", "ann ", "-7", "-0", "0"]
    texts += ["-9223372036854775808", "-9223372036854775809", "00009223372036854775807"]
    texts += ["1e400", "9223372036854775807", "9223372036854775808", "123456789012345678", "1234567890123456789"]
    texts += ["3fa9-e1", "1e5", "100000", "é", "e\u0301", "a", "A", "x" * 40, "12.50", "12.5", ".5", "inf", "-inf"]
    texts += ["Infinity", "+", "--", "- 7", "e", "E5", "1 2", "nano", "info", "-nano"]
    keys = PersonKeys(None, Dialect(), KEY)
    p0, p1, known = keys.words(pa.array(texts))
    assert known.all()
    same = same_key(pa.array(texts)).to_pylist()
    for i, j in np.argwhere(np.triu(np.ones((len(texts), len(texts))))):
        assert (same[i] == same[j]) == (p0[i] == p0[j] and p1[i] == p1[j]), (texts[i], texts[j])
    for column in (
        pa.array([7, 100000, 2**63 - 1, -(2**63)]),
        pa.array([7, 2**63, 10**18], pa.uint64()),
        pa.array([7.0, 0.5, 1e18, 1e300, -3.0]),
        pa.array([7.0, 0.1], pa.float32()),
        pa.array(["7", "ann", "7"]).dictionary_encode(),
    ):
        found, texts = keys.words(column), same_key(column).cast(pa.large_string())
        for one, other in zip(found, keys.words(texts), strict=True):
            assert np.array_equal(one, other)


def test_files_that_round_a_person_do_not_make_them_two(tmp_path: Any) -> None:
    large = 2**53 + 1
    for i, who in enumerate((pa.array([large] * 3, pa.int64()), pa.array([float(large)] * 3), pa.array([str(large)]))):
        pq.write_table(pa.table({"user": who, "age": np.arange(len(who)) + 10.0 * i}), tmp_path / f"{i}.parquet")
    domain = dc.Domain({"age": (0, 100)}, unit=dc.Person("user", rows=2))
    people = PersonTable(dc.engines.open(tmp_path), domain.unit, domain, domain, KEY)
    assert people.histogram(10).tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]


# ---- more than memory holds


@pytest.mark.parametrize(
    ("distinct", "group"),
    [
        pytest.param(50, {}, id="equal rows"),
        pytest.param(10**6, {"group": "day", "per_group": 1}, id="different rows, groups"),
        pytest.param(10**6, {}, id="different rows", marks=pytest.mark.slow),
        pytest.param(50, {"group": "day", "per_group": 1}, id="equal rows, groups", marks=pytest.mark.slow),
    ],
)
def test_what_does_not_fit_into_memory_is_chosen_alike(
    distinct: int, group: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = dc.Person("user", rows=5, **group)
    rng = np.random.default_rng(4)
    n = 300_000
    user = np.where(rng.random(n) < 0.5, 1, rng.integers(0, 300, n))  # somebody has half of the rows
    rows = pa.table({"user": user, "day": rng.integers(1, 8, n), "x": rng.integers(0, distinct, n) / distinct})
    domain = dc.Domain({"day": dc.Integer(1, 7), "x": (0, 1)}, unit=unit)

    def chosen() -> tuple[Counter[Any], list[int]]:
        people = PersonTable(dc.engines.open(rows), unit, domain, domain, KEY)
        histogram = people.histogram(2000)
        found = people.bounded(5)
        held = people._found
        seen.append(sum(map(len, held._spilled)))
        return Counter(zip(*(c.tolist() for c in next(found.batches(domain))), strict=True)), histogram.tolist()

    seen: list[int] = []
    expected = chosen()
    monkeypatch.setattr(bounded, "MOST_BYTES", 1_000_000)
    assert chosen() == expected
    assert seen[0] == 0
    assert seen[1] > 0 or distinct == 50
    assert expected[0].total() == sum(min(5, c) for c in np.unique(user, return_counts=True)[1])


def test_memory_follows_persons_and_not_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MOST_BYTES", 1_000_000)
    domain = dc.Domain({"x": (0, 1)}, unit=dc.Person("user", rows=2))
    choice = bounded.Choice(domain, PersonKeys(None, Dialect(), KEY))
    held = bounded.RowsOfPersons(choice)
    rng, most = np.random.default_rng(0), 0
    for _ in range(40):
        held.add(*choice.entries(([rng.random(10_000)], pa.array(rng.integers(0, 100, 10_000)))))
        most = max(most, held._bytes)
    assert most <= 1_000_000
    assert len(next(iter([held.bounded(2, None, domain)]))._rows) == 200


def test_persons_with_more_rows_than_are_asked_for_are_counted_at_the_end() -> None:
    from discreet.engines.persons import kernels, plain

    person, counts = np.array([1, 2, 2], np.uint64), np.array([1, 2, 3], np.uint64)
    for loops in (kernels, plain):
        assert loops.rows_of_persons(np.arange(3), person, person, counts, 4).tolist() == [1, 0, 0, 1]
