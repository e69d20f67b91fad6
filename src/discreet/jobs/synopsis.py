"""What the verbs `synopsis` and `cluster` do, without the talking: arguments in, artifacts and plain figures out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from discreet import synopses
from discreet.clustering import ClusterResult, PrivateKMeans, cluster_synopsis
from discreet.clustering.central.columns import described
from discreet.core import checks
from discreet.core.dates import date_text
from discreet.core.domain import Categorical, Date, Domain, category_text
from discreet.core.guarantee import Guarantee
from discreet.core.output import check_place, write_whole
from discreet.engines import as_declared
from discreet.errors import InvalidArgument
from discreet.synopses import Synopsis
from discreet.synopses.artifact.empty import rows_text
from discreet.synopses.artifact.file import check_ending

#: Settings that only one of the methods has.
_OWN = {"grid": ("rule",), "tree": ("partitioner", "max_depth")}


def synopsis(
    data: str,
    schema: str | Path,
    epsilon: float,
    output: Path,
    method: str,
    settings: dict[str, Any],
    seed: int | None,
    unit: str | None = None,
) -> Synopsis:
    """Release a table and write the file. Settings that are None are left to the method."""
    method = checks.choice("method", method, ("grid", "tree"))
    given = {name: value for name, value in settings.items() if value is not None}
    for other, names in _OWN.items():
        for name in names:
            if other != method and name in given:
                option = f"--{name.replace('_', '-')}"
                raise InvalidArgument(option, given[name], f"used with --method {other} only", f"--method {other}")
    rule = given.get("rule")
    if isinstance(rule, str) and rule.isascii() and rule.isdigit():
        given["rule"] = int(rule)
    domain = _domain(schema, unit)
    check_place(output)
    check_ending(output)
    table = as_declared(data, schema)
    kind = synopses.GridSynopsis if method == "grid" else synopses.TreeSynopsis
    made: Synopsis = kind(epsilon=epsilon, domain=domain, random_state=seed, **given).fit(table).synopsis_
    made.save(output)
    return made


def figures(made: Synopsis, output: Path) -> dict[str, Any]:
    """Return what the release is, as plain data."""
    return {
        "file": str(output),
        "leaves": made.n_leaves,
        "cells": None if made.hidden is None else made.hidden.n_cells,
        "rows": max(made.total, 0.0),
        "rows_std_error": float(np.sqrt(made.total_variance)),
        "rows_unlisted": None if made.unlisted is None else made.unlisted.to_dict(),
        "warnings": list(made.warnings),
        "uncut": list(made.uncut),
        "epsilon": made.guarantee.to_dict()["epsilon"],
        "seeded": made.guarantee.seeded,
        "digest": made.digest,
        "parameters": dict(made.guarantee.parameters),
    }


def summary(made: Synopsis) -> str:
    """Return the same in a sentence."""
    text = f"{made.n_leaves:,} boxes"
    if made.hidden is not None:
        text += f" that survived out of {made.hidden.n_cells:,} (noisy count above {made.hidden.cutoff:,})"
    error = float(np.sqrt(made.total_variance))
    text += f" over {len(made.domain)} columns" if len(made.domain) > 8 else f" over {', '.join(made.domain.names)}"
    text = f"{text}; {rows_text(made.total)} (standard error {error:,.1f})."
    return f"{text} {unlisted_rows(made)}".rstrip()


def unlisted_rows(made: Synopsis) -> str:
    """Return what there is to know about rows in cells that are not listed; nothing if all cells are."""
    elsewhere = made.unlisted
    if made.hidden is None or elsewhere is None:
        return ""
    text = (
        f"About {elsewhere.value:,.0f} of them (standard error {elsewhere.std_error:,.1f}) are in cells that are not "
        f"listed, because their noisy counts are {made.hidden.cutoff:,} or less; the boxes hold the rest."
    )
    if (empty := made.hidden.noise_alone) >= 1:
        text += f" Up to about {empty:,.0f} of the boxes may be noise alone."
    return text


def ledger_rows(guarantee: Guarantee) -> list[tuple[str, str, str]]:
    """Return the ledger's lines for a table: step, composition, cost."""
    lines = [(depth, line) for top in guarantee.ledger for depth, line in top.walk()]
    body = [("  " * depth + line.label, str(line.kind), f"{float(line.amount):.6g}") for depth, line in lines]
    return [*body, ("spent", "", f"{float(guarantee.spent):.6g}")]


