"""What the job `perturb` does."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet import engines, metric
from discreet.core import Domain, Guarantee, checks, promise_place, released_columns
from discreet.engines import WrittenTable, check_target
from discreet.engines.readers import read_columns
from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.pages import finish
from discreet.reporting import category_level, kind_of, whole_level
from discreet.synopses import Synopsis

_METHODS: dict[str, Any] = {
    "nd-laplace": metric.NDLaplace,
    "sphere": metric.SphericalLaplace,
    "elastic": metric.ElasticLaplace,
    "column-laplace": metric.ColumnLaplace,
    "piecewise": metric.Piecewise,
    "hybrid": partial(metric.Piecewise, method="hybrid"),
    "duchi": partial(metric.Piecewise, method="duchi"),
    "square-wave": partial(metric.Piecewise, method="square_wave"),
    "priv-unit": metric.PrivUnit,
}


def run(job: Job) -> JobResult:
    """Perturb a table and write it bit by bit, its promise beside it."""
    target = job.places()["release"]
    check_target(target, promised=True)
    mechanism = _mechanism(job)
    noisy: WrittenTable = mechanism.transform_file(
        job.read_table(),
        target,
        order=job.parameters.get("order", "shuffled"),
        escape_formulas=bool(job.parameters.get("escape_formulas")),
    )
    assert noisy.guarantee is not None
    files = {"release": target, "promise": promise_place(target)}
    return finish(job, noisy.guarantee, files, figures(noisy, noisy.guarantee, target), noisy)


def check(job: Job) -> None:
    """Refuse what no table can be perturbed with."""
    _mechanism(job)


def _mechanism(job: Job) -> Any:
    given = job.declared.arguments(job.parameters)
    declared = job.read_domain()
    domain = released_columns(declared)
    for name in ("prior", "density"):
        if name in given:
            given[name] = _public(job, domain, name)
    if not any(c.kind == "categorical" for c in domain):
        given.pop("category_epsilon", None)
    mechanism = _METHODS[job.parameters.get("method", "nd-laplace")](domain=declared, **given)
    mechanism.fit()  # every argument is checked before the file is read
    return mechanism


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
    if "min_people" in facts and "epsilon_at_diameter" in facts:
        return (
            f"By the density, there are {facts['min_people']:g} people or more who give any result of a row with chances "
            f"within a factor {math.exp(min(guarantee.epsilon or 0.0, 700)):.3g} of that row's; the two farthest "
            f"points of the box are told apart by at most epsilon {facts['epsilon_at_diameter']:.4g}."
        )
    if guarantee.model != "metric" or "radius" not in facts or facts.get("rate") == "inf":
        return ""
    unit = " m" if facts["scaling"].get("kind") == "sphere" else ""
    level, radius = facts["rate"] * facts["radius"], facts["radius"]
    # Beyond that a double is infinite, and so is the factor for all purposes.
    factor = f"a factor {math.exp(level):.3g}" if level < 700 else f"a factor of e to the power {level:.6g}"
    said = (
        f"Two points {radius:g}{unit} apart give any result with chances within {factor} of each other; the two "
        f"farthest points of the box, {facts['diameter']:.4g}{unit} apart, are told apart by at most "
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


def _public(job: Job, domain: Domain, option: str) -> Any:
    """Read public knowledge: a saved synopsis, or a table with the numeric columns and perhaps 'weight'."""
    path = job.place(job.parameters[option])
    if path.is_file() and kind_of(path) == "synopsis":
        return Synopsis.load(path)
    names = [c.name for c in domain if c.kind in ("numeric", "integer")]
    source = engines.open(str(path))
    absent = [name for name in names if name not in source.names]
    if absent:
        said = f"{str(path)!r} has no column {absent[0]!r}, which the schema declares"
        raise job.declared.refused(lambda say: f"{say(option)}: {said}")
    weighted = "weight" in source.names and "weight" not in names
    if option == "density" and not weighted:
        numbers = [name for name in source.names if name not in names and _is_number(source, name)]
        if numbers:  # taken for nothing, they would leave one person to every place
            raise job.declared.refused(
                lambda say: (
                    f"{say(option)}: {str(path)!r} has no column 'weight', the people of a place; call "
                    f"{numbers[0]!r} so, or leave it out of the file where every row is one person"
                )
            )
    table = read_columns(source, [*names, "weight"] if weighted else names)
    columns = [checks.as_floats(np.asarray(table[name].to_pylist(), dtype=object)) for name in table.column_names]
    places = np.column_stack(columns[: len(names)])
    weights = columns[-1] if weighted else np.ones(len(places))
    kept = np.isfinite(places).all(axis=1) & np.isfinite(weights)
    return places[kept], weights[kept]


def _is_number(source: engines.Source, name: str) -> bool:
    values = checks.as_floats(np.asarray(read_columns(source, [name])[name].to_pylist(), dtype=object))
    return bool(len(values) and np.isfinite(values).all())
