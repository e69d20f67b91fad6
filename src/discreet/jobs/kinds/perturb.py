"""The job `perturb`: add noise to every row, so that nearby rows become indistinguishable."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, confirmed
from discreet.jobs.options import (
    FORM,
    LISTED,
    ORDER,
    PROMISE,
    REPORT,
    SEED,
    TABLE,
    UNIT,
    YES_REALLY,
    change,
    option,
    release,
)

_NEED_RADIUS = ("nd-laplace", "sphere")
#: Here epsilon holds at a distance, so that a large one may protect well.
_AT_DISTANCE = (*_NEED_RADIUS, "elastic")


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
        "piecewise": "discreet.metric:Piecewise",
        "hybrid": "discreet.metric:Piecewise?method=hybrid",
        "duchi": "discreet.metric:Piecewise?method=duchi",
        "square-wave": "discreet.metric:Piecewise?method=square_wave",
        "priv-unit": "discreet.metric:PrivUnit",
    },
    own=(
        change("epsilon", label="Level ε",
            help="Privacy level at the stated distance, or among the stated people: smaller is more private."),
        option("method", "text", "Noise on whole rows, or on each column."),
        change("radius", shown=True),
        change("remap", example="clip"),
        change("category_epsilon", takes=("budget",)),
        change("grid", takes=("whole",), low=2, help="Points per axis, for the remap grid.", label="Points per axis"),
        change("prior", takes=("file",), help="Public places for bayes: a table, or a synopsis.", example="places.csv"),
        change("density", takes=("file",), example="people.csv",
            help="Public density of people: places with a column 'weight', or a synopsis."),
        change("scaling", takes=("text", "numbers"), choices=("box", "none"), above=0,
            help="Metric: ranges scaled to 1 (box), none, or one unit per column.",
            expected="box, none, or units, all positive"),
        UNIT,
        replace(ORDER, arguments=()),
        *FORM,
        *LISTED,
        YES_REALLY,
        SEED,
    ),
    outputs=(release("The noisy table: CSV, Excel (.xlsx) or Parquet."), REPORT, PROMISE),
    together=_together,
    priced_by="-",
    shortcuts={"sphere": ("method", "sphere", "Columns are latitude and longitude; --radius is in metres.")},
    examples=(
        "perturb data.csv --schema schema.toml --epsilon 2 --radius 0.1 -o noisy.csv",
        "perturb data.csv --schema schema.toml --epsilon 2 --sphere --radius 200 -o noisy.csv",
        "perturb data.csv --schema schema.toml --epsilon 2 --method elastic --density people.csv -o noisy.csv",
    ),
)  # fmt: skip
