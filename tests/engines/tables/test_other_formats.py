"""Workbooks and files of Stata, SPSS and SAS give what the same table gives from memory; no row makes them fail."""

from __future__ import annotations

import builtins
import datetime
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import discreet as dc
from discreet import engines
from discreet.engines.readers import read_columns
from discreet.engines.texts import texts
from discreet.errors import DataSourceError, MissingExtra, SchemaError
from written_tables import DOMAIN, WRITERS, arrow_table, columns, digest, write_xlsx


@pytest.fixture(scope="module")
def expected() -> str:
    return digest(arrow_table())


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_the_digest_of_the_table_in_memory(suffix: str, tmp_path: Path, expected: str) -> None:
    path = tmp_path / f"people{suffix}"
    WRITERS[suffix](path)
    assert digest(str(path)) == expected


def test_files_are_read_in_pieces_of_any_size(tmp_path: Path) -> None:
    grid = engines.GridMap(DOMAIN, [4, 4, 4, 3, 2])
    whole = engines.open(arrow_table()).count(grid).dense()
    for suffix in (".dta", ".zsav", ".xpt", ".por", ".xlsx"):
        path = tmp_path / f"p{suffix}"
        WRITERS[suffix](path)
        np.testing.assert_array_equal(engines.open(path).count(grid, batch_size=7).dense(), whole)


def workbook(path: Path, *rows: list[Any], name: str = "data") -> Path:
    book = openpyxl.Workbook()
    book.active.title = name
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_several_sheets_want_a_name_and_one_does_not(tmp_path: Path, expected: str) -> None:
    path = tmp_path / "b.xlsx"
    write_xlsx(path, ("notes", "people"))
    with pytest.raises(DataSourceError, match="has several sheets: 'notes', 'people'; declare sheet = \"notes\" under"):
        engines.open(path)
    with pytest.raises(DataSourceError, match="has no sheet 'persons' but 'notes', 'people'"):
        engines.open(path, dialect={"sheet": "persons"})  # type: ignore[arg-type]
    declared = dc.Domain({c.name: c for c in DOMAIN}, source={"sheet": "people"})
    assert dc.TreeSynopsis(epsilon=2.0, domain=declared, random_state=5).fit(str(path)).synopsis_.digest == expected


def test_cells_are_taken_as_what_they_are(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "t.xlsx",
        [],
        [None, "x", "day", "word"],
        [None, 1.5, datetime.date(1984, 5, 1), "a"],
        [None, "1.500,5", datetime.datetime(1984, 5, 1, 12, 30), 7],
        [],
        [None, True, "01.06.1984", "7"],
        [None, "=1/0", 30803, True],
        [None, "long ago", datetime.time(3, 4), None, "a stray remark"],
    )
    written = {"decimal": ",", "thousands": ".", "dates": ["%d.%m.%Y"]}
    source = engines.open(path, dialect=written)  # type: ignore[arg-type]
    assert source.names == ("x", "day", "word")
    declared = dc.Domain(
        {"x": (0, 5000), "day": ("1900-01-01", "2000-01-01"), "word": ["a", "7", "true"]}, source=written
    )
    x, day, word = (np.concatenate(pieces) for pieces in zip(*source.batches(declared), strict=True))
    np.testing.assert_array_equal(x, [1.5, 1500.5, 1, np.nan, np.nan])
    may = (datetime.date(1984, 5, 1) - datetime.date(1970, 1, 1)).days
    np.testing.assert_array_equal(day, [may, may, may + 31, np.nan, np.nan])
    np.testing.assert_array_equal(word, [0.5, 1.5, 1.5, 2.5, np.nan])
    table = read_columns(source, ["x", "day", "word"]).to_pydict()
    assert table["x"] == ["1.5", "1.500,5", "true", None, "long ago"]
    assert table["day"] == ["1984-05-01", "1984-05-01 12:30:00", "01.06.1984", "30803", "03:04:00"]
    assert table["word"] == ["a", "7", "7", "true", None]


