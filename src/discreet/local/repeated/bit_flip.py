"""d-bit flip: each device reports on d values only, one noisy bit each, and can repeat the same answer for life.

Ding, Kulkarni, Yekhanin, "Collecting Telemetry Data Privately" (2017), corrected: the whole budget at d = 1, one index
set per user, one stored response for all values outside it.
"""

import itertools
import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, Guarantee, IntArray, at_most, checks, jit, option
from discreet.errors import InvalidArgument
from discreet.local.estimates import Estimate
from discreet.local.mechanism import REPORT_EPSILON, VALUES, Mechanism, adds_up, within
from discreet.local.oracles.choices import Choices
from discreet.local.repeated import memo as _memo
from discreet.local.repeated.memo import Memo
from discreet.local.support import SupportLaw
from discreet.local.wire.bits import Layout, Rows, bits_for, check_ascending, packed_numbers, read_bits
from discreet.local.wire.counts import Counts
from discreet.local.wire.reports import Reports
from discreet.noise.hashing import Words
from discreet.noise.reports import BitFlipLaw

_MOST_BITS = 2**12
_FRESH = (
    "every user sends one report: r reports cost r times epsilon, and linked ones let the noise be averaged away",
)
_STORED = (
    "every report of a user is made with one client secret, which never leaves the device: a new secret, or another "
    "epsilon, domain or number of bits, is a new set of stored responses and a new budget",
    "the pattern of changes is not covered: over time a collector sees which rounds carry equal responses, and a "
    "response that changes says for certain that the value did",
    "HMAC-SHA256 and SipHash-2-4 cannot be told from random functions",
)


