"""Releases of combined features, judged by a reader who also holds the input tables; nothing of the package is used.

To what `reading` finds in each release, it adds: marks of the input in anything that was written or said, the declared
unit, the balance of the account from its lines, and people who can be distinguished, by brute force: each input
row is put into the released cell that holds it, in one release and in two.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from second_reader import reading, released
from second_reader.reading import Case, Objections, people_hidden
from second_reader.released import ends, escaped, in_random_order, no_metadata, read_table, sealed

_QUASI = ("age", "pay", "town")


def judge(done: Any) -> list[str]:
    """Return everything that is wrong with what came of a combination."""
    wrong: list[str] = []
    for number, each in enumerate(done.releases):
        case = Case(each.made, json.loads(each.made.promise))
        found = [*reading.read(each.made, check), *_marks(each.made, done.shown), *_unit(done.given, case.promise)]
        if each.made.kind == "table":
            found += _people(case, each.table)
        wrong += [f"release {number}: {why}" for why in found]
    wrong += _account(done)
    if len(done.releases) == 2 and done.releases[1].made.kind == "table":
        wrong += _both(*done.releases)
    return wrong


def check(case: Case) -> Objections:
    """Read the bytes by their kind."""
    kinds = {"marginals": _marginals, "answer": _answer, "bitmap": _bitmap, "means": _means, "drawn": _drawn}
    yield from kinds.get(case.made.kind, released.check)(case)
    for name, payload in case.made.extra.get("files", {}).items():
        own = case.made.extra["promises"].get(name)  # synthetic rows carry what was promised of the counts behind them
        if own is not None and any(own[key] != case.promise[key] for key in ("ledger", "unit", "epsilon", "delta")):
            yield f"{name} carries another promise than the synopsis"
        if own is not None and reading.seal(own, payload) != own["digest"]:
            yield f"the seal of {name} is not that of its bytes"
        yield from _rows(Case(case.made, own or case.promise), name, list(_records(name, payload)))
    yield from _rows(case, "rows", case.made.extra.get("rows", []))


# ---- marks of the input


def _marks(made: Any, shown: list[str]) -> Objections:
    texts = [made.text, made.promise, *made.said, *shown]
    for name, payload in {f"x{made.suffix}": made.payload, **made.extra.get("files", {})}.items():
        texts.append(payload.decode("latin-1"))
        if payload[:4] == b"PAR1":  # values may be compressed
            table = pq.read_table(io.BytesIO(payload))
            texts += [name, repr(table.to_pydict()), table.schema.to_string(truncate_metadata=False)]
    texts.append(repr(made.extra.get("rows")) + repr(made.extra.get("labels")))
    for mark in made.secrets:
        if any(mark in text or mark in text.replace(",", "").replace(".", "") for text in texts):
            yield f"{mark!r} of the input left the record"


def _records(name: str, payload: bytes) -> Iterator[dict[str, Any]]:
    if payload[:4] == b"PAR1":
        yield from pq.read_table(io.BytesIO(payload)).to_pylist()
    else:
        text = payload.decode("utf-8-sig")
        german = ";" in text.partition("\n")[0]  # written as the input was declared: 1.234,5
        for row in csv.DictReader(io.StringIO(text), delimiter=";" if german else ","):
            yield {name: value.replace(",", ".") if german and value else value for name, value in row.items()}


def _rows(case: Case, name: str, rows: list[dict[str, Any]]) -> Objections:
    """Synthetic rows and centres hold declared columns and values only."""
    more = {"weight", "weight_std_error", "may_be_noise"} if name.startswith("centers") else set()
    for row in rows:
        if set(row) - set(case.columns) - more:
            yield f"{name} holds columns {sorted(set(row) - set(case.columns) - more)}"
            return
        for column, value in row.items():
            if value in (None, "") or column not in case.columns:
                continue
            facts = case.columns[column]
            if "categories" in facts:
                if str(value) not in {escaped(case, c) for c in facts["categories"]}:
                    yield f"{name} holds {value!r} in {column}, which is not declared"
            elif not re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", str(value)):
                yield f"{name} holds {value!r} in {column}, which is no number"
            elif not ends(facts)[0] - 1e-9 <= float(value) <= ends(facts)[1] + 1e-9:
                yield f"{name} holds {value!r} in {column}, beyond its bounds"


# ---- whose privacy


def _unit(given: dict[str, str], promise: dict[str, Any]) -> Objections:
    people, unit = given["unit"] != "row", promise["unit"]
    if promise["model"] == "syntactic":
        if unit != ("one person" if people else "one row"):
            yield f"the schema hides {given['unit']}, the promise {unit!r}"
    elif promise["model"] == "central":
        if bool(people_hidden(promise)) != people and not (people and "items used" in unit):
            yield f"the schema hides {given['unit']}, the promise {unit!r}"
        if ("person" in promise["neighbours"]) != people:
            yield f"the schema hides {given['unit']}, the neighbours are {promise['neighbours']!r}"


# ---- the account


def _account(done: Any) -> Objections:
    """Check that the spent budget is the cost of the releases, by the account's words and by the lines of its file."""
    if done.spent is None:
        return
    every = [json.loads(each.made.promise) for each in done.releases]
    promises = [p for p in every if p["model"] == "central"]
    rho = done.given["option"] == "rho"
    cost = sum((_in_rho(p) if rho else _in_epsilon(p) for p in promises), Fraction(0))
    rounded = any(p["accounting"] == "rho" for p in promises)
    if not _pays(Fraction(done.spent), cost, rounded):
        yield f"the releases cost {cost}, the account says {done.spent}"
    if done.account is not None:
        lines = [json.loads(line[: line.rindex(" ")]) for line in done.account.read_text().splitlines()]
        prices: dict[int, tuple[Fraction, Fraction]] = {}
        for line in lines:  # what was reserved is replaced by what was booked
            if line["kind"] in ("reserve", "book", "spend"):
                yield from _listed(line, every)
                prices[line["entry"]] = Fraction(line["price"]), Fraction(line["delta"])
        paid, slack = (sum(amounts, Fraction(0)) for amounts in zip(*prices.values(), strict=True))
        if not _pays(paid, cost, rounded) or len(prices) != len(every) + bool(done.refusal):
            yield f"the {len(prices)} entries of the account add up to {paid}, the releases cost {cost}"
        if not rho and not math.isclose(slack, sum(p["delta"] for p in promises), rel_tol=1e-12):
            yield f"the account paid δ = {slack} for {[p['delta'] for p in promises]}"


