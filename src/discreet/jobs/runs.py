"""How each kind of `discreet.jobs.Job` is done: by the functions behind the verbs of the command line.

`rehearse` does a job on an invented table and throws the result away. All arguments pass the same checks as in earnest,
and no check is written twice.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.anonymity import House
from discreet.core import checks
from discreet.core.dates import date_text
from discreet.core.domain import Categorical, Column, Domain
from discreet.core.guarantee import Guarantee
from discreet.core.output import promise_place, write_whole
from discreet.errors import InvalidArgument
from discreet.jobs import perturb, sketch, synopsis, tables
from discreet.jobs.keys import listed
from discreet.synopses import GridSynopsis

#: A `discreet.jobs.Job`: that module calls this one, so it is not imported here.
Job = Any
Places = Mapping[str, Path]
#: Guarantee, files, figures, artifact.
Done = tuple[Guarantee, dict[str, Path], dict[str, Any], Any]
#: Tables in which people hide are rehearsed with groups of at most so many: a larger k only needs more rows.
_MOST_HIDING = 1000


def run(job: Job, data: str, places: Places) -> Done:
    """Do a job: ``data`` in, files at ``places`` out."""
    with _in_words_of_a_file():
        guarantee, files, figures, artifact = _RUNS[job.kind](job, data, places)
        if "report" in places:
            from discreet.reporting import write_report

            reported = places.get("counts") or places.get("release") or Path(data)
            # Of reports, only counts can be reported on; everything else is reported on as it was released.
            write_report(reported, places["report"], candidates=_candidates(job))
            files["report"] = places["report"]
        if "guarantee" in places:
            write_whole(places["guarantee"], guarantee.to_json(indent=2) + "\n")
            files["guarantee"] = places["guarantee"]
    return guarantee, files, figures, artifact


def _synopsis(job: Job, data: str, places: Places) -> Done:
    given = dict(job.parameters)
    epsilon, method, seed = given.pop("epsilon"), given.pop("method", "grid"), given.pop("seed", None)
    unit = given.pop("unit", None)
    if "rows" in given:
        given["n_rows"] = given.pop("rows")
    made = synopsis.synopsis(data, _schema(job), epsilon, places["release"], method, given, seed, unit)
    figures, files = synopsis.figures(made, places["release"]), {"release": places["release"]}
    if "centers" in places:
        synopsis.cluster(places["release"], job.parameters["n_clusters"], places["centers"], {})
        files["centers"] = places["centers"]
    return made.guarantee, files, figures, made


def _cluster(job: Job, data: str, places: Places) -> Done:
    given, files = job.parameters, {"centers": places["centers"]}
    if job.schema is None:
        settings = {"refine": given.get("refine"), "columns": given.get("columns")}
        made, found, _ = synopsis.cluster(Path(data), given["n_clusters"], places["centers"], settings)
    else:
        settings = {"synopsis": given.get("method"), "n_rows": given.get("rows"), "refine": given.get("refine")}
        settings["columns"] = given.get("columns")
        release = places.get("release")
        made, found = synopsis.private_centers(
            data,
            _schema(job),
            given["epsilon"],
            given["n_clusters"],
            places["centers"],
            release,
            settings,
            given.get("seed"),
            given.get("unit"),
        )
        if release is not None:
            files["release"] = release
    return made.guarantee, files, synopsis.cluster_figures(made, found, places["centers"]), made


def _anonymize(job: Job, data: str, places: Places) -> Done:
    given = dict(job.parameters)
    method, form = given.pop("method", "density-tree"), given.pop("form", None)
    bounds, hash_key = given.pop("bounds", False), given.pop("hash_key", None)
    # The verb takes texts such as age=2.
    for name in ("level", "grid", "hierarchy"):
        if name in given:
            paths = name == "hierarchy"
            given[name] = [f"{column}={job.place(v) if paths else v}" for column, v in given[name].items()]
    if "l_kind" in given:
        given["l-kind"] = given.pop("l_kind")
    target = places["release"]
    key = None if hash_key is None else job.place(hash_key)
    previous = [job.place(str(path)) for path in listed(given.pop("previous", None))]
    house = places.get("house")
    release = tables.anonymize(
        data, _schema(job), method, given, target, form, bounds, key, house=house, previous=previous
    )
    sealed = Guarantee.from_json(promise_place(target).read_text(encoding="utf-8"))
    figures = {"file": str(target), "rows": len(release), "left_out": release.suppressed + release.dropped}
    files = {"release": target, "promise": promise_place(target), **({} if house is None else {"house": house})}
    return sealed, files, figures, release


def _perturb(job: Job, data: str, places: Places) -> Done:
    given = dict(job.parameters)
    epsilon, method, seed = given.pop("epsilon"), given.pop("method", "nd-laplace"), given.pop("seed", None)
    unit = given.pop("unit", None)
    if "prior" in given:
        given["prior"] = job.place(given["prior"])
    if isinstance(given.get("scaling"), (list, tuple)):
        given["scaling"] = ",".join(map(str, given["scaling"]))
    target = places["release"]
    noisy, guarantee = perturb.perturb(data, _schema(job), epsilon, target, method, given, seed, unit)
    figures = perturb.figures(noisy, guarantee, target)
    return guarantee, {"release": target, "promise": promise_place(target)}, figures, noisy


def _sketch(job: Job, data: str, places: Places) -> Done:
    given = job.parameters
    values = given.get("domain")
    mechanism = sketch.build(
        _mechanism(job),
        given.get("epsilon"),
        job.place(values) if isinstance(values, str) else values,
        given.get("domain_size"),
        given.get("key"),
        given.get("reports", 100_000),
        [f"{name}={value}" for name, value in given.get("set", {}).items()],
    )
    secret = given.get("secret")
    figures = sketch.encode(
        data,
        given.get("column"),
        mechanism,
        places["release"],
        given.get("users"),
        None if secret is None else job.place(secret),
        given.get("seed"),
    )
    files, artifact = {"release": places["release"]}, None
    if "counts" in places:
        sketch.aggregate([places["release"]], places["counts"])
        files["counts"] = places["counts"]
    if "estimates" in places:
        consistency = given.get("consistency")
        artifact = sketch.estimate(places["counts"], _asked(job), consistency, places["estimates"])
        files["estimates"] = places["estimates"]
        figures = {**figures, **sketch.estimate_figures(artifact, places["estimates"], mechanism)}
    return replace(mechanism.guarantee, seeded=figures["seeded"]), files, figures, artifact


_RUNS: dict[str, Callable[[Job, str, Places], Done]] = {
    "synopsis": _synopsis,
    "cluster": _cluster,
    "anonymize": _anonymize,
    "perturb": _perturb,
    "sketch": _sketch,
}


def _mechanism(job: Job) -> str:
    name: str = job.parameters.get("mechanism", "auto")
    file = job.place(name)
    return str(file) if file.is_file() else name


def _asked(job: Job) -> Any:
    """Return the values that a sketch is asked for, or their file; None where the mechanism knows them."""
    values = job.parameters.get("candidates") if job.kind == "sketch" else None
    return job.place(values) if isinstance(values, str) else values


def _candidates(job: Job) -> list[Any] | None:
    """Return the values whose frequencies the page about a sketch shows."""
    values = _asked(job)
    return sketch.read_lines(values) if isinstance(values, Path) else values


def _schema(job: Job) -> str | Path:
    declared: str | Path = job.schema.to_toml() if isinstance(job.schema, Domain) else job.place(job.schema)
    return declared


def rehearse(job: Job) -> None:
    """Do a job on an invented table, in a folder that is thrown away."""
    if job.kind == "anonymize":
        k = checks.whole("k", job.parameters["k"], low=2)
        # Invented people are in no earlier release: of those only the files are looked at.
        for path in listed(job.parameters.get("previous")):
            House.load(job.place(str(path)))
        kept = {name: value for name, value in job.parameters.items() if name != "previous"}
        job = replace(job, parameters={**kept, "k": min(k, _MOST_HIDING)})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        places = {key: folder / f"{key}-{Path(path).name}" for key, path in job.outputs.items()}
        run(job, str(_invent(job, folder)), places)


def _invent(job: Job, folder: Path) -> Path:
    """Write a table that has the job's columns and says nothing: no rows, or some made from the declared bounds."""
    if job.kind == "cluster" and job.schema is None:
        made = GridSynopsis(epsilon=float("inf"), domain=(0, 1), rule=4).fit([[0.5]]).synopsis_
        made.save(folder / "synopsis.parquet")
        return folder / "synopsis.parquet"
    rows: list[list[Any]] = []
    if job.kind == "sketch":
        names = [job.parameters[key] for key in ("column", "users") if key in job.parameters] or ["value"]
    else:
        with _in_words_of_a_file():
            domain = Domain.from_toml(_schema(job))
        names = list(domain.names)
        if job.kind == "anonymize":
            names += [n for n in job.parameters.get("keep", ()) if n not in names]
            whose = job.parameters.get("person")
            columns = [_invented(column, 4 * job.parameters["k"], column.name == whose) for column in domain]
            rows = [[*row, *[""] * (len(names) - len(domain))] for row in zip(*columns, strict=True)]
    sink = io.StringIO()
    csv.writer(sink).writerows([names, *rows])
    table = folder / "invented.csv"
    write_whole(table, sink.getvalue())
    return table


