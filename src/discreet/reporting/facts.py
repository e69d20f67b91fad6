"""Facts about an artifact as plain data, for the page and for programs.

Everything comes from the artifact and its guarantee, which may be published. The exception is the comparison with the
raw table, which the user must ask for and which is marked as not private.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import anonymity, local
from discreet._version import __version__
from discreet.anonymity.risk import PROMISE_KEY, loss_of, one_of_each
from discreet.core import (
    NAMING,
    Categorical,
    Code,
    Column,
    Date,
    Domain,
    Guarantee,
    Line,
    Time,
    category_text,
    checks,
    day_number,
    even_edges,
    found_at_most,
    payload_of,
    person_column,
    plural,
    promise_place,
    promises_nothing,
    refuse_later,
    round_marks,
    second_number,
    unit_noun,
)
from discreet.engines import open as open_table
from discreet.engines.readers import read_columns
from discreet.errors import DataSourceError, DiscreetError, FormatError, InvalidArgument, SchemaError
from discreet.reporting import views, words
from discreet.reporting.artifacts import kind_of
from discreet.reporting.clusters import against_raw, of_release
from discreet.reporting.fitness import fitness
from discreet.reporting.verdict import Findings, examine
from discreet.synopses import CenterSynopsis, ModelSynopsis, Synopsis

_BINS = 24
#: Synthetic rows for the comparison.
_FEWEST_ROWS, _MOST_ROWS = 100, 100_000
#: Most answers shown.
_MOST_ANSWERS = 200
#: Most frequencies shown.
_MOST_CANDIDATES = 30


def report_facts(
    artifact: str | Path | Findings,
    *,
    against: Any = None,
    target: str | None = None,
    attacks: Sequence[str | Path] = (),
    audits: Sequence[str | Path] = (),
    candidates: Sequence[Any] | None = None,
    clusters: Mapping[str, Any] | None = None,
    account: Mapping[str, Any] | None = None,
    behind: str | Path | Findings | None = None,
) -> dict[str, Any]:
    """Collect the facts about a released file.

    Parameters
    ----------
    artifact : path
        A synopsis (Parquet), counts of local reports, or a table with its promise (``<name>.guarantee.json``). A file
        that was examined is not examined again.
    against : table or path, optional
        The raw table: adds a comparison, which is *not private*. See `discreet.evaluation.compare_tables`.
    target : str, optional
        With ``against``: the column to predict from the release and from raw rows.
    attacks, audits : list of path
        Results of ``discreet attack --json`` and ``discreet audit --json`` to show.
    candidates : list, optional
        For counts: the values whose frequencies to show.
    clusters : mapping, optional
        For a synopsis: centres as ``discreet cluster --json`` gives them. A release in many dimensions has its own.
    account : mapping, optional
        The account after this release, as ``--json`` gives it: adds what it holds.
    behind : path, optional
        For synthetic rows: the synopsis that they were drawn from, which is described with them.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> synopsis = dc.GridSynopsis(1.0, (0, 1), 4).fit(np.full((50, 2), 0.5)).synopsis_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     synopsis.save(Path(folder) / "s.parquet")
    ...     facts = report_facts(Path(folder) / "s.parquet")
    >>> facts["kind"], facts["promise"]["epsilon"], facts["checks"]["seal"]
    ('synopsis', 1.0, 'intact')
    """
    if target is not None and against is None:
        raise InvalidArgument("against", None, "the raw table, given with target", 'against="people.csv"')
    found = _examined(artifact)
    path = found.path
    kind, guarantee, release, thing = _open(path, found, candidates)
    model: dict[str, Any] | None = None
    if behind is not None:
        source = _examined(behind)
        _, _, drawn, thing = _open(source.path, source, None)
        found.checks += [check for check in source.checks if check.holds is False]
        release = {**drawn, "handed_out": release["rows"]}
        model = {"file": source.file, "digest": thing.digest}
    payload = b"".join(payload_of(path))
    declared = {} if guarantee.domain is None else guarantee.domain.to_dict()
    facts = {
        "format": "discreet.report",
        "format_version": 1,
        "file": path.name,
        "bytes": len(payload),
        "file_sha256": hashlib.sha256(payload).hexdigest(),
        "kind": kind,
        "checks": found.summary(),
        "promise": {
            "whole_row_epsilon": words.whole_level(guarantee),
            "model": guarantee.model,
            "epsilon": None if guarantee.epsilon is None else float(guarantee.epsilon),
            "rho": None if guarantee.rho is None else float(guarantee.rho),
            "delta": guarantee.delta,
            "unit": guarantee.unit,
            "neighbours": guarantee.neighbours,
            "plain": words.for_lawyers(guarantee),
            "symbols": words.for_experts(guarantee),
        },
        "ledger": list(_steps(guarantee.ledger, guarantee.accounting)),
        "assumptions": list(guarantee.assumptions),
        "columns": [{"name": name, **said} for name, said in declared.items()],
        "parameters": dict(guarantee.parameters),
        "warnings": _warnings(release, thing),
        "doubts": list(thing.doubts) if isinstance(thing, Synopsis) else [],
        "fitness": None,
        "release": release,
        "attacks": [],
        "audits": [each for file in audits for each in _attached(file, "audit")],
        "account": account,
        "behind": model,
        "digest": guarantee.digest,
        "made_by": guarantee.version,
        "reported_by": __version__,
    }
    facts["attacks"] = [each for file in attacks for each in _attached(file, "attack", str(facts["file_sha256"]))]
    if (clusters := of_release(thing) if clusters is None else clusters) is not None:
        names = ("columns", "centers", "weights", "weight_std_errors", "may_be_noise")
        release["clusters"] = {**{name: clusters[name] for name in names}, "suggestion": clusters.get("suggestion")}
    facts["fitness"] = fitness(thing, guarantee, clusters)
    if against is not None:
        # First, to refuse a misread file early.
        compared = facts["comparison"] = _comparison(thing, guarantee, against, target)
        compared |= {} if clusters is None else {"clusters": against_raw(clusters, guarantee.domain, against)}
    return facts


def _examined(file: str | Path | Findings) -> Findings:
    return replace(file, checks=list(file.checks)) if isinstance(file, Findings) else examine(Path(file))


def _warnings(release: dict[str, Any], thing: Any) -> list[str]:
    """Return warnings about the content, from the release alone."""
    if isinstance(thing, Synopsis):
        return list(thing.warnings)
    for name in ("rows", "reports"):
        if release.get(name) == 0:
            return [f"there are no {name}, so nothing was released"]
    return []


def _open(path: Path, found: Findings, candidates: Sequence[Any] | None) -> tuple[str, Guarantee, dict[str, Any], Any]:
    """Return kind, promise, description and content of a checked file."""
    kind = kind_of(path)
    if kind not in ("released table", "counts", "synopsis", "table", "record"):
        raise FormatError(
            f"{path.name} is neither a synopsis nor counts of reports, and there is no {promise_place(path).name} "
            "next to it; a report on a table needs its promise"
        )
    if found.guarantee is None or (found.thing is None and kind != "counts"):
        raise FormatError("; ".join(found.failures))
    guarantee = found.guarantee
    if kind == "counts":
        counts = local.Counts.from_bytes(b"".join(payload_of(path)))
        return "counts of local reports", counts.guarantee, _frequencies(counts, candidates), counts
    if kind != "released table":
        return "synopsis", guarantee, _synopsis(found.thing), found.thing
    if guarantee.model == "syntactic":
        return words.table_kind(guarantee), guarantee, _anonymous(found.thing, guarantee), found.thing
    described = _answers if words.table_kind(guarantee) == "answer" else _perturbed
    return words.table_kind(guarantee), guarantee, described(found.thing, guarantee), found.thing


def _steps(lines: Iterable[Line], unit: str, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the lines of a ledger, parts after their group; parts of a pure group are in ε."""
    for line in lines:
        facts = {"step": line.label, "depth": depth, "composition": str(line.kind), "parts": len(line.parts)}
        yield {**facts, unit: float(line.amount)}
        yield from _steps(line.parts, "epsilon" if line.kind == "pure" else unit, depth + 1)


