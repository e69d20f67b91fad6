"""Estimates of a task with intervals, in total and by period, and the effect of false reports.

This is post-processing of noisy counts and costs no privacy. Still, every estimate has at least the task's minimum of
reports.
"""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache, reduce
from operator import add
from typing import Any

from discreet.collector.stores.base import LOST, Held, Store, find_task
from discreet.core import at_most
from discreet.errors import DataSourceError, InvalidArgument, TooFewReports
from discreet.jobs.work import estimate_figures
from discreet.local import BitFlip, Counts, PublicFile, Task, liars_move, shuffled

#: The quantiles that are shown unless others are chosen.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Figures of a single period, and fewer bootstrap samples for them.
_BY_PERIOD, _FEW = ("estimates", "mean", "lower", "upper", "quantiles"), 25
#: A list of so many values is shown in its own order.
_SHORT = 24
_DAY = 86_400
LIARS = (
    "A device that sends its report again under a new key is counted again, and a false report looks like noise: that "
    "costs accuracy, never the privacy of others."
)


def read(
    store: Store,
    digest: str,
    *,
    candidates: Any = None,
    counts: Mapping[int, Counts] | None = None,
    quantiles: Sequence[float] = QUANTILES,
) -> dict[str, Any]:
    """Estimate what the devices of a task hold.

    Parameters
    ----------
    store : Store
        The store with the reports.
    digest : str
        The task.
    candidates : list or bytes, optional
        The values to estimate; None takes those of the task. If the labels of its numbered values are in a public file,
        the content of the file shows them.
    counts : mapping, optional
        The counts by period, if they were made elsewhere, such as on Spark; None takes those of the store.
    quantiles : list of float
        The quantiles of a distribution.

    Returns
    -------
    dict
        Facts of the task, the total estimate and that of every period with enough reports, as plain data.

    Examples
    --------
    >>> read(store, "3f2a91c0")["estimates"][0]["candidate"]  # doctest: +SKIP
    'red'
    """
    held = find_task(store, digest)
    task = held.task
    found = dict(store.counts(task.digest) if counts is None else counts)
    facts = _standing(held, found, store.refused(task.digest))
    moved = store.moves_to if counts is None else None
    if facts["reports"] < task.minimum:
        ended = held.closed or datetime.now(UTC) >= datetime.fromisoformat(task.closes)
        over = f"{'it is closed' if held.closed else f'it closed at {task.closes}'}, so no more will come"
        then = f"{over}: create another task" if ended else "wait for more"
        then = then if moved is None else f"others were moved: add --segments {shlex.quote(moved)}"
        raise TooFewReports(facts["reports"], task.minimum, facts.get("shuffled", {}).get("lost", 0), then)
    named = replace(task, candidates=task.named(candidates)) if isinstance(candidates, bytes) else task
    asked = values_asked(named, None if isinstance(candidates, bytes) else candidates)
    figures = _estimated(named, reduce(add, found.values()), asked, quantiles, _repeats(task, 0, max(found, default=0)))
    facts |= {key: value for key, value in figures.items() if key not in ("reports", "file")}
    if asked is None and hasattr(task.mechanism, "discover"):  # what was found, followed over time
        asked = [one["candidate"] for one in figures["estimates"]]
    for one in facts["periods"]:
        if one["enough"]:
            now = figures  # a single period is the total: the same reports have the same intervals
            if len(found) > 1:
                repeats = _repeats(task, one["period"], one["period"])
                now = _estimated(named, found[one["period"]], asked, quantiles, repeats, replicates=_FEW)
            one |= {key: now[key] for key in _BY_PERIOD if key in now}
    facts["liars"] = None
    with suppress(InvalidArgument):  # the estimate is not a sum over reports
        facts["liars"] = dict(zip(("down", "up"), liars_move(task.mechanism), strict=True))
    facts["caveats"] = [*facts["caveats"], _warning(facts["liars"], facts["reports"])]
    if labels_in_a_file(named):
        file = task.candidates.name
        line = f"Values are numbered like the labels in {file!r}, from 0: give that file with --candidates to see them."
        facts["caveats"].insert(0, line)
    if moved is not None:
        line = f"discreet collect estimate {task.digest[:8]} --segments {shlex.quote(moved)}"
        facts["caveats"].insert(0, f"Reports that were moved to segments are not counted here: {line} counts all.")
    return facts