def _listed(line: dict[str, Any], promises: list[dict[str, Any]]) -> Objections:
    """Check the terms of a booked release against those of the promises, one of which it is."""
    terms = line.get("terms")
    if (terms is None) != (promises[0]["model"] == "central") if promises else False:
        yield "a release has a price of another kind"
    if terms is None or line["kind"] == "reserve":
        return
    found = [p for p in promises if line["digest"] in (p["digest"], None)] or promises[:1]
    facts, rest = found[0]["parameters"], Fraction(terms.get("epsilon", 0)) - Fraction(terms.get("categories", 0))
    together = [p["parameters"].get("reached_together", p["parameters"].get("reached", {})) for p in found]
    if terms["model"] == "syntactic" and terms["k"] not in [each.get("k") for each in together]:
        yield f"the account says k = {terms['k']}"
    if terms["model"] != "syntactic" and terms["epsilon"] != found[0]["spent"]:
        yield f"the account says epsilon {terms['epsilon']}, the promise {found[0]['spent']}"
    if terms["model"] == "metric" and Fraction(terms["rate"]) * Fraction(repr(facts["radius"])) != rest:
        yield f"the rate {terms['rate']} is not epsilon by radius"


def _pays(paid: Fraction, cost: Fraction, rounded: bool) -> bool:
    """Return whether the payment is the cost. Prices in ρ are rounded, and the remainder stays spent."""
    return paid == cost or (rounded and cost <= paid <= cost * (1 + Fraction(1, 10**6)))


