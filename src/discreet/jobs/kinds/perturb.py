"""The job `perturb`: move every row by noise, so that rows near each other look alike."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, said_twice
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
_POINTS = ("nd-laplace", "sphere", "column-laplace")
_ELASTIC = ("elastic",)
_COLUMNS = ("piecewise", "hybrid", "duchi", "square-wave")


def _together(job: Any) -> None:
    given = job.parameters
    method = given.get("method", "nd-laplace")
    if method in _NEED_RADIUS and "radius" not in given:
        unit, example = ("in metres", 200) if method == "sphere" else ("in the declared metric", 0.1)
        expected = f"the distance, {unit}, at which epsilon holds"
        raise KIND.wrong("radius", None, expected, ("radius", example))
    if method == "elastic" and "density" not in given:
        expected = "a public file of where people live: places with a column 'weight', or a saved synopsis"
        raise KIND.wrong("density", None, expected, ("density", "people.csv"))
    said_twice(KIND, given, "category_epsilon")
    if method not in (*_POINTS, *_ELASTIC):  # there epsilon is large or small by the distance at which it holds
        said_twice(KIND, given)


KIND = Kind(
    name="perturb",
    summary="move every row by noise",
    help="Move every row by noise and write the table: rows near each other can hardly be told apart afterwards. Rows "
    "are shuffled. Columns that are not declared, and identifiers, are left out.",
    data=TABLE,
    schema="needed",
    parameters=(
        replace(EPSILON, help="level at distance radius, or among min-people people: smaller is more private"),
        option("radius", "number", "distance at which epsilon holds: of the unit cube by default, see scaling", 0.1,
            above=0, methods=_POINTS, shown=True),
        option("method", "text", "the noise, of a row or by column", "nd-laplace", default="nd-laplace", arguments=(),
            shown=True, choices=("nd-laplace", "sphere", "column-laplace", *_ELASTIC, *_COLUMNS, "priv-unit")),
        option("remap", "text", "what noisy points become; bayes needs a prior", "clip", default="none",
            choices=("none", "clip", "grid", "bayes", "resample"), methods=_NEED_RADIUS),
        option("grid", "whole", "points on every axis, for the remap of that name", 12, default=12, low=2,
            methods=_NEED_RADIUS),
        option("prior", "file", "public places for bayes, as a table or as 'discreet synopsis' writes it",
            "places.csv",
            methods=_NEED_RADIUS),
        option("scaling", ("text", "numbers"), "box (columns by their width), none, or units: the metric", "box",
            default="box", choices=("box", "none"), above=0, methods=("nd-laplace", "column-laplace", *_ELASTIC),
            expected="box, none, or units, all positive"),
        option("min_people", "number", "people among whom every place is hidden, at level epsilon", 1000, default=1000,
            above=0, methods=_ELASTIC),
        option("density", "file", "where people live, publicly: places with a column 'weight', or a saved synopsis",
            "people.csv", methods=_ELASTIC),
        option("cells", "whole", "cells that the map is cut into", 1024, default=1024, low=2, high=2048,
            methods=_ELASTIC),
        option("loss", "text", "what bayes keeps small", "squared", default="squared", choices=("squared", "euclidean"),
            methods=("nd-laplace",)),
        option("latitude", "text", "the column of latitudes", "lat", methods=("sphere",)),
        option("longitude", "text", "the column of longitudes", "lon", methods=("sphere",)),
        option("attributes", "text", "all of a row, or one drawn at random", "all", default="all",
            choices=("all", "sample"), methods=_COLUMNS),
        option("inputs", "text", "points of the box, or directions", "points", default="points",
            choices=("points", "directions"), methods=("priv-unit",)),
        option("category_epsilon", "budget", "budget of every column of categories", 1.0),
        option("step", "number", "distance of neighbouring values that may be written", 0.001, above=0,
            methods=_POINTS),
        UNIT,
        replace(ORDER, arguments=()),
        ESCAPE_FORMULAS,
        YES_REALLY,
        SEED,
    ),
    outputs=(release("the table: what may be published; CSV or Parquet"), REPORT, PROMISE),
    together=_together,
    shortcuts={"sphere": ("method", "sphere", "columns are latitude and longitude in degrees, --radius is in metres")},
    examples=(
        "perturb data.csv --schema schema.toml --epsilon 2 --radius 0.1 -o noisy.csv",
        "perturb data.csv --schema schema.toml --epsilon 2 --sphere --radius 200 -o noisy.csv",
        "perturb data.csv --schema schema.toml --epsilon 2 --method elastic --density people.csv -o noisy.csv",
    ),
)  # fmt: skip
