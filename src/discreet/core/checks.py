"""Argument checks: each returns the clean value or raises with name, value and fix.

Budgets and scales become exact rationals. A float is read *as written*: ``0.1`` means 1/10, so ten spends of 0.1 are
exactly a budget of 1.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from difflib import get_close_matches
from errno import EACCES, EADDRINUSE
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, TypeGuard, TypeVar

import numpy as np

from discreet.core.arrays import AnyArray, FloatArray, IntArray
from discreet.core.output.figures import LARGEST_BUDGET, LARGEST_NUMBER, large_delta
from discreet.errors import DataSourceError, DiscreetWarning, FormatError, InvalidArgument, InvalidType, SchemaError

#: A number that a budget or a scale may be written as.
Number = int | float | Fraction | Decimal | np.integer[Any] | np.floating[Any]
_AMOUNT = re.compile(r"[0-9]{1,2000}(/[1-9][0-9]{0,1999})?")
#: An exact non-negative number, or infinity (a run without privacy).
Exact = Fraction | float

T = TypeVar("T")


class Budget(float):
    """A float that remembers the exact rational it represents, in `exact`."""

    exact: Exact

    def __new__(cls, amount: Exact) -> Budget:
        try:
            number = super().__new__(cls, float(amount))
        except OverflowError:
            number = super().__new__(cls, math.inf)
        number.exact = amount
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        return Budget, (self.exact,)


def exact(name: str, value: object, expected: str, fix: str) -> Fraction:
    """Read a finite number as the rational that its decimal form denotes; refuse one that no float can hold."""
    if type(value) is Budget and isinstance(value.exact, Fraction):
        return value.exact
    if not is_real(value):
        raise InvalidType(name, value, expected, fix)
    if isinstance(value, Rational):
        return _of_a_size(name, value, Fraction(int(value.numerator), int(value.denominator)), expected, fix)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidArgument(name, value, expected, fix)
        # A power of ten that no float can hold would take long to write out.
        number = Fraction(value) if value.adjusted() < 400 or not value else Fraction(10) ** 400
        return _of_a_size(name, value, number, expected, fix)
    written = float(value)
    if not math.isfinite(written):
        raise InvalidArgument(name, value, expected, fix)
    return Fraction(repr(written))


def _of_a_size(name: str, value: object, number: Fraction, expected: str, fix: str) -> Fraction:
    if not -LARGEST_NUMBER <= number <= LARGEST_NUMBER:
        size = f"a number of at most {LARGEST_NUMBER:g} in size"  # "finite" would be true of it
        raise InvalidArgument(name, value, size if "finite" in expected else expected, fix)
    return number


def is_bool(value: object) -> bool:
    """Return whether a value is True or False, also NumPy's."""
    return isinstance(value, (bool, np.bool_))


def is_whole(value: object) -> TypeGuard[Integral]:
    """Return whether a value is a whole number by type."""
    return isinstance(value, Integral) and not is_bool(value)


def is_real(value: object) -> TypeGuard[Real | Decimal]:
    """Return whether a value is a number by type."""
    return isinstance(value, (Real, Decimal)) and not is_bool(value)


def positive(name: str, value: object, *, fix: str = "") -> Fraction:
    """Check for a positive finite number; exact."""
    fix = fix or meant(name, value, "1.0", lambda x: x > 0)
    number = exact(name, value, "a positive finite number", fix)
    if number <= 0:
        raise InvalidArgument(name, value, "a positive finite number", fix)
    return number


def budget(name: str, value: object) -> Exact:
    """Check a privacy budget: positive, finite and exact, or ``math.inf`` for a run without privacy."""
    if isinstance(value, (float, np.floating)) and value == math.inf:
        return math.inf
    expected = "a positive finite number (or math.inf for a run without privacy)"
    fix = meant(name, value, "1.0", lambda x: 0 < x <= LARGEST_BUDGET)
    number = exact(name, value, expected, fix)
    if number > LARGEST_BUDGET:
        expected = f"at most {LARGEST_BUDGET:.0e} (or math.inf for a run without privacy)"
    if not 0 < number <= LARGEST_BUDGET:
        raise InvalidArgument(name, value, expected, fix)
    return number


def meant(name: str, value: object, usual: str, fits: Callable[[float], bool]) -> str:
    """Return a suggestion: the number in a text (also with a decimal comma) if it fits, else a usual one."""
    text = value.strip().replace(",", ".") if isinstance(value, str) else ""
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        number = math.nan
    return f"{name}={text if math.isfinite(number) and fits(number) else usual}"


