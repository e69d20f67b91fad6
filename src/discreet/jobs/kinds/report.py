"""The job `report`: one page of evidence for any release."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind
from discreet.jobs.options import PAGE, option, release


def _together(job: Any) -> None:
    if "target" in job.parameters and "against" not in job.parameters:
        raise KIND.wrong("against", None, lambda say: f"given with {say('target', job.parameters['target'])}")


KIND = Kind(
    name="report",
    summary="one page of evidence for a release",
    help="Write one self-contained page: what was released, what was promised, the ledger, assumptions, evidence.",
    data=option("data", "file",
        "a synopsis, counts of reports, a table with its .guarantee.json beside it, or a job file",
        "s.parquet", required=True, section="data"),
    schema="optional",
    parameters=(
        option("against", "table", "the raw table, written as the schema says: adds a comparison, which is NOT private",
            "people.csv"),
        option("target", "text", "with against: the column to predict, learnt from the release and from the raw table",
            "income"),
        option("attack", "files", "a result of 'discreet attack --json' to show", ["attack.json"],
            arguments=("attacks",)),
        option("audit", "files", "a result of 'discreet audit --json' to show", ["audit.json"], arguments=("audits",)),
        option("clusters", "file", "a result of 'discreet cluster --json' to show; compared, with against",
            "clusters.json"),
        option("candidates", ("names", "file"), "of counts: values whose frequencies to show", ["red"]),
        *(replace(each, arguments=(each.name,)) for each in PAGE),
    ),
    outputs=(
        replace(release("the page; report.html, or what the job says", "report.html", "report"), required=False,
            default="report.html", streams=True),
    ),
    together=_together,
    examples=(
        "report s.parquet -o report.html",
        "report safe.parquet --against people.csv --target income",
        "report job.toml",
    ),
    failed="the release does not keep its promise, or the seal is broken",
)  # fmt: skip
