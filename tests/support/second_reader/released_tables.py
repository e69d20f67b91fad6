"""Anonymous tables, recounted: columns, rows, order, k, l and t of every group, alone and with earlier releases."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from typing import Any

import numpy as np

from second_reader.reading import Case, Objections
from second_reader.released import ends, in_random_order, no_metadata, read_table, sealed


def anonymous_table(case: Case) -> Objections:
    facts, table = case.facts, read_table(case)
    yield from sealed(case, case.made.payload)
    yield from no_metadata(table)
    if facts["rows"] != table.num_rows:
        yield f"{table.num_rows} rows, {facts['rows']} are stated"
    gone = facts["suppressed"] + facts["dropped_for_missing_values"] + facts.get("left_out_over_most_rows", 0)
    gone += facts.get("left_out_without_person", 0)
    if facts["rows"] + gone != case.made.rows:
        yield "released, suppressed and dropped rows are not all there were"
    bounds = _bounds_of(case, table.column_names)
    shown = facts["identifiers"] == "hash" and facts["output"] != "sample"
    hashed = [n for n, c in case.columns.items() if c["role"] in ("person", "identifier") and shown]
    quasi = bounds or _quasi(case)
    passed = [n for n, c in case.columns.items() if c["role"] == "sensitive"]
    allowed = {*quasi, *passed, *hashed, *facts.get("kept", {}).get("columns", ())}
    if set(table.column_names) != allowed:
        yield f"columns {table.column_names} are released, {sorted(allowed)} are told"
        return
    values = {
        name: [tuple(v) if isinstance(v, list) else v for v in table[name].to_pylist()] for name in table.column_names
    }
    for name in hashed:
        if any(v is not None and not re.fullmatch("[0-9a-f]{16}", str(v)) for v in values[name]):
            yield f"{name} is not hashed"
    yield from _values(case, values, quasi if not bounds else [])
    told, kept = facts.get("nearly_unique", {}), facts.get("kept", {}).get("columns", ())
    for name in (*passed, *kept) if table.num_rows else ():
        held = Counter(v for v in values[name] if v not in (None, ""))
        share = sum(n == 1 for n in held.values()) / table.num_rows
        if (name in told) != (share > 0.5) or not math.isclose(told.get(name, share), share, abs_tol=1e-12):
            yield f"{share} of the rows have a {name} of their own, {told} is told"
    said = [text for text in case.promise["assumptions"] if "occurs once and identifies" in text]
    if bool(said) != bool(told):
        yield "columns in which most rows are alone are not named"
    if table.num_rows:
        yield from _classes(case, values, quasi, passed, hashed)
    key = case.made.sorted_by
    if key in values and facts["output"] != "sample" and table.num_rows >= 30:
        held = [float(v) for v in values[key]]  # numbers of a CSV may be passed on as they were spelled
        rising = held == sorted(held)
        if (facts["order"] == "input" and not rising) or (facts["order"] == "shuffled" and rising):
            yield f"the order is called {facts['order']!r}, and rows {'rise' if rising else 'do not rise'}"
        if facts["order"] == "shuffled" and len(set(held)) == len(held):
            yield from in_random_order(case, np.array(held))


def _bounds_of(case: Case, names: list[str]) -> list[str]:
    """The quasi-identifiers as bounds for programs, where the table has them so; in the table's own order."""
    tails = ("_lower", "_upper", "_set", "_may_be_missing")
    made = {q + tail for q in _quasi(case) for tail in tails}
    found = [n for n in names if n in made]
    return found if not set(_quasi(case)) & set(names) else []


def _quasi(case: Case) -> list[str]:
    """The columns by which somebody could be recognised; where the promise names none, those with that role."""
    roles = [name for name, column in case.columns.items() if column["role"] == "quasi-identifier"]
    return list(case.facts.get("quasi_identifiers", roles))


def _place(text: str) -> float:
    return float(np.datetime64(text, "D").astype(int)) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else float(text)


def _values(case: Case, values: dict[str, list[Any]], quasi: list[str]) -> Objections:
    """Every printed value is in the declared domain."""
    for name in quasi:
        column, output = case.columns[name], case.facts["output"]
        if "categories" in column or output == "changed values":
            continue
        low, high = ends(column)
        for text in set(values[name]) - {None}:
            if isinstance(text, str):
                text = text.partition(" or missing")[0]
            found = re.findall(r"\d{4}-\d\d-\d\d|-?\d[\d.]*(?:e[+-]?\d+)?", str(text).replace(",", " "))
            places = [_place(x) for x in found]
            if any(not low - 1e-9 <= x <= high + 1e-9 for x in places):
                yield f"{name} holds {text!r}, beyond its bounds"


