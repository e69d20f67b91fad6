"""A session of questions: noise as wide as one row or person can matter, charged before rows are read, intervals."""

from __future__ import annotations

import ast
import math
import re
import subprocess
import sys
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
from discreet.core.schema import Dialect
from discreet.engines import Source
from discreet.engines.passes.where import GroupMap, GroupSums
from discreet.synopses.session.measures import _centred, _coarsest, _grid, noisy_ranks
from gates import gate_of
from replay import replay

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
    "variance": lambda s, e: s.variance("income", epsilon=e),
    "groups": lambda s, e: s.mean("income", by="income", bins=[-100, 200, 400, 1000], epsilon=e),
}


def session(table: Any = PEOPLE, *, domain: Any = DOMAIN, seed: int | None = 1, account: Any = None) -> dc.QuerySession:
    return dc.QuerySession(table, account or dc.Ledger(epsilon=math.inf), domain=domain, random_state=seed)


# ---- noise


def laws(answer: dc.Answer) -> list[tuple[str, Any, int, float]]:
    """What the lines of an answer state: law, scale, numbers drawn, and the price."""
    return [(d.law, d.scale, d.number, float(line.amount)) for line in answer.guarantee.ledger for d in line.draws]


def test_noise_is_as_wide_as_one_row_can_matter_and_groups_cost_one_price() -> None:
    """The meter compares these lines with what is drawn."""
    half, s = Fraction(1, 2), session()
    assert laws(s.count(epsilon=half)) == [("laplace", 2, 1, 0.5)]
    assert laws(s.histogram("sex", epsilon=half)) == [("laplace", 2, 2, 0.5)]
    assert laws(s.count(by=["sex", "age"], bins=[0, 30, 60, 121], epsilon=half)) == [("laplace", 2, 6, 0.5)]
    assert laws(s.distinct("age", by="sex", epsilon=half)) == [("laplace", 2, 2, 0.5)]
    # Whole numbers are their own grid: one row adds at most 120. 1000, the farther bound, is 2^32 steps from 0; fewer,
    # where noise for more could not be drawn.
    assert laws(s.sum("age", by="sex", epsilon=half)) == [("laplace", 240, 2, 0.5)]
    assert laws(s.sum("income", epsilon=half)) == [("laplace", 2 * 2**32, 1, 0.5)]
    assert laws(s.sum("income", epsilon=Fraction(1, 10**6)))[0][1] == 10**12
    assert laws(s.mean("income", by="sex", epsilon=half)) == [("max-norm", 2 * 2**30, 2, 0.5)]
    assert laws(s.variance("income", epsilon=half)) == [("max-norm", 2 * 2**30, 1, 0.5)]
    # A quarter for the cut, a quarter for eleven levels of cells.
    cut, tree = laws(s.quantile("income", by="sex", epsilon=half))
    assert cut == ("choice", 4, 2, 0.25)
    assert tree == ("laplace", 44, 2 * sum(2**level for level in range(11)), 0.25)


def test_persons_pay_for_all_the_rows_that_are_used() -> None:
    table = pa.table({"who": ["ann"] * 50 + ["bob"], "x": [0.25] * 51, "town": ["a"] * 25 + ["b"] * 26})
    columns = {"x": (0.0, 1.0), "town": ["a", "b"]}
    answer = session(table, domain=dc.Domain(columns, unit=dc.Person("who", rows=4))).count(epsilon=math.inf)
    assert answer.value == 5
    answer = session(table, domain=dc.Domain(columns, unit=dc.Person("who", rows=4))).count(by="town", epsilon=1)
    assert laws(answer) == [("laplace", 4, 2, 1.0)]
    assert answer.guarantee.unit == "one person, with all their rows (at most 4 used)"
    # Two rows in each of two towns: √2·2 instead of 4 where noise is Gaussian, and it is chosen where it is narrower.
    many = dc.Person("who", rows=64, group="town", per_group=1)
    wide = session(table, domain=dc.Domain(columns, unit=many), account=dc.Ledger(epsilon=9, delta=1e-6))
    found = wide.mean("x", by="town", epsilon=1, delta=1e-6)
    assert (found.guarantee.delta, found.guarantee.accounting) == (1e-6, "rho")
    ((law, scale, _, _),) = laws(found)
    rho = dc.core.budget.Rho.within(Epsilon(1), Fraction(1, 10**6)).amount
    assert law == "gaussian"
    assert float(scale) == pytest.approx(math.sqrt(2 * 2**60 * 64 / (2 * float(rho))))
    assert laws(wide.count(by="town", epsilon=1))[0][0] == "laplace"
    (draw,) = wide.mean("x", epsilon=1, delta=1e-6).guarantee.ledger[0].draws  # one group holds all 64 rows
    assert (draw.law, draw.rows) in (("max-norm", 64), ("gaussian", 64**2))


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_answer_costs_what_it_says_and_no_noise_is_used_twice(name: str) -> None:
    ledger = dc.Ledger(epsilon=3)
    s = session(pa.concat_tables([PEOPLE] * 100), account=ledger, seed=None)
    answers = [QUESTIONS[name](s, 0.5) for _ in range(4)]
    assert float(ledger.remaining) == 1.0
    assert {a.guarantee.epsilon for a in answers} == {0.5}
    assert len({np.asarray(a.value).tobytes() for a in answers}) > 1
    assert all(a.guarantee.verify(np.asarray(a.value, float).tobytes()) for a in answers)


