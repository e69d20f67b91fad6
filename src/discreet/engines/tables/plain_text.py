"""Small, unquoted text without compiled kernels: NumPy and Arrow split it and read its numbers.

Compiling the kernels of `text_kernels` and `text_numbers` takes seconds; a small file is read in milliseconds. The
results are the same: a test compares them. What is not plain is left to the kernels.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import AnyArray, ByteArray, FloatArray, IntArray
from discreet.core.schema import Dialect

#: The largest file, in bytes, that is read so. Above, kernels are faster even if they must be compiled.
SMALL_FILE = 1 << 23
#: The most texts that are read as numbers at a time.
SMALL_COLUMN = 1 << 17
_LF, _CR = 10, 13
#: Longer numbers may be beyond the range of doubles, which some versions of Arrow refuse.
_LONGEST = 300


def is_plain(block: ByteArray, quote: int) -> bool:
    """Return whether a block has no quotation marks."""
    return quote < 0 or not (block == quote).any()


def plain_ends(block: ByteArray, delimiter: int) -> tuple[int, int, bool, int]:
    """Return the ends of the first and last record, whether a field is open at the end, and the number of breaks."""
    breaks = np.flatnonzero((block == _LF) | (block == _CR))
    first, last = (int(breaks[0]) + 1, int(breaks[-1]) + 1) if len(breaks) else (-1, -1)
    return first, last, len(block) > 0 and block[-1] not in (_LF, _CR, delimiter), len(breaks)


def split_plain(block: ByteArray, delimiter: int, n_fields: int, limit: int) -> tuple[IntArray, IntArray, IntArray]:
    """Split a block of whole records: starts and ends of all fields, and the first field of every record that is a row.

    Empty records, those beyond the limit, and those with another number of fields (0: any) are no rows.
    """
    ends = np.append(np.flatnonzero((block == delimiter) | (block == _LF) | (block == _CR)), block.size)
    starts = np.append(0, ends[:-1] + 1)
    last = np.append(np.flatnonzero(block[ends[:-1]] != delimiter), len(ends) - 1)
    first = np.append(0, last[:-1] + 1)
    size = ends[last] - starts[first]
    rows = (size > 0) & (size <= limit) & ((last - first + 1 == n_fields) | (n_fields == 0))
    return starts, ends, first[rows]


def gather_plain(block: ByteArray, starts: AnyArray, ends: AnyArray) -> tuple[IntArray, ByteArray]:
    """Copy fields side by side: offsets and bytes, as Arrow lays out text."""
    sizes = ends.astype(np.int64) - starts
    offsets = np.append(0, np.cumsum(sizes))
    return offsets, block[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)]


def plain_numbers(values: pa.LargeBinaryArray, dialect: Dialect) -> FloatArray | None:
    """Read texts as numbers, NaN for other texts; None where some are written in a way that only the kernel knows."""
    if len(values) > SMALL_COLUMN:
        return None
    texts = pc.ascii_trim_whitespace(values.view(pa.large_string()))
    mark, whole = re.escape(dialect.decimal), "[0-9]+"
    if dialect.thousands:
        between = re.escape(dialect.thousands)
        whole += f"(({between}[0-9]{{2,}})*{between}[0-9]{{3}})?"
    plain = pc.match_substring_regex(texts, rf"^-?{whole}({mark}[0-9]+)?$")
    plain = pc.and_(plain, pc.less_equal(pc.binary_length(texts), _LONGEST))
    number = rf"({whole}({mark}[0-9]*)?|{mark}[0-9]+)(e[+-]?[0-9]+)?"
    odd = pc.match_substring_regex(texts, rf"(?i)^([+-]?({number}|nan|inf|infinity)|true|false)$")
    if pc.any(pc.and_not(odd, plain)).as_py():
        return None
    texts = pc.if_else(plain, texts, None)
    if dialect.thousands:
        texts = pc.replace_substring(texts, dialect.thousands, "")
    if dialect.decimal != ".":
        texts = pc.replace_substring(texts, dialect.decimal, ".")
    found: FloatArray = texts.cast(pa.float64()).to_numpy(zero_copy_only=False, writable=True)
    return found
