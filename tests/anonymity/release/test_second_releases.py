"""Later releases: people who stay, come and go cannot be identified, and the release history stays private."""

from __future__ import annotations

import json
import os
import pickle
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain
from discreet.anonymity import DensityTree, Generalization, Microaggregation, Mondrian, Release
from discreet.anonymity.release.record import ReleaseRecord, following_column
from discreet.anonymity.release.table import read_table
from discreet.anonymity.release.together import _records, read_past
from discreet.core.budget.guarantee import Guarantee
from discreet.errors import DataSourceError, FormatError, InvalidArgument, InvalidType, SchemaError
from past_releases import Past
from release_attacker import Held, hold, singled_out

ONE = Domain(
    {
        "age": {"bounds": [0, 100], "role": "quasi-identifier"},
        "id": {"categories": ["any"], "role": "identifier"},
        "ill": {"categories": [f"d{i}" for i in range(60)], "role": "sensitive"},
    }
)


def few(rows: list[tuple[int, int, str]]) -> pa.Table:
    age, name, ill = zip(*rows, strict=True)
    return pa.table({"age": age, "id": [f"p{i}" for i in name], "ill": ill})


def halves(**settings: Any) -> Mondrian:
    """A tree that cuts in the middle; its cells are only merged."""
    young = [(10 + j, j, f"d{j}") for j in range(20)]
    old = [(60 + j, 20 + j, f"d{j}") for j in range(20)]
    tree = Mondrian(k=5, domain=ONE, **{"on_conflict": "merge", **settings})
    tree.fit(few(young + old))
    return tree


JANUARY = [(20, 100, "d7"), *((70, 101 + j, f"d{20 + j}") for j in range(9))]


def test_a_cell_does_not_split_around_one_person_who_stays() -> None:
    tree = halves(l_diversity=2)
    first = tree.transform(few(JANUARY))
    february = [*JANUARY, *((20, 120 + j, f"d{40 + j}") for j in range(5))]
    alone = tree.transform(few(february))
    assert alone.cells.n_cells == 2  # by itself it may split, and that gives d7 away
    second = tree.transform(few(february), history=Past(first))
    assert second.cells.n_cells == 1
    cell = second.table["age"][0].as_py()
    both = set(first.table["ill"].to_pylist()) & {
        s for a, s in zip(second.table["age"].to_pylist(), second.table["ill"].to_pylist(), strict=True) if a == cell
    }
    assert "d7" in both
    assert len(both) == 10


def test_suppressed_rows_stay_suppressed_or_join_as_a_group() -> None:
    tree = halves(suppress=0.2, on_conflict="suppress")
    first = tree.transform(few(JANUARY))
    assert first.suppressed == 1
    again = tree.transform(few(JANUARY), history=Past(first))
    assert again.suppressed == 1
    assert again.table["age"].unique() == first.table["age"].unique()
    assert not set(again.table["ill"].to_pylist()) - set(first.table["ill"].to_pylist())
    strict = halves()
    with pytest.raises(InvalidArgument, match="1 added record could be identified by comparing this release with"):
        strict.transform(few(JANUARY), history=Past(first))
    # Four more were left out of February, and come out together with the first in March, in a cell of their own.
    crowd = [*JANUARY, *((21, 200 + j, f"d{j}") for j in range(4))]
    assert tree.transform(few([*JANUARY, crowd[-1]]), history=Past(first)).suppressed == 2
    # One who was left out and four who are new are one group: rows do not show why they were not there before.
    assert strict.transform(few(crowd), history=Past(first)).suppressed == 0
    # With l, being left out may say something about the value, so they are two groups.
    careful = halves(suppress=0.2, l_diversity=2, on_conflict="suppress")
    assert careful.transform(few(crowd), history=Past(careful.transform(few(JANUARY)))).suppressed == 5


