"""The work of `synthesize`: measure marginals, fit a model, write its rows and the synopsis."""

from dataclasses import replace
from typing import Any

from discreet.core import Guarantee, stage
from discreet.engines import check_target, write_table
from discreet.engines.tables import format_facts
from discreet.jobs.charging import account_of, check_paid, completed, keep, repeated, standing
from discreet.jobs.job import Job, JobResult
from discreet.jobs.kinds.synthesize import MOST_SYNTHETIC
from discreet.jobs.work import synopsis
from discreet.jobs.work.files import finish
from discreet.synopses import Synopsis


def run(job: Job) -> JobResult:
    """Release rows and synopsis."""
    job = check(job)
    places = job.places()
    earlier = repeated(job)
    made: Synopsis = synopsis.estimator(job).fit(job.read_table()).synopsis_ if earlier is None else earlier
    keep(job, made, earlier, charged=True)
    stage("sampling")
    # Post-processing: rows are a function of the published synopsis, so the same release always gives the same file.
    rows = made.sample(
        job.parameters.get("n"), rng=job.parameters.get("seed", int(made.digest.removeprefix("sha256:"), 16))
    )
    keep(job, made, earlier, charged=False)
    account, target = account_of(job), places["table"]

    def book(sealed: Guarantee) -> None:
        if account is not None:
            account.add_file(made.digest, target.name, sealed.digest)

    # A synopsis that was read again has forgotten how the table was written; the schema knows it.
    facts = format_facts(target, synopsis.chosen_columns(job), **job.form)
    promise = replace(made.guarantee, parameters={**made.guarantee.parameters, **facts})
    write_table(target, rows, promise, book=book)
    files = {"table": places["table"], "release": places["release"]}
    told = {**synopsis.figures(made, places["release"]), "table": str(target), "sampled": rows.num_rows, **known(made)}
    return finish(job, made.guarantee, files, {**told, **standing(job, made.digest, earlier is not None)}, made)


def check(job: Job) -> Job:
    """Check everything but the data; return the job with a file for the synopsis, by default next to the rows."""
    check_paid(job)
    job = completed(job)
    if "n" not in job.parameters and job.parameters.get("rows", 0) > MOST_SYNTHETIC:
        expected = "given: as many synthetic rows as the table has do not fit into memory"
        raise job.declared.wrong("n", None, expected)
    check_target(job.places()["table"], promised=True)
    format_facts(job.places()["table"], synopsis.chosen_columns(job), **job.form)
    synopsis.check(job)
    return job


def known(made: Any) -> dict[str, Any]:
    """Return which columns were measured together."""
    names = made.counted_names
    together = [[names[c] for c in m.columns] for m in made.measured.measured if len(m.columns) > 1]
    return {"measured": together}
