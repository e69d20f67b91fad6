"""Random input tables: mixed columns, missing values, dates, persons with several rows, a few rows or none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc

_TOWNS = ["Ash", "Birch, East", "Cedar", "Elm {old}", "Oak"]
_ILLS = ["none", "flu", "asthma", "gout"]


@dataclass(frozen=True)
class Rows:
    """A table, how it may be declared, and which of its columns play which part."""

    table: pa.Table
    columns: dict[str, Any]
    keep: list[str] = field(default_factory=list)
    secrets: tuple[str, ...] = ()
    dates: bool = False
    people: bool = False


def rows_of(
    draw: Any,
    *,
    people: bool = False,
    most: int = 3,
    numeric: bool = False,
    sensitive: bool = False,
    keep: bool = False,
    sort: bool = False,
) -> Rows:
    """Draw a table. Where ``sort`` is set, rows rise in every number, as an export often does."""
    n = int(draw.one(0, 1, 6, 40, 40, 150, 300) if not sensitive else draw.one(0, 1, 6, 30, 60, 120, 250))
    rng = draw.rng
    kinds = ["age", "income", "rate"] + ([] if numeric else ["town", "visit"])
    chosen = [str(name) for name in rng.permutation(kinds)[: int(rng.integers(1, most + 1))]]
    if numeric or not {"age", "income", "rate"} & set(chosen):
        chosen = ["age", *[name for name in chosen if name != "age"]]
    columns: dict[str, Any] = {}
    held: dict[str, Any] = {}
    rising = np.sort if sort else lambda x: x
    for name in chosen:
        missing = draw.one("drop", "drop", "own")
        if name == "town":
            columns[name] = {"categories": _TOWNS[: int(rng.integers(2, 6))], "missing": missing}
            held[name] = pa.array(
                [draw.one(*columns[name]["categories"], "elsewhere", None) for _ in range(n)], pa.string()
            )
        elif name == "visit":
            columns[name] = {"bounds": ["2020-01-01", "2024-12-31"], "missing": missing}
            days = rising(rng.integers(18_200, 20_300, n))
            held[name] = pa.array(days.astype("datetime64[D]"))
        else:
            low, high = {"age": (0, 120), "income": (-500, 99_999.5), "rate": (0, 1)}[name]
            columns[name] = {"bounds": [low, high], "missing": missing}
            values = rising(rng.uniform(low - 0.05 * (high - low), high * 1.05, n))
            if name == "age":
                values = np.rint(values)
            held[name] = pa.array(values, mask=rng.random(n) < draw.one(0, 0.1)) if n else pa.array([], pa.float64())
    secrets: list[str] = []
    if sensitive:
        columns["ill"] = {"categories": _ILLS, "role": "sensitive"}
        held["ill"] = pa.array([draw.one(*_ILLS, *_ILLS, None) for _ in range(n)], pa.string())
        if draw.chance(0.3):
            columns["cost"] = {"bounds": [0, 50], "role": "sensitive"}
            held["cost"] = pa.array(rng.integers(0, 6, n) * 10, pa.int64())
    kept = ["weight"] if keep else []
    if keep:
        columns["weight"] = {"bounds": [0, 10**6]}
        held["weight"] = pa.array(np.arange(n) * draw.one(1, 7) // draw.one(1, 1, 4) + 10, pa.int64())
    if people:
        who = rng.integers(0, max(n // draw.one(1, 3), 1), n) * 7919 + 500_000_003
        columns["user"] = {"bounds": [0, 2**40], "role": "person"}
        columns["ssn"] = {"categories": ["any"], "role": "identifier"}
        held["user"] = pa.array(who, pa.int64())
        held["ssn"] = pa.array([f"ssn-{w}" for w in who], pa.string())
        secrets = [str(w) for w in who[:3]]
    order = [str(name) for name in rng.permutation(list(held))]
    table = pa.table({name: held[name] for name in order})
    return Rows(table, {name: columns[name] for name in order}, kept, tuple(secrets), "visit" in columns, people)


def declared(draw: Any, rows: Rows, roles: bool = False, bounded: bool = False) -> dc.Domain:
    """Declare the columns of a table; where it names a person, the unit is a row, unless persons are counted.

    With ``bounded`` it may be the person, with a bounded number of rows.
    """
    columns = {name: dict(facts) for name, facts in rows.columns.items()}
    if roles:
        for name, facts in columns.items():
            if "role" not in facts and name not in rows.keep:
                facts["role"] = "quasi-identifier"
    elif rows.people and draw.chance(0.5):
        columns.pop("ssn")
    if bounded and rows.people and draw.chance(0.5):
        return dc.Domain(columns, unit=dc.Person("user", rows=draw.one(1, 3, 8, "auto")))
    return dc.Domain(columns, unit="row" if rows.people and not roles else None)
