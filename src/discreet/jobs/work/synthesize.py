"""The work of `synthesize`: measure marginals, fit a model, write its rows and the synopsis."""

from pathlib import Path
from typing import Any

from discreet.core import stage
from discreet.engines import check_target, write_table
from discreet.engines.tables import check_escapes, with_escapes
from discreet.errors import InvalidArgument
from discreet.jobs.charging import charged, check_paid, checkable, keep, repeated, standing
from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.files import finish
from discreet.jobs.work.synopsis import chosen_columns, figures
from discreet.synopses import Synopsis, check_ending


def run(job: Job) -> JobResult:
    """Release rows and synopsis."""
    job = check(job)
    places = job.places()
    earlier = repeated(job)
    made: Synopsis = _estimator(job).fit(job.read_table()).synopsis_ if earlier is None else earlier
    if earlier is None:
        keep(job, made, charged=True)
    stage("sampling")
    number = job.parameters.get("n", max(round(made.total), 0))
    rows = made.sample(number, rng=job.parameters.get("seed"))
    if earlier is None:
        keep(job, made, charged=False)
    write_table(places["table"], rows, with_escapes(made.guarantee, places["table"], _escapes(job)))
    files = {"table": places["table"], "release": places["release"]}
    told = {**figures(made, places["release"]), "table": str(places["table"]), "invented": number, **known(made)}
    return finish(job, made.guarantee, files, {**told, **standing(job, made, earlier is not None)}, made)


def check(job: Job) -> Job:
    """Check everything but the data; return the job with a file for the synopsis, by default next to the rows."""
    if "release" not in job.outputs:
        table = Path(job.outputs["table"])
        job = job.with_output("release", str(table.with_name(f"{table.stem}.synopsis.parquet")))
    check_target(job.places()["table"], promised=True)
    check_escapes(job.places()["table"], chosen_columns(job), _escapes(job))
    check_paid(job)
    try:
        check_ending(job.places()["release"])
    except InvalidArgument as error:
        path = Path(job.outputs["release"])
        fix = ("release", str(path.with_suffix(".parquet")))
        raise job.declared.wrong("release", str(path), error.expected, fix) from None
    checkable(job, _estimator(job)).check()
    return job


def known(made: Any) -> dict[str, Any]:
    """Return which columns were measured together."""
    names = made.domain.names
    together = [[names[c] for c in m.columns] for m in made.measured.measured if len(m.columns) > 1]
    return {"measured": together}


def _escapes(job: Job) -> bool:
    return bool(job.parameters.get("escape_formulas"))


def _estimator(job: Job) -> Any:
    given = job.declared.arguments(job.parameters)
    return job.declared.make(domain=chosen_columns(job), **{**given, **charged(job)})
