"""By enumeration, in exact fractions: the price of a law is the worst ratio of the reports that are drawn from it."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.core.budget.guarantee import Guarantee
from discreet.local import Task
from discreet.local.mechanism import mechanisms
from discreet.local.tasks.device import Device
from discreet.noise.reports.laws import FlipLaw, Response, log_above, within
from discreet.noise.reports.means import HALF
from discreet.noise.stream.thresholds import Chance

Law = dict[Any, Fraction]
THIRD: Any = Fraction(1, 3)


class Branches:
    """Coins that take every way there is, run after run, with the exact chance of each.

    Of a drawn byte the lowest two bits matter. ``most`` is how many numbers and bytes may be drawn before one of them
    is a repetition of a draw that was in vain.
    """

    def __init__(self, most: int) -> None:
        self._most, self._path = most, []  # type: tuple[int, list[list[int]]]

    def start(self) -> None:
        self._place, self._draws, self.chance, self.sides = 0, 0, Fraction(1), ""

    def advance(self) -> bool:
        del self._path[self._place :]
        while self._path and self._path[-1][0] + 1 == self._path[-1][1]:
            self._path.pop()
        if self._path:
            self._path[-1][0] += 1
        return bool(self._path)

    def _next(self, ways: int) -> int:
        if self._place == len(self._path):
            self._path.append([0, ways])
        self._place += 1
        return self._path[self._place - 1][0]

    def below(self, bound: int) -> int:
        self._draws += 1
        if self._draws > self._most and not self.sides.endswith("tails"):  # after tails nothing is in vain
            raise EOFError
        self.chance /= bound
        return self._next(bound)

    def toss(self, threshold: bytes) -> bool:
        heads = Fraction(int.from_bytes(threshold, "big"), 256 ** len(threshold))
        side = self._next(2)
        self.chance *= heads if side else 1 - heads
        self.sides += "heads" if side else "tails"
        return bool(side)

    def take(self, n: int) -> bytes:
        return self.below(4).to_bytes(n, "big")


def device(m: Any) -> Device:
    facts: dict[str, Any] = {"name": "q", "per_day": 200, "wanted": 10, "minimum": 1}
    return Device(Task(m, opens="2020-01-01T00:00:00Z", closes="2099-01-01T00:00:00Z", **facts))


def enumerated(made: Device, value: Any, most: int) -> Law:
    """Return the chance of every report that a device makes of a value.

    Draws in vain are left out, and what is left is scaled up, for each outcome of the coins: a repetition has the law
    of the first try.
    """
    coins, chances = Branches(most), defaultdict(Fraction)  # type: tuple[Branches, dict[str, Fraction]]
    ways: dict[str, Law] = defaultdict(lambda: defaultdict(Fraction))
    more = True
    while more:
        coins.start()
        try:
            report = made.report(value, coins)
        except EOFError:
            report = None
        chances[coins.sides] += coins.chance
        if report is not None:
            ways[coins.sides][report] += coins.chance
        more = coins.advance()
    found: Law = defaultdict(Fraction)
    for sides, law in ways.items():
        total = sum(law.values())
        for report, chance in law.items():
            found[report] += chance * chances[sides] / total
    return found


def worst(laws: Iterable[Law]) -> Fraction:
    """Return the largest ratio of one report's chances under two values, in either direction."""
    listed = list(laws)
    assert len({frozenset(law) for law in listed}) == 1
    return max(one[y] / two[y] for one, two in itertools.permutations(listed, 2) for y in one if one[y])


def check(law: Any, ratio: Fraction) -> None:
    """The price is the logarithm of the enumerated ratio, rounded up by next to nothing, and never above epsilon."""
    assert ratio == law.ratio(law.chances)
    assert within(ratio, law.price)
    assert not within(ratio, law.price - Fraction(1, 10**35))
    assert law.price <= law.epsilon


