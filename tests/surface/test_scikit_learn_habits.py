"""Habits of scikit-learn do not undo a promise: nothing is fitted on raw rows, and nothing is chosen by them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils.estimator_checks import check_estimator

import discreet as dc
from discreet.errors import DiscreetError, InvalidArgument, SchemaError

DOMAIN = dc.Domain({"age": (0, 120), "income": (0, 1e6)})
KM = dc.PrivateKMeans(2, epsilon=1.0, domain=(0, 1))
SYNOPSES = [kind(domain=(0, 1)) for kind in (dc.GridSynopsis, dc.TreeSynopsis, dc.MarginalSynopsis)]
PRIVATE = [KM, dc.DPLloyd(2, domain=(0, 1)), *SYNOPSES]
#: Checks that ask for errors about rows.
AGAINST_PRIVACY = {
    "check_estimators_nan_inf": "rows never cause an error: failing would tell about them",
    "check_estimators_empty_data_messages": "a table without rows gives a result like any other",
    "check_dtype_object": "an unreadable value is missing, and no error",
}


def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.uniform(20, 90, 500), rng.uniform(0, 2e5, 500)])


@pytest.mark.filterwarnings("ignore")
def test_the_scaler_keeps_the_contract_of_scikit_learn() -> None:
    found = check_estimator(
        dc.DomainScaler((-10, 10)), expected_failed_checks=AGAINST_PRIVACY, on_skip=None, on_fail="raise"
    )
    assert {r["status"] for r in found} <= {"passed", "skipped", "xfail"}


def test_the_scaler_learns_nothing() -> None:
    X, scaler = rows(), dc.DomainScaler(DOMAIN)
    here, there = scaler.fit(X), clone(scaler).fit(X[:1] * 0)
    np.testing.assert_array_equal(here.transform(X), there.transform(X))
    np.testing.assert_allclose(here.inverse_transform(here.transform(X)), X)
    assert clone(scaler).fit().transform(X).tolist() == here.transform(X).tolist()


def test_the_scaler_reads_what_the_methods_read() -> None:
    declared = dc.Domain(
        {"name": {"categories": ["any"], "role": "identifier"}, "age": dc.Integer(0, 119), "day": {
            "kind": "date", "bounds": ["2025-01-01", "2025-12-31"]}}
    )  # fmt: skip
    frame = pd.DataFrame({"day": ["2025-01-01", "x"], "age": ["30", 500], "name": ["Ann", "Bob"]})
    scaler = dc.DomainScaler(declared).fit(frame).set_output(transform="pandas")
    made = scaler.transform(frame)
    assert list(made.columns) == ["age", "day"] == scaler.get_feature_names_out().tolist()
    assert made["age"].tolist() == [pytest.approx(30.5 / 120), 1 - 0.5 / 120]
    assert made["day"].tolist()[0] < 0.01
    assert np.isnan(made["day"].tolist()[1])
    with pytest.raises(SchemaError, match="categories"):
        dc.DomainScaler({"sex": ["f", "m"]}).fit()
    with pytest.raises(SchemaError, match="expecting 2 features"):
        dc.DomainScaler(DOMAIN).fit(rows()).transform(rows()[:, :1])


def test_a_pipeline_by_bounds_finds_what_the_method_alone_finds() -> None:
    X = rows()
    pipe = dc.private_pipeline(dc.DomainScaler(DOMAIN), clone(KM).set_params(random_state=1, synopsis="grid"))
    alone = dc.PrivateKMeans(2, 1.0, DOMAIN, scale="domain", random_state=1, synopsis="grid").fit(X)
    found = pipe[0].inverse_transform(pipe.fit(X)[-1].cluster_centers_)
    np.testing.assert_allclose(found, alone.cluster_centers_, rtol=1e-6)
    assert pipe[-1].guarantee_.epsilon == 1
    assert np.array_equal(pipe.predict(X), alone.predict(X))


@pytest.mark.parametrize("step", [
    StandardScaler(), MinMaxScaler(), PCA(1), SimpleImputer(), OneHotEncoder(), KMeans(2),
    make_pipeline(StandardScaler()),
    FunctionTransformer(lambda X: X - X.mean(axis=0)), FunctionTransformer(np.sort), FunctionTransformer(np.matmul),
    type("Sneaky", (dc.DomainScaler,), {})(DOMAIN), KM, FunctionTransformer(np.modf),
    type("Bare", (dc.metric.NDLaplace,), {"transform": lambda self, X: X})(epsilon=1, radius=0.1, domain=DOMAIN),
    FunctionTransformer(np.log1p, np.expm1),  # warns if some row does not come back
], ids=lambda step: type(step).__name__)  # fmt: skip
def test_what_learns_from_raw_rows_is_refused(step: object) -> None:
    with pytest.raises(InvalidArgument, match="try ") as refused:
        dc.private_pipeline(("first", step), KM)
    assert "'first'" in str(refused.value)


def test_the_reason_and_the_replacement_are_said() -> None:
    with pytest.raises(InvalidArgument, match=r"the guarantee would not count it.*try dc\.DomainScaler\(domain\)"):
        dc.private_pipeline(StandardScaler(), KM)
    with pytest.raises(InvalidArgument, match="a private release at the end"):
        dc.private_pipeline(dc.DomainScaler(DOMAIN), KMeans(2))


def test_rules_for_single_rows_may_come_first() -> None:
    steps = [FunctionTransformer(np.log1p), dc.DomainScaler((0, 20)), Normalizer(), Binarizer(), "passthrough"]
    pipe = dc.private_pipeline(*steps, dc.GridSynopsis(1.0, (0, 1), rule=2))
    assert pipe.fit(rows())[-1].synopsis_.guarantee.epsilon == 1
    assert len(dict(pipe.steps)) == 6
    twice = dc.private_pipeline(dc.DomainScaler(DOMAIN), dc.DomainScaler((0, 1)), KM)
    assert [name for name, _ in twice.steps] == ["domainscaler", "domainscaler-2", "privatekmeans"]


def test_behind_perturbed_rows_anything_goes() -> None:
    noise = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=DOMAIN)
    pipe = dc.private_pipeline(noise, StandardScaler(), KMeans(2, n_init=1, random_state=0))
    assert pipe.fit(rows())[-1].cluster_centers_.shape == (2, 2)


@pytest.mark.parametrize("way", ["set_params", "steps", "func", "clone"])
def test_a_step_that_is_exchanged_later_is_refused_too(way: str) -> None:
    pipe = dc.private_pipeline(FunctionTransformer(np.log1p), dc.DomainScaler((0, 20)), KM)
    if way in ("set_params", "clone"):
        pipe.set_params(domainscaler=StandardScaler())
    elif way == "steps":
        pipe.steps.insert(0, ("pca", PCA(1)))
    else:
        pipe.set_params(functiontransformer__func=lambda X: X - X.mean(axis=0))
    pipe = clone(pipe) if way == "clone" else pipe
    for use in (pipe.fit, pipe.fit_predict, pipe.fit_transform):
        with pytest.raises(InvalidArgument, match=r"raw rows|may look at all rows"):
            use(rows())
    assert not hasattr(dc.private_pipeline(dc.GridSynopsis(domain=(0, 1))), "fit_predict")


@pytest.mark.parametrize("value", [np.nan, np.inf, -5.0, "SECRET", None])
@pytest.mark.parametrize("step", [Normalizer(), Binarizer(), FunctionTransformer(np.log1p, validate=True)], ids=str)
def test_no_row_makes_a_pipeline_fail_or_warn(step: object, value: object) -> None:
    frame = pd.DataFrame(rows(), columns=["age", "income"]).astype(object)
    frame.iloc[7, 0] = value
    for first in ([], [dc.DomainScaler(DOMAIN)]):
        for X in (frame, frame.to_numpy().tolist()):
            pipe = dc.private_pipeline(*first, step, dc.GridSynopsis(1.0, (0, 1), rule=2))
            assert pipe.fit(X)[-1].guarantee_.epsilon == 1
    assert dc.private_pipeline(step, KM).fit(frame).predict(frame).shape == (500,)


def test_what_a_schema_has_to_say_is_not_lost_on_the_way() -> None:
    seen = {"looked": 7, "selected": ["town, at a price"]}
    looked = dc.Domain({"age": (0, 120), "income": (0, 1e6)}, source=seen)
    with pytest.raises(SchemaError, match=r"would not say that the first 7 rows.*scale=\"domain\""):
        dc.private_pipeline(dc.DomainScaler(looked), KM)
    said = dc.Domain({"age": (0, 1), "income": (0, 1)}, source=seen)
    pipe = dc.private_pipeline(dc.DomainScaler(looked), clone(KM).set_params(domain=said)).fit(rows())
    assert "first 7 rows" in str(pipe[-1].guarantee_)


@pytest.mark.parametrize("estimator", PRIVATE, ids=lambda e: type(e).__name__)
def test_a_search_by_raw_rows_is_refused_by_scikit_learn(estimator: object) -> None:
    assert not hasattr(estimator, "score")
    with pytest.raises((TypeError, DiscreetError), match="should have a 'score' method"):
        GridSearchCV(estimator, {"epsilon": [0.5, 1.0]}).fit(rows())


def test_a_promise_to_persons_is_not_lost_on_the_way() -> None:
    """Behind the scaler no one sees whose rows they are, so nothing there may promise anything without saying rows."""
    columns = {"who": {"role": "person"}, "age": (0, 120)}
    frame = pd.DataFrame({"who": [1, 1, 2], "age": [30, 31, 60]})
    for unit in (None, dc.Person("who", rows=2)):
        domain = dc.Domain(columns, unit=unit)
        with pytest.raises(SchemaError, match=r"names a person.*scale=\"domain\""):
            dc.private_pipeline(dc.DomainScaler(domain), KM).fit(frame)
    rows = dc.Domain(columns, unit="row")
    assert dc.DomainScaler(rows).fit(frame).transform(frame).shape == (3, 1)


@pytest.mark.parametrize("step", [Normalizer(), FunctionTransformer(np.sign), dc.DomainScaler((0, 1))], ids=str)
def test_no_step_in_front_maps_the_column_that_names_persons(step) -> None:
    """Rows divided by their lengths made as many persons of one as they have rows: all of them were used."""
    domain = dc.Domain({"user": {"role": "person"}, "v": (0, 1)}, unit=dc.Person("user", rows=1))
    last = dc.GridSynopsis(domain=domain, rule=1)
    with pytest.raises(SchemaError, match="whose rows they are"):
        dc.private_pipeline(step, last)
    pipe = dc.private_pipeline("passthrough", last)
    pipe.fit(np.column_stack([np.full(50, 7.0), np.linspace(0, 1, 50)]))
    pipe.steps[0] = ("other", step)
    with pytest.raises(SchemaError, match="whose rows they are"):
        pipe.fit(np.ones((3, 2)))
