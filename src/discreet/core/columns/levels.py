"""Levels of a column: public groups of neighbouring values, within which anonymous tables print and cut it.

Named intervals (``"0..17 minor, 18..64 adult, 65+ senior"``, or nested tables of them), widths (``[5, 10, 20]``), units
of the calendar (``["month", "quarter", "year"]``), or lengths of prefixes of a code.
"""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.core.columns import dates
from discreet.errors import InvalidArgument

#: Units of the calendar, fine to coarse, by NumPy's names.
UNITS = {"day": "D", "month": "M", "quarter": "3M", "year": "Y"}
#: An interval: both ends, one that has no upper end (65+), or a single value.
_INTERVAL = re.compile(r"(\S*?)(?:\.\.|–|—|(?<=\d)-(?=\d+$))(\S*)|(\S+?)(\+?)")
_EXAMPLES = {"date": 'levels=["month", "quarter", "year"]', "code": "levels=[1, 2]"}


class Laid(NamedTuple):
    """The places where cells may end on an axis, with the depth of the group around, and the intervals with names."""

    tiers: dict[float, int]
    names: list[tuple[float, float, str]]


def settle(column: Any) -> None:
    """Read and check the levels of a column, which may be None."""
    if column.levels is not None:
        object.__setattr__(column, "levels", _read(column, column.levels))
        lay_out(column)


def plain(levels: Any) -> Any:
    """Return levels as plain data."""
    if isinstance(levels, tuple) and isinstance(levels[0], tuple):
        return {name: plain(held) for name, held in levels}
    return list(levels) if isinstance(levels, tuple) else levels


def shown_levels(column: Any) -> list[str]:
    """Return the levels of a column for people, coarse to fine, a line for each; none for a column without levels."""
    if column.kind == "code":
        cuts = {n: count for n, count in column.codes.cuts.items() if not column.levels or n in column.levels}
        return [f"first {n} character{'s' * (n > 1)}: {count:,} groups" for n, count in cuts.items()]
    if not getattr(column, "levels", None):
        return []
    lines: list[str] = []
    last = math.inf
    for low, high, name in lay_out(column).names:
        end = column.at(math.ceil(high) - 1 if high < column.high else high)
        text = f"{name} ({column.at(math.ceil(low))} to {end})"
        lines, last = ([*lines[:-1], f"{lines[-1]}, {text}"] if low >= last else [*lines, text]), high
    shown = [
        line if len(line) < 400 else f"{line.split('), ')[0]}), … {line.count('), ') + 1:,} groups" for line in lines
    ]
    return shown or [f"{step} wide" for step in reversed(column.levels)]


def _wrong(column: Any, value: Any, expected: str) -> InvalidArgument:
    example = _EXAMPLES.get(column.kind, 'levels="0..17 minor, 18..64 adult, 65+ senior"')
    return InvalidArgument(f"levels of column {column.name!r}", value, expected, example)


def _read(column: Any, given: Any) -> tuple[Any, ...]:
    """Return levels in one form: a tuple of numbers or units, or pairs of a name and what it holds."""
    parts = [p.strip() for p in given.split(",")] if isinstance(given, str) else given
    if isinstance(parts, (list, tuple)) and parts and all(isinstance(p, str) for p in parts):
        if column.kind == "date" and set(parts) <= set(UNITS):
            return tuple(unit for unit in UNITS if unit in parts)
        told = [p.partition(" ") for p in parts]
        numbers = [float(p) for p in parts if re.fullmatch(r"\d+(\.\d+)?", p)]
        parts = numbers if len(numbers) == len(parts) else {name.strip(): held for held, _, name in told}
        if len(parts) < len(told) or "" in parts:
            raise _wrong(column, given, "intervals, each with a name of its own")
    if (
        isinstance(parts, (list, tuple))
        and parts
        and all(isinstance(p, (int, float)) and abs(p) < 1e100 for p in parts)
    ):
        steps = sorted({int(p) if p == int(p) else p for p in parts})
        most = column.codes.longest if column.kind == "code" else column.high - column.low
        fits = column.kind not in ("integer", "time", "code") or all(isinstance(s, int) for s in steps)
        nested = column.kind == "code" or not any(b % a for a, b in itertools.pairwise(steps) if a)
        if not (steps[0] > 0 and steps[-1] <= most and fits and nested) or column.kind == "date":
            what = (
                f"lengths of prefixes up to {most}" if column.kind == "code" else "widths, each a multiple of the last"
            )
            raise _wrong(column, given, "units of the calendar or intervals" if column.kind == "date" else what)
        return tuple(steps)
    groups = _pairs(parts)
    if not isinstance(groups, tuple) or not groups or not isinstance(groups[0], tuple) or column.kind == "code":
        what = "lengths of prefixes" if column.kind == "code" else "named intervals, widths or units of the calendar"
        raise _wrong(column, given, what)
    return groups


