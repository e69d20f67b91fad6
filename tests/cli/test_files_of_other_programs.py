"""From somebody's workbook or Stata file to a release by commands alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pyarrow.csv
import pytest

import discreet as dc
from command_line import run
from discreet.errors import DataSourceError
from written_tables import write_statistics, write_xlsx

DECLARED = {
    "AGE": '{kind = "integer", bounds = [0, 120], role = "quasi-identifier"}',
    "INCOME": "{bounds = [0, 1000]}",
    "BORN": '{bounds = [1920-01-01, 2010-12-31], role = "quasi-identifier"}',
    "TOWN": '{categories = ["Ulm", "Bonn", "Trier", "Oslo"], missing = "own", role = "quasi-identifier"}',
    "MEMBER": "{categories = [true, false]}",
}


@pytest.mark.parametrize("suffix", [".xlsx", ".dta"])
def test_a_file_goes_from_draft_to_release(suffix: str, tmp_path: Path) -> None:
    data, schema = tmp_path / f"people{suffix}", tmp_path / "schema.toml"
    asked = []
    if suffix == ".xlsx":
        write_xlsx(data, ("notes", "people"))
        with pytest.raises(DataSourceError, match=r"'notes', 'people'; .* --sheet"):
            run("schema", data)
        asked = ["--sheet", "people"]
    else:
        write_statistics(data)
    drafted = run("schema", data, *asked, "-o", schema)
    assert drafted.exit_code == 0, drafted.output
    text = schema.read_text()
    offered = '# labels of the file: categories = ["Ulm", "Bonn", "Trier", "Oslo"]' in text
    assert offered == (suffix == ".dta")
    assert ('sheet = "people"' in text) == (suffix == ".xlsx")
    lines = [line.split(" = {}")[0] for line in text.splitlines() if " = {}" in line]
    assert lines == list(DECLARED)
    for name, declared in DECLARED.items():
        text = text.replace(f"{name} = {{}}", f"{name} = {declared}")
    schema.write_text(text)
    assert run("schema", "check", schema).exit_code == 0

    release = tmp_path / "s.parquet"
    made = run("synopsis", data, "--schema", schema, "--epsilon", "1", "-o", release)
    assert made.exit_code == 0, made.output
    assert dc.Synopsis.load(release).domain.names == tuple(DECLARED)
    keep = ["--keep", "INCOME", "--keep", "MEMBER"]
    safe = tmp_path / "safe.csv"
    hidden = run("anonymize", data, "--schema", schema, "--k", "5", *keep, "-o", safe, "--json")
    assert hidden.exit_code == 0, hidden.output
    assert json.loads(hidden.stdout)
    found = pyarrow.csv.read_csv(safe)
    assert set(DECLARED) <= set(found.column_names)
    assert found.num_rows > 200


def test_rows_of_a_workbook_are_looked_at_only_when_asked(tmp_path: Path) -> None:
    data = tmp_path / "people.xlsx"
    write_xlsx(data)
    plain, looked = (tomllib.loads(run("schema", data, *more).stdout) for more in ((), ("--look", "50")))
    assert "source" not in plain
    assert not any(plain["columns"].values())
    assert looked["source"] == {"looked": 50}
    kinds = {"AGE": "integer", "INCOME": "number", "BORN": "date", "MEMBER": "boolean"}
    assert looked["columns"] == {name: {"kind": kinds[name]} if name in kinds else {} for name in DECLARED}
