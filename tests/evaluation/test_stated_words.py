"""A guarantee whose words, draws and price contradict each other is found, also if someone sealed it again."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core import Guarantee
from discreet.evaluation.promises import misstated
from discreet.reporting import verify
from discreet.synopses import refine
from evidence_damage import independent

GOLDEN = Path(__file__).parents[1] / "golden"
ROWS = {"who": [str(i // 4) for i in range(80)], "age": [20.0 + i % 40 for i in range(80)], "sex": ["f", "m"] * 40}
DAYS = (datetime.date(2020, 1, 1), datetime.date(2026, 12, 31))
COLUMNS: dict[str, Any] = {"age": (0, 120), "sex": ["f", "m"]}
Facts = dict[str, Any]


def of_persons(unit: Any = None, **budget: Any) -> Facts:
    domain = dc.Domain(
        {"who": {"role": "person"}, **COLUMNS}, unit=unit or dc.Person("who", rows=4, called="household")
    )
    made = dc.GridSynopsis(**({"epsilon": 0.5} | budget), rule=2, domain=domain).fit(pa.table(ROWS)).synopsis_
    facts: Facts = made.guarantee.to_dict()
    return facts


def perturbed(**more: Any) -> Facts:
    settings: Any = {"epsilon": 4, "radius": 0.1, "category_epsilon": 3, **more}
    model = dc.metric.NDLaplace(domain=COLUMNS, **settings)
    model.fit()
    facts: Facts = model.guarantee_.to_dict()
    return facts


def counted() -> Facts:
    domain = dc.Domain(
        {"who": {"role": "person"}, "age": {"bounds": [0, 120], "role": "quasi-identifier"}},
        unit=dc.Person("who", rows=4),
    )
    table = pa.table({name: ROWS[name] for name in ("who", "age")})
    facts: Facts = dc.anonymity.Mondrian(k=3, domain=domain).fit_transform(table).guarantee.to_dict()
    return facts


def _one_row_of_four(facts: Facts) -> None:
    facts["spent"], facts["epsilon"] = "1/8", 0.125
    for line in facts["ledger"]:
        line["amount"] = str(Fraction(line["amount"]) / 4)
        for draw in line["draws"]:
            draw["rows"] = 1


def _tenth(facts: Facts) -> None:
    facts["spent"], facts["epsilon"] = "7/10", 0.7
    for line, amount in zip(facts["ledger"], ("2/5", "3/10"), strict=True):
        line["amount"] = line["draws"][0]["epsilon"] = amount


def _of_rows(facts: Facts) -> None:
    del facts["parameters"]["k_counts"]
    facts["domain"]["unit"] = "row"


def _far(facts: Facts) -> None:
    facts["neighbours"] = facts["neighbours"].replace("distance 0.1", "distance 1.0")


def _radius(facts: Facts) -> None:
    facts["parameters"]["radius"] = 1.0


def walked() -> Facts:
    places = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain={"x": (0, 1), "y": (0, 1)}, random_state=5)
    made = dc.metric.Trajectory(places, threshold=0.8, test_epsilon=0.25, budget=4)
    facts: Facts = made.report(pa.table({"x": [0.5] * 4, "y": [0.5] * 4})).guarantee.to_dict()
    return facts


def _short(facts: Facts) -> None:
    told = facts["parameters"]
    told["diameter"], told["epsilon_at_diameter"] = 0.01, told["noise_rate"] * (0.01 + told["rounding"])


def _coarse(facts: Facts) -> None:
    """A price that holds if rounding moved places far apart, which it does not."""
    told = facts["parameters"]
    told["rounding"], told["noise_rate"] = 1e6, 4 / (0.1 + 1e6)
    told["epsilon_at_diameter"] = told["noise_rate"] * (1 + 1e6)


@pytest.mark.parametrize(
    ("facts", "edit", "said"),
    [
        (of_persons, _one_row_of_four, "states noise for 1 rows of a household, and the unit needs 4"),
        (of_persons, lambda f: f.update(unit=f["unit"].replace("most 4", "most 400")), "the unit is"),
        (of_persons, lambda f: f.update(unit=f["unit"].replace("household", "person")), "the unit is"),
        (of_persons, lambda f: f.update(neighbours="replace any number of people"), "the neighbours are"),
        (of_persons, lambda f: f["domain"].update(unit="row"), "the rest of the promise says 'one row'"),
        (counted, _of_rows, "the unit is 'one person', and the rest of the promise says 'one row'"),
        (counted, _of_rows, "the declaration names persons by column 'who', and k counts rows"),
        (perturbed, _tenth, "epsilon is 0.7, and the rate and the categories that are stated cost 7"),
        (perturbed, _far, "the neighbours are"),
        (perturbed, _radius, "contradict each other"),
        (perturbed, lambda f: f.update(model="local", neighbours="any two values of one user"), "the model is 'local'"),
        (perturbed, lambda f: f["parameters"].update(noise_rate=1.0), "contradict each other"),
        (perturbed, lambda f: f["parameters"].update(epsilon_at_diameter=0.5), "epsilon_at_diameter is 0.5, and the"),
        (perturbed, lambda f: f["parameters"].pop("epsilon_at_diameter"), "contradict each other"),
        (perturbed, _short, "contradict each other"),
        (perturbed, _coarse, "contradict each other"),
        (walked, lambda f: f["parameters"].update(epsilon_at_diameter=0.5), "epsilon_at_diameter is 0.5, and the"),
        (walked, lambda f: f["parameters"].update(diameter=1e-3), "contradict each other"),
        (perturbed, lambda f: f["parameters"].update(mechanism="Mine"), "not checkable: unit and neighbours"),
        (perturbed, lambda f: f["parameters"].pop("category_epsilon"), "contradict each other, or cannot be read"),
    ],
)
def test_a_promise_that_contradicts_itself_is_found(
    facts: Callable[[], Facts], edit: Callable[[Facts], None], said: str
) -> None:
    stated = facts()
    assert misstated(Guarantee.from_dict(stated)) == []
    edit(stated)
    found = misstated(Guarantee.from_dict(stated))
    assert any(said in text for text in found), found
    if facts not in (perturbed, walked):  # what the independent verifier derives too
        v = independent()
        with pytest.raises(v.Wrong):
            v.check_words(v.parsed(json.dumps(stated)))


@pytest.mark.parametrize(
    "made",
    [
        lambda: of_persons(dc.Person("who", rows="auto")),
        lambda: of_persons(dc.Person("who", rows=1200), rho=0.1, delta=1e-6, epsilon=None),
        lambda: of_persons(dc.Person("who", rows=5, group="sex", per_group=2), rho=0.1, delta=1e-6, epsilon=None),
        lambda: of_persons("row"),
        counted,
    ],
)
def test_promises_as_they_are_written_agree_with_themselves(made: Callable[[], Facts]) -> None:
    facts = made()
    assert misstated(Guarantee.from_dict(facts)) == []
    independent().check_words(independent().parsed(json.dumps(facts)))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("tables/*.guarantee.json")), ids=lambda path: path.name)
def test_older_promises_agree_with_themselves(path: Path) -> None:
    assert misstated(Guarantee.from_json(path.read_bytes())) == []


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.metric.NDLaplace(epsilon=1, domain={"x": (0, 1)}, remap="resample"),
        dc.metric.NDLaplace(epsilon=float("inf"), domain={"x": (0, 1)}),
        dc.metric.NDLaplace(epsilon=1, domain={"x": (0, 3), "y": (5, 1e6)}, scaling=[0.7, 31], step=0.001),
        dc.metric.NDLaplace(epsilon=1, domain={"x": (0, 3), "y": (5, 9)}, scaling=[[1, 0.3], [0.2, 2]]),
        dc.metric.NDLaplace(epsilon=1, radius=30, domain={"day": DAYS, "pay": (0, 9.5)}, scaling="none", remap="clip"),
        dc.metric.NDLaplace(epsilon=1, radius=0.2, domain={"day": DAYS, "pay": (0, 9.5)}, remap="grid"),
        dc.metric.NDLaplace(epsilon=1e-7, radius=0.2, domain={"pay": (0, 9.5)}),
        dc.metric.SphericalLaplace(epsilon=0.7, domain={"lon": (0, 90), "lat": (40, 50)}, step=0.01, remap="grid"),
        dc.metric.SphericalLaplace(
            epsilon=float("inf"), domain={"o": (9, 80), "n": (-50, -40)}, latitude="n", longitude="o"
        ),
        dc.metric.NDLaplace(epsilon=1, domain={"sex": ["f", "m"]}, category_epsilon=0.3),
        dc.metric.SphericalLaplace(epsilon=0.7, radius=300, domain={"lat": (40, 50), "lon": (0, 9)}),
        dc.metric.Piecewise(epsilon=1.1, domain={"x": (0, 1), "y": (0, 1), "z": ["a", "b"]}, category_epsilon=0.3),
        dc.metric.PrivUnit(epsilon=2, domain={"x": (0, 1), "y": (0, 1)}),
    ],
)
def test_every_mechanism_states_what_its_parameters_say(mechanism: Any) -> None:
    assert misstated(mechanism.fit().guarantee_) == []


def test_a_level_that_follows_from_a_density_is_not_checkable() -> None:
    """The map is not in the guarantee; a level that rests on it alone is not said to hold."""
    square = dc.Domain.box([0, 0], [8, 8])
    made = dc.metric.ElasticLaplace(2, 10, square, density=np.ones((8, 8)), cells=64, scaling="none")
    assert [text[:13] for text in misstated(made.fit().guarantee_)] == ["not checkable"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit", ["row", dc.Person("who", rows=4), dc.Person("who", rows=5, group="sex", per_group=2)])
@pytest.mark.parametrize(
    "budget",
    [{"epsilon": 0.2}, {"epsilon": 9}, {"epsilon": 1, "n_rows": 80}, {"epsilon": None, "rho": 0.1, "delta": 1e-6}],
)
def test_no_release_is_surer_than_its_price_allows(weighted: bool, unit: Any, budget: Facts, tmp_path: Path) -> None:
    columns: dict[str, Any] = {**({} if unit == "row" else {"who": {"role": "person"}}), **COLUMNS}
    columns |= {"times": {"bounds": [0, 40], "role": "weight"}} if weighted else {}
    table = pa.table({name: ({"times": [8.0] * 80} | ROWS)[name] for name in columns})
    made = dc.GridSynopsis(**budget, rule=2, domain=dc.Domain(columns, unit=unit)).fit(table).synopsis_
    for each in (made, refine.consistent(made)):
        each.save(tmp_path / "s.parquet", overwrite=True)
        assert verify([tmp_path / "s.parquet"]).code == 0