def _pairs(held: Any) -> Any:
    """Return what a group holds: an interval as text, several of them, or pairs of a name and a group."""
    if isinstance(held, list) and held and all(isinstance(one, Mapping) for one in held):  # `Hierarchy.to_list`
        held = {name: inner for one in held for name, inner in one.items()}
    if isinstance(held, Mapping) or (isinstance(held, tuple) and held and isinstance(held[0], tuple)):
        return tuple((str(name), _pairs(inner)) for name, inner in dict(held).items())
    if isinstance(held, (list, tuple)) and len(held) == 2 and not isinstance(held[0], str):
        return f"{held[0]}..{held[1]}"
    return tuple(map(str, held)) if isinstance(held, (list, tuple)) else str(held)


def lay_out(column: Any, most: int = 2**15) -> Laid:
    """Return where the cells of a column with levels may end: of prefixes of a code, at most so many cells."""
    found = Laid({}, [])
    if column.levels and isinstance(column.levels[0], tuple):
        return _of_groups(column, found)
    steps: Sequence[Any] = tuple(reversed(column.levels or ()))
    if column.kind == "code":
        steps = [n for n in column.levels or column.codes.cuts if len(column.codes.borders(n)) <= most]
        if not steps:
            raise _wrong(column, list(column.levels), f"with a length of at most {most} prefixes")
    for depth, step in enumerate(steps):
        starts, names = _level(column, step)
        for start in starts[1:]:
            found.tiers.setdefault(start, depth)
        found.names.extend(zip(starts, [*starts[1:], column.high], names, strict=False))
    return found


def _level(column: Any, step: Any) -> tuple[list[float], list[str]]:
    """Return where the groups of one level begin, and their names if they have any."""
    if column.kind == "code":
        return (column.codes.borders(step) - 0.5).tolist(), []  # `CodeSet.label` names them
    if column.kind == "date":
        starts = unit_starts(column, step)
        texts = [str(t.astype(f"datetime64[{UNITS[step][-1]}]")) for t in starts]
        if step == "quarter":
            texts = [f"{t[:4]}-Q{int(t[5:]) // 3 + 1}" for t in texts]
        return [column.low, *starts[1:].astype("datetime64[D]").astype(float).tolist()], texts
    half = 0.5 if column.kind in ("integer", "time") else 0.0
    first, behind = ((end + half) / step for end in (column.low, column.high))
    inner = (step * i - half for i in range(math.floor(first) + 1, math.ceil(behind)))
    return [column.low, *(x for x in inner if column.low < x < column.high)], []


def unit_starts(column: Any, unit: str) -> Any:
    """Return when the units of the calendar begin that a column of dates has; the first may begin before it."""
    ends = np.array([column.low, column.high]).astype(np.int64).astype("datetime64[D]")
    first, last = ends.astype(f"datetime64[{UNITS[unit]}]")
    return np.arange(first, last + 1)


def _of_groups(column: Any, found: Laid) -> Laid:
    leaves: list[tuple[float, float, tuple[Any, ...]]] = []
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(column.levels, ())]
    while waiting:
        held, path = waiting.pop()
        if isinstance(held, str):
            leaves.append((*_interval(column, held), path))
        else:
            waiting += [(one, path) if isinstance(one, str) else (one[1], (*path, one)) for one in held]
    leaves.sort(key=lambda leaf: leaf[:2])
    for (_, high, _), (low, _, _) in itertools.pairwise([(0, column.low, ()), *leaves, (column.high, 0, ())]):
        if low != high:
            ends = "intervals without gaps and overlaps from {} to {}".format(*column.ends())
            raise _wrong(column, plain(column.levels), f"{ends}: there is one next to {column.at(min(low, high))}")
    for depth in range(max(len(path) for *_, path in leaves)):
        for own, run in itertools.groupby(leaves, key=lambda leaf: leaf[2][: depth + 1]):
            if len(own) > depth:
                held = list(run)
                found.names.append((held[0][0], held[-1][1], own[-1][0]))
    for (*_, a), (low, _, b) in itertools.pairwise(leaves):
        found.tiers[low] = sum(x is y for x, y in zip(a, b, strict=False))
    names = [name for *_, name in dict.fromkeys(found.names)]
    for name in names:
        odd = name in ("*", "missing", "") or name.endswith(" or missing") or " to " in name or name[0] in "{["
        if odd or names.count(name) > 1:
            what = "groups of neighbouring values with names that differ, without '*', 'missing', '{...}' and ' to '"
            raise _wrong(column, name, what)
    return found


def _interval(column: Any, text: str) -> tuple[float, float]:
    """Return the ends of an interval on the axis of a column; of numbers with fractions the upper one is outside."""
    found = _INTERVAL.fullmatch(text.strip())
    read: Any = {"date": dates.day_number, "time": dates.second_number}.get(column.kind, float)
    half = 0.5 if column.kind in ("integer", "time") else 0.0
    try:
        low, high = (found[1], found[2]) if found[3] is None else (found[3], "" if found[4] else found[3])  # type: ignore[index]
        start = max(read(low) - half, column.low) if low else column.low
        return start, min(read(high) + half + (column.kind == "date"), column.high) if high else column.high
    except (ValueError, TypeError):
        raise _wrong(column, text, f"intervals such as {'..'.join(map(str, column.ends()))}") from None
