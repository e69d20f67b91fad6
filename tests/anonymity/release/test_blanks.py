"""Rows that would be left out stay with single values blanked: every printed group keeps the rules, by plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain
from discreet.anonymity import DensityTree, Generalization, Mondrian, ReleaseHistory
from discreet.anonymity.growth.grid import Cells
from discreet.anonymity.release import blanks
from discreet.errors import InvalidArgument, SchemaError
from discreet.evaluation.promises.recount import recount
from past_releases import Past

TOWNS = ["ash", "elm", "fir", "oak"]
QUASI = ["age", "town", "sex"]


def domain(persons: bool) -> Domain:
    return Domain(
        {
            **({"who": {"role": "person"}} if persons else {}),
            "age": {"bounds": [10, 42], "kind": "integer", "role": "quasi-identifier", "missing": "own"},
            "town": {"categories": TOWNS, "role": "quasi-identifier", "missing": "own"},
            "sex": {"categories": ["f", "m"], "role": "quasi-identifier"},
            "ill": {"categories": list("abcd"), "role": "sensitive"},
        }
    )


def draw(rng: np.random.Generator, n: int) -> list[tuple[Any, ...]]:
    """Return rows: person, age, town, sex, illness; some people have many rows, some values are missing."""

    def often(value: Any, share: float) -> Any:
        return None if rng.random() < share else value

    return [
        (
            f"p{int(n * rng.random() ** 2)}",
            often(int(10 + rng.geometric(0.2) % 33), 0.1),
            often(str(rng.choice(TOWNS, p=[0.6, 0.2, 0.15, 0.05])), 0.1),
            str(rng.choice(["f", "m"])),
            often(str(rng.choice(list("abcd"), p=[0.5, 0.3, 0.15, 0.05])), 0.05),
        )
        for _ in range(n)
    ]


def table_of(rows: list[tuple[Any, ...]], persons: bool) -> pa.Table:
    columns = dict(zip(["who", *QUASI, "ill"], map(list, zip(*rows, strict=True)), strict=True))
    made = pa.table({name: pa.array(v, pa.int64() if name == "age" else pa.string()) for name, v in columns.items()})
    return made if persons else made.drop_columns(["who"])


def wrong(release: Any, rows: list[tuple[Any, ...]], promise: dict[str, Any], persons: bool) -> str:
    """Say what a release breaks: by what is printed, with blanks as values."""
    groups: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    printed = zip(*(release.table[name].to_pylist() for name in QUASI), strict=True)
    for at, cell in zip(release.rows.tolist(), printed, strict=True):
        groups[cell].append(rows[at])
        for value, text in zip(rows[at][1:4], cell, strict=True):
            if value is None:
                fits = "missing" in text
            elif isinstance(value, int):
                ends = text.removesuffix(" or missing").strip("[]").split(", ")
                fits = int(ends[0]) <= value <= int(ends[-1])
            else:
                fits = value in text or text.startswith("*")
            if not fits:
                return f"{value} is printed as {text}"
    every = Counter(row[4] for group in groups.values() for row in group)
    for cell, group in groups.items():
        values = Counter(row[4] for row in group)
        if len({row[0] for row in group} if persons else group) < promise["k"]:
            return f"{cell} has too few"
        if len(values) < promise.get("l", 1):
            return f"{cell} has {values}"
        far = sum(abs(values[v] / len(group) - n / every.total()) for v, n in every.items()) / 2
        if far > promise.get("t", 1) + 1e-9:
            return f"{cell} is {far} away"
    return ""


def released(
    seed: int, blank: bool, path: Path | None = None
) -> tuple[Any, list[tuple[Any, ...]], dict[str, Any], Any]:
    """Release a random table by a random method, once the same with and without blanks; None if it is refused."""
    rng = np.random.default_rng(seed)
    persons = bool(rng.random() < 0.5)
    promise: dict[str, Any] = {"k": int(rng.integers(2, 6))}
    promise |= {"l": 2} if rng.random() < 0.3 else {}
    promise |= {"t": 0.45} if rng.random() < 0.3 else {}
    rules = {"l_diversity": promise.get("l"), "t_closeness": promise.get("t")}
    method: Any = [DensityTree, Mondrian, Generalization, Generalization][int(rng.integers(4))]
    rows, suppress = draw(rng, int(rng.integers(15, 120))), float(rng.choice([0.1, 0.3, 0.6]))
    options = {**rules, "suppress": suppress, "blanks": blank, "domain": domain(persons)}
    model = method(promise["k"], **options)
    grown = rows if method is Generalization else draw(rng, 150)  # trees leave out rows that they were not grown on
    try:
        model.fit(table_of(grown, persons))
        given = table_of(rows, persons)
        if path is not None:
            model.transform_file(given, path, random_state=seed)
        return model.transform(given, random_state=seed), rows, promise, persons
    except (InvalidArgument, SchemaError):
        return None, rows, promise, persons


def attacked(seeds: range, folder: Path) -> Counter[str]:
    """Check random releases; return how many have blanks, by method."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        path = folder / f"{seed}.parquet" if seed % 10 == 0 else None
        plain, *_ = released(seed, False)
        filled, rows, promise, persons = released(seed, True, path)
        if filled is None:
            assert plain is None, seed
            continue
        facts = filled.guarantee.parameters
        assert not (found := wrong(filled, rows, promise, persons)), (seed, found)
        assert not recount(filled.table, filled.guarantee).failures
        # (every class may need a blank: then only the table with blanks exists)
        assert plain is None or len(filled) == len(plain) + facts["blanked"], seed
        assert facts["blanked"] + filled.suppressed <= facts["suppression_allowed"] * len(rows) + 1e-9
        if facts["method"] == "Generalization" and promise.keys() == {"k"} and not persons:
            assert filled.suppressed < promise["k"], seed
        if path is not None:  # the same table, row by row, by two passes over batches
            assert pq.read_table(path).equals(filled.table.replace_schema_metadata(None))
        seen[facts["method"]] += facts["blanked"] > 0
        seen["persons"] += bool(facts["blanked"] and persons)
    return seen


