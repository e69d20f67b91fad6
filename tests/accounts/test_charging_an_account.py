"""Every central release charges the account that it names: before a row is read, for its own unit, and only once."""

from __future__ import annotations

import copy
import math
import os
import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import discreet as dc
from discreet.accounts import Price, compose
from discreet.accounts.facts import line_law, steps_of
from discreet.core.budget.draws import Draw
from discreet.core.budget.ledger import Line
from discreet.core.budget.prices import zcdp_to_epsilon
from discreet.engines.source import Source
from discreet.errors import BudgetExceeded, DataSourceError, FormatError, InvalidArgument, InvalidType, SchemaError

ROWS = np.random.default_rng(0).random((60, 2))
ESTIMATORS = [
    dc.GridSynopsis(domain=(0, 1), rule=3),
    dc.GridSynopsis(domain=(0, 1), rule="adaptive", n_rows=60),
    dc.TreeSynopsis(domain=(0, 1), max_depth=3, partitioner="median"),
    dc.PrivateKMeans(2, domain=(0, 1)),
    dc.DPLloyd(2, domain=(0, 1)),
]


@pytest.fixture
def account(tmp_path: Path) -> dc.Account:
    return dc.Account.create(tmp_path / "patients.account", dataset="patients 2026", epsilon=3)


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)
def test_a_fit_is_reserved_and_booked_and_its_promise_names_the_head(model: Any, account: dc.Account) -> None:
    opened = account.head
    fitted = clone(model).set_params(epsilon=0.5, ledger=account).fit(ROWS)
    (entry,) = account.entries
    assert (entry.state, entry.price, entry.job) == ("booked", Fraction(1, 2), type(model).__name__)
    assert entry.digest == fitted.guarantee_.digest
    named = fitted.guarantee_.parameters["account"]
    assert named["dataset"] == "patients 2026"
    assert named["head"] not in (opened, account.head)  # that of its reservation
    assert account.verify(named["head"])["spent"] == "1/2"
    assert f"charged to the account 'patients 2026', at {named['head']}" in str(fitted.guarantee_)
    if hasattr(fitted, "synopsis_"):
        assert fitted.synopsis_.guarantee.digest == entry.digest


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)
def test_without_budget_no_row_is_read(model: Any, account: dc.Account, monkeypatch: Any) -> None:
    def read(*_: Any, **__: Any) -> Any:
        raise AssertionError("rows were read")

    account.spend("all", 3)
    poor = clone(model).set_params(epsilon=0.5, ledger=account)
    for name in ("count", "sums"):
        monkeypatch.setattr(Source, name, read)
    with pytest.raises(BudgetExceeded, match="only 0 of 3 is left in the account 'patients 2026'"):
        poor.fit(ROWS)
    if hasattr(poor, "check"):
        with pytest.raises(BudgetExceeded):
            poor.check()
    assert len(account.entries) == 1


@pytest.mark.parametrize(("limit", "asked"), [
    ({"rho": 0.1, "delta": 1e-9}, {"epsilon": 1.0, "delta": 1e-9}),  # pays ρ = 0.0115, not ε²/2 = 0.5
    ({"epsilon": 3}, {"epsilon": 1.0, "delta": 1e-9}),  # has no δ
    ({"epsilon": 1, "delta": 1e-5}, {"epsilon": None, "rho": 0.1, "delta": 1e-6}),  # ε = 2.14, and not √(2ρ)
    ({"epsilon": 3, "delta": 1e-5}, {"epsilon": None, "rho": 0.1, "delta": 1e-6}),
])  # fmt: skip
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("method", [dc.MarginalSynopsis, dc.GridSynopsis, dc.TreeSynopsis, dc.PrivateKMeans])
def test_a_check_refuses_what_a_release_would(
    method: Any, limit: dict[str, Any], asked: dict[str, Any], tmp_path: Path
) -> None:
    """With a δ, the noise that is narrower decides the price: a check must decide as the release does."""
    account = dc.Account.create(tmp_path / "a", dataset="d", **limit)
    model = method(domain={"x": (0, 1), "y": (0, 1)}, ledger=account, **asked)
    table, refused = pa.table({"x": [0.1, 0.7] * 200, "y": [0.2, 0.9] * 200}), []
    for act in (model.check, lambda: model.fit(table)):
        try:
            act()
            refused.append(False)
        except BudgetExceeded:
            refused.append(True)
    assert refused[0] == refused[1]


