"""The job `attack`: measure what an outsider can learn about people from a release."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.core import promise_place
from discreet.core.schema import is_address
from discreet.errors import FormatError
from discreet.jobs.declare import Kind, Speech
from discreet.jobs.options import EPSILON, SEED, data, option


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
            other = ("kind", "synopsis") if str(job.data).endswith(".parquet") and "kind" not in given else None
            raise KIND.wrong(name, None, lambda say: f"given with {say('kind', kind)}", other)


def _suits(given: Any, folder: Path) -> None:
    """Refuse an anonymous or synthetic table: its guarantee is next to it, and something else is measured."""
    if not isinstance(given, str) or is_address(given):
        return
    try:
        promise = json.loads(promise_place(folder / Path(given).expanduser()).read_bytes())
        synthetic = promise["model"] == "central"
        if not synthetic and promise["model"] != "syntactic":
            return
        known = [str(name) for name in promise["parameters"].get("quasi_identifiers", ())]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # not a guarantee
    measure = shlex.join(["discreet", "risk", given, *(["--qi", ",".join(known)] if known else [])])
    text = (
        f"{Path(given).name} is an anonymous table, which attack cannot use: it attacks noisy points, cluster centres "
        f"and synopses. Measure its risk with '{measure}'. Attacks on such tables are for Python (docs/risk.md)"
    )
    if synthetic:
        behind = f"{Path(given).with_suffix('')}.synopsis.parquet"
        text = f"{Path(given).name} is a synthetic table; attack the synopsis it was drawn from, {behind}, with "
    raise KIND.refused(lambda say: text + (say("kind", "synopsis") if synthetic else ""), FormatError)


KIND = Kind(
    name="attack",
    summary="attack a release",
    help="Attack a release as an outsider would, and compare with a control group. Keep the result inside.",
    data=data("table", "The release: noisy points, cluster centres, or a synopsis.", "noisy.csv"),
    schema="optional",
    own=(
        option("against", "table", "The raw records behind the release: CSV or Parquet.", "people.csv", required=True),
        option("control", "table", "Records of similar people who are not in the release.", "others.csv",
            required=True),
        replace(EPSILON, help="For points: the epsilon of the noise, at the distance radius.", required=False,
            shown=True),
        option("radius", "number", "For points: that distance, in shares of the declared ranges.", 0.1, above=0,
            shown=True),
        option("method", "text", "What the attack tries to find out.", "membership", default="membership", arguments=(),
            choices=("membership", "reconstruction", "attribute")),
        option("kind", "text", "Kind of release.", "points", default="points",
            choices=("points", "synopsis", "centers")),
        option("reference", "table", "Public records of similar people; by default half of the control group.",
            "public.csv"),
        option("column", "text", "Column to guess from all others.", "age", methods=("attribute",)),
        option("linked", "flag", "The attacker knows which point belongs to whom.", True, default=True, off="unlinked",
            methods=("attribute",)),
        option("within", "number", "Largest error of a correct guess; for points in shares of the ranges.", 0.1,
            above=0, methods=("reconstruction", "attribute")),
        option("confidence", "number", "Confidence level of the intervals.", 0.95, default=0.95, above=0, below=1),
        replace(SEED, help="Make the run repeatable. An attack is never for publication."),
    ),
    together=_together,
    suits=_suits,
    examples=(
        "attack noisy.csv --against data.csv --control others.csv --schema schema.toml --epsilon 2 --radius 0.1",
        "attack s.parquet --kind synopsis --against data.csv --control others.csv",
    ),
)  # fmt: skip
