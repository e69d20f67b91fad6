"""Information loss: the share of a column's values that a released row leaves open, from 0 (one value) to 1 (any).

The normalised certainty penalty (NCP): the width of an interval over the range of its column, or (m - 1)/(M - 1) for m
of M categories; its mean over rows and columns. *As printed* takes what the cells say, over the declared values if the
table comes with its guarantee, otherwise over all that it prints. *Of occurring values* takes the values that the
original rows of a group have, over all that the original table has: it is not private.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.risk.counted import total
from discreet.anonymity.risk.counts import Entries
from discreet.anonymity.risk.hierarchy import MISSING, OR_MISSING
from discreet.anonymity.risk.printed import (
    Stretches,
    as_numbers,
    as_texts,
    declared_of,
    legend_of,
    read_sets,
    read_stretches,
)
from discreet.core import BoolArray, Categorical, Column, FloatArray, IntArray, category_text

#: What a cell looks like if it is not a single value.
_CELL = r"^(\*|\{.*\}|\[[^,]+, [^,]+[\])]|(>|>=|<|<=) \S+)( or missing)?$"
#: Other forms of a release, whose columns are halves of cells.
_HALVES = ("_lower", "_upper", "_set")


def loss_of(released: Any, quasi: Sequence[str], original: Any = None) -> dict[str, Any] | None:
    """Return the information loss of a released table; see `information_loss`."""
    entries = Entries.read(released, quasi, [])
    return information_loss(released, entries, entries.classes(), original) if entries.n else None


def information_loss(released: Any, entries: Entries, classes: IntArray, original: Any = None) -> dict[str, Any] | None:
    """Return the loss of the quasi-identifiers, ``printed`` and ``occurring`` (None without the original).

    Also by column. None for a table of bounds, whose columns are halves of cells.
    """
    if any(name.endswith(_HALVES) for name in entries.quasi):
        return None
    legend, domain = legend_of(released), declared_of(released)
    people = None if original is None else Entries.read(original, entries.quasi, [])
    columns = []
    for name in entries.quasi:
        declared = domain.column(name) if domain is not None and name in domain.names else None
        own, true = _values(entries, name), None if people is None else _values(people, name)
        columns.append(_Printed(own, true, legend.get(name, {}), declared))
    rows = total(classes, entries.counts)
    codes = [column.code[entries.codes[name]] for name, column in zip(entries.quasi, columns, strict=True)]
    weights = entries.counts / entries.n
    printed = [float(column.loss[own] @ weights) for column, own in zip(columns, codes, strict=True)]
    first = np.unique(classes, return_index=True)[1]
    found: list[float] | list[None] = [None] * len(columns)
    if people is not None and len(people.counts):
        found = _occurring(columns, printed, [own[first] for own in codes], rows, people)
    each = zip(entries.quasi, printed, found, strict=True)
    return {
        "printed": float(np.mean(printed)),
        "occurring": None if found[0] is None else float(np.mean(np.array(found, np.float64))),
        "columns": {name: {"printed": one, "occurring": other} for name, one, other in each},
    }


def loss_rows(found: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """Return the loss for a table of figures: measure, value, meaning."""
    told = {
        "printed": (
            "as printed",
            "share of a column's values that a row leaves open, mean over columns and rows (NCP)",
        ),
        "occurring": ("of occurring values", "the same, of the values that the original rows of a group have"),
    }
    known = [(*told[name], (found or {}).get(name)) for name in told]
    return [(f"information loss, {how}", f"{100 * x:.3g} %", meaning) for how, meaning, x in known if x is not None]


def _values(entries: Entries, name: str) -> pa.Array:
    """Return the values of a column by their numbers; -1, missing, picks the last."""
    values = entries.values[name].array()
    return pa.concat_arrays([values, pa.nulls(1, values.type)])


class _Printed:
    """The conditions of a released column: the one of each value, the loss of each, and which true values it admits."""

    def __init__(self, own: pa.Array, true: Any, groups: Mapping[str, Sequence[str]], declared: Column | None) -> None:
        texts = as_texts(own)
        cells = pc.match_substring_regex(texts, _CELL)
        known = as_numbers(own) is not None or not (pc.any(cells).as_py() or set(groups) & set(texts.to_pylist()))
        numbers = None if true is None else as_numbers(true)
        numeric = not isinstance(declared, Categorical) and (true is None or numbers is not None)
        read: Any = read_stretches(own) if numeric else None
        self.true = numbers if read is not None else true
        self.fits: Callable[[int], Any]
        if read is not None:
            self.code, self.loss = read.code, _widths(read, numbers, declared)
            self.fits = lambda c: _inside(read, c, numbers)
        elif known:  # values as they are
            self.code, self.loss = np.arange(len(own)), np.zeros(len(own))
            place = None if true is None else _places(as_texts(true), texts)
            self.fits = lambda c: place == (c if c < len(own) - 1 else -1)
        else:
            labels = [category_text(c) for c in declared.categories] if isinstance(declared, Categorical) else []
            labels = labels or sorted({*_atoms(texts.to_pylist(), groups), *_known(true)})
            sets = read_sets(own, labels, groups)
            self.code = sets.code
            self.loss = np.maximum(sets.members[:, :-1].sum(axis=1) - 1, 0) / max(len(labels) - 1, 1)
            place = None if true is None else _places(as_texts(true), pa.array(labels, pa.large_string()))
            self.fits = lambda c: sets.members[c][place]


def _widths(read: Stretches, numbers: FloatArray | None, declared: Column | None) -> FloatArray:
    """Return the share of the range that each interval covers."""
    bounds = (
        [] if declared is None else [getattr(declared, "least", declared.low), getattr(declared, "most", declared.high)]
    )
    ends = np.concatenate([read.low, read.high, bounds, [] if numbers is None else numbers])
    ends = ends[np.isfinite(ends)]
    open_ends = np.isinf(read.low) & np.isinf(read.high)
    if not len(ends) or ends.min() == ends.max():
        return open_ends.astype(np.float64)
    low, high = np.maximum(read.low, ends.min()), np.minimum(read.high, ends.max())
    found: FloatArray = np.nan_to_num((high - low) / (ends.max() - ends.min()))
    return found


def _inside(read: Stretches, c: int, numbers: Any) -> BoolArray:
    low, high = read.low[c], read.high[c]
    below = numbers <= high if read.closed[c] else numbers < high
    found: BoolArray = ((numbers >= low) & below) | (np.isnan(numbers) & read.missing[c])
    return found


def _places(texts: Any, known: Any) -> IntArray:
    """Return the place of each text among known ones, -1 for others and for missing ones."""
    found = pc.index_in(texts, value_set=known, skip_nulls=True).fill_null(-1)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def _known(true: Any) -> list[str]:
    return [] if true is None else as_texts(true).drop_null().to_pylist()


def _atoms(texts: Iterable[str | None], groups: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """Yield the categories that cells name."""
    for text in texts:
        body = (text or MISSING).removesuffix(OR_MISSING)
        listed = body[1:-1].split(", ") if (body[:1], body[-1:]) == ("{", "}") else [body]
        for piece in listed:
            if piece not in ("*", MISSING):
                quoted = len(piece) > 1 and piece[0] == piece[-1] == '"'
                yield from groups.get(piece, [json.loads(piece) if quoted else piece])


def _occurring(
    columns: Sequence[_Printed], printed: Sequence[float], codes: Sequence[IntArray], rows: IntArray, people: Entries
) -> list[float] | list[None]:
    """Return by column the loss of the values that the original rows of each group have.

    ``codes`` are the conditions of each group. Columns are taken one by one, the most precise first: groups with equal
    conditions so far share the original rows that meet them.
    """
    order = np.argsort(printed, kind="stable").tolist()
    true = [people.codes[name] for name in people.quasi]
    widths = np.zeros((len(columns), len(rows)))
    met = np.zeros(len(rows), bool)
    known: dict[tuple[int, int], BoolArray] = {}
    waiting = [(0, np.arange(len(rows)), np.arange(len(people.counts)))]
    while waiting:
        depth, groups, there = waiting.pop()
        if not len(there):
            continue
        if depth == len(order):
            met[groups] = True
            for j, column in enumerate(columns):
                widths[j, groups] = _spread(column.true, true[j][there])
            continue
        j = order[depth]
        own = codes[j][groups]
        for c in np.unique(own).tolist():
            if (j, c) not in known:
                known[j, c] = columns[j].fits(c)
            waiting.append((depth + 1, groups[own == c], there[known[j, c][true[j][there]]]))
    if not met.any():
        return [None] * len(columns)
    spans = np.array([_spread(column.true, np.unique(own)) for column, own in zip(columns, true, strict=True)])
    means = widths[:, met] @ rows[met] / rows[met].sum()
    return [float(mean / span) if span else 0.0 for mean, span in zip(means, spans, strict=True)]


def _spread(true: Any, own: IntArray) -> float:
    """Return the range of some numbers, or how many categories there are but one; missing ones do not count."""
    if isinstance(true, np.ndarray):
        there = true[own]
        there = there[np.isfinite(there)]
        return float(there.max() - there.min()) if len(there) else 0.0
    return max(len(np.unique(own[own >= 0])) - 1, 0)
