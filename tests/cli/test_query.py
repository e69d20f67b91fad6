"""`discreet query`: SQL in a shell buys what a session buys, charges the account, and explains without spending."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import exit_code

pytest.importorskip("sqlglot")
QUERY = "SELECT town, AVG(age) FROM t WHERE age > 20 GROUP BY town"


def test_a_query_is_bought_explained_and_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pa.table({"town": ["ash", "birch"] * 500, "age": [25, 31, 40, 62] * 250})
    domain = dc.Domain({"town": ["ash", "birch"], "age": dc.Integer(17, 90)})
    (tmp_path / "s.toml").write_text(domain.to_toml())
    pa_csv.write_csv(rows, tmp_path / "t.csv")
    account = dc.Account.create(tmp_path / "a.account", dataset="people", epsilon=1)
    words = ["--schema", tmp_path / "s.toml", "--account", account.path]
    assert exit_code("query", tmp_path / "t.csv", QUERY, *words, "--epsilon", "0.5", "--explain") == 0
    assert "Nothing was read or charged" in capsys.readouterr().out
    assert float(account.remaining) == 1
    table = tmp_path / "answer.csv"
    more = ["--epsilon", "0.5", "--seed", "1", "-o", table, "--json"]
    assert exit_code("query", tmp_path / "t.csv", QUERY, *words, *more) == 0
    told = json.loads(capsys.readouterr().out)
    same = dc.QuerySession(rows, dc.Ledger(epsilon=1), domain=domain, random_state=1).sql(QUERY, epsilon=0.5)
    assert told["groups"] == same.to_arrow().to_pylist()
    assert pa_csv.read_csv(table)["estimate"].to_pylist() == pytest.approx(same.value.tolist())
    assert float(dc.Account(account.path).remaining) == 0.5
    assert exit_code("query", tmp_path / "t.csv", QUERY, *words, "--epsilon", "0.75") != 0
    assert exit_code("query", tmp_path / "t.csv", QUERY + " HAVING 1 = 1", *words, "--epsilon", "0.1") == 2
    assert "HAVING" in capsys.readouterr().err
    assert float(dc.Account(account.path).remaining) == 0.5
