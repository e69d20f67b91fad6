"""The jobs `report`, one page of evidence for a release, and `compare`, its true errors."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind
from discreet.jobs.options import ACCOUNT, PAGE, TABLE, data, option, release


def _together(job: Any) -> None:
    if "target" in job.parameters and "against" not in job.parameters:
        raise KIND.wrong("against", None, lambda say: f"given with {say('target', job.parameters['target'])}")
    if job.parameters.get("format") == "json" and "sign" in job.parameters:
        raise KIND.wrong("sign", job.parameters["sign"], lambda say: f"left out with {say('format', 'json')}")


_TARGET = option("target", "text", "Column to predict from the release and from the raw table, which must be given.",
    "income")  # fmt: skip
KIND = Kind(
    name="report",
    summary="write a page of evidence for a release",
    help="Write a page of evidence: what was released, the guarantee, the ledger, the assumptions, and checks.",
    data=data("file", "A synopsis, counts of reports, a table next to its .guarantee.json, or a job file.",
        "s.parquet"),
    schema="optional",
    own=(
        option("against", "table", "The raw table: adds a comparison. The page is NOT private then.", "people.csv"),
        _TARGET,
        option("attack", "files", "A result of 'discreet attack --json' to show.", ["attack.json"],
            arguments=("attacks",)),
        option("audit", "files", "A result of 'discreet audit --json' to show.", ["audit.json"], arguments=("audits",)),
        option("clusters", "file", "A result of 'discreet cluster --json' to show.", "clusters.json"),
        option("candidates", ("names", "file"), "Values whose frequencies to show, for counts of reports.", ["red"]),
        option("format", "text", "A page for people, or a record for programs (docs/records.md).", "json",
            default="html", choices=("html", "json")),
        replace(ACCOUNT, help="Account whose balance to show.", arguments=("account",)),
        *(replace(each, arguments=(each.name,)) for each in PAGE),
    ),
    outputs=(
        release("The page, by default report.html; a record is record.json.", "report.html", "report", required=False,
            streams=True),
    ),
    together=_together,
    examples=(
        "report s.parquet -o report.html",
        "report safe.parquet --against people.csv --target income",
        "report safe.csv --language de -o bericht.html",
        "report s.parquet --format json -o record.json",
        "report job.toml",
    ),
    failed="the release breaks its guarantee, or the file was changed",
    priced_by="-",
)  # fmt: skip
COMPARE = Kind(
    name="compare",
    summary="compare a release with the real table",
    help="Compare a release with the real table: true errors of columns, pairs and questions. The figures are not "
    "private: they are NOT FOR PUBLICATION. Every release that was made to improve them stays charged.",
    data=replace(TABLE, help="The real table."),
    schema="optional",
    own=(
        option("release", "file", "The release: a synopsis, or a table next to its .guarantee.json.", "safe.csv",
            required=True, positional=True, arguments=()),
        _TARGET,
    ),
    outputs=(
        release("Page with charts, to keep inside the organisation.", "compare.html", "html", required=False,
            streams=True),
    ),
    examples=(
        "compare people.csv safe.csv",
        "compare people.csv safe.parquet --schema schema.toml --target income -o compare.html",
    ),
    failed="the release breaks its guarantee, or the file was changed",
)  # fmt: skip
