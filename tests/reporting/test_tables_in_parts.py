"""A released table may be a folder of part files, as Spark writes it: audited, reported and read like a file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.output.files import payload_of, promise_place
from discreet.engines.writing.writer import table_writer
from discreet.jobs.work.audit import examine
from discreet.reporting import report_facts


@pytest.fixture(params=["parquet", "csv"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A release of some people in two parts, with its promise next to the folder."""
    people = dc.datasets.people(400)
    release = dc.anonymity.Mondrian(20, domain=people.domain).fit_transform(people.table)
    place = tmp_path / f"safe.{request.param}"
    place.mkdir()
    for i, start in enumerate((0, 150)):
        with (place / f"part-{i:05}.{request.param}").open("wb") as file:
            part = release.table.slice(start, 150 if not i else None)
            with table_writer(file, part.schema, f".{request.param}", release.guarantee) as writer:
                writer.write_table(part)
    promise_place(place).write_text(release.guarantee.seal(payload_of(place)).to_json(indent=2) + "\n")
    return place


def test_a_folder_of_parts_is_a_released_table(folder: Path) -> None:
    assert examine(folder).passed
    assert examine(promise_place(folder)).passed
    assert report_facts(folder)["checks"]["seal"] == "intact"
    measured = dc.anonymity.risk(str(folder), ["age", "town", "job", "hours"], "illness")
    assert (measured.rows, measured.k >= 20) == (400, True)


@pytest.mark.parametrize("change", ["a row", "a part"])
def test_a_part_that_was_changed_or_taken_away_is_noticed(change: str, folder: Path) -> None:
    last = sorted(folder.iterdir())[-1]
    if change == "a part":
        last.unlink()
    else:
        whole = pa.BufferReader(last.read_bytes()).read()
        last.write_bytes(whole[:-30] + bytes([whole[-30] ^ 1]) + whole[-29:])
    found = examine(folder)
    assert not found.passed
