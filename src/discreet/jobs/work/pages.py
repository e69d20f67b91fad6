"""The work of `report`, `compare` and `plan`."""

import json
import math
from typing import Any

from discreet.core import NAMING, Categorical, Person, promise_place, read_whole, write_whole, zcdp_to_epsilon
from discreet.errors import FormatError
from discreet.jobs.job import Job, JobResult


def run(job: Job) -> JobResult:
    """Write the page about a release, compare it with the real table, or write a plan."""
    return _plan(job) if job.kind == "plan" else _report(job)


def check(job: Job) -> None:
    """Compute a plan, which reads no data. A report needs no other checks."""
    if job.kind == "plan":
        _outlook(job)


def _report(job: Job) -> JobResult:
    from discreet.accounts import Account
    from discreet.jobs.charging import released_digest
    from discreet.jobs.work.files import read_lines
    from discreet.reporting import kind_of, report_facts, write_report

    given = job.declared.arguments(job.parameters)
    compares, output = job.kind == "compare", job.places().get("report", job.places().get("html"))
    artifact = job.place(job.parameters["release"] if compares else job.data)
    given |= {"against": job.data} if compares else {}
    schema = None if job.schema is None else job  # it says how the raw table is written
    if artifact.is_file() and kind_of(artifact) == "job":
        made = Job.from_toml(artifact)
        artifact, output = made.artifact, output or made.places().get("report")
        schema = schema or made
    if compares and artifact.is_file() and kind_of(artifact) in ("", "table"):
        told = f"{artifact.name} is not a release: there is no {promise_place(artifact).name} next to it"
        raise FormatError(f"{told}; give the real table first, then the release")
    usual = "record.json" if given.get("format") == "json" else "report.html"
    output = output or (None if compares else job.place(usual))
    for name in ("attacks", "audits"):
        given[name] = [job.place(file) for file in given.get(name, ())]
    if "against" in given:
        from discreet import engines

        written = None if schema is None or schema.schema is None else schema.read_domain().source
        given["against"] = engines.open(job.table(given["against"]), dialect=written)
    if "clusters" in given:
        given["clusters"] = _clusters(job, given["clusters"])
    if isinstance(given.get("candidates"), str):
        given["candidates"] = read_lines(job.place(given["candidates"]))
    if "account" in given:
        given["account"] = Account(job.place(given["account"])).balance(released_digest(artifact))
    facts = (
        report_facts(artifact, **given)
        if output is None
        else write_report(artifact, output, signer=job.fingerprint, **given)
    )
    files = {} if output is None else {next(iter(job.outputs), "report"): output}
    return JobResult(job, None, files, facts, facts, artifact, not facts["checks"]["holds"])


def _clusters(job: Job, name: str) -> Any:
    """Read a result of `discreet cluster --json`."""
    text = read_whole(job.place(name), "clusters")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not _is_clusters(found):
        raise FormatError(f"{name} is not a result of 'discreet cluster --json'")
    return found


def _is_clusters(found: Any) -> bool:
    """Return whether data are complete cluster centres."""
    names = ("columns", "centers", "weights", "weight_std_errors", "may_be_noise")
    if not isinstance(found, dict) or not all(isinstance(found.get(name), list) for name in names):
        return False
    width, numbers = len(found["columns"]), [*found["weights"], *found["weight_std_errors"]]
    if any(not isinstance(row, list) or len(row) != width for row in found["centers"]):
        return False
    numbers += [place for row in found["centers"] for place in row if not isinstance(place, str)]
    even = {len(found[name]) for name in names[1:]} == {len(found["centers"])}
    return even and all(isinstance(x, (int, float)) and abs(x) < math.inf for x in numbers)


def _plan(job: Job) -> JobResult:
    from discreet.core import Domain, released_columns
    from discreet.planning import fitness
    from discreet.reporting.pages import plan_page

    found, files = _outlook(job), job.places()
    columns = Domain.box([0.0] * found.d, 1.0) if job.schema is None else job.read_domain()
    told = fitness(released_columns(columns), found).to_dict()
    told["line"] = f"{told['line'].removesuffix('.')} (a marginal synopsis, or its synthetic rows)."
    if "html" in files:
        page = plan_page(found, told["line"], job.parameters.get("language", "en"), told["columns"])
        write_whole(files["html"], page, streams=True)
    figures = {**found.to_dict(), "file": str(files["html"]) if files else None, "fitness": told}
    return JobResult(job, None, files, figures, found)


def _outlook(job: Job) -> Any:
    from discreet.planning import outlook

    given = job.declared.arguments(job.parameters)
    domain, people = None if job.schema is None else job.read_domain(), given.pop("population", None)
    if domain is not None and isinstance(domain.unit, Person) and domain.unit.rows != "auto":
        given["rows_each"] = domain.unit.rows
    most = next((c.high for c in domain or () if c.role == "weight"), None)
    if most is None and people is not None:
        raise job.declared.wrong("population", people, "left out: no column has the role 'weight'")
    if most is not None:
        if people is None:
            few = max(1, int(given["n"] * most / 4))
            raise job.declared.wrong("population", None, "given: the schema has weights", ("population", few))
        given["heaviest"] = most * given["n"] / people
    if "d" not in given:
        if domain is None:
            raise job.declared.wrong("columns", None, "given, or a schema that declares them", ("columns", 2))
        numeric = [c for c in domain if not isinstance(c, Categorical) and c.role not in (*NAMING, "weight")]
        if not numeric:
            raise job.declared.wrong("columns", None, "given: the schema has no numeric columns", ("columns", 1))
        given["d"] = len(numeric)
    if (rho := given.pop("rho", None)) is not None:
        if "epsilon" in job.parameters:
            raise job.declared.wrong("epsilon", job.parameters["epsilon"], "left out with rho", ("rho", rho))
        if not given.get("delta"):
            raise job.declared.wrong(
                "delta", None, "given with rho: its epsilon is stated at this delta", ("delta", 1e-6)
            )
        given["epsilon"] = zcdp_to_epsilon(rho, given["delta"])
    return outlook(given.pop("n"), given.pop("d"), **given)
