"""From a stored column to coordinates on its declared axis.

Each row is read by itself and no value causes an error: unreadable values are missing (NaN). Only the *type* of a
column may be refused, because it is schema. A category is recognised by its text. In number columns, this is the text
of the number, so 7, 7.0 and "7" are one category. In text columns, surrounding blanks are ignored, and a category
*declared* as a number is also found by value ("7.0").
"""

import functools
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import AnyArray, Categorical, Code, Column, Date, FloatArray, Integer, Time, category_text, dates
from discreet.core.schema import Dialect, lowered
from discreet.engines.tables.text_dates import days_by_format
from discreet.engines.tables.text_kernels import MIXED, Field
from discreet.engines.tables.text_numbers import (
    PLAIN_NUMBERS,
    has_words,
    numbers_at,
    numbers_of_decimals,
    numbers_of_text,
    trim,
)
from discreet.engines.tables.texts import is_bytes, text_of
from discreet.errors import SchemaError

#: What is a number by itself, not by how it is written.
_NUMBERS = (int, float, Decimal, np.number, np.bool_)
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")


@functools.lru_cache(maxsize=256)
def arrow_kind(kind: pa.DataType) -> str:
    """Sort an Arrow type into bool, int, float, text, null or other."""
    if pa.types.is_dictionary(kind):
        return arrow_kind(kind.value_type)
    for name, tests in _ARROW_KINDS.items():
        if any(test(kind) for test in tests):
            return name
    return "other"


_ARROW_KINDS = {
    "bool": (pa.types.is_boolean,),
    "int": (pa.types.is_integer,),
    "float": (pa.types.is_floating, pa.types.is_decimal),
    "null": (pa.types.is_null,),
    "text": (is_bytes,),
}


def column_kind(kind: pa.DataType) -> str:
    """Sort an Arrow type likewise, dates (with time stamps) and times of day apart."""
    if pa.types.is_dictionary(kind):
        return column_kind(kind.value_type)
    return "date" if dates.is_date(kind) else "time" if pa.types.is_time(kind) else arrow_kind(kind)


def numpy_kind(kind: np.dtype[Any]) -> str:
    """Sort a NumPy type likewise."""
    return {"b": "bool", "i": "int", "u": "int", "f": "float", "M": "date"}.get(
        kind.kind, "text" if kind.kind in "OUST" else "other"
    )


def as_stored(marks: FloatArray, kind: npt.DTypeLike) -> FloatArray:
    """Round marks of missing values to the floating-point type of a column: -9.9 is not exact."""
    small = np.dtype(kind)
    if small not in (np.float16, np.float32):
        return marks
    with np.errstate(over="ignore"):
        return marks.astype(small).astype(np.float64)


