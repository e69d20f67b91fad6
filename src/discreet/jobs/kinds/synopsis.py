"""The job `synopsis`: release a table as a noisy histogram."""

from typing import Any

from discreet.jobs.declare import Kind, one_budget, one_unit
from discreet.jobs.options import CENTRAL, COLUMNS, PROMISE, REPORT, TABLE, option, output, release


def _together(job: Any) -> None:
    one_budget(KIND, job.parameters)
    one_unit(KIND, job.parameters)
    if "centers" in job.outputs and "n_clusters" not in job.parameters:
        raise KIND.wrong("n_clusters", None, "given for the output 'centers'")


KIND = Kind(
    name="synopsis",
    summary="release a table as a noisy histogram",
    help="Release a table as a synopsis: a noisy histogram that may be published, with its privacy guarantee inside.",
    data=TABLE,
    schema="needed",
    estimators={"grid": "discreet.synopses:GridSynopsis", "tree": "discreet.synopses:TreeSynopsis"},
    own=(
        option("method", "text", "Cells of equal size (grid), or smaller cells where there are more rows (tree)."),
        COLUMNS,
        *CENTRAL,
    ),
    outputs=(
        release("The synopsis, with its guarantee inside.", "synopsis.parquet"),
        output("centers", "Cluster centres found in the synopsis; needs the number of clusters.", "centers.csv"),
        REPORT,
        PROMISE,
    ),
    together=_together,
    examples=(
        "synopsis people.csv --schema schema.toml --epsilon 1 -o s.parquet",
        "synopsis people.csv --schema schema.toml --epsilon 1 --method tree --partitioner median -o s.parquet",
    ),
)  # fmt: skip
