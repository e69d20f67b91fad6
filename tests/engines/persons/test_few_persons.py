"""Few rows are hashed, sorted and chosen with NumPy, many by compiled loops: the same rows are kept, in one order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.schema import Dialect
from discreet.engines.persons import bounded, kernels, plain
from discreet.engines.tables import text_dates, text_numbers
from discreet.noise.hashing import TAG_BYTES, hash_kernels

TEXTS = [
    "0", "-0", "7", "007", "-7", "-", "--7", "+7", "7.0", "1e3", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "99999999999999999999", "Ann", "Ann Lee", "Ann  Lee", " Ann",
    "Ann ", "Ä", "nan", "NaN", "-inf", "infinity", "infinity machine", "Ingrid", "Nina", "-Ann", "08:30", "8a:b", "a:8",
    "2024-05-01", "a\tb", "a\n1:", "\x7f", "~", "!", "E", "e.", "P01791", "", "x" * 7, "x" * 8, "x" * 15, "x" * 300,
]  # fmt: skip
KEY = np.random.default_rng(4).integers(0, 2**64, 8, np.uint64)


def laid_out(texts: list[bytes]) -> tuple[Any, Any]:
    """Return bytes and offsets, as Arrow lays out text."""
    data = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    return data, np.append(0, np.cumsum([len(t) for t in texts])).astype(np.int64)


def random_texts(rng: np.random.Generator) -> list[bytes]:
    letters = list(b"0123456789:-+.eEnIai \t~\xc3")
    drawn = [bytes(rng.choice(letters, int(rng.integers(0, 12)))) for _ in range(3000)]
    return [*(t.encode() for t in TEXTS), b"\xff7", b"Ann\xb0", *drawn]


def test_texts_are_classified_alike() -> None:
    data, offsets = laid_out(random_texts(np.random.default_rng(1)))
    few, many = [(np.zeros(len(offsets) - 1, np.int64), np.zeros(len(offsets) - 1, np.int8)) for _ in range(2)]
    plain.plain_texts(data, offsets, *few)
    kernels.plain_texts(data, offsets, *many)
    assert set(many[1].tolist()) == {0, 1, 2}
    for a, b in zip(few, many, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_texts_and_numbers_are_hashed_alike(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    data, offsets = laid_out(random_texts(np.random.default_rng(2)))
    monkeypatch.setattr(hash_kernels, "few", lambda *_: True)
    monkeypatch.setattr(hash_kernels, "_plain_rows", [0])
    for first, last in ((0, len(offsets)), (5, 900), (3, 4)):
        places = offsets[first:last].astype(kind)
        few, many = np.zeros(last - first - 1, np.uint64), np.ones(last - first - 1, np.uint64)
        hash_kernels.siphash_bytes(data, places, TAG_BYTES, KEY[0], KEY[1], few)
        hash_kernels.hash_bytes(data, places, TAG_BYTES, KEY[0], KEY[1], many)
        np.testing.assert_array_equal(few, many)
    numbers = np.append(np.random.default_rng(3).integers(-(2**63), 2**63 - 1, 500), [0, -1, 2**63 - 1, -(2**63)])
    given, a, b = numbers.copy(), np.empty(504, np.uint64), np.empty(504, np.uint64)
    plain.number_words(numbers, KEY[0], KEY[1], a)
    kernels.number_words(numbers, KEY[0], KEY[1], b)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(numbers, given)


def test_a_process_that_hashes_often_is_served_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(hash_kernels, "few", lambda *_: True)
    monkeypatch.setattr(hash_kernels, "_plain_rows", [0])
    monkeypatch.setattr(hash_kernels, "hash_bytes", lambda *_: called.append(1))
    for _ in range(300):
        hash_kernels.siphash_bytes(*laid_out([b"Ann"]), TAG_BYTES, KEY[0], KEY[1], np.empty(1, np.uint64))
    assert 0 < len(called) < 100


@pytest.mark.parametrize("seed", range(4))
def test_entries_are_made_sorted_and_chosen_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = (0, 1, 300, 3000)[seed], 3
    x = rng.choice([np.nan, -np.nan, -0.0, 0.0, 1.0, 2.5, -9.0, 99.0, np.inf, -np.inf], (n, d)) + 0.0
    p0, p1 = rng.integers(0, 2**64, (2, 50), np.uint64)[:, rng.integers(0, 50, n)]
    p1[: n // 2] = 0
    low, high, own = np.array([-0.0, -5.0, 0.0]), np.array([2.0, 5.0, 50.0]), np.array([True, False, True])
    made = []
    for loops in (plain, kernels):
        values, kept = x.copy(), np.arange(n) % 17 != 3
        r = loops.fill_entries(values, values.view(np.uint64), low, high, own, p0, p1, kept, KEY)
        entries, starts = loops.part_entries(p0, p1, r, values.view(np.uint64), kept, 8)
        group = loops.group_words(np.ascontiguousarray(entries[:, 1]), entries, np.array([4, 6]), KEY)
        # The kernel sorts the entries of one part, which share their first bits.
        one = entries[:, 0] >> np.uint64(56) == entries[:1, 0] >> np.uint64(56) if len(entries) else entries[:, 0] == 0
        a, b, c, often = (np.ascontiguousarray(entries[one][:, j]) for j in range(4))
        often += np.arange(len(often), dtype=np.uint64) % np.uint64(3)
        order = loops.sort_entries(a, b, c)
        kept_rows, sums = loops.merge_equal(order, a, b, c, often)
        histogram = loops.rows_of_persons(order, a, b, often, 5)
        chosen = [each for limit in (1, 3, 40) for each in loops.keep_smallest(kept_rows, sums, a, b, c, limit, KEY)]
        words = values.view(np.uint64)
        made.append((words, kept, r, entries, starts, group, order, kept_rows, sums, histogram, *chosen))
    for few, many in zip(*made, strict=True):
        np.testing.assert_array_equal(few, many)


SCHEMA = """
[source]
delimiter = ";"
decimal = ","
thousands = "."
dates = ["%d.%m.%Y"]
missing = ["-"]

