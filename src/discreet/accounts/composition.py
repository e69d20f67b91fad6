"""The cost of several releases together: (ε, δ) from the sum of their privacy losses, rounded to the safe side.

Adding up ε is valid for any releases and any choice of prices. The result here is smaller, because the worst
losses of n releases rarely coincide. It holds only if no price was chosen after seeing an earlier release. So it is
information, never the limit.

The loss of all releases is a sum of independent losses (`laws.py`) on a grid. Its distribution is a product of Fourier
transforms (Koskela, Jälkö, Honkela 2020; Gopi, Lee, Wutschitz 2021). A transform is accurate relative to the *largest*
weight, but δ is in a tail. So weights are tilted first, w(x) e^(θx)/M(θ), with the θ that moves the middle of the sum
to ε. All errors are added to δ, as a share of M(θ) e^(-θε): what the window of the transform leaves out or wraps around
(Chernoff's bound for the tilted sum), rounding in the transforms (8 log2(N) units of 2^-53 in Euclidean norm per
factor: Higham 2002, theorem 24.2), and rounding in M(θ) and in the sums over the tail.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.accounts.laws import IN_RHO, LARGEST_SIGMA, Loss, Price, loss_law
from discreet.core import LARGEST_BUDGET, FloatArray, at_most, checks, later
from discreet.core.budget import zcdp_to_epsilon
from discreet.errors import InvalidArgument, InvalidType

fft = later("scipy.fft")
optimize = later("scipy.optimize")

Neighbours = Literal["add or remove", "replace"]
NEIGHBOURS: tuple[Neighbours, ...] = ("add or remove", "replace")
#: The condition of every such sum.
CONDITION = "This holds only if no price was chosen after seeing an earlier release"
#: Points of the grid that a transform may have.
_MOST = 2**22
#: Step of the grid, as a share of the spread of one release, where no step divides all losses; ε grows by its square.
_FINENESS = 0.002
#: Smaller prices count as these.
_LEAST = {"exponential": Fraction(1, 10**9), "other": Fraction(1, 10**40)}
#: Chance that the tilted sum leaves the window on one side; a share of δ's own scale.
_OUTSIDE = 1e-18
#: The logarithm of a number larger than any that matters here.
_HUGE = 600.0
#: Covers the rounding of losses, chances and sums outside the transforms, as `core.zcdp` does.
_SAFETY = 1e-9


def compose(
    prices: Iterable[Price], *, delta: Any = None, epsilon: Any = None, neighbours: Neighbours = "add or remove"
) -> float:
    """Return an upper bound of the ε of all releases together at a given δ, or of the δ at a given ε.

    It holds only if no price was chosen after seeing an earlier release. It is infinite if no ε is enough.

    Parameters
    ----------
    prices : iterable of Price
        The releases.
    delta : float or Fraction
        From 0 to 1. At 0 the ε of the releases are added up.
    epsilon : float or Fraction
        Instead of ``delta``: 0 or more.
    neighbours : {"add or remove", "replace"}
        What is hidden: that someone is in the table, or which of two people is. See `Price.of_replacing`.

    Examples
    --------
    A hundred counts at ε = 0.02 each:

    >>> counts = [Price("laplace", 0.02, times=100)]
    >>> round(compose(counts, delta=0), 6), round(compose(counts, delta=1e-6), 3)
    (2.0, 0.823)
    >>> round(compose([*counts, Price("gaussian", rho=0.01), Price("exponential", 0.5)], delta=1e-6), 2)
    1.38
    """
    if (delta is None) == (epsilon is None):
        raise InvalidArgument("delta", delta, "given, or epsilon, but not both", "compose(prices, delta=1e-6)")
    listed = list(prices)
    for price in listed:
        if not isinstance(price, Price):
            raise InvalidType("prices", price, "a list of Price", 'prices=[Price("laplace", 0.1)]')
    if checks.choice("neighbours", neighbours, NEIGHBOURS) == "replace":
        listed = [price.of_replacing() for price in listed]
    plain = add_up(listed)
    failing = [p for p in listed if p.delta]
    if epsilon is not None:
        wanted = checks.exact("epsilon", epsilon, "a number of at least 0", "epsilon=1.0")
        if wanted < 0:
            raise InvalidArgument("epsilon", epsilon, "a number of at least 0", "epsilon=1.0")
        if wanted >= plain:
            kept = math.prod((1 - float(p.delta)) ** p.times for p in failing)
            return min(1.0, (1 - kept) * (1 + _SAFETY) + 2.0**-50) if failing else 0.0
        bounds = [found.delta(float(wanted) * (1 - _SAFETY)) * (1 + _SAFETY) for found in _sums(listed)]
        return min([1.0, *bounds])
    share = float(checks.probability("delta", delta, closed=True))
    if share == 1 or not listed:
        return 0.0
    spent = sum((p.delta * p.times for p in failing), Fraction(0))
    bounds = [_above(plain) if spent <= share else math.inf]
    if share > 0:
        bounds.append(_by_zcdp(listed, share))
        if not failing:
            pure = add_up([p for p in listed if p.law not in IN_RHO])
            bounds.append(_above(pure) + _by_zcdp([p for p in listed if p.law in IN_RHO], share))
        bounds += [found.epsilon(share) * (1 + _SAFETY) + 1e-14 for found in _sums(listed)]
    return min(bounds)


def add_up(prices: Sequence[Price]) -> checks.Exact:
    """Return the sum of the ε of all releases; infinite if one has none."""
    if any(p.law in IN_RHO or p.amount == math.inf for p in prices):
        return math.inf
    return sum((p.amount * p.times for p in prices), Fraction(0))


def in_words(prices: Sequence[Price], delta: Any) -> str:
    """Return the cost of releases together in words, with its condition."""
    share = float(checks.probability("delta", delta))
    found, plain = compose(prices, delta=delta), float(add_up(prices))
    shown, how = at_most(found, 4), "by privacy loss distributions"
    if shown == at_most(plain, 4):
        how = "by adding up"
    elif shown == at_most(_by_zcdp(prices, share), 4):
        how = "by zCDP"
    return f"epsilon {shown} at delta {share:g}, composed {how}. {CONDITION}"


def _above(amount: checks.Exact) -> float:
    number = float(amount)
    return number if number >= amount else math.nextafter(number, math.inf)


def _by_zcdp(prices: Sequence[Price], delta: float) -> float:
    rho = sum((p.zcdp for p in prices), Fraction(0))
    return zcdp_to_epsilon(rho, delta) if rho < LARGEST_BUDGET else math.inf


def _merged(prices: Sequence[Price]) -> list[Price]:
    """Merge equal prices, and those of which only ρ is known."""
    times: dict[Price, int] = {}
    rho: checks.Exact = Fraction(0)
    for p in prices:
        if p.law == "zcdp" or (p.law == "gaussian" and 2 * p.amount * LARGEST_SIGMA**2 < 1):
            rho += p.amount * p.times
        else:
            values = p.values if p.law == "randomised_response" else 2
            law = "pure" if p.law == "laplace" or (p.law == "randomised_response" and values == 2) else p.law
            amount = max(p.amount, _LEAST["exponential" if law == "exponential" else "other"])
            given: dict[str, Any] = {"rho" if law in IN_RHO else "epsilon": amount}
            one = Price(law, **given, delta=p.delta, values=values)
            times[one] = times.get(one, 0) + p.times
    merged = [Price(p.law, p.epsilon, rho=p.rho, delta=p.delta, values=p.values, times=n) for p, n in times.items()]
    return [*merged, Price("zcdp", rho=max(rho, Fraction(1, 10**30)))] if rho else merged


def _sums(prices: Sequence[Price]) -> Iterator["_Sum"]:
    """Yield the sum of losses on a grid, in each way that may be best; none if the losses are too large.

    The dominating pair of the exponential mechanism is best for one release and has a ρ of ε²/6; many together are
    better taken as releases of ρ = ε²/8 each. Both are upper bounds.
    """
    ways = [prices]
    if any(p.law == "exponential" for p in prices):
        ways.append([Price("zcdp", rho=p.zcdp) if p.law == "exponential" else p for p in prices])
    for way in ways:
        merged = _merged(way)
        # Beyond this there is no privacy to compute.
        small = all(p.amount <= (100 if p.law == "zcdp" else 500) and p.delta < 1 for p in merged)
        if small and sum(p.times * _mean(p) for p in merged) < 500:
            yield _sum(merged)


def _sum(prices: Sequence[Price]) -> "_Sum":
    spread = math.sqrt(sum(p.times * _variance(p) for p in prices))
    number = sum(p.times for p in prices)
    smooth = sum(p.times for p in prices if p.law in ("exponential", "zcdp"))
    width = min(40 * spread, 2 * float(add_up(prices)))
    common = Fraction(0)
    for p in prices:
        if p.law != "zcdp":
            a, b = common, Fraction(p.amount)
            common = Fraction(
                math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
            )
    fine = _FINENESS * spread / math.sqrt(max(smooth, 1))
    if smooth and common:
        common /= math.ceil(float(common) / fine) if common > fine else 1
    if not common or width / float(common) > _MOST / 2:
        # Rounding adds a variance of at most step²/4 for every release.
        common = Fraction(max(_FINENESS * spread / math.sqrt(number), 4 * width / _MOST))
    return _Sum([loss_law(p, common) for p in prices], float(common))


def _mean(price: Price) -> float:
    """Return about the mean of a loss."""
    amount = float(price.amount)
    return amount if price.law in IN_RHO else amount * math.tanh(amount / 2)


def _variance(price: Price) -> float:
    """Return about the variance of a loss; it only sets the grid."""
    amount = float(price.amount)
    if price.law in IN_RHO:
        return 2 * amount
    return amount * amount / (3 if price.law == "exponential" else 1)


@dataclass(frozen=True)
class _Tail:
    """The distribution of the sum near a tilt: ``above`` and ``other`` are ln P and ln Q of larger losses."""

    low: int
    above: FloatArray
    other: FloatArray
    error: FloatArray


class _Sum:
    """A sum of independent losses on the grid of multiples of ``step``."""

    def __init__(self, parts: Sequence[Loss], step: float) -> None:
        self.parts, self.step = parts, step
        self.low = sum(p.low * p.times for p in parts)
        self.high = sum((p.low + len(p.weights) - 1) * p.times for p in parts)
        self.infinite = -math.expm1(sum(p.times * math.log1p(-p.infinite) for p in parts)) * (1 + 1e-12)
        self._places = [(p.low + np.arange(len(p.weights))) * step for p in parts]
        with np.errstate(divide="ignore"):
            self._logs = [np.log(p.weights) for p in parts]
        self._scale = 1 / math.sqrt(
            sum(p.times * float(np.dot(p.weights, x * x)) for p, x in zip(parts, self._places, strict=True))
        )

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε found at which δ is at most ``delta``."""
        rest = delta - self.infinite
        if rest <= 0:
            return math.inf
        theta, value = self._tilt(lambda theta: (self._bound(theta) - math.log(rest)) / theta)
        tail = self._tail(theta)
        places = (tail.low + np.arange(len(tail.above))) * self.step
        share = np.exp(tail.above) - np.exp(tail.other + places) + tail.error
        passing = np.flatnonzero(share <= rest)
        if not len(passing):
            return max(0.0, value)
        first = int(passing[0])
        if first == 0:
            return max(0.0, float(places[0]))
        # Between two points δ is straight in e^ε, with the weights of the left one.
        left = first - 1
        level = math.exp(tail.above[left]) + tail.error[left] - rest
        between = math.log(level) - float(tail.other[left]) if level > 0 else float(places[left])
        return max(0.0, min(between, float(places[first]), value))

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of δ at ``epsilon``."""
        theta, value = self._tilt(lambda theta: self._bound(theta) - theta * epsilon)
        tail = self._tail(theta)
        place = math.floor(epsilon / self.step) - tail.low
        if not 0 <= place < len(tail.above):
            return self.infinite + math.exp(min(value, 0.0))
        share = math.exp(tail.above[place]) - math.exp(tail.other[place] + epsilon) + float(tail.error[place])
        return self.infinite + max(0.0, min(share, math.exp(min(value, 0.0))))

    def _bound(self, theta: float) -> float:
        """Return ln of the factor c in δ(ε) <= c e^(-θε): the moment, and the best slope under max(0, 1 - e^-x)."""
        return self._cumulant(theta) + theta * math.log(theta) - (1 + theta) * math.log1p(theta)

    def _tilt(self, objective: Any) -> tuple[float, float]:
        found = optimize.minimize_scalar(
            lambda t: objective(math.exp(t)),
            bounds=(math.log(self._scale) - 7, math.log(self._scale) + 9),
            method="bounded",
        )
        return math.exp(found.x), float(found.fun)

    def _cumulant(self, theta: float) -> float:
        return sum(
            p.times * _log_sum(logs + theta * x)
            for p, logs, x in zip(self.parts, self._logs, self._places, strict=True)
        )

    def _tail(self, theta: float) -> _Tail:
        tilted, middle, variance = [], 0.0, 0.0
        for p, logs, x in zip(self.parts, self._logs, self._places, strict=True):
            weights = np.exp(logs + theta * x - _log_sum(logs + theta * x))
            mean = float(np.dot(weights, x))
            middle += p.times * mean
            variance += p.times * float(np.dot(weights, (x - mean) ** 2))
            tilted.append(weights)
        whole = self._cumulant(theta)
        rates = math.sqrt(-2 * math.log(_OUTSIDE) / max(variance, self.step**2)) * np.geomspace(1 / 16, 16, 25)
        ends = [
            [(self._cumulant(theta + sign * rate) - whole - math.log(_OUTSIDE)) / rate for rate in rates]
            for sign in (-1, 1)
        ]
        low = max(self.low, math.floor(-min(ends[0]) / self.step))
        high = min(self.high, math.ceil(min(ends[1]) / self.step))
        size = fft.next_fast_len(high - low + 1, real=True)
        product = np.ones(size // 2 + 1, np.complex128)
        for p, weights in zip(self.parts, tilted, strict=True):
            wrapped = np.bincount((p.low + np.arange(len(weights))) % size, weights, minlength=size)
            product *= fft.rfft(wrapped) ** p.times
        weights = np.maximum(np.roll(fft.irfft(product, size), -(low % size))[: high - low + 1], 0.0)
        places = np.arange(low, high + 1) * self.step
        factors = sum(p.times for p in self.parts) + 1
        # The logarithm of the moment is a sum of so many rounded ones, each of about this size.
        whole += 2.0**-50 * factors * (1 + theta * max(float(np.abs(x).max()) for x in self._places))
        with np.errstate(divide="ignore"):
            logs = np.log(weights) + whole - theta * places
        above = np.append(np.logaddexp.accumulate(logs[::-1])[::-1][1:], -np.inf)
        other = np.append(np.logaddexp.accumulate((logs - places)[::-1])[::-1][1:], -np.inf)
        reached = math.sqrt(min(size, 1 / -math.expm1(-2 * theta * self.step)))  # the norm of the weights e^(-θx)
        error = 2 * _OUTSIDE + 8 * (math.log2(size) + 1) * 2.0**-53 * factors * reached
        # Beyond a point the sums begin at the next one.
        # Far below ε the sums may be nothing but rounding times a huge factor; there the error alone is huge, too.
        above, other = np.minimum(above, _HUGE), np.minimum(other, _HUGE - places)
        scale = np.exp(np.minimum(whole - theta * (places + self.step), _HUGE))
        return _Tail(low, above, other, error * scale + 2.0**-51 * len(places) * np.exp(above))  # and rounding of sums


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))
