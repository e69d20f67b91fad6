"""The job `anonymize`: release a table in which everyone hides among k rows."""

from dataclasses import replace
from typing import Any

from discreet.core import SURE_DELTA
from discreet.jobs.declare import Kind, Speech
from discreet.jobs.options import (
    ACCOUNT,
    ESCAPE_FORMULAS,
    FRESH,
    ORDER,
    OVERWRITE,
    PAGE,
    PROMISE,
    REPORT,
    TABLE,
    option,
    release,
)  # fmt: skip

_CELLS = ("density-tree", "mondrian", "generalization")
_TREES = ("density-tree", "mondrian")
_DENSITY = ("density-tree",)
_MEANS = ("microaggregation",)


def _together(job: Any) -> None:
    _drawn(job)
    given = job.parameters
    form, means = given.get("form"), given.get("method") == "microaggregation"
    for name in ("form", "bounds") if means else ():
        if given.get(name):
            expected = "left out: microaggregation publishes means"
            raise KIND.wrong(name, given[name], expected, ("method", "density-tree"))
    if given.get("bounds") and form == "sample":

        def ways(say: Speech) -> str:
            return f"used with {say('form', 'interval')} or center"

        raise KIND.wrong("bounds", True, ways, ("form", "interval"))
    if "history" in given and means:
        expected = "used with a method that publishes cells"
        raise KIND.wrong("history", given["history"], expected, ("method", "density-tree"))


#: What goes with rows that are drawn first: everything else would show more of them than their epsilon allows.
_DRAWN = (
    "k",
    "method",
    "sample",
    "delta",
    "level",
    "widths",
    "hierarchy",
    "grid",
    "top",
    "bottom",
    "bounds",
    "escape_formulas",
)
#: Who is charged for them.
_PAID = ("account", "fresh")


def _drawn(job: Any) -> None:
    """Refuse what would break the argument of rows that are drawn first."""
    given = job.parameters
    if "sample" not in given:
        if "delta" in given:
            raise KIND.wrong("delta", given["delta"], lambda say: f"used with {say('sample', 0.1)}", ("sample", 0.1))
        for name in _PAID:
            if name in given:
                raise KIND.wrong(
                    name,
                    given[name],
                    lambda say: f"used with {say('sample', 0.1)}: k-anonymity has no price that could be charged",
                    lambda say: f"leaving it out, or {say('method', 'generalization')}, {say('sample', 0.1)}",
                )
        return
    titles = {each.name for each in PAGE}
    for name in (n for n in given if n not in (*_DRAWN, *_PAID, "overwrite", *titles)):
        expected = "left out where rows are drawn first: it would show more of them than their epsilon allows"
        raise KIND.wrong(name, given[name], expected)