def _in_rho(promise: dict[str, Any]) -> Fraction:
    """A pure ε is ε²/2 in zCDP."""
    spent = Fraction(promise["spent"])
    return spent if promise["accounting"] == "rho" else spent * spent / 2


def _in_epsilon(promise: dict[str, Any]) -> Fraction:
    """ρ-zCDP costs an account in ε the ε that it is at δ, which `reading` computes again."""
    return Fraction(promise["spent"] if promise["accounting"] == "epsilon" else promise["epsilon"])


# ---- further kinds of releases


def _marginals(case: Case) -> Objections:
    if case.made.payload[:4] != b"PAR1":
        yield "a synopsis is a Parquet file"


def _answer(case: Case) -> Objections:
    labels, values = case.made.extra["labels"], case.made.extra["values"]
    towns = list(case.columns["town"]["categories"])
    if case.made.extra["option"] == "delta":  # by keys that were selected for a part of epsilon, and delta
        keys = dict.fromkeys(key for key, _ in labels)
        towns = [(key, town) for key in keys for town in towns]
        line = case.promise["ledger"][0]
        if line["label"] != "keys of note" or line["draws"][0]["law"] != "selection" or not case.promise["delta"]:
            yield f"keys are not paid for: {line}"
    if list(labels) != towns:
        yield f"a histogram of {labels}"
    if any(value != round(value) for value in values):
        yield "a noisy count is not a whole number"


def _bitmap(case: Case) -> Objections:
    if case.promise["model"] != "central" or len(case.promise["ledger"]) != 1:
        yield "a bitmap of a data holder is one central step"


def _means(case: Case) -> Objections:
    table = read_table(case)
    yield from sealed(case, case.made.payload)
    yield from no_metadata(table)
    if table.column_names != ["age", "pay"] or table.num_rows != case.facts["n_rows"]:
        yield f"{table.num_rows} rows of {table.column_names}"
        return
    yield from _rows(case, "means", table.to_pylist())
    groups = Counter(map(str, table.to_pylist()))
    if min(groups.values()) < case.facts["k"]:
        yield f"a mean of {min(groups.values())} rows"


def _drawn(case: Case) -> Objections:
    """Rows that were drawn first: every class holds k of them, in the declared columns."""
    table = read_table(case)
    yield from sealed(case, case.made.payload)
    yield from no_metadata(table)
    if set(table.column_names) != set(_QUASI):
        yield f"columns {table.column_names} are released"
        return
    sizes = Counter(map(str, table.to_pylist()))
    if sizes and min(sizes.values()) < case.facts["k"]:
        yield f"a class of {min(sizes.values())} drawn rows"


# ---- people in anonymous tables, by brute force


def _true(column: dict[str, Any], value: Any) -> Any:
    """A value as it is declared: a number within its bounds, a listed category, or None."""
    if "categories" in column:
        return value if value in column["categories"] else None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    low, high = ends(column)
    return min(max(number, low), high)


def _holds(column: dict[str, Any], text: Any, value: Any) -> bool:
    """Return whether a printed cell contains a true value."""
    text = str(text)
    if text == "*":
        return True
    if "categories" in column:
        return value in (text[1:-1].split(", ") if text.startswith("{") else [text])
    found = re.fullmatch(r"\[(.+), (.+)([\])])", text)
    if not found:
        return float(text) == value
    low, high = float(found[1]), float(found[2])
    return low <= value < high or (found[3] == "]" and value == high)


def _cells(case: Case, rows: list[dict[str, Any]]) -> tuple[list[Any], Counter[Any]]:
    """The released cell of each input row (None: in none of them), and how many rows each cell was printed for."""
    table = read_table(case)
    printed = Counter(zip(*(map(str, table[name].to_pylist()) for name in _QUASI), strict=True))
    own: list[Any] = []
    for row in rows:
        values = [_true(case.columns[name], row[name]) for name in _QUASI]
        fits = (
            []
            if None in values or _who(case, row) is None
            else [
                cell
                for cell in printed
                if all(_holds(case.columns[n], t, v) for n, t, v in zip(_QUASI, cell, values, strict=True))
            ]
        )
        own.append(fits[0] if fits else None)
    return own, printed


