"""The work of `anonymize`, `mask` and `risk`."""

import ast
import os
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet import anonymity, engines
from discreet.anonymity.risk import printed_columns, with_promise
from discreet.core import NAMING, Domain, Guarantee, Person, nearest, persons, promise_place, promises_nothing, stage
from discreet.engines import check_target, first_line
from discreet.engines.readers import column_batches
from discreet.engines.tables import format_facts, separated_by
from discreet.errors import DataSourceError, DiscreetError, FormatError, InvalidArgument
from discreet.jobs.charging import charged, check_reserved, checkable, repeated, reserved, standing
from discreet.jobs.declare import Fix, WrongOption
from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.files import finish
from discreet.reporting import kind_of


def run(job: Job) -> JobResult:
    """Release an anonymous or masked table, or measure the risk of a table."""
    return {"risk": _risk, "mask": _mask}.get(job.kind, _anonymize)(job)


def check(job: Job) -> None:
    """Check everything but the data."""
    if job.kind == "risk":
        _asked(job)
    else:
        check_target(job.places()["release"], promised=True)  # before budget goes into it
        format_facts(job.places()["release"], _domain(job), **job.form)
        _check_model(job, checkable(job, _model(job)))
        _key(job)
        if "sample" not in job.parameters:
            check_reserved(job, _asked_for(job))
        if "history" in job.parameters:
            _ = anonymity.ReleaseHistory(job.place(job.parameters["history"])).entries


def _model(job: Job) -> Any:
    given = job.declared.arguments(job.parameters)
    for name in ("output", "order", "history"):  # of the release, not of the groups
        given.pop(name, None)
    if "hierarchies" in given:
        files = given["hierarchies"].items()
        given["hierarchies"] = {name: anonymity.Hierarchy.from_csv(job.place(file)) for name, file in files}
    if "sample" in job.parameters:
        drawn = {"sample": job.parameters["sample"], "delta": job.parameters.get("delta", 1e-6)}
        return anonymity.SampledGeneralization(domain=_domain(job), **{**given, **drawn, **charged(job)})
    return job.declared.make(job.parameters.get("method"), domain=_domain(job), **given)


def _asked_for(job: Job) -> Guarantee:
    """Return the promise that an anonymous table is to keep, for its account."""
    rules = {name: job.parameters[name] for name in ("k", "l", "t") if name in job.parameters}
    people = "person" in job.parameters or bool(persons(job.read_domain()))
    return Guarantee("syntactic", unit="one person" if people else "one row", parameters={"required": rules})


def _domain(job: Job) -> Domain:
    """Return the declared columns with top and bottom coding."""
    domain: Domain = job.read_domain()
    declared: dict[str, dict[str, Any]] | None = None
    for side in ("bottom", "top"):
        for name, limit in job.parameters.get(side, {}).items():
            declared = domain.to_dict() if declared is None else declared
            if "bounds" not in declared.get(name, {}):
                bounded = ", ".join(n for n, each in declared.items() if "bounds" in each) or "none here"
                near = nearest(name, [n for n, each in declared.items() if "bounds" in each])
                fix = (side, {near: limit}) if near else "one of these"
                raise job.declared.wrong(side, name, f"given for columns with bounds ({bounded})", fix)
            texts = isinstance(declared[name]["bounds"][0], str)  # dates and times
            declared[name][side] = limit if texts else _limit(limit)
    if declared is None:
        return domain
    try:
        return Domain(declared, unit=domain.unit, source=domain.source, **domain.facts.to_dict())
    except InvalidArgument as error:
        raise _about_column(job, error) from None


def _about_column(job: Job, error: InvalidArgument) -> InvalidArgument:
    """Return an error about a column as one about top or bottom coding."""
    side, of, column = error.name.partition(" of column ")
    value = error.fix.removeprefix(f'"{side}": ')
    if side not in ("bottom", "top") or value == error.fix:
        return error
    fix = (side, {ast.literal_eval(column): ast.literal_eval(value)})
    return WrongOption(job.declared, side, error.value, error.expected, fix, of + column)


def _limit(given: Any) -> Any:
    try:
        return given if isinstance(given, int) else float(given)
    except ValueError:
        return given  # the column reports it


def _check_model(job: Job, model: Any) -> None:
    """Check an estimator with the declared columns, and that people can be followed if needed."""
    model.check()
    follows = "person" in job.parameters or any(c.role in ("person", "identifier") for c in model.domain)
    if "history" in job.parameters and not follows:
        raise job.declared.refused(
            lambda say: (
                f"{say('history')} needs a column to follow people by: the schema names no identifier and no person; "
                'declare role = "identifier" or "person" for the column that says whose row it is'
            )
        )


def _key(job: Job) -> bytes | None:
    file = job.parameters.get("hash_key")
    if file is None:
        return None
    try:
        return job.place(file).read_bytes().strip()
    except OSError as error:
        said = f"cannot read {file!r} ({error.strerror}); check the path"
        raise job.declared.refused(lambda say: f"{say('hash_key')}: {said}", DataSourceError) from None


