"""The job `ask`: count rows by a question in words, in a saved synopsis. It costs nothing."""

from discreet.jobs.declare import Kind
from discreet.jobs.options import option

KIND = Kind(
    name="ask",
    summary="count rows by a question in words",
    help="Ask a saved synopsis how many rows a question is true of, with its error. Costs no privacy.",
    data=option("data", "file", "a synopsis, as 'discreet synopsis' writes it", "s.parquet", required=True,
        section="data"),
    parameters=(
        option("question", "text", "comparisons, between, in, and, or, not; texts and dates in single quotation marks",
            "age between 30 and 40", required=True, positional=True),
        option("by", "names", "columns to group by, three at most", ["sex"], arguments=("columns",)),
        option("level", "number", "chance that an interval covers the truth", 0.95, default=0.95, above=0, below=1),
    ),
    examples=(
        "ask s.parquet \"age between 30 and 40 and sex = 'f'\"",
        'ask s.parquet "cost > 50" --by sex --json',
    ),
)  # fmt: skip
