"""The declared values of a report: the numbers 0..d-1, or labels."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import noise
from discreet.core import Categorical, IntArray, checks
from discreet.engines.tables import Encoder, arrow_kind
from discreet.errors import InvalidArgument, InvalidType
from discreet.noise import Generator

#: Use a sketch for more declared values.
MOST_VALUES = 2**32


@dataclass(frozen=True)
class Choices:
    """A declared list of values."""

    domain: int | tuple[Any, ...]

    @classmethod
    def read(cls, domain: Any) -> Choices:
        """Check a ``domain`` argument: a number of values, or labels."""
        if isinstance(domain, (list, tuple, np.ndarray)):
            column = Categorical("domain", tuple(x.item() if isinstance(x, np.generic) else x for x in domain))
            if len(column.categories) < 2:
                raise InvalidArgument("domain", domain, "at least two values, or there is nothing to report", "[0, 1]")
            if len(set(map(_nfc, column.categories))) < len(column.categories):
                raise InvalidArgument("domain", domain, "a list of labels that differ in NFC form")
            return cls(tuple(column.categories))
        if isinstance(domain, (str, bytes, dict)) or domain is None:
            raise InvalidType("domain", domain, "a number of values or a list of labels", "domain=['f', 'm']")
        return cls(checks.whole("domain", domain, low=2, high=MOST_VALUES))

    @property
    def size(self) -> int:
        """Number of values."""
        return self.domain if isinstance(self.domain, int) else len(self.domain)

    @cached_property
    def _encoder(self) -> Encoder:
        assert not isinstance(self.domain, int)
        return Encoder(Categorical("domain", tuple(map(_nfc, self.domain))))

    def codes(self, values: Any) -> IntArray:
        """Return the number of every value, -1 if it is not declared. No row causes an error."""
        if isinstance(self.domain, int):
            found = whole_numbers(values)
            return np.where((found >= 0) & (found < self.domain), found, -1)
        return np.asarray(np.nan_to_num(self._coordinates(values) - 0.5, nan=-1.0), np.int64)

    def _coordinates(self, values: Any) -> Any:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if hasattr(values, "__arrow_c_stream__") and getattr(values, "dtype", None) != np.dtype(object):
            values = pa.chunked_array(values).combine_chunks()
        if isinstance(values, pa.Array):
            if arrow_kind(values.type) == "other":
                raise InvalidType("values", str(values.type), "a column of labels", "values=column.cast(pa.string())")
            return self._encoder.arrow(_nfc_column(values))
        if isinstance(values, np.ndarray) and values.ndim != 1:
            raise InvalidArgument("values", f"{values.ndim} dimensions", "one-dimensional", "values=values.ravel()")
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            return self._encoder.numbers(values)
        # Not `np.ndim` of a list: rows that are lists themselves would make it fail.
        if not isinstance(values, (list, tuple)) and (isinstance(values, (str, bytes)) or np.ndim(values) == 0):
            raise InvalidType("values", type(values).__name__, "a list or column of values", "values=[value]")
        return self._encoder.objects([_nfc(value) for value in values])

    def known(self, values: Any, stream: Generator) -> IntArray:
        """Return the number of every value; an undeclared one becomes a random declared one.

        Such a report adds the same to every estimate. A mixture of ε-private reports is ε-private.
        """
        codes = self.codes(values)
        unknown = codes < 0
        if unknown.any():
            codes[unknown] = noise.below(self.size, size=int(unknown.sum()), rng=stream)
        return codes

    def candidates(self, candidates: Any) -> tuple[list[Any], IntArray]:
        """Return labels and numbers of the candidates; None means all. An undeclared one is an error."""
        if candidates is None:
            labels = list(range(self.domain)) if isinstance(self.domain, int) else list(self.domain)
            return labels, np.arange(self.size)
        if isinstance(candidates, (str, bytes)) or not np.ndim(candidates):
            raise InvalidType("candidates", candidates, "a list of declared values", f"candidates=[{candidates!r}]")
        listed = candidates.to_pylist() if hasattr(candidates, "to_pylist") else candidates
        labels = [x.item() if isinstance(x, np.generic) else x for x in listed]
        codes = self.codes(labels) if labels else np.zeros(0, np.int64)
        if (codes < 0).any():
            odd = labels[int(np.argmax(codes < 0))]
            raise InvalidArgument("candidates", odd, "declared in the domain", "candidates=None asks for all")
        return labels, codes


def _nfc(value: Any) -> Any:
    """Return a text in NFC form: two spellings of one accent are one label."""
    return unicodedata.normalize("NFC", value) if isinstance(value, str) and not value.isascii() else value


def _nfc_column(column: Any) -> Any:
    """Return an Arrow column with its texts in NFC form. Bytes that are not UTF-8 stay as they are."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    try:
        ascii_only = pc.all(pc.string_is_ascii(column)).as_py() in (True, None)
        return column if ascii_only else pc.utf8_normalize(column, "NFC")
    except pa.ArrowInvalid:
        texts = [_nfc_bytes(value) for value in column.cast(pa.large_binary()).to_pylist()]
        return pa.array(texts, pa.large_binary()).view(pa.large_string())


def _nfc_bytes(value: bytes | None) -> bytes | None:
    try:
        return None if value is None else str(_nfc(value.decode())).encode()
    except UnicodeDecodeError:
        return value


def whole_numbers(values: Any) -> IntArray:
    """Read a column of whole numbers; -1 for anything else. Types may be refused, rows may not.

    A float without a fraction is a whole number: pandas writes whole numbers so if one is missing.
    """
    if isinstance(values, (list, tuple, range)):
        return _from_objects(list(values))
    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        if hasattr(values, "__arrow_c_stream__") and getattr(values, "dtype", None) != np.dtype(object):
            values = pa.chunked_array(values)
        else:
            return _from_array(np.asarray(values) if hasattr(values, "dtype") else values)
    kind = arrow_kind(values.type)
    if kind == "null":
        return np.full(len(values), -1)
    if kind not in ("int", "float"):
        raise InvalidType("values", str(values.type), "whole numbers, or declare labels", "domain=['f', 'm']")
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    missing = np.asarray(values.is_null())
    known = values.cast(pa.float64(), safe=False) if kind == "float" else values
    return np.where(missing, -1, _from_array(np.asarray(known.fill_null(0))))


def _from_array(values: Any) -> IntArray:
    if not isinstance(values, np.ndarray):
        raise InvalidType("values", type(values).__name__, "a list or column of values", "values=[value]")
    if values.ndim != 1:
        raise InvalidArgument("values", f"{values.ndim} dimensions", "one-dimensional", "values=values.ravel()")
    if values.dtype.kind == "O":
        return _from_objects(values.tolist())
    if values.dtype.kind == "f":
        whole = (np.abs(values) < 2**53) & (values == np.floor(values))
        return np.where(whole, values, -1).astype(np.int64)
    return checks.whole_array("values", values)


def _from_objects(values: list[Any]) -> IntArray:
    if set(map(type, values)) == {int}:
        try:
            return np.array(values, np.int64)
        except OverflowError:
            pass
    return np.array([_number(v) for v in values], np.int64)


def _number(value: Any) -> int:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        return -1
    return int(value) if 0 <= int(value) < 2**63 else -1
