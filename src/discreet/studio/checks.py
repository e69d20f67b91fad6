"""Evidence about a release, on demand: audits, attacks and measures of risk, each a job in a process of its own.

Each check has a folder next to the release, like a run.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.core import Domain, write_whole
from discreet.jobs import Job
from discreet.reporting import each_result
from discreet.studio.released import Released
from discreet.studio.runs import Run, runs_of
from discreet.studio.workspace import Project

#: What a steward says about a release, for its page and signature.
SAID = ("title", "owner", "purpose", "date", "name")
#: The longest of these texts.
LONGEST = 300


def owner(project: Project, release: Released) -> Project:
    return replace(project, folder=release.folder)


@dataclass(frozen=True)
class Check:
    """A check that was asked for: its run, and what kind of job it is."""

    run: Run
    kind: str
    method: str = ""

    @property
    def figures(self) -> dict[str, Any]:
        return self.run.figures if self.run.state == "done" else {}


def checks_of(project: Project, release: Released) -> list[Check]:
    return [
        Check(run, run.job.kind, str(run.job.parameters.get("method", "")))
        for run in runs_of(owner(project, release))
        if run.job is not None
    ]


def attached(checks: list[Check], kind: str) -> list[dict[str, Any]]:
    """Return the results of checks as a report shows them; of audits the newest of each file."""
    found: dict[str, list[dict[str, Any]]] = {}
    for check in checks:
        if check.kind == kind and check.figures:
            file = str(check.figures.get("file", ""))
            name = file if kind == "audit" else f"{check.method or kind} {check.run.number}"
            found.setdefault(name, each_result(f"{kind} {name}", check.figures))
    return [each for several in found.values() for each in several]


def attack_job(project: Project, release: Released, facts: Mapping[str, Any], given: Mapping[str, str]) -> Job:
    parameters: dict[str, Any] = {"method": given.get("method", "membership")}
    parameters |= {name: given[name] for name in ("against", "control") if given.get(name)}
    if parameters["method"] in ("attribute", "inference") and given.get("column"):
        parameters["column"] = given["column"]
    schema: Any = Domain.from_toml(project.schema_file) if project.schema_file.is_file() else None
    return Job("attack", str(release.file), schema, parameters)


def attackable(facts: Mapping[str, Any]) -> tuple[str, ...]:
    if facts["kind"] == "synopsis":
        return ("membership",) if facts["release"].keys() & {"lifted", "measured"} else ("membership", "attribute")
    if facts["kind"] == "perturbed table" and facts["parameters"].get("mechanism") == "NDLaplace":
        return ("membership", "attribute")
    return ()


def passed_on(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return which columns a table passes on as they are, and how few hide who are known by them too."""
    kept = facts["parameters"].get("kept")
    if not kept:
        return None
    unique = float(kept.get("unique", 0.0))
    # Rounded up, but to all only where it is all.
    share = 100.0 if unique >= 1 else min(math.ceil(round(1000 * unique, 6)) / 10, 99.9)
    return {"names": ", ".join(map(str, kept["columns"])), "k": kept.get("k"), "unique": share}


def to_weigh(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the report has its reader weigh, each with its tone.

    Without seal, seed and columns passed on: those every screen says in the words of its catalogue.
    """
    from discreet.reporting.pages import worrying

    told = {
        **facts, "checks": {**facts["checks"], "seal": "intact", "seeded": False}, "attacks": [{}], "audits": [{}],
        "parameters": {**facts["parameters"], "kept": None},
    }  # fmt: skip
    return [(tone, text) for tone, text in worrying(told).lines if tone != "good"]


def in_one_group(facts: Mapping[str, Any]) -> int:
    return int(facts["release"]["rows"]) if facts["release"].get("risk", {}).get("classes") == 1 else 0


def judged(audited: list[dict[str, Any]]) -> tuple[int, int]:
    found = [check for audit in audited for check in audit.get("checks", ())]
    return sum(check["holds"] is True for check in found), sum(map(left_open, found))


def left_open(check: Mapping[str, Any]) -> bool:
    return (
        check["holds"] is None and check["check"] != "account" and not str(check["detail"]).startswith("does not apply")
    )


def weighed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what screens say about the strength of a promise; ``among`` is the size of the smallest group."""
    k = facts["parameters"].get("reached", {}).get("k")
    among = None if k is None else (int(k), "persons" if "k_counts" in facts["parameters"] else "rows")
    return {"kept": passed_on(facts), "weigh": to_weigh(facts), "among": among, "one_group": in_one_group(facts)}


def said_about(release: Released) -> dict[str, str]:
    try:
        told = json.loads((release.folder / "about.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        told = {}
    return {name: str(told.get(name, "")) for name in SAID}


def say_about(release: Released, given: Mapping[str, str]) -> None:
    release.folder.mkdir(parents=True, exist_ok=True)
    told = {**said_about(release), **{name: given[name].strip()[:LONGEST] for name in SAID if name in given}}
    write_whole(release.folder / "about.json", json.dumps(told, ensure_ascii=False), private=True)
