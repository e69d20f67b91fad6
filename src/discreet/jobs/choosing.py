"""The method to use, by what is wanted, who receives it and how often: the rules are in ``choosing.toml``."""

import re
import shlex
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from discreet.jobs.kinds import KINDS
from discreet.jobs.options import SHELL

#: The questions with their answers, in the order in which they are asked.
QUESTIONS = {
    "want": ("counts", "rows", "model", "clusters", "places", "telemetry"),
    "who": ("public", "partners", "staff"),
    "often": ("once", "monthly"),
}


@cache
def held() -> dict[str, Any]:
    """Return the rules, the settings and the texts."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("discreet.jobs").joinpath("choosing.toml").read_text(encoding="utf-8"))


def goals(want: str, who: str) -> list[str]:
    """Return the recommended kind of job and two alternatives."""
    return list(held()["rules"][want][who])


def settings(goal: str, who: str = "", often: str = "once") -> dict[str, Any]:
    """Return what a plan begins with; names of files begin with NAME."""
    known = held()
    more = known["begin_monthly"].get(goal, {}) if often == "monthly" else {}
    return {**known["begin"][goal], **known["begin_for"].get(who, {}).get(goal, {}), **more}


def commands(goal: str, who: str, often: str, data: str, schema: str, column: str) -> list[str]:
    """Return the command of a goal for a table, after what it needs once."""
    kind, name = KINDS[goal], re.sub(r"\W+", "-", Path(data).name.partition(".")[0]).strip("-") or "people"
    given = {**settings(goal, who, often), **held()["begin_typed"].get(goal, {})}
    given = {key: v.replace("NAME", name) if isinstance(v, str) else v for key, v in given.items()}
    if goal == "sketch" and not data.endswith(".txt"):
        given["column"] = column
    person, unit = _person(schema)
    if person and not unit and any(each.name == "person_rows" for each in kind.parameters):
        given |= {"person": person, "person_rows": 8}
    target = held()["files"][goal]
    if data.endswith(".xlsx"):
        target = target.replace(".csv", ".xlsx")
    if often == "monthly":  # the same file name again would return the release of last month
        stem, dot, ending = target.rpartition(".")
        target = f"{stem}-{datetime.now(UTC):%Y-%m}{dot}{ending}"
    words = ["discreet", kind.words, shlex.quote(data)]
    words += ["--schema", shlex.quote(schema)] if kind.schema else []
    words += [SHELL.given(kind.option(key), value) for key, value in given.items()]
    first = []
    if "account" in given:
        first = ["discreet", "account", "create", given["account"], "--dataset", name]
        first += ["--epsilon", f"{12 * given['epsilon']:g}", "--delta", "1e-06"]
        first += ["--person", person] if person else []
    return [*([shlex.join(first)] if first else []), " ".join([*words, "-o", target])]


def _person(schema: str) -> tuple[str, bool]:
    """Return the person column of a schema file, if there is one, and whether the unit of privacy is declared."""
    import tomllib

    try:
        known = tomllib.loads(Path(schema).read_text(encoding="utf-8"))
        unit, columns = known.get("unit"), known.get("columns", {})
        named = (
            [v for k, v in unit.items() if k not in ("rows", "group", "per_group")] if isinstance(unit, dict) else []
        )
        return [*named, *(n for n, said in columns.items() if said.get("role") == "person"), ""][0], bool(unit)
    except (OSError, ValueError, AttributeError, RecursionError):  # the command says what is wrong
        return "", False
