"""Parameters of mechanisms as plain data, and the register of mechanisms by name.

Budgets are written as exact rationals in text, keys in hexadecimal.
"""

from __future__ import annotations

import re
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.core import Budget
from discreet.errors import DiscreetError, FormatError
from discreet.local.wire import binary

if TYPE_CHECKING:
    from discreet.local.mechanism import Mechanism

#: A budget in a header. Longer forms, such as 1e-99999999, would take long to read.
_RATIONAL = re.compile(r"\d{1,400}(/\d{1,400})?")

M = TypeVar("M")

#: The module of every mechanism, which is imported when the mechanism is needed.
_HOMES = {
    "mean-response": "numbers.means",
    "mean-vector": "numbers.mean_vectors",
    "square-wave": "numbers.square_wave",
    "direct-response": "oracles.direct",
    "hadamard-response": "oracles.hadamard_response",
    "local-hashing": "oracles.local_hashing",
    "own-oracle": "oracles.own",
    "projective-geometry": "oracles.projective",
    "subset-selection": "oracles.subset",
    "unary-encoding": "oracles.unary",
    "bit-flip": "repeated.bit_flip",
    "rappor": "repeated.rappor",
    "count-mean-sketch": "sketches.count_mean",
    "hadamard-sketch": "sketches.hadamard",
    "prefix-extension": "strings.prefix",
    "fragment-puzzle": "strings.puzzle",
}
_BY_NAME: dict[str, type[Mechanism]] = {}


def register(kind: type[Mechanism]) -> None:
    if kind.NAME:
        _BY_NAME[kind.NAME] = kind


def mechanisms() -> dict[str, type[Mechanism]]:
    """Return all local mechanisms by name."""
    for home in _HOMES.values():
        import_module(f"discreet.local.{home}")
    return {name: _BY_NAME[name] for name in [*_HOMES, *(_BY_NAME.keys() - _HOMES.keys())]}


def to_plain(mechanism: Any) -> dict[str, Any]:
    """Return name and parameters as plain data."""
    facts: dict[str, Any] = {"mechanism": mechanism.NAME}
    for field in fields(mechanism):
        facts[field.name] = _plain(field.name, getattr(mechanism, field.name))
    return facts


def mechanism_from_dict(facts: Any) -> Mechanism:
    """Rebuild a mechanism from its plain data."""
    if not isinstance(facts, dict) or not isinstance(facts.get("mechanism"), str):
        raise FormatError("not a local mechanism: the field 'mechanism' is missing")
    if facts["mechanism"] in _HOMES:
        import_module(f"discreet.local.{_HOMES[facts['mechanism']]}")
    kind = _BY_NAME.get(facts["mechanism"])
    if kind is None:
        known = ", ".join(sorted(mechanisms()))
        raise FormatError(f"mechanism {facts['mechanism']!r} is not known here; known: {known}")
    return from_plain(kind, facts)


def from_plain(kind: type[M], facts: Any) -> M:
    """Rebuild an object of known type from its plain data."""
    name: str = kind.NAME  # type: ignore[attr-defined]
    if not isinstance(facts, dict) or facts.get("mechanism") != name:
        raise FormatError(f"not a {name}")
    wanted = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if set(facts) - {"mechanism"} != wanted:
        odd = sorted((set(facts) - {"mechanism"}) ^ wanted)
        raise FormatError(f"{name} damaged: fields missing or unknown: {', '.join(odd)}")
    try:
        made = kind(**{each: _read(each, facts[each]) for each in wanted})
        same = binary.canonical(to_plain(made)) == binary.canonical(facts)
    except (DiscreetError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        raise FormatError(f"{name} damaged: {error}") from None
    if not same:
        raise FormatError(f"{name} damaged: its parameters are not in canonical form")
    return made


def written_budget(name: str, text: Any) -> Fraction:
    """Read a budget of a header."""
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text) or text.endswith("/0"):
        raise FormatError(f"{name} must be a rational number such as 1/2")
    return Fraction(text)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Budget):
        return str(value.exact)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float):  # the shortest decimal that reads back as it, without an exponent
        text = format(Decimal(repr(value + 0.0)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if name == "key":
        return value.to_bytes(16, "little").hex()
    if isinstance(value, tuple):
        return [_plain("", v) for v in value]
    return value


def _read(name: str, value: Any) -> Any:
    if name.startswith("epsilon") and isinstance(value, str):
        return written_budget(name, value)
    if name == "key":
        if not isinstance(value, str) or len(value) != 32:
            raise FormatError("the key must be 32 hexadecimal digits")
        return int.from_bytes(bytes.fromhex(value), "little")
    if name in ("low", "high") and isinstance(value, str):
        return float(value)
    if isinstance(value, list):
        return tuple(_read(name, v) for v in value)
    return value
