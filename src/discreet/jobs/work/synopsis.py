"""The work of `synopsis` and `cluster`: release a synopsis of a table, find centres in it."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import clustering
from discreet.clustering import ClusterResult, cluster_synopsis
from discreet.clustering.leaves import described, place_texts
from discreet.core import NAMING, Categorical, Guarantee, Line, add_up, category_text, counted, stage
from discreet.engines import write_table
from discreet.errors import InvalidArgument
from discreet.jobs.charging import charged, checkable, keep, repeated, standing
from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.files import finish, load_synopsis
from discreet.synopses import CenterSynopsis, Synopsis, check_ending
from discreet.synopses.queries import rows_text


def run(job: Job) -> JobResult:
    """Release a synopsis, or find clusters."""
    return _synopsis(job) if job.kind == "synopsis" else _cluster(job)


def check(job: Job) -> None:
    """Check everything but the data."""
    if "release" in job.outputs:
        try:
            check_ending(job.places()["release"])
        except InvalidArgument as error:
            named = Path(job.outputs["release"])
            fix = ("release", str(named.with_suffix(".parquet")))
            raise job.declared.wrong("release", str(named), error.expected, fix) from None
    if job.schema is not None:
        checkable(job, estimator(job)).check()


def estimator(job: Job) -> Any:
    """Return the estimator of a job that releases a synopsis."""
    method = job.parameters.get("method") if job.kind == "synopsis" else None
    given = job.declared.arguments(job.parameters)
    return job.declared.make(method, domain=chosen_columns(job), **{**given, **charged(job)})


def chosen_columns(job: Job) -> Any:
    """Return the declared columns, or the requested ones together with those that identify people."""
    domain = job.read_domain()
    if job.kind == "cluster" or "columns" not in job.parameters:
        return domain
    wanted = [str(name) for name in job.parameters["columns"]]
    released = [column.name for column in domain if column.role not in NAMING]
    job.declared.check_columns("columns", wanted, released, "declared columns")
    return domain.select([c.name for c in domain if c.name in wanted or c.role in (*NAMING, "weight")])


def _synopsis(job: Job) -> JobResult:
    check(job)
    places = job.places()
    earlier = repeated(job)
    made: Synopsis = estimator(job).fit(job.read_table()).synopsis_ if earlier is None else earlier
    keep(job, made, earlier, charged=True)
    found = cluster_synopsis(made, job.parameters["n_clusters"]) if "centers" in places else None
    keep(job, made, earlier, charged=False)
    files = {"release": places["release"]}
    told = {**figures(made, places["release"]), **standing(job, made.digest, earlier is not None)}
    clusters = None
    if found is not None:
        write_centers(made, found, places["centers"])
        files["centers"] = places["centers"]
        clusters = cluster_figures(made, found, places["centers"])
    return finish(job, made.guarantee, files, told, made, clusters=clusters)


def _cluster(job: Job) -> JobResult:
    check(job)
    places, given = job.places(), job.declared.arguments(job.parameters)
    earlier = repeated(job) if job.schema is not None else None
    if job.schema is None:
        made = load_synopsis(job)
        job.declared.check_columns("columns", given.get("columns") or (), made.domain.names, "columns of the synopsis")
        found = _found(made, job, given.pop("n_clusters"), given)
    else:
        model: Any = None
        if earlier is None and job.parameters.get("algorithm", "k-means") == "k-means":
            model = estimator(job).fit(job.read_table())
            made = model.synopsis_
        else:
            made = estimator(job).release(job.read_table()) if earlier is None else earlier
        keep(job, made, earlier, charged=True)
        if model is None:
            passed = {k: v for k, v in given.items() if k in ("refine", "n_init", "scale", "max_clusters")}
            found = _found(made, job, given["n_clusters"], {**passed, "columns": made.domain.names})
        else:
            found = ClusterResult(
                model.cluster_centers_, model.cluster_weights_, math.nan, made, model.note_, model.domain_.names,
                std_errors=model.cluster_std_errors_, may_be_noise=model.cluster_may_be_noise_,
                suggestion=model.suggestion_,
            )  # fmt: skip
        keep(job, made, earlier, charged=False)
    table = write_centers(made, found, places.get("centers"))
    files: dict[str, Path] = {name: places[name] for name in ("centers", "release") if name in places}
    told = {**cluster_figures(made, found, places.get("centers")), **standing(job, made.digest, earlier is not None)}
    return finish(job, made.guarantee, files, told, made, more=(found, table), clusters=told)


def _found(made: Synopsis, job: Job, n_clusters: int | str, given: dict[str, Any]) -> ClusterResult:
    """Find clusters in a synopsis with the requested algorithm."""
    stage("clusters")
    algorithm = job.parameters.get("algorithm", "k-means")
    if algorithm == "k-means":
        return cluster_synopsis(made, n_clusters, **given)
    if algorithm == "density":
        given = {name: value for name, value in given.items() if name != "max_clusters"}
        hills: ClusterResult = clustering.DensityClusters(**given).fit(made).clusters_
        return hills
    found: ClusterResult = clustering.GaussianClusters(n_clusters, **given).fit(made).clusters_
    return found


def figures(made: Synopsis, output: Path) -> dict[str, Any]:
    """Return facts about the release as plain data."""
    return {
        "file": str(output),
        "leaves": made.n_leaves,
        "cells": None if made.hidden is None else made.hidden.n_cells,
        "rows": max(made.total, 0.0),
        "rows_std_error": float(np.sqrt(made.total_variance)),
        "rows_unlisted": None if made.unlisted is None else made.unlisted.to_dict(),
        "warnings": list(made.warnings),
        "doubts": list(made.doubts),
        "uncut": list(made.uncut),
        "epsilon": made.guarantee.to_dict()["epsilon"],
        "seeded": made.guarantee.seeded,
        "digest": made.digest,
        "parameters": dict(made.guarantee.parameters),
    }


def summary(made: Synopsis) -> str:
    """Describe the release in a sentence."""
    text = f"{made.n_leaves:,} groups of rows" if isinstance(made, CenterSynopsis) else f"{made.n_leaves:,} boxes"
    if made.hidden is not None:
        text += f" that survived out of {made.hidden.n_cells:,} (noisy count above {made.hidden.cutoff:,})"
    error = float(np.sqrt(made.total_variance))
    text += f" over {len(made.domain)} columns" if len(made.domain) > 8 else f" over {', '.join(made.domain.names)}"
    text = f"{text}; {rows_text(made.total, 'weight' in made.guarantee.parameters)} (standard error {error:,.1f})."
    return f"{text} {unlisted_rows(made)}".rstrip()


def unlisted_rows(made: Synopsis) -> str:
    """Describe the rows in unlisted cells; empty if all cells are listed."""
    elsewhere = made.unlisted
    if made.hidden is None or elsewhere is None:
        return ""
    text = (
        f"About {elsewhere.value:,.0f} of them (standard error {elsewhere.std_error:,.1f}) are in cells that are not "
        f"listed, because their noisy counts are {made.hidden.cutoff:,} or less."
    )
    if (empty := made.hidden.noise_alone) >= 1:
        text += f" Up to about {empty:,.0f} of the listed cells may be only noise."
    return text


#: Lines of a ledger that are printed; longer ones are shown by stage.
_MOST_LINES = 6


def ledger_rows(guarantee: Guarantee) -> tuple[list[tuple[str, str, str]], bool]:
    """Return the ledger (step, composition, cost), by stage if it is long, and True if lines were left out."""
    lines = [(depth, line) for top in guarantee.ledger for depth, line in top.walk()]
    whole = len(lines)
    if whole > _MOST_LINES:
        lines = [(0, line) for line in guarantee.ledger]
    body = [("  " * depth + line.label, _composed(line), f"{float(line.amount):.6g}") for depth, line in lines]
    if len(body) > _MOST_LINES:
        rest = guarantee.ledger[_MOST_LINES - 1 :]
        body[_MOST_LINES - 1 :] = [(counted(len(rest), "more step"), "sum", f"{float(add_up(rest)):.6g}")]
    return [*body, ("spent", "sum", f"{float(guarantee.spent):.6g}")], whole > len(body)


def _composed(line: Line) -> str:
    """Describe how a line of a ledger is composed."""
    steps = counted(len(line.parts), "step")
    if line.kind == "parallel":
        return f"parallel composition of {steps}" if line.parts else "parallel composition"
    if line.kind == "pure":
        return f"half the squared sum of {steps}"
    return f"sum of {steps}" if line.parts else "one step"


def write_centers(made: Synopsis, found: ClusterResult, output: Path | None) -> pa.Table:
    """Return the centres as a table, and write it if ``output`` is given."""
    columns: dict[str, Any] = {name: _places(made, found, name) for name in found.columns}
    for name, shares in found.categories.items():
        column = made.domain.column(name)
        if shares is None or not isinstance(column, Categorical):
            columns[name] = ["unknown"] * len(found.centers)
        else:
            columns[name] = [described(column, row) for row in shares]
    errors = np.full(len(found.centers), np.nan) if found.std_errors is None else found.std_errors
    for label, values in (("weight", found.weights), ("weight_std_error", errors)):
        while label in columns:
            label += "_"
        columns[label] = values
    table = pa.table(columns)
    if output is not None:
        write_table(output, table)
    return table


def _places(made: Synopsis, found: ClusterResult, name: str) -> list[Any]:
    """Return the coordinates of the centres in one column."""
    return place_texts(made.domain.column(name), found.centers[:, found.columns.index(name)])


def weighed(made: Synopsis, found: ClusterResult) -> str:
    """Describe the number of rows in the clusters and in total."""
    held = float(found.weights.sum())
    rows = max(made.total, 0.0)
    centers = counted(len(found.centers), "centre")
    if abs(held - rows) < 1:
        return f"{centers}, about {rows:,.0f} rows"
    return f"{centers}, with {held:,.0f} of about {rows:,.0f} rows"


def cluster_figures(made: Synopsis, found: ClusterResult, output: Path | None) -> dict[str, Any]:
    """Return centres and weights as plain data."""
    places = [_places(made, found, name) for name in found.columns]
    categories: dict[str, Any] = {}
    for name, shares in found.categories.items():
        names = [category_text(c) for c in getattr(made.domain.column(name), "categories", ())]
        known = [] if shares is None else shares.tolist()
        categories[name] = [
            None if np.isnan(row).any() else {c: s for c, s in zip(names, row, strict=True) if s > 0} for row in known
        ] or None
    return {
        "columns": list(found.columns),
        "centers": [list(row) for row in zip(*places, strict=True)],
        "weights": found.weights.tolist(),
        "weight_std_errors": None if found.std_errors is None else found.std_errors.tolist(),
        "may_be_noise": None if found.may_be_noise is None else found.may_be_noise.tolist(),
        "categories": categories,
        "rows": made.total,
        "rows_in_clusters": float(found.weights.sum()),
        "rows_unlisted": None if made.unlisted is None else made.unlisted.to_dict(),
        "note": found.note,
        "suggestion": None if found.suggestion is None else found.suggestion.to_dict(),
        "warnings": list(made.warnings),
        "doubts": list(made.doubts),
        "epsilon": made.guarantee.to_dict()["epsilon"],
        "seeded": made.guarantee.seeded,
        "file": None if output is None else str(output),
    }
