"""When no row can be read, or there is none, the release says so: in Python, terminal, JSON, page and error stream."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from command_line import exit_code
from discreet.errors import DiscreetWarning
from discreet.jobs.job import Job
from discreet.reporting import report_facts, write_report

DOMAIN = {"age": (0, 120), "cost": (0, 10)}
SCHEMA = "[columns.age]\nbounds = [0, 120]\n\n[columns.cost]\nbounds = [0, 10]\n"
SAID = "cannot be told from zero"
CENTRAL = [
    dc.GridSynopsis(domain=DOMAIN),
    dc.GridSynopsis(domain=DOMAIN, rule="adaptive"),
    dc.GridSynopsis(domain=DOMAIN, rule=40, max_cells=100),
    dc.TreeSynopsis(domain=DOMAIN),
    dc.TreeSynopsis(domain=DOMAIN, partitioner="privtree"),
    dc.PrivateKMeans(2, domain=DOMAIN),
]


def _name(estimator: Any) -> str:
    return type(estimator).__name__


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table whose decimal commas make every value unreadable, and one that can be read."""
    rows = "".join(f'"{20 + i % 60},5","{i % 10},25"\n' for i in range(500))
    (tmp_path / "comma.csv").write_text("age,cost\n" + rows)
    (tmp_path / "good.csv").write_text("age,cost\n" + re.sub(r'"(\d+),(\d+)"', r"\1.\2", rows))
    (tmp_path / "empty.csv").write_text("age,cost\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


@pytest.mark.parametrize("estimator", CENTRAL, ids=_name)
def test_a_synopsis_of_nothing_says_so_and_one_of_rows_does_not(estimator: Any, folder: Path) -> None:
    """False alarm: the noise of an empty table exceeds its limit with probability 1/100; seeded."""
    estimator.set_params(random_state=5)
    with pytest.warns(DiscreetWarning, match=SAID) as told:
        nothing = estimator.fit(folder / "comma.csv").synopsis_
    assert len(told) == 1
    assert told[0].filename == __file__, "where fit was called"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = estimator.fit(folder / "good.csv").synopsis_
    assert nothing.looks_empty
    assert SAID in nothing.warnings[0]
    assert "LOOKS EMPTY" in repr(nothing)
    assert not rows.looks_empty
    assert rows.warnings == ()
    assert "EMPTY" not in repr(rows)


@pytest.mark.parametrize("estimator", [dc.PrivateKMeans(2, domain=DOMAIN), dc.DPLloyd(2, domain=DOMAIN)], ids=_name)
def test_centres_of_nothing_say_so(estimator: Any, folder: Path) -> None:
    estimator.set_params(random_state=5)
    assert SAID in estimator.fit(folder / "comma.csv").note_
    assert SAID not in estimator.fit(folder / "good.csv").note_


def test_an_empty_table_is_noticed_ninety_nine_times_in_a_hundred() -> None:
    """Of 400 empty releases at most 12 may go unnoticed: with 4 expected, more have a chance below 0.0003. Seeded."""
    empty = np.empty((0, 1))
    missed = sum(
        not dc.GridSynopsis(domain=(0, 1), rule=1, random_state=seed).fit(empty).synopsis_.looks_empty
        for seed in range(400)
    )
    assert missed <= 12


def test_a_negative_number_of_rows_is_shown_to_no_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain = dc.Domain({"age": (0, 120)})
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("counts", 1)
    promise = dc.Guarantee.from_ledger(ledger, model="central", domain=domain)
    corners: dict[str, Any] = {"lower": [[0], [60]], "upper": [[60], [120]]}
    made = dc.synopses.BoxSynopsis(domain, **corners, weights=[-4, -1], variances=[2.0, 2.0], guarantee=promise)
    assert "about 0 rows" in repr(made)
    assert made.total == -5  # unbiased, for sums
    place = folder / "s.parquet"
    made.save(place)
    assert exit_code("cluster", place, "-k", "2") == 0
    said = capsys.readouterr()
    assert "about 0 rows" in " ".join(said.out.split())
    assert SAID in said.err
    facts = write_report(place, folder / "page.html")
    assert facts["release"]["rows"] == 0
    page = (folder / "page.html").read_text()
    assert SAID in page
    assert not re.search(r"-\d[\d,]* rows|<b>-5</b>", page)


def test_without_noise_an_empty_table_is_empty() -> None:
    made = dc.GridSynopsis(math.inf, (0, 1), rule=2)
    assert made.fit(np.empty((0, 1))).synopsis_.looks_empty
    assert not made.fit([[0.5]]).synopsis_.looks_empty


def test_the_command_line_says_it_last_on_the_error_stream(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["--schema", folder / "schema.toml", "--epsilon", "1", "--seed", "5", "-o", folder / "s.parquet"]
    assert exit_code("synopsis", folder / "comma.csv", *line) == 0
    said = capsys.readouterr()
    assert said.err.strip().splitlines()[-1].startswith(f"Warning: the number of rows {SAID}")
    assert said.err.count(SAID) == 1
    assert exit_code("synopsis", folder / "comma.csv", *line, "--json") == 0
    said = capsys.readouterr()
    assert SAID in json.loads(said.out)["warnings"][0]
    assert SAID in said.err
    assert SAID in report_facts(folder / "s.parquet")["warnings"][0]
    assert exit_code("synopsis", folder / "good.csv", *line, "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["warnings"] == []
    assert "Warning" not in said.err


def test_a_job_says_it_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {"release": "s.parquet", "report": "page.html"}
    job = Job("synopsis", "comma.csv", DOMAIN, {"epsilon": 1, "seed": 5}, outputs, folder)
    assert SAID in job.run().figures["warnings"][0]
    job.to_toml(folder / "job.toml")
    assert exit_code("run", folder / "job.toml") == 0
    assert SAID in capsys.readouterr().err
    assert SAID in (folder / "page.html").read_text()


def test_tables_and_reports_without_rows_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number of rows is public where each row is randomised by itself."""
    noisy = folder / "noisy.csv"
    line = ["--schema", folder / "schema.toml", "--epsilon", "1", "--radius", "0.1", "-o", noisy, "--json"]
    assert exit_code("perturb", folder / "empty.csv", *line) == 0
    said = capsys.readouterr()
    assert "no rows" in json.loads(said.out)["warnings"][0]
    assert "no rows" in said.err
    assert report_facts(noisy)["warnings"]
    (folder / "values.txt").write_text("a\nb\n")
    (folder / "words.csv").write_text("word\n")
    coded = ["--column", "word", "-m", "direct-response", "--domain", folder / "values.txt", "--epsilon", "1"]
    assert exit_code("sketch", "encode", folder / "words.csv", *coded, "-o", folder / "r.bin", "--json") == 0
    said = capsys.readouterr()
    assert "no reports" in json.loads(said.out)["warnings"][0]
    assert "no reports" in said.err
    for verb in (("aggregate", folder / "r.bin", "-o", folder / "c.bin"), ("estimate", folder / "c.bin")):
        assert exit_code("sketch", *verb) == 0
        assert "no reports" in capsys.readouterr().err


def test_the_module_refuses_like_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "discreet", "run", "--example", "nothing"], capture_output=True)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
