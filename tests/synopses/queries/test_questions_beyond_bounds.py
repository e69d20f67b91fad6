"""A question about rows that the schema left out or moved to a bound is answered by that, not by a certain zero."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.cli import main
from discreet.errors import InvalidArgument

LEFT_OUT = 'rows without a value in sex were left out by the schema (missing = "drop")'
BOUNDS = "outside what is declared: values beyond the bounds of {} were counted at the bound"


@pytest.fixture(scope="module")
def made() -> dc.Synopsis:
    rows = {"age": [150] * 40 + [30] * 60, "day": ["2009-05-05"] * 100, "sex": ["f", None] * 50, "lat": [40.5] * 100}
    domain = {
        "age": dc.Integer(0, 99),
        "day": {"kind": "date", "bounds": ["2009-01-01", "2010-12-31"]},
        "sex": ["f", "m"],
        "lat": (40, 41),
    }
    return dc.GridSynopsis(1.0, dc.Domain(domain), random_state=1).fit(pa.table(rows)).synopsis_


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("sex is missing", LEFT_OUT),
        ("sex is missing and age < 30", LEFT_OUT),
        ("age > 99", BOUNDS.format("age (0 to 99)")),
        ("age between 120 and 200", BOUNDS.format("age (0 to 99)")),
        ("day < '1980-01-01'", BOUNDS.format("day (2009-01-01 to 2010-12-31)")),
        ("lat > 41", BOUNDS.format("lat (40 to 41)")),
    ],
)
def test_a_zero_that_no_one_counted_is_not_certain(made: dc.Synopsis, question: str, note: str) -> None:
    found = made.ask(question)
    assert found.note == note
    assert found.interval() == (0, math.inf)
    assert "not known" in repr(found)
    assert found.to_dict()["std_error"] is None
    assert math.isinf(made.share(question).std_error)
    assert np.isinf(made.table("sex", where=question).std_errors).all()
    # What is known of the rest stays so.
    rest = made.ask(f"{question} or age < 50")
    assert rest.std_error > 0
    assert note in rest.note
    assert (made.count() - found).std_error == made.count().std_error
    assert note in (made.count() - found).note


@pytest.mark.parametrize("question", ["age < 200", "age != 200", "sex is not missing", "age = 3", "age < 0 or age < 9"])
def test_a_question_inside_what_is_declared_has_no_such_note(made: dc.Synopsis, question: str) -> None:
    found = made.ask(question)
    assert found.note == ""
    assert found.std_error > 0


def test_a_box_beyond_the_bounds_says_so_too(made: dc.Synopsis) -> None:
    assert "counted at the bound" in made.count(age=(120, 130)).note
    assert math.isinf(made.count(age=(120, 130)).std_error)


def test_the_terminal_and_json_say_it_first(
    made: dc.Synopsis, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.save(tmp_path / "s.parquet")
    for question, note in (("sex is missing", LEFT_OUT), ("age > 99", "counted at the bound")):
        for more in ([], ["--by", "sex"]):
            with pytest.raises(SystemExit) as left:
                main(["ask", str(tmp_path / "s.parquet"), question, *more])
            said = " ".join(capsys.readouterr().out.split())
            assert not left.value.code
            assert said.startswith(f"Unknown: {question}.")
            assert note[1:] in said
            assert "interval" not in said
            assert "About 0" not in said
        with pytest.raises(SystemExit):
            main(["ask", str(tmp_path / "s.parquet"), question, "--json"])
        told = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
        assert (told["low"], told["high"], told["std_error"]) == (0, None, None)
        assert note in told["note"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lat > 40,7", "lat > 40.7"),
        ("lat between 40,2 and 40,7", "lat between 40.2 and 40.7"),
        ("lat > '40,7'", "lat > 40.7"),
        ("day > '31.12.2009'", "day > '2009-12-31'"),
        ("day > '12/31/2009'", "day > '2009-12-31'"),
        ("day > 2009-12-31", "day > '2009-12-31'"),
        ("day > '03/04/2009'", "day < '2010-12-31'"),  # of March or of April: no one knows
        ("day > 'soon'", "day < '2010-12-31'"),
    ],
)
def test_other_spellings_are_refused_with_what_was_meant(made: dc.Synopsis, typed: str, meant: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        made.ask(typed)
    assert f"try question={meant!r}" in str(caught.value)
    made.ask(meant)


def test_groups_are_whole_numbers_and_a_negative_one_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    synopsis = dc.synopses.BoxSynopsis(
        dc.Domain({"sex": ["f", "m"]}), lower=[[0], [1]], upper=[[1], [2]], weights=[1140.143, -38.2],
        variances=[400.0, 400.0], guarantee=dc.Guarantee("central"),
    )  # fmt: skip
    synopsis.save(tmp_path / "s.parquet")
    with pytest.raises(SystemExit):
        main(["ask", str(tmp_path / "s.parquet"), "sex in ('f', 'm')", "--by", "sex"])
    said = capsys.readouterr().out
    assert "1,140 " in said
    assert "1,140.1" not in said
    assert "-38 " in said
    assert "A negative count means few rows or none" in said