def _invented(column: Column, n: int, persons: bool) -> list[Any]:
    """Return n values: many different ones where rules ask for that, else one, so that all rows are one group."""
    if not persons and column.role not in ("sensitive", "person", "identifier"):
        return _spread(column, 1) * n
    return _spread(column, n)


def _spread(column: Column, n: int) -> list[Any]:
    if isinstance(column, Categorical):
        return [column.categories[i % len(column.categories)] for i in range(n)]
    values = [column.low + (column.high - column.low) * (i + 0.5) / n for i in range(n)]
    return [date_text(float(round(v))) for v in values] if column.kind == "date" else values


@contextmanager
def _in_words_of_a_file() -> Iterator[None]:
    """Let errors speak of keys of a file instead of options of a command line."""
    try:
        yield
    except InvalidArgument as error:
        texts = [_as_key(text) for text in (error.name, error.expected, error.fix)]
        raise type(error)(texts[0], error.value, texts[1], texts[2]) from None


def _as_key(text: str) -> str:
    text = re.sub(r"--([a-z][a-z-]*) (\w+)=(\S+)", r"\1 = { \2 = \3 }", text)
    text = re.sub(r"--([a-z][a-z-]*) ([\w.-]+)", lambda m: f'{m[1].replace("-", "_")} = "{m[2]}"', text)
    return re.sub(r"--([a-z][a-z-]*)", lambda m: m[1].replace("-", "_"), text)
