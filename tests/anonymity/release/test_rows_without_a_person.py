"""Where k counts persons, a row without a person may be anyone's. The true owners are known to these tests alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import discreet as dc
from command_line import output
from discreet.anonymity import DensityTree, Generalization, Mondrian, ReleaseHistory, risk
from discreet.errors import SchemaError
from discreet.evaluation import recount
from discreet.reporting import report_facts, report_page

K = 8
COLUMNS: dict[str, Any] = {
    "who": {"role": "person"},
    "age": {"bounds": [0, 100], "kind": "integer", "role": "quasi-identifier"},
    "size": {"bounds": [0, 50], "kind": "integer", "role": "quasi-identifier"},
    "ill": {"categories": list("abcd"), "role": "sensitive"},
    "row": {"bounds": [0, 100_000], "kind": "integer"},
}
DOMAIN = dc.Domain(COLUMNS)
METHODS = (DensityTree, Mondrian, Generalization)
BLANK = (None, "", "  ", "nan", "\u200b")


def visits(seed: int, people: int = 70) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    """Return visits of which a quarter names no one, and the person that each is really about."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(people), rng.integers(1, 7, people))
    rng.shuffle(owner)
    n = len(owner)
    blank = rng.random(n) < 0.25
    who = [BLANK[int(rng.integers(len(BLANK)))] if b else f"p{o}" for o, b in zip(owner, blank, strict=True)]
    age, size = (owner * 7) % 90 + rng.integers(0, 3, n), owner % 50
    ill = np.array(list("abcd"))[rng.integers(0, 4, n)]
    return pa.table({"who": pa.array(who), "age": age, "size": size, "ill": ill, "row": np.arange(n)}), owner


def unnamed(table: pa.Table) -> int:
    return sum(who in BLANK for who in table["who"].to_pylist())


def groups(table: pa.Table, owner: Any) -> list[Counter[int]]:
    """Return by group how many released rows each person really has there."""
    found: dict[Any, Counter[int]] = defaultdict(Counter)
    for age, size, row in zip(*(table[name].to_pylist() for name in ("age", "size", "row")), strict=True):
        found[age, size][int(owner[int(row)])] += 1
    return list(found.values())


def check(released: pa.Table, facts: Any, table: pa.Table, owner: Any, most: int | None = None) -> None:
    """Count the true persons of every group by hand."""
    found = groups(released, owner)
    assert min(map(len, found)) >= facts["reached"]["k"] >= K
    share = max(max(group.values()) / group.total() for group in found)
    assert share <= facts["reached"]["largest_share"] + 1e-9
    assert share <= 1 / K + 1e-9 or most != 1
    gone = facts["suppressed"] + facts["dropped_for_missing_values"] + facts["left_out_without_person"]
    assert released.num_rows + gone + facts.get("left_out_over_most_rows", 0) == table.num_rows
    assert facts["left_out_without_person"] == unnamed(table)


@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_every_group_really_has_k_persons(method: Any, most: int | None) -> None:
    for seed in range(6):
        table, owner = visits(seed)
        release = method(K, domain=DOMAIN, keep=["row"], most_rows=most).fit_transform(table)
        check(release.table, release.guarantee.parameters, table, owner, most)
        assert release.dropped == unnamed(table)


@pytest.mark.parametrize("method", METHODS)
def test_files_and_tables_larger_than_memory_leave_the_same_rows_out(method: Any, tmp_path: Path) -> None:
    for seed in range(3):
        table, owner = visits(seed, 300)
        pc.write_csv(table, tmp_path / "t.csv")
        model = method(K, domain=DOMAIN, keep=["row"])
        model._memory = 10
        model.fit(tmp_path / "t.csv")
        written = model.transform_file(tmp_path / "t.csv", tmp_path / f"{seed}.csv", random_state=1)
        again = model.transform(table, random_state=1)
        assert written.guarantee.parameters == again.guarantee.parameters
        check(pc.read_csv(written.path), written.guarantee.parameters, table, owner)


def test_drawn_rows_blanks_l_and_t_of_persons() -> None:
    """A value that only rows without a person bring counts for no group: no such row is there."""
    for seed in range(4):
        table, owner = visits(seed)
        rules: dict[str, Any] = {"l_diversity": 2, "t_closeness": 0.6, "suppress": 0.3, "blanks": True}
        whole = dc.Domain(COLUMNS, unit=dc.Person("who", rows=3))
        release = Generalization(K, domain=whole, keep=["row"], **rules).fit_transform(table)
        check(release.table, release.guarantee.parameters, table, owner)
        held = set(release.table["row"].to_pylist())
        assert not held & {i for i, who in enumerate(table["who"].to_pylist()) if who in BLANK}
        drawn = DensityTree(K, domain=DOMAIN.select(["who", "age", "size", "ill"])).fit_transform(
            table, output="sample"
        )
        assert drawn.guarantee.parameters["left_out_without_person"] == unnamed(table)
        assert len(drawn) == table.num_rows - unnamed(table) - drawn.suppressed


