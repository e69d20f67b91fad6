"""Without an extra, every verb that needs it names the command that installs it; what needs none works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from discreet.core import SigningKey

ROOT = Path(__file__).parents[2]
CHILD = ROOT / "tests" / "support" / "core_only.py"
_DECLARED = ["--schema", "s.toml", "--epsilon", "1"]
#: Commands by the extra that they need.
COMMANDS: dict[str, list[list[str]]] = {
    "excel": [
        ["schema", "people.xlsx"],
        ["schema", "people.ods"],
        ["anonymize", "people.csv", "--schema", "s.toml", "--k", "2", "-o", "safe.xlsx"],
        ["synopsis", "people.xlsx", *_DECLARED, "-o", "z.parquet"],
    ],
    "stats": [["schema", "people.sav"], ["schema", "people.dta"], ["schema", "people.sas7bdat"]],
    "sql": [
        ["schema", "sqlite:///people.db?table=people"],
        ["schema", "postgresql://host/base?table=people"],
        ["query", "people.csv", "SELECT COUNT(*) FROM t", *_DECLARED],
    ],
    "sign": [
        ["key", "create", "new.key", "--name", "Office", "--no-passphrase"],
        ["synopsis", "people.csv", *_DECLARED, "-o", "x.parquet", "--sign", "office.key"],
        ["account", "sign", "a.account", "--sign", "office.key"],
        ["collect", "key", "--data", "held"],
    ],
    "collector": [["collect", "serve", "--data", "held"], ["collect", "demo", "--data", "held"]],
    "studio": [["studio", "--no-browser", "--folder", "home"]],
    "plot": [["sketch", "estimate", "c.counts", "--plot", "c.html"]],
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, list[str], int, str]]:
    """Return what each command says on a machine with the core alone."""
    import discreet as dc

    folder = tmp_path_factory.mktemp("core")
    (folder / "people.csv").write_text("age,town\n31,Ash\n33,Ash\n61,Elm\n64,Elm\n", encoding="utf-8")
    schema = (
        '[columns.age]\nbounds = [0, 120]\nrole = "quasi-identifier"\n[columns.town]\ncategories = ["Ash", "Elm"]\n'
    )
    (folder / "s.toml").write_text(schema, encoding="utf-8")
    for name in ("people.xlsx", "people.ods", "people.sav", "people.dta", "people.sas7bdat", "people.db"):
        (folder / name).write_bytes(b"PK")
    SigningKey.create(folder / "office.key", "Office", None)
    dc.Account.create(folder / "a.account", dataset="people", epsilon=1)
    m = dc.local.DirectResponse(2, ["a", "b"])
    m.aggregate(m.encode(["a", "b"] * 20)).save(folder / "c.counts")
    asked = [(extra, words) for extra, listed in COMMANDS.items() for words in listed]
    asked += [("", ["synopsis", "people.csv", *_DECLARED, "-o", "y.parquet"])]
    given = json.dumps([words for _, words in asked])
    done = subprocess.run([sys.executable, str(CHILD)], input=given, capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "COLUMNS": "300"})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [(*pair, *result) for pair, result in zip(asked, json.loads(done.stdout), strict=True)]


def test_every_verb_that_needs_an_extra_names_the_command_that_installs_it(told: Any) -> None:
    wrong = {
        " ".join(words): (code, text[-300:])
        for extra, words, code, text in told
        if extra and (code != 2 or f"pip install 'discreet[{extra}]'" not in text or "Traceback" in text)
    }
    assert not wrong


def test_what_needs_no_extra_works_without_them(told: Any) -> None:
    (found,) = [(code, text) for extra, _, code, text in told if not extra]
    assert found[0] == 0, found[1]


def test_every_extra_for_users_is_asked_for_here_or_groups_others() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    developers = {"bench", "bench-accounts", "bench-tables", "dev", "browser", "docs", "fuzz"}
    groups = {"readers", "spark-connect"}
    # A Spark session is started in Python: tests/engines/tables/test_spark.py.
    assert set(project["optional-dependencies"]) - developers - groups - {"spark"} == set(COMMANDS)
