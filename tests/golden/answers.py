"""Questions to every golden file: the same when it was written and in every later version.

Only questions whose answers a reader of an old file relies on: what it promises, that its seal holds, what it counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pa_csv

import discreet as dc
from discreet.core.output.files import promise_place
from discreet.jobs.work.audit import examine

HERE = Path(__file__).parent
COLOURS = ["red", "green", "blue", "pink", "grey"]
WORDS = ["ab", "ba", "abc"]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(v) for v in value.tolist()]
    if isinstance(value, (float, np.floating)):
        return float(f"{float(value):.12g}")
    return value


def _promise(found: Any) -> dict[str, Any]:
    """The promise in the words that never change: numbers, model, digest."""
    facts = found.to_dict()
    return {
        "model": facts["model"],
        "epsilon": str(facts["epsilon"]),
        "delta": facts["delta"],
        "digest": facts["digest"],
        "seeded": facts["seeded"],
        "neighbours": facts["neighbours"],
        "ledger": [line["label"] for line in facts["ledger"]],
    }


def synopsis(path: Path) -> dict[str, Any]:
    made = dc.Synopsis.load(path)
    audit = examine(path)
    first = made.domain.columns[0]
    middle = (first.low + first.high) / 2
    half = made.count(**{first.name: (first.low, middle)})
    marginal = made.marginal(first.name, bins=4) if first.kind == "numeric" else made.marginal(first.name)
    return {
        "audit": audit.passed,
        "kind": audit.kind,
        "promise": _promise(made.guarantee),
        "leaves": made.n_leaves,
        "total": _plain(made.total),
        "hidden": None if made.hidden is None else [made.hidden.n_cells, made.hidden.cutoff],
        "tree": None if made.tree is None else True,
        "half": [_plain(half.value), _plain(half.noise_error)],
        "marginal": _plain(np.asarray(marginal.counts, dtype=float)),
        "points": _plain(np.asarray(made.points, dtype=float).sum(axis=0)),
        "sample": made.sample(5, rng=1).to_pylist()[0].keys().__len__(),
    }


def reports(path: Path) -> dict[str, Any]:
    loaded = dc.local.Reports.from_bytes(path.read_bytes())
    counts = loaded.mechanism.aggregate(loaded)
    return {
        "audit": examine(path).passed,
        "reports": len(loaded),
        "mechanism": loaded.mechanism.to_dict(),
        "bytes": loaded.to_bytes() == path.read_bytes(),
        "counts": counts.to_bytes() == path.with_suffix(".counts").read_bytes(),
    }


def counts(path: Path) -> dict[str, Any]:
    loaded = dc.local.Counts.load(path)
    m = loaded.mechanism
    facts = {
        "audit": examine(path).passed,
        "n": loaded.n,
        "promise": _promise(m.guarantee),
        "bytes": loaded.to_bytes() == path.read_bytes(),
    }
    if isinstance(m, (dc.local.MeanResponse, dc.local.MeanVector)):
        found = m.estimate(loaded)
        facts["mean"], facts["std_error"] = _plain(np.atleast_1d(found.mean)), _plain(np.atleast_1d(found.std_error))
    elif isinstance(m, dc.local.SquareWave):
        facts["mean"] = _plain(m.estimate(loaded).mean)
    elif isinstance(m, (dc.local.FragmentPuzzle, dc.local.PrefixExtension)):
        facts["estimate"] = _plain(np.asarray(m.estimate(loaded, WORDS).count))
    else:
        asked = COLOURS if not isinstance(getattr(m, "domain", None), int) else None
        found = m.estimate(loaded, asked)
        facts["estimate"], facts["std_error"] = _plain(found.count), _plain(found.std_error)
    return facts


def bitmap(path: Path) -> dict[str, Any]:
    loaded = dc.local.FlippedBitmap.load(path)
    return {
        "audit": examine(path).passed,
        "promise": _promise(loaded.guarantee),
        "bytes": loaded.to_bytes() == path.read_bytes(),
        "parameters": loaded.parameters.to_dict(),
        "ones": int(np.bitwise_count(loaded.rows).sum()),
        "estimate": round(loaded.estimate().count),
    }


def table(path: Path) -> dict[str, Any]:
    audit = examine(path)
    promise = dc.Guarantee.from_json(promise_place(path).read_text(encoding="utf-8"))
    read = pa_csv.read_csv(path)
    facts = {
        "audit": audit.passed,
        "kind": audit.kind,
        "sealed": promise.verify(path.read_bytes()),
        "promise": _promise(promise),
        "rows": read.num_rows,
        "columns": read.column_names,
    }
    if promise.model == "syntactic" and "age" in read.column_names and "sample" not in path.name:
        measured = dc.anonymity.risk(read, ["age", "town", "hours"], ["illness"])
        facts["risk"] = {"k": measured.k, "classes": measured.classes, "marketer": _plain(measured.marketer)}
    return facts


def guarantee(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    promise = dc.Guarantee.from_json(text)
    return {"promise": _promise(promise), "bytes": promise.to_json(indent=2) + "\n" == text}


def user_ledger(path: Path) -> dict[str, Any]:
    kept = dc.metric.UserLedger.load(path)
    return {"spent": _plain(kept.spent([1, 2, 3])), "today": _plain(kept.spent([1, 2, 3], period="monday"))}


def report_ledger(path: Path) -> dict[str, Any]:
    kept = dc.local.ReportLedger.from_json(path.read_text(encoding="utf-8"))
    left = kept.remaining("words", period="monday")
    return {"spent": float(kept.spent()), "left": float(left), "same": kept.to_json() + "\n" == path.read_text()}


def schema(path: Path) -> dict[str, Any]:
    declared = dc.Domain.from_toml(path)
    columns = [[c.name, c.kind, c.role, c.missing, [float(c.low), float(c.high)]] for c in declared.columns]
    return {"columns": columns, "round": dc.Domain.from_toml(declared.to_toml()) == declared}


def centers(path: Path) -> dict[str, Any]:
    read = pa_csv.read_csv(path)
    return {"columns": read.column_names, "rows": read.num_rows}


def risk(path: Path) -> dict[str, Any]:
    """A stored measurement, measured again."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    again = dc.anonymity.risk(pa_csv.read_csv(HERE / facts["of"]), facts["quasi_identifiers"], facts["sensitive"])
    now = json.loads(json.dumps(again.to_dict()))
    return {name: now.get(name) == value for name, value in facts["report"].items()}


ASK: dict[str, Callable[[Path], dict[str, Any]]] = {
    "synopses/*.parquet": synopsis,
    "local/*.reports": reports,
    "local/*.counts": counts,
    "local/*.bitmap": bitmap,
    "tables/*.csv": table,
    "guarantees/*.json": guarantee,
    "ledgers/user-*.json": user_ledger,
    "ledgers/report-*.json": report_ledger,
    "schemas/*.toml": schema,
    "clusters/*.csv": centers,
    "risk/*.json": risk,
}


def files(root: Path = HERE) -> list[tuple[str, Callable[[Path], dict[str, Any]]]]:
    """Every golden file with its questions."""
    return [(p.relative_to(root).as_posix(), ask) for pattern, ask in ASK.items() for p in sorted(root.glob(pattern))]
