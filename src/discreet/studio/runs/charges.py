"""Prices of releases: before they are made, and after they were lost.

Nothing here charges anything: a process of a run does, before it reads a row, and the account refuses what it does not
hold. The price that is shown is the most that will be reserved.
"""

import math
import os
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.accounts import Account, Entry
from discreet.core import Exact, checks
from discreet.core.budget import epsilon_to_zcdp, zcdp_to_epsilon
from discreet.errors import BudgetExceeded, DiscreetError, SchemaError
from discreet.jobs import Job
from discreet.studio.runs.run import Run, has_price, runs_of
from discreet.studio.workspace import Workspace


@dataclass(frozen=True)
class Charge:
    """The price of a job."""

    dataset: str  # of the account, like its currency and total
    currency: str
    price: float  # most that is reserved, with its delta
    delta: float
    left: float  # before the release
    after: float
    total: float
    refused: str = ""  # why the account would refuse it; empty if it would not


def charge_of(job: Job) -> Charge | None:
    if not has_price(job) or "account" not in job.parameters:
        return None
    account = Account(job.place(job.parameters["account"]))
    pure, rho, delta = _wanted(job)
    sure = job.kind == "synthesize"  # whose steps are always paid in ρ
    price = _most(pure, rho, delta, account.currency, sure=sure)
    left = account.remaining
    after = max(float(left.exact - price), 0.0) if isinstance(price, Fraction) else 0.0
    total = float(account.total)
    share = float(delta) if account.currency == "epsilon" else 0.0
    known = account.dataset, account.currency
    return Charge(*known, float(price), share, worth(float(left), total), worth(after, total), total, _refusal(job))


def _refusal(job: Job) -> str:
    with TemporaryDirectory() as place:  # the folder of a run is made when it starts
        here = replace(job, outputs={name: str(Path(place, Path(path).name)) for name, path in job.outputs.items()})
        try:
            here.check()  # the method knows which noise it would pay for
        except (BudgetExceeded, SchemaError) as error:
            return str(error)
        except DiscreetError:
            pass  # not the account's
    return ""


def worth(left: float, total: float) -> float:
    """Return what is left of a budget, nothing where that is what rounding leaves."""
    return left if left > 1e-9 * total else 0.0


def _wanted(job: Job) -> tuple[Exact, Fraction | None, Fraction]:
    """Return what a job's budget goes to: a pure ε, or a ρ with its δ (the method chooses one of them later)."""
    given = job.parameters
    delta = Fraction(repr(float(given.get("delta") or 0)))
    if "rho" in given:
        rho = checks.positive("rho", given["rho"])
        return Fraction(repr(math.sqrt(2 * rho))), rho, delta
    pure = checks.budget("epsilon", given["epsilon"])
    if not delta or not isinstance(pure, Fraction):
        return pure, None, delta
    return pure, Fraction(repr(epsilon_to_zcdp(pure, delta))), delta


def _most(pure: Exact, rho: Fraction | None, delta: Fraction, currency: str, *, sure: bool) -> Exact:
    """Return the higher price of the two possible kinds of noise; that of ρ if it is certain."""
    alone = pure if currency == "epsilon" else pure * pure / 2
    if rho is None:
        return alone
    paid = rho if currency == "rho" else Fraction(repr(zcdp_to_epsilon(rho, delta)))
    return paid if sure else max(alone, paid)


def forgotten(workspace: Workspace, path: str) -> str:
    """Say which release that was charged to an account here it does not know; "" if there is none.

    An older copy of the file is whole in itself, and would pay for everything since once more.
    """
    try:
        entries = Account(path).entries
    except DiscreetError:
        return ""  # who opens it says what is wrong
    numbers, digests = {entry.number for entry in entries}, {entry.digest for entry in entries}
    here = os.path.realpath(path)
    for project in workspace.projects(forgotten=True):
        for run in runs_of(project):
            if not run.asked["account"] or os.path.realpath(run.asked["account"]) != here:
                continue
            entry, digest = run.status["entry"], (run.status["promise"] or {}).get("digest")
            told = {*run.status["lost"], *([] if entry is None else [entry])}
            if not told <= numbers or (run.state == "done" and entry is not None and digest not in digests):
                return (
                    f"account: {path!r} does not know run {run.number} of {project.name!r}, which was charged to it; "
                    "it is an older copy or another file: put the right one in its place"
                )
    return ""


def entry_of(run: Run) -> Entry | None:
    """Return what the account wrote of the last attempt of a run; None if nothing was reserved, or without account."""
    if not run.asked["account"]:
        return None
    try:
        entries = Account(run.asked["account"]).entries
    except DiscreetError:
        return None
    if run.status["entry"] is not None:
        return next((e for e in entries if e.number == run.status["entry"]), None)
    job = run.job
    if run.status["started"] is None or job is None or len(entries) <= run.status["before"]:
        return None
    from discreet.jobs import task_of

    task, made = task_of(job), Path(job.outputs.get("release") or job.outputs.get("centers") or "").name
    for entry in entries[run.status["before"] :]:
        if entry.task == task and entry.asked.get("file") == made and entry.asked.get("verb") == job.kind:
            return entry
    return None


def paid_file(run: Run) -> str:
    """Return the name of the release that a run has made and paid for, though it did not end well; "" if none.

    It is whole, and the account names its seal: the same job started again takes it up and costs nothing.
    """
    job = run.job if run.asked["account"] else None
    if job is None or "release" not in job.outputs or "seed" in job.parameters:
        return ""
    place = job.places()["release"]
    if not place.is_file():
        return ""
    from discreet.jobs import repeated

    try:
        return place.name if repeated(job) is not None else ""
    except DiscreetError:
        return ""