def cluster(
    file: Path, n_clusters: int, output: Path | None, settings: dict[str, Any]
) -> tuple[Synopsis, ClusterResult, pa.Table]:
    """Find centres in a saved synopsis, and write them if a place is named. Settings that are None are left out."""
    if output is not None:
        check_place(output)
    given = {name: value for name, value in settings.items() if value is not None}
    made = Synopsis.load(file)
    found = cluster_synopsis(made, n_clusters, **given)
    return made, found, _write_centers(made, found, output)


def private_centers(
    data: str,
    schema: str | Path,
    epsilon: float,
    n_clusters: int,
    output: Path,
    release: Path | None,
    settings: dict[str, Any],
    seed: int | None,
    unit: str | None = None,
) -> tuple[Synopsis, ClusterResult]:
    """Cluster a table with privacy: one release made for it, then its centres. Settings that are None are left out."""
    for place in filter(None, (output, release)):
        check_place(place)
    if release is not None:
        check_ending(release)
    given = {name: value for name, value in settings.items() if value is not None}
    domain = _domain(schema, unit)
    model = PrivateKMeans(n_clusters, epsilon=epsilon, domain=domain, random_state=seed, **given).fit(data)
    # What k-means cost on the synopsis is not kept by the estimator, and nobody asks for it here.
    names, released = model.domain_.names, model.synopsis_
    found = ClusterResult(model.cluster_centers_, model.cluster_weights_, math.nan, released, model.note_, names)
    if release is not None:
        model.synopsis_.save(release)
    _write_centers(model.synopsis_, found, output)
    return model.synopsis_, found


def _domain(schema: str | Path, unit: str | None) -> Domain:
    """Read a schema; what is said of the unit beside it goes before what it says itself."""
    declared = Domain.from_toml(schema)
    return declared if unit is None else declared.with_unit(unit)


def _write_centers(made: Synopsis, found: ClusterResult, output: Path | None) -> pa.Table:
    columns: dict[str, Any] = {name: _places(made, found, name) for name in found.columns}
    for name, shares in found.categories.items():
        column = made.domain.column(name)
        if shares is None or not isinstance(column, Categorical):
            columns[name] = ["not known"] * len(found.centers)
        else:
            columns[name] = [described(column, row) for row in shares]
    label = "weight"
    while label in columns:
        label += "_"
    table = pa.table({**columns, label: found.weights})
    if output is not None:
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(table, sink)
        write_whole(output, sink.getvalue().to_pybytes())
    return table


def _places(made: Synopsis, found: ClusterResult, name: str) -> list[Any]:
    """Return the coordinates of the centres in one column; of a category that was asked for the one at the centre."""
    column, places = made.domain.column(name), found.centers[:, found.columns.index(name)]
    if isinstance(column, Date):
        return [date_text(round(float(p))) for p in places]
    if not isinstance(column, Categorical):
        return [float(p) for p in places]
    codes = np.clip(np.floor(places), 0, len(column.categories) - 1).astype(int)
    return [category_text(column.categories[code]) for code in codes]


def weighed(made: Synopsis, found: ClusterResult) -> str:
    """Say how many rows the clusters stand for, and of how many; never one number in place of the other."""
    held = float(found.weights.sum())
    rows = max(made.total, 0.0)
    if abs(held - rows) < 1:
        return f"{len(found.centers)} centres, about {rows:,.0f} rows"
    return f"{len(found.centers)} centres, holding {held:,.0f} of about {rows:,.0f} rows"


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
        "categories": categories,
        "rows": made.total,
        "rows_in_clusters": float(found.weights.sum()),
        "rows_unlisted": None if made.unlisted is None else made.unlisted.to_dict(),
        "note": found.note,
        "warnings": list(made.warnings),
        "epsilon": made.guarantee.to_dict()["epsilon"],
        "seeded": made.guarantee.seeded,
        "file": None if output is None else str(output),
    }
