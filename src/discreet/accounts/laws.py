"""The distribution of the privacy loss of each kind of release, as weights on a grid, rounded to the safe side.

The loss of an outcome o is ln(P(o)/Q(o)) for the outputs P and Q of two neighbouring tables. Every price stands for a
*dominating pair*: δ(ε) = E_P[max(0, 1 - e^(ε - loss))] is at least that of the release at every ε. Sums of independent
losses of such pairs dominate the releases together (Zhu, Dong, Wang 2022). All pairs here are symmetric.

laplace, pure
    Loss +ε or -ε, the first with probability e^ε/(1 + e^ε). No ε-private release is worse (Kairouz, Oh, Viswanath
    2015), and a count with discrete Laplace noise of scale 1/ε has exactly this loss. With a δ, nothing is promised
    with probability δ.
randomised_response
    Loss +ε, 0 or -ε, if the value, a third one or the neighbour's is reported, among ``values``.
exponential
    The losses of one release are in [t - ε, t] for a t that the neighbours choose (Dong, Durfee, Rogers 2020). The
    worst t for each ε' is (ε + ε')/2, and δ(ε') = (e^(ε/2) - e^(ε'/2))²/(e^ε - 1) is the curve of a loss with the
    density e^((ε + x)/2) / (2(e^ε - 1)) on [-ε, ε].
gaussian
    Counts with discrete Gaussian noise of σ² = 1/(2ρ), one of which a row moves by one: loss (1 - 2z)ρ with the
    probability of z.
zcdp
    Only ρ is known: the lower convex hull of points of the conversion of `discreet.core.budget`. The ρ of several
    such releases are added up before.

A loss between two grid points is divided between them so that its weight under P *and* under Q is kept ("connecting
the dots", Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): δ(ε) is exact at the grid points, and between them its
chord, which is above, takes its place.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np

from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidArgument
from discreet.noise import DiscreteGaussian

Law = Literal["laplace", "gaussian", "exponential", "randomised_response", "pure", "zcdp"]
LAWS: tuple[Law, ...] = ("laplace", "gaussian", "exponential", "randomised_response", "pure", "zcdp")
#: Laws whose price is ρ; the others have an ε.
IN_RHO = ("gaussian", "zcdp")
#: Laws with two or three losses.
_FEW = ("laplace", "pure", "randomised_response")
#: Beyond this σ a discrete Gaussian has more outcomes than are worth listing and is taken as any release of that ρ.
LARGEST_SIGMA = 30_000
#: Standard deviations after which the outcomes of Gaussian noise count as a failure: less than one in 10^60.
_REACH = 17.0
#: `noise.exponential` draws with chances that are right up to e^(±2η), η = 3000 * 2^-53: losses span ε + 4η at most.
_INEXACT = 2e-12


@dataclass(frozen=True)
class Price:
    """The cost of one release, or of several of the same kind.

    Parameters
    ----------
    law : {"laplace", "gaussian", "exponential", "randomised_response", "pure", "zcdp"}
        Distribution of the noise, as far as it is known.
    epsilon : float or Fraction
        Its ε; left out for "gaussian" and "zcdp".
    rho : float or Fraction
        The ρ of those two.
    times : int, default 1
        Number of such releases.
    delta : float or Fraction, default 0
        For "pure": the δ of an (ε, δ) promise.
    values : int, default 2
        For "randomised_response": number of values.

    Examples
    --------
    >>> Price("laplace", 0.02, times=100)
    Price('laplace', epsilon=1/50, times=100)
    """

    law: Law
    epsilon: checks.Exact | None = None
    rho: checks.Exact | None = None
    times: int = 1
    delta: Fraction = Fraction(0)
    values: int = 2

    def __init__(
        self, law: str, epsilon: Any = None, *, rho: Any = None, times: int = 1, delta: Any = 0, values: int = 2
    ) -> None:
        kept = checks.choice("law", law, LAWS)
        name, amount, other = ("rho", rho, epsilon) if kept in IN_RHO else ("epsilon", epsilon, rho)
        if other is not None:
            wrong = "epsilon" if name == "rho" else "rho"
            raise InvalidArgument(wrong, other, f"left out for the law {kept!r}", f"Price({kept!r}, {name}=0.1)")
        share = checks.probability("delta", delta, closed=True)
        if share and kept != "pure":
            raise InvalidArgument("delta", delta, f"0 for the law {kept!r}", 'Price("pure", 1.0, delta=1e-6)')
        fields = {
            "law": kept,
            "epsilon": None if name == "rho" else checks.budget("epsilon", amount),
            "rho": checks.budget("rho", amount) if name == "rho" else None,
            "times": checks.whole("times", times, low=1, high=2**53),
            "delta": share,
            "values": checks.whole("values", values, low=2, high=2**62),
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @property
    def amount(self) -> checks.Exact:
        """ε or ρ, whichever the law is priced in."""
        return cast(checks.Exact, self.rho if self.law in IN_RHO else self.epsilon)

    @property
    def zcdp(self) -> checks.Exact:
        """The ρ of all its releases together; infinite with a δ.

        ε²/2 for an ε (Bun and Steinke 2016), ε²/8 for the exponential mechanism (Cesar and Rogers 2021).
        """
        if self.delta or self.amount == math.inf:
            return math.inf
        amount = Fraction(self.amount)
        if self.law not in IN_RHO:
            amount = amount * amount / (8 if self.law == "exponential" else 2)
        return amount * self.times

    def of_replacing(self) -> "Price":
        """Return the price where neighbours differ in one row that is *replaced*: one removed and one added.

        ε becomes 2ε and ρ becomes 4ρ; an (ε, δ) promise becomes (2ε, (1 + e^ε) δ). Counts with Gaussian noise become
        two such releases, because a row leaves one count and enters another. Randomised response stays as it is.
        """
        if self.law == "randomised_response":
            return self
        if self.law == "gaussian":
            return Price(self.law, rho=self.rho, times=2 * self.times)
        if self.law == "zcdp":
            return Price(self.law, rho=self.amount * 4, times=self.times)
        if not self.delta:
            return Price(self.law, self.amount * 2, times=self.times)
        growth = Fraction(math.exp(self.amount) * (1 + 1e-9)) if self.amount < 700 else Fraction(10**400)
        return Price(self.law, self.amount * 2, times=self.times, delta=min(Fraction(1), self.delta * (1 + growth)))

    def to_dict(self) -> dict[str, Any]:
        """Return the price as plain data, amounts as exact text."""
        fields: dict[str, Any] = {"law": self.law, "rho" if self.law in IN_RHO else "epsilon": str(self.amount)}
        if self.times > 1:
            fields["times"] = self.times
        if self.delta:
            fields["delta"] = str(self.delta)
        if self.values > 2:
            fields["values"] = self.values
        return fields

    def __repr__(self) -> str:
        fields = self.to_dict()
        return f"Price({fields.pop('law')!r}, {', '.join(f'{name}={value}' for name, value in fields.items())})"


@dataclass(frozen=True, eq=False)
class Loss:
    """The distribution of a privacy loss on the points ``(low + i) * step``; missing weight is an infinite loss."""

    low: int
    weights: FloatArray
    infinite: float
    times: int


def loss_law(price: Price, step: Fraction) -> Loss:
    """Return the loss of one release on the grid of multiples of ``step``."""
    amount = Fraction(price.amount)
    infinite = 0.0
    if price.law == "exponential":
        low, weights = _exponential(float(amount) + _INEXACT, float(step))
    elif price.law == "zcdp":
        losses, weights, infinite = _converted(float(amount))
        low, weights = _divided(losses / float(step), weights, float(step))
    else:
        places, weights = _few(amount, price.values) if price.law in _FEW else _gaussian(amount)
        if price.law == "gaussian":
            infinite = 1e-60
        ratio = amount / step
        if ratio.denominator == 1:
            low, weights = _laid(places * int(ratio), weights)
        else:
            low, weights = _divided(np.asarray(places * float(ratio), np.float64), weights, float(step))
    failing = float(price.delta) * (1 + 1e-15)
    return Loss(low, weights * (1 - failing), infinite + failing, price.times)


def _few(amount: Fraction, values: int) -> tuple[IntArray, FloatArray]:
    shrunk = math.exp(-float(amount))
    other = shrunk / (1 + (values - 1) * shrunk)
    true = 1 / (1 + (values - 1) * shrunk)
    return np.array([-1, 0, 1]), np.array([other, (values - 2) * other, true])


def _gaussian(rho: Fraction) -> tuple[IntArray, FloatArray]:
    sigma = math.sqrt(1 / (2 * float(rho)))
    reach = max(2, math.ceil(_REACH * sigma) + 1)
    z = np.arange(reach, -reach - 1, -1)  # losses rise as z falls
    return 1 - 2 * z, np.asarray(DiscreteGaussian(sigma).pmf(z))


def _exponential(epsilon: float, step: float) -> tuple[int, FloatArray]:
    """Divide the density e^((ε + x)/2) / (2(e^ε - 1)) on [-ε, ε] among the points, in closed form."""
    low = math.floor(-epsilon / step)
    high = math.ceil(epsilon / step)
    left = np.arange(low, high) * step
    start = np.maximum(left, -epsilon) - left
    stop = np.minimum(left + step, epsilon) - left
    # e^((ε + x)/2) / (e^ε - 1) without overflow
    base = np.exp((left - epsilon) / 2) / -math.expm1(-epsilon)
    weight = base * np.exp(start / 2) * np.expm1((stop - start) / 2)
    upper = 4 * base * np.sinh((stop + start) / 4) * np.sinh((stop - start) / 4) / -math.expm1(-step)
    upper = np.minimum(upper, weight)
    return low, np.append(weight - upper, 0.0) + np.append(0.0, upper)


def _converted(rho: float) -> tuple[FloatArray, FloatArray, float]:
    """Return losses and weights whose δ(ε) is the lower convex hull of points of the conversion from ρ-zCDP."""
    far = rho + 24 * math.sqrt(rho)
    right = np.linspace(0, far, 1201)
    order = 1 + np.maximum((right[:, None] - rho) / (2 * rho), 0.3 / math.sqrt(rho)) * np.geomspace(0.1, 10, 121)
    exponent = (order - 1) * (order * rho - right[:, None]) + order * np.log1p(-1 / order) - np.log(order - 1)
    bound = np.minimum(1.0, np.exp(exponent.min(axis=1)) * (1 + 1e-9))
    # The other direction's curve is the same, and δ(-ε) = 1 - e^(-ε) (1 - δ(ε)).
    losses = np.concatenate([-right[:0:-1], right])
    curve = np.concatenate([(-np.expm1(-right) + np.exp(-right) * bound)[:0:-1], bound])
    x, y = np.append(-1.0, np.expm1(losses)), np.append(1.0, curve)  # e^ε - 1: the differences of small ones are exact
    kept = [0]
    for i in range(1, len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    slopes = np.append(np.diff(y[kept]) / np.diff(x[kept]), 0.0)
    inner = np.array(kept[1:])
    return losses[inner - 1], np.exp(losses[inner - 1]) * np.diff(slopes), float(curve[-1])


def _laid(places: IntArray, weights: FloatArray) -> tuple[int, FloatArray]:
    """Put weights on grid points."""
    low = int(places.min())
    return low, np.bincount(places - low, weights).astype(np.float64, copy=False)


def _divided(places: FloatArray, weights: FloatArray, step: float) -> tuple[int, FloatArray]:
    """Divide weights between the two neighbouring grid points, keeping the sums of w and of w e^(-loss)."""
    below = np.floor(places).astype(np.int64)
    upper = np.minimum(weights * np.expm1(-(places - below) * step) / math.expm1(-step), weights)
    low, parts = _laid(np.append(below, below + 1), np.append(weights - upper, upper))
    return low, parts