def test_the_first_and_the_third_release_are_looked_at_together() -> None:
    tree = halves()
    stay = [(70, 10 + j, f"d{j}") for j in range(6)]
    mixed = [(20, 30 + j, f"d{j}") for j in range(2)]
    first = tree.transform(few([*stay, *mixed]))  # one cell: the two young ones hide in it
    assert first.cells.n_cells == 1
    second = tree.transform(
        few([(70, 60 + j, f"d{j}") for j in range(8)]), history=Past(first)
    )  # other people altogether
    third = [*stay, *mixed, *((20, 40 + j, f"d{9 + j}") for j in range(6)), *((70, 60 + j, f"d{j}") for j in range(8))]
    assert tree.transform(few(third), history=Past(ReleaseRecord.of(*_parts(second)))).cells.n_cells == 2
    assert tree.transform(few(third), history=Past(first, second)).cells.n_cells == 1


def _parts(release: Release) -> tuple[Any, ...]:
    """A release history that forgot with which others its release was made."""
    kept = release._kept
    assert kept is not None
    return kept.table, release.cells, kept.required


def test_all_earlier_releases_are_asked_for() -> None:
    tree = halves()
    people = [(age, j, f"d{j % 50}") for j, age in enumerate([20] * 10 + [70] * 10)]
    first = tree.transform(few(people))
    second = tree.transform(few(people), history=Past(first))
    assert second.record.earlier == (first.record.seal,)
    with pytest.raises(FormatError, match="1 earlier release missing"):
        tree.transform(few(people), history=Past(second))
    third = tree.transform(few(people), history=Past(second, first, first))
    assert third.guarantee.parameters["earlier_releases"] == 2
    assert third.cells.n_cells == 2
    assert tree.transform(few(people), history=Past()).guarantee.parameters.get("earlier_releases") is None


def test_the_promise_names_the_earlier_releases() -> None:
    tree = halves(l_diversity=2)
    people = [(age, j, f"d{j % 50}") for j, age in enumerate([20] * 10 + [70] * 10)]
    first = tree.transform(few(people))
    more = [*people, *((20, 50 + j, f"d{j}") for j in range(6))]
    second = tree.transform(few(more), history=Past(first))
    facts = second.guarantee.parameters
    assert facts["earlier_releases"] == 1
    assert facts["reached_together"]["k"] == 6
    assert facts["reached"]["k"] == 10
    text = str(second.guarantee)
    assert "every group of its rows that can be told apart with the help of the earlier release;" in text
    assert "the release history holds all earlier releases about these people" in text
    assert "told apart" not in str(first.guarantee)
    third = tree.transform(few(more), history=Past(first, second))
    assert "with the help of the 2 earlier releases" in str(third.guarantee)
    assert Guarantee.from_json(third.guarantee.to_json()) == third.guarantee
    assert (
        second.record.seal not in second.guarantee.to_json()
    )  # a digest of who is in the table stays inside the organisation


def test_each_table_keeps_its_own_rules() -> None:
    people = [(age, j, f"d{j % 50}") for j, age in enumerate([20] * 10 + [70] * 10)]
    strong = Mondrian(k=10, domain=ONE).fit_transform(few(people))
    assert strong.cells.n_cells == 2
    weak = halves()
    with pytest.raises(InvalidArgument, match="5 removed records"):  # five would do for k = 5, not for k = 10
        weak.transform(few(people[:5] + people[10:]), history=Past(strong))
    gone = weak.transform(few(people[10:]), history=Past(strong))
    assert len(gone) == 10


def test_releases_that_isolate_already_are_refused() -> None:
    tree = halves()
    first = tree.transform(few(JANUARY))
    february = [*JANUARY, *((20, 120 + j, f"d{40 + j}") for j in range(5))]
    unchecked = tree.transform(few(february))
    with pytest.raises(InvalidArgument, match="not checked with each other"):
        tree.transform(few(february), history=Past(first, unchecked))