def test_every_printed_group_keeps_the_rules_and_no_row_is_lost(tmp_path: Path) -> None:
    seen = attacked(range(40), tmp_path)
    assert min(seen[name] for name in ("DensityTree", "Mondrian", "Generalization", "persons")) >= 2


@pytest.mark.slow
def test_every_printed_group_keeps_the_rules_in_many_tables(tmp_path: Path) -> None:
    assert min(attacked(range(100, 1100), tmp_path).values()) >= 50


def test_a_blank_is_printed_as_the_whole_column_and_hides_a_missing_value() -> None:
    rows = [("", 20, "ash", "f", "a")] * 4 + [
        ("", 20, "elm", "f", "a"),
        ("", 20, None, "f", "b"),
        ("", 20, "oak", "f", "c"),
    ]
    kept = {"levels": {"age": 0, "town": 0, "sex": 0}, "domain": domain(False), "suppress": 0.7}
    release = Generalization(3, blanks=True, **kept).fit_transform(table_of(rows, False))
    assert Counter(release.table["town"].to_pylist()) == {"ash": 4, "* or missing": 3}
    assert set(release.table["age"].to_pylist()) == {"20"}
    facts = release.guarantee.parameters
    assert (facts["blanked"], facts["suppressed"], facts["reached"]["k"]) == (3, 0, 3)
    # Rows that fit in no such group join one that was made.
    more = [
        *rows,
        ("", 40, "ash", "m", "d"),
        ("", 41, "ash", "m", "d"),
        ("", 42, "elm", "m", "d"),
        ("", 30, "fir", "m", "a"),
    ]
    assert len(Generalization(3, blanks=True, **kept).fit_transform(table_of(more, False))) == len(more)


def test_people_who_were_blanked_are_blanked_again_and_not_shown_alone(tmp_path: Path) -> None:
    rows = [(f"a{i}", 20, "ash", "f", "a") for i in range(6)] + [(f"e{i}", 20, "elm", "f", "b") for i in range(2)]
    rows += [(f"o{i}", 20, "oak", "f", "c") for i in range(2)]
    options = {"levels": {"age": 0, "town": 0, "sex": 0}, "domain": domain(True), "suppress": 0.5, "blanks": True}
    new = [(f"n{i}", 20, "elm", "f", "b") for i in range(2)]
    for month, present in (("january", rows), ("february", rows), ("march", rows + new)):
        with ReleaseHistory(tmp_path / "history") as history:
            release = Generalization(3, **options).fit_transform(table_of(present, True), history=history)
            release.save(tmp_path / f"{month}.csv")
        # In March four people live in elm: two of them were blanked before, and two are new. Neither are k.
        assert Counter(release.table["town"].to_pylist()) == {"ash": 6, "* or missing": 4}, month
    assert release.guarantee.parameters["reached_together"]["k"] == 4


@pytest.mark.parametrize(("seed", "method"), [(0, DensityTree), (0, Mondrian), (3, Mondrian), (6, Mondrian)])
def test_a_second_release_states_how_many_rows_blanks_brought_back(seed: int, method: Any) -> None:
    rng = np.random.default_rng(seed)
    january = list({row[0]: row for row in draw(rng, 120)}.values())
    newcomers = {row[0]: (f"n{row[0]}", *row[1:]) for row in draw(rng, 60)}
    february = table_of([*january[5:], *newcomers.values()], True)
    out: dict[bool, Any] = {}
    for blank in (False, True):
        model = method(3, suppress=0.6, blanks=blank, domain=domain(True), on_conflict="suppress")
        first = model.fit(table_of(january, True)).transform(table_of(january, True), random_state=1)
        out[blank] = model.transform(february, history=Past(first), random_state=2)
    stated = out[True].guarantee.parameters["blanked"]
    assert stated == out[False].suppressed - out[True].suppressed == len(out[True]) - len(out[False])
    assert (stated > 0) == (seed != 6)


def test_sets_of_columns_are_few_in_wide_tables() -> None:
    groups = [np.arange(3)] * 12
    first = last = np.ones((2, 12), np.int64)
    found = list(blanks.blanked_boxes(first, last, groups))
    assert len(found) <= blanks.MOST_SETS + 12
    assert (found[-1][0] == 0).all()
    assert (found[-1][1] == 2).all()


def test_the_last_check_takes_back_what_the_first_let_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = blanks._widened

    def careless(cells: Cells, out: Any, place: Any, wider: Any, keep: Any, again: bool) -> Cells:
        return whole(cells, out, place, wider, lambda pool, own: np.ones(len(pool), bool), again)

    monkeypatch.setattr(blanks, "_widened", careless)
    for seed in range(15):
        filled, rows, promise, persons = released(seed, True)
        assert filled is None or not wrong(filled, rows, promise, persons)


def test_a_table_that_even_blanks_do_not_help_is_refused_and_one_of_blanks_alone_is_not() -> None:
    rows = [("", 20 + i, TOWNS[i % 4], "f", "abcd"[i % 4]) for i in range(4)]
    fixed = {"levels": {"age": 0, "town": 0, "sex": 0}, "domain": domain(False), "suppress": 1.0, "blanks": True}
    release = Generalization(4, **fixed).fit_transform(table_of(rows, False))
    assert release.guarantee.parameters["blanked"] == 4
    with pytest.raises(InvalidArgument, match="l_diversity"):
        Generalization(2, l_diversity=5, **fixed).fit_transform(table_of(rows, False))
