"""The estimator: a table of many columns becomes noisy marginals, a model of them, and rows of that model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.core import Declared, Domain, Estimator, Guarantee, IntArray, later, option, released_columns
from discreet.core import options as shared
from discreet.errors import InvalidArgument
from discreet.noise import numpy_stream
from discreet.synopses.marginals.bins import public_grid
from discreet.synopses.marginals.facts import box_of, follow
from discreet.synopses.marginals.measured import Marginals, MeasuredMarginal
from discreet.synopses.marginals.release import ROUNDS, Findings, MarginalSettings, find, refined
from discreet.synopses.marginals.synopsis import ModelSynopsis
from discreet.synopses.opening import check_release, in_weights, method_options, note_columns, open_for

special = later("scipy.special")
PUBLIC_FACTS = "the declared functions and impossible combinations are public, not read off the table"
PUBLIC_RULES = "the declared rules between columns are public, not read off the table"


#: How its release is opened: always in ρ where there is a δ.
_OPENED: Any = {"select": Domain.without_functions, "copies": False, "gaussian": lambda *_: True}


class MarginalSynopsis(Declared, Estimator):
    """Publish a model of a table of many columns, fitted to noisy counts of single columns, pairs and triples.

    For 5 to 200 columns of mixed kinds. The synopsis answers any question and says which columns were measured
    together. Its synthetic rows (`Synopsis.sample`) follow the table in every marginal that the model knows.
    The model is a mixture of products, fitted until it meets every measured marginal within its noise, or for 300
    steps. Marginals that are missed even then are listed as ``missed`` in the guarantee's parameters. A
    ``target`` of two values is drawn by a logistic model of it given the others, fitted to the noisy marginals with it.

    Attributes
    ----------
    synopsis_ : ModelSynopsis
        The artifact. Its leaves are rows of the model; `ModelSynopsis.measured` holds the measurements.
    guarantee_ : Guarantee
        Its promise.

    Privacy
    -------
    Neighbours: add or remove one row. It changes one cell of every marginal by 1, so each has L1 and L2 sensitivity 1.
    Scores are L1 distances between marginals and what was released before; a row moves each by at most 1, P of them by
    √P in L2 and P in L1. Where triples are chosen one by one, each by what it adds to its pairs, a row moves a score
    by at most 2, and the choice has noise for that. Declared facts change none of this: a column that is a function of
    another is not read at all, rows that are declared impossible are left out and rules map rows, each by itself, so
    tables that differ in one row differ in at most one afterwards. Every draw is charged where it is made, and prices
    are functions of public values and of earlier outputs: the charges add up to at most the budget. How many marginals
    are measured follows from noisy scores or from public values. Bins, choice, model and rows are post-processing.
    If the domain declares a person as the unit, neighbours differ in all rows of one person. At most ``unit.rows`` of
    them are used, and all noise is that of ε/rows, or ρ/rows².

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> smokes = rng.random(5000) < 0.3
    >>> X = np.column_stack([smokes, rng.random(5000) < 0.1 + 0.4 * smokes])
    >>> domain = Domain({"smokes": [False, True], "coughs": [False, True]})
    >>> made = MarginalSynopsis(1.0, domain, random_state=0).fit(X.astype(float)).synopsis_
    >>> made.guarantee.epsilon
    1.0
    """

    epsilon: float = shared.EPSILON
    domain: Any = shared.DOMAIN
    delta: float = option(
        default=0.0,
        low=0,
        below=1,
        example=1e-9,
        help="Probability that the privacy loss exceeds ε; 0 is pure ε, with Laplace noise.",
        details=(
            "A small number (below one over the number of rows) allows Gaussian noise, which is much more accurate for "
            "many columns."
        ),
    )
    rho: Any = shared.RHO
    workload: str = option(
        default="pairs",
        choices=("pairs", "triples"),
        help="Marginals that should be accurate: of all pairs of columns, or of all triples.",
        details='With "pairs", triples are measured too if the budget is large enough.',
    )
    target: str | None = option(
        default=None,
        example="income",
        help="A column that others are to predict; its dependence on them is measured more closely.",
        details="By default the one column with the role ``target``.",
    )
    max_cells: int = option(
        default=2**22,
        low=1024,
        help="Largest number of counts held in memory at a time; candidates are coarsened until they fit.",
    )
    n_rows: float | None = replace(
        shared.N_ROWS, details="Otherwise it is estimated from the noisy counts of single columns, at no further price."
    )
    expect_rows: int | None = shared.EXPECT_ROWS
    check_first: float | None = shared.CHECK_FIRST
    ledger: Any = shared.LEDGER
    random_state: Any = shared.RANDOM_STATE

    #: The number of rows follows from the counts of the columns: nothing is spent on it alone.
    size_share = None

    def fit(self, X: Any, y: Any = None) -> MarginalSynopsis:
        """Make the synopsis of a table. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        opening = open_for(self, X, check=self._read, **_OPENED)
        settings = self._read(opening.domain)
        found = find(opening, settings)
        whole = released_columns(opening.declared)
        self.synopsis_ = publish(found, opening.promise(_facts(found, settings, self.workload, whole)), whole)
        self.guarantee_ = opening.book(self.synopsis_.guarantee)
        note_columns(self, X)
        return self

    def check(self) -> None:
        """Refuse what no table could be released with: what `fit` refuses before it reads a row."""
        check_release(self, self._read, **_OPENED)

    def _read(self, domain: Domain, epsilon: Any = None) -> MarginalSettings:
        options = method_options(self)
        most = options["max_cells"]
        single = sum(public_grid(domain).sizes)
        if single > most:
            what = f"at least {single:,}: the cells of the single columns, which are all counted at once"
            raise InvalidArgument("max_cells", most, what, f"max_cells={single}")
        roles = [c.name for c in domain if c.role == "target"]
        named = roles[0] if self.target is None and len(roles) == 1 else self.target
        follows = domain.facts.sources.get(named) if isinstance(named, str) else None
        target = follows.source if follows else named
        if target in (replaced := domain.facts.rules.replaced):  # its difference, or what its sum begins with
            target = getattr(replaced[target][0], "name", replaced[target][1].steps[0][0])
        return MarginalSettings(self.workload, None if target is None else domain.modelled().position(target), most)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def publish(found: Findings, promise: Guarantee, domain: Domain) -> ModelSynopsis:
    """Make the synopsis: the population as leaves on the fine grids, and the measurements with it.

    ``domain`` has all columns, also those that follow from others or from rules: they are filled in. With weights, a
    row of the model counts as its own weight says, and the measurements stand for the mean weight.
    """
    fine, rules = refined(found), domain.facts.rules
    stands = {own.name: name for name, (own, _) in rules.replaced.items() if own is not None}
    places = [domain.position(stands.get(name, name)) for name in found.grid.domain.names]
    lower, upper = np.empty((2, fine.shape[1], len(domain)))
    for j, at in enumerate(places):
        lower[:, at], upper[:, at] = (ends[fine[j]] for ends in found.grid.boxes(j))
    stream = numpy_stream(found.root, len(ROUNDS) + 4) if rules.plans else None
    for plan in rules.plans:
        at_of = {c.name: places[found.grid.domain.position(c.name)] for _, _, c in plan.steps if c is not None}
        ends = [{name: x[:, at] for name, at in at_of.items()} for x in (lower, upper)]
        for name, values in plan.complete(ends[0], ends[1], stream).items():
            lower[:, domain.position(name)], upper[:, domain.position(name)] = box_of(domain.column(name), values)
    for function in domain.facts.functions:
        at, source = domain.position(function.column), domain.position(function.source)
        sides, where = (lower[:, source], upper[:, source]), np.arange(len(lower))
        if not any(function.source in plan.columns for plan in rules.plans):  # there are far fewer cells than rows
            j = found.grid.domain.position(function.source)
            sides, where = found.grid.boxes(j), fine[j]
        filled = follow(function, domain.columns[source], domain.columns[at], *sides)
        lower[:, at], upper[:, at] = filled[:, where]
    n = fine.shape[1]
    rows = max(found.total, 0.0)
    # Where answers need a noise per row (means): that of all cells of a column, spread over the rows.
    spread = float(np.mean([b.variances.sum() for b in found.bins])) / n
    single = [
        MeasuredMarginal((places[j],), (tuple(range(b.size)),), tuple(map(int, b.counts)), float(b.variances.mean()))
        for j, b in enumerate(found.bins)
    ]
    more = [
        MeasuredMarginal(
            _at(places, m.marginal.columns), _listed(m.marginal.groups), tuple(m.counts.tolist()), m.variance
        )
        for m in found.measured
    ]
    facts = {PUBLIC_FACTS: domain.facts.functions or domain.facts.impossible, PUBLIC_RULES: rules.texts}
    told = [text for text, declared in facts.items() if declared]
    bins = dict(zip(places, _listed([b.of for b in found.bins]), strict=True))
    each, mean, uncertain = np.ones(n), 1.0, found.total_variance
    if domain.weights:
        at = domain.position(domain.weights[0])
        each = (lower[:, at] + upper[:, at]) / 2
        mean = float(each.mean())
        uncertain = mean**2 * uncertain + _spread(found, places.index(at), mean)
        single, more = ([replace(m, **in_weights(m, mean)) for m in held] for held in (single, more))
    return ModelSynopsis(
        domain,
        lower=lower,
        upper=upper,
        weights=rows / n * each,
        variances=spread * each**2,
        guarantee=replace(promise, domain=domain, assumptions=(*promise.assumptions, *told)),
        total=found.total * mean,
        total_variance=uncertain,
        measured=Marginals(
            tuple(bins.get(j, ()) for j in range(len(domain))),
            (*single, *more),
            tuple((_at(places, c), far * mean, v * mean**2, cells) for c, far, v, cells in found.scores),
        ),
    )


