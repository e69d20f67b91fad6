"""The jobs of distinct counts: `distinct` (a holder's flipped bitmap) and `overlap` (what several of them say)."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, confirmed
from discreet.jobs.options import ACCOUNT, EPSILON, PROMISE, SEED, YES_REALLY, option, output, release


def _together(job: Any) -> None:
    given = job.parameters
    confirmed(KIND, given)
    if ("items" in given) != ("persons" in given):
        missing, there = ("items", "persons") if "persons" in given else ("persons", "items")
        raise KIND.wrong(missing, None, f"given together with {there!r}")
    if "persons" in given and "column" not in given:
        raise KIND.wrong("column", None, "named beside the column of persons")


KIND = Kind(
    name="distinct",
    verb="sketch distinct",
    summary="count different items with privacy: a holder's bitmap",
    help="Make the flipped bitmap of a column: what a holder may give away about which items it has. The file may be "
    "larger than memory, unless persons are named. Of a schema only [source] is used: how the file is written.",
    data=option(
        "data",
        "table",
        "CSV or Parquet file, or a .txt file with one item per line",
        "visits.csv",
        required=True,
        section="data",
    ),
    schema="optional",
    parameters=(
        replace(EPSILON, help="budget of the bitmap: for one item, or for one person"),
        option("column", "text", "column that holds the items", "patient", shown=True),
        option("key", "whole", "public hash key, one for all holders; drawn at random if not given", 7, shown=True),
        option("buckets", "whole", "bits of a level, a power of two", 4096, default=4096, low=8, high=2**22),
        option("levels", "whole", "levels of the bitmap", 24, default=24, low=1, high=40),
        option("persons", "text", "column that says whose item it is: then a person is what is hidden", "user"),
        option("items", "whole", "different items of one person that are used at most", 8, low=1, high=2**20),
        ACCOUNT,
        YES_REALLY,
        SEED,
    ),
    outputs=(release("the bitmap: what may leave the holder", "clinic.bin"), PROMISE),
    together=_together,
    examples=(
        "sketch distinct visits.csv --column patient --epsilon 2 --key 7 -o clinic.bin",
        "sketch distinct visits.csv --schema visits.toml --column page --persons user --items 8 --epsilon 2 --key 7 "
        "-o pages.bin",
    ),
)  # fmt: skip

OVERLAP = Kind(
    name="overlap",
    verb="sketch overlap",
    summary="how many items are in which bitmaps",
    help="Estimate how many different items bitmaps hold, together and in common, with errors. This costs no privacy. "
    "A bitmap is named by its file. Of more than six, each is counted and all together, from a merged one.",
    data=option("data", "files", "files of bitmaps", ["clinic.bin"], required=True, section="data"),
    parameters=(
        option("questions", "list", "names of bitmaps with and, or, not and brackets", ["clinic and not lab"],
            shell="question", short="-q"),
    ),
    outputs=(
        release("all answers, as CSV or Parquet", "overlap.csv", "answers", required=False),
        output("merged", "one bitmap of all of them", "all.bin"),
    ),
    examples=("sketch overlap clinic.bin lab.bin --question 'clinic and not lab'",),
)  # fmt: skip
