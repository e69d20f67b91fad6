"""The work of `attack`."""

from typing import Any

import numpy as np

from discreet import evaluation, metric, noise
from discreet.core import Categorical, Domain, FloatArray, released_columns
from discreet.jobs.job import Job, JobResult
from discreet.metric import read_rows
from discreet.synopses import Synopsis


def run(job: Job) -> JobResult:
    """Read the files and run one attack."""
    given = dict(job.parameters)
    method, kind = given.get("method", "membership"), given.get("kind", "points")
    artifact, domain, law = _released(job, kind)
    people, others = (_rows(job, name, domain) for name in ("against", "control"))
    stream = noise.generator(given.get("seed"))
    if "reference" in given:
        public = _rows(job, "reference", domain)
    else:
        # Half of the control group is what the attacker knows; the other half is the control.
        order = np.argsort(noise.below(2**62, size=len(others), rng=stream), kind="stable")
        others, public = others[order[: len(others) // 2]], others[order[len(others) // 2 :]]
    more: dict[str, Any] = {"metric": law, "reference": public, "random_state": stream}
    more |= {name: given[name] for name in ("within", "confidence") if name in given}
    found: evaluation.ScoredAttack
    if method == "membership":
        found = evaluation.membership_attack(artifact, people, others, kind=kind, **more)
    elif method == "reconstruction":
        found = evaluation.reconstruction_attack(artifact, people, **more)
    else:
        place, linked = domain.position(given["column"]), given.get("linked", True)
        found = evaluation.attribute_attack(artifact, people, others, column=place, linked=linked, **more)
    return JobResult(job, None, {}, found.to_dict(), found)


def check(job: Job) -> None:
    """Check the schema."""
    if job.schema is not None:
        _numeric(job)


def _numeric(job: Job) -> Domain:
    declared = released_columns(job.read_domain())
    numeric = [c.name for c in declared if not isinstance(c, Categorical)]
    if not numeric:
        raise job.declared.wrong("schema", str(job.schema), "a schema with at least one numeric column", "")
    return declared.select(numeric)


def _released(job: Job, kind: str) -> tuple[Any, Domain, Any]:
    """Read the release, its columns, and the mechanism of its noise."""
    if kind == "synopsis":
        made = Synopsis.load(job.place(job.data))
        if job.schema is None:
            return made, made.domain, None
        written = job.read_domain().source
        known = made.domain
        return made, Domain(known.to_dict(), unit=known.unit, source=written, **known.facts.to_dict()), None
    domain = _numeric(job)
    given = job.parameters
    noisy = kind == "points"
    law = metric.NDLaplace(epsilon=given["epsilon"], radius=given["radius"], domain=domain) if noisy else None
    return _rows(job, "data", domain), domain, law


def _rows(job: Job, name: str, domain: Domain) -> FloatArray:
    """Read the rows of a file as coordinates, without those with gaps unless rows belong together by their order."""
    found = read_rows(job.table(job.data if name == "data" else job.parameters[name]), domain)[0]
    gaps = np.isnan(found).any(axis=1)
    if job.parameters.get("method", "membership") == "membership" or name in ("control", "reference"):
        return found[~gaps]
    if gaps.any():
        expected = "a table without missing values"
        raise job.declared.wrong(name, "a table with gaps", expected, "leaving those rows out")
    return found
