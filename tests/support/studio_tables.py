"""Tables for the stories of the studio: real ones where they lie, else synthetic ones of the same shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import discreet as dc
from discreet.datasets.loaders import is_here, read_file


def adult(folder: Path, rows: int = 8000) -> tuple[Path, Path]:
    """Write Adult, and a schema file as somebody would hand it out with the table."""
    records = dc.datasets.adult() if is_here("arx-adult/adult.csv.gz") else dc.datasets.people(rows)
    names = [c.name for c in records.domain if c.role not in ("identifier", "person")][:6]
    told = records.domain.select(names).to_dict()
    declared = {name: {k: v for k, v in column.items() if k != "role"} for name, column in told.items()}
    schema = folder / "adult.toml"
    schema.write_text(dc.Domain(declared).to_toml() + "\n")
    pa_csv.write_csv(records.table.slice(0, rows).select(names), folder / "adult.csv")
    return folder / "adult.csv", schema


def messy(file: Path) -> Path:
    """Write a table as people hold them: a byte mark, semicolons, German numbers and dates, marks for no value."""
    text = dc.datasets.practice("hospital")["hospital.csv"].decode("latin-1")
    file.write_text("\ufeff" + text.replace("n/a", "k. A."), encoding="utf-8")
    return file


def causes(table: Path) -> set[str]:
    """Return the declared diagnoses: public, as the guide of the practice file lists them."""
    rows = [line.split(";") for line in table.read_text(encoding="utf-8-sig").splitlines()[1:]]
    return {row[7] for row in rows} - {"k. A."}


def gowalla(file: Path, rows: int = 20_000) -> Path:
    """Write check-ins with the person who made them."""
    if is_here("gowalla-nyc/gowalla_nyc_checkins.csv.gz"):
        found = read_file("gowalla-nyc/gowalla_nyc_checkins.csv.gz", "gowalla").slice(0, rows)
        pa_csv.write_csv(found.select(["user", "lat", "lon"]), file)
        return file
    rng = np.random.default_rng(3)
    places = {"lat": 40.4 + 0.6 * rng.beta(6, 4, rows), "lon": -74.3 + 0.6 * rng.beta(5, 5, rows)}
    pa_csv.write_csv(pa.table({"user": rng.integers(0, 800, rows), **places}), file)
    return file