def _synopsis(synopsis: Synopsis) -> dict[str, Any]:
    elsewhere = synopsis.unlisted
    facts = {
        "leaves": synopsis.n_leaves,
        "rows": max(synopsis.total, 0.0),
        "rows_interval": synopsis.count().interval(0.95),
        "box_rows": float(synopsis.weights.sum()),
        # Rows of a model have no noise of their own.
        "box_rows_std_error": 0.0 if synopsis.modelled else float(np.sqrt(synopsis.variances.sum())),
        "uncut": list(synopsis.uncut),
        "marginals": views.marginals(synopsis),
        "plane": views.plane(synopsis),
    }
    if isinstance(said := synopsis.guarantee.parameters.get("clustering"), str):
        facts["clustering"] = said
    if isinstance(synopsis, ModelSynopsis):
        facts["measured"] = views.measured(synopsis)
    if isinstance(synopsis, CenterSynopsis):
        known = synopsis.lifted
        sizes = {"axes": known.matrix.shape[1], "boxes": len(known.weights), "centres": len(known.centers)}
        facts["lifted"] = {**sizes, "radius": synopsis.guarantee.parameters.get("radius")}
    if synopsis.hidden is not None and elsewhere is not None:
        facts["unlisted"] = {
            "rows": elsewhere.value,
            "std_error": elsewhere.std_error,
            "listed_rows": float(synopsis.weights.sum()),
            "cells": synopsis.hidden.n_cells,
            "cutoff": synopsis.hidden.cutoff,
            "noise_alone": synopsis.hidden.noise_alone,
        }
    return facts


