"""The work of `attack`."""

import hashlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import engines, evaluation, local, metric, noise
from discreet.anonymity.risk import PROMISE_KEY, as_texts, printed_columns
from discreet.core import (
    NAMING,
    Categorical,
    Domain,
    FloatArray,
    Guarantee,
    payload_of,
    persons,
    promise_place,
    released_columns,
    write_whole,
)
from discreet.engines import texts
from discreet.engines.readers import read_columns
from discreet.errors import DiscreetError, DiscreetWarning, FormatError, SchemaError
from discreet.jobs.job import Job, JobResult
from discreet.jobs.kinds.attack import ATTACKS
from discreet.jobs.work.sketch import messages_of, read_values
from discreet.metric import read_rows
from discreet.reporting import kind_of, read_released
from discreet.synopses import CenterSynopsis, ModelSynopsis, Synopsis

#: Columns that are guessed in turn where none is declared sensitive, and rows drawn from a model.
_MOST_SECRETS, _MOST_DRAWN = 8, 20_000


@dataclass(frozen=True)
class _Target:
    """A release to attack: what it is called, its kind and content, its columns, and the law of its noise."""

    called: str
    kind: str
    thing: Any = None
    domain: Domain | None = None
    law: Any = None
    in_order: bool | None = None
    reason: str = ""


def run(job: Job) -> JobResult:
    """Recognise the release and make the attacks that apply, or list them."""
    given = job.parameters
    target = _Target("any release", "") if job.data is None else _recognised(job)
    asked = given.get("method")
    if job.data is not None and asked and target.kind not in ATTACKS[asked][1]:
        fit = next((name for name, (_, kinds, _) in ATTACKS.items() if target.kind in kinds), None)
        raise job.declared.wrong(
            "method", asked, f"an attack on {target.called}", ("method", fit) if fit else "leaving it out"
        )
    listed = [name for name, (_, kinds, _) in ATTACKS.items() if target.kind in ("", *kinds) and asked in (None, name)]
    lacking = {name: why for name in listed if (why := _lacks(job, target, name))}
    facts: dict[str, Any] = {
        "format": "discreet.attack", "format_version": 1, "release": target.called, "private": False,
        "note": "Made from raw records: not for publication.",
        "applicable": [{"attack": n, "question": ATTACKS[n][0], "needs": lacking.get(n, "")} for n in listed],
        "none": target.reason, "attacks": [],
    }  # fmt: skip
    found: list[Any] = []
    if not given.get("list"):
        if asked in lacking:
            text = f"{asked} {lacking[asked]}"
            raise job.declared.refused(lambda say: re.sub(r"--(control|known)", lambda m: say(m[1]), text), SchemaError)
        path = job.place(job.data)
        facts |= {"file": path.name, "file_sha256": hashlib.sha256(b"".join(payload_of(path))).hexdigest()}
        stream = noise.generator(given.get("seed"))
        if target.kind == "table":
            _note_shared(job, target)
        made = {"table": _on_table, "reports": _on_reports}.get(target.kind, _on_numbers)
        for name in listed:
            for each, about in made(job, target, name, stream) if name not in lacking else ():
                found.append((each, about))
                facts["attacks"].append({"attack": each.name, "verdict": each.verdict, **each.to_dict(), **about})
    files = {} if given.get("list") else job.places()
    for place in files.values():
        write_whole(place, json.dumps(facts, indent=1, default=float) + "\n", streams=True)
    return JobResult(job, None, files, facts, found)


def check(job: Job) -> None:
    """Check the schema."""
    if job.schema is not None:
        job.read_domain()


def _lacks(job: Job, target: _Target, name: str) -> str:
    """Return what an attack lacks, in words; empty if it can be made."""
    if "control" in ATTACKS[name][2] and "control" not in job.parameters:
        return "needs a control group (--control): records of similar people who are not in the release"
    if name == "reconstruction" and not job.parameters.get("linked", target.in_order):
        return "needs points in the order of the records, and these are shuffled"
    if name == "linkability" and target.domain is not None and len(_known(job, target)) < 2:
        return "needs two columns that an attacker may know (--known)"
    return ""


