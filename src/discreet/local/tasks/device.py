"""From a value and coins to one report, by the rules that every client follows (docs/wire-format.md).

Written for one report at a time, in short steps on integers, to compare with a client in another language. The
mechanisms' own ``encode`` makes many reports at once. For the same coins both give the same report if they draw in the
same order, and the same law in any case.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from discreet import noise
from discreet.local.mechanism import Mechanism
from discreet.local.numbers.mean_vectors import MeanVector
from discreet.local.numbers.means import MeanResponse
from discreet.local.numbers.scales import Scale
from discreet.local.numbers.square_wave import SquareWave
from discreet.local.oracles.direct import DirectResponse
from discreet.local.oracles.hadamard_response import HadamardResponse
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.own import OwnOracle
from discreet.local.oracles.projective import Geometry, ProjectiveGeometry
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.memo import DEVICE, Memo, need
from discreet.local.repeated.rappor import Rappor
from discreet.local.sketches.count_mean import CountMeanSketch
from discreet.local.sketches.hadamard import HadamardSketch
from discreet.local.strings.prefix import PrefixExtension
from discreet.local.tasks.task import Task
from discreet.local.wire.bits import bits_for
from discreet.noise.reports import HALF, Coins, MeanLaw, PiecewiseLaw

_SAFE = 2**53


def plain(value: Any) -> int | str | bytes | None:
    """Return a value in a form that every language has: a whole number, a text in NFC form, bytes, or None.

    A float without a fraction is that whole number, below 2^53 either way; any other float is None. A lone surrogate
    becomes the replacement character, as in JavaScript.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _SAFE else None
    if isinstance(value, str):
        whole = value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return unicodedata.normalize("NFC", whole)
    return value if isinstance(value, (int, bytes)) else None


class Device:
    """Makes reports of one task. ``labels`` is the content of its file of candidates, if it has one."""

    def __init__(self, task: Task, labels: bytes | None = None) -> None:
        self.task = task
        self._coin = {name: bytes.fromhex(digits) for name, digits in task.coins.items()}
        self._codes = _codes(task, labels)

    def code(self, value: Any) -> int:
        """Return the number of a value in the declared list, -1 if it is not in it. Booleans are in no list."""
        found = plain(value)
        if isinstance(found, bool) or found is None:
            return -1
        if isinstance(self._codes, int):
            return found if isinstance(found, int) and 0 <= found < self._codes else -1
        assert self._codes is not None
        return self._codes.get(found, -1)

    def report(self, value: Any, coins: Coins, memo: Memo | None = None) -> bytes:
        """Make one packed report of any value.

        ``memo`` is the device's secret, which mechanisms with stored responses need.

        Privacy
        -------
        That of the task's mechanism, or better: each coin is rounded towards privacy. Cost: ``task.epsilon``.
        """
        mechanism = self.task.mechanism
        make = next(maker for kind, maker in _MAKERS.items() if isinstance(mechanism, kind))
        number = make(self, mechanism, value, coins, memo)
        return number.to_bytes(mechanism.layout.size, "little")

    def known(self, value: Any, coins: Coins) -> int:
        """Return the number of a value; for an undeclared one, a random declared one."""
        code = self.code(value)
        return coins.below(self.task.mechanism.choices.size) if code < 0 else code  # type: ignore[attr-defined]

    def respond(self, truth: int, size: int, coins: Coins) -> int:
        """Keep the truth, or choose one of the other numbers below ``size``."""
        if coins.toss(self._coin["keep"]):
            return truth
        other = coins.below(size - 1)
        return other + (other >= truth)

    def near(self, start: int, width: int, others: int, coins: Coins) -> int:
        """Choose a point of the window, or one of the others around it."""
        if self.tossed("keep", coins):
            return start + coins.below(width)
        other = coins.below(others)
        return other + width * (other >= start)

    def tossed(self, name: str, coins: Coins) -> bool:
        return coins.toss(self._coin[name])


def _codes(task: Task, content: bytes | None) -> int | dict[Any, int] | None:
    """Return how values are numbered: a list of labels, the numbers below a bound, or not at all."""
    domain = getattr(task.mechanism, "domain", None)
    named = task.named(content) if domain is not None else None
    if domain is None or (named is None and isinstance(domain, int)):
        return domain
    return {label: code for code, label in enumerate(named if named is not None else domain)}


Maker = Callable[[Device, Any, Any, Coins, Memo | None], int]