def test_persons_with_several_rows_are_counted_once() -> None:
    domain = Domain(
        {"who": {"categories": ["any"], "role": "person"}, "x": {"bounds": [0, 1], "role": "quasi-identifier"}}
    )
    whose = [f"a{i % 20}" for i in range(40)]
    first = pa.table({"who": whose, "x": np.linspace(0, 0.99, 40)})
    tree = DensityTree(4, domain=domain, on_conflict="merge").fit(first)
    out = tree.transform(first)
    one = pa.table({"who": ["new"] * 8, "x": np.full(8, 0.1)})
    with pytest.raises(InvalidArgument, match="8 added records"):
        tree.transform(pa.concat_tables([first, one]), history=Past(out))
    several = pa.table({"who": [f"new {i}" for i in range(8)], "x": np.full(8, 0.1)})
    assert len(tree.transform(pa.concat_tables([first, several]), history=Past(out))) == 48
    # The same people, in another spelling and another order, are the same people.
    again = first.set_column(0, "who", pa.array([f" {w} " for w in whose])).take(pa.array(np.arange(40)[::-1]))
    assert tree.transform(again, history=Past(out)).cells.n_cells == out.cells.n_cells


@pytest.mark.parametrize("seed", range(6))
def test_persons_with_several_rows_are_attacked(seed: int) -> None:
    domain = Domain(
        {
            "who": {"bounds": [0, 10**6], "role": "person"},
            "age": {"bounds": [0, 100], "role": "quasi-identifier"},
            "visit": {"categories": [f"v{i}" for i in range(400)], "role": "sensitive"},
        }
    )
    rng = np.random.default_rng(seed)
    # Every visit has a value of its own: so the attacker can follow each row, anyone who has several.
    visits = [(int(rng.integers(0, 30)), float(rng.integers(0, 100)), f"v{i}") for i in range(60)]
    releases: list[Release] = []
    held: list[Held] = []
    for month in range(3):
        if month:
            near = float(rng.integers(20, 80))
            start = 60 + 60 * month
            visits = visits + [(1000 * month + i, near, f"v{start + i}") for i in range(int(rng.integers(5, 20)))]
        who, age, visit = zip(*visits, strict=True)
        rows = pa.table({"who": who, "age": age, "visit": visit})
        releases.append(DensityTree(3, domain=domain, suppress=0.1).fit_transform(rows, history=Past(*releases)))
        records = [(w, v) for w, _, v in visits]
        held.append(hold(releases[-1], records, ["age"], "visit", k=3))
    assert next(singled_out(held), None) is None


VISITS = Domain(
    {
        "who": {"bounds": [0, 10**6], "role": "person"},
        "age": {"bounds": [0, 100], "role": "quasi-identifier"},
        "ill": {"categories": ["flu", "cold"], "role": "sensitive"},
    }
)


def visits(rows: list[tuple[int, str, int, str]]) -> pa.Table:
    who, _, age, ill = zip(*rows, strict=True)
    return pa.table({"who": who, "age": age, "ill": ill})


def test_of_several_rows_alike_the_one_that_left_is_told_by_its_place(tmp_path: Path) -> None:
    """Person 1 has the flu twice, young and old; the young row leaves, and one of person 4, who is old.

    Taken in the order of their cells the old row would be the young one, moved, and two would have left the old cell.
    """
    january = [(1, "a", 10, "flu"), (2, "a", 12, "cold"), (3, "a", 14, "flu"), (1, "b", 80, "flu"),
               (4, "a", 82, "flu"), (5, "a", 84, "cold"), (6, "a", 86, "cold")]  # fmt: skip
    february = [row for row in january if row[:2] not in ((1, "a"), (4, "a"))]
    tree = DensityTree(2, domain=VISITS, on_conflict="merge").fit(visits(january))
    first = tree.transform(visits(january))
    with pytest.raises(InvalidArgument, match="2 removed records"):
        tree.transform(visits(february), history=Past(first))
    # No one left: the same rows in another order, and one of them moved, are still the same ones.
    moved = [(1, "b", 90, "flu") if row[:2] == (1, "b") else row for row in january[::-1]]
    assert len(tree.transform(visits(january[::-1]), history=Past(first))) == 7
    columns = (np.array(column) for column in zip(*_followed([january, moved]), strict=True))
    record, (source, _) = _records(*columns, columns=[])
    assert (source < 0).all()
    assert record[7:][::-1].tolist() == record[:7].tolist()


