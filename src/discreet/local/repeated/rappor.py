"""RAPPOR: a Bloom filter of the value, randomised once for life and once more for every report.

Erlingsson, Pihur, Korolova, "RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response" (CCS 2014). For
strings that are collected again and again: the permanent response limits what a lifetime of reports reveals about one
value.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import Budget, FloatArray, Guarantee, IntArray, at_most, checks, option
from discreet.errors import InvalidArgument
from discreet.local.mechanism import KEY, LARGEST_EPSILON, Mechanism, adds_up, rows_within
from discreet.local.repeated import memo as _memo
from discreet.local.repeated.memo import Memo
from discreet.local.repeated.rappor_decoding import RapporEstimate, system
from discreet.local.repeated.rappor_law import RapporLaw, solve
from discreet.local.repeated.rappor_lists import LEAST_COHORTS, MOST_SOLVED, decode_list
from discreet.local.sketches.base import add_vectors
from discreet.local.support import asked
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.local.wire.counts import Counts
from discreet.local.wire.reports import Reports
from discreet.noise import Generator, HashFamily
from discreet.noise.hashing import Words

#: Three values hash independently, however many hashes a filter has (one hash must not mean a constant one).
_INDEPENDENCE = 3
#: Chances on a grid of 10^-12 cannot spend less with any precision.
_LEAST_BUDGET = Fraction(1, 1000)
_RATIONAL = re.compile(r"\d{1,60}(/\d{1,60})?")


class Rappor(Mechanism):
    """Report a Bloom filter of the value, each bit randomised permanently (f), then afresh in every report (p, q).

    Privacy
    -------
    Neighbours: any two values of one user. Two values differ in at most h Bloom bits each way. One report costs exactly
    ε₁ = h ln [q*(1-p*)/(p*(1-q*))] with natural logarithms, q* = (1-f/2)q + (f/2)p and p* = (1-f/2)p + (f/2)q. All
    reports of a user about *one* value share the permanent response and cost at most ε∞ = 2h ln((1-f/2)/(f/2))
    together; T of them cost ``epsilon_over(T)``. A user with r values over time pays up to r times that, given when
    they change: the pattern of changes is not covered. The cohort is drawn once per user, independently of the value.

    Permanent bits follow from the client's secret (see `Memo`): 64-bit words under HMAC-SHA256 and SipHash-2-4,
    compared with the least threshold T such that T/2^64 >= f/2. A bit is thus flipped with probability f/2 or up to
    2^-64 more, never less. Bits of a report are exact coins.

    Examples
    --------
    >>> m = Rappor.from_budget(epsilon_lifetime=4, epsilon_report=1.5, cohorts=8, key=7)
    >>> round(m.epsilon, 6), round(m.epsilon_lifetime, 6), m.report_bits
    (1.5, 4.0, 131)
    >>> values = ["cat"] * 6000 + ["dog"] * 3000 + ["emu"] * 1000
    >>> reports = m.encode(values, users=range(10_000), memo=Memo.draw(rng=1), rng=1)
    >>> found = m.estimate(m.aggregate(reports), ["cat", "dog", "fox"])
    >>> found.significant().candidates
    ['cat', 'dog']
    >>> bool(abs(found.unlisted - 1000) < 3 * found.unlisted_error)
    True
    """

    NAME = "rappor"
    ASSUMES = (
        "every report of a user is made with one client secret, which never leaves the device: a new secret, or new "
        "f, bits, hashes, cohorts or key, is a new permanent response and a new lifetime budget",
        "a user holds one value: r values over time cost up to r times the lifetime budget, given when they change",
        "the pattern of changes is not covered: enough linked reports show that a value changed",
        "HMAC-SHA256 and SipHash-2-4 cannot be told from random functions",
    )

    f: Any = option(
        example=0.5, help="A permanent bit is flipped with probability f/2; 0 <= f < 1.",
        details="With f = 0 there is no lifetime bound. A rational may be given as text, \"1/3\".",
    )  # fmt: skip
    p: Any = option(example=0.5, help="Probability of a 1 in a report if the permanent bit is 0.")
    q: Any = option(example=0.75, help="Probability of a 1 in a report if the permanent bit is 1.")
    bits: int = option(default=128, low=2, high=2**16, help="Number of bits of the Bloom filter.")
    hashes: int = option(
        default=2, low=1, high=64, help="Number of bits that a value sets.",
        details="Both budgets are proportional to it.",
    )  # fmt: skip
    cohorts: int = option(
        default=64, low=1, high=2**16, help="Number of groups with their own hash functions.",
        details=(
            "A user belongs to one for life, so fewer are better for anonymity. Long lists of candidates "
            "need at least 16."
        ),
    )  # fmt: skip
    key: Any = KEY

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(**{name: _rational(name, getattr(self, name)) for name in ("f", "p", "q")})
        if self.f == 1:
            raise InvalidArgument("f", 1, "below 1: else a report says nothing", "f=0.5")
        if self.p == self.q:
            raise InvalidArgument("q", float(self.q), "different from p: else a report says nothing", "q=0.75")
        ends = {self.law.p_star, self.law.q_star}
        if min(ends) == 0 or max(ends) == 1:
            raise InvalidArgument("f", 0, "positive where p or q is 0 or 1: else a report can be certain", "f=0.5")
        if self.law.epsilon > LARGEST_EPSILON:
            expected = f"such that a report costs at most epsilon {LARGEST_EPSILON}"
            raise InvalidArgument("hashes", self.hashes, expected, "hashes=2")

    @classmethod
    def from_budget(
        cls, *, epsilon_lifetime: float, epsilon_report: float, bits: int = 128, hashes: int = 2, **rest: Any
    ) -> Rappor:
        """Choose f, p and q with the least noise for two budgets: all reports of one value, and one report.

        Parameters
        ----------
        epsilon_lifetime, epsilon_report : float
            ε∞ and ε₁, from 0.001 to 200; a report cannot cost more than a lifetime. f, p and q are multiples of 10^-12,
            so a little of the budgets may be left.
        bits, hashes, cohorts, key
            As for the class; ``bits`` at least twice ``hashes``.

        Examples
        --------
        >>> m = Rappor.from_budget(epsilon_lifetime=2, epsilon_report=0.5)
        >>> round(float(m.f), 4), round(float(m.p), 4), round(float(m.q), 4)
        (0.7551, 0.3429, 0.5969)
        """
        budgets = {"epsilon_lifetime": epsilon_lifetime, "epsilon_report": epsilon_report}
        for name, value in budgets.items():
            if not _LEAST_BUDGET <= checks.positive(name, value) <= LARGEST_EPSILON:
                raise InvalidArgument(name, value, f"from {float(_LEAST_BUDGET)} to {LARGEST_EPSILON}", f"{name}=1.0")
        life, once = map(float, budgets.values())
        if once > life:
            raise InvalidArgument(
                "epsilon_report", once, f"at most epsilon_lifetime, {life:g}", f"epsilon_report={life / 2:g}"
            )
        size, functions = cls.declared["bits"].read(bits), cls.declared["hashes"].read(hashes)
        if size < 2 * functions:
            raise InvalidArgument("bits", size, f"at least twice hashes, {2 * functions}", f"bits={64 * functions}")
        law = solve(life, once, bits=size, hashes=functions)
        return cls(law.f, law.p, law.q, size, functions, **rest)

    @cached_property
    def law(self) -> RapporLaw:
        return RapporLaw(self.f, self.p, self.q, self.bits, self.hashes)

    @cached_property
    def epsilon(self) -> float:
        """ε₁, the cost of one report."""
        return Budget(self.law.epsilon)

    @cached_property
    def epsilon_lifetime(self) -> float:
        """ε∞, the most that all reports of one value of one user can cost; infinite if f = 0."""
        return self.law.cost(math.inf)

    def epsilon_over(self, rounds: int, values: int = 1) -> float:
        """Return the cost of ``rounds`` reports of one user who holds ``values`` different values in them.

        Reports of one value share a permanent response; those of different values add up. An even division of the
        rounds costs most.

        Examples
        --------
        >>> m = Rappor(0.5, 0.5, 0.75, key=1)
        >>> [round(m.epsilon_over(t), 3) for t in (1, 2, 5, 50, 10**6)], round(m.epsilon_over(50, values=3), 3)
        ([1.074, 2.017, 3.656, 4.394, 4.394], 13.164)
        """
        total = checks.whole("rounds", rounds, low=1)
        parts = min(checks.whole("values", values, low=1), total)
        each, more = divmod(total, parts)
        return more * self.law.cost(each + 1) + (parts - more) * self.law.cost(each)

    def _unit(self) -> str:
        life = self.epsilon_lifetime
        bound = f"at most epsilon {at_most(life)}" if math.isfinite(life) else "without bound (f = 0)"
        return f"one report of one user; all reports of one value of one user cost together {bound}"

    @cached_property
    def lifetime(self) -> Guarantee:
        """The promise for all reports of a user about one value."""
        whole = Guarantee.of_law(self.law.permanent, model="local")
        return replace(self.guarantee, ledger=whole.ledger, unit="all reports of one value of one user")

    @cached_property
    def family(self) -> HashFamily:
        """The hash functions: ``hashes`` of them per cohort, cohort by cohort."""
        return HashFamily(self.cohorts * self.hashes, self.bits, key=self.key, independence=_INDEPENDENCE)

    @cached_property
    def layout(self) -> Layout:
        """The bits, then the cohort."""
        return Layout((("bits", self.bits), ("cohort", bits_for(self.cohorts))))

    @cached_property
    def _context(self) -> bytes:
        # Not p and q: they may change without a new permanent response.
        fixed = {name: self.to_dict()[name] for name in ("f", "bits", "hashes", "cohorts", "key")}
        return _memo.context(self.NAME, fixed)

    def encode(self, values: Any, users: Any = None, *, memo: Memo | None = None, rng: object = None) -> Reports:
        """Randomise values on the devices.

        Parameters
        ----------
        values, rng
            As in other mechanisms: whole numbers, text or bytes; the source of the fresh noise.
        users : list or array
            A key per report that identifies the user; on a device, any constant. A missing key counts as a new user.
        memo : Memo
            The secret of the permanent responses: the device's own, or one for all in a simulation.
        """
        known, stream = _memo.need(users, memo), noise.generator(rng)
        cohorts, permanent, _ = self._permanent(values, users, known, stream)
        rows = self.layout.pack(bits=self.law.draw(permanent, stream), cohort=cohorts)
        return Reports(self, rows, seeded=stream.seeded or known.seeded)

    def responses(self, values: Any, users: Any, *, memo: Memo) -> Words:
        """Return the label of every report's permanent response. For the device's own ledger; never send it."""
        return self._permanent(values, users, _memo.need(users, memo), noise.generator())[2]

    def _permanent(self, values: Any, users: Any, memo: Memo, stream: Generator) -> tuple[IntArray, Rows, Words]:
        """Return cohorts, packed permanent bits, and the labels of the responses."""
        people, words = memo.users(users, stream), noise.fingerprint(values, self.key)
        _memo.same_length(people, words)
        personal = memo.personal(self._context, people)
        cohorts = self.law.cohorts(personal[:, 16:], self.cohorts)
        responses = _memo.stored(personal, words)
        rows = self._filter(values, cohorts)
        self.law.turn(responses[:, :16], rows)
        return cohorts, rows, _memo.labels(responses)

    def _filter(self, values: Any, cohorts: IntArray) -> Rows:
        """Return packed Bloom filters."""
        rows = np.zeros((len(cohorts), -(-self.bits // 8)), np.uint8)
        every = np.arange(len(cohorts))
        for number in range(self.hashes):
            bucket = self.family(values, cohorts * self.hashes + number)
            rows[every, bucket >> 3] |= (1 << (bucket & 7)).astype(np.uint8)
        return rows

    def report_law(self, value: Any) -> tuple[Rows, FloatArray]:
        self._listable("bits", self.cohorts << self.bits)
        patterns = np.arange(2**self.bits)
        sent = (patterns[:, None] >> np.arange(self.bits)) & 1
        cohorts = np.arange(self.cohorts)
        held = np.unpackbits(self._filter([value] * self.cohorts, cohorts), axis=1, bitorder="little")[:, : self.bits]
        one = np.where(held, float(self.law.q_star), float(self.law.p_star))
        zero = np.where(held, float(1 - self.law.q_star), float(1 - self.law.p_star))
        chances = np.where(sent[None], one[:, None], zero[:, None]).prod(axis=2) / self.cohorts
        packed = patterns.astype("<u4").view(np.uint8).reshape(-1, 4)[:, : -(-self.bits // 8)]
        rows = self.layout.pack(bits=np.tile(packed, (self.cohorts, 1)), cohort=np.repeat(cohorts, len(patterns)))
        return rows, chances.ravel()

    def _zeros(self) -> dict[str, IntArray]:
        return {"reports": np.zeros(self.cohorts, np.int64), "ones": np.zeros((self.cohorts, self.bits), np.int64)}

    @property
    def stores(self) -> bool:
        return True

    @property
    def _limits(self) -> dict[str, int]:
        return {"cohort": self.cohorts}

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        cohorts = self.layout.unpack(rows, "cohort")
        add_vectors(rows, cohorts, self.bits, counters["ones"], counters["reports"])

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return adds_up(counters["reports"], n) and rows_within(counters["ones"], counters["reports"])

    def _estimate(self, counts: Counts, candidates: Any) -> RapporEstimate:
        labels = asked(candidates)
        if not counts.n:
            nothing = np.zeros(len(labels))
            return RapporEstimate(labels, nothing, nothing.copy(), 0, counts.guarantee)
        n, counted = counts.n, (counts.counters["reports"], counts.counters["ones"])
        cohorts, stability = int(np.count_nonzero(counted[0])), None
        if len(labels) > min(self.bits * cohorts // 2, MOST_SOLVED) and cohorts >= LEAST_COHORTS:
            share, error, rest, rest_error, stability = decode_list(self.law, self.family, labels, *counted)
        else:
            shares, errors = system(self.law, self.family, labels, *counted).fit()
            share, rest, error, rest_error = shares[:-1], shares[-1], errors[:-1], errors[-1]
        found = RapporEstimate(labels, n * share, n * error, n, counts.guarantee, stability=stability)
        return replace(found, unlisted=float(n * rest), unlisted_error=float(n * rest_error))

    def variance(self, n: int, f: Any = 0, *, candidates: int = 1) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold.

        Averaged over hash keys, for candidates that make up most of the reporters, to leading order in 1/(CB) of C
        cohorts and B bits. φ is the probability that a value sets a bit; v₁ and v₀ are the variances of a reported bit
        that a share φ + (1-φ)f/n or φ(1 - f/n) of the reporters set:

            Var = n [(1-φ) v₁ + φ v₀]/((q*-p*)² B φ(1-φ)) / (1 - candidates/(CB)) + (n - f)/(B - 1).

        The last term is the random split into cohorts.
        """
        one, zero = self.law.variances()
        phi, share = self.law.filled, np.asarray(f) / n

        def bit(held: Any) -> Any:
            return held * one + (1 - held) * zero

        spread = (1 - phi) * bit(phi + (1 - phi) * share) + phi * bit(phi * (1 - share))
        room = 1 - candidates / (self.cohorts * self.bits)
        noisy = n * spread / (self.law.gap**2 * self.bits * phi * (1 - phi) * room)
        return noisy + (n - np.asarray(f)) / (self.bits - 1)


def _rational(name: str, value: object) -> Fraction:
    """Read a probability: a number, or a rational as text."""
    if isinstance(value, str):
        if not _RATIONAL.fullmatch(value) or value.endswith("/0"):
            raise InvalidArgument(name, value, "a number from 0 to 1, or a rational as text", f"{name}='1/2'")
        value = Fraction(value)
    return checks.probability(name, value, closed=True)
