"""``--top`` and ``--bottom`` of `discreet anonymize` declare thresholds on top of the schema, and say what is wrong."""

from pathlib import Path
from typing import Any

import pytest

from command_line import run

SCHEMA = """
[columns.age]
kind = "integer"
bounds = [0, 120]
top = 100
[columns.pay]
bounds = [0, 10]
[columns.born]
bounds = [1920-01-01, 2020-01-01]
[columns.sex]
categories = ["f", "m"]
"""


def anonymized(folder: Path, *given: str) -> Any:
    rows = [f"{i % 110},{i % 10}.5,{1930 + i % 80}-05-01,{'fm'[i % 2]}" for i in range(440)]
    (folder / "people.csv").write_text("age,pay,born,sex\n" + "\n".join(rows) + "\n")
    (folder / "schema.toml").write_text(SCHEMA)
    where = [str(folder / "people.csv"), "--schema", str(folder / "schema.toml"), "-o", str(folder / "safe.csv")]
    return run("anonymize", *where, "--k", "2", "--method", "generalization", "--suppress", "1", *given, catch=True)


def test_thresholds_can_be_given_on_the_command_line(tmp_path: Path) -> None:
    levels = ["--level", "pay=7", "--level", "born=6", "--level", "sex=1"]
    coded = ["--top", "age=90", "--bottom", "age=18", "--top", "pay=8.5", "--top", "born=2000-01-01"]
    done = anonymized(tmp_path, *coded, *levels)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "safe.csv").read_text()
    assert '"> 90"' in text
    assert '"< 18"' in text
    assert ">= 8.5" in text
    assert ">= 2000-01-01" in text
    assert "> 100" not in text


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (["--top", "sex=90"], "given for columns with bounds (age, pay, born)"),
        (["--top", "age=120"], "top of column 'age' must be a threshold between 0 and 120"),
        (["--top", "pay=much"], "top of column 'pay'"),
        (["--top", "age"], "COLUMN=LIMIT"),
        (["--top", "age=90", "--method", "microaggregation"], "--method density-tree"),
    ],
)
def test_what_is_wrong_with_a_threshold_is_said(tmp_path: Path, given: list[str], wrong: str) -> None:
    done = anonymized(tmp_path, *given)
    assert done.exit_code != 0
    assert wrong in str(done.exception)
