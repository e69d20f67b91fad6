"""The work of `ask`: post-processing of a published synopsis."""

import math

import pyarrow as pa

from discreet.engines import check_target, write_table
from discreet.engines.tables import format_facts
from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.files import load_synopsis
from discreet.synopses.queries import known


def run(job: Job) -> JobResult:
    """Answer the question, by group if columns are named, and write the answer if a file is named."""
    check(job)
    made, place = load_synopsis(job), job.places().get("table")
    facts = {} if place is None else format_facts(place, made.domain, **job.form)
    job.declared.check_columns("by", job.parameters.get("by", ()), made.domain.names, "columns of the synopsis")
    question, level = job.parameters.get("question"), float(job.parameters.get("level", 0.95))
    found = made.ask(question) if question else made.count()
    low, high = found.interval(level)
    figures = {
        "question": question or "all rows",
        **found.to_dict(),
        "level": level,
        "low": known(low),
        "high": known(high),
    }
    groups = None
    if job.parameters.get("by") and math.isfinite(high):
        groups = made.table(*map(str, job.parameters["by"]), where=question or None, level=level)
        figures["groups"] = groups.to_arrow().to_pylist()
    figures["seeded"] = made.guarantee.seeded
    figures["warnings"] = list(made.warnings)
    figures["modelled"] = made.modelled
    if place is not None:
        told = ("question", "value", "std_error", "low", "high")
        table = pa.table({name: [figures[name]] for name in told}) if groups is None else groups.to_arrow()
        write_table(place, table, facts=facts)
    return JobResult(job, made.guarantee, {} if place is None else {"table": place}, figures, found, groups)


def check(job: Job) -> None:
    """Check the file to write; the columns are in the synopsis."""
    if "table" in job.outputs:
        check_target(job.places()["table"], promised=False)
