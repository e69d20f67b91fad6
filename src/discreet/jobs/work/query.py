"""The work of `query`: one purchase of a session."""

import math
from dataclasses import replace
from typing import Any

import pyarrow as pa

from discreet.core import Guarantee, Ledger
from discreet.engines import check_target, write_table
from discreet.engines.tables import format_facts
from discreet.engines.writing import declared_type
from discreet.jobs.charging import PaidTable, account_of, repeated, standing
from discreet.jobs.job import Job, JobResult
from discreet.jobs.options import SURE
from discreet.jobs.work.files import finish
from discreet.synopses import QuerySession


def run(job: Job) -> JobResult:
    """Answer the questions, or explain what they would cost."""
    check(job)
    given, place = job.parameters, job.places().get("table")
    session = _session(job, job.read_table())
    if given.get("explain"):
        plan = session.explain(given["query"], **_asked(job))
        return JobResult(job, None, {}, {"query": given["query"], **plan.to_dict()}, plan)
    facts = {} if place is None else format_facts(place, job.read_domain(), **job.form)
    earlier, level = repeated(job), float(given.get("level", 0.95))
    if earlier is None:
        answer = session.sql(given["query"], **_asked(job))
        table, promise, note = answer.to_arrow(level), answer.guarantee, answer.note
    else:
        answer, table, promise = earlier, _figures(earlier), earlier.guarantee
        note = promise.parameters.get("note", "")
    files = {} if place is None else {"table": place}
    if place is not None and earlier is None:
        account = account_of(job)

        def book(sealed: Guarantee) -> None:
            if account is not None:
                account.add_file(promise.digest, place.name, sealed.digest)

        # The columns are figures, and not those of the table that was asked.
        stated = {
            **promise.parameters,
            **facts,
            "query": given["query"],  # for the page of the answer
            "level": level,
            **({"note": note} if note else {}),
            "figures": [n for n in table.column_names if n not in promise.domain.names],
        }
        write_table(place, table, replace(promise, parameters=stated), book=book)
    told = {name: promise.to_dict()[name] for name in ("epsilon", "delta", "unit", "seeded")}
    figures = {"query": given["query"], "level": given.get("level", 0.95), "groups": table.to_pylist(), **told}
    figures |= {"note": note} if note else {}
    figures |= standing(job, promise.digest, again=earlier is not None)
    return finish(job, promise, files, figures, answer)


def check(job: Job) -> None:
    """Check everything but the data."""
    for name in ({"sign", "report"} & {*job.parameters, *job.outputs}) if "table" not in job.outputs else ():
        expected, fix = "used with a table that is written", ("table", "answer.csv")
        raise job.declared.wrong(name, {**job.outputs, **job.parameters}[name], expected, fix)
    if "table" in job.outputs:
        check_target(job.places()["table"], promised=True)
    if job.schema is not None:
        plan: Any = _session(job, None).explain(job.parameters["query"], **_asked(job))
        given = job.parameters
        confirmed = given.get("explain") or given.get("yes_really")
        if "error" in given and plan.epsilon > SURE and not confirmed and repeated(job) is None:
            means = f"it needs epsilon {plan.epsilon:.4g}, and more than {SURE} hardly protects anyone"
            expected = f"larger unless it is confirmed: {means}"
            raise job.declared.wrong("error", given["error"], expected, ("yes_really", True))


def _figures(earlier: PaidTable) -> Any:
    """Return the table of an earlier answer with its types, which files of text do not hold."""
    table: Any = earlier.table
    domain: Any = earlier.guarantee.domain

    def typed(field: pa.Field) -> pa.Field:
        column = field.name if field.name in domain.names else field.name.removesuffix("_from").removesuffix("_to")
        if column in domain.names:
            return field.with_type(declared_type(domain.column(column)))
        return field.with_type(pa.float64()) if pa.types.is_integer(field.type) else field

    return table.cast(pa.schema(map(typed, table.schema)))


def _session(job: Job, table: Any) -> QuerySession:
    given = job.parameters
    account: Any = Ledger(epsilon=math.inf, **({"delta": given["delta"]} if "delta" in given else {}))
    if "account" in given:
        account = account_of(job)
    return QuerySession(table, account, domain=job.read_domain(), random_state=given.get("seed"))


def _asked(job: Job) -> dict[str, Any]:
    given = job.parameters
    tables = {name: str(job.place(path)) for name, path in given.get("tables", {}).items()}
    return {
        "tables": tables,
        **{n: given[n] for n in ("epsilon", "delta", "error", "rows", "bins", "keys") if n in given},
    }
