"""Input of newcomers is understood or answered with a hint; every hint is typed back here."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

import discreet as dc
from command_line import run
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument, InvalidType, SchemaError

DOMAIN = dc.Domain({"age": dc.Integer(0, 99), "Income": ["low", "high"]})


def told(error: BaseException) -> str:
    return str(error).rpartition("; try ")[2]


def test_a_set_of_categories_is_shown_as_a_list() -> None:
    with pytest.raises(InvalidType) as caught:
        dc.Domain({"sex": {"Male", "Female"}})
    assert ast.literal_eval(told(caught.value)) == ["Female", "Male"]
    assert dc.Domain({"sex": ast.literal_eval(told(caught.value))}).column("sex").categories == ("Female", "Male")


@pytest.mark.parametrize(("typed", "meant"), [("Auto", "auto"), ("8", 8), ("many", "auto")])
def test_how_many_rows_of_a_person(typed: str, meant: object) -> None:
    with pytest.raises(InvalidType, match='or "auto"') as caught:
        dc.Person("user", rows=typed)
    assert dc.Person("user", rows=ast.literal_eval(told(caught.value).removeprefix("rows="))).rows == meant


def test_a_question_in_words_is_for_ask() -> None:
    made = dc.GridSynopsis(1.0, DOMAIN, rule=2, random_state=0).fit([[30, "low"]] * 50).synopsis_
    with pytest.raises(InvalidType) as caught:
        made.count("age > 50")
    assert told(caught.value) == "ask('age > 50')"
    assert made.ask("age > 50").std_error > 0


def test_a_column_by_nearly_its_name() -> None:
    with pytest.raises(SchemaError, match=r"did you mean 'Income'\?"):
        dc.MarginalSynopsis(1.0, DOMAIN, target="income").fit([[30, "low"]])
    with pytest.raises(SchemaError, match="declared: 'age', 'Income'") as caught:
        DOMAIN.column("zzz")
    assert "did you mean" not in str(caught.value)


def test_a_name_of_another_room_is_found_there() -> None:
    with pytest.raises(AttributeError, match=r"try discreet\.evaluation.compare_tables"):
        dc.compare_tables  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        dc.zzz  # noqa: B018
    assert not hasattr(dc, "_repr_html_")


def test_an_outlook_is_a_table() -> None:
    found = dc.planning.outlook(1000, 3)
    frame = found.to_pandas()
    assert frame["method"].tolist() == [row.method for row in found.rows]
    assert frame["error"].tolist() == [row.error for row in found.rows]
    assert "private k-means" in found._repr_html_()
    assert len(repr(found)) < 100


def test_an_estimator_is_shown_without_a_warning() -> None:
    shown = [
        dc.MarginalSynopsis(1.0, DOMAIN), dc.GridSynopsis(1.0, DOMAIN), dc.TreeSynopsis(1.0, DOMAIN),
        dc.PrivateKMeans(2, epsilon=1.0, domain=DOMAIN), dc.metric.NDLaplace(1.0, domain=DOMAIN),
        dc.anonymity.Mondrian(k=2),
        dc.DomainScaler(DOMAIN), dc.clustering.DenoisingKMeans(2), dc.anonymity.RankSwapping(),
        dc.private_pipeline(dc.DomainScaler(DOMAIN), dc.PrivateKMeans(2, epsilon=1.0, domain=DOMAIN)),
    ]  # fmt: skip
    for model in shown:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert type(model).__name__ in model._repr_mimebundle_()["text/html"]
            assert type(model).__name__ in model._repr_html_()


@pytest.mark.parametrize(("typed", "meant"), [
    ("60..10", "10..60"), ("1.5:-2", "-2:1.5"), ("1e3:0", "0:1e3"), ("2025-12-31:2025-01-01", "2025-01-01:2025-12-31"),
])  # fmt: skip
def test_ends_of_a_range_come_in_order(typed: str, meant: str, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age\n30\n")
    done = run("schema", table, "--declare", f"age={typed}", catch=True)
    assert isinstance(done.exception, InvalidArgument)
    assert told(done.exception) == f"--declare age={meant}"
    assert run("schema", table, "--declare", f"age={meant}", catch=True).exit_code == 0


def test_an_account_of_a_large_delta_is_said_twice(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"unless you confirm it.*yes_really=True"):
        dc.Account.create(tmp_path / "a", dataset="d", epsilon=1, delta=0.01)
    words = ["account", "create", str(tmp_path / "b"), "--dataset", "d", "--epsilon", "1", "--delta", "0.01"]
    done = run(*words, catch=True)
    assert isinstance(done.exception, DiscreetError)
    assert told(done.exception) == "--delta 1e-6, or --yes-really"
    assert not list(tmp_path.iterdir())
    assert run(*words, "--yes-really", catch=True).exit_code == 0
    assert dc.Account.create(tmp_path / "a", dataset="d", epsilon=1, delta=0.01, yes_really=True).delta == 0.01


def test_a_paid_release_is_not_written_over(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="d", epsilon=2)
    first, second = (
        dc.GridSynopsis(1.0, DOMAIN, rule=2, ledger=account).fit([[30, "low"]] * 50).synopsis_ for _ in range(2)
    )
    place = tmp_path / "s.parquet"
    first.save(place)
    first.save(place)  # itself
    with pytest.raises(DataSourceError, match=r"an account was charged for.*overwrite=True"):
        second.save(place)
    assert dc.Synopsis.load(place) == first
    second.save(place, overwrite=True)
    assert dc.Synopsis.load(place) == second
    # What cost nothing that lasts can be repeated.
    free = dc.GridSynopsis(1.0, DOMAIN, rule=2).fit([[30, "low"]] * 50).synopsis_
    free.save(tmp_path / "free.parquet")
    second.save(tmp_path / "free.parquet")


def test_a_plan_knows_what_a_delta_buys() -> None:
    pure, loose = (dc.planning.outlook(5000, 10, delta=delta)["marginal synopsis"] for delta in (0, 1e-6))
    assert loose.error < 0.7 * pure.error
    assert "without a delta" in pure.reading
    assert "at delta 1e-06" in loose.reading
    with pytest.raises(InvalidArgument, match=r"at most 0\.001"):
        dc.planning.outlook(5000, 10, delta=0.1)
    done = run("plan", "--rows", "5000", "--columns", "10", "--delta", "1e-6", "--json", catch=True)
    assert done.exit_code == 0
    assert str(loose.error) in done.stdout