class BitFlip(Mechanism):
    """Report for d of the K values whether it is the one held, each answer flipped at random.

    Privacy
    -------
    Neighbours: any two values of one user. The index set does not depend on the value. Two values change at most two of
    the d answers, each by a ratio of e^(ε/2), or one answer by e^ε at d = 1: the ratio is exactly e^ε. Cost: ε per
    report. Fresh reports add up: r of them cost rε. A user of r different stored responses pays at most min(r, d + 1)·ε
    *given which rounds have equal responses*. No ε covers that pattern of changes (`change_visible`).

    Stored answers are 64-bit words under HMAC-SHA256 and SipHash-2-4, compared with a threshold rounded up: an answer
    is flipped with the exact probability, or up to 2^-64 more.

    Examples
    --------
    >>> m = BitFlip(epsilon=2, domain=["low", "mid", "high"], bits=2)
    >>> counts = m.aggregate(m.encode(["low"] * 700 + ["mid"] * 300, rng=1))
    >>> m.estimate(counts).count.round().tolist()
    [684.0, 288.0, -33.0]

    The same devices every day, with the same answer as long as the value stays the same:

    >>> m = BitFlip(epsilon=2, domain=["low", "mid", "high"], bits=2, memoised=True)
    >>> memo = Memo.draw(rng=1)
    >>> monday, tuesday = (m.encode(["low", "mid"], users=["ann", "bob"], memo=memo) for _ in range(2))
    >>> monday == tuesday
    True
    """

    NAME = "bit-flip"

    epsilon: float = REPORT_EPSILON
    domain: Any = replace(VALUES, details="Other values count as held by no one.")
    bits: int = option(
        default=1, low=1, help="Number d of values that a report contains, 1 to K.",
        details="More bits lower the variance at the same ε, and show more of the changes if responses are stored.",
    )  # fmt: skip
    memoised: bool = option(
        default=False, help="Store the responses, for repeated collection.",
        details=(
            "False: every report has new indices and fresh noise; for one report per user. True: the d + 1 responses "
            "of a user follow from the client's secret and never change."
        ),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = Choices.read(self.domain)
        self._set(domain=choices.domain, bits=self._within("bits", high=min(choices.size, _MOST_BITS)))

    @cached_property
    def choices(self) -> Choices:
        """The declared values."""
        return Choices(self.domain)

    @cached_property
    def randomiser(self) -> BitFlipLaw:
        return BitFlipLaw(self._exact, min(self.bits, 2), self.memoised, self.choices.size, self.bits)

    @cached_property
    def law(self) -> SupportLaw:
        return SupportLaw(self.randomiser.kept, self.randomiser.flipped, self.bits / self.choices.size)

    def epsilon_over(self, rounds: int, values: int = 1) -> float:
        """Return the cost of ``rounds`` reports of one user who holds ``values`` different values in them.

        Fresh reports add up. Stored ones cost once per response, of which there are d + 1, given the pattern of
        changes.

        Examples
        --------
        >>> BitFlip(1, 26, bits=2).epsilon_over(30), BitFlip(1, 26, bits=2, memoised=True).epsilon_over(30, values=10)
        (30.0, 3.0)
        """
        total = checks.whole("rounds", rounds, low=1)
        held = min(checks.whole("values", values, low=1), total)
        return float(self.epsilon) * (min(held, self.bits + 1) if self.memoised else total)

    def change_visible(self) -> float:
        """Return the probability that a stored response changes when the value does, averaged over pairs of values.

        Responses are equal if every answer is: with probability P² + Q² if both truths agree, 2PQ if they differ;
        P = 1 - Q is the probability of a true answer. Values outside the index set share one response.
        """
        size, taken = self.choices.size, self.bits
        alike, unlike = self.law.p**2 + self.law.q**2, 2 * self.law.p * self.law.q
        one = 1 - alike ** (taken - 1) * unlike
        both = 1 - alike ** (taken - 2) * unlike**2 if taken > 1 else 0.0
        pairs = size * (size - 1)
        neither, within = (size - taken) * (size - taken - 1) / pairs, taken * (taken - 1) / pairs
        return within * both + (1 - neither - within) * one

    @cached_property
    def guarantee(self) -> Guarantee:
        """The promise to every reporter."""
        return replace(super().guarantee, assumptions=_STORED if self.memoised else _FRESH)

    def _unit(self) -> str:
        if not self.memoised:
            return "one report of one user"
        most = float(self.epsilon) * (self.bits + 1)
        return (
            "one stored response of one user, however often it is sent; given which rounds carry equal responses, "
            f"all values of a lifetime cost at most epsilon {at_most(most)}"
        )

    @cached_property
    def _index_bits(self) -> int:
        """Bits of an index; 0 if reports contain all values."""
        return 0 if self.bits == self.choices.size else bits_for(self.choices.size)

    @cached_property
    def layout(self) -> Layout:
        """The indices, ascending, then one bit each; the bits alone if reports contain all values."""
        answers = ("answers", self.bits)
        return Layout((("indices", self.bits * self._index_bits), answers) if self._index_bits else (answers,))

    @cached_property
    def _context(self) -> bytes:
        facts = self.to_dict()
        return _memo.context(self.NAME, {name: facts[name] for name in ("epsilon", "domain", "bits")})

    def encode(self, values: Any, users: Any = None, *, memo: Memo | None = None, rng: object = None) -> Reports:
        """Randomise values on the devices.

        Parameters
        ----------
        values, rng
            As in other mechanisms.
        users : list or array, optional
            A key per report that identifies the user; on a device, any constant. Needed if ``memoised``, refused if
            not. A missing key counts as a new user.
        memo : Memo, optional
            With ``users``: the secret of the stored responses.
        """
        stream = noise.generator(rng)
        codes = self.choices.codes(values)
        if self.memoised:
            known = _memo.need(users, memo)
            people = known.users(users, stream)
            _memo.same_length(people, codes)
            indices, responses = self._stored(codes, people, known)
            answers = self._truth(codes, indices)
            self.randomiser.turn(responses[:, :16], self.bits, answers)
            return self._reports(indices, answers, seeded=stream.seeded or known.seeded)
        if users is not None or memo is not None:
            name, fix = ("users" if users is not None else "memo"), "BitFlip(..., memoised=True)"
            raise InvalidArgument(name, "given", "None: fresh reports remember nothing of a user", fix)
        indices = self.randomiser.chosen(len(codes), stream)
        answers = self._truth(codes, indices)
        answers ^= self.randomiser.draw(answers.shape, stream)
        return self._reports(indices, answers, seeded=stream.seeded)

    def responses(self, values: Any, users: Any, *, memo: Memo) -> Words:
        """Return the label of every report's stored response. For the device's own ledger; never send it."""
        known, codes = _memo.need(users, memo), self.choices.codes(values)
        people = known.users(users, noise.generator())
        _memo.same_length(people, codes)
        return _memo.labels(self._stored(codes, people, known)[1])

    def _stored(self, codes: IntArray, people: Words, memo: Memo) -> tuple[IntArray, Rows]:
        """Return every user's index set, and the key of the response to the value held.

        Values outside the set have the same answers, so they share one response.
        """
        personal = memo.personal(self._context, people)
        indices = self.randomiser.kept_choice(personal[:, 16:])
        inside = (indices == codes[:, None]).any(axis=1)
        seen = np.where(inside, codes, self.choices.size).astype(np.uint64)
        return indices, _memo.stored(personal, seen)

    def _truth(self, codes: IntArray, indices: IntArray) -> Rows:
        """Return the true answers, packed."""
        return np.packbits(indices == codes[:, None], axis=1, bitorder="little")

    def _reports(self, indices: IntArray, answers: Rows, *, seeded: bool) -> Reports:
        answers[:, -1] &= 255 >> (-self.bits % 8)  # coins are drawn in whole bytes
        named = {"indices": packed_numbers(indices, self._index_bits)} if self._index_bits else {}
        return Reports(self, self.layout.pack(**named, answers=answers), seeded=seeded)

    def report_law(self, value: Any) -> tuple[Rows, FloatArray]:
        size, taken = self.choices.size, self.bits
        sets = math.comb(size, taken)
        self._listable("bits", sets << taken)
        _, codes = self.choices.candidates([value])
        indices = np.array(list(itertools.combinations(range(size), taken)), np.int64)
        patterns = (np.arange(2**taken)[:, None] >> np.arange(taken)) & 1
        own, other = np.array([self.law.q, self.law.p]), np.array([self.law.p, self.law.q])
        chances = np.where((indices == codes[0])[:, None, :], own[patterns], other[patterns]).prod(axis=2) / sets
        answers = np.packbits(np.tile(patterns, (sets, 1)).astype(np.bool_), axis=1, bitorder="little")
        return self._reports(np.repeat(indices, 2**taken, axis=0), answers, seeded=False).rows, chances.ravel()

    def _zeros(self) -> dict[str, IntArray]:
        return {name: np.zeros(self.choices.size, np.int64) for name in ("asked", "ones")}

    @property
    def stores(self) -> bool:
        return self.memoised

    def possible(self, rows: Rows) -> BoolArray:
        good = self.layout.padded(rows)
        if self._index_bits:
            check_ascending(rows, self._index_bits, self.bits, self.choices.size, good)
        return good

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        _count_pairs(rows, self.bits, self._index_bits, counters["asked"], counters["ones"])

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return (
            adds_up(counters["asked"], n * self.bits)
            and within(counters["asked"], n)
            and within(counters["ones"])
            and within(counters["asked"] - counters["ones"])
        )

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        labels, codes = self.choices.candidates(candidates)
        asked, ones = (counts.counters[name][codes] for name in ("asked", "ones"))
        count = self.law.estimate(ones, asked)
        error = np.sqrt(self.variance(counts.n, np.clip(count, 0, counts.n)))
        return Estimate(labels, count, error, counts.n, counts.guarantee)

    def variance(self, n: int, f: Any = 0) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold: exact.

        (K/d)[n Q(1-Q)/(P-Q)² + f(1 - d/K)], P and Q the probabilities of a 1 for the value held and for another.
        Averaging over rounds of stored responses does not lower it: with up to r of the reports from one reporter, the
        variance is up to r times as large.
        """
        return self.law.variance(n, f)


@jit
def _count_pairs(rows: Any, n_taken: int, index_bits: int, asked: Any, ones: Any) -> None:
    """Add reports to the counters of the indices they speak of."""
    first = n_taken * index_bits
    for row in range(rows.shape[0]):
        for taken in range(n_taken):
            index = read_bits(rows, row, taken * index_bits, index_bits) if index_bits > 0 else taken
            asked[index] += 1
            ones[index] += (rows[row, (first + taken) >> 3] >> ((first + taken) & 7)) & 1
