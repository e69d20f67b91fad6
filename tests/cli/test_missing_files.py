"""A file that is not there is reported before the numerical libraries are imported, by every verb that reads files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import app as cli
from discreet.cli import look
from discreet.errors import DataSourceError
from discreet.jobs.kinds import KINDS

HEAVY = ("numpy", "pyarrow", "pandas", "sklearn", "scipy", "numba", "polars")
_RUN = """
import sys
from discreet.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print("CODE", end.code, sorted(set({heavy!r}) & set(sys.modules)))
"""

LINES = {
    "schema": "schema no.csv",
    "synopsis": "synopsis no.csv --schema S --epsilon 1 -o out.parquet",
    "synopsis, its schema": "synopsis D --schema no.toml --epsilon 1 -o out.parquet",
    "cluster": "cluster no.parquet -k 3",
    "anonymize": "anonymize no.csv --schema S --k 3 -o out.csv",
    "anonymize, a hierarchy": "anonymize D --schema S --k 3 --hierarchy town=no.csv -o out.csv",
    "anonymize, a key": "anonymize D --schema S --k 3 --hash-key no.key -o out.csv",
    "perturb": "perturb no.csv --schema S --epsilon 1 -o out.csv",
    "perturb, a prior": "perturb D --schema S --epsilon 1 --remap bayes --prior no.csv -o out.csv",
    "ask": "ask no.parquet age>3",
    "risk": "risk no.csv --qi age",
    "risk, a pattern": "risk no-*.csv --qi age",
    "risk, a population": "risk D --qi age --population no.csv",
    "attack": "attack no.csv --against D --control D",
    "attack, its records": "attack D --against no.csv --control D",
    "audit": "audit no.parquet",
    "report": "report no.parquet",
    "report, an audit": "report D --audit no.json",
    "run": "run no.toml",
    "run, its table": "run J",
    "sketch encode": "sketch encode no.csv -m hadamard-sketch --epsilon 1 -o out.bin",
    "sketch encode, a domain": "sketch encode D --domain no.txt --epsilon 1 -o out.bin",
    "sketch aggregate": "sketch aggregate no.bin -o out.bin",
    "sketch merge": "sketch merge D no.bin -o out.bin",
    "sketch estimate": "sketch estimate no.bin",
    "sketch estimate, candidates": "sketch estimate D --candidates no.txt",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("files")
    (place / "D").write_text("age\n3\n")
    (place / "S").write_text("[columns.age]\nbounds = [0, 120]\n")
    job = '[job]\nkind = "synopsis"\n[data]\npath = "no.csv"\n[schema.columns.age]\nbounds = [0, 120]\n'
    (place / "J").write_text(job + '[parameters]\nepsilon = 1\n[outputs]\nrelease = "s.parquet"\n')
    return place


def _typed(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _RUN.format(heavy=HEAVY), *words.split()]
    return subprocess.run(command, cwd=folder, env={**os.environ}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["risk", "run, its table", "sketch merge"])
def test_nothing_heavy_is_imported_for_a_file_that_is_not_there(name: str, folder: Path) -> None:
    ended = _typed(LINES[name], folder)
    assert ended.stdout.strip() == "CODE 2 []", (ended.stdout, ended.stderr)
    assert re.search(r"no (such )?file", ended.stderr)
    assert "'no" in ended.stderr


@pytest.mark.parametrize("name", LINES)
def test_every_verb_looks_before_it_works(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    ran: list[str] = []
    found = look.look

    def noted(*given: Any) -> None:
        found(*given)
        ran.append("worked")

    monkeypatch.setattr(look, "look", noted)
    with pytest.raises(SystemExit) as end:
        cli.main(LINES[name].split())
    assert end.value.code == 2
    assert not ran
    assert re.search(r"no (such )?file", capsys.readouterr().err)


@pytest.mark.parametrize("kind", KINDS)
def test_every_path_of_every_kind_of_job_is_known_as_read_or_written(kind: str) -> None:
    """By its name, or by a word of its help: a path that is declared as a text would not be looked for."""
    for option in KINDS[kind].options():
        a_path = option.takes != ("flag",) and option.name != "mechanism"
        speaks = re.search(r"\bfiles?\b|\btable of\b|CSV", option.help) and a_path
        assert not speaks or option.reads or option.takes == ("output",) or option.name == "data", option.name
        if option.reads:
            value = {"x": "no-such"} if "file pairs" in option.takes else "no-such"
            with pytest.raises(DataSourceError, match="no-such"):
                look.look([(option, value)])
