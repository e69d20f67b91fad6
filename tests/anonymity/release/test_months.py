"""Months of a hospital: people come, leave, return and are corrected, and no one can be followed into a small group."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain
from discreet.anonymity import DensityTree, Generalization, Mondrian, Release
from discreet.anonymity.methods import partitioner
from discreet.anonymity.release import together
from discreet.errors import InvalidArgument, ReleaseConflict, SchemaError
from past_releases import Past
from row_followers import Published, Row, singled_out

TOWNS = ["ash", "elm", "fir", "oak"]
DOMAIN = Domain(
    {
        "who": {"role": "person"},
        "age": {"bounds": [10, 30], "kind": "integer", "role": "quasi-identifier"},
        "town": {"categories": TOWNS, "role": "quasi-identifier", "missing": "own"},
        "ill": {"categories": list("abcdef"), "role": "sensitive"},
    }
)
QUASI = ["age", "town"]


class Hospital:
    """Stays of patients, changed at random from month to month."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.month, self.born = rng, 0, 0
        self.stays: list[tuple[int, Row]] = []  # the month it began in, and the row
        self.gone: list[tuple[int, Row]] = []
        self.most = int(rng.integers(1, 4))
        self.calm = rng.random() < 0.3  # no one leaves, nothing is corrected
        self.kinds = "abcdef"[: int(rng.integers(2, 7))]
        self.come(int(rng.integers(8, 40)))

    def row(self, person: str) -> Row:
        age = None if self.rng.random() < 0.05 else int(self.rng.integers(10, 31))
        town = None if self.rng.random() < 0.1 else str(self.rng.choice(TOWNS))
        return Row(person, (age, town), None if self.rng.random() < 0.05 else str(self.rng.choice(list(self.kinds))))

    def come(self, n: int) -> None:
        for _ in range(n):
            self.born += 1
            stays = 1 if self.rng.random() < 0.6 else int(self.rng.integers(1, self.most + 1))
            self.stays += [(self.month, self.row(f"p{self.born}")) for _ in range(stays)]

    def next(self) -> list[Row]:
        """Change what changes in a month; return everyone, only the new stays, or a part."""
        rng = self.rng
        self.month += 1
        leave, cancel, change, move = rng.random(4) * [0.15, 0.1, 0.1, 0.1] * (not self.calm)
        people = sorted({row.person for _, row in self.stays})
        left = {person for person in people if rng.random() < leave}
        out = [stay for stay in self.stays if stay[1].person in left or rng.random() < cancel]
        back = [stay for stay in self.gone if rng.random() < 0.2]
        self.gone = [stay for stay in [*self.gone, *out] if stay not in back]
        self.stays = [stay for stay in self.stays if stay not in out] + back
        count = Counter(row.person for _, row in self.stays)
        for i, (month, row) in enumerate(self.stays):
            new = self.row(row.person)
            place = new.place if count[row.person] == 1 and rng.random() < move else row.place
            self.stays[i] = month, Row(row.person, place, new.value if rng.random() < change else row.value)
        for person in people:
            if rng.random() < 0.05 * self.most and person not in left:
                self.stays.append((self.month, self.row(person)))
        self.come(int(rng.integers(0, 15)))
        kind = rng.random() + self.calm
        if kind < 0.15:
            return [row for month, row in self.stays if month == self.month]
        if kind < 0.3:
            return [row for _, row in self.stays if rng.random() < 0.7]
        return [row for _, row in self.stays]


def method(rng: np.random.Generator, way: str) -> tuple[Any, dict[str, Any]]:
    """Draw a method with its options, and the promise as the attacker reads it."""
    promise: dict[str, Any] = {"k": int(rng.integers(2, 5))}
    if rng.random() < 0.3:
        promise["l"] = 2
    if rng.random() < 0.15:
        promise["t"] = 0.5
    kind = [DensityTree, Mondrian, Generalization][int(rng.integers(3))]
    options = {"suppress": float(rng.choice([0.0, 0.1, 0.3])), "on_conflict": way, "blanks": rng.random() < 0.5}
    rules = {"l_diversity": promise.get("l"), "t_closeness": promise.get("t")}
    return kind(promise["k"], domain=DOMAIN, **rules, **options), promise


