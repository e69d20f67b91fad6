"""Synthetic people with marks in everything that must not leave, in every form in which tables are held."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

#: Marks: in identifiers, in a column that is not declared, in cells that cannot be read or are not declared.
NAME, HIDDEN, UNREADABLE, UNDECLARED, BEYOND = "TELLTALE", "BACKROOM", "SMUDGE", "ATLANTIS", 9_182_736_455
WHO = 777_123_654_000
MARKS = (NAME, HIDDEN, UNREADABLE, UNDECLARED, str(BEYOND), str(WHO)[:9])
PEOPLE, ROWS_EACH, CROWD = 40, 3, 5
TOWNS, ILLS, NOTES = ["Ash", "Birch", "Cedar"], ["none", "flu", "gout"], ["+tax", "plain"]

Row = dict[str, Any]


def people() -> list[Row]:
    """Return three rows for each of forty people, who live in eight crowds; sorted by age, as an export often is."""
    rng = np.random.default_rng(20261117)
    rows = []
    for i in range(PEOPLE * ROWS_EACH):
        person = i // ROWS_EACH
        crowd = person // CROWD
        rows.append(
            {
                "name": f"{NAME}-{i:03}",
                "who": WHO + person,
                "age": 12 + 13 * crowd + (i % (CROWD * ROWS_EACH)) // 2,
                "pay": round(float(rng.uniform(5, 40) + 55 * (crowd % 2)), 1),
                "town": TOWNS[person % 2 + crowd // 4],
                "ill": ILLS[int(rng.integers(3))],
                "note": NOTES[int(rng.integers(2))],
                "hidden": f"{HIDDEN}-{i:03}",
            }
        )
    return rows


def later(rows: list[Row], how: str) -> list[Row]:
    """Return the table of a second release: the same people, some with other values, or without some of them.

    Whole crowds leave or move: of few people alone, two releases would tell who they are, and are refused.
    """
    crowd, rows = CROWD * ROWS_EACH, [dict(row) for row in rows]
    if how == "removed":
        return rows[: 4 * crowd]
    for row in rows[4 * crowd :] if how == "changed" else ():
        row["town"] = row["town"] and TOWNS[0]
    return rows


def _missing(rows: list[Row], at: range) -> None:
    for i in at:
        rows[i]["age" if i % 2 else "town"] = None
        rows[i]["ill"] = None


def _unreadable(rows: list[Row], at: range) -> None:
    for i in at:
        rows[i]["pay"] = f"{UNREADABLE}-{i}"


def _undeclared(rows: list[Row], at: range) -> None:
    for i in at:
        rows[i]["town"] = UNDECLARED


def _beyond(rows: list[Row], at: range) -> None:
    for i in at:
        rows[i]["age" if i % 2 else "pay"] = -BEYOND if i % 4 > 1 else BEYOND


_DIRT: dict[str, Callable[[list[Row], range], None]] = {
    "missing": _missing,
    "unreadable": _unreadable,
    "undeclared": _undeclared,
    "beyond": _beyond,
}


def soiled(rows: list[Row], cells: str, unit: str) -> list[Row]:
    """Return the rows with such cells here and there, and without some ids of persons."""
    rows = [dict(row) for row in rows]
    for place, (name, spoil) in enumerate(_DIRT.items()):
        if cells in (name, "mixed"):
            spoil(rows, range(place, len(rows), 9))
    if unit == "person, ids missing":
        for row in rows[4::7]:
            row["who"] = None
    return rows


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    """Return columns, each of one type: what holds a text that is not a number is a column of texts."""
    found = {name: [row[name] for row in rows] for name in rows[0]}
    for name, values in found.items():
        if name in ("age", "pay") and any(isinstance(v, str) for v in values):
            found[name] = [v if v is None else str(v) for v in values]
    return found


def _arrow(rows: list[Row]) -> pa.Table:
    return pa.table(_columns(rows)).replace_schema_metadata({"author": HIDDEN})


def _pandas(rows: list[Row]) -> pd.DataFrame:
    names = pd.Index([f"{NAME} {i}" for i in range(len(rows))], name=f"{NAME} of row")
    return pd.DataFrame(rows, index=names)


def _csv(rows: list[Row], path: Path, delimiter: str = ",", decimal: str = ".") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, delimiter=delimiter)
        out.writerow(rows[0])
        for row in rows:
            cells = [str(v).replace(".", decimal) if isinstance(v, float) else v for v in row.values()]
            out.writerow(["" if v is None else v for v in cells])
    return path


def _parquet(rows: list[Row], path: Path) -> Path:
    pq.write_table(_arrow(rows), path)
    return path


def _workbook(rows: list[Row], path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append(list(row.values()))
    book.save(path)
    return path


SOURCES: dict[str, Callable[[list[Row], Path], Any]] = {
    "arrow": lambda rows, _: _arrow(rows),
    "pandas": lambda rows, _: _pandas(rows),
    "polars": lambda rows, _: pl.from_arrow(_arrow(rows)),
    "csv": lambda rows, place: _csv(rows, place.with_suffix(".csv")),
    "german csv": lambda rows, place: _csv(rows, place.with_suffix(".csv"), ";", ","),
    "parquet": lambda rows, place: _parquet(rows, place.with_suffix(".parquet")),
    "workbook": lambda rows, place: _workbook(rows, place.with_suffix(".xlsx")),
    "records": lambda rows, _: rows,
}
FILES = ("csv", "german csv", "parquet", "workbook")