KIND = Kind(
    name="anonymize",
    summary="release a table in which everyone hides among k rows",
    help="Release a table in which every row looks like k - 1 others. Rows are shuffled; identifiers are dropped.",
    data=TABLE,
    schema="needed",
    parameters=(
        option(
            "k", "whole", "everyone hides among at least this many rows, or persons if a column says whose they are",
            10, required=True, low=2,
        ),
        option(
            "method", "text", "how the groups are found", "density-tree", default="density-tree", arguments=(),
            choices=("density-tree", "mondrian", "microaggregation", "generalization"), shown=True,
        ),
        option("l", "number", "every group has this many different sensitive values", 2, low=0, methods=_CELLS,
            arguments=("l_diversity",)),
        option("l_kind", "text", "how they are counted", "distinct", default="distinct", methods=_CELLS,
            choices=("distinct", "entropy", "recursive")),
        option("c", "number", "recursive diversity: the largest frequency is below c times the tail", 3.0, default=3.0,
            above=0, methods=_CELLS),
        option("t", "number", "every group's sensitive values are this close to those of the table", 0.3, low=0, high=1,
            expected="a distance from 0 to 1", methods=_CELLS, arguments=("t_closeness",)),
        option("t_kind", "text", "the distance: auto is ordered for numbers, else equal", "auto",
            default="auto", choices=("auto", "equal", "ordered", "hierarchical"), methods=_CELLS),
        option("sensitive", "names", "sensitive columns; overrides the roles", ["cost"]),
        option("criterion", "text", "what makes a good cut", "spread", default="spread", methods=_DENSITY,
            choices=("spread", "factor", "width", "cell")),
        option("supervised", "flag", "choose the cuts that tell most about the target", True, methods=_DENSITY),
        option("pruning", "text", "prune by cross-validation: larger groups, better densities", "folds",
            choices=("folds",), methods=_DENSITY),
        option("min_share", "number", "no cut leaves less of the width of a group on a side", 0.02, default=0.02, low=0,
            high=1, methods=_DENSITY),
        option("max_depth", "whole", "the most cuts above a group", 64, default=64, low=0,
            methods=_DENSITY),
        option("grouping", "text", "near in all columns; each column by itself; or along the first component", "mdav",
            default="mdav", choices=("mdav", "univariate", "pca"), methods=_MEANS),
        option("columns", "pairs", "COLUMN=GROUP: columns of a group are grouped by themselves, and k holds for each",
            {"age": "body"}, expected="COLUMN=GROUP, once per quasi-identifier", methods=_MEANS),
        option("block_rows", "whole", "compare rows in blocks of this many; by default all of them up to 100,000",
            20_000, low=4, methods=_MEANS),
        option("level", "whole pairs", "COLUMN=LEVEL; without any, levels are chosen on the rows", {"age": 1}, low=0,
            expected="COLUMN=VALUE, once per column, the values whole numbers", methods=("generalization",),
            arguments=("levels", "level")),
        option("sample", "number", "draw each row with this chance first: the table then has an epsilon", 0.1, above=0,
            high=0.9, methods=("generalization",), arguments=()),
        option("delta", "number", "the delta beside that epsilon", 1e-6, above=0, high=SURE_DELTA,
            methods=("generalization",), arguments=()),
        ACCOUNT,
        FRESH,
        OVERWRITE,
        option("widths", "list pairs", "COLUMN=A,B,...: widths of the intervals at level 1, 2, ...", {"age": [5, 10]},
            above=0, expected="COLUMN=A,B,..., rising, each width a multiple of the one before",
            methods=("generalization",)),
        option("hierarchy", "file pairs", "COLUMN=FILE: a category per row, then ever larger groups it belongs to",
            {"town": "towns.csv"}, arguments=("hierarchies",)),
        option("grid", "pairs", "COLUMN=STEPS of the public grid; for dates also day, month, year", {"age": 12}, low=1,
            expected="a whole number from 1 for every column, or day, month, year of dates"),
        option("top", "pairs", "COLUMN=LIMIT: all values above it print as one, such as > 90", {"age": 90},
            expected="COLUMN=LIMIT, once per column, a number, date or time", methods=_CELLS, arguments=()),
        option("bottom", "pairs", "COLUMN=LIMIT: all values below it print as one, such as < 18", {"age": 18},
            expected="COLUMN=LIMIT, once per column, a number, date or time", methods=_CELLS, arguments=()),
        option("target", "text", "a label to pass on; overrides the role", "label"),
        option("person", "text", "whose row it is: then k counts persons", "patient", methods=_CELLS),
        option("suppress", "number", "share of rows that may be left out for smaller groups", 0.01, low=0, high=1,
            methods=_CELLS),
        option("blind", "flag", "cut without looking at sensitive columns; refused if l or t then fail", True,
            methods=_TREES),
        option("keep", "list", "columns without a role to pass on as they are; commas, or repeat it", ["year"]),
        option("form", "text", "what is written of a group", "interval", default="interval",
            choices=("interval", "center", "sample"), arguments=("output",)),
        option("bounds", "flag", "write lower and upper columns instead of intervals", True, arguments=()),
        replace(ORDER, arguments=("order",)),
        ESCAPE_FORMULAS,
        option("hash_key", "file", "file with a secret: identifiers are hashed with it instead of dropped",
            "secret.txt",            arguments=()),
        option("history", "folder",
            "folder of all releases about these people: this one is checked with them and added", "people.history"),
    ),
    outputs=(
        release("the table: what may be published; CSV or Parquet"),
        REPORT,
        PROMISE,
    ),
    together=_together,
    priced_by="sample",
    classes={"DensityTree": "density-tree", "Mondrian": "mondrian", "Generalization": "generalization"},
    examples=(
        "anonymize people.csv --schema schema.toml --k 10 -o safe.csv",
        "anonymize people.csv --schema schema.toml --k 10 --l 3 --method mondrian -o safe.parquet",
        "anonymize people.csv --schema schema.toml --k 20 --method generalization --level age=3 --sample 0.1 -o s.csv",
        "anonymize people.csv --schema schema.toml --k 10 --history people.history -o february.csv",
    ),
)  # fmt: skip
