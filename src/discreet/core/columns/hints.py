"""Suggestions for a declaration of a column that cannot be used.

A suggestion works when typed back in the same place: as a tuple, a mapping or a line of a schema file. It keeps the
given values if possible.
"""

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from discreet.core.columns import dates
from discreet.errors import InvalidArgument

#: Categories that a suggestion repeats at most.
_FEW = 12


def is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))


def _finite(value: Any) -> float | None:
    """Return the finite number that a value is, or that a text is the plain form of."""
    plain = isinstance(value, str) and value.isascii() and "_" not in value
    try:
        number = float(value) if plain or is_number(value) else math.inf
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _number_text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def repaired(low: Any, high: Any, *, whole: bool = False, usual: tuple[float, float] = (0, 1)) -> str:
    """Return bounds that can be used, as arguments: what was given, in the right order, wherever it is a number."""
    step = 1 if whole else 0.5
    ends = [_finite(low), _finite(high)]
    if whole:
        ends = [None if x is None or abs(x) > 2**51 else float(round(x)) for x in ends]
    a, b = ends if None in ends else sorted(cast(list[float], ends))
    if a is None:
        a = usual[0] if b is None or usual[0] < b else b - max(1, abs(b) * 1e-9)
    if b is None:
        b = usual[1] if usual[1] > a else a + max(1, abs(a) * 1e-9)
    # What `Numeric` takes: within these numbers, and not too near to each other.
    a, b = (min(max(x, -1e99), 1e99) for x in (a, b))
    if b - a < 1e-100:  # the value stays inside
        a, b = (a, a + 1) if whole else (a - max(step, abs(a) * 1e-9), a + max(step, abs(a) * 1e-9))
    return f"low={_number_text(a)}, high={_number_text(b)}"


def mended_days(low: Any, high: Any) -> str:
    """Return the same for days."""
    days = [x if isinstance(x, float) else dates.day_number(x) for x in (low, high)]
    first, last = (dates.day_number(text) for text in ("1920-01-01", "2010-12-31"))
    found = repaired(*days, whole=True, usual=(cast(float, first), cast(float, last)))
    ends = [int(part.partition("=")[2]) for part in found.split(", ")]
    return ", ".join(f'{side}="{dates.date_text(end)}"' for side, end in zip(("low", "high"), ends, strict=True))


def categories_meant(values: tuple[Any, ...]) -> str:
    """Return how to declare a list that holds something other than categories."""
    if len(values) == 2 and all(is_number(v) for v in values) and values[0] != values[1]:
        return f"({', '.join(map(_number_text, sorted(values)))})"
    missing = [v for v in values if v is None or v != v]
    kept = [v for v in values if not (v is None or v != v)]
    if 0 < len(kept) <= _FEW and missing and all(isinstance(v, (str, int, bool)) for v in kept):
        return repr({"categories": kept, "missing": "own"})
    return repr([str(v) for v in values]) if len(values) <= _FEW and all(map(is_number, values)) else '["a", "b"]'


def named_once(values: Sequence[Any], texts: Sequence[str], else_: str = "naming each category once") -> str:
    """Return a list without its repeats, or what else to do if it is long."""
    once = [v for i, v in enumerate(values) if texts.index(texts[i]) == i]
    return repr(once) if len(once) <= _FEW else else_


def declaration_meant(declared: object) -> str:
    """Return how to declare what was probably meant by something that is not a declaration."""
    if isinstance(declared, Set) and declared:  # it has no order, which a domain needs
        numbers = all(map(is_number, declared))
        listed = sorted(declared, key=None if numbers else str)
        return repr({"categories": listed} if numbers and len(listed) == 2 else listed)
    if isinstance(declared, range) and len(declared) > 1:
        ends = sorted((declared[0], declared[-1]))
        return repr({"kind": "integer", "bounds": ends})
    if isinstance(declared, np.ndarray) and declared.shape == (2,) and declared.dtype.kind in "iuf":
        return as_pair(repaired(*declared.tolist()))
    held = getattr(declared, "categories", declared)  # of a dtype
    way = next((name for name in ("to_list", "tolist") if hasattr(held, name)), None)
    if way and hasattr(held, "__len__") and getattr(held, "ndim", 1) == 1:  # not its values: they may be rows
        return f"{type(declared).__name__.lower()}{'.categories' * (held is not declared)}.{way}()"
    return "(0, 1)"


