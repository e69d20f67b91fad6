"""Top and bottom coding: public thresholds beyond which an anonymous table prints all values as one, ``> 90``.

Extreme values are rare and revealing. Thresholds are declared like bounds, never taken from the rows; everything beyond
shares one bin of the public grid. The printed text is exact: whole numbers and times print ``> 90`` (91 and more) and
``< 18``, other numbers and dates ``>= 90`` and ``< 18``, because a bin holds its lower end.
"""

from typing import Any

from discreet.core import checks
from discreet.core.columns import dates
from discreet.errors import InvalidArgument, InvalidType

#: Numbers from texts, and texts of numbers, of kinds that are written in another way.
_READ: dict[str, Any] = {"date": dates.day_number, "time": dates.second_number}
_WRITE: dict[str, Any] = {"date": dates.date_text, "time": dates.time_text, "integer": int}
_WHOLE = ("integer", "time")


def settle(column: Any) -> None:
    """Read and check the thresholds of a column of numbers, dates or times; both may be None."""
    for side in ("bottom", "top"):
        given = getattr(column, side)
        if given is not None:
            object.__setattr__(column, side, _number(column, side, given))
    least = column.low
    for side, edge in zip(("bottom", "top"), edges(column), strict=True):
        if edge is None:
            continue
        if not least <= edge < column.high or edge == column.low:
            low, high = column.ends()
            above = "" if least == column.low else f", not below the bottom {shown(column, column.bottom)}"
            what = f"a threshold between {low} and {high} with values beyond it{above}"
            middle = (least + column.high) / 2 + _half(column) * (1 if side == "bottom" else -1)
            got = shown(column, getattr(column, side))
            raise InvalidArgument(f"{side} of column {column.name!r}", got, what, f"{side}={shown(column, middle)!r}")
        least = edge


def _number(column: Any, side: str, given: Any) -> float:
    label = f"{side} of column {column.name!r}"
    if column.kind in _READ and not isinstance(given, float):  # a float is a number already: that of a copy
        found = _READ[column.kind](given)
        if found is None:
            example = {"date": "2010-01-01", "time": "22:00"}[column.kind]
            wrong = InvalidArgument if isinstance(given, str) else InvalidType
            raise wrong(label, given, f"a {column.kind} such as {example}", f'{side}="{example}"')
        return float(found)
    value = checks.finite(label, given, fix=f"{side}=90")
    if column.kind in _WHOLE and not value.is_integer():
        raise InvalidArgument(label, given, "a whole number, as the column is", f"{side}={int(value)}")
    return value


def edges(column: Any) -> tuple[float | None, float | None]:
    """Return where the coded ends begin on the axis of a column; None if there is none."""
    half = _half(column)
    below, above = getattr(column, "bottom", None), getattr(column, "top", None)
    return None if below is None else below - half, None if above is None else above + half


def _half(column: Any) -> float:
    return 0.5 if column.kind in _WHOLE else 0.0


def shown(column: Any, value: float) -> Any:
    """Return a number of a column's axis as plain data."""
    return _WRITE.get(column.kind, float)(value)


def declared(column: Any) -> dict[str, Any]:
    """Return the thresholds as plain data; nothing for a column without any."""
    sides = {side: getattr(column, side, None) for side in ("bottom", "top")}
    return {side: shown(column, value) for side, value in sides.items() if value is not None}
