"""Rules between columns: read from text, refused where no row could keep them, and kept exactly by a map of rows."""

from __future__ import annotations

import itertools
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import engines
from discreet.engines.passes import GroupedMarginal, MarginalsPass
from discreet.errors import DiscreetError
from discreet.synopses.marginals import public_grid

COLUMNS: dict[str, Any] = {
    "admission": ("2025-01-01", "2025-12-31"),
    "discharge": {"bounds": ["2025-01-01", "2026-01-31"], "missing": "own"},
    "from hour": dc.Time(),
    "to hour": dc.Time(),
    "beds": dc.Integer(0, 20),
    "rooms": dc.Integer(0, 9),
    "total": (0, 9000),
    "ward-cost": (0, 5000),
    "drugs": (0, 5000),
    "other": (0, 100),
    "sex": ["f", "m"],
}


def declared(*rules: str, **more: Any) -> dc.Domain:
    return dc.Domain({**COLUMNS, **more}, rules=list(rules))


def test_one_form_in_python_files_guarantees_and_pickles(tmp_path):
    made = declared("admission <= discharge", "discharge - admission <= 90", "total = ward-cost + drugs + other")
    assert dc.Domain.from_toml(made.to_toml()) == made
    assert made.to_toml().startswith('rules = ["admission <= discharge"')
    assert pickle.loads(pickle.dumps(made)) == made != declared("admission <= discharge")
    assert made.facts.sentences[0] == "every row has admission <= discharge"
    names = made.modelled().names
    assert "discharge - admission" in names
    assert not {"discharge", "total"} & set(names)
    assert made.without_functions().names == tuple(n for n in COLUMNS if n != "total")  # a sum is never read
    assert made.modelled().column("discharge - admission").to_dict()["bounds"] == [0, 90]
    assert made.select(["admission", "drugs"]).facts.rules.texts == ()
    assert made.select(["admission", "discharge", "sex"]).facts.rules.texts == made.facts.rules.texts[:2]


@pytest.mark.parametrize(
    ("text", "columns", "low"),
    [
        ("admission < discharge", "discharge - admission", 1),
        ("discharge >= admission + 2", "discharge - admission", 2),
        ("`from hour` <= to hour", "to hour - from hour", 0),
        ("beds > rooms", "beds - rooms", 1),
        ("0 <= beds - rooms", "beds - rooms", 0),
        ("rooms + 3 ≤ beds", "beds - rooms", 3),
    ],
)
def test_orders_are_modelled_by_their_difference(text, columns, low):
    assert declared(text).modelled().column(columns).to_dict()["bounds"][0] == low


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (["admision <= discharge"], "try 'admission <= discharge'"),
        (["a <= b"], "try leaving the rule out, or declaring 'a'"),
        (["sex <= beds"], "is about 'sex'"),
        (["beds <= drugs"], "declare 'drugs' with kind = \"integer\""),
        (["admission <= beds"], "write a date against a date"),
        (["beds <= 3"], "the bounds of the column"),
        (["beds + rooms = rooms + drugs"], "alone on one side"),
        (["beds < rooms", "rooms <= beds"], "'rooms <= beds' and 'beds < rooms'; leave one out"),
        (["beds <= rooms - 10"], "widen the bounds of 'rooms' and 'beds'"),
        (["total = ward-cost + drugs", "drugs = total + other"], "leave one out"),
        (["total = ward-cost + drugs", "drugs <= ward-cost"], "closes a ring"),
        (["beds - rooms >= 20"], "one value"),
        ([3], "must be a text"),
        ("beds <= rooms", "try rules=['beds <= rooms']"),
    ],
)
def test_what_no_row_could_keep_is_refused_before_rows_are_read(rules, said):
    with pytest.raises(DiscreetError) as error:
        dc.Domain(COLUMNS, rules=rules)
    assert said in str(error.value)


def test_facts_and_rules_meet():
    with pytest.raises(DiscreetError, match="is a function of another column"):
        dc.Domain(COLUMNS, functions={"rooms": {"sex": {"f": 1, "m": 2}}}, rules=["rooms <= beds"])
    told = [{"rooms": 1, "sex": "f"}, {"beds": 1, "sex": "m"}]
    with pytest.raises(DiscreetError, match="leave out those about 'beds'"):
        dc.Domain(COLUMNS, impossible=told, rules=["rooms <= beds"])
    # What a combination is about is modelled itself, so that it is kept.
    made = dc.Domain(COLUMNS, impossible=[{"beds": 1, "sex": "m"}], rules=["rooms <= beds"])
    assert {"beds", "beds - rooms"} <= set(made.modelled().names)
    rooms = {"kind": "integer", "bounds": [0, 9], "missing": "own"}
    with pytest.raises(DiscreetError, match="declare 'beds' with missing"):
        dc.Domain({**COLUMNS, "rooms": rooms}, impossible=[{"rooms": 1, "sex": "m"}], rules=["rooms <= beds"])


