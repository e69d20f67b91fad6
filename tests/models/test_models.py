"""Private models: exact without noise, honest intervals, the same answer from every source, scikit-learn's habits."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import discreet as dc
from discreet.core.budget.prices import Epsilon, Rho
from discreet.engines.passes.moments import COEFFICIENT, MOST_COEFFICIENT, UNIT, Design, MomentsPass
from discreet.errors import BudgetExceeded, DiscreetError, DiscreetWarning, SchemaError
from discreet.models import logistic
from discreet.models.moments import best_noise

AGAINST_PRIVACY = {
    "check_estimators_nan_inf": "rows never cause an error: failing would tell about them",
    "check_estimators_empty_data_messages": "a table without rows gives a result like any other",
    "check_dtype_object": "an unreadable value is missing, and no error",
    "check_supervised_y_2d": "a target of one column is taken as it is, without a warning",
    "check_regressors_train": "there is no score, by which a search would choose",
    "check_supervised_y_no_nan": "an unreadable target is missing, and no error",
}
NUMBERS = dc.Domain({"a": (0, 10), "b": (-5, 5), "town": ["x", "y", "z"], "cost": (-40, 60)})


def people(n: int = 6000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b, town = rng.uniform(0, 10, n), rng.uniform(-5, 5, n), rng.choice(["x", "y", "z"], n)
    cost = 5 + 2 * a - b + 4 * (town == "z") + rng.uniform(-3, 3, n)
    return pd.DataFrame({"a": a, "b": b, "town": town, "cost": cost})


def test_without_noise_they_are_those_of_scikit_learn() -> None:
    frame = people()
    coded = np.column_stack([frame.a, frame.b, frame.town == "y", frame.town == "z"])
    plain = LinearRegression().fit(coded, frame.cost)
    ours = dc.PrivateLinearRegression(math.inf, NUMBERS).fit(frame)
    assert ours.coef_names_ == ("a", "b", "town=y", "town=z")
    np.testing.assert_allclose(ours.coef_, plain.coef_, atol=0.01)
    np.testing.assert_allclose(ours.predict(frame), plain.predict(coded), atol=0.05)
    likely = frame.assign(cost=np.where(frame.cost > 15, "much", "little"))
    domain = dc.Domain({**{c.name: c for c in NUMBERS if c.name != "cost"}, "cost": ["little", "much"]})
    theirs = LogisticRegression(C=1e6, max_iter=1000).fit(coded, likely.cost)
    classes = dc.PrivateLogisticRegression(math.inf, domain).fit(likely)
    right = np.mean(classes.predict(frame[["a", "b", "town"]]) == likely.cost)
    assert right >= theirs.score(coded, likely.cost) - 0.01
    low, high = NUMBERS.select(["a", "b", "cost"]).low, NUMBERS.select(["a", "b", "cost"]).high
    shown = dc.PrivatePCA(math.inf, dc.Domain.box(low, high)).fit(frame[["a", "b", "cost"]].to_numpy())
    whole = PCA().fit(frame[["a", "b", "cost"]])
    np.testing.assert_allclose(shown.explained_variance_, whole.explained_variance_, rtol=0.01)
    np.testing.assert_allclose(np.abs(shown.components_), np.abs(whole.components_), atol=0.01)
    back = shown.inverse_transform(shown.transform(frame[["a", "b", "cost"]].to_numpy()))
    np.testing.assert_allclose(back, frame[["a", "b", "cost"]], atol=0.1)


def test_a_row_moves_no_more_sums_than_the_noise_is_for() -> None:
    """Rows at all corners, with every category: the bound is met and never exceeded."""
    domain = dc.Domain({"a": (0, 1), "c": ["u", "v", "w"], "b": (-1, 1), "d": [False, True]})
    design, most = Design(domain), (0.0, 0.0)
    job = MomentsPass(design)
    for a in (-7.0, 0.0, 0.5, 1e308):
        for c in (0.5, 1.5, 2.5, 99.0):
            for d in (0.5, 1.5):
                moved = np.abs(_sums(job, [[a, c, -1.0, d]])) / UNIT**2
                assert moved.max() <= 1
                most = max(most[0], moved.sum()), max(most[1], (moved**2).sum())
    assert most == (design.moved, design.moved)
    assert np.array_equal(_sums(job, [[0.5, 99.0, 0.0, 0.5]]), _sums(job, [[0.5, 2.5, 0.0, 0.5]]))
    narrow = MomentsPass(Design(dc.Domain({"a": (1.0, 1.0 + 3 * 2**-52)})))  # no double lies in the middle
    assert max(np.abs(_sums(narrow, [[a]])).max() for a in (1.0, 2.0)) == UNIT**2
    assert not _sums(job, [[math.nan, 0.5, 0.0, 0.5]]).any()
    many = np.random.default_rng(0).uniform(0, 1, (50, 4))
    assert np.array_equal(_sums(job, many), sum(_sums(job, [row]) for row in many))


def test_a_row_moves_a_gradient_by_its_features_alone() -> None:
    """Wherever a row stands, it adds the same: to one sum for each column at most 1, with its chance rounded."""
    domain = dc.Domain({"a": (-1, 1), "c": ["u", "v", "w"], "y": ["n", "p"]})
    rng, design = np.random.default_rng(0), Design(domain)
    for scale in (0.1, 3.0, MOST_COEFFICIENT):
        theta = np.rint(np.clip(rng.normal(size=4) * scale, -1024, 1024) * COEFFICIENT).astype(np.int64)
        job = MomentsPass(design, theta)
        many = np.column_stack([rng.uniform(-2, 2, 40), rng.integers(0, 3, 40) + 0.5, rng.integers(0, 2, 40) + 0.5])
        alone = np.array([_sums(job, [row]) for row in many])
        assert np.array_equal(_sums(job, many), alone.sum(axis=0))
        assert np.abs(alone).max() <= UNIT**2
        assert np.count_nonzero(alone, axis=1).max() <= 3
        z, _ = design.rows(list(many.T))
        chance = 1 / (1 + np.exp(-np.clip(z[:, :-1] @ (theta / COEFFICIENT) / UNIT, -500, 500)))
        assert np.abs(alone[:, 0] / UNIT - (z[:, -1] - UNIT * chance)).max() <= 0.5 + 1e-6


def _sums(job: MomentsPass, rows: Any) -> Any:
    adder = job.start()
    adder.add(job.prepare([np.array(column, dtype=float) for column in zip(*rows, strict=True)]))
    return job.result(adder.result())


def test_the_narrowest_noise_is_taken() -> None:
    assert best_noise(Epsilon(1), 78, 78)[1].name == "max-norm"
    assert best_noise(Epsilon(1), 1000, 10)[1].name == "laplace"
    assert best_noise(Rho(1), 78, 78)[1].name == "gaussian"


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_intervals_hold_the_coefficients(epsilon: float) -> None:
    """With 60 tables of three slopes, 95 % intervals hold fewer than 85 % by chance once in 10^8 runs."""
    held = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, slopes = rng.uniform(-1, 1, (3000, 3)), rng.normal(size=3)
        y = X @ slopes + rng.uniform(-1, 1, 3000)
        reach = float(np.abs(slopes).sum()) + 1
        domain = dc.Domain.box([-1, -1, -1, -reach], [1, 1, 1, reach])
        found = dc.PrivateLinearRegression(epsilon, domain, random_state=seed).fit(X, y).coefficients()
        held.append((found.low[1:] <= slopes) & (slopes <= found.high[1:]))
    assert np.mean(held) >= 0.85
    assert np.isfinite(found.low).all()


@pytest.mark.parametrize("epsilon", [0.5, pytest.param(10.0, marks=pytest.mark.slow)])
def test_intervals_of_other_models_hold_on_rows_that_are_not_normal(epsilon: float) -> None:
    """With 40 tables, 95 % intervals hold fewer than 88 % of 120 coefficients or variances by chance once in 800 runs.

    One column is mostly at its lower bound, one has a heavy tail: there the normal formulas are off.
    """
    held, variances = [], []
    for seed in range(40):
        rng = np.random.default_rng([seed, 3])
        zeros = np.where(rng.random(4000) < 0.8, -1.0, rng.uniform(-1, 1, 4000))
        X = np.column_stack([zeros, 2 * np.minimum(rng.pareto(2.0, 4000) / 20, 1) - 1, rng.uniform(-1, 1, 4000)])
        slopes = 2 * rng.normal(size=3)
        y = rng.random(4000) < 1 / (1 + np.exp(-X @ slopes))
        domain = dc.Domain({"a": (-1, 1), "b": (-1, 1), "c": (-1, 1), "y": {"categories": [0, 1]}})
        model = dc.PrivateLogisticRegression(epsilon, domain, random_state=seed).fit(np.column_stack([X, y]))
        found = model.coefficients()
        held.append((found.low[1:] <= slopes) & (slopes <= found.high[1:]))
        pca = dc.PrivatePCA(epsilon, dc.Domain.box([-1, -1, -1], 1), random_state=seed).fit(X)
        # Of the first column the mean is -0.8, the mean square 0.8 + 0.2/3. Of min(x/20, 1), which exceeds t < 1 with
        # chance (1 + 20t)^-2, they are 1/21 and the integral of 2t times that chance.
        heavy = 4 * ((math.log(21) - 20 / 21) / 200 - 1 / 441)
        truth = pca.components_**2 @ [0.8 + 0.2 / 3 - 0.64, heavy, 1 / 3]
        variances.append(np.abs(pca.explained_variance_ - truth) <= 1.96 * pca.explained_variance_std_)
    assert np.mean(held) >= 0.88
    assert np.mean(variances) >= 0.88


def test_errors_of_variances_account_for_what_shrinking_moved() -> None:
    """Noise is reduced by moving covariances towards 0, which lowers the largest eigenvalue of a correlated table."""
    held, sizes = [], 0.12 * np.linspace(1, 0.7, 6)
    for seed in range(60):
        rng = np.random.default_rng([8, seed])
        turned = np.linalg.qr(rng.normal(size=(6, 6)))[0] * sizes
        X = np.clip(rng.normal(size=(10_000, 6)) @ turned.T, -1, 1)
        pca = dc.PrivatePCA(1.0, dc.Domain.box([-1] * 6, 1), random_state=seed).fit(X)
        gaps = np.abs(pca.explained_variance_ - sizes**2) / pca.explained_variance_std_
        held.append(gaps[[0, -1]] <= 1.96)
    assert np.mean(held) >= 0.93


def test_every_source_gives_the_same_answer(tmp_path: Path) -> None:
    frame = people(500)
    frame.loc[3, "a"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    make = dc.PrivateLinearRegression(1.0, NUMBERS, random_state=4)
    first = make.fit(frame)
    tables: list[Any] = [
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        pl.from_pandas(frame),
        frame[["cost", "town", "b", "a"]],
    ]
    for table in tables:
        assert clone(make).fit(table).guarantee_.digest == first.guarantee_.digest
    apart = clone(make).fit(frame[["a", "b", "town"]], frame["cost"])
    assert apart.guarantee_.digest == first.guarantee_.digest
    assert apart.n_features_in_ == first.n_features_in_ == 3
    np.testing.assert_array_equal(apart.predict(frame[["a", "b", "town"]]), first.predict(frame))
    assert np.isnan(first.predict(frame)[3])
    apart = clone(make).fit(pa.table(frame[["town", "b", "a"]]), frame["cost"])  # columns go by name
    assert apart.guarantee_.digest == first.guarantee_.digest


@pytest.mark.parametrize(("kind", "more"), [("LinearRegression", {"target": "b"}), ("LogisticRegression", {}),
                                            ("PCA", {"columns": ["a", "b"]})])  # fmt: skip
def test_every_source_gives_the_same_persons(tmp_path: Path, kind: str, more: Any) -> None:
    rng = np.random.default_rng(1)
    who, ill = rng.integers(0, 150, 600).astype(str), rng.choice(["n", "p"], 600)
    frame = people(600).drop(columns="cost").assign(ill=ill, who=who)
    frame.loc[::17, "a"] = np.nan
    columns = {**{c.name: c for c in NUMBERS if c.name != "cost"}, "ill": ["n", "p"], "who": {"role": "person"}}
    domain = dc.Domain(columns, unit=dc.Person("who", rows=3))
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=100)
    make = getattr(dc, f"Private{kind}")(1.0, domain, random_state=4, **({"target": "ill"} if "Log" in kind else more))
    tables: list[Any] = [tmp_path / "t.csv", tmp_path / "t.parquet", pl.from_pandas(frame), frame.to_numpy()]
    digest = clone(make).fit(frame[list(frame)[::-1]]).guarantee_.digest
    assert {clone(make).fit(table).guarantee_.digest for table in tables} == {digest}


def test_persons_accounts_and_deltas(tmp_path: Path) -> None:
    frame = people(2000).assign(who=np.repeat(np.arange(500), 4))
    domain = dc.Domain({**{c.name: c for c in NUMBERS}, "who": {"role": "person"}}, unit=dc.Person("who", rows=2))
    account = dc.Account.create(tmp_path / "a.account", dataset="people", epsilon=3, unit=domain.unit)
    model = dc.PrivateLinearRegression(2.0, domain, target="cost", ledger=account, random_state=1).fit(frame)
    assert model.guarantee_.epsilon == 2.0
    assert "person" in model.guarantee_.unit
    assert model.moments_.values[0] < 1500  # two rows of each person count
    with pytest.raises(BudgetExceeded):
        clone(model).fit(frame)
    one, a = (
        dc.Domain({"a": (0, 1), "cost": (0, 1), "who": {"role": "person"}}, unit=dc.Person("who", rows=2)),
        np.ones(9),
    )
    alone = dc.PrivateLinearRegression(math.inf, one).fit(np.column_stack([a, 0 * a]), a)  # never the person's column
    assert alone.moments_.values[0] == 2
    frame, box = pd.DataFrame(np.random.default_rng(0).uniform(0, 1, (99, 2))), dc.Domain.box([0, 0, 0], 1)
    first = dc.PrivateLinearRegression(math.inf, box, target=box.names[0]).fit(frame, frame[0])
    assert frame.shape == (99, 2)
    np.testing.assert_allclose(first.coef_, [1, 0], atol=0.01)
    wide = dc.Domain.box([0.0] * 20, 1.0)
    noisy = [dc.PrivatePCA(1.0, wide, random_state=0, **more).fit(np.zeros((9, 20))) for more in ({}, {"delta": 1e-6})]
    assert noisy[1].guarantee_.delta == 1e-6
    assert noisy[1].moments_.variance < noisy[0].moments_.variance


def test_what_cannot_be_fitted_is_refused_before_rows_are_read() -> None:
    frame = people(50)
    for model, said in (
        (dc.PrivateLinearRegression(1.0, NUMBERS, target="town"), "column of numbers"),
        (dc.PrivateLogisticRegression(1.0, NUMBERS), "two declared categories"),
        (dc.PrivatePCA(1.0, NUMBERS, columns=["town"]), "can use"),
        (dc.PrivateLinearRegression(1.0, NUMBERS, target="height"), "height"),
        (dc.PrivateLinearRegression(1.0, NUMBERS, columns=["cost"]), "needs a column"),
    ):
        with pytest.raises(DiscreetError, match=said):
            model.check()
        with pytest.raises(DiscreetError, match=said):
            model.fit(frame)
    one = dc.Domain({"c": ["only"], "cost": (0, 1)})
    for model, error in (
        (dc.PrivateLinearRegression(1.0, one), "one category"),
        (dc.PrivateLinearRegression(1e-7, NUMBERS), "epsilon must be large enough"),
        (dc.PrivatePCA(1.0, NUMBERS, n_components=4), "n_components=3"),
        (dc.PrivatePCA(1.0, NUMBERS, columns=[]), "columns"),
        (dc.PrivateKMeans(2, 1.0, NUMBERS, synopsis="marginals", columns=["height"]), "height"),
    ):
        with pytest.raises(DiscreetError, match=error):
            model.check()
    model = dc.PrivateLinearRegression(1.0, NUMBERS)
    for table in (frame[["a", "b", "town"]], pl.from_pandas(frame[["a", "b", "town"]])):
        with pytest.raises(DiscreetError, match="one value for each row"):
            model.fit(table, [1.0, 2.0])
    with pytest.raises(NotFittedError):
        model.coefficients()
    with pytest.raises(SchemaError, match="features"):
        dc.PrivateLinearRegression(1.0, dc.Domain.box([0, 0, 0], 1)).fit(np.zeros((5, 3))).predict(np.zeros((5, 1)))


@pytest.mark.parametrize("epsilon", [1e6, math.inf])
def test_what_columns_do_not_determine_has_no_interval(epsilon: float) -> None:
    """Of a column that does not vary nothing is known, also without noise."""
    frame = people(400).assign(b=1.0)
    found = dc.PrivateLinearRegression(epsilon, NUMBERS, random_state=0).fit(frame).coefficients().to_pandas()
    ends = found.set_index("name")["high"]
    assert np.isinf(ends["b"])
    assert np.isfinite(ends["a"])
    domain = dc.Domain({"a": (0, 10), "b": (-5, 5), "cost": ["n", "p"]})
    frame["cost"] = np.where(frame.cost > 15, "p", "n")
    assert np.isinf(dc.PrivateLogisticRegression(math.inf, domain).fit(frame).coefficients().high[2])


def test_what_is_solved_stays_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people(300).assign(cost=60.0)
    assert dc.PrivateLinearRegression(1.0, NUMBERS, random_state=1).fit(frame).predict(frame).max() <= 60
    domain = dc.Domain({"a": (0, 10), "cost": ["n", "p"]})
    model = dc.PrivateLogisticRegression(math.inf, domain).fit(frame[["a"]].assign(cost="p"))
    assert 5 < model.intercept_[0] < 10  # a chance of 1 is taken as 0.999
    monkeypatch.setattr(logistic, "normal_start", lambda found: np.full(2, 1e9))
    model.fit(frame[["a"]].assign(cost="p"))
    assert np.abs(model._last[0]).max() <= MOST_COEFFICIENT


def test_weights_do_not_narrow_errors() -> None:
    X = np.random.default_rng(0).uniform(0, 1, (500, 2))
    plain = dc.PrivatePCA(math.inf, dc.Domain.box([0, 0], 1)).fit(X)
    domain = dc.Domain({"a": (0, 1), "b": (0, 1), "w": {"role": "weight", "bounds": (0, 3)}})
    weighted = dc.PrivatePCA(math.inf, domain).fit(np.column_stack([X, np.full(500, 3.0)]))
    np.testing.assert_allclose(weighted.explained_variance_std_, plain.explained_variance_std_, rtol=1e-6)


def test_answers_are_shown_shortly() -> None:
    found = dc.PrivateLinearRegression(1.0, NUMBERS, random_state=0).fit(people()).coefficients()
    assert repr(found).startswith("<Coefficients: (intercept)")
    assert repr(found).endswith("and 1 more; 95 % intervals>")
    assert found.to_pandas()["name"].tolist() == ["(intercept)", "a", "b", "town=y", "town=z"]
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize("estimator", [
    dc.PrivateLinearRegression(1e6, (-10, 10), random_state=0), dc.PrivatePCA(domain=(-10, 10), random_state=0),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator: Any) -> None:
    for result in check_estimator(estimator, expected_failed_checks=AGAINST_PRIVACY, on_skip=None, on_fail=None):
        assert result["status"] in ("passed", "skipped", "xfail"), (result["check_name"], result["exception"])


#: `GridSearchCV` refuses models, as the guide says.
NO_SCORE = """
import discreet as dc, numpy as np
models = [dc.PrivateLinearRegression(domain={"a": (0, 1), "b": (0, 1)}),
          dc.PrivateLogisticRegression(domain={"a": (0, 1), "b": ["x", "y"]})]
