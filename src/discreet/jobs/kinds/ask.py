"""The job `ask`: count rows of a saved synopsis by a condition. It costs no privacy."""

from typing import Any

from discreet.jobs.declare import Kind
from discreet.jobs.options import FORM, data, option, release


def _together(job: Any) -> None:
    if not job.parameters.get("question") and not job.parameters.get("by"):
        raise KIND.wrong("question", None, lambda say: f"given, or {say('by', ['sex'])} for all rows by a column")


KIND = Kind(
    name="ask",
    summary="count rows by a condition",
    help="Estimate how many rows satisfy a condition, with an interval, from a saved synopsis. Costs no privacy.",
    data=data("file", "A synopsis made by 'discreet synopsis' or 'discreet synthesize'.", "s.parquet"),
    own=(
        option("question", "text", "Comparisons, between, in, and, or, not; quote texts and dates with '...'. All rows "
            "if columns to group by are given alone.", "age between 30 and 40", positional=True, shown=True),
        option("by", "names", "Columns to group by, at most three.", ["sex"], arguments=("columns",)),
        option("level", "number", "Confidence level of the intervals.", 0.95, default=0.95, above=0, below=1),
        *FORM,
    ),
    outputs=(release("The answer, or one row per group: CSV, Excel (.xlsx) or Parquet.", "table.xlsx", name="table",
        required=False),),
    together=_together,
    examples=(
        "ask s.parquet \"age between 30 and 40 and sex = 'f'\"",
        'ask s.parquet "cost > 50" --by sex --json',
        'ask s.parquet "cost > 50" --by sex,age -o table.xlsx',
        "ask s.parquet --by sex,age",
    ),
)  # fmt: skip
