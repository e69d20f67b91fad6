"""The work of `ask`: post-processing of a published synopsis."""

import math

from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.files import load_synopsis
from discreet.synopses.queries import known


def run(job: Job) -> JobResult:
    """Answer the question, by group if columns are named."""
    made = load_synopsis(job)
    job.declared.check_columns("by", job.parameters.get("by", ()), made.domain.names, "columns of the synopsis")
    question, level = job.parameters["question"], float(job.parameters.get("level", 0.95))
    found = made.ask(question)
    low, high = found.interval(level)
    figures = {"question": question, **found.to_dict(), "level": level, "low": known(low), "high": known(high)}
    groups = None
    if job.parameters.get("by") and math.isfinite(high):
        groups = made.table(*map(str, job.parameters["by"]), where=question, level=level)
        figures["groups"] = groups.to_arrow().to_pylist()
    figures["seeded"] = made.guarantee.seeded
    figures["warnings"] = list(made.warnings)
    figures["modelled"] = made.modelled
    return JobResult(job, made.guarantee, {}, figures, found, groups)


def check(job: Job) -> None:
    """Check nothing more: the columns are in the synopsis."""
