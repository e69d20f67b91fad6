"""Refinements: each equals its definition, keeps the promise, and removes the error it is there to remove."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import ndtri

import discreet as dc
from discreet import noise
from discreet.clustering import fit_mixture
from discreet.clustering.leaves import _mixture_kernels
from discreet.clustering.leaves.mixture import _Axes, _Problem
from discreet.errors import InvalidArgument, InvalidType
from discreet.noise.integer.laws import DiscreteLaplace
from discreet.synopses import BoxSynopsis, HiddenCells, TreeTable, refine
from discreet.synopses.boxes.consistency import least_squares, rate_of
from discreet.synopses.boxes.refine import nearest_weights


def release(weights, variances=None, *, lower=None, upper=None, **more):
    """A synopsis of one column unless boxes are given, with a ledger that adds up to 1."""
    n = len(weights)
    edges = np.linspace(0, 1, n + 1)[:, None]
    lower, upper = (edges[:-1], edges[1:]) if lower is None else (lower, upper)
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("counts", 1, "parallel")
    return BoxSynopsis(
        dc.Domain.box([0.0] * np.shape(lower)[1], 1.0),
        lower=lower,
        upper=upper,
        weights=weights,
        variances=np.full(n, 2.0) if variances is None else variances,
        guarantee=dc.Guarantee.from_ledger(ledger, model="central"),
        **more,
    )


def random_tree(rng, *, threshold=math.nan):
    """A tree with random fan-outs up to 4 and depths up to 4, counts above the leaves here and there."""
    parent, depth = [-1], [0]
    for node in range(200):
        if node >= len(parent):
            break
        if depth[node] < 4 and (node == 0 or rng.random() < 0.6) and len(parent) < 60:
            for _ in range(rng.integers(1, 5)):
                parent.append(node)
                depth.append(depth[node] + 1)
    parent, depth = np.array(parent), np.array(depth)
    order = np.argsort(depth, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    parent = np.where(parent[order] >= 0, place[parent[order]], -1)
    n = len(parent)
    is_leaf = ~np.isin(np.arange(n), parent)
    leaf = np.full(n, -1)
    leaf[is_leaf] = rng.permutation(is_leaf.sum())
    used = ~is_leaf & (rng.random(n) < 0.7)
    return TreeTable(
        parent=parent,
        depth=depth[order],
        leaf=leaf,
        axis=np.where(is_leaf, -1, 0),
        lower=np.zeros((n, 1)),
        upper=np.ones((n, 1)),
        estimate=np.where(used, rng.normal(50, 20, n), np.nan),
        variance=np.where(used, rng.uniform(0.5, 30, n), np.inf),
        threshold=np.full(n, threshold),
    )


def test_consistency_is_dense_generalised_least_squares_on_300_random_trees():
    rng = np.random.default_rng(1)
    for _ in range(300):
        tree = random_tree(rng)
        n_leaves = int((tree.leaf >= 0).sum())
        weights, variances = rng.normal(20, 10, n_leaves), rng.uniform(0.5, 30, n_leaves)
        # Every node as a sum of leaves, by walking up from each leaf.
        below = np.zeros((tree.n_nodes, n_leaves))
        for node in np.flatnonzero(tree.leaf >= 0):
            above = node
            while above >= 0:
                below[above, tree.leaf[node]] = 1
                above = tree.parent[above]
        used = np.flatnonzero(np.isfinite(tree.estimate))
        design = np.vstack([np.eye(n_leaves), below[used]])
        scale = 1 / np.sqrt(np.concatenate([variances, tree.variance[used]]))
        target = np.concatenate([weights, tree.estimate[used]])
        best = np.linalg.lstsq(design * scale[:, None], target * scale, rcond=None)[0]
        covariance = np.linalg.inv((design * scale[:, None] ** 2).T @ design)
        x, V = least_squares(tree, weights, variances)
        np.testing.assert_allclose(x, below @ best, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(V, np.einsum("ij,jk,ik->i", below, covariance, below), rtol=1e-11)


def test_consistent_leaves_add_up_and_a_second_time_changes_nothing():
    rng = np.random.default_rng(2)
    tree = random_tree(rng)
    n = int((tree.leaf >= 0).sum())
    drawn = release(
        rng.normal(20, 10, n), rng.uniform(1, 9, n), lower=np.zeros((n, 1)), upper=np.ones((n, 1)), tree=tree
    )
    once = refine.consistent(drawn)
    assert once.weights.sum() == pytest.approx(once.total, rel=1e-12)
    assert (once.variances <= drawn.variances * (1 + 1e-12)).all()
    twice = refine.consistent(once)
    np.testing.assert_allclose(twice.weights, once.weights, rtol=1e-12)
    np.testing.assert_allclose(twice.variances, once.variances, rtol=1e-9)


def test_stop_counts_lose_the_bias_of_having_been_large():
    """A root that is cut only if its noisy count exceeds T. False-alarm probability below 1e-4 (4 standard errors)."""
    n, T, scale, runs = 30, 40, 20, 4000
    stops = n + noise.discrete_laplace(scale, runs, rng=5)
    leaves = noise.discrete_laplace(4, (runs, 2), rng=6) + n // 2
    variance, leaf_variance = DiscreteLaplace(scale).variance, DiscreteLaplace(4).variance
    found, raw = [], []
    for c, own in zip(stops[stops > T], leaves[stops > T], strict=True):
        for threshold, out in ((float(T), found), (math.nan, raw)):
            tree = TreeTable(
                parent=[-1, 0, 0],
                depth=[0, 1, 1],
                leaf=[-1, 0, 1],
                axis=[0, -1, -1],
                lower=[[0.0], [0.0], [0.5]],
                upper=[[1.0], [0.5], [1.0]],
                estimate=[float(c), np.nan, np.nan],
                variance=[variance, np.inf, np.inf],
                threshold=[threshold, np.nan, np.nan],
            )
            out.append(least_squares(tree, own.astype(float), np.full(2, leaf_variance))[0][0])
    error = np.std(found) / math.sqrt(len(found))
    assert abs(np.mean(found) - n) < 4 * error + 0.15  # the bias at a noisy n is not quite that at n
    assert np.mean(raw) - n > 5 * error


def test_without_noise_consistency_changes_nothing():
    tree = TreeTable(
        parent=[-1, 0, 0],
        depth=[0, 1, 1],
        leaf=[-1, 0, 1],
        axis=[0, -1, -1],
        lower=[[0.0], [0.0], [0.5]],
        upper=[[1.0], [0.5], [1.0]],
        estimate=[12.0, np.nan, np.nan],
        variance=[0.0, np.inf, np.inf],
        threshold=[0.0, np.nan, np.nan],
    )
    assert refine.consistent(release([5, 7], np.zeros(2), tree=tree)).weights.tolist() == [5.0, 7.0]


def test_projection_solves_its_problem():
    rng = np.random.default_rng(3)
    for _ in range(20):
        y, s = rng.normal(3, 8, 12), rng.uniform(0.5, 9, 12)
        total = float(rng.uniform(1, 60))
        found = refine.project(release(y, s, total=total)).weights
        best = minimize(
            lambda w, y=y, s=s: ((w - y) ** 2 / s).sum(),
            np.full(12, total / 12),
            jac=lambda w, y=y, s=s: 2 * (w - y) / s,
            bounds=[(0, None)] * 12,
            constraints={"type": "eq", "fun": lambda w, total=total: w.sum() - total, "jac": lambda w: np.ones(12)},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(found, best.x, atol=1e-4)
        assert found.sum() == pytest.approx(total)


@pytest.mark.parametrize("total", [0.0, -5.0])
def test_no_rows_means_no_weights(total):
    assert refine.project(release([3.0, -4.0], total=total)).weights.tolist() == [0.0, 0.0]


def test_projection_leaves_exact_weights_alone():
    found = refine.project(release([5.0, 8.0, -2.0], [0.0, 1.0, 1.0], total=11.0)).weights
    assert found.tolist() == [5.0, 6.0, 0.0]
    assert refine.project(release([5.0, 5.0], [0.0, 0.0], total=20.0)).weights.tolist() == [10.0, 10.0]


def test_survivors_alone_give_the_projection_of_the_whole_grid():
    """A grid of 20,000 cells, 200 of them with rows: whenever λ is at least the cutoff, hidden cells would be zero."""
    identical = 0
    for seed in range(30):
        counts = np.zeros(20_000, np.int64)
        counts[:200] = 40
        drawn = counts + noise.discrete_laplace(5, len(counts), rng=seed)
        variance = DiscreteLaplace(5).variance
        dense, shift = nearest_weights(drawn.astype(float), np.ones(len(drawn)), 8000.0)
        for cutoff in (10, 20, 30, 40):
            listed = np.flatnonzero(drawn > cutoff)
            edges = np.linspace(0, 1, len(drawn) + 1)
            few = release(
                drawn[listed],
                np.full(len(listed), variance),
                lower=edges[listed][:, None],
                upper=edges[listed + 1][:, None],
                total=8000.0,
                hidden=HiddenCells(len(drawn), cutoff, variance),
            )
            refined = refine.project(few)
            scaled = "scaled" in refined.guarantee.parameters["refined"][-1]
            assert refined.weights.sum() == pytest.approx(8000.0)
            assert scaled == (not (drawn[listed].sum() >= 8000 and shift >= cutoff))
            if not scaled:
                np.testing.assert_allclose(refined.weights, dense[listed], atol=1e-8)
                identical += 1
    assert identical > 20


def test_threshold_drops_noise_and_keeps_rows():
    counts = np.zeros(400, np.int64)
    counts[:40] = 300
    variance = DiscreteLaplace(10).variance
    drawn = release(counts + noise.discrete_laplace(10, 400, rng=1), np.full(400, variance))
    kept = refine.threshold(drawn)
    assert (kept.weights[:40] > 0).all()
    assert (kept.weights[40:] > 0).sum() <= 3


def test_threshold_does_not_drop_most_of_the_rows():
    """All cells lie below ln(cells)/ε: the cut comes down until 80 % of the total is kept."""
    variance = DiscreteLaplace(10).variance
    drawn = release(20 + noise.discrete_laplace(10, 400, rng=2), np.full(400, variance))
    assert drawn.weights[drawn.weights >= refine.noise_cut(drawn)].sum() < 0.5 * drawn.total
    assert refine.threshold(drawn).weights.sum() >= 0.8 * drawn.total


def test_no_noise_keeps_every_occupied_leaf():
    exact = release([3, 0, 1], np.zeros(3))
    assert refine.threshold(exact).weights.tolist() == [3.0, 0.0, 1.0]
    assert refine.project(exact).weights.tolist() == [3.0, 0.0, 1.0]


def test_the_rate_of_a_variance_is_that_of_the_law():
    for scale in (0.3, 1, 7, 100):
        assert rate_of(DiscreteLaplace(scale).variance) == pytest.approx(1 / scale, rel=1e-9)
    assert rate_of(0.0) == math.inf


@pytest.mark.parametrize(
    "step", [refine.consistent, refine.project, refine.threshold, lambda s: fit_mixture(s, 2).synopsis]
)
def test_refining_keeps_the_promise_and_says_what_was_done(step):
    drawn = release([50, 60, 2, -3, 40, 70, 1, 0])
    refined = step(drawn)
    assert refined.guarantee.epsilon == 1.0
    assert refined.guarantee.ledger == drawn.guarantee.ledger
    assert len(refined.guarantee.parameters["refined"]) == 1
    assert drawn.weights.tolist() == [50, 60, 2, -3, 40, 70, 1, 0]
    assert refined.digest != drawn.digest
    assert step(refined).guarantee.parameters["refined"][:1] == refined.guarantee.parameters["refined"]


@pytest.mark.parametrize(
    "step", [refine.consistent, refine.project, refine.threshold, lambda s: fit_mixture(s, 2).synopsis]
)
def test_a_synopsis_without_leaves_or_rows_is_refined_like_any_other(step):
    assert (
        step(release(np.empty(0, np.int64), np.empty(0), lower=np.empty((0, 1)), upper=np.empty((0, 1)))).n_leaves == 0
    )
    assert step(release([-1, -2, 0])).n_leaves == 3


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: refine.threshold(s.weights), InvalidType),
        (lambda s: refine.project(s.weights), InvalidType),
        (lambda s: fit_mixture(s, 0), InvalidArgument),
    ],
)
def test_wrong_arguments_are_refused(call, error):
    with pytest.raises(error):
        call(release([1, 2]))


def gaussian_grid(m, epsilon, seed, spread=0.05):
    """Three round clusters of 2000 rows on a grid, with noise; returns the synopsis and the true centres."""
    centers = np.array([[0.2, 0.3], [0.7, 0.25], [0.5, 0.8]])
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(c, spread, (2000, 2)) for c in centers])
    grid = dc.engines.GridMap(dc.Domain.box([0, 0], 1), m)
    counts = dc.engines.open(X).count(grid).dense()
    law = DiscreteLaplace(1 / epsilon)
    lower, upper = grid.boxes(np.arange(m * m))
    drawn = counts + noise.discrete_laplace(law.scale, m * m, rng=seed)
    return release(drawn, np.full(m * m, law.variance), lower=lower, upper=upper), centers


def test_the_mixture_finds_gaussians_under_heavy_noise():
    drawn, centers = gaussian_grid(20, 0.05, seed=1)
    fit = fit_mixture(drawn, 3)
    order = np.argsort(fit.means[:, 1])
    np.testing.assert_allclose(fit.means[order], centers[[1, 0, 2]], atol=0.02)
    np.testing.assert_allclose(fit.masses, 2000, rtol=0.25)
    np.testing.assert_allclose(fit.spreads, 0.05, rtol=0.3)
    assert (fit.synopsis.weights >= 0).all()


def test_weights_that_are_no_gaussians_survive_the_mixture():
    """A uniform square and little noise: the fit is wrong, the refined weights follow the drawn ones."""
    grid = dc.engines.GridMap(dc.Domain.box([0, 0], 1), 10)
    lower, upper = grid.boxes(np.arange(100))
    inside = ((lower >= 0.2) & (upper <= 0.8001)).all(axis=1)
    drawn = release(np.where(inside, 1000, 0), np.full(100, 2.0), lower=lower, upper=upper)
    assert np.abs(fit_mixture(drawn, 2).synopsis.weights - drawn.weights).max() < 10


def test_the_mixture_leaves_bought_means_and_survivor_lists_alone():
    drawn, _ = gaussian_grid(12, 1.0, seed=3)
    bought = drawn.replace(points=drawn.lower + 0.25 * (drawn.upper - drawn.lower))
    assert np.array_equal(fit_mixture(bought, 3).synopsis.points, bought.points)
    few = drawn.replace(hidden=HiddenCells(10**6, 5, 2.0))
    assert not len(fit_mixture(few, 3).means)
    inside = fit_mixture(drawn, 3).synopsis
    assert ((inside.points >= drawn.lower - 1e-12) & (inside.points <= drawn.upper + 1e-12)).all()


def test_the_gradient_of_the_mixture_is_that_of_its_counts():
    drawn, _ = gaussian_grid(6, 1.0, seed=4)
    problem = _Problem(drawn, np.ones(36, dtype=bool))
    rng = np.random.default_rng(5)
    masses, means, logs = rng.uniform(500, 900, 3), rng.uniform(0.1, 0.9, (3, 2)), rng.uniform(-3, -1, (3, 2))
    pull = rng.normal(size=36)

    def value(x):
        share = problem.axes.shares(x[3:9].reshape(3, 2), np.exp(x[9:].reshape(3, 2)))[0]
        return pull @ _mixture_kernels.expected(problem.starts, problem.index, share, x[:3], np.zeros(36))

    share, by_mean, by_spread = problem.axes.shares(means, np.exp(logs))
    parts = np.zeros(3), np.zeros((3, 2)), np.zeros((3, 2))
    _mixture_kernels.gradient(problem.starts, problem.index, share, by_mean, by_spread, masses, pull, *parts)
    at = np.concatenate([masses, means.ravel(), logs.ravel()])
    np.testing.assert_allclose(
        np.concatenate([p.ravel() for p in parts]), approx_fprime(at, value, 1e-6), rtol=1e-3, atol=1e-2
    )


def test_consistency_is_reached_once() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    domain = dc.Domain.box([0, 0], 1)
    for model in (
        dc.GridSynopsis(1.0, domain, 4, random_state=0),
        dc.TreeSynopsis(1.0, domain, max_depth=4, test_from=0, random_state=0),
    ):
        once = refine.consistent(model.fit(X).synopsis_)
        twice = refine.consistent(once)
        assert np.array_equal(once.weights, twice.weights)
        assert np.array_equal(once.variances, twice.variances)
        assert once.total_variance == twice.total_variance


def test_an_adaptive_grid_keeps_its_total_when_made_consistent() -> None:
    """Its counts are reconciled already, and correlated: their variances do not add up to that of the total."""
    X = np.random.default_rng(0).random((5000, 2))
    release = dc.GridSynopsis(1.0, dc.Domain.box([0, 0], 1), "adaptive", random_state=0).fit(X).synopsis_
    after = refine.consistent(release)
    assert (after.total, after.total_variance) == (release.total, release.total_variance)


def leaf_errors(rows, epsilon, seed, parts):
    """Squared errors of leaf means, weighted by true rows: as published, and after `refine.means`."""
    made = dc.GridSynopsis(epsilon, dc.Domain.box([0] * rows.shape[1], 1), parts, leaf_means=True, random_state=seed)
    made = made.fit(rows).synopsis_
    moved, before, after = refine.means(made), 0.0, 0.0
    for i in range(made.n_leaves):
        inside = rows[((rows >= made.lower[i]) & (rows < made.upper[i] + 1e-12)).all(axis=1)]
        if len(inside):
            before += len(inside) * ((made.points[i] - inside.mean(axis=0)) ** 2).sum()
            after += len(inside) * ((moved.points[i] - inside.mean(axis=0)) ** 2).sum()
    return before, after


def test_means_of_skewed_columns_are_nearer_to_the_rows():
    rows = np.random.default_rng(1).exponential(0.08, (4000, 5)).clip(0, 0.999)
    before, after = np.sum([leaf_errors(rows, 0.1, seed, [2, 2, 2, 2, 1]) for seed in range(6)], axis=0)
    assert after < 0.6 * before


def test_means_of_rows_that_fill_the_domain_are_no_worse():
    rows = np.random.default_rng(2).random((4000, 5))
    before, after = np.sum([leaf_errors(rows, 0.1, seed, [2, 2, 2, 2, 1]) for seed in range(6)], axis=0)
    assert after < 1.05 * before


def test_means_stay_in_their_boxes_under_the_same_promise():
    rows = np.random.default_rng(3).beta(1, 9, (500, 4))
    made = dc.GridSynopsis(0.2, dc.Domain.box([0] * 4, 1), 2, leaf_means=True, random_state=1).fit(rows).synopsis_
    moved = refine.means(made)
    assert ((moved.points >= made.lower) & (moved.points <= made.upper)).all()
    assert moved.guarantee.parameters["refined"] == ["means"]
    assert moved.guarantee.epsilon == made.guarantee.epsilon
    np.testing.assert_array_equal(moved.weights, made.weights)


def test_without_means_or_without_noise_nothing_is_moved():
    assert refine.means(counts := release([5, 9, 2])) is counts
    exact = dc.GridSynopsis(math.inf, dc.Domain.box([0] * 4, 1), 2, leaf_means=True, random_state=1)
    exact = exact.fit(np.random.default_rng(3).random((500, 4))).synopsis_
    assert refine.means(exact) is exact


@pytest.mark.parametrize("mean", [0.02, 0.2, 0.5, 0.98])
@pytest.mark.parametrize("spread", [0.03, 0.1, 0.4])
def test_rows_beyond_the_bounds_lie_on_them_when_places_are_worked_out(mean, spread):
    """The middle of 400,001 quantiles that are clamped to [0, 1], leaf by leaf; a leaf with few of them is left out."""
    rows = np.clip(mean + spread * ndtri((np.arange(400_001) + 0.5) / 400_001), 0, 1)
    drawn = release(np.full(4, 10))
    axes = _Axes.of(drawn, np.ones(4, bool), np.ones(1))
    found = axes.places(np.array([[mean]]), np.array([[spread]]))[:, 0]
    for place, low, high in zip(found, *axes.inner.T, strict=True):
        own = rows[(rows >= low) & ((rows < high) | (high == 1))]
        if len(own) > 4000:
            assert place == pytest.approx(own.mean(), abs=1e-3)
