"""Check that a released table keeps to the declaration in its promise: columns, their roles, cells and values."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.release import as_numbers, read_stretches
from discreet.anonymity.risk import MISSING, OR_MISSING, printed_category, reader_of
from discreet.core import NAMING, Categorical, Column, Domain, Guarantee, category_text, counted
from discreet.engines.tables import same_key

#: Printed bounds have twelve digits.
_SLACK = 1e-9
_HASH = r"^[0-9a-f]{16}$"


@dataclass(frozen=True)
class Parts:
    """The role of each column of an anonymous table.

    ``quasi`` maps each quasi-identifier to the columns that show it: itself, or its bounds. ``kept`` are columns that
    were passed on unchanged, ``failures`` contradictions between promise, declaration and table.
    """

    quasi: dict[str, list[str]]
    sensitive: list[str]
    kept: list[str]
    failures: tuple[str, ...]

    @property
    def shown(self) -> list[str]:
        """The columns by which rows are grouped."""
        return [name for columns in self.quasi.values() for name in columns]


def parts_of(table: pa.Table, guarantee: Guarantee) -> Parts:
    """Return the role of each column, from the promise and the declaration together.

    A declared quasi-identifier is one, whatever the promise lists. A column that is declared sensitive is sensitive
    unless the promise says that it was passed on.
    """
    facts, names, domain = guarantee.parameters, table.column_names, guarantee.domain
    roles = {} if domain is None else {c.name: str(c.role) for c in domain}
    reached = dict(facts.get("reached") or {})
    kept = [name for name in (facts.get("kept") or {}).get("columns", ()) if name in names]
    stated = list(dict.fromkeys([*(reached.get("l") or {}), *(reached.get("t") or {})]))
    secret = stated + [n for n, role in roles.items() if role == "sensitive" and n not in [*stated, *kept]]
    declared = [n for n, role in roles.items() if role == "quasi-identifier"]
    listed = list(facts.get("quasi_identifiers") or ())
    rest = [n for n, role in roles.items() if role == "attribute" and n not in secret and n not in kept]
    wanted = list(dict.fromkeys([*listed, *declared])) or rest
    shown = columns_shown(names, domain, wanted)
    failures = [
        f"column {n!r} is declared a quasi-identifier, and the promise does not count it as one"
        for n in declared
        if listed and n not in listed and shown.get(n)
    ]
    hashed = [n for n in names if roles.get(n) in NAMING]  # whether they may be here: see `undeclared`
    known = {*(name for columns in shown.values() for name in columns), *secret, *kept, *hashed}
    if listed:
        failures += [
            f"column {n!r} was passed on, but the promise does not mention it"
            for n in names
            if n in roles and n not in known
        ]
    secret = [n for n in secret if n not in shown]
    return Parts({n: columns for n, columns in shown.items() if columns}, secret, kept, tuple(failures))


def columns_shown(names: Sequence[str], domain: Domain | None, quasi: Sequence[str]) -> dict[str, list[str]]:
    """Return for each quasi-identifier the columns of a table that show it: itself, or its bounds."""
    found: dict[str, list[str]] = {}
    for name in quasi:
        ends: tuple[str, ...] = ("_lower", "_upper", "_set", "_may_be_missing")
        if domain is not None and name in domain.names:
            column = domain.column(name)
            ends = ("_set",) if isinstance(column, Categorical) else ("_lower", "_upper")
            ends += ("_may_be_missing",) * (column.missing == "own")
        taken = () if domain is None else domain.names
        bounds = [name + end for end in ends if name + end in names and name + end not in taken]
        found[name] = [name] if name in names else bounds
    return found


def undeclared(table: pa.Table, guarantee: Guarantee, domain: Domain) -> list[str]:
    """Return messages for columns of a released table that are not declared, or that name people."""
    facts = guarantee.parameters
    quasi = [c.name for c in domain if c.role in ("quasi-identifier", "attribute")]
    shown = columns_shown(table.column_names, domain, quasi if "quasi_identifiers" in facts else ())
    known = {*domain.names, *(name for columns in shown.values() for name in columns)}
    wrong = [f"column {n!r} is not declared" for n in table.column_names if n not in known]
    for name in table.column_names:
        if name not in domain.names or domain.column(name).role not in NAMING:
            continue
        if facts.get("identifiers") != "hash":
            wrong.append(f"column {name!r} names people")
        elif not pc.all(pc.match_substring_regex(table[name].cast(pa.string()), _HASH), min_count=0).as_py():
            wrong.append(f"column {name!r} names people: it does not hold the keyed hashes that the promise speaks of")
    return wrong


def odd_cells(table: pa.Table, parts: Parts, domain: Domain, labels: Mapping[str, Any]) -> list[str]:
    """Return messages for quasi-identifiers with cells outside their declaration; ``labels`` are names of groups."""
    wrong = []
    for name, columns in parts.quasi.items():
        if name not in domain.names:
            continue
        column = domain.column(name)
        fits = all(_cells_fit(table[shown], shown, column, labels.get(name)) for shown in columns)
        wrong += [f"column {name!r} shows a cell that is not one of its declaration"] * (not fits)
    return wrong


def _cells_fit(values: pa.ChunkedArray, shown: str, column: Column, groups: Any) -> bool:
    if shown.endswith("_may_be_missing") and shown != column.name:
        return set(map(str, pc.unique(values).to_pylist())) <= {"True", "False"}
    if isinstance(column, Categorical):
        return _sets_fit(values, [category_text(c) for c in column.categories], groups, bars=shown != column.name)
    slack = _SLACK * max(column.high - column.low, abs(column.low), abs(column.high))
    if shown != column.name:
        ends = as_numbers(values)
        low = high = ends
        known = ends is not None
    else:
        found = read_stretches(values)
        known = found is not None
        low, high = (None, None) if found is None else (found.low, found.high)
    if not known or low is None or high is None:
        return False
    whole = np.isinf(low) & np.isinf(high)  # "*" shows nothing
    below = (low < column.low - slack) & ~(np.isneginf(low) & (column.bottom is not None))
    above = (high > column.high + slack) & ~(np.isposinf(high) & (column.top is not None))
    return not bool(((below | above) & ~whole).any())


def _sets_fit(values: pa.ChunkedArray, labels: Sequence[str], groups: Any, *, bars: bool) -> bool:
    """Return True if cells hold declared categories only, as `Grid.text` prints them or separated by bars."""
    names = {*labels, *(text.capitalize() for text in labels if text in ("true", "false"))}
    if pa.types.is_list(values.type):
        return set(pc.unique(values.combine_chunks().flatten()).to_pylist()) <= names
    texts = {text for text in pc.unique(values.cast(pa.string())).to_pylist() if text}
    if bars:
        return all(_consists_of(text.split("|"), "|", names) for text in texts)
    printed = {*map(printed_category, names), *(groups or ())}
    cells = {text.removesuffix(OR_MISSING) for text in texts - names} - printed - {"*", MISSING}
    return all(
        text[:1] == "{" and text[-1:] == "}" and _consists_of(text[1:-1].split(", "), ", ", printed) for text in cells
    )


def _consists_of(pieces: Sequence[str], between: str, names: Collection[str]) -> bool:
    """Return True if pieces, or runs of pieces, are names; a name may contain the separator."""
    reached = {0}
    longest = 1 + max((name.count(between) for name in names), default=0)
    for start in range(len(pieces)):
        if start in reached:
            ends = range(start + 1, min(start + longest, len(pieces)) + 1)
            reached |= {end for end in ends if between.join(pieces[start:end]) in names}
    return len(pieces) in reached


def odd_values(table: pa.Table, names: Sequence[str], domain: Domain) -> list[str]:
    """Return messages for columns that were passed on with values outside their declaration; values are not quoted."""
    wrong = []
    for name in names:
        if name not in domain.names or name not in table.column_names:
            continue
        column = domain.column(name)
        keys = same_key(table[name], column)
        encoded = pc.dictionary_encode(table[name].combine_chunks())
        if isinstance(column, Categorical):
            declared = same_key(pa.array([category_text(c) for c in column.categories]), column)
            good = pc.is_in(keys, value_set=declared).to_numpy(zero_copy_only=False)
        else:
            places = list(map(reader_of(column), encoded.dictionary.to_pylist()))
            fits = [p is not None and column.low <= p <= column.high for p in places]
            good = np.array([*fits, True])[encoded.indices.fill_null(len(fits)).to_numpy(zero_copy_only=False)]
        outside = int((keys.is_valid().to_numpy(zero_copy_only=False) & ~good).sum())
        if outside:
            wrong.append(f"column {name!r} was passed on with {counted(outside, 'value')} outside of its declaration")
    return wrong
