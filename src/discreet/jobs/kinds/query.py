"""The job `query`: noisy answers to SQL questions about a table."""

from dataclasses import replace
from typing import Any

from discreet.core import SURE_DELTA
from discreet.jobs.declare import Kind, confirmed, one_unit
from discreet.jobs.options import (
    ACCOUNT,
    EPSILON,
    FORM,
    FRESH,
    PERSON,
    PERSON_ROWS,
    PROMISE,
    REPORT,
    SEED,
    TABLE,
    UNIT,
    YES_REALLY,
    option,
    release,
)


def _together(job: Any) -> None:
    given = job.parameters
    one_unit(KIND, given)
    confirmed(KIND, given)
    if ("epsilon" in given) == ("error" in given):
        expected = "left out with error" if "error" in given else "given, or the error that is wanted"
        raise KIND.wrong("epsilon", given.get("epsilon"), expected)
    if "keys" in given and "delta" not in given:
        raise KIND.wrong("delta", None, "given with private keys")


KIND = Kind(
    name="query",
    summary="answer questions in SQL with noise",
    help="Answer a SELECT statement from the rows of a table with noise: counts, sums, averages, variances and "
    "quantiles by group, all for one price.",
    data=TABLE,
    schema="needed",
    own=(
        option("query", "text", "COUNT, SUM, AVG, STDDEV, MEDIAN; WHERE, GROUP BY, LEFT JOIN, ORDER BY, LIMIT.",
            "SELECT sex, AVG(cost) FROM t WHERE age > 30 GROUP BY sex", positional=True, required=True, shown=True),
        replace(EPSILON, required=False, shown=True),
        option("delta", "number", "With a delta, Gaussian noise is used where it is narrower; private keys need one.",
            1e-6, above=0, high=SURE_DELTA),
        option("error", "number", "Wanted standard error: sets epsilon before rows are read.", 5.0, above=0),
        option("rows", "number", "Guess of the rows per group, for expected errors of averages and variances.", 1000,
            above=0),
        option("bins", "edge pairs", "COLUMN=A,B,...: edges of the bins of a column that is grouped by (numbers, dates "
            "or times), COLUMN=N for N equal bins, or month, quarter or year for dates. Rows outside the edges are in "
            "no group.", {"age": [17, 30, 60]}, expected="COLUMN=A,B,... or COLUMN=N, once per column"),
        option("keys", "text", "Select the groups of undeclared columns privately.", "private", choices=("private",)),
        option("tables", "file pairs", "NAME=FILE of a public table to join.", {"towns": "towns.csv"}, shell="table"),
        option("level", "number", "Confidence level of the intervals.", 0.95, default=0.95, above=0, below=1),
        option("explain", "flag", "Show price, noise and expected error; read and charge nothing.", True),
        UNIT, PERSON, PERSON_ROWS, ACCOUNT, FRESH, YES_REALLY, SEED, *FORM,
    ),
    outputs=(
        release("One row per group: CSV, Excel (.xlsx) or Parquet.", "answer.csv", name="table", required=False),
        REPORT,
        PROMISE,
    ),
    together=_together,
    examples=(
        'query people.csv "SELECT COUNT(*) FROM t WHERE age > 30" --schema schema.toml --epsilon 0.5',
        'query people.csv "SELECT age, AVG(cost) FROM t GROUP BY age" --bins age=0,30,60 --schema schema.toml '
        "--epsilon 0.5 -o answer.csv",
        'query people.csv "SELECT AVG(cost) FROM t" --schema schema.toml --error 0.5 --rows 1000 --explain',
    ),
)  # fmt: skip
