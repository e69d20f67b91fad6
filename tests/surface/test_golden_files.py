"""Files of an earlier library load, verify and answer as they did: readers hold files longer than we hold code.

`tests/golden/` has one artifact of every kind, written once by its `make.py`, and `answers.json`: what each said on
that day. `golden/older` has files of before ledger lines stated their draws: they are refused, in one sentence.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import FormatError
from discreet.jobs.work.audit import examine
from golden.answers import files

GOLDEN = Path(__file__).parents[1] / "golden"
ANSWERS = json.loads((GOLDEN / "answers.json").read_text(encoding="utf-8"))


def test_every_file_has_answers_and_every_answer_its_file() -> None:
    assert {name for name, _ in files()} == set(ANSWERS)
    assert len(ANSWERS) >= 90
    assert sum(p.stat().st_size for p in GOLDEN.rglob("*") if p.suffix != ".pyc") < 1_000_000


@pytest.mark.parametrize(("name", "ask"), files(), ids=[name for name, _ in files()])
def test_an_old_file_answers_as_it_did(name: str, ask: Any) -> None:
    now, then = ask(GOLDEN / name), ANSWERS[name]
    for question, answer in then.items():
        said = json.loads(json.dumps(now[question]))
        if isinstance(answer, (float, list)) and question not in ("columns",):
            assert said == pytest.approx(answer, rel=1e-9, abs=1e-9), question
        else:
            assert said == answer, question


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("nested.json", lambda path: dc.Guarantee.from_json(path.read_text("utf-8"))),
        ("grid.parquet", dc.Synopsis.load),
    ],
)
def test_a_file_without_draws_is_refused_in_one_sentence(name: str, load: Any) -> None:
    with pytest.raises(FormatError, match=r"not a guarantee this version can read: .* got .*1") as refused:
        load(GOLDEN / "older" / name)
    assert ". " not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["synopses/tree-binary.parquet", "local/direct-response.counts", "tables/mondrian.csv", "tables/duchi.csv"]
)
def test_an_old_file_that_was_changed_is_refused(name: str, tmp_path: Path) -> None:
    shutil.copytree((GOLDEN / name).parent, tmp_path, dirs_exist_ok=True)
    file = tmp_path / Path(name).name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    assert not examine(file).passed


@pytest.mark.parametrize("name", sorted(p.name for p in (GOLDEN / "jobs").glob("*.toml")))
def test_an_old_job_runs(name: str, tmp_path: Path) -> None:
    """With the tables and schemas of its day; what it writes passes the audit of today."""
    for data in [*GOLDEN.glob("*.csv"), *(GOLDEN / "schemas").glob("*.toml"), GOLDEN / "jobs" / name]:
        shutil.copy(data, tmp_path)
    job = dc.Job.from_toml(tmp_path / name)
    assert dc.Job.from_toml(job.to_toml()) == job
    done = job.run()
    assert {job.place(path) for path in job.outputs.values()} <= set(done.files.values())
    assert examine(done.files["release"]).passed
    if "epsilon" in job.parameters:
        assert done.guarantee.epsilon == job.parameters["epsilon"]
