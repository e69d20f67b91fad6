"""Information loss: the share of a column's values that a released row leaves open, from 0 (one value) to 1 (any).

The normalised certainty penalty (NCP): the width of an interval over the range of its column, or (m - 1)/(M - 1) for m
of M categories; its mean over rows and columns. *As printed* takes what the cells say, over the declared values if the
table comes with its guarantee, otherwise over all that it prints. *Of occurring values* takes the values that the
original rows of a group have, over all that the original table has: it is not private. The original is read as declared
(bounds, categories, format of the file), as the release read it.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import engines
from discreet.anonymity.risk.counted import total
from discreet.anonymity.risk.counts import Entries
from discreet.anonymity.risk.hierarchy import MISSING, OR_MISSING, printed_category
from discreet.anonymity.risk.printed import (
    Legend,
    Sets,
    Stretches,
    as_numbers,
    as_texts,
    declared_of,
    legend_of,
    printed_columns,
    read_sets,
    read_stretches,
)
from discreet.core import (
    MEAN_NOISE,
    BoolArray,
    Categorical,
    Code,
    Column,
    Date,
    Fitness,
    FloatArray,
    Guarantee,
    IntArray,
    Integer,
    Numeric,
    category_text,
    cells_of,
    spread,
)
from discreet.core.schema import Dialect
from discreet.engines.tables import Encoder, arrow_kind

#: What a cell looks like if it is not a single value.
_CELL = r"^(\*|\{.*\}|\[[^,]+, [^,]+[\])]|(>|>=|<|<=) \S+)( or missing)?$"
#: Other forms of a release, whose columns are halves of cells.
_HALVES = ("_lower", "_upper", "_set")


def loss_of(released: Any, quasi: Sequence[str], original: Any = None) -> dict[str, Any] | None:
    entries = Entries.read(released, quasi, [])
    return information_loss(released, entries, entries.classes(), original) if entries.n else None


def information_loss(released: Any, entries: Entries, classes: IntArray, original: Any = None) -> dict[str, Any] | None:
    """Return the loss of the quasi-identifiers, ``printed`` and ``occurring`` (None without the original).

    Also by column. If no original row fits a group, ``unmatched`` names the columns of which no value fits. None for a
    table of bounds, whose columns are halves of cells.
    """
    if any(name.endswith(_HALVES) for name in entries.quasi):
        return None
    legend, domain = legend_of(released), declared_of(released)
    source = None if original is None else engines.open(original)
    people = None if source is None else Entries.read(source, entries.quasi, [])
    written = Dialect() if source is None else source.dialect
    columns = []
    for name in entries.quasi:
        declared = domain.column(name) if domain is not None and name in domain.names else None
        own, true = _values(entries, name), None if people is None else _values(people, name)
        columns.append(_Printed(own, true, legend.get(name, {}), declared, written))
    rows, weights = total(classes, entries.counts), entries.counts / entries.n
    pairs = list(zip(entries.quasi, columns, strict=True))
    printed = [float(column.loss[entries.codes[name]] @ weights) for name, column in pairs]
    first = np.unique(classes, return_index=True)[1]
    found: list[float] | list[None] = [None] * len(columns)
    loss: dict[str, Any] = {"printed": float(np.mean(printed)), "occurring": None}
    if people is not None and len(people.counts):
        codes = [column.code[entries.codes[name][first]] for name, column in pairs]
        found = _occurring(columns, printed, codes, rows, people)
        if found[0] is None:
            both = zip(pairs, map(np.unique, codes), strict=True)
            loss["unmatched"] = [n for (n, c), own in both if not any(c.fits(o)[:-1].any() for o in own)]
        else:
            loss["occurring"] = float(np.mean(np.array(found, np.float64)))
    each = zip(entries.quasi, printed, found, strict=True)
    return {**loss, "columns": {name: {"printed": one, "occurring": other} for name, one, other in each}}


def loss_rows(found: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    loss, told = found or {}, {
        "printed": ("as printed", "0 %: every cell is exact; 100 %: every cell admits any value (NCP)"),
        "occurring": ("of occurring values", "the same, from the values that the original rows of a group have"),
    }  # fmt: skip
    rows = [(*told[name], f"{100 * loss[name]:.3g} %") for name in told if loss.get(name) is not None]
    if "unmatched" in loss:
        where = f": no value of {', '.join(loss['unmatched'])} does" if loss["unmatched"] else ""
        cure = "is it the original, and does a schema say how it is written (--schema, [source])?"
        rows.append((told["occurring"][0], f"no original row fits a group{where}; {cure}", "not known"))
    return [(f"information loss, {how}", value, meaning) for how, meaning, value in rows]


def _values(entries: Entries, name: str) -> pa.Array:
    """Return the values of a column by their numbers; -1, missing, picks the last."""
    values = entries.values[name].array()
    return pa.concat_arrays([values, pa.nulls(1, values.type)])


class _Printed:
    """The conditions of a released column: the one of each value, the loss of each, and which true values it admits.

    The loss does not depend on the true values. ``true`` holds them as numbers, or as numbers of categories.
    """

    def __init__(
        self, own: pa.Array, true: Any, groups: Mapping[str, Sequence[str]], declared: Column | None, written: Dialect
    ) -> None:
        texts = as_texts(own)
        cells = pc.match_substring_regex(texts, _CELL)
        known = as_numbers(own) is not None or not (pc.any(cells).as_py() or set(groups) & set(texts.to_pylist()))
        read: Any = (
            None if isinstance(declared, Categorical) else read_stretches(own, groups, getattr(declared, "codes", None))
        )
        numbers = None if true is None or read is None else _numbers(true, declared, written)
        self.true: Any
        names, self.true = _categories(true, declared, written) if numbers is None else (None, numbers)
        self.fits: Callable[[int], Any]
        if read is not None:
            self.loss = _widths(read, declared)[read.code]
        if numbers is not None:
            self.code, self.fits = read.code, lambda c: _inside(read, c, numbers)
        elif known:  # values as they are
            self.code, self.loss = np.arange(len(own)), np.zeros(len(own))
            place = None if names is None else _places(names, texts)
            self.fits = lambda c: place == (c if c < len(own) - 1 else -1)
        else:
            labels = [category_text(c) for c in declared.categories] if isinstance(declared, Categorical) else []
            labels = labels or sorted(set(_atoms(texts.to_pylist(), groups)))
            more = [] if names is None else sorted(set(names.drop_null().to_pylist()) - set(labels))
            sets = read_sets(own, labels + more, groups)
            self.code = sets.code
            if read is None:
                open_to = sets.members[:, : len(labels)].sum(axis=1)
                self.loss = (np.maximum(open_to - 1, 0) / max(len(labels) - 1, 1))[sets.code]
            place = None if names is None else _places(names, pa.array(labels + more, pa.large_string()))
            self.fits = lambda c: sets.members[c][place]


def _numbers(true: pa.Array, declared: Column | None, written: Dialect) -> FloatArray | None:
    """Return original values as numbers, NaN for missing ones; None if they cannot be read as numbers or dates."""
    if declared is not None:
        found = np.clip(Encoder(declared, written).arrow(true), declared.low, declared.high)
        return None if np.isnan(found).all() and true.null_count < len(true) else found
    if arrow_kind(true.type) == "text" and not written.plain:
        for column in (Numeric("any", -1e100, 1e100), Date("any", -7e5, 3e6)):
            found = Encoder(column, written).arrow(true)
            if int(np.isnan(found).sum()) == true.null_count:
                return found
    return as_numbers(true)


def _categories(true: Any, declared: Column | None, written: Dialect) -> tuple[Any, Any]:
    """Return original values as texts of categories, and the number of each; -1 for missing ones."""
    if true is None:
        return None, None
    if not isinstance(declared, Categorical):
        return as_texts(true), np.append(np.arange(len(true) - 1), -1)
    place = np.nan_to_num(Encoder(declared, written).arrow(true), nan=-1.0).astype(np.int64)
    texts = pa.array([category_text(c) for c in declared.categories] + [None], pa.large_string())
    return texts.take(pa.array(np.where(place < 0, len(texts) - 1, place))), place


def _widths(read: Stretches, declared: Column | None) -> FloatArray:
    ends = () if declared is None else (("least", declared.low), ("most", declared.high))
    bounds = [getattr(declared, end, bound) for end, bound in ends]
    places = np.concatenate([read.low, read.high, bounds])
    places = places[np.isfinite(places)]
    least, most = (places.min(), places.max()) if len(places) else (0.0, 0.0)
    if least == most:
        return (np.isinf(read.low) & np.isinf(read.high)).astype(np.float64)
    found: FloatArray = np.nan_to_num((np.minimum(read.high, most) - np.maximum(read.low, least)) / (most - least))
    return found


def _inside(read: Stretches, c: int, numbers: Any) -> BoolArray:
    low, high = read.low[c], read.high[c]
    below = numbers <= high if read.closed[c] else numbers < high
    found: BoolArray = ((numbers >= low) & below) | (np.isnan(numbers) & read.missing[c])
    return found


def _places(texts: Any, known: Any) -> IntArray:
    found = pc.index_in(texts, value_set=known, skip_nulls=True).fill_null(-1)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def _atoms(texts: Iterable[str | None], groups: Mapping[str, Sequence[str]]) -> Iterable[str]:
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
    there = true[own]
    if there.dtype.kind == "i":
        return max(len(np.unique(there[there >= 0])) - 1, 0)
    there = there[np.isfinite(there)]
    return float(there.max() - there.min()) if len(there) else 0.0


def fitness_of(released: pa.Table, guarantee: Guarantee) -> Fitness:
    """Return what counts by one and two columns of an anonymous table are good for, from its cells alone.

    Rows of a cell are counted evenly over the values that it admits (`discreet.core.spread`). Rows that were left out,
    or not drawn, add to the error. It is not known for columns that print one value for a whole group.
    """
    facts, names = guarantee.parameters, released.column_names
    columns = [c for c in guarantee.domain or () if set(printed_columns(c.name, names)) <= set(names)]
    unknown = () if facts.get("output", "interval") == "interval" else facts.get("quasi_identifiers", ())
    reasons = ("suppressed", "dropped_for_missing_values", "left_out_without_person")
    left, rows = sum(facts.get(reason, 0) for reason in reasons), max(len(released), 1)

    @cache
    def right(at: int) -> FloatArray:
        return _right(released, columns[at], facts)

    def error(*axes: int) -> tuple[float, bool]:
        if any(columns[at].name in unknown for at in axes) or not len(released):
            return math.nan, False
        wrong = 1 - float(np.prod([right(at) for at in axes], axis=0).mean())
        cells = min(math.prod(cells_of(columns[at]) for at in axes), rows)
        chance = MEAN_NOISE * math.sqrt(cells * (1 - float(facts.get("sample", 1.0))) / rows)
        return wrong + left / (left + rows) + chance, False

    advice = "Groups are finer with a smaller k or fewer quasi-identifiers."
    return Fitness.measure([c.name for c in columns], error, "too coarse to use", advice)


def one_of_each(released: pa.Table, guarantee: Guarantee) -> pa.Table:
    """Return a table with one of the values that each cell admits, evenly: for comparisons with real rows."""
    made = released
    for number, column in enumerate(guarantee.domain or ()):
        if column.name not in guarantee.parameters.get("quasi_identifiers", ()) or column.name not in made.column_names:
            continue
        even = (np.arange(1, len(released) + 1) * (5**0.5 - 1) / 2 * (number + 1)) % 1  # between 0 and 1
        if isinstance(column, Categorical):
            sets = _sets(released, column, guarantee.parameters)
            which = np.floor(even * sets.members.sum(axis=1)[sets.code])[:, np.newaxis]
            chosen = (np.cumsum(sets.members, axis=1)[sets.code] > which).argmax(axis=1)
            values = pa.array([*map(category_text, column.categories), None]).take(pa.array(chosen))
        else:
            low, high = _ends(released, column, guarantee.parameters)
            place = low + (high - low) * even
            place = np.round(place) if isinstance(column, Integer) else place
            values = column.array(place) if isinstance(column, Code) else pa.array(place, from_pandas=True)
        made = made.set_column(made.column_names.index(column.name), column.name, values)
    return made


def read_cells(released: pa.Table, column: Column, legend: Legend) -> Stretches | Sets | None:
    """Read the cells of a declared column, in one column or as bounds; None if a cell cannot be read."""
    if isinstance(column, Categorical):
        return _sets(released, column, {"labels": legend})
    at = printed_columns(column.name, released.column_names)
    meant = legend.get(column.name), getattr(column, "codes", None)
    lower, upper = (read_stretches(released[name], *meant) for name in (at[0], at[-1]))
    if lower is None or upper is None or len(at) == 1:
        return lower  # type: ignore[no-any-return]
    pairs, code = np.unique(np.stack([lower.code, upper.code]), axis=1, return_inverse=True)
    low, high = lower.low[pairs[0]], upper.high[pairs[1]]
    return Stretches(code.ravel(), low, high, upper.closed[pairs[1]], np.isnan(low))


def _right(released: pa.Table, column: Column, facts: Mapping[str, Any]) -> FloatArray:
    if isinstance(column, Categorical):
        sets = _sets(released, column, facts)
        open_to: FloatArray = np.maximum(sets.members.sum(axis=1), 1).astype(np.float64)
        return spread(column, np.zeros(len(open_to)), open_to)[1][sets.code]
    return spread(column, *_ends(released, column, facts))[1]


def _sets(released: pa.Table, column: Categorical, facts: Mapping[str, Any]) -> Sets:
    at: Any = released[printed_columns(column.name, released.column_names)[0]]
    if pa.types.is_nested(at.type):  # a list of categories
        listed = ([printed_category(c) for c in cell] for cell in at.fill_null([]).to_pylist())
        at = pa.array([f"{{{', '.join(cell)}}}" if cell else None for cell in listed], pa.string())
    return read_sets(at, [category_text(c) for c in column.categories], facts.get("labels", {}).get(column.name, {}))


def _ends(released: pa.Table, column: Column, facts: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Return the stretch of the axis of a column that each cell admits; all of it for a cell that cannot be read."""
    read = read_cells(released, column, facts.get("labels", {}))
    if not isinstance(read, Stretches):
        return np.full(len(released), column.low), np.full(len(released), column.high)
    half = 0.5 if isinstance(column, Integer) else 0.0  # the places of a whole number are from half below to half above
    low = read.low[read.code] - half
    high = read.high[read.code] + np.where(read.closed[read.code], half, -half)
    return np.clip(low, column.low, column.high), np.clip(high, column.low, column.high)
