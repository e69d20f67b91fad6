"""A count for persons says that it is of the rows used, wherever it is shown; one of rows says nothing of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from command_line import run

SAID = "of the rows used: at most 8 per person, and none without an id"
ROWS = pa.table({"age": np.arange(90), "user": [str(i // 9) for i in range(90)]})


def made(unit: object) -> dc.Synopsis:
    domain = dc.Domain({"age": dc.Integer(0, 120)}, unit=unit)
    return dc.GridSynopsis(1.0, domain, 4).fit(ROWS).synopsis_


def test_counts_for_persons_name_the_bound(tmp_path: Path) -> None:
    s = made(dc.Person("user", rows=8))
    young, old = s.count(age=(0, 30)), s.ask("age > 60")
    for count in (s.count(), young, old, young + old):
        assert count.note.count(SAID) == 1
        assert SAID in repr(count)
        assert SAID in count._repr_html_()
    assert s.count(age=(200, 300)).note.endswith(SAID)
    s.save(tmp_path / "s.parquet")
    told = run("ask", tmp_path / "s.parquet", "age > 60", catch=True)
    assert SAID[1:] in " ".join(told.output.split())


@pytest.mark.parametrize("unit", ["row", None])
def test_counts_of_rows_do_not(unit: object) -> None:
    assert SAID[:16] not in made(unit).count(age=(0, 30)).note