def _anonymous(table: pa.Table, guarantee: Guarantee) -> dict[str, Any]:
    domain = guarantee.domain
    roles = {} if domain is None else {c.name: c.role for c in domain}
    names = table.column_names
    known = {n for n, role in roles.items() if role == "quasi-identifier"}
    known |= set(guarantee.parameters.get("quasi_identifiers", ()))
    # A table of bounds has columns such as age_lower and age_upper.
    quasi = [n for n in names if {n, *(n.removesuffix(end) for end in ("_lower", "_upper", "_set"))} & known]
    sensitive = [n for n in names if roles.get(n) == "sensitive"]
    out: dict[str, Any] = {"rows": table.num_rows, "quasi_identifiers": quasi, "sensitive": sensitive}
    if quasi and table.num_rows and not promises_nothing(guarantee):  # changed values form no groups
        person = person_column(guarantee)
        shown_person = person if person in names and guarantee.parameters.get("identifiers") == "hash" else None
        found = anonymity.risk(_promising(table, guarantee), quasi, sensitive or None, person=shown_person)
        out["risk"] = found.to_dict()
        if person is not None:
            out["risk"] |= _by_persons(out["risk"], guarantee, shown_person)
        kept = [n for n in guarantee.parameters.get("kept", {}).get("columns", ()) if n in names]
        if kept:
            out["risk_with_kept"] = anonymity.risk(table, [*quasi, *kept], person=shown_person).to_dict()
        # Sets of categories are lists, which Arrow does not group by.
        keys = pa.table({n: [str(v) for v in table[n].to_pylist()] if pa.types.is_list(table[n].type) else table[n]
                         for n in quasi})  # fmt: skip
        sizes = keys.group_by(quasi).aggregate([([], "count_all")]).column("count_all").to_numpy()
        edges = np.unique(np.quantile(sizes, np.linspace(0, 1, 12)).astype(int))
        edges = np.append(edges, edges[-1] + 1) if len(edges) > 1 else np.array([edges[0], edges[0] + 1])
        counts, _ = np.histogram(sizes, edges)
        out["classes"] = {
            "labels": [str(a) if b == a + 1 else f"{a} to {b - 1}" for a, b in pairwise(edges.tolist())],
            "counts": counts.tolist(),
        }
    exact = [n for n, role in roles.items() if n in names and n not in quasi and role not in NAMING]
    out["passed_on"] = {n: _occur_once(table[n]) for n in exact}
    out["blank"] = {n: blank for n in sensitive if (blank := _blank(table[n]))}
    out["first_rows"] = [{k: category_text(v) for k, v in row.items()} for row in table.slice(0, 6).to_pylist()]
    return out


