"""A declared column that the table has not: the error names what of the table's header may be meant, and no record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.engines.texts import texts
from discreet.errors import SchemaError

DOMAIN = dc.Domain({"postcode": (0, 99999), "age": (0, 120)})


def refusal(table: Any, domain: dc.Domain = DOMAIN) -> str:
    with pytest.raises(SchemaError) as error:
        dc.engines.open(table, domain)
    return str(error.value)


@pytest.mark.parametrize("header", ["Postcode,age", "postcod,age", "post_code,age"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_a_near_name_is_suggested_and_works_when_declared(tmp_path: Path, header: str, kind: str) -> None:
    frame = pd.DataFrame([[1, 2]], columns=header.split(","))
    table: Any = frame
    if kind != "frame":
        table = str(tmp_path / f"t.{kind}")
        frame.to_csv(table, index=False) if kind == "csv" else frame.to_parquet(table)
    said = refusal(table)
    name = header.split(",")[0]
    assert f"did you mean {name!r} for 'postcode'?" in said
    dc.engines.open(table, dc.Domain({name: (0, 99999), "age": (0, 120)}))


def test_a_column_that_is_declared_itself_is_not_suggested_for_another() -> None:
    table, domain = pd.DataFrame({"x pos": [1]}), dc.Domain({"x pos": (0, 1), "y pos": (0, 1)})
    assert refusal(table, domain) == "the data frame has no column 'y pos'; it has 'x pos'"
    assert "did you mean 'ypos' for 'y pos'?" in refusal(table.assign(ypos=1), domain)


def test_a_name_with_blanks_cannot_be_declared_and_is_to_be_renamed() -> None:
    """Of a CSV file blanks around names are not read."""
    table = pd.DataFrame([[1, 2]], columns=[" postcode ", "age"])
    assert "rename ' postcode ' to 'postcode' in the table" in refusal(table)


def test_a_first_line_that_may_be_a_record_is_not_quoted(tmp_path: Path) -> None:
    path = str(tmp_path / "t.csv")
    Path(path).write_text("postcodd,34\npostcodd,35\n")
    said = refusal(path).replace(path, "")  # the folder's own name may hold any number
    assert "postcodd" not in said
    assert "34" not in said


def test_what_is_far_is_not_suggested_and_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Smith,Ulm\nMiller,Bonn\n")
    said = refusal(str(tmp_path / "t.csv"))
    assert "did you mean" not in said
    assert "Smith" not in said
    assert "Ulm" not in said


def test_names_typed_for_a_measure_or_a_sketch_are_helped_too(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("town,job\nUlm,cook\nUlm,cook\n")
    with pytest.raises(SchemaError, match="did you mean 'town' for 'Town'"):
        dc.anonymity.risk(str(path), ["Town"])
    with pytest.raises(SchemaError, match="did you mean 'town' for 'twon'"):
        list(texts(path, ["twon"]))
