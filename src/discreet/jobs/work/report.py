"""What the job `report` does: facts about a release, and the page."""

from pathlib import Path
from typing import Any

from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.sketch import read_lines
from discreet.reporting import write_report
from discreet.reporting.artifacts import kind_of


def run(job: Job) -> JobResult:
    """Write the page."""
    given = job.declared.arguments(job.parameters)
    artifact, output = job.place(job.data), job.places().get("report")
    if artifact.is_file() and kind_of(artifact) == "job":
        made = Job.from_toml(artifact)
        artifact = made.artifact
        output = output or made.places().get("report")
    output = output or job.place("report.html")
    for name in ("attacks", "audits"):
        given[name] = [job.place(file) for file in given.get(name, ())]
    if "against" in given:
        given["against"] = str(job.place(given["against"]))
    if isinstance(given.get("candidates"), str):
        given["candidates"] = read_lines(job.place(given["candidates"]))
    facts: dict[str, Any] = write_report(artifact, output, **given)
    files: dict[str, Path] = {"report": output}
    return JobResult(job, None, files, facts, facts, None, facts["checks"]["seal"] == "BROKEN")


def check(job: Job) -> None:
    """Everything about a report is in its declaration or in the release."""
