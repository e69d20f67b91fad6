"""The job `anonymize`: release a table in which every row is indistinguishable from k - 1 others."""

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
    output,
    release,
)

_CELLS = ("density-tree", "mondrian", "generalization")


def _together(job: Any) -> None:
    _sampled(job)
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
    asked = {**job.outputs, **given}
    for name in ("record", "previous", "history"):
        if name in asked and means:
            expected = "used with a method that publishes groups of values"
            raise KIND.wrong(name, asked[name], expected, ("method", "density-tree"))


#: What may be combined with sampling. Everything else would reveal more about rows than the epsilon allows.
_WITH_SAMPLE = (
    "k", "method", "sample", "delta", "level", "widths", "hierarchy", "grid", "top", "bottom", "bounds",
    "escape_formulas", "account", "fresh", "overwrite", *(each.name for each in PAGE),
)  # fmt: skip


def _sampled(job: Any) -> None:
    """Refuse what would break the guarantee of sampled rows, and a price without sampling."""
    given = job.parameters
    if "sample" not in given:
        if "delta" in given:
            raise KIND.wrong("delta", given["delta"], lambda say: f"used with {say('sample', 0.1)}", ("sample", 0.1))
        for name in ("account", "fresh"):
            if name in given:
                raise KIND.wrong(
                    name,
                    given[name],
                    lambda say: f"used with {say('sample', 0.1)}: k-anonymity alone has no price to charge",
                    lambda say: f"leaving it out, or {say('method', 'generalization')}, {say('sample', 0.1)}",
                )
        return
    for name, value in {**given, **{n: v for n, v in job.outputs.items() if n == "record"}}.items():
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
        option("k", "whole", "Smallest size of a group, in rows, or in persons if a column identifies them.", 10,
            required=True, low=2, label="Group size k"),
        option("method", "text", "Method that forms the groups."),
        option("l", "number", "Smallest diversity of sensitive values in each group (l-diversity).", 2, low=0,
            arguments=("l_diversity",), label="Diversity l"),
        option("l_kind", "text", "Measure of diversity.", "distinct", default="distinct",
            choices=("distinct", "entropy", "recursive"), label="Measure of diversity"),
        option("c", "number", "Constant of recursive diversity.", 3.0, default=3.0, above=0, label="Factor c"),
        option("t", "number", "Largest distance between sensitive values of a group and of the table (t-closeness).",
            0.3, low=0, high=1, expected="a distance from 0 to 1", arguments=("t_closeness",), label="Closeness t"),
        option("t_kind", "text", "Measure of that distance; auto takes ordered for numbers, otherwise equal.", "auto",
            default="auto", choices=("auto", "equal", "ordered", "hierarchical"), label="Measure of closeness"),
        option("sensitive", "names", "Sensitive columns, instead of those of the schema.", ["cost"],
            label="Sensitive columns"),
        option("criterion", "text", "Criterion of a good split.", "spread", default="spread",
            choices=("spread", "factor", "width", "cell", "tight", "mondrian", "mixture")),
        option("supervised", "flag", "Choose splits that predict the target.", True),
        option("pruning", "text", "Prune by cross-validation: larger groups, better densities.", "folds",
            choices=("folds",)),
        option("min_share", "number", "Smallest share of a group's width on either side of a split.", 0.02,
            default=0.02, low=0, high=1),
        option("max_depth", "whole", "Most splits above a group.", 64, default=64, low=0),
        option("mode", "text", "Strict splits keep equal values together; relaxed ones may separate them.", "strict",
            default="strict", choices=("strict", "relaxed")),
        option("grouping", "text", "Group rows by all columns (mdav), per column, or along the first component (pca).",
            "mdav", default="mdav", choices=("mdav", "univariate", "pca")),
        option("columns", "pairs", "COLUMN=GROUP: columns of a group are grouped together; k holds per group.",
            {"age": "body"}, expected="COLUMN=GROUP, once per quasi-identifier", label="Groups of columns"),
        option("block_rows", "whole", "Compare rows in blocks of this size; by default all, up to 100,000.", 20_000,
            low=4),
        option("level", "whole pairs", "COLUMN=LEVEL of generalisation; by default, levels are chosen on the data.",
            {"age": 1}, low=0, expected="COLUMN=VALUE, once per column, the values whole numbers",
            arguments=("levels", "level"), label="Levels"),
        option("widths", "list pairs", "COLUMN=A,B,...: widths of the intervals at level 1, 2, ...", {"age": [5, 10]},
            above=0, expected="COLUMN=A,B,..., rising, each width a multiple of the one before"),
        option("hierarchy", "file pairs", "COLUMN=FILE with one category per row, followed by its larger groups.",
            {"town": "towns.csv"}, arguments=("hierarchies",), label="Hierarchies"),
        option("grid", "pairs", "COLUMN=STEPS of a public grid; for dates also day, month, year.", {"age": 12}, low=1,
            expected="a whole number from 1 for every column, or day, month, year of dates", label="Public grid"),
        option("target", "text", "Label column to keep, instead of that of the schema.", "label"),
        option("person", "text", "Column that identifies the person of a row: k counts persons.", "patient",
            label="Person column"),
        option("suppress", "number", "Largest share of rows that may be left out to get smaller groups.", 0.01, low=0,
            high=1, label="May be left out"),
        option("blind", "flag", "Split without looking at sensitive columns; fails if l or t do not hold then.", True),
        option("keep", "list", "Columns without a role to keep unchanged; separate with commas, or repeat.", ["year"],
            label="Columns to keep"),
        option("sample", "number", "Sample rows with this probability first, which gives the table an epsilon.", 0.1,
            above=0, high=0.9, methods=("generalization",), arguments=(), label="Sample rows first"),
        option("delta", "number", "The delta of that epsilon.", 1e-6, above=0, high=SURE_DELTA,
            methods=("generalization",), arguments=()),
        option("top", "pairs", "COLUMN=LIMIT: larger values appear as one, such as > 90.", {"age": 90},
            expected="COLUMN=LIMIT, once per column, a number, date or time", methods=_CELLS, arguments=(),
            label="Top coding"),
        option("bottom", "pairs", "COLUMN=LIMIT: smaller values appear as one, such as < 18.", {"age": 18},
            expected="COLUMN=LIMIT, once per column, a number, date or time", methods=_CELLS, arguments=(),
            label="Bottom coding"),
        option("form", "text", "How a group is written: its interval, its centre, or sampled values.", "interval",
            default="interval", choices=("interval", "center", "sample"), arguments=("output",), label="Form"),
        option("bounds", "flag", "Write lower and upper bounds as two columns, instead of intervals.", True,
            arguments=()),
        ORDER,
        ESCAPE_FORMULAS,
        option("hash_key", "file", "File with a secret: identifiers are hashed with it, instead of dropped.",
            "secret.txt", arguments=(), label="Secret for identifiers"),
        option("previous", "files", "Release records of earlier releases about these people; give all of them.",
            ["january.record"], label="Earlier releases"),
        option("history", "folder", "Release history of these people: checked with this release, which is added.",
            "people.history", label="Release history"),
        ACCOUNT,
        FRESH,
        OVERWRITE,
    ),
    outputs=(
        release("The anonymous table: CSV or Parquet."),
        output("record", "Release record for later releases. It says who is where: keep it secret.", "february.record"),
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
