"""Numbers in sentences: a bound is rounded to the safe side, a distance is written as it is.

A promise that holds up to a distance of 0.608480537 does not hold up to 0.608481.
"""

import math
from collections.abc import Mapping
from typing import Any

#: A delta above this hides nobody: somebody's row may come out as it is with that chance.
SURE_DELTA = 1e-3


def at_most(number: float, digits: int = 6) -> str:
    """Write a positive bound with that many digits, never less than it is.

    Examples
    --------
    >>> at_most(3.0041660239, 3), at_most(2.5, 3), at_most(math.exp(7), 3)
    ('3.01', '2.5', '1.1e+03')
    """
    text = f"{number:.{digits}g}"
    if not 0 < number < math.inf or float(text) >= number:
        return text
    return f"{number + 10.0 ** (math.floor(math.log10(number)) - digits + 1):.{digits}g}"


def as_it_is(number: float) -> str:
    """Write a number with as many digits as it needs, and no more.

    Examples
    --------
    >>> as_it_is(200.0), as_it_is(0.1), as_it_is(1234567.891)
    ('200', '0.1', '1234567.891')
    """
    text = f"{number:g}"
    return text if float(text) == number else repr(float(number))


def counted(number: int, thing: str) -> str:
    """Write how many there are of something; nothing but an s is added to the word for many.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def rule_text(name: str, value: Any) -> str:
    """Write what a rule of an anonymous table asks for: a number, or a number and how it is meant.

    Examples
    --------
    >>> rule_text("l", {"kind": "entropy", "least": 2})
    'l = 2 (entropy)'
    >>> rule_text("l", {"kind": "distinct", "least": 2.0, "counts": "persons"})
    'l = 2 (distinct, counted in persons)'
    >>> rule_text("probabilistic_k", 5)
    'probabilistic k-anonymity with k = 5'
    >>> rule_text("k_by_columns", {"least": 5, "columns": [["age"], ["job", "town"]]})
    'k = 5 in each of these groups of columns by itself, and not in whole rows: age; job, town'
    """
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
