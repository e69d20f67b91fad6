"""The job `synthesize`: release a table of many columns as invented rows, with the synopsis they were made from."""

from typing import Any

from discreet.jobs.declare import Kind, one_unit, confirmed
from discreet.jobs.options import (
    CENTRAL,
    DELTA,
    EPSILON,
    ESCAPE_FORMULAS,
    PROMISE,
    REPORT,
    ROWS,
    TABLE,
    option,
    output,
    release,
)


def _together(job: Any) -> None:
    confirmed(KIND, job.parameters)
    one_unit(KIND, job.parameters)


KIND = Kind(
    name="synthesize",
    summary="release a table of many columns as invented rows",
    help="Release a table of many columns: invented rows that keep what depends on what, and the noisy counts behind.",
    data=TABLE,
    schema="needed",
    parameters=(
        EPSILON,
        DELTA,
        option("target", "text", "a column that the others are to predict; by default the schema's target", "income"),
        option("workload", "text", "what is to be right", "pairs", default="pairs", choices=("pairs", "triples")),
        option("n", "whole", "how many rows to invent; by default about as many as the table has", 10000, low=0,
            arguments=()),
        option("columns", "names", "columns to release; by default all that are declared", ["age", "cost"],
            arguments=()),
        ROWS,
        option("max_cells", "whole", "counts held in memory at a time at most", 4194304, default=4194304, low=1024),
        ESCAPE_FORMULAS,
        *CENTRAL,
    ),
    outputs=(
        release("the invented rows: CSV or Parquet", "synthetic.parquet", name="table"),
        output("release", "the synopsis behind them, with its promise inside; by default beside the rows",
            "synthetic.synopsis.parquet", shell="synopsis"),
        REPORT,
        PROMISE,
    ),
    together=_together,
    examples=(
        "synthesize people.csv --schema schema.toml --epsilon 1 --delta 1e-9 -o safe.parquet",
        "synthesize people.csv --schema schema.toml --epsilon 1 --delta 1e-9 --target income -o safe.csv",
    ),
)  # fmt: skip