def test_a_check_without_columns_refuses_what_no_noise_could_pay(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="d", epsilon=0.4)
    for budget in ({"epsilon": 1.0, "delta": 1e-9}, {"epsilon": None, "rho": 0.1, "delta": 1e-6}, {"epsilon": 1.0}):
        with pytest.raises(BudgetExceeded):
            dc.TreeSynopsis(domain=(0, 1), ledger=account, **budget).check()
    dc.TreeSynopsis(domain=(0, 1), ledger=account, epsilon=0.4, delta=1e-9).check()


def test_rows_are_read_after_the_reservation_is_on_the_disk(account: dc.Account, monkeypatch: Any) -> None:
    seen = []

    def count(self: Any, *given: Any, **more: Any) -> Any:
        seen.append([entry.state for entry in dc.Account(account.path).entries])
        raise RuntimeError("the machine is gone")

    monkeypatch.setattr(Source, "count", count)
    with pytest.raises(RuntimeError):
        dc.GridSynopsis(epsilon=1, domain=(0, 1), rule=2, ledger=account).fit(ROWS)
    assert seen == [["reserved"]]
    assert account.remaining == 2  # what was reserved and lost stays spent
    account.annotate(1, "the machine was switched off")
    assert account.remaining == 2
    assert account.entries[0].notes[0].startswith("the machine was switched off (")


def test_what_is_refused_before_reading_costs_nothing(account: dc.Account) -> None:
    with pytest.raises(DataSourceError):
        dc.GridSynopsis(epsilon=1, domain={"a": (0, 1)}, ledger=account).fit("no-such-file.csv")
    with pytest.raises(SchemaError):
        dc.GridSynopsis(epsilon=1, domain={"a": (0, 1)}, ledger=account).fit(pa.table({"b": [1]}))
    with pytest.raises(InvalidType, match="a Ledger or an Account"):
        dc.GridSynopsis(epsilon=1, domain=(0, 1), ledger="patients.account").fit(ROWS)
    assert account.spent == 0


def test_fitting_twice_clones_copies_and_pipelines_charge_the_same_account(account: dc.Account) -> None:
    model = dc.PrivateKMeans(2, epsilon=0.25, domain=(0, 1), ledger=account)
    model.fit(ROWS)
    model.fit(ROWS)
    clone(model).fit(ROWS)
    copy.deepcopy(model).fit(ROWS)
    make_pipeline(clone(model)).fit(ROWS)
    pickle.loads(pickle.dumps(clone(model))).fit(ROWS)
    assert account.spent == 1.5
    assert len({entry.digest for entry in account.entries}) == 6


def test_a_ledger_is_charged_too_and_clones_share_it() -> None:
    ledger = dc.Ledger(epsilon=1)
    model = dc.GridSynopsis(epsilon=0.5, domain=(0, 1), rule=2, ledger=ledger).fit(ROWS)
    assert clone(model).fit(ROWS).guarantee_.epsilon == 0.5
    assert ledger.remaining == 0
    with pytest.raises(BudgetExceeded):
        model.fit(ROWS)
    assert [line.label for line in ledger.lines] == ["GridSynopsis", "GridSynopsis"]


def test_bought_answers_are_charged(account: dc.Account) -> None:
    dc.private_bounds(ROWS[:, 0], epsilon=0.5, ledger=account)
    assert [(e.job, e.state) for e in account.entries] == [("bounds", "answered")]
    assert account.remaining == 2.5
    with pytest.raises(BudgetExceeded):
        dc.private_bounds(ROWS[:, 0], epsilon=2.75, ledger=account)
    with pytest.raises(InvalidArgument):
        dc.private_bounds(ROWS[:, 0], epsilon=1, beta=2.5, ledger=account)
    assert account.remaining == 2.5


