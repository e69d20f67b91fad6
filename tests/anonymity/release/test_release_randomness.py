"""Random choices of a release are random: keyed hashes, places in a cell, swap partners, row order."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity.masking import masker

QUASI = {"bounds": [0, 120], "role": "quasi-identifier"}


def test_identifiers_are_hashed_by_the_key() -> None:
    domain = dc.Domain({"name": {"categories": ["any"], "role": "identifier"}, "age": QUASI})
    table = pa.table({"name": [f"person {i}" for i in range(20)], "age": [30] * 20})
    model = dc.anonymity.DensityTree(k=5, domain=domain).fit(table)
    keys = b"one secret of 16 bytes or more", b"another secret of so many bytes"
    one, two = (set(model.transform(table, identifiers="hash", key=key).table["name"].to_pylist()) for key in keys)
    assert len(one) == len(two) == 20
    assert not one & two
    marks = {hmac.new(keys[0], f"name\0person {i}".encode(), hashlib.sha256).hexdigest()[:16] for i in range(20)}
    assert one == marks


def test_sampled_rows_are_spread_over_their_cell() -> None:
    """300 rows in one cell of 120 steps: all at one place has a chance of 120^-299."""
    ages = np.arange(300) % 120
    table = pa.table({"age": ages})
    model = dc.anonymity.DensityTree(k=200, domain=dc.Domain({"age": QUASI})).fit(table)
    drawn = model.transform(table, output="sample").table["age"].to_pylist()
    assert len(drawn) == 300
    assert len(set(drawn)) > 30


def test_groups_come_out_in_another_order() -> None:
    """20 distinct sensitive values in the order of the input have a chance of 1/20!."""
    domain = dc.Domain({"age": QUASI, "cost": {"bounds": [0, 100], "role": "sensitive"}})
    table = pa.table({"age": list(range(20, 40)), "cost": [float(i) for i in range(20)]})
    release = dc.anonymity.Microaggregation(k=5, domain=domain).fit_transform(table, order="shuffled")
    costs = release.table["cost"].to_pylist()
    assert sorted(costs) == [float(i) for i in range(20)]
    assert costs != sorted(costs)


def test_ranks_are_swapped_with_partners_drawn_anew() -> None:
    domain = dc.Domain({"age": QUASI})
    table = pa.table({"age": [float(i) for i in range(60)]})
    swapped = {
        tuple(
            dc.anonymity.RankSwapping(0.3, domain=domain).fit_transform(table, order="input").table["age"].to_pylist()
        )
        for _ in range(5)
    }
    assert len(swapped) == 5


def swapped(values: list[int], p: float, seed: int) -> list[int]:
    """Return what each row shows after swapping, in the order of the input."""
    method = dc.anonymity.RankSwapping(p, domain=dc.Domain({"age": QUASI}))
    return method.fit_transform(pa.table({"age": values}), random_state=seed, order="input").table["age"].to_pylist()


def test_equal_values_are_ranked_in_random_order() -> None:
    """One of three equal rows is swapped with the fourth; each of them now and then."""
    assert {swapped([30, 30, 30, 40], 0.25, seed).index(40) for seed in range(20)} == {0, 1, 2}


def test_partners_of_swapped_values_are_drawn_one_by_one() -> None:
    """Two ranks up: the first partner is one of two, and so is the next one whatever the first was."""
    found = {tuple(swapped([1, 2, 3, 4, 5, 6], 0.34, seed)) for seed in range(40)}
    assert {row[0] for row in found} == {2, 3}
    assert {row[2] for row in found if row[0] == 2} == {4, 5}


def test_linked_rows_are_a_random_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """If only some rows are tried, another run tries other rows."""
    tried: set[int] = set()
    linkage = masker.linkage

    def noted(before: Any, after: Any, rows: Any) -> Any:
        tried.update(rows.tolist())
        return linkage(before, after, rows)

    monkeypatch.setattr(masker, "linkage", noted)
    monkeypatch.setattr(masker, "_MEASURED", 2)
    for seed in range(20):
        swapped([1, 2, 3, 4, 5, 6], 0.34, seed)
    assert tried == set(range(6))


def test_added_noise_is_drawn_for_every_value_and_as_large_as_it_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value moves by its draw of unit spread, times the column's standard deviation and the root of alpha."""
    drawn = np.array([[-3, -1, 0, 1, 2, 4], [2, 0, 1, -1, -2, 3]]) / 2
    asked = []

    def scripted(scale: Any, size: Any, rng: Any) -> Any:
        asked.append(size)
        return drawn * float(scale)

    monkeypatch.setattr(dc.noise, "discrete_gaussian", scripted)
    ages = np.array([20.0, 30.0, 40.0, 50.0, 60.0, 110.0])
    rows = np.array([ages, ages[::-1] / 2])
    moved = rows + np.std(rows, axis=1)[:, None] * np.sqrt(0.25) * drawn
    for clip, expected in ((False, moved), (True, np.clip(moved, 0, 120))):
        method = dc.anonymity.NoiseAddition(0.25, domain=dc.Domain({"age": QUASI, "weight": QUASI}), clip=clip)
        release = method.fit_transform(pa.table({"age": rows[0], "weight": rows[1]}), random_state=1, order="input")
        for name, column in zip(("age", "weight"), expected, strict=True):
            assert release.table[name].to_pylist() == pytest.approx(column.tolist(), abs=1e-3)
    assert asked == [(2, 6), (2, 6)]
    assert moved.max() > 120


def test_values_out_of_bounds_are_masked_as_if_at_them() -> None:
    assert sorted(swapped([-50, 10, 20, 500], 0.25, 1)) == [0, 10, 20, 120]