def _recognised(job: Job) -> _Target:
    """Return what a file is, from its content and the guarantee in it or next to it."""
    path, given = job.place(job.data), job.parameters
    schema = None if job.schema is None else job.read_domain()
    what = "" if given.get("kind") in ("points", "centers") or not path.exists() else kind_of(path)
    if what in ("counts", "bitmap"):
        said = f"{path.name} holds {'counts of reports' if what == 'counts' else 'a sketch of distinct values'}"
        return _Target("counts of reports", what, reason=f"{said} and no report of a single person: no attack applies.")
    if what == "reports":
        return _Target("reports", what, list(map(local.Reports.from_bytes, messages_of(path))), schema, in_order=True)
    if what == "released table":
        promise = Guarantee.from_json(promise_place(path).read_text(encoding="utf-8"))
        domain = promise.domain if promise.domain is not None else schema
        table = read_released(path, domain).replace_schema_metadata({PROMISE_KEY: promise.to_json()})
        facts = promise.parameters
        if promise.model == "metric" and facts.get("mechanism") == "NDLaplace" and domain is not None:
            columns = _numeric(job, domain)
            law = _law(columns, float(facts["noise_rate"]), facts["radius"], facts["scaling"])
            return _Target("a perturbed table", "points", table, columns, law, facts.get("order") == "input")
        kinds = {"syntactic": "an anonymous table", "central": "a synthetic table"}
        return _Target(kinds.get(promise.model, "a perturbed table"), "table", table, domain)
    if what in ("synopsis", "record") or given.get("kind") == "synopsis":
        made: Any = Synopsis.load(path)
        if isinstance(made, CenterSynopsis):
            return _Target("centres", "centers", made.lifted.centers, made.domain)
        if not isinstance(made, ModelSynopsis):
            return _Target("a synopsis", "synopsis", made, made.domain)
        rows = made.sample(max(min(int(made.total), _MOST_DRAWN), 100), rng=noise.generator(given.get("seed")))
        return _Target("a model, by synthetic rows drawn from it", "table", rows, made.domain)
    if what in ("promise", "promise of a table", "job"):
        raise FormatError(f"{path.name} is a {what}; attack the released file")
    if given.get("kind") == "centers" or "radius" in given:
        columns = _numeric(job, job.read_domain())
        rows = read_rows(job.table(job.data), columns)[0]
        level = {name: given[name] for name in ("epsilon", "radius") if name in given}
        noisy = None
        if "radius" in given:
            noisy = _law(columns, metric.NDLaplace(domain=columns, **level).law.rate, given["radius"], {})
        return _Target("points", "centers" if noisy is None else "points", rows, columns, noisy, len(rows) > 0)
    return _Target("a table without a guarantee", "table", engines.open(job.table(job.data)), schema)


def _numeric(job: Job, domain: Domain) -> Domain:
    declared = released_columns(domain)
    numeric = [c.name for c in declared if not isinstance(c, Categorical)]
    if not numeric:
        raise job.declared.wrong("schema", str(job.schema), "a schema with at least one numeric column", "")
    return declared.select(numeric)


def _law(columns: Domain, rate: float, radius: float, scaling: Mapping[str, Any]) -> metric.NDLaplace:
    """Return the noise on coordinates. Attacks take records as numbers, which a column of dates would not read."""
    plain = Domain({c.name: (c.low, c.high) for c in columns})
    how = scaling.get("matrix", scaling.get("units", "box"))
    return metric.NDLaplace(epsilon=rate * radius, radius=radius, domain=plain, scaling=how)


def _source(job: Job, name: str) -> Any:
    return engines.open(job.table(job.parameters[name]), dialect=job.dialect()) if name in job.parameters else None


def _columns(target: _Target, *roles: str) -> list[str]:
    """Return the columns of a table with these roles, or all that do not name people."""
    there = target.thing.column_names if isinstance(target.thing, pa.Table) else target.thing.names
    if target.domain is None:
        return [] if roles else list(there)
    kept = [c for c in target.domain if set(printed_columns(c.name, there)) <= set(there) and c.role not in NAMING]
    return [c.name for c in kept if not roles or c.role in roles]


def _known(job: Job, target: _Target) -> list[str]:
    secret = job.parameters.get("column")
    found = job.parameters.get("known") or _columns(target, "quasi-identifier") or _columns(target)
    return [name for name in found if name != secret]


def _person(job: Job, target: _Target) -> str | None:
    """Return the column of the original that says whose row it is."""
    declared = [] if job.schema is None else persons(job.read_domain())
    return next(iter(declared or (() if target.domain is None else persons(target.domain))), None)


