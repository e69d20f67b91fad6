"""Dates and times of day as numbers: days since 1970-01-01, seconds since midnight.

A time stamp is read as written: its day, by the clock that wrote it.
"""

import datetime
import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.arrays import FloatArray

_EPOCH = datetime.date(1970, 1, 1).toordinal()
#: Where the digits of YYYY-MM-DD lie.
_DIGITS = [0, 1, 2, 3, 5, 6, 8, 9]
#: What may stand behind it: a time of day, to whatever part of a second, and perhaps its zone.
_TIME = (
    r"\A.{10}[T ](?:[01][0-9]|2[0-3])(?::[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?)?"
    r" ?(?:Z|UTC|GMT|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?\z"
)
_DAY = 86_400
_UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
#: A time of day, perhaps behind a date.
_OF_DAY = (
    r"^\s*(?:\d{4}-\d{2}-\d{2}[T ])?(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2})(?:[.,]\d*)?)?"
    r" ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?\s*$"
)


def day_number(value: object) -> float | None:
    """Return the day of a date, a time stamp or an ISO 8601 text; None for anything else."""
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else value.astype("datetime64[D]").item()
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        found = float(parse_days(pa.array([value], pa.large_binary()))[0])
        return None if math.isnan(found) else found
    if isinstance(value, datetime.date) and value == value:  # pandas' NaT is a date that differs from itself
        return float(value.toordinal() - _EPOCH)
    return None


def date_text(day: float) -> str:
    return datetime.date.fromordinal(_EPOCH + math.floor(day)).isoformat()


def date_array(days: FloatArray) -> pa.Array:
    """Return days as Arrow dates, NaN as null."""
    missing = np.isnan(days)
    return pa.array(np.floor(np.where(missing, 0, days)).astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())


def second_number(value: object) -> float | None:
    """Return the seconds since midnight of a time, a time stamp or their text; None for anything else."""
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else str(value.astype("datetime64[s]"))
    if isinstance(value, (datetime.time, datetime.datetime)) and value == value:
        value = str(value.replace(tzinfo=None))
    if not isinstance(value, (str, bytes)):
        return None
    text = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    found = float(parse_seconds(pa.array([text], pa.large_binary()))[0])
    return None if math.isnan(found) else found


def time_text(second: float) -> str:
    """Write seconds since midnight."""
    whole = math.floor(second)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def time_array(seconds: FloatArray) -> pa.Array:
    """Return seconds since midnight as Arrow times, NaN as null."""
    missing = np.isnan(seconds)
    whole = np.clip(np.rint(np.where(missing, 0, seconds)), 0, _DAY - 1)
    return pa.array(whole.astype(np.int32), pa.int32(), mask=missing).cast(pa.time32("s"))