assert not any(hasattr(m, "score") for m in models)
from sklearn.model_selection import GridSearchCV
assert not any(hasattr(m, "score") or hasattr(type(m), "score") for m in models)
for m in models:
    try:
        GridSearchCV(m, {"epsilon": [0.1, 1.0]}, cv=2).fit(np.zeros((20, 1)), np.zeros(20))
    except TypeError as refused:
        assert "'score' method" in str(refused)
    else:
        raise AssertionError("accepted")
"""


def test_there_is_no_score() -> None:
    exec(compile(NO_SCORE, "no score", "exec"), {})


@pytest.mark.slow
@pytest.mark.parametrize("first", ["", "import sklearn.base"])
def test_there_is_no_score_whether_scikit_learn_is_imported_before_or_after(first: str) -> None:
    subprocess.run([sys.executable, "-c", first + NO_SCORE], check=True)


def test_predict_takes_what_fit_takes(tmp_path: Path) -> None:
    """Also files in another format, and tables that have the used columns only."""
    frame = people(300)
    domain = dc.Domain({c.name: c for c in NUMBERS}, source={"delimiter": ";", "decimal": ","})
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    model = dc.PrivateLinearRegression(math.inf, domain, columns=["a", "town"]).fit(tmp_path / "t.csv")
    assert np.allclose(model.predict(tmp_path / "t.csv"), model.predict(frame))
    assert np.allclose(model.predict(frame[["town", "a"]]), model.predict(frame))
    clusters = dc.PrivateKMeans(2, math.inf, domain.select(["b", "a"]), random_state=1).fit(tmp_path / "t.csv")
    assert np.array_equal(clusters.predict(str(tmp_path / "t.csv")), clusters.predict(frame))
    assert np.array_equal(clusters.predict(frame[["a", "b"]]), clusters.predict(frame))


def test_a_target_of_a_type_that_holds_no_category_is_refused_before_the_charge() -> None:
    """Booleans and 0/1 are how scikit-learn's classifiers are often given their labels."""
    frame = people(400)
    X, ill = frame[["a"]], frame.cost > 15
    texts = {"a": (0, 10), "ill": ["no", "yes"]}
    for y in (ill, ill.astype(int), ill.to_numpy(), ill.astype("boolean"), pl.Series(ill.astype(np.uint8))):
        ledger = dc.Ledger(epsilon=1)
        model = dc.PrivateLogisticRegression(1.0, texts, ledger=ledger, random_state=0)
        with pytest.raises(DiscreetError, match="y must be 'no' or 'yes', the declared categories of 'ill'") as refused:
            model.fit(X, y)
        assert not ledger.lines
        fix = str(refused.value).partition("; try y=")[2].partition(" if ")[0]
        model.fit(X, eval(fix, {"np": np, "y": y}))
        assert np.mean((model.predict(X) == "yes") == ill) > 0.8
    for declared in ([False, True], {"categories": [0, 1]}, ["0", "1"], ["false", "true"]):
        for y in (ill, ill.to_numpy()) if "true" in declared else (ill, ill.astype(int)):
            model = dc.PrivateLogisticRegression(math.inf, {**texts, "ill": declared}).fit(X, y)
            assert model.moments_.values[0] == 400


