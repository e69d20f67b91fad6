"""What will be run next: the job of a project with the choices of the page, and whether it may be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.core.columns import NAMING
from discreet.core.unit import Person
from discreet.errors import DiscreetError
from discreet.jobs import Job
from discreet.studio.jobs import job_of, outputs_of
from discreet.studio.runs.charges import Charge, charge_of, has_price
from discreet.studio.runs.run import JOB, Run, runs_of
from discreet.studio.workspace import Project, Workspace

#: Outputs that are tables, and so are CSV or Parquet as the steward likes.
_TABLES = {"synthesize": "table", "anonymize": "release", "perturb": "release", "cluster": "centers",
    "sketch": "estimates"}  # fmt: skip
HOUSE = "people.house"


@dataclass(frozen=True)
class Offer:
    """A release that could be started.

    Attributes
    ----------
    job : Job or None
        What would be done; None if something is lacking.
    lacking : str
        What is.
    number : int
        The number of the run.
    key : str
        Names this very job, but for the form of its table, and number: a form that was drawn before something changed
        does not start it.
    charge : Charge or None
        What it would cost the account.
    uncounted : bool
        Whether it has a price and no account to charge.
    table : bool
        Whether it writes a table, which can be CSV or Parquet.
    houses : list of Path
        House files of earlier releases about the same people, which it would be checked with.
    same : Run or None
        An earlier run that did exactly this, whose release costs nothing to hand out again.
    """

    job: Job | None
    lacking: str
    number: int
    key: str = ""
    charge: Charge | None = None
    uncounted: bool = False
    table: bool = False
    houses: tuple[Path, ...] = ()
    same: Run | None = None

    @property
    def person(self) -> bool:
        """Whether a person with all their rows is what is hidden, and not one row."""
        return self.job is not None and self.job.schema is not None and isinstance(self.job.read_domain().unit, Person)

    @property
    def refused(self) -> str:
        """Why the account would not pay for it; empty if it would."""
        return self.charge.refused if self.charge else ""


def offer_of(workspace: Workspace, project: Project, form: str = "csv") -> Offer:
    """Return what would be run next; nothing of the table is opened."""
    runs = runs_of(project)
    number = 1 + max((run.number for run in runs), default=0)
    try:
        job, houses = _job(workspace, project, form)
        text = job.to_toml()
        key = hashlib.sha256(f"{number}\n{_job(workspace, project, '')[0].to_toml()}".encode()).hexdigest()
        charge = charge_of(job)
    except DiscreetError as error:
        return Offer(None, str(error), number)
    same = next((run for run in runs if run.state == "done" and _text(run).strip() == text.strip()), None)
    table = _TABLES.get(job.kind, "") in job.outputs
    return Offer(job, "", number, key, charge, has_price(job) and charge is None, table, houses, same)


def _text(run: Run) -> str:
    return (run.folder / JOB).read_text(encoding="utf-8")


def _job(workspace: Workspace, project: Project, form: str) -> tuple[Job, tuple[Path, ...]]:
    job = job_of(project)
    outputs = dict(outputs_of(job.declared) if not job.outputs else job.outputs)
    named = _TABLES.get(job.kind, "")
    if named in outputs and form in ("csv", "parquet"):
        outputs[named] = str(Path(outputs[named]).with_suffix(f".{form}"))
    parameters = dict(job.parameters)
    houses: tuple[Path, ...] = ()
    if job.kind == "anonymize" and _followed(job):
        outputs["house"] = HOUSE
        if "previous" not in parameters and (houses := tuple(houses_of(workspace, project))):
            parameters["previous"] = [str(place) for place in houses]
    return replace(job, outputs=outputs, parameters=parameters), houses


def _followed(job: Job) -> bool:
    """Return whether people of an anonymous table can be followed from one release to the next."""
    cells = job.parameters.get("method") != "microaggregation"
    named = "person" in job.parameters or any(column.role in NAMING for column in job.read_domain())
    return cells and named


def of_table(workspace: Workspace, project: Project) -> Iterator[tuple[Project, Run]]:
    """Go through all runs about the same table, also those of projects that opened it another time."""
    for other in workspace.projects():
        if other.id == project.id or (other.source and other.source == project.source):
            for run in runs_of(other):
                yield other, run


def houses_of(workspace: Workspace, project: Project) -> Iterator[Path]:
    """Go through the house files of finished releases about the same table, the earliest first."""
    found = [run for _, run in of_table(workspace, project) if run.state == "done" and "house" in run.status["files"]]
    for run in sorted(found, key=lambda run: str(run.status["ended"])):
        yield run.folder / run.status["files"]["house"]
