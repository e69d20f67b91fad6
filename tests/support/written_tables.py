"""One small table, written in the formats of other programs, so that all readers can be compared."""

from __future__ import annotations

import csv
import datetime
import sqlite3
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa

import discreet as dc

#: Names that every format can hold: those of SPSS's portable files are short and in capitals.
DOMAIN = dc.Domain(
    {
        "AGE": dc.Integer(0, 120),
        "INCOME": {"bounds": [0, 1000], "missing": "own"},
        "BORN": {"bounds": [datetime.date(1920, 1, 1), datetime.date(2010, 12, 31)], "missing": "own"},
        "TOWN": {"categories": ["Ulm", "Bonn", "Trier"], "missing": "own"},
        "MEMBER": {"categories": [True, False], "missing": "own"},
    }
)
N = 300


def columns(n: int = N) -> dict[str, list[Any]]:
    """Return the table: whole numbers, numbers, dates, categories, booleans, each but the first with gaps."""
    draw = np.random.default_rng(11)
    first = datetime.date(1930, 1, 1)
    found: dict[str, list[Any]] = {
        "AGE": draw.integers(0, 100, n).tolist(),
        "INCOME": (draw.random(n) * 1000).tolist(),
        "BORN": [first + datetime.timedelta(days=int(d)) for d in draw.integers(0, 27_000, n)],
        "TOWN": [["Ulm", "Bonn", "Trier", "Oslo"][i] for i in draw.integers(0, 4, n)],
        "MEMBER": (draw.random(n) < 0.4).tolist(),
    }
    for name in list(found)[1:]:
        found[name] = [None if gone else v for v, gone in zip(found[name], draw.random(n) < 0.1, strict=True)]
    return found


def arrow_table() -> pa.Table:
    """Return the table as Arrow: what all others are compared with."""
    return pa.table(columns())


def digest(data: Any) -> str:
    """Return the digest of a seeded tree of a table."""
    return dc.TreeSynopsis(epsilon=2.0, domain=DOMAIN, random_state=5).fit(data).synopsis_.digest


def write_csv(path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns())
        writer.writerows(zip(*columns().values(), strict=True))


def write_xlsx(path: Path, sheets: tuple[str, ...] = ("people",)) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        sheet.append(list(columns()))
        for row in zip(*columns().values(), strict=True):
            sheet.append(row)
    book.save(path)


def write_xls(path: Path) -> None:
    import xlwt

    book = xlwt.Workbook()
    sheet = book.add_sheet("people")
    day = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for j, (name, values) in enumerate(columns().items()):
        sheet.write(0, j, name)
        for i, value in enumerate(values, start=1):
            if value is not None:
                sheet.write(i, j, value, *([day] if isinstance(value, datetime.date) else []))
    book.save(str(path))


def write_ods(path: Path) -> None:
    def cell(value: Any) -> str:
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, bool):
            said = f'office:value-type="boolean" office:boolean-value="{str(value).lower()}"'
        elif isinstance(value, (int, float)):
            said = f'office:value-type="float" office:value="{value!r}"'
        elif isinstance(value, datetime.date):
            said = f'office:value-type="date" office:date-value="{value.isoformat()}"'
        else:
            said = 'office:value-type="string"'
        return f"<table:table-cell {said}><text:p>{escape(str(value))}</text:p></table:table-cell>"

    lines = [list(columns()), *zip(*columns().values(), strict=True)]
    body = "".join(f"<table:table-row>{''.join(map(cell, line))}</table:table-row>" for line in lines)
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{urn}:office:1.0" '
        f'xmlns:table="{urn}:table:1.0" xmlns:text="{urn}:text:1.0" office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="people">{body}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        kinds = '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        file.writestr(
            "META-INF/manifest.xml",
            f'<manifest:manifest xmlns:manifest="{urn}:manifest:1.0">{kinds}</manifest:manifest>',
        )
        file.writestr("content.xml", content)


#: Towns as codes, with what the file says they stand for. Code 9 is not a town: no one was asked.
TOWNS = {1: "Ulm", 2: "Bonn", 3: "Trier", 4: "Oslo"}


def _coded() -> Any:
    import pandas as pd

    frame = pd.DataFrame(columns())
    codes = {town: code for code, town in TOWNS.items()}
    frame["TOWN"] = [codes.get(t, np.nan) for t in frame["TOWN"]]
    frame["MEMBER"] = [np.nan if m is None else float(m) for m in columns()["MEMBER"]]
    return frame


def write_statistics(path: Path) -> None:
    """Write a file of Stata, SPSS or SAS. Towns are labelled codes where the format has labels."""
    import pyreadstat

    frame = _coded()
    suffix = path.suffix
    if suffix == ".dta":
        pyreadstat.write_dta(frame, str(path), variable_value_labels={"TOWN": TOWNS})
    elif suffix in (".sav", ".zsav"):
        frame["TOWN"] = frame["TOWN"].fillna(9.0)
        pyreadstat.write_sav(
            frame,
            str(path),
            compress=suffix == ".zsav",
            variable_value_labels={"TOWN": {**TOWNS, 9: "not asked"}},
            missing_ranges={"TOWN": [9]},
        )
    else:
        frame["TOWN"] = [t or "" for t in columns()["TOWN"]]
        (pyreadstat.write_xport if suffix == ".xpt" else pyreadstat.write_por)(frame, str(path))


def write_sqlite(path: Path, table: str = "people") -> None:
    """Write a table of SQLite, which has no dates and no booleans of its own."""
    with sqlite3.connect(path) as base:
        base.execute(f'create table "{table}" ({", ".join(columns())})')
        rows = zip(*(map(_plain, values) for values in columns().values()), strict=True)
        base.executemany(f'insert into "{table}" values (?, ?, ?, ?, ?)', rows)
    base.close()


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value


WRITERS = {
    ".csv": write_csv,
    ".xlsx": write_xlsx,
    ".xls": write_xls,
    ".ods": write_ods,
    **dict.fromkeys((".dta", ".sav", ".zsav", ".por", ".xpt"), write_statistics),
}
