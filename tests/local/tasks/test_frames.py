"""Frames of a task: a few bytes per report, read fast, and refused whole where anything in them cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import FormatError
from discreet.local import write_frame
from frame_reader import read_frame

MECHANISMS: list[Any] = [
    dc.local.DirectResponse(1, ["cat", "dog", "emu"]),
    dc.local.UnaryEncoding(1, 11),
    dc.local.SubsetSelection(1, 20),
    dc.local.SubsetSelection(3, 500),
    dc.local.LocalHashing(1, candidates=9, key=7),
    dc.local.LocalHashing(2, pool=100, key=7),
    dc.local.PrefixExtension(2, length=4, pool=100, key=7),
    dc.local.HadamardResponse(2, 100),
    dc.local.ProjectiveGeometry(2, 100),
    dc.local.CountMeanSketch(2, 5, 12, key=7),
    dc.local.HadamardSketch(2, 5, 16, key=7),
    dc.local.HadamardSketch(2, 5, 16, key=7, skip_zero=True),
    dc.local.BitFlip(1, 26, bits=3),
    dc.local.Rappor(0.5, 0.5, 0.75, bits=16, cohorts=5, key=1),
]
NAMES = [f"{m.NAME}-{i}" for i, m in enumerate(MECHANISMS)]


@pytest.mark.parametrize("m", MECHANISMS, ids=NAMES)
def test_what_is_called_possible_is_what_is_counted(m: Any) -> None:
    """Random bytes: a collector that checks first and counts later never finds that it accepted nonsense."""
    rows = np.random.default_rng(1).integers(0, 256, (4000, m.layout.size), dtype=np.uint8)
    rows[:2000, -1] &= (1 << (m.layout.bits % 8 or 8)) - 1
    possible = m.possible(rows)
    assert m.aggregate(rows).n == possible.sum() < 4000 or m.layout.bits % 8 == 0
    assert m.aggregate(rows[possible]).rejected == 0
    assert m.aggregate(rows[~possible]).n == 0


@pytest.mark.parametrize("m", MECHANISMS[:-2], ids=NAMES[:-2])
def test_what_devices_make_passes_and_counts_the_same(m: Any) -> None:
    reports = m.encode(list(range(9)) * 30)
    frame = read_frame(m, write_frame(m, reports))
    assert frame.rows.tolist() == reports.rows.tolist()
    assert m.aggregate(frame.rows) == m.aggregate(reports)


def test_frames_are_as_short_as_they_are_promised() -> None:
    m = dc.local.HadamardSketch(2, 1024, 1024, key=7)
    assert len(write_frame(m, m.encode(["cat"]))) == 20
    best = dc.local.plan(epsilon=2, domain_size=500, n=100_000).best.make([f"word {i}" for i in range(500)])
    assert len(write_frame(best, best.encode(["word 7"]))) < 24
    assert len(write_frame(m, m.encode(["cat"] * 1000))) == 17 + 4 + 3000


def test_keys_are_fresh() -> None:
    m = dc.local.DirectResponse(1, 5)
    keys = {read_frame(m, write_frame(m, b"\x01")).key for _ in range(1000)}
    assert len(keys) == 1000
    ones = np.unpackbits(np.frombuffer(b"".join(keys), np.uint8).reshape(1000, 16), axis=1).sum(axis=0, dtype=np.int64)
    assert np.all(np.abs(ones - 500) < 6 * np.sqrt(250))  # no bit of a clock or a counter; false alarm below 1e-6


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "cut short: 0 bytes"),
        (bytes([0x10]) + bytes(15), "cut short"),
        (bytes([0x20]) + bytes(17), "version 2"),
        (bytes([0x00]) + bytes(17), "version 0"),
        (bytes([0x11]) + bytes(17), "seeded"),
        (bytes([0x13]) + bytes(17), "seeded"),
        (bytes([0x14]) + bytes(17), "unknown flags"),
        (bytes([0x10]) + bytes(16), "17 bytes where"),
        (bytes([0x10]) + bytes(18), "19 bytes where"),
        (bytes([0x10]) + bytes(16) + b"\x05", "no device makes"),
        (bytes([0x10]) + bytes(16) + b"\x80", "no device makes"),
        (bytes([0x12]) + bytes(16), "must hold"),
        (bytes([0x12]) + bytes(20), "must hold"),
        (bytes([0x12]) + bytes(16) + b"\xff\xff\xff\xff", "must hold"),
        (bytes([0x12]) + bytes(16) + b"\x02\x00\x00\x00\x01", "22 bytes where"),
        (bytes([0x12]) + bytes(16) + b"\x02\x00\x00\x00\x01\x07", "report 1 of 2"),
    ],
)
def test_every_fault_is_named(data: bytes, fault: str) -> None:
    with pytest.raises(FormatError, match=fault):
        read_frame(dc.local.DirectResponse(1, 5), data)


def test_seeded_reports_are_marked_and_refused() -> None:
    m = dc.local.DirectResponse(1, 5)
    with pytest.raises(FormatError, match="seeded"):
        read_frame(m, write_frame(m, m.encode([1, 2], rng=1)))


def test_what_cannot_be_a_frame_is_not_written() -> None:
    m = dc.local.HadamardSketch(2, 1024, 1024, key=7)
    for reports, more in ((b"", {}), (b"1234", {}), (bytes(3), {"key": b"short"})):
        with pytest.raises(dc.errors.InvalidArgument):
            write_frame(m, reports, **more)
    with pytest.raises(dc.errors.InvalidType):
        write_frame(m, np.zeros(3))


@pytest.mark.parametrize("m", [MECHANISMS[0], MECHANISMS[3], MECHANISMS[9]], ids=lambda m: m.NAME)
def test_twenty_thousand_odd_frames_are_read_or_refused_by_name(m: Any) -> None:
    """Random bytes, good frames with changed bytes, cut and stretched ones: a report that can be, or a FormatError."""
    rng, good = np.random.default_rng(3), write_frame(m, m.encode([1] * 5))
    for turn in range(7000):
        odd = bytearray(good if turn % 2 else rng.bytes(int(rng.integers(0, 60))))
        for place in rng.integers(0, max(len(odd), 1), rng.integers(0, 4)):
            odd[place : place + 1] = rng.bytes(1)
        data = bytes(odd)[: rng.integers(len(odd) + 1)] if rng.random() < 0.2 else bytes(odd)
        try:
            frame = read_frame(m, data)
        except FormatError:
            continue
        assert m.aggregate(frame.rows).rejected == 0
        assert len(data) == 17 + 4 * bool(data[0] & 2) + len(frame.rows) * m.layout.size