def test_threads_never_overspend(account: dc.Account) -> None:
    def charge(i: int) -> int:
        try:
            (account if i % 2 else dc.Account(account.path)).reserve("release", epsilon=Fraction(1, 7))
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(charge, range(60))) == 21
    assert account.spent.exact == dc.Account(account.path).spent.exact == 3


def test_another_unit_is_refused(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="d", unit={"person": "user"}, epsilon=3)
    assert account.unit == "one person (column 'user')"
    with pytest.raises(SchemaError, match=r"protects one person .* the release one row"):
        dc.GridSynopsis(epsilon=1, domain=(0, 1), rule=2, ledger=account).fit(ROWS)
    with pytest.raises(SchemaError):
        dc.private_bounds(ROWS[:, 0], epsilon=0.5, ledger=account)
    with pytest.raises(SchemaError):
        account.reserve("r", epsilon=1, unit={"person": "customer", "rows": 3})
    # The bound on rows is a matter of the release.
    account.reserve("r", epsilon=1, unit={"person": "user", "rows": 3})
    account.reserve("r", epsilon=1, unit={"person": "user", "rows": 8})
    assert account.spent == 2


def test_an_account_without_delta_refuses_delta_and_one_with_it_adds_it_up(tmp_path: Path) -> None:
    plain = dc.Account.create(tmp_path / "a", dataset="d", epsilon=3)
    for price in ({"epsilon": 1, "delta": 1e-9}, {"rho": 0.1, "delta": 1e-9}):
        with pytest.raises(BudgetExceeded, match="none"):
            plain.reserve("r", **price)
    some = dc.Account.create(tmp_path / "b", dataset="d", epsilon=3, delta=1e-6)
    some.reserve("r", epsilon=1, delta=6e-7)
    some.reserve("r", rho=0.01, delta=3e-7)
    assert some.delta_spent.exact == Fraction(9, 10**7)
    assert some.spent == pytest.approx(1 + zcdp_to_epsilon(0.01, 3e-7))
    with pytest.raises(BudgetExceeded, match="only 1e-07 left"):
        some.reserve("r", epsilon=0.1, delta=2e-7)


def test_an_account_in_rho_takes_both_kinds(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="d", rho=1, delta=1e-6)
    account.reserve("r", rho=0.5, delta=1e-6)
    dc.GridSynopsis(epsilon=0.5, domain=(0, 1), rule=2, ledger=account).fit(ROWS)
    assert account.spent.exact == Fraction(5, 8)
    assert account.epsilon == zcdp_to_epsilon(Fraction(5, 8), 1e-6)
    with pytest.raises(BudgetExceeded, match="no price in rho"):
        account.reserve("r", epsilon=0.1, delta=1e-9)
    with pytest.raises(BudgetExceeded, match=r"needs rho 0\.5"):
        account.reserve("r", epsilon=1)


def test_a_release_without_privacy_cannot_be_charged(account: dc.Account) -> None:
    with pytest.raises(BudgetExceeded, match="infinite"):
        dc.GridSynopsis(epsilon=math.inf, domain=(0, 1), rule=2, ledger=account).fit(ROWS)


def test_what_was_released_before_is_added_once(account: dc.Account) -> None:
    old = dc.GridSynopsis(epsilon=1, domain=(0, 1), rule=2).fit(ROWS).synopsis_
    assert account.add(old).state == "added"
    with pytest.raises(FormatError, match="already booked"):
        account.add(old.guarantee)
    new = dc.GridSynopsis(epsilon=1, domain=(0, 1), rule=2, ledger=account).fit(ROWS).synopsis_
    with pytest.raises(FormatError, match="already booked"):
        account.add(new)
    assert account.add(dc.Guarantee("syntactic", parameters={"reached": {"k": 3}}).seal(b"")).cost == "k = 3"
    with pytest.raises(InvalidArgument, match="seal"):
        account.add(dc.Guarantee("central"))
    with pytest.raises(InvalidType):
        account.add("synopsis.parquet")
    assert account.spent == 2