def _who(case: Case, row: dict[str, Any]) -> Any:
    """Whose row it is. Rows without an id may be of anyone, so they are in no cell where persons are counted."""
    return row["who"] if case.promise["unit"] == "one person" else row["name"]


def _readable(case: Case) -> bool:
    """Cells of rows with blanks overlap, and a choice of rows is not in the bytes: those tables are only recounted."""
    return case.facts["output"] == "interval" and not case.facts.get("blanked") and "most_rows" not in case.facts


def _people(case: Case, rows: list[dict[str, Any]]) -> Objections:
    facts, table = case.facts, read_table(case)
    if table.num_rows >= 30:
        first = [re.search(r"-?[\d.]+", str(text)) for text in table["age"].to_pylist()]
        yield from in_random_order(case, np.array([float(m[0]) if m else 0.0 for m in first]))
    if not _readable(case):
        return
    own, printed = _cells(case, rows)
    held = Counter(cell for cell in own if cell is not None)
    # With an earlier release, records that were in no table before may be held back one by one.
    alone = facts["suppressed"] if facts.get("earlier_releases") else 0
    if printed - held or (held - printed).total() > alone:
        yield f"cells were printed for {dict(printed - held)} rows more than they hold, and {dict(held - printed)} less"
        return
    whose: dict[Any, set[Any]] = defaultdict(set)
    for row, cell in zip(rows, own, strict=True):
        whose[cell].add(_who(case, row))
    least = min((len(whose[cell]) for cell in printed), default=math.inf)
    if least < facts["required"]["k"]:
        yield f"a group of {least} people"
    yield from _sensitive(case, rows, own)


def _sensitive(case: Case, rows: list[dict[str, Any]], own: list[Any]) -> Objections:
    """The sensitive values of a cell are those of its rows, in some order."""
    table = read_table(case)
    cells = list(zip(*(map(str, table[name].to_pylist()) for name in _QUASI), strict=True))
    shown = Counter(zip(cells, table["ill"].to_pylist(), strict=True))
    true = Counter(
        (cell, _true(case.columns["ill"], row["ill"])) for row, cell in zip(rows, own, strict=True) if cell is not None
    )
    if shown - true or true.total() - shown.total() > case.facts["suppressed"]:
        yield f"sensitive values {dict(shown - true)} are shown that no row has there"


def _both(first: Any, second: Any) -> Objections:
    """Follow everyone from one release to the next: groups of equal cells in both hold k people."""
    cases = [Case(each.made, json.loads(each.made.promise)) for each in (first, second)]
    if not all(map(_readable, cases)):
        return
    fates = []
    for case, each in zip(cases, (first, second), strict=True):
        own, printed = _cells(case, each.table)
        more = Counter(cell for cell in own if cell is not None) - printed
        fates.append({row["name"]: (cell, _who(case, row)) for row, cell in zip(each.table, own, strict=True)})
        for cell, number in more.items() if len(fates) == 2 else ():
            here = [name for name, (held, _) in fates[1].items() if held == cell]
            new = [name for name in here if fates[0].get(name, (None,))[0] is None]
            if len(new) < number:
                yield f"{number} rows of {cell} are held back, and only {len(new)} of them were never published"
            # Which of them is not in the bytes; where all of them are, they are in no group.
            fates[1] |= {name: (None, fates[1][name][1]) for name in new if len(new) == number}
    for here, case in enumerate(cases):
        groups: dict[Any, set[Any]] = defaultdict(set)
        for name, (cell, whose) in fates[here].items():
            if cell is not None:
                groups[cell, fates[1 - here].get(name, ("absent",))[0]].add(whose)
        least = min(map(len, groups.values()), default=math.inf)
        if least < case.facts["required"]["k"]:
            yield f"both releases tell {least} people of release {here} apart"
    if cases[1].facts.get("earlier_releases") in (None, 0, []):
        yield "the second release does not say that there was a first"