@pytest.mark.parametrize(("others", "seen"), [(0, True), (1, True), (2, False)])
def test_a_correction_is_seen_by_a_value_that_at_most_k_rows_have(others: int, seen: bool) -> None:
    """Person 1 has two rows; in February one has another place and diagnosis, and the medicine it had before."""
    domain = Domain(
        {
            "who": {"bounds": [0, 10**6], "role": "person"},
            "age": {"bounds": [0, 100], "role": "quasi-identifier"},
            "ill": {"categories": ["flu", "cold", "cough"], "role": "sensitive"},
            "cure": {"categories": ["tea", "rest", "herbs"], "role": "sensitive"},
        }
    )

    def month(first: tuple[int, int, str, str]) -> pa.Table:
        rows = [first, (1, 80, "cold", "rest"), *((2 + j, 20 + j, "cold", "tea") for j in range(others))]
        rows += [(50 + j, 30 + j, "cold", "herbs") for j in range(9)]
        return pa.table(dict(zip(domain.names, map(list, zip(*rows, strict=True)), strict=True)))

    january, february = month((1, 10, "flu", "tea")), month((1, 50, "cough", "tea"))
    tree = DensityTree(2, domain=domain).fit(january)
    past = read_past([tree.transform(january).record], read_table(february, tree.plan_))
    assert (past.corrected[0] >= 0).any() == seen


def _followed(tables: list[list[tuple[int, str, int, str]]]) -> list[tuple[int, int, int, int]]:
    """Key, value, release and place on the grid of every row."""
    return [(who, ill == "flu", j, age) for j, rows in enumerate(tables) for who, _, age, ill in rows]