def as_pair(fix: str) -> str:
    keywords = cast(ast.Call, ast.parse(f"f({fix})", mode="eval").body).keywords
    values = {str(k.arg): ast.literal_eval(k.value) for k in keywords}
    return repr((values["low"], values["high"]))


def spelled(error: InvalidArgument, declared: Any) -> InvalidArgument:
    """Return an error about a column with the fix as the declaration is written: a tuple, or a mapping with keys."""
    bounds = declared.get("bounds") if isinstance(declared, Mapping) else declared
    words = bounds if isinstance(bounds, (tuple, list)) and all(isinstance(b, str) for b in bounds) else ()
    fix = error.fix
    if "bound" in error.name and words and not any(dates.day_number(b) is not None for b in words):
        # Texts that are not dates: times of day, numbers, or categories.
        timed = len(words) == 2 and all(dates.second_number(b) is not None for b in words)
        numbers = len(words) == 2 and None not in map(_finite, words)
        meant = {"kind": "time", "bounds": list(words)} if timed else {"categories": list(words)}
        if numbers and not timed:
            fix = repaired(*words)
        elif isinstance(declared, Mapping):
            fix = fix if declared.get("kind") == "time" else ", ".join(f'"{k}": {v!r}' for k, v in meant.items())
        else:
            fix = repr(meant) if timed else repr(list(words))
    elif "bound" in error.name and isinstance(bounds, tuple) and bounds and len(bounds) != 2:
        one = bounds[0]
        if len(bounds) == 1 and type(one) in (int, float) and abs(one) < 2**53:  # the other bound is missing
            fix = f"low={min(one, 0)}, high={one if one > 0 else one + 1}"
        else:
            fix = fix if isinstance(declared, Mapping) else repr(list(bounds))
    if fix.startswith(("low=", "high=")):
        pair = as_pair(fix)
        fix = f'"bounds": {list(ast.literal_eval(pair))}' if isinstance(declared, Mapping) else pair
    elif isinstance(declared, Mapping) and (
        said := re.fullmatch(r"(role|missing|bottom|top|levels|pattern)=(.*)", fix)
    ):
        fix = f'"{said[1]}": {said[2]}'
    elif isinstance(declared, Mapping) and error.name.startswith("categories") and fix.startswith("["):
        fix = f'"categories": {fix}'
    elif isinstance(declared, Mapping) and error.name.startswith("categories") and fix.startswith("("):
        fix = f'"bounds": {list(ast.literal_eval(fix))}'
    return type(error)(error.name, error.value, error.expected, fix)


@contextmanager
def in_a_file() -> Iterator[None]:
    """Spell the fix of an error about a column as a line of a schema file."""
    try:
        yield
    except InvalidArgument as error:
        try:
            keys = ast.literal_eval(f"{{{error.fix}}}")
        except (SyntaxError, ValueError):
            keys = None
        name = "[unit]" if error.name == "unit" else error.name
        if (not isinstance(keys, dict) or not keys) and name == error.name:
            raise
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in (keys or {}).items()]
        raise type(error)(name, error.value, error.expected, ", ".join(lines) or error.fix) from None


@contextmanager
def of_box(corners: Sequence[tuple[str, Any, Any]]) -> Iterator[None]:
    """Spell the fix of an error about one column of a box as two corners of the whole box."""
    try:
        yield
    except InvalidArgument as error:
        if not error.fix.startswith("low="):
            raise
        pairs = [ast.literal_eval(as_pair(repaired(low, high))) for _, low, high in corners]
        fix = ", ".join(f"{side}={[pair[i] for pair in pairs]}" for i, side in enumerate(("low", "high")))
        raise type(error)(error.name, error.value, error.expected, fix) from None


def listed(column: Any) -> Any:
    """Return the categories of a column as a declaration that means them and nothing else."""
    found = list(column.categories)
    return {"categories": found} if len(found) == 2 and all(map(is_number, found)) else found


def two_categories(name: str, declared: list[Any]) -> str:
    ends = [x.item() if isinstance(x, np.generic) else x for x in declared]
    return (
        f"column {name!r}: the list {ends} declares two categories, and rows with any other value count as missing; "
        f"write {as_pair(repaired(*ends))} for bounds, or {{'categories': {ends}}} if just these two values are meant"
    )
