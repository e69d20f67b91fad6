"""Attribute attacks: one column of a person whose other columns are known."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet import noise
from discreet.core import Categorical, FloatArray, checks
from discreet.errors import InvalidArgument
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.laws import LawSpace, records
from discreet.evaluation.attacks.pairs import portions, stranger_density, unlinked
from discreet.evaluation.attacks.reconstruction import GuessResult
from discreet.evaluation.attacks.roc import ScoredAttack
from discreet.synopses import Synopsis

#: Candidate values of the secret between the ends of the public records.
_VALUES = 256
_BLOCK = 2**21


def attribute_attack(
    artifact: Any, originals: Any, control: Any, *, column: int | str, reference: Any, metric: Any = None,
    rate: Any = None, linked: bool = True, within: float | None = None, confidence: float = 0.95,
    random_state: Any = None,
) -> GuessResult:  # fmt: skip
    """Guess one column of people whose other columns are known.

    Parameters
    ----------
    artifact : array of shape (n, d), or Synopsis
        The released points, or a synopsis.
    originals, control : array of shape (n, d), (k, d)
        Records in the release and records that are not. For a synopsis in the coordinates of its domain, where category
        number i is i. The attack sees all columns but one.
    column : int or str
        The secret column: its number, or its name in the domain of the synopsis.
    reference : array of shape (m, d)
        Public records of the same kind of people.
    metric, rate, confidence, random_state
        See `membership_attack`; the first two are for points only.
    linked : bool, default True
        True if the attacker knows which point belongs to whom (points are in the order of the originals). People of the
        control get somebody else's point. Otherwise any point may be theirs.
    within : float, optional
        A guess this near is a success, in the scaled space for points. By default half the mean error of the guess from
        public records alone. A category must be right.

    Notes
    -----
    Points: a kernel estimate of the secret from the public records is multiplied by the density of the noise at the
    person's point or, unlinked, by the likelihood ratio of all points. The guess is the median of the posterior. For a
    synopsis, leaves over the known columns count in proportion to their density there.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others, public = rng.random((3, 300, 2))
    >>> found = attribute_attack(people, people, others, column=1, reference=public, rate=1e3, random_state=1)
    >>> found.attack.value > 0.95, found.control.value < 0.5
    (True, True)
    """
    level = float(checks.probability("confidence", confidence))
    stream = noise.generator(random_state, "random_state")
    truth = records("originals", originals, least=2)
    outside = records("control", control, truth.shape[1], least=2)
    public = records("reference", reference, truth.shape[1], least=4)
    held = artifact if isinstance(artifact, Synopsis) else getattr(artifact, "synopsis_", None)
    if isinstance(held, Synopsis) and isinstance(column, str):
        secret = held.domain.position(column)
    else:
        secret = checks.whole("column", column, low=0, high=truth.shape[1] - 1)
    if isinstance(held, Synopsis):
        hidden = held.domain.columns[secret]
        labels = len(hidden.categories) if isinstance(hidden, Categorical) else 0
        people, others, known = truth, outside, public
        prior = SecretPrior.of(known, secret, labels)
        guess: tuple[FloatArray, ...] = _from_synopsis(
            held, secret, np.delete(truth, secret, 1), np.delete(outside, secret, 1), labels
        )
    else:
        labels = 0
        space = LawSpace.of(metric, rate, truth.shape[1])
        people, others, known = space.scale(truth), space.scale(outside), space.scale(public)
        points = space.scale(records("artifact", artifact, truth.shape[1], least=2))
        prior = SecretPrior.of(known, secret, labels)
        seen = np.delete(people, secret, 1), np.delete(others, secret, 1)
        if linked:
            if len(points) != len(people):
                raise InvalidArgument(
                    "artifact", f"{len(points)} rows", f"one point for each of {len(people)} originals"
                )
            lent = noise.below(len(points), size=len(others), rng=stream)
            guess = tuple(
                _from_point(prior, own, rows, secret, space.law.rate)
                for own, rows in zip((points, points[lent]), seen, strict=True)
            )
        else:
            guess = tuple(_from_points(prior, points, rows, known, secret, space.law.rate) for rows in seen)
    alone = tuple(prior.guess(np.delete(rows, secret, 1)) for rows in (people, others))
    limit = 0.5 if labels else within
    if limit is None:
        half = draws.half(len(known), stream)
        rehearsed = SecretPrior.of(known[half], secret, labels).guess(np.delete(known[~half], secret, 1))
        limit = 0.5 * float(np.abs(rehearsed - known[~half, secret]).mean()) or 1e-12
    else:
        limit = float(checks.positive("within", limit))

    # The evaluator judges, who knows the secret.
    errors, blind = (
        [_errors(g, rows[:, secret], labels) for g, rows in zip(guesses, (people, others), strict=True)]
        for guesses in (guess, alone)
    )
    facts = {"column": column if isinstance(column, str) else secret}
    base = ScoredAttack("without the release", -blind[0], -blind[1], -limit, confidence=level)
    return GuessResult.of("attribute", (errors[0], errors[1], blind[0]), limit, base, level, facts)


def _errors(guess: FloatArray, truth: FloatArray, labels: int) -> FloatArray:
    return np.asarray(guess != np.floor(truth), np.float64) if labels else np.abs(guess - truth)


@dataclass(frozen=True)
class SecretPrior:
    """A kernel estimate of the secret given the other columns, from public records, on a grid of values."""

    known: FloatArray
    widths: FloatArray
    values: FloatArray
    spread: FloatArray
    categories: bool

    @classmethod
    def of(cls, public: FloatArray, secret: int, labels: int) -> Self:
        """Read public records; widths are m^(-1/(d + 4)) standard deviations (Scott 1992)."""
        rest, own = np.delete(public, secret, 1), public[:, secret]
        factor = len(public) ** (-1 / (public.shape[1] + 4))
        widths = factor * rest.std(axis=0)
        widths[widths == 0] = 1.0
        if labels:
            values = np.arange(labels, dtype=np.float64)
            spread = np.asarray(np.floor(own)[:, None] == values, np.float64)
        else:
            reach = factor * float(own.std()) or 1e-9
            values = np.linspace(own.min() - 2 * reach, own.max() + 2 * reach, _VALUES)
            spread = np.exp(-0.5 * ((own[:, None] - values) / reach) ** 2)
        return cls(rest / widths, widths, values, spread + 1e-12, bool(labels))

    def log_density(self, rest: FloatArray) -> FloatArray:
        out = np.empty((len(rest), len(self.values)))
        size = max(1, _BLOCK // len(self.known))
        for start in range(0, len(rest), size):
            part = rest[start : start + size] / self.widths
            squared = np.zeros((len(part), len(self.known)))
            for axis in range(part.shape[1]):
                squared += (part[:, axis, None] - self.known[None, :, axis]) ** 2
            # Relative to the nearest record: far from all of them the nearest one counts.
            weight = np.exp(0.5 * (squared.min(axis=1, keepdims=True) - squared))
            out[start : start + size] = np.log(weight @ self.spread)
        return out

    def guess(self, rest: FloatArray, evidence: FloatArray | None = None) -> FloatArray:
        density = self.log_density(rest)
        if evidence is not None:
            density = density + evidence
        if self.categories:
            return np.asarray(self.values[density.argmax(axis=1)])
        share = np.cumsum(np.exp(density - density.max(axis=1, keepdims=True)), axis=1)
        return np.asarray(self.values[np.argmax(share >= share[:, -1:] / 2, axis=1)])


def _from_point(prior: SecretPrior, points: FloatArray, rest: FloatArray, secret: int, rate: float) -> FloatArray:
    squared = ((np.delete(points, secret, 1) - rest) ** 2).sum(axis=1)
    gaps = points[:, secret, None] - prior.values
    return prior.guess(rest, -rate * np.sqrt(squared[:, None] + gaps * gaps))


def _from_points(
    prior: SecretPrior, points: FloatArray, rest: FloatArray, public: FloatArray, secret: int, rate: float
) -> FloatArray:
    others, own = np.ascontiguousarray(np.delete(points, secret, 1)), np.ascontiguousarray(points[:, secret])
    stranger = -stranger_density(points, public, rate)
    step = float(prior.values[1] - prior.values[0])
    found = portions(lambda part: unlinked(part, prior.values, step, others, own, stranger, rate), rest)
    return prior.guess(rest, np.concatenate(found))


def _from_synopsis(
    synopsis: Synopsis, secret: int, people: FloatArray, others: FloatArray, labels: int
) -> tuple[FloatArray, FloatArray]:
    """Guess from the leaves over the known columns; from all leaves where none is listed."""
    domain, axes = synopsis.domain, [a for a in range(len(synopsis.domain)) if a != secret]
    low, high = domain.low[secret], domain.high[secret]
    edges = np.arange(labels + 1.0) if labels else np.linspace(low, high, _VALUES + 1)
    left, right = synopsis.lower[:, secret], synopsis.upper[:, secret]
    width = np.where(np.isnan(right), 1.0, right - left)
    cover = np.clip(np.minimum(right[:, None], edges[1:]) - np.maximum(left[:, None], edges[:-1]), 0, None)
    cover = np.nan_to_num(cover / np.maximum(width, 1e-300)[:, None])
    widths = np.nan_to_num(synopsis.upper[:, axes] - synopsis.lower[:, axes], nan=1.0)
    density = np.maximum(synopsis.weights, 0.0) / np.maximum(widths.prod(axis=1), 1e-300)
    everywhere = np.maximum(synopsis.weights, 0.0) @ cover
    middles = edges[:-1] if labels else (edges[1:] + edges[:-1]) / 2

    def guess(rest: FloatArray) -> FloatArray:
        found = np.empty(len(rest))
        bounds = zip(axes, rest.T, strict=True)
        columns = [(a, np.clip(x, domain.low[a], np.nextafter(domain.high[a], domain.low[a]))) for a, x in bounds]
        size = max(1, _BLOCK // max(synopsis.n_leaves, _VALUES))
        for start in range(0, len(rest), size):
            stop = min(start + size, len(rest))
            over = np.ones((stop - start, synopsis.n_leaves), bool)
            for axis, values in columns:
                x = values[start:stop, None]
                over &= (x >= synopsis.lower[:, axis]) & (x < synopsis.upper[:, axis])
            mass = (over * density) @ cover
            mass = np.where(mass.sum(axis=1, keepdims=True) > 0, mass, everywhere)
            share = np.cumsum(mass, axis=1)
            place = mass.argmax(axis=1) if labels else np.argmax(share >= share[:, -1:] / 2, axis=1)
            found[start:stop] = middles[place]
        return found

    return guess(people), guess(others)
