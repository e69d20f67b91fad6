"""The work of `perturb`."""

import math
from typing import Any

import numpy as np

from discreet import engines
from discreet.core import Domain, Guarantee, at_most, checks, promise_place, released_columns
from discreet.engines import check_target
from discreet.engines.readers import read_columns
from discreet.jobs.charging import check_reserved, repeated, reserved, standing
from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.files import finish
from discreet.reporting import category_level, kind_of, whole_level
from discreet.synopses import Synopsis


def run(job: Job) -> JobResult:
    """Perturb a table and write it batch by batch, with its guarantee next to it."""
    target = job.places()["release"]
    check_target(target, promised=True)
    mechanism = _mechanism(job)
    noisy: Any = repeated(job)
    again = noisy is not None
    if not again:
        held = reserved(job, mechanism.guarantee_, released_columns(job.read_domain()).names)
        order = job.parameters.get("order", "shuffled")
        noisy = mechanism.transform_file(job.read_table(), target, order=order, **job.form, booking=held)
    files = {"release": target, "promise": promise_place(target)}
    # The number of rows is public in this model.
    warnings = [] if len(noisy) else ["the table has no rows, so nothing was released; check the file"]
    told = {"file": str(target), "rows": len(noisy), "columns": list(noisy.names), "warnings": warnings}
    told |= standing(job, noisy.guarantee.digest, again)
    return finish(job, noisy.guarantee, files, {**told, "guarantee": noisy.guarantee.to_dict()}, noisy)


def check(job: Job) -> None:
    """Check everything but the data."""
    check_reserved(job, _mechanism(job).guarantee_)


def _mechanism(job: Job) -> Any:
    given = job.declared.arguments(job.parameters)
    declared = job.read_domain()
    domain = released_columns(declared)
    for name in ("prior", "density"):
        if name in given:
            given[name] = _public(job, domain, name)
    if not any(c.kind == "categorical" for c in domain):
        given.pop("category_epsilon", None)
    mechanism = job.declared.make(job.parameters.get("method"), domain=declared, **given)
    mechanism.fit()  # every argument is checked before the file is read
    return mechanism


def distances(guarantee: Guarantee) -> str:
    """Describe the meaning of ε at relevant distances."""
    facts = guarantee.parameters
    if "min_people" in facts and "epsilon_at_diameter" in facts:
        return (
            f"By the density, there are {facts['min_people']:g} or more people who give any result of a row with "
            f"probabilities within a factor {math.exp(min(guarantee.epsilon or 0.0, 700)):.3g} of that "
            "row's. The two farthest points of the box can be distinguished by at most epsilon "
            f"{at_most(facts['epsilon_at_diameter'], 4)}."
        )
    if guarantee.model != "metric" or "radius" not in facts or facts.get("rate") == "inf":
        return ""
    unit = " m" if facts["scaling"].get("kind") == "sphere" else ""
    level, radius = facts["rate"] * facts["radius"], facts["radius"]
    # A float cannot hold larger factors.
    factor = f"a factor {math.exp(level):.3g}" if level < 700 else f"a factor of e to the power {level:.6g}"
    said = (
        f"Two points {radius:g}{unit} apart give any result with probabilities within {factor} of each other. The two "
        f"farthest points of the box, {facts['diameter']:.4g}{unit} apart, can be distinguished by at most "
        f"epsilon {at_most(facts['epsilon_at_diameter'], 4)}."
    )
    more, whole = category_level(guarantee), whole_level(guarantee)
    if more and whole is not None:
        said += (
            f" This holds for numbers. Rows that also differ in every category can be distinguished by epsilon "
            f"{at_most(more, 4)} more: by a factor of {math.exp(min(level + more, 700)):.3g} at that distance, and by "
            f"at most epsilon {at_most(whole, 4)} in total."
        )
    return said


def _public(job: Job, domain: Domain, option: str) -> Any:
    """Read public knowledge: a synopsis, or a table with the numeric columns and perhaps 'weight'."""
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
        if numbers:
            raise job.declared.refused(
                lambda say: (
                    f"{say(option)}: {str(path)!r} has no column 'weight' with the number of people; rename "
                    f"{numbers[0]!r}, or remove it from the file if every row is one person"
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
