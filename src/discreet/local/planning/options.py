"""The mechanisms that a plan compares, with suitable settings and their costs."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from discreet.errors import InvalidType
from discreet.local.mechanism import Mechanism
from discreet.local.oracles.direct import DirectResponse
from discreet.local.oracles.hadamard_response import HadamardResponse
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.own import OwnOracle
from discreet.local.oracles.projective import MOST_POINTS, ProjectiveGeometry, is_prime
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.rappor import Rappor
from discreet.local.sketches.count_mean import CountMeanSketch
from discreet.local.sketches.hadamard import HadamardSketch
from discreet.local.wire.bits import bits_for

#: Share of the noise that collisions may add, once for columns and once for rows.
_COLLISIONS = 0.05
#: Counters of a sketch: 128 MiB.
_MOST_COUNTERS = 2**24
#: Longest vector that is worth listing: a report of two megabytes.
_LONGEST = 2**24
#: More values than this make the regression of RAPPOR too large to list it.
_MOST_COLUMNS = 4096
#: The least columns of a sketch: fewer save nothing worth having.
_LEAST_WIDTH, _LEAST_TRANSFORM = 64, 1024
_WIDEST = 2**16
_MOST_ROWS = 2**20
#: Stored answers of a user that are worth listing.
_MOST_STORED = 2**12
#: Larger budgets of RAPPOR give no protection.
_LARGEST_PAIR = 20
Kind = Callable[..., Mechanism]


class PlanGoal(NamedTuple):
    """The requirements of a plan."""

    epsilon: float
    domain_size: int
    n: int
    max_bytes: int | None
    target: float | None
    skew: float

    def fits(self, mechanism: Mechanism) -> bool:
        """Return whether a report is small enough."""
        return self.max_bytes is None or mechanism.layout.size <= self.max_bytes


@dataclass(frozen=True)
class Option:
    """A mechanism with its settings and costs. ``build(domain, key)`` makes it for real values."""

    mechanism: Mechanism
    settings: dict[str, Any]
    build: Callable[[Any, int | None], Mechanism]
    client_work: int
    server_work: int
    decode_work: int
    counters: int
    notes: str = ""
    remembers: bool = False
    collides: bool = False

    def variance(self, n: int, share: float, skew: float) -> float:
        """Return the variance of the count of a value that a share of ``n`` reporters hold."""
        held = share * n
        if self.collides:
            others = min(skew * n**2, (n - held) ** 2)
            return float(self.mechanism.variance(n, held, second_moment=others))  # type: ignore[call-arg]
        return float(self.mechanism.variance(n, held))


def options(wish: PlanGoal) -> Iterator[Option]:
    """Yield the mechanisms to compare."""
    for family in (_declared, _hashed, _sketches, _remembering):
        yield from family(wish)


def own_option(kind: Any, wish: PlanGoal) -> Option:
    """Return an oracle of the user's own, by its class."""
    if not isinstance(kind, type) or not issubclass(kind, OwnOracle):
        named = "MyOracle" if isinstance(kind, type) or not isinstance(kind, OwnOracle) else type(kind).__name__
        raise InvalidType("own", kind, "a list of classes derived from OwnOracle, not of objects", f"own=[{named}]")
    counters = kind(wish.epsilon, wish.domain_size)._counters
    work = 1, 1, counters * wish.domain_size, counters
    return _of_domain(kind, wish, work, notes=f"{kind.__name__}, an oracle of your own")


def _of_domain(kind: Kind, wish: PlanGoal, work: tuple[int, int, int, int], notes: str = "", **settings: Any) -> Option:
    def build(domain: Any, key: int | None) -> Mechanism:
        return kind(wish.epsilon, domain, **settings)

    return Option(build(wish.domain_size, None), settings, build, *work, notes=notes)


def _declared(wish: PlanGoal) -> Iterator[Option]:
    """Yield mechanisms with declared values. Work is: client, server per report, decoding, counters."""
    d = wish.domain_size
    yield _of_domain(DirectResponse, wish, (1, 1, d, d))
    if d <= _LONGEST:
        for variant in ("optimised", "symmetric"):
            yield _of_domain(UnaryEncoding, wish, (d, d, d, d), variant=variant)
        w = SubsetSelection(wish.epsilon, d).size
        yield _of_domain(SubsetSelection, wish, (w, w, d, d), size=w)
    yield _hadamard(wish)
    if d <= MOST_POINTS // 2:
        yield _geometry(wish)


def _best_fitting(wish: PlanGoal, best: Any, others: Callable[[], Iterator[Any]]) -> Any:
    """Return the best mechanism if its report is small enough, else the best of the others that fit."""
    if wish.fits(best):
        return best
    fitting = [m for m in others() if wish.fits(m)]
    return min(fitting, key=lambda m: m.variance(1, 0), default=best)


def _hadamard(wish: PlanGoal) -> Option:
    d = wish.domain_size
    best = HadamardResponse(wish.epsilon, d)
    found = _best_fitting(wish, best, lambda: (HadamardResponse(wish.epsilon, d, bits=t) for t in range(1, best.bits)))
    t, size = found.bits, 2**found.length
    return _of_domain(HadamardResponse, wish, (t, 2**t, size * found.length, size), bits=t)


def _geometry(wish: PlanGoal) -> Option:
    d = wish.domain_size
    best = ProjectiveGeometry(wish.epsilon, d)
    smaller = [q for q in range(2, min(best.order, 512)) if is_prime(q)]
    found = _best_fitting(wish, best, lambda: (ProjectiveGeometry(wish.epsilon, d, order=q) for q in smaller))
    g = found.geometry
    decode = min(g.points * g.order * g.length, d * g.on)
    return _of_domain(ProjectiveGeometry, wish, (g.length, 1, decode, g.points), order=g.order)


