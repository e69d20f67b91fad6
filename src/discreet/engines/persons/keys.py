"""The person of a row: two words per person, the same for every spelling (`discreet.engines.tables.same`).

A whole number of 64 bits gets a word by a keyed permutation, and 0 as the second word, so two numbers are never one
person. Any other key gets two SipHashes under independent keys; the second is odd. The release's own random stream
draws the keys: among a thousand million persons, two share both words with probability below 10⁻²⁰.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import ANYBODY, BoolArray, Categorical, Column, Integer, Numeric, WordArray, category_text
from discreet.core.schema import Dialect
from discreet.engines.persons.kernels import number_words, plain_texts
from discreet.engines.tables.arrow import plainly
from discreet.engines.tables.encode import Encoder, arrow_kind
from discreet.engines.tables.same import person_key, same_key
from discreet.noise.hashing import TAG_BYTES, siphash_bytes


@dataclass(frozen=True)
class PersonKeys:
    """Turns the column of persons into words. Rows outside its declared bounds or categories belong to no one."""

    declared: Column | None
    dialect: Dialect
    key: WordArray

    def words(self, values: pa.Array) -> tuple[WordArray, WordArray, BoolArray]:
        """Return both words of every row's person, and which rows have one."""
        p0, p1, known = np.zeros(len(values), np.uint64), np.zeros(len(values), np.uint64), self._inside(values)
        values = plainly(values, values, self.declared, self.dialect)  # 7,0 where commas are decimal is the person 7
        kind = arrow_kind(values.type)
        if isinstance(self.declared, Categorical) and self.declared.categories != ANYBODY:
            own = same_key(pa.array([category_text(c) for c in self.declared.categories]), self.declared)
            found = same_key(values, self.declared)
            known &= pc.is_in(found, value_set=own).to_numpy(zero_copy_only=False)
            self._hash(found.fill_null(""), p0, p1)
        elif kind in ("int", "float") and not pa.types.is_decimal(values.type):
            self._numbers(values, p0, p1, known)
        else:
            self._texts(values, p0, p1, known)
        return p0, p1, known

    def _inside(self, values: pa.Array) -> BoolArray:
        """Return which rows are within declared bounds; all that hold anything where there are none."""
        known: BoolArray = values.is_valid().to_numpy(zero_copy_only=False).copy()
        column = self.declared
        if not isinstance(column, Numeric):
            return known
        low, high = column.low, column.high
        if isinstance(column, Integer) and column.kind == "integer":  # as it is: no person is rounded to another
            low, high = float(column.least), float(column.most)
            column = Numeric(column.name, low, high)
        read = Encoder(column, self.dialect).arrow(values)
        with np.errstate(invalid="ignore"):
            known &= (read >= low) & (read <= high)
            if isinstance(self.declared, Integer):
                known &= read == np.floor(read)
        return known

    def _numbers(self, values: pa.Array, p0: WordArray, p1: WordArray, known: BoolArray) -> None:
        """Take whole numbers by their value; the others by their text."""
        found = values.cast(pa.float64()) if pa.types.is_floating(values.type) else values
        plain = found.fill_null(0).to_numpy(zero_copy_only=False)
        with np.errstate(invalid="ignore"):
            whole = np.ones(len(plain), np.bool_) if plain.dtype.kind == "i" else plain < 2**63
            if plain.dtype.kind == "f":
                whole &= (plain >= -(2.0**63)) & (np.floor(plain) == plain)
        numbers = np.where(whole, plain, 0).astype(np.int64)
        number_words(numbers, self.key[0], self.key[1], p0)
        if not whole.all():
            self._some(values, ~whole, p0, p1, known)

    def _some(self, values: pa.Array, chosen: BoolArray, p0: WordArray, p1: WordArray, known: BoolArray) -> None:
        """Take chosen rows by their keys."""
        keys = person_key(values.filter(pa.array(chosen)))
        here = [p0[chosen], p1[chosen], known[chosen] & keys.is_valid().to_numpy(zero_copy_only=False)]
        self._hash(keys.fill_null(""), here[0], here[1])
        for out, found in zip((p0, p1, known), here, strict=True):
            out[chosen] = found

    def _texts(self, values: pa.Array, p0: WordArray, p1: WordArray, known: BoolArray) -> None:
        """Take texts: those that are their own keys at once, the others by their keys."""
        if arrow_kind(values.type) != "text" or pa.types.is_dictionary(values.type):
            self._some(values, np.ones(len(values), np.bool_), p0, p1, known)
            return
        texts = values.cast(pa.large_string()).fill_null("")
        hard = self._hash(texts, p0, p1) & known
        if hard.any():
            self._some(texts, hard, p0, p1, known)

    def _hash(self, texts: pa.Array, p0: WordArray, p1: WordArray) -> BoolArray:
        """Hash texts as they are, and plain whole numbers as numbers; mark texts that may not be their keys."""
        _, places, buffer = texts.buffers()
        offsets = np.frombuffer(places, np.int64, len(texts) + 1, texts.offset * 8)
        data = np.frombuffer(buffer if buffer is not None and buffer.size else b"\0", np.uint8)
        numbers, kinds = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int8)
        plain_texts(data, offsets, numbers, kinds)
        siphash_bytes(data, offsets, TAG_BYTES, self.key[0], self.key[1], p0)
        siphash_bytes(data, offsets, TAG_BYTES, self.key[2], self.key[3], p1)
        p1 |= np.uint64(1)
        whole = kinds == 1
        if whole.any():
            words = np.empty(int(whole.sum()), np.uint64)
            number_words(numbers[whole], self.key[0], self.key[1], words)
            p0[whole], p1[whole] = words, 0
        return np.asarray(kinds == 0)
