"""What a release of rows draws at random is drawn: hashes by their key, places in a cell, partners, the order."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pyarrow as pa

import discreet as dc

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
