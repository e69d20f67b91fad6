"""The minimality attack: cuts that depend on l or t reveal more to an attacker than blind cuts."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import run
from discreet.errors import InvalidArgument
from discreet_studies.measured.minimality import minimality_attack

QUASI = {"bounds": [0, 8], "role": "quasi-identifier"}
SECRET = {"categories": ["a", "b"], "role": "sensitive"}
METHODS = [dc.anonymity.DensityTree, dc.anonymity.Mondrian]


def domain(*quasi: str) -> dc.Domain:
    return dc.Domain({**dict.fromkeys(quasi, QUASI), "s": SECRET})


def made(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 8, (2, n)).astype(float)
    return pa.table({"x": places[0], "y": places[1], "s": rng.choice(["a", "b"], n, p=[0.7, 0.3])})


@pytest.mark.parametrize(("deals", "errors"), [(800, 2.3), pytest.param(4000, 1.0, marks=pytest.mark.slow)])
def test_the_attacker_has_the_posterior_that_enumeration_gives(deals, errors):
    """Two rows at 1, four at 5, one cut between them; not cut, so one side is all alike."""
    table = pa.table({"x": [1.0, 1, 5, 5, 5, 5], "s": ["a", "a", "a", "a", "b", "b"]})
    found = minimality_attack(dc.anonymity.Mondrian(2, 2, domain=domain("x")), table, deals=deals)
    dealt = [set(where) for where in combinations(range(6), 2)]  # whose value is b
    fits = [d for d in dealt if len(d & {0, 1}) != 1]
    assert found.cells == 1
    # Standard errors 0.008 and 0.01 of 4000 deals, √5 times that of 800: false alarms once in 10^6.
    assert found.accepted == pytest.approx(len(fits) / len(dealt), abs=0.04 * errors)
    true_gain = sum(0 not in d for d in fits) / len(fits) - 4 / 6
    assert found.worst == pytest.approx(true_gain, abs=0.05 * errors)


def crossed(*rules: dict[str, float]) -> list[Any]:
    """Return each rule with each method; one of each is always tried, the other pairs are slow."""
    return [pytest.param(METHODS[i], rules[j], marks=[pytest.mark.slow] * (i != j)) for j in range(2) for i in range(2)]


@pytest.mark.parametrize(("method", "rule"), crossed({"l_diversity": 2}, {"t_closeness": 0.3}))
def test_cuts_that_ask_for_l_or_t_tell_something(method, rule):
    found = [minimality_attack(method(3, domain=domain("x", "y"), **rule), made(24, s), deals=60) for s in range(5)]
    assert min(f.accepted for f in found) < 0.7


@pytest.mark.parametrize(("method", "rule"), crossed({"l_diversity": 2}, {"t_closeness": 0.4}))
def test_blind_cells_are_the_same_anyone_who_has_which_value(method, rule):
    found = []
    for seed in range(12):
        try:
            model = method(5, domain=domain("x", "y"), blind=True, **rule)
            found.append(minimality_attack(model, made(40, seed), deals=40))
        except InvalidArgument:
            continue
    assert found
    assert all(f.accepted == 1 and f.cells > 1 and f.certain == 0 for f in found)


@pytest.mark.parametrize("method", METHODS)
def test_blind_cells_that_fail_are_refused_as_a_whole(method, tmp_path):
    alike = pa.table({"x": [1.0, 1, 1, 7, 7, 7], "s": ["a", "a", "a", "b", "b", "a"]})
    model = method(3, 2, domain=domain("x"), blind=True)
    with pytest.raises(InvalidArgument, match="blind splits at k=3 reach"):
        model.fit_transform(alike)
    with pytest.raises(InvalidArgument, match="blind splits at k=3 reach"):
        model.fit(alike).transform_file(alike, tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
    assert len(method(6, 2, domain=domain("x"), blind=True).fit_transform(alike)) == 6


def test_the_guarantee_says_which_cells_tell(tmp_path):
    table = made(60, 3)
    notes = {}
    for blind in (False, True):
        model = dc.anonymity.DensityTree(12, 2, domain=domain("x", "y"), blind=blind).fit(table)
        promise = model.transform(table).guarantee
        assert model.transform_file(table, tmp_path / f"{blind}.csv").guarantee.assumptions == promise.assumptions
        assert promise.parameters.get("cuts") == ("blind" if blind else None)
        notes[blind] = any("how the cells were made" in text for text in promise.assumptions)
    assert notes == {False: True, True: False}
    only_k = dc.anonymity.DensityTree(12, domain=domain("x", "y")).fit_transform(table)
    assert not any("how the cells were made" in text for text in only_k.guarantee.assumptions)


def test_the_command_line_cuts_blindly(tmp_path):
    pa_csv.write_csv(made(80, 5), tmp_path / "t.csv")
    domain("x", "y").to_toml(tmp_path / "s.toml")
    given = ["anonymize", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.toml"), "--k", "16", "--l", "2"]
    told = run(*given, "--blind", "--json", "--output", tmp_path / "out.csv", catch=True)
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["parameters"]["cuts"] == "blind"


def test_settings_that_look_at_other_values_are_refused():
    table = made(40, 1)
    wrong = dc.Domain({"x": QUASI, "y": {**QUASI, "role": "target"}, "s": SECRET})
    with pytest.raises(InvalidArgument, match="supervised"):
        dc.anonymity.DensityTree(5, domain=wrong, supervised=True, blind=True).fit(table)


def test_the_documented_figures_are_those_of_the_result_file():
    top = Path(__file__).parents[3]
    facts = json.loads((top / "studies/measures/results/minimality.json").read_text())
    page = (top / "docs/risk.md").read_text(encoding="utf-8")
    for found in (x for x in facts["leak"] if not x["blind"]):
        line = next(x for x in page.splitlines() if x.startswith(f"| {found['method']}, {found['rule']} | "))
        for name in ("baseline", "attacker", "worst"):
            shown = found[name]
            assert f"{shown['mean']:.3f} ({shown['low']:.3f} to {shown['high']:.3f})" in line
    for found in facts["price"]:
        line = [x for x in page.splitlines() if x.startswith(f"| {found['method']}, {found['rule']} | ")][1]
        assert f"| {found['width']['mean']:.3f} |" in line
        for step in found["blind"][:4]:
            assert (
                f"{100 * step['passed']:.0f} %, " + (f"{step['width']['mean']:.3f}" if step["width"] else "-") in line
            )
    assert all(x["accepted"]["mean"] == 1 for x in facts["leak"] if x["blind"] and "accepted" in x)