def _direct(device: Device, m: DirectResponse, value: Any, coins: Coins, memo: Memo | None) -> int:
    return device.respond(device.known(value, coins), m.choices.size, coins)


def _unary(device: Device, m: UnaryEncoding, value: Any, coins: Coins, memo: Memo | None) -> int:
    code = device.known(value, coins)
    return sum(device.tossed("held" if i == code else "other", coins) << i for i in range(m.choices.size))


def _subset(device: Device, m: SubsetSelection, value: Any, coins: Coins, memo: Memo | None) -> int:
    code, size = device.known(value, coins), m.choices.size
    held = device.tossed("hold", coins)
    others = _floyd(size - 1, m.size - held, coins)
    chosen = sorted([x + (x >= code) for x in others] + [code] * held)
    bits = bits_for(size)
    if m.size * bits <= size:
        return sum(x << bits * i for i, x in enumerate(chosen))
    return sum(1 << x for x in chosen)


def _hashing(device: Device, m: LocalHashing, value: Any, coins: Coins, memo: Memo | None) -> int:
    if m.pool is None:
        seed, bits = int.from_bytes(coins.take(8), "little") >> 1, 63
    else:
        seed, bits = coins.below(m.pool), bits_for(m.pool)
    bucket = int(m.family([plain(value)], index=seed)[0])
    return seed | device.respond(bucket, m.width, coins) << bits


def _prefix(device: Device, m: PrefixExtension, value: Any, coins: Coins, memo: Memo | None) -> int:
    group, function = coins.below(len(m.prefixes)), coins.below(m.functions)
    found = plain(value)
    bucket = m.bucket(None if isinstance(found, bool) else found, group, function)
    first = bits_for(len(m.prefixes))
    sent = device.respond(bucket, m.oracle.width, coins)
    return group | function << first | sent << first + bits_for(m.functions)