def test_releases_of_a_history_leave_them_out(tmp_path: Path) -> None:
    table, owner = visits(1, 200)
    lost = pa.array([None if i % 9 == 0 else who for i, who in enumerate(table["who"].to_pylist())])
    cells: list[dict[int, Any]] = []
    for month, rows in enumerate((table, table.set_column(0, "who", lost))):
        with ReleaseHistory(tmp_path / "history") as history:
            model = DensityTree(K, domain=DOMAIN, keep=["row"], on_conflict="suppress")
            release = model.fit_transform(rows, history=history)
            release.save(tmp_path / f"{month}.csv")
        check(release.table, release.guarantee.parameters, rows, owner)
        shown = (release.table[name].to_pylist() for name in ("row", "age", "size"))
        cells.append({row: cell for row, *cell in zip(*shown, strict=True)})
    for here in (0, 1):  # who compares both tables finds no group of fewer either
        together: dict[str, set[int]] = defaultdict(set)
        for row, cell in cells[here].items():
            together[f"{cell} {cells[1 - here].get(row)}"].add(int(owner[row]))
        assert min(map(len, together.values())) >= K


def test_page_terminal_and_hashes_say_so(tmp_path: Path) -> None:
    table, _ = visits(3)
    pc.write_csv(table.drop(["row"]), tmp_path / "t.csv")
    domain = DOMAIN.select(["who", "age", "size", "ill"])
    (tmp_path / "t.toml").write_text(domain.to_toml(), encoding="utf-8")
    words = (
        "anonymize",
        tmp_path / "t.csv",
        "--schema",
        tmp_path / "t.toml",
        "--k",
        K,
        "--output",
        tmp_path / "safe.csv",
    )
    said = " ".join(output(*words, COLUMNS="300").split())
    assert f"{unnamed(table)} rows were left out because they have no person" in said
    page = report_page(report_facts(tmp_path / "safe.csv"))
    assert f"Rows that were left out because they have no person: {unnamed(table)}." in page
    german = report_page(report_facts(tmp_path / "safe.csv"), language="de")
    assert f"weggelassen wurden, weil sie keine Person nennen: {unnamed(table)}." in german
    hashed = DensityTree(K, domain=domain).fit_transform(table, identifiers="hash", key=b"0123456789abcdef")
    hashed.save(tmp_path / "hashed.csv")
    assert hashed.table["who"].null_count == 0
    assert not recount(hashed.table, hashed.guarantee).failures


def test_a_recount_counts_rows_without_a_hash_as_no_further_person(tmp_path: Path) -> None:
    table = pa.table({"who": [f"p{i}" for i in range(8)], "age": [30] * 8})
    domain = dc.Domain({name: COLUMNS[name] for name in ("who", "age")})
    release = DensityTree(8, domain=domain).fit_transform(table, identifiers="hash", key=b"0123456789abcdef")
    assert not recount(release.table, release.guarantee).failures
    lost = release.table.set_column(0, "who", pa.array([None, *release.table["who"].to_pylist()[1:]]))
    found = recount(lost, release.guarantee)
    assert found.failures
    assert (found.found["k"], found.found["largest_share"]) == (7, 0.25)


def test_risk_counts_them_as_no_person() -> None:
    table = pa.table({"zip": [1, 1, 1, 2, 2, 3], "who": ["a", "b", None, "c", "", None]})
    report = risk(table, ["zip"], person="who")
    assert report.k == 1
    assert report.prosecutor["mean"] == pytest.approx((3 / 2 + 2 + 1) / 6)
    assert report.notes == ("Rows without a value in 'who': 3. They hide no one and count as no person.",)
    assert not risk(table.slice(0, 2), ["zip"], person="who").notes


@pytest.mark.parametrize("memory", [None, 10])
def test_a_table_without_any_person_is_refused(memory: int | None, tmp_path: Path) -> None:
    table = visits(1)[0]
    nobody = table.set_column(0, "who", pa.nulls(table.num_rows, pa.string()))
    pc.write_csv(nobody, tmp_path / "t.csv")
    for method in METHODS:
        model = method(2, domain=DOMAIN, keep=["row"])
        if memory:
            model._memory = memory
        with pytest.raises(SchemaError, match="no row has a value in 'who'"):
            model.fit(tmp_path / "t.csv")
