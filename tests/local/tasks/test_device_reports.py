"""One report from a value and coins: exactly private by enumeration, and the bytes that the kernels make of them."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.local import Task
from discreet.local.tasks.device import Device, plain
from discreet.noise import Generator
from discreet.noise.reports.one_device import ByteCoins
from discreet.noise.stream.thresholds import enclose_exp

TIMES = {"opens": "2026-11-16T00:00:00Z", "closes": "2026-12-16T00:00:00Z"}
#: Small enough to list every way the coins can fall.
SMALL: list[Any] = [
    dc.local.DirectResponse(1, 3),
    dc.local.UnaryEncoding(1, 4),
    dc.local.UnaryEncoding(0.5, 4, "symmetric"),
    dc.local.SubsetSelection(1, 5, size=2),
    dc.local.SubsetSelection(2, 9, size=1),
    dc.local.LocalHashing(1, pool=5, key=7),
    dc.local.PrefixExtension(1, alphabet="ab", length=2, steps=(2, 2), width=3, pool=4, key=7),
    dc.local.HadamardResponse(1, 4, bits=1),
    dc.local.HadamardResponse(2, 4, bits=2),
    dc.local.ProjectiveGeometry(1, 7, order=2),
    dc.local.ProjectiveGeometry(1, 4, order=3),
    dc.local.CountMeanSketch(1, 2, 4, key=7),
    dc.local.HadamardSketch(1, 3, 4, key=7),
    dc.local.HadamardSketch(1, 3, 4, key=7, skip_zero=True),
    dc.local.BitFlip(1, 4, bits=1),
    dc.local.BitFlip(1, 4, bits=2),
    dc.local.BitFlip(1, 3, bits=3),
    dc.local.OwnOracle(2, 3, ((7, 1, 4), (1, 7, 4), (4, 2, 6)), ((0,), (1,), (2,))),
    dc.local.OwnOracle(1, 2, ((5, 2, 1), (2, 5, 1)), ((0,), (1,), ())),
]
#: Those whose kernels draw in the order of the rules.
SAME: list[Any] = [
    dc.local.DirectResponse(1, 300),
    dc.local.SubsetSelection(1, 20),
    dc.local.SubsetSelection(3, 500),
    dc.local.LocalHashing(1, candidates=20, key=7),
    dc.local.LocalHashing(2, pool=100, key=7),
    dc.local.PrefixExtension(2, length=4, pool=64, key=7),
    dc.local.PrefixExtension(2, alphabet="alphanumeric", length=6, pool=64, key=7),
    dc.local.HadamardResponse(3, 100),
    dc.local.ProjectiveGeometry(2, 500),
    dc.local.ProjectiveGeometry(4, 22_000),
    dc.local.OwnOracle(2, 3, ((7, 1, 4), (1, 7, 4), (4, 2, 6)), ((0,), (1,), (2,))),
    dc.local.SquareWave(2, 0, 12, 50),
    dc.local.SquareWave(2, 0.5, 12, 64, "log"),
    dc.local.MeanResponse(2, 0, 12),
    dc.local.MeanResponse(2, 0, 12, "piecewise"),
    dc.local.MeanResponse(0.5, -3, 12),
]


def task_of(mechanism: Any, **more: Any) -> Task:
    return Task(mechanism, name="x", per_day=200, wanted=10, minimum=1, **TIMES, **more)


class Fork(Exception):
    """The coins asked for a draw that has several outcomes."""

    def __init__(self, chances: list[Fraction]) -> None:
        self.chances = chances


class Again(Exception):
    """Something is drawn again because it did not fit."""


class Script:
    """Coins with given results; ``once`` draws of a kind need no second try."""

    def __init__(self, told: tuple[int, ...], once: dict[str, int]) -> None:
        self._told, self._left = list(told), dict(once)

    def _count(self, kind: str) -> None:
        if kind in self._left:
            self._left[kind] -= 1
            if self._left[kind] < 0:
                raise Again

    def _next(self, chances: list[Fraction]) -> int:
        if not self._told:
            raise Fork(chances)
        return self._told.pop(0)

    def toss(self, threshold: bytes) -> bool:
        heads = Fraction(int.from_bytes(threshold, "big"), 256 ** len(threshold))
        return bool(self._next([1 - heads, heads]))

    def below(self, bound: int) -> int:
        self._count("below")
        return self._next([Fraction(1, bound)] * bound)

    def take(self, n: int) -> bytes:
        assert n == 1
        self._count("take")
        return bytes([self._next([Fraction(1, 4)] * 4)])  # of vectors of two bits: the mask leaves four bytes


def exact_law(device: Device, value: Any, once: dict[str, int]) -> dict[bytes, Fraction]:
    """Return the probability of every report: every way the coins can fall, with its exact chance.

    Where something is drawn again until it fits (a dependent vector, the zero point), ``once`` is the number of draws
    without that. The ways with more are left out and the others put in proportion, apart for either side of the coin
    that comes first: given it, how often one draws again does not depend on what is drawn in the end.
    """
    laws: dict[int, dict[bytes, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    ways: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    sides: dict[int, Fraction] = {}
    while ways:
        told, chance = ways.pop()
        try:
            laws[told[0] if len(sides) == 2 else 0][device.report(value, Script(told, once))] += chance
        except Fork as fork:
            if not told:
                sides = dict(enumerate(fork.chances))
            ways += [((*told, side), chance * part) for side, part in enumerate(fork.chances) if part]
        except Again:
            continue
    if not once:
        assert sum(sum(law.values()) for law in laws.values()) == 1
    law: dict[bytes, Fraction] = defaultdict(Fraction)
    for side, part in laws.items():
        whole = sides[side] if len(sides) == 2 else Fraction(1)
        for report, chance in part.items():
            law[report] += chance / sum(part.values()) * whole
    return law


@pytest.mark.parametrize("m", SMALL, ids=[f"{m.NAME}-{i}" for i, m in enumerate(SMALL)])
def test_no_report_tells_two_values_apart_by_more_than_epsilon(m: Any) -> None:
    """Exact rational probabilities of every report, for every value: all ratios are at most e^epsilon."""
    device, size = Device(task_of(m)), getattr(getattr(m, "choices", None), "size", None) or 6
    once = {}
    if isinstance(m, dc.local.HadamardResponse):
        once = {"take": m.bits}  # the vectors
    if isinstance(m, dc.local.ProjectiveGeometry):
        once = {"below": m.geometry.length - 1}  # all coordinates but one
    values = ["", "a", "b", "aa", "ab", "Bb"] if isinstance(m, dc.local.PrefixExtension) else list(range(size))
    laws = [exact_law(device, value, once) for value in values]
    low, _ = enclose_exp(m.epsilon.exact, 30, 90)  # at most e^-epsilon
    for value, law in zip(values, laws, strict=True):
        rows, chances = m.report_law(value)
        assert sum(law.values()) == 1
        assert {r.tobytes() for r in rows} == set(law)
        for row, expected in zip(rows, chances, strict=True):
            assert math.isclose(law[row.tobytes()], expected, rel_tol=1e-12)
        assert all(other[report] >= chance * low for other in laws for report, chance in law.items())


@pytest.mark.parametrize("m", SAME, ids=[f"{m.NAME}-{i}" for i, m in enumerate(SAME)])
def test_the_same_coins_give_the_same_report_as_the_kernels(m: Any) -> None:
    stream, device = np.random.default_rng(5), Device(task_of(m))
    words = ["", "Cat", "e\u0301te", "ab\ud800c", "long enough", None, b"cat\xff"]
    for turn in range(50):
        given = stream.integers(0, 256, 4096, dtype=np.uint8)
        value = (
            words[turn % 7] if isinstance(m, dc.local.PrefixExtension) and turn % 2 else int(stream.integers(-2, 20))
        )

        def read(n: int, given: Any = given) -> Any:
            assert n <= len(given)
            return given[:n]

        coins = ByteCoins(given=given.tobytes())
        kernel = m.encode([value], rng=Generator(read, seeded=True))
        assert device.report(value, coins) == kernel.rows.tobytes()


@pytest.mark.parametrize(
    "m",
    [dc.local.Rappor(0.5, 0.5, 0.75, bits=16, cohorts=4, key=1), dc.local.BitFlip(1, 26, bits=3, memoised=True)],
    ids=["rappor", "bit-flip"],
)
def test_a_memo_says_the_same_on_the_device_as_in_a_column(m: Any) -> None:
    memo, device = dc.local.Memo(bytes(range(32))), Device(task_of(m))
    column = m.encode([7], users=["device"], memo=memo)
    sent = np.frombuffer(device.report(7, ByteCoins(), memo), np.uint8)[None]
    name = "cohort" if isinstance(m, dc.local.Rappor) else "indices"
    assert m.layout.unpack(sent, name) == column.field(name)
    if isinstance(m, dc.local.BitFlip):
        assert sent.tolist() == column.rows.tolist()
    with pytest.raises(dc.errors.InvalidType, match="memo"):
        device.report(7, ByteCoins())


@pytest.mark.parametrize("labels", [[-2, -1, 0, 1, 2], ["-1", "0", "1"], ["a", -1]])
@pytest.mark.parametrize("memoised", [False, True])
def test_no_label_is_held_by_a_device_with_an_undeclared_value(labels: list[Any], memoised: bool) -> None:
    """Reports of 200 devices without a value add nothing to any count; seeded, a false alarm in 1e6 seeds."""
    m = dc.local.BitFlip(4, labels, bits=len(labels), memoised=memoised)
    device, coins, rows = Device(task_of(m)), ByteCoins(rng=1), []
    for memo in (dc.local.Memo(dc.noise.generator(i).bytes(32).tobytes()) for i in range(200)):
        rows.append(device.report(None, coins, memo))
        if memoised:
            assert m.encode([None], users=["device"], memo=memo).rows.tobytes() == rows[-1]
            assert {device.report(value, coins, memo) for value in (3, "-3", True, 0.5)} == {rows[-1]}
    found = m.estimate(m.aggregate(np.frombuffer(b"".join(rows), np.uint8).reshape(200, -1)))
    assert np.all(np.abs(found.count) < 5.5 * found.std_error)


def test_fresh_bits_of_rappor_have_their_law() -> None:
    """500 reports of one device, each bit a coin given its permanent bit; seeded, a false alarm in 1e6 seeds."""
    m = dc.local.Rappor(0.5, 0.25, 0.75, bits=8, cohorts=2, key=1)
    memo, device = dc.local.Memo(bytes(range(32))), Device(task_of(m))
    coins = ByteCoins(rng=1)
    sent = np.frombuffer(b"".join(device.report("cat", coins, memo) for _ in range(500)), np.uint8).reshape(-1, 2)
    _, stored, _ = m._permanent(["cat"], ["device"], memo, dc.noise.generator())
    ones = np.unpackbits(sent[:, :1], axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    expected = np.where(np.unpackbits(stored[0], bitorder="little"), 0.75, 0.25) * len(sent)
    assert np.all(np.abs(ones - expected) < 5.6 * math.sqrt(len(sent) * 3 / 16))


def test_values_are_what_every_language_makes_of_them() -> None:
    numbers = Device(task_of(dc.local.DirectResponse(1, 5)))
    assert [numbers.code(v) for v in (3, 3.0, np.int8(3), 3.5, True, "3", None, -1, 5, 10**30)] == [3, 3, 3] + [-1] * 7
    words = Device(task_of(dc.local.DirectResponse(1, ["é", "b", 7])))
    assert [words.code(v) for v in ("e\u0301", "é", 7, 7.0, "7", False, b"b", [])] == [0, 0, 2, 2, -1, -1, -1, -1]
    named = Device(task_of(dc.local.DirectResponse(1, 2), candidates=["a", "b"]))
    assert [named.code(v) for v in ("b", 1, "c")] == [1, -1, -1]
    assert plain("a\ud800") == "a\ufffd"
    assert [plain(v) for v in (True, 1e300, float("nan"), b"x", 2.0**53)] == [True, None, None, b"x", None]


@pytest.mark.parametrize("m", [*SMALL, *SAME, dc.local.Rappor(0.5, 0.5, 0.75, 8, 1, 1, key=7),
                               dc.local.MeanVector(1, [0, 0], [1, 1])], ids=lambda m: m.NAME)  # fmt: skip
def test_no_value_is_left_out(m: Any) -> None:
    """Silence would reveal that a value is odd."""
    device, coins, memo = Device(task_of(m)), ByteCoins(rng=1), dc.local.Memo(bytes(32))
    odd = [10**400, -(10**400), 10**5000, 2**64, Decimal("sNaN"), b"\xff", bytearray(b"x"), [[1, [2]]],
           [10**400, Decimal("sNaN")], {}, {1}, object(), 1j, math.inf, "\ud800", "1" * 5000, np.array([1, 2]),
           np.array(3), np.datetime64("NaT"), np.longdouble(1) / 3]  # fmt: skip
    for value in odd:
        assert len(device.report(value, coins, memo)) == m.layout.size


def test_a_file_names_the_values() -> None:
    content = b"cat\ndog\n"
    task = task_of(dc.local.DirectResponse(1, 2), candidates=dc.local.PublicFile.of("w.txt", content))
    assert Device(task, content).code("dog") == 1
    with pytest.raises(dc.errors.InvalidArgument, match=r"w\.txt"):
        Device(task)
    wrong = task_of(dc.local.DirectResponse(1, 3), candidates=dc.local.PublicFile.of("w.txt", content))
    with pytest.raises(dc.errors.FormatError, match="2 labels for 3 values"):
        Device(wrong, content)
