"""The work of `query`: one purchase of a session."""

import math
from dataclasses import replace
from typing import Any

from discreet.accounts import Account
from discreet.core import Guarantee, Ledger
from discreet.engines import check_target, write_table
from discreet.engines.tables import format_facts
from discreet.jobs.charging import account_of, standing
from discreet.jobs.job import Job, JobResult
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
    answer = session.sql(given["query"], **_asked(job))
    level = float(given.get("level", 0.95))
    table, promise = answer.to_arrow(level), answer.guarantee
    files = {} if place is None else {"table": place}
    if place is not None:
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
            "figures": [n for n in table.column_names if n not in promise.domain.names],
        }
        write_table(place, table, replace(promise, parameters=stated), book=book)
    told = {name: promise.to_dict()[name] for name in ("epsilon", "delta", "unit", "seeded")}
    figures = {"query": given["query"], "level": given.get("level", 0.95), "groups": table.to_pylist(), **told}
    figures |= {"note": answer.note} if answer.note else {}
    figures |= standing(job, promise.digest, again=False)
    return finish(job, promise, files, figures, answer)


def check(job: Job) -> None:
    """Check everything but the data."""
    if "sign" in job.parameters and "table" not in job.outputs:
        expected, fix = "used with a table that is written", ("table", "answer.csv")
        raise job.declared.wrong("sign", job.parameters["sign"], expected, fix)
    if "table" in job.outputs:
        check_target(job.places()["table"], promised=True)
    if job.schema is not None:
        _session(job, None).explain(job.parameters["query"], **_asked(job))


def _session(job: Job, table: Any) -> QuerySession:
    given = job.parameters
    account: Any = Ledger(epsilon=math.inf, **({"delta": given["delta"]} if "delta" in given else {}))
    if "account" in given:
        account = Account(job.place(given["account"]))
    return QuerySession(table, account, domain=job.read_domain(), random_state=given.get("seed"))


def _asked(job: Job) -> dict[str, Any]:
    given = job.parameters
    tables = {name: str(job.place(path)) for name, path in given.get("tables", {}).items()}
    return {
        "tables": tables,
        **{n: given[n] for n in ("epsilon", "delta", "error", "rows", "bins", "keys") if n in given},
    }
