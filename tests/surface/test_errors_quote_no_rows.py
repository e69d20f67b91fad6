"""Errors about a file quote nothing from its rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.anonymity.release.record import ReleaseRecord
from discreet.errors import DiscreetError

DOMAIN = dc.Domain({"who": {"role": "identifier"}, "age": {"bounds": [0, 99], "role": "quasi-identifier"}})
ROWS = pa.table({"who": [f"p{i}" for i in range(20)], "age": list(range(20))})


@pytest.mark.parametrize("kind", ["audit", "report"])
def test_a_released_table_that_cannot_be_read_is_not_quoted(kind: str, tmp_path: Path) -> None:
    dc.anonymity.DensityTree(5, domain=DOMAIN).fit_transform(ROWS).save(tmp_path / "safe.csv")
    with (tmp_path / "safe.csv").open("a") as file:
        file.write("Ann,Smith,0170\n")
    outputs = {"report": "page.html"} if kind == "report" else {}
    try:
        job = dc.Job(kind, "safe.csv", outputs=outputs, folder=tmp_path)
        told = str(job.run().figures)
    except DiscreetError as error:
        told = str(error)
    assert "cannot be read" in told
    assert not any(word in told for word in ("Ann", "Smith", "0170"))


def test_a_damaged_release_record_is_not_quoted(tmp_path: Path) -> None:
    place = tmp_path / "january.record"
    dc.anonymity.DensityTree(5, domain=DOMAIN).fit_transform(ROWS).record.save(place)
    table = pq.read_table(place)
    at = table.column_names.index("cell")
    odd = table.set_column(at, "cell", pa.array(["Ann Smith"] * table.num_rows, pa.string()))
    pq.write_table(odd.replace_schema_metadata(table.schema.metadata), place)
    with pytest.raises(DiscreetError, match=r"damaged|changed") as caught:
        ReleaseRecord.load(place)
    assert "Ann" not in str(caught.value)
