"""What the verb `perturb` does, without the talking."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from discreet import engines, metric
from discreet.core import checks
from discreet.core.domain import Domain
from discreet.core.guarantee import Guarantee
from discreet.core.people import released_columns
from discreet.engines.tables.columns import read_columns
from discreet.engines.writer import PARQUET, WrittenTable, check_target
from discreet.errors import FormatError, InvalidArgument, SchemaError
from discreet.reporting.words import category_level, whole_level
from discreet.synopses import Synopsis

_METHODS: dict[str, Any] = {
    "nd-laplace": metric.NDLaplace,
    "sphere": metric.SphericalLaplace,
    "column-laplace": metric.ColumnLaplace,
    "piecewise": metric.Piecewise,
    "hybrid": metric.Hybrid,
    "duchi": metric.Duchi,
    "square-wave": metric.SquareWave,
    "priv-unit": metric.PrivUnit,
}
#: Settings that only some methods have.
_OWN = {
    "radius": ("nd-laplace", "sphere", "column-laplace"),
    "remap": ("nd-laplace", "sphere"),
    "prior": ("nd-laplace", "sphere"),
    "scaling": ("nd-laplace", "column-laplace"),
    "step": ("nd-laplace", "sphere", "column-laplace"),
}
_NEED_RADIUS = ("nd-laplace", "sphere")


def perturb(
    data: str,
    schema: str | Path,
    epsilon: float,
    output: Path,
    method: str,
    settings: dict[str, Any],
    seed: int | None,
    unit: str | None = None,
) -> tuple[WrittenTable, Guarantee]:
    """Perturb a table and write it bit by bit, its promise beside it. Settings that are None are the method's."""
    method = checks.choice("method", method, tuple(_METHODS))
    given = {name: value for name, value in settings.items() if value is not None}
    for name, owners in _OWN.items():
        if name in given and method not in owners:
            ways = " or ".join(f"--method {owner}" if owner != "sphere" else "--sphere" for owner in owners)
            raise InvalidArgument(f"--{name}", given[name], f"used with {ways} only", ways)
    order = checks.choice("--order", given.pop("order", "shuffled"), ("shuffled", "input"))
    if method in _NEED_RADIUS and "radius" not in given:
        unit = "in metres" if method == "sphere" else "in the declared metric"
        raise InvalidArgument("--radius", None, f"the distance, {unit}, at which epsilon holds", "--radius 0.1")
    check_target(output, promised=True)
    declared = Domain.from_toml(schema)
    if unit is not None:
        declared = declared.with_unit(unit)
    domain = released_columns(declared)
    if "scaling" in given:
        given["scaling"] = _scaling(given["scaling"])
    if "prior" in given:
        given["prior"] = _prior(given["prior"], domain)
    if not any(c.kind == "categorical" for c in domain):
        unused = given.pop("category_epsilon", None)
        if unused is not None:
            checks.budget("category_epsilon", unused)
    mechanism = _METHODS[method](epsilon=epsilon, domain=declared, random_state=seed, **given)
    mechanism.fit()  # every argument is checked before the file is read
    written: WrittenTable = mechanism.transform_file(engines.as_declared(data, schema), output, order=order)
    assert written.guarantee is not None
    return written, written.guarantee


def figures(noisy: WrittenTable, guarantee: Guarantee, output: Path) -> dict[str, Any]:
    """Return what was released, as plain data."""
    return {
        "file": str(output),
        "rows": noisy.n_rows,
        "columns": list(noisy.names),
        "warnings": warnings(noisy),
        "guarantee": guarantee.to_dict(),
    }


def warnings(noisy: WrittenTable) -> list[str]:
    """Say that nothing was released; the number of rows is public in this model."""
    return [] if noisy.n_rows else ["the table has no rows, so nothing was released: look at the file"]


def distances(guarantee: Guarantee) -> str:
    """Say what ε means at the distances that matter."""
    facts = guarantee.parameters
    if guarantee.model != "metric" or "radius" not in facts or facts.get("rate") == "inf":
        return ""
    unit = " m" if facts["scaling"].get("kind") == "sphere" else ""
    level, radius = facts["rate"] * facts["radius"], facts["radius"]
    said = (
        f"Two points {radius:g}{unit} apart give any result with chances within a factor {math.exp(level):.3g} of each "
        f"other; the two farthest points of the box, {facts['diameter']:.4g}{unit} apart, are told apart by at most "
        f"epsilon {facts['epsilon_at_diameter']:.4g}."
    )
    more, whole = category_level(guarantee), whole_level(guarantee)
    if more and whole is not None:
        said += (
            f" That is about the numbers alone: rows that differ in all categories too are told apart by epsilon "
            f"{more:.4g} more, so within a factor {math.exp(min(level + more, 700)):.3g} at that distance, and by at "
            f"most epsilon {whole:.4g} in all."
        )
    return said


def _scaling(text: str) -> Any:
    if text in ("box", "none"):
        return text
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidArgument("--scaling", text, "box, none, or units with commas", "--scaling 10,0.5") from None


def _prior(path: Path, domain: Domain) -> Any:
    """Read public knowledge: a saved synopsis, or a table with the numeric columns and perhaps 'weight'."""
    if path.suffix.lower() in PARQUET:
        try:
            return Synopsis.load(path)
        except FormatError:
            pass  # a plain table
    names = [c.name for c in domain if c.kind == "numeric"]
    source = engines.open(str(path))
    absent = [name for name in names if name not in source.names]
    if absent:
        raise SchemaError(f"--prior: {str(path)!r} has no column {absent[0]!r}, which the schema declares")
    weighted = "weight" in source.names and "weight" not in names
    table = read_columns(source, [*names, "weight"] if weighted else names)
    columns = [checks.as_floats(np.asarray(table[name].to_pylist(), dtype=object)) for name in table.column_names]
    places = np.column_stack(columns[: len(names)])
    weights = columns[-1] if weighted else np.ones(len(places))
    kept = np.isfinite(places).all(axis=1) & np.isfinite(weights)
    return places[kept], weights[kept]
