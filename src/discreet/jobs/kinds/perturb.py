"""The job `perturb`: add noise to every row, so that nearby rows become indistinguishable."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, confirmed
from discreet.jobs.options import (
    EPSILON,
    ESCAPE_FORMULAS,
    ORDER,
    PROMISE,
    REPORT,
    SEED,
    TABLE,
    UNIT,
    YES_REALLY,
    option,
    release,
)

_NEED_RADIUS = ("nd-laplace", "sphere")
#: Here epsilon holds at a distance, so that a large one may protect well.
_AT_DISTANCE = (*_NEED_RADIUS, "column-laplace", "elastic")


def _together(job: Any) -> None:
    given = job.parameters
    method = given.get("method", "nd-laplace")
    if method in _NEED_RADIUS and "radius" not in given:
        unit, example = ("in metres", 200) if method == "sphere" else ("in shares of the declared ranges", 0.1)
        raise KIND.wrong("radius", None, f"given: the distance at which epsilon holds, {unit}", ("radius", example))
    if method == "elastic" and "density" not in given:
        expected = "given: a public file of where people live, with a column 'weight', or a saved synopsis"
        raise KIND.wrong("density", None, expected, ("density", "people.csv"))
    confirmed(KIND, given, "category_epsilon")
    if method not in _AT_DISTANCE:
        confirmed(KIND, given)


KIND = Kind(
    name="perturb",
    summary="add noise to every row",
    help="Add noise to every row and write the table. Rows that are near each other become hard to distinguish. Rows "
    "are shuffled. Identifiers and undeclared columns are left out.",
    data=TABLE,
    schema="needed",
    estimators={
        "nd-laplace": "discreet.metric:NDLaplace",
        "sphere": "discreet.metric:SphericalLaplace",
        "elastic": "discreet.metric:ElasticLaplace",
        "column-laplace": "discreet.metric:ColumnLaplace",
        "piecewise": "discreet.metric:Piecewise",
        "hybrid": "discreet.metric:Hybrid",
        "duchi": "discreet.metric:Duchi",
        "square-wave": "discreet.metric:SquareWave",
        "priv-unit": "discreet.metric:PrivUnit",
    },
    own=(
        replace(EPSILON, help="Privacy level at the distance radius, or among min_people: smaller is more private.",
            label="Level ε"),
        option("method", "text", "Noise on whole rows, or on each column."),
        option("radius", "number", "Distance at which epsilon holds, in shares of the declared ranges by default.", 0.1,
            above=0, shown=True),
        option("remap", "text", "Post-processing of noisy points; bayes needs a prior.", "clip", default="none",
            choices=("none", "clip", "grid", "bayes", "resample")),
        option("grid", "whole", "Points per axis, for the remap grid.", 12, default=12, low=2, label="Points per axis"),
        option("prior", "file", "Public places for bayes: a table, or a synopsis.", "places.csv"),
        option("scaling", ("text", "numbers"), "Metric: ranges scaled to 1 (box), none, or one unit per column.", "box",
            default="box", choices=("box", "none"), above=0, expected="box, none, or units, all positive"),
        option("min_people", "number", "Number of people among whom every place is hidden, at level epsilon.", 1000,
            default=1000, above=0),
        option("density", "file", "Public density of people: places with a column 'weight', or a synopsis.",
            "people.csv"),
        option("cells", "whole", "Number of cells of the map.", 1024, default=1024, low=2, high=2048),
        option("loss", "text", "Loss that bayes minimises.", "squared", default="squared",
            choices=("squared", "euclidean")),
        option("latitude", "text", "Column of latitudes.", "lat"),
        option("longitude", "text", "Column of longitudes.", "lon"),
        option("attributes", "text", "Report all columns of a row, or one chosen at random.", "all", default="all",
            choices=("all", "sample")),
        option("buckets", "whole", "Number of parts of each column's range.", 1024, default=1024, low=2, high=2**20),
        option("debias", "flag", "Rescale reports so that their mean is unbiased.", True),
        option("inputs", "text", "Inputs are points of the box, or directions.", "points", default="points",
            choices=("points", "directions")),
        option("category_epsilon", "budget", "Privacy budget of each column of categories.", 1.0),
        option("step", "number", "Distance between neighbouring output values.", 0.001, above=0),
        UNIT,
        replace(ORDER, arguments=()),
        ESCAPE_FORMULAS,
        YES_REALLY,
        SEED,
    ),
    outputs=(release("The noisy table: CSV or Parquet."), REPORT, PROMISE),
    together=_together,
    shortcuts={"sphere": ("method", "sphere", "Columns are latitude and longitude; --radius is in metres.")},
    examples=(
        "perturb data.csv --schema schema.toml --epsilon 2 --radius 0.1 -o noisy.csv",
        "perturb data.csv --schema schema.toml --epsilon 2 --sphere --radius 200 -o noisy.csv",
        "perturb data.csv --schema schema.toml --epsilon 2 --method elastic --density people.csv -o noisy.csv",
    ),
)  # fmt: skip
