"""Grid synopses: one noisy count per cell of a uniform or a two-level grid.

The size of the grid follows a published rule (`rules.py`) from a noisy number of rows, never from the true one.
A grid that is small enough is published whole. A larger one lists the cells whose noisy count exceeds a cutoff, empty
ones among them (`Gate.sparse_counts`). Noise makes some of the empty cells exceed the cutoff too: they are drawn from
their exact law without touching the others, so nothing in the result tells which cells hold rows. The price is
resolution: a cell with fewer rows than about the cutoff vanishes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discreet.core import Categorical, Domain, EstimatorHtml, Exact, Guarantee, Integer
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines import GridMap
from discreet.engines.passes import DENSE_LIMIT
from discreet.synopses.artifact.synopsis import Synopsis
from discreet.synopses.artifact.tables import HiddenCells
from discreet.synopses.grid.adaptive import GridRelease, two_levels
from discreet.synopses.grid.nested_rules import nested_first
from discreet.synopses.grid.rules import THETA, axis_parts, eugkm, first_level, n_combinations, rugnik
from discreet.synopses.grid.settings import GridSettings
from discreet.synopses.grid.size import check_large, check_size, survival_cutoff
from discreet.synopses.memory import MOST_MEMORY
from discreet.synopses.opening import OpenRelease, check_release, note_columns, open_for
from discreet.synopses.publishing import PublishedLeaves, count_variance, publish

#: What an estimator passes on; found out once, because reading a signature costs as much as counting a small table.
_SETTINGS = tuple(signature(GridSettings.read).parameters)


class GridSynopsis(EstimatorHtml, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Publish noisy counts of the cells of a grid.

    Parameters
    ----------
    epsilon : float, default 1.0
        The whole budget. ``math.inf`` counts without noise and without privacy.
    domain : Domain, mapping or (low, high)
        The declared columns; scalar bounds hold for all. Must be given.
    rule : {"rugnik", "eugkm", "adaptive", "rugnik-adaptive", "dpkfm"}, int or sequence of int, default "rugnik"
        Parts per axis: RUGNIK's for ``n_clusters``, EUGkM's, a two-level grid whose cells are divided by their own
        noisy counts (reconciled as Qardaji, Yang and Li do, sized as they do or by RUGNIK's argument for
        ``n_clusters``; or as drawn), or numbers. A categorical axis has one cell a category.
    n_clusters : int, default 8
        The number of clusters that the grid is to resolve.
    n_rows : float, optional
        A public number of rows. By default a noisy one is bought with ``size_share`` of the budget.
    size_share : float, default 0.03
        See ``n_rows``.
    axes : {"scaled", "units"}, default "scaled"
        "scaled" gives all numeric axes equally many parts; "units" says that they share one unit of length, and gives
        them parts in proportion to their declared widths.
    max_cells : int, default 2**20
        Grids up to this size list all cells, larger ones those above a cutoff. The rules do not ask for more, nor for
        more than ``max_memory`` holds.
    expected_survivors : float, default 100
        How many empty cells a larger grid may list on average; sets the cutoff. Cells with fewer rows than that
        cutoff mostly vanish.
    leaf_means : bool or "auto", default False
        Whether cells publish a mean beside their count, for more noise. "auto" decides by the noisy number of rows
        per cell. Grids with a cutoff publish counts only.
    adaptive : mapping, optional
        Constants of "adaptive" and "dpkfm": ``first_share`` (0.5), ``c`` (10) and ``c2`` (5).
    theta : float, default 10
        Of the rule "eugkm": rows times ε for one part of an axis, before the root is drawn; larger is coarser.
    max_memory : float, default 2.0
        GiB that the cells may take. What would need more is refused, by public values and before rows are read; only
        where nothing but the number of rows decides and a noisy one is bought, after that.
    random_state : None, int or Generator
        None draws secure noise. Anything else is for experiments and marks the guarantee.
    rho, delta : float, optional
        With ``delta`` beside ``epsilon`` the release may be (ε, δ)-DP; with ``rho`` and ``delta`` in its place, ρ-zCDP,
        its ε stated at δ. Whether Gaussian noise is better is told by public values (`discreet.synopses.prices`).
    ledger : Ledger or Account, optional
        Charged with all of ε before the first row is read; fitting twice charges twice.

    Attributes
    ----------
    synopsis_ : Synopsis
        What may be published.
    guarantee_ : Guarantee
        Its promise.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : array of str
        Their names, if they have any.

    Privacy
    -------
    Neighbours: add or remove one row. The number of rows costs ``size_share`` ε (or is declared), the cells cost the
    rest: they are disjoint, so a row changes one count by 1, and every cell gets discrete Laplace noise, occupied or
    not. The size of the grid is a function of the noisy number. Price: ε. In ρ all of this is said of discrete Gaussian
    noise, σ² >= 1/(2ρ) for a count (of a grid with a cutoff, of Laplace noise for ε = √(2ρ)). Price: ρ.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, (2000, 2))
    >>> grid = GridSynopsis(epsilon=1.0, domain=(0, 1), n_clusters=3, random_state=0).fit(X)
    >>> grid.synopsis_
    <Synopsis: 225 leaves of 2 columns, about 1,977 rows, epsilon 1, SEEDED: do not publish>
    >>> grid.guarantee_.epsilon
    1.0
    """

    synopsis_: Synopsis
    guarantee_: Guarantee

    def __init__(
        self,
        epsilon: Any = 1.0,
        domain: Any = None,
        rule: Any = "rugnik",
        *,
        n_clusters: int = 8,
        n_rows: Any = None,
        size_share: Any = 0.03,
        axes: str = "scaled",
        max_cells: int = 2**20,
        expected_survivors: float = 100,
        leaf_means: Any = False,
        adaptive: Any = None,
        max_memory: float = MOST_MEMORY,
        random_state: Any = None,
        rho: Any = None,
        delta: Any = None,
        ledger: Any = None,
        theta: float = THETA,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.rule = rule
        self.n_clusters = n_clusters
        self.n_rows = n_rows
        self.size_share = size_share
        self.axes = axes
        self.max_cells = max_cells
        self.expected_survivors = expected_survivors
        self.leaf_means = leaf_means
        self.adaptive = adaptive
        self.max_memory = max_memory
        self.random_state = random_state
        self.rho = rho
        self.delta = delta
        self.ledger = ledger
        self.theta = theta

    def fit(self, X: Any, y: Any = None) -> GridSynopsis:
        """Make the synopsis of a table. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        settings = self._settings()
        known = {"grid": lambda domain: fixed_grid(domain, settings), "gaussian": gaussian_grid(settings)}
        opening = open_for(self, X, check=self._fits(settings), **known)
        self.synopsis_ = build(opening, settings)
        self.guarantee_ = opening.book(self.synopsis_.guarantee)
        note_columns(self, X)
        return self

    def check(self) -> None:
        """Refuse what no table could be released with: what `fit` refuses before it reads a row."""
        check_release(self, self._fits(self._settings()))

    def _settings(self) -> GridSettings:
        return GridSettings.read(**{name: getattr(self, name) for name in _SETTINGS})

    def _fits(self, settings: GridSettings) -> Callable[[Domain, Any], None]:
        return lambda domain, epsilon: check_size(domain, settings, epsilon, self.n_rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def build(opening: OpenRelease, settings: GridSettings) -> Synopsis:
    """Make a grid synopsis with everything that a gate has left.

    Examples
    --------
    >>> from discreet import engines
    >>> from discreet.core.budget.prices import Wanted
    >>> from discreet.mechanisms import Gate
    >>> domain, gate = Domain.box([0, 0], [1, 1]), Gate.open(Wanted.read(math.inf, None, None))
    >>> opening = OpenRelease(engines.open(np.zeros((5, 2))), domain, domain, gate, n_rows=5)
    >>> build(opening, GridSettings.read(rule=2)).weights.tolist()
    [5, 0, 0, 0]
    """
    domain, n_rows, left = opening.domain, opening.n_rows, opening.gate.left
    epsilon = left.like_epsilon().amount  # for sizes
    rule, settings = settings.rule, _pays(domain, n_rows, epsilon, settings)
    grid = GridMap(domain, _parts(domain, n_rows, epsilon, settings))
    if settings.two_levels:
        release = two_levels(opening, grid, settings)
    else:
        if grid.n_cells > settings.most_listed(len(domain)):
            check_large(grid, settings, left.pure().amount, n_rows)
            release = _large_cells(opening, grid, left.pure(), settings)
        else:
            means = settings.wants_means(n_rows, grid.n_cells, epsilon, len(domain))
            release = _all_cells(opening, grid, left, means)
    total, total_variance = _total(release, n_rows, opening.n_rows_variance)
    lower, upper, offsets = release.lower, release.upper, release.leaves.offsets
    facts = {
        "method": "grid",
        "rule": rule,
        "n_clusters": settings.n_clusters,
        "n_rows": n_rows,
        "parts": grid.parts,
        "n_cells": release.n_cells,
        "leaf_means": offsets is not None,
        **({"theta": settings.theta} if rule == "eugkm" and settings.theta != THETA else {}),
    }
    uncut = [
        column.name
        for column, parts in zip(domain, grid.parts, strict=True)
        if parts == 1 and (not settings.two_levels or isinstance(column, (Categorical, Integer)))
    ]
    return Synopsis(
        domain,
        lower=lower,
        upper=upper,
        weights=release.leaves.weights,
        variances=release.leaves.variances,
        points=None if offsets is None else lower + (upper - lower) * (1 + offsets) / 2,
        guarantee=opening.promise(facts),
        total=total,
        total_variance=total_variance,
        tree=release.tree,
        hidden=release.hidden,
        uncut=uncut,
    )


def fixed_grid(domain: Domain, settings: GridSettings) -> GridMap | None:
    """Return the grid if it is known before the number of rows and only its counts are wanted."""
    known = not isinstance(settings.rule, str) and settings.leaf_means is False
    return GridMap(domain, settings.rule) if known else None


def _pays(domain: Domain, n: float, epsilon: Exact, settings: GridSettings) -> GridSettings:
    """Return the settings; those of one level where "rugnik-adaptive" has the smaller bound with that."""
    if settings.rule != "rugnik-adaptive":
        return settings
    axes, together = sum(not isinstance(c, Categorical) for c in domain), n_combinations(domain)
    if all(isinstance(c, (Categorical, Integer)) for c in domain):  # nothing to cut again
        return dataclasses.replace(settings, rule="rugnik")
    each = math.inf if epsilon == math.inf else float(epsilon) / math.sqrt(together)
    alone = each < math.inf and nested_first(n, each, axes, -(-settings.n_clusters // together)) < 2
    return dataclasses.replace(settings, rule="rugnik") if alone else settings


def _parts(domain: Domain, n: float, epsilon: Exact, settings: GridSettings) -> Any:
    """Return the parts per axis that the rule asks for."""
    rule = settings.rule
    if not isinstance(rule, str):
        return rule
    n = max(1.0, n)
    k, limit = settings.n_clusters, settings.most_listed(len(domain))
    nested = min(DENSE_LIMIT, settings.most_nested(len(domain)) // 2)
    if settings.two_levels:
        limit = max(1, min(settings.max_cells // 4, nested // 2))  # most cells are left to the second level
        k = k if rule == "rugnik-adaptive" else 1

    def parts(e: float, d: int, k: int) -> int:
        if rule == "rugnik-adaptive":
            return nested_first(n, e, d, k)
        if rule == "rugnik":
            return rugnik(n, e, d, k, guard=False)
        if rule == "eugkm":
            return eugkm(n, e, d, settings.theta)
        return first_level(n, e, d, settings.adaptive.c)

    units = settings.axes == "units"
    most = nested if settings.two_levels else 2**63 - 1
    return axis_parts(parts, domain, n=n, epsilon=float(epsilon), k=k, max_cells=limit, units=units, most_cells=most)


def gaussian_grid(settings: GridSettings) -> Callable[[Domain, Epsilon, Rho], bool]:
    """Return what tells by public values whether Gaussian noise is better for a grid: whether a count varies less."""
    means = settings.leaf_means is True

    def better(domain: Domain, pure: Epsilon, rho: Rho) -> bool:
        d = len(domain)
        narrower = count_variance(rho, d, means=means) < count_variance(pure, d, means=means)
        return narrower and not settings.two_levels

    return better


def _all_cells(opening: OpenRelease, grid: GridMap, price: Price, means: bool) -> GridRelease:
    """Publish every cell."""
    source, sums = opening.source, None
    line = opening.gate.hold("cells", price)
    if means:
        rows, sums = source.sums(grid).dense()
    else:
        rows = (source.count(grid) if opening.counts is None else opening.counts).dense()
    leaves = publish(line, rows, sums, apart=opening.apart)
    total, spread = float(leaves.weights.sum()), float(leaves.variances.sum())
    return GridRelease(*grid.boxes(np.arange(grid.n_cells)), leaves, grid.n_cells, total, spread)


def _large_cells(opening: OpenRelease, grid: GridMap, price: Epsilon, settings: GridSettings) -> GridRelease:
    """Publish the cells above a cutoff; their sum says little about the number of rows."""
    cutoff = survival_cutoff(grid.n_cells, price.amount, settings.expected_survivors)
    cells, weights, law = opening.gate.sparse_counts(
        "cells", lambda: opening.source.count(grid) if opening.counts is None else opening.counts, price, cutoff
    )
    leaves = PublishedLeaves(weights, np.full(len(cells), law.variance), None)
    hidden = HiddenCells(grid.n_cells, cutoff, law.variance)
    return GridRelease(*grid.boxes(cells), leaves, grid.n_cells, opening.n_rows, math.inf, hidden=hidden)


def _total(release: GridRelease, n: float, variance: float | None) -> tuple[float, float]:
    """Combine two views of the number of rows by their variances: the one bought and the sum of the cells (9.8)."""
    if math.isinf(release.total_variance) or variance == 0:
        return n, variance or 0.0
    if variance is None or release.total_variance == 0:
        return release.total, release.total_variance
    precision = 1 / release.total_variance + 1 / variance
    return (release.total / release.total_variance + n / variance) / precision, 1 / precision
