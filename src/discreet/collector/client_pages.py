"""Pages with the client in JavaScript: a start for an application, and a simulation of ten thousand devices."""

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from discreet import local
from discreet.collector.dashboard import PAGES
from discreet.errors import InvalidArgument
from discreet.local import PublicFile, Task
from discreet.reporting.pages import render

_CLIENT, _OWN = files("discreet.local.tasks") / "javascript", files("discreet.collector") / "templates"
#: Values that the page lists; others are typed.
_OFFERED = 1000

#: The values of the simulated devices, with their shares.
SHARES = {"apple": 0.26, "pear": 0.18, "plum": 0.14, "cherry": 0.12, "peach": 0.1, "grape": 0.08, "melon": 0.06,
          "fig": 0.04, "quince": 0.02}  # fmt: skip
DEVICES = 10_000


def starter(task: Task, url: str) -> dict[str, bytes]:
    """Return the files of a page whose visitors answer a task, by name."""
    try:
        where = urlsplit(url)
    except ValueError:
        where = urlsplit("")
    if where.scheme not in ("http", "https") or not where.netloc:
        raise InvalidArgument("--url", url, "the address of a collector", "--url https://collector.example")
    m: Any = task.mechanism
    known = task.candidates or getattr(m, "domain", None) or getattr(m, "candidates", None)
    in_a_file = isinstance(known, PublicFile)
    known = None if in_a_file else known  # labels that the page reads
    listed = [] if known is None or isinstance(known, int) else list(known)
    asks = hasattr(task.mechanism, "low")
    several = asks and len(np.shape(task.mechanism.low)) == 1  # type: ignore[attr-defined]
    listed = [] if several else listed
    whole = isinstance(known, int) or (bool(listed) and all(isinstance(value, int | float) for value in listed))
    numbers = whole or (asks and not several)
    # Exact, as the task writes them: a rounded limit may be below the task's budget.
    asked = task.to_dict()
    report, day = Fraction(asked["epsilon"]), Fraction(asked["per_day"])
    page = render(
        "starter.html", task.name, "Answers with noise", [], others=PAGES, numbers=numbers, several=several,
        values=[str(value) for value in listed[:_OFFERED]], report=_amount(report).strip('"'),
        origin=f"{where.scheme}://{where.netloc}", party="collector" if task.shuffle is None else "shuffler",
    )  # fmt: skip
    lines = [
        'import { Client, indexedDbStore } from "./discreet.js";',
        "",
        *([f"const file = await fetch({json.dumps('./' + quote(task.candidates.name))});",
           'const words = file.ok ? await file.text() : "";', ""] if isinstance(task.candidates, PublicFile) else []),
        "// The page does not trust the collector: it answers this one task, and never spends more than stated here.",
        "const client = new Client({",
        f"  url: {json.dumps(url)},",
        "  store: indexedDbStore(),",
        f"  pins: {{ answer: {json.dumps(task.digest)} }},",
        f"  report: {_amount(report)}, day: {_amount(day)}, life: {_amount(30 * day)},",
        *(["  labels: { answer: words },"] if in_a_file else []),
        "});",
        *(["", f"const listed = words.split(/\\r?\\n|\\r$/).filter(Boolean).slice(0, {_OFFERED});",
           'document.getElementById("values").append(...listed.map((word) => new Option("", word)));']
          if in_a_file and not several else []),
    ]  # fmt: skip
    return {
        "index.html": page.encode("utf-8"),
        "app.js": ("\n".join(lines) + "\n\n").encode("utf-8") + (_OWN / "starter.js").read_bytes(),
        "discreet.js": (_CLIENT / "discreet.min.js").read_bytes(),
        "discreet.d.ts": (_CLIENT / "discreet.d.ts").read_bytes(),
    }


def _amount(exact: Fraction) -> str:
    """Write an amount exactly for JavaScript: a number if its digits are exact, else a fraction in quotes."""
    digits = repr(float(exact)).removesuffix(".0")
    return digits if Fraction(digits) == exact else json.dumps(str(exact))


def simulated_task(epsilon: float = 2.0) -> Task:
    """Return the task of the simulation: one of nine fruits, open for a week."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    mechanism = local.plan(epsilon, len(SHARES), DEVICES).best.make(list(SHARES))
    return Task(
        mechanism, name="favourite fruit, simulated", per_day=epsilon, wanted=DEVICES, minimum=100, opens=today,
        closes=today + timedelta(days=7),
    )  # fmt: skip


def served(task: Task) -> dict[str, tuple[str, bytes]]:
    """Return type and content of the files of the simulation, by path."""
    script = "text/javascript; charset=utf-8"
    page = render(
        "simulation.html", "Ten thousand devices, and what their collector learns", "Demonstration of a collector", [],
        others=PAGES, task=task.digest, shares=json.dumps(list(SHARES.items())), devices=f"{DEVICES:,}",
    )  # fmt: skip
    return {
        "/demo": ("text/html; charset=utf-8", page.encode("utf-8")),
        "/demo/discreet.js": (script, (_CLIENT / "discreet.min.js").read_bytes()),
        "/demo/simulation.js": (script, (_OWN / "simulation.js").read_bytes()),
    }
