"""Random tables in one line, and folders with a table and its schema: what most tests of files begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

import discreet as dc

#: Draws the values of a column.
Column = Callable[[np.random.Generator, int], Any]


def whole(low: int, high: int) -> Column:
    """Return a column of whole numbers from ``low`` to below ``high``."""
    return lambda rng, n: rng.integers(low, high, n)


def one_of(values: Sequence[Any]) -> Column:
    """Return a column of values that are equally likely."""
    return lambda rng, n: rng.choice(values, n)


def random_table(columns: dict[str, Column], n: int, seed: int = 0) -> pa.Table:
    """Return a table of n rows; its columns are drawn in turn from one generator."""
    rng = np.random.default_rng(seed)
    return pa.table({name: draw(rng, n) for name, draw in columns.items()})


def write_table(folder: Path, table: Any, schema: dc.Domain | str = "", name: str = "people.csv") -> Path:
    """Write a table (Arrow, pandas or text) and, if there is one, its ``schema.toml``; return the folder."""
    if isinstance(table, pa.Table):
        pa_csv.write_csv(table, folder / name)
    elif isinstance(table, pd.DataFrame):
        table.to_csv(folder / name, index=False)
    else:
        (folder / name).write_text(table, encoding="utf-8")
    if schema:
        text = schema if isinstance(schema, str) else schema.to_toml()
        (folder / "schema.toml").write_text(text, encoding="utf-8")
    return folder
