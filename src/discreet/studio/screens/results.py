"""Results of a release: pictures, pairs of columns, questions."""

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from discreet.reporting.pages import marginal, own_texts, sizes, told
from discreet.studio import pictures
from discreet.studio.app import Visit, answers
from discreet.studio.checks import in_one_group, passed_on
from discreet.studio.questions import WHAT, Question, answer, examples
from discreet.studio.released import Released, earlier_of, facts_of, release_of, synopsis_of

#: Columns that can be picked by name on one page.
_MOST_PICKED = 24


@answers("/p/{project}/results/{number}")
def show(visit: Visit) -> Response:
    content = shown(visit, release_of(visit.project, visit.named["number"]))
    return visit.page("results_page.html", screen="release", results=content)


def shown(visit: Visit, release: Released) -> dict[str, Any]:
    project, asked, t = visit.project, visit.query, visit.t
    facts = facts_of(visit.studio.later, project, release)
    made: dict[str, Any] = {"release": release, "facts": facts, "waiting": facts is None}
    made["address"] = f"/p/{project.id}/results/{release.number}"
    if facts is None:
        return made
    drawn = partial(pictures.localised, t=t, own=list(own_texts(facts)))
    marginals = facts["release"].get("marginals", []) if "lifted" not in facts["release"] else []
    names = [each["column"] for each in marginals]
    picked = [name for name in asked.getlist("show") if name in names][:_MOST_PICKED]
    start = _whole(asked.get("from", ""), len(names))
    some = [m for m in marginals if m["column"] in picked] or marginals[start : start + pictures.MOST]
    centers = told(facts["release"].get("clusters"))
    made |= {
        "names": names, "picked": picked, "start": start, "most": pictures.MOST,
        "columns": drawn([marginal(found) for found in some]),
        "groups": drawn(sizes(facts["release"])),
        "moved": drawn(pictures.moved(t, facts)),
        "clusters": centers, "votes": drawn(centers["curves"] if centers else []),
        "reached": _reached(facts), "first_rows": facts["release"].get("first_rows"),
        "kept": passed_on(facts), "one_group": in_one_group(facts),
        "earlier": earlier_of(project, release),
        "asks": False, "pair": None, "pair_names": ("", ""),
    }  # fmt: skip
    if facts["kind"] == "synopsis" and "lifted" not in facts["release"]:
        _synopsis(visit, release, made)
        if made["pair"] is not None:
            made["pair"] = drawn([made["pair"]])
    return made


def _whole(text: str, most: int) -> int:
    return min(int(text), max(most - 1, 0)) if text.isdigit() and len(text) < 6 else 0


def _synopsis(visit: Visit, release: Released, made: dict[str, Any]) -> None:
    asked, facts, t = visit.query, made["facts"], visit.t
    known = (str(release.file), *release.stamp)
    declared = [c["name"] for c in facts["columns"]]
    names = [name for name in declared if name in made["names"]]
    chosen = (asked.get("x", ""), asked.get("y", ""))
    if not set(chosen) <= set(names) or chosen[0] == chosen[1]:
        chosen = _first_pair(facts, names)
    made["pair_names"] = chosen
    found, question = facts["release"].get("clusters"), Question.of(dict(asked))
    made |= {"asks": True, "question": question, "what": WHAT, "answer": None}
    wanted: dict[str, tuple[tuple[Any, ...], Callable[[], Any]]] = {
        "examples": (("examples", *known), lambda: _examples(release))
    }
    if chosen[0]:
        wanted["pair"] = (
            ("pair", *known, *chosen, t("results.rows")),
            lambda: pictures.pair(t, synopsis_of(release), chosen, found),
        )
    if "what" in asked:
        wanted["answer"] = (
            ("question", *known, question, t("results.rows")),
            lambda: answer(synopsis_of(release), question, t),
        )
    done = visit.studio.later.get(*wanted.values())
    made |= dict(zip(wanted, done, strict=True))
    made["waiting"] = None in done


def _examples(release: Released) -> list[tuple[Question, str]]:
    return [
        (each, urlencode({name: value for name, value in vars(each).items() if value}))
        for each in examples(synopsis_of(release).domain)
    ]


def _first_pair(facts: dict[str, Any], names: list[str]) -> tuple[str, str]:
    """Return the two columns to begin with: a map, those that depend on each other the most, or the first."""
    if facts["release"].get("plane"):
        x, y = facts["release"]["plane"]["columns"]
        return x, y
    for found in facts["release"].get("measured", ()):
        both = [name for name in found["columns"].split(" by ") if name in names]
        if len(both) == 2:
            return both[0], both[1]
    return (names[0], names[1]) if len(names) > 1 else ("", "")


def _reached(facts: dict[str, Any]) -> dict[str, Any] | None:
    """Return what an anonymous table was to reach and has reached: k, l and t of each sensitive column."""
    parameters = facts["parameters"]
    if facts["kind"] != "anonymous table" or "reached" not in parameters:
        return None
    wanted, reached = parameters.get("required", {}), parameters["reached"]
    persons = facts["release"].get("risk", {}).get("counts") == "persons"
    rows = [("k_persons" if persons else "k", "", wanted.get("k"), reached.get("k"))]
    for name, column in ((n, c) for n in ("l", "t") for c in reached.get(n, {})):
        asked = wanted.get(name)
        least = (asked.get("least", asked.get("most")) if isinstance(asked, dict) else asked) if asked else None
        rows.append((name, column, least, reached[name][column]))
    counted = {"unnamed": "left_out_without_person", "over": "left_out_over_most_rows", "blanked": "blanked"}
    more = {name: parameters.get(fact) for name, fact in counted.items()}
    return {
        "more": {name: n for name, n in more.items() if n}, "rows": rows,
        "released": facts["release"]["rows"], "suppressed": parameters.get("suppressed", 0),
        "before": parameters.get("left_out_published_before", 0),
        "dropped": parameters.get("dropped_for_missing_values", 0),
    }  # fmt: skip
