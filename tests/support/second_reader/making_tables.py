"""Random anonymous tables, of one time or about people of whom one was released before."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

import discreet as dc
from second_reader.drawing import Draw, Made, finish
from second_reader.tables import Rows, declared, rows_of


def anonymous(draw: Draw) -> Made:
    rows = rows_of(draw, people=draw.chance(0.4), most=3, sensitive=True, keep=draw.chance(0.4), sort=True)
    method = draw.one("density", "density", "mondrian", "generalization", "micro", "noise", "swap")
    domain = declared(draw, rows, roles=True)
    shared: dict[str, Any] = {"domain": domain, "keep": rows.keep}
    rules: dict[str, Any] = {"k": draw.one(2, 3, 5)}
    if draw.chance(0.3):
        kind = draw.one("distinct", "entropy", "recursive")
        rules |= {"l_diversity": draw.one(2, 2, 1.5) if kind == "entropy" else 2, "l_kind": kind}
    if draw.chance(0.25):
        rules |= {"t_closeness": draw.one(0.3, 0.5, 0.8), "t_kind": draw.one("auto", "equal", "ordered")}
    a = dc.anonymity
    suppress = {"suppress": draw.one(0.0, 0.2, 0.5), "blanks": draw.chance(0.5)}
    if rows.people and draw.chance(0.3) and method in ("density", "mondrian", "generalization"):
        suppress["most_rows"] = draw.one(1, 2)
    model: Any
    if method == "density":
        model = a.DensityTree(**rules, **shared, **suppress, blind=draw.chance(0.15))
    elif method == "mondrian":
        model = a.Mondrian(**rules, **shared, **suppress)
    elif method == "generalization":
        model = a.Generalization(**rules, **shared, **suppress)
    elif method == "micro":
        model = a.Microaggregation(k=rules["k"], **shared)
    else:
        model = a.NoiseAddition(0.1, **shared) if method == "noise" else a.RankSwapping(0.2, **shared)
    handing: dict[str, Any] = {"random_state": draw.state, "order": draw.one("shuffled", "shuffled", "input")}
    if draw.chance(0.25):
        handing |= {"identifiers": "hash", "key": b"a secret key of many bytes"}
    if method in ("density", "mondrian", "generalization"):
        handing["output"] = draw.one("interval", "interval", "center", "sample")
    data = draw.form(rows)
    path = draw.file(draw.one("table.csv", "table.csv", "table.parquet", "table.xlsx"))
    form = draw.one("text", "text", "bounds")
    how = {"form": form, **({"csv_dialect": draw.dialect()} if path.suffix == ".csv" else {})}
    if method in ("density", "mondrian", "generalization") and "most_rows" not in suppress and draw.chance(0.3):
        written = model.fit(data).transform_file(data, path, **how, **handing)
        return finish(draw, "table", path, written.guarantee, rows, sorted_by=_order_key(rows))
    release = model.fit_transform(data, **handing)
    release.save(path, **how)
    promise = dc.Guarantee.from_json(path.with_name(f"{path.name}.guarantee.json").read_text())
    facts = json.loads(promise.to_json())["parameters"]
    assert json.loads(release.guarantee.to_json())["parameters"].items() <= facts.items()
    assert facts.keys() - release.guarantee.parameters.keys() <= {"csv", "formulas"}
    return finish(draw, "table", path, promise, rows, sorted_by=_order_key(rows))


def again(draw: Draw) -> Made:
    """A release about people of whom one was made before; who is who in both is known to the test alone."""
    n, more = int(draw.one(40, 80)), int(draw.one(0, 15, 40))
    ages = draw.rng.integers(0, 120, n + more)
    table = pa.table(
        {
            "name": [f"who-{i}-is" for i in range(n + more)],
            "age": ages,
            "town": [draw.one("Ash", "Birch", "Cedar") for _ in range(n + more)],
            "ill": [draw.one("none", "flu", "gout") for _ in range(n + more)],
        }
    )
    domain = dc.Domain(
        {
            "name": {"categories": ["any"], "role": "identifier"},
            "age": {"bounds": [0, 120], "role": "quasi-identifier"},
            "town": {"categories": ["Ash", "Birch", "Cedar"], "role": "quasi-identifier"},
            "ill": {"categories": ["none", "flu", "gout"], "role": "sensitive"},
        }
    )
    rules = {"k": draw.one(2, 3, 5), "l_diversity": draw.one(None, None, 2), "suppress": draw.one(0.0, 0.3)}
    kinds = dc.anonymity.DensityTree, dc.anonymity.Mondrian
    history = draw.file("people.history")
    first = draw.one(*kinds)(**rules, domain=domain).fit_transform(table.slice(0, n), history=history)
    first.save(draw.file("first.csv"))
    model = draw.one(*kinds)(**rules, domain=domain)
    second = model.fit_transform(table, history=history, random_state=draw.state)
    path = draw.file(draw.one("again.csv", "again.parquet"))
    second.save(path)
    before: list[Any] = ["suppressed"] * n + ["absent"] * more
    for row, shown in zip(first.rows.tolist(), first.table.to_pylist(), strict=True):
        before[row] = (shown["age"], shown["town"])
    promise = dc.Guarantee.from_json(path.with_name(f"{path.name}.guarantee.json").read_text())
    rows = Rows(table, {}, secrets=("who-1-is", "who-30-is"))
    return finish(draw, "table", path, promise, rows, extra={"before": [before[row] for row in second.rows.tolist()]})


def _order_key(rows: Rows) -> str | None:
    """The column by which a released row can be found in the input again: kept as it is, and rising."""
    return rows.keep[0] if rows.keep else None
