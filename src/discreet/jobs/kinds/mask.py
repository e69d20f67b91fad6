"""The job `mask`: change the values of a table by a classical method that promises no anonymity."""

from dataclasses import replace

from discreet.jobs.declare import Kind
from discreet.jobs.options import CODED, FORM, LISTED, ORDER, PROMISE, REPORT, SEED, TABLE, change, option, release

KIND = Kind(
    name="mask",
    summary="change values without a promise",
    help="Change the quasi-identifiers by a classical masking: noise, swapping, coding, sampling, or means of groups. "
    "None of these is differentially private, and all but microaggregation and swapping with --k promise nothing. "
    "The guarantee states that, with the share of rows that were linked with their originals.",
    data=TABLE,
    schema="needed",
    estimators={
        "noise": "discreet.anonymity:NoiseAddition",
        "multiplicative-noise": "discreet.anonymity:MultiplicativeNoise",
        "swapping": "discreet.anonymity:RankSwapping",
        "microaggregation": "discreet.anonymity:Microaggregation",
        "coding": "discreet.anonymity:TopBottomCoding",
        "sampling": "discreet.anonymity:Sampling",
    },
    own=(
        option("method", "text", "How values are changed."),
        change("grid", takes=("pairs",), help="COLUMN=STEPS of a public grid to which values are rounded.",
            example={"age": 12}, low=1, expected="a whole number from 1 for every column"),
        change("columns", takes=("pairs",), example={"age": "body"},
            help="COLUMN=GROUP: take means of columns of the same group together. k holds in each group of columns.",
            expected="COLUMN=GROUP, once per quasi-identifier"),
        change("sensitive", takes=("names",), label="Sensitive columns"),
        change("keep", takes=("list",), label="Columns to keep"),
        *(replace(each, methods=("coding",)) for each in CODED),
        ORDER,
        *FORM,
        *LISTED,
        replace(SEED, arguments=()),
    ),
    outputs=(release("The masked table: CSV, Excel (.xlsx) or Parquet."), REPORT, PROMISE),
    priced_by="-",
    examples=(
        "mask people.csv --schema schema.toml --method noise --alpha 0.2 -o masked.csv",
        "mask people.csv --schema schema.toml --method swapping --k 5 -o masked.csv",
        "mask people.csv --schema schema.toml --method coding --top age=90 -o masked.csv",
        "mask people.csv --schema schema.toml --method sampling --share 0.1 -o sample.csv",
    ),
)  # fmt: skip
