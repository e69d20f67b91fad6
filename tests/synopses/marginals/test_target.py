"""The target is drawn anew by a model of it given the other columns, fitted to noisy counts alone."""

import numpy as np
import pytest

import discreet as dc
from discreet.engines.passes import GroupedMarginal
from discreet.synopses.marginals import population, release, target
from discreet.synopses.marginals.mixture import Factor

SIZES = [4, 3, 2]
N = 40_000


def people(seed=0):
    """Return two columns and a target whose log-odds are a sum over them, and the chances of each row."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, N)
    b = np.where(rng.random(N) < 0.5, a % 3, rng.integers(0, 3, N))
    odds = np.array([-2.0, -0.5, 0.5, 1.5])[a] + np.array([-1.0, 0.0, 1.0])[b]
    true = 1 / (1 + np.exp(-odds))
    return np.stack([a, b, rng.random(N) < true]).astype(np.int16), true


def factor(codes, columns, variance, groups=None):
    told = groups or [np.arange(SIZES[c]) for c in columns]
    marginal = GroupedMarginal(columns, told)
    counts = population.count_codes(codes, [marginal])[0].astype(float)
    return Factor(marginal, counts, np.full(len(counts), float(variance)))


def known(codes):
    return np.bincount(codes[2], minlength=2).astype(float)


def every(codes, variance):
    return [factor(codes, columns, variance) for columns in ((2,), (0, 2), (1, 2))]


def test_exact_counts_give_back_the_logistic_model():
    codes, true = people()
    found = target.chances(codes, 2, known(codes), every(codes, 0.0), [])
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert np.abs(found[:, 1] - true).max() < 0.03  # the rows themselves scatter by about .01


def test_marginals_without_the_target_and_unknown_counts_say_nothing():
    codes, _ = people()
    told = every(codes, 4.0)
    unknown = factor(codes, (0, 2), np.inf)
    plain = target.chances(codes, 2, known(codes), told, [])
    more = target.chances(codes, 2, known(codes), [*told, factor(codes, (0, 1), 4.0), unknown], [])
    assert np.array_equal(plain, more)


def test_noise_draws_the_chances_towards_the_shares_of_the_whole_table():
    codes, true = people()
    share = codes[2].mean()
    spread = [np.std(target.chances(codes, 2, known(codes), every(codes, v), [])[:, 1]) for v in (1.0, 1e6, 1e9, 1e13)]
    assert spread == sorted(spread, reverse=True)
    assert spread[0] == pytest.approx(np.std(true), abs=0.01)
    drowned = target.chances(codes, 2, known(codes), every(codes, 1e13), [])[:, 1]
    assert np.abs(drowned - share).max() < 1e-3


def test_groups_of_bins_and_places_of_the_target_in_a_marginal_do_not_matter():
    codes, _ = people()
    turned = codes[[2, 0, 1]]
    first = target.chances(codes, 2, known(codes), every(codes, 4.0), [])
    sizes = [2, 4, 3]
    told = []
    for columns in ((0,), (0, 1), (0, 2)):
        marginal = GroupedMarginal(columns, [np.arange(sizes[c]) for c in columns])
        counts = population.count_codes(turned, [marginal])[0].astype(float)
        told.append(Factor(marginal, counts, np.full(len(counts), 4.0)))
    second = target.chances(turned, 0, known(codes), told, [])
    assert np.abs(first - second).max() < 1e-3
    pooled = [every(codes, 4.0)[0], factor(codes, (0, 2), 4.0, [np.array([0, 0, 1, 1]), np.arange(2)])]
    found = target.chances(codes, 2, known(codes), pooled, [])
    assert len(np.unique(found[:, 1].round(9))) == 2  # bins of a group share their chances


def test_a_table_that_is_too_long_is_fitted_on_some_of_its_rows(monkeypatch):
    codes, _ = people()
    whole = target.chances(codes, 2, known(codes), every(codes, 4.0), [])
    monkeypatch.setattr(target, "LOOKED", 20_000)
    some = target.chances(codes, 2, known(codes), every(codes, 4.0), [])
    assert some.shape == whole.shape
    assert not np.array_equal(some, whole)
    assert np.abs(some - whole).max() < 0.03


def test_a_dependence_of_three_columns_that_was_measured_is_kept():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, N), rng.integers(0, 2, N)
    codes = np.stack([a, b, a ^ b]).astype(np.int16)
    marginal = GroupedMarginal((0, 1, 2), [np.arange(2)] * 3)
    counts = population.count_codes(codes, [marginal])[0].astype(float)
    found = target.chances(codes, 2, known(codes), [Factor(marginal, counts, np.full(8, 100.0))], [])
    assert np.abs(found[:, 1] - (a ^ b)).max() < 0.05


def test_impossible_values_have_no_chance_and_are_not_drawn():
    codes, _ = people()
    codes[2][codes[0] == 3] = 1
    zero = {0: np.array([False, False, False, True]), 2: np.array([True, False])}
    found = target.chances(codes, 2, known(codes), every(codes, 1e4), [zero])
    assert found[codes[0] == 3, 0].max() == 0.0
    assert found[codes[0] != 3].min() > 0.0
    population.draw_column(codes, 2, found, SIZES, [zero], (1, 2))
    assert codes[2][codes[0] == 3].min() == 1
    assert 0 < codes[2][codes[0] == 2].mean() < 1


def test_a_column_is_drawn_evenly_and_the_others_stay():
    codes, true = people()
    before = codes.copy()
    likely = np.column_stack([1 - true, true])
    population.draw_column(codes, 2, likely, SIZES, [], (5, 6))
    assert np.array_equal(codes[:2], before[:2])
    cell = codes[0] * 3 + codes[1]
    off = np.bincount(cell, codes[2], 12) - np.bincount(cell, true, 12)
    scatter = np.sqrt(np.bincount(cell, true * (1 - true), 12))
    assert np.abs(off / scatter).mean() < 0.3  # independent draws: 0.8
    again = before.copy()
    population.draw_column(again, 2, likely, SIZES, [], (5, 6))
    assert np.array_equal(again, codes)


def wide(seed=0, n=12_000):
    """Return ten columns of four values and a target whose log-odds are a sum over six of them."""
    rng = np.random.default_rng(seed)
    behind = rng.normal(size=n)
    columns = [np.clip(np.round(1.5 + behind * rng.normal() + rng.normal(size=n)), 0, 3) for _ in range(10)]
    odds = sum((rng.normal(size=4) * 0.9)[c.astype(int)] for c in columns[:6])
    told = rng.random(n) < 1 / (1 + np.exp(-(odds - np.median(odds))))
    return np.column_stack([*columns, told]).astype(float), odds


@pytest.mark.slow  # how well is measured; that the target is drawn by its chances is tried above
def test_a_named_target_can_be_predicted_better_from_released_rows(monkeypatch):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    X, _ = wide()
    test = X[8000:]
    names = [f"c{j}" for j in range(10)]
    domain = dc.Domain({c: dc.Integer(0, 3) for c in names} | {"told": {"categories": [0, 1]}})

    def area(seed):
        made = dc.MarginalSynopsis(0.5, domain, delta=1e-6, target="told", random_state=seed).fit(X[:8000]).synopsis_
        rows = made.sample(8000, rng=seed).to_pandas()
        model = HistGradientBoostingClassifier(max_iter=40, random_state=0)
        model.fit(rows[names].to_numpy(float), rows["told"].astype(int))
        return roc_auc_score(test[:, -1], model.predict_proba(test[:, :-1])[:, 1])

    ours = np.mean([area(seed) for seed in (1, 2)])
    monkeypatch.setattr(release, "draw_column", lambda *_: None)
    without = np.mean([area(seed) for seed in (1, 2)])
    assert ours > without + 0.002, (ours, without)


def test_a_target_of_more_than_two_values_stays_as_the_mixture_has_it(monkeypatch):
    X, _ = wide(n=3000)
    drawn = []
    monkeypatch.setattr(release, "draw_column", lambda _, j, *__: drawn.append(j))
    for values in (2, 4):
        domain = dc.Domain({f"c{j}": {"categories": list(range(values))} for j in range(3)})
        dc.MarginalSynopsis(1.0, domain, delta=1e-6, target="c1", random_state=1).fit(X[:, :3] % values)
    assert drawn == [1]  # the one of two values
