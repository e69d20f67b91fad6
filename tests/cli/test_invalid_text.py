"""NUL, and bytes that are no characters, in a path or a title: one sentence and exit code 2, at every door."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import main
from discreet.errors import DiscreetError, InvalidArgument

LONE = "\udcff"
LINES = [
    ["report", "s.parquet", "-o", "p{}.html"],
    ["report", "s.parquet", "--title", "a{}b"],
    ["report", "s{}.parquet"],
    ["synopsis", "t{}.csv", "--schema", "s.toml", "--epsilon", "1", "-o", "s.parquet"],
    ["synopsis", "t.csv", "--schema", "s{}.toml", "--epsilon", "1", "-o", "s.parquet"],
    ["anonymize", "t.csv", "--schema", "s.toml", "--k", "3", "-o", "x.csv", "--keep", "a{}"],
    ["run", "job{}.toml"],
    ["schema", "t{}.csv"],
    ["account", "show", "a{}"],
    ["audit", "x{}"],
    ["data", "hospital", "-o", "x{}"],
    ["demo", "--output", "x{}"],
    ["study", "report", "x{}"],
    ["collect", "tasks", "--data", "x{}"],
]


@pytest.mark.parametrize("wrong", ["\0", LONE])
@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line))
def test_the_command_line_refuses_it(
    line: list[str], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main([word.format(wrong) for word in line])
    told = capsys.readouterr().err
    assert left.value.code == 2
    assert told.startswith("Error: argument must be a text")
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are not bytes elsewhere")
def test_bytes_that_a_shell_hands_over_are_refused(tmp_path: Path) -> None:
    words = [os.fsencode(sys.executable), b"-m", b"discreet", b"report", b"s.parquet", b"--title", b"caf\xe9"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"UTF-8" in done.stderr


@pytest.mark.parametrize("wrong", ["\0", LONE])
def test_jobs_refuse_it_too(wrong: str, tmp_path: Path) -> None:
    schema = {"age": (0, 120)}
    made = {"release": "s.parquet"}
    for given in (
        {"data": f"t{wrong}.csv", "schema": schema, "parameters": {"epsilon": 1}, "outputs": made},
        {"data": "t.csv", "schema": f"s{wrong}.toml", "parameters": {"epsilon": 1}, "outputs": made},
        {"data": "t.csv", "schema": schema, "parameters": {"epsilon": 1}, "outputs": {"release": f"s{wrong}.parquet"}},
        {"data": "t.csv", "schema": schema, "parameters": {"epsilon": 1, "title": f"a{wrong}"},
            "outputs": {**made, "report": "r.html"}},
    ):  # fmt: skip
        with pytest.raises(InvalidArgument, match=r"must be a text (without|in)"):
            dc.Job("synopsis", **given)


@pytest.mark.parametrize("key", ["path", "release", "title"])
def test_a_job_file_with_a_nul_is_refused_in_one_sentence(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {"path": '"t.csv"', "release": '"s.parquet"', "title": '"t"', key: r'"a\u0000b"'}
    (tmp_path / "job.toml").write_text(
        f'[job]\nkind = "synopsis"\n[data]\npath = {lines["path"]}\n[schema.columns.age]\nbounds = [0, 120]\n'
        f"[parameters]\nepsilon = 1\ntitle = {lines['title']}\n"
        f'[outputs]\nrelease = {lines["release"]}\nreport = "r.html"\n'
    )
    (tmp_path / "t.csv").write_text("age\n35\n")
    with pytest.raises(SystemExit) as left:
        main(["run", str(tmp_path / "job.toml")])
    assert left.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_library_writes_to_no_such_place(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError):
        dc.Domain({"age": (0, 120)}).to_toml(f"{tmp_path}/a\0b")
    synopsis = dc.GridSynopsis(1.0, (0, 1), 4, random_state=1).fit([[0.5]] * 50).synopsis_
    with pytest.raises(DiscreetError):
        synopsis.save(f"{tmp_path}/a\0b.parquet")
