"""The kind of a file is decided in one place, by its bytes and the files next to it, not by its name."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.reporting.artifacts import kind_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("kinds")
    dc.GridSynopsis(1.0, (0, 1), 2).fit(np.full((9, 2), 0.5)).synopsis_.save(folder / "s.parquet")
    (folder / "cut.parquet").write_bytes((folder / "s.parquet").read_bytes()[:-9])
    mechanism = dc.local.DirectResponse(1.0, ["a", "b"])
    mechanism.empty().save(folder / "counts.parquet")  # whatever it is called
    (folder / "reports.bin").write_bytes(mechanism.encode(["a"]).to_bytes())
    dc.local.DistinctSketch(1.0).sketch(["a"]).save(folder / "clinic.bin")
    columns = {
        "age": {"bounds": [0, 120], "role": "quasi-identifier"},
        "zip": {"categories": ["01234", "05678"], "role": "sensitive"},
        "who": {"categories": list("abcdef"), "role": "identifier"},
    }
    rows = pa.table({"age": [31, 32, 33, 61, 62, 63], "zip": ["01234", "05678"] * 3, "who": list("abcdef")})
    release = dc.anonymity.DensityTree(3, domain=dc.Domain(columns)).fit_transform(rows)
    release.save(folder / "safe.csv")
    release.record.save(folder / "safe.record")
    pq.write_table(rows, folder / "rows.parquet")
    (folder / "alone.json").write_text(release.guarantee.to_json())
    (folder / "job.toml").write_text('[job]\nkind = "plan"\n')
    (folder / "rows.csv").write_text("age\n3\n")
    return folder


@pytest.mark.parametrize(
    ("name", "kind"),
    {
        "s.parquet": "synopsis",
        "cut.parquet": "synopsis",
        "counts.parquet": "counts",
        "reports.bin": "reports",
        "clinic.bin": "bitmap",
        "safe.csv": "released table",
        "safe.csv.guarantee.json": "promise of a table",
        "safe.record": "record",
        "rows.parquet": "table",
        "alone.json": "promise",
        "job.toml": "job",
        "rows.csv": "",
    }.items(),
)
def test_every_file_is_told_for_what_it_is(folder: Path, name: str, kind: str) -> None:
    assert kind_of(folder / name) == kind


def test_a_category_of_digits_stays_a_text_on_the_page(folder: Path) -> None:
    facts = dc.reporting.report_facts(folder / "safe.csv")
    assert {row["zip"] for row in facts["release"]["first_rows"]} == {"01234", "05678"}
