"""The job `synthesize`: release a table with many columns as synthetic rows, with the synopsis behind them."""

from typing import Any

from discreet.jobs.declare import Kind, one_budget, one_unit
from discreet.jobs.options import CENTRAL, COLUMNS, FORM, PROMISE, REPORT, TABLE, option, output, release

#: Rows are drawn in memory.
MOST_SYNTHETIC = 10**9


def _together(job: Any) -> None:
    one_budget(KIND, job.parameters)
    one_unit(KIND, job.parameters)


KIND = Kind(
    name="synthesize",
    summary="release a table with many columns as synthetic rows",
    help="Release synthetic rows that keep the relations between columns, and the noisy marginals behind them.",
    data=TABLE,
    schema="needed",
    estimators={"": "discreet.synopses:MarginalSynopsis"},
    own=(
        option("n", "whole", "Number of synthetic rows; by default about as many as the table has.", 10000, low=0,
            high=MOST_SYNTHETIC, arguments=(), label="Synthetic rows"),
        COLUMNS,
        *FORM,
        *CENTRAL,
    ),
    outputs=(
        release("The synthetic rows: CSV, Excel (.xlsx) or Parquet.", "synthetic.parquet", name="table"),
        output("release", "The synopsis behind them, with its guarantee; by default next to the rows.",
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
