"""Growth of trees: the same as a slow reference, whatever the threads, the search and the units."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.anonymity.growth import grow, search_kernels
from discreet.anonymity.growth.criteria import cell_gain
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.growth.grow import grow_tree
from discreet.anonymity.growth.plain import grow_plainly
from discreet.anonymity.methods.density_tree import CRITERIA, DensityTree
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.rules import Rules
from discreet.core.domain import Domain, Numeric
from support.classes import keeps
from support.trees import bins_of, cuts_of


def slow_tree(
    bins: Any, steps: list[int], k: int, criterion: str, min_share: float, rules: Any = None
) -> list[tuple[int, int]]:
    """Grow on columns of equal steps, from the formulas of the specification: column and cut of every node."""
    d = len(steps)
    x = [[int(v) for v in column] for column in bins]
    nodes: list[tuple[int, int]] = []
    stack = [(list(range(len(x[0]))), [0] * d, [s - 1 for s in steps])]
    while stack:
        rows, first, last = stack.pop()
        best: tuple[float, int, int] | None = None
        offers = list(slow_cuts(x, steps, rows, first, last, k, criterion, min_share))
        if criterion == "mondrian":
            widths = [Fraction(max(x[j][i] for i in rows) - min(x[j][i] for i in rows), steps[j]) for j in range(d)]
            offers.sort(key=lambda offer: (-widths[offer[1]], offer[1], offer[2]))
        for gain, j, cut in offers:
            if best is not None and criterion == "mondrian" and j != best[1]:
                break
            if best is None or gain > best[0] + 1e-12 * abs(best[0]):
                sides = [[i for i in rows if (x[j][i] < cut) == left] for left in (True, False)]
                if rules is None or all(rules(side) for side in sides):
                    best = (gain, j, cut)
        if best is None or len(rows) < 2 * k:
            nodes.append((-1, -1))
            continue
        _, j, cut = best
        nodes.append((j, cut))
        right = ([i for i in rows if x[j][i] >= cut], first[:j] + [cut] + first[j + 1 :], last)
        left = ([i for i in rows if x[j][i] < cut], first, last[:j] + [cut - 1] + last[j + 1 :])
        stack += [right, left]
    return nodes


def slow_cuts(
    x: Any, steps: list[int], rows: list[int], first: Any, last: Any, k: int, criterion: str, min_share: float
) -> Any:
    for j in range(len(steps)):
        occupied = sorted({x[j][i] for i in rows})
        for before, after in itertools.pairwise(occupied):
            cut = (before + 1 + after) // 2
            left = [i for i in rows if x[j][i] < cut]
            right = [i for i in rows if x[j][i] >= cut]
            share = Fraction(cut - first[j], last[j] + 1 - first[j])
            if len(left) < k or len(right) < k or not min_share <= share <= 1 - min_share:
                continue
            yield slow_gain(x, steps, rows, left, right, share, criterion), j, cut


def slow_gain(x: Any, steps: list[int], rows: Any, left: Any, right: Any, share: Any, criterion: str) -> Any:
    c, a, b = len(rows), len(left), len(right)
    if criterion == "cell":
        return a * a / share + b * b / (1 - share) - c * c
    if criterion == "mondrian":
        return -abs(a - c / 2)
    total = 0.0
    for m, s in enumerate(steps):  # the drop of the sum of squares, by its definition
        for sign, part in ((1, rows), (-1, left), (-1, right)):
            values = np.array([x[m][i] / s for i in part])
            total += sign * float(((values - values.mean()) ** 2).sum())
    return total


def blobs(n: int, d: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(size=(n, d)) * 0.1 + 0.3 + 0.4 * rng.integers(0, 2, size=(n, 1)), 0, 1)


FEW_POINTS = np.sort(np.random.default_rng(3).random(50)).tolist()


@pytest.mark.parametrize("kernels", [False, True])
@pytest.mark.parametrize("criterion", ["cell", "mondrian", "spread"])
def test_growth_equals_the_slow_reference(criterion: str, kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernels:
        monkeypatch.setattr(grow, "_SMALL", 0)
    rng = np.random.default_rng(5)
    for trial in range(24):
        n, d, k = int(rng.integers(4, 200)), int(rng.integers(1, 4)), int(rng.integers(2, 9))
        steps = [int(s) for s in rng.integers(2, 40, d)]
        bins = np.stack([np.floor(rng.beta(2, 5, n) * s) for s in steps]).astype(np.uint16)
        grids = [make_grid(Numeric(f"x{j}", 0, 1), s) for j, s in enumerate(steps)]
        share = 0.02 if trial % 2 else 0.0
        codes = rng.integers(0, 3, n).astype(np.int32)
        column = CodedColumn("s", codes, ["a", "b", "c"], False)
        rules = Rules(k, l_diversity=2, t_closeness=0.4) if trial % 3 == 0 and n >= k else Rules(k)
        ok = (lambda rows, r=rules, s=column: keeps(r, rows, [s])) if rules.l_on else None
        grown = grow_tree(
            bins,
            grids,
            rules.limits([column]),
            criterion=criterion,
            sensitive=codes[None].astype(np.int64),
            min_share=share,
            max_depth=10**6,
        )
        found = list(zip(grown.tree.column.tolist(), grown.tree.cut.tolist(), strict=True))
        assert found == slow_tree(bins, steps, k, criterion, share, ok)
        assert (grown.tree.route(bins) == grown.leaf).all()


def test_identities_of_the_cell_gain() -> None:
    """I1 to I3 (spec 2.9), from the definitions and from the two-cell χ² computed apart."""
    rng = np.random.default_rng(6)
    n = rng.integers(2, 1000, 20_000)
    left = rng.integers(0, n + 1)
    share = rng.uniform(0.001, 0.999, len(n))
    volume = rng.uniform(0.01, 1, len(n))
    total = n * rng.uniform(1, 9, len(n))
    gain = np.array([cell_gain(int(c), int(a), float(r)) for c, a, r in zip(n, left, share, strict=True)])
    right = n - left
    squares = left**2 / share + right**2 / (1 - share)
    assert np.abs(gain - (squares - n.astype(float) ** 2)).max() <= 1e-9 * squares.max()
    drop = (
        -((n / total) ** 2) / volume
        + (left / total) ** 2 / (share * volume)
        + (right / total) ** 2 / (1 - share) / volume
    )
    np.testing.assert_allclose(gain / (total**2 * volume), drop, atol=1e-9 * drop.max())
    chi = (left - share * n) ** 2 / (share * n) + (right - (1 - share) * n) ** 2 / ((1 - share) * n)
    np.testing.assert_allclose(gain, n * chi, rtol=1e-9)


@pytest.mark.parametrize("criterion", [*CRITERIA, "label"])
def test_threads_change_nothing(criterion: str) -> None:
    X = blobs(20_000, 3)
    grids = [make_grid(Numeric(f"x{j}", 0, 1), 64) for j in range(3)]
    bins = np.stack([bins_of(g, X[:, j]) for j, g in enumerate(grids)]).astype(np.uint16)
    target = CodedColumn("y", (X[:, 0] > 0.5).astype(np.int32), [0, 1], False)
    one, two = (
        grow_tree(bins, grids, Rules(7).limits([]), criterion=criterion, target=target, threads=t)
        for t in (False, True)
    )
    for a, b in zip(
        (one.tree.column, one.tree.cut, one.tree.right, one.counts),
        (two.tree.column, two.tree.cut, two.tree.right, two.counts),
        strict=True,
    ):
        assert np.array_equal(a, b)
    assert np.array_equal(one.leaf, two.leaf)
    assert one.counts[one.tree.leaves].min() >= 7
    assert one.counts[one.tree.leaves].sum() == len(X)
    assert one.tree.volumes()[one.tree.leaves].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("grid", [None, pytest.param(300, marks=pytest.mark.slow)])  # with lanes, and without
@pytest.mark.parametrize("rules", [{"l_diversity": 2}, pytest.param({}, marks=pytest.mark.slow)])
@pytest.mark.parametrize("criterion", ["spread", pytest.param("factor", marks=pytest.mark.slow)])
def test_counts_that_are_kept_grow_what_counting_every_node_grows(
    criterion: str, rules: dict[str, Any], grid: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(11)
    X = blobs(12_000, 5, seed=6)
    X[:, 0] = np.round(X[:, 0] ** 4, 1)  # some cuts leave a side of a few rows
    values = rng.integers(0, 4, len(X))
    domain = Domain(
        {f"x{j}": {"bounds": [0, 1], "role": "quasi-identifier"} for j in range(5)}
        | {"s": {"categories": list(range(4)), "role": "sensitive"}}
    )
    found = []
    for most in (search_kernels.KEPT_COUNTERS, 5000, 0):  # room for all large nodes that wait, for one or two, for none
        monkeypatch.setattr(search_kernels, "KEPT_COUNTERS", most)
        model = DensityTree(3, domain=domain, grid=grid, criterion=criterion, **rules)
        _, leaf = model._fit(np.column_stack([X, values]))
        found.append((cuts_of(model.tree_), leaf.tolist(), model.leaf_counts_.tolist()))
    assert found[0] == found[1] == found[2]
    assert len(found[0][2]) > 1000


@pytest.mark.parametrize(
    "rules",
    [
        {},
        pytest.param({"l_diversity": 2}, marks=pytest.mark.slow),
        {"l_diversity": 1.5, "l_kind": "entropy", "t_closeness": 0.4},
    ],
)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_small_tables_are_grown_as_kernels_grow_them(
    criterion: str, rules: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(8)
    X = blobs(900, 9, seed=4)  # sums of nine columns depend on the order of adding up
    X[rng.random(X.shape) < 0.02] = np.nan
    values = CodedColumn("s", rng.integers(0, 4, len(X)).astype(np.int32), list("abcd"), True)
    columns = [Numeric(f"x{j}", 0, 1, missing="own") for j in range(9)]
    grids = [make_grid(c, FEW_POINTS if j == 1 else 40 * j + 7) for j, c in enumerate(columns)]
    bins = np.stack([bins_of(g, X[:, j]) for j, g in enumerate(grids)]).astype(np.uint16)
    steps = rng.integers(0, 3, grids[4].levels - 1)
    found = []
    for most in (grow._SMALL, 0):
        monkeypatch.setattr(grow, "_SMALL", most)
        grown = grow_tree(
            bins,
            grids,
            Rules(5, **rules).limits([values]),
            criterion=criterion,
            sensitive=values.codes[None].astype(np.int64),
            tiers={4: steps},
        )
        found.append((cuts_of(grown.tree), grown.counts.tolist(), grown.leaf.tolist()))
    assert found[0] == found[1]
    assert len(found[0][1]) > 100


def test_many_small_tables_are_grown_with_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grow, "_MOST_PLAIN", 500)
    monkeypatch.setattr(grow, "_SMALL", 1 << 16)  # also where `test_array_bounds` wants kernels everywhere
    plain: list[int] = []
    monkeypatch.setattr(grow, "grow_plainly", lambda *given: plain.append(1) or grow_plainly(*given))
    bins, grids = np.arange(400, dtype=np.uint16)[None] % 40, [make_grid(Numeric("x", 0, 1), 40)]
    found = [grow_tree(bins, grids, Rules(5).limits([]), criterion="cell").counts.tolist() for _ in range(4)]
    assert len(plain) == 2
    assert found == [found[0]] * 4


def test_bins_agree_with_the_printed_edges() -> None:
    rng = np.random.default_rng(2)
    for low, high, steps in ((0, 1, 10), (-3, 0.7, 129), (1e9, 1e9 + 1, 1000), (0, 120, None), (0, 1, FEW_POINTS)):
        grid = make_grid(Numeric("x", low, high), steps)
        edges = np.array(grid.edges)
        near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        x = np.concatenate([near, rng.uniform(low - 1, high + 1, 500), [np.inf, -np.inf, 1e300, np.nan]])
        expected = [sum(e <= v for e in grid.edges[1:-1]) for v in x[:-1]]
        assert bins_of(grid, x).tolist() == [*expected, -1]
        own = make_grid(Numeric("x", low, high, missing="own"), steps)
        assert bins_of(own, x[::-1]).tolist() == [own.levels, *expected[::-1]]


def test_cell_mode_does_not_see_units() -> None:
    X = blobs(500, 3)
    scale, shift = np.array([10.0, 0.25, 4.0]), np.array([3.0, -1.0, 0.5])
    plain = DensityTree(k=5, domain=Domain.box(0, [1, 1, 1]), grid=64, criterion="cell").fit(X)
    other = DensityTree(k=5, domain=Domain.box(shift, shift + scale), grid=64, criterion="cell").fit(X * scale + shift)
    assert np.array_equal(plain.tree_.column, other.tree_.column)
    assert np.array_equal(plain.tree_.cut, other.tree_.cut)


def test_growth_of_a_chain_needs_no_recursion() -> None:
    # Ever rarer values: each cut parts off the densest end.
    x = np.concatenate([np.full(2, i) for i in range(3000)]).astype(np.uint16)
    grid = make_grid(Numeric("x", 0, 1), 4000)
    grown = grow_tree(x[None], [grid], Rules(2).limits([]), criterion="cell", min_share=0.0, max_depth=10**6)
    assert grown.tree.n_leaves == 3000
    assert grow_tree(x[None], [grid], Rules(2).limits([]), criterion="cell", max_depth=5).tree.levels.max() == 5
