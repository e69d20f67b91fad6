"""Neighbour replay: run a release on one table, force every output on its neighbour, and add up the log-ratios.

All that a central release learns from rows passes the gate. So the tape records what each call of the gate published
on the first table. On the second table the same call must be made, with the same label, law and price, and is given
the recorded output; the tape compares how likely that output was on either side. What is left:

* the sum of all log-ratios is at most ε of the promise, and that of each line at most its own price;
* in ρ, Gaussian noise costs the squared distance of the two inputs over 2σ², at most the price of its line;
* the artifacts are equal bit for bit: whatever differs was read off the rows next to the gate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from choice_law import cuts_chance
from discreet import noise
from discreet.core.budget.prices import Epsilon, Rho
from discreet.mechanisms import bits, privtree
from discreet.mechanisms.gate import Gate, Hold, Noisy
from discreet.mechanisms.laws import Law
from discreet.noise.choice.joint import JointLaw
from discreet.noise.choice.runs import Runs
from discreet.noise.public import PublicRandomness


@dataclass
class Step:
    """One call of the gate: what it published, how, and how likely that was."""

    label: str
    law: Any
    output: Any
    log_chance: float
    input: Any = None


@dataclass
class Tape:
    """Records a run, then compares a second one with it."""

    steps: list[Step] = field(default_factory=list)
    place: int = -1  # -1: recording
    losses: dict[int, float] = field(default_factory=dict)
    distances: dict[int, float] = field(default_factory=dict)

    def rewind(self) -> None:
        """Begin the second run."""
        self.place = 0

    def step(self, label: str, law: Any, drawn: Any, chance: Callable[[Any], float], raw: Any = None) -> Any:
        """Take a step; return the output to go on with. ``chance(output)`` is its log-probability here."""
        if self.place < 0:
            self.steps.append(Step(label, law, drawn, chance(drawn), raw))
            return drawn
        assert self.place < len(self.steps), f"{label!r} is published on one table only"
        known = self.steps[self.place]
        assert (label, law) == (known.label, known.law), "the tables are treated differently by what was not published"
        self.losses[self.place] = known.log_chance - chance(known.output)
        if raw is not None and known.input is not None:
            moved = np.asarray(raw, np.float64) - np.asarray(known.input, np.float64)
            self.distances[self.place] = float((moved**2).sum())
        self.place += 1
        return known.output.copy() if isinstance(known.output, np.ndarray) else known.output


def _values(values: Any) -> Any:
    return values() if callable(values) else values


def _log_law(law: Law, z: Any) -> float:
    """Return the log-probability of noise, up to a constant of the law."""
    z = np.asarray(z, np.float64)
    if law.scale == 0:
        return 0.0 if not z.any() else -math.inf
    if law.name == "gaussian":
        return float(-(z**2).sum() / (2 * float(law.scale) ** 2))
    if law.name == "laplace":
        return float(-np.abs(z).sum() / float(law.scale))
    size = np.abs(z).max(axis=1) if law.name == "max-norm" else np.sqrt((z**2).sum(axis=1))
    return float(-size.sum() / float(law.scale))


def _choice(scores: Any, sizes: Any, rate: float, chosen: int) -> float:
    """Return the log-probability of an outcome of the exponential mechanism."""
    weights = np.where(np.asarray(sizes) > 0, rate * np.asarray(scores, np.float64), -np.inf)
    with np.errstate(divide="ignore"):
        weights = weights + np.log(np.maximum(np.asarray(sizes, np.float64), 0))
    top = weights.max()
    return float(weights[chosen] - top - math.log(np.exp(weights - top).sum()))


def _cuts(runs: Runs, qs: list[Fraction], price: Fraction, cuts: Any) -> float:
    """Return the log-probability of cuts among the runs of one box."""
    if len(qs) > 1:
        return math.log(cuts_chance(JointLaw(runs, qs, price), [int(k) for k in cuts]))
    q = qs[0]
    rate = float(price) / (2 * float(max(q, 1 - q)))
    scores = -np.abs(runs.left - float(q) * runs.rows)
    run = int(np.searchsorted(runs.first, cuts[0], "right")) - 1
    return _choice(scores, runs.size, rate, run) - math.log(int(runs.size[run]))


def _below(law: Law, count: int, cutoff: int) -> float:
    """Return the log-probability that a noisy count does not exceed a cutoff."""
    return math.log1p(-float(law.one.sf(cutoff + 1 - count)))


def install(tape: Tape, patch: pytest.MonkeyPatch) -> None:
    """Let all calls of the gate pass the tape."""
    real = {name: getattr(Hold, name) for name in ("numbers", "vectors", "choose")}
    of_gate = {name: getattr(Gate, name) for name in ("sparse_counts", "choose_each", "cuts", "quantiles")}

    def numbers(self: Hold, values: Any, *rest: Any, **more: Any) -> Noisy:
        raw = _values(values)
        made = real["numbers"](self, raw, *rest, **more)
        label = self._entry.label
        out = tape.step(label, made.law, made.values, lambda y: _log_law(made.law, np.asarray(y) - raw), raw)
        return Noisy(out, made.law)

    def vectors(self: Hold, table: Any, moves: Any, **more: Any) -> Noisy:
        raw = _values(table)
        made = real["vectors"](self, raw, moves, **more)
        return Noisy(
            tape.step(self._entry.label, made.law, made.values, lambda y: _log_law(made.law, y - raw), raw), made.law
        )

    def choose(self: Hold, scores: Any, span: int, sizes: Any = None) -> int:
        found = _values(scores)
        epsilon = self.price.choice() if isinstance(self.price, Rho) else self.price
        drawn = real["choose"](self, found, span, sizes)
        size = np.ones(len(found)) if sizes is None else sizes
        rate = _rate(epsilon, span)
        return tape.step(self._entry.label, ("choice", rate), drawn, lambda i: _choice(found, size, rate, i))

    def sparse_counts(self: Gate, label: str, cells: Any, price: Epsilon, cutoff: int) -> Any:
        found = _values(cells)
        listed, weights, law = of_gate["sparse_counts"](self, label, found, price, cutoff)
        raw = dict(zip(found.cells.tolist(), found.counts.tolist(), strict=True))

        # Both sides sum over the cells that hold rows on either: cells that are empty on both cancel out.
        if tape.place < 0:
            tape.steps.append(Step(label, (law, cutoff), (listed, weights), 0.0, raw))
            return listed, weights, law
        known = tape.steps[tape.place]
        assert (label, (law, cutoff)) == (known.label, known.law)
        both, other = set(raw) | set(known.input), known.input

        def log_chance(counts: dict[int, int]) -> float:
            shown = dict(zip(known.output[0].tolist(), known.output[1].tolist(), strict=True))
            top = math.log(math.tanh(0.5 / float(law.scale)))
            return sum(
                top + _log_law(law, shown[c] - counts.get(c, 0))
                if c in shown
                else _below(law, counts.get(c, 0), cutoff)
                for c in both
            )

        tape.losses[tape.place] = log_chance(other) - log_chance(raw)
        tape.place += 1
        return known.output[0].copy(), known.output[1].copy(), law

    def choose_each(self: Gate, label: str, losses: Any, sizes: Any, price: Epsilon, spans: Any) -> Any:
        drawn = of_gate["choose_each"](self, label, losses, sizes, price, spans)
        each = [spans] * len(losses) if isinstance(spans, Fraction) else list(spans)

        def chance(chosen: Any) -> float:
            rows = zip(losses, sizes, each, chosen, strict=True)
            return sum(_choice(-loss, size, _rate(price, span), int(i)) for loss, size, span, i in rows)

        return tape.step(label, ("choices", price, tuple(each)), drawn, chance)

    def cuts(self: Gate, label: str, runs: Any, n_cuts: int, price: Epsilon) -> Any:
        lines, numbers_of = of_gate["cuts"](self, label, runs, n_cuts, price)
        qs = [Fraction(i, n_cuts + 1) for i in range(1, n_cuts + 1)]
        free = runs.n_lines - 1 > n_cuts
        starts = np.concatenate([[0], np.cumsum(numbers_of)])

        def chance(out: Any) -> float:
            total = 0.0
            for i in np.flatnonzero(free):
                part = slice(runs.starts[i], runs.starts[i + 1])
                box = Runs(
                    runs.first[part], runs.size[part], runs.left[part], int(runs.rows[i]), 0, int(runs.n_lines[i])
                )
                total += _cuts(box, qs, price.amount, out[starts[i] : starts[i + 1]])
            return total

        if price.infinite:
            return lines, numbers_of
        out = tape.step(label, ("cuts", price, n_cuts, tuple(runs.n_lines.tolist())), lines, chance)
        return out, numbers_of

    def quantiles(self: Gate, label: str, groups: Any, qs: Any, price: Epsilon, n: int, *kind: Any) -> Any:
        found = groups()
        made = of_gate["quantiles"](self, label, lambda: found, qs, price, n, *kind)
        boxes = [Runs.of_counts(np.asarray(cells), np.asarray(counts), start=0, stop=n) for cells, counts in found]
        exact = [Fraction(repr(q)) if isinstance(q, float) else Fraction(q) for q in qs]

        def chance(lines: Any) -> float:
            return sum(_cuts(runs, exact, price.amount, row) for runs, row in zip(boxes, lines, strict=True))

        return tape.step(label, ("quantiles", price, tuple(exact), n), made, chance)

    def keep(self: Any, counts: Any, depth: int) -> Any:
        drawn = real_keep(self, counts, depth)
        biased, law = self.rule.biased(counts, depth), noise.DiscreteLaplace(self.rule.scale)
        cut = np.log(np.maximum(law.sf(1 - biased), 1e-300))
        stop = np.log1p(-np.minimum(law.sf(1 - biased), 1 - 1e-16))
        return tape.step(self._entry.label, self.rule, drawn, lambda kept: float(np.where(kept, cut, stop).sum()))

    def flipped(gate: Gate, label: str, rows: Any, price: Epsilon) -> Any:
        drawn = real_flip(gate, label, rows, price)
        odds = float(price.amount)

        def chance(out: Any) -> float:
            turned = int(np.bitwise_count(out ^ rows).sum())
            return -turned * odds

        return tape.step(label, ("flip", price), drawn, chance)

    def free(name: str) -> Any:
        """Give public randomness again: how many bytes a choice took may differ, and with it what comes after."""
        made = getattr(PublicRandomness, name)
        return lambda self, *rest, **more: tape.step("public", name, made(self, *rest, **more), lambda out: 0.0)

    for name in ("below", "bytes", "normals"):
        patch.setattr(PublicRandomness, name, free(name))
    real_keep, real_flip = privtree.PrivTreeTests.keep, bits.flipped_bits
    for name, made in (("numbers", numbers), ("vectors", vectors), ("choose", choose)):
        patch.setattr(Hold, name, made)
    for name, made in (
        ("sparse_counts", sparse_counts), ("choose_each", choose_each), ("cuts", cuts), ("quantiles", quantiles),
    ):  # fmt: skip
        patch.setattr(Gate, name, made)
    patch.setattr(privtree.PrivTreeTests, "keep", keep)
    patch.setattr("discreet.local.distinct.sketch.flipped_bits", flipped)


def _rate(price: Epsilon, span: Any) -> float:
    return math.inf if price.infinite else float(Fraction(price.amount) / Fraction(span))


@dataclass(frozen=True)
class Replay:
    """The result of a replay.

    Attributes
    ----------
    loss : float
        The sum of all log-ratios, without Gaussian steps.
    steps : int
        How many steps were compared.
    faults : list of str
        Lines whose loss is above their price.
    """

    loss: float
    steps: int
    faults: list[str]


#: Probabilities are computed as doubles here, and choices run with a little less than their price.
SLACK = 1e-7


def replay(release: Callable[[Any], tuple[Any, Any]], table: Any, neighbour: Any) -> Replay:
    """Release a table, then its neighbour with the same outputs.

    Parameters
    ----------
    release : callable
        Takes a table, releases it with a fixed seed, and returns (what is published as bytes or arrays, guarantee).
    table, neighbour
        The two tables.
    """
    tape = Tape()
    with pytest.MonkeyPatch.context() as patch:
        install(tape, patch)
        first, promise = release(table)
        tape.rewind()
        second, other = release(neighbour)
    assert tape.place == len(tape.steps), "a step was taken on one table only"
    assert _same(first, second), "what is published differs, though every noisy value is the same"
    assert promise.epsilon == other.epsilon
    assert promise.delta == other.delta
    faults = []
    total = 0.0
    for i, loss in tape.losses.items():
        step = tape.steps[i]
        if isinstance(step.law, Law) and step.law.name == "gaussian":
            cost = tape.distances[i] / (2 * float(step.law.scale) ** 2) if step.law.scale else 0.0
            if cost > _line_price(promise, step, "rho") * (1 + 1e-9):
                faults.append(f"{step.label}: {cost} in rho")
            continue
        total += loss
        if abs(loss) > _line_price(promise, step, "epsilon") + SLACK:
            faults.append(f"{step.label}: {loss}")
    if promise.accounting == "epsilon" and abs(total) > promise.epsilon + SLACK:
        faults.append(f"altogether {total} of {promise.epsilon}")
    return Replay(total, sum(step.label != "public" for step in tape.steps), faults)


def _line_price(promise: Any, step: Step, unit: str) -> float:
    """Return what the lines of a step's label allow: the most expensive of them, in the unit that the step has."""
    amounts = [0.0]
    for top in promise.ledger:
        for accounting, line in _leaves(top, promise.accounting):
            if line.label != step.label or not line.draws:
                continue
            amount = float(line.amount)
            if unit == "epsilon" and accounting == "rho":
                amount = max((float(d.price.amount) for d in line.draws if d.law != "gaussian"), default=0.0)
            amounts.append(amount)
    return max(amounts)


def _leaves(line: Any, accounting: str) -> list[tuple[str, Any]]:
    inner = "epsilon" if line.kind == "pure" else accounting
    return [x for part in line.parts for x in _leaves(part, inner)] if line.parts else [(accounting, line)]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and one.tobytes() == other.tobytes()
    return bool(one == other) or (isinstance(one, float) and math.isnan(one) and math.isnan(other))
