"""The public grid of a column of dates: calendar units, so that cells read ``[1984-01-01, 1985-01-01)``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.core import checks, dates
from discreet.core.domain import Date
from discreet.errors import InvalidArgument

#: Calendar units, fine to coarse, by NumPy's names.
UNITS = {"day": "D", "month": "M", "year": "Y"}
#: Without a choice of the user: the finest unit that makes at most so many steps.
MOST_STEPS = 256
MOST_LEVELS = 2**15


def date_edges(column: Date, steps: Any) -> tuple[float, ...]:
    """Return the grid points of a column of dates, the bounds included.

    Parameters
    ----------
    column : Date
        The declaration.
    steps : None, str, int or list
        A calendar unit ("day", "month", "year"); how many steps, of whole days and all but equal; or the inner grid
        points as dates. None: the finest unit of at most 256 steps, or years.

    Examples
    --------
    >>> born = Date("born", "1999-11-15", "2001-02-01")
    >>> [dates.date_text(e) for e in date_edges(born, "year")]
    ['1999-11-15', '2000-01-01', '2001-01-01', '2001-02-01']
    >>> len(date_edges(born, None)), len(date_edges(born, 4))
    (16, 5)
    """
    label = f"grid of column {column.name!r}"
    fix = f"grid={{{column.name!r}: 'month'}}"
    if steps is None:
        sizes = {unit: _units(column, unit) for unit in UNITS}
        return next((e for e in sizes.values() if len(e) - 1 <= MOST_STEPS), sizes["year"])
    if isinstance(steps, str):
        found = _units(column, checks.choice(label, steps, tuple(UNITS)))
    elif isinstance(steps, (list, tuple, np.ndarray)):
        found = _given(column, list(steps), label, fix)
    else:
        days = int(column.high - column.low)
        count = checks.whole(label, steps, low=1, high=min(days, MOST_LEVELS))
        found = tuple(float(column.low + days * i // count) for i in range(count + 1))
    if len(found) - 1 > MOST_LEVELS:
        raise InvalidArgument(label, steps, f"a grid of at most {MOST_LEVELS} steps", fix)
    return found


def _units(column: Date, unit: str) -> tuple[float, ...]:
    ends = np.array([column.low, column.high]).astype(np.int64).astype("datetime64[D]")
    first, last = ends.astype(f"datetime64[{UNITS[unit]}]")
    starts = np.arange(first + 1, last + 1).astype("datetime64[D]").astype(np.int64)
    inner = [float(s) for s in starts if column.low < s < column.high]
    return (column.low, *inner, column.high)


def _given(column: Date, steps: Sequence[Any], label: str, fix: str) -> tuple[float, ...]:
    inner = [dates.day_number(s) for s in steps]
    points = [column.low, *(p for p in inner if p is not None), column.high]
    if None in inner or any(not a < b for a, b in itertools.pairwise(points)):
        low, high = column.to_dict()["bounds"]
        raise InvalidArgument(label, list(map(str, steps)), f"rising dates strictly between {low} and {high}", fix)
    return tuple(points)
