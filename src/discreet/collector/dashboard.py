"""The operator's pages: all tasks and the health of the service; one task with its estimates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from jinja2 import PackageLoader
from markupsafe import Markup

from discreet.collector.reading import numbers, numbers_table, read, short, standing
from discreet.collector.stores.base import Store
from discreet.core import counted, ends_of
from discreet.errors import DataSourceError, TooFewReports
from discreet.reporting.pages import PROMISED, WORRYING, Answer, decades, render, svg

if TYPE_CHECKING:
    from discreet.collector.service.committer import Committer

#: Heading, notes, column heads, rows, and the columns with figures.
_Table = tuple[str, list[str], list[str], list[list[str]], tuple[int, ...]]
PAGES = PackageLoader("discreet.collector")
_COLLECTED = "What is collected?"
_PROMISE = "No report is more than e^ε times as likely under one value of a device as under another"
_BY_DAY = "Days with too few reports are left out, and so are days whose figures would reveal those."
#: Values that a ranking shows in their own order.
_RANKED = 12
#: Days and values of the comparison, and listed values.
_DAYS, _VALUES, _LISTED = 7, 10, 50


def front(store: Store, writer: Committer) -> str:
    """Return the page of all tasks and of the health of the process that writes."""
    facts = [standing(store, digest) for digest in store.tasks()]
    total, live = sum(one["reports"] for one in facts), [one for one in facts if not one["closed"]]
    most = max((one["epsilon_per_day"] for one in live), default=0.0)
    worries = []
    if not writer.ready:
        worries.append(("bad", "The store takes no reports at the moment: check the disk and the log."))
    if writer.full:
        worries.append(("warn", "More reports wait than can be written; devices are asked to send again later."))
    if len(live) > 1:
        spent = sum(one["epsilon_per_day"] for one in live)
        worries.append(("warn", f"A device that answers all {len(live)} open tasks spends ε = {spent:g} in a day."))
    kept = [("", "noisy reports, no addresses, no times")]
    answers = [
        Answer(_COLLECTED, f"{counted(total, 'report')} of {counted(len(facts), 'task')}", kept),
        Answer(PROMISED, f"ε ≤ {most:g} per device, task and day", [("", f"{_PROMISE}.")]),
        _worrying(worries, "The store takes reports."),
    ]
    rows = []
    for one in facts:
        name = Markup('<a href="/tasks/{}">{}</a>').format(one["task"], one["name"])
        costs = [f"{one[key]:g}" for key in ("epsilon_per_report", "epsilon_per_day")]
        until = "closed" if one["closed"] else f"until {one['closes'][:10]}"
        rows.append([name, one["mechanism"], *costs, f"{one['reports']:,}", f"{one['wanted']:,}", until])
    speed = 1000 * writer.commit_seconds / max(writer.commits, 1)
    now = [
        ["store", "takes reports" if writer.ready else "takes no reports"],
        ["frames written since start", f"{writer.committed:,}"],
        ["transactions", f"{writer.commits:,}, {speed:.1f} ms each"],
        ["waiting", f"{writer.waiting_bytes:,} bytes"],
    ]
    heads = ["task", "mechanism", "ε per report", "ε per day", "reports", "wanted", "open"]
    tables: list[_Table] = [("Tasks", [], heads, rows, (2, 3, 4, 5)), ("Health", [], ["", "now"], now, ())]
    return _page("Collector", "Dashboard of a collector", answers, tables, [])


def of_task(store: Store, digest: str, **asked: Any) -> str:
    """Return the page of one task: reports over time, estimates, refused frames, the effect of false reports."""
    facts = standing(store, digest)
    worries: list[tuple[str, str]] = []
    try:
        facts = read(store, digest, **asked)
    except TooFewReports as error:
        worries.append(("warn", f"{str(error)[:1].upper()}{str(error)[1:]}."))
    except DataSourceError as error:
        worries.append(("warn", str(error)))
    refused = sum(facts["refused"].values())
    if refused > facts["reports"] / 100:
        worries.append(("warn", f"{counted(refused, 'frame')} refused: see the reasons below."))
    lines = [
        ("", f"ε = {facts['epsilon_per_report']:g} per report"),
        ("", f"{_PROMISE}; for every device, against the collector too."),
    ]
    mixed = facts.get("shuffled", {})
    if mixed:
        lines = [("", line) for line in (*mixed["sentences"], f"{_PROMISE}.")]
    if lost := mixed.get("lost"):
        worries.append(("warn", f"{counted(lost, 'report')} deleted by the shuffler: see the table below."))
    until = f"{_day(facts['opens'])} to {_day(facts['closes'])}, UTC"
    when = [("", f"{until}{'; closed, no more are taken' if facts['closed'] else ''}")]
    answers = [
        Answer(_COLLECTED, f"{facts['reports']:,} of {facts['wanted']:,} reports", when),
        Answer(PROMISED, f"ε ≤ {facts['epsilon_per_day']:g} per device and day", lines),
        _worrying(worries, "Enough reports to be read."),
    ]
    return _page(facts["name"], f"Task {facts['task'][:12]}", answers, _tables(facts), _charts(facts))


def _charts(facts: dict[str, Any]) -> list[tuple[Markup, str]]:
    charts = []
    periods = facts["periods"]
    if periods:
        days, n = [one["from"][:10] for one in periods], [float(one["reports"]) for one in periods]
        charts.append((svg.bars(days, n, title="reports over time", axis="reports"), "Reports over time, in UTC"))
    if "histogram" in facts:
        charts.append((_histogram(facts), "Estimated distribution, with 95 % intervals"))
    found = facts.get("estimates")
    names = [str(one["candidate"]) for one in found or ()]
    if found and facts["ordered"] and len(found) > _RANKED:
        count, *ends = ([one[key] for one in found] for key in ("count", "lower", "upper"))
        picture = svg.bars(names, count, title="estimates", axis="reports", ends=(ends[0], ends[1]))
        charts.append((picture, "Estimated reports from holders of each value, in the order of the task"))
    elif found:
        columns = ([one[key] for one in found] for key in ("count", "lower", "upper"))
        picture = svg.ranked(names, *columns, title="estimates", axis="reports", form="{:,.0f}".format, span=ends_of)
        charts.append((picture, "Estimated reports from holders of each value, with 95 % intervals"))
    return charts


def _histogram(facts: dict[str, Any]) -> Markup:
    """Draw the bins of a distribution, on the scale on which they have equal widths."""
    bins = facts["histogram"]
    edges = [*(one["from"] for one in bins), bins[-1]["to"]]
    shares, low, high = ([100 * one[key] for one in bins] for key in ("share", "lower", "upper"))
    labels, marks = [f"{short(one['from'])} to {short(one['to'])}" for one in bins], None
    if facts["scale"] == "log":
        marks = [(math.log10(v), text) for v, text in decades(edges[0], edges[-1], short).marks]
        edges = [math.log10(edge) for edge in edges]
    places: dict[str, Any] = {"edges": edges, "marks": marks, "ends": (low, high)}
    return svg.bars(labels, shares, title="distribution", axis="% of reports", **places)


def _tables(facts: dict[str, Any]) -> list[_Table]:
    tables: list[_Table] = []
    if "mean" in facts:
        tables.append(("Estimates", [], ["", "estimate", "95 % interval"], numbers_table(facts), (1, 2)))
        days = [one for one in facts["periods"] if "mean" in one][-_DAYS:]
        if len(days) > 1:
            each = [numbers({**facts, **day}) for day in days]
            rows = [[name, *(_give_or_take(*day[i][1:]) for day in each)] for i, (name, *_) in enumerate(each[0])]
            heads = ["", *(day["from"][:10] for day in days)]
            note = f"Estimates of one day ± half a 95 % interval. {_BY_DAY}"
            tables.append(("Day by day", [note], heads, rows, tuple(range(1, len(heads)))))
        rows = [
            [f"{short(one['from'])} to {short(one['to'])}", f"{100 * one['share']:.1f} %",
             f"{100 * one['lower']:.1f} to {100 * one['upper']:.1f} %"]
            for one in facts.get("histogram", ())
        ]  # fmt: skip
        if rows:
            tables.append(("Distribution", [], ["values", "reports", "95 % interval"], rows, (1, 2)))
    found = list(facts.get("estimates", ()))
    if found and not facts["ordered"]:
        found.sort(key=lambda one: -one["count"])
    if found:
        rows = [
            [str(one["candidate"]), f"{one['count']:,.0f}", ends_of(one["lower"], one["upper"]),
             "may be noise" if one["may_be_noise"] else ""]
            for one in found[:_LISTED]
        ]  # fmt: skip
        more = [f"The largest {_LISTED} of {len(found):,}."] if len(found) > _LISTED else []
        tables.append(("Estimates", more, ["value", "reports", "95 % interval", "note"], rows, (1, 2)))
    days = [one for one in facts["periods"] if "estimates" in one][-_DAYS:]
    if len(days) > 1:
        names = [str(one["candidate"]) for one in found[:_VALUES]]
        shares = [{str(e["candidate"]): _share(e, day["reports"]) for e in day["estimates"]} for day in days]
        rows = [[name, *(share.get(name, "") for share in shares)] for name in names]
        heads = ["value", *(day["from"][:10] for day in days)]
        note = f"Share of the reports of a day ± half a 95 % interval. {_BY_DAY}"
        tables.append(("Day by day", [note], heads, rows, tuple(range(1, len(heads)))))
    if mixed := facts.get("shuffled"):
        rows = [
            ["fewest reports of a batch", f"{mixed['batch']:,}"],
            ["honest devices assumed in it", f"{mixed['honest']:,}"],
            ["longest wait", f"{mixed['longest_wait']:,} seconds"],
            ["reports deleted, because their batch stayed too small or the task was closed", f"{mixed['lost']:,}"],
        ]
        tables.append(("Shuffler", [], ["setting", "value"], rows, (1,)))
    if facts["refused"]:
        rows = [[reason, f"{n:,}"] for reason, n in facts["refused"].items()]
        tables.append(("Refused frames", [], ["reason", "frames"], rows, (1,)))
    notes = list(facts.get("caveats", ()))
    if notes:
        tables.append(("How to read this", notes, [], [], ()))
    tables.append(("For the application", ["The digest that its clients pin:"], ["digest"], [[facts["task"]]], ()))
    return tables


def _day(time: str) -> str:
    """Format a time; midnight is shown as a day."""
    return time[:10] if time.endswith("T00:00:00Z") else time[:16].replace("T", " ")


def _worrying(worries: list[tuple[str, str]], good: str) -> Answer:
    return Answer(WORRYING, "See below" if worries else "Nothing at the moment", worries or [("good", good)])


def _give_or_take(value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"{short(value)}, interval not known"
    return f"{short(value)} ± {short((high - low) / 2, 2)}"


def _share(one: dict[str, Any], n: int) -> str:
    return f"{100 * one['count'] / max(n, 1):.1f} % ± {50 * (one['upper'] - one['lower']) / max(n, 1):.1f}"


def _page(title: str, kind: str, answers: list[Answer], tables: list[Any], charts: list[Any]) -> str:
    return render("collector.html", title, kind, answers, others=PAGES, tables=tables, charts=charts,
                  back=kind.startswith("Task "))  # fmt: skip
