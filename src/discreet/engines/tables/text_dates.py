"""From text to days, by a declared format. Library readers raise at bad text, or let values decide the format."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import FEW_STEPS, FloatArray, IntArray, few, jit, quickly
from discreet.core.schema import DIRECTIVES

_CODES = {letter: code for code, letter in enumerate("YymdHMS", start=1)}
#: The last two digits of a year from here on are of the twentieth century, as POSIX has it.
_PIVOT = 69
_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def days_by_format(texts: pa.LargeBinaryArray, written: str) -> FloatArray:
    """Return the days since 1970-01-01 of texts in a format; NaN for other texts."""
    texts = texts.fill_null(b"")
    if few(_parse_days, len(texts)):
        different = pc.dictionary_encode(texts)
        if len(found := different.dictionary) <= FEW_STEPS // 4:  # read within a tenth of a second
            days = _parse(found, written, quickly(_parse_days, len(found)))
            return np.asarray(days[different.indices.to_numpy()])
    return _parse(texts, written, _parse_days)


def _parse(texts: pa.LargeBinaryArray, written: str, parse: Any) -> FloatArray:
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
    return np.asarray(parse(letters, places, *_steps(written)))


def _steps(written: str) -> tuple[IntArray, IntArray, IntArray]:
    """Translate a format: per step its directive (0: a letter) with the letter, least and most digits."""
    steps, i = [], 0
    letters = written.encode()
    while i < len(letters):
        if letters[i] == ord("%"):
            directive = chr(letters[i + 1])
            steps.append((_CODES[directive], *DIRECTIVES[directive]))
        else:
            steps.append((0, letters[i], 0))
        i += 2 if letters[i] == ord("%") else 1
    kinds, least, most = np.array(steps).T
    return np.ascontiguousarray(kinds), np.ascontiguousarray(least), np.ascontiguousarray(most)


@jit
def _parse_days(data: Any, offsets: Any, kinds: IntArray, least: IntArray, most: IntArray) -> FloatArray:
    out = np.full(offsets.size - 1, np.nan)
    found = np.zeros(8, np.int64)
    for row in range(out.size):
        i, end = offsets[row], offsets[row + 1]
        while i < end and (data[i] == 32 or 9 <= data[i] <= 13):
            i += 1
        while end > i and (data[end - 1] == 32 or 9 <= data[end - 1] <= 13):
            end -= 1
        good = True
        found[:] = 0
        for step in range(kinds.size):
            kind = kinds[step]
            if kind == 0:
                good = good and i < end and data[i] == least[step]
                i += 1
                continue
            digits = 0
            value: Any = 0
            while i < end and digits < most[step] and 48 <= data[i] <= 57:
                value = value * 10 + np.int64(data[i]) - 48
                i += 1
                digits += 1
            good = good and digits >= least[step]
            found[kind] = value
            if kind == 2:
                found[1] = value + (1900 if value >= _PIVOT else 2000)
        year, month, day = found[1], found[3], found[4]
        good = good and i == end and year >= 1 and 1 <= month <= 12
        if not good or found[5] > 23 or found[6] > 59 or found[7] > 60:
            continue
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        if day < 1 or day > _LENGTHS[month - 1] + (1 if leap and month == 2 else 0):
            continue
        # Years begin in March, so that the leap day is the last: then days up to a month are a rounded line.
        y = year - 1 if month <= 2 else year
        behind = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5
        out[row] = 365 * y + y // 4 - y // 100 + y // 400 + behind + day - 1 - 719468
    return out
