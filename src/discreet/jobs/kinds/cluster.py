"""The job `cluster`: private cluster centres of a table or of a saved synopsis."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, Speech, one_budget, one_unit
from discreet.jobs.options import CENTRAL, PAGE, PROMISE, REPORT, TABLE, change, option, output, release

#: Options that also hold for a saved synopsis; the others say how to make one.
_FINDING = ("n_clusters", "max_clusters", "algorithm", "refine", "columns", "n_init", "scale", "yes_really")


def _together(job: Any) -> None:
    one_unit(KIND, job.parameters)
    if job.parameters.get("algorithm", "k-means") != "k-means":
        for name in ("refine", "n_init"):
            if name in job.parameters:
                raise KIND.wrong(name, job.parameters[name], "used with k-means", ("algorithm", "k-means"))
    if job.parameters.get("algorithm") == "density" and job.schema is None:  # for a table, it sizes the synopsis
        expected = "left to the density algorithm, which finds the number of clusters"
        if job.parameters["n_clusters"] != "auto":
            raise KIND.wrong("n_clusters", job.parameters["n_clusters"], expected, ("n_clusters", "auto"))
        if "max_clusters" in job.parameters:
            raise KIND.wrong("max_clusters", job.parameters["max_clusters"], expected, "leaving it out")
    if job.schema is not None:
        if not {"epsilon", "rho"} & set(job.parameters):
            raise KIND.wrong("epsilon", None, "given with a schema")
        one_budget(KIND, job.parameters)
        if "centers" not in job.outputs:
            raise KIND.wrong("centers", None, "given: the cluster centres")
        if "report" in job.outputs and "release" not in job.outputs:
            raise KIND.wrong("release", None, "given: 'report' is made from it")
        return
    for name in job.parameters:
        if name not in (*_FINDING, "sign", *(each.name for each in PAGE)):

            def fix(say: Speech, name: str = name) -> str:
                return f"{say('schema', 'schema.toml')}, or leaving {say(name)} out if the data are a saved synopsis"

            raise KIND.wrong(name, job.parameters[name], "used with a schema", fix)
    if "release" in job.outputs:
        expected = "left out: the synopsis already exists"
        raise KIND.wrong("release", job.outputs["release"], expected, "leaving release out")


KIND = Kind(
    name="cluster",
    summary="find private cluster centres",
    help="Find cluster centres: in a saved synopsis, at no cost, or in a table with a schema and a budget.",
    data=replace(TABLE, help="A synopsis made by 'discreet synopsis', or a table if a schema is given."),
    schema="optional",
    estimators={"": "discreet.clustering:PrivateKMeans"},
    own=(
        change("n_clusters", required=True, example="auto", shell="k", short="-k --n-clusters",
            label="Number of clusters"),
        change("epsilon", help="Privacy budget, for a table. A synopsis has spent its own."),
        option("refine", "text", "Post-processing of the counts; auto chooses it.", "auto", default="auto",
            choices=("auto", "consistent", "means", "project", "threshold", "mixture", "checked", "none")),
        option("center", "numbers", "",
            [0.5, 0.5]),
        option("algorithm", "text", "Algorithm that finds the clusters; density also finds their number.", "k-means",
            default="k-means", choices=("k-means", "density", "gaussians"), arguments=()),
        *CENTRAL,
    ),
    outputs=(
        release("The cluster centres, as CSV or Parquet (required for a table).", "centers.csv", "centers",
            required=False, shown=True),
        output("release", "The synopsis of a table, in which they were found.", "synopsis.parquet", shown=True),
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
