"""SQL: statements buy what the questions buy, joins change no sensitivity, and everything else is refused by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc

pytest.importorskip("sqlglot")
ROWS = pa.table(
    {
        "town": ["ash", "birch", "cedar", "ash", None, "birch"] * 40,
        "age": [25, 31, 40, None, 62, 30] * 40,
        "pay": [0.0, 10.0, 500.0, 90.0, 20.0, 0.0] * 40,
    }
)
DOMAIN = dc.Domain({"town": ["ash", "birch", "cedar", "elm"], "age": dc.Integer(17, 90), "pay": (0.0, 400.0)})
PUBLIC = pa.table({"name": ["ash", "birch", "oak"], "region": ["north", "south", "south"], "people": [10, 20, 30]})


def session(seed: int = 1) -> dc.QuerySession:
    return dc.QuerySession(ROWS, dc.Ledger(epsilon=math.inf), domain=DOMAIN, random_state=seed)


@pytest.mark.parametrize(
    ("query", "ask"),
    [
        ("SELECT COUNT(*) FROM t WHERE age > 30 AND NOT town IN ('ash')",
         lambda s: s.count("age > 30 and not town in ('ash')", epsilon=1)),
        ("SELECT town, AVG(t.pay) FROM people AS t WHERE pay BETWEEN 1 AND 100 GROUP BY t.town",
         lambda s: s.mean("pay", "pay between 1 and 100", by="town", epsilon=1)),
        ("SELECT SUM(pay) FROM t", lambda s: s.sum("pay", epsilon=1)),
        ("SELECT VAR_POP(pay) FROM t WHERE pay <= 90", lambda s: s.variance("pay", "pay <= 90", epsilon=1)),
        ("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) FROM t", lambda s: s.quantile("age", 0.9, epsilon=1)),
        ("SELECT COUNT(DISTINCT town), age FROM t GROUP BY age",
         lambda s: s.distinct("town", by="age", epsilon=1)),
    ],
)  # fmt: skip
def test_a_statement_buys_what_the_question_buys(query: str, ask: Any) -> None:
    one, two = session().sql(query, epsilon=1), ask(session())
    assert one.labels == two.labels
    assert np.array_equal(one.value, two.value)
    assert [line.draws for line in one.guarantee.ledger] == [line.draws for line in two.guarantee.ledger]


def test_several_figures_share_the_price_and_joins_are_those_of_a_database() -> None:
    query = (
        "SELECT region, COUNT(*) AS n, SUM(people) AS people, AVG(LEAST(pay, 400)) AS paid FROM t "
        "LEFT JOIN w ON t.town = w.name WHERE town IS NOT NULL AND (region = 'south' OR people IS NULL OR pay < 50) "
        "GROUP BY region"
    )
    con = pytest.importorskip("duckdb").connect()
    con.register("t", ROWS)
    con.register("w", PUBLIC)
    wanted = {row[0]: row[1:] for row in con.sql(query).fetchall()}
    found = session().sql(query.replace("LEAST(pay, 400)", "pay"), tables={"w": PUBLIC}, epsilon=math.inf)
    for row in found.to_arrow().to_pylist():
        true = [float(v or 0) for v in wanted[row["region"]]]
        assert [row[name] for name in ("n", "people", "paid")] == pytest.approx(true, rel=1e-6)
    bought = session().sql("SELECT COUNT(*), AVG(pay) FROM t", epsilon=1)
    assert [float(line.amount) for line in bought.guarantee.ledger] == [0.5, 0.5]
    assert set(bought.value) == {"count(*)", "avg(pay)"}


@pytest.mark.parametrize(
    "where",
    ["pay < 400", "pay <> 400", "pay NOT IN (90, 400)", "pay >= 400", "pay = 0", "pay > 0", "NOT pay <= 0", "age < 62",
     "rate < 1.5", "rate <> 1.5", "rate >= 1.5", "NOT (pay < 400 OR rate < 1.5)"],
)  # fmt: skip
def test_comparisons_with_a_bound_are_those_of_a_database(where: str) -> None:
    rows = ROWS.set_column(2, "pay", pa.array([0.0, 10.0, 400.0, 90.0, 400.0, 0.0] * 40))
    public = PUBLIC.append_column("rate", pa.array([0.5, 1.5, 1.0]))
    query = f"SELECT COUNT(*) FROM t LEFT JOIN w ON t.town = w.name WHERE town IS NOT NULL AND age > 0 AND {where}"
    con = pytest.importorskip("duckdb").connect()
    con.register("t", rows)
    con.register("w", public)
    asked = dc.QuerySession(rows, dc.Ledger(epsilon=math.inf), domain=DOMAIN)
    found = asked.sql(query, tables={"w": public}, epsilon=math.inf)
    assert found.value == con.sql(query).fetchall()[0][0]


def test_sorting_and_limits_apply_to_the_noisy_answer() -> None:
    plain = session().sql("SELECT town, COUNT(*) AS n, STDDEV(age) FROM t GROUP BY town", epsilon=1)
    rows = sorted(plain.to_arrow().to_pylist(), key=lambda row: -row["n"])
    query = "SELECT Town, COUNT(1) AS n, STDDEV(AGE) FROM t GROUP BY 1 ORDER BY {} LIMIT 2;"
    for order in ("n DESC", "2 DESC", "COUNT(1) DESC, town"):
        found = session().sql(query.format(order), epsilon=1)
        assert [list(row.values()) for row in found.to_arrow().to_pylist()] == [list(row.values()) for row in rows[:2]]
    falling = session().sql("SELECT COUNT(*) FROM t GROUP BY town ORDER BY town DESC", epsilon=1)
    assert falling.labels == ["elm", "cedar", "birch", "ash"]
    exact = session().sql("SELECT STDDEV(pay), VARIANCE(pay) FROM t WHERE pay < 100", epsilon=math.inf)
    assert exact.value["stddev(pay)"] ** 2 == pytest.approx(exact.value["variance(pay)"])
    low, high = session().sql("SELECT STDDEV(pay) FROM t", epsilon=2).interval()
    assert low <= np.std(np.clip(ROWS["pay"], 0, 400)) <= high


def test_everything_else_is_refused_and_named_and_costs_nothing() -> None:
    ledger = dc.Ledger(epsilon=1)
    s = dc.QuerySession(ROWS, ledger, domain=DOMAIN)
    refused = {
        "SELECT COUNT(*) FROM t HAVING COUNT(*) > 3": "HAVING",
        "SELECT COUNT(*) FROM t ORDER BY age": "ORDER BY",
        "SELECT COUNT(*) FROM t LIMIT 3 OFFSET 1": "OFFSET",
        "SELECT COUNT(*) FROM t LIMIT age": "LIMIT",
        "SELECT town, COUNT(*) AS town, AVG(age) FROM t GROUP BY town": "AS",
        "SELECT AVG(age) AS age, COUNT(*) FROM t": "AS",
        "SELECT COUNT(*) AS age_from FROM t": "AS",
        "SELECT age, COUNT(*) AS std_error FROM t GROUP BY age": "AS",
        "SELECT AVG(age) {# no COUNT(*) #} FROM t": "{#",
        "SELECT COUNT(*) AS n_low, SUM(age) AS n FROM t": "AS n_$",
        'SELECT AVG(age) AS "count(age)", SUM(age) FROM t': "AS",
        "SELECT AVG(w.age) FROM t LEFT JOIN w ON town = w.name": "w.age",
        "SELECT COUNT(*) FROM t WHERE town IS NULL": "left out by the schema",
        "SELECT PERCENTILE_CONT('x') WITHIN GROUP (ORDER BY age) FROM t": "PERCENTILE_CONT",
        "SELECT DISTINCT COUNT(*) FROM t": "DISTINCT",
        "WITH a AS (SELECT 1) SELECT COUNT(*) FROM a": "WITH",
        "SELECT COUNT(*) FROM (SELECT * FROM t)": "FROM",
        "SELECT COUNT(*) FROM t JOIN w USING (town)": "JOIN",
        "SELECT COUNT(*) FROM t LEFT JOIN w ON t.town > w.name": "ON",
        "SELECT COUNT(*) FROM t LEFT JOIN other USING (town)": "other",
        "SELECT COUNT(*) FROM t WHERE UPPER(town) = 'A'": "WHERE",
        "SELECT COUNT(*) FROM t WHERE age IN (SELECT 3)": "WHERE",
        "SELECT MAX(age) FROM t": "MAX",
        "SELECT AVG(age + 1) FROM t": "AVG",
        "SELECT AVG(DISTINCT age) FROM t": "AVG",
        "SELECT COUNT(*) OVER () FROM t": "OVER",
        "SELECT town, COUNT(*) FROM t": "town",
        "SELECT town FROM t GROUP BY town": "SELECT",
        "SELECT AVG(town) FROM t": "column",
        "SELECT AVG(x) FROM t": "'x'",
        "SELECT COUNT(*) FROM t GROUP BY ROLLUP (town)": "GROUP BY",
        "DROP TABLE t": "SELECT",
        "SELECT 1; SELECT 2": "SELECT",
        "no SQL": "SELECT",
    }
    for query, word in refused.items():
        with pytest.raises(dc.errors.DiscreetError, match=word):
            s.sql(query, tables={"w": PUBLIC}, epsilon=0.5)
    twice = pa.concat_tables([PUBLIC, PUBLIC])
    with pytest.raises(dc.errors.DiscreetError, match="unique"):
        s.sql("SELECT COUNT(*) FROM t LEFT JOIN w ON town = w.name", tables={"w": twice}, epsilon=0.5)
    assert float(ledger.remaining) == 1


ODD = dc.Domain({"Alter": dc.Integer(0, 120), "case": (0.0, 1.0), "Kosten €": (0.0, 100.0), "age": (0.0, 1.0)})
ODD_ROWS = pa.table({"Alter": [30] * 9, "case": [0.5] * 9, "Kosten €": [7.0] * 9, "age": [0.5] * 9})


@pytest.mark.parametrize(
    ("query", "at", "cause", "fix"),
    [
        ("SELECT AVG(Alter) FROM t", 12, "double quotes", 'SELECT AVG("Alter") FROM t'),
        ("SELECT AVG(case) FROM t", 12, "double quotes", 'SELECT AVG("case") FROM t'),
        ("SELECT AVG(kosten €) FROM t WHERE age > 0", 19, "quotes", 'SELECT AVG("Kosten €") FROM t WHERE age > 0'),
        ("SELECT AVG(age FROM t", 16, "Expecting )", ""),
        ("SELECT COUNT(*) FROM t WHERE age > 'x", 36, "not closed", ""),
    ],
)
def test_a_text_that_is_no_sql_is_refused_by_place_and_cause(query: str, at: int, cause: str, fix: str) -> None:
    s = dc.QuerySession(ODD_ROWS, dc.Ledger(epsilon=math.inf), domain=ODD)
    with pytest.raises(dc.errors.InvalidArgument) as caught:
        s.sql(query, epsilon=1)
    assert f"line 1, column {at}," in str(caught.value)
    assert cause in str(caught.value)
    assert caught.value.fix == (fix and f"query={fix!r}")
    if fix:
        assert s.sql(fix, epsilon=math.inf).value == s.sql(fix.replace('"', "`"), epsilon=math.inf).value


@pytest.mark.parametrize("kind", [bool, str])
@pytest.mark.parametrize(
    "where",
    ["smoker = TRUE", "smoker <> true", "FALSE = smoker", "smoker IN (TRUE, FALSE)", "NOT smoker = FALSE",
     "smoker IS TRUE", "smoker IS NOT TRUE", "NOT smoker IS FALSE", "smoker IS NULL OR smoker = FALSE"],
)  # fmt: skip
def test_truth_values_are_those_of_a_database(where: str, kind: type) -> None:
    smoker = [True, False, None, True, None]
    rows = pa.table({"smoker": smoker if kind is bool else [None if x is None else str(x) for x in smoker]})
    own = [False, True] if kind is bool else ["False", "True"]
    domain = dc.Domain({"smoker": {"categories": own, "missing": "own"}})
    con = pytest.importorskip("duckdb").connect()
    con.register("t", pa.table({"smoker": smoker}))
    query = f"SELECT COUNT(*) FROM t WHERE {where}"
    asked = dc.QuerySession(rows, dc.Ledger(epsilon=math.inf), domain=domain)
    assert asked.sql(query, epsilon=math.inf).value == con.sql(query).fetchall()[0][0]
    for text in ("true", "True", "TRUE"):
        assert asked.sql(f"SELECT COUNT(*) FROM t WHERE smoker = '{text}'", epsilon=math.inf).value == 2


def test_a_condition_that_is_refused_is_answered_by_one_that_works() -> None:
    with pytest.raises(dc.errors.InvalidArgument, match="WHERE LOWER") as told:
        session().sql("SELECT COUNT(*) FROM t WHERE LOWER(town) = 'ash'", epsilon=1)
    assert session().sql(f"SELECT COUNT(*) FROM t {told.value.fix}", epsilon=1)


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\v", "\x1c", "\x85", "\xa0"])
def test_blanks_around_the_texts_of_a_public_table_are_not_part_of_them(blank: str) -> None:
    regions = [f"{blank}north", "south", f"north{blank}"]
    public = pa.table({"town": ["ash", f"birch{blank}", "cedar"], "region": regions})
    query = "SELECT region, COUNT(*) FROM t LEFT JOIN w USING (town) GROUP BY region"
    found = session().sql(query, tables={"w": public}, epsilon=math.inf)
    assert dict(zip(found.labels, found.value, strict=True)) == {"north": 120, "south": 80, None: 40}
    assert dc.Guarantee.from_json(found.guarantee.to_json()) == found.guarantee
    twice = pa.table({"town": ["ash", f"ash{blank}"], "region": ["north", "south"]})
    with pytest.raises(dc.errors.InvalidArgument, match="unique key"):
        session().sql(query, tables={"w": twice}, epsilon=1)


def test_only_columns_that_are_used_need_to_be_declarable_and_a_constant_one_is() -> None:
    public = pa.table({"town": ["ash", "birch"], "year": [2024, 2024], "large": [2**60, 1], " odd": ["a", "b"]})
    query = "SELECT year, COUNT(*) FROM t LEFT JOIN w USING (town) GROUP BY year"
    assert session().sql(query, tables={"w": public}, epsilon=math.inf).labels == [2024, 2025, None]
    for name in ("Large", " odd"):
        with pytest.raises(dc.errors.InvalidArgument, match=name.lower()):
            session().sql(query.replace("year", f'"{name}"'.lower()), tables={"w": public}, epsilon=1)


def test_a_figure_with_the_columns_of_another_is_refused_with_a_name_that_is_free() -> None:
    query = "SELECT COUNT(*) AS n, SUM(age) AS n_low FROM t"
    with pytest.raises(dc.errors.InvalidArgument, match="n_low") as told:
        session().sql(query, epsilon=1)
    found = session().sql(query.replace("SUM(age) AS n_low", told.value.fix), epsilon=math.inf).to_arrow()
    assert found["n_low"].to_pylist() == found["n"].to_pylist() == [240]
