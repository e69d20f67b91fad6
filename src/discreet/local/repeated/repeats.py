"""What repeats cost: the same user reporting again and again, with fresh noise or with stored responses.

Fresh noise adds up: T reports cost Tε, and whoever can link them averages the noise away. Stored responses stop that,
at a price of their own: a collector who can link them sees when they change (spec local-sketches, B1, C.12.5, C.13). A
device keeps count in a `ReportLedger` and stops when it is used up.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidType
from discreet.local.mechanism import Mechanism
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.rappor import Rappor
from discreet.local.repeated.report_ledger import ReportLedger

__all__ = ["ChangeVisible", "OverTime", "ReportLedger", "change_visible", "over_time", "rappor_epsilon"]


def rappor_epsilon(reports: float, *, f: Any, p: Any, q: Any, hashes: int = 2, bits: int = 128) -> float:
    """Return what ``reports`` reports of one value cost in RAPPOR, exactly: ε₁ for one, ε∞ for ``math.inf``.

    Parameters
    ----------
    reports : int or math.inf
        Reports that share one permanent response.
    f, p, q : float
        The chances of `Rappor`.
    hashes, bits : int
        Of the Bloom filter; the bits matter only where there are fewer than twice the hashes.

    Returns
    -------
    float
        In natural logarithms.

    Examples
    --------
    >>> [round(rappor_epsilon(t, f=0.5, p=0.5, q=0.75), 3) for t in (1, 2, 5, 50, math.inf)]
    [1.074, 2.017, 3.656, 4.394, 4.394]
    """
    number = reports if reports == math.inf else checks.whole("reports", reports)
    return Rappor(f, p, q, bits, hashes, cohorts=1, key=0).law.cost(number)


@dataclass(frozen=True)
class ChangeVisible:
    """The chance that a stored response changes when the value does.

    Attributes
    ----------
    outside : float
        Neither value is in the user's index set.
    one : float
        One of them is.
    both : float
        Both are; 0 where there is one index only.
    average : float
        A change between two different values, all equally likely.

    Examples
    --------
    >>> shows = change_visible(BitFlip(1, 4, memoised=True))
    >>> shows.outside, round(shows.one, 3), round(shows.average, 3)
    (0.0, 0.607, 0.303)
    """

    outside: float
    one: float
    both: float
    average: float


def change_visible(mechanism: BitFlip, *, shared: bool = True) -> ChangeVisible:
    """Return the chance that a change of value shows in the stored responses of d-bit flip.

    Two stored responses are equal if every answer is. An answer of which both truths are alike comes out equal with
    probability P² + Q², one of which they differ with 2PQ, P = 1 - Q being the chance of a true answer (spec C.13.2).

    Parameters
    ----------
    mechanism : BitFlip
    shared : bool, default True
        True: all values outside the index set share one response, as `BitFlip` has it. False shows what one response
        per value would give away.

    Examples
    --------
    >>> round(change_visible(BitFlip(1, 26, bits=4, memoised=True)).average, 3)
    0.269
    >>> round(change_visible(BitFlip(1, 26, bits=4, memoised=True), shared=False).average, 3)
    0.924
    """
    if not isinstance(mechanism, BitFlip):
        raise InvalidType("mechanism", type(mechanism).__name__, "a BitFlip", "mechanism=BitFlip(1, 26)")
    size, taken = mechanism.choices.size, mechanism.bits
    alike, unlike = mechanism.law.p**2 + mechanism.law.q**2, 2 * mechanism.law.p * mechanism.law.q
    outside = 0.0 if shared else 1 - alike**taken
    one = 1 - alike ** (taken - 1) * unlike
    both = 1 - alike ** (taken - 2) * unlike**2 if taken > 1 else 0.0
    pairs = size * (size - 1)
    neither = (size - taken) * (size - taken - 1) / pairs
    within = taken * (taken - 1) / pairs
    return ChangeVisible(outside, one, both, neither * outside + within * both + (1 - neither - within) * one)


@dataclass(frozen=True, eq=False)
class OverTime:
    """What linked reports of one user give away, round by round.

    Attributes
    ----------
    rounds : ndarray of int
        Numbers of reports.
    fresh : ndarray of float
        What they cost with fresh noise in each: rounds times ε.
    memoised : ndarray of float
        What they cost with stored responses, given in which rounds the value was the same.
    change_shows : float or None
        Chance that a change of value shows at once with stored responses, or a bound on it. No ε covers it. None where
        fresh noise on top hides it at first: it shows the more clearly, the more linked reports there are.

    Examples
    --------
    >>> table = over_time(BitFlip(1, 26, bits=2, memoised=True), [1, 7, 30], values=2)
    >>> table.fresh.tolist(), table.memoised.tolist()
    ([1.0, 7.0, 30.0], [1.0, 2.0, 2.0])
    >>> table.certainty("memoised").round(3).tolist()
    [0.731, 0.881, 0.881]
    """

    rounds: IntArray
    fresh: FloatArray
    memoised: FloatArray
    change_shows: float | None

    def certainty(self, which: str = "fresh") -> FloatArray:
        """Return how sure an attacker can be at most who thought two histories equally likely: e^ε/(1 + e^ε).

        Parameters
        ----------
        which : {"fresh", "memoised"}
        """
        cost = getattr(self, checks.choice("which", which, ("fresh", "memoised")))
        return np.asarray(1 / (1 + np.exp(-cost)))

    def to_arrow(self) -> pa.Table:
        """Return a table: rounds, both costs, and both certainties."""
        columns = {"rounds": self.rounds, "fresh": self.fresh, "memoised": self.memoised}
        return pa.table({**columns, **{f"certainty_{w}": self.certainty(w) for w in ("fresh", "memoised")}})

    def __str__(self) -> str:
        head = f"{'rounds':>8}  {'fresh ε':>10}  {'stored ε':>10}  {'surest, fresh':>14}  {'surest, stored':>14}"
        lines = [
            f"{t:>8}  {a:>10.4g}  {b:>10.4g}  {c:>14.4f}  {d:>14.4f}"
            for t, a, b, c, d in zip(
                self.rounds, self.fresh, self.memoised, self.certainty("fresh"), self.certainty("memoised"), strict=True
            )
        ]
        shows = "a change of value shows in the end, if many reports can be linked"
        if self.change_shows is not None:
            shows = f"a change of value shows with probability {self.change_shows:.3g} or less"
        return "\n".join([head, *lines, f"{shows}; no ε covers that"])


def over_time(mechanism: Mechanism, rounds: Any, values: int = 1) -> OverTime:
    """Compare what fresh noise and stored responses give away over time.

    Parameters
    ----------
    mechanism : Mechanism
        Any. For those without memory, "stored" means that a device keeps the one report it made of a value and sends
        it again.
    rounds : int or list of int
        Numbers of reports of one user.
    values : int, default 1
        How many different values the user holds in them.

    Returns
    -------
    OverTime

    Examples
    --------
    >>> print(over_time(Rappor(0.5, 0.5, 0.75, key=1), [1, 5, 50]))
      rounds     fresh ε    stored ε   surest, fresh  surest, stored
           1       1.074       1.074          0.7454          0.7454
           5       5.371       3.656          0.9954          0.9748
          50       53.71       4.394          1.0000          0.9878
    a change of value shows in the end, if many reports can be linked; no ε covers that
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidType("mechanism", type(mechanism).__name__, "a local mechanism", "mechanism=BitFlip(1, 26)")
    listed = [rounds] if np.ndim(rounds) == 0 else list(rounds)
    times = [checks.whole("rounds", t, low=1) for t in listed]
    held = checks.whole("values", values, low=1)
    epsilon, shows = float(mechanism.epsilon), None
    if isinstance(mechanism, Rappor):
        stored = [mechanism.epsilon_over(t, held) for t in times]
    elif isinstance(mechanism, BitFlip):
        stored = [epsilon * min(held, t, mechanism.bits + 1) for t in times]
        shows = change_visible(mechanism).average
    else:
        stored, shows = [epsilon * min(held, t) for t in times], 1.0
    fresh = [epsilon * t for t in times]
    return OverTime(np.array(times, np.int64), np.array(fresh), np.array(stored, np.float64), shows)
