"""A session of questions: noise as wide as one row or person can matter, charged before rows are read, intervals."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import noise
from discreet.core.budget.prices import Epsilon
from discreet.engines import Source
from discreet.engines.passes.where import WhereMap, WhereSum
from discreet.synopses.session import _coarsest, _grid, _noisy_ranks
from gates import gate_of

DOMAIN = dc.Domain({"age": dc.Integer(0, 120), "income": (-100.0, 1000.0), "sex": ["f", "m"]})
PEOPLE = pa.table(
    {
        "age": [10, 30, 30, 61, 150, None, 45, 45],
        "income": [0.0, 250.0, -500.0, 999.0, 5000.0, 40.0, None, 80.0],
        "sex": ["f", "m", "f", "f", "m", "m", "f", "x"],
    }
)
QUESTIONS: dict[str, Any] = {
    "count": lambda s, e: s.count(epsilon=e),
    "histogram": lambda s, e: s.histogram("income", 4, epsilon=e),
    "sum": lambda s, e: s.sum("income", epsilon=e),
    "mean": lambda s, e: s.mean("income", epsilon=e),
    "quantile": lambda s, e: s.quantile("income", 0.25, epsilon=e),
}


def session(table: Any = PEOPLE, *, domain: Any = DOMAIN, seed: int | None = 1, account: Any = None) -> dc.QuerySession:
    return dc.QuerySession(table, account or dc.Ledger(epsilon=math.inf), domain=domain, random_state=seed)


# ---- noise


@pytest.fixture
def scales(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Fraction, Any]]:
    """Record the scale and size of the requested noise, and return none."""
    asked: list[tuple[Fraction, Any]] = []

    def nothing(scale: Any, size: Any = None, rng: object = None) -> Any:
        asked.append((Fraction(scale), size))
        return 0 if size is None else np.zeros(size, np.int64)

    monkeypatch.setattr(noise, "discrete_laplace", nothing)
    return asked


@pytest.mark.unmetered
def test_noise_is_as_wide_as_one_row_can_matter(scales: list[tuple[Fraction, Any]], monkeypatch: Any) -> None:
    budgets: list[Any] = []
    real = noise.quantiles_from_counts
    monkeypatch.setattr(noise, "quantiles_from_counts", lambda *a, **k: budgets.append(k["epsilon"]) or real(*a, **k))
    half = Fraction(1, 2)
    s = session()
    s.count(epsilon=half)
    s.histogram("sex", epsilon=half)
    assert scales == [(Fraction(2), None), (Fraction(2), (2,))]
    scales.clear()
    s.sum("age", epsilon=half)  # whole numbers are their own grid: one row adds at most 120
    s.sum("income", epsilon=half)  # 1000, the bound that is farther from 0, is 2^32 steps from it
    s.sum("income", epsilon=Fraction(1, 10**6))  # fewer, where noise for more could not be drawn
    assert [scale for scale, _ in scales] == [240, 2 * 2**32, 10**12]
    scales.clear()
    s.mean("income", epsilon=half)  # a quarter each: rows, and steps from the middle
    assert [scale for scale, _ in scales] == [4, 4 * 2**32]
    scales.clear()
    s.quantile("income", epsilon=half)  # a quarter for the cut, a quarter for eleven levels of cells
    assert budgets == [Fraction(1, 4)]
    assert scales == [(Fraction(44), (sum(2**level for level in range(10, -1, -1)),))]


@pytest.mark.unmetered
def test_persons_pay_for_all_the_rows_that_are_used(scales: list[tuple[Fraction, Any]]) -> None:
    table = pa.table({"who": ["ann"] * 50 + ["bob"], "x": [0.25] * 51})
    domain = dc.Domain({"x": (0.0, 1.0)}, unit=dc.Person("who", rows=4))
    answer = session(table, domain=domain).count(epsilon=1)
    assert scales == [(Fraction(4), None)]
    assert answer.value == 5
    assert answer.guarantee.epsilon == 1
    assert answer.guarantee.unit == "one person, with all their rows (at most 4 used)"


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_answer_costs_what_it_says_and_no_noise_is_used_twice(name: str) -> None:
    ledger = dc.Ledger(epsilon=3)
    s = session(account=ledger, seed=None)
    answers = [QUESTIONS[name](s, 0.5) for _ in range(4)]
    assert float(ledger.remaining) == 1.0
    assert {a.guarantee.epsilon for a in answers} == {0.5}
    assert len({np.asarray(a.value).tobytes() for a in answers}) > 1
    assert all(a.guarantee.verify(np.asarray(a.value, float).tobytes()) for a in answers)


def test_every_cell_has_noise_of_its_own() -> None:
    """Mean square within 5 errors of the law's variance, neighbours uncorrelated; also in the tree of ranks."""
    nobody = np.zeros((0, 1))
    found = session(nobody, domain=dc.Domain({"x": (0.0, 1.0)})).histogram("x", 4000, epsilon=0.5).value
    law = noise.DiscreteLaplace(2)
    assert abs((found**2).mean() / law.variance - 1) < 5 * math.sqrt(5 / 4000)
    assert abs((found[1:] * found[:-1]).mean()) < 5 * law.variance / math.sqrt(4000)
    price = Epsilon(13)
    below, law, used = _noisy_ranks(gate_of(price), "ranks", np.zeros(4096, np.int64), price)
    assert (law.scale, used[:5].tolist(), used[-1]) == (1, [0, 1, 1, 2, 1], 1)
    single = below[1::2] - below[:-1:2]  # the noise of every other cell
    assert abs((single**2).mean() / law.variance - 1) < 5 * math.sqrt(5 / 2048)
    assert abs((single[1:] * single[:-1]).mean()) < 5 * law.variance / math.sqrt(2048)


