"""`discreet ask`: a question in words, answered in a terminal, as JSON and by a job file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dc
from command_line import exit_code
from discreet.jobs import Job


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = pa.table({"age": [i % 90 for i in range(3000)], "sex": ["fmm"[i // 90 % 3] for i in range(3000)]})
    domain = dc.Domain({"age": dc.Integer(0, 99), "sex": ["f", "m"]})
    path = tmp_path_factory.mktemp("ask") / "s.parquet"
    dc.GridSynopsis(0.5, domain, random_state=3).fit(table).synopsis_.save(path)
    return path


def test_an_answer_has_its_interval_and_both_parts_of_its_error(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "age between 30 and 41 and sex = 'f'"
    assert exit_code("ask", release, question, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    answer = dc.Synopsis.load(release).ask(question)
    assert told["value"] == answer.value
    assert (told["low"], told["high"]) == answer.interval(0.95)
    assert (told["noise_error"], told["evenness_error"]) == (answer.noise_error, answer.evenness_error)
    assert told["low"] <= 132 <= told["high"]  # eleven of each age; seeded
    assert exit_code("ask", release, question, "--level", "0.5") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"About {answer.value:,.0f} rows" in said
    assert "50 % interval" in said
    assert "from noise, and" in said
    assert "Do not publish" in said


def test_answers_by_group(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("ask", release, "age < 50", "--by", "sex") == 0
    said = capsys.readouterr().out
    assert "By group" in said
    assert exit_code("ask", release, "age < 50", "--by", "sex", "--json") == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [g["sex"] for g in groups] == ["f", "m"]


@pytest.mark.parametrize(
    ("question", "fix"),
    [
        ("agee < 3", '"age < 3"'),
        ("sex = f", "\"sex = 'f'\""),
        ("sex = 'f", "\"sex = 'f'\""),
        ("age", "between"),
        ("age betwen 3 and 5", '"age between 3 and 5"'),
        ("age < 3 and", '"age < 3"'),
        ("sex >", "\"sex = 'f'\""),
        ("mean age", "it counts rows (means and quantiles: Synopsis.mean"),
    ],
)
def test_what_cannot_be_read_is_refused_with_something_to_type(
    release: Path, question: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("ask", release, question) == 2
    said = capsys.readouterr().err
    assert "QUESTION must be" in said
    assert fix in said
    assert "Traceback" not in said


def test_a_job_file_asks_the_same(release: Path) -> None:
    job = Job("ask", str(release), parameters={"question": "age < 50"})
    assert Job.from_toml(job.to_toml()) == job
    assert job.run().artifact.value == dc.Synopsis.load(release).ask("age < 50").value


def test_groups_of_all_rows_need_no_question(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = release.parent / "all.csv"
    assert exit_code("ask", release, "--by", "sex", "-o", target, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["question"], told["value"]) == ("all rows", dc.Synopsis.load(release).count().value)
    assert told["groups"] == dc.Synopsis.load(release).table("sex").to_arrow().to_pylist()
    assert target.read_text().count("\n") == 3
    assert exit_code("ask", release) == 2
    assert "QUESTION must be given, or --by sex for all rows" in " ".join(capsys.readouterr().err.split())


def test_verify_says_that_an_answer_is_checked_through_its_synopsis(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("ask", release, "age < 50", "--by", "sex", "-o", tmp_path / "table.csv") == 0
    assert exit_code("verify", tmp_path / "table.csv") == 2
    assert "or for the synopsis if 'discreet ask' made it" in " ".join(capsys.readouterr().out.split())