def _spread(found: Findings, own: int, mean: float) -> float:
    """Return the variance of a sum of weights if the number of rows is known: normal noise, and counts from 0 on."""
    bins = found.bins[own]
    middles = np.bincount(bins.of, bins.within * np.mean(found.grid.boxes(own), axis=0))
    below = -bins.counts / np.sqrt(np.maximum(bins.variances, 1e-9))
    hazard = np.exp(-(below**2) / 2 - special.log_ndtr(-below)) / math.sqrt(2 * math.pi)
    return float((middles - mean) ** 2 @ (bins.variances * (1 + below * hazard - hazard**2).clip(0, 1)))


def _at(places: Sequence[int], columns: Iterable[int]) -> tuple[int, ...]:
    return tuple(places[c] for c in columns)


def _listed(arrays: Iterable[IntArray]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(x.tolist()) for x in arrays)


def _facts(found: Findings, settings: MarginalSettings, workload: str, domain: Domain) -> dict[str, Any]:
    names = found.grid.domain.names
    used: dict[str, Any] = {"facts": list(domain.facts.sentences)} if domain.facts else {}
    if domain.weights:
        used["weight"] = {"column": domain.weights[0], "most": domain.column(domain.weights[0]).high}
    return {
        **used,
        "method": "marginals",
        "workload": workload,
        "target": None if settings.target is None else names[settings.target],
        "n_rows": found.total,
        "bins": [b.size for b in found.bins],
        "measured": [
            {"columns": [names[c] for c in m.marginal.columns], "cells": m.marginal.n_cells, "variance": m.variance}
            for m in found.measured
        ],
        "missed": [[names[c] for c in columns] for columns in found.missed],
    }
