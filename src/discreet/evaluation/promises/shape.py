"""Check the form of the facts in a promise, so that readers need no further checks."""

import sys
from collections.abc import Mapping
from typing import Any


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _level(value: Any) -> bool:
    return _number(value) or value == "inf"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


#: Fields of an anonymous table's promise. Each may be absent; "*" stands for any name, [x] for a list of x.
_SHAPE: dict[str, Any] = {
    "output": _text,
    "identifiers": _text,
    "k_counts": _text,
    "rows": _whole,
    "cells": _whole,
    "quasi_identifiers": [_text],
    "labels": {"*": {"*": [_text]}},
    "kept": {"columns": [_text], "k": _whole, "unique": _share},
    "required": {
        "k": _whole,
        "probabilistic_k": _whole,
        "l": {"kind": _text, "least": _number, "c": _number, "counts": _text},
        "t": {"kind": _text, "most": _number, "counts": _text},
        "k_by_columns": {"least": _whole, "columns": [[_text]]},
    },
    "reached": {
        "k": _whole,
        "probabilistic_k": _whole,
        "l": {"*": _level},
        "t": {"*": _number},
        "l_kind": _text,
        "t_kind": {"*": _text},
        "largest_share": _share,
        "k_by_columns": {"least": _whole, "columns": [[_text]]},
    },
}
#: Fields without which others mean nothing.
_NEEDED = {"kept": ("columns",), "k_by_columns": ("least", "columns")}


def misshapen(facts: Mapping[str, Any], *, syntactic: bool) -> str:
    """Return the name of a fact whose form is wrong; empty if all are right."""
    for name, value in facts.items():
        if not _plain(value) or not _plain(name):
            return str(name).encode("ascii", "backslashreplace").decode()
        if syntactic and not _fits(value, _SHAPE.get(name), name):
            return name
    return ""


def _fits(value: Any, shape: Any, name: str = "") -> bool:
    if shape is None or (value is None and name == "k"):  # where no k is promised
        return True
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(v, shape[0]) for v in value)
    if isinstance(shape, dict):
        if not isinstance(value, dict) or any(value.get(key) is None for key in _NEEDED.get(name, ())):
            return False
        every = shape.get("*")
        if name == "kept" and ("k" in value) != ("unique" in value):
            return False
        return all(_fits(v, every or shape.get(key), key) for key, v in value.items())
    return bool(shape(value))


def _plain(value: Any) -> bool:
    """Return True if data can be shown: texts that can be encoded, and numbers that a float can hold."""
    if isinstance(value, Mapping):
        return all(_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return all(map(_plain, value))
    if isinstance(value, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return not _number(value) or abs(value) <= sys.float_info.max
