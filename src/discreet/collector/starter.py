"""A small web page that answers one task: a start for an application, with a pinned digest and budget limits."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib.resources import files
from urllib.parse import urlsplit

from discreet.collector.dashboard import PAGES
from discreet.errors import InvalidArgument
from discreet.local import PublicFile, Task
from discreet.reporting.pages import render

#: Values that the page lists; others are typed.
_OFFERED = 1000


def starter(task: Task, url: str) -> dict[str, bytes]:
    """Return the files of a page whose visitors answer a task, by name."""
    where = urlsplit(url)
    if where.scheme not in ("http", "https") or not where.netloc:
        raise InvalidArgument("--url", url, "the address of a collector", "--url https://collector.example")
    own = files("discreet.local.tasks") / "javascript"
    known = task.candidates if isinstance(task.candidates, tuple) else getattr(task.mechanism, "domain", None)
    listed = [] if known is None or isinstance(known, int) else list(known)
    numbers = isinstance(known, int) or (bool(listed) and all(isinstance(value, int | float) for value in listed))
    # Exact, as the task writes them: a rounded limit may be below the task's budget.
    asked = task.to_dict()
    report, day = Fraction(asked["epsilon"]), Fraction(asked["per_day"])
    page = render(
        "starter.html", task.name, "Answers with noise", [], others=PAGES, numbers=numbers,
        values=[str(value) for value in listed[:_OFFERED]], report=_amount(report).strip('"'),
        origin=f"{where.scheme}://{where.netloc}",
    )  # fmt: skip
    lines = [
        'import { Client, indexedDbStore } from "./discreet.js";',
        "",
        "// The page does not trust the collector: it answers this one task, and never spends more than stated here.",
        "const client = new Client({",
        f"  url: {json.dumps(url)},",
        "  store: indexedDbStore(),",
        f"  pins: {{ answer: {json.dumps(task.digest)} }},",
        f"  report: {_amount(report)}, day: {_amount(day)}, life: {_amount(30 * day)},",
        *([f"  labels: {{ answer: await (await fetch({json.dumps('./' + task.candidates.name)})).text() }},"]
          if isinstance(task.candidates, PublicFile) else []),
        "});",
    ]  # fmt: skip
    script = (files("discreet.collector") / "templates" / "starter.js").read_bytes()
    return {
        "index.html": page.encode("utf-8"),
        "app.js": ("\n".join(lines) + "\n\n").encode("utf-8") + script,
        "discreet.js": (own / "discreet.min.js").read_bytes(),
        "discreet.d.ts": (own / "discreet.d.ts").read_bytes(),
    }


def _amount(exact: Fraction) -> str:
    """Write an amount exactly for JavaScript: a number if its digits are exact, else a fraction in quotes."""
    digits = repr(float(exact)).removesuffix(".0")
    return digits if Fraction(digits) == exact else json.dumps(str(exact))
