"""Options that several kinds of job take: spelt and explained the same way everywhere."""

from discreet.jobs.options import Option, option, output

TABLE = option(
    "data", "table", "a CSV or Parquet file, a folder of them, or a pattern in quotes", "people.csv",
    required=True, section="data",
)  # fmt: skip
EPSILON = option("epsilon", "budget", "privacy budget: smaller is more private, and coarser", 1.0, required=True)
SEED = option(
    "seed", "whole", "repeat a run; its result must not be published", 1, low=0,
    arguments=("random_state", "rng", "seed"),
)  # fmt: skip
UNIT = option(
    "unit", "text", "row: one row is what is hidden; needed where the schema names a person", "row",
    choices=("row",), arguments=(),
)  # fmt: skip
ROWS = option(
    "rows", ("whole", "number"), "number of rows, if it is public; else some budget buys it", 10000,
    above=0, expected="a public number of rows, positive and finite", arguments=("n_rows",),
)  # fmt: skip
SIZE_SHARE = option(
    "size_share", "number", "share of the budget that buys the number of rows", 0.03, default=0.03, above=0, below=1
)
ORDER = option(
    "order", "text", "of the rows; input is for a table that stays in the house", "shuffled", default="shuffled",
    choices=("shuffled", "input"),
)  # fmt: skip
MAX_MEMORY = option("max_memory", "number", "gibibytes that cells and nodes may take", 2.0, default=2.0, above=0)
REFINE = option(
    "refine", "text", "what is done to its counts before; auto takes what suits it", "auto", default="auto",
    choices=("auto", "consistent", "project", "threshold", "mixture", "none"),
)  # fmt: skip
REPORT = output("report", "one page about it: promise, ledger, assumptions", "report.html", shown=True)
PROMISE = output("guarantee", "the promise alone, as JSON", "guarantee.json")


def release(help: str, example: str = "release.csv", name: str = "release", **more: bool) -> Option:
    """Declare the file that a job is for."""
    return output(name, help, example, shell="output", short="-o", **{"required": True, **more})