def _occur_once(column: pa.ChunkedArray) -> int:
    """Return how many rows have a value that no other row of the release has."""
    return sum(f["counts"] == 1 and f["values"] is not None for f in column.value_counts().to_pylist())


def _blank(column: pa.ChunkedArray) -> int:
    """Return how many rows have no value in a column."""
    return sum(f["counts"] for f in column.value_counts().to_pylist() if f["values"] in (None, ""))


def _promising(table: pa.Table, guarantee: Guarantee) -> pa.Table:
    """Let a table carry its guarantee, which says what its cells stand for."""
    return table.replace_schema_metadata({PROMISE_KEY: guarantee.to_json()})


def _by_persons(risk: dict[str, Any], guarantee: Guarantee, person: str | None) -> dict[str, Any]:
    """Return the risk figures about persons, where k counts them, and where each comes from."""
    reached = dict(guarantee.parameters.get("reached", {}))
    most, called = found_at_most(guarantee), unit_noun(guarantee.unit)
    if person is not None:
        said = f"{plural(called).capitalize()} were counted again by the hashed column {person!r}."
    else:
        said = (
            f"k counts {plural(called)}, but released rows do not show whose they are. So k, the largest share of one "
            f"{called} and the highest risk are those counted when the table was made. Only rows were counted again: "
            f"the smallest group has {risk['k']:,} rows, so it has at most that many {plural(called)}."
        )
    stated = {name: reached.get(name) for name in ("k", "largest_share")}
    worst = risk["prosecutor"]["max"]
    return {
        "counts": "persons",
        "persons": {**stated, "found_at_most": most, "called": called, "recounted": person is not None},
        "rows_of_smallest": risk["k"] if person is None else None,
        "k": reached.get("k", risk["k"]) if person is None else risk["k"],
        "prosecutor": {**risk["prosecutor"], "max": worst if most is None else max(worst, most)},
        "notes": [*risk.get("notes", ()), said],
    }


def _answers(table: pa.Table, guarantee: Guarantee) -> dict[str, Any]:
    """Return what was asked, and the answers: its columns are figures and their errors, not data to draw."""
    facts = guarantee.parameters
    shown = [[str(v) if isinstance(v, (date, time)) else v for v in row.values()]
             for row in table.slice(0, _MOST_ANSWERS).to_pylist()]  # fmt: skip
    asked = {"query": facts.get("query"), "level": facts.get("level")}
    return {"rows": table.num_rows, "answers": {**asked, "columns": table.column_names, "shown": shown}}


