"""What the job `synthesize` does: measure marginals, fit their model, write its rows and what they were made from."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.core import stage
from discreet.engines import check_target, write_table
from discreet.engines.tables import check_escapes, with_escapes
from discreet.errors import InvalidArgument
from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.charging import charged, check_paid, checkable, keep, repeated, standing
from discreet.jobs.work.pages import finish
from discreet.jobs.work.synopsis import chosen_columns, figures
from discreet.synopses import MarginalSynopsis, Synopsis, check_ending


def run(job: Job) -> JobResult:
    """Release rows and synopsis."""
    check(job)
    job = _named(job)
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


def check(job: Job) -> None:
    """Refuse what no table can be released with."""
    named = _named(job)
    check_target(named.places()["table"], promised=True)
    check_escapes(named.places()["table"], chosen_columns(job), _escapes(job))
    check_paid(named)
    try:
        check_ending(named.places()["release"])
    except InvalidArgument as error:
        path = Path(named.outputs["release"])
        raise job.declared.wrong(
            "release", str(path), error.expected, ("release", str(path.with_suffix(".parquet")))
        ) from None
    checkable(named, _estimator(job)).check()


def known(made: Any) -> dict[str, Any]:
    """Return what was measured together, as plain data."""
    names = made.domain.names
    together = [[names[c] for c in m.columns] for m in made.measured.measured if len(m.columns) > 1]
    return {"measured": together}


def _named(job: Job) -> Job:
    """Return the job with a place for the synopsis: beside the rows unless it was named."""
    if "release" in job.outputs:
        return job
    table = Path(job.outputs["table"])
    return replace(job, outputs={**job.outputs, "release": str(table.with_name(f"{table.stem}.synopsis.parquet"))})


def _escapes(job: Job) -> bool:
    return bool(job.parameters.get("escape_formulas"))


def _estimator(job: Job) -> Any:
    given = job.declared.arguments(job.parameters)
    return MarginalSynopsis(domain=chosen_columns(job), **{**given, **charged(job)})