def written_amount(text: object) -> Fraction:
    """Read an exact amount as ledgers write it: a rational. Nothing longer comes from adding doubles up."""
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text) or str(amount := Fraction(text)) != text:
        raise FormatError("an amount is not a rational number in lowest terms")
    return amount


def probability(name: str, value: object, *, closed: bool = False, expected: str = "") -> Fraction:
    """Check a probability, exact; open interval unless ``closed``."""
    expected = expected or ("a number from 0 to 1" if closed else "a number strictly between 0 and 1")
    # Half a chance would be no privacy.
    fix = meant(name, value, "1e-6" if name == "delta" else "0.5", lambda x: 0 < x < 1)
    number = exact(name, value, expected, fix)
    if not (0 <= number <= 1 if closed else 0 < number < 1):
        raise InvalidArgument(name, value, expected, fix)
    return number


def slack(value: object, rows: object = None, expected: str = "") -> Fraction:
    """Check the δ of a promise, exactly, and warn if it is large, also for a public number of rows."""
    share = probability("delta", value, expected=expected)
    warn_of_delta(share, rows)
    return share


def warn_of_delta(share: Fraction, rows: object = None) -> None:
    known = int(rows) if is_whole(rows) and rows < 2**63 else 0  # larger numbers are refused elsewhere
    if said := large_delta(float(share), known if known > 0 else None):
        warnings.warn(said, DiscreetWarning, stacklevel=4)


def finite(name: str, value: object, *, fix: str = "") -> float:
    """Check for a finite real number; a float."""
    if not is_real(value):
        raise InvalidType(name, value, "a finite number", fix or f"{name}=1.0")
    number = _number(value)
    if not math.isfinite(number):
        raise InvalidArgument(name, value, "a finite number", fix or f"{name}=1.0")
    return number


def whole(name: str, value: object, *, low: int = 0, high: int | None = None, fix: str = "") -> int:
    """Check for a whole number in ``low..high``."""
    fix = fix or f"{name}={_nearest_whole(value, low, high)}"
    expected = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    if not is_whole(value):
        raise InvalidType(name, value, expected, fix)
    number = int(value)
    if high is None and number > LARGEST_NUMBER:
        expected = f"a whole number of at most {LARGEST_NUMBER:g}"
    if number < low or number > (LARGEST_NUMBER if high is None else high):
        raise InvalidArgument(name, value, expected, fix)
    return number


