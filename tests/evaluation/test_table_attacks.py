"""Singling out, linking and inferring: near 1 on a copy, nothing on an unrelated table, less the larger k."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity.risk.printed import read_sets, read_stretches
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.evaluation import AttackResult, Rate, inference, linkability, singling_out

NAMES = ["x", "y", "z", "job", "ill"]
DOMAIN = dc.Domain(
    {
        **{c: {"bounds": [0, 1000], "role": "quasi-identifier"} for c in "xyz"},
        "job": {"categories": ["cook", "smith", "baker, pastry"], "role": "quasi-identifier"},
        "ill": {"categories": ["no", "flu", "cold", "other"], "role": "sensitive"},
    }
)


def crowd(n: int, seed: int) -> pa.Table:
    """People with a sharp trait (a sum of the numbers) and an illness of their own."""
    rng = np.random.default_rng(seed)
    numbers = rng.random((3, n)) * 1000
    jobs = np.array(["cook", "smith", "baker, pastry"])[rng.integers(0, 3, n)]
    ill = np.array(["no", "flu", "cold", "other"])[rng.integers(0, 4, n)]
    return pa.table({"x": numbers[0], "y": numbers[1], "z": numbers[2], "job": jobs, "ill": ill})


def run(name: str, released: Any, original: Any, control: Any, **more: Any) -> AttackResult:
    if name == "singling out":
        return singling_out(released, original, control, columns=NAMES, random_state=1, **more)
    if name == "linkability":
        halves = (["x", "y"], ["z", "job"])
        return linkability(released, original, control, columns=halves, random_state=1, **more)
    return inference(released, original, control, secret="ill", known=["x", "y", "z", "job"], random_state=1, **more)


ATTACKS = ["singling out", "linkability", "inference"]


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("seed", [0, 10])
def test_a_copy_gives_everybody_away(name: str, seed: int) -> None:
    people, others = crowd(800, seed), crowd(800, seed + 1)
    found = run(name, people, people, others)
    assert found.risk > 0.95
    assert found.risk_interval[0] > 0.9
    assert found.better_than_guessing
    assert found.attack.trials == 800


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("seed", [0, 10, 20])
def test_an_unrelated_table_gives_no_one_away(name: str, seed: int) -> None:
    people, others, unrelated = crowd(800, seed), crowd(800, seed + 1), crowd(800, seed + 2)
    # At 99.9 % each of the nine cases fails once in a thousand; the seeds are fixed.
    found = run(name, unrelated, people, others, confidence=0.999)
    assert found.risk_interval[0] <= 0 <= found.risk_interval[1]
    assert found.risk_interval[1] < 0.15


@pytest.mark.parametrize("name", ["singling out", "inference"])
@pytest.mark.parametrize(
    "output", ["interval", *(pytest.param(o, marks=pytest.mark.slow) for o in ("center", "sample"))]
)
def test_the_risk_falls_with_k(name: str, output: str) -> None:
    people, others = crowd(1000, 0), crowd(1000, 1)
    risks = [run(name, people, people, others).risk]
    for k in (2, 8, 64):
        method = dc.anonymity.DensityTree(k, domain=DOMAIN).fit(people)
        risks.append(run(name, method.transform(people, output=output, random_state=2), people, others).risk)
    slack = 0.1  # risks near 0 are differences of two noisy shares; unprotected rows have 1
    assert all(b < a + slack for a, b in itertools.pairwise(risks))
    assert risks[0] > 0.9
    assert abs(risks[-1]) < 0.1


def test_cells_of_k_link_no_halves() -> None:
    people, others = crowd(1000, 0), crowd(1000, 1)
    release = dc.anonymity.DensityTree(10, domain=DOMAIN).fit_transform(people)
    found = run("linkability", release, people, others)
    assert found.attack.value < 1 / 10
    assert (
        not run("linkability", release, people, others).attack.value
        > run("linkability", people, people, others).attack.value
    )


def test_quasi_identifiers_of_a_k_anonymous_table_single_no_one_out() -> None:
    people, others = crowd(600, 3), crowd(600, 4)
    release = dc.anonymity.DensityTree(3, domain=DOMAIN).fit_transform(people)
    found = singling_out(release, people, others, columns=["x", "y", "z", "job"], random_state=1)
    assert found.attack.successes == found.control.successes == found.baseline.successes == 0
    assert found.attack.trials == 600


def test_only_the_table_is_seen() -> None:
    people, others = crowd(400, 5), crowd(400, 6)
    release = dc.anonymity.DensityTree(4, domain=DOMAIN).fit_transform(people)
    for name in ATTACKS:
        bare = run(name, release.table, people, others, domain=DOMAIN)  # what its guarantee declares
        assert run(name, release, people, others) == bare


def test_order_of_the_released_rows_does_not_help() -> None:
    people, others = crowd(300, 7), crowd(300, 8)
    mixed = people.take(pa.array(np.random.default_rng(0).permutation(300)))
    for name in ATTACKS:
        assert run(name, mixed, people, others).risk > 0.95


def test_attacks_read_files(tmp_path: Path) -> None:
    people, others = crowd(300, 7), crowd(300, 8)
    release = dc.anonymity.DensityTree(4, domain=DOMAIN).fit_transform(people)
    release.save(tmp_path / "safe.csv")
    for name in ATTACKS:
        assert run(name, tmp_path / "safe.csv", people, others) == run(name, release, people, others)


def test_numbers_can_be_inferred_within_a_tolerance() -> None:
    rng = np.random.default_rng(0)
    x = rng.random(500)
    people = pa.table({"x": x, "s": np.round(1000 * rng.random(500))})
    others = pa.table({"x": rng.random(500), "s": np.round(1000 * rng.random(500))})
    found = inference(people, people, others, secret="s", known=["x"], random_state=1)
    assert found.attack.value == 1.0
    # A guess is within 5 % to either side of a uniform value with a chance of a little less than a tenth.
    assert 0.05 < found.control.value < 0.16
    assert 0.05 < found.baseline.value < 0.16
    wide = inference(people, people, others, secret="s", known=["x"], tolerance=1.0, random_state=1)
    assert wide.control.value == 1.0
    assert (wide.risk, wide.risk_interval) == (0.0, (0.0, 1.0))


def test_inference_takes_the_most_frequent_value_of_a_class() -> None:
    released = pa.table({"x": ["[0, 5)"] * 4 + ["[5, 10]"] * 4, "s": ["a", "a", "b", "c", "b", "b", "b", "a"]})
    people = pa.table({"x": [1, 2, 3, 4, 6, 7, 8, 9], "s": ["a", "a", "b", "c", "b", "b", "b", "a"]})
    found = inference(released, people, people, secret="s", known=["x"], random_state=1)
    assert found.attack.successes == found.control.successes == 5


def test_missing_values_are_matched_and_not_guessed() -> None:
    released = pa.table({"x": ["missing", "[0, 5)", "[5, 10] or missing"], "s": ["a", "b", "c"]})
    people = pa.table({"x": [None, 2, 7, 8], "s": ["a", "b", "c", None]})
    found = inference(released, people, people, secret="s", known=["x"], random_state=1)
    assert (found.attack.successes, found.attack.trials) == (3, 3)
    one = singling_out(released, people, people, columns=["s"], random_state=1)
    assert one.attack.successes == 3


def test_a_point_stands_for_what_is_nearer_to_it_than_to_others() -> None:
    centres = pa.table({"x": [2.5, 2.5, 7.5, 20.0]})
    people = pa.table({"x": [1, 4, 7, 14.0]})
    found = singling_out(centres, people, people, random_state=1)
    # 2.5 has a double, 7.5 stands for 5..13.75 (one person), 20 for the rest (one person).
    assert (found.attack.successes, found.attack.trials) == (2, 4)


def test_an_upper_end_belongs_to_the_next_cell_but_for_the_last() -> None:
    released = pa.table({"x": ["[0, 5)", "[5, 10]"]})
    for people in ([1, 5], [1, 10], [4.9, 5.0]):
        table = pa.table({"x": people})
        assert singling_out(released, table, table, random_state=1).attack.successes == 2


def test_a_larger_control_is_cut_to_the_size_of_the_original() -> None:
    people, unrelated = crowd(300, 1), crowd(300, 3)
    found = run("singling out", unrelated, people, crowd(3000, 2), confidence=0.999)
    assert found.risk_interval[0] <= 0 <= found.risk_interval[1]


def test_printed_cells_are_read_as_they_are_meant() -> None:
    texts = ["[34, 41)", "[90, 120] or missing", "missing", "*", "-3.5", "[-1e-05, 0.1)", None]
    found = read_stretches(pa.chunked_array([texts]))
    assert found is not None
    rows = [(found.low[c], found.high[c], bool(found.closed[c]), bool(found.missing[c])) for c in found.code]
    assert rows[0] == (34, 41, False, False)
    assert rows[1] == (90, 120, True, True)
    assert np.isnan(rows[2][0])
    assert rows[3] == (-np.inf, np.inf, True, False)
    assert rows[4] == (-3.5, -3.5, True, False)
    assert rows[5] == (-1e-05, 0.1, False, False)
    assert np.isnan(rows[6][0])
    assert read_stretches(pa.chunked_array([["{a, b}"]])) is None
    sets = read_sets(pa.chunked_array([["{a, b, c}", "b, c", "* or missing", "zzz", None]]), ["a", "b, c", "d"])
    assert sets.members[sets.code].astype(int).tolist() == [
        [1, 1, 0, 0],
        [0, 1, 0, 0],
        [1, 1, 1, 1],
        [0, 0, 0, 0],
        [0, 0, 0, 1],
    ]


def test_every_text_of_a_grid_can_be_read_back() -> None:
    from discreet.anonymity.growth.grid import make_grid

    number = make_grid(dc.Numeric("x", -2.5, 1e6, missing="own"), 7)
    group = make_grid(dc.Categorical("g", ["a", "b, c", "d", "e"], missing="own"), order=(2, 0, 3, 1))
    for first in range(8):
        for last in range(first, 8):
            found = read_stretches(pa.chunked_array([[number.text(first, last), number.text(0, 0)]]))
            assert found is not None
            ends = number.bounds(first, last)
            c = found.code[0]
            if ends is None:
                assert np.isnan(found.low[c])
            else:
                assert (found.low[c], found.high[c]) == pytest.approx(ends, rel=1e-11)
                assert found.missing[c] == (last == 7)
    for first in range(5):
        for last in range(first, 5):
            sets = read_sets(pa.chunked_array([[group.text(first, last)]]), ["a", "b, c", "d", "e"])
            wanted = {(2, 0, 3, 1, 4)[b] for b in range(first, last + 1)}
            assert set(np.flatnonzero(sets.members[0])) == wanted


@pytest.mark.parametrize(
    ("successes", "trials", "wanted"),
    [
        # (s + z²/2 ± z √(s (n - s)/n + z²/4))/(n + z²), z = 1.959964, worked out with a desk calculator.
        (8, 10, (0.4902, 0.9433)),
        (0, 10, (0.0, 0.2775)),
        (10, 10, (0.7225, 1.0)),
        (50, 100, (0.4038, 0.5962)),
        (1, 2000, (0.0001, 0.0028)),
    ],
)
def test_wilson_intervals(successes: int, trials: int, wanted: tuple[float, float]) -> None:
    assert Rate(successes, trials).interval == pytest.approx(wanted, abs=5e-5)


def test_wilson_intervals_hold_the_truth_as_often_as_they_say() -> None:
    draws = np.random.default_rng(0).binomial(60, 0.2, 4000)
    intervals = [Rate(s, 60, 0.9).interval for s in range(61)]
    inside = [intervals[s][0] <= 0.2 <= intervals[s][1] for s in draws]
    assert 0.87 < np.mean(inside) < 0.93


def test_the_risk_is_what_the_attack_adds_to_the_control() -> None:
    found = AttackResult("inference", Rate(700, 1000), Rate(400, 1000), Rate(100, 1000))
    assert found.risk == pytest.approx(0.5)
    # Both errors by the slopes 1/0.6 and 0.3/0.36: √((0.0292/0.6)² + (0.0307·0.3/0.36)²) = 0.0550.
    assert found.risk_interval[0] == pytest.approx(0.5 - 0.0550, abs=1e-3)
    assert found.to_dict()["on_released"]["rate"] == 0.7
    assert "risk 0.500" in str(found)
    assert "no better than guessing" in str(AttackResult("inference", Rate(5, 100), Rate(5, 100), Rate(5, 100)))


def test_bad_arguments_are_refused() -> None:
    t = crowd(10, 0)
    with pytest.raises(InvalidArgument, match="attacks must be"):
        singling_out(t, t, t, attacks=0)
    with pytest.raises(InvalidArgument, match="confidence must be"):
        singling_out(t, t, t, confidence=1.0)
    with pytest.raises(InvalidType, match="columns must be"):
        singling_out(t, t, t, columns="x")
    with pytest.raises(SchemaError, match="no column in common"):
        singling_out(t.select(["x"]), t.select(["y"]), t)
    with pytest.raises(SchemaError, match="no column 'q'"):
        singling_out(t, t, t, columns=["q"])
    with pytest.raises(InvalidArgument, match="with rows"):
        singling_out(t, t, t.slice(0, 0))
    with pytest.raises(InvalidType, match="two lists"):
        linkability(t, t, t, columns=["x", "y"])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="one of the two"):
        linkability(t, t, t, columns=(["x", "y"], ["y"]))
    with pytest.raises(InvalidArgument, match="other than the secret"):
        inference(t, t, t, secret="x", known=["x"])
    with pytest.raises(InvalidArgument, match="tolerance must be"):
        inference(t, t, t, secret="x", known=["y"], tolerance=2.0)