def _warning(bound: dict[str, float] | None, reports: int) -> str:
    """Describe the effect of replays and false reports, with a bound if there is one."""
    if bound is None:
        return f"{LIARS} How far false reports can move this estimate is not known."
    share, most = max(1, reports // 100), max(bound["up"], -bound["down"])
    return (
        f"{LIARS} Each false report moves a count by at most {bound['up']:.2f} upwards and {-bound['down']:.2f} "
        f"downwards; {share:,} of them (one in a hundred) by at most {share * most:,.0f}."
    )


def standing(store: Store, digest: str) -> dict[str, Any]:
    """Return what may be known of a task at any time: the numbers of reports by period, and of refused frames.

    Examples
    --------
    >>> standing(store, "3f2a91c0")["reports"]  # doctest: +SKIP
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
        "refused": {reason: n for reason, n in refused.items() if reason != LOST},
        "periods": periods,
        **({} if task.shuffle is None else {"shuffled": {**shuffled_promise(task), "lost": refused.get(LOST, 0)}}),
    }


@lru_cache(maxsize=256)
def shuffled_promise(task: Task) -> dict[str, Any]:
    """Return the two promises of a shuffled task, as figures and as sentences, with what the second one assumes."""
    shuffle, local = task.shuffle, float(task.epsilon)
    facts = {
        "batch": shuffle.batch, "honest": shuffle.honest, "longest_wait": shuffle.longest_wait, "local_epsilon": local,
        "collector_alone": None,
    }  # fmt: skip
    both = f"Against shuffler and collector together: ε = {local:g} per report."
    if task.mechanism.stores:
        why = "devices store their responses, so the reports of one device can be recognised in every batch"
        return facts | {"sentences": [both, f"Against the collector alone: no better figure, because {why}."]}
    bound = shuffled(task.mechanism, shuffle.honest, float(shuffle.delta))
    day = bound.repeated(_daily(task))
    facts["collector_alone"] = [{"reports": b.reports, "epsilon": b.epsilon, "delta": b.delta} for b in (bound, day)]
    alone = (
        f"Against the collector alone: ε = {at_most(bound.epsilon, 3)} with δ = {at_most(bound.delta, 2)} per report"
    )
    if day.reports > 1:
        alone += (
            f", ε = {at_most(day.epsilon, 3)} with δ = {at_most(day.delta, 2)} for the {day.reports} reports of a day"
        )
    few = " So few honest devices add almost nothing; assume more of them in a larger batch."
    return facts | {"sentences": [
        both,
        f"{alone} (neighbours: {bound.neighbours}). The cost of further reports adds up."
        f"{few if bound.epsilon > 0.9 * local else ''}",
        "The second promise assumes that shuffler and collector do not collude, and that every batch has reports of at "
        f"least {shuffle.honest:,} honest devices, one each.",
    ]}  # fmt: skip


def read_apart(reports: Mapping[int, int], minimum: int) -> set[int]:
    """Return the periods that may be read separately: those with enough reports.

    The total minus these is the sum of the other periods. If that sum has too few reports, the smallest period is
    withheld too.
    """
    found = {period for period, n in reports.items() if n >= minimum}
    if found and 0 < sum(n for period, n in reports.items() if period not in found) < minimum:
        found.remove(min(found, key=lambda period: (reports[period], period)))
    return found


def starts(task: Task, period: int) -> str:
    """Return the start of a period in UTC."""
    begun = datetime.fromisoformat(task.opens).astimezone(UTC) + timedelta(seconds=period * task.period)
    return begun.strftime("%Y-%m-%dT%H:%M:%SZ")


def values_asked(task: Task, candidates: Any = None) -> Any:
    """Return the values to estimate: those given, those that the task names, or None for all of the mechanism's."""
    if candidates is not None:
        return list(candidates)
    # A mechanism over numbered values estimates all of them; one that hashes needs the values.
    if task.candidates is None or _numbered(task):
        return None
    if isinstance(task.candidates, PublicFile):
        raise DataSourceError(
            f"candidates: this task names its values in {task.candidates.name!r}; give that file with --candidates"
        )
    return list(task.candidates)


def _numbered(task: Task) -> bool:
    return isinstance(getattr(task.mechanism, "domain", None), int)


def labels_in_a_file(task: Task) -> bool:
    """Return whether the labels of numbered values are in a public file."""
    return _numbered(task) and isinstance(task.candidates, PublicFile)


def _repeats(task: Task, first: int, last: int) -> int:
    """Return how many reports with the same noise one device may make in some periods, by the task's budget of a day.

    A total counts from the opening on, as reports may come late. A single period has more if many come late to it.

    Only a memoised d-bit flip needs it. Errors of RAPPOR come from the spread of the reports, with their stored noise.
    Days are those of the devices: 24 hours of the task are parts of two of them.
    """
    if not (isinstance(task.mechanism, BitFlip) and task.mechanism.memoised):
        return 1
    length = datetime.fromisoformat(task.closes) - datetime.fromisoformat(task.opens)
    start, end = first * task.period, min((last + 1) * task.period, int(length.total_seconds()))
    return (1 + max(1, -(-end // _DAY) - start // _DAY)) * _daily(task)


def _daily(task: Task) -> int:
    """Return the number of reports that a task allows a device per day."""
    return int(task.per_day.exact // task.epsilon.exact)  # type: ignore[attr-defined]


def _estimated(task: Task, counts: Counts, asked: Any, quantiles: Any, repeats: int, **more: Any) -> dict[str, Any]:
    mechanism: Any = task.mechanism
    if hasattr(mechanism, "low"):
        figures = estimate_figures(mechanism.estimate(counts), None, quantiles=quantiles, **more)
        if isinstance(figures["mean"], list):
            figures["names"] = list(task.candidates or range(len(figures["mean"])))
        return figures
    searched = asked is None and hasattr(mechanism, "discover")  # values that no one listed
    found = mechanism.discover(counts).estimate if searched else mechanism.estimate(counts, asked)
    figures = estimate_figures(found, None, mechanism, repeats=repeats)
    names = task.candidates
    if asked is None and isinstance(names, tuple) and len(names) == len(figures["estimates"]):
        for one, name in zip(figures["estimates"], names, strict=True):
            one["candidate"] = name
    # A short list, such as bins or degrees of a scale, keeps its order; a long one is ranked.
    figures["ordered"] = not searched and len(figures["estimates"]) <= _SHORT
    return figures


def numbers(facts: dict[str, Any]) -> list[tuple[str, float, float | None, float | None]]:
    """Return name, value and interval (None: not known) of mean and quantiles, or of each of several means."""
    if "names" in facts:
        columns = (facts[key] for key in ("names", "mean", "lower", "upper"))
        return [(str(name), *figures) for name, *figures in zip(*columns, strict=True)]
    rows = [("mean", facts["mean"], facts["lower"], facts["upper"])]
    for one in facts.get("quantiles", ()):
        name = "median" if one["level"] == 0.5 else f"{100 * one['level']:g} % are below"
        rows.append((name, one["value"], one["lower"], one["upper"]))
    return rows


def numbers_table(facts: dict[str, Any]) -> list[list[str]]:
    """Return the same as text."""
    return [
        [name, short(value), "not known" if low is None else f"{short(low)} to {short(high)}"]
        for name, value, low, high in numbers(facts)
    ]


def short(value: float | None, digits: int = 4) -> str:
    """Write a number with a few digits, without an exponent."""
    return "" if value is None else format(Decimal(f"{value:.{digits}g}"), ",f")
