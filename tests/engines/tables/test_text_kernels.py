"""The kernels look at many bytes at once. They must find what looking at one after the other finds, in any bytes."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.schema.dialect import Dialect
from discreet.engines.tables.csv_file import CsvTable
from discreet.engines.tables.plain_text import is_plain, plain_ends, plain_numbers, split_plain
from discreet.engines.tables.text_kernels import (
    BARE,
    MIXED,
    RECORD_LIMIT,
    SIMPLE,
    Field,
    record_ends,
    split_records,
)
from discreet.engines.tables.text_numbers import numbers_at

DIALECTS = list(itertools.product(",;\t|", ['"', "'", ""]))
START, PLAIN, QUOTED, CLOSED = range(4)


def byte_by_byte(text: bytes, delimiter: int, quote: int, n_fields: int) -> list[list[tuple[int, int, int]]]:
    """Return the records of a text, each the begin, end and style of its fields."""
    found, fields = [], []
    state, style, begin, record = START, BARE, 0, 0
    for i, c in enumerate([*text, -1]):
        if c == -1 and record >= len(text):
            break
        if c == -1 or (state != QUOTED and c in (10, 13, delimiter)):
            closed = style == SIMPLE and state == CLOSED
            fields.append((begin, i - closed, MIXED if style == SIMPLE and not closed else style))
            state, style, begin = START, BARE, i + 1
            if c != delimiter:
                found += [fields] if i > record and len(fields) == n_fields else []
                fields, record = [], i + 1
        elif state == START:
            state, style, begin = (QUOTED, SIMPLE, i + 1) if c == quote else (PLAIN, BARE, begin)
        elif state == QUOTED:
            state = CLOSED if c == quote else QUOTED
        elif state == CLOSED:
            state, style = (QUOTED if c == quote else PLAIN), MIXED
    return found


def end_by_end(text: bytes, state: int, delimiter: int, quote: int) -> tuple[int, int, int]:
    """Return where the first and the last record end, and the state at the end."""
    ends = [-1]
    for i, c in enumerate(text):
        if state == QUOTED:
            state = CLOSED if c == quote else QUOTED
        elif c in (10, 13, delimiter):
            state = START
            ends += [i + 1] if c != delimiter else []
        else:
            state = QUOTED if c == quote and state != PLAIN else PLAIN
    return ends[1 if len(ends) > 1 else 0], ends[-1], state


def random_text(rng: np.random.Generator, delimiter: str, quote: str, size: int) -> bytes:
    """Return bytes of a few kinds, so that marks meet, or lie farther apart than the kernels look at once."""
    marks = [*map(ord, delimiter + quote), 10, 13]
    letters = rng.choice([*marks, 0, 255, 48, 57, 46, 45, 32], size)
    return bytes(np.where(rng.random(size) < rng.choice([0.0, 0.5, 0.98]), 55, letters).astype(np.uint8))


@pytest.mark.parametrize(("delimiter", "quote"), DIALECTS)
def test_random_bytes_are_split_as_byte_by_byte(delimiter, quote):
    rng = np.random.default_rng(7)
    marks = ord(delimiter), ord(quote) if quote else -1
    rows_seen = 0
    for size in [*range(0, 140), *rng.integers(140, 600, 40)]:
        text = random_text(rng, delimiter, quote, int(size))
        n_fields = int(rng.integers(1, 5))
        expected = byte_by_byte(text, *marks, n_fields)
        slots = rng.permutation(n_fields)
        slots[slots >= rng.integers(1, n_fields + 1)] = -1
        width = int(slots.max()) + 1
        block = np.frombuffer(text, np.uint8).copy()
        most = text.count(b"\n") + text.count(b"\r") + 1
        starts, ends = np.empty((2, width, most), np.int32)
        styles = np.empty((width, most), np.uint8)
        rows, _, _ = split_records(block, *marks, slots, n_fields, starts, ends, styles)
        wanted = np.array(expected, int).reshape(len(expected), n_fields, 3)[:, np.argsort(slots)[-width:]]
        found = np.stack([starts[:, :rows], ends[:, :rows], styles[:, :rows]], axis=-1).transpose(1, 0, 2)
        np.testing.assert_array_equal(found, wanted)
        rows_seen += rows
        if is_plain(block, marks[1]):
            begins, stops, first = split_plain(block, marks[0], n_fields, RECORD_LIMIT)
            plain = np.stack([begins, stops], axis=-1)[first[:, np.newaxis] + np.argsort(slots)[-width:]]
            np.testing.assert_array_equal(plain, wanted[:, :, :2])
            for field in range(width):
                piece = Field(block, *(a[field, :rows].copy() for a in (starts, ends, styles)), marks[1])
                assert piece.text().equals(replace(piece, plain=True).text())
            for state in (START, PLAIN, CLOSED):
                *edges, inside, lines = plain_ends(block, marks[0])
                ending = (PLAIN if inside else START) if len(text) else state
                assert (*edges, ending, lines) == record_ends(block, state, *marks)
        for state in range(4):
            assert record_ends(block, state, *marks)[:3] == end_by_end(text, state, *marks)
        assert record_ends(block, START, *marks)[3] == most - 1
    assert rows_seen > 300


@pytest.mark.parametrize(("delimiter", "quote"), DIALECTS)
def test_where_blocks_end_does_not_matter(delimiter, quote, tmp_path):
    rng = np.random.default_rng(8)
    text = b"".join(random_text(rng, delimiter, quote, int(n)) + b"\n" for n in rng.integers(0, 400, 80))
    file = tmp_path / "t.csv"
    file.write_bytes(text)
    table = CsvTable(file, Dialect(delimiter=delimiter, quote=quote, header=False, names=("a", "b")))

    def rows(batch_size):
        pieces = [
            piece
            for batch, _ in table.read([1, 0], batch_size)
            for piece in zip(*(f.text() for f in batch), strict=True)
        ]
        return [(b.as_py(), a.as_py()) for b, a in pieces]

    whole = rows(2**17)
    assert len(whole) > 100
    assert rows(1) == whole  # a kilobyte at a time


NUMBER = re.compile(rb"[ \t-\r]*([+-]?)(?:(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|(inf|infinity|nan))[ \t-\r]*", re.IGNORECASE)


def python_number(text: bytes) -> float:
    """Return the number as Python reads it, which rounds exactly."""
    if text.strip().lower() in (b"true", b"false"):
        return float(text.strip().lower() == b"true")
    return float(text) if NUMBER.fullmatch(text) else np.nan


def random_numbers(rng: np.random.Generator, n: int) -> list[bytes]:
    """Return numbers of all lengths, and texts that nearly are numbers."""
    texts = []
    for value in rng.random(n).tolist():
        size, places = int(rng.integers(1, 23)), int(rng.integers(0, 22))
        digits = str(rng.integers(0, 10, size))[1:-1].replace(" ", "").replace("\n", "")
        point = int(rng.integers(0, size + 1))
        texts += [
            repr(value * 10.0 ** rng.integers(-6, 9)).encode(),
            f"{value:.{places}f}".encode(),
            f"{'-' * int(rng.integers(0, 2))}{digits[:point]}.{digits[point:]}".encode(),
            digits.encode(),
            str(9007199254740993 * int(rng.integers(1, 1000))).encode(),  # in the middle between two doubles
        ]
    for text in texts[: 2 * n]:  # one byte of a number is some other
        place = int(rng.integers(0, len(text)))
        texts.append(text[:place] + bytes([rng.choice(list(b"0123456789.-+eE /:,\x00\xb0\xff"))]) + text[place + 1 :])
    return [
        *texts,
        b"",
        b"-",
        b".",
        b"-.",
        b"5.",
        b".5",
        b"--5",
        b"-0",
        b"0.0",
        b"nan",
        b" Inf ",
        b"-infinity",
        b"TRUE",
    ]


@pytest.mark.parametrize(("decimal", "thousands"), [(".", ""), (",", ""), (",", "."), (".", ",")])
def test_numbers_are_read_eight_bytes_at_a_time_as_one_byte_at_a_time(decimal, thousands):
    texts = random_numbers(np.random.default_rng(9), 300)
    swap = bytes.maketrans(b".,", b",.") if decimal == "," else bytes.maketrans(b"", b"")
    written = [t.translate(swap) for t in texts]
    dialect = Dialect(delimiter=";", decimal=decimal, thousands=thousands)
    # The bytes behind a text must not matter, whichever they are; at the end of the data there are none.
    joined = b"".join(t + behind for t, behind in zip(written, itertools.cycle([b";", b"7", b".", b",", b"\xff", b""])))
    sizes = np.array([len(t) for t in written])
    starts = np.concatenate([[0], np.cumsum(sizes + np.resize([1, 1, 1, 1, 1, 0], len(sizes)))[:-1]])
    ends = starts + sizes
    starts.flags.writeable = ends.flags.writeable = False
    together, hard = numbers_at(np.frombuffer(joined + b"9" * 8, np.uint8), starts, ends, dialect)
    for row, (text, plain, found) in enumerate(zip(written, texts, together, strict=True)):
        data, one = np.frombuffer(joined[: ends[row]], np.uint8), slice(row, row + 1)
        alone, hard_alone = numbers_at(data, starts[one], ends[one], dialect)
        assert (row in hard) == bool(len(hard_alone)), text
        np.testing.assert_array_equal(found, alone[0], err_msg=repr(text))
        assert np.signbit(found) == np.signbit(alone[0])
        if not thousands and row not in hard and b"," not in plain:
            assert repr(found) == repr(np.float64(python_number(plain))), text


@pytest.mark.parametrize(("decimal", "thousands"), [(".", ""), (",", ""), (",", "."), (".", ","), (".", "_")])
def test_small_columns_are_read_as_by_the_kernel(decimal, thousands):
    rng = np.random.default_rng(10)
    dialect = Dialect(delimiter=";", decimal=decimal, thousands=thousands)
    swap = bytes.maketrans(b".,", b",.") if decimal == "," else bytes.maketrans(b"", b"")
    texts = [t.translate(swap) for t in random_numbers(rng, 150)]
    marks = f"0123456789{decimal}{thousands}{thousands}{thousands}".encode()
    texts += [bytes(rng.choice(list(marks), size)) for size in range(1, 13) for _ in range(25)]
    texts += [b"1.234,5", b"1,234.5", b"12,34,567", b"1,23", b"1_234", b"1.234,", b"1,234e2", b"-1.234", b"+1,234"]
    read = {"plain": 0, "left to the kernel": 0}
    for text in texts:
        values = pa.array([text, b"7", b"n/a", b"", b" 5 ", b"-0"], pa.large_binary())
        found = plain_numbers(values, dialect)
        read["left to the kernel" if found is None else "plain"] += 1
        sizes = np.array([len(v.as_py()) for v in values])
        ends = np.cumsum(sizes)
        expected, hard = numbers_at(np.frombuffer(b"".join(values.to_pylist()), np.uint8), ends - sizes, ends, dialect)
        if len(hard):
            expected[hard] = float(text.replace(thousands.encode(), b"").translate(swap))
        if found is not None:
            np.testing.assert_array_equal(found, expected, err_msg=repr(text))
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected), err_msg=repr(text))
    assert min(read.values()) > 50