def _perturbed(table: pa.Table, guarantee: Guarantee) -> dict[str, Any]:
    marginals: list[dict[str, Any]] = []
    left_out = []
    days = {c.name: c for c in guarantee.domain or () if isinstance(c, (Date, Time))}
    codes = {c.name: c for c in guarantee.domain or () if isinstance(c, Code)}
    for name in table.column_names:
        column = table.column(name) if name not in codes else _prefixes(table.column(name), codes[name])
        if name in days and (facts := _days(column, days[name])) is not None:
            marginals.append(facts)
            continue
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            values = column.to_numpy().astype(np.float64)
            values = values[np.isfinite(values)]
            if not len(values):
                left_out.append({"column": name, "reason": "has no numeric value"})
                continue
            low, high = values.min(), values.max()
            # Few whole numbers get one bar each.
            few = high - low < _BINS and np.array_equal(values, np.round(values))
            counts, edges = np.histogram(values, np.arange(low - 0.5, high + 1) if few else _BINS)
            labels = [words.number(a + 0.5 if few else a) for a in edges[:-1].tolist()]
        else:
            found = column.value_counts().to_pylist()
            found.sort(key=lambda pair: -pair["counts"])
            shown, edges = found[:_MOST_CANDIDATES], None
            labels = [views.NO_VALUE if f["values"] is None else category_text(f["values"]) for f in shown]
            counts = np.array([f["counts"] for f in shown])
        marginals.append(
            {
                "column": name,
                "edges": None if edges is None else edges.tolist(),
                "labels": labels,
                "counts": counts.tolist(),
                "std_errors": None,
            }
        )
    return {"rows": table.num_rows, "marginals": marginals, "left_out": left_out}


def _prefixes(column: pa.ChunkedArray, declared: Code) -> pa.ChunkedArray:
    """Return the prefixes of released codes."""
    edges = even_edges(declared, _BINS)
    places = declared.codes.numbers(column.combine_chunks().cast(pa.large_binary()))
    found = np.clip(np.searchsorted(edges, np.nan_to_num(places), side="right") - 1, 0, len(edges) - 2)
    return pa.chunked_array([pa.array(_labels(declared, edges)).take(pa.array(found, mask=np.isnan(places)))])


def _labels(column: Code, edges: Any) -> list[str]:
    return [column.codes.label(int(a + 0.5), int(b - 0.5)) for a, b in pairwise(edges.tolist())]


def _days(column: pa.ChunkedArray, declared: Date | Time) -> dict[str, Any] | None:
    """Return the distribution of released days or times; None without any."""
    read = day_number if isinstance(declared, Date) else second_number
    values = np.array([d for d in map(read, column.to_pylist()) if d is not None], np.float64)
    if not len(values):
        return None
    low, high = math.floor(values.min()), math.floor(values.max()) + 1
    edges = np.unique(np.round(np.linspace(low, high, min(_BINS, high - low) + 1)))
    texts = [views.mark(declared, place) for place in edges.tolist()]
    return {
        "column": declared.name,
        "edges": edges.tolist(),
        "labels": texts[:-1],
        "ends": [texts[0], texts[-1]],
        "dates": isinstance(declared, Date),
        "marks": round_marks(declared.kind, float(edges[0]), float(edges[-1])),
        "counts": np.histogram(values, edges)[0].tolist(),
        "std_errors": None,
    }


def _frequencies(counts: local.Counts, candidates: Sequence[Any] | None) -> dict[str, Any]:
    out: dict[str, Any] = {"reports": counts.n, "mechanism": counts.mechanism.to_dict()}
    try:
        found: Any = counts.mechanism.estimate(counts, None if candidates is None else list(candidates))
    except (DiscreetError, TypeError) as error:
        unlisted = candidates is None and isinstance(error, InvalidArgument) and error.name == "candidates"
        said = "a sketch does not list its values. Name them with --candidates, or use 'discreet sketch estimate'."
        return out | {"note": f"No frequencies are shown: {said if unlisted else error}"}
    if not hasattr(found, "candidates"):
        return out
    if isinstance(counts.mechanism, local.BitFlip) and counts.mechanism.memoised:
        out["note"] = "Intervals hold for one report per user, because stored responses repeat their noise."
    order = np.argsort(-found.count)[:_MOST_CANDIDATES]
    low, high = found.interval(0.95)
    out["frequencies"] = [
        {"candidate": str(found.candidates[i]), "count": float(found.count[i]), "std_error": float(found.std_error[i]),
         "lower": float(low[i]), "upper": float(high[i])}
        for i in order
    ]  # fmt: skip
    return out


