"""`discreet query`: SQL in a shell buys what a session buys, charges the account, and explains without spending."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import exit_code, printed
from discreet.engines import write_table
from evidence_damage import independent

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


def test_a_written_answer_has_a_guarantee_a_signature_and_an_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pa.table({"town": ["ash", "birch"] * 500, "age": [25, 31, 40, 62] * 250})
    domain = dc.Domain({"town": ["ash", "birch"], "age": dc.Integer(17, 90)})
    (tmp_path / "s.toml").write_text(domain.to_toml())
    pa_csv.write_csv(rows, tmp_path / "t.csv")
    account = dc.Account.create(tmp_path / "a.account", dataset="people", epsilon=2)
    assert exit_code("key", "create", tmp_path / "o.key", "--no-passphrase") == 0
    words = ["--schema", tmp_path / "s.toml", "--account", account.path, "--epsilon", "0.5"]
    query = "SELECT town, age, AVG(age), COUNT(*) FROM t GROUP BY town, age"
    for number, name in enumerate(("answer.csv", "answer.parquet"), 1):
        table = tmp_path / name
        signed = ["-o", table, "--bins", "age=17,40,90", "--sign", tmp_path / "o.key"]
        capsys.readouterr()
        assert exit_code("query", tmp_path / "t.csv", query, *words, *signed) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"Charged to entry {number} of people: epsilon {number * 0.5:g} of 2 spent" in said
        assert name in [file for file, _ in dc.Account(account.path).entries[-1].shown]
        given = [table, "--account", account.path, "--key", tmp_path / "o.key.pub"]
        assert exit_code("verify", *given) == 0
        assert independent().main(list(map(str, given))) == 0
    alone = ["--bins", "age=17,40,90", "--sign", tmp_path / "o.key"]
    assert exit_code("query", tmp_path / "t.csv", query, *words, *alone) == 2
    assert "used with a table that is written; try --output answer.csv" in " ".join(capsys.readouterr().err.split())
    assert float(dc.Account(account.path).remaining) == 1
    # A paid answer is not written over, and a changed one is found.
    table = tmp_path / "answer.csv"
    assert exit_code("query", tmp_path / "t.csv", QUERY, *words, "-o", table) == 2
    assert "-o" in capsys.readouterr().err
    table.write_text(table.read_text().replace("ash", "birch"))
    assert exit_code("verify", table) == 1


def test_an_answer_that_states_other_columns_is_contradicted(tmp_path: Path) -> None:
    """Figures are numbers: a column of texts is none, even if the guarantee calls it so."""
    domain = dc.Domain({"town": ["ash", "birch"], "age": dc.Integer(17, 90)})
    rows = pa.table({"town": ["ash", "birch"] * 50, "age": [25, 31] * 50})
    made = dc.QuerySession(rows, dc.Ledger(epsilon=1), domain=domain).sql(QUERY, epsilon=1)
    for values, code in ([[1.5, 2.5], 0], [["Ann", "Bob"], 1]):
        table = made.to_arrow().append_column("more", pa.array(values))
        figures = [name for name in table.column_names if name not in domain.names]
        promise = replace(made.guarantee, parameters={**made.guarantee.parameters, "query": QUERY, "figures": figures})
        write_table(tmp_path / "a.csv", table, promise)
        assert exit_code("verify", tmp_path / "a.csv") == code
        found = independent().verify([str(tmp_path / "a.csv")])
        assert (found.code == 1) == (code == 1)


@pytest.fixture
def stays(tmp_path: Path) -> list[object]:
    """A table of admissions, and the first words of a command about it."""
    days = [f"2024-{month:02d}-15" for month in range(1, 13) for _ in range(50)]
    domain = dc.Domain({"came": {"bounds": ["2024-01-01", "2024-12-31"]}, "Alter": dc.Integer(0, 99)})
    (tmp_path / "s.toml").write_text(domain.to_toml(), encoding="utf-8")
    pa_csv.write_csv(pa.table({"came": days, "Alter": [30, 50] * 300}), tmp_path / "t.csv")
    query = 'SELECT came, COUNT(*), AVG("Alter") FROM t GROUP BY came'
    return [
        "query",
        tmp_path / "t.csv",
        query,
        "--schema",
        tmp_path / "s.toml",
        "--epsilon",
        "1000",
        "--yes-really",
        "--json",
    ]


@pytest.mark.parametrize(
    ("bins", "counts", "note"),
    [
        ("came=2024-01-01,2024-07-01,2024-12-31", [300, 300], ""),
        ("came=2024-02-01,2024-07-01,2024-12-01", [250, 250], "came below 2024-02-01 or from 2024-12-01 on are in no"),
        ("came=2", [300, 300], ""),
        ("came=month", [50] * 12, ""),
        ("came=quarter", [150] * 4, ""),
        ("came=year", [600], ""),
    ],
)
def test_dates_are_grouped_by_days_number_or_month(
    stays: list[object], capsys: pytest.CaptureFixture[str], bins: str, counts: list[int], note: str
) -> None:
    told = json.loads(printed(capsys, *stays, "--bins", bins))
    assert [round(row["count(*)"]) for row in told["groups"]] == counts
    assert told["groups"][0]["came_from"].startswith("2024-0")
    assert (note in told["note"]) if note else "note" not in told


def test_hints_about_bins_name_the_column_at_hand_and_work(
    stays: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in ("came=2024-13-01,2024-12-31", "came=yesterday,today"):
        said = printed(capsys, *stays, "--bins", wrong, code=2)
        fix = said.split("try --bins ")[1].split()[0]
        assert fix == "came=2024-01-01,2024-12-31"
        printed(capsys, *stays, "--bins", fix)
    assert "--bins came=20" in printed(capsys, *stays, "--bins", "came=week", code=2)
    assert "--bins came=10" in printed(capsys, *stays, code=2)


@pytest.fixture
def visits(tmp_path: Path) -> list[object]:
    """A table of visits, some of unknown people, with an account; the first words of a command about it."""
    n, path = 600, tmp_path / "t.csv"
    days = [f"2024-{1 + i % 12:02d}-15" for i in range(n)]
    user = [str(i // 6) if i % 7 else None for i in range(n)]
    kinds = {"user": user, "came": days, "ward": ["ash", "birch", None] * 200, "again": ["true", "false"] * 300}
    kinds |= {
        "age": [i % 50 for i in range(n)],
        "cost": [i / 10 for i in range(n)],
        "level": [1, 2] * 300,
        "case": [1] * n,
    }
    pa_csv.write_csv(pa.table(kinds), path)
    columns = {
        "user": {"role": "person"},
        "came": {"bounds": ["2024-01-01", "2024-12-31"]},
        "ward": {"categories": ["ash", "birch"], "missing": "own"},
        "again": {"kind": "boolean"},
        "age": {"kind": "integer", "bounds": [0, 49]},
        "cost": {"bounds": [0, 60]},
        "level": {"categories": [1, 2]},
        "case": {"bounds": [0, 60]},
    }
    domain = dc.Domain(columns, unit=dc.Person("user", rows=4))
    (tmp_path / "s.toml").write_text(domain.to_toml())
    account = dc.Account.create(tmp_path / "a.account", dataset="visits", unit=domain.unit, epsilon=3)
    return [path, "--schema", tmp_path / "s.toml", "--account", account.path, "--epsilon", "1"]


@pytest.mark.parametrize("name", ["answer.csv", "answer.parquet", "answer.xlsx"])
def test_the_same_query_returns_the_paid_answer(
    visits: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    by = "ward, again, came, age, cost, level"
    words = ["query", visits[0], f"SELECT {by}, COUNT(*), AVG(age) FROM t GROUP BY {by}"]
    words += visits[1:]
    words += ["--bins", "came=quarter", "--bins", "age=0,20,50", "--bins", "cost=2", "-o", tmp_path / name]
    page = ["--report", tmp_path / "x.html"]
    first = json.loads(printed(capsys, *words, *page, "--json"))
    files = {file: file.read_bytes() for file in tmp_path.iterdir()}
    pa_csv.write_csv(pa.table({"came": ["2024-01-15"]}), tmp_path / "t.csv")  # not asked again
    again = json.loads(printed(capsys, *words, *page, "--json"))
    for row, was in zip(again["groups"], first["groups"], strict=True):
        assert list(map(type, row.values())) == list(map(type, was.values()))
        assert row == pytest.approx(was)  # a spreadsheet has 15 digits
    assert again["note"] == first["note"] == "Of the rows used: at most 4 per person, and none without an id."
    assert again["account"] == {**first["account"], "repeated": True}
    assert all(file.read_bytes() == held for file, held in files.items() if file.name != "t.csv")
    assert "the data were not read again: this is entry 1 again" in " ".join(printed(capsys, *words).split())
    assert exit_code("verify", tmp_path / name, "--account", tmp_path / "a.account") == 0
    (tmp_path / "t.csv").write_bytes(files[tmp_path / "t.csv"])
    assert json.loads(printed(capsys, *words, "--fresh", "--json"))["account"]["spent"] == 2
    other = [*words[:2], "SELECT COUNT(*) FROM t", *words[3:7], "--epsilon", "1", "-o", tmp_path / name]
    assert "could not be made again" in printed(capsys, *other, code=2)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes() + b"\n")  # by another program
    assert "could not be made again" in printed(capsys, *words, code=2)
    assert float(dc.Account(tmp_path / "a.account").remaining) == 1


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.xlsx"])
def test_groups_named_by_a_public_table_are_declared_texts(
    visits: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "w.csv").write_text(
        "ward,postcode,opened,house\nash,01067,2024-01-01,old\nbirch,01099,2023-12-31,new\n"
    )
    query = "SELECT postcode, opened, house, COUNT(*) FROM t LEFT JOIN w USING (ward) GROUP BY postcode, opened, house"
    words = ["query", visits[0], query, *visits[1:], "--table", f"w={tmp_path / 'w.csv'}", "-o", tmp_path / name]
    first = json.loads(printed(capsys, *words, "--json"))["groups"]
    assert {row["postcode"] for row in first} == {"01067", "01099", None}
    assert json.loads(printed(capsys, *words, "--json"))["groups"] == first
    told = json.loads(printed(capsys, "verify", tmp_path / name, "--json"))
    assert told["verdict"] == "holds", told


def test_an_answer_by_a_public_table_with_blanks_is_verified_and_not_paid_for_again(
    visits: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.csv").write_text("ward,town\nash, North\nbirch, South\n")
    query = "SELECT town, COUNT(*) FROM t LEFT JOIN w USING (ward) GROUP BY town"
    public, answer = ["--table", f"w={tmp_path / 'w.csv'}"], tmp_path / "a.csv"
    words = ["query", visits[0], query, *visits[1:], *public, "-o", answer]
    printed(capsys, *words)
    held = answer.read_bytes()
    assert "Nothing was spent" in printed(capsys, *words)
    assert exit_code("verify", answer, "--account", visits[4]) == 0
    # What cannot be read may have been paid for: neither this job nor another writes over it.
    (tmp_path / "a.csv.guarantee.json").write_text("{}")
    for again in (words, ["query", visits[0], "SELECT COUNT(*) FROM t", *visits[1:], "-o", answer]):
        said = " ".join(printed(capsys, *again, code=2).split())
        assert "'a.csv.guarantee.json' cannot be read, and this file may have been paid for; try --output" in said
    assert answer.read_bytes() == held
    assert float(dc.Account(str(visits[4])).remaining) == 2


@pytest.mark.parametrize("public", ["w.csv", "w"])
def test_an_answer_by_another_public_table_is_another_answer(
    visits: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str], public: str
) -> None:
    (tmp_path / "w").mkdir()
    file = tmp_path / public if public == "w.csv" else tmp_path / public / "part.csv"
    query = "SELECT floor, COUNT(*) FROM t LEFT JOIN w USING (ward) GROUP BY floor LIMIT 0"
    words = ["query", visits[0], query, *visits[1:], "--table", f"w={tmp_path / public}", "-o", tmp_path / "a.csv"]
    file.write_text("ward,floor\nash,1\nbirch,2\n")
    printed(capsys, *words)
    assert "Nothing was spent" in printed(capsys, *words)
    file.write_text("ward,floor\nash,3\nbirch,4\n")
    assert "could not be made again" in printed(capsys, *words, code=2)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("ward = ash", "ward = 'ash'"),
        ('ward IN ("ash", birch)', "ward IN ('ash', 'birch')"),
        ("came >= '01.07.2024' AND again", ""),
        ("came >= '01.07.2024'", "came >= '2024-07-01'"),
        ('came >= "2024-07-01"', "came >= '2024-07-01'"),
        ("ward = 'asch'", "ward = 'ash'"),
        ("ward IS ash", "ward IS NULL"),
        ("again AND NOT `ward` LIKE 'a%'", ""),
        ("wart = 'ash'", "ward = 'ash'"),
        ("cost > '3,5'", "cost > 3.5"),
        ("\"case\" > '3,5'", '"case" > 3.5'),
        ("`case` > 'many'", ""),
    ],
)
def test_a_condition_is_corrected_as_the_query_that_was_meant(
    visits: list[object], capsys: pytest.CaptureFixture[str], wrong: str, right: str
) -> None:
    said = printed(capsys, "query", visits[0], f"SELECT COUNT(*) FROM t WHERE {wrong}", *visits[1:], code=2)
    assert float(dc.Account(str(visits[4])).remaining) == 3
    (meant,) = shlex.split(" ".join(said.split("; try ")[1].split()))
    assert not right or meant == f"SELECT COUNT(*) FROM t WHERE {right}"
    printed(capsys, "query", visits[0], meant, *visits[1:])


def test_a_page_needs_an_answer_that_is_written(
    visits: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["query", visits[0], "SELECT COUNT(*) FROM t", *visits[1:], "--report", tmp_path / "x.html"]
    said = " ".join(printed(capsys, *words, code=2).split())
    assert "--report can only be used with a table that is written; try --output answer.csv" in said
    assert float(dc.Account(str(visits[4])).remaining) == 3
    printed(capsys, *words, "-o", tmp_path / "answer.csv")
    assert "SELECT COUNT(*) FROM t" in (tmp_path / "x.html").read_text()
