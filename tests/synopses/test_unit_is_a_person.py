"""If the unit is a person, every central release is priced for one and states it in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import exit_code
from discreet.core.budget.guarantee import Guarantee
from discreet.core.columns.unit import unit_kind
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.jobs.job import Job
from discreet.reporting.words import for_lawyers
from discreet.synopses.boxes.grid.estimator import build
from discreet.synopses.opening import open_release

UNIT = dc.Person("user", rows=8)
DOMAIN = dc.Domain({"user": {"role": "person"}, "age": (0, 120), "cost": (0, 10)}, unit=UNIT)
SAID = "one person, with all their rows (at most 8 used)"
CENTRAL: dict[str, Any] = {
    "grid": dc.GridSynopsis(domain=DOMAIN, rule=4, random_state=1),
    "adaptive": dc.GridSynopsis(domain=DOMAIN, rule="adaptive", random_state=1),
    "public size": dc.GridSynopsis(domain=DOMAIN, rule=4, n_rows=500, random_state=1),
    "tree": dc.TreeSynopsis(domain=DOMAIN, max_depth=3, random_state=1),
    "median": dc.TreeSynopsis(domain=DOMAIN, partitioner="median", max_depth=2, random_state=1),
    "privtree": dc.TreeSynopsis(domain=DOMAIN, partitioner="privtree", max_depth=3, random_state=1),
    "k-means": dc.PrivateKMeans(2, domain=DOMAIN, random_state=1),
    "Lloyd": dc.DPLloyd(2, domain=DOMAIN, random_state=1),
}


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    user = [f"person {u}" for u in rng.integers(0, 40, n)]
    return pd.DataFrame({"user": user, "age": rng.uniform(0, 120, n), "cost": rng.uniform(0, 10, n)})


@pytest.mark.parametrize("name", CENTRAL)
def test_every_central_method_spends_an_eighth_per_row_and_promises_all_of_it_to_a_person(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.synopses.opening import OpenRelease

    seen = []
    promise = OpenRelease.promise

    def noted(self: Any, *args: Any) -> Any:
        seen.append((self.gate.left, self.gate.whole))
        return promise(self, *args)

    monkeypatch.setattr(OpenRelease, "promise", noted)
    made = CENTRAL[name].fit(table()).guarantee_
    assert not any(seen[-1])
    assert made.spent.exact == 1
    # Every draw states what it costs one row, and how many rows a person has: no line is cheaper than that.
    drawn = [(line, draw) for top in made.ledger for _, line in top.walk() for draw in line.draws]
    assert {draw.rows for _, draw in drawn} == {8}
    for line, draw in drawn:
        assert draw.law not in ("laplace", "max-norm") or line.amount == 8 * draw.moves / draw.scale
    assert (made.unit, made.neighbours) == (SAID, "add or remove one person, with all their rows")
    assert made.domain.unit == UNIT
    assert "user" not in made.domain.names
    assert not any("m times" in text for text in made.assumptions)
    assert Guarantee.from_json(made.to_json()) == made
    assert f"The unit of privacy is {SAID}." in str(made)


def test_one_row_per_person_is_the_release_of_a_table_with_one() -> None:
    """With the bound at 1 and one row each, noise and price are those of a promise to rows."""
    rows = table().assign(user=np.arange(400))
    person = dc.GridSynopsis(1.0, DOMAIN.with_unit(dc.Person("user", rows=1)), rule=4).fit(rows).synopsis_
    row = dc.GridSynopsis(1.0, DOMAIN.with_unit("row"), rule=4).fit(rows).synopsis_
    assert np.array_equal(person.variances, row.variances)


def test_a_saved_synopsis_is_read_back_with_its_unit(tmp_path: Path) -> None:
    one = dc.GridSynopsis(1.0, DOMAIN, rule=4, random_state=1).fit(table()).synopsis_
    one.save(tmp_path / "s.parquet")
    read = dc.Synopsis.load(tmp_path / "s.parquet")
    assert read == one
    assert read.guarantee.domain.unit == UNIT


def test_words_speak_of_a_person_and_of_what_is_counted() -> None:
    said = for_lawyers(CENTRAL["grid"].fit(table()).guarantee_)
    assert said[0].startswith(f"With and without {SAID}, in the table")
    assert "about any single person" in said[1]
    assert "Counts include only rows that were used" in said[2]
    assert not any("promise about rows" in text for text in said)


def test_kinds_of_unit_are_distinguished_whatever_the_bound() -> None:
    texts = [dc.Person("user", rows=rows).describe() for rows in (1, 8, 1000)]
    texts.append(dc.Person("user", rows=8, group=["day", "town"], per_group=2).describe())
    assert texts[2:] == [
        "one person, with all their rows (at most 1,000 used)",
        "one person, with all their rows (at most 8 used, at most 2 per day and town)",
    ]
    assert {unit_kind(text) for text in texts} == {"person"}
    assert unit_kind("one row") == "row"


# ---- declaring it


def test_a_domain_keeps_its_person_through_every_form(tmp_path: Path) -> None:
    for unit in (UNIT, dc.Person("user", rows="auto"), dc.Person("user", rows=3, group="day", per_group=1)):
        domain = dc.Domain({"age": (0, 120), "day": ["mo", "tu"]}, unit=unit)
        assert domain.unit == unit
        assert dc.Domain.from_toml(domain.to_toml(tmp_path / "schema.toml")) == domain
        assert dc.Domain.from_toml(tmp_path / "schema.toml") == domain
        assert domain.select(["age"]).unit == unit
        assert Guarantee.from_json(Guarantee("central", domain=domain).to_json()).domain == domain
    assert dc.Domain.from_toml('[unit]\nperson = "user"\nrows = 8\n[columns.age]\nbounds = [0, 120]').unit == UNIT
    assert dc.Domain({"user": (0, 9), "age": (0, 1)}, unit=UNIT).column("user").role == "person"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: dc.Person("user"),
        lambda: dc.Person("user", rows=0),
        lambda: dc.Person("user", rows=2.5),
        lambda: dc.Person("", rows=8),
        lambda: dc.Person(7, rows=8),
        lambda: dc.Person("user", rows="many"),
        lambda: dc.Person("user", rows=8, per_group=2),
        lambda: dc.Person("user", rows=8, group="day"),
        lambda: dc.Person("user", rows=8, group=[1], per_group=2),
        lambda: dc.Domain({"age": (0, 1)}, unit={"person": "user"}),
        lambda: dc.Domain({"age": (0, 1)}, unit={"person": "user", "rows": 8, "row": 1}),
        lambda: dc.Domain({"user": {"bounds": (0, 1), "role": "sensitive"}, "age": (0, 1)}, unit=UNIT),
        lambda: dc.Domain({"who": {"role": "person"}, "age": (0, 1)}, unit=UNIT),
        lambda: dc.Domain({"age": (0, 1)}, unit=dc.Person("user", rows=8, group="age", per_group=2)),
        lambda: dc.GridSynopsis(
            domain=dc.Domain({"age": (0, 1)}, unit=dc.Person("user", rows=8, group="day", per_group=2))
        ).check(),
        lambda: dc.GridSynopsis(1e-9, domain=DOMAIN).check(),
        lambda: dc.GridSynopsis(domain=DOMAIN).fit(table().drop(columns="user")),
        lambda: dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=DOMAIN).fit(table()),
    ],
)
def test_what_bounds_no_one_is_refused(wrong: Any) -> None:
    with pytest.raises((InvalidArgument, InvalidType, SchemaError)):
        wrong()


def test_the_same_table_says_row_and_keeps_what_it_had() -> None:
    by_row = DOMAIN.with_unit("row")
    made = dc.GridSynopsis(1.0, by_row, rule=4, random_state=1).fit(table())
    plain = dc.GridSynopsis(1.0, dc.Domain({"age": (0, 120), "cost": (0, 10)}), rule=4, random_state=1).fit(
        table()[["age", "cost"]]
    )
    assert np.array_equal(made.synopsis_.weights, plain.synopsis_.weights)
    assert made.guarantee_.unit == "one row"


# ---- command line and job files

SCHEMA = "[columns.age]\nbounds = [0, 120]\n[columns.cost]\nbounds = [0, 10]\n"


def test_the_command_line_bounds_persons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table().to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    out = tmp_path / "s.parquet"
    line = ["synopsis", tmp_path / "rows.csv", "--schema", tmp_path / "schema.toml", "--epsilon", "1", "-o", out]
    line += ["--rule", "4", "--report", tmp_path / "page.html"]
    assert exit_code(*line, "--person", "user", "--person-rows", "8") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "one person" in said
    assert "At most 8 rows of one person are counted" in said
    assert "compare with your own number" not in said
    assert dc.Synopsis.load(out).guarantee.unit == SAID
    assert SAID in (tmp_path / "page.html").read_text()
    assert exit_code("audit", out) == 0
    capsys.readouterr()
    for wrong in (["--person-rows", "8"], ["--unit", "row", "--person", "user"]):
        assert exit_code(*line, *wrong) == 2
        assert "--" in capsys.readouterr().err
    (tmp_path / "schema.toml").write_text('[unit]\nperson = "user"\nrows = 8\n' + SCHEMA)
    assert exit_code(*line, "--json") == 0
    assert json.loads(capsys.readouterr().out)
    assert dc.Synopsis.load(out).guarantee.unit == SAID
    assert exit_code(*line, "--person", "user") == 0
    assert dc.Synopsis.load(out).guarantee.ledger[0].label == "rows per person"


def test_a_job_file_bounds_persons(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "rows.csv", index=False)
    job = Job(
        "cluster",
        "rows.csv",
        schema=dc.Domain({"age": (0, 120), "cost": (0, 10)}, unit=UNIT),
        parameters={"epsilon": 1, "n_clusters": 2},
        outputs={"centers": "c.csv", "release": "s.parquet"},
        folder=tmp_path,
    )
    job.to_toml(tmp_path / "job.toml")
    again = Job.from_toml(tmp_path / "job.toml")
    assert again.read_domain().unit == UNIT
    again.run()
    assert dc.Synopsis.load(tmp_path / "s.parquet").guarantee.unit == SAID


@pytest.mark.parametrize(
    ("columns", "apart"), [(("town", "ward"), True), (("town",), False), (("ward",), False), ((), False)]
)
def test_cells_hold_one_group_only_if_all_group_columns_are_axes(columns: tuple[str, ...], apart: bool) -> None:
    """A person has at most two rows per town *and* ward. Cells by town alone may hold four of them."""
    unit = dc.Person("user", rows=4, group=("town", "ward"), per_group=2)
    words = {"town": ["a", "b"], "ward": ["c", "d"]}
    domain = dc.Domain({"user": {"role": "person"}, "age": (0, 120), **words}, unit=unit)
    rows = pd.DataFrame({"user": [1, 1, 2], "age": [1, 2, 3], "town": ["a", "b", "a"], "ward": ["c", "c", "d"]})
    chosen = ["age", *columns]
    opening = open_release(
        rows, domain, 1.0, 1, 3, delta=1e-6, select=lambda axes: axes.select(chosen), gaussian=lambda *_: True
    )
    assert opening.apart == apart
    grid = build(opening, dc.GridSynopsis(rule=1).settings())
    draw = grid.guarantee.ledger[-1].draws[0]
    assert (draw.law, draw.rows) == ("gaussian", 8 if apart else 16)
