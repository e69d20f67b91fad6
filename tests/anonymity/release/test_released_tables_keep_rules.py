"""k, l and t are those of the rows that leave: counted by hand from released files, by every method and path."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from anonymity_checker import check_classes, distance
from discreet.anonymity.growth.grid import make_grid, number_text
from discreet.anonymity.release.record import ReleaseRecord
from discreet.core.domain import Numeric
from discreet.errors import DiscreetError, FormatError, InvalidArgument
from past_releases import Past
from support.trees import bins_of

METHODS = (dc.anonymity.DensityTree, dc.anonymity.Mondrian, dc.anonymity.Generalization)
PEOPLE = {
    "who": {"role": "person"},
    "age": {"bounds": [0, 100], "role": "quasi-identifier"},
    "pay": {"bounds": [0, 50], "role": "sensitive"},
}


def drawn(seed: int, n: int = 90) -> pa.Table:
    """People whose pay follows their age, and a few with an age and with values that no one else has."""
    r = random.Random(seed)
    rows = [(r.randint(0, 50), r.choice([0, 0, 1, 2])) for _ in range(n)]
    rows += [(r.randint(51, 60), r.choice([0, 1, 2, 2])) for _ in range(n)]
    rows += [(95 + r.randint(0, 5), 10 + i) for i in range(r.randint(1, 8))]
    r.shuffle(rows)
    return pa.table({"age": [a for a, _ in rows], "pay": [p for _, p in rows]})


def read(path: Path) -> tuple[list[str], list[float | None]]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return [row["age"] for row in rows], [float(row["pay"]) if row["pay"] else None for row in rows]


@pytest.mark.parametrize("method", METHODS)
def test_t_holds_in_the_file_although_rows_were_suppressed(method: Any, tmp_path: Path) -> None:
    domain = dc.Domain({name: PEOPLE[name] for name in ("age", "pay")})
    suppressed = 0
    for seed in range(8):
        now, r = drawn(seed), random.Random(100 + seed)
        # Grown on a table in which many had the ages that are rare now: their rows are in the way today.
        last = pa.concat_tables([now, pa.table({"age": [97] * 80, "pay": [r.choice([0, 1, 2]) for _ in range(80)]})])
        t = r.choice([0.05, 0.1, 0.2])
        model = method(8, t_closeness=t, domain=domain, suppress=0.1).fit(last)
        files = [tmp_path / f"memory-{seed}.csv", tmp_path / f"file-{seed}.csv"]
        try:
            model.transform(now).save(files[0])
            model.transform_file(now, files[1])
        except DiscreetError:
            assert method is dc.anonymity.Generalization  # whose levels were fixed on another table
            continue
        for file in files:
            suppressed += check_file(file, t)
    assert suppressed > 0


def check_file(file: Path, t: float) -> int:
    """Count t by hand, compare it with what is promised and stated, and return how many rows were suppressed."""
    cells, pay = read(file)
    assert not check_classes(cells, {"pay": pay}, k=8, t=t, t_kinds={"pay": "ordered"})
    facts = json.loads(Path(f"{file}.guarantee.json").read_text())["parameters"]
    of = defaultdict(list)
    for cell, value in zip(cells, pay, strict=True):
        of[cell].append(value)
    worst = max(distance(values, pay, "ordered") for values in of.values())
    assert facts["reached"]["t"]["pay"] == pytest.approx(worst, abs=1e-9)
    return int(facts["suppressed"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_persons_rows_of_no_one_suppression_and_t_together(method: Any, seed: int, tmp_path: Path) -> None:
    r = random.Random(seed)
    domain = dc.Domain(PEOPLE, unit=dc.Person("who", rows=3))
    plain = drawn(seed)
    who = [None if r.random() < 0.1 else r.randint(0, 60) for _ in range(len(plain))]
    table = plain.append_column("who", pa.array(who, pa.int64()))
    model = method(4, t_closeness=0.3, domain=domain, suppress=0.1)
    large = method(4, t_closeness=0.3, domain=domain, suppress=0.1)
    large._memory = 1
    large.fit(table)
    release = model.fit_transform(table, order="input")
    model.transform_file(table, tmp_path / "file.csv", order="input")
    cells, pay = read(tmp_path / "file.csv")
    assert cells == release.table["age"].to_pylist()
    assert pay == release.table["pay"].to_pylist()
    assert release.guarantee.parameters["left_out_without_person"] == sum(person is None for person in who)
    persons = [str(who[row]) for row in release.rows]
    assert not check_classes(cells, {}, k=4, persons=persons)
    # Each person weighs one, in a class and in the table: values with weights, counted here in whole rows of 1/60.
    whole = weighed(range(len(cells)), persons, pay)
    of = defaultdict(list)
    for row, cell in enumerate(cells):
        of[cell].append(row)
    worst = max(ordered(weighed(rows, persons, pay), whole) for rows in of.values())
    assert worst <= 0.3 + 1e-9
    assert release.guarantee.parameters["reached"]["t"]["pay"] == pytest.approx(worst, abs=1e-9)


def weighed(rows: Any, persons: list[str], values: list[Any]) -> dict[Any, float]:
    held: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        held[persons[row]].append(values[row])
    found: dict[Any, float] = defaultdict(float)
    for own in held.values():
        for value in own:
            found[value] += 1 / len(own) / len(held)
    return found


def ordered(own: dict[Any, float], whole: dict[Any, float]) -> float:
    running = moved = 0.0
    for value in sorted(whole):
        running += own.get(value, 0.0) - whole[value]
        moved += abs(running)
    return moved / max(len(whole) - 1, 1)


@pytest.mark.parametrize("nobody", [False, True])
def test_a_row_of_no_one_is_released_from_files_as_it_is_from_memory(nobody: bool, tmp_path: Path) -> None:
    columns = {"who": {"role": "person"}, "age": {"bounds": [0, 100], "role": "quasi-identifier"}}
    columns["ill"] = {"categories": ["u", "v"], "role": "sensitive"}
    domain = dc.Domain(columns, unit=dc.Person("who", rows=2))
    who = pa.array([None if nobody and i == 3 else i for i in range(40)], pa.int64())
    table = pa.table({"who": who, "age": [i * 2 % 100 for i in range(40)], "ill": ["u", "v"] * 20})
    tree = dc.anonymity.DensityTree(4, 2, domain=domain).fit(table)
    written = tree.transform_file(table, tmp_path / "out.csv")
    assert written.guarantee is not None
    assert written.guarantee.parameters["reached"] == tree.transform(table).guarantee.parameters["reached"]


def test_an_earlier_t_is_checked_by_the_hierarchy_it_was_promised_with(tmp_path: Path) -> None:
    far = dc.anonymity.Hierarchy({"x": ["u", "v"], "y": ["w", "z"]})
    near = dc.anonymity.Hierarchy({"x": ["u", "w"], "y": ["v", "z"]})
    domain = dc.Domain(
        {
            "id": {"role": "identifier"},
            "age": {"bounds": [0, 100], "kind": "integer", "role": "quasi-identifier"},
            "ill": {"categories": list("uvwz"), "role": "sensitive"},
        }
    )
    r = random.Random(1)
    ages = [r.randint(0, 100) for _ in range(200)]
    ill = [r.choice("uv") if age < 50 else r.choice("wz") for age in ages]
    table = pa.table({"id": list(range(200)), "age": ages, "ill": ill})

    def tree(hierarchy: Any) -> Any:
        settings: dict[str, Any] = {"t_closeness": 0.3, "t_kind": "hierarchical", "hierarchies": {"ill": hierarchy}}
        return dc.anonymity.DensityTree(3, domain=domain, **settings)

    one = tree(far).fit_transform(table, order="input")
    assert tree(near).fit_transform(table).cells.n_cells > 1  # by itself the second table may be finer
    two = tree(near).fit_transform(table, history=Past(one), order="input")
    both = list(zip(one.table["age"].to_pylist(), two.table["age"].to_pylist(), strict=True))
    nested = {"ill": [["u", "v"], ["w", "z"]]}
    assert not check_classes(both, {"ill": ill}, k=3, t=0.3, t_kinds={"ill": "hierarchical"}, trees=nested)
    required = {**one.record.required, "t": {"kind": "hierarchical", "most": 0.3}}
    lacking = ReleaseRecord(one.record.records, required, False, one.record.declared, one.record.measured)
    with pytest.raises(InvalidArgument, match="hierarchies"):
        tree(near).fit_transform(table, history=Past(lacking))
    lacking.save(tmp_path / "lacking.record")
    with pytest.raises(FormatError, match="hierarchy"):
        ReleaseRecord.load(tmp_path / "lacking.record")


@pytest.mark.parametrize(("low", "high", "steps"), [(-1, 1, None), (0, 1, 3), (0.1, 0.7, 6), (-3.3, 8.1, 57)])
def test_a_grid_point_is_the_number_that_is_printed(low: float, high: float, steps: Any) -> None:
    grid = make_grid(Numeric("x", low, high), steps)
    assert [float(number_text(edge)) for edge in grid.edges] == list(grid.edges)
    places = bins_of(grid, pa.array([float(number_text(edge)) for edge in grid.edges[:-1]]).to_numpy())
    assert places.tolist() == list(range(grid.levels))


def test_a_row_lies_in_the_interval_that_is_printed_for_it() -> None:
    x = [-0.09] * 5 + [-0.5, -0.6, -0.7, -0.8, -0.9, 0.2, 0.3, 0.4, 0.5, 0.6]
    domain = dc.Domain({"x": {"bounds": [-1, 1], "role": "quasi-identifier"}})
    for method in (dc.anonymity.DensityTree(5, domain=domain), dc.anonymity.Mondrian(5, domain=domain)):
        shown = method.fit_transform(pa.table({"x": x}), order="input").table["x"].to_pylist()
        for value, text in zip(x, shown, strict=True):
            low, high = (float(end) for end in text[1:-1].split(", "))
            assert low <= value
            assert value < high or (text.endswith("]") and value == high)


def test_a_release_that_is_refused_or_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.csv").write_text("id,age\n" + "".join(f"{i},{i % 50}\n" for i in range(40)))
    (tmp_path / "s.toml").write_text(
        '[columns]\nid = {role = "identifier"}\nage = {bounds = [0, 99], role = "quasi-identifier"}\n'
    )
    given, there = {"k": 5, "history": "people.history"}, sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(DiscreetError, match="written as"):
        dc.Job("anonymize", "p.csv", "s.toml", given, {"release": "safe.dat"}, tmp_path).run()
    assert sorted(path.name for path in tmp_path.iterdir()) == there
    job = dc.Job("anonymize", "p.csv", "s.toml", given, {"release": "safe.csv"}, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(ReleaseRecord, "save", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            job.run()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "people.history", "s.toml"]
    assert [path.name for path in (tmp_path / "people.history").iterdir()] == ["lock"]
    job.run()
    (record,) = dc.anonymity.ReleaseHistory(tmp_path / "people.history").records()
    assert record.n == 40