class Encoder:
    """Turns one declared column into coordinates. The dialect's marks of missing values also apply to numbers."""

    def __init__(self, column: Column, dialect: Dialect | None = None) -> None:
        self.column = column
        self._dialect = dialect or Dialect()
        self._codes: _Codes | _CodeTexts | None = None
        if isinstance(column, (Categorical, Code)):
            self._codes = (_CodeTexts if isinstance(column, Code) else _Codes)(column, self._dialect)  # type: ignore[arg-type]
        self._dated = isinstance(column, (Date, Time))  # read from texts or types of their own, never from numbers
        self._timed = isinstance(column, Time)
        self._whole: Integer | None = None
        self._absent = np.empty(0)
        if self._codes is None and self._dialect.missing:  # what a category list does not hold is missing anyway
            marks = self._text(pa.array([m.encode() for m in self._dialect.missing], pa.large_binary()))
            self._absent = np.unique(marks[~np.isnan(marks)])
        if isinstance(column, Integer):
            self._whole = column

    @property
    def plain(self) -> bool:
        """True if a number is its own coordinate: no mark of missing values, no rounding, no list of categories."""
        return self._codes is None and not self._dated and self._whole is None and not self._absent.size

    def check(self, kind: str, shown: object, where: str) -> None:
        """Refuse a column type that cannot carry this column; ``shown`` is the type as the user knows it."""
        label = f"column {self.column.name!r} of {where} has type {shown}"
        if self._dated:
            # An empty column may be called one of floats; whole numbers could be years as well as days.
            if self._timed and kind not in ("date", "time", "text", "null", "float"):
                raise SchemaError(
                    f"{label}, but is declared with times of day; convert it to times or to text 08:30:00"
                )
            if kind not in ("date", "text", "null", "float") and not self._timed:
                raise SchemaError(f"{label}, but is declared with dates; convert it to dates or to text 1984-05-01")
            return
        if kind == "date" and self._codes is None:
            raise SchemaError(f"{label}, but is declared with numbers as bounds; convert it, or declare dates")
        kind = "other" if kind in ("date", "time") else kind
        if kind == "other" and self._codes is None:
            raise SchemaError(f"{label}, but is declared with bounds; convert it to a number first")
        if kind == "other":
            raise SchemaError(f"{label}, but is declared with categories; convert it to text first")
        # A type that matches no category at all is let pass: pandas calls a text column float when all its rows are
        # empty, so refusing it would be a failure caused by rows.

    def numbers(self, values: AnyArray) -> FloatArray:
        """Encode an array of booleans, integers or floats."""
        if self._dated:
            return np.full(len(values), np.nan)
        if self._codes is not None:
            return self._codes.of_numbers(values)
        with np.errstate(all="ignore"):  # a long double may overflow: it is clamped like any infinite value
            return self._present(values.astype(np.float64, copy=False), values.dtype)

    def digits(self, values: FloatArray, texts: pa.LargeBinaryArray) -> FloatArray:
        """Encode numbers whose digits are known too: they distinguish categories that are equal as doubles."""
        found = self.numbers(values)
        if self._codes is not None and (rest := np.isnan(found)).any():
            found[rest] = self._codes.of_text(texts.filter(pa.array(rest)), PLAIN_NUMBERS)
        return found

    def times(self, values: npt.NDArray[np.datetime64]) -> FloatArray:
        """Encode an array of NumPy dates or times."""
        if self._timed:
            seconds = values.astype("datetime64[s]")
            return self._present(np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) % 86_400))
        return self._present(dates.numpy_days(values))

    def _present(self, values: FloatArray, stored: npt.DTypeLike = np.float64) -> FloatArray:
        """Leave out what the dialect calls missing; of whole numbers take the nearest that is declared."""
        if self._absent.size:
            values = np.where(np.isin(values, as_stored(self._absent, stored)), np.nan, values)
        if self._whole is not None:
            values = np.clip(np.rint(values), self._whole.least, self._whole.most)
        return values

    def arrow(self, values: pa.Array) -> FloatArray:
        """Encode an Arrow array of a type that `check` let pass."""
        if pa.types.is_dictionary(values.type):
            if len(values.dictionary) > len(values):
                return self.arrow(values.dictionary_decode())
            known = np.append(self.arrow(values.dictionary), np.nan)
            places = values.indices.cast(pa.int64()).fill_null(-1)  # a null picks the NaN at the end
            return np.asarray(known[places.to_numpy()], dtype=np.float64)
        kind = arrow_kind(values.type)
        if kind == "null" or (self._dated and kind == "float"):
            return np.full(len(values), np.nan)
        if self._dated and kind == "other":
            return self._present(dates.arrow_seconds(values) if self._timed else dates.arrow_days(values))
        if kind == "text":
            return self._text(values.cast(pa.large_binary()))
        if kind == "float" or self._codes is None:
            if pa.types.is_decimal(values.type):
                return self.digits(numbers_of_decimals(values), values.cast(pa.large_string()).cast(pa.large_binary()))
            # Not a checked cast: a whole number beyond 2**53 is rounded, as it is everywhere else.
            if not pa.types.is_floating(values.type):
                values = values.cast(pa.float64(), safe=False)
            return self.numbers(values.to_numpy(zero_copy_only=False))
        known = self.numbers(values.fill_null(False if kind == "bool" else 0).to_numpy(zero_copy_only=False))
        if values.null_count:
            known[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return known

    def objects(self, values: Iterable[object]) -> FloatArray:
        """Encode Python objects of any kinds: texts as the dialect writes them, numbers by their value."""
        listed = list(values)
        texts = pa.array([text_of(_double(v)) for v in listed], pa.large_binary())
        # No mark of a dialect is meant for a number that is one: only texts were written by somebody.
        numeric = np.fromiter((isinstance(v, _NUMBERS) for v in listed), np.bool_, len(listed))
        if self._dated or self._dialect.plain or not numeric.any():
            return self._text(texts)
        found = np.empty(len(listed))
        found[numeric] = self._text(texts.filter(pa.array(numeric)), PLAIN_NUMBERS)
        found[~numeric] = self._text(texts.filter(pa.array(~numeric)))
        return found

    def field(self, piece: Field) -> FloatArray:
        """Encode one field of a text file."""
        if self._codes is not None or self._dated or has_words(self._dialect) or piece.plain:
            return self._text(piece.text())
        out, hard = numbers_at(piece.block, piece.starts, piece.ends, self._dialect)
        # Texts with quotes inside, and numbers of many digits, are few: they are read from a copy.
        rows = np.union1d(hard, np.flatnonzero(piece.styles == MIXED))
        if len(rows):
            out[rows] = numbers_of_text(piece.take(rows).text(), self._dialect)
        return self._present(out)

    def _text(self, values: pa.LargeBinaryArray, dialect: Dialect | None = None) -> FloatArray:
        dialect = dialect or self._dialect
        if self._codes is not None:
            return self._codes.of_text(values, dialect)
        if not self._dated:
            return self._present(numbers_of_text(values, dialect))
        if self._timed:
            return self._present(dates.parse_seconds(values))
        days = dates.parse_days(values)
        for written in self._dialect.dates:
            days = np.where(np.isnan(days), days_by_format(values, written), days)
        return self._present(days)


class _CodeTexts:
    """Finds codes by their texts. What the dialect calls missing is missing, also if it is a code."""

    def __init__(self, column: Code, dialect: Dialect) -> None:
        self._find = column.codes.numbers
        self._absent = self._find(pa.array([m.encode() for m in dialect.missing], pa.large_binary()))

    def of_text(self, values: pa.LargeBinaryArray, _: Dialect) -> FloatArray:
        found = self._find(values)
        return np.where(np.isin(found, self._absent), np.nan, found)

    def of_numbers(self, values: AnyArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            whole = (values >= 0) & (values < 1e15) & (values == np.floor(values)) & (values.dtype.kind != "b")
        texts = pa.array(np.where(whole, values, 0).astype(np.int64)).cast(pa.large_string()).cast(pa.large_binary())
        return np.where(whole, self.of_text(texts, PLAIN_NUMBERS), np.nan)


class _Codes:
    """The lookup tables of a categorical column, made from its declaration alone."""

    def __init__(self, column: Categorical, dialect: Dialect) -> None:
        texts = {category_text(c): i for i, c in enumerate(column.categories)}
        self._numbers: dict[float, int] = {}
        self._declared_numbers: dict[float, int] = {}
        for text, i in texts.items():
            value = _canonical_number(text)
            if value is not None:
                self._numbers.setdefault(value, i)
        for i, c in enumerate(column.categories):
            if isinstance(c, (bool, int)):
                self._declared_numbers.setdefault(int(c), i)
                self._numbers.setdefault(int(c), i)
        self._booleans = [self._boolean(texts, False), self._boolean(texts, True)]
        for i, c in enumerate(column.categories):
            if isinstance(c, bool):
                for spelling in (*_TRUE, *_cases(dialect.true)) if c else (*_FALSE, *_cases(dialect.false)):
                    texts.setdefault(spelling, i)
        # Numbers and booleans that come one by one are known by their texts: as in a column of their own type.
        for value, i in self._numbers.items():
            texts.setdefault((text_of(value) or b"").decode(), i)
        for spellings, code in zip((_FALSE, _TRUE), self._booleans, strict=True):
            if not math.isnan(code):
                for spelling in spellings:
                    texts.setdefault(spelling, int(code))
        self._texts = pa.array([t.encode("utf-8", "surrogatepass") for t in texts], pa.large_binary())
        self._text_codes = np.append(np.array(list(texts.values())) + 0.5, np.nan)

    def _boolean(self, texts: Mapping[str, int], value: bool) -> float:
        for spelling in _TRUE if value else _FALSE:
            if spelling in texts:
                return texts[spelling] + 0.5
        return self._numbers.get(int(value), math.nan - 0.5) + 0.5

    def of_numbers(self, values: AnyArray) -> FloatArray:
        if values.dtype.kind == "b":
            return np.array(self._booleans)[values.astype(np.int64)]
        return _look_up(self._numbers, values)

    def of_text(self, values: pa.LargeBinaryArray, dialect: Dialect) -> FloatArray:
        places = pc.index_in(values, value_set=self._texts)
        if places.null_count:
            places = pc.coalesce(places, pc.index_in(trim(values), value_set=self._texts))
        codes: FloatArray = self._text_codes[places.fill_null(-1).to_numpy()]
        if places.null_count and self._declared_numbers:
            rest = np.isnan(codes)
            codes[rest] = _look_up(self._declared_numbers, numbers_of_text(values.filter(pa.array(rest)), dialect))
        return codes


def _look_up(table: Mapping[float, int], values: AnyArray) -> FloatArray:
    """Find numbers among those of a table: code plus one half, NaN for others."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
        pairs = sorted((float(k), i) for k, i in table.items() if abs(k) <= 2**53)
    else:
        limits = np.iinfo(values.dtype)
        pairs = sorted((int(k), i) for k, i in table.items() if k == int(k) and limits.min <= k <= limits.max)
    if not pairs:
        return np.full(len(values), np.nan)
    low, high = pairs[0][0] - 1, pairs[-1][0] + 1
    if values.dtype.kind in "iu" and abs(low) < 2**31 and high - low <= 2 * len(pairs) + 64:
        known = np.full(int(high - low) + 1, np.nan)  # a table takes less time than a search
        known[[int(k - low) for k, _ in pairs]] = [i + 0.5 for _, i in pairs]
        inside = np.clip(values, max(low, limits.min), min(high, limits.max)).astype(np.int64)
        return np.asarray(known[inside - int(low)], np.float64)
    keys = np.array([k for k, _ in pairs], dtype=values.dtype)
    codes = np.array([i for _, i in pairs]) + 0.5
    places = np.searchsorted(keys, values)
    places[places == len(keys)] = 0
    return np.where(keys[places] == values, codes[places], np.nan)


def _canonical_number(text: str) -> float | None:
    """Return the number that is written exactly so, if there is one."""
    for read in (int, float):
        try:
            value = read(text)
        except ValueError:
            continue
        if str(value) == text and (read is int or math.isfinite(value)):
            return value
    return None


def _double(value: object) -> object:
    """Round a decimal, and a number of another width, as a column of such numbers is; leave other objects alone."""
    if isinstance(value, np.floating):
        with np.errstate(all="ignore"):
            return float(value)
    return (math.nan if value.is_nan() else float(value)) if isinstance(value, Decimal) else value


def _cases(words: Iterable[str]) -> list[str]:
    said = list(words)
    return [form for word in said for form in (word, word.lower(), word.upper(), word.capitalize())] + lowered(said)