def test_every_cell_has_noise_of_its_own() -> None:
    """Mean square within 5 errors of the law's variance, neighbours uncorrelated; also in the tree of ranks."""
    nobody = np.zeros((0, 1))
    found = session(nobody, domain=dc.Domain({"x": (0.0, 1.0)})).histogram("x", 4000, epsilon=0.5).value
    assert len(found) == 4000
    law = noise.DiscreteLaplace(2)
    assert abs((found**2).mean() / law.variance - 1) < 5 * math.sqrt(5 / 4000)
    assert abs((found[1:] * found[:-1]).mean()) < 5 * law.variance / math.sqrt(4000)
    price = Epsilon(13)
    (below,), law, used = noisy_ranks(gate_of(price), "ranks", np.zeros((1, 4096), np.int64), price)
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


#: Asks until the account is empty, and writes a line after every answer.
_ASKING = """
import sys, warnings
import numpy as np, pyarrow as pa
import discreet as dc
rows = pa.table({"who": np.arange(2000) % 700, "age": np.arange(2000) % 90})
domain = dc.Domain({"age": dc.Integer(0, 120)}, unit=dc.Person("who", rows=2))
session = dc.QuerySession(rows, dc.Account(sys.argv[1]), domain=domain)
try:
    while True:
        answer = session.mean("age", epsilon=0.25)
        print(answer.value, answer.guarantee.epsilon, flush=True)
except dc.errors.BudgetExceeded:
    print("empty", flush=True)
"""


