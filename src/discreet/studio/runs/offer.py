"""The next run: the job of a project with the choices of the page, and whether it may start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core import NAMING, Domain, Person
from discreet.errors import DiscreetError
from discreet.jobs import Job
from discreet.studio.jobs import Handed, handed, job_of, with_looks
from discreet.studio.runs.charges import Charge, charge_of, forgotten
from discreet.studio.runs.run import Run, has_price, runs_of
from discreet.studio.workspace import HISTORIES, Project, Workspace

if TYPE_CHECKING:
    from discreet.anonymity import ReleaseHistory

#: Outputs that are tables, and so are CSV or Parquet as the steward likes.
_TABLES = {"synthesize": "table", "anonymize": "release", "perturb": "release", "cluster": "centers",
    "sketch": "estimates"}  # fmt: skip
_UNANSWERED = "data: there are releases about people of the same column; say under 'Data' if this is a later version"


@dataclass(frozen=True)
class Offer:
    """A release that could be started."""

    job: Job | None  # or something is missing
    lacking: str  # what is missing
    number: int  # of the run
    #: Identifies job and number, but not CSV or Parquet: an outdated form does not start it.
    key: str = ""
    digest: str = ""  # of the job
    charge: Charge | None = None  # what it would cost the account
    uncounted: bool = False  # it has a price, and there is no account to charge
    table: bool = False  # it writes a table: CSV or Parquet
    earlier: int = 0  # number of releases about the same people that it would be checked with
    same: Run | None = None  # an earlier run of the same job, whose release can be used again at no cost
    where: str = ""  # the screen on which to add what is missing, if known

    @property
    def called(self) -> str:
        """What is protected: "row", "person", "household"."""
        unit = self.job.read_domain().unit if self.job is not None and self.job.schema is not None else None
        return unit.called if isinstance(unit, Person) else "row"

    @property
    def refused(self) -> str:
        """Why the account would not pay for it; empty if it would."""
        return self.charge.refused if self.charge else ""


def offer_of(workspace: Workspace, project: Project, form: str = "csv") -> Offer:
    """Return what would be run next; nothing of the table is opened."""
    runs = runs_of(project)
    number = 1 + max((run.number for run in runs), default=0)
    try:
        said = job_of(project)
        job = _job(project, said, form)
        earlier = len(history_of(project).entries) if "history" in job.parameters else 0
    except DiscreetError as error:
        return Offer(None, str(error), number)
    if "history" in job.parameters and not project.follows and not earlier:
        people = [column.name for column in job.read_domain() if column.role in NAMING]
        if any(each.releases for each in workspace.datasets(project, people)):
            return Offer(None, _UNANSWERED, number, where="data")
    try:
        charge = charge_of(job)
        if charge is not None and (why := forgotten(workspace, str(job.place(job.parameters["account"])))):
            charge = replace(charge, refused=why)
    except DiscreetError as error:
        return Offer(None, str(error), number, where="account")
    digest = _digest(f"{_digest(said.to_toml())}\n{earlier}")
    same = next(
        (run for run in runs if run.state == "done" and not run.status["never"] and run.asked.get("digest") == digest),
        None,
    )
    table = _TABLES.get(job.kind, "") in job.outputs
    free = has_price(job) and charge is None
    return Offer(job, "", number, f"{number}-{digest}", digest, charge, free, table, earlier, same)


def next_job(project: Project) -> Handed:
    """Return the file of the job that would be run next, with the earlier releases it is checked with."""
    try:
        return handed(project, _job(project, job_of(project), "csv"), f"/p/{project.id}/job.toml")
    except DiscreetError as error:
        return Handed("", str(error))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _job(project: Project, job: Job, form: str) -> Job:
    """Return the job with what the page chooses: the form of its table, and the history it is checked with."""
    outputs = dict(job.outputs)
    named = _TABLES.get(job.kind, "")
    if named in outputs and form in ("csv", "xlsx", "parquet"):
        outputs[named] = str(Path(outputs[named]).with_suffix(f".{form}"))
    return renewed(project, replace(job, outputs=outputs))


def renewed(project: Project, job: Job) -> Job:
    """Return a job as it has to be done now, though it was written before.

    It is checked with all releases about its table, and says that rows were looked at if
    they were by now.
    """
    schema = with_looks(project, job.schema) if isinstance(job.schema, Domain) else job.schema
    if job.kind != "anonymize" or not _followed(job):
        return replace(job, schema=schema)
    parameters = {**job.parameters, "history": str(history_of(project).folder)}
    return replace(job, schema=schema, parameters=parameters)


def history_of(project: Project) -> ReleaseHistory:
    """Return the history of all releases about the people of a project, also by other projects and other tables."""
    from discreet.anonymity import ReleaseHistory

    return ReleaseHistory(project.folder.parent / HISTORIES / project.dataset)


def _followed(job: Job) -> bool:
    cells = job.parameters.get("method") != "microaggregation"
    named = "person" in job.parameters or any(column.role in NAMING for column in job.read_domain())
    return cells and named


def of_table(workspace: Workspace, project: Project) -> Iterator[tuple[Project, Run]]:
    """Go through all runs about the same data set, also those of projects that opened it before, forgotten or not."""
    for other in workspace.projects(forgotten=True):
        if other.id == project.id or (other.source and other.dataset == project.dataset):
            for run in runs_of(other):
                yield other, run