def random_rules(rng: np.random.Generator) -> tuple[dict[str, Any], list[str]]:
    """Declare random columns, whole or not, with random rules that often contradict each other."""
    whole = rng.random() < 0.6
    ends = [sorted(rng.integers(-6, 12, 2).tolist()) for _ in range(6)]
    columns = {
        f"c{i}": dc.Integer(a, b + 1) if whole else (a + round(rng.random(), 3), b + 1.5)
        for i, (a, b) in enumerate(ends)
    }
    rules = []
    for _ in range(int(rng.integers(1, 5))):
        names = [f"c{i}" for i in rng.permutation(6)[: int(rng.integers(2, 5))]]
        if len(names) == 2:
            constant = f" + {rng.integers(0, 5)}" if rng.random() < 0.3 else ""
            rules.append(f"{names[0]} {rng.choice(['<', '<=', '>', '>='])} {names[1]}{constant}")
        else:
            order = rng.choice(["=", "<=", ">="])
            more = "".join(f" {rng.choice(list('+-'))} {name}" for name in names[2:])
            rules.append(f"{names[0]} {order} {names[1]}{more}")
    return columns, rules


def test_rows_of_any_model_keep_every_rule_exactly():
    rng, made = np.random.default_rng(1), 0
    while made < 150:
        columns, rules = random_rules(rng)
        try:
            domain = dc.Domain(columns, rules=rules)
        except DiscreetError:
            continue
        made += 1
        for plan in domain.facts.rules.plans:
            modelled = [own for _, _, own in plan.steps if own is not None]
            lower, upper = {}, {}
            for c in modelled:  # any box of the column, a single place among them
                cuts = np.sort(rng.uniform(c.low, c.high, (2, 200)), axis=0)
                half = 0.5 if plan.whole else 0.0
                lower[c.name], upper[c.name] = (np.rint(cuts) if half else cuts) + np.array([[-half], [half]])
            found = plan.complete(lower, upper, rng)
            for name, values in found.items():
                a, b = columns[name] if isinstance(columns[name], tuple) else (columns[name].least, columns[name].most)
                assert values.min() >= a
                assert values.max() <= b
            for rule in plan.rules:
                for row in range(200):
                    exact = sum(s * Decimal(repr(float(found[n][row]))) for n, s in rule.terms.items())  # as printed
                    assert Decimal(rule.low) <= exact <= Decimal(rule.high), (rules, rule)


def test_orders_may_form_rings_and_sums_may_be_nested():
    rng = np.random.default_rng(0)
    life = {name: dc.Integer(0, 30) for name in ("born", "ill", "well", "admitted", "died")}
    rules = ["born <= ill <= well <= died", "born <= admitted < died", "well <= admitted + 3"]
    (plan,) = dc.Domain(life, rules=rules).facts.rules.plans
    ends = [{c.name: np.full(500, x) for _, _, c in plan.steps if c is not None for x in [getattr(c, side)]}
            for side in ("low", "high")]  # fmt: skip
    found = plan.complete(ends[0], ends[1], rng)
    assert not any(rule.broken(found) for rule in plan.rules)
    assert len(plan.rules) == 6
    money = dc.Domain(dict.fromkeys("abcdt", (0, 100)), rules=["t = a + b", "b = c + d"])
    assert len(money.modelled()) == 3
    assert money.without_functions().names == ("a", "c", "d")


def test_rows_are_mapped_one_by_one_so_that_a_rule_costs_nothing():
    """All tables of up to three rows over a small domain: a row more moves each marginal by one row, in one cell."""
    columns = {"x": dc.Integer(0, 2), "y": {"kind": "integer", "bounds": [0, 2], "missing": "own"}}
    grid = public_grid(dc.Domain(columns, rules=["x < y"]))
    assert grid.domain.names == ("x", "y - x")
    sizes = grid.sizes
    every = tuple(GroupedMarginal(c, [np.arange(sizes[j]) for j in c]) for c in ([0], [1], [0, 1]))
    rows = list(itertools.product([0.0, 1.0, 2.0, np.nan], [-1.0, 0.0, 1.0, 2.0, np.nan]))

    def counts(table: Any) -> np.ndarray:
        x = np.array([*table, (np.nan, np.nan)]).reshape(-1, 2)  # a row that is dropped: no table is empty
        found = engines.open(x, dc.Domain(columns)).marginals(MarginalsPass(grid, every))
        return np.concatenate(found)

    alone = {row: counts([row]) for row in rows}
    for row, found in alone.items():
        # A row is counted once in each marginal, or nowhere: where x is missing.
        assert [part.sum() for part in np.split(found, np.cumsum([m.n_cells for m in every])[:-1])] in (
            [0] * 3,
            [1] * 3,
        )
        assert bool(found.sum()) == (not np.isnan(row[0]))
    for table in itertools.combinations_with_replacement(rows, 2):
        assert np.array_equal(counts(table), sum(alone[row] for row in table))
    # A row that breaks x < y counts as the nearest difference that does not.
    assert np.array_equal(alone[(1.0, 0.0)], alone[(1.0, 2.0)])
    assert np.array_equal(alone[(0.0, -1.0)], alone[(0.0, 1.0)])


def test_a_rule_about_a_column_that_is_not_there_names_it() -> None:
    """Another rule is never suggested: it would be a statement about the table that no one made."""
    with pytest.raises(DiscreetError, match="'Entlassung' is not declared") as error:
        dc.Domain({"Alter": (0, 110), "Kosten": (0, 9), "Gewicht": (0, 250)}, rules=["Kosten <= Entlassung"])
    assert "try leaving the rule out, or declaring 'Entlassung'" in str(error.value)
    assert "Alter" not in str(error.value)
