"""``--sample`` of `discreet anonymize` draws rows first: a table with an epsilon, and no other word about its rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from discreet.core.budget.guarantee import Guarantee

SCHEMA = """
[columns.age]
kind = "integer"
bounds = [0, 119]
role = "quasi-identifier"
[columns.sex]
categories = ["f", "m"]
role = "quasi-identifier"
"""


def anonymized(folder: Path, *given: str, schema: str = SCHEMA) -> Any:
    rows = [f"{i % 120},{'fm'[i % 2]}" for i in range(3000)]
    (folder / "people.csv").write_text("age,sex\n" + "\n".join(rows) + "\n,f\n")
    (folder / "schema.toml").write_text(schema)
    where = [str(folder / "people.csv"), "--schema", str(folder / "schema.toml"), "-o", str(folder / "safe.csv")]
    words = ["anonymize", *where, "--k", "20", "--method", "generalization", *given]
    return run(*words, catch=True, COLUMNS="200")


DRAWN = ("--sample", "0.2", "--level", "age=5")


def test_drawn_rows_are_released_with_an_epsilon_and_nothing_is_said_of_the_others(tmp_path: Path) -> None:
    done = anonymized(tmp_path, *DRAWN, "--delta", "1e-5", "--json")
    assert done.exit_code == 0, done.exception
    promise = Guarantee.from_json((tmp_path / "safe.csv.guarantee.json").read_text())
    assert (promise.model, promise.delta) == ("central", 1e-5)
    assert promise.parameters["sample"] == 0.2
    told = json.loads(done.stdout)
    assert "left_out" not in json.dumps(told)
    assert "3001" not in done.stdout
    shown = anonymized(tmp_path, *DRAWN)
    assert "sampled rows in" in shown.output
    assert "divide counts by 0.2" in shown.output
    assert "row was left out" not in shown.output
    assert "were left out" not in shown.output
    assert "differential privacy" in shown.output
    measured = run("risk", tmp_path / "safe.csv", "--require", "k=20", catch=True)
    assert measured.exit_code == 0, measured.exception


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (("--sample", "0.2"), "and sampling then proves nothing; try --level age=1"),
        ((*DRAWN, "--k", "5", "--delta", "1e-6"), "got 1e-06; try --k 10"),
        ((*DRAWN, "--l", "2"), "than the epsilon allows; try leaving it out"),
        ((*DRAWN, "--suppress", "0.1"), "--suppress must be left out"),
        ((*DRAWN, "--history", "people.history"), "--history must be left out"),
        ((*DRAWN, "--order", "input"), "--order must be left out"),
        (("--level", "age=5", "--delta", "1e-6"), "--delta can only be used with --sample 0.1"),
        (("--sample", "0.2", "--method", "mondrian"), "--sample can only be used with --method generalization"),
        ((*DRAWN, "--delta", "0.1"), "--delta must be"),
    ],
)  # fmt: skip
def test_what_would_show_more_is_refused(tmp_path: Path, given: tuple[str, ...], wrong: str) -> None:
    done = anonymized(tmp_path, *given)
    assert done.exit_code != 0
    assert wrong in str(done.exception)
    assert not (tmp_path / "safe.csv").exists()


def test_a_schema_with_a_sensitive_column_or_a_person_is_refused(tmp_path: Path) -> None:
    for role in ("sensitive", "person"):
        schema = SCHEMA.replace(
            'categories = ["f", "m"]\nrole = "quasi-identifier"', f'categories = ["f", "m"]\nrole = "{role}"'
        )
        done = anonymized(tmp_path, *DRAWN, schema=schema)
        assert done.exit_code != 0
        assert role in str(done.exception)