[columns]
who = {{role = "person"}}
day = {{bounds = [2025-01-01, 2025-12-31]}}
cost = {{bounds = [0, 3000]}}
ward = {{categories = ["A", "B"], missing = "own"}}

[unit]
person = "who"
rows = 3
{group}
"""


@pytest.mark.parametrize("group", ["", 'group = ["ward"]\nper_group = 1'])
@pytest.mark.parametrize("spelled", ["number", "text"])
def test_a_small_file_of_persons_gives_the_same_rows(
    spelled: str, group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, n = np.random.default_rng(7), 2000
    lines = ["who;day;cost;ward"]
    for i in range(n):
        who, day, month = (int(rng.integers(*ends)) for ends in ((0, 400), (1, 33), (1, 13)))
        cost = f"{rng.integers(0, 4)}.{rng.integers(0, 1000):03d},{rng.integers(0, 2)}" if i % 9 else "about 7"
        spelling = f"{who}" if spelled == "number" else rng.choice([f"P{who}", f" P{who}", f"P {who}", "-"])
        lines.append(f"{spelling};{day:02d}.{month}.2025;{cost};{rng.choice(['A', 'B', ''])}")
    (tmp_path / "stays.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "schema.toml").write_text(SCHEMA.format(group=group), encoding="utf-8")
    domain = dc.Domain.from_toml(tmp_path / "schema.toml")
    axes, found = domain.select(["day", "cost", "ward"]), []
    for quick in (True, False):
        for module in (bounded, text_dates, hash_kernels):
            monkeypatch.setattr(module, "few", lambda *_, quick=quick: quick)
        if not quick:
            monkeypatch.setattr(text_numbers, "plain_numbers", lambda *_: None)
        source = dc.engines.open(tmp_path / "stays.csv", domain)
        people = bounded.PersonTable(source, cast(dc.Person, domain.unit), domain, axes, KEY)
        found.append((people.histogram(6), cast(Any, people.bounded(3).parts[0])._rows.view(np.uint64)))
    assert 500 < len(found[0][1]) < n
    for few, many in zip(*found, strict=True):
        np.testing.assert_array_equal(few, many)


def test_no_rows_are_none() -> None:
    assert bounded.RowsOfPersons(None).histogram(3).tolist() == [0, 0, 0]  # type: ignore[arg-type]
    texts = pa.array([], pa.large_string())
    assert len(bounded.PersonKeys(None, Dialect(), KEY).words(texts)[0]) == 0


def test_dates_are_read_alike() -> None:
    rng = np.random.default_rng(5)
    texts = [bytes(rng.choice(list(b"0123456789..-/ :"), int(rng.integers(0, 12)))) for _ in range(500)]
    texts += [f"{d}.{m}.{y}".encode() for d in (0, 1, 28, 29, 30, 31, 32) for m in (1, 2, 13) for y in (1900, 2000, 24)]
    texts += [b"112024", b"1.1.2024 23:59:60", b" 01.02.2024\t", b"", b"29.2.2023", b"1.2.99999", b"31.12.69 1:2"]
    values = pa.array([*texts, None], pa.large_binary())
    for written in ("%d.%m.%Y", "%d.%m.%y %H:%M", "%d%m%Y", "%Y/%m/%d", "%d.%m.%Y %H:%M:%S"):
        few = text_dates._parse(values.fill_null(b""), written, cast(Any, text_dates._parse_days).py_func)
        many = text_dates._parse(values.fill_null(b""), written, text_dates._parse_days)
        np.testing.assert_array_equal(few, many)
        np.testing.assert_array_equal(text_dates.days_by_format(values, written), many)
    assert np.isfinite(text_dates.days_by_format(values, "%d.%m.%Y")).any()