def _anonymize(job: Job) -> JobResult:
    check(job)
    given, target = job.parameters, job.places()["release"]
    if "sample" in given:
        return _draw(job, target)
    model, key = _model(job), _key(job)
    settings: dict[str, Any] = {"identifiers": "drop" if key is None else "hash", "key": key}
    if "order" in given:
        settings["order"] = given["order"]
    if given.get("method") != "microaggregation":
        settings["output"] = given.get("form", "interval")
    history = anonymity.ReleaseHistory(job.place(given["history"])) if "history" in given else None
    if history is not None:
        settings["history"] = history
    earlier = repeated(job)
    if earlier is not None:
        return _of_file(job, earlier, target, again=True)
    columns = [column.name for column in job.read_domain() if column.role not in NAMING]
    form: dict[str, Any] = {**job.form, "booking": reserved(job, _asked_for(job), columns)}
    form["form"] = "bounds" if given.get("bounds") else "text"
    stage("groups")
    held = "history" in settings or given.get("form") == "sample" or given.get("method") == "microaggregation"
    if not held and model.is_large(job.read_table()):
        source = job.read_table()
        return _of_file(job, model.fit(source).transform_file(source, target, **form, **settings), target)
    with history or nullcontext():  # from reading the earlier releases until this one is among them
        release = model.fit_transform(job.read_table(), **settings)
        release.save(target, **form)
    sealed = Guarantee.from_json(promise_place(target).read_text(encoding="utf-8"))
    quasi = release.guarantee.parameters["quasi_identifiers"]
    return _anonymous(job, sealed, _figures(release, target, release.table, quasi), release)


def _mask(job: Job) -> JobResult:
    """Release changed values; the figures say what could be found out about them."""
    check(job)
    target, made = job.places()["release"], repeated(job)
    again = made is not None
    if made is None:
        columns = [column.name for column in job.read_domain() if column.role not in NAMING]
        held = reserved(job, _asked_for(job), columns)
        seed = {"random_state": job.parameters["seed"]} if "seed" in job.parameters else {}
        order = {name: job.parameters[name] for name in ("order",) if name in job.parameters}
        made = _model(job).fit_transform(job.read_table(), **seed, **order)
        made.save(target, form="text", **job.form, booking=held)
    sealed = Guarantee.from_json(promise_place(target).read_text(encoding="utf-8"))
    facts = sealed.parameters
    linked = facts.get("disclosure", {}).get("record_linkage", {}).get("share")
    figures = {"file": str(target), "rows": len(made), "linked": linked}
    figures["promises_nothing"] = promises_nothing(sealed)
    return _anonymous(job, sealed, figures, made, again=again)


def _anonymous(job: Job, sealed: Guarantee, figures: dict[str, Any], release: Any, *, again: bool = False) -> JobResult:
    target, paid = job.places()["release"], standing(job, sealed.digest, again)
    files = {"release": target, "promise": promise_place(target)}
    return replace(finish(job, sealed, files, {**figures, **paid}, release), printed={**sealed.to_dict(), **paid})


def _draw(job: Job, target: Path) -> JobResult:
    """Release sampled rows and charge the account, or return an earlier release of the same job.

    Nothing is revealed about the other rows, not even their number.
    """
    earlier = repeated(job)
    figures: dict[str, Any] = {"file": str(target)}
    if earlier is None:
        stage("groups")
        form = "bounds" if job.parameters.get("bounds") else "text"
        made = _model(job).release_file(job.read_table(), target, form=form, **job.form)
        figures["groups"] = made.cells.n_cells
    else:
        made = earlier
    return _anonymous(job, made.guarantee, {**figures, "rows": len(made)}, made, again=earlier is not None)


def _of_file(job: Job, release: Any, target: Path, *, again: bool = False) -> JobResult:
    """Return the result of a job whose table is not in memory: a large one, or one that was released before."""
    named = release.guarantee.parameters["quasi_identifiers"]
    quasi = [each for name in named for each in printed_columns(name, release.names)]
    return _anonymous(job, release.guarantee, _figures(release, target, target, quasi), release, again=again)


def _figures(release: Any, target: Path, table: Any, quasi: list[str]) -> dict[str, Any]:
    """Return rows, those left out, and by sensitive column the share in groups with a single value, and blanks."""
    facts = release.guarantee.parameters
    gone = facts["dropped_for_missing_values"]
    more = ("left_out_without_person", "left_out_over_most_rows")
    out = facts["suppressed"] + gone + sum(facts.get(name, 0) for name in more)
    told = {"file": str(target), "rows": len(release), "left_out": out, "without_value": gone}
    secret, blank = list(facts["reached"].get("l", ())), Counter[str]()
    for _, columns in column_batches(engines.open(table), secret) if secret else ():
        blank.update({name: column.null_count for name, column in columns.items() if column.null_count})
    if not secret or not len(release) or facts["output"] == "sample":
        return {**told, "given_away": {}, "blank": dict(blank)}
    found = anonymity.risk(table, quasi, secret).sensitive
    alike = {n: each.homogeneous for n, each in found.items() if each.homogeneous > 0 and blank[n] < len(release)}
    return {**told, "given_away": alike, "blank": dict(blank)}