def _hashed(wish: PlanGoal) -> Iterator[Option]:
    d = wish.domain_size
    best = LocalHashing(wish.epsilon, key=0)
    g = best.width

    def known(domain: Any, key: int | None) -> Mechanism:
        return LocalHashing(wish.epsilon, width=g, candidates=domain, key=key)

    notes = "the collector must know the values before it counts"
    yield Option(known(d, 0), {"width": g}, known, 2, d, d, d, notes=notes)
    most = min(_MOST_COUNTERS // g, _MOST_ROWS, _told_apart(wish, bits_for(g)))
    if most >= 1:
        pool = min(_rows(wish, best.variance(1, 0), g), most)
        yield _shared(LocalHashing, wish, (2, 1, pool * d, pool * g), width=g, pool=pool)


def _told_apart(wish: PlanGoal, used: int) -> int:
    """Return the number of rows that the remaining bits of a report can name."""
    return 2**62 if wish.max_bytes is None else 2 ** min(max(8 * wish.max_bytes - used, 0), 62)


def _rows(wish: PlanGoal, noise: float, width: int) -> int:
    """Return the rows that keep collisions small: k >= F₂/(τ σ² (m - 1)), σ² at least the target."""
    allowed = wish.n * noise
    if wish.target is not None:
        allowed = max(allowed, (wish.target * wish.n) ** 2)
    return max(1, math.ceil(wish.skew * wish.n**2 / (_COLLISIONS * allowed * (width - 1))))


def _columns(noise: float, least: int) -> int:
    """Return the columns that keep collisions small: m >= 1 + n/(τ σ²), a power of two."""
    wanted = min(max(least, 1 + math.ceil(1 / (_COLLISIONS * noise))), _WIDEST)
    return 1 << (wanted - 1).bit_length()


def _sketches(wish: PlanGoal) -> Iterator[Option]:
    """Yield the sketches of the wanted shape or, if reports must be small, the best one that fits."""
    a = math.exp(wish.epsilon / 2)
    sketches = (
        (CountMeanSketch, a / (a - 1) ** 2, _LEAST_WIDTH),
        (HadamardSketch, 1 / math.tanh(wish.epsilon / 2) ** 2, _LEAST_TRANSFORM),
    )
    for kind, noise, least in sketches:
        shapes, width = [], _columns(noise, least)
        while width >= 2:
            rows = min(_rows(wish, noise, width), _MOST_COUNTERS // (width + 1), _MOST_ROWS)
            rows = min(rows, _told_apart(wish, width if kind is CountMeanSketch else 1 + bits_for(width)))
            decode = rows * wish.domain_size
            work = (width, width, decode, rows * (width + 1))
            if kind is HadamardSketch:
                work = (2, 1, decode + rows * width * bits_for(width), rows * (width + 1))
            shapes.append(_shared(kind, wish, work, n_hashes=rows, width=width))
            width //= 2
        fitting = [x for x in shapes if wish.fits(x.mechanism)] if wish.max_bytes else shapes[:1]
        yield min(fitting, key=lambda x: x.variance(wish.n, 0.0, wish.skew), default=shapes[-1])


def _shared(kind: Kind, wish: PlanGoal, work: tuple[int, int, int, int], **settings: Any) -> Option:
    """Return a mechanism whose values share rows."""

    def build(domain: Any, key: int | None) -> Mechanism:
        return kind(wish.epsilon, **settings, key=key)

    made = build(None, 0)
    noise = float(made.variance(wish.n, 0, second_moment=0.0))  # type: ignore[call-arg]
    more = float(made.variance(wish.n, 0, second_moment=wish.skew * wish.n**2)) / noise - 1  # type: ignore[call-arg]
    notes = "values need not be known beforehand"
    if more > 2 * _COLLISIONS:
        notes += f"; collisions add up to {100 * more:,.0f} % to the variance"
    return Option(made, settings, build, *work, notes=notes, collides=True)


def _remembering(wish: PlanGoal) -> Iterator[Option]:
    """Yield mechanisms for repeated reports: they need a key per user and a client's secret."""
    d = wish.domain_size
    counts = sorted({min(d, 2**i) for i in range(_MOST_STORED.bit_length())}, reverse=True)
    flips = [BitFlip(wish.epsilon, d, bits=bits, memoised=True) for bits in counts]
    bits = _best_fitting(wish, flips[0], lambda: iter(flips)).bits

    def flip(domain: Any, key: int | None) -> Mechanism:
        return BitFlip(wish.epsilon, domain, bits=bits, memoised=True)

    notes = "for repeated reports: a value that stays is reported once and for all; needs a key per user"
    settings = {"bits": bits, "memoised": True}
    yield Option(flip(d, None), settings, flip, bits, bits, d, 2 * d, notes=notes, remembers=True)
    if d > _MOST_COLUMNS or wish.epsilon > _LARGEST_PAIR:
        return
    length = 128 if wish.max_bytes is None else min(128, max(8, 8 * wish.max_bytes - bits_for(d)))
    cohorts = max(8, -(-4 * d // length))

    def bloom(domain: Any, key: int | None) -> Mechanism:
        life, once = 2 * wish.epsilon, wish.epsilon
        return Rappor.from_budget(epsilon_lifetime=life, epsilon_report=once, bits=length, cohorts=cohorts, key=key)

    notes = "for repeated reports of one value, at most twice the budget over a lifetime; needs a key per user"
    work = length, length, length * cohorts * d**2, cohorts * (length + 1)
    settings = {"bits": length, "cohorts": cohorts}
    yield Option(bloom(d, 0), settings, bloom, *work, notes=notes, remembers=True)
