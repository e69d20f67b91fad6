"""The job `synthesize`: release a table of many columns as synthetic rows, with the synopsis behind them."""

from typing import Any

from discreet.core import DELTA, N_ROWS
from discreet.jobs.declare import Kind, confirmed, one_unit
from discreet.jobs.options import (
    CENTRAL,
    COLUMNS,
    EPSILON,
    ESCAPE_FORMULAS,
    PROMISE,
    REPORT,
    TABLE,
    declared,
    option,
    output,
    release,
)


def _together(job: Any) -> None:
    confirmed(KIND, job.parameters)
    one_unit(KIND, job.parameters)


KIND = Kind(
    name="synthesize",
    summary="release a table of many columns as synthetic rows",
    help="Release synthetic rows that keep the relations between columns, and the noisy marginals behind them.",
    data=TABLE,
    schema="needed",
    estimators={"": "discreet.synopses:MarginalSynopsis"},
    own=(
        EPSILON,
        declared("delta", DELTA),
        option("target", "text", "Column that the others should predict; by default the target of the schema.",
            "income"),
        option("workload", "text", "Marginals to keep accurate.", "pairs", default="pairs",
            choices=("pairs", "triples")),
        declared("rows", N_ROWS, "n_rows"),
        option("max_cells", "whole", "Most counts held in memory at a time.", 4194304, default=4194304, low=1024),
        option("n", "whole", "Number of synthetic rows; by default about as many as the table has.", 10000, low=0,
            arguments=(), label="Synthetic rows"),
        COLUMNS,
        ESCAPE_FORMULAS,
        *CENTRAL,
    ),
    outputs=(
        release("The synthetic rows: CSV or Parquet.", "synthetic.parquet", name="table"),
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
