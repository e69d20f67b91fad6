"""The jobs of local privacy: `sketch` (randomise, and count and estimate if asked), and its later steps one by one."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, said_twice
from discreet.jobs.options import EPSILON, PROMISE, REPORT, SEED, YES_REALLY, option, output, release

_VALUES = option(
    "data",
    "table",
    "CSV or Parquet file, or a .txt file with one value per line",
    "words.csv",
    required=True,
    section="data",
)
_CANDIDATES = option(
    "candidates", ("names", "file"), "values to ask for, if not all that are declared, or discovered", ["red"]
)
_CONSISTENCY = option(
    "consistency", "text", "make estimates add up; raw ones otherwise", "simplex", arguments=("consistency", "how"),
    choices=("simplex", "base-cut", "norm-cut"),
)  # fmt: skip
_DOMAIN_SIZE = option("domain_size", "whole", "number of values, if they are 0, 1, 2, ...", 100, low=2)
_REPORTS = option("reports", "whole", "reports expected, for the automatic choice", 100000, default=100000, low=1,
    arguments=("n",))  # fmt: skip


def _together(job: Any) -> None:
    given = job.parameters
    said_twice(KIND, given)
    for name in ("report", "estimates"):
        if name in job.outputs and "counts" not in job.outputs:
            raise KIND.wrong("counts", None, f"given: {name!r} is made from it")
    if given.get("mechanism", "auto") == "auto":
        if "epsilon" not in given:
            raise KIND.wrong("epsilon", None, "given for an automatic choice")
        if "domain" not in given and "domain_size" not in given:
            raise KIND.wrong("domain", None, "given for an automatic choice")
    if "users" in given and "column" not in given:
        raise KIND.wrong("column", None, "named beside the column of users")


KIND = Kind(
    name="sketch",
    verb="sketch encode",
    summary="randomise a column as devices would, count, estimate",
    help="Randomise a column: what may leave the devices. Streams, so the file may be larger than memory.",
    data=_VALUES,
    parameters=(
        replace(EPSILON, help="budget of one report", example=2.0, required=False, shown=True),
        option("column", "text", "column that holds the values", "word", shown=True),
        option("mechanism", "text", "a name, auto, or a file of reports to take the parameters from", "auto",
            default="auto", shown=True, short="-m"),
        option("domain", ("names", "file"), "the declared values: a file with one per line, or a list", ["red", "blue"],
            shown=True),
        replace(_DOMAIN_SIZE, arguments=()),
        _CANDIDATES,
        option("key", "whole", "public hash key; drawn at random if not given", 1),
        option("set", "pairs", "further parameters of the mechanism", {"width": 1024}),
        _REPORTS,
        option("users", "text", "column with a key per user, for mechanisms that remember", "user"),
        option("secret", "file", "file with the client's secret, likewise", "secret.txt"),
        _CONSISTENCY,
        YES_REALLY,
        SEED,
    ),
    outputs=(
        release("the reports: what may leave the devices", "reports.bin"),
        output("counts", "their counts: what a collector keeps", "counts.bin", shown=True),
        output("estimates", "estimated frequencies; needs the output 'counts'", "estimates.csv", shown=True),
        replace(REPORT, help="one page about the counts; needs the output 'counts'"),
        PROMISE,
    ),
    together=_together,
    examples=(
        "sketch encode words.txt -m hadamard-sketch --epsilon 4 -o reports.bin",
        "sketch encode data.csv --column colour --domain colours.txt --epsilon 2 -o reports.bin",
    ),
)  # fmt: skip

AGGREGATE = Kind(
    name="aggregate",
    verb="sketch aggregate",
    summary="count reports",
    help="Count reports: all that a collector keeps.",
    data=option("data", "files", "files of reports", ["reports.bin"], required=True, section="data"),
    parameters=(),
    outputs=(release("the counts", "counts.bin"),),
    examples=("sketch aggregate reports-*.bin -o counts.bin",),
)
MERGE = Kind(
    name="merge",
    verb="sketch merge",
    summary="add counts up",
    help="Add counts up. If people report more than once, their budgets add up too.",
    data=option(
        "data", "files", "files of counts made with the same parameters", ["counts.bin"], required=True, section="data"
    ),
    parameters=(),
    outputs=(release("the counts", "week.bin"),),
    examples=("sketch merge monday.bin tuesday.bin -o week.bin",),
)
ESTIMATE = Kind(
    name="estimate",
    verb="sketch estimate",
    summary="estimate how many hold each value",
    help="Estimate how many hold each value, with errors. This costs no privacy.",
    data=option("data", "file", "a file of counts", "counts.bin", required=True, section="data"),
    parameters=(_CANDIDATES, _CONSISTENCY, option("top", "whole", "how many to show", 20, default=20, low=1)),
    outputs=(
        release("all of them, as CSV or Parquet", "estimates.csv", "estimates", required=False),
        output("plot", "a picture, as HTML", "estimates.html", streams=True),
    ),
    examples=("sketch estimate counts.bin --candidates words.txt --top 20",),
)
PLAN = Kind(
    name="sketch-plan",
    verb="sketch plan",
    summary="compare the mechanisms before anything is collected",
    help="Compare the mechanisms before anything is collected. No data are touched.",
    parameters=(
        replace(EPSILON, help="budget of one report"),
        replace(_DOMAIN_SIZE, help="number of values", required=True),
        replace(_REPORTS, help="reports expected", required=True, default=None),
        option("max_bytes", "whole", "largest report allowed, in bytes", 8, low=1),
        option("target_error", "number", "wanted standard error of a share", 0.001, above=0, below=1),
    ),
    examples=("sketch plan --epsilon 2 --domain-size 1000 --reports 100000 --max-bytes 8",),
)