def _on_table(job: Job, target: _Target, name: str, stream: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    original, control = _source(job, "against"), _source(job, "control")
    there = original.names if control is None else [n for n in original.names if n in control.names]
    known = [n for n in _known(job, target) if n in there]
    person, options = _person(job, target), job.parameters
    more: dict[str, Any] = {"domain": target.domain, "random_state": stream}
    more |= {n: options[n] for n in ("attacks", "confidence") if n in options}
    more["person"] = person if person in original.names else None
    unit = {"targets": "rows" if more["person"] is None else "persons"}
    sides = target.thing, original, control
    if name in ("membership", "singling-out"):
        act = evaluation.singling_out if name == "singling-out" else evaluation.nearest_record
        columns = [n for n in _columns(target) if n in there]
        yield act(*sides, columns=columns, **more), {**unit, "columns": columns}
    elif name == "linkability":
        halves = known[::2], known[1::2]
        yield evaluation.linkability(*sides, columns=halves, **more), {**unit, "columns": list(halves)}
    else:
        secrets = [options["column"]] if "column" in options else _columns(target, "sensitive")
        for secret in [n for n in secrets or known if n in there][: None if secrets else _MOST_SECRETS]:
            rest = [n for n in known if n != secret]
            near: dict[str, Any] = {"tolerance": options["within"]} if "within" in options else {}
            if rest:
                found = evaluation.inference(*sides, **{"secret": secret, "known": rest, **more, **near})
                yield found, {**unit, "column": secret, "known": rest}


def _note_shared(job: Job, target: _Target) -> None:
    """Warn if people of the control group are in the release."""
    sides, person = [_source(job, "against"), _source(job, "control")], _person(job, target)
    if person is None or any(side is None or person not in side.names for side in sides):
        return
    held, others = (as_texts(read_columns(side, [person])[person]).unique().drop_null() for side in sides)
    if shared := pc.sum(pc.is_in(others, held)).as_py():
        warnings.warn(
            f"control: {shared:,} of its {len(others):,} people are also in the records behind the release, so the "
            "attack looks weaker than it is; leave them out of the control group", DiscreetWarning, stacklevel=2,
        )  # fmt: skip


def _on_reports(job: Job, target: _Target, name: str, stream: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    reports = sum(target.thing[1:], target.thing[0])
    wanted = [job.parameters["column"]] if "column" in job.parameters else []
    column = [v for batch in texts(job.table(job.parameters["against"]), wanted) for v in batch[0].to_pylist()]
    choices = getattr(reports.mechanism, "choices", None)
    if choices is not None:  # as the mechanism reads them: a value that is missing or not declared is no one's
        codes = choices.codes(read_values(reports.mechanism, pa.array(column, pa.string())))
        listed = None if isinstance(choices.domain, int) else choices.domain
        column = [None if c < 0 else c if listed is None else listed[c] for c in codes.tolist()]
    else:
        listed, column = None, [v or None for v in column]
    candidates = sorted({v for v in column if v is not None}) if listed is None else list(listed)
    try:
        found = evaluation.best_guess(reports, column, candidates, random_state=stream)
    except DiscreetError as error:
        raise SchemaError(f"no value can be guessed from these reports: {error}") from None
    yield found, {"targets": "reports", "epsilon": float(reports.mechanism.epsilon)}


def _on_numbers(job: Job, target: _Target, name: str, stream: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Attack points, centres or a synopsis by the law of their noise. Rows with a missing value are left out."""
    given, domain = job.parameters, target.domain
    assert domain is not None
    written = Domain(domain.to_dict(), unit=domain.unit, source=job.dialect(), **domain.facts.to_dict())
    people, others = (read_rows(job.table(given[each]), written)[0] for each in ("against", "control"))
    left_out = int((~_whole(people)).sum())
    points = read_rows(target.thing, domain)[0] if isinstance(target.thing, pa.Table) else target.thing
    artifact: Any = points
    if isinstance(points, np.ndarray) and target.kind == "points":
        whole = [_whole(rows) for rows in (people, points)]
        both = whole[0] & whole[1] if len(people) == len(points) else whole[0]
        artifact = points[both if len(people) == len(points) else whole[1]]
        people = people[both]
    people, others = people[_whole(people)], others[_whole(others)]
    if "reference" in given:
        public = read_rows(job.table(given["reference"]), written)[0]
        public = public[_whole(public)]
    else:  # half of the control group is what the attacker knows
        order = np.argsort(noise.below(2**62, size=len(others), rng=stream), kind="stable")
        others, public = others[order[: len(others) // 2]], others[order[len(others) // 2 :]]
    more: dict[str, Any] = {"metric": target.law, "reference": public, "random_state": stream}
    more |= {n: given[n] for n in ("within", "confidence") if n in given}
    about = {"targets": "rows", "left_out": left_out}
    if name == "membership":
        more.pop("within", None)
        yield evaluation.membership_attack(artifact, people, others, kind=target.kind, **more), about
    elif name == "reconstruction":
        yield evaluation.reconstruction_attack(artifact, people, **more), about
    else:
        linked = given.get("linked", bool(target.in_order) and len(artifact) == len(people))
        for secret in [given["column"]] if "column" in given else domain.names[:_MOST_SECRETS]:
            place = domain.position(secret)
            found = evaluation.attribute_attack(artifact, people, others, column=place, linked=linked, **more)
            yield found, {**about, "column": secret}


def _whole(rows: FloatArray) -> Any:
    return ~np.isnan(rows).any(axis=1)