def test_a_session_that_is_killed_goes_on_and_nothing_is_bought_twice(tmp_path: Path) -> None:
    """Killed after three answers, wherever it is by then; the next one has what is left, and no more."""
    unit = dc.Person("who", rows=2)
    account = dc.Account.create(tmp_path / "p.account", dataset="people", epsilon=5, unit=unit)
    command = [sys.executable, "-W", "ignore", "-c", _ASKING, str(account.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        first = [asking.stdout.readline() for _ in range(3)]
        asking.kill()
        first += [line for line in asking.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    spent = 5 - float(dc.Account(account.path).remaining)
    assert 0.25 * len(first) <= spent <= 0.25 * (len(first) + 1)  # what was reserved and lost stays spent
    rest = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert rest[-1] == "empty"
    assert 0.25 * (len(rest) - 1) == 5 - spent
    assert float(dc.Account(account.path).remaining) == 0


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
        lambda: s.count(by="income", epsilon=0.1),
        lambda: s.count(by="town", keys="private", epsilon=0.1),
        lambda: s.count(epsilon=0.1, error=3),
        lambda: s.mean("income", error=3),
        lambda: s.quantile("income", error=3),
        lambda: s.distinct("income", epsilon=0.1),
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
    for error in (1e-300, 1e15, 1e300):
        with pytest.raises(dc.errors.InvalidArgument, match=r"^error must be"):
            s.count(error=error)
    many = dc.Domain({"a": dc.Integer(0, 127), "b": dc.Integer(0, 128), "x": (0, 1)})
    with pytest.raises(dc.errors.InvalidArgument, match="at most 16,384 groups"):
        session(np.zeros((1, 3)), domain=many, account=ledger).quantile("x", by=["a", "b"], bins={"b": 129}, epsilon=1)
    assert float(ledger.remaining) == 1
    with pytest.raises(dc.errors.InvalidType, match="account"):
        dc.QuerySession(PEOPLE, None, domain=DOMAIN)


@pytest.mark.parametrize("error", [30.0, 1.0, 0.1, 0.001])
def test_an_error_costs_no_more_than_its_noise_needs(error: float) -> None:
    answer = session(account=dc.Ledger(epsilon=100)).count(error=error)
    paid = float(answer.guarantee.epsilon or 0)

    def spread(epsilon: float) -> float:  # of discrete Laplace noise
        return math.sqrt(2 * math.exp(-epsilon)) / (1 - math.exp(-epsilon))

    assert spread(paid) == pytest.approx(answer.std_error, rel=1e-6)
    assert spread(paid) <= error < spread(0.99 * paid)


def test_intervals_of_weighted_answers_allow_for_rounded_weights() -> None:
    columns = {"x": (0.0, 100.0), "y": (-1.0, 1.0), "w": dc.Numeric("w", 0, 10, role="weight")}
    held: dict[str, list[bool]] = {}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, w = rng.beta(0.5, 5, 2000) * 100, rng.uniform(0, 10, 2000)
        rows = np.column_stack([x, rng.uniform(-1, 1, 2000), w])
        s = session(rows, domain=dc.Domain(columns), account=dc.Ledger(epsilon=1000), seed=seed)
        mean, order = np.average(x, weights=w), np.argsort(x)
        median = x[order][np.searchsorted(np.cumsum(w[order]), w.sum() / 2)]
        asked = {
            "count": (s.count(epsilon=100), w.sum()),
            "sum": (s.sum("x", epsilon=100), w @ x),
            "mean": (s.mean("x", epsilon=100), mean),
            "variance": (s.variance("x", epsilon=100), np.average((x - mean) ** 2, weights=w)),
            "quantile": (s.quantile("x", epsilon=100), median),
        }
        for name, (answer, truth) in asked.items():
            low, high = answer.interval()
            held.setdefault(name, []).append(bool(low <= truth <= high))
    assert min(map(np.mean, held.values())) >= 0.93
    assert s.sum("y", epsilon=100).interval() == (-math.inf, math.inf)
    whole = dc.Domain({"x": (0.0, 1.0), "w": dc.Integer(0, 9, role="weight")})  # nothing is rounded
    answer = session(np.ones((50, 2)), domain=whole, account=dc.Ledger(epsilon=math.inf)).count(epsilon=math.inf)
    assert answer.interval() == (50, 50)


def test_a_pair_holds_its_upper_end_where_that_is_the_bound() -> None:
    values = np.array([[0.0], [5.0], [10.0], [11.0]])
    s = dc.QuerySession(values, dc.Ledger(epsilon=math.inf), domain=dc.Domain({"x": (0.0, 10.0)}))
    found = [s.count(where, epsilon=math.inf).value for where in ({"x": (5, 10)}, "x >= 5 and x < 10", "x >= 5")]
    assert found == [3, 1, 3]


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
    assert (shown.labels, shown.value.tolist()) == ([(0.0, 4.0), (4.0, 8.0), None], [2, 0, 3])
    assert s.count("x is missing", epsilon=math.inf).value == 3
    assert s.count("not x > 2", epsilon=math.inf).value == 1  # neither true nor false of missing values
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


@pytest.mark.parametrize(
    "name",
    [
        "mean",
        "quantile",
        *(pytest.param(n, marks=pytest.mark.slow) for n in QUESTIONS if n not in ("mean", "quantile")),
    ],
)
def test_intervals_cover_the_truth(name: str) -> None:
    """Of 80 answers, at 90 %; those of means and quantiles may cover more. False alarm: below 1e-5."""
    rng = np.random.default_rng(3)
    rows = rng.normal(300, 150, (400, 1))
    domain = dc.Domain({"income": (-100.0, 1000.0)})
    s = session(rows, domain=domain, seed=5)
    truth = QUESTIONS[name](session(rows, domain=domain), math.inf).value
    covered = []
    for _ in range(80):
        low, high = QUESTIONS[name](s, 1.0).interval(0.9)
        covered.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(covered) > 0.72


@pytest.mark.parametrize("question", ["mean", "variance"])
def test_an_interval_does_not_shrink_to_a_bound_where_the_estimate_was_clipped(question: str) -> None:
    """Of 100 answers about small values at a small ε, at 95 %. False alarm: below 1e-3."""
    rows = np.random.default_rng(0).gamma(2, 10, (300, 1))
    domain = dc.Domain({"cost": (0.0, 5000.0)})
    s, truth = session(rows, domain=domain, seed=0), {"mean": rows.mean(), "variance": rows.var()}[question]
    answers = [getattr(s, question)("cost", epsilon=0.05) for _ in range(100)]
    ends = np.array([answer.interval(0.95) for answer in answers])
    wide, at_bound = ends[:, 1] - ends[:, 0], np.array([answer.value == 0 for answer in answers])
    assert at_bound.sum() > 20
    assert np.all(wide > [answer.std_error for answer in answers])
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) >= 0.88


@pytest.mark.parametrize(
    "value", [pytest.param(0.0, marks=pytest.mark.slow), 0.3, pytest.param(1.0, marks=pytest.mark.slow)]
)
def test_rounding_is_nothing_next_to_the_noise_however_many_rows_round_alike(value: float) -> None:
    """300,000 equal rows, at 95 %: 13 of 20 sums hold the truth, and 5 of 10 means. False alarm: below 1e-5."""
    rows = np.full((300_000, 1), value)
    s = session(rows, domain=dc.Domain({"x": (0.0, 1.0)}), seed=3)
    assert s.sum("x", epsilon=math.inf).value == pytest.approx(rows.sum(), abs=1e-3)
    assert s.mean("x", epsilon=math.inf).value == pytest.approx(value, abs=1e-9)
    sums = [s.sum("x", epsilon=4).interval(0.95) for _ in range(20)]
    assert sum(low <= rows.sum() <= high for low, high in sums) >= 13
    means = [s.mean("x", epsilon=50).interval(0.95) for _ in range(10)]
    assert sum(low <= value <= high for low, high in means) >= 5


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
    column, price = domain.columns[0], Epsilon(Fraction(epsilon))
    ends = [Fraction(column.low), Fraction(column.high)]
    far, step = _grid(column, price)
    assert far * step == max(abs(end) for end in ends)
    assert far / price.amount <= 10**12 or far == math.ceil(_coarsest(column))
    base, grid = round(sum(ends) / 2 / step), _centred(column, price)
    added = GroupSums(GroupMap(domain, domain), 0, float(base * step), float(step), -far - base, far - base)
    mean = GroupSums(GroupMap(domain, domain), 0, float(grid.middle), float(grid.step), -grid.far, grid.far, grid.whole)
    slack = Fraction(1e-9) * max(abs(end) for end in ends)
    for x in rows:
        n_rows, steps = _run(added, x)
        assert n_rows == (not math.isnan(x))
        held = Fraction(min(max(x, column.low), column.high)) if n_rows else 0
        assert abs(base * n_rows + steps) <= far
        assert abs((base * n_rows + steps) * step - held) <= step / 2 + slack
        n_rows, steps, square = _run(mean, x)
        assert max(abs(steps) * grid.times, abs(square)) <= grid.whole
        place = n_rows * grid.middle + steps * grid.step
        assert abs(place - held) <= Fraction(grid.rounded) * grid.step + slack
        assert abs(square - n_rows * grid.whole * (2 * Fraction(steps, grid.far) ** 2 - 1)) <= 1


def _run(job: GroupSums, x: float) -> list[int]:
    adder = job.start()
    adder.add(job.prepare([np.array([x])]))
    return [int(v) for v in job.result(adder.result())[:, 0]]


def test_no_row_leaves_its_bounds_however_its_numbers_are_rounded() -> None:
    """What a row adds is bounded after it was rounded to steps: the sensitivity does not rest on doubles."""
    line = dc.Domain({"x": (0.0, 10.0)})
    job = GroupSums(GroupMap(line, line), 0, 0.0, 1.0, -4, 3, square=100)
    assert _run(job, 10.0) == [1, 3, 100]
    low = GroupSums(GroupMap(line, line), 0, 8.0, 1.0, -4, 3, square=100)
    assert _run(low, 0.0) == [1, -4, 100]  # 2 (4/3)² - 1 is more than 1


def test_the_upper_end_of_the_last_category_is_in_it_and_in_the_public_table() -> None:
    words = dc.Domain({"c": ["a", "b"]})
    at_end = [np.array([0.5, 2.0])]
    by = GroupMap(words, words, ((0, np.arange(3.0)),))
    assert by.ids(at_end).tolist() == [0, 1]
    joined = dc.Domain({"c": ["a", "b"], "v": (0.0, 9.0)})
    values = GroupMap(words, joined, looked_up=((0, np.array([3.0, 7.0])),)).columns(at_end)[1]
    assert values.tolist() == [3.0, 7.0]


def test_a_file_answers_as_the_table_in_memory_does(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "p.parquet")
    pa_csv.write_csv(PEOPLE, tmp_path / "p.csv")
    for name, ask in QUESTIONS.items():
        here, *files = (ask(session(t), 1) for t in (PEOPLE, tmp_path / "p.parquet", tmp_path / "p.csv"))
        assert all(np.array_equal(here.value, there.value) for there in files), name


@pytest.mark.parametrize("name", ["few", "std_error", "low", "high", "estimate", "q"])
def test_a_column_that_is_called_like_one_of_the_answer_is_refused_before_it_costs(name: str) -> None:
    rows = pa.table({name: ["a", "b"] * 20, "age": [1.0, 2.0] * 20})
    s = session(rows, domain=dc.Domain({name: ["a", "b"], "age": (0, 10)}), account=dc.Ledger(epsilon=1))
    with pytest.raises(dc.errors.InvalidArgument, match=f"got '{name}'"):
        s.quantiles("age", [0.25, 0.5], by=name, epsilon=1)
    with pytest.raises(dc.errors.InvalidArgument, match=f"got '{name}'"):
        s.quantiles("age", [0.25, 0.5], where={name: "a"}, epsilon=1)
    assert name not in s.count(epsilon=0.5).guarantee.domain.names or name == "q"
    assert s.account.remaining == 0.5


def test_ends_of_bins_replace_no_other_column() -> None:
    rows = pa.table({"age_from": ["a", "b"] * 20, "age": [1.0, 2.0] * 20})
    s = session(rows, domain=dc.Domain({"age_from": ["a", "b"], "age": (0, 10)}))
    for how in ({"by": ["age_from", "age"]}, {"by": "age", "where": "age_from = 'a'"}):
        with pytest.raises(dc.errors.InvalidArgument, match="got 'age_from'"):
            s.count(bins={"age": 2}, epsilon=1, **how)
    assert s.count(by="age", bins=2, epsilon=1).to_arrow().column_names[:2] == ["age_from", "age_to"]


@pytest.mark.parametrize("word", ["\x1cAsh", "\x85Ash", "\xa0Ash", "Cafe\u0301"])
def test_a_key_is_selected_only_by_rows_that_have_it(word: str) -> None:
    rows = pa.table({"town": [word] * 300 + [" Birch"] * 300, "age": [1.0] * 600})
    s = session(rows, domain=dc.Domain({"age": (0, 10)}), account=dc.Ledger(epsilon=9, delta=1e-5))
    found = s.count(by="town", keys="private", epsilon=9, delta=1e-5)
    assert found.labels == ["Birch"]
    assert dc.Guarantee.from_json(found.guarantee.to_json()) == found.guarantee


def test_figures_of_few_rows_are_marked_and_not_known() -> None:
    found = session(PEOPLE).mean("income", epsilon=0.05)
    assert (found.interval(0.95), found.few) == ((-100.0, 1000.0), True)
    assert session(PEOPLE).variance("income", epsilon=0.05).interval(0.95) == (0.0, 550.0**2)


def test_no_row_makes_a_question_fail() -> None:
    odd = pa.table({"x": pa.array([math.nan, math.inf, -math.inf, None, 1e300], pa.float64())})
    nobody = odd.slice(0, 0)
    for table in (odd, nobody):
        s = session(table, domain=dc.Domain({"x": (0.0, 1.0)}))
        for ask in (s.count, s.sum, s.mean, s.quantile, s.quantiles, s.variance, s.histogram):
            answer = ask(epsilon=1) if ask == s.count else ask("x", epsilon=1)
            low, high = answer.interval()
            assert np.all(np.asarray(low) <= np.asarray(high))


def test_answers_are_printed_in_one_line() -> None:
    rows = np.repeat([[0.25], [0.75]], 500, axis=0)
    session = dc.QuerySession(rows, dc.Ledger(epsilon=9), domain=dc.Domain({"x": (0, 1)}), random_state=1)
    assert re.fullmatch(
        r"Answer\(0\.\S+: 95 % interval 0\.\S+ to 0\.\S+, epsilon 2\)", repr(session.mean("x", epsilon=2))
    )
    shown = repr(session.histogram("x", epsilon=2))
    assert re.fullmatch(r"Answer\(0 to 0\.1 \S+, .+, 6 more; 8 with few rows: epsilon 2\)", shown)


# ---- groups


def towns(n: int = 4000) -> pa.Table:
    rng = np.random.default_rng(4)
    town = rng.choice(["ash", "birch", "cedar"], n, p=[0.6, 0.3, 0.1])
    age = np.clip(rng.normal(40, 15, n).round(), 17, 90).astype(int)
    return pa.table({"town": town, "age": age, "pay": np.where(rng.random(n) < 0.4, 0.0, rng.exponential(200, n))})


TOWNS = dc.Domain({"town": ["ash", "birch", "cedar"], "age": dc.Integer(17, 90), "pay": (0.0, 1000.0)})


def test_without_noise_groups_are_those_of_a_database() -> None:
    """All figures, by two columns, under a condition with 'or' and a strict bound: the same as DuckDB's."""
    people = towns()
    con = pytest.importorskip("duckdb").connect()
    con.register("t", people)
    where = "pay > 0 and (age < 30 or not town = 'ash')"
    wanted = con.sql(
        "select town, case when age < 35 then 17 when age < 60 then 35 else 60 end as a, count(*), sum(age), "
        "avg(least(pay, 1000)), var_pop(least(pay, 1000)), count(distinct age), "
        f"quantile_disc(age, 0.1), quantile_disc(age, 0.5) from t where {where} group by all order by 1, 2"
    ).fetchall()
    s = session(people, domain=TOWNS)
    how: Any = {"by": ["town", "age"], "bins": [17, 35, 60, 91], "where": where, "epsilon": math.inf}
    figures = [s.count(**how), s.sum("age", **how), s.mean("pay", **how), s.variance("pay", **how)]
    figures += [s.distinct("age", **how), s.quantiles("age", [0.1, 0.5], **how)]
    columns = [np.atleast_2d(f.value.T) for f in figures]
    made = [row for row in zip(figures[0].labels, np.vstack(columns).T.tolist(), strict=True) if row[1][0]]
    assert [(label[0], label[1][0]) for label, _ in made] == [row[:2] for row in wanted]
    for (_, found), row in zip(made, wanted, strict=True):
        assert found[:4] == pytest.approx([float(v) for v in row[2:6]], rel=1e-6, abs=1e-4)
        assert found[4] == row[6]
        assert np.abs(np.array(found[5:]) - row[7:]).max() <= 1


def test_frames_have_a_row_per_group_and_the_largest_come_first() -> None:
    s = session(towns(), domain=TOWNS)
    frame = s.quantiles("age", [0.25, 0.5], by="town", epsilon=5).to_pandas()
    assert list(frame.columns) == ["town", "q", "estimate", "std_error", "low", "high", "few"]
    assert len(frame) == 6
    assert (frame.estimate == frame.estimate.round()).all()
    assert ((frame.low <= frame.estimate) & (frame.estimate <= frame.high)).all()
    top = s.top_k("age", 3, by="town", epsilon=5)
    assert [label[0] for label in top.labels] == ["ash"] * 3 + ["birch"] * 3 + ["cedar"] * 3
    assert (np.diff(top.value.reshape(3, 3)) <= 0).all()
    assert s.crosstab("town", "age", bins={"age": [17, 40, 91]}, epsilon=5).to_polars().shape == (6, 8)


@pytest.mark.parametrize("how", [{"by": "town"}, {"by": "age", "bins": [17, 30, 91], "where": "pay > 0"}])
def test_intervals_of_groups_cover_as_often_as_they_say(how: Any) -> None:
    """Of 40 purchases of 2 or 3 groups each, at 95 %; below 85 % by chance in fewer than 1 of 10^3 runs."""
    s = session(towns(1500), domain=TOWNS, seed=8)
    for ask in (s.count, *(lambda verb=v, **k: verb("pay", **k) for v in (s.sum, s.mean, s.variance))):
        truth, held = ask(**how, epsilon=math.inf).value, []
        for _ in range(40):
            low, high = ask(**how, epsilon=0.5).interval(0.95)
            held.append((low <= truth) & (truth <= high))
        assert np.mean(held) > 0.85


def test_the_noise_of_a_mean_is_that_of_its_formula() -> None:
    """Over 100 purchases the spread is the stated error, within 30 %: four of its own errors."""
    s = session(towns(2000), domain=TOWNS, seed=9)
    found = [s.mean("age", epsilon=1) for _ in range(100)]
    assert np.std([f.value for f in found]) == pytest.approx(np.mean([f.std_error for f in found]), rel=0.3)
    bought = s.mean("age", error=0.2, rows=2000)  # at most: the mean may be anywhere between the bounds
    assert 0.2 / math.sqrt(2) <= bought.std_error <= 0.2
    again = s.mean("age", error=0.01, of=bought, rows=s.count(epsilon=1))
    assert again.guarantee.epsilon < bought.guarantee.epsilon


def test_keys_can_be_selected_privately() -> None:
    names = [*["ash"] * 300, *["birch"] * 200, "hidden"]
    people = pa.table({"town": names, "age": [30] * 501, "who": [f"p{i // 2}" for i in range(501)]})
    ages = {"age": dc.Integer(17, 90)}
    for unit, rows in (("row", 1), (dc.Person("who", rows=2), 2)):
        ledger = dc.Ledger(epsilon=4, delta=1e-6)
        s = session(people, domain=dc.Domain(ages, unit=unit), account=ledger)
        found = s.mean("age", by="town", keys="private", epsilon=4, delta=1e-6)
        assert found.labels == ["ash", "birch"]
        assert found.value == pytest.approx([30, 30], abs=6)
        keys, figures = found.guarantee.ledger
        assert (found.guarantee.epsilon, found.guarantee.delta) == (4, 1e-6)
        assert (keys.label, keys.amount, keys.draws[0].delta) == ("keys of town", 1, Fraction(1, 10**6))
        assert (float(ledger.remaining), ledger.delta) == (0, 1e-6)
        assert figures.draws[0].scale == Fraction(figures.draws[0].moves * rows, 3)


def test_one_person_of_many_spellings_reveals_no_key(tmp_path: Path) -> None:
    """The keys know persons by the rule of the rows: 7,0 and 7,00 are one where commas are decimal."""
    (tmp_path / "t.csv").write_text("who;town;age\n" + "".join(f"7,{'0' * i};hidden;30\n" for i in range(1, 60)))
    columns = {"age": dc.Integer(0, 100), "who": dc.Integer(0, 100, role="person")}
    unit, source = dc.Person("who", rows=1), Dialect(delimiter=";", decimal=",")
    domain = dc.Domain(columns, unit=unit, source=source)
    s = session(tmp_path / "t.csv", domain=domain, account=dc.Ledger(epsilon=9, delta=1e-6))
    assert s.count(by="town", keys="private", epsilon=8, delta=1e-6).labels == ["(no key was selected)"]


@pytest.mark.parametrize("more", [{}, {"unit": dc.Person("who", rows=1)}, {"weight": True}])
def test_a_value_that_is_not_asked_for_may_be_missing(more: dict[str, Any]) -> None:
    table = pa.table({"a": [None, 1, 2, None], "b": [1, 2, 3, None], "who": list("pqrs"), "w": [1] * 4})
    columns: dict[str, Any] = {"a": dc.Integer(0, 9), "b": dc.Integer(0, 9)}
    if more.pop("weight", False):
        columns["w"] = {"kind": "integer", "bounds": [0, 1], "role": "weight"}
    s = session(table, domain=dc.Domain(columns, **more))
    assert s.count(epsilon=math.inf).value == 4
    found = s.sql("SELECT COUNT(*) AS n, COUNT(a) AS known, AVG(b) AS mean FROM t", epsilon=math.inf)
    assert found.value == pytest.approx({"n": 4, "known": 2, "mean": 2})


def test_explaining_reads_and_charges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "run", lambda *a, **k: pytest.fail("rows were read"))
    ledger = dc.Ledger(epsilon=1)
    s = session(towns(10), domain=TOWNS, account=ledger)
    plan = s.explain("sum", "pay", by="town", epsilon=0.5)
    assert (plan.groups, plan.price, plan.unit) == (3, "epsilon 0.5", "one row")
    assert plan.to_dict()["figures"][0]["std_error"] == pytest.approx(math.sqrt(2) * 1000 / 0.5, rel=1e-3)
    same = s.explain("SELECT town, SUM(pay) FROM t GROUP BY town", epsilon=0.5)
    assert same.lines == plan.lines
    assert float(ledger.remaining) == 1


PUBLIC = pa.table({"town": ["a", "b", "q"], "region": ["n", "s", None], "size": [3, None, 9]})
ASKED: list[Any] = [
    lambda s, how: s.count(column="x", **how),
    lambda s, how: s.mean("x", **how),
    lambda s, how: s.quantiles("age", [0.2, 0.7], **how),
    lambda s, how: s.distinct("age", **how),
    lambda s, how: s.sql(
        "SELECT region, COUNT(*), SUM(size), STDDEV(x) FROM t LEFT JOIN w USING (town) GROUP BY region ORDER BY 2",
        tables={"w": PUBLIC}, epsilon=1,
    ),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(15))
def test_neighbours_of_random_plans_stay_within_the_price(seed: int) -> None:
    """Exact replay with one row or person more, who may have any values, groups and numbers of rows."""
    rng = np.random.default_rng(seed)

    def rows(n: int, who: str | None = None) -> pa.Table:
        x = rng.choice([math.nan, math.inf, -math.inf, 0.0, 1.0, 1e300, -0.7], n)
        town, age = (rng.choice(np.array(values, object), n) for values in (["a", "b", "zz", None], [None, -3, 4, 11]))
        names = [who or rng.choice([f"p{i}", None]) for i in rng.integers(0, 4, n)]  # type: ignore[list-item]
        columns = {"town": (town, pa.string()), "age": (age, pa.int64()), "x": (x, pa.float64())}
        columns["who"] = (names, pa.string())
        return pa.table({name: pa.array(held, kind) for name, (held, kind) in columns.items()})

    units = ["row", dc.Person("who", rows=2), dc.Person("who", rows=4, group="town", per_group=2)]
    unit, base = units[seed % 3], rows(int(rng.integers(0, 20)))
    more = pa.concat_tables([base, rows(1) if unit == "row" else rows(int(rng.integers(1, 9)), "new")])
    more = more.take(pa.array(rng.permutation(len(more))))
    rule = {"missing": str(rng.choice(["own", "drop"]))}
    columns = {
        "town": {"categories": ["a", "b"]},
        "age": {"kind": "integer", "bounds": [0, 9]},
        "x": {"bounds": [-3, 2]},
    }
    domain = dc.Domain({name: said | rule for name, said in columns.items()}, unit=unit)
    how: dict[str, Any] = {"by": [[], ["town"], ["age", "town"]][int(rng.integers(3))], "epsilon": 1}
    how |= {
        "where": [None, "x > 0", "age is missing or town = 'a'", "not (town = 'a' and x < 1)"][int(rng.integers(4))]
    }
    how |= {"bins": {"age": [0, 3, 7, 10]}} if "age" in how["by"] else {}
    how |= {"delta": 1e-6} if unit != "row" and seed % 2 else {}

    def release(table: Any) -> tuple[Any, Any]:
        asked = session(table, domain=domain, seed=seed, account=dc.Ledger(epsilon=1, delta=1e-6))
        answer = ASKED[seed % len(ASKED)](asked, how)
        return [repr(answer.to_arrow().to_pydict())], answer.guarantee

    if rule["missing"] == "drop" and how["where"] and "is missing" in how["where"]:
        how["where"] = "town = 'a'"
    assert replay(release, base, more).faults == []


def test_persons_are_counted_with_the_noise_of_one_whatever_the_unit_allows() -> None:
    """One person more is one more, though four of their rows are used in other questions."""
    rows = pa.table({"who": [i // 3 for i in range(300)], "age": [30] * 300})
    columns: Any = {"who": {"role": "person"}, "age": dc.Integer(0, 120)}
    domain = dc.Domain(columns, unit=dc.Person("who", rows=4))
    s = session(rows, domain=domain)
    assert s.distinct("who", epsilon=math.inf).value == 100
    bought = s.distinct("who", epsilon=0.5)
    assert [(float(d.scale), d.number) for line in bought.guarantee.ledger for d in line.draws] == [(2.0, 1)]
    assert bought.guarantee.epsilon == 0.5
    assert bought.guarantee.unit == "one person, with all their rows (at most 1 used)"
    fewer = session(rows.slice(3), domain=domain).distinct("who", epsilon=math.inf)
    assert fewer.value == 99
    for wrong in ({"where": "age > 3"}, {"by": "age"}):
        with pytest.raises(dc.errors.InvalidArgument, match="it is the person"):
            s.distinct("who", epsilon=1, **wrong)


def test_persons_are_counted_in_sql() -> None:
    pytest.importorskip("sqlglot")
    rows = pa.table({"case no": [i // 3 for i in range(300)], "age": [30] * 300})
    columns: Any = {"case no": {"role": "person"}, "age": dc.Integer(0, 120)}
    s = session(rows, domain=dc.Domain(columns, unit=dc.Person("case no", rows=4)))
    assert s.sql('SELECT COUNT(DISTINCT "case no") FROM t', epsilon=math.inf).value == 100
    with pytest.raises(dc.errors.InvalidArgument, match="persons alone"):
        s.sql('SELECT age, COUNT(DISTINCT "case no") FROM t GROUP BY age', epsilon=1)


@pytest.mark.parametrize("domain", [(0.0, 20_000.0), dc.Integer(0, 125)], ids=["numbers", "whole"])
def test_intervals_of_medians_of_persons_hold_and_are_not_the_whole_range(domain: Any) -> None:
    """With the noise of four rows per person, some line far away passes any single test by chance."""
    rng = np.random.default_rng(0)
    low, high = (0, 125) if isinstance(domain, dc.Integer) else domain
    values = np.clip(rng.normal(0.3, 0.1, 2800) * high, low, high)
    values = np.rint(values) if high == 125 else values
    rows = pa.table({"who": np.arange(2800) // 2, "x": values})
    columns: Any = {"who": {"role": "person"}, "x": domain}
    s = session(rows, domain=dc.Domain(columns, unit=dc.Person("who", rows=4)))
    found = np.array([s.quantile("x", epsilon=1).interval(0.95) for _ in range(40)])
    held = (found[:, 0] <= np.median(values)) & (np.median(values) <= found[:, 1])
    assert held.sum() >= 36
    assert np.mean(found[:, 1] - found[:, 0]) < 0.4 * high


@pytest.mark.parametrize("last", ["2025-12-31", "2025-12-01"])
@pytest.mark.parametrize("bins", ["month", "quarter", "year", 4, ["2025-01-01", "2025-07-01", "2026-02-01"]])
def test_both_ends_of_a_bin_of_days_belong_to_it(bins: Any, last: str) -> None:
    days = np.arange("2025-01-01", "2025-12-02", dtype="datetime64[D]")
    domain = dc.Domain({"arrived": dc.Date("arrived", "2025-01-01", last)})
    asked = session(pa.table({"arrived": days}), domain=domain).count(by="arrived", bins=bins, epsilon=math.inf)
    made = dc.GridSynopsis(math.inf, domain, 12, random_state=0).fit(pa.table({"arrived": days})).synopsis_
    told = (
        asked.to_arrow(),
        made.table("arrived", bins={"arrived": bins}).to_arrow(),
        made.marginal("arrived", bins)._shown(),
    )
    for table in told:
        first, to = (table[f"arrived_{end}"].to_numpy() for end in ("from", "to"))
        assert (to[:-1] + np.timedelta64(1) == first[1:]).all()
        assert str(to[-1]) == ("2026-01-31" if isinstance(bins, list) else last)
    number = [
        ((a <= days) & (days <= b)).sum()
        for a, b in zip(*(told[0][f"arrived_{e}"].to_numpy() for e in ("from", "to")), strict=True)
    ]
    assert told[0]["estimate"].to_pylist() == number


def test_the_history_of_an_account_names_what_was_asked(tmp_path: Path) -> None:
    unit = dc.Person("patient id", rows=1)
    domain = dc.Domain({"age": dc.Integer(0, 120), "sex": ["f", "m"]}, unit=unit)
    rows = pa.table({"age": [30, 40], "sex": ["f", "m"], "patient id": ["a", "b"]})
    account = dc.Account.create(tmp_path / "a.account", dataset="a", epsilon=9, unit=unit)
    asked = session(rows, domain=domain, account=account)
    asked.distinct("patient id", epsilon=1)
    asked.count(epsilon=1)
    asked.sql("SELECT COUNT(*) FROM t", epsilon=1)
    asked.distinct("sex", epsilon=1)
    asked.count("age > 30", by="sex", epsilon=1)
    assert [entry.what for entry in account.entries] == [
        "distinct: patient id", "count", "count(*)", "distinct: sex", "count: sex, age",
    ]  # fmt: skip


def test_what_to_try_for_a_mapping_works_when_typed_back() -> None:
    for where in ({"sex": "unused"}, {"sex": ["F"]}, {"age": (5, 1)}, {"age": "x"}):
        with pytest.raises(dc.errors.InvalidArgument) as told:
            session().count(where=where, epsilon=1)
        assert told.value.fix.startswith("where={")
        assert session().count(where=ast.literal_eval(told.value.fix.removeprefix("where=")), epsilon=1)
    made = dc.GridSynopsis(1.0, DOMAIN.select(["age", "sex"]), 2, random_state=0).fit(PEOPLE).synopsis_
    with pytest.raises(dc.errors.InvalidArgument) as told:
        made.mean("age", where={"sex": "unused"})
    assert told.value.fix == "{'sex': ['f']}"


def test_answers_about_persons_say_which_rows_they_are_of() -> None:
    unit = dc.Person("who", rows=4)
    domain = dc.Domain({"age": dc.Integer(0, 120), "sex": ["f", "m"]}, unit=unit)
    table = pa.table({"age": [30, 40] * 50, "sex": ["f", "m"] * 50, "who": [str(i % 7) for i in range(100)]})
    asked = session(table, domain=domain)
    said = "Of the rows used: at most 4 per person, and none without an id."
    assert asked.crosstab("sex", "age", bins=[0, 60, 121], epsilon=1).note == said
    assert asked.mean("age", bins={"age": [30, 60]}, by="age", epsilon=1).note.endswith(f"before its bounds. {said}")
    assert asked.top_k("sex", 1, epsilon=1).note == said
    assert asked.distinct("who", epsilon=1).note == ""  # persons are counted, and not their rows
    assert session(table, domain=domain.with_unit("row")).count(epsilon=1).note == ""
    found = session(table, domain=domain.with_unit(dc.Person("who", rows="auto"))).count(epsilon=9)
    assert f"at most {found.guarantee.domain.unit.rows} per person" in found.note


def test_what_to_try_for_a_condition_works_when_typed_back() -> None:
    for where in ("sex = f", "sex = 'F'", "age > 'x'"):
        with pytest.raises(dc.errors.InvalidArgument, match="where must be") as told:
            session().count(where=where, epsilon=1)
        assert session().count(where=ast.literal_eval(told.value.fix.removeprefix("where=")), epsilon=1)
