"""The job `risk`: measure the re-identification risk of a table."""

from dataclasses import replace

from discreet.jobs.declare import Kind
from discreet.jobs.options import TABLE, option

KIND = Kind(
    name="risk",
    summary="measure the re-identification risk of a table",
    help="Measure the re-identification risk of a table. Fails if a stated requirement is not met.",
    data=replace(TABLE, help="The table to check: CSV or Parquet.", example="safe.csv"),
    schema="optional",
    own=(
        option("qi", "names", "Quasi-identifiers; by default those of the schema.", ["age", "zip"],
            arguments=("quasi_identifiers",)),
        option("sensitive", "names", "Sensitive columns; by default those of the schema.", ["disease"]),
        option("require", "figures", "Requirements, such as k=5,l=2,t=0.3. If one is not met, the exit code is 1.",
            {"k": 5, "l": 2}, expected="name=number, separated by commas, or a table of numbers",
            arguments=("required",)),
        option("person", "text", "Column that identifies the person of a row: k counts persons.", "patient"),
        option("weight", "text", "Column of population weights, for individual and global risk.", "wgt"),
        option("household", "text", "Column that identifies the household of a row, for the risk per household.", "hh"),
        option("population", "table", "Table of the whole population, for k-map and the journalist risk.",
            "everybody.csv"),
        option("original", "table", "Records that the table was made from, for the information loss of their values.",
            "people.csv"),
        option("missing", "text", "Treat a missing value as a value of its own, as any value, or drop the row.", "own",
            default="own", choices=("own", "wildcard", "drop")),
        option("threshold", "number", "A larger risk counts as high.", 0.2, default=0.2, above=0, high=1),
        option("recursive_l", "whole", "The l of recursive diversity.", 2, default=2, low=2),
    ),
    examples=(
        "risk safe.csv --qi age,zip --sensitive disease --require k=5,l=2",
        "risk people.csv --schema schema.toml",
        "risk survey.sav --qi age,region --weight wgt --household hh",
    ),
    failed="a requirement is not met",
)  # fmt: skip
