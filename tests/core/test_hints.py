"""Suggestions in errors work when typed back, and keep the meaning."""

from __future__ import annotations

import ast
import datetime
import tomllib
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.columns.kinds import Categorical, Date, Integer, Numeric, Time
from discreet.core.schema.file import write_toml
from discreet.errors import DiscreetWarning, InvalidArgument


def hint(make: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(InvalidArgument) as caught:
        make(*args, **kwargs)
    assert "; try " in str(caught.value)
    return str(caught.value).rpartition("; try ")[2]


#: What is typed for a column, and what is then suggested.
DECLARED = [
    ((90, 17), (17, 90)),
    ((1234567, 0), (0, 1234567)),
    ((1, 0.1234567890123), (0.1234567890123, 1)),
    ((5, 5), (4.5, 5.5)),
    ((1e300, 1e300), None),
    ((-1.7e308, 1.7e308), None),
    (("a", 5), None),
    (("a", -5), (-6, -5)),
    ((0, "120"), (0, 120)),
    (("0.5", 120), (0.5, 120)),
    (("0", "120"), (0, 120)),
    ((0, "1,5"), (0, 1)),
    ((3, None), (3, 4)),
    ((float("nan"), 7), (0, 7)),
    ((0, float("inf")), (0, 1)),
    (("2010-12-31", "1920-01-01"), ("1920-01-01", "2010-12-31")),
    ((datetime.date(2010, 1, 1), datetime.date(2010, 1, 1)), ("2010-01-01", "2010-01-02")),
    (("1900-01-01", "soon"), ("1900-01-01", "2010-12-31")),
    (("soon", "1890-01-01"), ("1889-12-31", "1890-01-01")),
    (("08:00", "18:30"), {"kind": "time", "bounds": ["08:00", "18:30"]}),
    (("f", "m"), ["f", "m"]),
    (("f", "m", "x"), ["f", "m", "x"]),
    ((1, 2, 3), [1, 2, 3]),
    ({17, 90}, {"categories": [17, 90]}),
    ({"f", "m"}, ["f", "m"]),
    ({9, 10, 11}, [9, 10, 11]),
    (range(121), {"kind": "integer", "bounds": [0, 120]}),
    (np.array([0.0, 120.0]), (0, 120)),
    ([0.5, 90.5], (0.5, 90.5)),
    ([90.5, 0.5], (0.5, 90.5)),
    ([0.5, 1.5, 2.5], ["0.5", "1.5", "2.5"]),
    (["f", "m", None], {"categories": ["f", "m"], "missing": "own"}),
    (["f", "m", "f"], ["f", "m"]),
    (5, None),
    (None, None),
    ("0-120", None),
]


def named(typed: Any) -> str:
    """Return a name for a test; a set has no order of its own."""
    return str(sorted(typed)) if isinstance(typed, set) else repr(typed)


@pytest.mark.parametrize(("typed", "meant"), DECLARED, ids=[named(typed) for typed, _ in DECLARED])
def test_what_is_suggested_for_a_column_is_a_declaration_of_the_same(typed: Any, meant: Any) -> None:
    suggested = ast.literal_eval(hint(dc.Domain, {"age": typed}))
    if meant is not None:
        assert suggested == meant
    assert dc.Domain({"age": suggested}).names == ("age",)


@pytest.mark.parametrize("typed", [
    pd.Series(["u", "v"]), pd.Index(["u", "v"]), pd.CategoricalDtype(["u", "v"]), pd.Categorical(["u", "v", "u"]),
    np.array(["u", "v"]), pl.Series(["u", "v"]), pl.Enum(["u", "v"]), pa.array(["u", "v"]),
], ids=lambda typed: type(typed).__name__)  # fmt: skip
def test_a_column_or_its_type_is_suggested_as_a_list_and_its_values_are_not_quoted(typed: Any) -> None:
    """They may be the rows themselves."""
    suggested = hint(dc.Domain, {"kind": typed})
    assert "'u'" not in suggested
    found = eval(suggested, {type(typed).__name__.lower(): typed})
    assert set(dc.Domain({"kind": found}).column("kind").categories) == {"u", "v"}  # type: ignore[union-attr]


#: What a mapping or a schema file says of a column, and what is suggested to stand there instead.
KEYS = [
    ({"bounds": [90, 17]}, {"bounds": [17, 90]}),
    ({"bounds": [1234567, 0], "role": "quasi-identifier"}, {"bounds": [0, 1234567]}),
    ({"kind": "integer", "bounds": [90, 17]}, {"bounds": [17, 90]}),
    ({"kind": "integer", "bounds": [0, 119.7]}, {"bounds": [0, 120]}),
    ({"kind": "integer", "bounds": [7.0, 7.0]}, {"bounds": [7, 8]}),
    ({"kind": "integer", "bounds": [0, 1e300]}, {"bounds": [0, 1]}),
    ({"kind": "time", "bounds": ["22:00", "06:00"]}, {"bounds": ["00:00", "23:59:59"]}),
    ({"kind": "time", "bounds": ["late", "06:00"]}, {"bounds": ["00:00", "23:59:59"]}),
    ({"bounds": ["2010-12-31", "1920-01-01"]}, {"bounds": ["1920-01-01", "2010-12-31"]}),
    ({"bounds": ["f", "m"]}, {"categories": ["f", "m"]}),
    ({"bounds": [0, "120"]}, {"bounds": [0, 120]}),
    ({"bounds": ["0", "120"]}, {"bounds": [0, 120]}),
    ({"bounds": ["08:00", "18:30"]}, {"kind": "time", "bounds": ["08:00", "18:30"]}),
    ({"bounds": [0, 120, 3]}, None),
    ({"bounds": [0, 120], "role": "quasi"}, {"role": "quasi-identifier"}),
    ({"bounds": [0, 120], "role": "Sensitiv"}, {"role": "sensitive"}),
    ({"bounds": [0, 120], "missing": "Own"}, {"missing": "own"}),
    ({"bounds": [0, 120], "top": 300}, None),
    ({"bounds": [0, 120], "bottom": "low"}, None),
    ({"categories": ["f", "m", "f"]}, {"categories": ["f", "m"]}),
    ({"categories": [0.5, 90.5]}, {"bounds": [0.5, 90.5]}),
]


@pytest.mark.parametrize(("typed", "meant"), KEYS, ids=[repr(typed) for typed, _ in KEYS])
def test_keys_are_suggested_as_a_mapping_and_a_schema_file_write_them(typed: dict[str, Any], meant: Any) -> None:
    by_hand = ast.literal_eval(f"{{{hint(dc.Domain, {'age': typed})}}}")
    line = hint(dc.Domain.from_toml, write_toml({"columns": {"age": typed}}))
    in_file = tomllib.loads(line.replace(", kind =", "\nkind =").replace(", bounds =", "\nbounds ="))
    assert by_hand == in_file
    if meant is not None:
        assert in_file == meant
    both = {**typed, **by_hand}
    if "categories" in by_hand:
        both.pop("bounds", None)
    if "bounds" in by_hand:
        both.pop("categories", None)
    declared = dc.Domain({"age": both})
    assert dc.Domain.from_toml(write_toml({"columns": {"age": both}})) == declared
    assert declared.column("age").role == both.get("role", "attribute")


def test_a_job_file_is_answered_in_its_own_words() -> None:
    text = '[job]\nkind = "plan"\n[schema.columns.age]\nbounds = [90, 17]\n[parameters]\nrows = 1000\n'
    assert hint(dc.Job.from_toml, text) == "bounds = [17, 90]"
    assert dc.Job.from_toml(text.replace("bounds = [90, 17]", "bounds = [17, 90]")).kind == "plan"


#: Calls that are wrong; the arguments that are suggested take their place.
CALLS: list[tuple[Any, dict[str, Any], dict[str, Any] | None]] = [
    (Numeric, {"name": "age", "low": 90, "high": 17}, {"low": 17, "high": 90}),
    (Numeric, {"name": "age", "low": "a", "high": -3}, {"low": -4, "high": -3}),
    (Integer, {"low": 90, "high": 17}, {"low": 17, "high": 90}),
    (Integer, {"low": 0.4, "high": 0.6}, {"low": 0, "high": 1}),
    (Date, {"name": "born", "low": "2010-12-31", "high": "1920-01-01"}, {"low": "1920-01-01", "high": "2010-12-31"}),
    (Time, {"low": "18:30", "high": "08:00"}, {"low": "00:00", "high": "23:59:59"}),
    (Categorical, {"name": "sex", "categories": ["f", "m"], "role": "quasi"}, {"role": "quasi-identifier"}),
    (dc.Domain.box, {"low": [0, 5], "high": [1, 2]}, {"low": [0, 2], "high": [1, 5]}),
    (dc.Domain.box, {"low": [0, 0, 0], "high": [4, 9]}, {"high": 9}),
    (dc.Domain.box, {"low": 0, "high": "one"}, {"high": 1}),
    (dc.Person, {"column": "user", "rows": "8"}, {"rows": 8}),
    (dc.Person, {"column": "user", "rows": 8.0}, {"rows": 8}),
    (dc.Person, {"column": "user", "rows": 8, "per_group": 3}, {"group": "day", "per_group": 3}),
    (dc.Person, {"column": "user", "rows": 8, "group": "week"}, {"per_group": 2}),
    (dc.Ledger, {"epsilon": "0.5"}, {"epsilon": 0.5}),
    (dc.Ledger, {"epsilon": "0,5"}, {"epsilon": 0.5}),
    (dc.Ledger, {"epsilon": -1}, {"epsilon": 1.0}),
    (dc.Ledger, {"rho": 0.1, "delta": 2}, {"delta": 1e-6}),
]


@pytest.mark.parametrize(("make", "typed", "meant"), CALLS, ids=[f"{m.__name__}{t}" for m, t, _ in CALLS])
def test_arguments_that_are_suggested_work(make: Any, typed: dict[str, Any], meant: Any) -> None:
    call = ast.parse(f"f({hint(make, **typed)})", mode="eval").body
    assert isinstance(call, ast.Call)
    suggested = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    assert suggested == meant
    make(**{**typed, **suggested})


DOMAIN = dc.Domain({"age": (0, 120), "pay": (0, 9)})
FITS: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (dc.GridSynopsis, {"epsilon": "0.5"}, {"epsilon": 0.5}),
    (dc.GridSynopsis, {"epsilon": 1.0, "delta": "1e-7"}, {"delta": 1e-7}),
    (dc.TreeSynopsis, {"epsilon": 1.0, "max_depth": 8.0}, {"max_depth": 8}),
    (dc.TreeSynopsis, {"epsilon": 1.0, "partitioner": "Median"}, {"partitioner": "median"}),
    (dc.PrivateKMeans, {"n_clusters": 8.0, "epsilon": 1.0}, {"n_clusters": 8}),
]