def table_of(rows: list[Row]) -> pa.Table:
    return pa.table(
        {
            "who": pa.array([row.person for row in rows], pa.string()),
            "age": pa.array([row.place[0] for row in rows], pa.int64()),
            "town": pa.array([row.place[1] for row in rows], pa.string()),
            "ill": pa.array([row.value for row in rows], pa.string()),
        }
    )


def sequence(seed: int) -> tuple[list[Published], Counter[str]]:
    """Release two to six months, as far as they are not refused."""
    rng = np.random.default_rng(seed)
    hospital = Hospital(rng)
    releases: list[Release] = []
    seen: list[Published] = []
    done: Counter[str] = Counter()
    same = method(rng, "suppress") if rng.random() < 0.5 else None
    for month in range(int(rng.integers(2, 7))):
        rows = [row for _, row in hospital.stays] if month == 0 else hospital.next()
        way = str(rng.choice(["suppress", "suppress", "merge", "new"]))
        model, promise = same if same is not None else method(rng, way)
        try:
            release = model.fit_transform(table_of(rows), history=Past(*releases), random_state=seed)
        except (InvalidArgument, SchemaError):  # too few people, or a column without any value
            done["refused"] += 1
            continue
        cell: list[Any] = [None] * len(rows)
        printed = list(zip(*(release.table[name].to_pylist() for name in QUASI), strict=True))
        for at, where in zip(release.rows.tolist(), printed, strict=True):
            cell[at] = where
        releases.append(release)
        aged = [(row, where) for row, where in zip(rows, cell, strict=True) if row.place[0] is not None]  # dropped
        seen.append(Published(*map(tuple, zip(*aged, strict=True)), **promise))
        done["first" if len(seen) == 1 else f"{type(model).__name__} {model.on_conflict}"] += 1
    return seen, done


def attack(seeds: range) -> Counter[str]:
    total: Counter[str] = Counter()
    for seed in seeds:
        seen, done = sequence(seed)
        assert not (found := list(singled_out(seen))), (seed, found[:3])
        total += done
        total["sequences"] += len(seen) > 1
    return total


def test_no_one_is_singled_out_by_following_rows() -> None:
    done = attack(range(40))
    ways = [n for name, n in done.items() if " " in name]
    assert done["sequences"] >= 35
    assert len(ways) >= 7
    assert done["refused"] < sum(ways) / 2


def forget_earlier_tables(patch: pytest.MonkeyPatch) -> None:
    whole = together._broken
    patch.setattr(together, "_broken", lambda past, *rest: whole(replace(past, earlier=()), *rest))


def forget_changes(patch: pytest.MonkeyPatch) -> None:
    whole = together.read_past
    patch.setattr(partitioner, "read_past", lambda *given: _without(whole(*given), "changed"))


def forget_the_past(patch: pytest.MonkeyPatch) -> None:
    whole = together.read_past
    patch.setattr(partitioner, "read_past", lambda *given: _without(whole(*given), "before"))


def count_rows(patch: pytest.MonkeyPatch) -> None:
    whole = together.read_past

    def read(*given: Any) -> Any:
        past = whole(*given)
        return replace(past, earlier=tuple(replace(each, persons=None) for each in past.earlier))

    patch.setattr(partitioner, "read_past", read)


def leave_too_few_company(patch: pytest.MonkeyPatch) -> None:
    """Whoever left is taken for the only one who may be recognised: the check is skipped once company is found."""
    whole = together._company
    patch.setattr(together, "_company", lambda *given: whole(*given)[:1])
    check = together._broken

    def once(past: Any, node: Any, history: Any, *rest: Any) -> Any:
        found = check(past, node, history, *rest)
        out = np.isin(found, history[past.record[node < 0]])
        return found[~out]

    patch.setattr(together, "_broken", once)


