"""Release a combination: through the job where the table is a file, through the estimator where it is in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

import command_line
import discreet as dc
from discreet import anonymity
from discreet.jobs import Job
from discreet.reporting import verify
from discreet_studies.as_published.ordered import OrderedMicroaggregation
from second_reader.drawing import Made, write_promised
from together.factors import CELLS, PERSONS, SYNOPSES, TABLES
from together.people import FILES, ILLS, MARKS, NOTES, SOURCES, TOWNS, Row, later, people, soiled

K = 3
EPSILON, DELTA, RHO = 1, 1e-6, 0.1
KEY = b"a secret key of many bytes"
#: What accounts may spend.
LIMIT = {"epsilon": 9, "delta": 1e-5}
_SHAPE: dict[str, dict[str, Any]] = {
    "grid": {"rule": 2},
    "tree": {"max_depth": 3, "partitioner": "median"},
    "marginals": {},
    "k-means": {"n_clusters": 2, "n_init": 1},
}
_LEVELS = {"age": 7, "pay": 7, "town": 1}
_JOBS = {
    "grid": "synopsis", "tree": "synopsis", "marginals": "synthesize", "k-means": "cluster", "perturb": "perturb",
    "oracle": "sketch", "distinct": "distinct", **dict.fromkeys((*TABLES, "sampled"), "anonymize"),
}  # fmt: skip


@dataclass
class Released:
    """One release: what was made of which rows, and files that hold it."""

    made: Made
    path: Path
    table: list[Row]


@dataclass
class Done:
    """All that came of a combination, and what only the test knows."""

    given: dict[str, str]
    releases: list[Released] = field(default_factory=list)
    #: What the account says was spent, exactly, and its file.
    spent: str | None = None
    account: Path | None = None
    #: Words and pages of the checks that were made afterwards.
    shown: list[str] = field(default_factory=list)
    held: bool = True
    #: The sentence with which a second release of these rows was refused.
    refusal: str = ""


def domain(given: dict[str, str]) -> dc.Domain:
    """Declare the columns of a combination."""
    method, option = given["method"], given["option"]
    columns: dict[str, Any] = {
        "name": {"categories": ["any"], "role": "identifier"},
        "age": {"bounds": [0, 120]},
        "pay": {"bounds": [0, 100]},
        "town": {"categories": TOWNS},
    }
    if method in (*TABLES, "sampled"):
        for name in ("age", "pay", "town"):
            columns[name]["role"] = "quasi-identifier"
    if method in TABLES:
        columns["ill"] = {"categories": ILLS, "role": "sensitive"}
    if option in ("keep", "escape") and method != "sampled":
        columns["note"] = {"categories": NOTES}
    unit: Any = None
    if given["unit"] in PERSONS:
        columns["who"] = {"bounds": [0, 2**40], "role": "person"}
        unit = None if method in TABLES else dc.Person("who", rows=3)
    source = {"delimiter": ";", "decimal": ","} if given["source"] == "german csv" else None
    return dc.Domain(columns, unit=unit, source=source)


def run(given: dict[str, str], folder: Path) -> Done:
    """Release a combination, once or twice, and check it afterwards."""
    done, rows = Done(given), soiled(people(), given["cells"], given["unit"])
    ledger = _ledger(given, folder)
    done.account = folder / "people.account" if given["account"] == "account" else None
    tables = [rows] if given["second"] == "none" else [rows, later(rows, given["second"])]
    for number, dirty in enumerate(tables):
        place = folder / f"{number}"
        place.mkdir()
        data = SOURCES[given["source"]](dirty, folder / f"in-{number}")
        followed = given["second"] != "none" and given["method"] in CELLS
        history = (
            folder / "people.history" if followed or (number and given["method"] in (*TABLES, "sampled")) else None
        )
        try:
            done.releases.append(_release(given, data, dirty, ledger, place, history))
        except dc.errors.InvalidArgument as error:
            # Where no merging of cells hides who changed, a second release is refused, and that is right. Under
            # "suppress" rows are left out instead; which of them is not in the bytes that the second reader has.
            if not (number and given["method"] in CELLS):
                raise
            done.refusal = str(error)
    if ledger is not None:
        done.spent = str(ledger.spent.exact)
    for released in done.releases:
        _check(given, released, done)
    return done


def _ledger(given: dict[str, str], folder: Path) -> Any:
    if given["account"] == "none":
        return None
    limit: dict[str, Any] = {"rho": 1, "delta": 1e-5} if given["option"] == "rho" else LIMIT
    if given["account"] == "ledger":
        return dc.Ledger(**limit)
    unit = dc.Person("who", rows=3) if given["unit"] in PERSONS else "row"
    if given["method"] == "distinct" and given["unit"] in PERSONS:
        unit = dc.Person("who", rows=2)
    return dc.Account.create(folder / "people.account", dataset="people", unit=unit, **limit)


def _release(
    given: dict[str, str], data: Any, rows: list[Row], ledger: Any, place: Path, history: Path | None
) -> Released:
    method, option = given["method"], given["option"]
    by_job = (
        method in _JOBS
        and given["source"] in FILES
        and given["output"] != "memory"
        and given["account"] != "ledger"
        and not (method == "marginals" and option == "rho")
    )
    made, path = (_by_job if by_job else _by_estimator)(given, data, ledger, place, history)
    promise = made.pop("promise")
    said: tuple[str, ...] = ()
    if made["kind"] not in ("answer", "centers", "moments", "bitmap"):
        facts = dc.reporting.report_facts(made.pop("report", path))
        said = (*facts["promise"]["plain"], *facts["promise"]["symbols"], *facts["warnings"])
        assert facts["checks"]["seal"] == "intact"
    words = str(promise)
    payload = made.pop("payload", None) or path.read_bytes()
    extra = {"given": given, "option": option, **made.pop("extra", {})}
    return Released(
        Made(0, made["kind"], path.suffix, payload, promise.to_json(), words, said, rows=len(rows),
            secrets=MARKS, extra=extra, sorted_by="age" if made["kind"] == "noisy" else None),
        path, rows,
    )  # fmt: skip


def _budget(option: str) -> dict[str, Any]:
    return {"plain": {"epsilon": EPSILON}, "delta": {"epsilon": EPSILON, "delta": DELTA},
            "rho": {"rho": RHO, "delta": DELTA}}.get(option, {"epsilon": EPSILON})  # fmt: skip


# ---- the door of programs


def _by_estimator(
    given: dict[str, str], data: Any, ledger: Any, place: Path, history: Path | None
) -> tuple[dict[str, Any], Path]:
    method, declared, suffix = given["method"], domain(given), "csv" if given["output"] == "memory" else given["output"]
    listed = method in (*TABLES, "perturb", "oracle") and isinstance(ledger, dc.Account)
    paid = {} if ledger is None or listed else {"ledger": ledger}
    account = ledger if listed else None
    budget = {**_budget(given["option"]), **paid}
    if method in SYNOPSES:
        return _synopsis(given, declared, budget, data, place)
    if method == "lloyd":
        model = dc.DPLloyd(2, domain=declared, n_iter=2, **_more(given), **budget).fit(data)
        if given["output"] != "memory":
            model.save(place / f"centers.{suffix}")
        path = place / "centers.guarantee.json"
        path.write_text(model.guarantee_.to_json())
        held = {"payload": model.cluster_centers_.tobytes(), "kind": "centers", "promise": model.guarantee_}
        return held, path
    if method == "regression":
        model = dc.PrivateLinearRegression(domain=declared, target="age", **_more(given), **budget).fit(data)
        if given["output"] != "memory":
            model.save(place / f"moments.{suffix}")
        path = place / "moments.guarantee.json"
        path.write_text(model.guarantee_.to_json())
        return {"payload": model.moments_.values.tobytes(), "kind": "moments", "promise": model.guarantee_}, path
    if method == "session":
        session = dc.QuerySession(data, ledger, domain=declared, **_more(given))
        keys = {"by": "note", "keys": "private", "delta": DELTA} if given["option"] == "delta" else {}
        answer = session.histogram("town", epsilon=EPSILON, **keys)
        if given["output"] != "memory":
            answer.save(place / f"answer.{suffix}")
        path = place / "answer.guarantee.json"
        path.write_text(answer.guarantee.to_json())
        extra = {"labels": answer.labels, "values": answer.value.tolist()}
        return {"kind": "answer", "promise": answer.guarantee, "extra": extra}, path
    if method == "ordered":
        shape = {"n_rows": 120, "columns": ["age", "pay"]}
        model = OrderedMicroaggregation(12, EPSILON, declared, **shape, **paid, **_more(given)).fit(data)
        path = place / f"ordered.{suffix}"
        model.save(path)
        return {"kind": "means", "promise": _promise(path)}, path
    if method == "perturb":
        return _perturb(given, declared, data, place / f"noisy.{suffix}", paid, account)
    if method in ("oracle", "distinct"):
        return _column(given, data, place, paid, account)
    return _anonymous(given, declared, data, place / f"table.{suffix}", history, paid, account)


def _more(given: dict[str, str]) -> dict[str, Any]:
    """Return the name that the option would have, for methods without it."""
    return {"delta": {"delta": DELTA} if given["method"] == "ordered" else {},
            "rho": {"rho": RHO} if given["method"] in ("session", "ordered") else {},
            "l": {"l_diversity": 2}, "t": {"t_closeness": 0.5},
            "suppress": {"suppress": 0.3}, "keep": {"keep": ["note"]},
            "blanks": {"blanks": True}, "most rows": {"most_rows": 2},
            "escape": {"escape_formulas": True}, "hash": {"identifiers": "hash"}}.get(given["option"], {})  # fmt: skip


def _synopsis(
    given: dict[str, str], declared: dc.Domain, budget: dict[str, Any], data: Any, place: Path
) -> tuple[dict[str, Any], Path]:
    method, extra = given["method"], {}
    kinds: dict[str, Any] = {
        "grid": dc.GridSynopsis, "tree": dc.TreeSynopsis, "marginals": dc.MarginalSynopsis, "k-means": dc.PrivateKMeans
    }  # fmt: skip
    model = kinds[method](domain=declared, **budget, **_SHAPE[method]).fit(data)
    found = model.synopsis_
    path = place / "synopsis.parquet"
    found.save(path)
    if method == "marginals":
        extra["rows"] = found.sample(50).to_pylist()
    if method == "k-means":
        extra["centers"] = model.cluster_centers_.tolist()
    kind = "marginals" if method == "marginals" else "synopsis"
    return {"kind": kind, "promise": found.guarantee, "extra": extra}, path


def _perturb(
    given: dict[str, str], declared: dc.Domain, data: Any, path: Path, paid: dict[str, Any], account: Any
) -> tuple[dict[str, Any], Path]:
    noise = dc.metric.NDLaplace(EPSILON, 0.1, declared, category_epsilon=1)
    held = None if account is None else account.reserve("perturb", promise=noise.fit().guarantee_)
    escaped = {"escape_formulas": True} if given["option"] == "escape" else {}
    if given["output"] != "memory" or escaped:
        promise = noise.transform_file(data, path, **escaped, **paid, booking=held).guarantee
        return {"kind": "noisy", "promise": promise}, path
    found = noise.transform(data, **paid)
    promise = write_promised(path, _as_arrow(found), noise.guarantee_)
    if held is not None:
        held.book(promise)
    return {"kind": "noisy", "promise": promise}, path


def _as_arrow(found: Any) -> pa.Table:
    if isinstance(found, pa.Table):
        return found
    if isinstance(found, list):
        return pa.Table.from_pylist(found)
    return found.to_arrow() if hasattr(found, "to_arrow") else pa.Table.from_pandas(found, preserve_index=False)


def _values(data: Any, name: str) -> list[Any]:
    """The column as a program has it."""
    if isinstance(data, Path):
        return [None if v is None else str(v) for v in _cells_of(data, name)]
    if isinstance(data, list):
        return [row[name] for row in data]
    return data[name].to_pylist() if isinstance(data, pa.Table) else data[name].to_list()


def _cells_of(path: Path, name: str) -> list[Any]:
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)[name].to_pylist()
    if path.suffix == ".xlsx":
        import openpyxl

        head, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
        return [row[head.index(name)] for row in rows]
    mark = ";" if b";" in path.read_bytes().split(b"\n")[0] else ","
    options = pa_csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    return pa_csv.read_csv(path, pa_csv.ReadOptions(), pa_csv.ParseOptions(delimiter=mark), options)[name].to_pylist()


def _column(
    given: dict[str, str], data: Any, place: Path, paid: dict[str, Any], account: Any
) -> tuple[dict[str, Any], Path]:
    if given["method"] == "oracle":
        oracle = dc.local.DirectResponse(EPSILON, TOWNS)
        if account is not None:
            account.reserve("oracle", promise=oracle.guarantee).book(oracle.guarantee)
        counts = oracle.aggregate(oracle.encode(_values(data, "town"), **paid))
        path = place / "counts.bin"
        counts.save(path)
        return {"kind": "counts", "promise": counts.guarantee}, path
    persons = _values(data, "who") if given["unit"] in PERSONS else None
    sketch = dc.local.DistinctSketch(EPSILON, 64, 4, items=2 if persons else None, key=7)
    bitmap = sketch.sketch(_values(data, "town"), persons, **paid)
    path = place / "bitmap.bin"
    bitmap.save(path)
    return {"kind": "bitmap", "promise": bitmap.guarantee}, path


def _model(given: dict[str, str], declared: dc.Domain, paid: dict[str, Any]) -> Any:
    option = given["option"]
    rules = {
        "l": {"l_diversity": 2}, "t": {"t_closeness": 0.5}, "suppress": {"suppress": 0.3},
        "blanks": {"blanks": True, "suppress": 0.3}, "most rows": {"most_rows": 2},
    }.get(option, {})  # fmt: skip
    if "note" in declared.names:
        rules["keep"] = ["note"]
    method = given["method"]
    if method == "sampled":
        delta = {"delta": 1e-5 if option == "delta" else 1e-6}
        return anonymity.SampledGeneralization(20, 0.5, **delta, domain=declared, levels=_LEVELS, **paid)
    if method == "generalization" and option not in ("suppress", "blanks"):
        rules["suppress"] = 0.0
    kinds = dict(zip(TABLES, (anonymity.DensityTree, anonymity.Mondrian, anonymity.Generalization,
        anonymity.Microaggregation), strict=True))  # fmt: skip
    if method in CELLS and given["second"] != "none":
        rules["on_conflict"] = "merge"
    return kinds[method](K, domain=declared, **rules, **paid)


def _anonymous(
    given: dict[str, str],
    declared: dc.Domain,
    data: Any,
    path: Path,
    history: Path | None,
    paid: dict[str, Any],
    account: Any,
) -> tuple[dict[str, Any], Path]:
    model, escaped = _model(given, declared, paid), {"escape_formulas": True} if given["option"] == "escape" else {}
    if given["method"] == "sampled":
        if history:
            model.fit_transform(data, history=history)
        if given["output"] == "memory":
            model.fit(data).release_.save(path, **escaped)
        else:
            model.release_file(data, path, **escaped)
        return {"kind": "drawn", "promise": _promise(path)}, path
    hashed: dict[str, Any] = {"identifiers": "hash", "key": KEY} if given["option"] == "hash" else {}
    earlier = {"history": history} if history else {}
    asked = dc.Guarantee("syntactic", parameters={"required": {"k": K}})
    held = {} if account is None else {"booking": account.reserve("table", promise=asked)}
    release = model.fit_transform(data, **hashed, **earlier)
    release.save(path, **escaped, **held)
    return {"kind": "table", "promise": _promise(path)}, path


def _promise(path: Path) -> dc.Guarantee:
    return dc.Guarantee.from_json(path.with_name(f"{path.name}.guarantee.json").read_text())


# ---- the door of jobs


def _by_job(
    given: dict[str, str], data: Path, ledger: Any, place: Path, history: Path | None
) -> tuple[dict[str, Any], Path]:
    method, option, suffix = given["method"], given["option"], given["output"]
    kind = _JOBS[method]
    parameters: dict[str, Any] = {} if kind == "anonymize" else _budget(option)
    outputs: dict[str, str] = {"release": "release.parquet"}
    target = place / "release.parquet"
    parameters |= _option(given, place)
    if given["account"] == "account":
        parameters["account"] = str(place.parent / "people.account")
    if kind in ("synopsis", "cluster", "synthesize"):
        parameters |= _SHAPE[method]
    if kind == "synopsis":
        parameters["method"] = method
    elif kind == "synthesize":
        outputs["table"] = f"rows.{suffix}"
    elif kind == "cluster":
        outputs["centers"] = f"centers.{suffix}"
    elif kind == "perturb":
        parameters |= {"radius": 0.1, "category_epsilon": 1}
        outputs["release"] = f"noisy.{suffix}"
    elif kind == "anonymize":
        parameters |= {"k": K, "method": "density-tree" if method == "density tree" else method}
        outputs["release"] = f"table.{suffix}"
        if method == "sampled":
            sampled = {"method": "generalization", "sample": 0.5, "k": 20, "level": _LEVELS}
            parameters |= {**sampled, **({"delta": 1e-5} if option == "delta" else {})}
        if method == "generalization":
            parameters.setdefault("suppress", 0.0)
        if history:
            parameters["history"] = str(history)
        if history and method in CELLS:
            parameters["on_conflict"] = "merge"
    elif kind == "sketch":
        parameters |= {"column": "town", "mechanism": "direct-response", "domain": TOWNS}
        outputs = {"release": "reports.bin", "counts": "counts.bin", "estimates": f"estimates.{suffix}"}
        if given["unit"] in PERSONS:
            parameters["person"] = "who"
    else:
        parameters |= {"column": "town", "key": 7, "buckets": 64, "levels": 4}
        parameters |= {"persons": "who", "items": 2} if given["unit"] in PERSONS else {}
        outputs["release"] = "bitmap.bin"
    target = place / outputs.get("counts", outputs["release"])
    declared = None if kind == "sketch" else domain(given)
    done = Job(kind, str(data), declared, parameters, outputs, place).run()
    return _of_job(kind, done, target, place)


def _of_job(kind: str, done: Any, target: Path, place: Path) -> tuple[dict[str, Any], Path]:
    others = [path for path in place.iterdir() if path != target and path.name.split(".")[0] in ("rows", "centers")]
    extra: dict[str, Any] = {
        "files": {path.name: path.read_bytes() for path in others if path.suffix != ".json"},
        "promises": {path.name.partition(".g")[0]: json.loads(path.read_text()) for path in others
                     if path.suffix == ".json"},
    }  # fmt: skip
    if kind == "sketch":
        return {"kind": "counts", "promise": done.guarantee}, target
    name = {"distinct": "bitmap", "perturb": "noisy", "synthesize": "marginals", "anonymize": "table"}
    found = name.get(kind, "synopsis")
    if kind == "anonymize":
        promise = _promise(target)
        if promise.model == "central":
            found = "drawn"
        return {"kind": found, "promise": promise}, target
    return {"kind": found, "promise": done.guarantee, "extra": extra}, target


def _option(given: dict[str, str], place: Path) -> dict[str, Any]:
    key = place / "secret.txt"
    if given["option"] == "hash":
        key.write_bytes(KEY)
    option = given["option"]
    extra = {"l": {"l": 2}, "t": {"t": 0.5}, "suppress": {"suppress": 0.3}, "escape": {"escape_formulas": True},
             "blanks": {"blanks": True, **({"suppress": 0.3} if given["method"] in CELLS else {})},
             "most rows": {"most_rows": 2}, "hash": {"hash_key": str(key)},
             "keep": {"keep": ["note"]}}.get(option, {})  # fmt: skip
    if given["method"] in TABLES and option in ("keep", "escape"):
        extra["keep"] = ["note"]
    if _JOBS[given["method"]] == "anonymize" and option in ("delta", "rho") and given["method"] != "sampled":
        extra |= {option: DELTA if option == "delta" else RHO}
    if given["method"] == "sampled" and option == "rho":
        extra["rho"] = RHO
    return extra


# ---- checks afterwards


def _check(given: dict[str, str], released: Released, done: Done) -> None:
    after, path = given["after"], released.path
    if after == "nothing":
        return
    parameters: dict[str, Any] = {}
    outputs: dict[str, str] = {}
    if after == "ask":
        parameters["question"] = "age between 30 and 50"
    if after == "risk":
        if released.made.kind in ("table", "drawn", "noisy", "means"):
            quasi = json.loads(released.made.promise)["parameters"].get("quasi_identifiers")
        else:
            quasi = None
        parameters["qi"] = quasi or ["age", "pay"]
    if after == "report":
        outputs["report"] = "page.html"
    if after == "audit":
        outputs["html"] = "audit.html"
    if given["output"] == "csv":
        done.held &= _command(after, path, parameters, outputs, done)
    else:
        _job(after, path, parameters, outputs, done)
    if after == "report":  # file and page together, as somebody who receives both checks them
        found = verify([path], path.parent / "page.html")
        wrong = [a for a in found.answers if a.holds is False and a.name != "seed"]
        assert not wrong, (given, wrong)


def _job(after: str, path: Path, parameters: dict[str, Any], outputs: dict[str, str], done: Done) -> None:
    """Check by a job."""
    found = Job(after, str(path), None, parameters, outputs, path.parent).run()
    done.held = done.held and not found.failed
    done.shown.append(repr(found.figures))
    done.shown += [(path.parent / name).read_text() for name in outputs.values()]


def _command(verb: str, path: Path, parameters: dict[str, Any], outputs: dict[str, str], done: Done) -> bool:
    """Check by the command line, in this process; a refusal there is one here."""
    words = [verb, str(path), *([parameters["question"]] if verb == "ask" else [])]
    words += ["--qi", ",".join(parameters["qi"])] if verb == "risk" else []
    for name, target in outputs.items():
        words += ["-o" if name == "report" else f"--{name}", str(path.parent / target)]
    result = command_line.run(*words, catch=True)
    if result.exception is not None and not (isinstance(result.exception, SystemExit) and result.exit_code == 1):
        raise result.exception
    done.shown.append(result.output)
    done.shown += [(path.parent / name).read_text() for name in outputs.values()]
    return result.exit_code == 0
