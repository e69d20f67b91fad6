"""What every release ends with: the page about it and the promise alone, if they were asked for."""

from pathlib import Path
from typing import Any

from discreet.core.guarantee import Guarantee
from discreet.core.output import write_whole
from discreet.jobs.job import Job, JobResult


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

        # Of reports, only counts can be reported on; everything else is reported on as it was released.
        write_report(job.artifact, places["report"], candidates=candidates, clusters=clusters)
        files["report"] = places["report"]
    if "guarantee" in places:
        write_whole(places["guarantee"], guarantee.to_json(indent=2) + "\n")
        files["guarantee"] = places["guarantee"]
    return JobResult(job, guarantee, files, figures, artifact, more)
