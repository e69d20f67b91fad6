"""Parts of every random release: arguments, input in some form, and the output that a stranger gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import discreet as dc
from second_reader.tables import Rows

#: Added to the number of a release to seed it: a number that no one else writes down, so that it can be looked for.
SEED = 7_394_182_600_000


@dataclass(frozen=True)
class Made:
    """One release as a stranger gets it, and what only the test knows."""

    number: int
    kind: str
    suffix: str
    payload: bytes
    promise: str
    text: str
    said: tuple[str, ...] = ()
    #: Of the input: its rows and, where the release has a row for each, how they were sorted. No part of the release.
    rows: int = 0
    sorted_by: str | None = None
    #: Values that must not be found in anything that leaves.
    secrets: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


class Draw:
    """Random arguments of one release."""

    def __init__(self, number: int, folder: Path) -> None:
        self.number, self.folder = number, folder
        self.rng = np.random.default_rng([20261116, number])

    def one(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def epsilon(self) -> float:
        return float(self.one(0.1, 0.5, 1, 1.1, 2, 3, 0.333, 7, round(float(self.rng.uniform(0.05, 8)), 3)))

    def dialect(self) -> str:
        return str(self.one("input", "plain", "excel-de", "excel-en"))

    @property
    def state(self) -> int | None:
        return SEED + self.number if self.rng.random() < 0.3 else None

    def file(self, name: str) -> Path:
        return self.folder / f"{self.number}-{name}"

    def form(self, rows: Rows, numeric: bool = False) -> Any:
        """The input in one of the forms that people have."""
        table = rows.table
        kinds = ["arrow", "pandas", "csv", "parquet"] + (["numpy"] if numeric else [])
        if table.num_columns == 1 and table.column(0).null_count:
            kinds.remove("csv")  # a missing value would be a blank line, which is no record
        kind = self.one(*kinds)
        if kind == "arrow":
            return table
        if kind == "numpy":
            return np.column_stack([table[name].to_numpy().astype(float) for name in table.column_names])
        if kind == "pandas":
            frame = table.to_pandas()
            return frame.set_index(pd.Index([f"name of {i}" for i in range(len(frame))], name="secret name"))
        target = self.file(f"in.{kind}")
        (pa_csv.write_csv if kind == "csv" else pq.write_table)(table, target)
        return str(target)


def finish(
    draw: Draw, kind: str, path: Path, guarantee: Any, rows: Rows | None = None, words: bool = True, **more: Any
) -> Made:
    """Collect what a stranger reads: the file, its promise, and the words of the report."""
    said: tuple[str, ...] = ()
    if words:
        facts = dc.reporting.report_facts(path)
        said = (*facts["promise"]["plain"], *facts["promise"]["symbols"], *facts["warnings"])
        assert facts["checks"]["seal"] == "intact"
    return Made(
        draw.number,
        kind,
        path.suffix,
        path.read_bytes(),
        guarantee.to_json(),
        str(guarantee),
        said,
        rows=0 if rows is None else rows.table.num_rows,
        secrets=(str(SEED + draw.number), *(() if rows is None else rows.secrets), "name of 1", "secret name"),
        **more,
    )


def write_promised(path: Path, table: pa.Table, guarantee: Any) -> Any:
    """Write a table with its promise next to it, as somebody does who publishes what `transform` gave."""
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(table, sink)
    payload = sink.getvalue().to_pybytes()
    sealed = guarantee.seal(payload)
    path.write_bytes(payload)
    path.with_name(f"{path.name}.guarantee.json").write_text(sealed.to_json())
    return sealed