def test_a_closed_account_takes_nothing_but_what_was_reserved(account: dc.Account) -> None:
    reserved = account.reserve("r", epsilon=1)
    account.close()
    with pytest.raises(BudgetExceeded, match="closed"):
        account.reserve("r", epsilon=1)
    with pytest.raises(BudgetExceeded, match="closed"):
        account.close()
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("all", 0.5)
    reserved.book(dc.Guarantee.from_ledger(ledger, model="central").seal(b""))
    assert account.spent == 0.5  # what was reserved and not spent comes back
    with pytest.raises(FormatError, match="not reserved"):
        reserved.book(dc.Guarantee.from_ledger(ledger, model="central").seal(b"2"))


def test_a_hair_less_than_was_reserved_can_always_be_booked(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="d", epsilon=10**5, delta=0.5, yes_really=True)
    for i, rho in enumerate(np.random.default_rng(0).uniform(1e-4, 2, 60)):
        for j, less in enumerate((1, 1 - Fraction(1, 10**12), 1 - Fraction(1, 10**7))):
            ledger = dc.Ledger(rho=rho, delta=1e-6)
            ledger.spend("all", rho=ledger.total.exact * less)
            promise = dc.Guarantee.from_ledger(ledger, model="central").seal(bytes([i, j]))
            account.reserve("r", rho=rho, delta=1e-6).book(promise)
    assert {entry.state for entry in account.entries} == {"booked"}