def arrow_seconds(values: pa.Array) -> FloatArray:
    """Return the seconds since midnight of Arrow times or time stamps, NaN for null."""
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = pc.local_timestamp(values)
    if pa.types.is_date(values.type):  # some programs keep moments as dates of milliseconds
        values = values.cast(pa.date64()).cast(pa.int64()).cast(pa.timestamp("ms"))
    unit = _UNITS[values.type.unit]
    whole = values.cast(pa.int32() if pa.types.is_time32(values.type) else pa.int64()).cast(pa.int64())
    seconds = np.asarray(whole.fill_null(0).to_numpy(zero_copy_only=False) // unit % _DAY, np.float64)
    if values.null_count:
        seconds[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return seconds


def parse_seconds(texts: pa.LargeBinaryArray) -> FloatArray:
    """Return the seconds since midnight of texts ``HH:MM`` or ``HH:MM:SS``, also after a date; NaN for other texts."""
    parts = pc.extract_regex(texts.fill_null(b""), _OF_DAY)
    known = np.asarray(parts.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    seconds = np.full(len(texts), np.nan)
    found = parts.filter(pa.array(known))
    fields = [found.field(i).cast(pa.large_string()) for i in range(3)]
    hour, minute, second = (
        pc.if_else(pc.equal(f, ""), "0", f).cast(pa.int64()).to_numpy(zero_copy_only=False) for f in fields
    )
    real = (hour < 24) & (minute < 60) & (second < 60)
    seconds[np.flatnonzero(known)] = np.where(real, hour * 3600 + minute * 60 + second, np.nan)
    return seconds


def round_marks(kind: str, low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Return at most so many round dates or times of day between two places of their axis, with their texts."""
    if kind == "time":
        for step in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200):
            places = range(math.ceil(low / step) * step, math.floor(high) + 1, step)
            if len(places) <= most:
                break
        return [(float(p), time_text(p)[: 8 if step < 60 else 5]) for p in places]
    first, last = (math.floor(x) for x in (low, high))
    for step in (1, 2, 7, 14):
        if (last - first) // step < most:
            return [(float(p), date_text(p)) for p in range(first, last + 1, step)]
    months = [int(np.datetime64(d, "D").astype("datetime64[M]").astype(np.int64)) for d in (first, last)]
    found: list[tuple[float, str]] = []
    for step in (1, 2, 3, 6, *(12 * k * 10**p for p in range(4) for k in (1, 2, 5))):
        start = -(-(months[0] + 23_640) // step) * step - 23_640  # years that are round: months are counted from 1970
        chosen = [np.datetime64(m, "M") for m in range(start, months[1] + 1, step)]
        days = [float(m.astype("datetime64[D]").astype(np.int64)) for m in chosen]
        texts = [str(m)[: 4 if step % 12 == 0 else 7] for m in chosen]
        found = [(place, text) for place, text in zip(days, texts, strict=True) if low <= place <= high]
        if len(found) <= most:
            break
    return found


def is_date(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds days: dates and time stamps."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def arrow_days(values: pa.Array) -> FloatArray:
    """Return the days of Arrow dates or time stamps, NaN for null."""
    if pa.types.is_timestamp(values.type):
        values = pc.local_timestamp(values) if values.type.tz is not None else values
        # Not by a cast to seconds, which takes a part of a second before 1970 for the next day.
        per_day, whole = _DAY * _UNITS[values.type.unit], values.cast(pa.int64())
    elif pa.types.is_date64(values.type):
        per_day, whole = 86_400_000, values.cast(pa.int64())
    else:
        per_day, whole = 1, values.cast(pa.int32()).cast(pa.int64())
    days = np.asarray(whole.fill_null(0).to_numpy(zero_copy_only=False) // per_day, np.float64)
    if values.null_count:
        days[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return days


def numpy_days(values: npt.NDArray[np.datetime64]) -> FloatArray:
    """Return the days of NumPy times, NaN for NaT."""
    days = values.astype("datetime64[D]")
    return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64))


def parse_days(texts: pa.LargeBinaryArray) -> FloatArray:
    """Return the days of texts ``YYYY-MM-DD``, also followed by a time; NaN for other texts."""
    days = np.full(len(texts), np.nan)
    trimmed = pc.ascii_trim_whitespace(texts.fill_null(b"").view(pa.large_string())).view(pa.large_binary())
    sizes = np.asarray(pc.binary_length(trimmed).to_numpy(zero_copy_only=False))
    rows = np.flatnonzero(sizes >= 10)
    if not len(rows):
        return days
    offsets = np.frombuffer(trimmed.buffers()[1], np.int64)[trimmed.offset :]
    data = np.frombuffer(trimmed.buffers()[2], np.uint8)
    heads = data[offsets[rows][:, None] + np.arange(10)].astype(np.int64)
    digits = heads[:, _DIGITS] - ord("0")
    good = ((digits >= 0) & (digits <= 9)).all(axis=1) & (heads[:, [4, 7]] == ord("-")).all(axis=1)
    timed = np.flatnonzero(good & (sizes[rows] > 10))
    good[timed] = np.asarray(pc.match_substring_regex(trimmed.take(pa.array(rows[timed])), pattern=_TIME), np.bool_)
    rows, digits = rows[good], digits[good]
    year, month, day = digits[:, :4] @ [1000, 100, 10, 1], digits[:, 4:6] @ [10, 1], digits[:, 6:] @ [10, 1]
    real = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    rows, year, month, day = rows[real], year[real], month[real], day[real]
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    length = (months + 1).astype("datetime64[D]").astype(np.int64) - first
    there = day <= length
    days[rows[there]] = (first + day - 1)[there]
    return days