@pytest.mark.parametrize("seed", [46, 138, 178, pytest.param(0, marks=pytest.mark.slow)])
def test_persons_with_several_rows_alike_are_attacked(seed: int) -> None:
    for number in range(seed, seed + (120 if seed == 0 else 1)):
        rng = np.random.default_rng(number)
        here: list[tuple[int, str, int, str]] = []
        releases: list[Release] = []
        held: list[Held] = []
        for month in range(3):
            here = [row for row in here if rng.random() > 0.15]
            for i in range(int(rng.integers(8, 24))):
                ill = str(rng.choice(["flu", "cold"]))
                here.append((1000 * month + i // 2, f"{month} {i}", int(rng.integers(0, 100)), ill))
            tree = DensityTree(2, domain=VISITS, suppress=1.0)
            try:
                releases.append(tree.fit_transform(visits(here), history=Past(*releases)))
            except InvalidArgument:  # who was published cannot be taken back
                continue
            held.append(hold(releases[-1], [row[:2] for row in here], ["age"], "ill", k=2))
        assert next(singled_out(held), None) is None, number


def record(tmp_path: Path) -> tuple[Release, Path]:
    release = halves(suppress=0.2).transform(few(JANUARY))
    place = tmp_path / "january.record"
    release.record.save(place)
    return release, place


def test_only_its_owner_can_read_a_release_record(tmp_path: Path) -> None:
    release, place = record(tmp_path)
    assert stat.S_IMODE(os.stat(place).st_mode) == 0o600
    read = ReleaseRecord.load(place)
    assert read.seal == release.record.seal
    assert read.n == 10
    rows = read.records.to_pylist()
    assert rows[0] == {
        "identifier:id": "p100", "sensitive:ill": "d7", "cell": None, "published": None, "suppressed": True,
        "where": "[20, 21)",
    }  # fmt: skip
    assert rows[1]["published"] == "age " + release.table["age"][0].as_py()
    assert rows[1]["suppressed"] is False
    facts = json.loads(pq.read_schema(place).metadata[b"discreet.record"])
    assert facts["format"] == "discreet.record"
    assert facts["format_version"] == 3
    assert facts["required"] == {"k": 5}
    assert "p100" not in repr(release) + repr(read) + release.guarantee.to_json()
    assert release.table.column_names == ["age", "ill"]


def test_no_ones_name_travels_with_a_stored_release(tmp_path: Path) -> None:
    release, _ = record(tmp_path)
    stored = pickle.dumps(release)
    assert b"p100" not in stored
    copy = pickle.loads(stored)
    assert copy.table.equals(release.table)
    with pytest.raises(InvalidArgument, match="in the program that made it"):
        copy.record  # noqa: B018
    release.save(tmp_path / "safe.parquet")
    assert b"p100" not in (tmp_path / "safe.parquet").read_bytes()


def damaged(place: Path) -> Iterator[tuple[str, pa.Table]]:
    good = pq.read_table(place)
    meta = json.loads(good.schema.metadata[b"discreet.record"])

    def made(table: pa.Table, **facts: Any) -> pa.Table:
        return table.replace_schema_metadata({b"discreet.record": json.dumps({**meta, **facts})})

    yield "was changed", made(good.slice(1))
    yield "was changed", made(good.set_column(2, "cell", pa.array([1] * good.num_rows, pa.int64())))
    yield "was changed", made(good, required={"k": 2})
    yield "was changed", made(good, earlier=["sha256:0"])
    yield "format_version 3", made(good, format_version=1)
    yield "cannot be read: k must be", made(good, required={"k": "many"})
    yield "cannot be read", good.replace_schema_metadata({b"discreet.record": "{"})
    yield "not a release record", good.replace_schema_metadata(None)


def test_a_changed_release_record_is_refused(tmp_path: Path) -> None:
    _, place = record(tmp_path)
    for what, table in damaged(place):
        pq.write_table(table, tmp_path / "bad.record")
        with pytest.raises(FormatError, match=what):
            ReleaseRecord.load(tmp_path / "bad.record")
    (tmp_path / "text.record").write_text("who,cell")
    with pytest.raises(FormatError, match="not a release record"):
        ReleaseRecord.load(tmp_path / "text.record")
    with pytest.raises(DataSourceError, match="cannot read"):
        ReleaseRecord.load(tmp_path / "absent.record")


def test_what_cannot_be_followed_is_refused(tmp_path: Path) -> None:
    nameless = ONE.select(["age", "ill"])
    model = DensityTree(k=2, domain=nameless)
    release = model.fit_transform(few(JANUARY))
    named = halves().transform(few(JANUARY))
    with pytest.raises(SchemaError, match="names no identifier and no person"):
        release.record  # noqa: B018
    with pytest.raises(SchemaError, match="names no identifier and no person"):
        model.transform(few(JANUARY), history=Past(named))
    with pytest.raises(InvalidType, match="history"):
        halves().transform(few(JANUARY), history=few(JANUARY))
    gap = few(JANUARY).set_column(1, "id", pa.array([None, *(f"p{i}" for i in range(9))]))
    with pytest.raises(SchemaError, match="1 row with no value in 'id'"):
        halves().transform(gap).record  # noqa: B018
    other = Generalization(5, domain=ONE)
    assert other.fit_transform(few(JANUARY)).record.n == 10  # its own release can be followed
    with pytest.raises(InvalidArgument, match="by cells"):
        Microaggregation(5, domain=ONE).fit_transform(few(JANUARY)).record  # noqa: B018
    person = Domain({**ONE.to_dict(), "id": {"categories": ["any"], "role": "person"}})
    with pytest.raises(InvalidArgument, match="k counts rows; in this release it does not"):
        DensityTree(5, domain=person).fit_transform(few(JANUARY), history=Past(named))
    plain = Domain({**ONE.to_dict(), "ill": {"categories": ["any"], "role": "identifier"}})
    with pytest.raises(InvalidArgument, match="has the identifiers"):
        DensityTree(5, domain=plain.select(["age", "ill"])).fit_transform(few(JANUARY), history=Past(named))
    with pytest.raises(SchemaError, match="names 2 identifiers"):
        DensityTree(5, domain=plain).fit_transform(few(JANUARY), history=Past(named))


def two(id_role: str, **extra: dict[str, Any]) -> Domain:
    people = {"age": {"bounds": [0, 100], "role": "quasi-identifier"}, "id": {"categories": ["x"], "role": id_role}}
    return Domain({**people, **extra})


CASE = {"case": {"categories": ["x"], "role": "identifier"}}


def months(domain: Domain, seed: int, case: Any) -> tuple[Any, Any, pa.Table, pa.Table]:
    rng = np.random.default_rng(seed)
    age, stay = rng.integers(0, 100, 60), rng.permutation(60)[:35]

    def table(who: Any, month: str) -> pa.Table:
        return pa.table(
            {
                "age": age[who],
                "id": [f"s{i}" for i in who],
                "case": pa.array([case(i, month) for i in who], pa.string()),
            }
        )

    return domain, stay, table(stay, "january"), table(np.arange(60), "february")


@pytest.mark.parametrize(
    "case", [lambda i, month: f"c{i}{month}", lambda i, month: f"c{i}" if month == "january" else None]
)
def test_people_are_followed_though_another_identifier_is_new_or_missing(case: Any) -> None:
    checked = 0
    for seed in range(12):
        domain, stay, january, february = months(two("person", **CASE), seed, case)
        first = DensityTree(k=5, domain=domain).fit_transform(january, order="input")
        try:
            second = DensityTree(k=5, domain=domain).fit_transform(february, order="input", history=Past(first))
        except InvalidArgument:
            continue
        before = dict(zip(stay.tolist(), first.cells.of.tolist(), strict=True))
        pairs = [(before.get(i), cell if cell >= 0 else None) for i, cell in enumerate(second.cells.of.tolist())]
        pairs = [pair for pair in pairs if pair != (None, None)]
        assert min(pairs.count(pair) for pair in set(pairs)) >= 5
        checked += 1
    assert checked >= 3


def test_two_identifiers_and_no_person_are_refused_and_the_advice_works(tmp_path: Path) -> None:
    domain, _, january, february = months(two("identifier", **CASE), 0, lambda i, month: f"c{i}{month}")
    first = DensityTree(k=5, domain=domain).fit_transform(january)
    with pytest.raises(SchemaError, match=r"names 2 identifiers \('id', 'case'\) and no person") as refused:
        first.record  # noqa: B018
    with pytest.raises(SchemaError, match="names 2 identifiers"):
        DensityTree(k=5, domain=domain).fit_transform(february, history=Past(ReleaseRecord.of(*_parts(_one()))))
    advice = tomllib.loads(str(refused.value).partition("for example ")[2])
    typed = Domain({**domain.to_dict(), **advice})
    assert DensityTree(k=5, domain=typed).fit_transform(january).record.identifiers == ("id",)
    named: Any = SimpleNamespace(person=None, identifiers=("Fall Nr", "Patientennummer"))
    with pytest.raises(SchemaError, match=r'for example Patientennummer = \{role = "person"\}'):
        following_column(named)


def _one() -> Release:
    return halves().transform(few(JANUARY))


ANYONE: dict[str, Any] = {"categories": ["x"]}


@pytest.mark.parametrize(
    ("january", "february"),
    [
        (ANYONE, {"categories": ["x", *(f"{i}" for i in range(60)), *(f"0{i}" for i in range(60))]}),
        (ANYONE, {"bounds": [0, 99]}),
        ({"bounds": [0, 99]}, {"bounds": [0, 999]}),
        ({"bounds": [0, 99]}, {"bounds": ["2020-01-01", "2021-01-01"]}),
        ({"categories": [True]}, {"categories": [1]}),
    ],
)
def test_people_who_are_declared_differently_are_not_followed(
    january: dict[str, Any], february: dict[str, Any], tmp_path: Path
) -> None:
    def tree(declared: dict[str, Any]) -> DensityTree:
        age = {"bounds": [0, 100], "role": "quasi-identifier"}
        return DensityTree(k=5, domain=Domain({"age": age, "id": {**declared, "role": "identifier"}}))

    people = pa.table({"age": np.arange(60), "id": [f"{i + 1}" for i in range(60)]})
    place = tmp_path / "january.record"
    first = tree(january).fit_transform(people)
    first.record.save(place)
    for earlier in (first, ReleaseRecord.load(place)):
        with pytest.raises(InvalidArgument, match="declares column 'id' with"):
            tree(february).fit_transform(people, history=Past(earlier))
        again = tree(january).fit_transform(people, history=Past(earlier))
        assert again.guarantee.parameters["earlier_releases"] == 1


@pytest.mark.parametrize(
    "declared", [{"bounds": [0, 7]}, {"categories": list("76543210")}, {"categories": list("0123456")}]
)
def test_sensitive_values_that_are_declared_differently_are_not_compared(
    declared: dict[str, Any], tmp_path: Path
) -> None:
    def tree(ill: dict[str, Any]) -> DensityTree:
        age = {"bounds": [0, 100], "role": "quasi-identifier"}
        columns = {"id": {"role": "identifier"}, "age": age, "ill": {**ill, "role": "sensitive"}}
        return DensityTree(k=4, t_closeness=0.3, domain=Domain(columns))

    january = pa.table({"id": np.arange(80), "age": [20] * 80, "ill": [str(i % 8) for i in range(80)]})
    even = pa.array(np.arange(0, 80, 2))  # those who left would have odd values: a distance of 0.5
    first = tree({"categories": list("01234567")}).fit_transform(january)
    place = tmp_path / "january.record"
    first.record.save(place)
    for earlier in (first, ReleaseRecord.load(place)):
        with pytest.raises(InvalidArgument, match="declares column 'ill' with 8 categories"):
            tree(declared).fit_transform(january.take(even), history=Past(earlier))


def test_people_have_the_same_keys_whatever_type_a_month_keeps_them_in() -> None:
    domain = two("person")
    age, number = np.arange(60), np.arange(60) + 1
    spelled = [
        pa.array(number), pa.array(number.astype(float)), pa.array([f"0{i}\u200b" for i in number]),
        pa.array([str(i).translate({48 + d: 0xFF10 + d for d in range(10)}) for i in number]),
    ]  # fmt: skip
    records = [DensityTree(5, domain=domain).fit_transform(pa.table({"age": age, "id": c})).record for c in spelled]
    assert all(record.identifier.equals(records[0].identifier) for record in records)


def newcomers(seed: int, n: int = 4000, new: int = 200) -> tuple[Domain, pa.Table, pa.Table]:
    """A table, and the same with a few new people, of whom more live in rare towns: groups by counts would change."""
    rng = np.random.default_rng(seed)
    age, names = rng.integers(18, 90, n + new), [f"c{i:02}" for i in range(40)]
    home = np.where(np.arange(n + new) < n, (rng.zipf(1.3, n + new) * 7) % 40, rng.integers(0, 40, n + new))
    domain = Domain({"age": (0, 120), "town": names, "id": {"categories": ["any"], "role": "identifier"}})
    both = pa.table({"age": age, "town": [names[i] for i in home], "id": [f"p{i}" for i in range(n + new)]})
    return domain, both.slice(0, n), both


def test_a_release_with_a_few_new_rows_has_a_sensible_number_of_cells(tmp_path: Path) -> None:
    """Each cell holds k new people or none of them, so there cannot be many.

    Categories are grouped by their counts in the first release: other groups would cut across its cells.
    """
    found: dict[str, list[int]] = {"by the same tree": [], "anew": []}
    for seed in range(4):
        domain, before, both = newcomers(seed)
        tree = DensityTree(5, domain=domain).fit(before)
        first = tree.transform(before)
        first.record.save(tmp_path / f"{seed}.record")
        kept = ReleaseRecord.load(tmp_path / f"{seed}.record")
        assert sum(kept.groups["town"].values()) == 4000
        other = DensityTree(5, domain=domain)
        releases = [tree.transform(both, history=Past(kept)), other.fit_transform(both, history=Past(kept))]
        assert other.hierarchies_ == tree.hierarchies_ != DensityTree(5, domain=domain).fit(both).hierarchies_
        for way, release in zip(found, releases, strict=True):
            found[way].append(release.cells.n_cells)
            assert release.guarantee.parameters["reached_together"]["k"] >= 5
            assert release.record.groups == kept.groups
    assert min(found["by the same tree"]) >= 15
    assert min(found["anew"]) >= 15


def test_a_record_from_before_groups_were_kept_is_still_read(tmp_path: Path) -> None:
    release, place = record(tmp_path)
    assert "groups" not in json.loads(pq.read_schema(place).metadata[b"discreet.record"])
    assert ReleaseRecord.load(place).groups == release.record.groups == {}