# ---- charging


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_empty_account_refuses_before_any_row_is_read(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[float] = []
    real = Source.run
    account = dc.Account.create(tmp_path / "p.account", dataset="people", epsilon=1)
    s = session(account=account)
    monkeypatch.setattr(Source, "run", lambda *a, **k: read.append(float(account.remaining)) or real(*a, **k))
    QUESTIONS[name](s, 0.75)
    assert read == [0.25]  # charged by then
    assert [(entry.state, float(entry.price)) for entry in account.entries] == [("booked", 0.75)]
    with pytest.raises(dc.errors.BudgetExceeded):
        QUESTIONS[name](s, 0.5)
    assert read == [0.25]
    assert float(dc.Account(account.path).remaining) == 0.25


def test_an_account_of_persons_refuses_a_promise_about_rows(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "p.account", dataset="people", epsilon=1, unit=dc.Person("who", rows=3))
    with pytest.raises(dc.errors.DiscreetError, match="unit"):
        session(account=account).count(epsilon=0.1)
    assert float(account.remaining) == 1


def test_what_is_asked_is_checked_before_anything_is_charged() -> None:
    ledger = dc.Ledger(epsilon=1)
    s = session(account=ledger)
    wrong: list[Any] = [
        lambda: s.mean("sex", epsilon=0.1),
        lambda: s.sum("weight", epsilon=0.1),
        lambda: s.count({"sex": ["y"]}, epsilon=0.1),
        lambda: s.count({"age": 3.5}, epsilon=0.1),
        lambda: s.count("age", epsilon=0.1),
        lambda: s.quantile("age", 1.5, epsilon=0.1),
        lambda: s.histogram("income", 0, epsilon=0.1),
        lambda: s.count(epsilon=0),
    ]
    for ask in wrong:
        with pytest.raises(dc.errors.DiscreetError):
            ask()
    far = session(np.zeros((1, 1)), domain=dc.Domain({"x": (1e9, 1e9 + 1e-3)}), account=ledger)
    for ask in (lambda: far.sum("x", epsilon=0.5), lambda: s.mean("age", epsilon=1e-8)):
        with pytest.raises(dc.errors.InvalidArgument, match="noise can be drawn"):
            ask()
    assert float(ledger.remaining) == 1
    with pytest.raises(dc.errors.InvalidType, match="account"):
        dc.QuerySession(PEOPLE, None, domain=DOMAIN)


# ---- answers


def test_without_noise_answers_are_the_truth_of_clamped_values() -> None:
    s = session()
    inf = math.inf
    assert s.count(epsilon=inf).value == 8
    assert s.count({"age": (30, 61)}, epsilon=inf).value == 5
    assert s.count({"age": (121 - 1, 120)}, epsilon=inf).value == 1  # 150 counts as the bound
    assert s.count({"income": (-100, 0)}, epsilon=inf).value == 1  # the upper end does not belong to it
    assert s.count({"income": (900, 1000)}, epsilon=inf).value == 2  # but the declared bound does
    assert s.count({"sex": "f", "age": (0, 30)}, epsilon=inf).value == 2
    assert s.sum("age", epsilon=inf).value == 10 + 30 + 30 + 61 + 120 + 45 + 45
    held = np.clip([0, 250, -500, 999, 5000, 40, 80], -100, 1000)
    assert s.sum("income", epsilon=inf).value == pytest.approx(held.sum(), abs=7 * 1100 / 2**16)
    assert s.mean("income", epsilon=inf).value == pytest.approx(held.mean(), abs=1100 / 2**16)
    assert s.mean("age", {"sex": ["m"]}, epsilon=inf).value == pytest.approx((30 + 120) / 2)
    ages = s.histogram("sex", epsilon=inf)
    assert dict(zip(ages.labels, ages.value, strict=True)) == {"f": 4, "m": 3}
    assert s.histogram("income", 11, epsilon=inf).value.tolist() == [1, 3, 0, 1, 0, 0, 0, 0, 0, 0, 2]
    middle = s.quantile("age", 0.5, epsilon=inf)
    assert 30 <= middle.value <= 45.5
    assert middle.interval(0.95)[0] <= middle.value <= middle.interval(0.95)[1]


def test_missing_values_with_a_cell_of_their_own_are_in_no_mean() -> None:
    domain = dc.Domain({"x": dc.Numeric("x", 0.0, 8.0, missing="own")})
    s = session(pa.table({"x": [1.0, 3.0, None, None, None]}), domain=domain)
    assert s.mean("x", epsilon=math.inf).value == pytest.approx(2, abs=1e-3)
    assert s.sum("x", epsilon=math.inf).value == pytest.approx(4, abs=1e-3)
    assert s.quantile("x", epsilon=math.inf).value <= 3.01
    shown = s.histogram("x", 2, epsilon=math.inf)
    assert (shown.labels, shown.value.tolist()) == ([0.0, 4.0, None], [2, 0, 3])
    assert s.count({"x": (0, 8)}, epsilon=math.inf).value == 2


def test_one_row_moves_an_answer_without_noise_by_no_more_than_is_paid_for() -> None:
    """Random tables and one row more: the count by 1, a sum by its largest value, a histogram in one cell."""
    rng = np.random.default_rng(1)
    domain = dc.Domain({"x": (-3.0, 2.0)})
    for _ in range(30):
        rows = rng.normal(0, 3, (rng.integers(0, 6), 1))
        more = np.vstack([rows, rng.normal(0, 9, (1, 1))])
        one, two = (session(t, domain=domain) for t in (rows, more))
        assert two.count(epsilon=math.inf).value - one.count(epsilon=math.inf).value == 1
        assert abs(two.sum("x", epsilon=math.inf).value - one.sum("x", epsilon=math.inf).value) <= 3
        moved = two.histogram("x", 5, epsilon=math.inf).value - one.histogram("x", 5, epsilon=math.inf).value
        assert np.abs(moved).sum() == 1


@pytest.mark.parametrize("name", QUESTIONS)
def test_intervals_cover_the_truth(name: str) -> None:
    """Of 120 answers, at 90 %; those of means and quantiles may cover more. False alarm: below 1e-5."""
    rng = np.random.default_rng(3)
    rows = rng.normal(300, 150, (400, 1))
    domain = dc.Domain({"income": (-100.0, 1000.0)})
    s = session(rows, domain=domain, seed=5)
    truth = QUESTIONS[name](session(rows, domain=domain), math.inf).value
    covered = []
    for _ in range(120):
        low, high = QUESTIONS[name](s, 1.0).interval(0.9)
        covered.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(covered) > 0.78


@pytest.mark.parametrize(
    "value", [pytest.param(0.0, marks=pytest.mark.slow), 0.3, pytest.param(1.0, marks=pytest.mark.slow)]
)
def test_rounding_is_nothing_next_to_the_noise_however_many_rows_round_alike(value: float) -> None:
    """300,000 equal rows, at 95 %: of 40 sums 30 at least hold the truth, and all means. False alarm: below 1e-5."""
    rows = np.full((300_000, 1), value)
    s = session(rows, domain=dc.Domain({"x": (0.0, 1.0)}), seed=3)
    assert s.sum("x", epsilon=math.inf).value == pytest.approx(rows.sum(), abs=1e-3)
    assert s.mean("x", epsilon=math.inf).value == pytest.approx(value, abs=1e-9)
    sums = [s.sum("x", epsilon=4).interval(0.95) for _ in range(40)]
    assert sum(low <= rows.sum() <= high for low, high in sums) >= 30
    means = [s.mean("x", epsilon=50).interval(0.95) for _ in range(20)]
    assert sum(low <= value <= high for low, high in means) >= 17


@given(
    st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=5),
    st.sampled_from([1e-4, 0.3, 5.0]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_no_row_adds_more_than_the_noise_is_made_for(
    low: float, width: float, rows: list[float], epsilon: float
) -> None:
    """Rows add whole steps to a sum and to that of a mean: at most the number that the scale is computed from."""
    domain = dc.Domain({"x": (low, low + width)})
    column, price = domain.columns[0], Fraction(epsilon)
    ends = [Fraction(column.low), Fraction(column.high)]
    for origin in (Fraction(0), sum(ends) / 2):
        far, step, rounded = _grid(column, origin, price)
        assert far * step == max(abs(end - origin) for end in ends)
        assert far / price <= 10**12 or far == math.ceil(_coarsest(column, origin))
        base = round(sum(ends) / 2 / step) if origin == 0 else 0
        job = WhereSum(WhereMap(domain, None), float(base * step + origin), float(step), -far - base, far - base)
        for x in rows:
            n_rows, added = job.result(_run(job, x))
            assert n_rows == (not math.isnan(x))
            assert abs(base * n_rows + added) <= far
            held = Fraction(min(max(x, column.low), column.high)) if n_rows else 0
            place = (base * n_rows + added) * step + origin * n_rows
            assert abs(place - held) <= rounded * step + Fraction(1e-9) * max(abs(end) for end in ends)


def _run(job: WhereSum, x: float) -> Any:
    adder = job.start()
    adder.add(job.prepare([np.array([x])]))
    return adder.result()


def test_a_file_answers_as_the_table_in_memory_does(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "p.parquet")
    pa_csv.write_csv(PEOPLE, tmp_path / "p.csv")
    for name, ask in QUESTIONS.items():
        here, *files = (ask(session(t), 1) for t in (PEOPLE, tmp_path / "p.parquet", tmp_path / "p.csv"))
        assert all(np.array_equal(here.value, there.value) for there in files), name


def test_a_mean_of_few_rows_is_not_known() -> None:
    low, high = session(PEOPLE).mean("income", epsilon=0.05).interval(0.95)
    assert (low, high) == (-100.0, 1000.0)


def test_no_row_makes_a_question_fail() -> None:
    odd = pa.table({"x": pa.array([math.nan, math.inf, -math.inf, None, 1e300], pa.float64())})
    nobody = odd.slice(0, 0)
    for table in (odd, nobody):
        s = session(table, domain=dc.Domain({"x": (0.0, 1.0)}))
        for ask in (s.count, s.sum, s.mean, s.quantile, s.histogram):
            answer = ask(epsilon=1) if ask == s.count else ask("x", epsilon=1)
            low, high = answer.interval()
            assert np.all(np.asarray(low) <= np.asarray(high))


def test_answers_are_printed_in_one_line() -> None:
    rows = np.repeat([[0.25], [0.75]], 500, axis=0)
    session = dc.QuerySession(rows, dc.Ledger(epsilon=9), domain=dc.Domain({"x": (0, 1)}), random_state=1)
    assert re.fullmatch(
        r"Answer\(0\.\S+: 95 % interval 0\.\S+ to 0\.\S+, epsilon 2\)", repr(session.mean("x", epsilon=2))
    )
    assert re.fullmatch(r"Answer\(0\.0 \S+, .+, 6 more: epsilon 2\)", repr(session.histogram("x", epsilon=2)))