def test_a_sheet_without_a_header_is_counted_from_its_first_column(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", ["remark"], [None, 1, 2], [3, None, 4])
    source = engines.open(path, dialect={"skip": 1, "header": False})  # type: ignore[arg-type]
    assert source.names == ("column_1", "column_2", "column_3")  # for a draft; nothing is read by it
    with pytest.raises(SchemaError, match="names = "):
        read_columns(source, source.names)
    told = {"skip": 1, "header": False, "names": list(source.names)}
    assert read_columns(engines.open(path, dialect=told), source.names).to_pydict() == {  # type: ignore[arg-type]
        "column_1": [None, "3"], "column_2": ["1", None], "column_3": ["2", "4"]
    }  # fmt: skip
    named = engines.open(path, dialect={"skip": 1, "header": False, "names": ["a", "b", "c", "d"]})  # type: ignore[arg-type]
    assert read_columns(named, ["d", "a"]).to_pydict() == {"d": [None, None], "a": [None, "3"]}


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 torn"])
@pytest.mark.parametrize(
    "suffix", [".xlsx", ".xls", ".xlsb", ".ods", ".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt"]
)
def test_damaged_files_are_refused_in_one_sentence(suffix: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    with pytest.raises(DataSourceError, match="cannot be read as a") as caught:
        engines.open(path)
    assert "\n" not in str(caught.value)


def test_an_empty_sheet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataSourceError, match="has no header"):
        engines.open(workbook(tmp_path / "t.xlsx"))


def test_columns_that_are_not_there_are_not_looked_for_among_records(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", ["Smith", 52], ["Jones", 48])
    with pytest.raises(SchemaError) as caught:
        engines.open(path, dc.Domain({"age": (0, 120)}))
    assert "Smith" not in str(caught.value)
    assert "52" not in str(caught.value).replace(str(tmp_path), "")


def test_labels_are_categories_and_codes_still_are(tmp_path: Path) -> None:
    path = str(tmp_path / "t.sav")
    frame = pd.DataFrame({"sex": [1.0, 2.0, 3.0, 9.0], "age": [30.0, 99.0, 98.0, 40.0], "zone": ["n", "s", "x", "n"]})
    pyreadstat.write_sav(
        frame,
        path,
        variable_value_labels={
            "sex": {1: "female", 2: "male", 9: "refused"}, "age": {98: "unknown"}, "zone": {"n": "north", "s": "south"}
        },
        missing_ranges={"sex": [9], "age": [{"lo": 98, "hi": 98}]},
    )  # fmt: skip
    source = engines.open(path)
    assert source.parts[0].labels == {"sex": {1: "female", 2: "male"}, "zone": {"n": "north", "s": "south"}}  # type: ignore[attr-defined]

    def read(declared: dict[str, Any]) -> list[float]:
        return np.concatenate([b[0] for b in source.batches(dc.Domain(declared))]).tolist()

    np.testing.assert_array_equal(read({"sex": ["male", "female"]}), [1.5, 0.5, np.nan, np.nan])
    np.testing.assert_array_equal(read({"sex": [1, 2, 3, 9]}), [0.5, 1.5, 2.5, np.nan])
    np.testing.assert_array_equal(read({"zone": ["south", "north", "x"]}), [1.5, 0.5, 2.5, 1.5])
    np.testing.assert_array_equal(read({"age": (0, 120)}), [30, 99, np.nan, 40])
    table = read_columns(source, source.names).to_pydict()
    assert table["sex"] == ["female", "male", "3", None]
    assert table["age"] == [30, 99, None, 40]
    assert table["zone"] == ["north", "south", "x", "north"]


def test_neither_years_nor_letters_beyond_make_a_file_fail(tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": [1e9, -1e9, 8887.0, 8887.5, np.nan], "word": ["a", "Köln", "", "Köln", "b"]})
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(frame, str(path), variable_format={"day": "%td"})
    path.write_bytes(path.read_bytes().replace("Köln".encode(), b"K\xf6ln\0", 1))  # once in another encoding
    table = read_columns(engines.open(path), ["day", "word"]).to_pydict()
    assert table["day"] == [None, None, "1984-05-01", "1984-05-01", None]
    assert table["word"] == ["a", "K\ufffdln", None, "Köln", "b"]


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_columns_whose_names_have_umlauts_are_read_with_their_rows(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"Größe": [1.0, 2.0, 3.0], "Straße": ["ä", "b", "ä"]})
    getattr(pyreadstat, f"write_{suffix}")(frame, str(path := tmp_path / f"t.{suffix}"))
    domain = dc.Domain({"Größe": (0, 4), "Straße": ["ä", "b"]})
    found = dc.GridSynopsis(epsilon=math.inf, domain=domain).fit(path).synopsis_
    assert found.digest == dc.GridSynopsis(epsilon=math.inf, domain=domain).fit(frame).synopsis_.digest
    assert found.weights.sum() == 3


def test_types_are_refused_by_what_the_file_declares(tmp_path: Path) -> None:
    path = tmp_path / "t.dta"
    WRITERS[".dta"](path)
    with pytest.raises(SchemaError, match="declared with numbers as bounds"):
        engines.open(path, dc.Domain({"BORN": (0, 10)}))
    with pytest.raises(SchemaError, match=r"has no column 'AGES'.*did you mean 'AGE'"):
        engines.open(path, dc.Domain({"AGES": (0, 10)}))


@pytest.mark.parametrize(
    ("suffix", "library", "extra"),
    [
        (".xlsx", "python_calamine", "excel"),
        (".dta", "pyreadstat", "stats"),
        ("SQLite", "adbc_driver_sqlite", "sql"),
        ("PostgreSQL", "adbc_driver_postgresql", "sql"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(
    suffix: str, library: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = str(tmp_path / f"t{suffix}")
    if suffix in WRITERS:
        WRITERS[suffix](Path(data))
    else:
        data = f"{suffix.lower()}:///t?table=t"
    real = builtins.__import__

    def without(name: str, *more: Any, **named: Any) -> Any:
        if name == library:
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingExtra, match=rf"reading .* needs the extra '{extra}'; run pip install 'discreet\[{extra}\]'"
    ):
        engines.open(data)


def test_clients_read_values_as_texts(tmp_path: Path) -> None:
    expected = [t or "" for t in columns()["TOWN"]]
    for suffix in (".xlsx", ".dta", ".sav", ".xpt"):
        path = tmp_path / f"p{suffix}"
        WRITERS[suffix](path)
        assert [t or "" for batch in texts(path, ["TOWN"]) for t in batch[0].to_pylist()] == expected


def test_files_of_several_formats_are_one_table_where_they_are_named(tmp_path: Path) -> None:
    grid = engines.GridMap(DOMAIN, [4, 4, 4, 3, 2])
    files = [tmp_path / f"p{suffix}" for suffix in (".csv", ".dta", ".xlsx")]
    for path in files:
        WRITERS[path.suffix](path)
    found = engines.open(files).count(grid).dense()
    np.testing.assert_array_equal(found, 3 * engines.open(arrow_table()).count(grid).dense())
    towns = read_columns(engines.open(files), ["TOWN"])["TOWN"]
    assert pa.types.is_large_string(towns.type)
    assert sorted(t for t in towns.to_pylist() if t) == sorted(t for t in columns()["TOWN"] * 3 if t)


def test_a_folder_with_the_same_table_in_two_formats_is_refused(tmp_path: Path) -> None:
    for suffix in (".csv", ".xlsx"):
        WRITERS[suffix](tmp_path / f"p{suffix}")
    with pytest.raises(DataSourceError, match=r"files of several programs \(\.csv, \.xlsx\)"):
        engines.open(tmp_path)
    (tmp_path / "p.csv").unlink()
    (tmp_path / "~$p.xlsx").write_bytes(b"a lock")
    assert engines.open(tmp_path).names == engines.open(f"{tmp_path}/p*.xlsx").names == DOMAIN.names


@pytest.mark.slow
def test_a_workbook_of_a_hundred_thousand_rows_takes_three_seconds(tmp_path: Path) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("people")
    sheet.append(list(columns()))
    for row in zip(*columns(100_000).values(), strict=True):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    digest(arrow_table())  # compiles
    start = time.process_time()  # others may be using this machine
    digest(str(tmp_path / "t.xlsx"))
    assert time.process_time() - start < 3


def test_a_parquet_file_whose_names_are_not_text_is_refused_in_one_sentence(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"agename": [1, 2]}), place, compression="none", store_schema=False)
    place.write_bytes(place.read_bytes().replace(b"agename", b"\xe0gename"))
    with pytest.raises(DataSourceError, match="cannot be read as Parquet"):
        engines.open(place)
