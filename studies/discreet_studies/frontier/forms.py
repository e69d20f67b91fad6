"""What is published, in three forms, and how it is read: by an attacker, and by somebody who wants to work with it.

A release answers the same questions whatever the model: how likely is it, with a record in the table against without,
given what the attacker knows (`scores`); how many rows are in a box (`counts`); give me rows to work with (`rows`);
and, where the release has rows, which one is a person's (`linked`) and what does a person's own row say (`own`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray
from discreet.local import consistent
from discreet_studies.frontier.people import People

#: An own noisy row lies farther away than this many times the noise's unit with a chance of 7 in 1,000: not looked at.
_REACH = 7.0
#: Pairs of points that an attack on noisy rows looks at, at most; of more, a part of what is known is taken.
_PAIRS = 12_500_000
_BLOCK = 2**19
#: Public records that the density of noisy rows is estimated from.
_SAMPLE = 1500
#: What an attacker adds to the public records of a cell: none seen does not mean that nobody could be there.
_UNSEEN = 0.25
#: Variance of a count that is exact, so that a quotient exists.
_EXACT = 0.02
_SMALL = 1e-300


@dataclass(frozen=True)
class Known:
    """What an attacker knows of the table beside the person in question.

    ``rows`` are all the other rows (``exact``; of the targets those that ``present`` names, each without himself), or
    public records of the same kind of people, each of which stands for ``scale`` rows.
    """

    rows: People
    exact: bool
    scale: float = 1.0
    targets: People | None = None
    present: BoolArray | None = None


class ReleasedForm(Protocol):
    """What a model publishes."""

    def scores(self, people: People, known: Known) -> FloatArray:
        """Return, for both sensitive values, the log likelihood ratio of each person's record: in against out."""

    def counts(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return how many rows lie in boxes of the three axes."""

    def rows(self, n: int, seed: int) -> People:
        """Return rows to work with."""

    def linked(self, people: People, places: IntArray) -> FloatArray:
        """Return the chance that an attacker who knows the quasi-identifiers picks the person's row."""

    def own(self, places: IntArray, people: People) -> FloatArray:
        """Return the log odds of the sensitive value that a person's own row adds; the row is known to be his."""


@dataclass(frozen=True)
class Cells:
    """Boxes of the three axes with a count each: a synopsis, the estimates of local reports, or anonymous cells.

    ``variances`` are those of the noise; 0 where counts are exact. ``row_like`` says whether there is a row per person,
    ``even_out`` whether a reader first moves the counts to the nearest ones that could be counts.
    """

    lower: FloatArray
    upper: FloatArray
    weights: FloatArray
    variances: FloatArray
    row_like: bool = False
    even_out: bool = False
    own_odds: Callable[[IntArray, People], FloatArray] | None = None

    def scores(self, people: People, known: Known) -> FloatArray:
        """Compare the count w of each person's cell with the count λ that is to be expected without him.

        With him it is one more. One who knows all the others knows λ; under noise of variance V the log ratio is then
        about (w - λ - 1/2)/V, whose sign is right for any symmetric noise. One who has public records takes λ from
        those in the cell. For an exact Poisson count the ratio is w/λ, and 1 + (w - λ - 1/2)/V for wide noise: both
        are 1 + (w - λ - c/2)/(λ + u + V) with u for what is not known of λ and c = V/(λ + u + V).
        """
        found = np.empty((len(people), 2))
        for value in (0, 1):
            asked = People(people.q, np.full(len(people), value)).places
            leaf = _holder(self.lower, self.upper, asked)
            low, high = self.lower[leaf], self.upper[leaf]
            counted = _inside(low, high, known.rows.places).sum(axis=1)
            noise_variance = self.variances[leaf]
            if known.exact:
                assert known.targets is not None
                assert known.present is not None
                fellows = _inside(low, high, known.targets.places) & known.present
                np.fill_diagonal(fellows, False)
                expected = counted + fellows.sum(axis=1)
                score = (self.weights[leaf] - expected - 0.5) / (noise_variance + _EXACT)
            else:
                expected = (counted + _UNSEEN) * known.scale
                variance = expected * (1 + known.scale) + noise_variance
                surplus = self.weights[leaf] - expected - noise_variance / variance / 2
                score = np.log(np.maximum(1 + surplus / variance, _SMALL))
            found[:, value] = np.where(leaf < 0, 0.0, score)
        return found

    def counts(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Take a count to be spread evenly over its box."""
        share = np.ones((len(low), len(self.lower)))
        for axis in range(3):
            overlap = np.minimum(high[:, axis, None], self.upper[:, axis]) - np.maximum(
                low[:, axis, None], self.lower[:, axis]
            )
            share *= np.clip(overlap, 0, None) / (self.upper[:, axis] - self.lower[:, axis])
        return np.asarray(share @ (self._possible() if self.even_out else self.weights))

    def _possible(self) -> FloatArray:
        return consistent(self.weights, max(1, round(float(self.weights.sum()))))

    def rows(self, n: int, seed: int) -> People:
        """Draw cells in proportion to their counts, moved to the nearest that could be counts, and evenly in them."""
        stream = noise.generator(seed)
        weights = self._possible()
        shares = np.cumsum(weights) / weights.sum()
        cell = np.minimum(np.searchsorted(shares, _uniform(n, stream), side="right"), len(shares) - 1)
        place = [self.lower[cell, a] + _uniform(n, stream) * (self.upper - self.lower)[cell, a] for a in range(3)]
        return People(np.column_stack(place[:2]), np.minimum(place[2], 1.999).astype(np.int64))

    def linked(self, people: People, places: IntArray) -> FloatArray:
        """Pick one row of the cell that holds the quasi-identifiers."""
        if not self.row_like:
            return np.full(len(people), np.nan)
        held = np.zeros(len(people))
        for value in (0, 1):
            held += self.weights[_holder(self.lower, self.upper, People(people.q, np.full(len(people), value)).places)]
        return np.asarray(1 / held)

    def own(self, places: IntArray, people: People) -> FloatArray:
        """Ask the reports, where there are any."""
        return np.full(len(people), np.nan) if self.own_odds is None else self.own_odds(places, people)


@dataclass(frozen=True)
class Points:
    """A noisy row per person: isotropic Laplace noise on the place, randomised response on the sensitive value."""

    z: FloatArray
    w: IntArray
    rate: float
    truth: float

    def scores(self, people: People, known: Known) -> FloatArray:
        """Take the likelihood ratio of all rows, (1/n) Σ f(z - x)/p(z): any of them may be the person's."""
        own = self._near(people.q)
        keep = np.array([[self.truth, 1 - self.truth], [1 - self.truth, self.truth]])
        z, w = self.z[own], self.w[own]
        theirs = np.exp(-self.rate * np.linalg.norm(people.q[:, None] - z[None], axis=2))
        part = known.rows[: min(_PAIRS // len(z), len(known.rows) if known.exact else _SAMPLE)]
        density = np.zeros(len(z))
        for value in (0, 1):
            sample = part.q[part.v == value]
            # All the others are known as they are; of a sample only a smooth picture is.
            width = self.rate if known.exact else min(self.rate, _widest(sample))
            mean = _kernel_sums(z, sample, width) * (width / self.rate) ** 2 / len(part)
            density += mean * keep[value, w]
        density = np.tile(density, (len(people), 1))
        if known.exact:
            assert known.targets is not None
            assert known.present is not None
            fellows = theirs * keep[known.targets.v][:, w] * known.present[:, None]
            density += np.clip(fellows.sum(axis=0) - fellows, 0, None) / len(known.rows)
        ratio = [(theirs * keep[value, w] / (density + _SMALL)).sum(axis=1) / len(self.z) for value in (0, 1)]
        return np.log(np.column_stack(ratio) + _SMALL)

    def _near(self, places: FloatArray) -> IntArray:
        """Return the rows that could be one of these people's: farther ones have next to no weight."""
        away = cKDTree(places).query(self.z)[0]
        found: IntArray = np.flatnonzero(away * self.rate < _REACH)
        return found if len(found) else np.argsort(away)[:1]

    def counts(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Count the rows, moved into the square, and the sensitive values less what randomised response adds."""
        here = np.clip(self.z, 0, 1 - 1e-12)
        within = np.ones((len(low), len(self.z)), bool)
        for axis in range(2):
            within &= (here[:, axis] >= low[:, axis, None]) & (here[:, axis] < high[:, axis, None])
        yes = (self.w - (1 - self.truth)) / (2 * self.truth - 1)
        share = np.clip(high[:, 2] - 1, 0, 1) - np.clip(low[:, 2] - 1, 0, 1)
        rest = np.clip(high[:, 2], 0, 1) - np.clip(low[:, 2], 0, 1)
        return np.asarray((within @ yes) * share + (within @ (1 - yes)) * rest)

    def rows(self, n: int, seed: int) -> People:
        """Return the rows as they are, moved into the square."""
        return People(np.clip(self.z, 0, 1), self.w)

    def linked(self, people: People, places: IntArray) -> FloatArray:
        """Pick the nearest row."""
        return np.asarray(cKDTree(self.z).query(people.q)[1] == places, np.float64)

    def own(self, places: IntArray, people: People) -> FloatArray:
        """Read the randomised response."""
        return np.asarray((2 * self.w[places] - 1) * (math.log(self.truth) - math.log1p(-self.truth)))


@dataclass(frozen=True)
class Raw:
    """The table itself."""

    people: People

    def scores(self, people: People, known: Known) -> FloatArray:
        """Look for the very record."""
        keys = [_key(People(people.q, np.full(len(people), value))) for value in (0, 1)]
        held = _key(self.people)
        found = np.column_stack([(k[:, None] == held).sum(axis=1) for k in keys]).astype(np.float64)
        if known.exact:
            assert known.targets is not None
            assert known.present is not None
            others, fellows = _key(known.rows), _key(known.targets)
            for value, k in enumerate(keys):
                same = (k[:, None] == fellows) & known.present
                np.fill_diagonal(same, False)
                found[:, value] -= (k[:, None] == others).sum(axis=1) + same.sum(axis=1)
        return np.asarray((found - 0.5) / _EXACT)

    def counts(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Count the rows."""
        return np.asarray(_inside(low, high, self.people.places).sum(axis=1), np.float64)

    def rows(self, n: int, seed: int) -> People:
        """Return the rows."""
        return self.people

    def linked(self, people: People, places: IntArray) -> FloatArray:
        """Pick one of the rows with these quasi-identifiers."""
        held = _key(People(self.people.q, np.zeros(len(self.people), np.int64)))
        asked = _key(People(people.q, np.zeros(len(people), np.int64)))
        return np.asarray(1 / (asked[:, None] == held).sum(axis=1))

    def own(self, places: IntArray, people: People) -> FloatArray:
        """Read it."""
        return np.asarray((2 * self.people.v[places] - 1) / _EXACT)


def _uniform(n: int, stream: noise.Generator) -> FloatArray:
    return np.asarray(noise.below(2**53, size=n, rng=stream) / 2**53)


def _inside(low: FloatArray, high: FloatArray, rows: FloatArray) -> BoolArray:
    """Return which rows lie in which boxes; the square's upper end belongs to the last one."""
    within = np.ones((len(low), len(rows)), bool)
    for axis in range(low.shape[1]):
        x = np.minimum(rows[:, axis], 1 - 1e-12) if axis < 2 else rows[:, axis]
        within &= (x >= low[:, axis, None]) & (x < high[:, axis, None])
    return within


def _holder(lower: FloatArray, upper: FloatArray, asked: FloatArray) -> IntArray:
    """Return the box that holds each place; -1 where none is listed."""
    found = np.full(len(asked), -1)
    box, place = np.nonzero(_inside(lower, upper, asked))
    found[place] = box
    return found


def _widest(sample: FloatArray) -> float:
    """Return the rate of the finest kernel that a sample can bear: m^(-1/(d + 4)) standard deviations (Scott 1992)."""
    spread = float(np.sqrt(sample.var(axis=0).mean()))
    return float(math.sqrt(3) * len(sample) ** (1 / 6) / spread)


def _kernel_sums(z: FloatArray, sample: FloatArray, rate: float) -> FloatArray:
    """Return Σ_j exp(-rate |z_i - x_j|); single precision is plenty for a ratio."""
    found = np.empty(len(z))
    x, y = np.ascontiguousarray(sample.T * rate, np.float32)
    size = max(1, _BLOCK // max(len(sample), 1))
    for start in range(0, len(z), size):
        here = (z[start : start + size] * rate).astype(np.float32)
        gap = (here[:, 0, None] - x) ** 2
        gap += (here[:, 1, None] - y) ** 2
        np.sqrt(gap, out=gap)
        np.negative(gap, out=gap)
        found[start : start + size] = np.exp(gap, out=gap).sum(axis=1)
    return found


def _key(people: People) -> IntArray:
    """Return one number for equal records."""
    steps = np.rint(people.q * 240_000).astype(np.int64)
    return np.asarray((steps[:, 0] * 240_001 + steps[:, 1]) * 2 + people.v)
