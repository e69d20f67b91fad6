"""Rows that were suppressed are in no release, whatever its form."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Domain
from discreet.anonymity import DensityTree, Mondrian
from discreet.anonymity.growth.frontier import EnforcedCells
from discreet.anonymity.methods import partitioner
from discreet.errors import InvalidArgument
from past_releases import Past


def test_a_sample_is_drawn_from_the_rows_that_were_kept() -> None:
    people = dc.datasets.people(300)
    domain = people.domain.select(["age", "town", "hours", "illness"])
    rows = people.table.select(list(domain.names))
    model = dc.anonymity.Generalization(k=5, domain=domain).fit(rows)
    shown, drawn = (model.transform(rows, output=output) for output in ("interval", "sample"))
    assert shown.suppressed > 0
    assert len(shown) == len(drawn) == 300 - shown.suppressed


@pytest.mark.parametrize("output", ["interval", "sample"])
def test_a_stored_release_does_not_say_which_rows_were_left_out(output: str) -> None:
    people = dc.datasets.people(300)
    domain = people.domain.select(["age", "town", "hours", "illness"])
    release = dc.anonymity.Generalization(k=5, domain=domain).fit_transform(
        people.table.select(list(domain.names)), output=output
    )
    assert (release.cells.of < 0).any()
    stored = pickle.loads(pickle.dumps(release))
    assert len(stored.cells.of) == len(release)
    assert (stored.cells.of >= 0).all()


DOMAIN = Domain(
    {
        "age": {"bounds": [0, 100], "role": "quasi-identifier"},
        "id": {"categories": ["any"], "role": "identifier"},
        "ill": {"categories": [f"d{i}" for i in range(60)], "role": "sensitive"},
        "town": {"categories": ["here", "there"]},
    }
)


def rows(people: list[tuple[int, int]]) -> pa.Table:
    """Rows of ages and numbers; everybody has an illness of their own."""
    age, name = zip(*people, strict=True)
    ill = [f"d{i % 60}" for i in name]
    return pa.table({"age": age, "id": [f"p{i}" for i in name], "ill": ill, "town": ["here"] * len(age)})


def leaves(suppress: float) -> DensityTree:
    """Two halves, below and above 50, in leaves of five years and five rows each."""
    grown = rows([(10 + j, j) for j in range(20)] + [(60 + j, 20 + j) for j in range(20)])
    tree = Mondrian(k=5, domain=DOMAIN, keep=["town"], suppress=suppress)
    return tree.fit(grown)


#: One at 20, who is suppressed, and nine at 70.
JANUARY = rows([(20, 100), *((70, 101 + j) for j in range(9))])


def test_a_file_of_rows_leaves_out_and_counts_out_the_suppressed_ones(tmp_path: Path) -> None:
    tree = leaves(0.2)
    pq.write_table(JANUARY, tmp_path / "january.parquet")
    made = tree.transform_file(tmp_path / "january.parquet", tmp_path / "out.parquet")
    shown, written = tree.transform(JANUARY), pq.read_table(tmp_path / "out.parquet")
    assert sorted(written["ill"].to_pylist()) == sorted(shown.table["ill"].to_pylist())
    assert "d40" not in written["ill"].to_pylist()
    for name in ("rows", "cells", "suppressed", "reached", "kept"):
        assert made.guarantee.parameters[name] == shown.guarantee.parameters[name]
    assert made.guarantee.parameters["kept"] == {"columns": ["town"], "k": 9, "unique": 0.0}
    assert made.guarantee.parameters["suppressed"] == 1


def test_a_later_release_counts_out_the_suppressed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[EnforcedCells] = []
    enforce = partitioner.enforce_together

    def noted(*args: Any, **more: Any) -> Any:
        decided = enforce(*args, **more)
        found.append(decided)
        return decided

    monkeypatch.setattr(partitioner, "enforce_together", noted)
    tree = leaves(0.2)
    again = tree.transform(JANUARY, history=Past(tree.transform(JANUARY)))
    facts = again.guarantee.parameters
    assert (facts["rows"], facts["suppressed"], facts["leaves_merged"], facts["reached_together"]["k"]) == (9, 1, 0, 9)
    assert found[0].suppressed == (found[0].node < 0).sum() == 1


def test_newcomers_who_cannot_stand_alone_are_left_out() -> None:
    """One newcomer at 17 and two at 67: three are left out; merging everything does not help them."""
    stay = [(12, j) for j in range(8)] + [(62, 10 + j) for j in range(8)]
    later = rows([*stay, (17, 30), (67, 31), (67, 32)])
    first = leaves(0.0).transform(rows(stay))
    assert leaves(0.0).transform(later, history=Past(first)).suppressed == 3
    with pytest.raises(InvalidArgument, match="3 added record"):
        leaves(0.0).set_params(on_conflict="merge").fit_transform(later, history=Past(first))


def test_a_later_release_of_no_one_is_refused() -> None:
    """One who was published and four newcomers: neither can stand alone, and all may be suppressed."""
    first = leaves(0.2).transform(JANUARY)
    later = rows([(70, 101), *((70, 201 + j) for j in range(4))])
    with pytest.raises(InvalidArgument, match="Leaving out more rows does not help"):
        leaves(1.0).transform(later, history=Past(first))
    with pytest.raises(InvalidArgument, match="1 earlier record and 4 added record"):
        leaves(1.0).set_params(on_conflict="merge").fit_transform(later, history=Past(first))


@pytest.mark.parametrize("n", [200, 24])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_said_of_passed_on_columns_counts_released_rows_alone(tmp_path: Path, suffix: str, n: int) -> None:
    """Suppressed rows repeat values that are unique among the released ones; few values are counted in a table."""
    table = pa.table({"age": [*[i % 2 for i in range(n)], 97], "ill": [*(f"d{i}" for i in range(n)), "d0"]})
    domain = Domain(
        {
            "age": {"kind": "integer", "bounds": [0, 100], "role": "quasi-identifier"},
            "ill": {"categories": [f"d{i}" for i in range(n)], "role": "sensitive"},
        }
    )
    model = dc.anonymity.Generalization(k=10, suppress=0.05, domain=domain).fit(table)
    release = model.transform(table)
    written = model.transform_file(table, tmp_path / f"safe.{suffix}")
    assert release.suppressed == 1
    assert release.guarantee.parameters["nearly_unique"] == {"ill": 1.0}
    assert written.guarantee.parameters["nearly_unique"] == {"ill": 1.0}
