"""The job `anonymize`: release a table in which every row is indistinguishable from k - 1 others."""

from dataclasses import replace
from typing import Any

from discreet.core import SURE_DELTA
from discreet.jobs.declare import Kind
from discreet.jobs.options import (
    CODED,
    FORM,
    LISTED,
    ORDER,
    PAGE,
    PROMISE,
    REPORT,
    TABLE,
    change,
    option,
    release,
)


def _together(job: Any) -> None:
    _sampled(job)
    given = job.parameters
    form, means = given.get("form"), given.get("method") == "microaggregation"
    for name in ("form", "bounds") if means else ():
        if given.get(name):
            expected = "left out: microaggregation publishes means"
            raise KIND.wrong(name, given[name], expected, ("method", "density-tree"))
    if given.get("bounds") and form == "sample":
        fix = ("form", "interval")
        raise KIND.wrong("bounds", True, lambda say: f"used with {say(*fix)} or center", fix)
    if "history" in given and means:
        expected = "used with a method that publishes groups of values"
        raise KIND.wrong("history", given["history"], expected, ("method", "density-tree"))


#: What may be combined with sampling. Everything else would reveal more about rows than the epsilon allows.
_WITH_SAMPLE = (
    "k", "method", "sample", "delta", "level", "widths", "hierarchy", "grid", "top", "bottom", "bounds",
    "escape_formulas", "csv_dialect", "account", "fresh", "overwrite", "sign", *(each.name for each in PAGE),
)  # fmt: skip


def _sampled(job: Any) -> None:
    """Refuse what would break the guarantee of sampled rows, and a price without sampling."""
    given = job.parameters
    if "sample" not in given:
        if "delta" in given:
            raise KIND.wrong("delta", given["delta"], lambda say: f"used with {say('sample', 0.1)}", ("sample", 0.1))
        return
    for name, value in given.items():
        if name not in _WITH_SAMPLE:
            expected = "left out if rows are sampled: it would reveal more about them than the epsilon allows"
            raise KIND.wrong(name, value, expected)


KIND = Kind(
    name="anonymize",
    summary="release a k-anonymous table",
    help="Release a k-anonymous table: in its quasi-identifiers, every row equals at least k - 1 others. Rows are "
    "shuffled and identifiers are dropped.",
    data=TABLE,
    schema="needed",
    estimators={
        "density-tree": "discreet.anonymity:DensityTree",
        "mondrian": "discreet.anonymity:Mondrian",
        "microaggregation": "discreet.anonymity:Microaggregation",
        "generalization": "discreet.anonymity:Generalization",
    },
    own=(
        change("k", required=True, short="-k", label="Group size k"),
        option("method", "text", "Method that forms the groups."),
        change("l", label="Diversity l"),
        change("t", label="Closeness t"),
        change("sensitive", takes=("names",), label="Sensitive columns"),
        change("columns", takes=("pairs",), example={"age": "body"},
            help="COLUMN=GROUP: generalise columns of the same group together. k holds in each group of columns.",
            expected="COLUMN=GROUP, once per quasi-identifier", label="Groups of columns"),
        change("level", takes=("whole pairs",), help="COLUMN=LEVEL of generalisation; by default chosen on the data.",
            example={"age": 1}, low=0, expected="COLUMN=VALUE, once per column, the values whole numbers",
            arguments=("levels", "level"), label="Levels"),
        change("widths", takes=("list pairs",), help="COLUMN=A,B,...: widths of the intervals at level 1, 2, ...",
            example={"age": [5, 10]}, above=0,
            expected="COLUMN=A,B,..., rising, each width a multiple of the one before"),
        change("hierarchy", takes=("file pairs",), example={"town": "towns.csv"}, label="Hierarchies",
            help="COLUMN=FILE with one category per row, followed by its larger groups."),
        change("grid", takes=("pairs",), help="COLUMN=STEPS of a public grid; for dates also day, month, year.",
            example={"age": 12}, low=1, label="Public grid",
            expected="a whole number from 1 for every column, or day, month, year of dates"),
        change("keep", takes=("list",), label="Columns to keep"),
        option("sample", "number", "Sample rows with this probability first, which gives the table an epsilon.", 0.1,
            above=0, high=0.9, methods=("generalization",), arguments=(), label="Sample rows first"),
        option("delta", "number", "The delta of that epsilon.", 1e-6, default=1e-6, above=0, high=SURE_DELTA,
            methods=("generalization",), arguments=()),
        *(replace(each, methods=("density-tree", "mondrian", "generalization")) for each in CODED),
        option("form", "text", "How a group is written: its interval, its centre, or sampled values.", "interval",
            default="interval", choices=("interval", "center", "sample"), arguments=("output",), label="Form"),
        option("bounds", "flag", "Write lower and upper bounds as two columns, instead of intervals.", True,
            arguments=()),
        ORDER,
        *FORM,
        option("hash_key", "file", "File with a secret: identifiers are hashed with it, instead of dropped.",
            "secret.txt", arguments=(), label="Secret for identifiers"),
        option("history", "folder", "Release history of these people: checked with this release, which is added.",
            "people.history", label="Release history"),
        *LISTED,
    ),
    outputs=(
        release("The anonymous table: CSV, Excel (.xlsx) or Parquet."),
        REPORT,
        PROMISE,
    ),
    together=_together,
    priced_by="sample",
    examples=(
        "anonymize people.csv --schema schema.toml --k 10 -o safe.csv",
        "anonymize people.csv --schema schema.toml --k 10 --l 3 --method mondrian -o safe.parquet",
        "anonymize people.csv --schema schema.toml --k 20 --method generalization --level age=3 --sample 0.1 -o s.csv",
        "anonymize people.csv --schema schema.toml --k 10 --history people.history -o february.csv",
    ),
)  # fmt: skip