def test_no_more_is_booked_than_was_reserved(account: dc.Account) -> None:
    ledger = dc.Ledger(epsilon=2)
    ledger.spend("all", 2)
    with pytest.raises(FormatError, match="more is booked"):
        account.reserve("r", epsilon=1).book(dc.Guarantee.from_ledger(ledger, model="central").seal(b""))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({}, "epsilon"),
        ({"epsilon": 1, "rho": 1}, "epsilon"),
        ({"rho": 1}, "delta"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": -1e-9}, "delta"),
        ({"epsilon": 1, "dataset": " "}, "dataset"),
        ({"epsilon": 1, "unit": "record"}, "unit"),
    ],
)
def test_limits_that_mean_nothing_are_refused(tmp_path: Path, given: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{name} must be"):
        dc.Account.create(tmp_path / "a", **{"dataset": "d", **given})
    assert not (tmp_path / "a").exists()


def test_a_file_that_is_there_is_never_overwritten(account: dc.Account) -> None:
    with pytest.raises(DataSourceError, match="already exists"):
        dc.Account.create(account.path, dataset="d", epsilon=9)
    with pytest.raises(DataSourceError, match="account create"):
        dc.Account(account.path.with_name("other"))


def test_an_estimator_can_be_shown_where_its_account_is_gone(account: dc.Account) -> None:
    model = dc.GridSynopsis(domain=(0, 1), ledger=account)
    account.path.unlink()
    assert "patients 2026" in repr(model)
    with pytest.raises(DataSourceError):
        model.fit(ROWS)


def test_the_text_of_a_long_account_is_short(account: dc.Account) -> None:
    for _ in range(30):
        account.spend("look", 0.01)
    assert len(str(account).splitlines()) == 23
    assert "(10 earlier ones are not shown)" in str(account)
    assert "patients 2026" in account._repr_html_()


def test_a_pure_step_inside_a_zcdp_release_is_not_taken_for_a_smaller_one(tmp_path: Path) -> None:
    """Its line is in ρ = ε²/2: read as an ε it would be composed as if it had cost far less."""
    account = dc.Account.create(tmp_path / "r", dataset="d", rho=1, delta=1e-6)
    dc.GridSynopsis(domain=(0, 1), rule=50, max_cells=100, rho=0.02, delta=1e-6, ledger=account).fit(ROWS)
    (entry,) = account.entries
    assert [step[0] for step in entry.steps] == ["gaussian", "zcdp"]
    assert sum(step[1] for step in entry.steps) == entry.price
    # Laplace noise alone, with the ε that was spent on the cells, loses more than 0.15 at this δ.
    assert account.together() > 0.15


def test_a_zcdp_release_charged_to_a_ledger_in_epsilon_costs_its_epsilon_and_its_delta() -> None:
    grid = dc.GridSynopsis(domain=(0, 1), rule=2, rho=0.1, delta=1e-7)
    ledger = dc.Ledger(epsilon=5, delta=1e-6)
    grid.set_params(ledger=ledger).fit(ROWS)
    assert ledger.spent == pytest.approx(zcdp_to_epsilon(0.1, 1e-7))
    assert ledger.delta == 1e-7
    for poor in (dc.Ledger(epsilon=5), dc.Ledger(epsilon=1, delta=1e-6)):
        with pytest.raises((BudgetExceeded, InvalidArgument)):
            grid.set_params(ledger=poor).fit(ROWS)
        assert poor.spent == 0
    in_rho = dc.Ledger(rho=0.2, delta=1e-6)
    grid.set_params(ledger=in_rho).fit(ROWS)
    assert in_rho.spent.exact == Fraction(1, 10)


def test_what_no_reader_would_take_is_not_written(account: dc.Account) -> None:
    """A line that is too long would end the account for everybody: a note of a megabyte, names of many columns."""
    account.spend("look", 1)
    for write in (
        lambda: account.annotate(1, "x" * 2**20),
        lambda: account.reserve("look", epsilon=1, asked={"columns": ["x" * 1000] * 1100}),
        lambda: dc.Account.create(account.path.with_name("b"), dataset="x" * 2**20, epsilon=1),
    ):
        with pytest.raises(FormatError, match="shorten it"):
            write()
    assert not account.path.with_name("b").exists()
    account.annotate(1, "x" * (2**20 - 1000))
    assert dc.Account(account.path).spent == 1


def test_a_price_in_rho_is_composed_by_its_rho(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="d", epsilon=10, delta=1e-6)
    account.spend("mean", rho=Fraction(1, 2), delta=1e-6, law="gaussian")
    assert account.prices == [Price("gaussian", rho=Fraction(1, 2))]


@pytest.mark.parametrize(
    ("model", "laws"),
    [
        (dc.GridSynopsis(domain=(0, 1), rule=2, leaf_means=False), ["gaussian"]),
        (dc.GridSynopsis(domain=(0, 1), rule=2, leaf_means=True), ["gaussian", "zcdp"]),
        (dc.TreeSynopsis(domain=(0, 1), max_depth=2, leaf_means=True), ["gaussian", "zcdp"]),
        (dc.DPLloyd(2, domain=(0, 1)), ["gaussian", "zcdp"]),
    ],
    ids=str,
)
def test_gaussian_sums_are_not_taken_for_counts(model: Any, laws: list[str], tmp_path: Path) -> None:
    """Anyone who is replaced leaves one count and enters another, but moves a sum of values from -1 to 1 by 2."""
    account = dc.Account.create(tmp_path / "a", dataset="d", rho=1, delta=1e-6)
    clone(model).set_params(epsilon=None, rho=Fraction(1, 2), delta=1e-6, ledger=account).fit(ROWS)
    assert {price.law for price in account.prices} == set(laws)
    sums = sum(price.rho for price in account.prices if price.law == "zcdp")
    assert account.together(neighbours="replace") >= compose([Price("zcdp", rho=4 * sums)] if sums else [], delta=1e-6)


def test_a_ledger_that_would_not_be_charged_is_refused(account: dc.Account) -> None:
    nested = dc.PrivateKMeans(2, domain=(0, 1), synopsis=dc.GridSynopsis(ledger=account))
    for act in (nested.check, lambda: nested.fit(ROWS)):
        with pytest.raises(InvalidArgument, match=r"synopsis.ledger must be left out"):
            act()
    assert not account.entries


def test_rows_are_grouped_by_columns_that_take_no_part_too(tmp_path: Path) -> None:
    """Clusters have no axis of towns. It used to fail with the price set aside already, and rows being read."""
    unit = dc.Person("user", rows=8, group="town", per_group=2)
    account = dc.Account.create(tmp_path / "a", dataset="d", epsilon=3, unit=unit)
    rows = pa.table({"user": [1, 2] * 20, "age": list(range(40)), "town": ["a"] * 20 + ["b"] * 20})
    domain = dc.Domain({"age": (0, 100), "town": ["a", "b"]}, unit=unit)
    model = dc.PrivateKMeans(1, domain=domain, ledger=account)
    assert "at most 2 per town" in model.fit(rows).guarantee_.unit
    with pytest.raises(SchemaError, match="town"):
        model.fit(rows.drop_columns(["town"]))
    assert [entry.state for entry in account.entries] == ["booked"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_that_is_forked_while_a_thread_charges_can_charge_too(account: dc.Account) -> None:
    """The thread is not in the child: its lock would never be let go there, and half a line would stay taken in."""
    account.spend("look", 1)
    busy, done, handles = threading.Event(), threading.Event(), []

    def charge() -> None:
        with account._chain._opened(os.O_RDWR) as handle, account._chain.lock:
            handles.append(handle)
            account._totals.spent -= 1  # in the middle of a line
            busy.set()
            done.wait(30)
            account._totals.spent += 1

    thread = threading.Thread(target=charge)
    thread.start()
    busy.wait(30)
    if not (child := os.fork()):
        signal.alarm(20)  # a child that hangs is ended
        held = Path(f"/dev/fd/{handles[0]}").exists()  # and with it the parent's lock
        fits = account.spent == 1 and account.spend("look", 2) == 2
        os._exit(int(held or not fits))
    code = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert (code, account.remaining) == (0, 0)


def test_threads_that_ask_do_not_trip_over_threads_that_charge(account: dc.Account) -> None:
    def ask() -> None:
        for _ in range(200):
            account.check("look", 0.001)
            account.to_dict()

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        charging = [pool.submit(account.spend, "look", Fraction(1, 1000)) for _ in range(200)]
        for done in (*asking, *charging):
            done.result()
    assert account.spent == 0.2


def test_what_is_not_a_file_is_not_an_account(tmp_path: Path) -> None:
    with pytest.raises(DataSourceError, match="is not a file"):
        dc.Account(tmp_path)


def test_a_pickled_account_is_that_one_and_no_other_at_its_place(account: dc.Account) -> None:
    old = account.path.read_bytes()
    account.spend("look", 1)
    sent = pickle.dumps(dc.GridSynopsis(ledger=account))
    assert pickle.loads(sent).ledger.spent == 1
    account.path.write_bytes(old)
    with pytest.raises(FormatError, match="no longer holds a line"):
        pickle.loads(sent)
    account.path.unlink()
    dc.Account.create(account.path, dataset="patients 2026", epsilon=100)
    with pytest.raises(FormatError, match="no longer holds a line"):
        pickle.loads(sent)


def test_no_more_delta_is_booked_than_was_reserved(account: dc.Account) -> None:
    """Nor is a δ that no float can state booked as more than it is."""
    own = dc.Account.create(account.path.parent / "deltas.account", dataset="d", epsilon=3, delta=1e-6)
    held = own.reserve("synopsis", epsilon=1, delta=Fraction(1, 3 * 10**6))
    line = Line("cells", Fraction(1))
    promise = dc.Guarantee("central", ledger=(line,), delta=1e-6).seal(b"table")
    with pytest.raises(FormatError, match="more is booked than was reserved"):
        held.book(promise)
    held.book(dc.Guarantee("central", ledger=(line,), delta=float(Fraction(1, 3 * 10**6))).seal(b"table"))
    assert own.entries[-1].delta == Fraction(1, 3 * 10**6)


def test_gaussian_noise_for_persons_is_not_composed_as_that_of_rows() -> None:
    """A person moves a count by several rows: its ρ is all that is known of the loss."""
    draws = {rows: Draw("gaussian", Fraction(2), rows=rows) for rows in (1, 4)}
    lines = {rows: Line("cells", draw.price.amount, "parallel", draws=(draw,)) for rows, draw in draws.items()}
    assert [line_law(lines[rows]) for rows in (1, 4)] == ["gaussian", "response"]
    people = dc.Guarantee("central", ledger=(lines[4],), accounting="rho", delta=1e-6, unit="one person, with all")
    assert [step[0] for step in steps_of(people)] == ["zcdp"]


def test_choices_compose_by_their_range_only_where_a_row_enters_one() -> None:
    for rows, law in ((1, "exponential"), (3, "response")):
        draw = Draw("choice", Fraction(2), rows=rows)
        assert line_law(Line("cut", draw.price.amount, draws=(draw,))) == law
