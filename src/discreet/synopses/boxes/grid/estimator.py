"""Grid synopses: one noisy count per cell of a uniform or a two-level grid.

The size of the grid follows a published rule (`rules.py`) from a noisy number of rows, never from the true one. A small
grid is published completely. A larger one lists the cells whose noisy count exceeds a cutoff (`Gate.sparse_counts`).
Noise makes some empty cells exceed it too: they are drawn from their exact law without touching the others, so nothing
in the result shows which cells hold rows. The price is resolution: cells with fewer rows than about the cutoff vanish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.core import Categorical, Declared, Domain, Estimator, Exact, Integer, option
from discreet.core import options as shared
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines import GridMap
from discreet.engines.passes import DENSE_LIMIT
from discreet.synopses.boxes.grid.adaptive import GridRelease, two_levels
from discreet.synopses.boxes.grid.rules import axis_parts, eugkm, first_level, rugnik
from discreet.synopses.boxes.grid.settings import RULES, GridSettings
from discreet.synopses.boxes.grid.size import check_large, check_size, survival_cutoff
from discreet.synopses.boxes.synopsis import BoxSynopsis
from discreet.synopses.boxes.tables import HiddenCells
from discreet.synopses.opening import OpenRelease, check_release, method_options, note_columns, open_for
from discreet.synopses.publishing import PublishedLeaves, count_variance, publish


class GridSynopsis(Declared, Estimator):
    """Publish a noisy histogram over the cells of a grid.

    Attributes
    ----------
    synopsis_ : BoxSynopsis
        What may be published.
    guarantee_ : Guarantee
        Its promise.

    Privacy
    -------
    Neighbours: add or remove one row. The number of rows costs ``size_share`` ε (or is declared), the cells cost the
    rest: they are disjoint, so a row changes one count by 1, and every cell gets discrete Laplace noise, occupied or
    not. The size of the grid is a function of the noisy number. Price: ε. In ρ all of this is said of discrete Gaussian
    noise, σ² >= 1/(2ρ) for a count (of a grid with a cutoff, of Laplace noise for ε = √(2ρ)). Price: ρ.
    "adaptive" and "dpkfm" have two levels that overlap: a row changes one count of each, so their prices add up, half
    of the rest each. The second grid is a function of the noisy counts of the first. With ``leaf_means``, a row adds 1
    to a cell's count and at most 1 (in half widths) to each of its d sums: the joint vector moves by 1 in maximum norm,
    √(d + 1) in Euclidean norm, and one draw of noise for that replaces the one for the count, at the same price.
    If the domain declares a person as the unit, neighbours differ in all rows of one person. At most ``unit.rows`` of
    them are used, and all noise is that of ε/rows, or ρ/rows².

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, (2000, 2))
    >>> grid = GridSynopsis(epsilon=1.0, domain=(0, 1), n_clusters=3, random_state=0).fit(X)
    >>> grid.synopsis_
    <Synopsis: 225 leaves of 2 columns, about 1,977 rows, epsilon 1, SEEDED: do not publish>
    >>> grid.guarantee_.epsilon
    1.0
    """

    epsilon: Any = shared.EPSILON
    domain: Any = shared.DOMAIN
    rule: str | int | Sequence[int] = option(
        default="rugnik",
        takes=("text", "whole"),
        choices=RULES,
        low=1,
        objects=True,
        help="Rule for the parts per axis, or their number, or a list with one number per axis.",
        details=(
            '"rugnik" suits k-means with ``n_clusters``; "eugkm" is EUGkM\'s rule; "adaptive" and "dpkfm" have two '
            "levels, whose cells are divided by their own noisy counts. A categorical axis has one cell per category."
        ),
    )
    n_clusters: int = option(default=8, low=1, high=2**31, help="Number of clusters that the grid is meant to resolve.")
    n_rows: float | None = shared.N_ROWS
    size_share: float = shared.SIZE_SHARE
    max_cells: int = option(
        default=2**20,
        low=1,
        high=2**27,
        help="Largest number of cells at which empty cells are listed too.",
        details="Larger ones list the cells above a cutoff. No rule asks for more cells.",
    )
    expected_survivors: float = option(
        default=100,
        above=0,
        high=10**7,
        help="For larger grids: expected number of empty cells in the list. It sets the cutoff for noisy counts.",
        details="Cells with fewer rows than the cutoff mostly vanish.",
    )
    leaf_means: bool | str = option(
        default=False,
        choices=("auto",),
        takes=("flag", "text"),
        example="auto",
        expected="True, False or 'auto'",
        help="Publish the mean of each cell too, for more noise.",
        details='"auto" decides by the noisy number of rows per cell. Grids with a cutoff publish counts only.',
    )
    max_memory: float = shared.MAX_MEMORY
    random_state: Any = shared.RANDOM_STATE
    rho: Any = shared.RHO
    delta: Any = shared.DELTA
    expect_rows: int | None = shared.EXPECT_ROWS
    check_first: float | None = shared.CHECK_FIRST
    ledger: Any = shared.LEDGER

    def fit(self, X: Any, y: Any = None) -> GridSynopsis:
        """Make the synopsis of a table. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        settings = self.settings()
        known = {"grid": lambda domain: fixed_grid(domain, settings), "gaussian": gaussian_grid(settings)}
        opening = open_for(self, X, check=self._fits(settings), **known)
        self.synopsis_: BoxSynopsis = opening.weighed(build(opening, settings))
        self.guarantee_ = opening.book(self.synopsis_.guarantee)
        note_columns(self, X)
        return self

    def check(self) -> None:
        """Refuse what no table could be released with: what `fit` refuses before it reads a row."""
        settings = self.settings()
        check_release(self, self._fits(settings), gaussian=gaussian_grid(settings))

    def settings(self) -> GridSettings:
        """Check the options and return them in the form that the method uses."""
        return GridSettings.read(method_options(self))

    def _fits(self, settings: GridSettings) -> Callable[[Domain, Any], None]:
        return lambda domain, epsilon: check_size(domain, settings, epsilon, self.n_rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def build(opening: OpenRelease, settings: GridSettings) -> BoxSynopsis:
    """Make a grid synopsis with everything that a gate has left."""
    domain, n_rows, left = opening.domain, opening.n_rows, opening.gate.left
    epsilon = left.like_epsilon().amount  # for sizes
    rule = settings.rule
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
    }
    uncut = [
        column.name
        for column, parts in zip(domain, grid.parts, strict=True)
        if parts == 1 and (not settings.two_levels or isinstance(column, (Categorical, Integer)))
    ]
    return BoxSynopsis(
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
        k = 1

    def parts(e: float, d: int, k: int) -> int:
        if rule == "rugnik":
            return rugnik(n, e, d, k, guard=False)
        if rule == "eugkm":
            return eugkm(n, e, d)
        return first_level(n, e, d)

    most = nested if settings.two_levels else 2**63 - 1
    return axis_parts(parts, domain, n=n, epsilon=float(epsilon), k=k, max_cells=limit, most_cells=most)


def gaussian_grid(settings: GridSettings) -> Callable[[Domain, Epsilon, Rho], bool]:
    """Return a rule that decides by public values whether Gaussian noise is better: a count then varies less."""
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
    """Combine two views of the number of rows by their variances: the separate noisy count and the sum of the cells."""
    if math.isinf(release.total_variance) or variance == 0:
        return n, variance or 0.0
    if variance is None or release.total_variance == 0:
        return release.total, release.total_variance
    precision = 1 / release.total_variance + 1 / variance
    return (release.total / release.total_variance + n / variance) / precision, 1 / precision
