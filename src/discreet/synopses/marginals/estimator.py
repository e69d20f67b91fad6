"""The estimator: a table of many columns becomes noisy marginals, a model of them, and rows of that model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discreet.core import Domain, EstimatorHtml, Guarantee, IntArray, checks, released_columns
from discreet.errors import InvalidArgument
from discreet.synopses.artifact.measured import Marginals, MeasuredMarginal
from discreet.synopses.artifact.synopsis import Synopsis
from discreet.synopses.marginals.bins import public_grid
from discreet.synopses.marginals.facts import follow
from discreet.synopses.marginals.release import Findings, MarginalSettings, find, refined
from discreet.synopses.opening import check_release, note_columns, open_for

PUBLIC_FACTS = "the declared functions and impossible combinations are public, not read off the table"
WORKLOADS = ("pairs", "triples")


class MarginalSynopsis(EstimatorHtml, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Publish a table of many columns: noisy counts of single columns, of well-chosen pairs and triples, and a model.

    For 5 to 200 columns of mixed kinds. The synopsis answers any question, says which columns were measured together,
    and its rows (`Synopsis.sample`) look like those of the table in every marginal the model knows.

    Parameters
    ----------
    epsilon : float, default 1.0
        The whole budget. ``math.inf`` counts without noise and without privacy.
    domain : Domain, mapping or (low, high)
        The declared columns. Must be given.
    delta : float, default 0.0
        0 is pure ε: discrete Laplace noise. With a small number (below one in the number of rows, such as 1e-9), noise
        is discrete Gaussian and the promise (ε, δ): much more accurate for many columns.
    rho : float, optional
        Instead of ``epsilon``: the budget in zero-concentrated privacy; ``delta`` then says at which δ the ε is stated.
    workload : {"pairs", "triples"}, default "pairs"
        What is to be right. Triples are measured anyway where the budget is large enough that pairs leave some over.
    target : str, optional
        A column that others are to predict: what depends on it is measured more closely. Of a function of another
        column that other one is meant. By default the one column that the domain gives the role ``target``.
    max_cells : int, default 2**22
        Counts held in memory at a time at most; candidates are coarsened until they fit. Too few for the cells of all
        single columns (of numbers up to 514 each, of categories one each) are refused before rows are read.
    n_rows : float, optional
        A public number of rows. By default it follows from the noisy counts.
    ledger : Ledger or Account, optional
        What the budget is charged to as well, before rows are read.
    random_state : None, int or Generator
        None draws secure noise. Anything else is for experiments and marks the guarantee.

    Attributes
    ----------
    synopsis_ : Synopsis
        What may be published. Its leaves are rows of the model; `Synopsis.measured` tells what was measured.
    guarantee_ : Guarantee
        Its promise.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : array of str
        Their names, if they have any.

    Privacy
    -------
    Neighbours: add or remove one row. It changes one cell of every marginal by 1, so each has L1 and L2 sensitivity 1.
    Scores are L1 distances between marginals and what was released before; a row moves each by at most 1, P of them by
    √P in L2 and P in L1. Declared facts change none of this: a column that is a function of another is not read at all,
    and rows that are declared impossible are left out each by itself, so tables that differ in one row differ in at
    most one afterwards. Every draw is charged where it is made, and prices are functions of public values and of
    earlier outputs: the charges add up to at most the budget. Bins, choice, model and rows are post-processing.

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

    synopsis_: Synopsis
    guarantee_: Guarantee

    def __init__(
        self,
        epsilon: Any = 1.0,
        domain: Any = None,
        *,
        delta: Any = 0.0,
        rho: Any = None,
        workload: str = "pairs",
        target: str | None = None,
        max_cells: int = 2**22,
        n_rows: Any = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.delta = delta
        self.rho = rho
        self.workload = workload
        self.target = target
        self.max_cells = max_cells
        self.n_rows = n_rows
        self.ledger = ledger
        self.random_state = random_state

    #: The number of rows follows from the counts of the columns: nothing is spent on it alone.
    size_share = None

    def fit(self, X: Any, y: Any = None) -> MarginalSynopsis:
        """Make the synopsis of a table. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        opening = open_for(self, X, check=self._read, gaussian=lambda *_: True, select=Domain.without_functions)
        settings = self._read(opening.domain)
        found = find(opening, settings)
        whole = released_columns(opening.declared)
        self.synopsis_ = publish(found, opening.promise(_facts(found, settings, self.workload, whole)), whole)
        self.guarantee_ = opening.book(self.synopsis_.guarantee)
        note_columns(self, X)
        return self

    def check(self) -> None:
        """Refuse what no table could be released with: what `fit` refuses before it reads a row."""
        check_release(self, self._read, Domain.without_functions)

    def _read(self, domain: Domain, epsilon: Any = None) -> MarginalSettings:
        checks.choice("workload", self.workload, WORKLOADS)
        most = checks.whole("max_cells", self.max_cells, low=1024)
        single = sum(public_grid(domain).sizes)
        if single > most:
            what = f"at least {single:,}: the cells of the single columns, which are all counted at once"
            raise InvalidArgument("max_cells", most, what, f"max_cells={single}")
        roles = [c.name for c in domain if c.role == "target"]
        named = roles[0] if self.target is None and len(roles) == 1 else self.target
        follows = domain.facts.sources.get(named) if isinstance(named, str) else None
        target = follows.source if follows else named
        return MarginalSettings(self.workload, None if target is None else domain.position(target), most)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def publish(found: Findings, promise: Guarantee, domain: Domain) -> Synopsis:
    """Make the synopsis: the population as leaves on the fine grids, and what was measured beside it.

    ``domain`` has all columns, also those that follow from others: they are filled in.
    """
    fine = refined(found)
    places = [domain.position(name) for name in found.grid.domain.names]
    lower, upper = np.empty((2, fine.shape[1], len(domain)))
    for j, at in enumerate(places):
        lower[:, at], upper[:, at] = (ends[fine[j]] for ends in found.grid.boxes(j))
    for function in domain.facts.functions:
        at, j = domain.position(function.column), found.grid.domain.position(function.source)
        filled = follow(function, domain.column(function.source), domain.columns[at], *found.grid.boxes(j))
        lower[:, at], upper[:, at] = filled[:, fine[j]]
    n = fine.shape[1]
    rows = max(found.total, 0.0)
    # Where answers need a noise per row (means, merged synopses): that of all cells of a column, spread over the rows.
    spread = float(np.mean([b.variances.sum() for b in found.bins])) / n
    single = [
        MeasuredMarginal(
            (places[j],),
            (tuple(range(b.size)),),
            tuple(b.counts.astype(np.int64).tolist()),
            float(np.mean(b.variances)),
        )
        for j, b in enumerate(found.bins)
    ]
    more = [
        MeasuredMarginal(
            _at(places, m.marginal.columns), _listed(m.marginal.groups), tuple(m.counts.tolist()), m.variance
        )
        for m in found.measured
    ]
    bins = dict(zip(places, _listed([b.of for b in found.bins]), strict=True))
    return Synopsis(
        domain,
        lower=lower,
        upper=upper,
        weights=np.full(n, rows / n),
        variances=np.full(n, spread),
        guarantee=replace(
            promise,
            domain=domain,
            assumptions=(*promise.assumptions, *((PUBLIC_FACTS,) if domain.facts else ())),
        ),
        total=found.total,
        total_variance=found.total_variance,
        measured=Marginals(
            tuple(bins.get(j, ()) for j in range(len(domain))),
            (*single, *more),
            tuple((_at(places, s.columns), s.distance, s.variance, s.cells) for s in found.scores),
        ),
    )


def _at(places: Sequence[int], columns: Iterable[int]) -> tuple[int, ...]:
    return tuple(places[c] for c in columns)


def _listed(arrays: Iterable[IntArray]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(x.tolist()) for x in arrays)


def _facts(found: Findings, settings: MarginalSettings, workload: str, domain: Domain) -> dict[str, Any]:
    names = found.grid.domain.names
    used = {"facts": list(domain.facts.sentences)} if domain.facts else {}
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
    }
