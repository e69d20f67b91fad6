"""What the job `plan` does."""

from discreet.core.output import write_whole
from discreet.jobs.job import Job, JobResult
from discreet.planning import outlook
from discreet.reporting.pages.plan import page


def run(job: Job) -> JobResult:
    """Work out what to expect, and write the page if a place is named."""
    given = job.declared.arguments(job.parameters)
    found = outlook(given.pop("n"), given.pop("d"), **given)
    files = job.places()
    if "html" in files:
        write_whole(files["html"], page(found))
    figures = {**found.to_dict(), "file": str(files["html"]) if files else None}
    return JobResult(job, None, files, figures, found)


def check(job: Job) -> None:
    """Nothing is read, so that it can be worked out at once."""
    given = job.declared.arguments(job.parameters)
    outlook(given.pop("n"), given.pop("d"), **given)