#: How many draws can be made before one is a repetition, where there are any.
FIRST_TRIES = {"hadamard-response-8": 1, "hadamard-response-9": 2, "projective-geometry-10": 1}
DEVICES: list[tuple[Any, Sequence[Any]]] = [
    (dc.local.DirectResponse(THIRD, 2), range(2)),
    (dc.local.DirectResponse(1, 4), range(4)),
    (dc.local.DirectResponse(100, 3), range(3)),
    (dc.local.UnaryEncoding(1, 3), range(3)),
    (dc.local.UnaryEncoding(THIRD, 3, "symmetric"), range(3)),
    (dc.local.SubsetSelection(1, 4, 2), range(4)),
    (dc.local.SubsetSelection(2, 3, 2), range(3)),
    (dc.local.LocalHashing(1, width=3, pool=2, key=7), "abc"),
    (dc.local.HadamardResponse(1, 4, 1), range(4)),
    (dc.local.HadamardResponse(2, 4, 2), range(4)),
    (dc.local.ProjectiveGeometry(1, 3, 2), range(3)),
    (dc.local.CountMeanSketch(1, 2, 3, key=7), "abc"),
    (dc.local.HadamardSketch(1, 2, 4, key=7), "abc"),
    (dc.local.HadamardSketch(THIRD, 1, 4, key=7, skip_zero=True), "abc"),
    (dc.local.BitFlip(1, 3, 1), range(3)),
    (dc.local.BitFlip(1, 3, 2), range(3)),
    (dc.local.BitFlip(1, 2, 2), range(2)),
    (dc.local.PrefixExtension(1, alphabet="ab", length=1, width=3, pool=2, key=7), ["a", "b", ""]),
    (dc.local.OwnOracle(2, 3, ((7, 1, 4), (1, 7, 4), (4, 2, 6))), range(3)),
]
NAMES = [f"{m.NAME}-{i}" for i, (m, _) in enumerate(DEVICES)]
CASES = [(m, values, FIRST_TRIES.get(name, 99)) for name, (m, values) in zip(NAMES, DEVICES, strict=True)]


@pytest.mark.parametrize(("m", "values", "most"), CASES, ids=NAMES)
def test_a_device_draws_reports_that_cost_the_price_of_their_law(m: Any, values: Sequence[Any], most: int) -> None:
    check(m.randomiser, worst(enumerated(device(m), value, most) for value in values))
    assert [line.amount for line in m.guarantee.ledger] == [m.randomiser.epsilon]


@pytest.mark.parametrize(("m", "values", "most"), CASES, ids=NAMES)
def test_coins_that_are_turned_round_are_priced_by_what_they_tell(m: Any, values: Sequence[Any], most: int) -> None:
    made, law = device(m), m.randomiser
    chances = {name: 1 - chance for name, chance in law.chances.items()}
    made._coin = {name: int(chance * 256**16).to_bytes(16, "big") for name, chance in chances.items()}
    ratio = law.ratio(chances)
    assert ratio == worst(enumerated(made, value, most) for value in values) >= 1


def bits(one: Sequence[Fraction]) -> Law:
    """Return the law of independent bits, given the chance of a 1 in each."""
    return {
        sent: math.prod((c if bit else 1 - c for c, bit in zip(one, sent, strict=True)), start=Fraction(1))
        for sent in itertools.product((0, 1), repeat=len(one))
    }


@pytest.mark.parametrize(
    ("m", "filters"),
    [
        (dc.local.Rappor(THIRD, 0.25, 0.6, bits=3, hashes=1, key=1), [{0}, {1}, {2}]),
        (dc.local.Rappor(0.5, 0.75, 0.5, bits=4, hashes=2, key=1), [{0, 1}, {2, 3}, {0}, {3}]),
        (dc.local.Rappor(0.5, "1/7", "2/3", bits=3, hashes=2, key=1), [{0, 1}, {1, 2}, {2}]),
        (dc.local.Rappor(0, 0.1, 0.6, bits=2, hashes=1, key=1), [{0}, {1}]),
    ],
)
def test_reports_of_rappor_cost_the_price_of_their_law(m: Any, filters: list[set[int]]) -> None:
    """The permanent bit is turned over with its stored chance, then sent by one of two coins."""
    law = m.randomiser
    turned, one, zero = (law.chances[name] for name in ("stored", "one", "zero"))
    sent = {True: one + turned * (zero - one), False: zero + turned * (one - zero)}
    check_rounded(law, worst(bits([sent[i in held] for i in range(m.bits)]) for held in filters))
    if m.f:
        kept = {True: 1 - turned, False: turned}
        life = law.permanent
        assert worst(bits([kept[i in held] for i in range(m.bits)]) for held in filters) == life.ratio(life.chances)
        assert life.price <= life.epsilon == m.lifetime.spent.exact


def check_rounded(law: Any, ratio: Fraction) -> None:
    assert ratio == law.ratio(law.chances)
    assert within(ratio, law.price)
    assert law.price <= law.epsilon < log_above(ratio) + Fraction(2, 10**12)
    assert (law.epsilon * 10**12).denominator == 1  # the same on every machine


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_stored_answers_cost_the_price_of_their_law(taken: int) -> None:
    """Of every index set: of two values at most two answers differ, and one if there is only one."""
    m = dc.local.BitFlip(1, 4, taken, memoised=True)
    flip, ratios = m.randomiser.chances["stored"], []
    for asked in itertools.combinations(range(4), taken):
        laws = (bits([1 - flip if x == held else flip for x in asked]) for held in range(4))
        ratios.append(worst(laws))
    check(m.randomiser, max(ratios))


