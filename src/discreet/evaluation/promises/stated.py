"""Compare the words of a guarantee with its own parameters, declaration and draws."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from discreet.core import NEIGHBOURS, ROW, Guarantee, Person, persons, plural
from discreet.metric import restated

#: The line that chooses how many rows of a person are used, and selections of words, count persons.
_OF_PERSONS = ("rows per person", "choice")
#: Laws of noise on whole numbers, which one row moves by 1 or not at all.
_WHOLE = ("laplace", "gaussian", "max-norm", "isotropic")
#: Names in quotation marks, texts and comments of SQL; a count of rows; the standard errors of counts.
_QUOTED = re.compile(
    r"""["`](count)["`]|"[^"]*"|'[^']*'|`[^`]*`|--[^\r\n]*|/\*(?:(?!/\*|\*/)[\s\S])*\*/|\{#(?:(?!\{#)[\s\S])*?#\}""",
    re.IGNORECASE | re.ASCII,
)
_COUNT = re.compile(r"\bcount[^!-~]*\((?![^!-~]*distinct\b)", re.IGNORECASE | re.ASCII)
_ERROR = re.compile(r"(count\((?!distinct\b).*\)_)?std_error", re.IGNORECASE | re.ASCII)


def misstated(promise: Guarantee) -> list[str]:
    """Return what a guarantee states about unit, neighbours and price that its other fields contradict.

    A text that begins with "not checkable" says why that is not known.
    """
    try:
        return [*dict.fromkeys(_misstated(promise))]
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):  # parameters may be anything
        return ["the parameters contradict each other, or cannot be read"]


def _misstated(promise: Guarantee) -> Iterator[str]:
    expected = _expected(promise)
    if not expected:
        yield "not checkable: unit and neighbours of this mechanism are not known here"
    elif _unknown(promise) and "epsilon_at_diameter" in promise.parameters and "epsilon_at_diameter" not in expected:
        yield "not checkable: the level of whole rows does not follow from the rest of the promise"
    for name, right in expected.items():
        stated: Any = getattr(promise, name, promise.parameters.get(name))
        if what := {"epsilon": "categories", "epsilon_at_diameter": "diameter"}.get(name):
            if not math.isclose(float(stated), right, rel_tol=1e-9):
                yield f"{name} is {float(stated):.6g}, and the rate and the {what} that are stated cost {right:.6g}"
        elif stated != right:
            verb = "are" if name == "neighbours" else "is"
            yield f"the {name} {verb} {stated[:200]!r}, and the rest of the promise says {right!r}"
    if promise.model == "syntactic":
        yield from _counted(promise)
    unit = None if promise.domain is None else promise.domain.unit
    lines = [line for top in promise.ledger for _, line in top.walk()]
    for line in lines:
        if any(draw.law in _WHOLE and draw.moves < 1 for draw in line.draws):
            yield f"the ledger line {line.label!r} states noise for less than one, and counts are whole numbers"
    if promise.model == "central":
        copies, rows, squares, of = _copies(promise), 1, 1, ""
        if isinstance(unit, Person) and unit.rows != "auto":
            rows, squares, of = unit.l1, unit.l2_squared(), f" of a {unit.called}"
        for line in lines:
            for draw in line.draws:
                least = squares * copies**2 if draw.law == "gaussian" else rows * copies
                least = 1 if draw.law == "selection" or (line.label, draw.law) == _OF_PERSONS else least
                if draw.rows < least:
                    said = f"noise for {draw.rows} rows{of}, and the unit needs {least}"
                    yield f"the ledger line {line.label!r} states {said}"


def _copies(promise: Guarantee) -> int:
    """Return the copies of a row of the largest weight: whole weights up to 64 are their own number, others have 64."""
    found: Any = promise.parameters.get("weight")
    weight: Any = {} if found is None else found
    units, most = weight.get("units"), weight.get("most")
    if weight and "units" not in weight:  # rows of a model are not counted in copies
        good = promise.parameters.get("method") == "marginals"
    else:
        good = not weight or (type(units) is int and (units == 64 or 0 < units == most < 64))
    if not good or (weight and not (type(most) in (int, float) and 0 < float(most) < math.inf)):
        raise ValueError("no weights have this maximum and number of copies")
    return units or 1


def _expected(promise: Guarantee) -> dict[str, Any]:
    """Return the fields that follow from the others."""
    domain, model = promise.domain, promise.model
    if (found := restated(promise)) is not None:
        return found
    if model == "central" and domain is not None:
        unit = domain.unit
        words = (unit.describe(), unit.neighbours) if isinstance(unit, Person) else (ROW, NEIGHBOURS[model])
        return dict(zip(("unit", "neighbours"), words, strict=True))
    if model == "central":
        return {"neighbours": f"add or remove {promise.unit.partition(' (')[0]}"}
    if model == "syntactic":
        named = re.fullmatch(r"(.+), by column .+", promise.parameters.get("k_counts", ""))
        whose = domain.unit if domain is not None else None
        called = whose.called if isinstance(whose, Person) else "person"
        called = called if named and named[1] == plural(called) else "person"
        return {"unit": f"one {called}" if named else ROW, "neighbours": NEIGHBOURS[model]}
    return {} if _unknown(promise) else {"neighbours": NEIGHBOURS[model]}


def _unknown(promise: Guarantee) -> bool:
    """Return whether rows were perturbed by a mechanism whose words are not known here."""
    return promise.model == "metric" or (promise.model == "local" and promise.domain is not None)


def _counted(promise: Guarantee) -> Iterator[str]:
    """Say if k counts rows where the declaration names persons; changed values have groups of rows."""
    facts, named = promise.parameters, () if promise.domain is None else persons(promise.domain)
    changed = str(facts.get("output")).startswith("changed")
    if named and not changed and (facts.get("required") or {}).get("k") is not None and "k_counts" not in facts:
        yield f"the declaration names persons by column {named[0]!r}, and k counts rows"


def least_variance(promise: Guarantee) -> float:
    """Return a variance below which no count can be that is right on average and costs what a guarantee states.

    One more person with m rows raises a count by m. The χ² divergence of what is released then is at most
    (e^ε - 1)² e^-ε, or e^(2ρ) - 1, and the variance at least m² over it (Hammersley, Chapman, Robbins). Laplace noise
    has twice that, or more.
    """
    unit, spent = None if promise.domain is None else promise.domain.unit, float(min(promise.spent.exact, 300))
    rows = 1
    if isinstance(unit, Person) and unit.rows != "auto":
        rows = min(unit.rows, unit.per_group or unit.rows)
    weight = promise.parameters.get("weight")
    if isinstance(weight, Mapping) and "units" not in weight:
        return 0.0  # a model estimates weights, and is not right on average
    most = weight.get("most") if isinstance(weight, Mapping) else 1
    moved = rows * float(min(most, 1e300) if isinstance(most, (int, float)) else 1)
    if not 1e-100 < spent < 300:
        return 0.0 if spent > 1 else math.inf
    apart = math.expm1(2 * spent) if promise.accounting == "rho" else 4 * math.sinh(spent / 2) ** 2
    return moved * moved / apart


def too_sure(table: pa.Table, promise: Guarantee) -> list[str]:
    """Return messages for counts of rows in an answer with standard errors below those of any noise of the price.

    One that begins with "not checkable" says that query and figures do not show which errors are those of counts.
    """
    facts, query = promise.parameters, promise.parameters.get("query")
    if promise.model == "syntactic" or facts.get("method") != "QuerySession":
        return []
    sql = query if isinstance(query, str) else ""
    for _ in range(9):  # comments may be nested
        sql = _QUOTED.sub(r" \1 ", sql)
    counted, least = _COUNT.search(sql), least_variance(promise) * (1 - 1e-9)
    read = re.search(r"\bselect\b", sql, re.IGNORECASE | re.ASCII) and not re.search(r"""["'`]|/\*|\*/|\{#""", sql)
    figures = [n for n in facts.get("figures", ()) if n in table.column_names]
    names = [n for n in table.column_names if _ERROR.fullmatch(n) and (counted or n != "std_error")]
    cells = {n: table[n].to_pylist() for n in names if n in figures}
    errors = {n: [v for v in found if type(v) in (int, float) and math.isfinite(v)] for n, found in cells.items()}
    said = "has a smaller error than any noise of the stated price"
    wrong = [f"column {n!r} {said}" for n, found in errors.items() if any(v * v < least for v in found)]
    stated = not counted or any(n.endswith("std_error") for n in figures)
    if not read or not stated or list(errors) != names or errors != cells:
        wrong.append("not checkable: query and figures of the answer do not show which errors are those of counts")
    return wrong