def _promised(job: Job) -> dict[str, list[str]]:
    """Return the columns named by the guarantee next to a released table, if there is one."""
    try:
        facts = Guarantee.from_json(promise_place(job.table(job.data)).read_text(encoding="utf-8")).parameters
        quasi, secret = list(facts["quasi_identifiers"]), list(facts.get("reached", {}).get("l", ()))
    except (DiscreetError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # `with_promise` reports it
    return {"quasi_identifiers": quasi, **({"sensitive": secret} if secret else {})}


def _asked(job: Job) -> dict[str, Any]:
    """Return the columns for the measures: the named ones, otherwise those with roles in the schema."""
    given = job.declared.arguments(job.parameters)
    if job.schema is not None:
        of_role: dict[str, list[str]] = {}
        for column in job.read_domain():
            of_role.setdefault(column.role, []).append(column.name)
        single = given.get("person"), given.get("weight")
        named = {*given.get("quasi_identifiers", ()), *given.get("sensitive", ()), *single}
        for role, argument in (("quasi-identifier", "quasi_identifiers"), ("sensitive", "sensitive")):
            if argument not in given and (found := [name for name in of_role.get(role, ()) if name not in named]):
                given[argument] = found
        people = [] if "person" in given else [name for name in persons(job.read_domain()) if name not in named]
        if len(people) > 1:
            listed = ", ".join(map(repr, people))
            raise job.declared.refused(
                lambda say: f"columns {listed} are all declared person; only one can be; try {say('person', people[0])}"
            )
        if people:
            given["person"] = people[0]
            unit = job.read_domain().unit
            if isinstance(unit, Person) and unit.called != "person":
                given |= {"called": unit.called, "household": given.get("household", unit.column)}
        if "weight" in of_role:
            given = {"weight": of_role["weight"][0], **given}
    if "quasi_identifiers" not in given:
        given = {**_promised(job), **given}
    if "quasi_identifiers" not in given:
        expected = "given: quasi-identifiers, or a schema with columns of that role"
        raise job.declared.wrong("qi", None, expected)
    return given


def _risk(job: Job) -> JobResult:
    given = _asked(job)
    required = given.pop("required", {})
    dialect = None if job.schema is None else job.read_domain().source
    for other in {"population", "original"} & set(given):
        given[other] = engines.open(job.table(given[other]), dialect=dialect)
    table = engines.open(job.table(job.data), dialect=dialect)
    whose = given.get("person")
    for name in ("person", "weight", "household"):
        if name not in job.parameters and given.get(name) not in table.names:
            given.pop(name, None)  # a release has no person column
    named = [each for name in given["quasi_identifiers"] for each in printed_columns(name, table.names)]
    if os.path.isfile(job.table(job.data)) and kind_of(Path(job.table(job.data))) == "synopsis":
        raise FormatError(f"{job.data!r} is a synopsis and is not a table; check it with: discreet audit {job.data}")
    # A record must not be quoted as the names of columns; of fields in one, the reader says how they are separated.
    if not first_line.may_be_a_record(table) and not separated_by(table.names):
        single = [(name, [given[name]]) for name in ("weight", "household") if name in given]
        for option, names in (("qi", named), ("sensitive", given.get("sensitive", ())), *single):
            job.declared.check_columns(option, names, table.names, "columns of the table")
    report = anonymity.risk(table, **{**given, "quasi_identifiers": named})
    if "qi" not in job.parameters:
        report = replace(report, notes=(*report.notes, f"measured by the quasi-identifiers {', '.join(named)}"))
    if "person" not in given:
        report = with_promise(report, job.table(job.data))
    try:
        failed = report.check(**required)
    except InvalidArgument as error:
        fix: Fix = ("sensitive", ["disease"])
        if error.fix == "k=5":  # it is not a requirement
            known = error.expected.removeprefix("one of ").split(", ")
            near = {name: name if name in known else nearest(name, known) for name in required}
            fix = "one of these" if None in near.values() else ("require", {near[n]: v for n, v in required.items()})
        raise job.declared.wrong("require", error.value, error.expected, fix) from None
    if whose and report.person is None and report.promised is None and {"k", "prosecutor"} & set(required):
        said = f"the schema names persons by column {whose!r}, which is not in the table: k of persons is not known"
        failed.append(f"{said}, and at most {report.k}, the rows of the smallest group")
    return JobResult(job, None, {}, {**report.to_dict(), "failed": failed}, report, failed, bool(failed))