def _nearest_whole(value: object, low: int, high: int | None) -> int:
    """Return the whole number that is nearest to what was given, and can be used; else a small one."""
    try:
        number = math.nan if isinstance(value, (bool, np.bool_)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < max(low, 1):
        return max(low, 1)
    return round(number) if high is None else min(round(number), high)


#: More options than this are not all listed in an error.
MOST_LISTED = 30


def delta_share(value: object, fix: str = "delta=1e-6") -> Fraction:
    """Check a δ that may be 0, exactly."""
    expected = "a number from 0, and below 1"
    share = exact("delta", value, expected, fix)
    if not 0 <= share < 1:
        raise InvalidArgument("delta", value, expected, fix)
    return share


def choice(name: str, value: object, options: Sequence[T], *, fix: str = "") -> T:
    """Check for one of the named options."""
    for option in options:
        if isinstance(value, type(option)) and value == option:
            return option
    shown = [repr(o) for o in options]
    if len(shown) > MOST_LISTED:
        shown = [*shown[: MOST_LISTED // 2], f"... ({len(shown)} in all)"]
    listed = ", ".join(shown)
    kind = InvalidArgument if isinstance(value, str) else InvalidType
    known = {str(option): option for option in options}
    near = nearest(value, list(known)) if isinstance(value, str) else None
    if near is None and isinstance(value, str) and value:  # the beginning of one
        near = next((text for text in known if text.casefold().startswith(value.strip().casefold())), None)
    fix = fix or f"{name.partition(' of column ')[0]}={options[0] if near is None else known[near]!r}"
    raise kind(name, value, f"one of {listed}", fix)


def nearest(name: object, known: Sequence[str], *, beginnings: bool = True) -> str | None:
    """Return the known name that was most likely meant; None if none is near.

    Case, blanks, and units in brackets do not count. With ``beginnings``, at least three letters that begin just one
    name will do: "weight" for "weight_at_birth".
    """
    typed = str(name).strip().casefold()
    plain = {text.strip().casefold(): text for text in reversed(known)}
    bare = {_without_unit(text): plain[text] for text in plain}
    if typed not in plain and (same := bare.get(_without_unit(typed))):
        return same
    if found := get_close_matches(typed, plain, 1, 0.6):
        return plain[found[0]]
    if found := get_close_matches(_without_unit(typed), bare, 1, 0.6):
        return bare[found[0]]
    begun = [text for text in plain if text.startswith(typed)] if beginnings and len(typed) > 2 else []
    return plain[begun[0]] if len(begun) == 1 else None


def _without_unit(name: str) -> str:
    """Return a name without units in brackets; the whole name if nothing else is in it."""
    return re.sub(r"\s*(\([^()]*\)|\[[^\[\]]*\])\s*", " ", name).strip() or name


def undeclared(name: object, known: Sequence[str]) -> SchemaError:
    """Return the error about a column that a domain does not have, with the one that was probably meant."""
    near = nearest(name, known)
    meant = f" (did you mean {near!r}?)" if near else ""
    listed = ", ".join(map(repr, known[:20]))
    return SchemaError(f"column {name!r} is not declared in the domain{meant}; declared: {listed}")


def shape(name: str, value: object) -> tuple[int, ...] | None:
    """Check a NumPy-style size: None for a scalar, a whole number, or a tuple of them."""
    if value is None:
        return None
    if isinstance(value, tuple):
        if len(value) > 32:
            raise InvalidArgument(name, value, "a tuple of at most 32 whole numbers", f"{name}=1000")
        dimensions = tuple(whole(f"{name}[{i}]", v) for i, v in enumerate(value))
    else:
        dimensions = (whole(name, value),)
    if math.prod(dimensions) > 2**40:
        raise InvalidArgument(name, value, "a size of at most 2**40 draws", f"{name}=1000")
    return dimensions


def numeric_column(name: str, value: object) -> FloatArray:
    """Read an argument as one column of floats.

    Only type and shape can be refused. Values that are not numbers become NaN, row by row, and are never quoted.
    """
    if isinstance(value, (str, bytes, dict)) or value is None:
        raise InvalidType(name, type(value).__name__, "a one-dimensional array of numbers", f"{name}=np.array([1.0])")
    if isinstance(value, np.ndarray) and value.dtype.kind not in "buifO":
        raise InvalidType(name, value.dtype.name, "a one-dimensional array of numbers", f"{name}=np.array([1.0])")
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):  # rows of different kinds
        array = np.asarray(value, dtype=object)
    if array.dtype.kind not in "buif":
        # A list with one odd row comes out as text or objects: the other rows must not suffer for it.
        array = np.asarray(value, dtype=object)
    if array.ndim != 1:
        form = f"{array.ndim} dimensions"  # not the shape: the number of rows is a secret
        raise InvalidArgument(name, form, "a one-dimensional array of numbers", f"{name}={name}.ravel()")
    return as_floats(array)


def as_floats(array: AnyArray) -> FloatArray:
    """Convert an array of any kind, entry by entry where it must be: what is not a number becomes NaN."""
    if array.dtype.kind not in "buif":
        flat = [_number(x) for x in array.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(array.shape)
    with np.errstate(all="ignore"):  # a long double may overflow: it counts as infinite
        return array.astype(np.float64, copy=False)


def whole_array(name: str, value: object) -> IntArray:
    """Read an argument as whole numbers; other entries count as 0, huge ones as 2^63 - 1.

    The type of an array can be refused. A list cannot: its type would depend on its entries.
    """
    if isinstance(value, (str, bytes, dict)) or value is None:
        raise InvalidType(name, type(value).__name__, "an array of whole numbers", f"{name}=np.array([1])")
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "bui":
            raise InvalidType(name, value.dtype.name, "an array of whole numbers", f"{name}={name}.astype(int)")
        small = np.minimum(value, np.iinfo(np.int64).max) if value.dtype == np.uint64 else value
        return small.astype(np.int64, copy=False)
    array = np.asarray(value, dtype=object)
    flat = [_whole_number(x) for x in array.ravel().tolist()]
    return np.array(flat, dtype=np.int64).reshape(array.shape)


def _whole_number(value: Any) -> int:
    if not isinstance(value, Integral):
        return 0
    return int(min(max(int(value), -(2**63)), 2**63 - 1))


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all doubles
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def free_port(host: str, port: int) -> int:
    """Return a free port. granian shares ports: two servers on one would each get half of the requests, unnoticed."""
    import socket

    try:
        if not 0 <= port < 2**16:
            raise OverflowError  # the lookup would take its remainder
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            return int(probe.getsockname()[1])
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "no such host or port"
        taken = isinstance(error, OverflowError) or error.args[:1] in ((EADDRINUSE,), (EACCES,))
        fix = "name another with --port" if taken else "name an address of this machine with --host"
        raise DataSourceError(f"cannot serve on {host}:{port} ({why}); {fix}") from None