def _comparison(thing: Any, guarantee: Guarantee, against: Any, target: str | None) -> dict[str, Any]:
    """Compare the distribution of each column with the raw one: total variation, and bins of both."""
    if (domain := guarantee.domain) is None:
        raise FormatError("the artifact declares no columns, so it cannot be compared")
    columns: list[dict[str, Any]] = []
    left_out: list[dict[str, str]] = []
    cells, source = thing, open_table(against)
    if isinstance(cells, pa.Table) and "quasi_identifiers" in guarantee.parameters:
        thing = one_of_each(cells, guarantee)
    weighed, weight = against, guarantee.parameters.get("weight")
    if weight and isinstance(thing, Synopsis) and weight["column"] in source.names:
        weighed = _by_weight(source, weight)
    if not set(domain.names) & set(source.names):  # usually a wrong delimiter
        raise SchemaError("the raw table has no column of the release; describe its file with --schema s.toml")
    for column in domain:
        if reason := _not_compared(thing, column, source.names):
            left_out.append({"column": column.name, "reason": reason})
            continue
        if isinstance(column, Categorical):
            edges = np.linspace(column.low, column.high, len(column.categories) + 1)
        else:
            edges = even_edges(column, _BINS)
        before = _counted(open_table(weighed), domain.select([column.name]), edges)
        after = _released(thing, column, edges, domain)
        if after is None or not before.sum() or not np.abs(after).sum():
            empty = "the release" if after is not None and before.sum() else "the raw table"
            reason = "published as intervals or sets" if after is None else f"{empty} has no value for it"
            left_out.append({"column": column.name, "reason": reason})
            continue
        shares = before / before.sum(), np.maximum(after, 0) / max(np.maximum(after, 0).sum(), 1e-12)
        compared: dict[str, Any] = {"labels": [category_text(c) for c in getattr(column, "categories", ())]}
        if isinstance(column, Code):
            compared = {"labels": _labels(column, edges)}
        elif not isinstance(column, Categorical):
            compared = {
                "labels": [views.mark(column, place) for place in edges.tolist()[:-1]],
                "edges": edges.tolist(),
                "marks": views.marks(column),
            }
        columns.append(
            {"column": column.name, **compared, "raw": shares[0].tolist(), "released": shares[1].tolist(),
             "total_variation": float(np.abs(shares[0] - shares[1]).sum() / 2)}
        )  # fmt: skip
    rows = against if domain.weights else weighed  # rows of a model carry their weights
    together = _together(thing, domain, [c["column"] for c in columns], rows, target)
    found = {"private": False, "columns": columns, "left_out": left_out, "together": together}
    quasi = [c.name for c in domain if c.role == "quasi-identifier" and c.name in source.names]
    cut = "quasi_identifiers" in guarantee.parameters  # rows of a model have no cells
    if isinstance(cells, pa.Table) and cut and quasi and set(quasi) <= set(cells.column_names):
        found["information_loss"] = loss_of(_promising(cells, guarantee), quasi, open_table(against))
    return found


def _by_weight(source: Any, weight: Mapping[str, Any]) -> Any:
    """Return as many of the raw rows, each as often as its weight says: a weighted release is compared with them."""
    declared = Domain({weight["column"]: (0.0, weight["most"])})
    found = np.nan_to_num(_values(source, declared))
    places = np.cumsum(np.clip(found, 0.0, weight["most"]))
    chosen = np.searchsorted(places, (np.arange(len(places)) + 0.5) / len(places) * places[-1])
    return open_table(
        read_columns(source, source.names).take(np.minimum(chosen, len(places) - 1)), dialect=source.dialect
    )


