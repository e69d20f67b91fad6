"""A synopsis whose leaves are rows of a model of many columns, with the measured marginals behind it.

The noise of columns that were measured together is known. For two columns that were not, a noisy score says how far the
table was from the model. For three or more only their pairs are known; the rest is what the model assumes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.core import Code, Date, Domain, FloatArray, IntArray, Integer, Intervals
from discreet.engines.passes import AxisGrids
from discreet.errors import FormatError, InvalidArgument, InvalidType
from discreet.noise import Generator, permutation
from discreet.synopses.marginals.bins import public_grid
from discreet.synopses.marginals.fitness import of_model
from discreet.synopses.marginals.measured import Marginals
from discreet.synopses.queries.evenness import Query, Terms, axis_share, both, shares
from discreet.synopses.synopsis import Synopsis


class _Valued(NamedTuple):
    """Rows that count by how many deviations their value on an axis is from a middle, as in a mean."""

    axis: int
    middle: float
    deviation: float


class ModelSynopsis(Synopsis):
    """Rows of a model of many columns, as `MarginalSynopsis` publishes them.

    Parameters are those of `Synopsis`, and ``measured``: the noisy marginals that the model was fitted to.

    Examples
    --------
    >>> import discreet as dc
    >>> domain = dc.Domain({"smokes": [False, True], "coughs": [False, True]})
    >>> made = dc.MarginalSynopsis(1.0, domain, random_state=0).fit([[0.0, 1.0], [1.0, 1.0]] * 500).synopsis_
    >>> made.measured.says(["smokes", "coughs"]), made.n_leaves
    ('measured', 2000)
    """

    parts = (*Synopsis.parts, "measured")
    modelled = True
    leaf_names = ("model row", "model rows")

    def _take(self, *, measured: Marginals) -> None:  # type: ignore[override]
        columns = self.lower.shape[1]
        if not isinstance(measured, Marginals):
            raise InvalidType("measured", type(measured), "Marginals", "MarginalSynopsis(...).fit(data).synopsis_")
        if len(measured.bins) != columns:
            raise InvalidArgument("measured", len(measured.bins), f"about {columns} columns")
        self.measured = measured.about(self.domain)
        #: By axis: the cells of its public grid, the model's rows in each, and their bins.
        self._axes: dict[int, tuple[FloatArray, FloatArray, FloatArray, IntArray]] = {}

    def _more_facts(self) -> dict[str, Any]:
        return {"measured": self.measured.to_dict()}

    @staticmethod
    def _read_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
        return {"measured": Marginals.from_dict(facts["measured"])}

    def _choose(self, n: int, stream: Generator) -> IntArray:
        """Choose all rows equally often, and some of them once more, in random order.

        Rows drawn one by one would scatter about the marginals that the model was fitted to.
        """
        leaves = max(self.n_leaves, 1)
        rounds, rest = divmod(n, leaves)
        chosen = np.concatenate([np.tile(np.arange(leaves), rounds), permutation(leaves, rng=stream)[:rest]])
        return chosen[permutation(n, rng=stream)] if n else chosen

    def _note(self, terms: Terms) -> str:
        """State how columns that are asked about together are known, if they were not measured together."""
        known = {self.measured.says(query) for _, query in terms}
        if "held independent" in known:
            return "modelled, and some of these columns are held independent"
        return "modelled: these columns were not measured together" if "modelled" in known else ""

    @cached_property
    def _zeros(self) -> list[dict[int, tuple[tuple[float, float], ...]]]:
        zeros = self.domain.without_functions().facts.impossible if self.domain.facts.impossible else ()
        return [{self.domain.position(n): on for n, on in one.stretches} for one in zeros]

    def _impossible(self, query: Query) -> bool:
        asked = _through(self.domain, query) if self._zeros else query
        told = {self.domain.columns[j].name: np.array(p) for j, p in query.items() if p and not np.isnan(p).any()}
        hulls = {name: (float(p.min()), float(p.max())) for name, p in told.items()}
        if not all(plan.allows(hulls) for plan in self.domain.facts.rules.plans):
            return True
        return any(all(axis in asked and _within(asked[axis], on) for axis, on in one.items()) for one in self._zeros)

    def _answer_variances(
        self,
        terms: Terms,
        covered: Sequence[FloatArray],
        whole: FloatArray,
        leaves: Any = None,
        everything: float = 0.0,
    ) -> tuple[float, float]:
        every = slice(None) if leaves is None else leaves
        if not covered:
            return float(whole**2 @ self.variances[every]), 0.0
        noise, beyond = self._of_model(terms, whole - everything, every, everything)
        if not self.domain.weights:
            return noise, beyond
        # The mean weight is noisy, and that of a part may be another one.
        share, spread = (
            float(whole @ self.weights[every]) / max(self.total, 1.0),
            self.weights.std() / self.weights.mean(),
        )
        at, known = self.domain.position(self.domain.weights[0]), self.measured
        pairs = [tuple(sorted((j, at))) for j in {j for _, query in terms for j in query} if j != at]
        apart = math.fsum(known.pair_error(pair, share, self.total) for pair in pairs)
        return noise + share**2 * self.total_variance, beyond + float(spread**2) * apart

    def _mean_errors(
        self, axis: int, terms: Terms, n: FloatArray, first: FloatArray, second: FloatArray, middle: float
    ) -> tuple[float, float]:
        """Return what noise and model may do to a sum of values of a column.

        Where its values were not counted together with what is asked, rows that move between the lower and the upper
        half of the values move the sum by two deviations each.
        """
        column = self.domain.columns[axis]
        apart = math.sqrt(max(float(second @ self.weights) / float(n @ self.weights) - middle**2, 0.0))
        apart = max(apart, 1e-9 * (column.high - column.low))
        half = tuple((c / 2, query) for c, query in terms)
        # A mean weight may be another one for each value: nothing is counted by value then.
        valued = _Valued(-1 if self.domain.weights else axis, middle, apart)
        noisy, assumed = self._of_model(half, n / 2, valued=valued)
        return 2 * apart * math.sqrt(noisy), 2 * apart * math.sqrt(assumed)

    def _of_model(
        self,
        terms: Terms,
        covered: FloatArray,
        leaves: Any = slice(None),
        everything: float = 0.0,
        valued: _Valued | None = None,
    ) -> tuple[float, float]:
        """Return the variances of noise and of model of a sum of questions that covers these shares of the leaves.

        Measurements of the columns answer it too, with known noise; the model's excess distance from that answer is its
        error. For columns that were not measured together, every single one is compared, and their dependence is
        estimated.
        """
        known = self.measured
        terms = tuple((c, _through(self.domain, query)) for c, query in terms)
        asked = tuple(sorted({axis for _, query in terms for axis in query}))
        total = max(self.total, 1.0)
        share = min(float(np.abs(covered) @ self.weights[leaves]) / total, 1.0)
        part = min(share, 1 - share)
        if self._given.keys() & set(asked):
            # Nothing was counted of it. The column that it starts from was, and the rows between the two are the model.
            moved = tuple((c, self._moved(query)) for c, query in terms)
            instead = sum((c * shares(self, query, leaves) for c, query in moved), np.zeros(len(covered)))
            noise, beyond = self._of_model(moved, instead, leaves, everything, valued)
            return noise, beyond + (float(np.abs(covered - instead) @ self.weights[leaves]) / 2) ** 2
        if known.says(asked) == "measured":
            counted, noise, cut = self._counted(terms, asked, valued)
            model = 0.0 if valued and valued.axis in asked else float(covered @ self.weights[leaves])
            off = (model - counted) ** 2
            # One distance says little about the model's error: even if noise explains it, half may be the model's.
            return noise, max(off - noise, off / 2, cut)
        if everything:
            noisy = self._of_model(terms, covered + everything, leaves)[0]
            return noisy, self._of_model(terms, covered, leaves)[1]
        noise, beyond = share**2 * self.total_variance, known.errors(asked, part, total)
        alone = {j: [((1.0, {j: query[j]}),) for _, query in terms if j in query] for j in asked}
        parts = {j: [self._share(j, t[0][1][j]) for t in every] for j, every in alone.items()}
        for j, every in alone.items():
            others = math.prod(max(parts[i]) for i in asked if i != j)
            found = []
            for term, own in zip(every, parts[j], strict=True):
                counted, spread, cut = self._counted(term, (j,))
                reach = min(max(share / max(own, 1 / total), others), 1.0) ** 2
                found.append((reach * spread, reach * max((own * total - counted) ** 2 - spread, cut)))
            noise += max(x for x, _ in found)
            beyond += max(x for _, x in found)
        return noise, beyond

    def _count_errors(self) -> Callable[..., tuple[float, bool]]:
        return of_model(self)

    def _counted(self, terms: Terms, asked: Sequence[int], valued: _Valued | None = None) -> tuple[float, float, float]:
        """Answer a sum of questions from all noisy counts that cover these columns, without the model.

        Also return the variances of their noise and of how rows lie in groups that the question cuts: as the model has
        them or uniformly, whichever differs more. All rows of a group of codes, or none, may have the codes asked for.
        """
        known, found = self.measured, []
        held = [(c, {j: self._held(j, on, valued) for j, on in query.items()}) for c, query in terms]
        pairs = [(c * d, both(q, r)) for c, q in terms for d, r in terms]
        squares = [(c, {j: self._held(j, on, valued, 2) for j, on in q.items()}) for c, q in pairs if all(q.values())]
        most = math.inf if valued else max(abs(c) for c, _ in terms)
        for m, told, (groups, counts) in zip(known.measured, known.told, known.arrays, strict=True):
            if not told.issuperset(asked):
                continue
            each = np.array([c * self._filled(m.columns, groups, inside) for c, inside in held])
            weights, lumped = each.sum(axis=0), np.abs(each[:, 2] - each[:, 0]) > 1e-9
            lumps = np.minimum((np.abs(each[:, 2]) * lumped).sum(axis=0), most)
            # A single column keeps its mean variance; each of its bins has it by the number of its cells.
            cells = np.bincount(self._axis(m.columns[0])[3]) if len(m.columns) == 1 else np.ones(1)
            size, variance = np.abs(weights[:2]), (cells / cells.mean()) * m.variance
            noise = size.max(axis=0) ** 2 * variance
            part = size
            if valued is None or valued.axis in asked:
                # What rows of a group count differs by this variance; for one question that holds a share p of the
                # group it is p (1 - p), and that share may be off by the smaller of p and 1 - p.
                vary = sum(c * self._filled(m.columns, groups, inside)[:2] for c, inside in squares) - weights[:2] ** 2
                vary = np.maximum(vary, 0.0)
                reach = np.maximum(2 * np.sqrt(vary), 0.0 if valued else most)
                part = (reach - np.sqrt(np.maximum(reach**2 - 4 * vary, 0.0))) / 2
            part = part.max(axis=0) * (lumps == 0)
            # Two deviations: what such groups hold at most, up to noise.
            held_most = max(float(lumps @ counts), 0.0) / 2 + math.sqrt(float((lumps**2 * variance).sum()))
            apart = float(((part * np.maximum(counts, math.sqrt(m.variance))) ** 2).sum()) + held_most**2
            found.append((float(weights[0] @ counts), max(float(noise.sum()), 1e-9), apart))
        answers, noises, cuts = np.array(found).T
        trust = 1 / (noises + cuts)
        trust /= trust.sum()
        # Noises are independent; how rows lie in groups is the same guess for all of them, and does not average out.
        return float(trust @ answers), float(trust**2 @ noises), float((trust @ np.sqrt(cuts)) ** 2)

    def _filled(
        self, columns: Sequence[int], groups: Sequence[IntArray], inside: Mapping[int, tuple[FloatArray, FloatArray]]
    ) -> FloatArray:
        """Return how much of each group of some columns is held; see `_sides`."""
        made = np.ones((3, 1))
        for c, of in zip(columns, groups, strict=True):
            code = isinstance(self.domain.columns[c], Code)
            side = _sides(of, *inside[c], code) if c in inside else np.ones((3, int(of.max()) + 1))
            made = (made[:, :, np.newaxis] * side[:, np.newaxis]).reshape(3, -1)
        return made

    def _held(
        self, axis: int, intervals: Any, valued: _Valued | None = None, power: int = 1
    ) -> tuple[FloatArray, FloatArray]:
        """Return how much of each bin of a column some intervals hold, and all of it: the model's rows, and cells."""
        lower, upper, rows, bins = self._axis(axis)
        column = self.domain.columns[axis]
        inside = axis_share(lower, upper, intervals, column)
        if valued and valued.axis == axis:
            far = ((lower + upper) / 2 - valued.middle) / valued.deviation
            steps = isinstance(column, (Integer, Date))
            within = np.maximum((upper - lower) ** 2 - steps, 0.0) / 12 / valued.deviation**2
            inside = inside * np.nan_to_num(far if power == 1 else far**2 + within)
        every = [np.bincount(bins, weights=w) for w in (rows * inside, inside, rows, np.ones(len(rows)))]
        return np.array(every[:2]), np.array(every[2:])

    def _share(self, axis: int, intervals: Any) -> float:
        """Return the share of the model's rows that some intervals of a column hold."""
        lower, upper, rows, _ = self._axis(axis)
        return float(rows @ axis_share(lower, upper, intervals, self.domain.columns[axis]) / rows.sum())

    @cached_property
    def _given(self) -> dict[int, tuple[int, float]]:
        """From columns that rules give to the modelled column that they start from, and how far it is off."""
        made = {}
        for name, (_, plan) in self.domain.facts.rules.replaced.items():
            axis, start = self.domain.position(name), self.domain.position(plan.steps[0][0])
            far = self.points[:, axis] - self.points[:, start]
            made[axis] = start, float(np.median(far[~np.isnan(far)])) if not np.isnan(far).all() else 0.0
        return made

    def _moved(self, query: Query) -> Query:
        """Return a question about columns that rules give as one about those that they start from."""
        made = {axis: pairs for axis, pairs in query.items() if axis not in self._given}
        for axis in query.keys() & self._given.keys():
            start, far = self._given[axis]
            made = both(made, {start: [(a - far, b - far) for a, b in query[axis]]})
        return made

    @property
    def counted_names(self) -> tuple[str, ...]:
        """The names of what was counted in the place of each column: of some, a difference."""
        made = {name: own.name for name, (own, _) in self.domain.facts.rules.replaced.items() if own is not None}
        return tuple(made.get(name, name) for name in self.domain.names)

    @cached_property
    def _grids(self) -> AxisGrids:
        return public_grid(self.domain)

    def _axis(self, axis: int) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
        """Return the cells of the public grid of a column, how many of the model's rows lie in each, and their bins."""
        if axis not in self._axes:
            bins = np.array(self.measured.bins[axis])
            place = self._grids.domain.position(self.domain.columns[axis].name)
            if self._grids.sizes[place] != len(bins):
                raise FormatError("the bins of a marginal synopsis do not fit its columns")
            lower, upper = self._grids.boxes(place)
            ends = self.lower[:, axis], self.upper[:, axis]
            # Missing values have no place; their cell is the last.
            places, rows = (np.nan_to_num((a + b) / 2, nan=np.inf) for a, b in ((lower, upper), ends))
            at = np.minimum(np.searchsorted(places, rows), len(places) - 1)
            # By weight, where there are weights; all rows of a model without are equal.
            each = self.weights / max(float(self.weights.mean()), 1e-9) if self.domain.weights else np.ones(len(at))
            rows = np.asarray(np.bincount(at, each, minlength=len(places)) + 1e-3, np.float64)
            self._axes[axis] = lower, upper, rows, bins
        return self._axes[axis]


def _through(domain: Domain, query: Query) -> Query:
    """Return the same question about the columns that others are functions of, instead of those."""
    for function in domain.facts.functions:
        at = domain.position(function.column)
        if at in query:
            rest = {axis: stretches for axis, stretches in query.items() if axis != at}
            before = function.before(domain.columns[at], query[at])
            query = both(rest, {domain.position(function.source): before})
    return query


def _within(asked: Intervals, stretches: Sequence[tuple[float, float]]) -> bool:
    return all(sum(max(0.0, min(b, d) - max(a, c)) for c, d in stretches) >= b - a for a, b in asked)


def _sides(groups: IntArray, inside: FloatArray, whole: FloatArray, lumps: bool) -> FloatArray:
    """Return how much of each group is held: as the model's rows lie, uniformly, and at most if one value has all."""
    pairs = zip(inside, whole, strict=True)
    model, even = (np.bincount(groups, weights=a) / np.bincount(groups, weights=b) for a, b in pairs)
    return np.array([model, even, np.where((even > 1e-9) & (even < 1 - 1e-9), 1.0, model) if lumps else model])
