"""A page that simulates ten thousand devices against a live collector, and draws its estimates."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from importlib.resources import files

from discreet import local
from discreet.collector.dashboard import PAGES
from discreet.local import Task
from discreet.reporting.pages import render

#: The values of the simulated devices, with their shares.
SHARES = {"apple": 0.26, "pear": 0.18, "plum": 0.14, "cherry": 0.12, "peach": 0.1, "grape": 0.08, "melon": 0.06,
          "fig": 0.04, "quince": 0.02}  # fmt: skip
DEVICES = 10_000


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
    client = files("discreet.local.tasks") / "javascript" / "discreet.min.js"
    own = files("discreet.collector") / "templates" / "simulation.js"
    page = render(
        "simulation.html", "Ten thousand devices, and what their collector learns", "Demonstration of a collector", [],
        others=PAGES, task=task.digest, shares=json.dumps(list(SHARES.items())), devices=f"{DEVICES:,}",
    )  # fmt: skip
    return {
        "/demo": ("text/html; charset=utf-8", page.encode("utf-8")),
        "/demo/discreet.js": (script, client.read_bytes()),
        "/demo/simulation.js": (script, own.read_bytes()),
    }