@pytest.mark.parametrize(("make", "typed", "meant"), FITS, ids=[f"{m.__name__}{t}" for m, t, _ in FITS])
def test_estimators_suggest_what_was_meant(make: Any, typed: dict[str, Any], meant: dict[str, Any]) -> None:
    rows = np.full((200, 2), 5.0)
    call = ast.parse(f"f({hint(make(domain=DOMAIN, random_state=1, **typed).fit, rows)})", mode="eval").body
    assert isinstance(call, ast.Call)
    suggested = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    assert suggested == meant
    make(domain=DOMAIN, random_state=1, **{**typed, **suggested}).fit(rows)


@pytest.mark.parametrize("typed", [[17, 90], [0, 1], [90, 17], [np.int64(17), np.int64(90)]])
def test_a_list_of_two_numbers_says_that_it_is_two_categories(typed: list[Any]) -> None:
    with pytest.warns(DiscreetWarning) as told:
        assert isinstance(dc.Domain({"age": typed}).column("age"), Categorical)
    assert told[0].filename == __file__
    _, _, how = str(told[0].message).partition("; write ")
    bounds, _, rest = how.partition(" for bounds, or ")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meant = dc.Domain({"age": ast.literal_eval(bounds)}).column("age")
        assert (meant.low, meant.high) == tuple(sorted(map(float, typed)))
        two = dc.Domain({"age": ast.literal_eval(rest.partition(" if just")[0])})
        assert two.column("age").categories == tuple(typed)
        assert eval(repr(two), {"Domain": dc.Domain}) == two
        assert dc.Domain.from_toml(two.to_toml()) == two


@pytest.mark.parametrize("typed", [["f", "m"], [False, True], [1, 2, 3], [7], ["0", "1"]])
def test_other_lists_are_categories_without_a_word(typed: list[Any]) -> None:
    assert dc.Domain({"age": typed}).column("age").categories == tuple(typed)
