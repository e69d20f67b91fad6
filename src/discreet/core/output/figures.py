"""Numbers in sentences: bounds are rounded to the safe side, distances are written exactly.

A promise that holds up to a distance of 0.608480537 does not hold up to 0.608481.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

#: No larger budget is accepted, so that sums of budgets stay finite.
LARGEST_BUDGET = 10**30
#: The largest number that is accepted anywhere; larger ones may not fit into a float.
LARGEST_NUMBER = 1e308
#: A delta above this protects no one: a row may be published as it is with that probability.
SURE_DELTA = 1e-3
#: A delta above this, or above one in the number of rows, is a warning: a few rows in the open would be within it.
USUAL_DELTA = 1e-5


def large_delta(delta: float, rows: int | None = None) -> str:
    """Return a warning about a delta that is large, or large for a public number of rows; "" otherwise."""
    by_rows = rows is not None and 1 / rows < USUAL_DELTA
    if delta <= (1 / rows if rows is not None and by_rows else USUAL_DELTA):
        return ""
    limit = f"one in {rows:,} rows" if by_rows else f"{USUAL_DELTA:g}"
    fix = f"{0.1 / rows:.0e}" if rows is not None and by_rows else "1e-6"
    return f"delta = {delta:g} is above {limit}: with that chance anything may come out about anybody; try delta={fix}"


def at_most(number: float | Fraction, digits: int = 6) -> str:
    """Write a positive upper bound with ``digits`` digits, rounded up."""
    return _rounded(number, digits, 1)


def left_of(total: float | Fraction, remaining: float | Fraction) -> float | Fraction:
    """Return what is left of a limit, for people; 0 if six digits of what was spent do not show it."""
    return 0.0 if f"{float(total - remaining):.6g}" == f"{float(total):.6g}" else remaining


def percent_up(share: float) -> str:
    """Write the largest share of something in percent with three digits, rounded up: 7.01 for 0.07004, 7 for 0.07."""
    return f"{at_most(round(100 * share, 9), 3)} %"


def at_least(number: float | Fraction, digits: int = 6) -> str:
    """Write a positive lower bound with ``digits`` digits, rounded down."""
    return _rounded(number, digits, -1)


def _rounded(number: float | Fraction, digits: int, side: int) -> str:
    text = f"{float(number):.{digits}g}"
    # A fraction is compared exactly, a float as it is printed: 0.1 is 0.1.
    if not 0 < number < math.inf or side * ((Fraction if isinstance(number, Fraction) else float)(text) - number) >= 0:
        return text
    unit = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
    return f"{float(number) + side * unit:.{digits}g}"


def as_it_is(number: float) -> str:
    """Write a number with as many digits as it needs."""
    text = f"{number:g}"
    return text if float(text) == number else repr(float(number))


def counted(number: int, thing: str) -> str:
    """Write a number of things, with an s for more than one."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def ends_of(low: float, high: float) -> str:
    """Write the ends of an interval of counts, for the terminal and for pages."""
    return f"{round(low):,} to {round(high):,}"


def rule_text(name: str, value: Any) -> str:
    """Write the requirement of a rule of an anonymous table."""
    if name == "probabilistic_k":
        return f"probabilistic k-anonymity with k = {value}"
    if not isinstance(value, Mapping):
        return f"{name} = {value}"
    if name == "k_by_columns":
        parts = "; ".join(", ".join(map(str, part)) for part in value["columns"])
        return f"k = {value['least']} in each of these groups of columns by itself, and not in whole rows: {parts}"
    amounts = [f"{v:g}" if isinstance(v, float) else str(v) for k, v in value.items() if k in ("least", "most")]
    said = {"kind": "", "counts": "counted in "}
    notes = [f"{said.get(k, f'{k} = ')}{v}" for k, v in value.items() if k not in ("least", "most")]
    return f"{name} = {' '.join(amounts)}" + (f" ({', '.join(notes)})" if notes else "")
