"""The job `attack`: what somebody with the release could find out about people in it."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind, Speech
from discreet.jobs.options import EPSILON, SEED, option


def _together(job: Any) -> None:
    given = job.parameters
    method, kind = given.get("method", "membership"), given.get("kind", "points")
    allowed = {"reconstruction": ("points",), "attribute": ("points", "synopsis")}.get(method, (kind,))
    if kind not in allowed:

        def ways(say: Speech) -> str:
            return f"{' or '.join(allowed)} with {say('method', method)}"

        raise KIND.wrong("kind", kind, ways, ("kind", allowed[0]))
    if method == "attribute" and "column" not in given:
        raise KIND.wrong("column", None, lambda say: f"the column to guess with {say('method', method)}")
    if kind != "synopsis" and job.schema is None:
        raise KIND.wrong("schema", None, lambda say: f"given with {say('kind', kind)}")
    for name in ("epsilon", "radius") if kind == "points" else ():
        if name not in given:
            raise KIND.wrong(name, None, lambda say: f"given with {say('kind', kind)}: noise is known by it")


KIND = Kind(
    name="attack",
    summary="find out what an outsider could",
    help="Attack a release as an outsider would, beside a control group. The result is not for publication.",
    data=option("data", "table", "what was released: noisy points, centres, or a synopsis", "noisy.csv", required=True,
        section="data"),
    schema="optional",
    parameters=(
        option("against", "table", "the records behind it: CSV or Parquet", "people.csv", required=True),
        option("control", "table", "records of such people that are not in it", "others.csv", required=True),
        replace(EPSILON, help="points: the level at distance radius", required=False, shown=True),
        option("radius", "number", "points: that distance, in shares of the declared widths", 0.1, above=0, shown=True),
        option("method", "text", "what is to be found out", "membership", default="membership", arguments=(),
            choices=("membership", "reconstruction", "attribute")),
        option("kind", "text", "what was released", "points", default="points",
            choices=("points", "synopsis", "centers")),
        option("reference", "table", "public records of such people; else half of the control is taken", "public.csv"),
        option("column", "text", "the column to guess, all others being known", "age", methods=("attribute",)),
        option("linked", "flag", "whether it is known whose point is whose", True, default=True, off="unlinked",
            methods=("attribute",)),
        option("estimate", "text", "what is guessed", "mean", default="mean", choices=("mean", "median", "mode"),
            methods=("reconstruction",)),
        option("within", "number", "a guess this near counts; for points in shares of the widths", 0.1, above=0,
            methods=("reconstruction", "attribute")),
        option("confidence", "number", "of the intervals", 0.95, default=0.95, above=0, below=1),
        replace(SEED, help="repeat a run; an attack is never for publication"),
    ),
    together=_together,
    examples=(
        "attack noisy.csv --against data.csv --control others.csv --schema schema.toml --epsilon 2 --radius 0.1",
        "attack s.parquet --kind synopsis --against data.csv --control others.csv",
    ),
)  # fmt: skip
