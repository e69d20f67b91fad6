"""The job `cluster`: private cluster centres, of a table or of a saved synopsis."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, Speech, one_budget, one_unit
from discreet.jobs.options import (
    CENTRAL,
    DELTA,
    EPSILON,
    PROMISE,
    REFINE,
    REPORT,
    RHO,
    ROWS,
    SIZE_SHARE,
    TABLE,
    option,
    output,
    release,
)


def _together(job: Any) -> None:
    one_unit(KIND, job.parameters)
    if job.parameters.get("algorithm", "k-means") != "k-means":
        for name in ("refine", "n_init"):
            if name in job.parameters:
                raise KIND.wrong(name, job.parameters[name], "used with k-means", ("algorithm", "k-means"))
    if job.schema is not None:
        if not {"epsilon", "rho"} & set(job.parameters):
            raise KIND.wrong("epsilon", None, "given with a schema")
        one_budget(KIND, job.parameters)
        if "centers" not in job.outputs:
            raise KIND.wrong("centers", None, "given: the cluster centres")
        if "report" in job.outputs and "release" not in job.outputs:
            raise KIND.wrong("release", None, "given: 'report' is made from it")
        return
    only = (
        "epsilon",
        "delta",
        "rho",
        "method",
        "center",
        "radius",
        "rows",
        "size_share",
        "unit",
        "person",
        "person_rows",
        "account",
        "fresh",
        "overwrite",
    )
    for name in (*only, "seed"):
        if name in job.parameters:

            def fix(say: Speech, name: str = name) -> str:
                return f"{say('schema', 'schema.toml')}, or leaving {say(name)} out if the data are a saved synopsis"

            raise KIND.wrong(name, job.parameters[name], "used with a schema", fix)
    if "release" in job.outputs:
        expected = "left out: the synopsis is there already"
        raise KIND.wrong("release", job.outputs["release"], expected, "leaving release out")


KIND = Kind(
    name="cluster",
    summary="find private cluster centres",
    help="Find cluster centres: in a saved synopsis, at no cost, or in a table with a schema and a budget.",
    data=replace(TABLE, help="a synopsis, as 'discreet synopsis' writes it; or a table, with a schema"),
    schema="optional",
    parameters=(
        option("n_clusters", ("text", "whole"), "number of centres; auto reads it off the synopsis", "auto",
            required=True, choices=("auto",), low=1, short="-k", expected="a whole number of at least 1, or 'auto'"),
        option("max_clusters", "whole", "the most clusters that auto looks for", 20, default=20, low=1),
        replace(EPSILON, required=False, shown=True, help="privacy budget, of a table; a synopsis spent its own"),
        DELTA,
        RHO,
        option(
            "method", "text", "the synopsis under the clusters of a table", "auto", default="auto",
            choices=("auto", "grid", "tree", "lift"), arguments=("synopsis",),
        ),
        option("algorithm", "text", "what finds the clusters; density finds their number too", "k-means",
            default="k-means", choices=("k-means", "density", "ward", "spectral", "gaussians"), arguments=()),
        REFINE,
        option("columns", "names", "columns to cluster on; by default all but categories", ["age", "cost"]),
        option("n_init", "whole", "starts of k-means; the best is kept", 10, default=10, low=1),
        option("scale", "text", "domain: declared widths count as equal", "none", default="none",
            choices=("none", "domain")),
        option("center", "numbers", "on many columns: a public place amid the rows, one number per column", [0.5, 0.5]),
        option("radius", "number", "on many columns: a public bound on how far rows are from it", 2.5, above=0),
        ROWS,
        SIZE_SHARE,
        *CENTRAL,
    ),
    outputs=(
        release("the cluster centres, as CSV or Parquet", "centers.csv", "centers", required=False, shown=True),
        output("release", "the synopsis they were found in, of a table", "synopsis.parquet", shown=True),
        REPORT,
        PROMISE,
    ),
    together=_together,
    examples=(
        "cluster s.parquet -k 15 -o centers.csv",
        "cluster s.parquet -k auto --algorithm density",
        "cluster people.csv --schema schema.toml --epsilon 1 -k 15 -o centers.csv --release s.parquet",
    ),
)  # fmt: skip
