"""Rules between columns have one form at the command line, in a job file and in the studio."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import output, run
from discreet.errors import SchemaError
from discreet.studio.schema.sheet import Sheet

RULES = ["admission <= discharge", "total = ward + drugs"]


@pytest.fixture
def table(tmp_path):
    rng, n = np.random.default_rng(0), 2000
    start, ward, drugs = rng.integers(0, 300, n), rng.integers(0, 500, n), rng.integers(0, 90, n)
    days = (np.datetime64("2025-01-01") + np.array([start, start + rng.integers(0, 9, n)])).astype(str)
    frame = pd.DataFrame({"admission": days[0], "discharge": days[1], "ward": ward, "drugs": drugs, "total": 7})
    frame.to_csv(tmp_path / "stays.csv", index=False)
    return tmp_path / "stays.csv"


def test_from_a_draft_to_rows_that_keep_the_rules(table, tmp_path):
    schema, out = tmp_path / "s.toml", tmp_path / "safe.csv"
    told = [f"--rule={rule}" for rule in RULES]
    days = "--declare=admission,discharge=2025-01-01:2025-12-31"
    numbers = ["--declare=ward=0..500", "--declare=drugs=0..90", "--declare=total=0..590"]
    run("schema", str(table), days, *numbers, *told, "-o", str(schema))
    assert dc.Domain.from_toml(schema).facts.rules.texts == tuple(RULES)
    said = output("schema", "check", str(schema), str(table))
    assert "every row has admission <= discharge" in said
    run("synthesize", str(table), "--schema", str(schema), "--epsilon", "1", "--seed", "1", "-o", str(out))
    made = pd.read_csv(out)
    assert (made["admission"] <= made["discharge"]).all()
    assert (made["total"] == made["ward"] + made["drugs"]).all()
    assert len(made) > 1000


def test_a_job_file_and_the_studio_read_the_same_rules(table, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text(f"""
[job]
kind = "synthesize"
[data]
path = "{table}"
[schema]
rules = ["admission <= discharge"]
[schema.columns]
admission = {{bounds = [2025-01-01, 2025-12-31]}}
discharge = {{bounds = [2025-01-01, 2025-12-31]}}
ward = {{kind = "integer", bounds = [0, 500]}}
[parameters]
epsilon = 1
seed = 1
[outputs]
table = "{tmp_path / "safe.parquet"}"
""")
    run("run", str(job))
    made = pd.read_parquet(tmp_path / "safe.parquet")
    assert (made["admission"] <= made["discharge"]).all()
    sheet = Sheet.of_text("[columns]\nx = {bounds = [0, 1]}\ny = {bounds = [0, 1]}\n")
    sheet.set_facts('rules = ["x <= y"]')
    assert sheet.text().startswith('rules = ["x <= y"]')
    assert sheet.domain().facts.sentences == ("every row has x <= y",)
    assert sheet.facts() == 'rules = ["x <= y"]\n'
    with pytest.raises(SchemaError, match="write the line 'rules' above the first"):
        dc.Domain.from_toml('[columns.x]\nbounds = [0, 1]\nrules = ["x <= y"]\n')
