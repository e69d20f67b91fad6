"""Functions of columns and impossible combinations: declared once, kept by copies, refused where they are wrong."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.core.columns.facts import a_choice
from discreet.core.people import with_person
from discreet.engines.passes.marginals import AxisGrids

COLUMNS: dict[str, Any] = {
    "education": ["none", "Bachelors", "Masters"],
    "num": dc.Integer(1, 16),
    "age": dc.Integer(0, 120),
    "group": ["child", "adult"],
    "sex": ["f", "m"],
    "born": (datetime.date(1920, 1, 1), datetime.date(2020, 12, 31)),
    "gain": (0.0, 100.0),
    "smokes": [False, True],
}
FUNCTIONS = {
    "num": {"education": {"none": 1, "Bachelors": 13, "Masters": 14}},
    "group": {"age": {(0, 17): "child", "18..120": "adult"}},
}
IMPOSSIBLE = [
    {"sex": "m", "education": ["Bachelors", "Masters"]},
    {"born": ("2010-01-01", "2020-12-31"), "smokes": True},
    {"gain": (0.5, 100), "group": "child"},
]
TOML = """
[columns]
education = {categories = ["none", "Bachelors", "Masters"]}
num = {kind = "integer", bounds = [1, 16]}
age = {kind = "integer", bounds = [0, 120]}
group = {categories = ["child", "adult"]}
sex = {categories = ["f", "m"]}
born = {bounds = [1920-01-01, 2020-12-31]}
gain = {bounds = [0, 100]}
smokes = {kind = "boolean"}

[functions.num.education]
none = 1
Bachelors = 13
Masters = 14

[functions.group.age]
"0..17" = "child"
"18..120" = "adult"

[[impossible]]
sex = "m"
education = ["Bachelors", "Masters"]

[[impossible]]
born = [2010-01-01, 2020-12-31]
smokes = true

