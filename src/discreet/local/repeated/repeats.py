"""The privacy cost of repeated reports: fresh noise against stored responses.

Fresh noise adds up. A stored response costs once, but shows when the value changes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidType
from discreet.local.mechanism import Mechanism
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.rappor import Rappor


@dataclass(frozen=True)
class ChangeVisible:
    """The probability that a stored response changes when the value does.

    If neither value is in the user's index set, the response never changes.

    Attributes
    ----------
    one : float
        If one of the two values is in the index set.
    both : float
        If both are; 0 with one index only.
    average : float
        For a change between two different values, all equally likely.

    Examples
    --------
    >>> shows = change_visible(BitFlip(1, 4, memoised=True))
    >>> round(shows.one, 3), round(shows.average, 3)
    (0.607, 0.303)
    """

    one: float
    both: float
    average: float


def change_visible(mechanism: BitFlip) -> ChangeVisible:
    """Return the probability that a change of value shows in the stored responses of d-bit flip.

    Two stored responses are equal if every answer is. An answer comes out equal with probability P² + Q² if both truths
    agree, with 2PQ if they differ; P = 1 - Q is the probability of a true answer.

    Examples
    --------
    >>> round(change_visible(BitFlip(1, 26, bits=4, memoised=True)).average, 3)
    0.269
    """
    if not isinstance(mechanism, BitFlip):
        raise InvalidType("mechanism", type(mechanism).__name__, "a BitFlip", "mechanism=BitFlip(1, 26)")
    size, taken = mechanism.choices.size, mechanism.bits
    alike, unlike = mechanism.law.p**2 + mechanism.law.q**2, 2 * mechanism.law.p * mechanism.law.q
    one = 1 - alike ** (taken - 1) * unlike
    both = 1 - alike ** (taken - 2) * unlike**2 if taken > 1 else 0.0
    pairs = size * (size - 1)
    neither = (size - taken) * (size - taken - 1) / pairs
    within = taken * (taken - 1) / pairs
    return ChangeVisible(one, both, within * both + (1 - neither - within) * one)


@dataclass(frozen=True, eq=False)
class OverTime:
    """The privacy cost of linked reports of one user, round by round.

    Attributes
    ----------
    rounds : ndarray of int
        Numbers of reports.
    fresh : ndarray of float
        Their cost with fresh noise in each: rounds times ε.
    memoised : ndarray of float
        Their cost with stored responses, given in which rounds the value was the same.
    change_shows : float or None
        Probability that a change of value shows at once with stored responses, or a bound on it. No ε covers it. None
        if fresh noise on top hides it at first: it shows more clearly with more linked reports.

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
        """Return the largest certainty of an attacker for whom two histories were equally likely: e^ε/(1 + e^ε)."""
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
    """Compare the cost of fresh noise and of stored responses over time.

    Parameters
    ----------
    mechanism : Mechanism
        Any. Without memory, "stored" means that a device sends its one report of a value again.
    rounds : int or list of int
        Numbers of reports of one user.
    values : int, default 1
        How many different values the user holds in them.

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
