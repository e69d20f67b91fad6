"""The verb `prepare`: compile ahead of time, for containers and images."""

import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console

from discreet.cli.common import app, console, echo, working
from discreet.cli.verbs import verb
from discreet.errors import DataSourceError, InvalidArgument
from discreet.jobs import option

_SCHEMA = """
[columns]
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
income = {bounds = [0, 1000], role = "quasi-identifier"}
sex = {categories = ["f", "m"], role = "quasi-identifier"}
illness = {categories = ["none", "flu", "gout"], role = "sensitive"}
"""
#: Several rows per person, dates, decimal commas and marks between thousands.
_STAYS = """
source = {delimiter = ";", decimal = ",", thousands = ".", dates = ["%d.%m.%Y"]}
unit = {person = "who", rows = 3, group = ["day"], per_group = 2}
[columns]
who = {role = "person"}
day = {bounds = [2025-01-01, 2025-12-31], role = "quasi-identifier"}
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
cost = {bounds = [0, 100000], role = "quasi-identifier"}
illness = {categories = ["none", "flu", "gout"], role = "sensitive"}
"""
_POINTS = "[columns]\nage = {bounds = [0, 120]}\nincome = {bounds = [0, 1000]}\n"
#: With wide bounds clusters are tight, and cells have means.
_TIGHT = "[columns]\nage = {bounds = [0, 2000]}\nincome = {bounds = [0, 20000]}\n"
#: Rows of the generated tables: small ones take other ways, which compile less.
_ROWS = (40_000, 2_000)
_PEOPLE = ("all", "stays")
_TOLD = "Compiling: up to 25 processor seconds per verb, 50 to 70 for all; about 10 if it was done before."
_BUDGET, _DELTA = {"epsilon": 1.0}, {"delta": 1e-6}
#: For each verb, the jobs that use its kernels: schema, parameters, and the name of the output.
JOBS: dict[str, tuple[tuple[str, dict[str, Any], str], ...]] = {
    "synopsis": tuple((s, _BUDGET | {"method": m}, "release") for s in _PEOPLE for m in ("grid", "tree")),
    "synthesize": tuple((schema, _BUDGET | more, "table") for schema in _PEOPLE for more in ({}, _DELTA)),
    "cluster": tuple(
        (schema, _BUDGET | more, "centers")
        for schema in ("points", "tight", "all", "stays")
        for more in ({"n_clusters": 5}, {"n_clusters": "auto", "max_clusters": 3})
    ),
    "anonymize": tuple(
        (schema, {"k": 20, "method": method} | ({} if method == "microaggregation" else {"l": 2.0}), "release")
        for method in ("density-tree", "mondrian", "generalization", "microaggregation")
        for schema in _PEOPLE[: 1 if method == "microaggregation" else 2]  # it counts rows
    ),
    "perturb": (
        ("all", _BUDGET | {"method": "nd-laplace", "radius": 5.0, "category_epsilon": 1.0}, "release"),
        *(("points", _BUDGET | {"method": method}, "release") for method in ("piecewise", "square-wave")),
    ),
    "risk": (("all", {}, ""), ("stays", {}, "")),
}


@verb(
    app,
    option("verbs", "texts", "Verbs to prepare; by default synopsis, synthesize, cluster, anonymize, perturb and risk.",
        ["anonymize", "risk"], positional=True),
    examples=("prepare", "prepare anonymize risk"),
)  # fmt: skip
def prepare(*, verbs: list[str] | None, as_json: bool) -> None:
    """Compile the fast code of verbs now, so that the usual first commands do not wait for it.

    The first time, this takes up to 25 processor seconds per verb, 50 to 70 for all of them. Rarer options still
    compile when they are first used. The code is kept in the cache folder of this user; copy that folder, or run this
    where an image is built.
    """
    from discreet.core import kernel_folder, nearest

    wanted = list(verbs or JOBS)
    for name in wanted:
        if name not in JOBS:
            near = nearest(name, list(JOBS))
            raise InvalidArgument(
                "verbs", name, f"one of {', '.join(JOBS)}", f"discreet prepare {near or ' '.join(JOBS)}"
            )
    folder, seconds = kernel_folder(), {}
    with working(_TOLD, as_json=True):  # without the line about one method
        if not as_json:
            Console(stderr=True).print(_TOLD, highlight=False)
        for name, took in _times(wanted):
            seconds[name] = round(took, 1)
            if not as_json:
                console.print(f"{name:<12} {took:5.1f} seconds", highlight=False)
    if not any(folder.glob("kernels-*/*/*.nbc")):
        raise DataSourceError(f"cache: nothing can be kept in {str(folder)!r}; set XDG_CACHE_HOME to another folder")
    if as_json:
        echo({"seconds": seconds, "folder": str(folder)})
        return
    console.print(f"Kept in {folder}", soft_wrap=True, highlight=False)


def _times(wanted: list[str]) -> Iterator[tuple[str, float]]:
    """Run the jobs of verbs on a generated table; yield how long each verb took."""
    from discreet.jobs import Job

    with tempfile.TemporaryDirectory() as place:
        for schema, text in (("all", _SCHEMA), ("points", _POINTS), ("tight", _TIGHT), ("stays", _STAYS)):
            (Path(place) / f"{schema}.toml").write_text(text)
            for rows in _ROWS:
                (Path(place) / f"{schema}-{rows}.csv").write_text(_stays(rows) if schema == "stays" else _table(rows))
        for name in wanted:
            began = time.monotonic()
            for number, (rows, (schema, parameters, output)) in enumerate(product(_ROWS, JOBS[name])):
                ending = ".parquet" if name == "synopsis" else ".csv"
                outputs = {output: f"{name}-{number}{ending}"} if output else {}
                Job(name, f"{schema}-{rows}.csv", f"{schema}.toml", parameters, outputs, Path(place)).run()
            yield name, time.monotonic() - began


def _table(rows: int) -> str:
    """Return a table as text. Quotation marks and numbers with exponents need the kernels of text."""
    lines = ["age,income,sex,illness"]
    for i in range(rows):
        age = 7 * i % 101
        lines.append(f'{age},{i * i % 9973 / 10}e0,"{"fm"[i % 2]}",{("none", "flu", "gout")[i * age % 3]}')
    return "\n".join(lines) + "\n"


def _stays(rows: int) -> str:
    """Return a table of persons, some of whom are numbers."""
    lines = ["who;day;age;cost;illness"]
    for i in range(rows):
        who, cost = 7 * i % (rows // 2), f"{i % 7}.{i * i % 997:03d},{i % 10}"
        day = f"{1 + i % 28:02d}.{1 + i % 12:02d}.2025"
        lines.append(f"{'' if i % 3 else 'P'}{who};{day};{i % 101};{cost};{('none', 'flu', 'gout')[i * i % 3]}")
    return "\n".join(lines) + "\n"
