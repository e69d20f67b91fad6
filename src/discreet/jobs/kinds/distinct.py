"""The jobs of distinct counts: `distinct` makes a noisy bitmap, `overlap` reads several of them."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, confirmed
from discreet.jobs.options import (
    ACCOUNT,
    EPSILON,
    FRESH,
    OVERWRITE,
    PROMISE,
    SEED,
    YES_REALLY,
    data,
    option,
    output,
    release,
)


def _together(job: Any) -> None:
    given = job.parameters
    confirmed(KIND, given)
    if ("items" in given) != ("persons" in given):
        missing, there = ("items", "persons") if "persons" in given else ("persons", "items")
        raise KIND.wrong(missing, None, f"given together with {there!r}")
    if "persons" in given and "column" not in given:
        raise KIND.wrong("column", None, "given together with 'persons'")


KIND = Kind(
    name="distinct",
    verb="sketch distinct",
    summary="count distinct items privately",
    help="Make a noisy bitmap of the distinct items in a column. Holders can share bitmaps to count items that they "
    "have together or in common. Without persons, the file may be larger than memory. The schema only says how the "
    "file is written (its section 'source').",
    data=data("table", "CSV or Parquet file, or a .txt file with one item per line.", "visits.csv"),
    schema="optional",
    own=(
        replace(EPSILON, help="Privacy budget of the bitmap, per item, or per person."),
        option("column", "text", "Column of the items.", "patient", shown=True),
        option("key", "whole", "Public hash key, the same for all holders; by default random.", 7, shown=True),
        option("buckets", "whole", "Bits per level, a power of two.", 4096, default=4096, low=8, high=2**22),
        option("levels", "whole", "Number of levels.", 24, default=24, low=1, high=40),
        option("persons", "text", "Column that identifies the person of an item: protect persons.", "user"),
        option("items", "whole", "Largest number of distinct items to use per person.", 8, low=1, high=2**20),
        ACCOUNT,
        FRESH,
        OVERWRITE,
        YES_REALLY,
        SEED,
    ),
    outputs=(release("The bitmap, which may be shared.", "clinic.bin"), PROMISE),
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
    summary="count items across bitmaps",
    help="Estimate how many distinct items bitmaps hold together and in common, with intervals. Costs no privacy. A "
    "bitmap is named after its file. With more than six, each bitmap and all together are counted.",
    data=data("files", "Files of bitmaps.", ["clinic.bin"]),
    own=(
        option("questions", "list", "Names of bitmaps with and, or, not and brackets.", ["clinic and not lab"],
            shell="question", short="-q"),
    ),
    outputs=(
        release("All answers, as CSV or Parquet.", "overlap.csv", "answers", required=False),
        output("merged", "One bitmap that merges them all.", "all.bin"),
    ),
    examples=("sketch overlap clinic.bin lab.bin --question 'clinic and not lab'",),
)  # fmt: skip