def _without(past: Any, name: str) -> Any:
    return replace(past, **{name: np.zeros_like(getattr(past, name))})


@pytest.mark.parametrize(
    "fault", [forget_earlier_tables, forget_changes, forget_the_past, count_rows, leave_too_few_company]
)
def test_the_attacker_finds_planted_faults(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    assert any(any(singled_out(sequence(seed)[0])) for seed in range(40))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_no_one_is_singled_out_in_thousands_of_sequences(part: int) -> None:
    done = attack(range(1000 + 300 * part, 1300 + 300 * part))
    assert done["sequences"] >= 250


AGES = Domain(
    {
        "who": {"role": "person"},
        "age": {"bounds": [0, 100], "role": "quasi-identifier"},
        "ill": {"categories": list("abcdef"), "role": "sensitive"},
    }
)


def stays(rows: list[tuple[str, int, str]]) -> pa.Table:
    return pa.table(dict(zip(("who", "age", "ill"), map(list, zip(*rows, strict=True)), strict=True)))


#: Thirty young and eight old people.
JANUARY = [(f"y{i}", 20, "abcdef"[i % 6]) for i in range(30)] + [(f"o{i}", 80, "abcdef"[i % 6]) for i in range(8)]


def names(release: Release, rows: list[tuple[str, int, str]]) -> set[str]:
    return {rows[i][0] for i in release.rows.tolist()}


def test_one_who_left_hides_among_others_who_are_drawn_and_stay_out() -> None:
    tree = DensityTree(5, domain=AGES)
    first = tree.fit_transform(stays(JANUARY))
    assert first.cells.n_cells == 2
    february = [row for row in JANUARY if row[0] != "y3"]
    found = []
    for seed in range(4):
        second = tree.fit_transform(stays(february), history=Past(first), random_state=seed, order="input")
        assert second.guarantee.seeded
        told = second.guarantee.parameters
        assert (told["rows"], told["left_out_published_before"], told["left_out_never_published"]) == (33, 4, 0)
        assert (told["suppressed"], told["earlier_releases"], told["leaves_merged"]) == (4, 1, 0)
        assert told["reached_together"]["k"] == 8
        found.append({row[0] for row in february} - names(second, february))
    assert len({frozenset(each) for each in found}) > 1
    assert all(name.startswith("y") for each in found for name in each)
    # In March the same four are left out again, or the one who left would be alone.
    third = tree.fit_transform(stays(february), history=Past(first, second))
    assert {row[0] for row in february} - names(third, february) == found[-1]
    # One of eight leaves: four others are not enough, because three could not stay without them.
    march = [row for row in february if row[0] != "o1"]
    fourth = tree.fit_transform(stays(march), history=Past(first, second, third))
    assert not {name for name in names(fourth, march) if name.startswith("o")}
    assert fourth.guarantee.parameters["left_out_published_before"] == 4 + 7


def test_a_changed_value_hides_like_a_departure_and_newcomers_wait_for_each_other() -> None:
    tree = DensityTree(5, domain=AGES)
    first = tree.fit_transform(stays(JANUARY))
    changed = [(*row[:2], "f") if row[0] == "y0" else row for row in JANUARY]
    second = tree.fit_transform(stays(changed), history=Past(first))
    assert second.guarantee.parameters["left_out_published_before"] == 5
    assert "y0" not in names(second, changed)
    few = [*JANUARY, *((f"n{i}", 80, "a") for i in range(3))]
    second = tree.fit_transform(stays(few), history=Past(first))
    assert second.guarantee.parameters["left_out_never_published"] == 3
    more = [*few, *((f"n{i}", 80, "b") for i in range(3, 6))]  # three who waited, and three who are new
    third = tree.fit_transform(stays(more), history=Past(first, second))
    assert (third.suppressed, third.cells.n_cells) == (0, 2)


@pytest.mark.parametrize("method", [DensityTree, Mondrian, Generalization])
def test_what_a_conflict_does_is_chosen(method: Any) -> None:
    first = method(5, domain=AGES).fit_transform(stays(JANUARY))
    later = [row for row in JANUARY if row[0] != "y3"] + [(f"n{i}", 40, "abcdef"[i]) for i in range(5)]

    def release(way: str, rows: list[tuple[str, int, str]] = later) -> Release:
        made: Release = method(5, domain=AGES, on_conflict=way).fit_transform(stays(rows), history=Past(first))
        return made

    assert {"n0", "o0"} < names(release("suppress"), later)
    assert names(release("new"), later) == {f"n{i}" for i in range(5)}
    for way in ("merge", "refuse"):
        with pytest.raises(ReleaseConflict, match="1 removed record") as refused:
            release(way)
        assert "at least 5 at a time; here 4 more per group are needed" in str(refused.value)
        assert "or with 'new' only the 5 people who were never published" in str(refused.value)
        with pytest.raises(ReleaseConflict) as refused:
            release(way, later[:-1])
        assert "'new'" not in str(refused.value)  # four are too few
    with pytest.raises(ReleaseConflict, match="Leaving out more rows does not help"):
        release("new", later[:-1])
    whole = release("merge", [*JANUARY, *later[-5:]])
    assert whole.suppressed == 0
    with pytest.raises(InvalidArgument, match="on_conflict"):
        release("wait")


def test_who_was_who_is_not_changed_by_later_tables() -> None:
    """Someone with one changing row gets a second one: the earlier tables still tell the same story."""
    people = [(f"p{i}", 20, "a") for i in range(20)]
    first = DensityTree(5, domain=AGES).fit_transform(stays(people))
    moved = [(who, age, "b") if int(who[1:]) < 6 else (who, age, ill) for who, age, ill in people]
    second = DensityTree(5, domain=AGES, on_conflict="merge").fit_transform(stays(moved), history=Past(first))
    assert second.suppressed == 0
    more = [*moved, ("p0", 20, "c"), ("p1", 20, "d")]
    third = DensityTree(5, domain=AGES).fit_transform(stays(more), history=Past(first, second))
    assert third.guarantee.parameters["left_out_published_before"] == 0


def test_a_stay_that_another_replaced_for_a_month_fills_no_ones_group_when_it_is_back() -> None:
    """February has only a new stay of p0, March both: a follower of rows sees who of January is gone."""
    january = [(f"p{i}", 20, "a" if i else "b") for i in range(9)]
    first = DensityTree(3, domain=AGES).fit_transform(stays(january))
    february = [("p0", 20, "c"), *((f"n{i}", 20, "d") for i in range(4))]
    second = DensityTree(3, domain=AGES).fit_transform(stays(february), history=Past(first))
    march = [
        row for row in [*january, *february, *((f"m{i}", 20, "e") for i in range(4))] if row[0] not in ("p1", "p2")
    ]
    third = DensityTree(3, domain=AGES).fit_transform(stays(march), history=Past(first, second))
    assert names(second, february) == {"n0", "n1", "n2", "n3"}
    assert len({who for who, *_ in set(january) - {march[i] for i in third.rows.tolist()}}) >= 3


def test_only_new_people_counts_new_stays_of_known_people_as_published_before() -> None:
    first = DensityTree(3, domain=AGES).fit_transform(stays(JANUARY))
    second = DensityTree(3, domain=AGES, on_conflict="new").fit_transform(
        stays([*JANUARY, ("y0", 20, "b"), *((f"n{i}", 20, "a") for i in range(4))]), history=Past(first)
    )
    told = second.guarantee.parameters
    assert (told["left_out_published_before"], told["left_out_never_published"]) == (len(JANUARY) + 1, 0)


def _two_months(
    one: list[tuple[Any, ...]],
    two: list[tuple[Any, ...]],
    role: str = "person",
    k: tuple[int, int] = (3, 3),
    way: str = "suppress",
    **later: Any,
) -> Release:
    """Release two tables with who, age, ill and cost. The second may declare age otherwise."""
    names = ("who", "age", "ill", "cost")
    age = {"bounds": [0, 100], "kind": "integer", "role": "quasi-identifier"}
    rest = {
        "ill": {"categories": list("abcdefg"), "role": "sensitive"},
        "cost": {"bounds": [0, 1000], "kind": "integer", "role": "sensitive"},
    }
    made: list[Release] = []
    for rows, least, more in ((one, k[0], {}), (two, k[1], later)):
        domain = Domain({"who": {"role": role}, "age": {**age, **more}, **rest})
        table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
        tree = DensityTree(least, domain=domain, on_conflict=way)
        made.append(tree.fit_transform(table, history=Past(*made), random_state=1))
    return made[-1]


def test_a_corrected_stay_of_someone_with_several_fills_no_ones_group() -> None:
    """Two people leave and two come. A stay with the same cost and another illness is neither gone nor new."""
    stayed = [(f"s{i}", 30, "d", 300 + i) for i in range(8)]
    one = [("p", 30, "a", 111), ("p", 30, "g", 112), ("l1", 30, "b", 201), ("l2", 30, "c", 202), *stayed]
    two = [("p", 30, "b", 111), ("p", 30, "g", 112), *stayed, ("n1", 30, "b", 401), ("n2", 30, "c", 402)]
    costs = set(_two_months(one, two).table["cost"].to_pylist())
    assert not {401, 402} & costs  # two newcomers are too few
    assert len({111, 112, *range(300, 308)} - costs) >= 1  # and someone is left out with the two who left


@pytest.mark.parametrize("way", ["suppress", "merge"])
def test_corrections_are_as_many_as_the_earlier_table_promised(way: str) -> None:
    """Three stays are corrected: enough for k = 3 of the second table, not for the 5 of the first."""
    stayed = [(f"s{i}", 30, "d", 300 + i) for i in range(8)]
    several = [(f"p{i}", 30, "g", 500 + i) for i in range(3)]
    one = [*stayed, *several, *((f"p{i}", 30, "a", 100 + i) for i in range(3))]
    two = [*stayed, *several, *((f"p{i}", 30, "b", 100 + i) for i in range(3))]
    if way == "merge":
        with pytest.raises(ReleaseConflict, match="3 removed records"):
            _two_months(one, two, k=(5, 3), way=way)
        return
    costs = set(_two_months(one, two, k=(5, 3)).table["cost"].to_pylist())
    assert not {100, 101, 102} & costs
    assert _two_months(one, two, k=(3, 3)).suppressed == 0


@pytest.mark.parametrize("role", ["person", "identifier"])
def test_a_second_equal_row_is_told_from_the_first_by_its_place(role: str) -> None:
    """In the first month everyone has one row; then x0 has another with equal values, at another age."""
    young, old = [(f"s{i}", 5, "f", 5) for i in range(6)], [(f"u{i}", 60, "g", 5) for i in range(6)]
    one = [("x0", 60, "a", 1), ("y1", 60, "b", 1), ("y2", 60, "c", 1), *young, *old]
    two = [("x0", 5, "a", 1), ("x0", 60, "a", 1), ("y1", 5, "b", 1), ("y2", 5, "c", 1), *young, *old]
    two += [("n1", 60, "d", 1), ("n2", 60, "e", 1), ("m1", 5, "d", 1), ("m2", 5, "e", 1)]
    shown = _two_months(one, two, role).table.select(["ill", "age"]).to_pylist()
    moved = {row["ill"] for row in shown if row["age"] != "[33, 100]"} & {"b", "c"}
    assert not moved  # y1 and y2 alone went from the one cell to the other


def test_rows_are_not_followed_where_quasi_identifiers_are_declared_otherwise() -> None:
    one = [(f"p{i}", 30 + i, "a", 1) for i in range(9)]
    assert _two_months(one, one, levels="0..9 kid, 10..100 other").suppressed == 0  # everyone has one row
    with pytest.raises(ReleaseConflict, match="quasi-identifiers are declared otherwise"):
        _two_months(one, [*one, one[0]], levels="0..9 kid, 10..100 other")
