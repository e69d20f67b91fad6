"""What the jobs `report` and `plan` do, and what every release ends with: pages, and the promise alone."""

import json
import math
from pathlib import Path
from typing import Any

from discreet.core import NAMING, Categorical, Guarantee, stage, write_whole, zcdp_to_epsilon
from discreet.errors import DataSourceError, FormatError
from discreet.jobs.job import Job, JobResult
from discreet.jobs.options import PAGE


def run(job: Job) -> JobResult:
    """Write the page about a release, or work out what to expect and write that page if a place is named."""
    return _report(job) if job.kind == "report" else _plan(job)


def check(job: Job) -> None:
    """Work a plan out, which reads nothing. All about a report is in its declaration or in the release."""
    if job.kind == "plan":
        _outlook(job)


def finish(
    job: Job,
    guarantee: Guarantee,
    files: dict[str, Path],
    figures: dict[str, Any],
    artifact: Any,
    *,
    more: Any = None,
    candidates: Any = None,
    clusters: Any = None,
) -> JobResult:
    """Write page and promise, and return the result."""
    places = job.places()
    if "report" in places:
        from discreet.reporting import write_report

        stage("page")
        # Of reports, only counts can be reported on; everything else is reported on as it was released.
        said = {each.name: job.parameters[each.name] for each in PAGE if each.name in job.parameters}
        write_report(job.artifact, places["report"], candidates=candidates, clusters=clusters, **said)
        files["report"] = places["report"]
    if "guarantee" in places:
        write_whole(places["guarantee"], guarantee.to_json(indent=2) + "\n", streams=True)
        files["guarantee"] = places["guarantee"]
    return JobResult(job, guarantee, files, figures, artifact, more)


def _report(job: Job) -> JobResult:
    from discreet.jobs.work.sketch import read_lines
    from discreet.reporting import kind_of, write_report

    given = job.declared.arguments(job.parameters)
    artifact, output = job.place(job.data), job.places().get("report")
    schema = None if job.schema is None else job  # who knows how the raw table is written: a release does not
    if artifact.is_file() and kind_of(artifact) == "job":
        made = Job.from_toml(artifact)
        artifact, output = made.artifact, output or made.places().get("report")
        schema = schema or made
    output = output or job.place("report.html")
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
    facts = write_report(artifact, output, **given)
    return JobResult(job, None, {"report": output}, facts, facts, None, not facts["checks"]["holds"])


def _clusters(job: Job, name: str) -> Any:
    """Read what `discreet cluster --json` has written."""
    try:
        found = json.loads(job.place(name).read_text(encoding="utf-8"))
    except OSError:
        raise DataSourceError(f"clusters: no file {name!r}; name what 'discreet cluster --json' has written") from None
    except (ValueError, RecursionError):
        found = None
    if not _is_clusters(found):
        raise FormatError(f"{name} is not a result of 'discreet cluster --json'")
    return found


def _is_clusters(found: Any) -> bool:
    """Tell whether a file holds centres, each with a place for every column and with its figures."""
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
    from discreet.reporting.pages import plan_page

    found, files = _outlook(job), job.places()
    if "html" in files:
        write_whole(files["html"], plan_page(found), streams=True)
    figures = {**found.to_dict(), "file": str(files["html"]) if files else None}
    return JobResult(job, None, files, figures, found)


def _outlook(job: Job) -> Any:
    from discreet.planning import outlook

    given = job.declared.arguments(job.parameters)
    if "d" not in given:
        if job.schema is None:
            raise job.declared.wrong("columns", None, "given, or a schema that declares them", ("columns", 2))
        numeric = [c for c in job.read_domain() if not isinstance(c, Categorical) and c.role not in NAMING]
        if not numeric:
            raise job.declared.wrong("columns", None, "given where the schema has no numeric ones", ("columns", 1))
        given["d"] = len(numeric)
    if (rho := given.pop("rho", None)) is not None:
        if "epsilon" in job.parameters:
            raise job.declared.wrong("epsilon", job.parameters["epsilon"], "left out beside rho", ("rho", rho))
        if not given.get("delta"):
            raise job.declared.wrong("delta", None, "given with rho: where its epsilon is stated", ("delta", 1e-6))
        given["epsilon"] = zcdp_to_epsilon(rho, given["delta"])
    return outlook(given.pop("n"), given.pop("d"), **given)