[[impossible]]
gain = [0.5, 100]
group = "child"
"""


def declared(**facts: Any) -> dc.Domain:
    return dc.Domain(COLUMNS, **facts)


DOMAIN = declared(functions=FUNCTIONS, impossible=IMPOSSIBLE)


def test_a_schema_file_and_a_program_say_the_same(tmp_path):
    assert dc.Domain.from_toml(TOML) == DOMAIN
    DOMAIN.to_toml(tmp_path / "s.toml")
    assert dc.Domain.from_toml(tmp_path / "s.toml") == DOMAIN
    promise = dc.Guarantee("central", domain=DOMAIN)
    assert dc.Guarantee.from_json(promise.to_json()).domain == DOMAIN
    assert pickle.loads(pickle.dumps(DOMAIN)) == DOMAIN
    assert declared() != DOMAIN
    assert "impossible" in repr(DOMAIN)
    assert "no row has" in DOMAIN._repr_html_()


def test_domains_without_facts_are_written_as_before():
    promise = dc.Guarantee("central", domain=declared()).to_dict()
    assert set(promise["domain"]) == {"named", "columns"}
    assert "functions" not in declared().to_toml()
    assert declared(functions={}, impossible=[]) == declared()


def test_copies_keep_what_they_can():
    assert DOMAIN.with_unit("row").facts == DOMAIN.facts
    assert DOMAIN.select(["num", "sex"]).facts.sentences == ()
    assert DOMAIN.select(["education", "num", "sex"]).facts.sentences == (
        "num is a function of education",
        "no row has sex = m and education = Bachelors or Masters",
    )
    person = dc.Domain(COLUMNS, unit=dc.Person("who", rows=2), functions=FUNCTIONS)
    assert with_person(person).facts == person.facts


def test_what_is_impossible_of_a_function_stays_when_its_column_goes():
    assert DOMAIN.select(["age", "gain"]).facts.sentences == ("no row has gain = 0.5 to 100 and age = 0 to 17",)
    # Once more from what is written: a schema file of the part declares the same.
    part = DOMAIN.select(["age", "gain"])
    assert dc.Domain.from_toml(part.to_toml()).facts == part.facts
    columns = {"age": dc.Integer(0, 9), "odd": ["no", "yes"], "town": ["a", "b"]}
    odd = {"odd": {"age": {str(i): "yes" if i % 3 == 1 else "no" for i in range(10)}}}
    several = dc.Domain(columns, functions=odd, impossible=[{"odd": "yes", "town": "b"}]).select(["town", "age"])
    assert several.facts.sentences == tuple(f"no row has age = {i} and town = b" for i in (1, 4, 7))
    assert DOMAIN.select(["gain", "sex"]).facts.sentences == ()  # neither the function nor its source is there


def test_what_is_said_of_a_function_is_said_of_its_source():
    base = DOMAIN.without_functions()
    assert base.names == ("education", "age", "sex", "born", "gain", "smokes")
    assert dict(base.facts.impossible[2].stretches) == {"gain": ((0.5, 100.0),), "age": ((-0.5, 17.5),)}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"functions": {"num": {"education": {"none": 1, "Bachelors": 13}}}}, "nothing is said of 'Masters'"),
        ({"functions": {"num": {"education": {**FUNCTIONS["num"]["education"], "PhD": 16}}}}, "PhD"),
        ({"functions": {"num": {"education": {"none": 1, "Bachelors": 13, "Masters": 99}}}}, "declared value of 'num'"),
        (
            {"functions": {"num": {"education": {"none": 1.5, "Bachelors": 1, "Masters": 1}}}},
            "declared value of 'num'",
        ),
        ({"functions": {"num": 13}}, "a mapping from one column"),
        ({"functions": {"num": {"num": {"1..16": 1}}}}, "another column"),
        ({"functions": {"rank": {"age": {}}}}, "'rank' is not declared"),
        ({"functions": {"group": {"age": {"0..17": "child", "17..120": "adult"}}}}, "once"),
        ({"functions": {"group": {"age": {"0..17": "child", "19..120": "adult"}}}}, "nothing is said of 18"),
        ({"functions": {"group": {"age": {"0..17": "child", "18..200": "adult"}}}}, "declared value"),
        ({"functions": {"group": {"age": {"young": "child"}}}}, "low..high"),
        ({"functions": {"group": {"gain": {"0..100": "child"}}}}, "without steps"),
        ({"functions": {**FUNCTIONS, "smokes": {"group": {"child": False, "adult": True}}}}, "a function of 'age'"),
        ({"functions": [1]}, "a mapping"),
        ({"impossible": {"sex": "m"}}, "a list of combinations"),
        ({"impossible": [{"sex": "m"}]}, "two or three columns"),
        ({"impossible": [{"sex": "m", "age": 1, "group": "child", "smokes": True}]}, "two or three columns"),
        ({"impossible": [{"sex": "x", "smokes": True}]}, "impossible.0.: sex must be among the declared categories"),
        ({"impossible": [{"age": (200, 300), "smokes": True}]}, "inside what is declared"),
        ({"impossible": [{"gain": (5, 5), "smokes": True}]}, "hold some of it"),
        ({"impossible": [{"sex": ["f", "m"], "smokes": [True, False]}]}, "no combination of values possible"),
        ({"functions": FUNCTIONS, "impossible": [{"num": (14, 16), "education": "Masters"}]}, "'education' alone"),
    ],
)
def test_what_cannot_be_meant_is_refused(facts, words):
    with pytest.raises(dc.errors.DiscreetError, match=words):
        declared(**facts)


def test_columns_that_name_somebody_have_no_facts():
    columns = {**COLUMNS, "who": {"role": "person"}}
    with pytest.raises(dc.errors.SchemaError, match="never released"):
        dc.Domain(columns, unit="row", impossible=[{"who": "any", "sex": "m"}])


def test_missing_values_of_a_source_need_a_place():
    columns = {**COLUMNS, "education": {"categories": ["none", "Bachelors", "Masters"], "missing": "own"}}
    with pytest.raises(dc.errors.SchemaError, match='missing = "own" too'):
        dc.Domain(columns, functions={"num": FUNCTIONS["num"]})


def test_a_file_with_an_unknown_part_is_told_what_there_is():
    with pytest.raises(dc.errors.SchemaError, match=r"\[functions.COLUMN.OTHER\] and \[\[impossible\]\]"):
        dc.Domain.from_toml(TOML + "\n[facts]\nx = 1\n")


def test_nothing_is_chosen_where_nothing_is_left():
    both = np.array([True, True])
    assert a_choice([{"a": both, "b": both}]) is None
    found = a_choice([{"a": np.array([True, False]), "b": both}, {"a": ~np.array([True, False]), "c": both[:1]}])
    assert found is None


@pytest.mark.parametrize("parts", [7, 512])
def test_cells_end_where_facts_do(parts):
    """Rows that are declared impossible have no cell, all others have theirs; by a count that knows no cells."""
    columns = {"n": dc.Integer(0, 10_000), "day": COLUMNS["born"], "x": (0.0, 1.0), "c": ["a", "b"]}
    zeros = [
        {"n": (17, 4321), "c": "a"},
        {"day": ("1999-12-31", "2003-02-28"), "c": "b"},
        {"x": (0.1, 0.77), "n": (5000, 10_000)},
    ]
    domain = dc.Domain(columns, impossible=zeros)
    grid = AxisGrids(domain, (parts, parts, parts, 2), (True, False, True, False))
    rng = np.random.default_rng(1)
    n, c = rng.integers(0, 10_001, 50_000), rng.integers(0, 2, 50_000)
    day, x = rng.integers(domain.low[1], domain.high[1] + 1, 50_000), np.clip(rng.normal(0.5, 0.5, 50_000), 0, 1)
    dates = np.datetime64("1970-01-01") + day.astype("timedelta64[D]")
    late = (dates >= np.datetime64("1999-12-31")) & (dates <= np.datetime64("2003-02-28"))
    broken = ((n >= 17) & (n <= 4321) & (c == 0)) | (late & (c == 1)) | ((x >= 0.1) & (x < 0.77) & (n >= 5000))
    codes = grid.codes([n.astype(float), day.astype(float), x, c + 0.5])
    assert codes.shape[1] == (~broken).sum()
    for j, values in ((0, n[~broken]), (2, x[~broken])):
        lower, upper = (ends[codes[j]] for ends in grid.boxes(j))
        assert ((values >= lower) & ((values < upper) | (lower == upper))).all()


def test_ends_that_differ_are_distinguished_in_words():
    told = dc.Domain({"x": (1e9, 1e9 + 1), "sex": ["f", "m"]}, impossible=[{"x": (1e9 + 0.25, 1e9 + 1), "sex": "m"}])
    assert told.facts.sentences == ("no row has x = 1000000000.25 to 1000000001.0 and sex = m",)


def test_no_fact_is_suggested_that_no_one_knows():
    """A value that is copied from another line would be a false fact, typed back."""
    with pytest.raises(dc.errors.InvalidArgument) as told:
        declared(functions={"num": {"education": {"none": 1, "Bachelors": 13}}})
    assert told.value.fix == "adding 'Masters' with the value that belongs to it"
    with pytest.raises(dc.errors.InvalidArgument) as told:
        declared(impossible=[{"sex": "m"}])
    assert told.value.fix == "adding a column to 'sex'"
    with pytest.raises(dc.errors.InvalidArgument) as told:
        declared(impossible=[{"age": (200, 300), "smokes": True}])
    assert told.value.fix == "leaving it out: no row is counted there"
    with pytest.raises(dc.errors.InvalidType) as told:
        declared(impossible={"sex": "m", "smokes": True})
    assert told.value.fix == "impossible=[{'sex': 'm', 'smokes': True}], in a schema file under [[impossible]]"
    declared(impossible=[{"sex": "m", "smokes": True}])
