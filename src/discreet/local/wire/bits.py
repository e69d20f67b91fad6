"""The layout of a report: fields of bits, one after the other, least significant bit first.

Bit i of a report is bit ``i mod 8`` of byte ``i div 8``. Bits after the last field are zero. A field is a whole number
of up to 63 bits, or a vector of bits.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.core import AnyArray, BoolArray, ByteArray, inlined, jit

Rows: TypeAlias = ByteArray


@dataclass(frozen=True)
class Layout:
    """The fields of a report with their bits."""

    fields: tuple[tuple[str, int], ...]

    @property
    def bits(self) -> int:
        return sum(bits for _, bits in self.fields)

    @property
    def size(self) -> int:
        return -(-self.bits // 8)

    def place(self, name: str) -> tuple[int, int]:
        """Return the first bit of a field and its number of bits."""
        first = 0
        for field, bits in self.fields:
            if field == name:
                return first, bits
            first += bits
        raise KeyError(name)

    def pack(self, **columns: AnyArray) -> Rows:
        """Lay out one report per row. A vector of bits is given as packed bytes, a number as an integer array."""
        rows = np.zeros((len(next(iter(columns.values()))), self.size), np.uint8)
        for name, _ in self.fields:
            first, bits = self.place(name)
            values = columns[name]
            if values.ndim == 2 and first % 8 == 0:
                rows[:, first // 8 : first // 8 + values.shape[1]] |= values
            elif values.ndim == 2:
                for i, column in enumerate(values.T):
                    write_field(rows, first + 8 * i, min(8, bits - 8 * i), column.astype(np.int64))
            else:
                write_field(rows, first, bits, values.astype(np.int64, copy=False))
        return rows

    def unpack(self, rows: Rows, name: str) -> AnyArray:
        """Return a number field as int64, or a field of more than 63 bits as the bytes that hold it."""
        first, bits = self.place(name)
        if bits > 63 and first % 8:  # bits that follow others: moved to the start of a byte
            vector = np.unpackbits(rows, axis=1, bitorder="little")[:, first : first + bits]
            return np.packbits(vector, axis=1, bitorder="little")
        if bits > 63:
            return rows[:, first // 8 : (first + bits + 7) // 8]
        out = np.empty(len(rows), np.int64)
        read_fields(rows, first, bits, out)
        return out

    def padded(self, rows: Rows) -> BoolArray:
        """Return which reports have zeros after their last field."""
        rest = self.bits % 8
        if not rest:
            return np.ones(len(rows), np.bool_)
        return np.asarray(rows[:, -1] >> rest == 0)

    def below(self, rows: Rows, limits: dict[str, int]) -> BoolArray:
        """Return which reports have zeros after their last field, and numbers below the limits."""
        good = self.padded(rows)
        for name, limit in limits.items():
            first, bits = self.place(name)
            if limit < 1 << bits:
                check_field(rows, first, bits, limit, good)
        return good


def packed_numbers(numbers: AnyArray, bits: int) -> Rows:
    """Pack the numbers of every row one after the other."""
    rows = np.zeros((len(numbers), -(-numbers.shape[1] * bits // 8)), np.uint8)
    write_lists(numbers, bits, rows)
    return rows


def bits_for(n_values: int) -> int:
    """Return the number of bits that distinguish ``n_values`` values: at least one."""
    return max(1, (n_values - 1).bit_length())


@inlined
def read_bits(rows: Any, row: int, first: int, bits: int) -> int:  # pragma: no cover
    """Read one number field of one report."""
    value = 0
    done = 0
    place, shift = first >> 3, first & 7
    while done < bits:
        value |= (int(rows[row, place]) >> shift) << done
        done += 8 - shift
        place, shift = place + 1, 0
    return value & ((1 << bits) - 1)


@inlined
def odd(word: Any) -> Any:  # pragma: no cover
    """Return 1 if an odd number of bits is set (of 32), else 0; of an unsigned word."""
    for shift in (16, 8, 4, 2, 1):
        word ^= word >> np.uint64(shift)
    return word & np.uint64(1)


@jit
def read_fields(rows: Any, first: int, bits: int, out: Any) -> None:  # pragma: no cover
    for row in range(rows.shape[0]):
        out[row] = read_bits(rows, row, first, bits)


@jit
def write_field(rows: Any, first: int, bits: int, values: Any) -> None:  # pragma: no cover
    for row in range(rows.shape[0]):
        value, place, shift, left = values[row] & ((1 << bits) - 1), first >> 3, first & 7, bits
        while left > 0:
            rows[row, place] |= np.uint8((value << shift) & 255)
            value >>= 8 - shift
            left -= 8 - shift
            place, shift = place + 1, 0


@jit
def write_lists(numbers: Any, bits: int, rows: Any) -> None:  # pragma: no cover
    for i in range(numbers.shape[0]):
        place, held, word = 0, 0, 0
        for k in range(numbers.shape[1]):
            word |= numbers[i, k] << held
            held += bits
            while held >= 8:
                rows[i, place] = np.uint8(word & 255)
                word >>= 8
                held -= 8
                place += 1
        if held:
            rows[i, place] = np.uint8(word & 255)


@jit
def check_field(rows: Any, first: int, bits: int, limit: int, good: Any) -> None:  # pragma: no cover
    for row in range(rows.shape[0]):
        good[row] &= read_bits(rows, row, first, bits) < limit


@jit
def check_ascending(rows: Any, bits: int, count: int, limit: int, good: Any) -> None:  # pragma: no cover
    """Check that the first ``count`` numbers of a report ascend and stay below a limit."""
    for row in range(rows.shape[0]):
        last = -1
        for k in range(count):
            number = read_bits(rows, row, k * bits, bits)
            good[row] &= last < number < limit
            last = number


@jit
def count_ones(rows: Any, out: Any) -> None:  # pragma: no cover
    """Add to ``out[i]`` how many rows have bit ``i mod 8`` of byte ``i div 8`` set.

    Counters of one byte, a line of them per bit of a byte, make the inner loop vector code; they are emptied before one
    can overflow.
    """
    n_bytes = rows.shape[1]
    small = np.zeros((8, n_bytes), np.uint8)
    for start in range(0, rows.shape[0], 255):
        for i in range(start, min(start + 255, rows.shape[0])):
            row = rows[i]
            for bit in range(8):
                line, mask = small[bit], np.uint8(1 << bit)
                for j in range(n_bytes):
                    line[j] += np.uint8((row[j] & mask) != 0)
        for place in range(len(out)):
            out[place] += small[place & 7, place >> 3]
        small[:] = 0
