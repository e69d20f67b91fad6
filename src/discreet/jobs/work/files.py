"""Files of jobs: lists of values to read, and the page and guarantee of a release to write."""

import shlex
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from discreet.core import Guarantee, stage, write_whole
from discreet.engines import texts
from discreet.errors import DataSourceError, FormatError
from discreet.jobs.charging import balance_then
from discreet.jobs.declare import Speech
from discreet.jobs.job import Job, JobResult
from discreet.jobs.kinds import KINDS
from discreet.jobs.options import PAGE
from discreet.reporting import fitness, kind_of
from discreet.synopses import Synopsis


def read_lines(path: Path) -> list[str]:
    """Read labels or candidates: one per line, or the first column of a table, without blank lines."""
    try:
        found = [v for batch in texts(path) for v in batch[0].to_pylist() if v]
    except UnicodeDecodeError:
        raise DataSourceError(f"{str(path)!r} is not UTF-8; convert it to UTF-8") from None
    if not found:
        raise DataSourceError(f"{str(path)!r} has no values; write one per line")
    return list(dict.fromkeys(found))


def load_synopsis(job: Job) -> Synopsis:
    """Load the synopsis that a job names. If it is a table, the error says how to make a synopsis of it."""
    place = job.place(job.data)
    try:
        found: Synopsis = Synopsis.load(place)
    except FormatError as error:
        if "its synopsis is" in str(error) or kind_of(place) not in ("", "table", "released table"):
            raise
        first = KINDS["synopsis"].examples[0].replace("people.csv", shlex.quote(job.data))

        def words(say: Speech) -> str:
            ways = [f"make one first: discreet {first}"]
            if job.declared.schema:
                ways.insert(0, f"for a table, give {say('schema', 'schema.toml')} and {say('epsilon', 1.0)}")
            return f"{job.data!r} is not a synopsis; {', or '.join(ways)}"

        raise job.declared.refused(words, FormatError) from None
    return found


def finish(
    job: Job,
    guarantee: Guarantee,
    files: dict[str, Path],
    figures: dict[str, Any],
    artifact: Any,
    *,
    more: Any = None,
    candidates: Any = None,
    clusters: Any = None,
) -> JobResult:
    """Write page and guarantee, and return the result."""
    places = job.places()
    if told := fitness(artifact, guarantee, clusters):
        figures["fitness"] = told
    if "report" in places:
        from discreet.reporting import write_report

        stage("page")
        said = {each.name: job.parameters[each.name] for each in PAGE if each.name in job.parameters}
        said |= {"candidates": candidates, "clusters": clusters, "account": _standing(job, figures)}
        made = (figures.get("account") or {}).get("when") or date.today().isoformat()
        said["signer"] = job.fingerprint
        if {"table", "release"} <= places.keys():  # synthetic rows leave, and the model behind them may stay
            said["behind"] = job.artifact
        write_report(places.get("table", job.artifact), places["report"], **{"date": made[:10], **said})
        files["report"] = places["report"]
    if "guarantee" in places:
        write_whole(places["guarantee"], guarantee.to_json(indent=2) + "\n", streams=True)
        files["guarantee"] = places["guarantee"]
    return JobResult(job, guarantee, files, figures, artifact, more)


def _standing(job: Job, figures: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the page says about the account. If the release is repeated, it is what the page said before."""
    told, page = figures.get("account"), job.places()["report"]
    if told is None:
        return None
    from discreet.reporting.pages import carried

    head = ""
    with suppress(FormatError, UnicodeDecodeError, OSError):
        text = page.read_bytes().decode() if told["repeated"] and page.is_file() else ""
        head = (carried.read(carried.held(text, carried.FACTS))["account"] or {}).get("head", "")
    was = balance_then(job, head, told["entry"]) if head else None
    return was or {name: value for name, value in told.items() if name != "repeated"}
