"""Check that a released table keeps to the declaration in its promise: columns, their roles, cells and values."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import engines
from discreet.anonymity.risk import (
    MISSING,
    OR_MISSING,
    as_numbers,
    as_texts,
    printed_category,
    read_stretches,
    reader_of,
)
from discreet.core import (
    NAMING,
    Categorical,
    Code,
    Column,
    Date,
    Domain,
    FloatArray,
    Function,
    Guarantee,
    Impossible,
    by_days,
    category_text,
    counted,
    held,
)
from discreet.engines.passes import AxisGrids, GroupedMarginal, MarginalsPass
from discreet.engines.tables import same_key
from discreet.synopses.marginals import public_grid

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
    cells = guarantee.model == "syntactic" or "quasi_identifiers" in facts
    shown = columns_shown(table.column_names, domain, quasi if cells else ())
    known = {*domain.names, *(name for columns in shown.values() for name in columns)}
    if guarantee.model == "central" and facts.get("method") == "QuerySession":  # figures, and ends of bins
        texts = (pa.string(), pa.large_string())
        known |= {n for n in facts.get("figures", ()) if n in table.column_names and table[n].type not in texts}
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
    if shown == column.name:
        found = read_stretches(values, groups, getattr(column, "codes", None))
        low, high = (None, None) if found is None else (found.low, found.high)
    elif isinstance(column, Code):
        low = high = column.codes.numbers(as_texts(values).cast(pa.large_binary()))
    else:
        low = high = as_numbers(values)
    if low is None or high is None:
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


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _level(value: Any) -> bool:
    return _number(value) or value == "inf"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


_KINDS_OF_L = ("distinct", "entropy", "recursive")
_REACHED: dict[str, Any] = {
    **dict.fromkeys(("k", "probabilistic_k", "k_of_rows"), _whole),
    "l": {"*": _level},
    "t": {"*": _number},
    "l_kind": _KINDS_OF_L,
    "t_kind": {"*": str},
    "largest_share": _share,
    "k_by_columns": {"least": _whole, "columns": [[str]]},
}
#: Fields of an anonymous table's promise. Each may be absent; "*" stands for any name, [x] for a list of x, (x, y)
#: for one of these.
_SHAPE: dict[str, Any] = {
    **dict.fromkeys(("output", "identifiers", "k_counts"), str),
    **dict.fromkeys(("rows", "cells", "earlier_releases", "most_rows"), _whole),
    "quasi_identifiers": [str],
    "labels": {"*": {"*": [str]}},
    "kept": {"columns": [str], "k": _whole, "unique": _share},
    "required": {
        **dict.fromkeys(("k", "probabilistic_k"), _whole),
        "l": {"kind": _KINDS_OF_L, "least": _number, "c": _number, "counts": str},
        "t": {"kind": str, "most": _number, "counts": str},
        "k_by_columns": _REACHED["k_by_columns"],
    },
    "reached": _REACHED,
    "reached_together": _REACHED,
}
#: Fields without which others mean nothing.
_NEEDED = {"kept": ("columns",), "k_by_columns": ("least", "columns"), "reached_together": ("k",)}


def misshapen(facts: Mapping[str, Any], *, syntactic: bool) -> str:
    """Return the name of a fact whose form is wrong; empty if all are right."""
    asked = facts.get("method") == "QuerySession"
    for name, value in facts.items():
        if not _plain(value) or not _plain(name):
            return str(name).encode("ascii", "backslashreplace").decode()
        shape = _SHAPE.get(name) if syntactic else [str] if asked and name == "figures" else None
        if not _fits(value, shape, name):
            return name
    return "reached_together" if syntactic and "reached_together" not in facts and "earlier_releases" in facts else ""


def _fits(value: Any, shape: Any, name: str = "") -> bool:
    if shape is None or (value is None and name == "k"):  # where no k is promised
        return True
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(v, shape[0]) for v in value)
    if isinstance(shape, dict):
        if not isinstance(value, dict) or any(value.get(key) is None for key in _NEEDED.get(name, ())):
            return False
        every = shape.get("*")
        if name == "kept" and ("k" in value) != ("unique" in value):
            return False
        return all(_fits(v, every or shape.get(key), key) for key, v in value.items())
    if isinstance(shape, tuple):
        return value in shape
    return isinstance(value, shape) if isinstance(shape, type) else bool(shape(value))


def _plain(value: Any) -> bool:
    """Return True if data can be shown: texts that can be encoded, and numbers that a float can hold."""
    if isinstance(value, Mapping):
        return all(_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return all(map(_plain, value))
    if isinstance(value, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return not _number(value) or abs(value) <= sys.float_info.max


def broken_facts(table: Any, domain: Domain) -> tuple[str, ...]:
    """Return the declared facts, in words, that some row of a released table breaks.

    It costs no budget because its result is not released.
    """
    every: list[Function | Impossible] = [*domain.facts.functions, *domain.facts.impossible]
    told = zip(domain.facts.sentences, every, strict=False)  # rules come last
    found = [text for text, fact in told if _broken(table, domain, fact)]
    for rule in domain.facts.rules.rules:
        text = f"every row has {rule.text}"
        if text not in found and any(map(rule.broken, _batches(table, domain, list(rule.terms)))):
            found.append(text)
    return tuple(found)


def _batches(table: Any, domain: Domain, names: list[str]) -> Iterator[dict[str, FloatArray]]:
    """Give some columns of a table by name, in batches."""
    for columns in engines.open(table).batches(Domain({name: domain.column(name) for name in names})):
        yield dict(zip(names, columns, strict=True))


def _broken(table: Any, domain: Domain, fact: Function | Impossible) -> bool:
    source = engines.open(table)
    if isinstance(fact, Impossible):
        columns = {name: domain.column(name) for name, _ in fact.stretches}
        kept = []
        for impossible in (None, [dict(fact.written)]):  # what a pass leaves out because of it has it
            grid = public_grid(Domain(columns, impossible=impossible))
            alone = GroupedMarginal([0], [np.zeros(grid.sizes[0], np.int64)])
            kept.append(int(source.marginals(MarginalsPass(grid, (alone,)))[0].sum()))
        return kept[0] != kept[1]
    columns = {name: domain.column(name) for name in (fact.source, fact.column)}
    grid = public_grid(Domain(columns, functions={fact.column: {fact.source: dict(fact.written)}}))
    size = grid.sizes[1]
    follows = np.full(grid.sizes[0], size - 1, np.int64)  # of missing values the last cell, where they have one
    for low, high, place in fact.pieces:
        follows[held(grid.domain.columns[0], *grid.boxes(0), [(low, high)])] = _cell(grid, place)
    pair = GroupedMarginal([0, 1], [follows, np.arange(size)])  # the cell that a source leads to, and the one there
    found = source.marginals(MarginalsPass(grid, (pair,)))[0]
    expected, cell = np.divmod(np.flatnonzero(found), size)
    return bool((expected != cell).any())


def _cell(grid: AxisGrids, place: float) -> int:
    """Return the cell of a place on the axis of the dependent column."""
    column, (lower, upper) = grid.domain.columns[1], grid.boxes(1)
    if isinstance(column, Date):
        lower, upper = by_days(column, lower), by_days(column, upper)
    # A bound of real numbers is a cell without width, and is no other place's.
    return int(np.flatnonzero(((lower <= place) & (place < upper)) | ((lower == place) & (upper == place)))[0])