def _hadamard(device: Device, m: HadamardResponse, value: Any, coins: Coins, memo: Memo | None) -> int:
    code, length = device.known(value, coins), m.length
    vectors: list[int] = []
    reduced: list[int] = []
    while len(vectors) < m.bits:
        vector = rest = int.from_bytes(coins.take(-(-length // 8)), "big") & ((1 << length) - 1)
        for one in reduced:
            rest = min(rest, rest ^ one)
        if rest:
            vectors.append(vector)
            reduced.append(rest)
    parities = sum(((v & code).bit_count() & 1) << i for i, v in enumerate(vectors))
    vectors.append(device.respond(parities, 1 << m.bits, coins))
    return sum(v << length * i for i, v in enumerate(vectors))


def _projective(device: Device, m: ProjectiveGeometry, value: Any, coins: Coins, memo: Memo | None) -> int:
    g, code = m.geometry, device.known(value, coins)
    on = device.tossed("on", coins)
    vector = coordinates(g, code)
    lead = vector.index(1)
    point = [0] * g.length
    while not any(point):
        for k in range(g.length):
            if k != lead:
                point[k] = coins.below(g.order)
        rest = sum(p * v for k, (p, v) in enumerate(zip(point, vector, strict=True)) if k != lead)
        point[lead] = ((0 if on else 1) - rest) % g.order
    first = next(k for k, p in enumerate(point) if p)
    factor, number = pow(point[first], -1, g.order), 0
    for p in point[first + 1 :]:
        number = number * g.order + 1 + p * factor % g.order
    return number


def coordinates(g: Geometry, number: int) -> list[int]:
    """Return the coordinates of a numbered point: a leading 1, then the digits of its number."""
    digits = []
    while number:
        number -= 1
        digits.append(number % g.order)
        number //= g.order
    return [0] * (g.length - 1 - len(digits)) + [1] + digits[::-1]


def _count_mean(device: Device, m: CountMeanSketch, value: Any, coins: Coins, memo: Memo | None) -> int:
    row = coins.below(m.n_hashes)
    bucket = int(m.family([plain(value)], index=row)[0])
    vector = sum((device.tossed("flip", coins) ^ (b == bucket)) << b for b in range(m.width))
    return vector | row << m.width


def _hadamard_sketch(device: Device, m: HadamardSketch, value: Any, coins: Coins, memo: Memo | None) -> int:
    row = coins.below(m.n_hashes)
    index = coins.below(m.width - m.skip_zero) + m.skip_zero
    bucket = int(m.family([plain(value)], index=row)[0])
    odd = (index & bucket).bit_count() & 1
    sign = 1 ^ odd ^ device.tossed("flip", coins)
    return sign | row << 1 | index << 1 + bits_for(m.n_hashes)


def _bit_flip(device: Device, m: BitFlip, value: Any, coins: Coins, memo: Memo | None) -> int:
    code = device.code(value)
    if m.memoised:
        # Not -1 for an undeclared value: it could be a label.
        held = None if code < 0 else code if isinstance(m.domain, int) else m.domain[code]
        reports = m.encode([held], users=[DEVICE], memo=need([DEVICE], memo))
        return int.from_bytes(reports.rows.tobytes(), "little")
    indices = sorted(_floyd(m.choices.size, m.bits, coins))
    answers = sum((device.tossed("flip", coins) ^ (index == code)) << i for i, index in enumerate(indices))
    if m.bits == m.choices.size:
        return answers
    bits = bits_for(m.choices.size)
    return sum(x << bits * i for i, x in enumerate(indices)) | answers << bits * m.bits


def _rappor(device: Device, m: Rappor, value: Any, coins: Coins, memo: Memo | None) -> int:
    cohort, stored, _ = m._permanent([plain(value)], [DEVICE], need([DEVICE], memo), noise.generator())
    permanent = int.from_bytes(stored.tobytes(), "little")
    bits = sum(device.tossed("one" if permanent >> i & 1 else "zero", coins) << i for i in range(m.bits))
    return bits | int(cohort[0]) << m.bits


def _wave(device: Device, m: SquareWave, value: Any, coins: Coins, memo: Memo | None) -> int:
    bucket = m.public.bucket(value, m.buckets)
    return device.near(coins.below(m.buckets) if bucket < 0 else bucket, *m.law.sizes, coins)


def _mean(device: Device, m: MeanResponse, value: Any, coins: Coins, memo: Memo | None) -> int:
    return _said(device, m.law, Scale(m.low, m.high).place(value), coins)


def _means(device: Device, m: MeanVector, value: Any, coins: Coins, memo: Memo | None) -> int:
    d, taken = len(m.low), []  # type: int, list[int]
    for i in range(m.n_sent):
        ticket = coins.below(d - i)
        for earlier in sorted(taken):
            ticket += ticket >= earlier
        taken.append(ticket)
    listed = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    values = value if listed and len(value) == d else [None] * d
    packed = shift = 0
    for which in taken:
        place = Scale(m.low[which], m.high[which]).place(values[which])
        for number, size in ((which, d), (_said(device, m.law, place, coins), len(m.law.values))):
            packed |= number << shift
            shift += bits_for(size)
    return packed


def _said(device: Device, law: MeanLaw, place: int, coins: Coins) -> int:
    """Report a place on the public grid: a point, or a sign."""
    points = getattr(law, "points", law)
    if isinstance(points, PiecewiseLaw) and (points is law or device.tossed("choice", coins)):
        start, rest = divmod(points.reach * place, HALF)
        start += coins.below(HALF) < rest
        return device.near(start, *points.window.sizes, coins)
    before = points.window.size if isinstance(points, PiecewiseLaw) else 0
    likely = place if device.tossed("informed", coins) else HALF
    return before + (coins.below(2 * HALF) < likely)


def _own(device: Device, m: OwnOracle, value: Any, coins: Coins, memo: Memo | None) -> int:
    row = m.weights[device.known(value, coins)]
    return bisect_right(list(accumulate(row)), coins.below(sum(row)))


def _floyd(size: int, taken: int, coins: Coins) -> set[int]:
    """Draw a uniform subset of 0..size-1 (Bentley and Floyd 1987)."""
    chosen: set[int] = set()
    for last in range(size - taken, size):
        ticket = coins.below(last + 1)
        chosen.add(last if ticket in chosen else ticket)
    return chosen


_MAKERS: dict[type[Mechanism], Maker] = {
    DirectResponse: _direct,
    UnaryEncoding: _unary,
    SubsetSelection: _subset,
    LocalHashing: _hashing,
    PrefixExtension: _prefix,
    HadamardResponse: _hadamard,
    ProjectiveGeometry: _projective,
    CountMeanSketch: _count_mean,
    HadamardSketch: _hadamard_sketch,
    BitFlip: _bit_flip,
    Rappor: _rappor,
    SquareWave: _wave,
    MeanResponse: _mean,
    MeanVector: _means,
    OwnOracle: _own,
}
