"""The job `synopsis`: release a table as noisy counts of boxes."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, one_budget, one_unit
from discreet.jobs.options import (
    CENTRAL,
    DELTA,
    EPSILON,
    MAX_MEMORY,
    PROMISE,
    REPORT,
    RHO,
    ROWS,
    SIZE_SHARE,
    TABLE,
    option,
    output,
    release,
)  # fmt: skip

_TREE, _GRID = ("tree",), ("grid",)


def _together(job: Any) -> None:
    one_budget(KIND, job.parameters)
    one_unit(KIND, job.parameters)
    if "centers" in job.outputs and "n_clusters" not in job.parameters:
        raise KIND.wrong("n_clusters", None, "given for the output 'centers'")


KIND = Kind(
    name="synopsis",
    summary="release a table as noisy counts of boxes",
    help="Release a table as noisy counts of boxes: a file that may leave the building, with its promise inside.",
    data=TABLE,
    schema="needed",
    parameters=(
        replace(EPSILON, required=False, shown=True),
        DELTA,
        RHO,
        option(
            "method", "text", "grid (equal cells) or tree (cells that follow the rows)", "grid", default="grid",
            choices=("grid", "tree"), arguments=(), shown=True,
        ),
        option(
            "rule", ("text", "whole"), "rugnik, eugkm, adaptive, or parts per axis", "rugnik", default="rugnik",
            choices=("rugnik", "eugkm", "adaptive"), low=1, methods=_GRID,
        ),
        option("theta", "number", "rows times epsilon for a part of the rule eugkm", 10, default=10, above=0,
            methods=_GRID),
        option(
            "partitioner", ("text", "names"), "where cells are cut; or a list, one for each level", "binary",
            default="binary", methods=_TREE, choices=("binary", "median", "quantile", "uniform", "privtree", "density"),
        ),
        option("max_depth", ("text", "whole"), "the most cuts above a leaf; auto chooses it", "auto", default=8,
            choices=("auto",), low=0, high=62, methods=_TREE),
        option(
            "threshold", ("text", "number"), "a node with a noisy count below it is not cut; auto chooses it", "auto",
            default="auto", choices=("auto",), methods=_TREE,
        ),
        option("threshold_share", "number", "instead of a threshold: a share of the rows", 0.001, above=0, below=1,
            methods=_TREE),
        option(
            "budget", "text", "how the budget is spread over levels", "geometric", default="geometric", methods=_TREE,
            choices=("geometric", "uniform", "linear", "fibonacci"),
        ),
        option("shares", "numbers", "of tests, cuts and counts in the budget", [0.15, 0.25, 0.6], low=0, methods=_TREE),
        option("n_quantiles", "whole", "cuts of a node of the quantile tree", 3, default=3, low=1, high=31,
            methods=_TREE),
        option("test_from", ("text", "whole"), "first level whose counts are tested", "auto", default="auto",
            choices=("auto",), low=0, methods=_TREE),
        option("bits", "whole", "a numeric axis has 2 to this power places for cuts", 20, default=20, low=1, high=30,
            methods=_TREE),
        option("axis", "text", "how the axis of a cut is chosen", "auto", default="auto", methods=_TREE,
            choices=("auto", "spread", "widest")),
        option("axes", "text", "scaled: equally many parts on every axis; units: parts of equal length", "scaled",
            default="scaled", choices=("scaled", "units"), methods=_GRID),
        option("columns", "names", "columns to release; by default all that are declared", ["age", "cost"],
            arguments=()),
        option("leaf_means", "flag", "publish the mean of every leaf too", True),
        option(
            "n_clusters", "whole", "clusters to be found later, a hint for the size of boxes; needed for 'centers'", 8,
            low=1,
        ),
        ROWS,
        SIZE_SHARE,
        option("max_cells", "whole", "cells that are all listed; above, empty ones are drawn from their law", 1048576,
            default=1048576, low=1, methods=_GRID),
        option("expected_survivors", "number", "empty cells that such a grid may list on average", 100, default=100,
            above=0, high=10**7, methods=_GRID),
        MAX_MEMORY,
        *CENTRAL,
    ),
    outputs=(
        release("the synopsis, with its promise inside: what may be published", "synopsis.parquet"),
        output("centers", "cluster centres found in it", "centers.csv"),
        REPORT,
        PROMISE,
    ),
    together=_together,
    classes={"TreeSynopsis": "tree"},
    examples=(
        "synopsis people.csv --schema schema.toml --epsilon 1 -o s.parquet",
        "synopsis people.csv --schema schema.toml --epsilon 1 --method tree --partitioner median -o s.parquet",
    ),
)  # fmt: skip
