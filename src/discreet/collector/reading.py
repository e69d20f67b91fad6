"""Reading a task: estimates with intervals, day by day, what was refused, and what liars could have done.

Post-processing of noisy counts: it costs no privacy. A task's minimum is kept anyway, for every number shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from discreet.collector.stores.base import Held, Store, find_task
from discreet.errors import DataSourceError, InvalidArgument, TooFewReports
from discreet.jobs.work import estimate_figures
from discreet.local import Counts, PublicFile, Task
from discreet.local.planning import liars_move

LIARS = (
    "A device that sends its report again under a new key is counted again, and a device that lies cannot be told from "
    "noise: that costs accuracy, never the privacy of others."
)


def read(
    store: Store, digest: str, *, candidates: Any = None, counts: Mapping[int, Counts] | None = None
) -> dict[str, Any]:
    """Estimate what the devices of a task hold.

    Parameters
    ----------
    store : Store
        Where the reports are.
    digest : str
        The task.
    candidates : list, optional
        The values asked for; None takes those of the task.
    counts : mapping, optional
        The counts by period, where they were made elsewhere, such as on Spark; None takes those of the store.

    Returns
    -------
    dict
        Facts of the task, the whole estimate and that of every period that has enough reports, as plain data.

    Examples
    --------
    >>> from discreet.collector.example import example
    >>> with example(reports=2000) as (store, task):
    ...     found = read(store, task.digest)
    >>> found["reports"], [one["candidate"] for one in found["estimates"]]
    (2000, ['red', 'green', 'blue'])
    """
    held = find_task(store, digest)
    task = held.task
    found = dict(store.counts(task.digest) if counts is None else counts)
    facts = _standing(held, found, store.refused(task.digest))
    if facts["reports"] < task.minimum:
        raise TooFewReports(facts["reports"], task.minimum)
    asked = values_asked(task, candidates)
    whole = _sum(found)
    facts |= {key: value for key, value in _estimated(task, whole, asked).items() if key not in ("reports", "file")}
    facts["periods"] = [
        {**one, **({"estimates": _estimated(task, found[one["period"]], asked)["estimates"]} if one["enough"] else {})}
        for one in facts["periods"]
    ]
    facts["liars"] = _liars(task)
    facts["caveats"] = [*facts["caveats"], _warning(facts["liars"], facts["reports"])]
    return facts


def _liars(task: Task) -> dict[str, float] | None:
    """Return how far one made-up report moves a count; None where the estimate is not a sum over reports."""
    try:
        down, up = liars_move(task.mechanism)
    except InvalidArgument:
        return None
    return {"down": down, "up": up}


def _warning(bound: dict[str, float] | None, reports: int) -> str:
    """Say what replays and liars do, with the bound where there is one."""
    if bound is None:
        return LIARS
    share, most = max(1, reports // 100), max(bound["up"], -bound["down"])
    return (
        f"{LIARS} Each made-up report moves a count by at most {bound['up']:.2f} upwards and {-bound['down']:.2f} "
        f"downwards; {share:,} of them (one in a hundred) by at most {share * most:,.0f}."
    )


def standing(store: Store, digest: str) -> dict[str, Any]:
    """Return what may be told of a task at any time: how many reports came, by period, and how many were refused.

    Examples
    --------
    >>> from discreet.collector.example import example
    >>> with example(reports=20) as (store, task):
    ...     standing(store, task.digest)["reports"]
    20
    """
    held = find_task(store, digest)
    return _standing(held, store.counts(held.task.digest), store.refused(held.task.digest))


def _standing(held: Held, counts: Mapping[int, Counts], refused: Mapping[str, int]) -> dict[str, Any]:
    task = held.task
    apart = read_apart({period: one.n for period, one in counts.items()}, task.minimum)
    periods = [
        {"period": period, "from": starts(task, period), "reports": one.n, "enough": period in apart}
        for period, one in sorted(counts.items())
    ]
    return {
        "task": task.digest,
        "name": task.name,
        "mechanism": task.mechanism.NAME,
        "epsilon_per_report": float(task.epsilon),
        "epsilon_per_day": float(task.per_day),
        "opens": task.opens,
        "closes": task.closes,
        "closed": held.closed,
        "wanted": task.wanted,
        "minimum": task.minimum,
        "reports": sum(one.n for one in counts.values()),
        "refused": dict(refused),
        "periods": periods,
    }


def read_apart(reports: Mapping[int, int], minimum: int) -> set[int]:
    """Return the periods that may be read by themselves: those with enough reports.

    The total minus these is the sum of all others. If that sum has too few reports, the smallest of them is kept
    back too.

    Examples
    --------
    >>> read_apart({0: 500, 1: 300, 2: 7}, minimum=100), read_apart({0: 500, 1: 300, 2: 70, 3: 40}, minimum=100)
    ({0}, {0, 1})
    """
    found = {period for period, n in reports.items() if n >= minimum}
    if found and 0 < sum(n for period, n in reports.items() if period not in found) < minimum:
        found.remove(min(found, key=lambda period: (reports[period], period)))
    return found


def starts(task: Task, period: int) -> str:
    """Return when a period of a task begins, in UTC."""
    begun = datetime.fromisoformat(task.opens).astimezone(UTC) + timedelta(seconds=period * task.period)
    return begun.strftime("%Y-%m-%dT%H:%M:%SZ")


def values_asked(task: Task, candidates: Any = None) -> Any:
    """Return the values to estimate: those given, those that the task names, or None for all of the mechanism's."""
    if candidates is not None:
        return list(candidates)
    if isinstance(task.candidates, PublicFile):
        raise DataSourceError(
            f"candidates: this task names its values in {task.candidates.name!r}; give that file with --candidates"
        )
    # A mechanism over numbered values is asked for all of them; one that hashes needs the values.
    numbered = isinstance(getattr(task.mechanism, "domain", None), int)
    return None if task.candidates is None or numbered else list(task.candidates)


def _sum(counts: Mapping[int, Counts]) -> Counts:
    parts = iter(counts.values())
    total = next(parts)
    for one in parts:
        total = total + one
    return total


def _estimated(task: Task, counts: Counts, asked: Any) -> dict[str, Any]:
    mechanism: Any = task.mechanism
    searched = asked is None and hasattr(mechanism, "discover")  # values that no one listed
    found = mechanism.discover(counts).estimate if searched else mechanism.estimate(counts, asked)
    figures = estimate_figures(found, None, mechanism)
    names = task.candidates
    if asked is None and isinstance(names, tuple) and len(names) == len(figures["estimates"]):
        for one, name in zip(figures["estimates"], names, strict=True):
            one["candidate"] = name
    return figures
