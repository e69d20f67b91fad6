"""A budget above 20 promises next to nothing: the command says so and asks for a confirmation."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import discreet as dc
from command_line import run
from discreet.accounts import Account
from discreet.errors import InvalidArgument

pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("age\n" + "35\n" * 100)
    (tmp_path / "s.toml").write_text("[columns.age]\nbounds = [0, 120]\n")
    return tmp_path


def said(table: Path, verb: str, *words: object) -> tuple[int, str]:
    given = [verb, table / "t.csv", "--schema", table / "s.toml", *words]
    done = run(*given, catch=True)
    return done.exit_code, str(done.exception or "")


@pytest.mark.parametrize("epsilon", ["20.5", "1000", "inf"])
@pytest.mark.parametrize(("verb", "more"), [
    ("synopsis", ("--rule", 4, "-o", "{}/s.parquet")),
    ("cluster", ("-k", 1, "-o", "{}/c.csv")),
    ("perturb", ("--method", "piecewise", "-o", "{}/p.csv")),
])  # fmt: skip
def test_the_command_line_asks_again(table: Path, verb: str, more: tuple[object, ...], epsilon: str) -> None:
    words = [str(w).format(table) for w in more]
    code, told = said(table, verb, "--epsilon", epsilon, *words)
    assert code
    assert "unless it is confirmed" in told
    assert told.endswith("try --yes-really")
    if not (verb == "perturb" and epsilon == "inf"):
        assert said(table, verb, "--epsilon", epsilon, "--yes-really", *words) == (0, "")


def test_an_error_that_needs_a_large_budget_is_asked_about(table: Path) -> None:
    given = table / "t.csv", "SELECT SUM(age) FROM t", "--schema", table / "s.toml", "--error", 1
    with pytest.raises(InvalidArgument, match=r"--error must be .* is confirmed.*epsilon 170.*; try --yes-really"):
        run("query", *given)
    explained = run("query", *given, "--explain").output
    assert "170" in explained
    assert "Account." not in explained
    assert run("query", *given, "--yes-really").exit_code == 0
    Account.create(table / "a.account", dataset="t", epsilon=500)
    paid = *given, "--account", table / "a.account", "-o", table / "o.csv"
    run("query", *paid, "--yes-really")
    run("query", *paid)  # what was paid for is returned, however it was asked for
    assert len(Account(table / "a.account").entries) == 1


def test_what_holds_at_a_distance_is_not_asked_about(table: Path) -> None:
    assert said(table, "perturb", "--epsilon", 50, "--radius", 1, "-o", table / "p.csv") == (0, "")
    assert said(table, "synopsis", "--epsilon", 20, "--rule", 4, "-o", table / "s.parquet") == (0, "")


def test_a_job_file_says_it_in_its_own_words(table: Path) -> None:
    job = {"schema": {"age": (0, 120)}, "outputs": {"release": "s.parquet"}, "folder": table}
    with pytest.raises(InvalidArgument, match=r"\[parameters\] epsilon must be at most 20.*try yes_really = true"):
        dc.Job("synopsis", "t.csv", parameters={"epsilon": math.inf, "rule": 4}, **job)
    made = dc.Job("synopsis", "t.csv", parameters={"epsilon": math.inf, "rule": 4, "yes_really": True}, **job).run()
    assert "NO privacy" in str(made.guarantee)


def test_reports_of_devices_are_asked_about_too(table: Path) -> None:
    given = {"column": "age", "domain": ["35", "36"]}
    with pytest.raises(InvalidArgument, match="unless it is confirmed"):
        dc.Job("sketch", str(table / "t.csv"), parameters={"epsilon": 30, **given}, outputs={"release": "r.bin"})


@pytest.mark.parametrize(("typed", "meant"), [("1,5", "1.5"), ("0,25", "0.25"), ("-1,5", "1"), ("one", "1")])
def test_a_decimal_comma_is_understood_in_the_suggestion(table: Path, typed: str, meant: str) -> None:
    _, told = said(table, "synopsis", "--epsilon", typed, "-o", table / "s.parquet")
    assert told.endswith(f"try --epsilon {meant}")


def test_a_synopsis_is_no_csv_file(table: Path) -> None:
    code, told = said(table, "synopsis", "--epsilon", 1, "-o", table / "s.csv")
    assert code
    assert "ends in .parquet or .pq" in told
    assert told.endswith(f"try --output {table / 's.parquet'}")


@pytest.mark.filterwarnings("ignore:delta:discreet.errors.DiscreetWarning")
@pytest.mark.parametrize(("verb", "more"), [
    ("synopsis", ("--epsilon", 1, "--rule", 4, "-o", "{}/s.parquet")),
    ("synopsis", ("--rho", 0.1, "--rule", 4, "-o", "{}/s.parquet")),
    ("cluster", ("--epsilon", 1, "-k", 1, "-o", "{}/c.csv")),
    ("synthesize", ("--epsilon", 1, "-o", "{}/r.csv")),
])  # fmt: skip
def test_a_delta_that_gives_rows_away_is_asked_about(table: Path, verb: str, more: tuple[object, ...]) -> None:
    words = [str(w).format(table) for w in more]
    code, told = said(table, verb, "--delta", "0.1", *words)
    assert code
    assert "reveal anything about anyone" in told
    assert told.endswith("try --delta 1e-06, or --yes-really")
    assert said(table, verb, "--delta", "0.1", "--yes-really", *words) == (0, "")
    assert said(table, verb, "--delta", "1e-06", *words) == (0, "")


def test_no_half_is_suggested_for_a_delta() -> None:
    with pytest.raises(InvalidArgument, match="try delta=1e-6"):
        dc.GridSynopsis(1.0, (0, 1), delta=1).fit([[0.5]])


@pytest.mark.filterwarnings("ignore:delta:discreet.errors.DiscreetWarning")
def test_the_promise_says_what_a_large_delta_means() -> None:
    made = {d: str(dc.GridSynopsis(None, (0, 1), 4, rho=0.1, delta=d).fit([[0.5]]).guarantee_) for d in (0.1, 1e-6)}
    assert "anything may come out about anybody" in made[0.1]
    assert "10 rows" in made[0.1]
    assert "anything" not in made[1e-6]


@pytest.mark.parametrize("words", [("--epsilon", "30"), ("--rho", "9", "--delta", "1e-6")])
def test_a_large_account_is_asked_about_too(tmp_path: Path, words: tuple[str, ...]) -> None:
    asked = ["account", "create", tmp_path / "a.account", "--dataset", "d", *words]
    done = run(*asked, catch=True)
    assert done.exit_code
    assert "unless it is confirmed" in str(done.exception)
    assert str(done.exception).endswith("or --yes-really")
    assert not list(tmp_path.iterdir())
    assert run(*asked, "--yes-really", catch=True).exit_code == 0
    assert run("account", "create", tmp_path / "b.account", "--dataset", "d", "--epsilon", "20").exit_code == 0
