"""The jobs of local privacy: `sketch` randomises, counts and estimates; the others are its single steps."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, confirmed
from discreet.jobs.options import EPSILON, LISTED, PROMISE, REPORT, SEED, YES_REALLY, data, option, output, release

_CANDIDATES = option(
    "candidates", ("names", "file"), "Values to estimate; by default all declared or discovered ones.", ["red"],
    label="Values to estimate",
)  # fmt: skip
_CONSISTENCY = option(
    "consistency", "text", "Make the estimates add up; by default they are raw.", "simplex",
    arguments=("consistency", "how"), choices=("simplex", "base-cut", "norm-cut"),
)  # fmt: skip
_DOMAIN_SIZE = option(
    "domain_size", "whole", "Number of values, if they are 0, 1, 2, ...", 100, low=2, label="Number of values"
)
_REPORTS = option(
    "reports", "whole", "Expected number of reports, for the automatic choice.", 100000, default=100000, low=1,
    arguments=("n",), label="Expected reports",
)  # fmt: skip


def _together(job: Any) -> None:
    given = job.parameters
    confirmed(KIND, given)
    for name in ("report", "estimates"):
        if name in job.outputs and "counts" not in job.outputs:
            raise KIND.wrong("counts", None, f"given: {name!r} is made from it")
    if given.get("mechanism", "auto") == "auto":
        if "epsilon" not in given:
            raise KIND.wrong("epsilon", None, "given for an automatic choice")
        if not {"domain", "domain_size", "set"} & set(given):
            raise KIND.wrong("domain", None, "given for an automatic choice")
    if "users" in given and "column" not in given:
        raise KIND.wrong("column", None, "given together with 'users'")


KIND = Kind(
    name="sketch",
    verb="sketch encode",
    summary="randomise a column",
    help="Randomise a column as devices would, value by value. The file may be larger than memory.",
    data=data("table", "CSV or Parquet file, or a .txt file with one value per line.", "words.csv"),
    own=(
        replace(EPSILON, help="Privacy budget of one report.", example=2.0, required=False, shown=True,
            label="Privacy budget ε per report"),
        option("column", "text", "Column of the values.", "word", shown=True),
        option("mechanism", "text", "Name of a mechanism, auto, or a file of reports whose parameters to use.", "auto",
            default="auto", shown=True, short="-m"),
        option("domain", ("names", "file"), "The declared values: a list, or a file with one per line.",
            ["red", "blue"], shown=True, label="Values"),
        replace(_DOMAIN_SIZE, arguments=()),
        _CANDIDATES,
        option("key", "whole", "Public hash key; by default random.", 1, label="Hash key"),
        option("set", "pairs", "Other parameters of the mechanism.", {"width": 1024}, label="Other parameters"),
        _REPORTS,
        option("users", "text", "Column that identifies users, for mechanisms that remember answers.", "user"),
        option("secret", "file", "File with the secret of the client, for mechanisms that remember answers.",
            "secret.txt"),
        _CONSISTENCY,
        *LISTED[:2],
        YES_REALLY,
        SEED,
    ),
    outputs=(
        release("The reports, which may leave the devices.", "reports.bin"),
        output("counts", "The counts of the reports, which a collector keeps.", "counts.bin", shown=True),
        output("estimates", "Estimated frequencies; needs the output 'counts'.", "estimates.csv", shown=True),
        replace(REPORT, help="Page that explains the counts; needs the output 'counts'."),
        PROMISE,
    ),
    together=_together,
    priced_by="-",
    examples=(
        "sketch encode words.txt -m hadamard-sketch --epsilon 4 -o reports.bin",
        "sketch encode data.csv --column colour --domain colours.txt --epsilon 2 -o reports.bin",
    ),
)  # fmt: skip

AGGREGATE = Kind(
    name="aggregate",
    verb="sketch aggregate",
    summary="count reports",
    help="Count reports. A collector keeps nothing but these counts.",
    data=data("files", "Files of reports.", ["reports.bin"]),
    outputs=(release("The counts.", "counts.bin"),),
    examples=("sketch aggregate reports-*.bin -o counts.bin",),
)
MERGE = Kind(
    name="merge",
    verb="sketch merge",
    summary="add up counts",
    help="Add up counts. If people report more than once, their budgets add up too.",
    data=data("files", "Files of counts made with the same parameters.", ["counts.bin"]),
    outputs=(release("The counts.", "week.bin"),),
    examples=("sketch merge monday.bin tuesday.bin -o week.bin",),
)
ESTIMATE = Kind(
    name="estimate",
    verb="sketch estimate",
    summary="estimate the frequency of each value",
    help="Estimate how many people hold each value, with standard errors. Costs no privacy.",
    data=data("file", "A file of counts.", "counts.bin"),
    own=(_CANDIDATES, _CONSISTENCY, option("top", "whole", "Number of values to show.", 20, default=20, low=1)),
    outputs=(
        release("All estimates, as CSV or Parquet.", "estimates.csv", "estimates", required=False),
        output("plot", "A chart, as HTML.", "estimates.html", streams=True),
    ),
    examples=("sketch estimate counts.bin --candidates words.txt --top 20",),
)
PLAN = Kind(
    name="sketch-plan",
    verb="sketch plan",
    summary="compare mechanisms",
    help="Compare mechanisms before anything is collected. No data are read.",
    own=(
        replace(EPSILON, help="Privacy budget of one report."),
        replace(_DOMAIN_SIZE, help="Number of values."),
        replace(_REPORTS, help="Expected number of reports.", required=True, default=None),
        option("max_bytes", "whole", "Largest report, in bytes.", 8, low=1),
        option("target_error", "number", "Wanted standard error of a share.", 0.001, above=0, below=1),
        option("low", "number", "Lower bound, if devices hold a number.", 1.0),
        option("high", "number", "Upper bound of the number.", 60000.0),
        option("scale", "text", "Scale of the number; log for times and sizes.", "log", choices=("linear", "log")),
    ),
    examples=(
        "sketch plan --epsilon 2 --domain-size 1000 --reports 100000 --max-bytes 8",
        "sketch plan --epsilon 2 --low 1 --high 60000 --scale log --reports 100000",
    ),
)