def _classes(
    case: Case, values: dict[str, list[Any]], quasi: list[str], sensitive: list[str], hashed: list[str]
) -> Objections:
    """k, l and t, recounted from the table alone."""
    facts = case.facts
    required, reached = facts["required"], facts["reached"]
    if facts["output"] == "sample" or reached["k"] is None:
        return
    if reached["k"] < required["k"]:
        yield f"k = {required['k']} is required, {reached['k']} reached"
    groups: dict[Any, list[int]] = defaultdict(list)
    for row, key in enumerate(zip(*(values[name] for name in quasi), strict=True)):
        groups[key].append(row)
    exact = facts["output"] in ("interval", "mean")
    persons = case.promise["unit"] == "one person"
    whose = next((values[n] for n in hashed if case.columns[n]["role"] == "person"), None)
    count = (lambda rows: len({whose[r] for r in rows})) if persons and whose is not None else len
    k = min(map(count, groups.values()))
    if k < reached["k"] or (exact and k != reached["k"] and not (persons and whose is None) and "mode" not in facts):
        yield f"the smallest group has {k}, {reached['k']} is told"
    if whose is not None and "largest_share" in reached and exact and "mode" not in facts:
        largest = max(max(Counter(whose[r] for r in rows).values()) / len(rows) for rows in groups.values())
        if not math.isclose(largest, reached["largest_share"], abs_tol=1e-9):
            yield f"one person has {largest} of a group, {reached['largest_share']} is told"
    if len(groups) > facts.get("cells", facts.get("groups", len(groups))):
        yield f"{len(groups)} groups in {facts.get('cells')} cells"
    yield from _together(case, list(zip(*(values[name] for name in quasi), strict=True)))
    for name in sensitive:
        yield from _diverse(case, name, values[name], list(groups.values()))
    kept = facts.get("kept")
    if kept and "k" in kept and exact and (not persons or whose is not None):
        sizes = defaultdict(list)
        for row, key in enumerate(zip(*(values[name] for name in (*quasi, *kept["columns"])), strict=True)):
            sizes[key].append(row)
        alone = sum(len(rows) for rows in sizes.values() if count(rows) == 1)
        found = min(map(count, sizes.values())), alone / facts["rows"]
        if found[0] != kept["k"] or not math.isclose(found[1], kept["unique"], abs_tol=1e-12):
            yield f"with kept columns it is {found}, not {kept}"


def _together(case: Case, cells: list[Any]) -> Objections:
    """Check both tables together: groups with the same cell now and the same cell before have k rows."""
    facts, before = case.facts, case.made.extra.get("before")
    if "given" in case.made.extra:
        return  # `combined` follows everyone from the one input table to the other
    if bool(before) != bool(facts.get("earlier_releases")):
        yield "earlier releases are told wrongly"
    if before:
        k = min(Counter(zip(cells, before, strict=True)).values())
        if k < facts["required"]["k"] or facts["reached_together"]["k"] > k:
            yield f"with the earlier release the smallest group has {k}, {facts['reached_together']} is told"


def _diverse(case: Case, name: str, column: list[Any], groups: list[list[int]]) -> Objections:
    required, told = case.facts["required"], case.facts["reached"]
    support = sorted(set(column), key=lambda v: (v is None, v if isinstance(v, (int, float)) else str(v)))
    whole = [column.count(v) / len(column) for v in support]
    numeric = "bounds" in case.columns[name]
    worst_l, worst_t = math.inf, 0.0
    kind = required.get("l", {}).get("kind", "distinct")
    asked = required.get("t", {}).get("kind", "auto")
    ordered = asked == "ordered" or (asked == "auto" and numeric)
    for rows in groups:
        counts = Counter(column[r] for r in rows)
        share = [counts[v] / len(rows) for v in support]
        if kind == "distinct":
            worst_l = min(worst_l, len(counts))
        elif kind == "entropy":
            worst_l = min(worst_l, math.exp(-sum(s * math.log(s) for s in share if s)))
        else:
            falling, rule = sorted(counts.values(), reverse=True), required["l"]
            if not falling[0] < rule["c"] * sum(falling[int(rule["least"]) - 1 :]):
                yield f"{name}: a group is not recursively diverse"
        gaps = [a - b for a, b in zip(share, whole, strict=True)]
        even = sum(map(abs, gaps)) / 2
        far = sum(map(abs, itertools.accumulate(gaps))) / max(len(gaps) - 1, 1) if ordered else even
        worst_t = max(worst_t, far)
    if "l" in required and kind != "recursive" and worst_l < required["l"]["least"] - 1e-9:
        yield f"{name}: l = {worst_l} where {required['l']['least']} is required"
    if "t" in required and worst_t > required["t"]["most"] + 1e-9 and (ordered is numeric or asked != "ordered"):
        yield f"{name}: t = {worst_t} where {required['t']['most']} is required"
    exact = case.facts["output"] == "interval" and "mode" not in case.facts
    if exact and kind != "recursive" and "l" in told and abs(told["l"][name] - worst_l) > 1e-6:
        yield f"{name}: l = {worst_l}, {told['l'][name]} is told"
    if exact and "t" in told and numeric == ordered and abs(told["t"][name] - worst_t) > 1e-6:
        yield f"{name}: t = {worst_t}, {told['t'][name]} is told"