def window(law: Any, start: int) -> Law:
    inside, (inner, outer) = law.chances["keep"], law.sizes
    return {y: inside / inner if start <= y < start + inner else (1 - inside) / outer for y in range(law.size)}


def test_points_of_a_square_wave_cost_the_price_of_their_law() -> None:
    m = dc.local.SquareWave(1, 0, 1, buckets=5)
    check(m.randomiser, worst(window(m.law, start) for start in range(m.buckets)))


def number(law: Any, place: int) -> Law:
    """Return the exact chance of every report about a number at a place of the public grid."""
    share = Fraction(place, 2 * HALF)
    if hasattr(law, "points"):
        half = Fraction(1, 2)  # which law answers does not depend on the number
        parts = {"point": number(law.points, place), "sign": number(law.signs, place)}
        return {(kind, y): half * chance for kind, part in parts.items() for y, chance in part.items()}
    if hasattr(law, "informed"):
        looked = law.chances["informed"]
        return {1: looked * share + (1 - looked) / 2, 0: looked * (1 - share) + (1 - looked) / 2}
    start = law.reach * 2 * share
    down = math.floor(start)
    up = start - down
    low, high = window(law.window, down), window(law.window, min(down + 1, law.window.size - law.window.width))
    return {y: (1 - up) * low[y] + up * high[y] for y in low}


@pytest.mark.parametrize("method", ["duchi", "piecewise", "hybrid"])
@pytest.mark.parametrize("epsilon", [THIRD, 1, 5])
def test_reports_of_a_mean_cost_the_price_of_their_law(method: str, epsilon: Any) -> None:
    m = dc.local.MeanResponse(epsilon, 0, 1, method, steps=3)
    places = [0, 1, HALF // 3, HALF, HALF + 7, 2 * HALF]
    check(m.randomiser, worst(number(m.law, place) for place in places))


def test_several_reports_cost_what_their_laws_cost_together() -> None:
    vector = dc.local.MeanVector(5, [0, 0, 0], [1, 1, 1], "duchi")
    each = worst(number(vector.law, place) for place in (0, 2 * HALF))
    assert vector.n_sent == 2
    assert within(each**2, vector.randomiser.price)
    assert vector.randomiser.price <= vector.randomiser.epsilon == 5

    shape: dict[str, Any] = {
        "n_hashes": 1,
        "width": 2,
        "fragment_hashes": 1,
        "fragment_width": 3,
        "length": 2,
        "key": 1,
    }
    for split, total in (("budget", Fraction(3)), ("users", Fraction(2))):
        m = dc.local.FragmentPuzzle(1, 2, **shape, split=split)
        ratios = []
        for sketch in (m.sequence, m.fragment):
            flip = sketch.randomiser.chances["flip"]
            vectors = [[1 - flip if b == held else flip for b in range(sketch.width)] for held in range(sketch.width)]
            ratios.append(worst(map(bits, vectors)))
        ratio = ratios[0] * ratios[1] if split == "budget" else max(ratios)
        assert within(ratio, m.randomiser.price)
        assert m.randomiser.price <= m.randomiser.epsilon == m.guarantee.spent.exact == total


def test_every_mechanism_that_there_is_was_enumerated_here() -> None:
    others = {"rappor", "square-wave", "mean-response", "mean-vector", "fragment-puzzle"}
    central = {"distinct-sketch"}
    assert {m.NAME for m, _ in DEVICES} | others == mechanisms().keys() - central


@dataclass(frozen=True)
class Careless(Response):
    """A law that reveals more than it states."""

    @property
    def inside(self) -> Chance:
        return Chance(a=Fraction(99, 100))


def test_nothing_is_promised_of_a_law_that_tells_more_than_it_says() -> None:
    assert float(Careless(Fraction(1), 2).price) == pytest.approx(math.log(99))
    with pytest.raises(ArithmeticError, match=r"cost epsilon 4\.59"):
        Guarantee.of_law(Careless(Fraction(1), 2), model="local")
    turned = FlipLaw(Fraction(1)).ratio({"flip": Fraction(99, 100)})
    assert turned == 99


def test_which_numbers_are_sent_and_what_is_sent_is_drawn_for_every_device() -> None:
    vector = dc.local.MeanVector(5.0, low=[0, 0, 0, 0], high=[1, 1, 1, 1])
    (_, law), *_ = vector.randomiser.parts
    stream = noise.generator(1)
    chosen = law.chosen(200, stream)
    assert len(np.unique(chosen, axis=0)) == 6  # all pairs of four numbers
    assert (law.chosen(200, stream) != chosen).any()
    first, second = (law.draw(np.full(200, 1), stream) for _ in range(2))
    assert len(np.unique(first)) > 1
    assert (first != second).any()
