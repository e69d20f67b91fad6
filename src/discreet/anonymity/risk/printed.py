"""Read printed cells such as ``[34, 41)``, ``{cook, smith}``, ``office`` or ``*`` as conditions: `Grid.text` undone."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet import engines
from discreet.anonymity.risk.hierarchy import MISSING, OR_MISSING, printed_category
from discreet.core import BoolArray, Domain, FloatArray, Guarantee, IntArray, dates, promise_place
from discreet.engines import Source
from discreet.engines.tables import numbers_of_decimals
from discreet.errors import DiscreetError

_INTERVAL = re.compile(r"\[([^,\s]+), ([^,\s]+)([\])])")
_BEYOND = re.compile(r"(>=|>|<=|<) (\S+)")
#: Under this key a table carries its promise.
PROMISE_KEY = "discreet.guarantee"
#: By column, what its labels stand for.
Legend = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True)
class Stretches:
    """The conditions of a numeric column: the value of row i is within ``low..high`` of condition ``code[i]``.

    The ends are equal for a single value and NaN for "missing". ``closed``: the upper end belongs to it. ``missing``:
    the value may be missing.
    """

    code: IntArray
    low: FloatArray
    high: FloatArray
    closed: BoolArray
    missing: BoolArray

    @property
    def center(self) -> FloatArray:
        """Middle of each condition, or the one end it has; NaN where it has none."""
        low = np.where(np.isinf(self.low), self.high, self.low)  # of a coded end the threshold is known
        high = np.where(np.isinf(self.high), low, self.high)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(low), np.nan, (low + high) / 2)


@dataclass(frozen=True)
class Sets:
    """The conditions of a categorical column: row i admits the categories of row ``code[i]`` of ``members``.

    ``members`` has one column per label and a last one for "missing".
    """

    code: IntArray
    members: BoolArray


def with_legend(table: pa.Table, guarantee: Guarantee) -> pa.Table:
    """Let a table in memory that prints labels carry its promise, which says what they stand for."""
    labelled = "labels" in guarantee.parameters
    return table.replace_schema_metadata({PROMISE_KEY: guarantee.to_json()}) if labelled else table


def legend_of(released: Any) -> Legend:
    """Return the meaning of the labels of a released table, from its guarantee; empty without one."""
    try:
        found = json.loads(_promise(released) or "{}")["parameters"]["labels"]
        return {name: {label: list(held) for label, held in labels.items()} for name, labels in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def quasi_of(released: Any) -> list[str]:
    try:
        named = json.loads(_promise(released) or "{}")["parameters"]["quasi_identifiers"]
        return [
            each
            for name in named
            for each in printed_columns(name, engines.open(getattr(released, "table", released)).names)
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def printed_columns(name: str, names: Sequence[str]) -> list[str]:
    bounds = [each for each in (f"{name}_lower", f"{name}_upper", f"{name}_set") if each in names]
    return bounds if bounds and name not in names else [name]


def declared_of(released: Any) -> Domain | None:
    """Return the columns that the guarantee of a released table declares; None without one."""
    try:
        return Guarantee.from_json(_promise(released) or "{}").domain
    except (DiscreetError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _promise(released: Any) -> Any:
    if hasattr(released, "guarantee"):
        return released.guarantee.to_json()
    if isinstance(released, pa.Table):
        return (released.schema.metadata or {}).get(PROMISE_KEY.encode())
    place = getattr(released.parts[0], "path", None) if isinstance(released, Source) else released
    if isinstance(place, (str, Path)):
        return _promise_of_file(Path(place).expanduser())
    return released.attrs.get(PROMISE_KEY) if hasattr(released, "attrs") else None


def _promise_of_file(path: Path) -> bytes | None:
    try:
        if promise_place(path).is_file():
            return promise_place(path).read_bytes()
        parquet = path.suffix.lower() in (".parquet", ".pq")
        return (pq.read_schema(path).metadata or {}).get(PROMISE_KEY.encode()) if parquet else None
    except (OSError, pa.ArrowInvalid):
        return None  # `discreet.engines.open` says what is wrong with the file


def as_numbers(column: Any) -> FloatArray | None:
    """Return a column of values as numbers, NaN where missing; None if a value is not a number, date or time."""
    if pa.types.is_boolean(column.type):
        return None
    joined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    for fits, read in (
        (dates.is_date, dates.arrow_days),
        (pa.types.is_time, dates.arrow_seconds),
        (pa.types.is_decimal, numbers_of_decimals),
    ):
        if fits(column.type):
            return np.asarray(read(joined))
    try:
        cast = pc.cast(joined, pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = as_texts(column)
        for parse in (dates.parse_days, dates.parse_seconds):
            found = parse(texts.cast(pa.large_binary()))
            if int(np.isnan(found).sum()) == texts.null_count:
                return found
        return None
    return np.asarray(cast.to_numpy(zero_copy_only=False))


def as_texts(column: Any) -> Any:
    """Return a column of values as text, by which categories are recognised."""
    joined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return joined.cast(pa.large_string())


def read_stretches(column: Any, groups: Mapping[str, Sequence[str]] | None = None, codes: Any = None) -> Any:
    """Read a released numeric column as `Stretches`; None if a cell is neither a number nor an interval.

    ``groups`` says which intervals its names stand for, as `legend_of` gives them, and ``codes`` are those of a `Code`.
    """
    numbers = None if groups or codes else as_numbers(column)
    if numbers is not None:
        values, code = np.unique(numbers, return_inverse=True)  # NaN last, once
        return Stretches(code.ravel(), values, values, np.ones(len(values), bool), np.isnan(values))
    code, texts = _distinct(column)
    read = partial(_stretch, groups=groups or {}, codes=codes)
    parsed = list(takewhile(lambda p: p is not None, map(read, texts)))
    if len(parsed) < len(texts):
        return None
    low, high, closed, missing = zip(*[p for p in parsed if p is not None], strict=True)
    return Stretches(code, np.array(low), np.array(high), np.array(closed), np.array(missing))


def read_sets(column: Any, labels: Sequence[str], groups: Mapping[str, Sequence[str]] | None = None) -> Sets:
    """Read a released column of categories, of which ``labels`` are known. A text that is none admits none of them.

    ``groups`` says which categories the names of groups stand for, as `legend_of` gives them for the column.
    """
    code, texts = _distinct(column)
    place = {printed_category(label): [i] for i, label in enumerate(labels)}
    # A table of single values quotes nothing: there "*" may be a category, which cannot be told from the cell.
    itself = {label: i for i, label in enumerate(labels)}
    single = all(text is None or text in itself for text in texts)
    for word in ("True", "False"):  # so they are printed, and files and tables hold them in small letters
        if word.lower() in place:
            place.setdefault(word, place[word.lower()])
    known = place | {label: [i] for label, i in itself.items()}  # what groups hold is not printed: no quotes
    for label, held in (groups or {}).items():
        place.setdefault(label, [i for c in held for i in known.get(c, [])])
    absent = len(labels)
    members = np.zeros((len(texts), len(labels) + 1), bool)
    for row, text in enumerate(texts):
        members[row, _members(text, place, absent)] = True
        if single and text is not None:
            members[row, itself[text]] = True
    return Sets(code, members)


def _distinct(column: Any) -> tuple[IntArray, list[str | None]]:
    encoded = pc.dictionary_encode(as_texts(column), null_encoding="encode")
    code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return code, encoded.dictionary.to_pylist()


def _stretch(
    text: str | None, groups: Mapping[str, Sequence[str]], codes: Any = None
) -> tuple[float, float, bool, bool] | None:
    if text is None or text in (MISSING, ""):
        return math.nan, math.nan, True, True
    missing = text.endswith(OR_MISSING)
    body = text.removesuffix(OR_MISSING)
    if body == "*":
        return -math.inf, math.inf, True, missing
    if codes is not None:
        run = codes.meant(body)
        return None if run is None else (run[0], run[1], True, missing)
    ends = body.split(" to ")
    if all(end in groups for end in ends):
        low, high = (_stretch(groups[end][0], {}) if len(groups[end]) == 1 else None for end in (ends[0], ends[-1]))
        return None if low is None or high is None else (low[0], high[1], high[2], missing)
    found, beyond = _INTERVAL.fullmatch(body), _BEYOND.fullmatch(body)
    try:
        if beyond:
            side, point = beyond[1], _point(beyond[2])
            if side[0] == "<":
                return -math.inf, point, side == "<=", missing
            return (point if side == ">=" else math.nextafter(point, math.inf)), math.inf, True, missing
        if found:
            return _point(found[1]), _point(found[2]), found[3] == "]", missing
        return _point(body), _point(body), True, missing
    except ValueError:
        return None


def _point(text: str) -> float:
    found = None
    if ":" in text or "-" in text[1:-2]:  # others cannot be dates or times, which take longer
        found = dates.day_number(text)
        found = dates.second_number(text) if found is None else found
    return float(text) if found is None else found


def _members(text: str | None, place: dict[str, list[int]], absent: int) -> list[int]:
    if text is None:
        return [absent]
    if text in place:
        return place[text]
    if text == MISSING:
        return [absent]
    found = [absent] if text.endswith(OR_MISSING) else []
    body = text.removesuffix(OR_MISSING)
    if body == "*":
        return [*range(absent), *found]
    if body in place:
        return [*place[body], *found]
    if body.startswith("{") and body.endswith("}"):
        found += _listed(body[1:-1].split(", "), place)
    ends = body.split(" to ")
    if len(ends) < 3 and all(end.endswith("*") or end in place for end in ends):  # prefixes of codes
        low, high = (end.rstrip("*") for end in (ends * 2)[:2])
        found += [i for name, held in place.items() if low <= name and name[: len(high)] <= high for i in held]
    return found


def _listed(pieces: list[str], place: dict[str, list[int]]) -> list[int]:
    """Find the members of a printed list; one that holds a comma itself is the longest run of pieces that is one."""
    found, start = [], 0
    while start < len(pieces):
        for end in range(len(pieces), start, -1):
            label = ", ".join(pieces[start:end])
            if label in place:
                found += place[label]
                start = end - 1
                break
        start += 1
    return found