def _together(thing: Any, domain: Domain, names: list[str], against: Any, target: str | None) -> dict[str, Any] | None:
    """Compare columns taken together, with the rows of a table or synthetic rows of a synopsis."""
    if target is not None and target not in names:
        near = checks.nearest(target, names) or next(iter(names), "")
        fix = f"target={near!r}" if near else "leaving it out"
        raise InvalidArgument("target", target, "a column that is compared", fix)
    rows = thing if isinstance(thing, pa.Table) else None
    if isinstance(thing, Synopsis) and not isinstance(thing, CenterSynopsis):
        rows = thing.sample(int(min(max(thing.total, _FEWEST_ROWS), _MOST_ROWS)), rng=0)
    if rows is None or not rows.num_rows or not names:
        return None
    from discreet.evaluation import compare_tables  # here: other pages do without classifiers

    # Seeded: the same files give the same page.
    found = compare_tables(against, rows, domain=domain, columns=names, target=target, random_state=0).to_dict()
    return {name: each for name, each in found.items() if name != "information_loss"}  # stated of all columns


def _not_compared(thing: Any, column: Column, names: Sequence[str]) -> str:
    """Return why a column cannot be compared; empty if it can."""
    if column.role in ("identifier", "person"):
        return f"has the role {column.role}"
    if column.name not in names:
        return "is not in the raw table"
    if isinstance(thing, Synopsis) and column.name in thing.uncut:
        return views.NOT_DIVIDED
    if isinstance(thing, pa.Table) and column.name not in thing.column_names:
        return "is not in the release under this name"
    return ""


def _released(thing: Any, column: Any, edges: Any, domain: Domain) -> Any:
    """Return the mass of the release in the bins of one column; None without such a column."""
    if isinstance(thing, Synopsis):
        found = thing.marginal(column.name, None if isinstance(column, Categorical) else edges)
        return np.asarray(found.counts, np.float64)
    if not isinstance(thing, pa.Table) or column.name not in thing.column_names:
        return None
    kind = thing.column(column.name).type
    plain = pa.types.is_floating(kind) or pa.types.is_integer(kind) or not len(thing)
    plain = plain or isinstance(column, (Categorical, Code)) or _plain_days(thing.column(column.name), column)
    if not plain:
        return None  # printed intervals: their rows have no value
    return _counted(open_table(thing.select([column.name])), domain.select([column.name]), edges)


def _plain_days(cells: pa.ChunkedArray, column: Column) -> bool:
    """Return True if every cell of a column of dates or times is one day or time, or empty."""
    read = {Date: day_number, Time: second_number}.get(type(column))
    return read is not None and all(v in (None, "") or read(v) is not None for v in cells.unique().to_pylist())


def _values(source: Any, column: Domain) -> Any:
    """Return the values of one column; none of an empty table."""
    return np.concatenate([np.empty(0), *(batch[0] for batch in source.batches(column))])


def _counted(source: Any, column: Domain, edges: Any) -> Any:
    """Return how many rows have a value in each bin."""
    values = _values(source, column)
    return np.histogram(np.clip(values[~np.isnan(values)], column.low, column.high), edges)[0].astype(float)


def _attached(file: str | Path, what: str, digest: str = "") -> list[dict[str, Any]]:
    try:
        facts = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise DataSourceError(
            f"{what}: {str(file)!r} is not a JSON file; write one with 'discreet {what} --json'"
        ) from None
    refuse_later(f"{what}: {str(file)!r}", facts, 1)
    if (
        not isinstance(facts, dict)
        or facts.get("format", f"discreet.{what}") != f"discreet.{what}"
        or not all(isinstance(each, dict) for each in facts.get("attacks", ()))
    ):
        raise FormatError(f"{what}: {str(file)!r} is not a result of 'discreet {what} --json'")
    if facts.get("file_sha256", digest) != digest:
        raise FormatError(f"{what}: {str(file)!r} is about another file, {facts.get('file')}")
    return each_result(Path(file).name, facts)


def each_result(name: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results in a file by name: one, or one per attack."""
    if not isinstance(found.get("attacks"), list):
        return [{"file": name, "result": found}]
    named = [" of ".join(str(each[key]) for key in ("attack", "column") if key in each) for each in found["attacks"]]
    pairs = zip(named, found["attacks"], strict=True)
    return [{"file": f"{name}: {title}", "result": {**each, "private": False}} for title, each in pairs]
