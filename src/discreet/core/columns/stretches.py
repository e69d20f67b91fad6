"""Intervals on the axes of columns, from what a user writes: a category, a pair of days.

Queries (`count(age=(30, 60), sex=["f"])`) and declared facts share this form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.checks import nearest
from discreet.core.columns.dates import day_number, second_number
from discreet.core.columns.kinds import Categorical, Code, Column, Date, Integer, category_text
from discreet.errors import InvalidArgument, InvalidType

#: Stretches of one axis, half open; (NaN, NaN) is the place of missing values.
Intervals: TypeAlias = list[tuple[float, float]]


def place_on(column: Column, value: Any) -> float:
    """Return a place on a numeric axis: of a number, a date, a time of day, or an ordered category (its own number)."""
    if isinstance(column, Categorical):
        places = {category_text(c): i for i, c in enumerate(column.categories)}
        if category_text(value) not in places:
            raise InvalidArgument(column.name, value, "among the declared categories", repr(_meant(column, value)))
        return float(places[category_text(value)])
    if isinstance(column, Code) and isinstance(value, str):
        return float(_run(column, value, column.name)[0])
    read = {"date": day_number, "time": second_number}.get(column.kind)
    place = None if read is None else read(value)
    return float(value) if place is None else place


def _meant(column: Categorical, value: Any) -> Any:
    """Return the declared category that was most likely meant; the first if none is near."""
    known = {category_text(c): c for c in column.categories}
    near = nearest(value, list(known))
    return column.categories[0] if near is None else known[near]


def stretches_of(column: Column, value: Any) -> Intervals:
    """Return a user's condition on a column as intervals of its axis.

    Categories: one or a list; codes also by prefix, ``"010*"``. Numbers: a pair ``(low, high)``. For whole numbers,
    days and times both ends are included, and a single number means itself; of others the upper end is excluded.
    """
    if isinstance(column, Categorical):
        fix = f"{column.name}={list(column.categories[:1])}"
        chosen = [value] if isinstance(value, (str, int, np.integer)) else value
        if not isinstance(chosen, (list, tuple, set, frozenset)):
            raise InvalidType(column.name, value, "a list of categories", fix)
        place = {category_text(c): i for i, c in enumerate(column.categories)}
        for category in chosen:
            if category_text(category) not in place:
                fix = f"{column.name}={[_meant(column, category)]}"
                raise InvalidArgument(column.name, category, "among the declared categories", fix)
        numbers = sorted({place[category_text(c)] for c in chosen})
        return [(float(i), float(i + 1)) for i in numbers]
    if isinstance(column, Code):
        chosen = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
        runs = sorted(_run(column, str(text), f"{column.name}=") for text in chosen)
        return [(first - 0.5, last + 0.5) for first, last in runs]
    ends = map(repr, column.ends()) if isinstance(column, Integer) else (f"{column.low:g}", f"{column.high:g}")
    fix = f"{column.name}=({', '.join(ends)})"
    if isinstance(column, Integer) and isinstance(value, (int, np.integer)):
        value = (value, value)
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InvalidType(column.name, value, "a pair (low, high)", fix)
    try:
        low, high = (place_on(column, v) for v in value)
    except (TypeError, ValueError):
        raise InvalidType(column.name, value, "a pair of numbers (low, high)", fix) from None
    if not low <= high:  # also NaN
        raise InvalidArgument(column.name, value, "a pair with low <= high", fix)
    if isinstance(column, (Integer, Date)):  # both ends belong to it
        low, high = np.ceil(low) - 0.5, np.floor(high) + 0.5
        return [(float(low), float(max(low, high)))]
    return [(low, high)]


def stretches_by_name(column: Column, value: Any, before: str = "") -> Intervals:
    """Return the same for an entry of a mapping from columns; an error spells the fix as a mapping."""
    try:
        return stretches_of(column, value)
    except InvalidArgument as error:
        fix = f"{before}{{{column.name!r}: {error.fix.removeprefix(f'{column.name}=')}}}"
        raise type(error)(error.name, error.value, error.expected, fix) from None


def _run(column: Code, text: str, before: str) -> tuple[int, int]:
    found = column.codes.meant(text)
    if found is None:
        what = "a declared code, or the beginning of one with a star behind it"
        raise InvalidArgument(column.name, text, what, f"{before}{column.ends()[0][:1] + '*'!r}")
    return found


def by_days(column: Column, places: Any) -> Any:
    """Move ends on a date axis between days, so that the width of an interval is its number of days."""
    return np.where(np.asarray(places) >= column.high, np.floor(column.high) + 0.5, np.ceil(places) - 0.5)


def held(column: Column, lower: Any, upper: Any, stretches: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
    """Return which cells of an axis lie in intervals that cut no cell; missing values lie in none."""
    if isinstance(column, Date):
        lower, upper = by_days(column, lower), by_days(column, upper)
    middle = (lower + upper) / 2
    found = np.zeros(np.shape(middle), bool)
    for low, high in stretches:
        found |= (middle >= low) & ((middle < high) | ((middle == high) & (high >= column.high)))
    return found
