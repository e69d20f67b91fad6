"""The job `risk`: measure how well people hide in a table."""

from dataclasses import replace

from discreet.jobs.declare import Kind
from discreet.jobs.options import TABLE, option

KIND = Kind(
    name="risk",
    summary="measure how well people hide in a table",
    help="Measure how well people hide in a table. Fails a pipeline if a requirement is not met.",
    data=replace(TABLE, help="the table that is to be handed out: CSV or Parquet", example="safe.csv"),
    schema="optional",
    parameters=(
        option("qi", "names", "quasi-identifiers; else those of the schema", ["age", "zip"],
            arguments=("quasi_identifiers",)),
        option("sensitive", "names", "sensitive columns", ["disease"]),
        option("require", "figures", "what must hold, such as k=5,l=2,t=0.3; else the exit code is 1", {"k": 5, "l": 2},
            expected="name=number, with commas between them, or a table of numbers", arguments=("required",)),
        option("person", "text", "column that says whose row it is: k counts persons", "patient"),
        option("population", "table", "table of all people, for k-map and the journalist", "everybody.csv"),
        option("missing", "text", "a missing value is: a value of its own, any value, or no row", "own", default="own",
            choices=("own", "wildcard", "drop")),
        option("threshold", "number", "a risk above it counts as high", 0.2, default=0.2, above=0, high=1),
        option("recursive_l", "whole", "the l of recursive diversity that is measured", 2, default=2, low=2),
    ),
    examples=(
        "risk safe.csv --qi age,zip --sensitive disease --require k=5,l=2",
        "risk people.csv --schema schema.toml",
    ),
    failed="a requirement is not met",
)  # fmt: skip