@pytest.mark.filterwarnings("default:the number of rows cannot be told from zero:UserWarning")
def test_a_model_of_no_readable_row_says_so() -> None:
    """Floats, lists and texts are not refused for what they hold: only released figures show that nothing was read.

    False alarm: the noise of an empty table exceeds its limit with probability 1/100; seeded.
    """
    frame, texts = people(400), {"a": (0, 10), "ill": ["no", "yes"]}
    ill, unread = frame.cost > 15, frame.assign(a="1,5")
    for model, table, y in (
        (dc.PrivateLogisticRegression(1.0, texts), frame[["a"]], ill.astype(float)),
        (dc.PrivateLogisticRegression(1.0, texts), frame[["a"]], ill.tolist()),
        (dc.PrivateLinearRegression(1.0, NUMBERS), frame.drop(columns="cost"), frame.town),
        (dc.PrivateLinearRegression(1.0, NUMBERS, delta=1e-6), unread, None),
        (dc.PrivatePCA(1.0, NUMBERS), unread, None),
    ):
        with pytest.warns(DiscreetWarning, match="cannot be told from zero") as told:
            model.set_params(random_state=0).fit(table, y)
        assert [each.filename for each in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dc.PrivateLinearRegression(1.0, NUMBERS, random_state=1).fit(frame)


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_one_column_is_no_table_of_features(series: Any) -> None:
    model, frame = dc.PrivateLinearRegression(1.0, NUMBERS.select(["a", "cost"]), random_state=0), people(400)
    X: Any = series(name="a", **{"data" if series is pd.Series else "values": frame["a"].to_numpy()})
    with pytest.raises(DiscreetError, match=r"X must be a table with columns.*got 'Series'; try X=X.to_frame\(\)"):
        model.fit(X, frame["cost"])
    assert model.fit(X.to_frame(), frame["cost"]).n_features_in_ == 1


@pytest.mark.parametrize("kind", ["KMeans", "LinearRegression", "PCA", "DomainScaler"])
def test_predict_names_the_column_that_is_missing(kind: str) -> None:
    """Not numbers of columns: of a table with many, just the declared ones are needed."""
    wide = people(300).assign(**{f"c{i}": 0 for i in range(40)})
    domain = NUMBERS.select(["a", "b", "cost"])
    made = dc.DomainScaler(domain) if kind == "DomainScaler" else getattr(dc, f"Private{kind}")(domain=domain)
    use = getattr(made.fit(wide), "predict" if hasattr(made, "predict") else "transform")
    assert len(use(wide[["a", "b", "cost"]])) == 300
    with pytest.raises(SchemaError, match=r"the data frame has no column 'b'; it has 'a', 'cost'$"):
        use(wide[["a", "cost"]])


def test_a_person_in_the_index_or_left_out_is_named() -> None:
    frame = people(50).assign(who=np.arange(50) // 2)
    domain = dc.Domain({**{c.name: c for c in NUMBERS}, "who": {"role": "person"}}, unit=dc.Person("who", rows=2))
    with pytest.raises(SchemaError, match=r"'who' is its index: pass frame.reset_index\(\)"):
        dc.QuerySession(frame.set_index("who"), dc.Ledger(epsilon=1), domain=domain).count(epsilon=1)
    with pytest.raises(SchemaError, match="no column 'who', which says whose a row is"):
        dc.PrivateLinearRegression(1.0, domain, target="cost").fit(frame[["a", "b", "town"]], frame.cost)
    dc.PrivateLinearRegression(1.0, domain, target="cost").fit(frame[["a", "b", "town", "who"]], frame.cost)


def test_a_target_of_four_categories_gets_advice_that_works_and_drowned_components_are_noted() -> None:
    frame = people(400).assign(cost=np.resize(["p", "q", "r", "s"], 400))
    columns: dict[str, Any] = {"a": (0, 10), "cost": ["p", "q", "r", "s"]}
    with pytest.raises(DiscreetError, match=r"try domain=\{..., 'cost': \['p', 'q'\]\}"):
        dc.PrivateLogisticRegression(1.0, columns).fit(frame)
    model = dc.PrivateLogisticRegression(math.inf, columns | {"cost": ["p", "q"]}).fit(frame)
    assert model.moments_.values[0] == 200
    chances = model.predict_proba(frame)[:, 1]  # rising log-odds of the second category
    assert np.allclose(np.log(chances / (1 - chances)), model.intercept_[0] + model.coef_[0, 0] * frame.a, atol=1e-3)
    plain = dc.Domain({"a": (0, 1e6), "b": (-1e6, 1e6)})
    drowned = dc.PrivatePCA(0.1, plain, random_state=1).fit(frame[["a", "b"]])
    assert drowned.note_.startswith("The noise hides the variance along components 1, 2:")
    assert not dc.PrivatePCA(math.inf, dc.Domain({"a": (0, 10), "b": (-5, 5)})).fit(frame[["a", "b"]]).note_


def test_a_number_of_components_in_the_first_place_is_told_its_name():
    with pytest.raises(TypeError, match=r"epsilon must be given once.*; try n_components=2"):
        dc.PrivatePCA(2, epsilon=1.0)
    assert dc.PrivatePCA(n_components=2, epsilon=1.0).epsilon == 1.0
    with pytest.raises(TypeError, match=r"try help\(PrivatePCA\)"):
        dc.PrivatePCA([[1.0, 2.0]], epsilon=1.0)  # rows are never quoted


def test_a_model_warns_of_rows_that_misspelled_categories_lost() -> None:
    """By the released number of rows alone; a loss within a fifth of the guess is within its bounds."""
    frame = people(4000)
    frame.loc[frame.index % 2 == 0, "town"] = "unheard of"
    for n, far in ((4000, True), (2100, False), (None, False)):
        model = dc.PrivateLinearRegression(1.0, NUMBERS, expect_rows=n, random_state=0)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.fit(frame)
        assert ["spelling of categories" in str(each.message) for each in told] == [True] * far
        assert all("rows were counted, but 4,000 were expected" in str(each.message) for each in told)
