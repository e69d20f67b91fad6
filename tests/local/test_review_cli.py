"""`discreet sketch` with numbers, users, odd settings and nothing to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import InvalidArgument, SchemaError


def call(*words: object) -> Any:
    result = CliRunner().invoke(app, ["sketch", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def counted(folder: Path, data: str, *settings: object) -> Path:
    (folder / "data.txt").write_text(data)
    call("encode", folder / "data.txt", "-o", folder / "r.bin", *settings)
    call("aggregate", folder / "r.bin", "-o", folder / "c.bin")
    return folder / "c.bin"


def test_distributions_and_means_from_files(tmp_path: Path) -> None:
    bounds = ("--epsilon", 4, "--set", "low=0", "--set", "high=10")
    counts = counted(tmp_path, "2.5\n" * 2000 + "x\n\n", "-m", "square-wave", *bounds)
    assert "quartiles" in call("estimate", counts, "-o", tmp_path / "d.csv")
    facts = json.loads(call("estimate", counts, "--json"))
    assert len(facts["distribution"]) == 256
    assert abs(facts["mean"] - 2.5) < 0.5
    assert (tmp_path / "d.csv").read_text().startswith('"low","high","share"')
    counts = counted(tmp_path, "2.5\n" * 2000, "-m", "mean-response", *bounds)
    assert "standard error" in call("estimate", counts, "-o", tmp_path / "m.csv")
    facts = json.loads(call("estimate", counts, "--json"))
    assert facts["lower"] < facts["mean"] < facts["upper"]
    assert abs(facts["mean"] - 2.5) < 1
    assert (tmp_path / "m.csv").read_text().startswith('"mean","std_error"')
    with pytest.raises(InvalidArgument, match="consistency must be left out"):
        call("estimate", counts, "--consistency", "simplex")


def test_numbers_in_files_are_the_numbers_that_are_asked_for(tmp_path: Path) -> None:
    # Text and number hash differently: a column of "3" must not miss the candidate 3.
    counts = counted(tmp_path, "3\n" * 400, "-m", "local-hashing", "--epsilon", 6, "--set", "candidates=5")
    found = {row["candidate"]: row["count"] for row in json.loads(call("estimate", counts, "--json"))["estimates"]}
    assert found[3] > 300 > found[2]
    sets = ("--epsilon", 6, "--set", "bits=8", "--set", "steps=4,4")
    counts = counted(tmp_path, "3\n" * 2000, "-m", "prefix-extension", *sets, "--seed", 1)
    assert [row["candidate"] for row in json.loads(call("estimate", counts, "--json"))["estimates"]] == [3]
    (tmp_path / "asked.txt").write_text("3\n4\n")
    facts = json.loads(call("estimate", counts, "--candidates", tmp_path / "asked.txt", "--json"))
    assert facts["estimates"][0]["count"] > 1000


def test_settings_of_text_stay_text(tmp_path: Path) -> None:
    counted(tmp_path, "12\n", "-m", "prefix-extension", "--epsilon", 6, "--set", "alphabet=0123456789")


def test_infinite_errors_are_null_in_json(tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_text("cat\n")
    counts = counted(tmp_path, "", "-m", "prefix-extension", "--epsilon", 6)
    text = call("estimate", counts, "--candidates", tmp_path / "asked.txt", "--json")
    assert "Infinity" not in text
    assert json.loads(text)["estimates"][0]["std_error"] is None


def test_users_need_a_column_of_values(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(range(1, 33)))
    (tmp_path / "data.csv").write_text("user,value\n" + "ann,cat\nbob,dog\n")
    (tmp_path / "none.csv").write_text("user,value\n")
    rest = ("-m", "rappor", "--set", "f=0.5", "--set", "p=0.5", "--set", "q=0.75", "--secret", tmp_path / "secret")
    out = ("-o", tmp_path / "r.bin", "--users", "user", "--json")
    with pytest.raises(InvalidArgument, match="column must be named beside the column of users"):
        call("encode", tmp_path / "data.csv", *rest, *out)
    assert json.loads(call("encode", tmp_path / "data.csv", "--column", "value", *rest, *out))["reports"] == 2
    assert json.loads(call("encode", tmp_path / "none.csv", "--column", "value", *rest, *out))["reports"] == 0
    (tmp_path / "data.txt").write_text("cat\n")
    with pytest.raises(SchemaError, match="one column"):
        call("encode", tmp_path / "data.txt", "--column", "value", *rest, *out)
